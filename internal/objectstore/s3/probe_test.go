package s3

import (
	"crypto/md5"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"tidemark/internal/status"
)

// conditional is a bucket of one object that keeps or ignores conditions.
type conditional struct {
	mu                  sync.Mutex
	etag                string
	keepCreate, keepTag bool
	sameTag             bool
	busy                int // first requests answered with 409
}

func (c *conditional) answer(_ int, w http.ResponseWriter, r *http.Request, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Method {
	case "DELETE":
		c.etag = ""
		w.WriteHeader(204)
		return
	case "PUT":
	default:
		w.WriteHeader(405)
		return
	}
	if m := r.Header.Get("If-Match"); m != "" && m != c.etag && c.keepTag || r.Header.Get("If-None-Match") == "*" && c.etag != "" && c.keepCreate {
		if c.busy > 0 {
			c.busy--
			reply(w, 409, "ConditionalRequestConflict")
			return
		}
		reply(w, 412, "PreconditionFailed")
		return
	}
	c.etag = fmt.Sprintf(`"%x"`, md5.Sum(body))
	if c.sameTag {
		c.etag = `"same"`
	}
	w.Header().Set("ETag", c.etag)
}

func TestProbe(t *testing.T) {
	for _, c := range []struct {
		name   string
		bucket *conditional
		class  status.Class
		words  string
	}{
		{"good", &conditional{keepCreate: true, keepTag: true}, status.OK, ""},
		{"good and busy", &conditional{keepCreate: true, keepTag: true, busy: 1}, status.OK, ""},
		{"no If-None-Match", &conditional{keepTag: true}, status.Unsupported, "If-None-Match"},
		{"no If-Match", &conditional{keepCreate: true}, status.Unsupported, "If-Match"},
		{"one ETag for all", &conditional{keepCreate: true, keepTag: true, sameTag: true}, status.Unsupported, ""},
	} {
		f := newFake(t, c.bucket.answer)
		err := openAt(t, f.URL).Probe(t.Context())
		want(t, c.name, err, c.class, c.words)
		if err != nil {
			want(t, c.name, err, c.class, f.URL)
		}
		if c.bucket.etag != "" {
			t.Errorf("%s: the probe left its object", c.name)
		}
	}
	f := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ []byte) { reply(w, 403, "AccessDenied") })
	want(t, "refused", openAt(t, f.URL).Probe(t.Context()), status.Invalid, "policy")
}
