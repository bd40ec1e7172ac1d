package remotestorage

import (
	"os"

	"golang.org/x/sys/unix"
)

// residue is what a copy would leave in the page cache: the parts of the log file that were not there before it. A backlog that is copied would push out what
// consumers and the broker have there, and is read by nobody again; what was there before stays.
type residue struct {
	log  *os.File
	cold [][2]int64 // offset and length
}

// residueBlock is the unit that is looked at: one of which a part is in the page cache stays.
const residueBlock = 4 << 20

// begin notes what is not in the page cache and says that the file will be read from front to back. Where the kernel cannot tell (before Linux 6.5)
// nothing is noted. Advice may fail.
func (r *residue) begin(log *os.File, size int64) {
	r.log = log
	_ = unix.Fadvise(int(log.Fd()), 0, size, unix.FADV_SEQUENTIAL)
	if cached, ok := inPageCache(log, 0, size); !ok || cached >= (size+pageSize-1)/pageSize {
		return
	}
	for at := int64(0); at < size; at += residueBlock {
		n := min(residueBlock, size-at)
		if cached, ok := inPageCache(log, at, n); !ok || cached > 0 {
			continue
		}
		if last := len(r.cold) - 1; last >= 0 && r.cold[last][0]+r.cold[last][1] == at {
			r.cold[last][1] += n
		} else {
			r.cold = append(r.cold, [2]int64{at, n})
		}
	}
}

// drop gives up what was noted. The file must be open.
func (r *residue) drop() (bytes int64) {
	for _, c := range r.cold {
		if unix.Fadvise(int(r.log.Fd()), c[0], c[1], unix.FADV_DONTNEED) == nil {
			bytes += c[1]
		}
	}
	r.cold = nil
	return bytes
}

var pageSize = int64(os.Getpagesize())

// inPageCache is how many pages of a range are in the page cache; ok is false where the kernel does not say.
func inPageCache(f *os.File, offset, length int64) (pages int64, ok bool) {
	var c unix.Cachestat_t
	err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{Off: uint64(offset), Len: uint64(length)}, &c, 0)
	return int64(c.Cache), err == nil
}
