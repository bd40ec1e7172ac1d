package payload

// The readers of string formats return false for a string that is not in the format. They do not allocate.

const (
	secondMicros = 1_000_000
	dayMicros    = 86_400 * secondMicros
	// Years 1 to 9999, what every engine can read.
	minDay = -719_162
	maxDay = 2_932_896
)

// number of n decimal digits at the start of b, -1 if they are not all digits.
func fixedDigits(b []byte, n int) int {
	if len(b) < n {
		return -1
	}
	x := 0
	for _, c := range b[:n] {
		if c < '0' || c > '9' {
			return -1
		}
		x = x*10 + int(c-'0')
	}
	return x
}

// parseDate reads a full-date of RFC 3339 as days since 1970-01-01.
func parseDate(b []byte) (days int32, ok bool) {
	if len(b) != 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	y, m, d := fixedDigits(b, 4), fixedDigits(b[5:], 2), fixedDigits(b[8:], 2)
	if y < 1 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, false
	}
	return daysFromCivil(y, m, d), true
}

func daysIn(y, m int) int {
	if m == 2 && y%4 == 0 && (y%100 != 0 || y%400 == 0) {
		return 29
	}
	return [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
}

// daysFromCivil counts days of the proleptic Gregorian calendar, in years that begin in March.
func daysFromCivil(y, m, d int) int32 {
	if m <= 2 {
		y--
		m += 12
	}
	return int32(365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719_468)
}

// parseClock reads a partial-time of RFC 3339 as µs since midnight and returns what follows it. Digits beyond the µs are
// cut off. A leap second is refused.
func parseClock(b []byte) (micros int64, rest []byte, ok bool) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' {
		return 0, nil, false
	}
	h, m, s := fixedDigits(b, 2), fixedDigits(b[3:], 2), fixedDigits(b[6:], 2)
	if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
		return 0, nil, false
	}
	micros = int64(h*3600+m*60+s) * secondMicros
	rest = b[8:]
	if len(rest) == 0 || rest[0] != '.' {
		return micros, rest, true
	}
	i, unit := 1, int64(secondMicros)
	for ; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		unit /= 10
		micros += int64(rest[i]-'0') * unit
	}
	return micros, rest[i:], i > 1
}

// parseOffset reads a time-offset of RFC 3339 as µs east of UTC; given is false if there is none.
func parseOffset(b []byte) (micros int64, given, ok bool) {
	switch {
	case len(b) == 0:
		return 0, false, true
	case len(b) == 1 && (b[0] == 'Z' || b[0] == 'z'):
		return 0, true, true
	case len(b) != 6 || b[0] != '+' && b[0] != '-' || b[3] != ':':
		return 0, false, false
	}
	h, m := fixedDigits(b[1:], 2), fixedDigits(b[4:], 2)
	if h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, false, false
	}
	micros = int64(h*3600+m*60) * secondMicros
	if b[0] == '-' {
		micros = -micros
	}
	return micros, true, true
}

// parseDateTime reads a date-time of RFC 3339 as µs since the epoch. Without an offset it is UTC if utc says so, else
// refused. inRange is false for a time outside of years 1 to 9999.
func parseDateTime(b []byte, utc bool) (micros int64, inRange, ok bool) {
	if len(b) < 19 || b[10] != 'T' && b[10] != 't' && b[10] != ' ' {
		return 0, false, false
	}
	days, ok := parseDate(b[:10])
	if !ok {
		return 0, false, false
	}
	clock, rest, ok := parseClock(b[11:])
	if !ok {
		return 0, false, false
	}
	offset, given, ok := parseOffset(rest)
	if !ok || !given && !utc {
		return 0, false, false
	}
	micros = int64(days)*dayMicros + clock - offset
	return micros, micros >= minDay*dayMicros && micros < (maxDay+1)*dayMicros, true
}

// parseTime reads a time of RFC 3339, with or without an offset, as µs since midnight UTC.
func parseTime(b []byte) (micros int64, ok bool) {
	clock, rest, ok := parseClock(b)
	if !ok {
		return 0, false
	}
	offset, _, ok := parseOffset(rest)
	return ((clock-offset)%dayMicros + dayMicros) % dayMicros, ok
}

// parseUUID reads the 8-4-4-4-12 form of RFC 9562.
func parseUUID(b []byte, dst *[16]byte) bool {
	if len(b) != 36 || b[8] != '-' || b[13] != '-' || b[18] != '-' || b[23] != '-' {
		return false
	}
	n := 0
	for i := 0; i < len(b); i += 2 {
		if b[i] == '-' {
			i++
		}
		hi, lo := hexDigit(b[i]), hexDigit(b[i+1])
		if hi < 0 || lo < 0 {
			return false
		}
		dst[n] = byte(hi<<4 | lo)
		n++
	}
	return true
}
