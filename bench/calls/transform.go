package calls

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark/bench/driver"
	"tidemark/bench/measure"
	"tidemark/bench/report"
	"tidemark/integration/cluster"
)

// Floors of rows 04 and 05.
const (
	codecAlone     report.Side = "codec alone"
	primitiveAlone report.Side = "primitive alone"
	codecInC       report.Side = "zstd -1 in C"
)

// transforms are rows whose settings may not be there yet.
var transforms = map[string]struct {
	settings func(dir string) (map[string]string, error)
	floor    report.Side
	alone    func([]byte) (time.Duration, int64, error)
}{
	"04.copy.zstd": {func(string) (map[string]string, error) {
		return map[string]string{"segment.compression": "zstd"}, nil
	}, codecAlone, zstdAlone},
	"05.copy.encrypt": {encryption, primitiveAlone, aesAlone},
}

// encryption writes a key ring with one random key.
func encryption(dir string) (map[string]string, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "keys")
	text := fmt.Sprintf("version = 1\nactive = bench\nbench = %s\n", base64.StdEncoding.EncodeToString(key))
	return map[string]string{"segment.encryption.keys.file": file}, os.WriteFile(file, []byte(text), 0o600)
}

// Built reports whether the configuration reference has all settings that a row needs; missing names the first that it lacks.
func Built(row string) (missing string) {
	t, ok := transforms[row]
	if !ok {
		return ""
	}
	root, err := cluster.Root()
	if err != nil {
		return err.Error()
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "config.md"))
	if err != nil {
		return err.Error()
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	settings, err := t.settings(dir)
	if err != nil {
		return err.Error()
	}
	for k := range settings {
		if !strings.Contains(string(text), "`rsm.config."+k+"`") {
			return k
		}
	}
	return ""
}

func (r *Run) copyZstd(ctx context.Context, round int) error {
	return r.transform(ctx, round, "04.copy.zstd")
}

func (r *Run) copyEncrypt(ctx context.Context, round int) error {
	return r.transform(ctx, round, "05.copy.encrypt")
}

// transform copies events to files, as they are and transformed on the way, one call at a time, beside the bare transformation of the same bytes.
func (r *Run) transform(ctx context.Context, round int, row string) error {
	t := transforms[row]
	dir := filepath.Join(r.Dir, "segments")
	defer os.RemoveAll(dir)
	segments, err := driver.WriteSegments(dir, 1, 16, r.Size/8, 1)
	if err != nil {
		return err
	}
	settings, err := t.settings(dir)
	if err != nil {
		return err
	}
	plain, _, err := r.copied(ctx, segments, nil)
	if err != nil {
		return err
	}
	cpu, stored, err := r.copied(ctx, segments, settings)
	if err != nil {
		return err
	}
	size := segments[0].Size
	r.add(row, "per.core", report.Ours, round, rate(size, cpu))
	r.add(row, "cpu", report.Ours, round, perGB(size, cpu))
	r.add(row, "plain.cpu", report.Ours, round, perGB(size, plain))
	r.add(row, "added.cpu", report.Ours, round, perGB(size, cpu-plain))
	r.add(row, "stored", report.Ours, round, float64(stored)/float64(size))
	return r.transformFloors(ctx, round, row, segments[0])
}

// copied copies segments of equal bytes to files with settings, a quarter of them to warm up, and reads them back. It returns the CPU time and
// the stored bytes, sidecars included, of one.
func (r *Run) copied(ctx context.Context, segments []driver.Segment, settings map[string]string) (cpu time.Duration, stored int64, err error) {
	n, warm := int64(len(segments)), len(segments)/4
	err = r.with(ctx, report.Ours, place{}, settings, func(d *driver.Driver) error {
		for _, s := range segments[:warm] {
			if _, err := d.Copy(ctx, s); err != nil {
				return err
			}
		}
		from, err := measure.CPUOf(d.PID)
		if err != nil {
			return err
		}
		for _, s := range segments[warm:] {
			if _, err := d.Copy(ctx, s); err != nil {
				return err
			}
		}
		to, err := measure.CPUOf(d.PID)
		if err != nil {
			return err
		}
		cpu = (to.Total() - from.Total()) / time.Duration(len(segments)-warm)
		for _, s := range segments {
			if _, err := d.Fetch(ctx, s, 0, -1, 1<<20); err != nil {
				return err
			}
		}
		sum, err := sizeOf(filepath.Join(r.Dir, fmt.Sprint("driver-", r.drivers), "store"))
		stored = sum / n
		return err
	})
	return cpu, stored, err
}

