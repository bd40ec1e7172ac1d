package assemble

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/listener"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"
	"tidemark/remotestorage"
	"tidemark/remotestorage/reclaim/sweep"
	"tidemark/tables"
	"tidemark/tables/ingest"
)

// Store types.
const (
	StoreFile = "file"
	StoreS3   = "s3"
)

// Config is every setting of Tidemark. docs/config.md is made from its tags.
type Config struct {
	Store   StoreConfig
	S3      s3.Config
	Storage remotestorage.Config
	HTTP    HTTPConfig
	Native  NativeConfig
	Tables  tables.Config
	Ingest  ingest.Config
	Sweep   sweep.Config
}

// StoreConfig says where segments and tables live.
type StoreConfig struct {
	Type string `config:"store.type" doc:"Where segments and tables are stored: file (a directory on a local disk of a single host) or s3."`
	Path string `config:"store.path" optional:"true" doc:"Directory of the file store, an absolute path outside of every log.dirs entry. Needed with store.type=file."`

	RetryRate  int `config:"store.retries.per.second" default:"10" doc:"How many failed calls of the store this broker repeats in a second, all of them together, once store.retries.burst is used up: 1 to 10000. A call that may not be repeated fails with its own error, and Kafka or the next pass tries again. More only makes it worse for a store that is down."`
	RetryBurst int `config:"store.retries.burst" default:"200" doc:"How many failed calls of the store this broker may repeat at once, so that a blip in which everything on its way fails is borne: 1 to 100000."`
	MaxCalls   int `config:"store.calls.max" default:"256" doc:"How many reads, and how many writes, of the store may be under way at once: 8 to 10000. While the store throttles there are fewer: the limit is halved and grows back within a minute."`

	MaxRate int64 `config:"io.max.bytes.per.second" default:"0" doc:"Bytes per second that this broker sends to the store and reads from it at most, copies, reads and tables together in the order of asking: 0 = no limit, else at least 8388608. What the disk cache writes was read from the store, so that it is within the limit too. Set copy.max.bytes.per.second below it to leave reads the rest."`
}

// minRate is the least rate that a broker may be limited to: with less, reads that wait for each other would miss their deadlines.
const minRate = 8 << 20

// NativeConfig bounds the native library. It holds for the whole process: the first plugin instance decides.
type NativeConfig struct {
	Slabs       int   `config:"native.slabs" default:"64" doc:"Buffers that carry bytes of segments to Kafka's threads, from 4 to 4096. Each concurrent remote read needs two; a read that finds none waits."`
	SlabBytes   int   `config:"native.slab.bytes" default:"262144" doc:"Size of each of the native.slabs buffers: 65536 to 67108864, a multiple of 4096. All of them are allocated outside of the JVM's heap at the start."`
	MemoryLimit int64 `config:"native.memory.limit" default:"0" doc:"Soft limit of the library's own heap, outside of the JVM's heap; 0 is none. Near it the library spends more CPU on collecting garbage."`
}

// handled are properties Kafka adds itself.
var handled = []string{"broker.id", "node.id"}

// HTTPConfig is the one HTTP listener.
type HTTPConfig struct {
	Listener    string `config:"http.listener" optional:"true" doc:"host:port of the HTTP listener: /metrics for Prometheus, /tables for the state of tables on this broker as JSON, and /iceberg, the Iceberg REST catalog for reading. Unset: no listener. Without a host it binds 127.0.0.1."`
	AllowRemote bool   `config:"http.allow.remote" default:"false" doc:"Whether http.listener may bind an address that other hosts reach. There is no TLS and no token yet: whoever reaches it reads metrics and table metadata."`
}

// Parse binds and checks a configuration. Invalid lists all faults, one a line.
func Parse(properties map[string]string) (Config, error) {
	var c Config
	faults := bind(&c, properties, handled...)
	for _, f := range c.faults(properties) {
		if !slices.ContainsFunc(faults, func(known string) bool { return mentions(f, subject(known)) }) {
			faults = append(faults, f)
		}
	}
	slices.Sort(faults)
	if len(faults) > 0 {
		for i, f := range faults {
			faults[i] = Prefix + f
		}
		return c, status.Errorf(status.Invalid, "%s in the configuration of Tidemark:\n  %s", count(len(faults)), strings.Join(faults, "\n  "))
	}
	return c, nil
}

