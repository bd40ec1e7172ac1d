package listener

import (
	"net"
	"net/netip"
	"strconv"

	"tidemark/internal/status"
)

// Config is where to listen.
type Config struct {
	Address     string // [host]:port; port 0 takes a free one; "" for no listener
	AllowRemote bool   // other hosts may be let in
}

// Validate refuses what cannot be listened on: Invalid.
func (c Config) Validate() error {
	if c.Address == "" {
		return nil
	}
	_, err := c.bind()
	return err
}

// bind is the address to listen on.
func (c Config) bind() (string, error) {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil {
		return "", status.Errorf(status.Invalid, "listener address %q is not host:port: %w", c.Address, err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", status.Errorf(status.Invalid, "listener address %q: port %q is not a number from 0 to 65535", c.Address, port)
	} else {
		port = strconv.FormatUint(n, 10)
	}
	switch host {
	case "", "localhost":
		return net.JoinHostPort("127.0.0.1", port), nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "", status.Errorf(status.Invalid, "listener address %q: %q is not an IP address; a name could mean several", c.Address, host)
	}
	if !ip.Unmap().IsLoopback() && !c.AllowRemote {
		return "", status.Errorf(status.Invalid, "listener address %q can be reached by other hosts, without TLS or token; allow that in words or listen on 127.0.0.1", c.Address)
	}
	return net.JoinHostPort(ip.String(), port), nil
}
