package kafkaclient

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"tidemark/internal/status"
)

func TestProduce(t *testing.T) {
	_, c := cluster(t, kfake.SeedTopics(4, "t"))
	ctx := testContext(t)
	for range 5 { // one key, one partition
		if err := c.Produce(ctx, "t", []byte("k"), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	var sizes []int64
	for p := range int32(4) {
		_, high, _, err := c.Offsets(ctx, "t", p)
		if err != nil {
			t.Fatal(err)
		}
		if high > 0 {
			sizes = append(sizes, high)
		}
	}
	if len(sizes) != 1 || sizes[0] != 5 {
		t.Errorf("partition sizes %v", sizes)
	}
	wantClass(t, c.Produce(ctx, "t", []byte("k"), make([]byte, 2<<20)), status.Invalid, "topic t")
	wantClass(t, c.Produce(ctx, "absent", []byte("k"), nil), status.NotFound, "absent")
}
