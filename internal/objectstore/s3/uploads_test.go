package s3

import (
	"fmt"
	"net/http"
	"testing"

	"tidemark/internal/status"
)

// A server that ignores prefix and page size must not make foreign uploads look like ours.
func TestForeignUploadsAreNotListed(t *testing.T) {
	f := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ []byte) {
		fmt.Fprint(w, `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>`)
		for i, key := range []string{"other/a", "p/a", "p/b", "pp"} {
			fmt.Fprintf(w, `<Upload><Key>%s</Key><UploadId>u%d</UploadId><Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>`, key, i)
		}
		fmt.Fprint(w, `</ListMultipartUploadsResult>`)
	})
	page, more, err := openAt(t, f.URL).ListUploads(t.Context(), "p/", 10)
	if err != nil || more || len(page) != 2 || page[0].Key != "p/a" || page[0].ID != "u1" || page[1].Key != "p/b" || page[0].Started.Year() != 2026 {
		t.Errorf("page = %+v, %v, %v", page, more, err)
	}
}

func TestAbortOfAGoneUploadIsSuccess(t *testing.T) {
	f := newFake(t, func(n int, w http.ResponseWriter, _ *http.Request, _ []byte) {
		reply(w, []int{404, 500}[n-1], []string{"NoSuchUpload", "InternalError"}[n-1])
	})
	s := openAt(t, f.URL)
	if err := s.AbortUpload(t.Context(), "a", "u"); err != nil {
		t.Errorf("gone: %v", err)
	}
	want(t, "broken", s.AbortUpload(t.Context(), "a", "u"), status.Transient)
	want(t, "no id", s.AbortUpload(t.Context(), "a", ""), status.Invalid)
	if len(f.seen()) != 2 {
		t.Errorf("requests: %v", f.seen())
	}
}

// Pages follow the server's marks, and a server that gives the same mark again does not keep the caller for ever.
func TestPagesOfUploads(t *testing.T) {
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, _ []byte) {
		if q := r.URL.Query(); n == 2 && (q.Get("key-marker") != "a" || q.Get("upload-id-marker") != "m") {
			t.Errorf("the second page is asked for with %s", r.URL.RawQuery)
		}
		fmt.Fprintf(w, `<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>m</NextUploadIdMarker>
<Upload><Key>a</Key><UploadId>u%d</UploadId></Upload></ListMultipartUploadsResult>`, n)
	})
	s := openAt(t, f.URL)
	for _, max := range []int{10, 1} {
		uploads, more, err := s.ListUploads(t.Context(), "", max)
		if err != nil || !more || len(uploads) != min(max, 2) {
			t.Errorf("at most %d: %+v, %v, %v", max, uploads, more, err)
		}
		f.mu.Lock()
		f.requests = nil
		f.mu.Unlock()
	}
}

// Listing and aborting uploads need rights of their own, which a policy for reading and writing often lacks.
func TestARefusedUploadCallNamesItsRights(t *testing.T) {
	f := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ []byte) { reply(w, 403, "AccessDenied") })
	s := openAt(t, f.URL)
	_, _, err := s.ListUploads(t.Context(), "p/", 10)
	for name, err := range map[string]error{"list": err, "abort": s.AbortUpload(t.Context(), "a", "u")} {
		want(t, name, err, status.Invalid, "s3:ListBucketMultipartUploads")
		want(t, name, err, status.Invalid, "s3:AbortMultipartUpload")
	}
}
