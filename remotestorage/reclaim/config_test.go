package reclaim

import (
	"strings"
	"testing"
)

func TestValidateNamesAllFaults(t *testing.T) {
	if err := config(t.TempDir()).Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	err := Config{MaxBackoff: -1}.Validate()
	for _, key := range []string{"local.dir", "delete.interval.ms", "delete.batch", "delete.backoff.max.ms", "delete.deadline.ms"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
}
