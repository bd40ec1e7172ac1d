package fetch

import (
	"strings"
	"testing"
)

func TestValidateNamesAllFaults(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	err := Config{}.Validate()
	for _, key := range []string{"fetch.cache.bytes", "fetch.sidecar.cache.bytes", "fetch.deadline.ms", "fetch.min.rate"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
}
