//go:build linux

package linux

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

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

// waitEnd waits until the server has ended, which closes the connection.
func (c *client) waitEnd(d time.Duration) error {
	if err := c.conn.SetDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c.conn)
	return err
}

// ask connects for one question.
func ask(id string, req serve.Request) (*serve.Reply, error) {
	c, err := dial(id)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.ask(req)
}
