package diskcache

import (
	"strings"
	"testing"
)

func TestValidateNamesAllFaults(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	err := Config{Dir: "here", Bytes: 1}.Validate()
	for _, key := range []string{"fetch.disk.cache.dir", "fetch.disk.cache.bytes"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
}

// The smallest cache still has room for a slab, what is rescued, and an old slab.
func TestSizesLeaveRoom(t *testing.T) {
	for _, bytes := range []int64{MinBytes, 10 << 30, 1 << 50} {
		s := Config{Bytes: bytes}.sizes()
		if s.capacity-s.slab*5/4 < s.slab || s.slab < int64(2*s.stage) {
			t.Errorf("%d bytes: %+v", bytes, s)
		}
	}
}
