package workload

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestKindsHaveDifferentEntropies(t *testing.T) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	ratio := map[Kind]float64{}
	for _, kind := range Kinds {
		records, err := generate(kind, rand.New(rand.NewPCG(1, 1)), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Join(records, nil)
		ratio[kind] = float64(len(all)) / float64(len(encoder.EncodeAll(all, nil)))
	}
	t.Logf("zstd ratios: %v", ratio)
	if ratio[Logs] < 1.5*ratio[Events] || ratio[Events] < 2 || ratio[Random] > 1.01 {
		t.Errorf("the kinds do not compress as three entropies: %v", ratio)
	}
}

func TestEventsAreJSONOfSixteenFields(t *testing.T) {
	records, err := generate(Events, rand.New(rand.NewPCG(1, 1)), 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		var fields map[string]any
		if err := json.Unmarshal(r, &fields); err != nil {
			t.Fatalf("%v in %s", err, r)
		}
		if len(fields) != 16 {
			t.Fatalf("%d fields in %s", len(fields), r)
		}
	}
	if mean := 100_000 / len(records); mean < 350 || mean > 550 {
		t.Errorf("events have %d bytes on average", mean)
	}
}

func TestUnknownKind(t *testing.T) {
	if _, err := generate("zeros", rand.New(rand.NewPCG(1, 1)), 10); err == nil {
		t.Error("an unknown kind was accepted")
	}
}
