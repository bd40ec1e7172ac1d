package faultproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// hijack takes the connection from the HTTP server. The caller closes it.
func (c *call) hijack() (net.Conn, error) {
	h, ok := c.w.(http.Hijacker)
	if !ok {
		return nil, errGone
	}
	conn, _, err := h.Hijack()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return conn, nil
}

// reset ends the connection with an RST.
func (c *call) reset() {
	conn, err := c.hijack()
	if err != nil {
		return // it was taken before
	}
	abort(conn)
}

// abort closes with an RST: with no time to linger, what is unsent is thrown away.
func abort(conn net.Conn) {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = conn.Close()
}

// blackHole holds the connection until the client ends it.
func (c *call) blackHole() {
	conn, err := c.hijack()
	if err != nil {
		return
	}
	defer abort(conn)
	c.untilGone(conn, 0)
}

// untilGone waits until the client has closed a taken connection, the proxy is closed, or d has passed; 0 is for ever.
// What the client still sends is thrown away. It reports whether the time has passed.
func (c *call) untilGone(conn net.Conn, d time.Duration) bool {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn)
	}()
	var timeout <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	passed := false
	select {
	case <-gone:
	case <-c.proxy.closing.Done():
	case <-timeout:
		passed = true
	}
	_ = conn.SetReadDeadline(time.Now())
	<-gone
	_ = conn.SetReadDeadline(time.Time{})
	return passed
}

// spoil writes a reply by hand, with what the fault does to it.
func (c *call) spoil(reply *http.Response) {
	f := c.fault
	if f.LostReply {
		_, _ = io.Copy(io.Discard, reply.Body)
		c.reset()
		return
	}
	body, err := io.ReadAll(reply.Body) // objects are read in ranges of some MiB
	if err != nil {
		c.reset()
		return
	}
	conn, err := c.hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	head := &bytes.Buffer{}
	body, length := c.change(reply, body)
	reply.Header.Set("Content-Length", strconv.FormatInt(length, 10))
	reply.Header.Set("Connection", "close")
	fmt.Fprintf(head, "HTTP/1.1 %d %s\r\n", reply.StatusCode, http.StatusText(reply.StatusCode))
	_ = reply.Header.Write(head)
	head.WriteString("\r\n")
	if f.Reset == InReply {
		_, _ = conn.Write(head.Bytes()[:head.Len()/2])
		c.flushed()
		abort(conn)
		return
	}
	if f.StallHeaders > 0 && !c.untilGone(conn, f.StallHeaders) {
		return
	}
	c.record.Status = reply.StatusCode
	if _, err := conn.Write(head.Bytes()); err != nil || c.r.Method == http.MethodHead {
		return
	}
	c.writeBody(conn, body)
}

// flushed gives the client the time to read what was written: an RST throws away what was not.
func (c *call) flushed() { c.wait(20 * time.Millisecond) }

// change alters a reply and tells what length is announced.
func (c *call) change(reply *http.Response, body []byte) ([]byte, int64) {
	f := c.fault
	if f.IgnoreRange && reply.StatusCode == http.StatusPartialContent {
		reply.StatusCode = http.StatusOK
		reply.Header.Del("Content-Range")
		if c.proxy.options.Object != nil {
			if whole, err := c.whole(); err == nil {
				body = whole
			}
		}
	}
	if f.ShiftRange != 0 {
		reply.Header.Set("Content-Range", shifted(reply.Header.Get("Content-Range"), f.ShiftRange))
	}
	switch {
	case f.Resize > 0:
		body = append(body, make([]byte, f.Resize)...)
	case f.Resize < 0:
		body = body[:max(0, int64(len(body))+f.Resize)]
	}
	if f.Flip && len(body) > 0 {
		body[min(f.After, int64(len(body)-1))] ^= 1
	}
	length := int64(len(body))
	if c.r.Method == http.MethodHead {
		length = max(0, reply.ContentLength)
	}
	return body, length
}

func (c *call) whole() ([]byte, error) {
	src, _, err := c.proxy.options.Object(c.ctx, c.r.URL.Path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return io.ReadAll(src)
}

var contentRange = regexp.MustCompile(`^bytes (\d+)-(\d+)/(.*)$`)

func shifted(header string, by int64) string {
	m := contentRange.FindStringSubmatch(header)
	if m == nil {
		return header
	}
	from, _ := strconv.ParseInt(m[1], 10, 64)
	to, _ := strconv.ParseInt(m[2], 10, 64)
	return fmt.Sprintf("bytes %d-%d/%s", from+by, to+by, m[3])
}

// writeBody writes a body up to where the fault ends, interrupts or slows it.
func (c *call) writeBody(conn net.Conn, body []byte) {
	f := c.fault
	cut := int64(len(body))
	if f.Truncate || f.Reset == InReplyBody || f.StallBody > 0 {
		cut = max(0, min(f.After, cut-1))
	}
	out := &pacedWriter{call: c, dst: bufio.NewWriterSize(conn, 64<<10)}
	if !out.write(body[:cut]) {
		return
	}
	switch {
	case f.Reset == InReplyBody:
		c.flushed()
		abort(conn)
	case f.Truncate: // the connection is closed
	case f.StallBody > 0:
		if c.untilGone(conn, f.StallBody) {
			out.write(body[cut:])
		}
	}
}

// pacedReader counts, and slows to the fault's pace.
type pacedReader struct {
	call *call
	src  io.Reader
}

func (r *pacedReader) Read(b []byte) (int, error) {
	if pace := r.call.fault.BytesPerSecond; pace > 0 {
		b = b[:min(len(b), max(1, pace/20))]
	}
	n, err := r.src.Read(b)
	r.call.received.Add(int64(n))
	if pace := r.call.fault.BytesPerSecond; pace > 0 && !r.call.wait(time.Duration(n)*time.Second/time.Duration(pace)) {
		return n, errGone
	}
	return n, err
}

// pacedWriter counts what was written, and slows to the fault's pace.
type pacedWriter struct {
	call *call
	dst  *bufio.Writer
}

func (w *pacedWriter) write(b []byte) bool {
	step, pace := len(b), w.call.fault.BytesPerSecond
	if pace > 0 {
		step = max(1, pace/20)
	}
	for len(b) > 0 {
		n, err := w.dst.Write(b[:min(step, len(b))])
		w.call.record.Sent += int64(n)
		b = b[n:]
		if err != nil || pace > 0 && (w.dst.Flush() != nil || !w.call.wait(time.Duration(n)*time.Second/time.Duration(pace))) {
			return false
		}
	}
	return w.dst.Flush() == nil
}
