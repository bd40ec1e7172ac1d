package faults

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/cgo/dispatch"
	"tidemark/integration/faultproxy"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

func fault(f faultproxy.Fault, count int, ops ...faultproxy.Op) faultproxy.Rule {
	return faultproxy.Rule{Ops: ops, Count: count, Fault: f}
}

// requests are how many a call makes in all.
func (w *world) requests(call func()) int64 {
	w.proxy.Forget()
	call()
	return w.proxy.Totals().Requests
}

func once(w *world) {
	seg := w.copy() // the first one also finds out what the store takes
	clean := w.requests(func() { seg = w.copy() })
	for _, code := range []int{500, 502, 503} {
		for _, op := range []faultproxy.Op{faultproxy.CreateMultipart, faultproxy.UploadPart, faultproxy.Complete, faultproxy.PutObject} {
			w.script(fault(faultproxy.Fault{Status: code}, 1, op))
			if n := w.requests(func() { seg = w.copy() }); n != clean+1 || w.hits() != 1 {
				w.Errorf("%d on one %s: %d requests for a copy that takes %d, %d failed", code, op, n, clean, w.hits())
			}
		}
		for _, key := range []string{`\.log$`, `\.sidecar$`} {
			w.restart()
			w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.GetRange, faultproxy.GetObject}, Key: key, Count: 1, Fault: faultproxy.Fault{Status: code}})
			w.proxy.Forget()
			w.intact(seg)
			w.askedOnce(fmt.Sprintf("%d on one GET of %s", code, key))
		}
		w.script(fault(faultproxy.Fault{Status: code}, 1, faultproxy.DeleteBatch, faultproxy.Delete))
		w.proxy.Forget()
		w.remove(seg)
		w.clean()
		if w.hits() != 1 {
			w.Errorf("%d on one delete: %d failed", code, w.hits())
		}
	}
	if n := strings.Count(w.log.String(), "level=WARN") - strings.Count(w.log.String(), "kafka.untested"); n > 1 {
		w.Errorf("%d warnings", n)
	}
}

// askedOnce says that one GET was refused, that it was repeated once, and that no other was made twice: what is read ahead, and in which
// pieces, depends on time, but no byte is asked for again.
func (w *world) askedOnce(what string) {
	w.Helper()
	asked, refused := map[string]int{}, ""
	for _, r := range w.proxy.Requests() {
		if r.Op == faultproxy.GetRange || r.Op == faultproxy.GetObject {
			asked[r.Key+" "+r.Range]++
			if r.Fault != "" {
				refused = r.Key + " " + r.Range
			}
		}
	}
	if w.hits() != 1 || asked[refused] != 2 {
		w.Errorf("%s: %d refused, asked for %d times", what, w.hits(), asked[refused])
	}
	delete(asked, refused)
	for r, n := range asked {
		if n != 1 {
			w.Errorf("%s: %s was asked for %d times", what, r, n)
		}
	}
}

func slowDown(w *world) {
	stored := w.copy()
	w.proxy.Forget()
	w.script(fault(faultproxy.Fault{Status: 503, Code: "SlowDown"}, 0))
	seg := w.segment(0)
	w.class("copy", w.try(&seg), status.Throttled, status.Transient)
	if err := w.read(stored); err == nil {
		w.Errorf("a read succeeded although every request was refused")
	}
	if n := w.metric("store_write_limit_calls"); n >= 256 {
		w.Errorf("%v writes are still allowed at once", n)
	}
	if n := w.proxy.Totals().Requests; n > 250 {
		w.Errorf("%d requests to a store that asks for less", n)
	}
	w.script()
	ended := time.Now()
	w.clean()
	w.intact(w.copy())
	w.until("all calls are allowed again", time.Minute-time.Since(ended), func() bool {
		return w.metric("store_write_limit_calls") == 256 && w.metric("store_read_limit_calls") == 256
	})
}

func longOutage(w *world) {
	stored := w.copy()
	w.proxy.Forget()
	w.script(fault(faultproxy.Fault{Status: 500}, 0))
	began := time.Now()
	backlog := []dispatch.Segment{w.segment(0), w.segment(0), w.segment(0)}
	for tried := 0; time.Since(began) < 5*time.Second || tried < len(backlog); tried++ {
		if err := w.try(&backlog[tried%len(backlog)]); err == nil {
			w.Errorf("a copy succeeded without a store")
		}
		_ = w.index(stored)
	}
	took := time.Since(began).Seconds()
	if n := float64(w.proxy.Totals().Requests); n > 200+40*took {
		w.Errorf("%v requests in %.0f s of an outage", n, took)
	}
	w.script()
	w.clean()
	for i := range backlog {
		if err := w.try(&backlog[i]); err != nil {
			w.Errorf("after the outage: %v", err)
		}
		w.live++
		w.intact(backlog[i])
	}
	w.clean()
}

