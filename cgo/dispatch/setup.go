package dispatch

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"tidemark/internal/status"
)

// Init makes the process-wide settings, once. A second Init with the same settings succeeds, so that several plugin
// instances of one broker may each call it; other settings are Invalid, because the first ones stay in force.
func (p *Process) Init(frame []byte) (err error) {
	defer p.guard("init", &err)
	req, err := decodeInit(frame)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.init != nil {
		return p.init.same(req)
	}
	if req.Version != p.cfg.Version {
		return status.Errorf(status.Invalid, "the jar is version %s, the loaded library is %s: one Tidemark version per broker",
			req.Version, p.cfg.Version)
	}
	p.ring.setLevel(req.LogLevel)
	tune := p.cfg.Tune
	if tune == nil {
		tune = Tune
	}
	if err := tune(req); err != nil {
		return err
	}
	slabs, err := p.cfg.Slabs(req.SlabCount, req.SlabSize)
	if err != nil {
		return status.Wrapf(err, "allocate %d read buffers of %d bytes", req.SlabCount, req.SlabSize)
	}
	p.openCrashFile(req.CrashFile)
	// Linked libraries write to the default loggers, and standard error may be a closed pipe.
	slog.SetDefault(slog.New(p.ring.handler()).With("logger", rootLogger+".library"))
	p.slabP.Store(newPool(slabs))
	p.init = &req
	return nil
}

// same lists the settings that differ from those in force. The log level is not one: it has its own call.
func (r *InitRequest) same(other InitRequest) error {
	var diff []string
	add := func(name string, have, want any) {
		if have != want {
			diff = append(diff, fmt.Sprintf("%s is %v, not %v", name, have, want))
		}
	}
	add("version", r.Version, other.Version)
	add("native.slabs", r.SlabCount, other.SlabCount)
	add("slab size", r.SlabSize, other.SlabSize)
	add("native.memory.limit", r.MemoryLimit, other.MemoryLimit)
	add("CPU count", r.CPUs, other.CPUs)
	add("crash file", r.CrashFile, other.CrashFile)
	if diff == nil {
		return nil
	}
	return status.Errorf(status.Invalid, "this process is already set up: %s", strings.Join(diff, "; "))
}

// Tune applies the settings of the Go runtime. The broker's own GOGC, GOMEMLIMIT and GOMAXPROCS are not ours.
func Tune(req InitRequest) error {
	// A call that returns to the JVM needs a processor: with 2, two busy goroutines make it wait 14 ms; with 8, 5 µs.
	runtime.GOMAXPROCS(max(8, 2*req.CPUs))
	debug.SetMaxStack(64 << 20) // a runaway recursion dies at 64 MiB, not at 1 GB of the broker's memory
	debug.SetGCPercent(100)
	limit := req.MemoryLimit
	if limit == 0 {
		limit = math.MaxInt64
	}
	debug.SetMemoryLimit(limit)
	return nil
}

// openCrashFile sends the runtime's last words to a file. One that is not empty tells of a crash: it is reported and
// kept as <file>.1. A file that cannot be opened is a warning: the broker must start on a full disk.
func (p *Process) openCrashFile(path string) {
	if path == "" {
		return
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		old := path + ".1"
		if err := os.Rename(path, old); err != nil {
			old = path
		}
		p.log.Error("native.crashed", "file", old, "at", info.ModTime(), "bytes", info.Size(),
			"effect", "a Go fatal ended the broker's last life")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		err = debug.SetCrashOutput(f, debug.CrashOptions{}) // duplicates the descriptor
		_ = f.Close()
	}
	if err != nil {
		p.log.Warn("native.crash.file", "file", path, "error", err)
	}
}
