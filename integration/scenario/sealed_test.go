package scenario

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestSealed: a broker that compresses and encrypts segments serves them byte for byte from the store alone; its key ring is rotated while it
// runs; a key that is missing is named, all else is served meanwhile, and putting the key back is enough.
func TestSealed(t *testing.T) {
	w := prepare(t, cluster.Options{Version: "4.4.0", JVMArgs: quick})
	n := w.Cluster.Nodes[0]
	ring := keyFile{w, filepath.Join(w.Cluster.Dir(), "keys")}
	first, second := newKey(t, "first"), newKey(t, "second")
	ring.write(first)
	if err := n.WriteProperties(map[string]string{"rsm.config.segment.compression": "zstd", "rsm.config.segment.encryption.keys.file": ring.path}); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(w.Ctx); err != nil {
		t.Fatal(err)
	}
	before := w.sealed("before")
	ring.write(first, second)
	w.rotated()
	after := w.sealed("after")

	if !n.Stop(time.Minute) {
		t.Fatal("the broker did not stop")
	}
	ring.write(second)
	if err := n.Start(w.Ctx); err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("key %q is not in %s: add its line again", "first", ring.path)
	cl := w.Client()
	w.Eventually(time.Minute, func() error {
		if raw, _, err := w.FetchOnce(cl, "before", 0, 0); err == nil && len(raw) > 0 {
			t.Fatalf("%d bytes came of a segment whose key is gone", len(raw))
		}
		if !strings.Contains(n.LifeLog(), said) {
			return fmt.Errorf("the log does not say: %s", said)
		}
		return nil
	})
	w.sameLog("after", after)
	ring.write(second, first) // the broker goes on
	w.sameLog("before", before)
	for _, k := range []key{first, second} {
		if strings.Contains(n.Log(), k.text) {
			t.Error("a key is in the log")
		}
	}
	w.Done("compressed and encrypted segments are read back byte for byte, across a rotation of keys and the loss of one")
}

// rotated gives the broker segments to copy until it has seen the new key ring.
func (w *world) rotated() {
	w.Helper()
	const topic = "between"
	w.Topic(topic, 1, nil)
	cl, s := w.Client(), rig.NewSeeded(3)
	w.Eventually(2*time.Minute, func() error {
		w.Fill(cl, s, topic, 0, 1100<<10)
		if !strings.Contains(w.Cluster.Nodes[0].LifeLog(), "keyring.reloaded") {
			return fmt.Errorf("the broker has not taken the new key ring")
		}
		return nil
	})
}

// sealed produces a topic of every kind of batch, tiers all of it and reads it back from the store alone. It returns its log.
func (w *world) sealed(topic string) rig.Saved {
	w.Helper()
	w.Topic(topic, 1, nil)
	_, id := w.TopicID(topic)
	w.produceMixed(topic, 1)
	files := w.Save(topic)
	plain := []byte("compressible compressible ")
	if !bytes.Contains(files.Whole(0), plain) {
		w.Fatal("no readable bytes in the local log, so nothing is proved")
	}
	w.TierAll(topic)
	var stored int
	for _, s := range w.Stored(id) {
		object, err := os.ReadFile(s.Log)
		if err != nil {
			w.Fatal(err)
		}
		if bytes.Contains(object, plain) {
			w.Errorf("%s has readable bytes", s.Log)
		}
		stored += len(object)
	}
	if size := len(files.Whole(0)); stored == 0 || stored >= size {
		w.Errorf("%d bytes of log are stored as %d", size, stored)
	}
	w.sameLog(topic, files)
	return files
}

func (w *world) sameLog(topic string, want rig.Saved) {
	w.Helper()
	if d := rig.Different(w.FetchAll(topic, 0), want.Whole(0)); d != "" {
		w.Errorf("%s: what Fetch returns differs from the local log: %s", topic, d)
	}
}

// key is one line of a key ring.
type key struct{ id, text string }

func newKey(t *testing.T, id string) key {
	t.Helper()
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		t.Fatal(err)
	}
	return key{id, base64.StdEncoding.EncodeToString(raw)}
}

// keyFile is a key ring that is replaced as an operator does it.
type keyFile struct {
	*world
	path string
}

// write replaces the file; the last key is the active one.
func (f keyFile) write(keys ...key) {
	f.Helper()
	text := "version = 1\nactive = " + keys[len(keys)-1].id + "\n"
	for _, k := range keys {
		text += k.id + " = " + k.text + "\n"
	}
	if err := os.WriteFile(f.path+".new", []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(f.path+".new", f.path); err != nil {
		f.Fatal(err)
	}
}
