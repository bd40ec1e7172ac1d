package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tidemark/cgo/dispatch"
	"tidemark/integration/faultproxy"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"

	"log/slog"
)

func stalls(w *world) {
	for range 3 { // what GETs take is learned
		w.intact(w.copy())
	}
	const stop = 100 << 10
	for _, hedge := range []string{"true", "false"} {
		w.properties["fetch.hedge"] = hedge
		w.restart()
		for what, f := range map[string]faultproxy.Fault{"stall": {StallBody: 100 * time.Second, After: stop}, "1 KB/s": {BytesPerSecond: 1024},
			"no reply": {StallHeaders: 100 * time.Second}} {
			seg := w.copy()
			w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.GetRange}, Key: `\.log$`, Count: 1, Fault: f})
			w.proxy.Forget()
			w.intact(seg)
			w.until("the spoiled GET was ended", 40*time.Second, func() bool { return w.hits() == 1 })
			if what == "stall" && hedge == "false" {
				w.resumed(stop)
			}
			w.script()
		}
	}
	w.script(fault(faultproxy.Fault{BytesPerSecond: 1024}, 1, faultproxy.UploadPart))
	w.intact(w.copy())
	w.clean()
}

// resumed says that the rest of the spoiled GET was asked for from the byte that it had reached.
func (w *world) resumed(after int64) {
	w.Helper()
	var from, to int64
	requests := w.proxy.Requests()
	for _, r := range requests {
		if r.Fault != "" {
			_, _ = fmt.Sscanf(r.Range, "bytes=%d-%d", &from, &to)
		}
	}
	want := fmt.Sprintf("bytes=%d-%d", from+after, to)
	if !slices.ContainsFunc(requests, func(r faultproxy.Request) bool { return r.Range == want }) {
		w.Errorf("the rest of the stalled GET was not asked for as %s: %v", want, requests)
	}
}

func lengths(w *world) {
	seg := w.copy()
	logKey, sidecarKey := keys(seg)
	whole, sidecar := w.get(logKey), w.get(sidecarKey)
	for what, data := range map[string][]byte{"truncated": whole[:len(whole)-100000], "empty": nil, "longer": append(slices.Clone(whole), 1, 2, 3)} {
		w.restart()
		w.put(logKey, data)
		switch err := w.read(seg); {
		case err != nil:
			w.class(what+" log object", err, status.Corrupt)
		case what != "longer":
			w.Errorf("%s log object was read", what)
		}
		if what != "longer" && w.metric("fetch_corrupt_objects_total") == 0 {
			w.Errorf("%s log object was not counted", what)
		}
		w.put(logKey, whole)
		w.intact(seg)
	}
	for what, data := range map[string][]byte{"truncated": sidecar[:len(sidecar)/2], "empty": nil, "longer": append(slices.Clone(sidecar), 1, 2, 3)} {
		w.restart()
		w.put(sidecarKey, data)
		if err := w.index(seg); err != nil || what != "longer" {
			w.class(what+" sidecar", err, status.Corrupt)
		}
		w.put(sidecarKey, sidecar)
		w.intact(seg)
	}
}

// restart empties the caches in memory.
func (w *world) restart() {
	w.Helper()
	w.close()
	w.open()
}

func flips(w *world) {
	seg := w.copy()
	logKey, sidecarKey := keys(seg)
	whole, sidecar := w.get(logKey), w.get(sidecarKey)
	bad := bytes.Clone(whole)
	bad[len(bad)/2] ^= 1
	w.put(logKey, bad)
	w.class("flipped log object", w.read(seg), status.Corrupt)
	w.put(logKey, whole)
	w.intact(seg)
	bad = bytes.Clone(sidecar)
	bad[len(bad)/2] ^= 1
	w.put(sidecarKey, bad)
	w.emptied()
	w.class("flipped sidecar", w.index(seg), status.Corrupt)
	w.put(sidecarKey, sidecar)
	w.intact(seg)
	for key, after := range map[string]int64{`\.log$`: 1000, `\.sidecar$`: 100} {
		seg = w.copy()
		w.emptied()
		w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.GetRange, faultproxy.GetObject}, Key: key, Count: 1, Fault: faultproxy.Fault{Flip: true, After: after}})
		w.proxy.Forget()
		w.intact(seg)
		w.script()
		if w.hits() != 1 {
			w.Errorf("%d replies for %s were flipped", w.hits(), key)
		}
	}
	w.until("chunks are in the disk cache", 10*time.Second, func() bool { return w.metric("fetch_disk_blocks") > 3 })
	w.close()
	w.damageCache()
	w.open()
	w.intact(seg)
	if w.metric("fetch_disk_damaged_blocks_total") == 0 {
		w.Errorf("damage in the disk cache was not met")
	}
}

