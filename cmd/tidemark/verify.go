package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/catalog/iceberg"
	"tidemark/internal/status"
	"tidemark/parquet"
)

func verifyCommand() command {
	return command{name: "verify", args: "TOPIC", summary: "prove that a table holds each record of its topic exactly once", run: verify,
		flags: func(f *flag.FlagSet, e *env) {
			f.BoolVar(&e.data, "data", false, "also read every page of the table's files and every byte of the topic's stored segments, and check their checksums")
		},
		long: "Compares the ledger with the footers of all files of the table and its quarantine: per partition their ranges must tile what the ledger\n" +
			"says is covered. The sidecars of the topic's stored segments are checked as well. With --bootstrap-server it also reads the topic\n" +
			"(read_committed) and compares the number of records in each covered range that the log still holds. Without a broker give the topic id.\n" +
			"A file that cannot be read is a finding, and the rest is checked on. Exit code 3 if anything is found."}
}

// unknown is the partition of a finding about a file whose range could not be read.
const unknown = -1

// finding is a catalog.Finding as it is printed.
type finding struct {
	Kind      catalog.FindingKind `json:"kind"`
	Partition int32               `json:"partition"` // -1: not known
	Base      int64               `json:"base"`
	End       int64               `json:"end"`
	Files     []string            `json:"files"`
	Text      string              `json:"text"`
}

// report is the outcome of verify.
type report struct {
	Table    string        `json:"table"`
	Topic    string        `json:"topic"`
	TopicID  string        `json:"topicId"`
	Event    catalog.Event `json:"event"`
	Detail   string        `json:"detail"`
	Snapshot int64         `json:"snapshot"`
	Files    int           `json:"files"`
	Rows     int64         `json:"rows"`
	Quarant  int64         `json:"quarantined"`
	Covered  int64         `json:"coveredOffsets"`
	Compared bool          `json:"comparedWithTopic"`
	Records  int64         `json:"recordsCompared"` // read from the topic
	Segments int           `json:"segments"`        // stored segments whose sidecars were read
	Findings []finding     `json:"findings"`
}

func (r *report) add(f catalog.Finding) {
	files := f.Files
	if files == nil {
		files = []string{}
	}
	r.Findings = append(r.Findings, finding{f.Kind, f.Range.Partition, f.Range.Base, f.Range.End, files, f.Text})
}

func verify(ctx context.Context, e *env, args []string) error {
	topic, err := oneTopic(args)
	if err != nil {
		return err
	}
	id, group, reading, err := e.loadTopic(ctx, topic)
	if err != nil {
		return err
	}
	view, _ := group.View(catalog.Main)
	l := reading.Ledger
	r := report{Table: group.Namespace + "." + group.Name, Topic: group.Claim.Topic, TopicID: id.String(), Event: reading.Event, Detail: reading.Detail,
		Snapshot: view.Head, Findings: []finding{}}
	footers, err := e.files(ctx, group, &r)
	if err != nil {
		return err
	}
	for _, p := range l.Partitions {
		r.Covered += p.Next - p.Start
	}
	if reading.Usable() || len(l.Partitions) > 0 {
		for _, f := range catalog.Verify(l, footers, catalog.Fileless(view)...) {
			r.add(f)
		}
	}
	e.progress("reading the stored segments of topic %s (id %s)", group.Claim.Topic, id)
	if err := e.checkSegments(ctx, id, &r); err != nil {
		return err
	}
	if e.given["bootstrap-server"] && r.damaged() {
		e.progress("the topic is not read: some of its stored segments are damaged")
	} else if e.given["bootstrap-server"] {
		if err := e.compareTopic(ctx, group.Claim, l, footers, &r); err != nil {
			return err
		}
	}
	return e.verdict(r)
}

// files reads the footers of all files of a group and counts their rows.
func (e *env) files(ctx context.Context, group *builtin.GroupView, r *report) (footers []catalog.FileFooter, err error) {
	for _, role := range []catalog.Role{catalog.Main, catalog.Quarantine} {
		t, ok := group.Tables[role]
		if !ok {
			continue
		}
		e.progress("reading the file footers of table %s.%s", group.Namespace, t.Name)
		found, err := e.footers(ctx, t.Metadata(), role, r)
		if err != nil {
			return nil, err
		}
		footers = append(footers, found...)
	}
	r.Files = len(footers)
	for _, f := range footers {
		if f.Role == catalog.Quarantine {
			r.Quarant += f.Rows
		} else {
			r.Rows += f.Rows
		}
	}
	return footers, nil
}

