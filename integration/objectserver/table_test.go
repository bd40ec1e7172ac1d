package objectserver

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

var update = flag.Bool("update", false, "rewrite the table in docs/stores.md")

// capabilities are the rows of the table in docs/stores.md, in its order. ask tries one on a store below an empty prefix and says what
// came of it in the words of the table; of a server it may open stores with other settings.
var capabilities = []struct {
	name string
	ask  func(w *witness) string
}{
	{"create only if absent, one winner of 16", func(w *witness) string {
		return w.race(func(key string, _ string) objectstore.Condition { return objectstore.Condition{Absent: true} })
	}},
	{"replace only if unchanged, one winner of 16", func(w *witness) string {
		return w.race(func(_ string, etag string) objectstore.Condition { return objectstore.Condition{Match: etag} })
	}},
	{"`a` beside `a/b`", func(w *witness) string {
		w.put("n/a")
		_, err := w.Put(w.t.Context(), "n/a/b", strings.NewReader("x"), objectstore.Condition{})
		return outcome(err)
	}},
	{"order of listings", func(w *witness) string {
		w.put("l/a/b")
		w.put("l/a-b")
		page, _, err := w.List(w.t.Context(), "l/", "", 10)
		if err != nil || len(page) != 2 {
			return fmt.Sprintf("%d objects, %v", len(page), err)
		}
		if page[0].Key == "l/a-b" {
			return "by key"
		}
		return "directory by directory"
	}},
	{"removal of 1000 keys in one call, absent ones too", func(w *witness) string {
		keys := make([]string, 1000)
		for i := range keys {
			keys[i] = fmt.Sprint("d/", i)
		}
		w.put(keys[7])
		if err := w.Delete(w.t.Context(), keys...); err != nil {
			return outcome(err)
		}
		_, err := w.Head(w.t.Context(), keys[7])
		return map[bool]string{true: "yes", false: "the object is still there"}[status.Is(err, status.NotFound)]
	}},
	{"CRC32C of uploads checked", ofServers(func(w *witness) string {
		if strings.Contains(w.opened(nil, func(st *s3.Store) error {
			_, err := st.Put(w.t.Context(), "sum", strings.NewReader("x"), objectstore.Condition{})
			return err
		}), "checksum=crc32c") {
			return "yes"
		}
		return "no"
	})},
	{"MD5, no checksum, unsigned payload over http", ofServers(func(w *witness) string {
		for _, mode := range []string{s3.MD5, s3.None} {
			if err := w.with(func(c *s3.Config) { c.Checksum, c.SignPayload = mode, false }, func(st *s3.Store) error {
				_, err := st.Put(w.t.Context(), "sum", strings.NewReader("x"), objectstore.Condition{})
				return err
			}); err != nil {
				return outcome(err)
			}
		}
		return "taken"
	})},
	{"unfinished uploads are listed", func(w *witness) string {
		up, ok := objectstore.UploadsOf(w.Store)
		if !ok {
			return "has none"
		}
		_, _, err := up.ListUploads(w.t.Context(), "", 1)
		return outcome(err)
	}},
	{"unknown access key: reply to a GET", ofServers(func(w *witness) string { return w.refused("GET", func(c *s3.Config) { c.AccessKey = "nobody" }) })},
	{"unknown access key: reply to a HEAD", ofServers(func(w *witness) string { return w.refused("HEAD", func(c *s3.Config) { c.AccessKey = "nobody" }) })},
	{"wrong secret: reply to a GET", ofServers(func(w *witness) string { return w.refused("GET", func(c *s3.Config) { c.SecretKey = "wrong" }) })},
	{"upload to a bucket that does not exist", ofServers(func(w *witness) string {
		return strings.Replace(outcome(w.with(func(c *s3.Config) { c.Bucket = "none" }, func(st *s3.Store) error {
			_, err := st.Put(w.t.Context(), "a", strings.NewReader("x"), objectstore.Condition{})
			return err
		})), "yes", "makes it", 1)
	})},
	{"clock 20 minutes off: first request, then the next", ofServers(func(w *witness) string {
		clock(w.t, 20*time.Minute)
		var first, second error
		_ = w.with(nil, func(st *s3.Store) error {
			_, _, first = st.Get(w.t.Context(), "none", 1)
			_, _, second = st.Get(w.t.Context(), "none", 1)
			return nil
		})
		return fmt.Sprintf("%v, %v", status.Of(first), status.Of(second))
	})},
}

