package broker

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/integration/objectserver"
)

func TestForeignPropertiesAreFilled(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p")
	text := "# a plugin\n\nremote.log.storage.manager.class.name = a.B\nrsm.config.endpoint={endpoint}\nrsm.config.bucket={bucket}\n" +
		"rsm.config.key.prefix={prefix}/\nrsm.config.where={dir}/x\nremote.log.manager.task.interval.ms=500\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := &objectserver.Server{Endpoint: "http://e:1", Bucket: "b"}
	p, err := Foreign("foreign", filepath.Join(dir, "libs"), file, server)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]string{
		"remote.log.storage.manager.class.name": "a.B", "rsm.config.endpoint": "http://e:1", "rsm.config.bucket": "b", "rsm.config.where": "{dir}/x",
		"remote.log.manager.task.interval.ms": "500", "remote.log.storage.system.enable": "true",
		"remote.log.storage.manager.class.path": filepath.Join(dir, "libs", "*"),
	} {
		if p.Properties[k] != want {
			t.Errorf("%s is %q, want %q", k, p.Properties[k], want)
		}
	}
	if got := Fill("{prefix}/", server, "", "/a/b"); got != "a/b/" {
		t.Errorf("a prefix became %q", got)
	}
	if err := os.WriteFile(file, []byte("a=b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Foreign("foreign", dir, file, server); err == nil {
		t.Error("properties without a class were taken")
	}
}