func count(faults int) string {
	if faults == 1 {
		return "1 fault"
	}
	return strconv.Itoa(faults) + " faults"
}

// faults checks the parts and what holds between them.
func (c *Config) faults(properties map[string]string) (faults []string) {
	bad := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	switch c.Store.Type {
	case StoreFile:
		bad(!filepath.IsAbs(c.Store.Path), "store.path: %q is not an absolute path", c.Store.Path)
		for key := range properties {
			bad(strings.HasPrefix(key, "store.s3."), "%s: only with store.type=s3", key)
		}
	case StoreS3:
		bad(c.Store.Path != "", "store.path: only with store.type=file")
		faults = append(faults, c.S3.Validate()...)
	default:
		bad(true, "store.type: %q is neither file nor s3", c.Store.Type)
	}
	bad(c.Store.RetryRate < 1 || c.Store.RetryRate > 10000, "store.retries.per.second: %d is not between 1 and 10000", c.Store.RetryRate)
	bad(c.Store.RetryBurst < 1 || c.Store.RetryBurst > 100000, "store.retries.burst: %d is not between 1 and 100000", c.Store.RetryBurst)
	bad(c.Store.MaxCalls < 8 || c.Store.MaxCalls > 10000, "store.calls.max: %d is not between 8 and 10000", c.Store.MaxCalls)
	bad(c.Store.MaxRate != 0 && c.Store.MaxRate < minRate, "io.max.bytes.per.second: %d is neither 0 nor at least %d", c.Store.MaxRate, minRate)
	faults = append(faults, lines(c.Storage.Validate())...)
	faults = append(faults, lines(c.Sweep.Validate())...)
	if err := (listener.Config{Address: c.HTTP.Listener, AllowRemote: c.HTTP.AllowRemote}).Validate(); err != nil {
		fault := "http.listener: " + err.Error()
		if (listener.Config{Address: c.HTTP.Listener, AllowRemote: true}).Validate() == nil {
			fault += " (" + Prefix + "http.allow.remote=true)"
		}
		faults = append(faults, fault)
	}
	faults = append(faults, c.Tables.Validate()...)
	faults = append(faults, c.Ingest.Validate()...)
	bad(c.Native.Slabs < 4 || c.Native.Slabs > 4096, "native.slabs: %d is not between 4 and 4096", c.Native.Slabs)
	bad(c.Native.SlabBytes < 64<<10 || c.Native.SlabBytes > 64<<20, "native.slab.bytes: %d is not between 64 KiB and 64 MiB", c.Native.SlabBytes)
	bad(c.Native.SlabBytes%4096 != 0, "native.slab.bytes: %d is not a multiple of 4096", c.Native.SlabBytes)
	bad(c.Native.MemoryLimit < 0, "native.memory.limit: must not be negative")
	return faults
}

// subject is the setting a fault begins with.
func subject(fault string) string {
	if i := strings.IndexAny(fault, ": "); i >= 0 {
		return fault[:i]
	}
	return fault
}

// mentions reports whether a fault is about a setting: one that has a fault of its own already.
func mentions(fault, key string) bool {
	return slices.Contains(strings.FieldsFunc(fault, func(r rune) bool { return strings.ContainsRune(" :,;=()", r) }), key)
}

// where is the store in words.
func (c *Config) where() string {
	if c.Store.Type == StoreFile {
		return "file://" + c.Store.Path
	}
	if c.S3.Endpoint == "" {
		return "s3://" + c.S3.Bucket
	}
	return "s3://" + c.S3.Bucket + " at " + c.S3.Endpoint
}

// lines are the messages of joined errors, however deep.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, e := range joined.Unwrap() {
			out = append(out, lines(e)...)
		}
		return out
	}
	return strings.Split(err.Error(), "\n")
}
