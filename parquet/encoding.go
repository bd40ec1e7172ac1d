package parquet

import (
	"math/bits"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// sampleValues is how many values of the first batch decide a column's encoding.
const sampleValues = 1024

// chooseEncodings decides per leaf from the first batch: delta where the differences of neighbours are much narrower than
// the values (offsets, timestamps, constants), a dictionary where strings repeat. Everything else is plain, which zstd
// packs well. A nil batch (an empty file) is all plain.
func chooseEncodings(leaves []*leaf, first *column.Batch) []encoding.Encoding {
	out := make([]encoding.Encoding, len(leaves))
	if first == nil {
		return out
	}
	for i, l := range leaves {
		v := first.Columns[l.column]
		for _, s := range l.steps[:len(l.steps)-1] {
			v = v.Children[s.child]
		}
		switch v.Kind {
		case column.Int32:
			if deltaPays(v, 32) {
				out[i] = &pq.DeltaBinaryPacked
			}
		case column.Int64:
			if deltaPays(v, 64) {
				out[i] = &pq.DeltaBinaryPacked
			}
		case column.Bytes:
			if dictionaryPays(v) {
				out[i] = &pq.RLEDictionary
			}
		}
	}
	return out
}

// deltaPays reports whether blocks of differences, each less the block's least, need at most half the bits of a value:
// that is what DELTA_BINARY_PACKED stores.
func deltaPays(v *column.Vector, width int) bool {
	const block = 128
	var previous, least, most int64
	var n, cost, blocks int
	for i := 0; i < min(v.Len(), sampleValues); i++ {
		if !v.Valid(i) {
			continue
		}
		x := int64(0)
		if width == 32 {
			x = int64(v.Int32(i))
		} else {
			x = v.Int64(i)
		}
		d := x - previous // wraps, as the encoding does
		previous = x
		if n++; n == 1 {
			continue
		}
		if n%block == 2 {
			if n > 2 {
				cost, blocks = cost+bits.Len64(uint64(most-least)), blocks+1
			}
			least, most = d, d
		}
		least, most = min(least, d), max(most, d)
	}
	if n < 2 {
		return true
	}
	cost, blocks = cost+bits.Len64(uint64(most-least)), blocks+1
	return cost <= blocks*width/2
}

// dictionaryPays reports whether at most half of the sampled values are distinct.
func dictionaryPays(v *column.Vector) bool {
	seen := make(map[string]struct{})
	n := 0
	for i := 0; i < min(v.Len(), sampleValues); i++ {
		if v.Valid(i) {
			n++
			if b := v.Bytes(i); len(b) > dictionaryMaxBytes/16 {
				return false
			} else {
				seen[string(b)] = struct{}{}
			}
		}
	}
	return 2*len(seen) <= n
}

// isWideDecimal reports whether t is stored as FIXED_LEN_BYTE_ARRAY with a sign, an order the library gets wrong.
func isWideDecimal(t schema.Type) bool { return t.Kind == schema.Decimal && t.Precision > 18 }
