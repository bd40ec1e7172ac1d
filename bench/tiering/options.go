package tiering

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"tidemark/bench/calls"
)

// Options are the sizes of a run.
type Options struct {
	Kafka, Jar, CLI, Dir, Heap string
	Rounds                     int
	Full                       bool
	Row                        string // "" is all rows
	Size, Warm                 int64  // bytes produced for each topic, and for the warm-up
	Segment                    int64  // segment.bytes of the topic with one partition
	PerPartition               int32
	Properties                 map[string]string
	Peer                       calls.Peer
	Before                     string // another Tidemark jar: the run compares the two, and nothing else
}

// Row is a line of the suite's table.
type Row struct {
	Name string
	What string
}

// Rows are what can be measured, by their numbers.
var Rows = []Row{
	{"03.copy.raw", "a broker copies segments that lie on its disk"},
	{"04.copy.zstd", "copying with compression, beside the codec alone"},
	{"05.copy.encrypt", "copying with encryption, beside the primitive alone"},
	{"06.fetch.seq", "a consumer catches up from the store"},
	{"07.fetch.first", "the first bytes from a segment nothing is known of, with a store 30 ± 10 ms away"},
	{"08.fetch.fanout", "sixteen consumers read one range at the same time"},
	{"09.fetch.churn", "random reads with a cache of a twentieth of the data"},
	{"10.produce.interference", "producer latency while segments are copied and while four consumers catch up"},
	{"11.jni.cross", "from Java into the library and back"},
	{"20.mem.peak", "memory after all of that"},
	{"21.cost.tb", "requests and dollars per TB"},
	{"22.start.load", "loading the plugin and copying a first segment"},
	{"23.delete.topic", "deleting the segments of a topic, with a store 50 ms away"},
	{"31.degraded", "copying and reading while 1 % and 10 % of requests fail"},
}

// name is the full name of the row with a number, "" for none.
func name(number string) string {
	i := slices.IndexFunc(Rows, func(r Row) bool { return r.Name[:2] == number || r.Name == number })
	if i < 0 {
		return ""
	}
	return Rows[i].Name
}

func (o Options) check() error {
	if o.Row != "" && name(o.Row) == "" {
		var numbers []string
		for _, r := range Rows {
			numbers = append(numbers, r.Name)
		}
		return fmt.Errorf("there is no row %q; the rows are %s", o.Row, strings.Join(numbers, ", "))
	}
	if o.Jar == "" {
		return fmt.Errorf("the suite needs the Tidemark jar")
	}
	if (o.Peer.Libs == "") != (o.Peer.Props == "") {
		return fmt.Errorf("a foreign plugin needs both PEER_LIBS and PEER_PROPS")
	}
	if _, err := os.Stat(o.Peer.Props); o.Peer.Props != "" && err != nil {
		return err
	}
	return nil
}

// wants reports whether a row is to be measured.
func (o Options) wants(row string) bool { return o.Row == "" || name(o.Row) == row }
