package measure

import (
	"bufio"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Pauses are the times in which a JVM's garbage collector stopped all threads.
type Pauses struct {
	Count     int
	Sum, High time.Duration
}

var pause = regexp.MustCompile(`\bPause\b.* ([0-9.]+)ms$`)

// PausesOf reads the log of a JVM that runs with -Xlog:gc:file=PATH.
func PausesOf(path string) (p Pauses, err error) {
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		m := pause.FindStringSubmatch(strings.TrimSpace(lines.Text()))
		if m == nil {
			continue
		}
		ms, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return p, err
		}
		d := time.Duration(ms * float64(time.Millisecond))
		p.Count++
		p.Sum += d
		p.High = max(p.High, d)
	}
	return p, lines.Err()
}
