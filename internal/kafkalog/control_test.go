package kafkalog_test

import (
	"testing"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

func TestParseControl(t *testing.T) {
	for _, want := range []kafkalog.ControlType{kafkalog.ControlAbort, kafkalog.ControlCommit, 5} {
		b := mustBatch(t, logtest.Marker(9, logtest.Producer{ID: 1}, want))
		rs, err := decodeAll(kafkalog.NewDecoder(kafkalog.Limits{}), b)
		if err != nil || len(rs) != 1 || !b.IsControl() {
			t.Fatalf("%d records, control %v: %v", len(rs), b.IsControl(), err)
		}
		if got, err := kafkalog.ParseControl(&rs[0]); err != nil || got != want {
			t.Errorf("type %d, %v, want %d", got, err, want)
		}
	}
	if _, err := kafkalog.ParseControl(&kafkalog.Record{Key: []byte{0, 0, 1}}); !status.Is(err, status.Corrupt) {
		t.Errorf("short key: %v", err)
	}
}
