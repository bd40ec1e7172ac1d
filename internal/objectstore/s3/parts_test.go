package s3

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/objectstore"
)

func TestPartSizeFollowsTheObject(t *testing.T) {
	const mib = 1 << 20
	auto := Config{Concurrency: 4}
	for _, x := range []struct{ size, part, parts int64 }{
		{32 * mib, 16 * mib, 2}, {64 * mib, 16 * mib, 4}, {100 * mib, 25 * mib, 4}, {100*mib + 1, 26 * mib, 4},
		{256 * mib, 64 * mib, 4}, {1024 * mib, 64 * mib, 16}, {2047 * mib, 64 * mib, 32}, {1 << 40, 128 * mib, 8192},
	} {
		part := auto.partSize(x.size)
		if parts := (x.size + part - 1) / part; part != x.part || parts != x.parts {
			t.Errorf("%d MiB: %d parts of %d MiB, want %d of %d", x.size/mib, parts, part/mib, x.parts, x.part/mib)
		}
	}
}

// Whatever is set, the parts are within the bounds of S3 and cover the object.
func TestPartSizeKeepsTheBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Concurrency: rapid.IntRange(1, 64).Draw(t, "concurrency")}
		if !rapid.Bool().Draw(t, "auto") {
			c.PartSize = rapid.Int64Range(minPart, maxPart).Draw(t, "part")
		}
		size := rapid.Int64Range(1, 5<<40).Draw(t, "size") // S3's largest object
		part := c.partSize(size)
		if parts := (size + part - 1) / part; part < minPart || part > maxPart || parts > maxParts || part < c.PartSize {
			t.Fatalf("%d parts of %d", parts, part)
		}
	})
}

// requests is what storing an object of so many bytes took, by the tally of the caller and by the server.
func requests(t *testing.T, c Config, size int64) (tallied, served int64) {
	t.Helper()
	f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
		q := r.URL.Query()
		switch {
		case q.Has("uploads"):
			fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == "POST":
			fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>`)
		default:
			w.Header().Set("ETag", `"e"`)
		}
	})
	c.Endpoint = f.URL
	s, err := Open(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var tally objectstore.Tally
	if _, err := s.Put(objectstore.WithTally(t.Context(), &tally), "a", big(size), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	tallied, parts, _ := tally.Sums()
	if want := (size + c.partSize(size) - 1) / c.partSize(size); size >= c.SinglePutBelow && parts != want || size < c.SinglePutBelow && parts != 1 {
		t.Errorf("%d bytes: %d parts counted, want %d", size, parts, want)
	}
	return tallied, int64(len(f.seen()))
}

func TestRequestsOfAnObject(t *testing.T) {
	c := testConfig("")
	c.SinglePutBelow, c.PartSize, c.Concurrency, c.SignPayload = 32<<20, 0, 4, false
	for size, want := range map[int64]int64{900: 1, 32<<20 - 1: 1, 32 << 20: 4, 72 << 20: 6} {
		if tallied, served := requests(t, c, size); tallied != want || served != want {
			t.Errorf("%d bytes: %d requests counted, %d served, want %d", size, tallied, served, want)
		}
	}
}
