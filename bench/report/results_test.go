package report

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

var metricsForTest = []Metric{
	{Row: "produce", Name: "rate", Unit: "MB/s", Better: Higher},
	{Row: "produce", Name: "cpu", Unit: "s/GB", Better: Lower},
	{Row: "restart", Name: "total", Unit: "s", Better: Lower},
	{Row: "copy", Name: "lag", Unit: "s", Better: Lower, OursOnly: true},
}

// filled has three rounds of each metric: the rate is lost, CPU is even, restart won.
func filled() *Results {
	r := New("vanilla", metricsForTest)
	for round, v := range []struct{ rate, theirRate, cpu, theirCPU, total, theirTotal float64 }{
		{80, 100, 2.0, 2.1, 5, 9}, {90, 101, 2.2, 2.0, 6, 10}, {85, 99, 2.1, 2.1, 5.5, 11},
	} {
		r.Add("produce", "rate", Ours, round, v.rate)
		r.Add("produce", "rate", Peer, round, v.theirRate)
		r.Add("produce", "cpu", Ours, round, v.cpu)
		r.Add("produce", "cpu", Peer, round, v.theirCPU)
		r.Add("restart", "total", Ours, round, v.total)
		r.Add("restart", "total", Peer, round, v.theirTotal)
		r.Add("copy", "lag", Ours, round, 1.5)
	}
	return r
}

func TestRatioIsOfMediansWithTheRangeOfRounds(t *testing.T) {
	row := filled().Rows()[0]
	if row.Ratio.Median != 85.0/100 || row.Ratio.Min != 80.0/100 || row.Ratio.Max != 90.0/101 {
		t.Errorf("ratio %+v", row.Ratio)
	}
	if row.OurValues != (Spread{3, 80, 85, 90}) || row.Theirs != (Spread{3, 99, 100, 101}) {
		t.Errorf("spreads %+v and %+v", row.OurValues, row.Theirs)
	}
}

func TestVerdicts(t *testing.T) {
	want := []Verdict{Loss, NoDifference, Win, NoPeer}
	for i, row := range filled().Rows() {
		if row.Verdict() != want[i] {
			t.Errorf("%s %s: %q, want %q (%+v)", row.Row, row.Name, row.Verdict(), want[i], row.Ratio)
		}
	}
}

func TestOneRoundHasNoVerdict(t *testing.T) {
	r := New("vanilla", metricsForTest)
	r.Add("restart", "total", Ours, 1, 5)
	r.Add("restart", "total", Peer, 1, 9)
	if row := r.Rows()[2]; row.Verdict() != NoRange || row.Ratio.Count != 1 {
		t.Errorf("%q, %+v", row.Verdict(), row)
	}
}

func TestFailedRowHasNoNumbers(t *testing.T) {
	r := filled()
	r.Fail("produce", "round 2: a record differs")
	r.Fail("produce", "later")
	for _, row := range r.Rows()[:2] {
		if row.Verdict() != NoNumber || row.Failure != "round 2: a record differs" || row.OurValues.Count+row.Theirs.Count+row.Ratio.Count+len(row.OurRounds) > 0 {
			t.Errorf("%+v", row)
		}
	}
	if r.Rows()[2].Verdict() != Win || r.HasFailed("restart") || !r.HasFailed("produce") {
		t.Error("another row lost its numbers too")
	}
}

func TestUnmeasuredRowSaysSo(t *testing.T) {
	if row := New("vanilla", metricsForTest).Rows()[0]; row.Verdict() != NoNumber {
		t.Errorf("%+v", row)
	}
}

func TestOnlyRoundsOfBothSidesGiveRatios(t *testing.T) {
	r := filled()
	r.Add("restart", "total", Peer, 7, 1000)
	if row := r.Rows()[2]; row.Ratio.Count != 3 || row.Theirs.Count != 4 {
		t.Errorf("%+v", row)
	}
}

func TestUndeclaredMetricIsAMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an undeclared metric was accepted")
		}
	}()
	New("vanilla", metricsForTest).Add("produce", "colour", Ours, 1, 1)
}

func TestSpreadHoldsItsMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0.001, 1e9), 1, 9).Draw(t, "values")
		s := spread(values)
		below := 0
		for _, v := range values {
			if v <= s.Median {
				below++
			}
		}
		if s.Min > s.Median || s.Median > s.Max || s.Count != len(values) || 2*below < len(values) || math.IsNaN(s.Median) {
			t.Fatalf("%v gave %+v", values, s)
		}
	})
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		name   string
		better Better
		target *Target
		ours   []float64
		theirs []float64
		want   Met
	}{
		{"below a limit", Lower, Value(4), []float64{3, 3.5, 3.9}, nil, Yes},
		{"above it", Lower, Value(4), []float64{5, 6, 7}, nil, No},
		{"around it", Lower, Value(4), []float64{3, 3.5, 4.1}, nil, Inconclusive},
		{"one round", Lower, Value(4), []float64{3}, nil, Yes},
		{"ratio reached", Higher, Ratio(0.7), []float64{80, 90}, []float64{100, 100}, Yes},
		{"ratio missed", Higher, Ratio(0.7), []float64{50, 60}, []float64{100, 100}, No},
		{"ratio around it", Higher, Ratio(0.7), []float64{60, 90}, []float64{100, 100}, Inconclusive},
		{"no peer", Higher, Ratio(0.7), []float64{60, 90}, nil, NoTarget},
		{"no target", Higher, nil, []float64{60, 90}, nil, NoTarget},
	} {
		r := New("vanilla", []Metric{{Row: "r", Name: "m", Better: c.better, Target: c.target}})
		for i, v := range c.ours {
			r.Add("r", "m", Ours, i, v)
		}
		for i, v := range c.theirs {
			r.Add("r", "m", Peer, i, v)
		}
		if got := r.Rows()[0].Met(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPeersAreComparedApart(t *testing.T) {
	r := New("vanilla", []Metric{
		{Row: "fetch", Name: "rate.s3", Better: Higher, PeerMetric: "rate.disk"},
		{Row: "fetch", Name: "rate.s3", Better: Higher, Peer: "foreign"},
		{Row: "fetch", Name: "rate.s3", Better: Higher, Peer: "local"},
	})
	r.Add("fetch", "rate.s3", Ours, 1, 50)
	r.Add("fetch", "rate.disk", Peer, 1, 100)
	r.Add("fetch", "rate.s3", "foreign", 1, 25)
	r.Lose("fetch", "local", "it does not start")
	rows := r.Rows()
	if rows[0].Ratio.Median != 0.5 || rows[1].Ratio.Median != 2 || rows[0].PeerName != "vanilla" {
		t.Errorf("%+v", rows[:2])
	}
	if rows[2].Verdict() != NoPeer || rows[2].PeerFailure != "it does not start" || !r.HasLost("fetch", "local") || r.HasLost("fetch", Ours) {
		t.Errorf("%+v", rows[2])
	}
	r.Lose("fetch", Ours, "a record differs")
	if row := r.Rows()[0]; row.Failure != "a record differs" || row.OurValues.Count != 0 {
		t.Errorf("%+v", row)
	}
}

func TestARatioOfOneIsNoDifference(t *testing.T) {
	r := New("vanilla", []Metric{{Row: "read", Name: "bytes", Better: Lower}})
	for round := range 3 {
		r.Add("read", "bytes", Ours, round, 1.0012)
		r.Add("read", "bytes", Peer, round, 1.0010)
	}
	if v := r.Rows()[0].Verdict(); v != NoDifference {
		t.Errorf("%q", v)
	}
}