// emptied is a restart with an empty disk cache.
func (w *world) emptied() {
	w.Helper()
	w.close()
	dir := w.properties["fetch.disk.cache.dir"]
	if err := os.RemoveAll(dir); err != nil {
		w.Fatalf("%v", err)
	}
	w.open()
}

// damageCache flips a bit in every 64 KiB that hold data.
func (w *world) damageCache() {
	w.Helper()
	files, _ := filepath.Glob(filepath.Join(w.properties["fetch.disk.cache.dir"], "*"))
	for _, name := range files {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		fi, _ := f.Stat()
		b := make([]byte, 1)
		for at := int64(40 << 10); at < min(fi.Size(), 64<<20); at += 64 << 10 {
			if _, err := f.ReadAt(b, at); err == nil {
				_, _ = f.WriteAt([]byte{b[0] ^ 1}, at)
			}
		}
		f.Close()
	}
}

func missing(w *world) {
	seg, other := w.copy(), w.copy()
	logKey, sidecarKey := keys(seg)
	if err := w.direct.Delete(context.Background(), logKey, sidecarKey); err != nil {
		w.Fatalf("%v", err)
	}
	w.class("read", w.read(seg), status.NotFound)
	w.class("index", w.index(seg), status.NotFound)
	w.intact(other)
	w.live--
	w.intact(w.copy())
}

func listing(w *world) {
	w.script(fault(faultproxy.Fault{Status: 500}, 0, faultproxy.List, faultproxy.ListUploads))
	if _, _, err := w.proxied().List(context.Background(), "", "", 1); err == nil || w.proxy.Totals().Lists != 1 {
		w.Errorf("a LIST through the proxy does not fail: %v", err)
	}
	seg := w.copy()
	w.intact(seg)
	w.script(fault(faultproxy.Fault{Status: 500}, 0, faultproxy.List, faultproxy.ListUploads), fault(faultproxy.Fault{Status: 403}, 0, faultproxy.PutObject))
	failed := w.segment(0)
	w.class("copy", w.try(&failed), status.Invalid)
	w.script(fault(faultproxy.Fault{Status: 500}, 0, faultproxy.List, faultproxy.ListUploads))
	w.remove(seg)
	w.restart()
	w.clean()
	if n := w.proxy.Totals().Lists; n != 1 {
		w.Errorf("%d LISTs", n-1)
	}
}

// proxied is the store as the plugin sees it, without its retries.
func (w *world) proxied() *s3.Store {
	w.Helper()
	c := w.server.Config(w.properties["store.s3.prefix"])
	c.Endpoint = w.proxy.Endpoint
	store, err := s3.Open(context.Background(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		w.Fatalf("%v", err)
	}
	w.Cleanup(store.Close)
	return store
}

func createOnly(w *world) {
	c := w.server.Config("create-only")
	c.Endpoint = w.proxy.Endpoint
	store, err := s3.Open(context.Background(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		w.Fatalf("%v", err)
	}
	defer store.Close()
	ctx, absent := context.Background(), objectstore.Condition{Absent: true}
	put := func(key, text string) error {
		return w.bounded("put", 30*time.Second, func() error {
			_, err := store.Put(ctx, key, bytes.NewReader([]byte(text)), absent)
			return err
		})
	}
	if err := put("a", "first"); err != nil {
		w.Fatalf("%v", err)
	}
	w.class("second put", put("a", "second"), status.Conflict)
	if data, _, err := store.Get(ctx, "a", 100); err != nil || string(data) != "first" {
		w.Errorf("after a refused put: %q, %v", data, err)
	}
	w.proxy.Forget()
	// The plugin beside it proves the conditions of its store in the background: those puts are not meant.
	w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.PutObject}, Key: `create-only/b$`, Fault: faultproxy.Fault{LostReply: true}})
	w.class("put whose reply is lost", put("b", "mine"), status.Unknown)
	if n := w.hits(); n != 1 {
		w.Errorf("a put with a condition was sent %d times", n)
	}
	w.script()
	if data, _, err := store.Get(ctx, "b", 100); err != nil || string(data) != "mine" {
		w.Errorf("after a lost reply: %q, %v", data, err)
	}
	w.script(fault(faultproxy.Fault{Status: 412}, 1, faultproxy.PutObject))
	w.class("412", put("c", "x"), status.Conflict)
}

func deletes(w *world) {
	for _, f := range []faultproxy.Fault{{Status: 503}, {Status: 500}, {Reset: faultproxy.BeforeAck}, {LostReply: true}, {BlackHole: true}} {
		seg, other := w.copy(), w.copy()
		w.script(fault(f, 0, faultproxy.DeleteBatch, faultproxy.Delete))
		w.proxy.Forget()
		w.remove(seg)
		w.remove(other)
		w.until("deletes are refused twice", 20*time.Second, func() bool { return w.hits() > 1 })
		if !f.LostReply {
			w.stored(seg)
			w.stored(other)
		}
		if w.metric("delete_pending_segments") == 0 {
			w.Errorf("nothing is pending although the store has confirmed no delete (%+v)", f)
		}
		w.script()
		w.until("the objects are gone", 40*time.Second, func() bool { return w.metric("delete_pending_segments") == 0 })
		w.clean()
	}
	seg := w.copy()
	w.script(fault(faultproxy.Fault{Status: 503}, 0, faultproxy.DeleteBatch, faultproxy.Delete))
	w.remove(seg)
	w.close()
	w.stored(seg)
	w.script()
	w.open()
	w.clean()
}