func silence(w *world) {
	stored := w.copy()
	key, _ := keys(w.segment(1))
	other := key[:strings.LastIndex(key, "/")]
	// A black hole for everything, and for the parts alone, when there is an upload to abort.
	for _, ops := range [][]faultproxy.Op{nil, {faultproxy.UploadPart, faultproxy.Abort, faultproxy.DeleteBatch, faultproxy.Delete}} {
		w.script(fault(faultproxy.Fault{BlackHole: true}, 0, ops...))
		seg := w.segment(0)
		w.class(fmt.Sprint("copy into a black hole for ", ops), w.try(&seg), status.Transient)
		if len(ops) == 0 {
			w.class("read from a black hole", w.read(stored), status.Transient)
			w.class("index from a black hole", w.index(stored), status.Transient)
		}
		w.script()
		w.clean()
	}
	w.script(faultproxy.Rule{Key: other, Fault: faultproxy.Fault{BlackHole: true}})
	done := make(chan error, 1)
	stuck := w.segment(1)
	go func() {
		_, err := w.instance.Copy(context.Background(), dispatch.CopyRequest{Segment: stuck, Deadline: hang, Paths: w.local.paths})
		done <- err
	}()
	w.intact(w.copy())
	if err := w.bounded("copy of the other partition", hang, func() error { return <-done }); err == nil {
		w.Errorf("a copy into a black hole succeeded")
	}
	w.script()
	for what, endpoint := range map[string]string{"refused": "http://127.0.0.1:1", "no such host": "http://no-such-host.invalid:9",
		"TLS": strings.Replace(w.proxy.Endpoint, "http:", "https:", 1)} {
		w.close()
		was := w.properties["store.s3.endpoint"]
		w.properties["store.s3.endpoint"] = endpoint
		w.open()
		seg := w.segment(0)
		w.class("copy, "+what, w.try(&seg), status.Transient)
		w.class("read, "+what, w.read(stored), status.Transient)
		w.close()
		w.properties["store.s3.endpoint"] = was
		w.open()
	}
	w.intact(w.copy())
}

func resets(w *world) {
	for _, op := range []faultproxy.Op{faultproxy.CreateMultipart, faultproxy.UploadPart, faultproxy.PutObject} {
		for _, f := range []faultproxy.Fault{{Reset: faultproxy.AtRequest}, {Reset: faultproxy.InRequestBody, After: 1000}, {Reset: faultproxy.BeforeAck},
			{Reset: faultproxy.InReply}, {LostReply: true}} {
			w.script(fault(f, 1, op))
			w.proxy.Forget()
			seg := w.copy()
			if sent, hits := w.sent(faultproxy.UploadPart), w.hits(); hits != 1 || op != faultproxy.UploadPart && sent != parts || sent > parts+1 {
				w.Errorf("a %s with %+v: %d were spoiled, %d parts sent for an object of %d", op, f, hits, sent, parts)
			}
			w.intact(seg)
			w.remove(seg)
		}
	}
	var uploads []objectstore.Upload
	w.until("the uploads whose creation was not acknowledged are all that is left", 20*time.Second, func() bool {
		objects, _, err := w.direct.List(context.Background(), "segments", "", 1000)
		var err2 error
		uploads, _, err2 = w.direct.ListUploads(context.Background(), "", 100)
		return err == nil && err2 == nil && len(objects) == 0 && len(uploads) == 2 // InReply and LostReply: nobody knows their names
	})
	for _, u := range uploads {
		if err := w.direct.AbortUpload(context.Background(), u.Key, u.ID); err != nil {
			w.Errorf("%v", err)
		}
	}
	for _, f := range []faultproxy.Fault{{Reset: faultproxy.AtRequest}, {Reset: faultproxy.InReply}, {Reset: faultproxy.InReplyBody, After: 300 << 10},
		{Truncate: true, After: 700 << 10}, {LostReply: true}} {
		for _, key := range []string{`\.log$`, `\.sidecar$`} {
			seg := w.copy()
			w.restart()
			w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.GetRange, faultproxy.GetObject}, Key: key, Count: 1, Fault: f})
			w.proxy.Forget()
			w.intact(seg)
			if w.hits() != 1 {
				w.Errorf("a GET of %s with %+v: %d were spoiled", key, f, w.hits())
			}
			w.script()
		}
	}
	w.clean()
}

