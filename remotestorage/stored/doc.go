// Package stored is the stored form of one segment: chunk map, manifest, sidecar, custom metadata, keys.
//
// A segment is two objects. The log object holds the chunks of the log file, as they were or compressed and encrypted chunk by chunk. The sidecar holds the indexes, then the manifest, then a fixed trailer, so that it can be read from its
// end; it is written last, so its presence means that the segment is complete. The custom metadata is what Kafka keeps
// for us in the remote log metadata; nothing needs it to find the objects. Layouts: docs/format/segment-object.md,
// docs/format/sidecar.md, docs/format/custom-metadata.md.
//
// # Guarantees
//
// What is encoded here decodes to the same values. Every stored byte is under a CRC32C (Castagnoli): a flipped byte, a
// cut or an extension is Corrupt, a newer format version is Unsupported, and neither panics nor allocates more than the
// input is long. A decoded manifest is consistent: its chunks and indexes cover exactly the bytes they claim to.
//
// An encrypted segment decodes with its data key only, at its own place only: see [Sealer].
//
// # Not its job
//
// Random bytes, the keys that wrap data keys, I/O, caching, the order in which objects are written.
//
// # Concurrency
//
// Decoded values, a [Sealer], a [Compressor] and a [Decompressor] are safe for concurrent use. A [Chunker] and a [Transformer] belong to one
// goroutine.
//
// # Entry points
//
// [NewChunker], [NewTransformer], [EncodeSidecar], [DecodeSidecar], [Sidecar.Open], [Sidecar.Decoder], [Metadata.Encode], [DecodeMetadata], [Map.Spans].
package stored