// stored says that a log object is in the store.
func (w *world) stored(seg dispatch.Segment) {
	w.Helper()
	logKey, _ := keys(seg)
	if _, err := w.direct.Head(context.Background(), logKey); err != nil {
		w.Errorf("the log object is not there: %v", err)
	}
}

func ranges(w *world) {
	for what, f := range map[string]faultproxy.Fault{"shifted Content-Range": {ShiftRange: 4096}, "range ignored": {IgnoreRange: true}, "shorter": {Resize: -1000}, "longer": {Resize: 1000}} {
		seg := w.copy()
		w.script(fault(f, 1, faultproxy.GetRange))
		w.proxy.Forget()
		if err := w.read(seg); err != nil || w.hits() != 1 {
			w.Errorf("%s once: %v, %d replies were spoiled", what, err, w.hits())
		}
		w.script()
		w.intact(seg)
		seg = w.copy()
		w.script(fault(f, 0, faultproxy.GetRange))
		if err := w.read(seg); err == nil && what != "longer" && what != "range ignored" {
			w.Errorf("%s on every GET: it was read", what)
		} else if err != nil {
			w.class(what, err, status.Corrupt, status.Transient, status.Unsupported)
		}
		w.script()
		w.intact(seg)
	}
}

func dropped(w *world) {
	const most, readers = 8, 32 // most is store.s3.connections.max of the row
	var segs []dispatch.Segment
	for range 4 {
		segs = append(segs, w.copy())
	}
	w.restart()
	w.script(fault(faultproxy.Fault{Latency: time.Second}, 0, faultproxy.GetRange, faultproxy.GetObject))
	listen, target := w.proxy.Endpoint[len("http://"):], w.server.Endpoint
	errs := make(chan error, readers)
	var reading sync.WaitGroup
	for i := range readers {
		reading.Add(1)
		go func() {
			defer reading.Done()
			for round := range 3 {
				at := int64((i+round)%readers) << 19
				if err := w.part(segs[i%len(segs)], at, at+1<<20); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	w.until("all connections are at work", 20*time.Second, func() bool { return len(w.proxy.InFlight()) >= most })
	before := w.metric("store_retries_total")
	if _, n := w.proxy.Connections(); n > most {
		w.Errorf("%d connections before the drop, %d are allowed", n, most)
	}
	w.proxy.Close()
	again, err := faultproxy.Start(faultproxy.Options{Target: target, Listen: listen, Seed: 1, Object: w.whole})
	if err != nil {
		w.Fatalf("%v", err)
	}
	w.proxy = again
	_ = w.bounded("the readers", hang, func() error { reading.Wait(); return nil })
	close(errs)
	for err := range errs {
		w.Errorf("a read failed: %v", err)
	}
	if _, n := again.Connections(); n > most {
		w.Errorf("%d connections after the drop, %d are allowed", n, most)
	}
	if n := w.metric("store_retries_total") - before; n < 1 || n > 200 {
		w.Errorf("%v retries after all connections were dropped under load, 1 to 200 are expected", n)
	}
	w.intact(w.copy())
}

// part reads a range.
func (w *world) part(seg dispatch.Segment, from, to int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	to = min(to, int64(len(w.local.log)))
	s, _, err := w.instance.Open(ctx, dispatch.StreamRequest{Segment: seg, Kind: dispatch.StreamSegment, Start: from, End: to})
	if err != nil {
		return err
	}
	defer s.Close()
	got := make([]byte, to-from)
	for at := 0; at < len(got); {
		n, err := s.Next(ctx, got[at:])
		at += n
		if err != nil && at < len(got) {
			return fmt.Errorf("at %d of %d: %w", at, len(got), err)
		}
	}
	if !bytes.Equal(got, w.local.log[from:to]) {
		return fmt.Errorf("wrong data in [%d, %d)", from, to)
	}
	return nil
}

// rotate opens the instance again on a file of keys that can be fetched anew.
func (w *world) rotate() {
	w.Helper()
	file := filepath.Join(w.TempDir(), "credentials")
	text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", w.server.AccessKey, w.server.SecretKey)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.Fatalf("%v", err)
	}
	w.close()
	delete(w.properties, "store.s3.access.key")
	delete(w.properties, "store.s3.secret.key")
	w.properties["store.s3.credentials"], w.properties["store.s3.credentials.file"] = "profile", file
	w.open()
}
