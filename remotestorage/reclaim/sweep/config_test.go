package sweep

import (
	"strings"
	"testing"
	"time"
)

func TestConfig(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("no sweep is a setting: %v", err)
	}
	err := Config{Interval: time.Millisecond, Grace: time.Second}.Validate()
	for _, name := range []string{"sweep.interval.ms", "sweep.grace.ms", "sweep.partition.max", "sweep.rate"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not refused: %v", name, err)
		}
	}
}
