package stored

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	flatbuffers "github.com/google/flatbuffers/go"

	"tidemark/internal/status"
	"tidemark/internal/wire"
)

// Identity says which segment something belongs to. Uuids are in the byte order of org.apache.kafka.common.Uuid.
type Identity struct {
	TopicID    [16]byte
	Partition  int32
	SegmentID  [16]byte
	BaseOffset int64
}

// IndexKind is which of Kafka's indexes it is. The numbers are those of RemoteStorageManager.IndexType at the boundary.
type IndexKind uint8

// The indexes of a segment. All but TransactionIndex are mandatory.
const (
	OffsetIndex      IndexKind = 1
	TimeIndex        IndexKind = 2
	ProducerSnapshot IndexKind = 3
	TransactionIndex IndexKind = 4
	LeaderEpochs     IndexKind = 5
)

var kindNames = map[IndexKind]string{
	OffsetIndex: "offset index", TimeIndex: "time index", ProducerSnapshot: "producer snapshot",
	TransactionIndex: "transaction index", LeaderEpochs: "leader epoch checkpoint",
}

// String is Kafka's name of the index.
func (k IndexKind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return "unknown index"
}

// Index is where one index lies in the sidecar. An absent transaction index has no entry.
type Index struct {
	Kind   IndexKind
	Offset int64
	Size   int32
	CRC    uint32
}

// Manifest describes a stored segment completely: what it is, how its bytes are stored, where its indexes are.
type Manifest struct {
	Identity
	Topic        string
	EndOffset    int64 // inclusive
	MaxTimestamp int64 // ms
	Map          Map
	Indexes      []Index // in sidecar order, contiguous from 0
	Writer       string  // version of Tidemark that wrote it
	BrokerID     int32

	// Of an encrypted segment; else empty.
	KeyID      string // names the key that wraps the data key
	WrappedKey []byte // the data key, as Keys takes it
	Seal       []byte // proves the manifest
}

// Encrypted tells whether the chunks and indexes are.
func (m Manifest) Encrypted() bool { return len(m.WrappedKey) > 0 }

// format is the oldest version that can say what the manifest says.
func (m Manifest) format() byte {
	if m.Encrypted() || !m.Map.uniform() {
		return sealedFormat
	}
	return plainFormat
}

// Encode returns the manifest in its frame.
func (m Manifest) Encode() []byte {
	b := flatbuffers.NewBuilder(256 + 24*len(m.Map.Chunks))
	topic, writer := b.CreateString(m.Topic), b.CreateString(m.Writer)
	entries := make([]flatbuffers.UOffsetT, len(m.Indexes))
	for i, x := range m.Indexes {
		wire.IndexEntryStart(b)
		wire.IndexEntryAddKind(b, byte(x.Kind))
		wire.IndexEntryAddOffset(b, x.Offset)
		wire.IndexEntryAddSize(b, x.Size)
		wire.IndexEntryAddCrc(b, x.CRC)
		entries[i] = wire.IndexEntryEnd(b)
	}
	wire.ManifestStartIndexesVector(b, len(entries))
	for i := len(entries) - 1; i >= 0; i-- {
		b.PrependUOffsetT(entries[i])
	}
	indexes := b.EndVector(len(entries))
	wire.ManifestStartChunksVector(b, len(m.Map.Chunks))
	for i := len(m.Map.Chunks) - 1; i >= 0; i-- {
		c := m.Map.Chunks[i]
		wire.CreateChunk(b, c.Original, c.Stored, c.StoredSize, c.CRC)
	}
	chunks := b.EndVector(len(m.Map.Chunks))
	format := m.format()
	var forms, keyID, wrapped, seal flatbuffers.UOffsetT
	if format > plainFormat {
		forms = b.CreateByteVector(m.Map.forms())
	}
	if m.Encrypted() {
		keyID, wrapped, seal = b.CreateString(m.KeyID), b.CreateByteVector(m.WrappedKey), b.CreateByteVector(m.Seal)
	}
	wire.ManifestStart(b)
	wire.ManifestAddFormat(b, format)
	msb, lsb := split(m.TopicID)
	wire.ManifestAddTopicMsb(b, msb)
	wire.ManifestAddTopicLsb(b, lsb)
	wire.ManifestAddTopic(b, topic)
	wire.ManifestAddPartition(b, m.Partition)
	msb, lsb = split(m.SegmentID)
	wire.ManifestAddSegmentMsb(b, msb)
	wire.ManifestAddSegmentLsb(b, lsb)
	wire.ManifestAddBaseOffset(b, m.BaseOffset)
	wire.ManifestAddEndOffset(b, m.EndOffset)
	wire.ManifestAddSize(b, m.Map.Size)
	wire.ManifestAddStoredSize(b, m.Map.StoredSize)
	wire.ManifestAddChunkSize(b, m.Map.ChunkSize)
	wire.ManifestAddChunks(b, chunks)
	wire.ManifestAddIndexes(b, indexes)
	wire.ManifestAddMaxTimestampMs(b, m.MaxTimestamp)
	wire.ManifestAddWriter(b, writer)
	wire.ManifestAddBrokerId(b, m.BrokerID)
	wire.ManifestAddForms(b, forms)
	wire.ManifestAddKeyId(b, keyID)
	wire.ManifestAddWrappedKey(b, wrapped)
	wire.ManifestAddSeal(b, seal)
	b.Finish(wire.ManifestEnd(b))
	return frameManifest(b.FinishedBytes(), format)
}

