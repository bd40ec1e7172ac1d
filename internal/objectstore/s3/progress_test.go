package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// ranged serves an object's ranges; deliver writes the n-th body from 1.
func ranged(t *testing.T, data []byte, deliver func(n int, w http.ResponseWriter, r *http.Request, body []byte)) *fake {
	quickRetries(t)
	old := restRetry
	restRetry = budget.Retry{Attempts: 4, Base: time.Millisecond, Max: time.Millisecond}
	t.Cleanup(func() { restRetry = old })
	var bodies atomic.Int32
	return newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
		n := int(bodies.Add(1))
		first, last := int64(0), int64(len(data)-1)
		w.Header().Set("ETag", `"e"`)
		if text := r.Header.Get("Range"); text != "" {
			if _, err := fmt.Sscanf(text, "bytes=%d-%d", &first, &last); err != nil {
				t.Errorf("Range = %q", text)
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(data)))
		}
		if n > 1 && r.Header.Get("If-Match") != `"e"` {
			t.Errorf("If-Match = %q in request %d", r.Header.Get("If-Match"), n)
		}
		w.Header().Set("Content-Length", fmt.Sprint(last+1-first))
		if r.Header.Get("Range") != "" {
			w.WriteHeader(206)
		}
		deliver(n, w, r, data[first:last+1])
	})
}

// asked are the ranges of the requests.
func (f *fake) asked(t *testing.T, ranges *[]string) *fake {
	inner := f.answer
	f.answer = func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		f.mu.Lock()
		*ranges = append(*ranges, strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
		f.mu.Unlock()
		inner(n, w, r, body)
	}
	return f
}

// some writes n bytes of a body, for sure on their way.
func some(w http.ResponseWriter, body []byte, n int) {
	_, _ = w.Write(body[:n])
	w.(http.Flusher).Flush()
}

func quickWindow(t *testing.T) {
	old := readWindow
	readWindow = 50 * time.Millisecond
	t.Cleanup(func() { readWindow = old })
}

// What stands still, drips or breaks off is asked for again from the byte reached, and never twice what has come.
func TestTheRestOfABodyIsAskedFor(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 100)
	quickWindow(t)
	for name, spoil := range map[string]func(w http.ResponseWriter, r *http.Request, body []byte){
		"stands still": func(w http.ResponseWriter, r *http.Request, body []byte) { some(w, body, 300); <-r.Context().Done() },
		"breaks off":   func(w http.ResponseWriter, r *http.Request, body []byte) { some(w, body, 300); cut(w) },
	} {
		for _, get := range []bool{true, false} {
			var ranges []string
			f := ranged(t, data, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
				if n < 3 {
					spoil(w, r, body)
					return
				}
				_, _ = w.Write(body)
			}).asked(t, &ranges)
			s := openAt(t, f.URL)
			var got []byte
			var err error
			want := data
			var filled []int
			if get {
				got, _, err = s.Get(t.Context(), "a", 1<<20)
			} else {
				want = data[10:990]
				got = make([]byte, len(want))
				err = s.ReadScatter(t.Context(), "a", [][]byte{got[:200], got[200:500], got[500:]}, 10, func(i int) { filled = append(filled, i) })
			}
			if err != nil || !bytes.Equal(got, want) || !get && fmt.Sprint(filled) != "[0 1 2]" {
				t.Errorf("%s, whole %v: %d bytes, filled %v, %v", name, get, len(got), filled, err)
			}
			expected := "[ 300-999 600-999]"
			if !get {
				expected = "[10-989 310-989 610-989]"
			}
			if fmt.Sprint(ranges) != expected {
				t.Errorf("%s, whole %v: asked for %v", name, get, ranges)
			}
			s.Close()
			f.CloseClientConnections()
		}
	}
}

// A body that drips all the time is ended although every read gets something.
func TestDrippingBodies(t *testing.T) {
	quickWindow(t)
	data := make([]byte, 1000)
	f := ranged(t, data, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if n > 1 {
			_, _ = w.Write(body)
			return
		}
		for i := range body {
			some(w, body[i:], 1)
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond): // the pace of the dripping
			}
		}
	})
	s := openAt(t, f.URL)
	if err := s.ReadRange(t.Context(), "a", make([]byte, 1000), 0); err != nil || len(f.seen()) != 2 {
		t.Errorf("%v, %v", err, f.seen())
	}
}

