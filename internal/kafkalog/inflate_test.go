package kafkalog_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

// recompressed is the batch of records with its body replaced by what pack makes of the plain body.
func recompressed(codec kafkalog.Codec, records []kafkalog.Record, pack func(plain []byte) []byte) []byte {
	raw := logtest.Batch{Records: records}.Bytes()
	body := pack(bytes.Clone(raw[kafkalog.HeaderSize:]))
	raw = append(raw[:kafkalog.HeaderSize], body...)
	raw[22] = byte(codec)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	logtest.Seal(raw)
	return raw
}

func checkValues(t *testing.T, name string, raw []byte, want ...string) {
	t.Helper()
	b, err := kafkalog.ParseBatch(raw, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rs, err := decodeAll(kafkalog.NewDecoder(kafkalog.Limits{}), b)
	if err != nil || len(rs) != len(want) {
		t.Fatalf("%s: %d records, %v", name, len(rs), err)
	}
	for i, r := range rs {
		if string(r.Value) != want[i] {
			t.Errorf("%s: record %d has %d bytes, want %d", name, i, len(r.Value), len(want[i]))
		}
	}
}

// TestLZ4Frames reads frames with every optional field, as clients other than Kafka's write them.
func TestLZ4Frames(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 40_000)
	records := logtest.Values(0, big, "small")
	for name, opts := range map[string][]lz4.Option{
		"sums and size": {lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(0)},
		"4 MiB blocks":  {lz4.BlockSizeOption(lz4.Block4Mb), lz4.ChecksumOption(false)},
		"high":          {lz4.CompressionLevelOption(lz4.Level9), lz4.BlockSizeOption(lz4.Block64Kb)},
	} {
		raw := recompressed(kafkalog.LZ4, records, func(plain []byte) []byte {
			var buf bytes.Buffer
			w := lz4.NewWriter(&buf)
			if name == "sums and size" {
				opts[2] = lz4.SizeOption(uint64(len(plain)))
			}
			if err := w.Apply(opts...); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(plain); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return buf.Bytes()
		})
		checkValues(t, name, raw, big, "small")
	}
	// A stored block, a skippable frame before it, and a block that refers back into the one before (linked blocks).
	value := strings.Repeat("q", 50)
	raw := recompressed(kafkalog.LZ4, logtest.Values(0, value), func(plain []byte) []byte {
		at := bytes.IndexByte(plain, 'q')
		first, rest := plain[:at+5], plain[at+5:] // rest = 45 q and the header count
		out := []byte{0x53, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'x', 'y'}
		out = append(out, 0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0)
		out = binary.LittleEndian.AppendUint32(out, 1<<31|uint32(len(first)))
		out = append(out, first...)
		tail := rest[len(rest)-6:]                                // an LZ4 block ends with at least five literals
		block := []byte{0x0f, 1, 0, byte(len(rest) - 6 - 4 - 15)} // no literal, match of 39 at distance 1
		block = append(append(block, byte(len(tail)<<4)), tail...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(block)))
		return append(append(out, block...), 0, 0, 0, 0)
	})
	checkValues(t, "linked", raw, value)
}

func TestDamagedFraming(t *testing.T) {
	records := logtest.Values(0, strings.Repeat("abc", 1000), strings.Repeat("def", 1000))
	d := kafkalog.NewDecoder(kafkalog.Limits{})
	for _, codec := range codecs[1:] {
		for _, split := range []int{0, 2500} {
			body := logtest.Batch{Codec: codec, Split: split, Records: records}.Bytes()[kafkalog.HeaderSize:]
			for cut := range body {
				raw := recompressed(codec, records, func([]byte) []byte { return body[:cut] })
				b, err := kafkalog.ParseBatch(raw, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := decodeAll(d, b); !status.Is(err, status.Corrupt) {
					t.Fatalf("%s, split %d, cut to %d of %d bytes: %v", codec, split, cut, len(body), err)
				}
			}
		}
	}
}

// TestBombs: what claims or makes more than the limit is refused before it is allocated.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 32<<20)
	for _, codec := range codecs[1:] {
		b := mustBatch(t, logtest.Batch{Codec: codec, Split: 1 << 20, Records: []kafkalog.Record{{Value: zeros}}})
		d := kafkalog.NewDecoder(kafkalog.Limits{MaxDecompressed: 1 << 20})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := decodeAll(d, b); !status.Is(err, status.Unsupported) {
			t.Errorf("%s: %v", codec, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
			t.Errorf("%s: %d bytes allocated for a limit of 1 MiB", codec, n)
		}
	}
	liar := recompressed(kafkalog.Snappy, nil, func([]byte) []byte { return []byte{0xff, 0xff, 0xff, 0x7f, 0} })
	b, err := kafkalog.ParseBatch(liar, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeAll(kafkalog.NewDecoder(kafkalog.Limits{}), b); !status.Is(err, status.Corrupt) {
		t.Errorf("a snappy block that claims 256 MB in 5 bytes: %v", err)
	}
}
