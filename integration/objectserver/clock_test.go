package objectserver

import (
	"strings"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// sdkNow is the clock by which the AWS SDK signs. It has no setting for it, and the clock of the machine is not a test's to set.
//
//go:linkname sdkNow github.com/aws/aws-sdk-go-v2/internal/sdk.NowTime
var sdkNow func() time.Time

// clock puts the client's clock off for the time of a test.
func clock(t *testing.T, off time.Duration) {
	now := sdkNow
	sdkNow = func() time.Time { return time.Now().Add(off) }
	t.Cleanup(func() { sdkNow = now })
}

// clocks proves what happens while the clocks of broker and store differ: within the 15 minutes of a signature nothing; beyond them
// the first request is refused, the error says why, and what follows is signed by the store's time.
func clocks(t *testing.T, server *Server) {
	retry := budget.Retry{Attempts: 2, Base: time.Millisecond, Max: time.Millisecond}
	for words, off := range map[string]time.Duration{"behind": -20 * time.Minute, "ahead of": 20 * time.Minute, "24h0m": 24*time.Hour + 30*time.Second} {
		t.Run("clock "+words, func(t *testing.T) {
			clock(t, off)
			st := store(t, server, "clock", nil)
			_, err := st.Head(t.Context(), "none")
			if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "clock") || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "403") {
				t.Errorf("the first request: %v: %v", status.Of(err), err)
			}
			if _, err = st.Head(t.Context(), "none"); !status.Is(err, status.NotFound) {
				t.Errorf("the second request: %v: %v", status.Of(err), err)
			}
			sums := func(c *s3.Config) { c.Checksum = s3.CRC32C } // else the first upload asks for the checksum before
			st = store(t, server, "clock", sums)
			_, err = st.Put(t.Context(), "first", strings.NewReader("x"), objectstore.Condition{})
			if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "clock") {
				t.Errorf("the first upload: %v: %v", status.Of(err), err)
			}
			fresh := store(t, server, "clock", sums)
			if _, err := objectstore.Retrying(fresh, retry).Put(t.Context(), "kept", strings.NewReader("x"), objectstore.Condition{}); err != nil {
				t.Errorf("an upload that is repeated: %v", err)
			}
		})
	}
	t.Run("clock within the window", func(t *testing.T) {
		clock(t, -10*time.Minute)
		if _, err := store(t, server, "clock", nil).Head(t.Context(), "none"); !status.Is(err, status.NotFound) {
			t.Errorf("%v: %v", status.Of(err), err)
		}
	})
	t.Run("acceptance with a wrong clock", func(t *testing.T) {
		clock(t, 3*time.Hour)
		st := store(t, server, "clock/acceptance", nil)
		_, _ = st.Head(t.Context(), "none") // finds the store's time
		storetest.Acceptance(t, func(*testing.T) objectstore.Store { return st }, capsOf(server))
	})
}