func perGB(bytes int64, cpu time.Duration) float64 { return cpu.Seconds() / (float64(bytes) / 1e9) }

// transformFloors measures the bare transformation of the same bytes.
func (r *Run) transformFloors(ctx context.Context, round int, row string, segment driver.Segment) error {
	t := transforms[row]
	cpu, stored, err := t.alone(segment.Bytes())
	if err != nil {
		return err
	}
	r.add(row, "per.core", t.floor, round, rate(segment.Size, cpu))
	r.add(row, "added.cpu", t.floor, round, perGB(segment.Size, cpu))
	r.add(row, "stored", t.floor, round, float64(stored)/float64(segment.Size))
	if t.floor != codecAlone {
		return nil
	}
	cpu, stored, err = inC(ctx, segment.Log)
	if errors.Is(err, exec.ErrNotFound) {
		r.Note("There is no zstd command: row 04 is without the codec in C.")
		return nil
	}
	if err != nil {
		return err
	}
	r.add(row, "per.core", codecInC, round, rate(segment.Size, cpu))
	r.add(row, "stored", codecInC, round, float64(stored)/float64(segment.Size))
	return nil
}

// sizeOf is the size of all files below a directory.
func sizeOf(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// aloneChunk is the default of segment.chunk.bytes.
const aloneChunk = 1 << 20

// inC compresses a file with the zstd command at level 1 in one thread, as one frame.
func inC(ctx context.Context, file string) (cpu time.Duration, stored int64, err error) {
	cmd := exec.CommandContext(ctx, "zstd", "-1", "--single-thread", "-q", "-c", file)
	var out counter
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return 0, 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), int64(out), nil
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// zstdAlone compresses chunks at the fastest level on one core.
func zstdAlone(data []byte) (time.Duration, int64, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true))
	if err != nil {
		return 0, 0, err
	}
	defer encoder.Close()
	return alone(data, func(dst, chunk []byte) []byte { return encoder.EncodeAll(chunk, dst) })
}

// aesAlone encrypts chunks with AES-256-GCM.
func aesAlone(data []byte) (time.Duration, int64, error) {
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		return 0, 0, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return 0, 0, err
	}
	nonce := make([]byte, gcm.NonceSize())
	return alone(data, func(dst, chunk []byte) []byte {
		nonce[0]++
		return gcm.Seal(dst, nonce, chunk, nil)
	})
}

// leastAlone is the CPU time that a floor is measured over.
const leastAlone = 500 * time.Millisecond

// alone applies f to the chunks of data, again and again, and returns the CPU time and the stored bytes of one pass.
func alone(data []byte, f func(dst, chunk []byte) []byte) (cpu time.Duration, stored int64, err error) {
	if len(data) == 0 {
		return 0, 0, fmt.Errorf("there is nothing to be measured")
	}
	dst := make([]byte, 0, aloneChunk+1<<16)
	pass := func() {
		stored = 0
		for at := 0; at < len(data); at += aloneChunk {
			stored += int64(len(f(dst, data[at:min(at+aloneChunk, len(data))])))
		}
	}
	pass() // warms up
	from, passes := measure.OwnCPU(), 0
	for cpu < leastAlone {
		pass()
		passes++
		cpu = measure.OwnCPU() - from
	}
	return cpu / time.Duration(passes), stored, nil
}