// DecodeManifest reads a manifest in its frame and checks it: see the package guarantees. It keeps nothing of data.
func DecodeManifest(data []byte) (Manifest, error) {
	payload, err := openManifest(data)
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	err = guard("manifest", func() error { return m.read(payload, data[4]) })
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Manifest{}, err
	}
	return m, nil
}

func (m *Manifest) read(payload []byte, format byte) error {
	f := wire.GetRootAsManifest(payload, 0)
	if err := checkVersion("manifest", f.Format()); err != nil {
		return err
	}
	if f.Format() != format {
		return status.Errorf(status.Corrupt, "manifest: format %d in a frame of format %d", f.Format(), format)
	}
	const chunkBytes, entryBytes = 24, 4
	if n := f.ChunksLength(); n < 0 || n > len(payload)/chunkBytes {
		return status.Errorf(status.Corrupt, "manifest: %d chunks in %d bytes", n, len(payload))
	}
	if n := f.IndexesLength(); n < 0 || n > len(payload)/entryBytes {
		return status.Errorf(status.Corrupt, "manifest: %d indexes in %d bytes", n, len(payload))
	}
	*m = Manifest{
		Identity: Identity{
			TopicID: join(f.TopicMsb(), f.TopicLsb()), Partition: f.Partition(),
			SegmentID: join(f.SegmentMsb(), f.SegmentLsb()), BaseOffset: f.BaseOffset(),
		},
		Topic: string(f.Topic()), EndOffset: f.EndOffset(), MaxTimestamp: f.MaxTimestampMs(),
		Map:    Map{Size: f.Size(), StoredSize: f.StoredSize(), ChunkSize: f.ChunkSize()},
		Writer: string(f.Writer()), BrokerID: f.BrokerId(),
		KeyID: string(f.KeyId()), WrappedKey: slices.Clone(f.WrappedKeyBytes()), Seal: slices.Clone(f.SealBytes()),
	}
	if err := m.readChunks(f, format); err != nil {
		return err
	}
	if n := f.IndexesLength(); n > 0 {
		m.Indexes = make([]Index, n)
	}
	var x wire.IndexEntry
	for i := range m.Indexes {
		f.Indexes(&x, i)
		m.Indexes[i] = Index{Kind: IndexKind(x.Kind()), Offset: x.Offset(), Size: x.Size(), CRC: x.Crc()}
	}
	return nil
}

