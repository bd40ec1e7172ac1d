package s3

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
)

// server reads bodies as the transport does.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// A body is limited while it is sent, and its bytes are the same; without a limit it is passed on as it is.
func TestBodiesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
		var got []byte
		m := metered{server(func(r *http.Request) (_ *http.Response, err error) {
			got, err = io.ReadAll(r.Body)
			return &http.Response{}, err
		})}
		send := func(ctx context.Context) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, "PUT", "http://store/a", bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.RoundTrip(r)
			return r, err
		}
		var tally objectstore.Tally
		limited := budget.WithLimit(objectstore.WithTally(t.Context(), &tally), budget.NewLimit("test", 1<<20, func(time.Duration) {}))
		start := time.Now()
		if r, err := send(limited); err != nil || !bytes.Equal(got, data) || r.GetBody == nil {
			t.Errorf("%d of %d bytes, %v; the request of the caller may not change", len(got), len(data), err)
		}
		took := time.Since(start)
		if requests, _, waited := tally.Sums(); requests != 1 || waited != took || took < 4500*time.Millisecond || took > 5*time.Second {
			t.Errorf("%d requests in %v, %v of it waiting", requests, took, waited)
		}
		if _, err := send(t.Context()); err != nil || !bytes.Equal(got, data) || time.Since(start) != took {
			t.Errorf("without a limit: %d bytes, %v, %v", len(got), err, time.Since(start)-took)
		}
		ended, cancel := context.WithTimeout(limited, time.Second)
		defer cancel()
		if _, err := send(ended); err == nil {
			t.Error("a body was sent beyond the deadline")
		}
	})
}
