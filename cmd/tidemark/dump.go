package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/catalog"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/remotestorage"
	"tidemark/remotestorage/stored"
)

func dumpCommands() []command {
	return []command{
		{name: "dump segments", args: "", summary: "list the stored segments of a topic", run: dumpSegments, flags: func(f *flag.FlagSet, e *env) {
			f.StringVar(&e.topic, "topic", "", "the `topic`, or its topic id when no broker runs")
		}},
		{name: "dump sidecar", args: "KEY|FILE", summary: "show a segment's sidecar: manifest, chunks, indexes", run: dumpSidecar},
		{name: "dump metadata", args: "HEX|BASE64", summary: "show the custom metadata Kafka keeps of a segment", run: dumpMetadata},
		{name: "dump ledger", args: "TOPIC", summary: "show what a table's ledger says", run: dumpLedger},
		{name: "dump holds", args: "LOGDIR...", summary: "list the hold files in log directories: segments that wait for their table", run: dumpHolds},
	}
}

// segmentRow is one stored segment.
type segmentRow struct {
	Partition  int32  `json:"partition"`
	BaseOffset int64  `json:"baseOffset"`
	SegmentID  string `json:"segmentId"`
	LogKey     string `json:"log"`
	LogBytes   int64  `json:"logBytes"`
	Sidecar    int64  `json:"sidecarBytes"`
	Complete   bool   `json:"complete"`
}

// topicID is that of --topic: a topic id as it is, or that of the topic there is now.
func (e *env) topicID(ctx context.Context, topic string) (catalog.TopicID, error) {
	if id, err := catalog.ParseTopicID(topic); err == nil {
		return id, nil
	}
	client, err := e.client()
	if err != nil {
		return catalog.TopicID{}, err
	}
	info, err := client.DescribeTopic(ctx, topic)
	return catalog.TopicID(info.ID), err
}

func dumpSegments(ctx context.Context, e *env, args []string) error {
	if e.topic == "" || len(args) > 0 {
		return usageError("--topic TOPIC is needed and nothing beside the flags")
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	if err := e.open(ctx); err != nil {
		return err
	}
	id, err := e.topicID(ctx, e.topic)
	if err != nil {
		return err
	}
	rows := []segmentRow{}
	at := map[string]int{}
	for after, more := "", true; more; {
		page, next, err := e.store.List(ctx, key.TopicPrefix(id), after, 1000)
		if err != nil {
			return err
		}
		for _, o := range page {
			after = o.Key
			_, partition, base, segment, kind, ok := key.ParseSegment(o.Key)
			if !ok {
				continue
			}
			name := key.UUID(segment)
			i, seen := at[name]
			if !seen {
				i = len(rows)
				at[name] = i
				rows = append(rows, segmentRow{Partition: partition, BaseOffset: base, SegmentID: name})
			}
			if kind == key.Sidecar {
				rows[i].Sidecar, rows[i].Complete = o.Size, true
			} else {
				rows[i].LogKey, rows[i].LogBytes = o.Key, o.Size
			}
		}
		more = next && len(page) > 0
	}
	return e.print(rows, func(w io.Writer) {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "PARTITION\tBASE OFFSET\tLOG BYTES\tSIDECAR BYTES\tCOMPLETE\tSEGMENT ID")
		for _, r := range rows {
			fmt.Fprintf(tw, "%d\t%d\t%d\t%d\t%v\t%s\n", r.Partition, r.BaseOffset, r.LogBytes, r.Sidecar, r.Complete, r.SegmentID)
		}
		_ = tw.Flush()
	})
}

