// Command bench measures Tidemark beside a peer, interleaved in one run, and writes report.md and report.csv. It checks every record before
// it prints a number, and exits with 1 when a row has none. README.md of the folder above says what the rows mean.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/calls"
	"tidemark/bench/tiering"
	"tidemark/integration/cluster"
)

// options are the sizes of a run.
type options struct {
	kafka, jar, cli, dir string
	row, before          string
	rounds               int
	size, warm           int64 // bytes
	segment              int64 // bytes
	partitions           int
	rate, seconds        int
	codec                string
	heap                 string
	perPartition         int32             // bytes of a partition in one fetch
	properties           map[string]string // of both brokers, beside those of the harness
}

// shortRounds is the default; a run with fullRounds or more is not called short.
const (
	shortRounds = 3
	fullRounds  = 7
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(), "snappy": kgo.SnappyCompression(), "gzip": kgo.GzipCompression(),
}

// suites is what parse returns the name of.
var suites = []string{"vanilla", "tiering"}

func parse() (suite string, o options, err error) {
	o.properties = map[string]string{}
	rounds := shortRounds
	if os.Getenv("FULL") != "" {
		rounds = fullRounds
	}
	var mib, warm, segment int64
	var perPartition int
	flag.StringVar(&suite, "suite", "vanilla", "what to measure: "+strings.Join(suites, " or "))
	flag.StringVar(&o.row, "row", os.Getenv("ROW"), "one row of the tiering suite, by its number; empty is all")
	flag.StringVar(&o.kafka, "kafka", "4.4.0", "version of Kafka")
	flag.StringVar(&o.jar, "jar", "", "the Tidemark jar; empty compares vanilla with vanilla, which shows how far apart equal things are here")
	flag.StringVar(&o.before, "before", "", "another Tidemark jar: the tiering suite compares the brokers of the two jars and nothing else")
	flag.StringVar(&o.cli, "cli", "", "the tidemark command, which reports its version")
	flag.StringVar(&o.dir, "dir", filepath.Join("build", "bench"), "where the reports and the running brokers lie")
	flag.IntVar(&o.rounds, "rounds", rounds, "rounds of both sides; FULL=1 in the environment makes the default 7")
	flag.Int64Var(&mib, "mib", 256, "MiB produced at full speed in a round")
	flag.Int64Var(&warm, "warm-mib", 32, "MiB produced and read in every fresh broker before anything is measured")
	flag.Int64Var(&segment, "segment-mib", 16, "segment.bytes of the topic; the fixed-rate topic has a quarter of it. 100 is the default of the tiering suite")
	flag.IntVar(&o.partitions, "partitions", 6, "partitions of the topic")
	flag.IntVar(&o.rate, "rate", 4000, "records per second of the fixed-rate row")
	flag.IntVar(&o.seconds, "seconds", 20, "duration of the fixed-rate row")
	flag.StringVar(&o.codec, "codec", "none", "compression of the producer's batches: none, lz4, zstd, snappy or gzip")
	flag.IntVar(&perPartition, "partition-fetch-kib", 1024, "the consumer's max.partition.fetch.bytes; 1024 is Kafka's default")
	flag.StringVar(&o.heap, "heap", "1g", "heap of the broker's JVM")
	flag.Func("property", "key=value in server.properties of both brokers; may be repeated", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return fmt.Errorf("%q is not key=value", s)
		}
		o.properties[k] = v
		return nil
	})
	if len(os.Args) == 4 && os.Args[1] == "compare" {
		os.Args = []string{os.Args[0], "-suite", "tiering", "-before", os.Args[2], "-jar", os.Args[3]}
	}
	flag.Parse()
	if suite == "tiering" && !isSet("segment-mib") {
		segment = 100
	}
	if suite == "tiering" && !isSet("warm-mib") {
		warm = 96
	}
	if suite == "tiering" && !isSet("mib") && os.Getenv("FULL") != "" {
		mib = 2048
	}
	o.size, o.warm, o.segment, o.perPartition = mib<<20, warm<<20, segment<<20, int32(perPartition<<10)
	_, known := codecs[o.codec]
	switch {
	case !slices.Contains(suites, suite):
		err = fmt.Errorf("there is no suite %q; the suites are: %s", suite, strings.Join(suites, ", "))
	case !known:
		err = fmt.Errorf("there is no codec %q", o.codec)
	case o.rounds < 1 || mib < 1 || warm < 1 || segment < 4 || o.partitions < 1 || o.rate < 1 || o.seconds < 1 || perPartition < 1 || perPartition > 1<<20:
		err = fmt.Errorf("rounds, sizes, partitions, rate and seconds are positive, segment-mib is at least 4")
	default:
		err = absolute(&o.jar, &o.before, &o.cli)
	}
	return suite, o, err
}

// absolute makes paths of files absolute, because processes of the benchmark start in folders of their own.
func absolute(paths ...*string) (err error) {
	for _, path := range paths {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
		if _, err = os.Stat(*path); err != nil {
			return err
		}
	}
	return nil
}

// isSet reports whether a flag was given.
func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func main() {
	suite, o, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.rounds)*30*time.Minute)
	measured := vanilla
	if suite == "tiering" {
		measured = tieringSuite
	}
	complete, err := measured(ctx, o)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !complete {
		os.Exit(1)
	}
}

// tieringSuite runs that suite with these options, and with the foreign plugin of the environment.
func tieringSuite(ctx context.Context, o options) (complete bool, err error) {
	dir, err := place(o.dir)
	if err != nil {
		return false, err
	}
	return tiering.Run(ctx, tiering.Options{Kafka: o.kafka, Jar: o.jar, CLI: o.cli, Dir: dir, Heap: o.heap, Rounds: o.rounds, Full: o.rounds >= fullRounds || os.Getenv("FULL") != "",
		Row: o.row, Before: o.before, Size: o.size, Warm: o.warm, Segment: o.segment, PerPartition: o.perPartition, Properties: o.properties,
		Peer: calls.Peer{Libs: os.Getenv("PEER_LIBS"), Props: os.Getenv("PEER_PROPS"), Kafka: os.Getenv("PEER_KAFKA")}})
}

// place is where a run lies: below the repository's root unless the path is absolute.
func place(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		return dir, nil
	}
	root, err := cluster.Root()
	return filepath.Join(root, dir), err
}