func (e *env) verdict(r report) error {
	bad := len(r.Findings) > 0 || r.Event.Pauses()
	err := e.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "table %s, snapshot %d, ledger %s\n", r.Table, r.Snapshot, strings.TrimSpace(string(r.Event)+" "+r.Detail))
		fmt.Fprintf(w, "%d files, %d rows, %d quarantined, %d offsets covered", r.Files, r.Rows, r.Quarant, r.Covered)
		if r.Compared {
			fmt.Fprintf(w, ", %d records of the topic compared", r.Records)
		}
		fmt.Fprintf(w, "\n%s\n", e.checked(r))
		for _, f := range r.Findings {
			text := f.Text
			if where := fmt.Sprintf("partition %d [%d, %d)", f.Partition, f.Base, f.End); f.Partition != unknown && !strings.HasPrefix(text, where) {
				text = where + ": " + text
			}
			fmt.Fprintf(w, "FOUND %s: %s\n", f.Kind, text)
			for _, name := range f.Files {
				fmt.Fprintf(w, "      %s\n", name)
			}
		}
		switch {
		case !bad:
			fmt.Fprintln(w, "OK: the files tile the ledger; each offset is covered once")
		case r.Event.Pauses():
			fmt.Fprintf(w, "NOT OK: the table is paused by %s, %d findings\n", r.Event, len(r.Findings))
		default:
			fmt.Fprintf(w, "NOT OK: %d findings\n", len(r.Findings))
		}
	})
	if err == nil && bad {
		return errFound
	}
	return err
}

// aboutFile reports whether an error says that one file is bad, and not that the store cannot be read now.
func aboutFile(err error) bool {
	switch status.Of(err) {
	case status.Corrupt, status.NotFound, status.Unsupported:
		return true
	}
	return false
}

// footers reads the footers of all live files of a table, with --data their pages too. A bad file is a finding, and the others are
// read on.
func (e *env) footers(ctx context.Context, meta *iceberg.Metadata, role catalog.Role, r *report) (out []catalog.FileFooter, err error) {
	err = meta.LiveFiles(ctx, e.store, func(f iceberg.LiveFile) error {
		decoded, footer, err := e.footer(ctx, f, role)
		if err == nil {
			out = append(out, decoded)
			if e.data {
				err = checkPages(ctx, f.URI, e.reader(ctx, f.URI), f.Size, footer)
			}
		}
		if !aboutFile(err) {
			return err
		}
		where := catalog.Range{Partition: unknown}
		text := err.Error() + "; it counts as not there below"
		if decoded.URI != "" {
			where, text = decoded.Range, err.Error()
		}
		r.add(catalog.Finding{Kind: findingFile, Range: where, Files: []string{f.URI}, Text: text})
		return nil
	})
	if aboutFile(err) { // a manifest: the files it lists are not known
		r.add(catalog.Finding{Kind: findingFile, Range: catalog.Range{Partition: unknown}, Text: err.Error() + "; the files it lists count as not there below"})
		err = nil
	}
	return out, err
}

// footer reads what a file says of itself.
func (e *env) footer(ctx context.Context, f iceberg.LiveFile, role catalog.Role) (decoded catalog.FileFooter, footer parquet.Footer, err error) {
	if _, ok := e.store.Key(f.URI); !ok {
		return decoded, footer, status.Errorf(status.Corrupt, "table file %s lies outside the store", f.URI)
	}
	if footer, err = parquet.ReadFooter(f.URI, e.reader(ctx, f.URI), f.Size); err != nil {
		return decoded, footer, err
	}
	got, ours, err := catalog.DecodeFooter(footer.KeyValue)
	switch {
	case err != nil:
		return decoded, footer, status.Wrapf(err, "table file %s", f.URI)
	case !ours:
		return decoded, footer, status.Errorf(status.Unsupported, "table file %s was written by another engine: its offsets cannot be told from its footer", f.URI)
	case got.Role != role:
		return decoded, footer, status.Errorf(status.Corrupt, "table file %s was written for the %s table, it is in the %s table", f.URI, got.Role, role)
	}
	got.URI, got.Rows = f.URI, footer.Rows
	return got, footer, nil
}

// readerAt reads an object by position.
type readerAt struct {
	ctx context.Context
	env *env
	key string
}

func (e *env) reader(ctx context.Context, uri string) readerAt {
	k, _ := e.store.Key(uri)
	return readerAt{ctx, e, k}
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	ctx, cancel := r.env.context(r.ctx)
	defer cancel()
	if err := r.env.store.ReadRange(ctx, r.key, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}
