package s3

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// sumServer is a store that knows some checksums, checks them, and takes no body whose length and bytes are not the object's.
type sumServer struct {
	t       *testing.T
	crc     string // "checks", "ignores" or "refuses"
	batch   bool
	puts    int // of objects and parts
	withCRC int
	withMD5 int
	deletes int
}

func (s *sumServer) serve(_ int, w http.ResponseWriter, r *http.Request, body []byte) {
	if strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") || r.Header.Get("X-Amz-Trailer") != "" ||
		strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING") {
		s.t.Errorf("%s %s has an aws-chunked body", r.Method, r.URL)
		reply(w, 400, "NotImplemented")
		return
	}
	q := r.URL.Query()
	switch {
	case r.Method == "POST" && q.Has("delete"):
		sum := md5.Sum(body)
		switch {
		case !s.batch:
			reply(w, 501, "NotImplemented")
		case s.crc != "checks" && r.Header.Get("Content-MD5") != base64.StdEncoding.EncodeToString(sum[:]):
			s.t.Errorf("a batch delete without its MD5: %v", r.Header)
			reply(w, 400, "InvalidRequest")
		default:
			fmt.Fprint(w, `<DeleteResult></DeleteResult>`)
		}
	case r.Method == "POST" && q.Has("uploads"):
		if declared := r.Header.Get("X-Amz-Checksum-Algorithm"); (declared == "CRC32C") != (s.crc == "checks") {
			s.t.Errorf("an upload in parts declares %q", declared)
		}
		fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>`)
	case r.Method == "POST":
		if strings.Contains(string(body), "<ChecksumCRC32C>") != (s.crc == "checks") {
			s.t.Errorf("completed with %s", body)
		}
		fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>`)
	case r.Method == "DELETE":
		s.deletes++
		w.WriteHeader(204)
	default:
		s.put(w, r, body)
	}
}

func (s *sumServer) put(w http.ResponseWriter, r *http.Request, body []byte) {
	crc, sum := r.Header.Get("X-Amz-Checksum-Crc32c"), r.Header.Get("Content-MD5")
	right := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))))
	rightMD5 := md5.Sum(body)
	switch {
	case crc != "" && s.crc == "refuses":
		reply(w, 400, "InvalidArgument")
		return
	case crc != "" && s.crc == "checks" && crc != right, sum != "" && sum != base64.StdEncoding.EncodeToString(rightMD5[:]):
		reply(w, 400, "BadDigest")
		return
	}
	if !strings.Contains(r.URL.Path, "probe-") {
		s.puts++
		if crc != "" {
			s.withCRC++
		}
		if sum != "" {
			s.withMD5++
		}
	}
	w.Header().Set("ETag", `"e"`)
}

func TestAutoFindsTheChecksumThatTheStoreTakes(t *testing.T) {
	for _, c := range []struct{ crc, mode string }{{"checks", CRC32C}, {"ignores", MD5}, {"refuses", MD5}} {
		t.Run(c.crc, func(t *testing.T) {
			server := &sumServer{t: t, crc: c.crc, batch: true}
			f := newFake(t, server.serve)
			config := testConfig(f.URL)
			config.Checksum, config.Concurrency = Auto, 1
			var log bytes.Buffer
			s, err := Open(t.Context(), config, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, size := range []int64{0, 1, 300 << 10, 2*minPart + 77} {
				if _, err := s.Put(t.Context(), fmt.Sprint("a", size), big(size), objectstore.Condition{}); err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
			if err := s.Delete(t.Context(), "a0", "a1"); err != nil {
				t.Errorf("batch delete: %v", err)
			}
			crcs, md5s := 6, 0
			if c.mode == MD5 {
				crcs, md5s = 0, 6
			}
			if server.puts != 6 || server.withCRC != crcs || server.withMD5 != md5s {
				t.Errorf("%d bodies, %d with CRC32C, %d with MD5, want 6, %d, %d", server.puts, server.withCRC, server.withMD5, crcs, md5s)
			}
			if strings.Count(log.String(), "s3.checksum.chosen") != 1 || !strings.Contains(log.String(), "checksum="+c.mode) {
				t.Errorf("log: %s", log.String())
			}
			if f.count("DELETE") != 1 { // the probe
				t.Errorf("requests: %q", f.seen())
			}
		})
	}
}

// A store that does not answer is asked again by the next upload, and what the policy refuses does not choose a checksum.
func TestAutoDecidesNothingFromFailures(t *testing.T) {
	code, name := 503, "SlowDown"
	server := &sumServer{t: t, crc: "checks"}
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if code > 0 {
			reply(w, code, name)
			return
		}
		server.serve(n, w, r, body)
	})
	config := testConfig(f.URL)
	config.Checksum = Auto
	s, err := Open(t.Context(), config, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func() error {
		_, err := s.Put(t.Context(), "a", big(10), objectstore.Condition{Absent: true})
		return err
	}
	want(t, "throttled", put(), status.Throttled)
	code, name = 403, "AccessDenied"
	want(t, "refused", put(), status.Invalid, "put a:", "policy")
	code = 0
	if err := put(); err != nil || server.withCRC != 1 {
		t.Errorf("%v, %d bodies with CRC32C", err, server.withCRC)
	}
}

func TestUnsignedPayloads(t *testing.T) {
	for _, sign := range []bool{true, false} {
		var hashes []string
		f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
			hashes = append(hashes, r.Header.Get("X-Amz-Content-Sha256"))
			w.Header().Set("ETag", `"e"`)
		})
		config := testConfig(f.URL)
		config.SignPayload = sign
		s, err := Open(t.Context(), config, slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "a", big(10), objectstore.Condition{}); err != nil {
			t.Error(err)
		}
		if s.Close(); len(hashes) != 1 || (hashes[0] == "UNSIGNED-PAYLOAD") == sign {
			t.Errorf("sign %v: %q", sign, hashes)
		}
	}
}

func TestDeleteWithoutBatches(t *testing.T) {
	server := &sumServer{t: t, crc: "checks"}
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method == "DELETE" && strings.HasSuffix(r.URL.Path, "/b") {
			reply(w, 500, "InternalError")
			return
		}
		server.serve(n, w, r, body)
	})
	err := openAt(t, f.URL).Delete(t.Context(), "a", "b", "c")
	want(t, "delete", err, status.Transient, "1 of 3", "delete b")
	if server.deletes != 2 {
		t.Errorf("requests: %q", f.seen())
	}
}
