package measure

import (
	"io"
	"os"
	"path/filepath"
	"time"
)

// Cost is what moving some bytes took.
type Cost struct {
	Bytes     int64
	Wall, CPU time.Duration
}

// Rate is in MB of 10^6 bytes per second.
func (c Cost) Rate() float64 { return float64(c.Bytes) / 1e6 / c.Wall.Seconds() }

// PerGB is in CPU-seconds per 10^9 bytes.
func (c Cost) PerGB() float64 { return c.CPU.Seconds() / (float64(c.Bytes) / 1e9) }

// Floor is the physical limit beside which a broker's figures stand: one process writes size bytes to a file in dir and syncs it, then
// reads them after they were dropped from the page cache.
func Floor(dir string, size int64) (write, read Cost, err error) {
	path := filepath.Join(dir, "floor")
	defer os.Remove(path)
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 7)
	}
	from, cpu := time.Now(), OwnCPU()
	if err = writeBlocks(path, block, size); err != nil {
		return write, read, err
	}
	write = Cost{size, time.Since(from), OwnCPU() - cpu}
	if _, err = DropCache(dir, func(p string) bool { return p == path }); err != nil {
		return write, read, err
	}
	f, err := os.Open(path)
	if err != nil {
		return write, read, err
	}
	defer f.Close()
	from, cpu = time.Now(), OwnCPU()
	n, err := io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{f}, block)
	read = Cost{n, time.Since(from), OwnCPU() - cpu}
	return write, read, err
}

func writeBlocks(path string, block []byte, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for left := size; left > 0; left -= int64(len(block)) {
		if _, err := f.Write(block[:min(left, int64(len(block)))]); err != nil {
			return err
		}
	}
	return f.Sync()
}

// onlyReader and onlyWriter hide shortcuts around the buffer.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
