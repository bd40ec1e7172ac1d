package calls

import (
	"bytes"
	"testing"
)

func TestFloorsTransformEverything(t *testing.T) {
	data := bytes.Repeat([]byte("a line of a log that repeats itself\n"), 600_000)
	_, stored, err := zstdAlone(data)
	if err != nil || stored == 0 || stored > int64(len(data))/20 {
		t.Errorf("zstd made %d of %d bytes, %v", stored, len(data), err)
	}
	_, stored, err = aesAlone(data)
	if chunks := int64(len(data)+aloneChunk-1) / aloneChunk; err != nil || stored != int64(len(data))+16*chunks {
		t.Errorf("AES-GCM made %d of %d bytes, %v", stored, len(data), err)
	}
}