// Bodies that never come whole fail with the byte reached; the shared budget of retries bounds the requests.
func TestRestsEnd(t *testing.T) {
	data := make([]byte, 1000)
	broken := func() *fake {
		return ranged(t, data, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
			some(w, body, min(10, len(body)))
			cut(w)
		})
	}
	f := broken()
	s := openAt(t, f.URL)
	want(t, "read", s.ReadRange(t.Context(), "a", make([]byte, 1000), 0), status.Transient, "byte 40")
	if len(f.seen()) != 4 {
		t.Errorf("requests: %v", f.seen())
	}
	refused := 0
	f = broken()
	s = openAt(t, f.URL)
	s.ShareRetries(budget.Retry{Shared: budget.NewRate(1e-9, 1), Refused: func() { refused++ }})
	want(t, "read", s.ReadRange(t.Context(), "a", make([]byte, 1000), 0), status.Transient, "byte 20")
	if len(f.seen()) != 2 || refused != 1 {
		t.Errorf("%d requests, %d refused", len(f.seen()), refused)
	}
}

func TestAnObjectThatIsReplacedWhileItIsRead(t *testing.T) {
	data := make([]byte, 1000)
	f := ranged(t, data, func(n int, w http.ResponseWriter, r *http.Request, body []byte) { some(w, body, 10); cut(w) })
	inner := f.answer
	f.answer = func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Header.Get("If-Match") != "" {
			reply(w, 412, "PreconditionFailed")
			return
		}
		inner(1, w, r, body)
	}
	s := openAt(t, f.URL)
	want(t, "read", s.ReadRange(t.Context(), "a", make([]byte, 1000), 0), status.Transient, "was replaced")
	if len(f.seen()) != 2 {
		t.Errorf("requests: %v", f.seen())
	}
}

// A body whose bytes have all come, but not its end, is not called damaged: it was cancelled, came too slowly or broke off.
func TestABodyThatDoesNotEnd(t *testing.T) {
	quickWindow(t)
	data := make([]byte, 1000)
	for words, end := range map[string]func(w http.ResponseWriter, r *http.Request){
		"more slowly":             func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"broke off at byte 1000:": func(w http.ResponseWriter, _ *http.Request) { cut(w) },
	} {
		f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
			w.Header().Set("Content-Range", "bytes 0-999/1000")
			w.Header().Set("Transfer-Encoding", "chunked")
			w.WriteHeader(206)
			some(w, data, len(data))
			end(w, r)
		})
		s := openAt(t, f.URL)
		want(t, words, s.ReadRange(t.Context(), "a", make([]byte, 1000), 0), status.Transient, words)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &reading{store: s, c: call{verb: "read", key: "a"}, body: s.watch(io.NopCloser(iotest.ErrReader(context.Canceled)), func() {}), at: 1000}
		want(t, "cancelled", r.drained(ctx), status.Cancelled, "at byte 1000")
		f.CloseClientConnections()
	}
}

// slowBody gives one byte a call and says how long each took.
type slowBody struct{ gave int }

func (b *slowBody) Read(p []byte) (int, error) { b.gave++; p[0] = 1; return 1, nil }
func (b *slowBody) Close() error               { return nil }

// Time in which nobody reads is not the body's.
func TestOnlyTimeOfReadingCounts(t *testing.T) {
	s := &Store{minRate: 1 << 40}
	body := &slowBody{}
	w := s.watch(body, func() {})
	w.window = time.Hour
	for range 3 {
		time.Sleep(time.Millisecond) // the time in which nobody reads
		before, began := w.behind, time.Now()
		n, err := w.Read(make([]byte, 1))
		if took := time.Since(began); n != 1 || err != nil || w.behind-before > took {
			t.Errorf("read %d, %v; %v were added for a read that took %v", n, err, w.behind-before, took)
		}
	}
	w.behind = w.window
	if _, err := w.Read(make([]byte, 1)); err != errSlow {
		t.Errorf("a body that is behind goes on: %v", err)
	}
	w.rate, w.behind = 1, 30*time.Minute
	if _, err := w.Read(make([]byte, 1)); err != nil || w.behind > 30*time.Minute {
		t.Errorf("bytes at the rate make up for time: %v behind, %v", w.behind, err)
	}
}

var _ io.ReadCloser = (*slowBody)(nil)
