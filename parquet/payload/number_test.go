package payload

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/parquet/schema"
)

// Decimals are read as exact fractions are: all of them or the right refusal.
func TestParseDecimalAgainstFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		precision := rapid.IntRange(1, maxDigits).Draw(t, "precision")
		scale := rapid.IntRange(0, precision).Draw(t, "scale")
		text := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
		text += rapid.StringMatching(`(0|[1-9][0-9]{0,45})(\.[0-9]{1,45})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		if rapid.Bool().Draw(t, "zeros") {
			text = strings.NewReplacer("1", "0", "5", "0").Replace(strings.Replace(text, "0", "9", 1))
		}
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number", text)
		}
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
		fits := r.IsInt() && r.Num().CmpAbs(limit) < 0
		n, e := parseDecimal([]byte(text), precision, scale)
		if (e == exact) != fits {
			t.Fatalf("%s as decimal(%d, %d): %d; it fits: %t", text, precision, scale, e, fits)
		}
		if !fits {
			return
		}
		b := make([]byte, schema.DecimalWidth(precision))
		n.bytes(b)
		got := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 {
			got.Sub(got, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		if got.Cmp(r.Num()) != 0 {
			t.Fatalf("%s as decimal(%d, %d) is %s", text, precision, scale, got)
		}
	})
}

func TestParseLongAgainstFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		r, _ := new(big.Rat).SetString(text)
		fits := r.IsInt() && r.Num().IsInt64()
		x, e := parseLong([]byte(text))
		if (e == exact) != fits || fits && x != r.Num().Int64() {
			t.Fatalf("%s: %d, %d; it fits: %t", text, x, e, fits)
		}
	})
}
