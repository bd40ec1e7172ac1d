package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"tidemark/catalog"
	"tidemark/catalog/iceberg"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
	"tidemark/parquet"
)

func verifyCommand() command {
	return command{name: "verify", args: "TOPIC", summary: "prove that a table holds each record of its topic exactly once", run: verify,
		flags: func(f *flag.FlagSet, e *env) {
			f.BoolVar(&e.data, "data", false, "also read every page of the table's files and every byte of the topic's stored segments, and check their checksums")
		},
		long: "Compares the ledger with the footers of all files of the table and its quarantine: per partition their ranges must tile what the ledger\n" +
			"says is covered. With --bootstrap-server it also reads the topic (read_committed) and compares the number of records in each covered range\n" +
			"that the log still holds. The sidecars of the topic's stored segments are checked as well. Without a broker give the topic id. Exit code 3\n" +
			"if anything is found."}
}

// report is the outcome of verify.
type report struct {
	Table    string            `json:"table"`
	Event    catalog.Event     `json:"event"`
	Detail   string            `json:"detail,omitempty"`
	Snapshot int64             `json:"snapshot"`
	Files    int               `json:"files"`
	Rows     int64             `json:"rows"`
	Quarant  int64             `json:"quarantined"`
	Covered  int64             `json:"coveredOffsets"`
	Records  int64             `json:"recordsCompared"` // read from the topic
	Segments int               `json:"segments"`        // stored segments whose sidecars were read
	Findings []catalog.Finding `json:"findings"`
}

func verify(ctx context.Context, e *env, args []string) error {
	topic, err := oneTopic(args)
	if err != nil {
		return err
	}
	if err := e.open(ctx); err != nil {
		return err
	}
	id, err := e.topicID(ctx, topic)
	if err != nil {
		return err
	}
	group, err := e.catalog.LoadGroup(ctx, id)
	if err != nil {
		return err
	}
	view, _ := group.View(catalog.Main)
	reading := catalog.Read(view, group.Claim)
	r := report{Table: group.Namespace + "." + group.Name, Event: reading.Event, Detail: reading.Detail, Snapshot: view.Head, Findings: []catalog.Finding{}}
	var footers []catalog.FileFooter
	for role, t := range group.Tables {
		e.progress("reading the file footers of table %s", t.Name)
		found, err := e.footers(ctx, t.Metadata(), role, &r)
		if err != nil {
			return err
		}
		footers = append(footers, found...)
	}
	for _, f := range footers {
		if f.Role == catalog.Quarantine {
			r.Quarant += f.Rows
		} else {
			r.Rows += f.Rows
		}
	}
	r.Files = len(footers)
	for _, p := range reading.Ledger.Partitions {
		r.Covered += p.Next - p.Start
	}
	r.Findings = append(r.Findings, catalog.Verify(reading.Ledger, footers, catalog.Fileless(view)...)...)
	e.progress("reading the stored segments of topic id %s", id)
	if err := e.checkSegments(ctx, id, &r); err != nil {
		return err
	}
	if e.given["bootstrap-server"] && r.damaged() {
		e.progress("the topic is not read: some of its stored segments are damaged")
	} else if e.given["bootstrap-server"] {
		if err := e.compareTopic(ctx, group.Claim.Topic, reading.Ledger, footers, &r); err != nil {
			return err
		}
	}
	return e.verdict(r)
}

func (e *env) verdict(r report) error {
	err := e.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "table %s, snapshot %d, %s %s\n%d files, %d rows, %d quarantined, %d offsets covered", r.Table, r.Snapshot, r.Event, r.Detail, r.Files, r.Rows, r.Quarant, r.Covered)
		if e.given["bootstrap-server"] {
			fmt.Fprintf(w, ", %d records of the topic compared", r.Records)
		}
		fmt.Fprintf(w, "\n%s\n", e.checked(r))
		for _, f := range r.Findings {
			fmt.Fprintf(w, "FOUND %s: partition %d [%d, %d): %s\n", f.Kind, f.Range.Partition, f.Range.Base, f.Range.End, f.Text)
			for _, name := range f.Files {
				fmt.Fprintf(w, "      %s\n", name)
			}
		}
		if len(r.Findings) == 0 {
			fmt.Fprintln(w, "OK: the files tile the ledger; each offset is covered once")
		}
	})
	if err == nil && (len(r.Findings) > 0 || r.Event.Pauses()) {
		return errFound
	}
	return err
}

