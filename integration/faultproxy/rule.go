package faultproxy

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// Rule says which requests a fault happens to. Empty conditions match everything. The first rule of a script that hits decides.
type Rule struct {
	Name   string // in the records
	Ops    []Op
	Method string
	Key    string // regular expression that the key has a match of

	Skip   int     // matching requests that are left alone first
	Count  int     // how many are hit then; 0 is all
	Chance float64 // share of those that is hit; 0 is all

	Fault Fault
}

// script is rules with their state.
type script struct {
	rules  []Rule
	keys   []*regexp.Regexp
	seen   []int // matching requests by rule
	random *rand.Rand
}

func compile(seed uint64, rules []Rule) (*script, error) {
	s := &script{rules: slices.Clone(rules), seen: make([]int, len(rules)), random: rand.New(rand.NewPCG(seed, 1))}
	for i, r := range rules {
		if r.Chance < 0 || r.Chance > 1 || r.Skip < 0 || r.Count < 0 {
			return nil, fmt.Errorf("faultproxy: rule %d %q: a chance lies between 0 and 1, skip and count are not negative", i, r.Name)
		}
		key, err := regexp.Compile(r.Key)
		if err != nil {
			return nil, fmt.Errorf("faultproxy: rule %d %q: %w", i, r.Name, err)
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// hit finds the fault of a request. The caller holds the proxy's lock.
func (s *script) hit(r *http.Request, op Op, key string) (name string, f Fault) {
	for i, rule := range s.rules {
		if len(rule.Ops) > 0 && !slices.Contains(rule.Ops, op) || rule.Method != "" && rule.Method != r.Method || !s.keys[i].MatchString(key) {
			continue
		}
		n := s.seen[i]
		s.seen[i]++
		if n < rule.Skip || rule.Count > 0 && n >= rule.Skip+rule.Count {
			continue
		}
		if rule.Chance > 0 && s.random.Float64() >= rule.Chance {
			continue
		}
		return rule.Name, s.drawn(rule.Fault)
	}
	return "", Fault{}
}

// drawn fixes the latency of one request.
func (s *script) drawn(f Fault) Fault {
	if f.Jitter > 0 {
		f.Latency = max(0, f.Latency+time.Duration(float64(f.Jitter)*(2*s.random.Float64()-1)))
		f.Jitter = 0
	}
	return f
}
