package objectserver

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// run starts a server for a test and shows the end of its log if the test fails.
func run(t *testing.T, startIn func(context.Context, string) (*Server, error)) *Server {
	t.Helper()
	s, err := startIn(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", tail(s.Log(), 40))
		}
	})
	return s
}

// store opens a store in a server; small parts make several of a few MiB.
func store(t *testing.T, s *Server, prefix string, change func(*s3.Config)) *s3.Store {
	t.Helper()
	c := s.Config(prefix)
	c.PartSize, c.SinglePutBelow, c.Checksum = 5<<20, 6<<20, s3.Auto
	if change != nil {
		change(&c)
	}
	st, err := s3.Open(t.Context(), c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

func TestSeaweedFS(t *testing.T) {
	server := run(t, Start)
	t.Run("acceptance", func(t *testing.T) {
		storetest.Acceptance(t, func(t *testing.T) objectstore.Store { return store(t, server, "some/prefix", nil) }, capsOf(server))
	})
	t.Run("root of the bucket", func(t *testing.T) {
		st := store(t, server, "", nil)
		if _, err := st.Put(t.Context(), "rooted/a", strings.NewReader("x"), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		page, more, err := st.List(t.Context(), "rooted/", "", 10)
		if err != nil || more || len(page) != 1 || page[0].Key != "rooted/a" || st.URI("rooted/a") != "s3://tidemark/rooted/a" {
			t.Errorf("list = %v, %v, %v", page, more, err)
		}
	})
	probe(t, server)
	uploads(t, server)
	sums(t, server)
	wrongSettings(t, server)
	clocks(t, server)
	secured(t, server)
	t.Run("stalled server", func(t *testing.T) {
		st := store(t, server, "stalled", nil)
		if _, err := st.Put(t.Context(), "first", strings.NewReader("x"), objectstore.Condition{}); err != nil { // finds the checksum
			t.Fatal(err)
		}
		server.Pause()
		defer server.Resume()
		for _, cond := range []objectstore.Condition{{}, {Absent: true}} {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := st.Put(ctx, "a", strings.NewReader("x"), cond)
			cancel()
			want := status.Transient
			if cond.Absent {
				want = status.Unknown
			}
			if !status.Is(err, want) {
				t.Errorf("%+v: %v %v, want %v", cond, status.Of(err), err, want)
			}
		}
	})
	t.Run("stopped server", func(t *testing.T) {
		st := store(t, server, "stopped", nil)
		if _, err := st.Put(t.Context(), "b", strings.NewReader("kept"), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		server.Stop()
		_, err := st.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{Absent: true})
		if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "cannot be reached") || !strings.Contains(err.Error(), server.Endpoint) {
			t.Errorf("%v: %v; nothing was sent, so nothing is unknown", status.Of(err), err)
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if data, _, err := st.Get(t.Context(), "b", 10); err != nil || string(data) != "kept" {
			t.Errorf("after a restart: %q, %v", data, err)
		}
	})
}

func TestVersityGW(t *testing.T) {
	server := run(t, StartVersity)
	t.Run("acceptance", func(t *testing.T) {
		storetest.Acceptance(t, func(t *testing.T) objectstore.Store { return store(t, server, "some/prefix", nil) }, capsOf(server))
	})
	probe(t, server)
	uploads(t, server)
	sums(t, server)
	wrongSettings(t, server)
	clocks(t, server)
	secured(t, server)
}

// capsOf is what a server may lack.
func capsOf(s *Server) storetest.Caps {
	if strings.HasSuffix(s.binary, "weed") {
		return storetest.Caps{Swap: true, Nesting: true, ByDirectory: true, Rounds: 1} // races cost seconds each: the server's lock is slow
	}
	return storetest.Caps{Swap: true}
}

func probe(t *testing.T, server *Server) {
	t.Run("probe", func(t *testing.T) {
		st := store(t, server, "probed", nil)
		if err := st.Probe(t.Context()); err != nil {
			t.Errorf("probe: %v", err)
		}
		root := store(t, server, "", nil)
		if page, _, err := root.List(t.Context(), "probed/", "", 10); err != nil || len(page) > 0 {
			t.Errorf("the probe left %v, %v", page, err)
		}
	})
}

func wrongSettings(t *testing.T, server *Server) {
	weed := strings.HasSuffix(server.binary, "weed")
	key, silent := []string{"403", "InvalidAccessKeyId", "clock"}, status.Invalid
	if !weed {
		key, silent = []string{"404", "XAdminUserNotFound", "access key"}, status.NotFound // the reply to a HEAD has a status only
	}
	for _, c := range []struct {
		name   string
		change func(*s3.Config)
		words  []string
		head   status.Class
		made   bool // by an upload
	}{
		{"secret", func(c *s3.Config) { c.SecretKey = "hunter2" }, []string{"403", "SignatureDoesNotMatch", "clock"}, status.Invalid, false},
		{"access key", func(c *s3.Config) { c.AccessKey = "nobody" }, key, silent, false},
		{"bucket", func(c *s3.Config) { c.Bucket = "other" }, []string{"404", "NoSuchBucket", "store.s3.bucket"}, status.NotFound, weed},
	} {
		t.Run("wrong "+c.name, func(t *testing.T) {
			st := store(t, server, "wrong", c.change)
			_, _, err := st.Get(t.Context(), "a", 10)
			_, _, listed := st.List(t.Context(), "", "", 10)
			if !status.Is(err, status.Invalid) || !status.Is(listed, status.Invalid) {
				t.Errorf("get: %v, list: %v: %v, want Invalid", status.Of(err), status.Of(listed), listed)
			}
			if _, err := st.Head(t.Context(), "a"); !status.Is(err, c.head) {
				t.Errorf("head: %v: %v, want %v", status.Of(err), err, c.head)
			}
			if _, err := st.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{}); !c.made && !status.Is(err, status.Invalid) || c.made && err != nil {
				t.Errorf("put: %v: %v", status.Of(err), err)
			}
			for _, w := range c.words {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("the error does not say %q: %v", w, err)
				}
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), server.SecretKey)) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}
