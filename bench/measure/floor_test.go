package measure

import (
	"os"
	"testing"
)

func TestFloorMovesEveryByteAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	const size = 3<<20 + 17
	write, read, err := Floor(dir, size)
	if err != nil {
		t.Fatal(err)
	}
	if write.Bytes != size || read.Bytes != size || write.Rate() <= 0 || read.Rate() <= 0 || write.PerGB() < 0 {
		t.Errorf("write %+v, read %+v", write, read)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, _, err := Floor(dir+"/absent", size); err == nil {
		t.Error("a directory that does not exist was written")
	}
}
