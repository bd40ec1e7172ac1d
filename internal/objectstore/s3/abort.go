package s3

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// How uploads are given up: beside the calls that failed, which have often used up their time.
const (
	abortWait    = 30 * time.Second // for one upload, repeats included
	abortTry     = 10 * time.Second // for one request
	abortWorkers = 2
	abortQueue   = 1000 // uploads that wait for it
)

// abortRetry is how often an abort is sent again.
var abortRetry = budget.Retry{Attempts: 4, Base: 500 * time.Millisecond, Max: 5 * time.Second}

// abandoned is an upload to be given up.
type abandoned struct {
	key string
	id  *string
}

// aborts removes the parts of failed uploads in the background. What it cannot remove it names in the log; such an upload stays until
// a sweep of unfinished uploads finds it.
type aborts struct {
	send  func(ctx context.Context, u abandoned) error
	retry func() budget.Retry
	log   *slog.Logger
	tasks *budget.Tasks

	mu      sync.Mutex
	waiting []abandoned
	workers int
	idle    chan struct{} // of drain: closed when the last worker ends
}

// add never blocks.
func (a *aborts) add(u abandoned) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) >= abortQueue {
		a.left(u, status.Errorf(status.Transient, "%d others wait to be aborted", len(a.waiting)))
		return
	}
	a.waiting = append(a.waiting, u)
	if a.workers < abortWorkers && a.tasks.Go("abort", a.work) {
		a.workers++
	}
	if a.workers == 0 {
		a.waiting = nil
		a.left(u, status.Errorf(status.Closed, "the store is closed"))
	}
}

// next takes one that waits; without one the worker has ended.
func (a *aborts) next() (u abandoned, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) > 0 {
		u, a.waiting = a.waiting[0], a.waiting[1:]
		return u, true
	}
	if a.workers--; a.workers == 0 && a.idle != nil {
		close(a.idle)
		a.idle = nil
	}
	return u, false
}

// work is a worker.
func (a *aborts) work(ctx context.Context) {
	for u, ok := a.next(); ok; u, ok = a.next() {
		if err := a.tasks.Guard("abort", func() error { return a.abort(ctx, u) }); err != nil {
			a.left(u, err)
		}
	}
}

func (a *aborts) abort(ctx context.Context, u abandoned) error {
	ctx, cancel := context.WithTimeout(ctx, abortWait)
	defer cancel()
	return a.retry().Do(ctx, func(ctx context.Context, _ int) error {
		ctx, cancel := context.WithTimeout(ctx, abortTry)
		defer cancel()
		return a.send(ctx, u)
	})
}

func (a *aborts) left(u abandoned, err error) {
	a.log.Warn("s3.abort.failed", "key", u.key, "upload", aws.ToString(u.id), "class", status.Of(err).String(), "error", err.Error(),
		"effect", "its parts stay in the store and are paid for until they are swept")
}

// drain waits until nothing waits any more or ctx ends; then it ends the workers. What comes later is left.
func (a *aborts) drain(ctx context.Context) {
	a.mu.Lock()
	idle := a.idle
	if a.workers > 0 && idle == nil {
		idle = make(chan struct{})
		a.idle = idle
	}
	a.mu.Unlock()
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
		}
	}
	a.tasks.Stop(stopWait)
}

// sendAbort removes the parts of one upload. After a completion whose reply was lost there is nothing to remove and the object stays.
func (s *Store) sendAbort(ctx context.Context, u abandoned) error {
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: s.bucket(), Key: s.name(u.key), UploadId: u.id})
	if err == nil {
		return nil
	}
	if err = s.failed(ctx, err, call{verb: "abort upload of", key: u.key}); gone(err) {
		return nil
	}
	return err
}
