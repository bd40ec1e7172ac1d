package fetch

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

func TestSidecarIsReadOnce(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, 1000)
	_, key := ref.Keys()
	for range 3 {
		s, err := f.Sidecar(deadline(t), ref)
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := s.Index(stored.OffsetIndex); !ok || string(p) != "offsets" {
			t.Errorf("offset index %q, %v", p, ok)
		}
	}
	if m.count(key) != 1 || m.heads != 0 {
		t.Errorf("%d reads and %d heads, want 1 and 0", m.count(key), m.heads)
	}
}

func TestSidecarWithoutCustomMetadata(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, 1000)
	ref.Custom = nil
	for range 2 {
		if _, err := f.Sidecar(deadline(t), ref); err != nil {
			t.Fatal(err)
		}
	}
	if m.heads != 1 {
		t.Errorf("%d heads, want 1", m.heads)
	}
}

// What the caller knows and what is stored must agree; the error names the object and both sides.
func TestSidecarMustMatch(t *testing.T) {
	cases := map[string]func(*Ref, *memory){
		"size":      func(r *Ref, _ *memory) { r.Size++ },
		"custom":    func(r *Ref, _ *memory) { r.Custom = append([]byte(nil), r.Custom...); r.Custom[9] ^= 1 },
		"other crc": func(r *Ref, _ *memory) { r.Custom = other(t, r.Custom, func(m *stored.Metadata) { m.SidecarCRC++ }) },
		"log size":  func(r *Ref, _ *memory) { r.Custom = other(t, r.Custom, func(m *stored.Metadata) { m.Size++ }) },
		"bigger":    func(r *Ref, _ *memory) { r.Custom = other(t, r.Custom, func(m *stored.Metadata) { m.SidecarSize++ }) },
		"huge": func(r *Ref, _ *memory) {
			r.Custom = other(t, r.Custom, func(m *stored.Metadata) { m.SidecarSize = 1<<31 - 1 })
		},
		"smaller":   func(r *Ref, _ *memory) { r.Custom = other(t, r.Custom, func(m *stored.Metadata) { m.SidecarSize-- }) },
		"byte flip": func(r *Ref, m *memory) { _, k := r.Keys(); m.objects[k][3] ^= 1 },
		"cut":       func(r *Ref, m *memory) { _, k := r.Keys(); m.objects[k] = m.objects[k][:20] },
		"empty":     func(r *Ref, m *memory) { _, k := r.Keys(); m.objects[k] = nil; r.Custom = nil },
		"another's": func(r *Ref, m *memory) {
			_, k := r.Keys()
			r2, _ := m.put(t, 9, 1000)
			_, k2 := r2.Keys()
			m.objects[k], r.Custom = m.objects[k2], nil
		},
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			m, f := setup(t, nil)
			ref, _ := m.put(t, 1, 1000)
			damage(&ref, m)
			_, err := f.Sidecar(deadline(t), ref)
			_, key := ref.Keys()
			if !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), key) {
				t.Errorf("got %v (%v), want Corrupt naming %s", err, status.Of(err), key)
			}
		})
	}
}

func other(t *testing.T, custom []byte, change func(*stored.Metadata)) []byte {
	m, err := stored.DecodeMetadata(custom)
	if err != nil {
		t.Fatal(err)
	}
	change(&m)
	return m.Encode()
}

// A sidecar whose GET stands still is asked for a second time, and the faster answer is taken; the memory of both is given back.
func TestSidecarsAreHedged(t *testing.T) {
	for _, hedging := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m, f := setup(t, func(c *Config) { c.Hedge = hedging })
			ref, _ := m.put(t, 1, 1000)
			_, key := ref.Keys()
			var asked atomic.Int32
			m.set(func(ctx context.Context, _ string) error {
				if asked.Add(1) == 1 {
					<-ctx.Done()
					return status.Wrapf(ctx.Err(), "stalled")
				}
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			began := time.Now()
			_, err := f.Sidecar(ctx, ref)
			if took := time.Since(began); hedging != (err == nil) || hedging && took > 2*hedgeUnknown {
				t.Errorf("hedging %v: %v after %v", hedging, err, took)
			}
			synctest.Wait()
			if size, _ := f.sidecars.size(key); hedging && f.sidecars.used() != size {
				t.Errorf("%d bytes of sidecars lent, one has %d", f.sidecars.used(), size)
			}
			f.Close(time.Minute)
		})
	}
}

// When the first GET fails while the second runs, the second decides; when both fail, the first says why.
func TestHedgedSidecarsFail(t *testing.T) {
	for _, secondFails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, f := setup(t, nil)
			ref, _ := m.put(t, 1, 1000)
			var asked atomic.Int32
			m.set(func(context.Context, string) error {
				switch asked.Add(1) {
				case 1:
					time.Sleep(2 * hedgeUnknown)
					return status.Errorf(status.Transient, "the first")
				case 2:
					time.Sleep(3 * hedgeUnknown)
					if secondFails {
						return status.Errorf(status.NotFound, "the second")
					}
				}
				return nil
			})
			_, err := f.Sidecar(t.Context(), ref)
			if secondFails != (err != nil) || secondFails && !strings.Contains(err.Error(), "the first") {
				t.Errorf("second fails %v: %v", secondFails, err)
			}
			f.Close(time.Minute)
		})
	}
}
