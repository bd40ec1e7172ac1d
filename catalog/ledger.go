package catalog

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"tidemark/internal/status"
)

const (
	ledgerVersion = 1
	// maxLedgerText bounds what DecodeLedger accepts: 10 000 partitions take about 350 KB.
	maxLedgerText = 8 << 20
	// maxLedgerName bounds cluster id and topic name. Kafka's own limit for a topic name is 249 characters.
	maxLedgerName = 1024
	// minPartitionSize is the size of a partition's entry of one-byte varints: the bound for the count before allocation.
	minPartitionSize = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FirstGeneration is the generation of a new ledger. An offer that names none (0) fits no ledger.
const FirstGeneration = 1

// NewLedger is the ledger of a table that never had a snapshot.
func NewLedger(table [16]byte, c Claim) Ledger {
	return Ledger{TableUUID: table, Generation: FirstGeneration, Claim: c, Partitions: map[int32]Progress{}}
}

// Progress returns a partition's entry. A partition without one begins at offset 0: it was added after the table.
func (l Ledger) Progress(partition int32) Progress {
	if p, ok := l.Partitions[partition]; ok {
		return p
	}
	return beginAt(0)
}

// Begin returns l with an entry for a partition that has none, at the offset where its log begins. An entry that is there
// stays: where live ingestion began is decided once, by the first commit that installs it.
func (l Ledger) Begin(partition int32, logStart int64) Ledger {
	if _, ok := l.Partitions[partition]; ok || partition < 0 || logStart < 0 {
		return l
	}
	l.Partitions = cloneProgress(l.Partitions)
	l.Partitions[partition] = beginAt(logStart)
	return l
}

func beginAt(offset int64) Progress {
	return Progress{
		Next: offset, BatchEpoch: -1, LastBatchBase: -1, Start: offset, Lo: offset, Floor: offset, Last: -1,
	}
}

func cloneProgress(m map[int32]Progress) map[int32]Progress {
	if m == nil {
		return map[int32]Progress{}
	}
	return maps.Clone(m)
}

// Numbers returns the partitions that have an entry, ascending.
func (l Ledger) Numbers() []int32 { return slices.Sorted(maps.Keys(l.Partitions)) }

// CRC is the CRC32C of the ledger's encoded bytes, the last four of which repeat it.
func (l Ledger) CRC() uint32 { return crc32.Checksum(l.body(), castagnoli) }

// Encode is the ledger's text: docs/format/ledger.md. Equal ledgers have equal texts.
func (l Ledger) Encode() string {
	b := l.body()
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawStdEncoding.EncodeToString(b)
}

func (l Ledger) body() []byte {
	b := make([]byte, 0, 96+24*len(l.Partitions))
	b = append(b, ledgerVersion)
	b = append(b, l.TableUUID[:]...)
	b = binary.AppendUvarint(b, l.Generation)
	b = binary.AppendUvarint(b, l.Seq)
	b = binary.AppendVarint(b, l.Sequence)
	b = appendText(b, l.Claim.ClusterID)
	b = append(b, l.Claim.TopicID[:]...)
	b = appendText(b, l.Claim.Topic)
	b = binary.AppendUvarint(b, l.GapCount)
	b = binary.AppendUvarint(b, uint64(len(l.Partitions)))
	previous := int32(-1)
	for _, n := range l.Numbers() {
		p := l.Partitions[n]
		b = binary.AppendUvarint(b, uint64(n)-uint64(int64(previous)+1))
		b = binary.AppendVarint(b, p.Start)
		b = binary.AppendVarint(b, p.Next-p.Start)
		b = binary.AppendVarint(b, int64(p.BatchEpoch)+1)
		b = binary.AppendVarint(b, p.Next-1-p.LastBatchBase)
		b = binary.LittleEndian.AppendUint32(b, p.LastBatchCRC)
		b = binary.AppendVarint(b, p.Start-p.Lo)
		b = binary.AppendVarint(b, p.Lo-p.Floor)
		b = binary.AppendVarint(b, p.Next-1-p.Last)
		previous = n
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// DecodeLedger reads the text of Encode. Every change of the text is found: it is a valid ledger's only text, or an error.
// Error classes: Corrupt, and Unsupported for a newer version.
func DecodeLedger(text string) (Ledger, error) {
	if len(text) > maxLedgerText {
		return Ledger{}, status.Errorf(status.Corrupt, "ledger: %d characters, more than the limit of %d", len(text), maxLedgerText)
	}
	raw, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 5 {
		return Ledger{}, status.Errorf(status.Corrupt, "ledger: %d characters are not the base64 text of a ledger", len(text))
	}
	body, sum := raw[:len(raw)-4], binary.LittleEndian.Uint32(raw[len(raw)-4:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return Ledger{}, status.Errorf(status.Corrupt, "ledger: CRC32C is %08x, its last bytes say %08x", got, sum)
	}
	if body[0] != ledgerVersion {
		return Ledger{}, status.Errorf(status.Unsupported, "ledger: version %d, this program reads version %d", body[0], ledgerVersion)
	}
	l, err := decodeLedgerBody(body[1:])
	if err != nil {
		return Ledger{}, err
	}
	if err := l.Validate(); err != nil {
		return Ledger{}, err
	}
	if l.Encode() != text {
		return Ledger{}, status.Errorf(status.Corrupt, "ledger: the text is not the one form of its content")
	}
	return l, nil
}

func decodeLedgerBody(b []byte) (Ledger, error) {
	d := reader{rest: b}
	var l Ledger
	copy(l.TableUUID[:], d.bytes(16))
	l.Generation = d.uvarint()
	l.Seq = d.uvarint()
	l.Sequence = d.varint()
	l.Claim.ClusterID = d.text()
	copy(l.Claim.TopicID[:], d.bytes(16))
	l.Claim.Topic = d.text()
	l.GapCount = d.uvarint()
	n := d.uvarint()
	if d.bad || n > uint64(len(d.rest)/minPartitionSize) {
		return Ledger{}, status.Errorf(status.Corrupt, "ledger: the header does not fit its %d bytes", len(b))
	}
	l.Partitions = make(map[int32]Progress, n)
	number := int64(-1)
	for range n {
		gap := d.uvarint()
		if gap > math.MaxInt32 || number+1+int64(gap) > math.MaxInt32 {
			return Ledger{}, status.Errorf(status.Corrupt, "ledger: a partition number after %d is out of range", number)
		}
		number += 1 + int64(gap)
		l.Partitions[int32(number)] = d.progress()
	}
	if d.bad || len(d.rest) != 0 {
		return Ledger{}, status.Errorf(status.Corrupt, "ledger: %d partitions do not fit its %d bytes", n, len(b))
	}
	return l, nil
}

func (d *reader) progress() Progress {
	var p Progress
	p.Start = d.varint()
	p.Next = p.Start + d.varint()
	epoch := d.varint() - 1
	if epoch < math.MinInt32 || epoch > math.MaxInt32 {
		d.bad = true
	}
	p.BatchEpoch = int32(epoch)
	p.LastBatchBase = p.Next - 1 - d.varint()
	if crc := d.bytes(4); crc != nil {
		p.LastBatchCRC = binary.LittleEndian.Uint32(crc)
	}
	p.Lo = p.Start - d.varint()
	p.Floor = p.Lo - d.varint()
	p.Last = p.Next - 1 - d.varint()
	return p
}

// Validate checks what every ledger holds: per partition 0 ≤ floor ≤ lo ≤ start ≤ next, and the last batch and the last row
// below next. Error class: Corrupt.
func (l Ledger) Validate() error {
	if len(l.Claim.ClusterID) > maxLedgerName || len(l.Claim.Topic) > maxLedgerName {
		return status.Errorf(status.Corrupt, "ledger: a cluster id or topic name of more than %d bytes", maxLedgerName)
	}
	for _, n := range l.Numbers() {
		p := l.Partitions[n]
		ordered := n >= 0 && 0 <= p.Floor && p.Floor <= p.Lo && p.Lo <= p.Start && p.Start <= p.Next
		below := -1 <= p.LastBatchBase && p.LastBatchBase < p.Next && -1 <= p.Last && p.Last < p.Next
		if !ordered || !below || p.BatchEpoch < -1 {
			return status.Errorf(status.Corrupt, "ledger: partition %d: offsets out of order: %+v", n, p)
		}
	}
	return nil
}

// reader takes fields off a byte slice. After the first one that does not fit, bad is set and fields are zero.
type reader struct {
	rest []byte
	bad  bool
}

func (d *reader) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if d.bad || n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *reader) varint() int64 {
	v, n := binary.Varint(d.rest)
	if d.bad || n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *reader) bytes(n int) []byte {
	if d.bad || len(d.rest) < n {
		d.bad = true
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *reader) text() string {
	n := d.uvarint()
	if n > maxLedgerName {
		d.bad = true
	}
	if d.bad {
		return ""
	}
	return string(d.bytes(int(n)))
}
