package s3

import (
	"strings"
	"testing"
)

func TestValidateListsAllFaults(t *testing.T) {
	if faults := testConfig("http://127.0.0.1:9000").Validate(); len(faults) > 0 {
		t.Errorf("a right configuration has faults: %q", faults)
	}
	c := Config{Bucket: "a/b", Prefix: "/x/", Endpoint: "http://user:hunter2@host/path", Credentials: "magic", ProfileName: "p", PartSize: 1, Concurrency: 0}
	faults := c.Validate()
	for _, name := range []string{"store.s3.bucket", "store.s3.prefix", "store.s3.endpoint", "store.s3.credentials", "store.s3.profile",
		"store.s3.part.bytes", "store.s3.single.put.below.bytes", "store.s3.part.concurrency", "store.s3.connections.max"} {
		found := false
		for _, f := range faults {
			found = found || strings.HasPrefix(f, name+":")
		}
		if !found {
			t.Errorf("no fault of %s in %q", name, faults)
		}
	}
	if strings.Contains(strings.Join(faults, ""), "hunter2") {
		t.Errorf("a fault shows a password: %q", faults)
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.SecretKey = "" },
		func(c *Config) { c.Credentials = Default },
		func(c *Config) { c.Endpoint = "" },
		func(c *Config) { c.Prefix = "a/../b" },
		func(c *Config) { c.Prefix = strings.Repeat("x", maxPrefix+1) },
		func(c *Config) { c.Endpoint = "ftp://host" },
		func(c *Config) { c.Endpoint = "host:9000" },
		func(c *Config) { c.Endpoint = "http://host/?x=y" },
	} {
		c := testConfig("http://127.0.0.1:9000")
		change(&c)
		if faults := c.Validate(); len(faults) != 1 {
			t.Errorf("%+v: faults %q", c, faults)
		}
	}
}
