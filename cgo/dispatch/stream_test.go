package dispatch

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

// bytesStream gives its data in pieces of at most step bytes.
type bytesStream struct {
	data   []byte
	step   int
	next   func(context.Context) error
	closed *atomic.Int64
}

func (s *bytesStream) Next(ctx context.Context, dst []byte) (int, error) {
	if s.next != nil {
		if err := s.next(ctx); err != nil {
			return 0, err
		}
	}
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, s.data[:min(len(s.data), s.step)])
	s.data = s.data[n:]
	return n, nil
}

func (s *bytesStream) Close() { s.closed.Add(1) }

// streams is an instance whose streams carry data and announce total bytes.
func streams(data []byte, step int, total int64, next func(context.Context) error) (*fake, *atomic.Int64) {
	var closed atomic.Int64
	return &fake{open: func(context.Context, StreamRequest) (Stream, int64, error) {
		return &bytesStream{data, step, next, &closed}, total, nil
	}}, &closed
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

func mustOpen(t *testing.T, p *Process, h Handle) (Handle, int64) {
	t.Helper()
	op := p.OpNew(h)
	s, total, err := p.StreamOpen(op, buildStream(testStream))
	if err != nil {
		t.Fatal(err)
	}
	p.OpFree(op) // the stream goes on without the handle
	return s, total
}

func TestStreamReadsAll(t *testing.T) {
	data := pattern(3*minSlab + 17)
	f, closed := streams(data, 40000, int64(len(data)), nil)
	p, h := open(t, 2, f)
	s, total := mustOpen(t, p, h)
	var got []byte
	for {
		slab, off, n, err := p.StreamNext(s)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		got = append(got, p.slabs().slabs[slab][off:off+n]...)
		if p.slabs().inUse() != 1 {
			t.Fatalf("%d slabs in use", p.slabs().inUse())
		}
	}
	if total != int64(len(data)) || !bytes.Equal(got, data) {
		t.Errorf("read %d of %d bytes", len(got), total)
	}
	if p.slabs().inUse() != 0 {
		t.Error("the slab is still lent at the end")
	}
	if _, _, n, err := p.StreamNext(s); n != 0 || err != nil {
		t.Errorf("after the end: %d %v", n, err)
	}
	p.StreamClose(s)
	p.StreamClose(s)
	_, _, _, err := p.StreamNext(s)
	wantClass(t, "read after close", err, status.Closed)
	if closed.Load() != 1 {
		t.Errorf("closed %d times", closed.Load())
	}
}

func TestShortStreamIsCorrupt(t *testing.T) {
	f, _ := streams(pattern(10), 10, 11, nil)
	p, h := open(t, 1, f)
	s, _ := mustOpen(t, p, h)
	if _, _, n, err := p.StreamNext(s); n != 10 || err != nil {
		t.Fatalf("%d %v", n, err)
	}
	for range 2 {
		_, _, _, err := p.StreamNext(s)
		wantClass(t, "short", err, status.Corrupt)
	}
	if p.slabs().inUse() != 0 {
		t.Error("a failed stream keeps its slab")
	}
	p.StreamClose(s)
}

func TestCloseDuringRead(t *testing.T) {
	reading := make(chan struct{}, 1)
	f, closed := streams(pattern(100), 10, 100, func(ctx context.Context) error {
		reading <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	p, h := open(t, 1, f)
	s, _ := mustOpen(t, p, h)
	result := make(chan error)
	go func() { _, _, _, err := p.StreamNext(s); result <- err }()
	<-reading
	p.StreamClose(s)
	wantClass(t, "read during close", <-result, status.Closed)
	if closed.Load() != 1 || p.slabs().inUse() != 0 {
		t.Errorf("closed %d times, %d slabs in use", closed.Load(), p.slabs().inUse())
	}
}

func TestCancelWakesARead(t *testing.T) {
	reading := make(chan struct{}, 1)
	f, _ := streams(pattern(100), 10, 100, func(ctx context.Context) error {
		reading <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	p, h := open(t, 1, f)
	op := p.OpNew(h)
	s, _, err := p.StreamOpen(op, buildStream(testStream))
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error)
	go func() { _, _, _, err := p.StreamNext(s); result <- err }()
	<-reading
	_, _, _, err = p.StreamNext(s)
	wantClass(t, "second reader", err, status.Invalid)
	p.OpCancel(op)
	wantClass(t, "read of a cancelled operation", <-result, status.Cancelled)
	p.StreamClose(s)
	p.OpFree(op)
}

func TestPoolExhaustedAndRecovered(t *testing.T) {
	f, _ := streams(pattern(100), 10, 100, nil)
	p, h := open(t, 1, f)
	first, _ := mustOpen(t, p, h)
	if _, _, _, err := p.StreamNext(first); err != nil {
		t.Fatal(err)
	}
	op := p.OpNew(h)
	short := testStream
	short.NextDeadline = 5 * time.Millisecond
	second, _, err := p.StreamOpen(op, buildStream(short))
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = p.StreamNext(second)
	wantClass(t, "no slab until the deadline", err, status.Transient)
	p.StreamClose(second)
	p.OpFree(op)

	third, _ := mustOpen(t, p, h)
	result := make(chan error)
	go func() { _, _, _, err := p.StreamNext(third); result <- err }()
	p.StreamClose(first)
	wantClass(t, "the slab that came back", <-result, status.OK)
	p.StreamClose(third)
}

func TestInstanceCloseEndsStreams(t *testing.T) {
	f, closed := streams(pattern(100), 10, 100, nil)
	p, h := open(t, 1, f)
	s, _ := mustOpen(t, p, h)
	if _, _, _, err := p.StreamNext(s); err != nil {
		t.Fatal(err)
	}
	wantClass(t, "close", p.Close(h, time.Second), status.OK)
	_, _, _, err := p.StreamNext(s)
	wantClass(t, "next after the instance", err, status.Closed)
	p.StreamClose(s)
	if closed.Load() != 1 || p.slabs().inUse() != 0 {
		t.Errorf("closed %d times, %d slabs in use", closed.Load(), p.slabs().inUse())
	}
}

func TestEmptyStreamTakesNoSlab(t *testing.T) {
	f, _ := streams(nil, 1, 0, nil)
	p, h := open(t, 1, f)
	s, total := mustOpen(t, p, h)
	if _, _, n, err := p.StreamNext(s); n != 0 || err != nil || total != 0 || p.slabs().inUse() != 0 {
		t.Errorf("%d %v %d", n, err, total)
	}
	p.StreamClose(s)
}

// Any order of opens, reads and closes leaves no slab, no stream and no operation behind, and never lends one slab to
// two streams.
func TestStreamProperties(t *testing.T) {
	data := pattern(5 * minSlab / 2)
	rapid.Check(t, func(rt *rapid.T) {
		f, closed := streams(data, 50000, int64(len(data)), nil)
		p, h := open(t, 2, f)
		short := testStream
		short.NextDeadline = time.Millisecond
		lent, opened := map[Handle]int{}, 0
		var all []Handle
		pick := func(rt *rapid.T) Handle {
			if len(all) == 0 {
				rt.Skip("nothing open")
			}
			return rapid.SampledFrom(all).Draw(rt, "stream")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"open": func(rt *rapid.T) {
				op := p.OpNew(h)
				s, _, err := p.StreamOpen(op, buildStream(short))
				if err != nil {
					rt.Fatal(err)
				}
				p.OpFree(op)
				all, opened = append(all, s), opened+1
			},
			"next": func(rt *rapid.T) {
				s := pick(rt)
				slab, _, n, err := p.StreamNext(s)
				delete(lent, s)
				if err != nil || n == 0 {
					return
				}
				for other, taken := range lent {
					if taken == slab {
						rt.Fatalf("slab %d is lent to %#x and %#x", slab, other, s)
					}
				}
				lent[s] = slab
			},
			"close": func(rt *rapid.T) { s := pick(rt); p.StreamClose(s); delete(lent, s) },
			"": func(rt *rapid.T) {
				if p.slabs().inUse() != len(lent) {
					rt.Fatalf("%d slabs in use, %d lent", p.slabs().inUse(), len(lent))
				}
			},
		})
		if err := p.Close(h, time.Second); err != nil {
			rt.Fatal(err)
		}
		if p.slabs().inUse() != 0 || p.streams.len() != 0 || p.ops.len() != 0 || int(closed.Load()) != opened {
			rt.Fatalf("left over: %d slabs, %d streams, %d operations; %d of %d closed",
				p.slabs().inUse(), p.streams.len(), p.ops.len(), closed.Load(), opened)
		}
	})
}
