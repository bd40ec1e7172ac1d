package assemble

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/telemetry"
)

type sample struct {
	Inner struct {
		Path string           `config:"store.path" doc:"where"`
		Wait time.Duration    `config:"copy.wait.ms" default:"1500" doc:"how long"`
		Key  telemetry.Secret `config:"store.s3.secret.key" optional:"true" doc:"secret"`
	}
	Count int64 `config:"cache.bytes" default:"7" doc:"how many"`
	On    bool  `config:"tables.enabled" default:"true" doc:"whether"`
}

func TestBind(t *testing.T) {
	var s sample
	faults := bind(&s, map[string]string{"store.path": "/x", "store.s3.secret.key": "hunter2", "tables.enabled": "false", "broker.id": "1"}, "broker.id")
	if len(faults) != 0 {
		t.Fatal(faults)
	}
	if s.Inner.Path != "/x" || s.Inner.Wait != 1500*time.Millisecond || s.Count != 7 || s.On || s.Inner.Key.Reveal() != "hunter2" {
		t.Errorf("%+v", s)
	}
	got := strings.Join(effective(&s), " ")
	if got != "cache.bytes=7 copy.wait.ms=1500 store.path=/x store.s3.secret.key=[redacted] tables.enabled=false" {
		t.Errorf("effective: %s", got)
	}
}

func TestBindListsAllFaults(t *testing.T) {
	var s sample
	faults := bind(&s, map[string]string{"cache.byte": "1", "copy.wait.ms": "soon", "tables.enabled": "maybe"})
	want := []string{
		"cache.byte is not a setting of Tidemark; did you mean cache.bytes?",
		`copy.wait.ms: "soon" is not a whole number of milliseconds`,
		"store.path is missing: where",
		`tables.enabled: "maybe" is neither true nor false`,
	}
	if !reflect.DeepEqual(faults, want) {
		t.Errorf("faults = %q", faults)
	}
}
