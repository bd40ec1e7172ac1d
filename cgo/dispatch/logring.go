package dispatch

import (
	"encoding/binary"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	ringRecords = 4096
	ringBytes   = 8 << 20 // of all messages waiting: 4096 stacks must not take 256 MiB
	maxMessage  = 64 << 10
	maxPoll     = 1 << 20
	maxPollWait = 30 * time.Second
	logHeader   = 7 // u32 length, u8 level, u16 logger length
	rootLogger  = "io.tidemark"
)

// logRing holds records between those who log, who never wait, and the one thread that polls. Full = the new record
// is dropped and counted; the next poll says how many.
type logRing struct {
	level slog.LevelVar

	mu      sync.Mutex
	records [ringRecords]logRecord
	head    int // next to read
	n       int
	bytes   int

	dropped  atomic.Int64
	reported int64         // of dropped, by the poller
	ready    chan struct{} // capacity 1: there may be records
}

type logRecord struct {
	level   uint8
	logger  string
	message string
}

func newLogRing() *logRing { return &logRing{ready: make(chan struct{}, 1)} }

// setLevel: 0 debug, 1 info, 2 warn, 3 error.
func (r *logRing) setLevel(level int) {
	r.level.Set([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}[min(max(level, 0), 3)])
}

func (r *logRing) put(rec logRecord) {
	r.mu.Lock()
	if r.n == ringRecords || r.bytes+len(rec.message) > ringBytes {
		r.mu.Unlock()
		r.dropped.Add(1)
		return
	}
	r.records[(r.head+r.n)%ringRecords] = rec
	r.n++
	r.bytes += len(rec.message)
	r.mu.Unlock()
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// poll returns as many records as fit into limit bytes, in order, waiting for the first. nil = none came.
func (r *logRing) poll(limit int, wait time.Duration) []byte {
	limit = min(limit, maxPoll)
	if out := r.drain(limit); out != nil || wait <= 0 {
		return out
	}
	timer := time.NewTimer(min(wait, maxPollWait))
	defer timer.Stop()
	for {
		select {
		case <-r.ready:
			if out := r.drain(limit); out != nil {
				return out
			}
		case <-timer.C:
			return nil
		}
	}
}

func (r *logRing) drain(limit int) (out []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.dropped.Load(); d > r.reported {
		rec := logRecord{2, rootLogger, "log.dropped count=" + strconv.FormatInt(d-r.reported, 10)}
		if size := logHeader + len(rec.logger) + len(rec.message); size <= limit {
			out = rec.append(out, size)
			r.reported = d
		}
	}
	for r.n > 0 {
		rec := &r.records[r.head]
		size := logHeader + len(rec.logger) + len(rec.message)
		if room := limit - len(out); size > room {
			if len(out) > 0 || room < logHeader+len(rec.logger) {
				break
			}
			size = room // alone and too long for the caller: cut it, it would never fit
		}
		out = rec.append(out, size)
		r.bytes -= len(rec.message)
		*rec = logRecord{}
		r.head = (r.head + 1) % ringRecords
		r.n--
	}
	return out
}

// append writes the record in size bytes: u32 length of what follows, u8 level, u16 logger length, logger, message.
func (l *logRecord) append(out []byte, size int) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(size-4))
	out = append(out, l.level)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(l.logger)))
	out = append(out, l.logger...)
	return append(out, l.message[:size-logHeader-len(l.logger)]...)
}

// LogPoll returns waiting log records, at most limit bytes of them, and waits for the first. The layout is in
// docs/format/messages.md; nil = nothing came.
func (p *Process) LogPoll(limit int, wait time.Duration) []byte { return p.ring.poll(limit, wait) }

// LogLevel sets what is logged from now on: 0 debug, 1 info, 2 warn, 3 error.
func (p *Process) LogLevel(level int) { p.ring.setLevel(level) }

// Log is the logger whose records LogPoll returns.
func (p *Process) Log() *slog.Logger { return p.log }
