package diskcache

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tidemark/internal/telemetry"
)

// small is a cache of eight slabs of 4 KiB.
var small = sizes{capacity: 32 << 10, slab: 4 << 10, stage: 2 << 10}

// fixture is a cache with what it logs.
type fixture struct {
	*Cache
	t   testing.TB
	log *bytes.Buffer
	set *telemetry.Set
}

func start(t testing.TB, dir string, s sizes, d device) fixture {
	t.Helper()
	f := fixture{t: t, log: &bytes.Buffer{}, set: telemetry.NewSet()}
	var err error
	if f.Cache, err = open(Config{Dir: dir}, s, d, Deps{Log: slog.New(slog.NewTextHandler(f.log, nil)), Metrics: f.set}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return f
}

func (f fixture) stop() {
	f.t.Helper()
	if !f.Close(time.Minute) {
		f.t.Fatal("the cache did not end")
	}
}

// put stores a block and waits until it is written.
func (f fixture) put(object string, chunk int, data []byte) {
	f.Put(object, chunk, data)
	synctest.Wait()
}

func (f fixture) get(object string, chunk, n int) ([]byte, bool) {
	p := make([]byte, n)
	return p, f.Get(object, chunk, p)
}

func (f fixture) metric(name string) float64 {
	f.t.Helper()
	samples, err := f.set.Snapshot()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, s := range samples {
		if s.Name+"{"+s.Labels+"}" == telemetry.Prefix+name {
			return s.Value
		}
	}
	f.t.Fatalf("there is no metric %s", name)
	return 0
}

// content is n bytes that depend on everything.
func content(object string, chunk, version, n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-16.16s%8d%8d", object, chunk, version))))
	_, _ = r.Read(p)
	return p
}

// Whatever is put, read, evicted, damaged and restarted: a hit is exactly the bytes that were put last, and the disk in use stays
// within the capacity.
func TestHitsAreWhatWasPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(r *rapid.T) {
			dir, err := os.MkdirTemp(t.TempDir(), "")
			if err != nil {
				r.Fatal(err)
			}
			f := start(t, dir, small, disk{})
			defer func() { f.stop() }()
			model, gone, flipped := map[key][]byte{}, map[key]bool{}, false
			for range rapid.IntRange(1, 150).Draw(r, "steps") {
				k := key{fmt.Sprint("object-", rapid.IntRange(0, 3).Draw(r, "object")), rapid.Int32Range(0, 19).Draw(r, "chunk")}
				switch rapid.SampledFrom([]string{"put", "put", "put", "get", "get", "restart", "flip", "drop"}).Draw(r, "step") {
				case "put":
					if model[k] == nil {
						model[k] = content(k.object, int(k.chunk), 0, rapid.IntRange(1, 1500).Draw(r, "size"))
					}
					gone[k] = false
					f.put(k.object, int(k.chunk), model[k])
					if _, ok := f.get(k.object, int(k.chunk), len(model[k])); !ok && flipped { // what was there was damaged, and is gone now
						f.put(k.object, int(k.chunk), model[k])
					}
					if p, ok := f.get(k.object, int(k.chunk), len(model[k])); !ok || !bytes.Equal(p, model[k]) {
						r.Fatalf("%v was just put: %v", k, ok)
					}
				case "get":
					p, ok := f.get(k.object, int(k.chunk), len(model[k]))
					if ok && gone[k] && !flipped {
						r.Fatalf("%v is back although its object was dropped", k)
					}
					if ok && (model[k] == nil || !bytes.Equal(p, model[k])) {
						r.Fatalf("%v: other bytes than were put", k)
					}
					if _, ok := f.get(k.object, int(k.chunk), len(model[k])+1); ok {
						r.Fatalf("%v: a hit of a longer block", k)
					}
				case "restart":
					had := f.Has(k.object, int(k.chunk), len(model[k]))
					f.stop()
					f = start(t, dir, small, disk{})
					if has := f.Has(k.object, int(k.chunk), len(model[k])); has != had && !flipped {
						r.Fatalf("%v: there before the restart %v, after it %v", k, had, has)
					}
				case "drop":
					f.Drop(k.object)
					synctest.Wait()
					for other, data := range model {
						if other.object == k.object {
							if f.Has(other.object, int(other.chunk), len(data)) {
								r.Fatalf("%v is there although its object was dropped", other)
							}
							gone[other] = true
						}
					}
				case "flip":
					flipped = true
					flip(r, dir)
				}
				if used, _ := f.used(); used > float64(small.capacity) {
					r.Fatalf("%v bytes of disk in use", used)
				}
				onDisk(r, dir, small.capacity)
			}
		})
	})
}

// flip damages a byte of the data part of some file: of headers the table has copies.
func flip(r *rapid.T, dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, "slab-*"))
	if len(names) == 0 {
		return
	}
	name := rapid.SampledFrom(names).Draw(r, "file")
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, 1)
	at := int64(rapid.IntRange(slabHeader+blockHeader+16, 1000).Draw(r, "at"))
	if _, err := f.ReadAt(p, at); err != nil {
		return
	}
	p[0] ^= 1
	if _, err := f.WriteAt(p, at); err != nil {
		r.Fatal(err)
	}
}

