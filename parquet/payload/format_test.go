package payload

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEveryDayOfTenThousandYears(t *testing.T) {
	for day := minDay; day <= maxDay; day += 7 { // all months and leap years are met
		text := time.Unix(int64(day)*86_400, 0).UTC().Format(time.DateOnly)
		if got, ok := parseDate([]byte(text)); !ok || int(got) != day {
			t.Fatalf("%s is day %d, ok %t; want %d", text, got, ok, day)
		}
	}
}

// Whatever date-time we read, time.Parse reads the same.
func TestDateTimeAgainstTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
		text := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d", part(9999, "year"), part(13, "month"), part(32, "day"), part(24, "hour"), part(60, "minute"), part(60, "second"))
		text += rapid.StringMatching(`(\.[0-9]{1,9})?`).Draw(t, "fraction")
		text += rapid.SampledFrom([]string{"Z", "+00:00", "-12:30", "+23:59"}).Draw(t, "offset")
		want, err := time.Parse(time.RFC3339Nano, text)
		got, inRange, ok := parseDateTime([]byte(text), false)
		if ok && !inRange {
			if y := want.UTC().Year(); y >= 1 && y <= 9999 {
				t.Fatalf("%s is said to be out of range", text)
			}
			return
		}
		if ok != (err == nil && want.Year() > 0) || ok && got != want.UnixMicro() {
			t.Fatalf("%s: %d, %t; time.Parse: %v, %v", text, got, ok, want, err)
		}
	})
}

func TestUUIDIsItsHexDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")
		h := hex.EncodeToString(id)
		var got [16]byte
		if !parseUUID([]byte(h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:]), &got) || !bytes.Equal(got[:], id) {
			t.Fatalf("%s is %x", h, got)
		}
	})
	for _, text := range []string{"", "00112233445566778899aabbccddeeff", "{0112233-4455-6677-8899-aabbccddeeff}", "00112233-4455-6677-88-99aabbccddeeff", "0011223--4455-6677-8899-aabbccddeeff"} {
		if parseUUID([]byte(text), new([16]byte)) {
			t.Errorf("%q is taken", text)
		}
	}
}
