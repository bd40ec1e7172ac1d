package dispatch

import (
	"encoding/binary"
	"strings"
	"testing"

	"tidemark/internal/status"
)

func TestFrameRefuses(t *testing.T) {
	frame := func(change func([]byte)) []byte {
		f := EncodeFrame(KindCopy, 9, []byte("payload"))
		change(f)
		binary.LittleEndian.PutUint32(f[8:], frameCRC(f))
		return f
	}
	cases := []struct {
		name  string
		frame []byte
		text  string
	}{
		{"empty", nil, "shorter"},
		{"magic", frame(func(f []byte) { f[0] = 'X' }), "magic"},
		{"length", frame(func(f []byte) { f[4]++ }), "announces"},
		{"huge length", frame(func(f []byte) { f[7] = 0xff }), "announces"},
		{"version", frame(func(f []byte) { f[14] = 2 }), "version"},
		{"too large", EncodeFrame(KindCopy, 0, make([]byte, MaxPayload+1)), "announces"},
	}
	for _, c := range cases {
		if _, _, err := frameKind(c.frame); !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want Invalid with %q", c.name, err, c.text)
		}
	}
	kind, payload, err := frameKind(EncodeFrame(KindCopy, 9, []byte("payload")))
	if err != nil || kind != KindCopy || string(payload) != "payload" {
		t.Errorf("round trip: %v %q %v", kind, payload, err)
	}
}
