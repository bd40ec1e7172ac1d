package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
)

// data writes the data set as JSON lines into the cache, once.
func (d *demo) data(ctx context.Context) error {
	d.source = filepath.Join(cluster.CacheDir(), "flights-1.jsonl")
	d.python = filepath.Join(cluster.CacheDir(), "venv", "bin", "python")
	if _, err := os.Stat(d.source); err != nil {
		part := d.source + ".part"
		if err := d.script(ctx, nil, "flights.py", part); err != nil {
			return err
		}
		if err := os.Rename(part, d.source); err != nil {
			return err
		}
	}
	if d.rows > 0 {
		if err := d.cut(); err != nil {
			return err
		}
	}
	return d.lines(func(i int, line []byte) error { d.records++; d.bytes += int64(len(line)); return nil })
}

// cut makes the first rows of the data set the source.
func (d *demo) cut() error {
	name := filepath.Join(cluster.CacheDir(), fmt.Sprintf("flights-1-%d.jsonl", d.rows))
	part, err := os.CreateTemp(cluster.CacheDir(), "flights-")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	defer part.Close()
	w := bufio.NewWriter(part)
	err = d.lines(func(i int, line []byte) error {
		if i < d.rows {
			_, _ = w.Write(line)
			return w.WriteByte('\n')
		}
		return nil
	})
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = os.Rename(part.Name(), name)
	}
	d.source = name
	return err
}

// script runs one of the Python files beside this program.
func (d *demo) script(ctx context.Context, out *bytes.Buffer, name string, args ...string) error {
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	if _, err := os.Stat(d.python); err != nil {
		return fmt.Errorf("the Python tools are missing, make tools installs them: %w", err)
	}
	cmd := exec.CommandContext(ctx, d.python, append([]string{filepath.Join(root, "integration", "demo", name)}, args...)...)
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err = cmd.Run()
	if out != nil {
		_, _ = out.Write(all.Bytes())
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, all.String())
	}
	return nil
}

// lines calls f with every record of the source; the slice is valid during the call.
func (d *demo) lines(f func(i int, line []byte) error) error {
	file, err := os.Open(d.source)
	if err != nil {
		return err
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	s.Buffer(make([]byte, 1<<20), 1<<20)
	for i := 0; s.Scan(); i++ {
		if err := f(i, s.Bytes()); err != nil {
			return err
		}
	}
	return s.Err()
}

func (d *demo) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(d.cluster.Bootstrap())}, opts...)...)
}

// create makes the topic with Kafka's own settings and the table with the tidemark command.
func (d *demo) create(ctx context.Context) error {
	cl, err := d.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	value := func(s string) *string { return &s }
	created, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, map[string]*string{
		"remote.storage.enable": value("true"), "segment.bytes": value("4194304"), "retention.ms": value("-1"),
		"local.retention.ms": value("3600000"),
	}, topic)
	if err != nil {
		return err
	}
	d.topicID = created.ID.String()
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	return await(ctx, time.Minute, func(ctx context.Context) (string, error) {
		_, err := d.tidemark(ctx, "table", "create", "--topic", topic, "--format", "json",
			"--schema", filepath.Join(root, "integration", "demo", "flights.schema.json"))
		return "", err
	})
}

// tidemark runs the operator's command against the demo's broker.
func (d *demo) tidemark(ctx context.Context, args ...string) ([]byte, error) {
	n := d.cluster.Nodes[0]
	args = append(args, "--bootstrap-server", d.cluster.Bootstrap(), "--config", n.PropertiesFile())
	cmd := exec.CommandContext(ctx, d.cli, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("tidemark %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// produce writes record i to partition i % partitions, so that its offset is i / partitions. Chunks alternate between a client that
// compresses with zstd and one that does not.
func (d *demo) produce(ctx context.Context) error {
	const chunk = 20000
	codecs := []kgo.CompressionCodec{kgo.ZstdCompression(), kgo.NoCompression()}
	var clients []*kgo.Client
	for _, c := range codecs {
		cl, err := d.client(kgo.ProducerBatchCompression(c), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic),
			kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(chunk))
		if err != nil {
			return err
		}
		defer cl.Close()
		clients = append(clients, cl)
	}
	d.base = time.Now().Add(-time.Hour)
	var failed error
	promise := func(r *kgo.Record, err error) {
		if err != nil && failed == nil {
			failed = err
		}
	}
	err := d.lines(func(i int, line []byte) error {
		if i > 0 && i%chunk == 0 {
			if err := clients[(i/chunk-1)%2].Flush(ctx); err != nil {
				return err
			}
		}
		r := &kgo.Record{Partition: int32(i % partitions), Key: keyOf(i), Value: bytes.Clone(line), Timestamp: time.UnixMilli(d.recordTime(i))}
		if headed(i) {
			r.Headers = []kgo.RecordHeader{{Key: "source", Value: []byte("nycflights13")}}
		}
		clients[i/chunk%2].Produce(ctx, r, promise)
		return failed
	})
	if err != nil {
		return err
	}
	for _, cl := range clients {
		if err := cl.Flush(ctx); err != nil {
			return err
		}
	}
	return failed
}

// keyOf is the key of record i; every fifth has none.
func keyOf(i int) []byte {
	if i%5 == 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(i), 10)
}

type tieredFacts struct {
	segments int
	place    string
}

// tier lets everything leave the local disk and waits until it has.
func (d *demo) tier(ctx context.Context) error {
	cl, err := d.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	one := "1"
	if _, err := kadm.NewClient(cl).AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "local.retention.ms", Value: &one}}, topic); err != nil {
		return err
	}
	return await(ctx, 4*time.Minute, func(context.Context) (string, error) {
		left, err := d.local()
		if err != nil || left == 0 {
			return "", err
		}
		return fmt.Sprintf("%.1f MB of the topic are still on local disk", float64(left)/1e6), nil
	})
}

