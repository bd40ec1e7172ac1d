package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"

	"tidemark/internal/status"
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// maxFooterBytes bounds what is allocated for a footer before anything in it is believed.
const maxFooterBytes = 256 << 20

// Footer is what a file says of itself.
type Footer struct {
	Rows      int64
	RowGroups int
	KeyValue  map[string]string
	// Fields are the columns with the ids and names of the file. Types that Tidemark does not write (maps, 96-bit
	// timestamps) are left out.
	Fields []schema.Field
}

// ReadFooter reads the footer of the file called name. A file that is not Parquet or is damaged is Corrupt; an error of
// src keeps its class.
func ReadFooter(name string, src io.ReaderAt, size int64) (Footer, error) {
	var f Footer
	err := guard(name, src, func(src io.ReaderAt) error {
		file, err := open(src, size)
		if err != nil {
			return err
		}
		f = footer(file)
		return nil
	})
	return f, err
}

func footer(file *pq.File) Footer {
	f := Footer{Rows: file.NumRows(), RowGroups: len(file.RowGroups()), KeyValue: map[string]string{}}
	for _, kv := range file.Metadata().KeyValueMetadata {
		f.KeyValue[kv.Key] = kv.Value
	}
	f.Fields = fieldsOf(file.Root().Columns())
	return f
}

// source remembers the first error of the object beneath, to tell it from a damaged file.
type source struct {
	io.ReaderAt
	err error
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = err
	}
	return n, err
}

// guard runs read and classifies what comes of it. The library panics on some damaged files; that is Corrupt too.
func guard(name string, src io.ReaderAt, read func(io.ReaderAt) error) (err error) {
	s := &source{ReaderAt: src}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		switch class := (*status.Error)(nil); {
		case err == nil || errors.Is(err, io.EOF) && err == io.EOF:
		case s.err != nil:
			err = status.Wrapf(s.err, "read parquet file %s", name)
		case errors.As(err, &class):
			err = status.Wrapf(err, "parquet file %s", name)
		default:
			err = status.Errorf(status.Corrupt, "parquet file %s: %w", name, err)
		}
	}()
	return read(s)
}

func open(src io.ReaderAt, size int64) (*pq.File, error) {
	var end [8]byte
	if size < 12 {
		return nil, fmt.Errorf("%d bytes are too short", size)
	}
	if _, err := src.ReadAt(end[:], size-8); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != magic || n > size-12 || n > maxFooterBytes {
		return nil, fmt.Errorf("no footer: the last bytes are %x", end)
	}
	file, err := pq.OpenFile(src, size, pq.SkipBloomFilters(true), pq.SkipPageIndex(true))
	if err != nil {
		return nil, err
	}
	for g, group := range file.Metadata().RowGroups {
		if group.NumRows < 0 {
			return nil, fmt.Errorf("row group %d has %d rows", g, group.NumRows)
		}
		for c := range group.Columns {
			m := &group.Columns[c].MetaData
			first := m.DataPageOffset
			if m.DictionaryPageOffset > 0 {
				first = min(first, m.DictionaryPageOffset)
			}
			if first < 4 || m.TotalCompressedSize < 0 || first > size-m.TotalCompressedSize {
				return nil, fmt.Errorf("row group %d, column %d lies outside of the file", g, c)
			}
		}
	}
	return file, nil
}

// Reader reads rows back. It must be closed.
type Reader struct {
	name   string
	src    io.ReaderAt
	size   int64
	file   *pq.File
	fields []schema.Field
	roots  []*branch
	leaves []*cursor
	group  int
	left   int64 // rows of the current row group
}

// NewReader opens the file called name for the columns in want, found by field id at every level. A column that the file
// does not have is null; int is read as long and float as double where want says so (Iceberg's promotions). Any other
// difference in type is Invalid.
func NewReader(name string, src io.ReaderAt, size int64, want []schema.Field) (*Reader, error) {
	r := &Reader{name: name, src: src, size: size, fields: want, group: -1}
	err := guard(name, src, func(src io.ReaderAt) error {
		file, err := open(src, size)
		if err != nil {
			return err
		}
		r.file = file
		for _, f := range want {
			root, err := r.branch(f, file.Root().Columns())
			if err != nil {
				return err
			}
			r.roots = append(r.roots, root)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Footer is the file's footer.
func (r *Reader) Footer() Footer { return footer(r.file) }

// Read appends at most max rows to b, whose columns must have the shapes of the wanted fields, and returns how many.
// At the end of the file it returns io.EOF. After another error b may have columns of different lengths.
func (r *Reader) Read(b *column.Batch, max int) (n int, err error) {
	if len(b.Columns) != len(r.roots) {
		return 0, status.Errorf(status.Invalid, "batch has %d columns, %d were asked for", len(b.Columns), len(r.roots))
	}
	err = guard(r.name, r.src, func(src io.ReaderAt) error {
		for n < max {
			if r.left == 0 {
				if err := r.nextGroup(); err != nil {
					return err
				}
				continue
			}
			for i, root := range r.roots {
				if err := root.read(b.Columns[i]); err != nil {
					return err
				}
			}
			n, r.left = n+1, r.left-1
		}
		return nil
	})
	if err == io.EOF && n > 0 {
		err = nil
	}
	return n, err
}

// nextGroup goes to the next row group, or returns io.EOF.
func (r *Reader) nextGroup() error {
	if r.group >= 0 && r.group < len(r.file.RowGroups()) {
		for _, c := range r.leaves {
			if _, err := c.peek(); err != errNoMore {
				return fmt.Errorf("column %s has more values than row group %d has rows", c.name, r.group)
			}
		}
	}
	r.closePages()
	if r.group++; r.group >= len(r.file.RowGroups()) {
		r.group = len(r.file.RowGroups())
		return io.EOF
	}
	group := r.file.RowGroups()[r.group]
	r.left = group.NumRows()
	for _, c := range r.leaves {
		c.start(group.ColumnChunks()[c.column])
	}
	return nil
}

func (r *Reader) closePages() {
	for _, c := range r.leaves {
		c.close()
	}
}

// Close gives back the pages. The object beneath stays open.
func (r *Reader) Close() { r.closePages() }
