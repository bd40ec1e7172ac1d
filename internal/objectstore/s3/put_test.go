package s3

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// big is a source of n bytes that notes how often it was read.
type bigSource struct {
	n     int64
	reads atomic.Int64
}

func big(n int64) *bigSource { return &bigSource{n: n} }

func (b *bigSource) Size() int64 { return b.n }

func (b *bigSource) ReadAt(p []byte, off int64) (int, error) {
	b.reads.Add(1)
	n := min(int64(len(p)), b.n-off)
	for i := range n {
		p[i] = byte((off + i) % 251)
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// multipart answers the four requests of an upload. part and complete may be nil: success.
func multipart(t *testing.T, part func(n int, w http.ResponseWriter, r *http.Request) (done bool), complete func(http.ResponseWriter, *http.Request)) func(int, http.ResponseWriter, *http.Request, []byte) {
	var parts atomic.Int32
	return func(_ int, w http.ResponseWriter, r *http.Request, body []byte) {
		q := r.URL.Query()
		switch {
		case r.Method == "POST" && q.Has("uploads"):
			fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == "PUT" && q.Get("uploadId") == "u1":
			for i, c := range body {
				at := int64(i)
				if q.Get("partNumber") == "2" {
					at += minPart
				}
				if c != byte(at%251) {
					t.Errorf("part %s: byte %d is wrong", q.Get("partNumber"), i)
					break
				}
			}
			if part != nil && part(int(parts.Add(1)), w, r) {
				return
			}
			w.Header().Set("ETag", `"p`+q.Get("partNumber")+`"`)
		case r.Method == "POST" && q.Get("uploadId") == "u1":
			if !strings.Contains(string(body), `"p1"`) && !strings.Contains(string(body), "&#34;p1&#34;") {
				t.Errorf("completion without part 1: %s", body)
			}
			if complete != nil {
				complete(w, r)
				return
			}
			fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>`)
		case r.Method == "DELETE" && q.Get("uploadId") == "u1":
			w.WriteHeader(204)
		default:
			t.Errorf("unexpected request %s %s", r.Method, r.URL)
			w.WriteHeader(400)
		}
	}
}

func quickRetries(t *testing.T) {
	part, complete, abort := partRetry, completeRetry, abortRetry
	partRetry = budget.Retry{Attempts: 4, Base: time.Millisecond, Max: time.Millisecond}
	completeRetry, abortRetry = partRetry, partRetry
	t.Cleanup(func() { partRetry, completeRetry, abortRetry = part, complete, abort })
}

func TestPartsAreRetriedByReadingAgain(t *testing.T) {
	quickRetries(t)
	f := newFake(t, multipart(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 1:
			cut(w)
		case 2:
			reply(w, 503, "SlowDown")
		case 3:
			reply(w, 500, "InternalError")
		default:
			return false
		}
		return true
	}, nil))
	s := openAt(t, f.URL)
	info, err := s.Put(t.Context(), "a", big(minPart+100), objectstore.Condition{})
	if err != nil || info.ETag != "whole" || info.Size != minPart+100 {
		t.Errorf("put = %+v, %v", info, err)
	}
	if f.count("partNumber") != 5 || f.count("DELETE") != 0 {
		t.Errorf("requests: %v", f.seen())
	}
}

func TestFailedUploadsAreAborted(t *testing.T) {
	quickRetries(t)
	refuse := func(code int, name string) func(int, http.ResponseWriter, *http.Request) bool {
		return func(_ int, w http.ResponseWriter, _ *http.Request) bool { reply(w, code, name); return true }
	}
	for _, c := range []struct {
		name     string
		part     func(int, http.ResponseWriter, *http.Request) bool
		complete func(http.ResponseWriter, *http.Request)
		cond     objectstore.Condition
		class    status.Class
	}{
		{"part refused", refuse(403, "AccessDenied"), nil, objectstore.Condition{}, status.Invalid},
		{"part fails for ever", refuse(500, "InternalError"), nil, objectstore.Condition{Absent: true}, status.Transient},
		{"condition", nil, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "*" {
				t.Error("the completion has no condition")
			}
			reply(w, 412, "PreconditionFailed")
		}, objectstore.Condition{Absent: true}, status.Conflict},
		{"swap", nil, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-Match") != `"e"` {
				t.Errorf("If-Match = %q", r.Header.Get("If-Match"))
			}
			reply(w, 409, "ConditionalRequestConflict")
		}, objectstore.Condition{Match: "e"}, status.Transient},
		{"lost completion", nil, func(w http.ResponseWriter, _ *http.Request) { cut(w) }, objectstore.Condition{Absent: true}, status.Unknown},
	} {
		f := newFake(t, multipart(t, c.part, c.complete))
		s := openAt(t, f.URL)
		_, err := s.Put(t.Context(), "a", big(minPart+100), c.cond)
		want(t, c.name, err, c.class)
		s.Close()
		if f.count("DELETE") != 1 {
			t.Errorf("%s: not aborted: %v", c.name, f.seen())
		}
	}
}

func TestCancelledUploadIsAborted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, multipart(t, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		cancel()
		<-r.Context().Done()
		return true
	}, nil))
	s := openAt(t, f.URL)
	_, err := s.Put(ctx, "a", big(2*minPart), objectstore.Condition{})
	want(t, "put", err, status.Cancelled)
	s.Close()
	if f.count("DELETE") != 1 {
		t.Errorf("not aborted: %v", f.seen())
	}
}

// short is a source that ends in its second part.
type short struct{ *bigSource }

func (s short) Size() int64 { return s.n + 1000 }

func TestShortSources(t *testing.T) {
	quickRetries(t)
	f := newFake(t, multipart(t, nil, nil))
	s := openAt(t, f.URL)
	_, err := s.Put(t.Context(), "a", short{big(minPart + 100)}, objectstore.Condition{Absent: true})
	want(t, "large", err, status.Corrupt, fmt.Sprintf("byte %d of %d", minPart+100, minPart+1100))
	s.Close()
	if f.count("DELETE") != 1 || f.count("partNumber=2") != 0 {
		t.Errorf("requests: %v", f.seen())
	}
	before := len(f.seen())
	s = openAt(t, f.URL)
	_, err = s.Put(t.Context(), "a", short{big(100)}, objectstore.Condition{Absent: true})
	want(t, "small", err, status.Corrupt, "byte 100 of 1100")
	if len(f.seen()) != before {
		t.Errorf("a short source was sent: %v", f.seen()[before:])
	}
}

func TestManyPartsStayBelowTheLimit(t *testing.T) {
	u := &upload{size: minPart}
	for size := int64(5 << 40); (size+u.size-1)/u.size > maxParts; {
		u.size *= 2
	}
	if u.size > maxPart {
		t.Errorf("5 TiB would take parts of %d bytes", u.size)
	}
}

func TestBatchDelete(t *testing.T) {
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		switch n {
		case 1:
			if strings.Count(string(body), "<Object>") != batchKeys {
				t.Errorf("the first batch has %d keys", strings.Count(string(body), "<Object>"))
			}
			fmt.Fprint(w, `<DeleteResult><Error><Key>p/1</Key><Code>NoSuchKey</Code></Error></DeleteResult>`)
		default:
			fmt.Fprint(w, `<DeleteResult><Error><Key>p/1000</Key><Code>SlowDown</Code><Message>less</Message></Error></DeleteResult>`)
		}
	})
	var keys []string
	for i := range batchKeys + 1 {
		keys = append(keys, fmt.Sprint("p/", i))
	}
	err := openAt(t, f.URL).Delete(t.Context(), keys...)
	want(t, "delete", err, status.Throttled, "p/1000", "less")
	if len(f.seen()) != 2 {
		t.Errorf("requests: %v", f.seen())
	}
}

// Whatever fails on the way of parts that are sent side by side, in whichever order they arrive: what the server has in the end is the source, with
// the checksum that each part came with.
func TestPartsUnderRandomFailuresMakeTheObject(t *testing.T) {
	quickRetries(t)
	const size = 9*minPart + 12345
	for seed := range uint64(3) {
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(seed, 7))
		stored, failures := map[string][]byte{}, 0
		f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, body []byte) {
			q := r.URL.Query()
			switch {
			case r.Method == "POST" && q.Has("uploads"):
				fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>`)
			case r.Method == "PUT":
				mu.Lock()
				kind := rng.IntN(9)
				if kind < 4 {
					failures++
				}
				if kind != 0 && kind != 1 { // 3: stored, and the reply is lost
					stored[q.Get("partNumber")] = body
				}
				mu.Unlock()
				sum := crc32.Checksum(body, castagnoli)
				if want := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum)); kind != 0 && r.Header.Get("X-Amz-Checksum-Crc32c") != want {
					t.Errorf("part %s has %d bytes with checksum %s, sent was %s", q.Get("partNumber"), len(body), want, r.Header.Get("X-Amz-Checksum-Crc32c"))
				}
				switch kind {
				case 0, 3:
					cut(w)
				case 1:
					reply(w, 503, "SlowDown")
				case 2:
					reply(w, 500, "InternalError")
				default:
					w.Header().Set("ETag", `"p`+q.Get("partNumber")+`"`)
				}
			case r.Method == "POST":
				fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>`)
			}
		})
		c := testConfig(f.URL)
		c.Concurrency = 4
		s, err := Open(t.Context(), c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		partRetry.Attempts = 30
		_, err = s.Put(t.Context(), "a", big(size), objectstore.Condition{})
		s.Close()
		if err != nil || failures == 0 {
			t.Fatalf("seed %d: %v after %d failures", seed, err, failures)
		}
		at := int64(0)
		for n := 1; n <= len(stored); n++ {
			for _, b := range stored[fmt.Sprint(n)] {
				if b != byte(at%251) {
					t.Fatalf("seed %d: byte %d of the object is wrong, in part %d", seed, at, n)
				}
				at++
			}
		}
		if at != size {
			t.Errorf("seed %d: %d bytes are stored of %d", seed, at, size)
		}
	}
}
