package keyring

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"

	"tidemark/internal/status"
)

const (
	keyBytes = 32 // AES-256
	maxID    = 64
	version  = "1"
)

// key is one key-encryption key. It holds what can use the key and what tells it from another, and not its bytes.
type key struct {
	id   string
	line int
	aead cipher.AEAD
	sum  [sha256.Size]byte
}

// Format prints the id for every verb, so that no key shows up in a dump of what holds it.
func (k *key) Format(f fmt.State, _ rune) { io.WriteString(f, "key "+k.id) }

// keys is the content of one file: at least one key, one of them active.
type keys struct {
	active string
	byID   map[string]*key
}

// Format prints how many keys there are.
func (k *keys) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d keys", len(k.byID)) }

// fault is what is wrong with a file. Its text never holds a part of a line.
func fault(line int, text string, more ...any) error {
	text = fmt.Sprintf(text, more...)
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	return status.Errorf(status.Invalid, "%s", text)
}

// parser is what was read up to one line.
type parser struct {
	keys
	line       int // of the line that is read
	versioned  bool
	activeLine int
	bySum      map[[sha256.Size]byte]*key
}

// parse reads the text of a key ring file (docs/format/keyring.md). It keeps nothing of data. Errors are Invalid and
// name lines without quoting them.
func parse(data []byte) (*keys, error) {
	p := &parser{keys: keys{byID: map[string]*key{}}, bySum: map[[sha256.Size]byte]*key{}}
	for text := range bytes.Lines(data) {
		p.line++
		text = bytes.Trim(text, " \t\r\n")
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		name, value, ok := bytes.Cut(text, []byte{'='})
		if !ok {
			return nil, fault(p.line, "neither empty nor a comment (#) nor 'name = value'")
		}
		if err := p.setting(bytes.Trim(name, " \t"), bytes.Trim(value, " \t")); err != nil {
			return nil, err
		}
	}
	switch {
	case !p.versioned:
		return nil, fault(0, "it is empty: it begins with 'version = 1' and holds 'active = ID' and at least one 'ID = KEY'")
	case len(p.byID) == 0:
		return nil, fault(0, "it holds no key: add one as 'ID = KEY', KEY from 'openssl rand -base64 32'")
	case p.activeLine == 0:
		return nil, fault(0, "it does not say which key is active: add 'active = ID'")
	case p.byID[p.active] == nil:
		return nil, fault(p.activeLine, "active names a key that the file does not hold: add that key, or name one of those it holds")
	}
	return &p.keys, nil
}

// setting takes one line.
func (p *parser) setting(name, value []byte) error {
	switch {
	case string(name) == "version":
		if p.versioned {
			return fault(p.line, "a second version")
		}
		if string(value) != version {
			return fault(p.line, "a version of this file that this release does not know: it reads version 1")
		}
		p.versioned = true
		return nil
	case !p.versioned:
		return fault(p.line, "the first line that is no comment must be 'version = 1'")
	case string(name) == "active":
		if p.activeLine != 0 {
			return fault(p.line, "active is set in line %d already", p.activeLine)
		}
		if !validID(string(value)) {
			return fault(p.line, "active is not the id of a key: 1 to %d letters, digits, '.', '_' and '-'", maxID)
		}
		p.active, p.activeLine = string(value), p.line
		return nil
	}
	return p.key(string(name), value)
}

// key takes one line with a key.
func (p *parser) key(id string, text []byte) error {
	if !validID(id) {
		return fault(p.line, "the id of a key is 1 to %d letters, digits, '.', '_' and '-'", maxID)
	}
	if other := p.byID[id]; other != nil {
		return fault(p.line, "the id of line %d again: each key has an id of its own", other.line)
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	defer clear(raw)
	n, err := base64.StdEncoding.Strict().Decode(raw, text)
	if err != nil {
		return fault(p.line, "not a key in base64: a key is one line as 'openssl rand -base64 32' prints it, with nothing behind it")
	}
	if n != keyBytes {
		return fault(p.line, "a key of %d bytes: it has %d, as from 'openssl rand -base64 32'", n, keyBytes)
	}
	if bytes.Count(raw[:n], raw[:1]) == n {
		return fault(p.line, "a key whose bytes are all the same is no secret: take one from 'openssl rand -base64 32'")
	}
	k := &key{id: id, line: p.line, sum: sha256.Sum256(raw[:n])}
	if other := p.bySum[k.sum]; other != nil {
		return fault(p.line, "the key of line %d again under another id: each id has a key of its own", other.line)
	}
	block, err := aes.NewCipher(raw[:n])
	if err != nil {
		return status.Errorf(status.Internal, "AES with %d bytes: %w", n, err)
	}
	if k.aead, err = cipher.NewGCM(block); err != nil {
		return status.Errorf(status.Internal, "AES-GCM: %w", err)
	}
	p.byID[id], p.bySum[k.sum] = k, k
	return nil
}

// validID reports whether a key can have this id. The words of the file are none.
func validID(id string) bool {
	if len(id) == 0 || len(id) > maxID || id == "version" || id == "active" {
		return false
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