func dumpSidecar(ctx context.Context, e *env, args []string) error {
	if len(args) != 1 {
		return usageError("give one KEY of the store, or one FILE")
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	raw, err := os.ReadFile(args[0])
	if err != nil {
		if err := e.open(ctx); err != nil {
			return err
		}
		if raw, _, err = e.store.Get(ctx, args[0], stored.MaxSidecarSize); err != nil {
			return err
		}
	}
	s, err := stored.DecodeSidecar(raw)
	if err != nil {
		return status.Wrapf(err, "%s", args[0])
	}
	m := s.Manifest
	return e.print(m, func(w io.Writer) {
		fmt.Fprintf(w, "topic          %s (id %s)\npartition      %d\nsegment        %s\noffsets        %d to %d\n", m.Topic, key.UUID(m.TopicID), m.Partition,
			key.UUID(m.SegmentID), m.BaseOffset, m.EndOffset)
		fmt.Fprintf(w, "bytes          %d original, %d stored, chunks of %d\n", m.Map.Size, m.Map.StoredSize, m.Map.ChunkSize)
		fmt.Fprintf(w, "max timestamp  %s\nwritten by     Tidemark %s, broker %d\n\n", time.UnixMilli(m.MaxTimestamp).UTC().Format(time.RFC3339Nano), m.Writer, m.BrokerID)
		for _, i := range m.Indexes {
			fmt.Fprintf(w, "index %-18s %9d bytes  CRC32C %08x\n", i.Kind, i.Size, i.CRC)
		}
		for i, c := range m.Map.Chunks {
			fmt.Fprintf(w, "chunk %-6d original %10d  stored %10d + %9d  CRC32C %08x\n", i, c.Original, c.Stored, c.StoredSize, c.CRC)
		}
	})
}

func dumpMetadata(_ context.Context, e *env, args []string) error {
	if len(args) != 1 {
		return usageError("give the bytes as HEX or BASE64")
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(args[0], "0x"))
	if err != nil {
		if raw, err = base64.StdEncoding.DecodeString(args[0]); err != nil {
			return usageError("the argument is neither hexadecimal nor base64")
		}
	}
	m, err := stored.DecodeMetadata(raw)
	if err != nil {
		return err
	}
	return e.print(m, func(w io.Writer) {
		fmt.Fprintf(w, "log object   %d bytes, CRC32C %08x, transformed %v\nsidecar      %d bytes, CRC32C %08x\n", m.Size, m.CRC, m.Transformed, m.SidecarSize, m.SidecarCRC)
	})
}

func dumpLedger(ctx context.Context, e *env, args []string) error {
	topic, err := oneTopic(args)
	if err != nil {
		return err
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	if err := e.open(ctx); err != nil {
		return err
	}
	id, err := e.topicID(ctx, topic)
	if err != nil {
		return err
	}
	reading, head, err := e.reading(ctx, id)
	if err != nil {
		return err
	}
	l := reading.Ledger
	return e.print(struct {
		Event    catalog.Event
		Detail   string
		Snapshot int64
		Ledger   catalog.Ledger
	}{reading.Event, reading.Detail, head, l}, func(w io.Writer) {
		fmt.Fprintf(w, "state       %s %s\nsnapshot    %d\ncluster     %s\ntopic       %s (id %s)\ngeneration  %d\nseq         %d\n\n", reading.Event, reading.Detail, head,
			l.Claim.ClusterID, l.Claim.Topic, l.Claim.TopicID, l.Generation, l.Seq)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "partition\tstart\tnext\tbatch epoch\tlast batch\tCRC\tnewest row\t")
		for _, n := range l.Numbers() {
			p := l.Progress(n)
			fmt.Fprintf(tw, "%d\t%d\t%d\t%d\t%d\t%08x\t%d\t\n", n, p.Start, p.Next, p.BatchEpoch, p.LastBatchBase, p.LastBatchCRC, p.Last)
		}
		_ = tw.Flush()
	})
}

// holdRow is one hold file.
type holdRow struct {
	File       string `json:"file"`
	TopicID    string `json:"topicId"`
	Partition  int32  `json:"partition"`
	Base       int64  `json:"base"`
	End        int64  `json:"end"`
	Epoch      int32  `json:"epoch"`
	Generation uint64 `json:"generation"`
	SegmentID  string `json:"segmentId"`
	Bytes      int64  `json:"bytes"`
}

func dumpHolds(_ context.Context, e *env, args []string) error {
	if len(args) == 0 {
		return usageError("give at least one log directory (log.dirs of the broker)")
	}
	rows := []holdRow{}
	for _, dir := range args {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return status.Errorf(status.Invalid, "read the log directory: %w", err)
		}
		for _, entry := range entries {
			h, ok := remotestorage.ParseHoldName(entry.Name())
			info, err := entry.Info()
			if !ok || err != nil {
				continue
			}
			rows = append(rows, holdRow{File: filepath.Join(dir, entry.Name()), TopicID: key.UUID(h.TopicID), Partition: h.Partition, Base: h.Base,
				End: h.End, Epoch: h.Epoch, Generation: h.Generation, SegmentID: key.UUID(h.SegmentID), Bytes: info.Size()})
		}
	}
	return e.print(rows, func(w io.Writer) {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "TOPIC ID\tPARTITION\tOFFSETS\tEPOCH\tBYTES\tFILE")
		for _, r := range rows {
			fmt.Fprintf(tw, "%s\t%d\t[%d, %d)\t%d\t%d\t%s\n", r.TopicID, r.Partition, r.Base, r.End, r.Epoch, r.Bytes, r.File)
		}
		_ = tw.Flush()
	})
}
