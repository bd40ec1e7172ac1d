package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tidemark/catalog"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/parquet"
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
	"tidemark/remotestorage/stored"
)

// Findings about stored bytes, beside those of catalog.Verify.
const (
	findingSegment catalog.FindingKind = "damaged-segment"
	findingFile    catalog.FindingKind = "damaged-file"
)

// rowsAtOnce bounds what is held of a file whose pages are checked.
const rowsAtOnce = 1024

// checkPages reads every page of a table file, so that each checksum is looked at. Errors name the file.
func checkPages(ctx context.Context, name string, src io.ReaderAt, size int64, footer parquet.Footer) error {
	r, err := parquet.NewReader(name, src, size, footer.Fields)
	if err != nil {
		return err
	}
	defer r.Close()
	batch := column.NewBatch(schema.Shapes(footer.Fields))
	for {
		if err := ctx.Err(); err != nil {
			return status.Wrapf(err, "table file %s", name)
		}
		_, err := r.Read(batch, rowsAtOnce)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		batch.Reset()
	}
}

// checkSegments reads the sidecar of every stored segment of a topic, and with --data every byte of its log object.
func (e *env) checkSegments(ctx context.Context, id catalog.TopicID, r *report) error {
	for after, more := "", true; more; {
		page, next, err := e.store.List(ctx, key.TopicPrefix(id), after, 1000)
		if err != nil {
			return err
		}
		for _, o := range page {
			after = o.Key
			_, partition, base, _, kind, ok := key.ParseSegment(o.Key)
			if !ok || kind != key.Sidecar {
				continue
			}
			r.Segments++
			err := e.checkSegment(ctx, o.Key)
			switch {
			case status.Is(err, status.NotFound): // deleted meanwhile
			case status.Is(err, status.Corrupt), status.Is(err, status.Unsupported):
				r.add(catalog.Finding{Kind: findingSegment, Files: []string{o.Key}, Text: err.Error(),
					Range: catalog.Range{Partition: partition, Base: base, End: base}})
			case err != nil:
				return err
			}
		}
		more = next && len(page) > 0
	}
	return nil
}

func (e *env) checkSegment(ctx context.Context, sidecarKey string) error {
	raw, _, err := e.store.Get(ctx, sidecarKey, stored.MaxSidecarSize)
	if err != nil {
		return err
	}
	s, err := stored.DecodeSidecar(raw)
	if err != nil {
		return status.Wrapf(err, "sidecar %s", sidecarKey)
	}
	m := s.Manifest
	logKey, _ := m.Identity.Keys()
	info, err := e.store.Head(ctx, logKey)
	if status.Is(err, status.NotFound) { // a delete takes the sidecar first
		if _, err := e.store.Head(ctx, sidecarKey); err != nil {
			return err
		}
		return status.Errorf(status.Corrupt, "log object %s is missing, its sidecar is there", logKey)
	}
	if err != nil {
		return err
	}
	if info.Size != m.Map.StoredSize {
		return status.Errorf(status.Corrupt, "log object %s has %d bytes, its sidecar says %d", logKey, info.Size, m.Map.StoredSize)
	}
	if !e.data {
		return nil
	}
	var buf []byte
	for _, c := range m.Map.Chunks {
		if int(c.StoredSize) > cap(buf) {
			buf = make([]byte, c.StoredSize)
		}
		if err := e.store.ReadRange(ctx, logKey, buf[:c.StoredSize], c.Stored); err != nil {
			return err
		}
		if crc := stored.CRC(buf[:c.StoredSize]); crc != c.CRC {
			return status.Errorf(status.Corrupt, "log object %s: bytes [%d, %d) have CRC32C %08x, the sidecar says %08x", logKey, c.Stored,
				c.Stored+int64(c.StoredSize), crc, c.CRC)
		}
	}
	return nil
}

// damaged tells whether segments of the topic cannot be read.
func (r *report) damaged() bool {
	for _, f := range r.Findings {
		if f.Kind == findingSegment {
			return true
		}
	}
	return false
}

// checked says in words how deep the check went.
func (e *env) checked(r report) string {
	if e.data {
		return fmt.Sprintf("%d stored segments and all table files read byte by byte", r.Segments)
	}
	return fmt.Sprintf("%d stored segments looked at; --data reads every byte", r.Segments)
}
