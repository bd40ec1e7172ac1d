package remotestorage

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The documented defaults are those in the code, and every fault is named by its key.
func TestConfig(t *testing.T) {
	c := DefaultConfig()
	c.Reclaim.Dir = t.TempDir()
	if err := c.Validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	bad := DefaultConfig()
	bad.HoldMaxBytes, bad.Fetch.ReadAhead = -1, -1 // zero is legal
	var keys []string
	var walk func(defaults, zero reflect.Value)
	walk = func(v, zero reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type.Kind() == reflect.Struct {
				walk(v.Field(i), zero.Field(i))
				continue
			}
			key, want, doc := f.Tag.Get("config"), f.Tag.Get("default"), f.Tag.Get("doc")
			if key == "" || doc == "" {
				t.Errorf("field %s has no key or no documentation", f.Name)
			}
			var got string
			switch x := v.Field(i).Interface().(type) {
			case time.Duration:
				got = strconv.FormatInt(x.Milliseconds(), 10)
				if !strings.HasSuffix(key, ".ms") {
					t.Errorf("%s: the setting of a duration ends with .ms", key)
				}
			case int:
				got = strconv.Itoa(x)
			case int64:
				got = strconv.FormatInt(x, 10)
			case string:
				got = x
			case bool:
				got = strconv.FormatBool(x)
			}
			if zero.Field(i).Kind() != reflect.Int64 || zero.Field(i).Int() >= 0 {
				zero.Field(i).SetZero()
			}
			if got != want {
				t.Errorf("%s: documented %q, in the code %q", key, want, got)
			}
			if f.Type.Kind() != reflect.Bool { // every bool is right
				keys = append(keys, key)
			}
		}
	}
	walk(reflect.ValueOf(DefaultConfig()), reflect.ValueOf(&bad).Elem())
	bad.DiskCache.Dir = "relative" // unset is legal
	bad.Reclaim.MaxBackoff = -1
	bad.KeysFile, bad.TransformParallel, bad.CopyMaxRate = "relative", -1, -1 // unset and 0 are legal
	err := bad.Validate()
	for _, key := range keys {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
}