// footers reads the footers of all live files of a table, with --data their pages too. A file whose footer cannot be read is an error
// that names it; one with damaged pages is a finding.
func (e *env) footers(ctx context.Context, meta *iceberg.Metadata, role catalog.Role, r *report) ([]catalog.FileFooter, error) {
	var out []catalog.FileFooter
	err := meta.LiveFiles(ctx, e.store, func(f iceberg.LiveFile) error {
		k, ok := e.store.Key(f.URI)
		if !ok {
			return status.Errorf(status.Invalid, "table file %s is outside the store", f.URI)
		}
		footer, err := parquet.ReadFooter(f.URI, readerAt{ctx, e, k}, f.Size)
		if err != nil {
			return err
		}
		decoded, ours, err := catalog.DecodeFooter(footer.KeyValue)
		if err != nil {
			return status.Wrapf(err, "table file %s", f.URI)
		}
		if !ours {
			return status.Errorf(status.Unsupported, "table file %s was written by another engine: its offsets cannot be told from its footer", f.URI)
		}
		decoded.URI, decoded.Rows = f.URI, footer.Rows
		if decoded.Role != role {
			return status.Errorf(status.Corrupt, "table file %s was written for the %s table", f.URI, decoded.Role)
		}
		out = append(out, decoded)
		if !e.data {
			return nil
		}
		err = checkPages(ctx, f.URI, readerAt{ctx, e, k}, f.Size, footer)
		if status.Is(err, status.Corrupt) {
			r.Findings = append(r.Findings, catalog.Finding{Kind: findingFile, Range: decoded.Range, Files: []string{f.URI}, Text: err.Error()})
			return nil
		}
		return err
	})
	return out, err
}

// readerAt reads an object by position.
type readerAt struct {
	ctx context.Context
	env *env
	key string
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.env.store.ReadRange(r.ctx, r.key, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// compareTopic counts the visible records of every covered range that the log still holds whole.
func (e *env) compareTopic(ctx context.Context, topic string, l catalog.Ledger, footers []catalog.FileFooter, r *report) error {
	client, err := e.client()
	if err != nil {
		return err
	}
	want := map[int32][]catalog.FileFooter{}
	for _, f := range footers {
		if f.Part == 1 {
			want[f.Range.Partition] = append(want[f.Range.Partition], f)
		}
	}
	for _, p := range l.Numbers() {
		progress := l.Progress(p)
		logStart, _, lastStable, err := client.Offsets(ctx, topic, p)
		if err != nil {
			return err
		}
		if progress.Next > lastStable {
			r.Findings = append(r.Findings, catalog.Finding{Kind: "beyond-log", Range: catalog.Range{Partition: p, Base: lastStable, End: progress.Next},
				Text: "the ledger covers offsets above the log's last stable offset"})
			continue
		}
		from := max(logStart, progress.Start)
		e.progress("reading partition %d of %s, offsets [%d, %d)", p, topic, from, progress.Next)
		visible := map[int64]bool{}
		if from < progress.Next {
			err = client.ReadAll(ctx, topic, p, from, progress.Next, func(rec *kafkaclient.Record) error { visible[rec.Offset] = true; return nil })
			if err != nil {
				return err
			}
		}
		r.Records += int64(len(visible))
		r.Findings = append(r.Findings, countRanges(p, from, visible, want[p])...)
	}
	return nil
}

// countRanges compares the number of visible records with what the files of a range say. Ranges that the log has lost in part are left out.
func countRanges(p int32, from int64, visible map[int64]bool, footers []catalog.FileFooter) (findings []catalog.Finding) {
	seen := map[catalog.Range]bool{}
	for _, f := range footers {
		r := f.Range
		if r.Base < from || seen[r] {
			continue
		}
		seen[r] = true
		var n int64
		for o := r.Base; o < r.End; o++ {
			if visible[o] {
				n++
			}
			delete(visible, o)
		}
		if got := f.Counts.Rows + f.Counts.Quarantined; got != n {
			findings = append(findings, catalog.Finding{Kind: "count", Range: r, Files: []string{f.URI},
				Text: fmt.Sprintf("the log has %d visible records, the files of the range say %d rows and %d quarantined", n, f.Counts.Rows, f.Counts.Quarantined)})
		}
	}
	return findings
}
