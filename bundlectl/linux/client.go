//go:build linux

package linux

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"agentfs.internal/bundlectl/serve"
)

// client is a connection to a band server.
type client struct {
	conn *net.UnixConn
	dec  *json.Decoder
}

// answerTime bounds how long a server may take to answer; closing the gate waits
// for the writes under way.
const answerTime = 20 * time.Second

func dial(id string) (*client, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socketPath(id), Net: "unix"})
	if err != nil {
		return nil, err
	}
	return &client{conn, json.NewDecoder(conn)}, nil
}

func (c *client) ask(req serve.Request) (*serve.Reply, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(c.conn).Encode(req); err != nil {
		return nil, err
	}
	var reply serve.Reply
	if err := c.dec.Decode(&reply); err != nil {
		return nil, fmt.Errorf("band server: %s: %w", req.Op, err)
	}
	if reply.Error != "" {
		return nil, errors.New(reply.Error)
	}
	return &reply, nil
}

func (c *client) close() { _ = c.conn.Close() }

// waitEnd waits until the server has ended, which closes the connection. One that was
// killed while it ended may have been replaced by another: that is waited for too.
func (c *client) waitEnd(id string, d time.Duration) error {
	reply, err := c.ask(serve.Request{Op: "info"})
	if err != nil && !broken(err) {
		return err
	}
	end := time.Now().Add(d)
	for {
		if err := c.conn.SetDeadline(end); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, c.conn); err != nil && !broken(err) {
			return err
		}
		next, err := ask(id, serve.Request{Op: "info"})
		if err != nil || reply != nil && next.Origin != reply.Origin {
			return nil // nobody, or of another attach
		}
		c.close()
		heir, err := dial(id)
		if err != nil {
			return nil
		}
		c.conn, c.dec = heir.conn, heir.dec
	}
}

// ask connects for one question. One that a server has taken to its death is asked
// again: where another one takes its place, that will answer.
func ask(id string, req serve.Request) (reply *serve.Reply, err error) {
	for range 3 {
		c, e := dial(id)
		if e != nil {
			return nil, errors.Join(err, e)
		}
		reply, err = c.ask(req)
		c.close()
		if !broken(err) {
			break
		}
	}
	return reply, err
}

// broken tells whether the server has died before it could answer.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}
