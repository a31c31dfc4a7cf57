//go:build linux

package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// The control socket speaks JSON, one object a line. A connection that closes
// the gate holds it closed as long as it lives, at most for maxHold.
const maxHold = 30 * time.Second

// Request is what a client asks of a band server.
type Request struct {
	Op      string `json:"op"`                // info, mounted, close-gate, open-gate, discard-only, resize or hand-over
	Size    int64  `json:"size,omitempty"`    // resize: bytes
	HoldMS  int64  `json:"hold_ms,omitempty"` // close-gate: open it by itself after this time; 0: the longest
	Device  string `json:"device,omitempty"`  // mounted: the loop device
	Mount   string `json:"mount,omitempty"`   // mounted: where
	Discard bool   `json:"discard,omitempty"` // discard-only: see bands.Image.SetDiscardOnly
}

// Reply is the server's answer.
type Reply struct {
	Error      string `json:"error,omitempty"` // not empty: it did not work
	PID        int    `json:"pid"`
	BundlePath string `json:"bundle_path"`
	Direct     bool   `json:"direct"`           // bands bypass the host's page cache
	Device     string `json:"device,omitempty"` // what mounted has told
	Mount      string `json:"mount,omitempty"`  // what mounted has told

	Origin     int       `json:"origin"`                // pid of the first server; others may have taken its place
	StandbyPID int       `json:"standby_pid,omitempty"` // of the process that would take this one's place
	Replaced   int       `json:"replaced,omitempty"`    // how many servers have died
	ReplacedAt time.Time `json:"replaced_at,omitzero"`  // when the last one did
}

type control struct {
	*server
	gate sync.Mutex // one closer at a time
}

// listen serves the control socket at path until l is closed.
func (c *control) listen(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // no descriptors left, say: try again
			continue
		}
		go c.talk(conn)
	}
}

func (c *control) talk(conn net.Conn) {
	defer conn.Close()
	h := &hold{control: c}
	defer h.open()
	dec, enc := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var req Request
		if err := dec.Decode(&req); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				_ = enc.Encode(Reply{Error: err.Error()})
			}
			return
		}
		err := c.do(req, h)
		reply := c.reply()
		if err != nil {
			reply.Error = err.Error()
		}
		if enc.Encode(reply) != nil {
			return
		}
	}
}

func (c *control) reply() Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := &c.state
	return Reply{
		PID: os.Getpid(), BundlePath: st.Bundle, Direct: c.live.Direct(), Device: st.Device, Mount: st.Mount,
		Origin: st.Origin, StandbyPID: c.standby.pid, Replaced: st.Replaced, ReplacedAt: st.ReplacedAt,
	}
}

func (c *control) do(req Request, h *hold) error {
	switch req.Op {
	case "info":
		return nil
	case "mounted":
		c.change(func(st *state) { st.Device, st.Mount = req.Device, req.Mount })
		go c.standBy() // who attaches need not wait for it
		return nil
	case "close-gate":
		return h.close(time.Duration(req.HoldMS) * time.Millisecond)
	case "open-gate":
		if !h.open() {
			return fmt.Errorf("the gate has opened by itself: it was held too long")
		}
		return nil
	case "discard-only":
		c.live.SetDiscardOnly(req.Discard)
		c.change(func(st *state) { st.DiscardOnly = req.Discard })
		return nil
	case "resize":
		if err := c.live.Resize(req.Size); err != nil {
			return err
		}
		c.change(func(st *state) { st.Size = req.Size })
		return nil
	case "hand-over":
		return c.handOver()
	}
	return fmt.Errorf("unknown op %q", req.Op)
}

// hold is one connection's hold on the gate.
type hold struct {
	*control
	mu     sync.Mutex
	closed bool
	timer  *time.Timer
}

func (h *hold) close(d time.Duration) error {
	if d <= 0 || d > maxHold {
		d = maxHold
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errors.New("the gate is closed already")
	}
	h.gate.Lock()
	h.live.CloseGate()
	h.closed = true
	h.timer = time.AfterFunc(d, func() { h.open() })
	return nil
}

// open opens the gate and tells whether it was closed until now.
func (h *hold) open() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		return false
	}
	h.closed = false
	h.timer.Stop()
	h.live.OpenGate()
	h.gate.Unlock()
	return true
}
