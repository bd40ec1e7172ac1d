package catalog

import (
	"encoding/base64"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const goldenLedger = "testdata/ledger-v1.txt"

// sampleLedger uses every field.
func sampleLedger() Ledger {
	l := NewLedger([16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, Claim{
		ClusterID: "MkU3OEVBNTcwNTJENDM2Qg", TopicID: TopicID{0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, Topic: "flights",
	})
	l.Generation, l.Seq, l.Sequence, l.GapCount = 2, 17, 23, 1
	l.Partitions[0] = Progress{Next: 84194, BatchEpoch: 3, LastBatchBase: 84100, LastBatchCRC: 0xdeadbeef, Last: 84193}
	l.Partitions[3] = Progress{
		Next: 1 << 40, BatchEpoch: 0, LastBatchBase: 1<<40 - 1, LastBatchCRC: 7, Start: 1000, Lo: 500, Floor: 100, Last: -1,
	}
	l.Partitions[4] = beginAt(77)
	return l
}

func TestLedgerGolden(t *testing.T) {
	text := sampleLedger().Encode()
	if *update {
		if err := os.WriteFile(goldenLedger, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(goldenLedger)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSuffix(string(golden), "\n"); text != want {
		t.Errorf("the ledger's text changed: persisted ledgers would no longer be read\n got %s\nwant %s", text, want)
	}
	got, err := DecodeLedger(text)
	if err != nil || !reflect.DeepEqual(got, sampleLedger()) {
		t.Errorf("decode: %+v, %v", got, err)
	}
}

func TestLedgerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLedger(t)
		got, err := DecodeLedger(l.Encode())
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		if !reflect.DeepEqual(got, l) {
			t.Fatalf("got %+v\nwant %+v", got, l)
		}
	})
}

func drawLedger(t *rapid.T) Ledger {
	var l Ledger
	copy(l.TableUUID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
	copy(l.Claim.TopicID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "topic id"))
	l.Claim.ClusterID = rapid.StringN(0, 40, 60).Draw(t, "cluster")
	l.Claim.Topic = rapid.StringN(0, 40, 60).Draw(t, "topic")
	l.Generation, l.Seq = rapid.Uint64().Draw(t, "generation"), rapid.Uint64().Draw(t, "seq")
	l.Sequence, l.GapCount = rapid.Int64().Draw(t, "sequence"), rapid.Uint64().Draw(t, "gaps")
	l.Partitions = map[int32]Progress{}
	for range rapid.IntRange(0, 20).Draw(t, "partitions") {
		p := Progress{BatchEpoch: rapid.Int32Min(-1).Draw(t, "epoch"), LastBatchCRC: rapid.Uint32().Draw(t, "crc")}
		p.Floor = rapid.Int64Min(0).Draw(t, "floor")
		p.Lo = rapid.Int64Min(p.Floor).Draw(t, "lo")
		p.Start = rapid.Int64Min(p.Lo).Draw(t, "start")
		p.Next = rapid.Int64Min(p.Start).Draw(t, "next")
		p.LastBatchBase = rapid.Int64Range(-1, p.Next-1).Draw(t, "last batch")
		p.Last = rapid.Int64Range(-1, p.Next-1).Draw(t, "last")
		l.Partitions[rapid.Int32Min(0).Draw(t, "partition")] = p
	}
	return l
}

func TestLedgerFindsEveryCorruption(t *testing.T) {
	text := sampleLedger().Encode()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\n\r \x00"
	for i := range text {
		for _, c := range []byte(alphabet) {
			if c == text[i] {
				continue
			}
			if _, err := DecodeLedger(text[:i] + string(c) + text[i+1:]); err == nil {
				t.Fatalf("character %d changed to %q was not found", i, c)
			}
		}
		if _, err := DecodeLedger(text[:i]); err == nil {
			t.Fatalf("a ledger cut to %d characters was not found", i)
		}
		if _, err := DecodeLedger(text[:i] + "\n" + text[i:]); err == nil {
			t.Fatalf("a line break at %d was not found", i)
		}
	}
	for _, tail := range []string{"\n", "=", "A", text} {
		if _, err := DecodeLedger(text + tail); err == nil {
			t.Errorf("a tail %q was not found", tail)
		}
	}
}

func TestLedgerBadContentUnderAGoodCRC(t *testing.T) {
	seal := func(b []byte) string {
		return base64.RawStdEncoding.EncodeToString(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
	}
	bad := func(change func(*Progress)) string {
		l := sampleLedger()
		p := l.Partitions[0]
		change(&p)
		l.Partitions[0] = p
		return l.Encode()
	}
	newer := sampleLedger().body()
	newer[0]++
	header := NewLedger([16]byte{}, Claim{}).body()
	countless := binary.AppendUvarint(header[:len(header)-1:len(header)-1], math.MaxUint64)
	longName := append(append([]byte{1}, make([]byte, 16)...), 1, 1, 2)
	longName = binary.AppendUvarint(longName, math.MaxUint64)
	cases := map[string]struct {
		text  string
		class status.Class
	}{
		"empty":            {"", status.Corrupt},
		"only a CRC":       {seal(nil), status.Corrupt},
		"newer version":    {seal(newer), status.Unsupported},
		"trailing byte":    {seal(append(sampleLedger().body(), 0)), status.Corrupt},
		"partition count":  {seal(countless), status.Corrupt},
		"name length":      {seal(longName), status.Corrupt},
		"next below start": {bad(func(p *Progress) { p.Next, p.LastBatchBase, p.Last, p.Start = 5, 4, 4, 6 }), status.Corrupt},
		"row above next":   {bad(func(p *Progress) { p.Last = p.Next }), status.Corrupt},
		"batch above next": {bad(func(p *Progress) { p.LastBatchBase = p.Next }), status.Corrupt},
		"negative floor":   {bad(func(p *Progress) { p.Floor = -1 }), status.Corrupt},
		"epoch":            {bad(func(p *Progress) { p.BatchEpoch = -2 }), status.Corrupt},
		"too long":         {strings.Repeat("A", maxLedgerText+1), status.Corrupt},
	}
	for name, c := range cases {
		if _, err := DecodeLedger(c.text); status.Of(err) != c.class {
			t.Errorf("%s: %v, want class %v", name, err, c.class)
		}
	}
}

func TestLedgerBeginAndSize(t *testing.T) {
	l := NewLedger([16]byte{1}, Claim{ClusterID: "c", Topic: "t"})
	if p := l.Progress(9); p.Next != 0 || p.BatchEpoch != -1 || p.Last != -1 {
		t.Errorf("a partition without an entry begins at 0, got %+v", p)
	}
	m := l.Begin(9, 500)
	if len(l.Partitions) != 0 || m.Progress(9).Next != 500 || m.Begin(9, 700).Progress(9).Next != 500 {
		t.Error("Begin changes its receiver or an entry that is there")
	}
	for i := range int32(1000) {
		l.Partitions[i] = Progress{
			Next: 1e9 + int64(i), BatchEpoch: 12, LastBatchBase: 1e9 - 200, LastBatchCRC: uint32(i) * 2654435761, Last: 1e9 - 1,
		}
	}
	if n := len(l.Encode()); n > 25_000 {
		t.Errorf("1 000 partitions take %d characters", n)
	}
}

func FuzzLedger(f *testing.F) {
	f.Add(sampleLedger().Encode())
	f.Add(NewLedger([16]byte{}, Claim{}).Encode())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := DecodeLedger(text)
		if err == nil && l.Encode() != text {
			t.Errorf("%q is accepted but is not the form of its content", text)
		}
		// The same bytes under a matching CRC reach the decoder proper.
		raw, err := base64.RawStdEncoding.DecodeString(text)
		if err != nil || len(raw) == 0 {
			return
		}
		raw[0] = ledgerVersion
		sealed := base64.RawStdEncoding.EncodeToString(binary.LittleEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli)))
		if l, err := DecodeLedger(sealed); err == nil && l.Encode() != sealed {
			t.Errorf("%q is accepted but is not the form of its content", sealed)
		}
	})
}
