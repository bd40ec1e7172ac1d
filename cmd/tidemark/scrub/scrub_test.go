package scrub

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const chunk = stored.MinChunkSize

// id makes a topic or segment id.
func id(n byte) (id [16]byte) {
	id[15] = n
	return id
}

// segment stores a segment of three chunks and returns its keys.
func segment(t *testing.T, store objectstore.Store, topic byte, partition int32, base int64) (log, sidecar string) {
	t.Helper()
	data := bytes.Repeat([]byte(fmt.Sprint(topic, partition, base, ";")), chunk/2)[:2*chunk+chunk/2]
	c := stored.NewChunker(chunk)
	_, _ = c.Write(data)
	m, _ := c.Finish()
	manifest := stored.Manifest{Identity: stored.Identity{TopicID: id(topic), Partition: partition, SegmentID: id(byte(base)), BaseOffset: base},
		Topic: "flights", EndOffset: base + 9, Map: m, Writer: "0.1.0"}
	raw, err := stored.EncodeSidecar(manifest, []stored.Content{{Kind: stored.OffsetIndex, Bytes: []byte("offset index")}, {Kind: stored.TimeIndex},
		{Kind: stored.ProducerSnapshot, Bytes: []byte("snapshot")}, {Kind: stored.LeaderEpochs, Bytes: []byte("0\n1\n0 0\n")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log, sidecar = manifest.Keys()
	put(t, store, log, data)
	put(t, store, sidecar, raw)
	return log, sidecar
}

func put(t *testing.T, store objectstore.Store, key string, data []byte) {
	t.Helper()
	if _, err := store.Put(t.Context(), key, bytes.NewReader(data), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// filled is a store with five segments of three partitions.
func filled(t *testing.T) (m *storetest.Memory, logs, sidecars []string) {
	t.Helper()
	m = storetest.NewMemory()
	for _, s := range []struct {
		topic     byte
		partition int32
		base      int64
	}{{1, 0, 0}, {1, 0, 10}, {1, 7, 0}, {2, 0, 0}, {2, 0, 20}} {
		log, sidecar := segment(t, m, s.topic, s.partition, s.base)
		logs, sidecars = append(logs, log), append(sidecars, sidecar)
	}
	return m, logs, sidecars
}

// scrubbed runs a check.
func scrubbed(t *testing.T, store objectstore.Store, change func(*Config)) (Totals, []Finding, error) {
	t.Helper()
	var found []Finding
	c := Config{Prefix: key.Segments + "/", Now: time.Now(), Workers: 3, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Found: func(f Finding) { found = append(found, f) }}
	if change != nil {
		change(&c)
	}
	totals, err := Run(t.Context(), store, c)
	if int64(len(found)) != totals.Findings {
		t.Errorf("%d findings, the totals say %d", len(found), totals.Findings)
	}
	return totals, found, err
}

func TestCleanStore(t *testing.T) {
	m, _, sidecars := filled(t)
	objects, size, err := Measure(t.Context(), m, key.Segments+"/", "")
	if err != nil || objects != 10 {
		t.Fatalf("measure: %d, %v", objects, err)
	}
	totals, found, err := scrubbed(t, m, nil)
	want := Totals{Segments: 5, Objects: 10, Stored: size, Read: size, Through: sidecars[4]}
	if err != nil || len(found) > 0 || !cmp.Equal(totals, want) {
		t.Errorf("%+v, %v, %v; want %+v", totals, found, err, want)
	}
	totals, found, err = scrubbed(t, m, func(c *Config) { c.Quick = true })
	if want.Read = size - 5*(2*chunk+chunk/2); err != nil || len(found) > 0 || !cmp.Equal(totals, want) {
		t.Errorf("quick: %+v, %v, %v; want %+v", totals, found, err, want)
	}
	if totals, _, err := scrubbed(t, storetest.NewMemory(), nil); err != nil || !cmp.Equal(totals, Totals{}) {
		t.Errorf("nothing stored: %+v, %v", totals, err)
	}
	totals, _, err = scrubbed(t, m, func(c *Config) { c.Prefix = key.PartitionPrefix(id(1), 0) })
	if err != nil || totals.Segments != 2 {
		t.Errorf("one partition: %+v, %v", totals, err)
	}
}

// Whatever is done to one object is found, and named, and nothing else is.
func TestEveryDamageIsFound(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 0x10; return b }
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }
	log, sidecar := func(l, _ string) string { return l }, func(_, s string) string { return s }
	for name, c := range map[string]struct {
		object func(log, sidecar string) string
		change func([]byte) []byte // nil: removed
		want   []Finding           // without text; the key is that of object unless it is given
		text   string
		quick  bool // is found by a quick check too
	}{
		"bit of the first chunk":    {log, flip(0), []Finding{{Kind: DamagedLog, End: chunk}}, "CRC32C", false},
		"bit of the last chunk":     {log, flip(-1), []Finding{{Kind: DamagedLog, Start: 2 * chunk, End: 2*chunk + chunk/2}}, "its manifest says", false},
		"two chunks side by side":   {log, func(b []byte) []byte { return flip(0)(flip(chunk)(b)) }, []Finding{{Kind: DamagedLog, End: 2 * chunk}}, "", false},
		"two chunks apart":          {log, func(b []byte) []byte { return flip(0)(flip(-1)(b)) }, []Finding{{Kind: DamagedLog, End: chunk}, {Kind: DamagedLog, Start: 2 * chunk, End: 2*chunk + chunk/2}}, "", false},
		"log cut":                   {log, cut(1), []Finding{{Kind: WrongSize}}, "its manifest says 163840", true},
		"log empty":                 {log, cut(2*chunk + chunk/2), []Finding{{Kind: WrongSize}}, "0 bytes", true},
		"log longer":                {log, func(b []byte) []byte { return append(b, 0) }, []Finding{{Kind: WrongSize}}, "163841", true},
		"log removed":               {log, nil, []Finding{{Kind: MissingLog}}, "cannot be read", true},
		"sidecar removed":           {sidecar, nil, []Finding{{Kind: OrphanLog}}, "without a sidecar", true},
		"bit of an index":           {sidecar, flip(3), []Finding{{Kind: DamagedSidecar}}, "offset index", true},
		"bit of the manifest":       {sidecar, flip(100), []Finding{{Kind: DamagedSidecar}}, "log object was not checked", true},
		"bit of the trailer":        {sidecar, flip(-20), []Finding{{Kind: DamagedSidecar}}, "trailer", true},
		"sidecar cut":               {sidecar, cut(1), []Finding{{Kind: DamagedSidecar}}, "magic", true},
		"sidecar empty":             {sidecar, func([]byte) []byte { return nil }, []Finding{{Kind: DamagedSidecar}}, "0 bytes", true},
		"sidecar of another":        {sidecar, func([]byte) []byte { return otherSidecar(t) }, []Finding{{Kind: DamagedSidecar}}, "another segment", true},
		"sidecar of a later format": {sidecar, laterFormat, []Finding{{Kind: NewerFormat}}, "upgrade", true},
	} {
		t.Run(name, func(t *testing.T) {
			m, logs, sidecars := filled(t)
			object := c.object(logs[1], sidecars[1])
			if c.change == nil {
				if err := m.Delete(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			} else if !m.Damage(object, c.change) {
				t.Fatal("nothing to damage")
			}
			for i := range c.want {
				if c.want[i].Key = object; c.want[i].Kind == OrphanLog {
					c.want[i].Key = logs[1]
				}
			}
			for _, quick := range []bool{false, true} {
				_, found, err := scrubbed(t, m, func(x *Config) { x.Quick = quick })
				want := c.want
				if quick && !c.quick {
					want = nil
				}
				if err != nil || !slices.EqualFunc(found, want, func(a, b Finding) bool { a.Text = ""; return a == b }) {
					t.Errorf("quick %v: %+v, %v; want %+v", quick, found, err, want)
				} else if len(found) > 0 && !strings.Contains(found[0].Text, c.text) {
					t.Errorf("%q does not say %q", found[0].Text, c.text)
				}
			}
		})
	}
}

// otherSidecar is that of a segment elsewhere.
func otherSidecar(t *testing.T) []byte {
	m := storetest.NewMemory()
	_, sidecar := segment(t, m, 9, 9, 9)
	raw, _, err := m.Get(t.Context(), sidecar, stored.MaxSidecarSize)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// laterFormat writes a version that does not exist yet into the trailer, with a checksum that is right.
func laterFormat(b []byte) []byte {
	p := b[len(b)-stored.TrailerSize:]
	p[16] = 200
	crc := stored.CRC(slices.Concat(p[:20], p[24:]))
	p[20], p[21], p[22], p[23] = byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24)
	return b
}

// The log object of a sidecar with a damaged index is checked too.
func TestDamageOfBothObjects(t *testing.T) {
	m, logs, sidecars := filled(t)
	for _, k := range []string{logs[3], sidecars[3]} {
		m.Damage(k, func(b []byte) []byte { b[1] ^= 1; return b })
	}
	_, found, err := scrubbed(t, m, nil)
	if err != nil || len(found) != 2 || found[0].Kind != DamagedSidecar || found[1].Kind != DamagedLog || found[1].Key != logs[3] {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestForeignObjectsAndGrace(t *testing.T) {
	m, logs, sidecars := filled(t)
	put(t, m, key.TopicPrefix(id(1))+"0/notes.txt", []byte("x"))
	put(t, m, sidecars[4]+".bak", []byte("x"))
	if err := m.Delete(t.Context(), sidecars[0]); err != nil {
		t.Fatal(err)
	}
	totals, found, err := scrubbed(t, m, nil)
	if err != nil || len(found) != 3 || found[0].Kind != OrphanLog || found[0].Key != logs[0] || found[1].Kind != ForeignObject || found[2].Key != sidecars[4]+".bak" {
		t.Errorf("%+v, %v", found, err)
	}
	if totals.Objects != 11 || totals.Segments != 4 {
		t.Errorf("%+v", totals)
	}
	info, err := m.Head(t.Context(), logs[0])
	if err != nil {
		t.Fatal(err)
	}
	totals, found, err = scrubbed(t, m, func(c *Config) { c.Now, c.Grace = info.Modified.Add(time.Minute), time.Hour })
	if err != nil || len(found) != 2 || totals.Young != 1 {
		t.Errorf("a copy under way: %+v, %+v, %v", totals, found, err)
	}
}

// A damage on the way is no finding: the second read is right.
func TestDamageOnTheWay(t *testing.T) {
	for _, effect := range []storetest.Effect{storetest.Flip, storetest.Short} {
		m, logs, sidecars := filled(t)
		f := storetest.Faulty(m, storetest.Fault{Op: storetest.Range, Key: logs[2], Effect: effect}, storetest.Fault{Op: storetest.Get, Key: sidecars[3], Effect: effect})
		totals, found, err := scrubbed(t, f, nil)
		if err != nil || len(found) > 0 || totals.Repeated < 2 {
			t.Errorf("%+v, %+v, %v", totals, found, err)
		}
	}
}

// What is removed or completed between its listing and its check is no finding.
func TestChangesMeanwhile(t *testing.T) {
	m, logs, sidecars := filled(t)
	ctx := t.Context()
	remove := func() { _ = m.Delete(ctx, sidecars[1], logs[1]) }
	f := storetest.Faulty(m, storetest.Fault{Op: storetest.Get, Key: sidecars[1], Effect: storetest.Pass, Run: remove},
		storetest.Fault{Op: storetest.Range, Key: logs[3], Effect: storetest.Pass, Run: func() { _ = m.Delete(ctx, sidecars[3], logs[3]) }})
	totals, found, err := scrubbed(t, f, nil)
	if err != nil || len(found) > 0 || totals.Gone != 2 {
		t.Errorf("removed: %+v, %+v, %v", totals, found, err)
	}
	m, logs, sidecars = filled(t)
	raw, _, err := m.Get(ctx, sidecars[4], stored.MaxSidecarSize)
	if err != nil || m.Delete(ctx, sidecars[4]) != nil {
		t.Fatal(err)
	}
	m.Damage(logs[4], func(b []byte) []byte { b[0] ^= 1; return b })
	f = storetest.Faulty(m, storetest.Fault{Op: storetest.Head, Key: sidecars[4], Effect: storetest.Pass, Run: func() { put(t, m, sidecars[4], raw) }})
	_, found, err = scrubbed(t, f, nil)
	if err != nil || len(found) != 1 || found[0].Kind != DamagedLog {
		t.Errorf("completed: %+v, %v", found, err)
	}
}

// One segment that the store does not serve is a finding; a store that serves nothing ends the check where it can go on.
func TestAStoreThatFails(t *testing.T) {
	m, logs, sidecars := filled(t)
	f := storetest.Faulty(m, storetest.Fault{Op: storetest.Range, Key: logs[1], Effect: storetest.Fail, Times: -1})
	_, found, err := scrubbed(t, f, nil)
	if err != nil || len(found) != 1 || found[0].Kind != Unreadable || !strings.Contains(found[0].Text, "Transient") {
		t.Errorf("one segment: %+v, %v", found, err)
	}
	for n := range 6 {
		segment(t, m, 3, 0, int64(n))
	}
	f = storetest.Faulty(m, storetest.Fault{Op: storetest.Get, Key: key.TopicPrefix(id(3)), Effect: storetest.Fail, Times: -1})
	totals, found, err := scrubbed(t, f, nil)
	if !status.Is(err, status.Transient) || len(found) > 0 || totals.Through != sidecars[4] {
		t.Errorf("many: %+v, %+v, %v", totals, found, err)
	}
	f.Heal()
	if totals, _, err = scrubbed(t, f, func(c *Config) { c.After = totals.Through }); err != nil || totals.Segments != 6 {
		t.Errorf("going on: %+v, %v", totals, err)
	}
	f.Add(storetest.Fault{Op: storetest.Get, Key: sidecars[2], Effect: storetest.Fail, Class: status.Invalid, Times: -1})
	if totals, _, err = scrubbed(t, f, nil); !status.Is(err, status.Invalid) || totals.Through != sidecars[1] || !strings.Contains(err.Error(), sidecars[2]) {
		t.Errorf("refused: %+v, %v", totals, err)
	}
	f.Heal()
	f.Add(storetest.Fault{Op: storetest.List, Effect: storetest.Fail})
	if _, _, err = scrubbed(t, f, nil); !status.Is(err, status.Transient) {
		t.Errorf("listing: %v", err)
	}
}

func TestCancelledCheckGoesOn(t *testing.T) {
	m, _, sidecars := filled(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := storetest.Faulty(m, storetest.Fault{Op: storetest.Get, Key: sidecars[3], Effect: storetest.Stall, Run: cancel})
	c := Config{Prefix: key.Segments + "/", Workers: 1, Log: slog.New(slog.DiscardHandler), Found: func(f Finding) { t.Errorf("%+v", f) }}
	totals, err := Run(ctx, f, c)
	if !status.Is(err, status.Cancelled) {
		t.Fatalf("%+v, %v", totals, err)
	}
	c.After = totals.Through
	rest, err := Run(t.Context(), m, c)
	if err != nil || totals.Segments+rest.Segments != 5 {
		t.Errorf("%+v, then %+v, %v", totals, rest, err)
	}
}

// The rate bounds what is read, and progress is told while a read waits for it.
func TestRateAndProgress(t *testing.T) {
	m, _, _ := filled(t)
	told := 0
	totals, _, err := scrubbed(t, m, func(c *Config) {
		c.Rate = budget.NewRate(4<<20, 1)
		c.Every, c.Progress = time.Millisecond, func(Totals) { told++ }
	})
	if err != nil || totals.Segments != 5 || told == 0 {
		t.Errorf("%+v, %v, told %d times", totals, err, told)
	}
}
