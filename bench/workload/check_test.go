package workload

import (
	"bytes"
	"strings"
	"testing"
)

type taken struct {
	partition  int32
	offset     int64
	key, value []byte
}

// consumed is a set as a faultless broker gives it back.
func consumed(s *Set) (all []taken) {
	next := map[int32]int64{}
	_ = s.Each(func(p int32, key, value []byte) error {
		all = append(all, taken{p, next[p], key, value})
		next[p]++
		return nil
	})
	return all
}

func take(c *Checker, all []taken) error {
	for _, r := range all {
		if err := c.Take(r.partition, r.offset, r.key, r.value); err != nil {
			return err
		}
	}
	return nil
}

func TestCheckerAcceptsExactlyWhatWasProduced(t *testing.T) {
	s := mustNew(t, 1, 3, 60_000)
	c := s.Checker()
	if err := take(c, consumed(s)); err != nil {
		t.Fatal(err)
	}
	if c.Left() != 0 || c.Missing() != "" {
		t.Errorf("%d left, %q missing after everything came", c.Left(), c.Missing())
	}
}

func TestCheckerSeesEveryFault(t *testing.T) {
	faults := map[string]func(all []taken) []taken{
		"value changed":   func(all []taken) []taken { all[5].value = append(bytes.Clone(all[5].value[1:]), 0); return all },
		"value cut":       func(all []taken) []taken { all[5].value = all[5].value[1:]; return all },
		"key changed":     func(all []taken) []taken { all[5].key = []byte("12345678"); return all },
		"key lost":        func(all []taken) []taken { all[5].key = nil; return all },
		"record skipped":  func(all []taken) []taken { return append(all[:5:5], all[6:]...) },
		"record twice":    func(all []taken) []taken { return append(all[:6:6], all[5:]...) },
		"offset moved":    func(all []taken) []taken { all[5].offset++; return all },
		"wrong partition": func(all []taken) []taken { all[5].partition = 99; return all },
		"one too many": func(all []taken) []taken {
			last := all[len(all)-1]
			last.offset++
			return append(all, last)
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			s := mustNew(t, 1, 3, 60_000)
			err := take(s.Checker(), fault(consumed(s)))
			if err == nil {
				t.Fatal("the fault was not seen")
			}
			if strings.Contains(err.Error(), "com.example") {
				t.Errorf("the error shows a payload: %v", err)
			}
		})
	}
}

func TestCheckerSaysWhatIsMissing(t *testing.T) {
	s := mustNew(t, 1, 3, 60_000)
	all := consumed(s)
	c := s.Checker()
	if err := take(c, all[:len(all)-1]); err != nil {
		t.Fatal(err)
	}
	if c.Left() != 1 || !strings.Contains(c.Missing(), "1 records are missing") {
		t.Errorf("%d left, %q", c.Left(), c.Missing())
	}
}
