package s3

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// The store takes aborts and does not answer: the put that failed has returned, and closing ends in time with a word about what is left.
func TestAnAbortDoesNotHoldItsPut(t *testing.T) {
	quickRetries(t)
	var log lockedBuffer
	upload := multipart(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool { reply(w, 403, "AccessDenied"); return true }, nil)
	aborting := make(chan struct{})
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method != "DELETE" {
			upload(n, w, r, body)
			return
		}
		close(aborting)
		<-r.Context().Done()
	})
	s, err := Open(t.Context(), testConfig(f.URL), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "a", big(minPart+100), objectstore.Condition{}) // hangs if the abort holds it: nothing answers that
	want(t, "put", err, status.Invalid)
	<-aborting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.CloseWithin(ctx)
	if text := log.String(); !strings.Contains(text, "s3.abort.failed") || !strings.Contains(text, "upload=u1") {
		t.Errorf("the log says nothing of the upload that is left: %s", text)
	}
}

func TestAbortsAreSentAgainAndDrained(t *testing.T) {
	quickRetries(t)
	upload := multipart(t, func(_ int, w http.ResponseWriter, _ *http.Request) bool { reply(w, 403, "AccessDenied"); return true }, nil)
	deletes := 0
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method == "DELETE" {
			if deletes++; deletes < 3 {
				reply(w, 500, "InternalError")
				return
			}
		}
		upload(n, w, r, body)
	})
	s := openAt(t, f.URL)
	_, err := s.Put(t.Context(), "a", big(minPart+100), objectstore.Condition{})
	want(t, "put", err, status.Invalid)
	s.Close()
	if f.count("DELETE") != 3 {
		t.Errorf("requests: %v", f.seen())
	}
}

func TestTheQueueOfAbortsIsBounded(t *testing.T) {
	var log lockedBuffer
	hold, sent := make(chan struct{}), make(chan string, 2*abortQueue)
	logger := slog.New(slog.NewTextHandler(&log, nil))
	a := &aborts{log: logger, tasks: budget.NewTasks("test", logger), retry: func() budget.Retry { return budget.Retry{Attempts: 1} },
		send: func(ctx context.Context, u abandoned) error { sent <- u.key; <-hold; return nil }}
	for range abortWorkers {
		a.add(abandoned{key: "first", id: aws.String("u")})
		<-sent // a worker has it
	}
	for range abortQueue {
		a.add(abandoned{key: "waits", id: aws.String("u")})
	}
	a.add(abandoned{key: "beyond", id: aws.String("u")})
	if text := log.String(); strings.Count(text, "s3.abort.failed") != 1 || !strings.Contains(text, "key=beyond") {
		t.Errorf("log: %s", text)
	}
	close(hold)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a.drain(ctx)
	if len(sent) != abortQueue {
		t.Errorf("%d of %d were sent", len(sent), abortQueue)
	}
	a.add(abandoned{key: "late", id: aws.String("u")})
	if !strings.Contains(log.String(), "key=late") {
		t.Error("one that comes after the end is not in the log")
	}
}

// lockedBuffer is a log that tasks write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
