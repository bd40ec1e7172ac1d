package assemble

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/telemetry"
)

// A setting is a struct field with the tags config (the key), default, doc and, where it has no default, optional:"true".
type setting struct {
	key, def, doc, unit string
	optional            bool
	secret              bool
	field               reflect.Value
}

// settings walks the fields of a struct of structs and returns those with a config tag.
func settings(v reflect.Value) []setting {
	var out []setting
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("config")
		switch {
		case key != "":
			_, hasDefault := f.Tag.Lookup("default")
			out = append(out, setting{
				key: key, def: f.Tag.Get("default"), doc: f.Tag.Get("doc"), unit: unit(key, f.Type),
				optional: hasDefault || f.Tag.Get("optional") == "true",
				secret:   f.Type == reflect.TypeFor[telemetry.Secret](), field: v.Field(i),
			})
		case f.Type.Kind() == reflect.Struct && f.IsExported():
			out = append(out, settings(v.Field(i))...)
		}
	}
	return out
}

func unit(key string, t reflect.Type) string {
	switch {
	case strings.HasSuffix(key, ".bytes"), key == "native.memory.limit":
		return "bytes"
	case strings.HasSuffix(key, ".rate"):
		return "bytes per second"
	case t == reflect.TypeFor[time.Duration]():
		return "milliseconds"
	case t == reflect.TypeFor[telemetry.Secret]():
		return "secret"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "text"
	}
	return "number"
}

// bind sets every field from the properties or its default and returns all faults. handled keys are not unknown although no
// field has them.
func bind(target any, properties map[string]string, handled ...string) (faults []string) {
	all := settings(reflect.ValueOf(target).Elem())
	known := map[string]bool{}
	var names []string
	for _, s := range all {
		known[s.key] = true
		names = append(names, s.key)
		text, given := properties[s.key]
		if !given {
			if !s.optional {
				faults = append(faults, fmt.Sprintf("%s is missing: %s", s.key, s.doc))
				continue
			}
			text = s.def
		}
		if text == "" && !given {
			continue
		}
		if err := s.set(strings.TrimSpace(text)); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", s.key, err))
		}
	}
	for _, k := range handled {
		known[k] = true
	}
	for k := range properties {
		if !known[k] {
			faults = append(faults, fmt.Sprintf("%s is not a setting of Tidemark; did you mean %s?", k, nearest(k, names)))
		}
	}
	sort.Strings(faults)
	return faults
}

func (s setting) set(text string) error {
	f := s.field
	if f.Type() == reflect.TypeFor[time.Duration]() {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number of milliseconds", text)
		}
		f.SetInt(ms * int64(time.Millisecond))
		return nil
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		f.SetBool(b)
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, f.Type().Bits())
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		f.SetInt(n)
	default:
		panic(fmt.Sprintf("assemble: setting %s has a type that cannot be bound: %s", s.key, f.Type()))
	}
	return nil
}

// nearest is the known name with the fewest edits.
func nearest(name string, known []string) string {
	best, bestDistance := "", 1<<30
	for _, k := range known {
		if d := distance(name, k); d < bestDistance || d == bestDistance && k < best {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next := min(row[j]+1, row[j-1]+1, diagonal+cost)
			diagonal, row[j] = row[j], next
		}
	}
	return row[len(b)]
}

// effective lists key=value of every setting, secrets hidden, in key order.
func effective(target any) []string {
	var out []string
	for _, s := range settings(reflect.ValueOf(target).Elem()) {
		value := fmt.Sprint(s.field.Interface())
		if d, ok := s.field.Interface().(time.Duration); ok {
			value = strconv.FormatInt(d.Milliseconds(), 10)
		}
		if value != "" {
			out = append(out, s.key+"="+value)
		}
	}
	sort.Strings(out)
	return out
}

// Prefix is where Kafka's configuration holds the settings.
const Prefix = "rsm.config."

// Reference is the configuration reference as Markdown rows: the body of docs/config.md.
func Reference() string {
	var c Config
	var b strings.Builder
	b.WriteString("| setting | unit | default | what it does |\n| --- | --- | --- | --- |\n")
	all := settings(reflect.ValueOf(&c).Elem())
	sort.Slice(all, func(i, j int) bool { return all[i].key < all[j].key })
	for _, s := range all {
		def := s.def
		switch {
		case !s.optional:
			def = "**required**"
		case def == "":
			def = "unset"
		default:
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `%s%s` | %s | %s | %s |\n", Prefix, s.key, s.unit, def, s.doc)
	}
	return b.String()
}
