package schema

import (
	"math/big"
	"testing"
)

func TestDecimalWidthHoldsEveryNumber(t *testing.T) {
	for p := 1; p <= 38; p++ {
		largest := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil)
		largest.Sub(largest, big.NewInt(1))
		if bits := largest.BitLen() + 1; DecimalWidth(p)*8 < bits {
			t.Errorf("precision %d: %d bytes for %d bits", p, DecimalWidth(p), bits)
		}
	}
}

func TestSystemColumnsStandAtTheirPositions(t *testing.T) {
	system := System()
	if len(system) != SystemColumns || system[KafkaOffset].Name != "_kafka_offset" || system[KafkaHeaders].Name != "_kafka_headers" {
		t.Errorf("system columns = %v", system)
	}
	if got := system[KafkaHeaders].Type.String(); got != "list<struct<key: string, value: binary>>" {
		t.Errorf("headers are %s", got)
	}
	for _, s := range Shapes(system) {
		_ = s // every system column has a shape: Shape panics otherwise
	}
}
