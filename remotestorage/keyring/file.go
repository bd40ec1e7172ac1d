package keyring

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"tidemark/internal/status"
)

const maxFile = 1 << 20

// read reads and checks a key ring file, and what tells it from a later one.
func read(path string) (*keys, os.FileInfo, error) {
	data, info, err := content(path)
	defer clear(data)
	if err != nil {
		return nil, nil, err
	}
	k, err := parse(data)
	if err != nil {
		return nil, nil, err
	}
	return k, info, nil
}

// content returns the bytes of a file that only its owner can read.
func content(path string) ([]byte, os.FileInfo, error) {
	if path == "" {
		return nil, nil, status.Errorf(status.Invalid, "no file is named")
	}
	// Opening a pipe would wait for a writer.
	if info, err := os.Stat(path); err != nil {
		return nil, nil, system(err)
	} else if !info.Mode().IsRegular() {
		return nil, nil, status.Errorf(status.Invalid, "not a regular file (%s)", info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, system(err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, nil, system(err)
	}
	if mode := before.Mode().Perm(); mode&0o077 != 0 {
		return nil, nil, status.Errorf(status.Invalid, "others than its owner have access to it (mode %04o): chmod 600, with the user of the broker as its owner", mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return data, nil, system(err)
	}
	if len(data) > maxFile {
		return data, nil, status.Errorf(status.Invalid, "larger than %d bytes: is it a key ring?", maxFile)
	}
	after, err := f.Stat()
	if err != nil {
		return data, nil, system(err)
	}
	if !same(before, after) || int64(len(data)) != after.Size() {
		return data, nil, status.Errorf(status.Invalid, "it was written to while it was read: write a new file and rename it over the old one")
	}
	return data, after, nil
}

// same reports whether two looks saw one state of one file.
func same(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// system is an error of the file system.
func system(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return status.Errorf(status.Invalid, "there is no such file: %w", err)
	case errors.Is(err, fs.ErrPermission):
		return status.Errorf(status.Invalid, "the user of the broker may not read it: %w", err)
	}
	return status.Errorf(status.Invalid, "it cannot be read: %w", err)
}
