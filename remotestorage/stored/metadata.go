package stored

import (
	"encoding/binary"

	flatbuffers "github.com/google/flatbuffers/go"

	"tidemark/internal/status"
	"tidemark/internal/wire"
)

// MaxMetadata is the largest custom metadata in bytes. It is Kafka's limit (remote.log.metadata.custom.metadata.max.bytes,
// default and usual 128): one byte more stops the tiering of the partition.
const MaxMetadata = 128

// The frame of the custom metadata: 8 bytes before the FlatBuffer.
const (
	metadataHeader = 8
	metadataMagic  = 0xD7
)

// Metadata is what Kafka keeps for us beside its own metadata of a segment: enough to check both objects without
// reading them to the end. Objects are found without it.
type Metadata struct {
	Size        int64  // bytes of the log object
	CRC         uint32 // CRC32C of the log object
	SidecarSize int32  // bytes of the sidecar
	SidecarCRC  uint32 // CRC32C of the sidecar
	Transformed bool   // the log object is not the log file byte for byte
	ChunkSize   int32  // bytes of every chunk but the last, if not Transformed; 0 = not known
}

// Layout is where the chunks of an untransformed log object lie, without their checksums, which are in the sidecar: enough to ask for
// bytes before the sidecar is known. ok is false if the metadata does not tell.
func (m Metadata) Layout() (layout Map, ok bool) {
	if m.Transformed || m.ChunkSize == 0 {
		return Map{}, false
	}
	layout = Map{Size: m.Size, StoredSize: m.Size, ChunkSize: m.ChunkSize}
	layout.Chunks = make([]Chunk, (m.Size+int64(m.ChunkSize)-1)/int64(m.ChunkSize))
	for i := range layout.Chunks {
		at := int64(i) * int64(m.ChunkSize)
		layout.Chunks[i] = Chunk{Original: at, Stored: at, StoredSize: int32(min(int64(m.ChunkSize), m.Size-at))}
	}
	return layout, true
}

// Encode returns the custom metadata in its frame, at most MaxMetadata bytes whatever the values are.
func (m Metadata) Encode() []byte {
	b := flatbuffers.NewBuilder(64)
	wire.CustomMetadataStart(b)
	format := byte(plainFormat)
	if m.Transformed {
		format = sealedFormat
	}
	wire.CustomMetadataAddFormat(b, format)
	wire.CustomMetadataAddSize(b, m.Size)
	wire.CustomMetadataAddCrc(b, m.CRC)
	wire.CustomMetadataAddSidecarSize(b, m.SidecarSize)
	wire.CustomMetadataAddSidecarCrc(b, m.SidecarCRC)
	wire.CustomMetadataAddTransformed(b, m.Transformed)
	wire.CustomMetadataAddChunkSize(b, m.ChunkSize)
	b.Finish(wire.CustomMetadataEnd(b))
	payload := b.FinishedBytes()
	out := make([]byte, metadataHeader, metadataHeader+len(payload))
	out[0], out[1] = metadataMagic, format
	binary.LittleEndian.PutUint16(out[2:], uint16(len(payload)))
	binary.LittleEndian.PutUint32(out[4:], sum(out[:4], payload))
	return append(out, payload...)
}

// DecodeMetadata reads custom metadata. It keeps nothing of data.
func DecodeMetadata(data []byte) (Metadata, error) {
	if len(data) < metadataHeader || len(data) > MaxMetadata {
		return Metadata{}, status.Errorf(status.Corrupt, "custom metadata: %d bytes, want %d to %d", len(data), metadataHeader, MaxMetadata)
	}
	if data[0] != metadataMagic {
		return Metadata{}, status.Errorf(status.Corrupt, "custom metadata: first byte %02x, want %02x: written by another plugin?", data[0], metadataMagic)
	}
	payload := data[metadataHeader:]
	if n := int(binary.LittleEndian.Uint16(data[2:])); n != len(payload) {
		return Metadata{}, status.Errorf(status.Corrupt, "custom metadata: length field %d, but %d bytes follow", n, len(payload))
	}
	if want, got := binary.LittleEndian.Uint32(data[4:]), sum(data[:4], payload); want != got {
		return Metadata{}, status.Errorf(status.Corrupt, "custom metadata: CRC32C %08x, want %08x", got, want)
	}
	if err := checkVersion("custom metadata", data[1]); err != nil {
		return Metadata{}, err
	}
	var m Metadata
	err := guard("custom metadata", func() error {
		f := wire.GetRootAsCustomMetadata(payload, 0)
		m = Metadata{Size: f.Size(), CRC: f.Crc(), SidecarSize: f.SidecarSize(), SidecarCRC: f.SidecarCrc(), Transformed: f.Transformed(), ChunkSize: f.ChunkSize()}
		return checkVersion("custom metadata", f.Format())
	})
	if err == nil && (m.Size < 0 || m.Size > maxSegment || m.SidecarSize < 0) {
		err = status.Errorf(status.Corrupt, "custom metadata: log object of %d bytes, sidecar of %d", m.Size, m.SidecarSize)
	}
	if err == nil && m.ChunkSize != 0 && (m.ChunkSize < MinChunkSize || m.ChunkSize > MaxChunkSize) {
		err = status.Errorf(status.Corrupt, "custom metadata: chunk size %d is not in [%d, %d]", m.ChunkSize, MinChunkSize, MaxChunkSize)
	}
	if err == nil && m.Transformed && data[1] == plainFormat {
		err = status.Errorf(status.Corrupt, "custom metadata: the log object is transformed, which format %d cannot say", data[1])
	}
	if err != nil {
		return Metadata{}, err
	}
	return m, nil
}
