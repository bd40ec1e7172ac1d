package s3

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

const whole = `<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>`

// completing is a server whose completions and HEADs answer by their number from 1.
func completing(t *testing.T, complete, head func(n int, w http.ResponseWriter)) (*fake, *Store) {
	quickRetries(t)
	var completions, heads atomic.Int32
	upload := multipart(t, nil, func(w http.ResponseWriter, _ *http.Request) { complete(int(completions.Add(1)), w) })
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method != "HEAD" {
			upload(n, w, r, body)
			return
		}
		if r.Header.Get("X-Amz-Checksum-Mode") != "ENABLED" {
			t.Error("the checksum is not asked for")
		}
		head(int(heads.Add(1)), w)
	})
	return f, openAt(t, f.URL)
}

func noHead(t *testing.T) func(int, http.ResponseWriter) {
	return func(_ int, w http.ResponseWriter) { t.Error("the object was asked for"); w.WriteHeader(404) }
}

func TestCompletionsAreSentAgain(t *testing.T) {
	for name, first := range map[string]func(http.ResponseWriter){
		"lost reply":        cut,
		"500":               func(w http.ResponseWriter) { reply(w, 500, "InternalError") },
		"503":               func(w http.ResponseWriter) { reply(w, 503, "SlowDown") },
		"error after a 200": func(w http.ResponseWriter) { reply(w, 200, "InternalError") },
		"empty 200":         func(w http.ResponseWriter) {},
		"cut 200":           func(w http.ResponseWriter) { fmt.Fprint(w, whole[:40]) },
	} {
		f, s := completing(t, func(n int, w http.ResponseWriter) {
			if n < 3 {
				first(w)
				return
			}
			fmt.Fprint(w, whole)
		}, noHead(t))
		info, err := s.Put(t.Context(), "a", big(minPart+100), objectstore.Condition{})
		if err != nil || info.ETag != "whole" || info.Size != minPart+100 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		s.Close()
		if f.count("partNumber") != 2 || f.count("DELETE") != 0 || f.count("POST /b/a?uploadId") != 3 {
			t.Errorf("%s: requests: %v", name, f.seen())
		}
	}
}

// sumsOf are what a store says of the object that these parts make: a checksum of checksums, an MD5 of MD5s.
func sumsOf(parts ...[]byte) (crc, etag string) {
	c, m := crc32.New(crc32.MakeTable(crc32.Castagnoli)), md5.New()
	for _, p := range parts {
		sum := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
		c.Write([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
		one := md5.Sum(p)
		m.Write(one[:])
	}
	return fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(c.Sum(nil)), len(parts)), fmt.Sprintf("%s-%d", hex.EncodeToString(m.Sum(nil)), len(parts))
}

func TestTheObjectOfALostCompletionIsFound(t *testing.T) {
	data := make([]byte, minPart+100)
	_, _ = big(int64(len(data))).ReadAt(data, 0)
	crc, etag := sumsOf(data[:minPart], data[minPart:])
	other, _ := sumsOf(data)
	head := func(size int, crc, etag string) func(int, http.ResponseWriter) {
		return func(n int, w http.ResponseWriter) {
			if n == 1 { // is asked for again
				w.WriteHeader(503)
				return
			}
			w.Header().Set("Content-Length", fmt.Sprint(size))
			w.Header().Set("ETag", `"`+etag+`"`)
			if crc != "" {
				w.Header().Set("X-Amz-Checksum-Crc32c", crc)
			}
		}
	}
	for _, c := range []struct {
		name  string
		head  func(int, http.ResponseWriter)
		class status.Class
		words string
	}{
		{"same checksum", head(len(data), crc, "opaque"), status.OK, ""},
		{"another object", head(len(data), other, "opaque"), status.Unknown, "opaque"},
		{"checksum of another size", head(len(data)-1, crc, etag), status.Unknown, fmt.Sprint(len(data)-1, " bytes")},
		{"nothing to compare", head(len(data), "", "opaque"), status.Unknown, "opaque"},
		{"none", func(n int, w http.ResponseWriter) { w.WriteHeader(404) }, status.Unknown, "no object"},
	} {
		f, s := completing(t, func(n int, w http.ResponseWriter) {
			if n == 1 {
				cut(w)
				return
			}
			reply(w, 404, "NoSuchUpload")
		}, c.head)
		info, err := s.Put(t.Context(), "a", big(int64(len(data))), objectstore.Condition{})
		if c.class != status.OK {
			want(t, c.name, err, c.class, c.words, "complete upload of a")
		} else if err != nil || info.Size != int64(len(data)) || info.ETag != "opaque" {
			t.Errorf("%s: %+v, %v", c.name, info, err)
		}
		s.Close()
		if f.count("partNumber") != 2 || f.count("POST /b/a?uploadId") != 2 || (f.count("DELETE") == 0) != (err == nil) {
			t.Errorf("%s: requests: %v", c.name, f.seen())
		}
	}
}

// The ETag is compared too: stores that keep no checksum make it from those of the parts.
func TestTheETagOfAnObjectOfParts(t *testing.T) {
	data := make([]byte, 100)
	_, etag := sumsOf(data[:60], data[60:])
	u := &upload{}
	for _, p := range [][]byte{data[:60], data[60:]} {
		one := md5.Sum(p)
		tag := fmt.Sprintf(`"%x"`, one)
		u.parts = append(u.parts, part(tag))
	}
	if !u.sameETag(etag) || u.sameETag(etag[:32]) || u.sameETag("") {
		t.Error(etag)
	}
	if u.sameSum("") || u.sameSum("AAAAAA==-2") {
		t.Error("an absent checksum is equal")
	}
	u.parts[1] = part(`"opaque"`)
	if u.sameETag(etag) {
		t.Error("an opaque ETag is equal")
	}
}

// A completion of unknown fate is not repeated with all its parts by the layer above, and its error says what is known.
func TestLostCompletionsWithoutEnd(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){"lost": cut, "500": func(w http.ResponseWriter) { reply(w, 500, "InternalError") }} {
		f, s := completing(t, func(_ int, w http.ResponseWriter) { fail(w) }, func(_ int, w http.ResponseWriter) { w.WriteHeader(404) })
		_, err := objectstore.Retrying(s, partRetry).Put(t.Context(), "a", big(minPart+100), objectstore.Condition{})
		want(t, name, err, status.Unknown, "may have been written", "sent 4 times")
		s.Close()
		if f.count("partNumber") != 2 || f.count("POST /b/a?uploadId") != 4 || f.count("DELETE") != 1 {
			t.Errorf("%s: requests: %v", name, f.seen())
		}
	}
}

// An upload that is gone before its completion was ever sent, and parts that the store has lost, are begun anew.
func TestUploadsThatAreBegunAnew(t *testing.T) {
	for _, code := range []string{"NoSuchUpload", "InvalidPart"} {
		f, s := completing(t, func(n int, w http.ResponseWriter) {
			if n == 1 {
				reply(w, 400, code)
				return
			}
			fmt.Fprint(w, whole)
		}, func(_ int, w http.ResponseWriter) { w.WriteHeader(404) })
		if _, err := objectstore.Retrying(s, partRetry).Put(t.Context(), "a", big(minPart+100), objectstore.Condition{}); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		s.Close()
		if f.count("partNumber") != 4 || f.count("DELETE") != 1 {
			t.Errorf("%s: requests: %v", code, f.seen())
		}
	}
}

func part(etag string) types.CompletedPart { return types.CompletedPart{ETag: &etag} }
