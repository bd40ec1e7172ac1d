package tiering

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/bench/broker"
)

// perThread is CPU-seconds per GB by group of threads, added up over rounds.
type perThread struct {
	rounds float64
	sum    map[string]float64
}

// spent notes which threads of a broker used the CPU time between two readings.
func (r *run) spent(side, what string, from, to broker.Clock, bytes int64) {
	p := r.threads[[2]string{side, what}]
	if p.sum == nil {
		p.sum = map[string]float64{}
	}
	p.rounds++
	for group, cpu := range to.Threads.Since(from.Threads) {
		p.sum[group] += cpu.Seconds() / (float64(bytes) / 1e9)
	}
	r.threads[[2]string{side, what}] = p
}

// spending is a table of means over the rounds.
func (r *run) spending() string {
	if len(r.threads) == 0 {
		return "No broker ran in this run."
	}
	var keys [][2]string
	columns := []string{}
	for k, p := range r.threads {
		keys = append(keys, k)
		for g := range p.sum {
			if !slices.Contains(columns, g) {
				columns = append(columns, g)
			}
		}
	}
	slices.Sort(columns)
	slices.SortFunc(keys, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	var b strings.Builder
	fmt.Fprintf(&b, "CPU-seconds per GB by threads, means of the rounds; threads that ended meanwhile are missing. Threads of a native library are counted as *library*. "+
		"What the JIT compiler takes falls with the length of a run.\n\n| what | side | %s |\n| --- | --- |%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
	for _, k := range keys {
		p := r.threads[k]
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = fmt.Sprintf("%.2f", p.sum[c]/p.rounds)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", k[1], k[0], strings.Join(cells, " | "))
	}
	return b.String()
}