func completions(w *world) {
	w.proxy.Forget()
	w.copy()
	for what, f := range map[string]faultproxy.Fault{"500": {Status: 500}, "lost reply": {LostReply: true}, "reset": {Reset: faultproxy.BeforeAck}} {
		w.proxy.Forget()
		w.script(fault(f, 1, faultproxy.Complete))
		w.intact(w.copy())
		if n := w.sent(faultproxy.UploadPart); n != parts {
			w.Errorf("completion with %s: %d parts sent for an object of %d", what, n, parts)
		}
		w.clean()
	}
	for what, f := range map[string]faultproxy.Fault{"500": {Status: 500}, "lost reply": {LostReply: true}, "black hole": {BlackHole: true}} {
		w.proxy.Forget()
		w.script(fault(f, 0, faultproxy.Complete))
		if what == "lost reply" { // the first one made the object, which is found
			w.intact(w.copy())
		} else {
			w.refusedCopy(status.Unknown)
		}
		if n := w.sent(faultproxy.UploadPart); n > 2*parts { // the second is the copy after the fault
			w.Errorf("completions that always end with %s: %d parts sent for two objects of %d", what, n, parts)
		}
		w.script()
		w.clean()
	}
}

// sent is how many requests of an operation were made since Forget.
func (w *world) sent(op faultproxy.Op) int64 { return w.proxy.Totals().Ops[op] }

func credentials(w *world) {
	w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.UploadPart}, Skip: 1, Fault: faultproxy.Fault{Status: 403}})
	w.refusedCopy(status.Invalid)
	w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.UploadPart}, Skip: 1, Fault: faultproxy.Fault{Status: 400, Code: "ExpiredToken"}})
	w.proxy.Forget()
	w.refusedCopy(status.Invalid)
	w.rotate()
	w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.UploadPart}, Skip: 1, Count: 1, Fault: faultproxy.Fault{Status: 400, Code: "ExpiredToken"}})
	w.intact(w.copy())
	w.script(faultproxy.Rule{Ops: []faultproxy.Op{faultproxy.UploadPart}, Skip: 1, Count: 1, Fault: faultproxy.Fault{Status: 403, Code: "InvalidAccessKeyId"}})
	w.intact(w.copy())
	w.clean()
}

func misplaced(w *world) {
	// The Date of a reply is taken for the store's time, and the next one is right again.
	const ahead = 5 * time.Hour
	w.copy()
	w.script(fault(faultproxy.Fault{Status: 403, Code: "RequestTimeTooSkewed", Date: ahead}, 1, faultproxy.CreateMultipart))
	w.proxy.Forget()
	w.intact(w.copy())
	var off []time.Duration // how far from now requests were signed
	requests := w.proxy.Requests()
	slices.SortFunc(requests, func(a, b faultproxy.Request) int { return a.Start.Compare(b.Start) })
	for _, r := range requests {
		off = append(off, r.Signed.Sub(r.Start).Round(time.Hour))
	}
	if w.hits() != 1 || len(off) < 3 || off[0] != 0 || off[1] != ahead || off[len(off)-1] != 0 {
		w.Errorf("%d requests were refused for their clock; requests were signed for %v from now", w.hits(), off)
	}
	var visits atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer elsewhere.Close()
	for _, f := range []faultproxy.Fault{{Status: 301, Code: "PermanentRedirect", Location: elsewhere.URL}, {Status: 400, Code: "AuthorizationHeaderMalformed"},
		{Status: 404, Code: "NoSuchBucket"}} {
		w.script(fault(f, 0, faultproxy.CreateMultipart, faultproxy.UploadPart, faultproxy.PutObject))
		seg := w.segment(0)
		w.proxy.Forget()
		err := w.try(&seg)
		w.class(f.Code, err, status.Invalid)
		if err == nil || !strings.Contains(err.Error(), "store.s3.") {
			w.Errorf("%s names no setting: %v", f.Code, err)
		}
		if n := w.hits(); n != 1 {
			w.Errorf("%s: asked %d times", f.Code, n)
		}
	}
	if n := visits.Load(); n != 0 {
		w.Errorf("the place of the redirect was asked %d times", n)
	}
	w.script()
	w.intact(w.copy())
	w.clean()
}
