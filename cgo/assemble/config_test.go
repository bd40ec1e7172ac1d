package assemble

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"tidemark/internal/status"
)

func fileProperties(changes map[string]string) map[string]string {
	p := map[string]string{"local.dir": "/var/lib/tidemark", "store.type": "file", "store.path": "/srv/tidemark"}
	maps.Copy(p, changes)
	for k, v := range changes {
		if v == "-" {
			delete(p, k)
		}
	}
	return p
}

func s3Properties(changes map[string]string) map[string]string {
	p := map[string]string{"store.type": "s3", "store.path": "-", "store.s3.bucket": "lake", "store.s3.credentials": "static", "store.s3.region": "eu-1",
		"store.s3.access.key": "AKIA", "store.s3.secret.key": "hunter2", "store.s3.session.token": "hunter3"}
	maps.Copy(p, changes)
	return fileProperties(p)
}

func TestParse(t *testing.T) {
	c, err := Parse(fileProperties(map[string]string{"broker.id": "1", "node.id": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Ingest.Linger != 2*time.Second || c.Storage.Fetch.CacheBytes != 256<<20 || !c.Tables.Enabled || c.Native.Slabs != 64 {
		t.Errorf("%+v", c)
	}
	if _, err := Parse(s3Properties(nil)); err != nil {
		t.Error(err)
	}
}

func TestParseNamesEveryFault(t *testing.T) {
	for _, c := range []struct {
		name       string
		properties map[string]string
		faults     []string // how each line begins, in order
	}{
		{"nothing given", map[string]string{}, []string{"local.dir", "store.type is missing"}},
		{"unknown", fileProperties(map[string]string{"copy.paralel": "3", "tables.enable": "true"}),
			[]string{"copy.paralel is not a setting of Tidemark; did you mean copy.parallel?", "tables.enable is not a setting of Tidemark; did you mean tables.enabled?"}},
		{"unknown and wrong and contradictory at once", fileProperties(map[string]string{"strore.path": "/y", "store.path": "relative", "copy.parallel": "many",
			"store.s3.bucket": "b", "store.s3.secret.key": "hunter2", "native.slabs": "1"}),
			[]string{`copy.parallel: "many" is not a whole number`, "native.slabs: 1", `store.path: "relative" is not an absolute path`, "store.s3.bucket: only with store.type=s3",
				"store.s3.secret.key: only with store.type=s3", "strore.path is not a setting of Tidemark; did you mean store.path?"}},
		{"file and s3", s3Properties(map[string]string{"store.path": "/srv", "store.s3.endpoint": "nowhere", "store.s3.secret.key": "-"}),
			[]string{"store.path: only with store.type=file", "store.s3.access.key and store.s3.secret.key", "store.s3.endpoint"}},
		{"type", fileProperties(map[string]string{"store.type": "gcs"}), []string{`store.type: "gcs" is neither file nor s3`}},
		{"bounds of calls", fileProperties(map[string]string{"store.retries.per.second": "0", "store.retries.burst": "100001", "store.calls.max": "7"}),
			[]string{"store.calls.max: 7", "store.retries.burst: 100001", "store.retries.per.second: 0"}},
		{"no path", fileProperties(map[string]string{"store.path": "-"}), []string{"store.path"}},
		{"slabs", fileProperties(map[string]string{"native.slab.bytes": "1048577"}), []string{"native.slab.bytes: 1048577 is not a multiple of 4096"}},
		{"small slabs", fileProperties(map[string]string{"native.slab.bytes": "4096"}), []string{"native.slab.bytes: 4096 is not between"}},
		{"numbers", fileProperties(map[string]string{"native.memory.limit": "-1", "tables.workers": "0", "tables.linger.ms": "-5", "tables.linger.msec": "4"}),
			[]string{"native.memory.limit", "tables.linger.ms must be", "tables.linger.msec is not a setting", "tables.workers"}},
		{"duration", fileProperties(map[string]string{"fetch.deadline.ms": "1s"}), []string{`fetch.deadline.ms: "1s" is not a whole number of milliseconds`}},
		{"listener", fileProperties(map[string]string{"http.listener": "0.0.0.0:80"}), []string{"http.listener"}},
	} {
		_, err := Parse(c.properties)
		if !status.Is(err, status.Invalid) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		ok := len(lines) == len(c.faults)+1 && strings.Contains(lines[0], count(len(c.faults)))
		for i := 0; ok && i < len(c.faults); i++ {
			ok = strings.HasPrefix(lines[i+1], "  "+Prefix+c.faults[i])
		}
		if !ok {
			t.Errorf("%s: %s\nwant %q", c.name, err, c.faults)
		}
		if strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: a secret is in the error: %v", c.name, err)
		}
	}
}

func TestEffectiveConfigurationHidesSecrets(t *testing.T) {
	c, err := Parse(s3Properties(nil))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(effective(&c), "\n")
	for _, want := range []string{"store.s3.bucket=lake", "tables.linger.ms=2000", "store.s3.secret.key=[redacted]"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "hunter") {
		t.Errorf("a secret is shown:\n%s", text)
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	var c Config
	seen := map[string]bool{}
	for _, s := range settings(reflect.ValueOf(&c).Elem()) {
		if len(s.doc) < 20 || !strings.HasSuffix(s.doc, ".") {
			t.Errorf("%s: %q is no description", s.key, s.doc)
		}
		if seen[s.key] {
			t.Errorf("%s is there twice", s.key)
		}
		seen[s.key] = true
		if strings.HasSuffix(s.key, ".ms") != (s.unit == "milliseconds") {
			t.Errorf("%s is in %s", s.key, s.unit)
		}
	}
}

func TestWhere(t *testing.T) {
	for want, p := range map[string]map[string]string{
		"file:///srv/tidemark":            fileProperties(nil),
		"s3://lake":                       s3Properties(nil),
		"s3://lake at http://127.0.0.1:1": s3Properties(map[string]string{"store.s3.endpoint": "http://127.0.0.1:1"}),
	} {
		c, err := Parse(p)
		if err != nil || c.where() != want {
			t.Errorf("%q, %v; want %q", c.where(), err, want)
		}
	}
}
