package assemble_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/cgo/assemble/assembletest"
	"tidemark/cgo/dispatch"
)

// What retention removed under this broker's leadership is in no other broker's list. Its stored object alone is enough, and this broker
// converts it although it leads the partition no more.
func TestAnOldLeaderConvertsWhatItKeeps(t *testing.T) {
	b := assembletest.New(t)
	b.Define(nil)
	b.Properties["tables.linger.ms"] = "600000" // nothing is converted
	b.Open()
	b.Until("the table is live", func() bool { return strings.Contains(b.Log.String(), "to=LIVE") })
	for _, values := range [][]string{{"a", "b"}, {"c"}} {
		seg, _ := b.Roll(values...)
		if err := b.Instance.Delete(t.Context(), seg); err != nil {
			t.Fatal(err)
		}
	}
	b.Until("the segments are held on disk", func() bool { return len(b.Holds()) == 2 })
	b.Listed = nil
	b.Close()
	for _, name := range b.Holds() {
		if err := os.Remove(filepath.Join(b.LogDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.Properties["tables.linger.ms"] = "10"
	b.Open()
	b.Instance.Leadership(dispatch.LeadershipRequest{Followers: []dispatch.TopicPartition{b.Partition()}})
	b.Covered(3)
	b.Until("the objects are removed once the table has the rows", func() bool { return len(objects(b, "segments")) == 0 })
}
