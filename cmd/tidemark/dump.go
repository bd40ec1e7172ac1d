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
		}, long: "Lists what lies in the store. A segment is complete once its sidecar is there; one without is being copied, or is left of a copy that failed."},
		{name: "dump sidecar", args: "KEY|FILE", summary: "show a segment's sidecar: manifest, chunks, indexes", run: dumpSidecar,
			long: "The argument is a file on this machine or, with --config, a key in the store as dump segments --json shows it with .log replaced by\n" +
				".sidecar. All checksums of the sidecar are checked; exit code 3 if one is wrong. verify --data checks the log object against it."},
		{name: "dump metadata", args: "HEX|BASE64", summary: "show the custom metadata Kafka keeps of a segment", run: dumpMetadata,
			long: "The bytes are those of the field customMetadata in a record of Kafka's topic __remote_log_metadata. No broker and no store are asked."},
		{name: "dump ledger", args: "TOPIC", summary: "show what a table's ledger says", run: dumpLedger,
			long: "The ledger is the part of the table that says which offsets it covers. Give the topic id when no broker runs. Per partition: start and\n" +
				"next are the covered offsets [start, next); batch epoch, last batch and CRC identify the end of what is covered in Kafka's log."},
		{name: "dump holds", args: "LOGDIR...", summary: "list the hold files in log directories: segments that wait for their table", run: dumpHolds,
			long: "Hold files are second names (hard links) of closed segments, so that local retention does not take them before they are rows. They go\n" +
				"by themselves; their space counts against hold.max.bytes."},
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
	raw, err := e.object(ctx, args[0])
	if err != nil {
		return err
	}
	s, err := stored.DecodeSidecar(raw)
	if err != nil {
		return status.Wrapf(err, "%s", args[0])
	}
	v := viewManifest(s.Manifest)
	return e.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "topic          %s (id %s)\npartition      %d\nsegment        %s\noffsets        %d to %d\n", v.Topic, v.TopicID, v.Partition,
			v.SegmentID, v.BaseOffset, v.EndOffset)
		fmt.Fprintf(w, "bytes          %d original, %d stored, chunks of %d\n", v.Bytes, v.StoredBytes, v.ChunkBytes)
		if v.KeyID != "" {
			fmt.Fprintf(w, "encrypted      AES-256-GCM, data key wrapped with key %s; sizes and checksums below are of what is stored\n", v.KeyID)
		}
		fmt.Fprintf(w, "max timestamp  %s\nwritten by     Tidemark %s, broker %d\n\n", instant(v.MaxTimestamp), v.Writer, v.BrokerID)
		for _, i := range v.Indexes {
			fmt.Fprintf(w, "index %-18s %9d bytes  CRC32C %s\n", i.Kind, i.Bytes, i.CRC)
		}
		for i, c := range v.Chunks {
			form := ""
			if c.Form != "" {
				form = "  " + c.Form
			}
			fmt.Fprintf(w, "chunk %-6d original %10d  stored %10d + %9d  CRC32C %s%s\n", i, c.Original, c.Stored, c.Bytes, c.CRC, form)
		}
	})
}

// object reads a sidecar from a file, or from the store if there is no such file.
func (e *env) object(ctx context.Context, name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Size() > stored.MaxSidecarSize:
		return nil, status.Errorf(status.Corrupt, "%s has %d bytes, more than the largest sidecar of %d", name, info.Size(), stored.MaxSidecarSize)
	case err == nil:
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, status.Errorf(status.Invalid, "read the sidecar: %w", err)
		}
		return raw, nil
	case e.config == "":
		return nil, status.Errorf(status.NotFound, "there is no file %s; with --config FILE the argument may be a key in the store", name)
	}
	if err := e.open(ctx); err != nil {
		return nil, err
	}
	raw, _, err := e.store.Get(ctx, name, stored.MaxSidecarSize)
	return raw, err
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
	v := metadataView{LogBytes: m.Size, LogCRC: crc(m.CRC), SidecarBytes: m.SidecarSize, SidecarCRC: crc(m.SidecarCRC), Transformed: m.Transformed}
	return e.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "log object   %d bytes, CRC32C %s, transformed %v\nsidecar      %d bytes, CRC32C %s\n", v.LogBytes, v.LogCRC, v.Transformed, v.SidecarBytes, v.SidecarCRC)
	})
}

func dumpLedger(ctx context.Context, e *env, args []string) error {
	topic, err := oneTopic(args)
	if err != nil {
		return err
	}
	ctx, cancel := e.context(ctx)
	defer cancel()
	_, group, reading, err := e.loadTopic(ctx, topic)
	if err != nil {
		return err
	}
	v := viewLedger(reading, head(group))
	return e.print(v, func(w io.Writer) {
		fmt.Fprintf(w, "state       %s\nsnapshot    %d\ncluster     %s\ntopic       %s (id %s)\ntable uuid  %s\ngeneration  %d\nseq         %d\n\n",
			strings.TrimSpace(string(v.Event)+" "+v.Detail), v.Snapshot, v.ClusterID, v.Topic, v.TopicID, v.TableUUID, v.Generation, v.Seq)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "partition\tstart\tnext\tbatch epoch\tlast batch\tCRC\tnewest row\t")
		for _, p := range v.Partitions {
			fmt.Fprintf(tw, "%d\t%d\t%d\t%d\t%d\t%s\t%d\t\n", p.Partition, p.Start, p.Next, p.BatchEpoch, p.LastBatch, p.LastBatchCRC, p.NewestRow)
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
