package assemble

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// closing counts calls of Close.
type closing struct {
	objectstore.Store
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

func TestLateStoreIsOpenedWhenItCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &closing{Store: storetest.NewMemory()}
		failure := status.Errorf(status.Transient, "not mounted")
		opens := 0
		l, err := openLate("file:///x", func() (objectstore.Store, error) {
			opens++
			if failure != nil {
				return nil, failure
			}
			return inner, nil
		})
		if err != nil || opens != 1 {
			t.Fatalf("%v after %d opens: what may pass does not stop the start", err, opens)
		}
		for range 100 {
			if _, err := l.Head(t.Context(), "a"); !status.Is(err, status.Transient) {
				t.Fatal(err)
			}
		}
		if opens != 1 {
			t.Errorf("%d opens within a second", opens)
		}
		if l.URI("a") != "file:///x/a" {
			t.Errorf("URI %s", l.URI("a"))
		}
		if _, ok := l.Key("file:///x/a"); ok {
			t.Error("the key of a store that is not open")
		}
		time.Sleep(reopenAfter) // the store is not opened again sooner
		failure = nil
		if _, err := l.Head(t.Context(), "a"); !status.Is(err, status.NotFound) {
			t.Errorf("after it came up: %v", err)
		}
		if _, err := l.Put(t.Context(), "a", bytes.NewReader([]byte("x")), objectstore.Condition{}); err != nil {
			t.Error(err)
		}
		if data, _, err := l.Get(t.Context(), "a", 10); err != nil || string(data) != "x" {
			t.Errorf("%q %v", data, err)
		}
		if page, _, err := l.List(t.Context(), "", "", 10); err != nil || len(page) != 1 {
			t.Errorf("%v %v", page, err)
		}
		if err := l.ReadRange(t.Context(), "a", make([]byte, 1), 0); err != nil {
			t.Error(err)
		}
		if err := l.Delete(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := closeStore(l); err != nil {
				t.Error(err)
			}
		}
		if inner.closed != 1 {
			t.Errorf("closed %d times", inner.closed)
		}
		if _, err := l.Head(t.Context(), "a"); !status.Is(err, status.Closed) || opens != 2 {
			t.Errorf("%v after the close, %d opens", err, opens)
		}
	})
}

func TestWhatNeverWorksStopsTheStart(t *testing.T) {
	for _, class := range []status.Class{status.Invalid, status.Unsupported} {
		_, err := openLate("x", func() (objectstore.Store, error) { return nil, status.Errorf(class, "nfs") })
		if !status.Is(err, class) {
			t.Errorf("%v", err)
		}
	}
}
