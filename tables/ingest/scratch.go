package ingest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tidemark/catalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// scratch is the files of one conversion before upload, in a directory of their own.
type scratch struct {
	dir   string
	files []*os.File
}

func newScratch(root string) (*scratch, error) {
	dir, err := os.MkdirTemp(root, "convert-")
	if err != nil {
		return nil, status.Errorf(status.Transient, "make a scratch directory in %s: %w", root, err)
	}
	return &scratch{dir: dir}, nil
}

// Create implements convert.Output.
func (s *scratch) Create(index int, role catalog.Role) (io.Writer, error) {
	f, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%s-%d.parquet", role, index)))
	if err != nil {
		return nil, status.Errorf(status.Transient, "make a scratch file: %w", err)
	}
	s.files = append(s.files, f)
	return scratchFile{f}, nil
}

// scratchFile gives a full disk the class that is tried again.
type scratchFile struct{ f *os.File }

func (s scratchFile) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	if err != nil {
		return n, status.Errorf(status.Transient, "write a scratch file: %w", err)
	}
	return n, nil
}

func (s *scratch) source(index int) (objectstore.Source, error) {
	f := s.files[index]
	info, err := f.Stat()
	if err != nil {
		return nil, status.Errorf(status.Transient, "look at a scratch file: %w", err)
	}
	return objectstore.FileSource(f, info.Size()), nil
}

func (s *scratch) remove() {
	for _, f := range s.files {
		_ = f.Close()
	}
	_ = os.RemoveAll(s.dir)
}
