package report

import (
	"fmt"
	"slices"
)

// Better is the direction in which a metric is good.
type Better bool

// The directions.
const (
	Higher Better = true
	Lower  Better = false
)

// Metric is one measured quantity of a row.
type Metric struct {
	Row, Name, Unit string
	Better          Better
	OursOnly        bool // the peer has nothing to compare with
	What            string
}

// Side is one of the two compared.
type Side int

// The sides.
const (
	Ours Side = iota
	Peer
)

type key struct{ row, name string }

// Results collects the values of a run.
type Results struct {
	peer    string
	metrics []Metric
	values  map[key][2]map[int]float64 // by side and round
	failed  map[string]string
}

// New starts the results of a comparison with the named peer; rows appear in the order of metrics.
func New(peer string, metrics []Metric) *Results {
	r := &Results{peer: peer, metrics: metrics, values: map[key][2]map[int]float64{}, failed: map[string]string{}}
	for _, m := range metrics {
		r.values[key{m.Row, m.Name}] = [2]map[int]float64{{}, {}}
	}
	return r
}

// Add records one value. A metric that was not declared is a mistake of the suite.
func (r *Results) Add(row, name string, side Side, round int, value float64) {
	v, ok := r.values[key{row, name}]
	if !ok {
		panic(fmt.Sprintf("report: %s %s was not declared", row, name))
	}
	v[side][round] = value
}

// Fail takes all numbers of a row away; the first reason stays.
func (r *Results) Fail(row, reason string) {
	if r.failed[row] == "" {
		r.failed[row] = reason
	}
}

// HasFailed reports whether a row has lost its numbers.
func (r *Results) HasFailed(row string) bool { return r.failed[row] != "" }

// Row is one line of the report.
type Row struct {
	Metric
	PeerName              string
	OurValues, Theirs     Spread
	Ratio                 Spread // Median is the ratio of medians; Min and Max are over the rounds
	Failure               string // why there is no number
	OurRounds, PeerRounds []float64
}

// Spread is a median with its range.
type Spread struct {
	Count            int
	Min, Median, Max float64
}

// Rows are the results so far.
func (r *Results) Rows() []Row {
	rows := make([]Row, 0, len(r.metrics))
	for _, m := range r.metrics {
		rows = append(rows, r.row(m))
	}
	return rows
}

func (r *Results) row(m Metric) Row {
	row := Row{Metric: m, PeerName: r.peer, Failure: r.failed[m.Row]}
	if row.Failure != "" {
		return row
	}
	v := r.values[key{m.Row, m.Name}]
	var ratios []float64
	for _, round := range rounds(v) {
		ours, haveOurs := v[Ours][round]
		theirs, haveTheirs := v[Peer][round]
		if haveOurs {
			row.OurRounds = append(row.OurRounds, ours)
		}
		if haveTheirs {
			row.PeerRounds = append(row.PeerRounds, theirs)
		}
		if haveOurs && haveTheirs && theirs > 0 {
			ratios = append(ratios, ours/theirs)
		}
	}
	row.OurValues, row.Theirs = spread(row.OurRounds), spread(row.PeerRounds)
	if row.OurValues.Count == 0 {
		row.Failure = "it was not measured"
	}
	if len(ratios) > 0 && row.Theirs.Median > 0 {
		row.Ratio = spread(ratios)
		row.Ratio.Median = row.OurValues.Median / row.Theirs.Median
	}
	return row
}

func rounds(v [2]map[int]float64) (all []int) {
	for _, side := range v {
		for round := range side {
			if !slices.Contains(all, round) {
				all = append(all, round)
			}
		}
	}
	slices.Sort(all)
	return all
}

func spread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	s := slices.Clone(values)
	slices.Sort(s)
	middle := len(s) / 2
	median := s[middle]
	if len(s)%2 == 0 {
		median = (s[middle-1] + s[middle]) / 2
	}
	return Spread{Count: len(s), Min: s[0], Median: median, Max: s[len(s)-1]}
}

// Verdict is what a row says in words.
type Verdict string

// The verdicts.
const (
	NoNumber     Verdict = "no number"
	NoPeer       Verdict = "ours only"
	NoRange      Verdict = "one round says nothing"
	NoDifference Verdict = "no difference"
	Win          Verdict = "better"
	Loss         Verdict = "worse"
)

// Verdict compares the range of the ratio with 1.
func (r Row) Verdict() Verdict {
	switch {
	case r.Failure != "":
		return NoNumber
	case r.Ratio.Count == 0:
		return NoPeer
	case r.Ratio.Count == 1:
		return NoRange
	// The ratio of medians may lie outside the range of the rounds: it counts as part of it.
	case min(r.Ratio.Min, r.Ratio.Median) <= 1 && max(r.Ratio.Max, r.Ratio.Median) >= 1:
		return NoDifference
	case (r.Ratio.Median > 1) == bool(r.Better):
		return Win
	default:
		return Loss
	}
}
