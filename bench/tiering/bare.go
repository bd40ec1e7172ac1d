package tiering

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/measure"
	"tidemark/integration/objectserver"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
)

// bareCost is what moving the same bytes costs a bare S3 client in this process.
type bareCost struct{ put, get, copied measure.Cost }

// bareGet is within what a plugin's reads of one consumer are.
const bareGet = 16 << 20

// bare puts a file in parts, gets it back in ranges of bareGet bytes, and copies it on the disk.
func bare(ctx context.Context, dir string, size int64) (b bareCost, err error) {
	server, err := objectserver.Start(ctx, filepath.Join(dir, "bare-server"))
	if err != nil {
		return b, err
	}
	defer func() {
		server.Stop()
		_ = os.RemoveAll(filepath.Dir(server.DataDir()))
	}()
	config := server.Config("bare")
	store, err := s3.Open(ctx, config, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return b, err
	}
	defer store.Close()
	file, err := filled(filepath.Join(dir, "bare"), size)
	if err != nil {
		return b, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if b.put, err = costOf(size, func() error {
		_, err := store.Put(ctx, "object", objectstore.FileSource(file, size), objectstore.Condition{})
		return err
	}); err != nil {
		return b, err
	}
	buffer := make([]byte, bareGet)
	if b.get, err = costOf(size, func() error {
		for at := int64(0); at < size; at += int64(len(buffer)) {
			if err := store.ReadRange(ctx, "object", buffer[:min(int64(len(buffer)), size-at)], at); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return b, err
	}
	b.copied, err = costOf(size, func() error { return copied(file, file.Name()+".copy", size) })
	return b, err
}

func costOf(size int64, f func() error) (measure.Cost, error) {
	from, cpu := time.Now(), measure.OwnCPU()
	err := f()
	return measure.Cost{Bytes: size, Wall: time.Since(from), CPU: measure.OwnCPU() - cpu}, err
}

// filled makes a file whose bytes do not repeat within a part.
func filled(path string, size int64) (*os.File, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	block := make([]byte, 1<<20)
	state := uint64(88172645463325252)
	for left := size; left > 0; left -= int64(len(block)) {
		for i := range block {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			block[i] = byte(state)
		}
		if _, err := f.Write(block[:min(left, int64(len(block)))]); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

func copied(src *os.File, path string, size int64) error {
	dst, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer dst.Close()
	n, err := io.Copy(struct{ io.Writer }{dst}, io.NewSectionReader(src, 0, size))
	if err == nil && n != size {
		err = fmt.Errorf("%d of %d bytes were copied", n, size)
	}
	if err == nil {
		err = dst.Sync()
	}
	return err
}
