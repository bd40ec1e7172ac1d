package catalog

import (
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

func TestTopicIDText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id TopicID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if got, err := ParseTopicID(id.String()); err != nil || got != id {
			t.Fatalf("%s: %v, %v", id, got, err)
		}
	})
	for _, text := range []string{"", "A", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAAAA==", "AAAAAAAAAAAAAAAAAAAA+A", "AAAAAAAAAAA\nAAAAAAAAAAA"} {
		if _, err := ParseTopicID(text); !status.Is(err, status.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDataFileName(t *testing.T) {
	got := DataFileName(TopicID{1}, Range{Partition: 3, Base: 100, End: 250}, 7, 2, "0f3a")
	if want := "data/AQAAAAAAAAAAAAAAAAAAAA/3/100-250-7-2-0f3a.parquet"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
