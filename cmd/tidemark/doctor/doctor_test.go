package doctor

import (
	"maps"
	"strings"
	"testing"
)

func goodBroker(id int32) Broker {
	return Broker{ID: id, Host: "a", Config: map[string]string{systemEnable: "true", storageClass: plainClass, metadataClass: ourMetadata, listenerName: "PLAINTEXT",
		customBytes: "128", maxWait: "2000"}}
}

func goodTopic() Topic {
	return Topic{Name: "orders", Replicas: 3, Config: map[string]string{"cleanup.policy": "delete", "segment.bytes": "104857600", "local.retention.ms": "3600000",
		"local.retention.bytes": "-2", "retention.ms": "604800000", "retention.bytes": "-1"},
		Partitions: []Partition{{Start: 0, LocalStart: 50, End: 100, Tiered: 80, LocalBytes: 300 << 20}}}
}

func good() Facts {
	return Facts{Brokers: []Broker{goodBroker(1), goodBroker(2), goodBroker(3)}, Topics: []Topic{goodTopic()},
		MetadataTopic: &Topic{Name: "__remote_log_metadata", Replicas: 3, Config: map[string]string{"cleanup.policy": "delete", "min.insync.replicas": "2", "retention.ms": "-1"}},
		Properties: map[string]string{"rsm.config.store.type": "file", "log.dirs": "/d1,/d2", "rsm.config.local.dir": "/var/lib/tidemark", "rsm.config.store.path": "/d22",
			"rsm.config.http.listener": "127.0.0.1:1"}}
}

func TestNothingIsFoundInAGoodCluster(t *testing.T) {
	if found := Examine(good()); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	if found := Examine(Facts{}); len(found) != 0 {
		t.Errorf("of nothing: %+v", found)
	}
}

// Each planted fault is found, as what it is and where it is, and nothing else is.
func TestEveryFault(t *testing.T) {
	broker := func(key, value string) func(*Facts) {
		return func(f *Facts) { f.Brokers[1].Config[key] = value }
	}
	topic := func(key, value string) func(*Facts) {
		return func(f *Facts) { f.Topics[0].Config[key] = value }
	}
	metadata := func(key, value string) func(*Facts) {
		return func(f *Facts) { f.MetadataTopic.Config[key] = value }
	}
	property := func(key, value string) func(*Facts) {
		return func(f *Facts) { f.Properties[key] = value }
	}
	for _, c := range []struct {
		name     string
		plant    func(*Facts)
		severity Severity
		where    string
		what     string
	}{
		{"off", broker(systemEnable, "false"), Error, "broker 2", systemEnable},
		{"another plugin", broker(storageClass, "io.aiven.X"), Error, "broker 2", "io.aiven.X"},
		{"storage class path", broker(storagePath, "/x"), Warn, "broker 2", storagePath},
		{"metadata class path", broker(metadataPath, "/x"), Error, "broker 2", metadataPath},
		{"stock metadata manager", broker(metadataClass, "org.apache"), Notice, "broker 2", metadataClass},
		{"listener", broker(listenerName, ""), Error, "broker 2", listenerName},
		{"custom metadata", broker(customBytes, "64"), Error, "broker 2", "64"},
		{"wait", broker(maxWait, "500"), Warn, "broker 2", maxWait},
		{"metadata replicas", func(f *Facts) { f.MetadataTopic.Replicas = 1 }, Error, "__remote_log_metadata", "1 replicas"},
		{"metadata isr", metadata("min.insync.replicas", "1"), Warn, "__remote_log_metadata", "min.insync"},
		{"metadata compacted", metadata("cleanup.policy", "compact"), Error, "__remote_log_metadata", "compact"},
		{"metadata retention", metadata("retention.ms", "604800000"), Error, "__remote_log_metadata", "604800000"},
		{"compacted", topic("cleanup.policy", "compact,delete"), Error, "topic orders", "compact"},
		{"small segments", topic("segment.bytes", "1048576"), Warn, "topic orders", "1048576"},
		{"kept twice", topic("local.retention.ms", "-2"), Warn, "topic orders", "as long as"},
		{"size only", func(f *Facts) { topic("local.retention.ms", "-2")(f); topic("local.retention.bytes", "1")(f) }, Notice, "topic orders", "local.retention.bytes"},
		{"retention.bytes", topic("retention.bytes", "1000000000"), Notice, "topic orders", "retention.bytes"},
		{"not tiered", func(f *Facts) { f.Topics[0].Partitions[0].Tiered = -1 }, Error, "orders-0", "nothing is tiered"},
		{"file store of two hosts", func(f *Facts) { f.Brokers[0].Host = "b" }, Error, "server.properties", "2 hosts"},
		{"store in a log dir", property("rsm.config.store.path", "/d2/store"), Error, "server.properties", "store.path"},
		{"local.dir is a log dir", property("rsm.config.local.dir", "/d1/"), Error, "server.properties", "local.dir"},
		{"no listener", property("rsm.config.http.listener", ""), Notice, "server.properties", "http.listener"},
		{"faults", func(f *Facts) { f.Faults = []string{"rsm.config.x: unknown"} }, Error, "server.properties", "rsm.config.x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := good()
			c.plant(&f)
			found := Examine(f)
			if len(found) != 1 {
				t.Fatalf("%d findings: %+v", len(found), found)
			}
			got := found[0]
			if got.Severity != c.severity || !strings.Contains(got.Where, c.where) || !strings.Contains(got.What, c.what) || got.Why == "" || got.Do == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTheWorstComesFirst(t *testing.T) {
	f := good()
	f.Topics[0].Config["retention.bytes"] = "1"
	f.Brokers[0].Config[maxWait] = "500"
	f.Brokers[2].Config[listenerName] = ""
	var order []Severity
	for _, x := range Examine(f) {
		order = append(order, x.Severity)
	}
	if len(order) != 3 || order[0] != Error || order[1] != Warn || order[2] != Notice {
		t.Errorf("%v", order)
	}
}

// What brokers hide makes no rule speak.
func TestWhatIsHiddenIsNotFound(t *testing.T) {
	f := good()
	for i := range f.Brokers {
		maps.DeleteFunc(f.Brokers[i].Config, func(key, _ string) bool { return key == customBytes || key == maxWait })
	}
	f.Topics[0].Config = map[string]string{}
	f.MetadataTopic.Config = nil
	if found := Examine(f); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}
