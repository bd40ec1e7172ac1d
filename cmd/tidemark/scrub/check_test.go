package scrub

import (
	"bytes"
	"testing"

	"tidemark/internal/objectstore/storetest"
	"tidemark/remotestorage/stored"
)

// Sequences of chunks above the window are read in several pieces, each once.
func TestWindows(t *testing.T) {
	m := storetest.NewMemory()
	c := stored.NewChunker(3 << 20)
	data := bytes.Repeat([]byte("0123456789abcdef"), (10<<20)/16)
	_, _ = c.Write(data)
	chunks, _ := c.Finish()
	manifest := stored.Manifest{Identity: stored.Identity{TopicID: id(1)}, EndOffset: 1, Map: chunks}
	raw, err := stored.EncodeSidecar(manifest, []stored.Content{{Kind: stored.OffsetIndex}, {Kind: stored.TimeIndex}, {Kind: stored.ProducerSnapshot}, {Kind: stored.LeaderEpochs}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log, sidecar := manifest.Keys()
	put(t, m, log, data)
	put(t, m, sidecar, raw)
	f := storetest.Faulty(m)
	totals, found, err := scrubbed(t, f, nil)
	if err != nil || len(found) > 0 || f.Count(storetest.Range) != 2 || totals.Read != int64(len(data)+len(raw)) {
		t.Errorf("%+v, %v, %v, %d reads", totals, found, err, f.Count(storetest.Range))
	}
}

// A compressed and encrypted segment is checked without its key.
func TestTransformedSegment(t *testing.T) {
	m, identity := storetest.NewMemory(), stored.Identity{TopicID: id(1), SegmentID: id(1)}
	compressor, err := stored.NewCompressor(3, 1)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := stored.NewSealer(identity, bytes.Repeat([]byte{7}, stored.DataKeySize))
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	tr := stored.NewTransformer(chunk, stored.Transform{Compressor: compressor, Sealer: sealer}, func(_ stored.Chunk, p []byte) error {
		data = append(data, p...)
		return nil
	})
	if err := tr.Write(bytes.Repeat([]byte("Kafka"), chunk), true); err != nil {
		t.Fatal(err)
	}
	chunks, _, err := tr.Finish()
	if err != nil || len(chunks.Chunks) < 3 {
		t.Fatalf("%+v, %v", chunks, err)
	}
	manifest := stored.Manifest{Identity: identity, EndOffset: 1, Map: chunks, KeyID: "k", WrappedKey: bytes.Repeat([]byte{9}, 60)}
	raw, err := stored.EncodeSidecar(manifest, []stored.Content{{Kind: stored.OffsetIndex, Bytes: []byte("index")}, {Kind: stored.TimeIndex},
		{Kind: stored.ProducerSnapshot}, {Kind: stored.LeaderEpochs}}, sealer)
	if err != nil {
		t.Fatal(err)
	}
	log, sidecar := manifest.Keys()
	put(t, m, log, data)
	put(t, m, sidecar, raw)
	if totals, found, err := scrubbed(t, m, nil); err != nil || len(found) > 0 || totals.Read != int64(len(data)+len(raw)) || totals.Keys["k"] != 1 {
		t.Errorf("%+v, %+v, %v", totals, found, err)
	}
	c := chunks.Chunks[1]
	m.Damage(log, func(b []byte) []byte { b[c.Stored] ^= 1; return b })
	if _, found, err := scrubbed(t, m, nil); err != nil || len(found) != 1 || found[0].Start != c.Stored || found[0].End != c.Stored+int64(c.StoredSize) {
		t.Errorf("%+v, %v", found, err)
	}
}
