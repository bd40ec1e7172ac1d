package s3

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

func TestStatusTable(t *testing.T) {
	cases := []struct {
		code                   int
		name                   string
		get, put, create, swap status.Class
		words                  string
	}{
		{404, "NoSuchKey", status.NotFound, status.NotFound, status.NotFound, status.Conflict, "NoSuchKey"},
		{404, "NoSuchBucket", status.Invalid, status.Invalid, status.Invalid, status.Invalid, "store.s3.bucket"},
		{412, "PreconditionFailed", status.Conflict, status.Conflict, status.Conflict, status.Conflict, "words of"},
		{409, "ConditionalRequestConflict", status.Transient, status.Transient, status.Transient, status.Transient, ""},
		{409, "FileAlreadyExists", status.Conflict, status.Conflict, status.Conflict, status.Conflict, ""},
		{429, "TooManyRequests", status.Throttled, status.Throttled, status.Throttled, status.Throttled, ""},
		{503, "SlowDown", status.Throttled, status.Throttled, status.Throttled, status.Throttled, ""},
		{503, "ServiceUnavailable", status.Transient, status.Transient, status.Unknown, status.Unknown, ""},
		{500, "InternalError", status.Transient, status.Transient, status.Unknown, status.Unknown, ""},
		{502, "", status.Transient, status.Transient, status.Unknown, status.Unknown, "502"},
		{501, "NotImplemented", status.Unsupported, status.Unsupported, status.Unsupported, status.Unsupported, "does not have"},
		{401, "Unauthorized", status.Invalid, status.Invalid, status.Invalid, status.Invalid, "clock"},
		{403, "AccessDenied", status.Invalid, status.Invalid, status.Invalid, status.Invalid, "policy"},
		{404, "XAdminUserNotFound", status.Invalid, status.Invalid, status.Invalid, status.Invalid, "access key"},
		{403, "SignatureDoesNotMatch", status.Invalid, status.Invalid, status.Invalid, status.Invalid, "clock"},
		{403, "RequestTimeTooSkewed", status.Transient, status.Transient, status.Transient, status.Transient, "NTP"},
		{400, "ExpiredToken", status.Invalid, status.Invalid, status.Invalid, status.Invalid, "expired"},
		{400, "MalformedXML", status.Invalid, status.Invalid, status.Invalid, status.Invalid, "MalformedXML"},
	}
	for _, c := range cases {
		f := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ []byte) { reply(w, c.code, c.name) })
		s := openAt(t, f.URL)
		what := fmt.Sprint(c.code, " ", c.name)
		_, _, err := s.Get(t.Context(), "some/key", 10)
		want(t, what+" get", err, c.get, c.words, "some/key", f.URL)
		for cond, class := range map[objectstore.Condition]status.Class{{}: c.put, {Absent: true}: c.create, {Match: "e"}: c.swap} {
			_, err = s.Put(t.Context(), "some/key", strings.NewReader("x"), cond)
			want(t, fmt.Sprintf("%s put %+v", what, cond), err, class, c.words, "some/key")
		}
		if n := len(f.seen()); n != 4 {
			t.Errorf("%s: %d requests for 4 calls", what, n)
		}
	}
}

func TestLostReplies(t *testing.T) {
	f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
		if r.Header.Get("X-Amz-Date") == "" {
			t.Error("unsigned request")
		}
		cut(w)
	})
	s := openAt(t, f.URL)
	_, err := s.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{})
	want(t, "put", err, status.Transient, "no reply")
	_, err = s.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{Absent: true})
	want(t, "create", err, status.Unknown, "may have been written")
	_, err = s.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{Match: "e"})
	want(t, "swap", err, status.Unknown, "may have been written")
	want(t, "delete", s.Delete(t.Context(), "a"), status.Transient)
	if n := len(f.seen()); n != 4 {
		t.Errorf("%d requests for 4 calls: a put was sent twice", n)
	}
}

func TestEndedContexts(t *testing.T) {
	arrived := make(chan struct{}, 10)
	release := make(chan struct{})
	f := newFake(t, func(_ int, _ http.ResponseWriter, r *http.Request, _ []byte) {
		arrived <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	defer close(release)
	s := openAt(t, f.URL)
	for _, c := range []struct {
		name  string
		cond  objectstore.Condition
		class status.Class
	}{{"put", objectstore.Condition{}, status.Cancelled}, {"create", objectstore.Condition{Absent: true}, status.Unknown}} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		_, err := s.Put(ctx, "a", strings.NewReader("x"), c.cond)
		want(t, c.name+" cancelled on its way", err, c.class)
		cancel()
		_, err = s.Put(ctx, "a", strings.NewReader("x"), c.cond)
		want(t, c.name+" cancelled before", err, status.Cancelled)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := s.Get(ctx, "a", 10)
	want(t, "get beyond its deadline", err, status.Transient)
}

func TestUnreachable(t *testing.T) {
	f := newFake(t, nil)
	f.Close()
	for _, endpoint := range []string{f.URL, "http://host.invalid:1"} {
		s := openAt(t, endpoint)
		for _, cond := range []objectstore.Condition{{}, {Absent: true}} {
			_, err := s.Put(t.Context(), "a", strings.NewReader("x"), cond)
			want(t, fmt.Sprintf("put %+v to %s", cond, endpoint), err, status.Transient, "cannot be reached", endpoint)
		}
	}
}

func TestErrorAfterTheStatusLineOfACompletion(t *testing.T) {
	_, s := completing(t, func(_ int, w http.ResponseWriter) { reply(w, 200, "InternalError") }, func(_ int, w http.ResponseWriter) { w.WriteHeader(404) })
	_, err := s.Put(t.Context(), "a", big(minPart+1), objectstore.Condition{})
	want(t, "put", err, status.Unknown, "InternalError")
	_, err = s.Put(t.Context(), "a", big(minPart+1), objectstore.Condition{Absent: true})
	want(t, "create", err, status.Unknown)
}

// A refusal that the dates explain is one of the clock, whatever the store calls it; one they do not explain is not.
func TestRefusalsByTheClock(t *testing.T) {
	for _, c := range []struct {
		off   time.Duration // of the store
		code  int
		name  string
		class status.Class
		words string
	}{
		{20 * time.Minute, 403, "", status.Transient, "behind the store's time"},
		{-20 * time.Minute, 403, "AccessDenied", status.Transient, "ahead of the store's time"},
		{20 * time.Minute, 403, "RequestTimeTooSkewed", status.Transient, "NTP"},
		{20 * time.Minute, 401, "", status.Transient, "NTP"},
		{20 * time.Minute, 404, "NoSuchKey", status.NotFound, ""},
		{5 * time.Minute, 403, "AccessDenied", status.Invalid, "policy"},
		{0, 403, "", status.Invalid, "no words"},
	} {
		f := newFake(t, func(_ int, w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Date", time.Now().Add(c.off).UTC().Format(http.TimeFormat))
			reply(w, c.code, c.name)
		})
		_, _, err := openAt(t, f.URL).Get(t.Context(), "some/key", 10)
		want(t, fmt.Sprintf("%v %d %s", c.off, c.code, c.name), err, c.class, c.words)
	}
}