// local is the bytes of the topic's log files on the broker's disk.
func (d *demo) local() (int64, error) {
	var left int64
	for _, dir := range d.cluster.Nodes[0].LogDirs {
		matches, err := filepath.Glob(filepath.Join(dir, topic+"-*", "*.log*"))
		if err != nil {
			return 0, err
		}
		for _, m := range matches {
			if info, err := os.Stat(m); err == nil {
				left += info.Size()
			}
		}
	}
	return left, nil
}

// recordTime is the timestamp of record i, in ms.
func (d *demo) recordTime(i int) int64 {
	return d.base.Add(time.Duration(i) * time.Millisecond).UnixMilli()
}

// consume reads everything with Kafka's console consumer and compares partition, offset, timestamp, headers, key and value of every record.
func (d *demo) consume(ctx context.Context) error {
	out, err := d.cluster.Tool(ctx, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", d.cluster.Bootstrap(),
		"--topic", topic, "--from-beginning", "--max-messages", strconv.Itoa(d.records), "--timeout-ms", "60000",
		"--property", "print.partition=true", "--property", "print.offset=true", "--property", "print.key=true",
		"--property", "print.timestamp=true", "--property", "print.headers=true")
	if err != nil {
		return err
	}
	got := make([]string, d.records)
	seen := 0
	for line := range strings.Lines(out) {
		// CreateTime:<ms> Partition:<p> Offset:<o> <headers> <key> <value>
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 6)
		if len(parts) != 6 {
			continue
		}
		p, err1 := strconv.Atoi(strings.TrimPrefix(parts[1], "Partition:"))
		o, err2 := strconv.Atoi(strings.TrimPrefix(parts[2], "Offset:"))
		if err1 != nil || err2 != nil || o*partitions+p >= d.records {
			return fmt.Errorf("the consumer printed %.200q", line)
		}
		got[o*partitions+p] = parts[0] + "\t" + strings.Join(parts[3:], "\t")
		seen++
	}
	if seen != d.records {
		return fmt.Errorf("the consumer read %d records of %d", seen, d.records)
	}
	return d.lines(func(i int, line []byte) error {
		key, headers := "null", "NO_HEADERS"
		if k := keyOf(i); k != nil {
			key = string(k)
		}
		if headed(i) {
			headers = "source:nycflights13"
		}
		if want := fmt.Sprintf("CreateTime:%d\t%s\t%s\t%s", d.recordTime(i), headers, key, line); got[i] != want {
			return fmt.Errorf("partition %d offset %d: read %.120q, produced %.120q", i%partitions, i/partitions, got[i], want)
		}
		return nil
	})
}

// headed reports whether record i has a header.
func headed(i int) bool { return i%7 == 0 }

// table waits until the ledger has passed every record.
func (d *demo) table(ctx context.Context) error {
	return await(ctx, 4*time.Minute, func(ctx context.Context) (string, error) {
		out, err := d.tidemark(ctx, "table", "show", topic, "--json")
		if err != nil {
			return "", err
		}
		var shown struct {
			Partitions []struct {
				Next int64 `json:"next"`
			} `json:"partitions"`
		}
		if err := json.Unmarshal(out, &shown); err != nil {
			return "", err
		}
		var covered int64
		for _, p := range shown.Partitions {
			covered += p.Next
		}
		if covered < int64(d.records) {
			return fmt.Sprintf("the table covers %d of %d offsets", covered, d.records), nil
		}
		return "", nil
	})
}

// check compares the table with the source through outside readers.
func (d *demo) check(ctx context.Context) error {
	args := []string{"--uri", "http://" + d.http + "/iceberg", "--table", "kafka." + topic, "--source", d.source, "--partitions", strconv.Itoa(partitions)}
	if d.server != nil {
		args = append(args, "--s3-endpoint", d.server.Endpoint, "--s3-key", d.server.AccessKey, "--s3-secret", d.server.SecretKey)
	}
	var out bytes.Buffer
	if err := d.script(ctx, &out, "check.py", args...); err != nil {
		return err
	}
	d.answer = strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range d.answer {
		fmt.Println("      " + line)
	}
	return d.count()
}

// count finds what was tiered.
func (d *demo) count() error {
	d.tiered.place = filepath.Join(d.dir, "store")
	if d.server != nil {
		d.tiered.place = "s3://" + d.server.Bucket + " on " + d.server.Endpoint
	}
	out, err := d.tidemark(context.Background(), "dump", "segments", "--topic", topic, "--json")
	if err != nil {
		return err
	}
	var segments []json.RawMessage
	if err := json.Unmarshal(out, &segments); err != nil {
		return err
	}
	d.tiered.segments = len(segments)
	return nil
}
