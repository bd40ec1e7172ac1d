package payload

import "testing"

func TestRaw(t *testing.T) {
	for _, c := range []struct {
		value []byte
		want  any
	}{{nil, nil}, {[]byte{}, ""}, {[]byte("\x00\xff"), "\x00\xff"}} {
		row, bad := one(t, NewRaw(), c.value)
		if bad != nil || row[0] != c.want {
			t.Errorf("%q: %v, %v", c.value, row, bad)
		}
	}
	if f := NewRaw().Fields(); len(f) != 1 || f[0].Name != "_kafka_value" {
		t.Errorf("fields %v", f)
	}
}