// witness is a store that is asked, and the server behind it if there is one.
type witness struct {
	objectstore.Store
	t      *testing.T
	server *Server
}

func (w *witness) put(key string) string {
	w.t.Helper()
	info, err := w.Put(w.t.Context(), key, strings.NewReader("x"), objectstore.Condition{})
	if err != nil {
		w.t.Fatalf("put %s: %v", key, err)
	}
	return info.ETag
}

// race lets 16 put one object under a condition.
func (w *witness) race(condition func(key, etag string) objectstore.Condition) string {
	key := "race/" + fmt.Sprint(time.Now().UnixNano())
	cond := condition(key, "")
	if !cond.Absent {
		cond = condition(key, w.put(key))
	}
	errs := make([]error, 16)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = w.Put(w.t.Context(), key, strings.NewReader(fmt.Sprint("writer ", i)), cond)
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if status.Is(err, status.Unsupported) {
			return outcome(err)
		}
	}
	if won != 1 {
		return fmt.Sprintf("%d winners", won)
	}
	return "yes"
}

// with opens a store with other settings for a call.
func (w *witness) with(change func(*s3.Config), call func(*s3.Store) error) error {
	return call(store(w.t, w.server, "table", change))
}

// opened returns what a store logs during a call.
func (w *witness) opened(change func(*s3.Config), call func(*s3.Store) error) string {
	var log bytes.Buffer
	c := w.server.Config("table")
	c.Checksum = s3.Auto
	st, err := s3.Open(w.t.Context(), c, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		w.t.Fatal(err)
	}
	defer st.Close()
	if err := call(st); err != nil {
		return err.Error()
	}
	return log.String()
}

// refused is the status, the name and the class of a reply.
func (w *witness) refused(method string, change func(*s3.Config)) string {
	err := w.with(change, func(st *s3.Store) (err error) {
		if method == "HEAD" {
			_, err = st.Head(w.t.Context(), "a")
		} else {
			_, _, err = st.Get(w.t.Context(), "a", 1)
		}
		return err
	})
	if err == nil {
		return "taken"
	}
	_, reply, _ := strings.Cut(err.Error(), " answered ")
	reply, _, _ = strings.Cut(reply, " (request")
	reply, _, _ = strings.Cut(reply, ":")
	return fmt.Sprintf("%s: %v", reply, status.Of(err))
}

// ofServers is a row about S3 alone.
func ofServers(ask func(*witness) string) func(*witness) string {
	return func(w *witness) string {
		if w.server == nil {
			return "–"
		}
		return ask(w)
	}
}

func outcome(err error) string {
	if err == nil {
		return "yes"
	}
	return fmt.Sprintf("refused as %v", status.Of(err))
}

// The table of docs/stores.md is what the stores do.
func TestTableOfStores(t *testing.T) {
	directory, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer directory.Close()
	weed, versity := run(t, Start), run(t, StartVersity)
	stores := []struct {
		name string
		*witness
	}{
		{"memory (tests)", &witness{Store: storetest.NewMemory()}}, {"directory", &witness{Store: directory}},
		{"SeaweedFS 4.48", &witness{Store: store(t, weed, "table", nil), server: weed}},
		{"versitygw " + strings.TrimPrefix(versityVersion, "v"), &witness{Store: store(t, versity, "table", nil), server: versity}},
	}
	head, line := []string{""}, []string{"---"}
	for _, s := range stores {
		head, line = append(head, s.name), append(line, "---")
	}
	rows := []string{row(head), row(line)}
	for _, c := range capabilities {
		cells := []string{c.name}
		for _, s := range stores {
			t.Run(c.name+" on "+s.name, func(t *testing.T) {
				s.t = t
				cells = append(cells, c.ask(s.witness))
			})
		}
		rows = append(rows, row(cells))
	}
	compare(t, filepath.Join("..", "..", "docs", "stores.md"), rows)
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// compare looks for the table between its marks.
func compare(t *testing.T, file string, want []string) {
	const begin, end = "<!-- the table: written by go test ./integration/objectserver -run TestTableOfStores -update -->\n", "<!-- end of the table -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table between its marks", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+strings.Join(want, "\n")+"\n"+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := strings.Split(strings.TrimSpace(table), "\n"); !slices.Equal(got, want) {
		t.Errorf("%s says\n%s\nthe stores do\n%s\n(-update rewrites it)", file, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
