package assemble

import (
	"bytes"
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// probed is a store whose probe answers what it is told to.
type probed struct {
	objectstore.Store
	mu    sync.Mutex
	err   error
	tries int
}

func (p *probed) Probe(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	return p.err
}

func (p *probed) set(err error) { p.mu.Lock(); p.err = err; p.mu.Unlock() }

func TestConditionsAreProvedBeforeTablesAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		tasks := budget.NewTasks("test", log)
		defer tasks.Stop(time.Minute)
		p := &probed{Store: storetest.NewMemory(), err: status.Errorf(status.Transient, "connection refused")}
		c := watchConditions(p, "s3://b", tasks, log)
		after := func(d time.Duration, class status.Class, words string) {
			t.Helper()
			time.Sleep(d) // virtual time
			synctest.Wait()
			if err := c.check(); status.Of(err) != class || err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("%v, want %v: %s", err, class, words)
			}
		}
		after(0, status.Transient, "s3://b")
		after(time.Hour, status.Transient, "connection refused")
		if p.tries < 55 || p.tries > 70 {
			t.Errorf("%d tries in an hour, want one a minute", p.tries)
		}
		if out.Len() > 0 {
			t.Errorf("an unreachable store is said elsewhere: %s", out.String())
		}
		p.set(status.Errorf(status.Unsupported, "s3://b does not hold If-Match"))
		after(5*time.Minute, status.Unsupported, "If-Match")
		p.set(status.Errorf(status.Transient, "connection refused"))
		after(15*time.Minute, status.Unsupported, "If-Match") // what is known stays known
		p.set(nil)
		after(15*time.Minute, status.OK, "")
		tries := p.tries
		after(time.Hour, status.OK, "")
		if p.tries != tries {
			t.Error("tried on after it was proved")
		}
		for event, want := range map[string]int{"store.conditions.ignored": 1, "store.conditions.hold": 1} {
			if n := strings.Count(out.String(), event); n != want {
				t.Errorf("%s said %d times:\n%s", event, n, out.String())
			}
		}
	})
}

func TestAStoreWithoutAProbeHasNothingToProve(t *testing.T) {
	tasks := budget.NewTasks("test", slog.New(slog.DiscardHandler))
	defer tasks.Stop(time.Minute)
	if err := watchConditions(storetest.NewMemory(), "file:///x", tasks, slog.New(slog.DiscardHandler)).check(); err != nil {
		t.Error(err)
	}
}

// bucket is an S3 server that keeps objects and ignores every condition.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch r.Method {
	case http.MethodPut:
		b.objects[r.URL.Path] = body
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(body)))
	case http.MethodDelete:
		delete(b.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestAStoreThatIgnoresConditionsIsNamed(t *testing.T) {
	server := httptest.NewServer(&bucket{objects: map[string][]byte{}})
	defer server.Close()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	c, err := Parse(map[string]string{"local.dir": t.TempDir(), "store.type": "s3", "store.s3.bucket": "lake", "store.s3.endpoint": server.URL,
		"store.s3.path.style": "true", "store.s3.credentials": "static", "store.s3.access.key": "k", "store.s3.secret.key": "hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	store, err := openStore(t.Context(), c, false, log)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(store)
	if _, ok := store.(*s3.Store); !ok {
		t.Fatalf("%T", store)
	}
	tasks := budget.NewTasks("test", log)
	unfit := watchConditions(store, c.where(), tasks, log)
	deadline := time.Now().Add(30 * time.Second)
	for !status.Is(unfit.check(), status.Unsupported) {
		if time.Now().After(deadline) {
			t.Fatalf("%v", unfit.check())
		}
		time.Sleep(10 * time.Millisecond) // the pace of looking at a condition
	}
	if !tasks.Stop(10 * time.Second) {
		t.Error("the probe goes on")
	}
	for _, want := range []string{server.URL, "lake", "store.conditions.ignored"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log does not name %s:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Error("the secret is in the log")
	}
}
