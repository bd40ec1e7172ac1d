// Command demo shows the main job on this machine: one stock broker with the Tidemark jar in libs/, a real data set produced,
// tiered, read back and compared, and read as a table by DuckDB and PyIceberg. It exits with 1 and the reason when anything differs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/objectserver"
)

const (
	topic      = "flights"
	partitions = 4
)

type demo struct {
	version, store, jar, cli, dir, python string
	keep                                  bool
	rows                                  int

	started time.Time
	cluster *cluster.Cluster
	server  *objectserver.Server
	http    string
	source  string
	base    time.Time // of the first record
	records int
	bytes   int64
	topicID string
	tiered  tieredFacts
	answer  []string
}

func main() {
	d := &demo{started: time.Now()}
	flag.StringVar(&d.version, "kafka", "4.4.0", "version of Kafka")
	flag.StringVar(&d.store, "store", "file", "file, or s3 for an S3 server on this machine")
	flag.StringVar(&d.jar, "jar", "", "the Tidemark jar")
	flag.StringVar(&d.cli, "cli", "", "the tidemark command")
	flag.StringVar(&d.dir, "dir", "build/demo", "where everything is kept")
	flag.IntVar(&d.rows, "rows", 0, "take only the first rows of the data set; 0 is all")
	flag.BoolVar(&d.keep, "keep", false, "leave the broker running at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := d.run(ctx)
	stop()
	if err != nil {
		d.close()
		fmt.Printf("\nThe demo failed: %v\n", err)
		if d.cluster != nil {
			fmt.Printf("The broker's log: %s\n", d.cluster.Nodes[0].LogFile())
		}
		os.Exit(1)
	}
	d.summary()
	if d.keep {
		d.wait()
	}
	d.close()
}

func (d *demo) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 9*time.Minute)
	defer cancel()
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"prepare the flights data set", d.data},
		{"start a stock Kafka " + d.version + " broker with the jar in libs/", d.start},
		{"create the topic and its table", d.create},
		{"produce the records, half of them zstd, half plain", d.produce},
		{"wait until every closed segment is tiered and the local disk is empty", d.tier},
		{"read the topic back from offset 0 with Kafka's consumer and compare every record", d.consume},
		{"wait until the table holds every record", d.table},
		{"read the table with DuckDB and PyIceberg and compare it with the source", d.check},
	}
	for i, s := range steps {
		from := time.Now()
		fmt.Printf("[%d/%d] %s\n", i+1, len(steps), s.what)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.what, err)
		}
		fmt.Printf("      done in %.1f s\n", time.Since(from).Seconds())
	}
	return nil
}

func (d *demo) start(ctx context.Context) error {
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	ports, err := cluster.FreePorts(1)
	if err != nil {
		return err
	}
	d.http = fmt.Sprintf("127.0.0.1:%d", ports[0])
	properties := map[string]string{"rsm.config.http.listener": d.http}
	if d.store == "s3" {
		if d.server, err = objectserver.Start(ctx, filepath.Join(dir, "s3")); err != nil {
			return err
		}
		for k, v := range map[string]string{
			"store.type": "s3", "store.path": "", "store.s3.bucket": d.server.Bucket, "store.s3.endpoint": d.server.Endpoint,
			"store.s3.region": "us-east-1", "store.s3.path.style": "true", "store.s3.credentials": "static",
			"store.s3.access.key": d.server.AccessKey, "store.s3.secret.key": d.server.SecretKey,
		} {
			properties["rsm.config."+k] = v
		}
	}
	fmt.Println("      beside documented settings the broker looks for work every second (Kafka's remote.log.manager.task.interval.ms and log.retention.check.interval.ms), so that nobody waits")
	d.cluster, err = cluster.Start(ctx, cluster.Options{Version: d.version, Dir: dir, Jar: d.jar, Tables: true, Heap: "1g", Properties: properties})
	return err
}

func (d *demo) close() {
	if d.cluster != nil {
		d.cluster.Stop()
	}
	if d.server != nil {
		d.server.Stop()
	}
}

// wait keeps the broker running until the user ends the demo.
func (d *demo) wait() {
	fmt.Printf("\nThe broker keeps running. Kafka: %s   REST catalog: http://%s/iceberg   metrics: http://%s/metrics\n", d.cluster.Bootstrap(), d.http, d.http)
	fmt.Printf("Configuration for the tidemark command: --config %s\n", d.cluster.Nodes[0].PropertiesFile())
	fmt.Println("Stop it with Ctrl-C, or: kill", os.Getpid())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
}

func (d *demo) summary() {
	fmt.Printf("\n--- Tidemark demo: everything is equal, %.0f s ---\n", time.Since(d.started).Seconds())
	fmt.Printf("Tiered:  %d records, %.1f MB in %d segments of topic %s; local disk holds empty active segments only\n",
		d.records, float64(d.bytes)/1e6, d.tiered.segments, topic)
	fmt.Printf("Store:   %s\n", d.tiered.place)
	for _, line := range d.answer {
		switch {
		case strings.HasPrefix(line, "QUERY "):
			fmt.Printf("Query:   %s\n", strings.TrimPrefix(line, "QUERY "))
		case strings.HasPrefix(line, "ANSWER "):
			fmt.Printf("         %s\n", strings.TrimPrefix(line, "ANSWER "))
		default:
			fmt.Printf("Table:   %s\n", line)
		}
	}
	if !d.keep {
		fmt.Println("Next:    KEEP=1 make demo leaves the broker running; docs/config.md has every setting; `make test` runs the tests")
	}
}

var errTimeout = errors.New("not in time")

// await calls f every half second until it is done; f returns what is still missing.
func await(ctx context.Context, d time.Duration, f func(context.Context) (missing string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	shown := time.Now()
	for {
		missing, err := f(ctx)
		if missing == "" && err == nil {
			return nil
		}
		if err != nil {
			missing = err.Error()
		}
		if time.Since(shown) > 5*time.Second {
			fmt.Println("      waiting:", missing)
			shown = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w after %s: %s", errTimeout, d, missing)
		case <-time.After(500 * time.Millisecond):
		}
	}
}
