package report

import (
	"fmt"
	"math"
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

	Peer       string  // which peer; "" is that of the suite
	PeerMetric string  // name of the peer's metric when it is another one of the same row
	Target     *Target // nil: none
	Dated      float64 // what is known of the peer from another run: shown beside ours, never in a ratio
}

// Target is what is to be reached: by our value or by the ratio, at least or at most Limit as the metric is good.
type Target struct {
	Limit float64
	Ratio bool
}

// Value is a target of our value.
func Value(limit float64) *Target { return &Target{Limit: limit} }

// Ratio is a target of ours ÷ peer.
func Ratio(limit float64) *Target { return &Target{Limit: limit, Ratio: true} }

// Side is one of those compared: ours, or a peer by its name.
type Side string

// The sides. Peer is the peer of the suite, whatever its name.
const (
	Ours Side = "ours"
	Peer Side = ""
)

type key struct{ row, name string }

// Results collects the values of a run.
type Results struct {
	peer    string
	metrics []Metric
	values  map[key]map[Side]map[int]float64 // by side and round
	failed  map[string]string                // by row
	lost    map[sided]string                 // by row and side
}

type sided struct {
	row  string
	side Side
}

// New starts the results of a comparison with the named peer; rows appear in the order of metrics.
func New(peer string, metrics []Metric) *Results {
	r := &Results{peer: peer, metrics: metrics, values: map[key]map[Side]map[int]float64{}, failed: map[string]string{}, lost: map[sided]string{}}
	for _, m := range metrics {
		r.values[key{m.Row, m.Name}] = map[Side]map[int]float64{}
		if m.PeerMetric != "" {
			r.values[key{m.Row, m.PeerMetric}] = map[Side]map[int]float64{}
		}
	}
	return r
}

func (r *Results) side(s Side) Side {
	if s == Peer {
		return Side(r.peer)
	}
	return s
}

// Declared reports whether a metric can be added.
func (r *Results) Declared(row, name string) bool { return r.values[key{row, name}] != nil }

// Add records one value. A metric that was not declared is a mistake of the suite.
func (r *Results) Add(row, name string, side Side, round int, value float64) {
	v, ok := r.values[key{row, name}]
	if !ok {
		panic(fmt.Sprintf("report: %s %s was not declared", row, name))
	}
	side = r.side(side)
	if v[side] == nil {
		v[side] = map[int]float64{}
	}
	v[side][round] = value
}

// Fail takes all numbers of a row away; the first reason stays.
func (r *Results) Fail(row, reason string) {
	if r.failed[row] == "" {
		r.failed[row] = reason
	}
}

// Lose takes the numbers of one side of a row away; what others have stays. The first reason stays.
func (r *Results) Lose(row string, side Side, reason string) {
	if at := (sided{row, r.side(side)}); r.lost[at] == "" {
		r.lost[at] = reason
	}
}

// HasLost reports whether a side has lost its numbers of a row.
func (r *Results) HasLost(row string, side Side) bool {
	return r.failed[row] != "" || r.lost[sided{row, r.side(side)}] != ""
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
	PeerFailure           string // why there is none of the peer
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
	peer := r.peer
	if m.Peer != "" {
		peer = m.Peer
	}
	row := Row{Metric: m, PeerName: peer, Failure: r.failed[m.Row]}
	if row.Failure == "" {
		row.Failure = r.lost[sided{m.Row, Ours}]
	}
	if row.Failure != "" {
		return row
	}
	row.PeerFailure = r.lost[sided{m.Row, Side(peer)}]
	ours, theirs := r.values[key{m.Row, m.Name}][Ours], r.values[key{m.Row, m.Name}][Side(peer)]
	if m.PeerMetric != "" {
		theirs = r.values[key{m.Row, m.PeerMetric}][Side(peer)]
	}
	if row.PeerFailure != "" || m.OursOnly {
		theirs = nil
	}
	row.fill(ours, theirs)
	return row
}

// fill computes spreads and ratios from the values by round.
func (r *Row) fill(ours, theirs map[int]float64) {
	var ratios []float64
	for _, round := range rounds(ours, theirs) {
		o, haveOurs := ours[round]
		t, haveTheirs := theirs[round]
		if haveOurs {
			r.OurRounds = append(r.OurRounds, o)
		}
		if haveTheirs {
			r.PeerRounds = append(r.PeerRounds, t)
		}
		if haveOurs && haveTheirs && t > 0 {
			ratios = append(ratios, o/t)
		}
	}
	r.OurValues, r.Theirs = spread(r.OurRounds), spread(r.PeerRounds)
	if r.OurValues.Count == 0 {
		r.Failure = "it was not measured"
	}
	if len(ratios) > 0 && r.Theirs.Median > 0 {
		r.Ratio = spread(ratios)
		r.Ratio.Median = r.OurValues.Median / r.Theirs.Median
	}
}

func rounds(sides ...map[int]float64) (all []int) {
	for _, side := range sides {
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

// alike is how far from 1 a ratio may be and still be printed as 1.00.
const alike = 0.005

// Verdict compares the range of the ratio with 1.
func (r Row) Verdict() Verdict {
	switch {
	case r.Failure != "":
		return NoNumber
	case r.Ratio.Count == 0:
		return NoPeer
	case r.Ratio.Count == 1:
		return NoRange
	case math.Abs(r.Ratio.Median-1) < alike:
		return NoDifference
	// The ratio of medians may lie outside the range of the rounds: it counts as part of it.
	case min(r.Ratio.Min, r.Ratio.Median) <= 1 && max(r.Ratio.Max, r.Ratio.Median) >= 1:
		return NoDifference
	case (r.Ratio.Median > 1) == bool(r.Better):
		return Win
	default:
		return Loss
	}
}

// Met is whether a target is reached.
type Met string

// What Met says: the median decides, unless the limit lies within the range.
const (
	NoTarget     Met = ""
	Yes          Met = "yes"
	No           Met = "no"
	Inconclusive Met = "inconclusive"
)

// Met compares our value or the ratio with the target.
func (r Row) Met() Met {
	if r.Target == nil || r.Failure != "" {
		return NoTarget
	}
	s := r.OurValues
	if r.Target.Ratio {
		s = r.Ratio
	}
	if s.Count == 0 {
		return NoTarget
	}
	reached := func(v float64) bool {
		if r.Better == Higher {
			return v >= r.Target.Limit
		}
		return v <= r.Target.Limit
	}
	if s.Count > 1 && reached(s.Min) != reached(s.Max) {
		return Inconclusive
	}
	if reached(s.Median) {
		return Yes
	}
	return No
}

// target is the target for a cell: "ratio >= 0.7", "<= 4".
func (r Row) target() string {
	if r.Target == nil {
		return ""
	}
	sign, of := "<=", ""
	if r.Better == Higher {
		sign = ">="
	}
	if r.Target.Ratio {
		of = "ratio "
	}
	return fmt.Sprintf("%s%s %g", of, sign, r.Target.Limit)
}
