package builtin

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tidemark/catalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
)

// namesPrefix starts the keys of all name claims: <namespace>/<name in lower case>/<number, 10 digits>.
const namesPrefix = "catalog/names/"

const (
	maxName  = 200  // characters; engines and file systems take 255, and derived names add a suffix
	listPage = 1000 // objects per List call
)

// quarantineSuffix is added to a main table's name for its quarantine table.
const quarantineSuffix = "__quarantine"

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	reserved  = regexp.MustCompile(`(?i)(__quarantine|__late|__state|__p|__g[0-9]+)$`)
	notPlain  = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// TableName is the table name of a topic: characters that engines do not all take become '_'.
func TableName(topic string) string { return notPlain.ReplaceAllString(topic, "_") }

// checkName refuses what cannot be a namespace or the name of a main table.
func checkName(what, name string) error {
	switch {
	case !plainName.MatchString(name):
		return status.Errorf(status.Invalid, "%s %q: only letters, digits and '_' are allowed; give an alias", what, name)
	case len(name) > maxName:
		return status.Errorf(status.Invalid, "%s %q has %d characters, at most %d are allowed; give an alias", what, name, len(name), maxName)
	case reserved.MatchString(name):
		return status.Errorf(status.Invalid, "%s %q ends like a derived table (__quarantine, __late, __state, __p, __g<n>); give an alias", what, name)
	}
	return nil
}

// holder is the newest claim on a name.
type holder struct {
	claim
	number int64 // 0: the name was never claimed
}

// names keeps table names unique, without regard to case. Claims on a name are numbered and create-only: the newest holds the
// name, and it can be taken over only when the group it was made for has been dropped.
type names struct {
	store  objectstore.Store
	groups pointer
}

func nameKey(namespace, name string) string {
	return namesPrefix + strings.ToLower(namespace) + "/" + strings.ToLower(name) + "/"
}

// take claims a name for a generation of a group. Conflict: it belongs to another topic.
func (n *names) take(ctx context.Context, c claim) error {
	for {
		h, err := n.holder(ctx, c.Namespace, c.Name)
		if err != nil {
			return err
		}
		if h.number > 0 && h.TopicID == c.TopicID && h.Generation == c.Generation {
			return nil
		}
		if h.number > 0 && h.TopicID != c.TopicID {
			if err := n.free(ctx, h.claim, c); err != nil {
				return err
			}
		}
		data, err := encodeRecord(nameKind, c)
		if err != nil {
			return err
		}
		k := fmt.Sprintf("%s%010d", nameKey(c.Namespace, c.Name), h.number+1)
		_, err = n.store.Put(ctx, k, bytes.NewReader(data), objectstore.Condition{Absent: true})
		if err != nil && !status.Is(err, status.Conflict) {
			return status.Wrapf(err, "claim table name %s.%s", c.Namespace, c.Name)
		}
		// Ours, or somebody was faster: the next look decides. Each turn sees a higher number, and each of those is another
		// writer's success, so this ends.
	}
}

// free fails unless the claim h no longer holds its name.
func (n *names) free(ctx context.Context, h, wanted claim) error {
	topic, err := topicOf(h)
	if err != nil {
		return err
	}
	s, err := n.groups.load(ctx, topic)
	switch {
	case err != nil && !status.Is(err, status.NotFound):
		return err
	case err == nil && (s.Generation > h.Generation || s.Generation == h.Generation && s.Dropped):
		return nil
	}
	return status.Errorf(status.Conflict, "table name %s.%s belongs to topic %q (id %s); drop that table first or give topic %q an alias",
		h.Namespace, h.Name, h.Topic, h.TopicID, wanted.Topic)
}

// holder finds the newest claim on a name.
func (n *names) holder(ctx context.Context, namespace, name string) (holder, error) {
	prefix := nameKey(namespace, name)
	last, after := "", ""
	for {
		page, more, err := n.store.List(ctx, prefix, after, listPage)
		if err != nil {
			return holder{}, err
		}
		if len(page) > 0 {
			last = page[len(page)-1].Key
			after = last
		}
		if !more || len(page) == 0 {
			break
		}
	}
	if last == "" {
		return holder{}, nil
	}
	return n.read(ctx, last)
}

func (n *names) read(ctx context.Context, k string) (holder, error) {
	number, err := strconv.ParseInt(k[strings.LastIndexByte(k, '/')+1:], 10, 64)
	if err != nil || number < 1 {
		return holder{}, status.Errorf(status.Corrupt, "%s is not the key of a name claim", k)
	}
	data, _, err := n.store.Get(ctx, k, recordLimit)
	if err != nil {
		return holder{}, err
	}
	h := holder{number: number}
	return h, decodeRecord(data, nameKind, k, &h.claim)
}

// holders are the newest claims on all names whose keys start with prefix, in name order.
func (n *names) holders(ctx context.Context, prefix string) ([]holder, error) {
	var newest []string
	after := ""
	for {
		page, more, err := n.store.List(ctx, prefix, after, listPage)
		if err != nil {
			return nil, err
		}
		for _, o := range page {
			after = o.Key
			if last := len(newest) - 1; last >= 0 && directory(newest[last]) == directory(o.Key) {
				newest[last] = o.Key
				continue
			}
			newest = append(newest, o.Key)
		}
		if !more || len(page) == 0 {
			break
		}
	}
	out := make([]holder, 0, len(newest))
	for _, k := range newest {
		h, err := n.read(ctx, k)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

func directory(k string) string { return k[:strings.LastIndexByte(k, '/')+1] }

// topicOf reads the topic id of a claim.
func topicOf(c claim) (catalog.TopicID, error) {
	id, ok := key.ParseUUID(c.TopicID)
	if !ok {
		return catalog.TopicID{}, status.Errorf(status.Corrupt, "the claim on table name %s.%s names topic id %q", c.Namespace, c.Name, c.TopicID)
	}
	return id, nil
}
