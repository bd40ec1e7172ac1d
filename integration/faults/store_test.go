package faults

import (
	"testing"

	"tidemark/integration/faults/table"
	"tidemark/integration/objectserver"
)

// rows are the tests by row, with the settings that differ.
var rows = map[string]struct {
	run    func(w *world)
	change map[string]string
}{
	"S1":  {run: once, change: map[string]string{"fetch.hedge": "false"}},
	"S2":  {run: slowDown, change: map[string]string{"copy.deadline.ms": "3000"}},
	"S3":  {run: longOutage, change: map[string]string{"copy.deadline.ms": "1000", "fetch.deadline.ms": "1000"}},
	"S4":  {run: stalls, change: map[string]string{"copy.deadline.ms": "90000", "fetch.deadline.ms": "45000"}},
	"S5":  {run: silence, change: map[string]string{"copy.deadline.ms": "3000", "fetch.deadline.ms": "3000"}},
	"S6":  {run: resets},
	"S7":  {run: completions},
	"S8":  {run: lengths},
	"S9":  {run: flips, change: map[string]string{"fetch.disk.cache.dir": "", "fetch.disk.cache.bytes": "536870912"}},
	"S10": {run: missing},
	"S11": {run: credentials},
	"S12": {run: misplaced},
	"S13": {run: listing},
	"S14": {run: createOnly},
	"S15": {run: deletes},
	"S16": {run: ranges},
	"S17": {run: dropped, change: map[string]string{"store.s3.connections.max": "8", "fetch.hedge": "false"}},
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	server, err := objectserver.StartVersity(t.Context(), dir)
	if err != nil {
		for _, row := range table.Rows {
			if !row.Store() {
				continue
			}
			record(table.Outcome{Row: row.ID, Outcome: table.Cannot, Because: err.Error()})
		}
		t.Skip(err) // every row says in the table that it cannot run here, and why
	}
	t.Cleanup(server.Stop)
	local := makeSegment(t)
	for _, row := range table.Rows {
		if !row.Store() {
			continue
		}
		t.Run(row.ID, func(t *testing.T) {
			t.Parallel()
			r, ok := rows[row.ID]
			if !ok {
				t.Fatalf("row %s has no test", row.ID)
			}
			if _, disk := r.change["fetch.disk.cache.dir"]; disk {
				r.change["fetch.disk.cache.dir"] = t.TempDir()
			}
			r.run(newWorld(t, row.ID, server, local, r.change))
		})
	}
}