func onDisk(r *rapid.T, dir string, most int64) {
	list, err := os.ReadDir(dir)
	if err != nil {
		r.Fatal(err)
	}
	var sum int64
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			r.Fatal(err)
		}
		sum += info.Size()
	}
	if sum > most {
		r.Fatalf("files of %d bytes, the capacity is %d", sum, most)
	}
}

// A block is a hit after a crash only if all of it was written: the file is cut at every byte of its last block.
func TestTornBlockIsAMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := start(t, dir, small, disk{})
		whole, torn := content("a", 0, 0, 300), content("b", 1, 0, 200)
		f.put("a", 0, whole)
		f.put("b", 1, torn)
		f.stop()
		path := filepath.Join(dir, slabName(1))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := slabHeader + blockHeader + 1 + len(whole)
		for cut := last; cut < len(data); cut++ {
			for _, rest := range [][]byte{nil, make([]byte, len(data)-cut)} { // cut off, or never written
				if err := os.WriteFile(path, append(data[:cut:cut], rest...), 0o644); err != nil {
					t.Fatal(err)
				}
				f := start(t, dir, small, disk{})
				if p, ok := f.get("a", 0, len(whole)); !ok || !bytes.Equal(p, whole) {
					t.Fatalf("cut at %d: the block before is lost", cut)
				}
				if p, ok := f.get("b", 1, len(torn)); ok && !bytes.Equal(p, torn) {
					t.Fatalf("cut at %d: a hit of other bytes", cut)
				} else if ok && rest == nil {
					t.Fatalf("cut at %d: a hit of a block that is not whole", cut)
				}
				again := content("c", 2, 0, 100)
				f.put("c", 2, again) // over what was cut
				f.stop()
				f = start(t, dir, small, disk{})
				if p, ok := f.get("c", 2, len(again)); !ok || !bytes.Equal(p, again) {
					t.Fatalf("cut at %d: what was written afterwards is lost", cut)
				}
				f.stop()
			}
		}
	})
}

// What is read stays when its file makes room; what is not read goes.
func TestReadBlocksStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, t.TempDir(), small, disk{})
		defer f.stop()
		data := content("x", 0, 0, 500)
		f.put("hot", 0, data)
		f.put("cold", 0, data)
		for i := range 200 {
			f.put("filler", i, data)
			if _, ok := f.get("hot", 0, len(data)); !ok {
				t.Fatalf("the block that is read all the time is gone after %d others", i)
			}
		}
		if f.Has("cold", 0, len(data)) || f.metric("fetch_disk_evicted_blocks_total{}") == 0 || f.metric("fetch_disk_rescued_blocks_total{}") == 0 {
			t.Error("nothing was evicted")
		}
	})
}

// Readers of blocks that are evicted under them get the bytes of their block or a miss.
func TestReadersDuringEviction(t *testing.T) {
	c, err := open(Config{Dir: t.TempDir()}, sizes{capacity: 1 << 20, slab: 64 << 10, stage: 32 << 10}, disk{},
		Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: telemetry.NewSet()})
	if err != nil {
		t.Fatal(err)
	}
	const n = 8 << 10
	var stop, hits = make(chan struct{}), make([]int, 4)
	var wg sync.WaitGroup
	for r := range hits {
		wg.Go(func() {
			p := make([]byte, n)
			for rnd := rand.New(rand.NewPCG(1, uint64(r))); ; {
				select {
				case <-stop:
					return
				default:
				}
				chunk := rnd.IntN(400)
				if !c.Get("o", chunk, p) {
					continue
				}
				hits[r]++
				if !bytes.Equal(p, content("o", chunk, 0, n)) {
					t.Errorf("chunk %d: bytes of another block", chunk)
					return
				}
			}
		})
	}
	for i := range 4000 {
		c.Put("o", i%400, content("o", i%400, 0, n))
	}
	close(stop)
	wg.Wait()
	if !c.Close(time.Minute) {
		t.Error("the cache did not end")
	}
	if hits[0]+hits[1]+hits[2]+hits[3] == 0 {
		t.Error("no reader ever had a hit")
	}
}

// What does not fit is dropped and counted, and nobody waits.
func TestWhatIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, t.TempDir(), small, disk{})
		defer f.stop()
		f.put("x", 0, make([]byte, small.stage))
		f.put("x", 1, nil)
		f.put(strings.Repeat("x", maxObject+1), 0, []byte("1"))
		if n := f.metric("fetch_disk_dropped_chunks_total{reason=oversized}"); n != 3 {
			t.Errorf("%v oversized", n)
		}
		b := f.stage.take() // nothing is staged
		if b != nil {
			t.Fatal("something is staged")
		}
		f.Put("x", 2, make([]byte, 1500))
		f.Put("x", 2, make([]byte, 1500)) // again: no second copy
		f.Put("x", 3, make([]byte, 1500))
		synctest.Wait()
		if kept := f.Has("x", 3, 1500); kept == (f.metric("fetch_disk_dropped_chunks_total{reason=busy}") == 1) {
			t.Error("a chunk is neither kept nor counted")
		}
	})
}
