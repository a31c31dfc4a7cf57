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

	"agentfs.internal/bundlectl/bands"
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
}

type control struct {
	bundle string
	image  *bands.Image
	leave  func() error // see server.handOver
	gate   sync.Mutex   // one closer at a time

	mu            sync.Mutex
	device, mount string // what mounted has told
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
		go c.serve(conn)
	}
}

func (c *control) serve(conn net.Conn) {
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
	return Reply{PID: os.Getpid(), BundlePath: c.bundle, Direct: c.image.Direct(), Device: c.device, Mount: c.mount}
}

func (c *control) do(req Request, h *hold) error {
	switch req.Op {
	case "info":
		return nil
	case "mounted":
		c.mu.Lock()
		c.device, c.mount = req.Device, req.Mount
		c.mu.Unlock()
		return nil
	case "close-gate":
		return h.close(time.Duration(req.HoldMS) * time.Millisecond)
	case "open-gate":
		if !h.open() {
			return fmt.Errorf("the gate has opened by itself: it was held too long")
		}
		return nil
	case "discard-only":
		c.image.SetDiscardOnly(req.Discard)
		return nil
	case "resize":
		return c.image.Resize(req.Size)
	case "hand-over":
		return c.leave()
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
	h.image.CloseGate()
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
	h.image.OpenGate()
	h.gate.Unlock()
	return true
}