// readChunks reads the chunks and their forms. What format 1 cannot say must not be there.
func (m *Manifest) readChunks(f *wire.Manifest, format byte) error {
	n, forms := f.ChunksLength(), f.FormsBytes()
	if n > 0 {
		m.Map.Chunks = make([]Chunk, n)
	}
	if format > plainFormat && len(forms) != n || format == plainFormat && len(forms) > 0 {
		return status.Errorf(status.Corrupt, "manifest: forms of %d chunks for %d chunks in format %d", len(forms), n, format)
	}
	var c wire.Chunk
	for i := range m.Map.Chunks {
		f.Chunks(&c, i)
		m.Map.Chunks[i] = Chunk{Original: c.Original(), Stored: c.Stored(), StoredSize: c.StoredSize(), CRC: c.Crc()}
		if len(forms) > 0 {
			m.Map.Chunks[i].Form = Form(forms[i])
		}
	}
	if want := m.format(); want != format {
		return status.Errorf(status.Corrupt, "manifest: format %d, but what it says is format %d", format, want)
	}
	return nil
}

// forms are those of the chunks, a byte each.
func (m Map) forms() []byte {
	out := make([]byte, len(m.Chunks))
	for i, c := range m.Chunks {
		out[i] = byte(c.Form)
	}
	return out
}

// check reports a manifest that is not consistent as Corrupt. An index of an unknown kind is legal: a later release may
// add one without changing the format.
func (m Manifest) check() error {
	if m.BaseOffset < 0 || m.EndOffset < m.BaseOffset-1 || m.Partition < 0 {
		return status.Errorf(status.Corrupt, "manifest: partition %d, offsets %d to %d", m.Partition, m.BaseOffset, m.EndOffset)
	}
	if !utf8.ValidString(m.Topic) || !utf8.ValidString(m.Writer) {
		return status.Errorf(status.Corrupt, "manifest: topic or writer is not UTF-8")
	}
	if err := m.Map.check(); err != nil {
		return err
	}
	if err := m.checkKey(); err != nil {
		return err
	}
	var at int64
	seen := make(map[IndexKind]bool, len(m.Indexes))
	for i, x := range m.Indexes {
		if x.Kind == 0 || seen[x.Kind] {
			return status.Errorf(status.Corrupt, "manifest: index %d has kind %d, which is zero or there twice", i, x.Kind)
		}
		if x.Offset != at || x.Size < 0 {
			return status.Errorf(status.Corrupt, "manifest: %s at %d with size %d, want it at %d", x.Kind, x.Offset, x.Size, at)
		}
		seen[x.Kind] = true
		at += int64(x.Size)
	}
	for _, k := range []IndexKind{OffsetIndex, TimeIndex, ProducerSnapshot, LeaderEpochs} {
		if !seen[k] {
			return status.Errorf(status.Corrupt, "manifest: the %s is missing", k)
		}
	}
	return nil
}

// checkKey checks that a segment is encrypted wholly or not at all: else a chunk could be replaced by a plain one.
func (m Manifest) checkKey() error {
	if !utf8.ValidString(m.KeyID) {
		return status.Errorf(status.Corrupt, "manifest: key id is not UTF-8")
	}
	sealed := m.Encrypted()
	if (m.KeyID != "") != sealed || sealed && (len(m.WrappedKey) != WrappedKeySize || len(m.Seal) != tagSize) || !sealed && len(m.Seal) > 0 {
		return status.Errorf(status.Corrupt, "manifest: key id %q, wrapped key of %d bytes, seal of %d", m.KeyID, len(m.WrappedKey), len(m.Seal))
	}
	for i, c := range m.Map.Chunks {
		if c.Form&Sealed != 0 != sealed {
			return status.Errorf(status.Corrupt, "manifest: chunk %d is %s; encrypted segment: %v", i, c.Form, sealed)
		}
	}
	for _, x := range m.Indexes {
		if sealed && x.Size < tagSize {
			return status.Errorf(status.Corrupt, "manifest: encrypted %s of %d bytes", x.Kind, x.Size)
		}
	}
	return nil
}

func split(id [16]byte) (msb, lsb uint64) {
	return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
}

func join(msb, lsb uint64) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:8], msb)
	binary.BigEndian.PutUint64(id[8:], lsb)
	return id
}
