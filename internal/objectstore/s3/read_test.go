package s3

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tidemark/internal/status"
)

func TestRangesAreVerified(t *testing.T) {
	body := "0123456789"
	cases := []struct {
		name    string
		code    int
		headers map[string]string
		body    string
		class   status.Class
		words   string
	}{
		{"right", 206, map[string]string{"Content-Range": "bytes 2-5/10"}, "2345", status.OK, ""},
		{"end of the object", 206, map[string]string{"Content-Range": "bytes 2-3/4"}, "23", status.Corrupt, "4 bytes"},
		{"other place", 206, map[string]string{"Content-Range": "bytes 3-6/10"}, "3456", status.Corrupt, "bytes 3 to 7"},
		{"cut by the server", 206, map[string]string{"Content-Range": "bytes 2-4/10"}, "234", status.Corrupt, "bytes 2 to 5"},
		{"whole object", 200, nil, body, status.Unsupported, "ignores ranged reads"},
		{"no range header", 206, nil, "2345", status.Unsupported, "ignores ranged reads"},
		{"too long", 206, map[string]string{"Content-Range": "bytes 2-5/10"}, "23456", status.Corrupt, "goes on"},
		{"beyond", 416, map[string]string{"Content-Range": "bytes */2"}, "", status.Corrupt, "2 bytes"},
		{"nonsense", 206, map[string]string{"Content-Range": "bytes 5-2/10"}, "2345", status.Unsupported, "Content-Range"},
	}
	for _, c := range cases {
		f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
			if r.Header.Get("Range") != "bytes=2-5" {
				t.Errorf("Range = %q", r.Header.Get("Range"))
			}
			for k, v := range c.headers {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.code)
			fmt.Fprint(w, c.body)
		})
		dst := make([]byte, 4)
		err := openAt(t, f.URL).ReadRange(t.Context(), "some/key", dst, 2)
		want(t, c.name, err, c.class, c.words)
		if err == nil && string(dst) != "2345" {
			t.Errorf("%s: %q", c.name, dst)
		}
		if err != nil && !strings.Contains(err.Error(), "some/key") {
			t.Errorf("%s: the error does not name the object: %v", c.name, err)
		}
	}
}

// One reply that is not what was asked for costs one more request; one that always is not is an error after that.
func TestAWrongReplyIsAskedForAgain(t *testing.T) {
	data := []byte("0123456789abcdefghij")
	for name, spoil := range map[string]func(w http.ResponseWriter, body []byte){
		"range ignored": func(w http.ResponseWriter, _ []byte) {
			w.Header().Del("Content-Range")
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data)
		},
		"shifted": func(w http.ResponseWriter, body []byte) {
			w.Header().Set("Content-Range", "bytes 3-18/20")
			w.WriteHeader(206)
			_, _ = w.Write(body)
		},
		"longer": func(w http.ResponseWriter, body []byte) {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)+3))
			w.WriteHeader(206)
			_, _ = w.Write(append(body[:len(body):len(body)], "xyz"...))
		},
	} {
		for _, times := range []int{1, 1000} {
			wrong := 0
			f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
				var first, last int
				if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil {
					t.Errorf("%s: Range = %q", name, r.Header.Get("Range"))
				}
				body := data[first : last+1]
				w.Header().Set("ETag", `"e"`)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(data)))
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				if wrong++; wrong <= times {
					spoil(w, body)
					return
				}
				w.WriteHeader(206)
				_, _ = w.Write(body)
			})
			got := make([]byte, 16)
			var filled []int
			err := openAt(t, f.URL).ReadScatter(t.Context(), "some/key", [][]byte{got[:5], got[5:]}, 2, func(i int) { filled = append(filled, i) })
			if times == 1 && (err != nil || !bytes.Equal(got, data[2:18]) || fmt.Sprint(filled) != "[0 1]") {
				t.Errorf("%s once: %v, filled %v, %q", name, err, filled, got)
			}
			if times > 1 && !status.Is(err, status.Corrupt) && !status.Is(err, status.Unsupported) {
				t.Errorf("%s always: %v", name, err)
			}
			if n := len(f.seen()); n != 2 {
				t.Errorf("%s %d times: %d requests", name, times, n)
			}
		}
	}
}

func TestGetRefusesMoreThanItsLimitBeforeReading(t *testing.T) {
	f := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Length", "1099511627776")
		w.WriteHeader(200)
	})
	_, info, err := openAt(t, f.URL).Get(t.Context(), "a", 1<<20)
	want(t, "get", err, status.Invalid, "1099511627776")
	if info.Size != 1<<40 {
		t.Errorf("info = %+v", info)
	}
}

func TestListLeavesOutWhatIsNoObject(t *testing.T) {
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, _ []byte) {
		fmt.Fprint(w, `<ListBucketResult>`)
		q := r.URL.Query()
		switch q.Get("start-after") {
		case "":
			fmt.Fprint(w, `<IsTruncated>true</IsTruncated>`)
			for _, k := range []string{".tidemark/probe-x", "a/", "a/b"} {
				fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>3</Size><ETag>"e"</ETag></Contents>`, k)
			}
		case "a/b":
			fmt.Fprint(w, `<Contents><Key>c</Key><Size>3</Size><ETag>e</ETag></Contents>`)
		default:
			t.Errorf("start-after %q", q.Get("start-after"))
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	})
	page, more, err := openAt(t, f.URL).List(t.Context(), "", "", 10)
	if err != nil || more || len(page) != 2 || page[0].Key != "a/b" || page[1].Key != "c" || page[0].ETag != "e" || page[1].ETag != "e" {
		t.Errorf("list = %+v, %v, %v", page, more, err)
	}
}

func TestParseContentRange(t *testing.T) {
	for _, text := range []string{"", "bytes", "bytes */10", "bytes 0-9", "bytes 0-10/10", "bytes 3-2/10", "bytes a-b/c", "items 0-1/2", "bytes 0-9/*"} {
		if _, _, _, ok := parseContentRange(text); ok {
			t.Errorf("%q is taken", text)
		}
	}
	if first, last, size, ok := parseContentRange("bytes 2-5/10"); !ok || first != 2 || last != 5 || size != 10 {
		t.Error("a right one is not taken")
	}
}
