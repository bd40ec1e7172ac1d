package keyring

import (
	"crypto/rand"

	"tidemark/internal/status"
)

const (
	nonceBytes = 12
	tagBytes   = 16

	// WrappedBytes is the size of a wrapped data key: nonce, encrypted key, tag.
	WrappedBytes = nonceBytes + keyBytes + tagBytes
)

// magic separates wrapped keys from everything else that a key may ever authenticate, and is their version.
const magic = "TIDEKEY1"

// bound is the additional data of a wrapped key. The length in front of the id keeps id and aad apart.
func bound(id string, aad []byte) []byte {
	out := make([]byte, 0, len(magic)+1+len(id)+len(aad))
	out = append(out, magic...)
	out = append(out, byte(len(id)))
	out = append(out, id...)
	return append(out, aad...)
}

// wrap encrypts a data key. A nonce must never be used twice with one key.
func (k *key) wrap(nonce *[nonceBytes]byte, dataKey, aad []byte) []byte {
	out := make([]byte, nonceBytes, WrappedBytes)
	copy(out, nonce[:])
	return k.aead.Seal(out, nonce[:], dataKey, bound(k.id, aad))
}

// Wrap encrypts a data key of 32 bytes under the key keyID, mostly [Ring.Active], and binds it to aad, which says what the
// data key is for. The result is [WrappedBytes] long and the caller's, as the arguments are. The nonce is random: wrap
// fewer than 2^32 data keys under one key.
//
// Errors: Invalid for an id that the ring does not have, Internal for a data key of another size.
func (r *Ring) Wrap(keyID string, dataKey, aad []byte) ([]byte, error) {
	if len(dataKey) != keyBytes {
		return nil, status.Errorf(status.Internal, "a data key of %d bytes was to be wrapped: it must have %d", len(dataKey), keyBytes)
	}
	k, err := r.find(keyID)
	if err != nil {
		return nil, err
	}
	var nonce [nonceBytes]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, status.Errorf(status.Internal, "random bytes: %w", err)
	}
	return k.wrap(&nonce, dataKey, aad), nil
}

// Unwrap returns the data key that was wrapped under the key keyID for aad. The result is the caller's. An id that the
// ring does not have makes it read the file again, at most once in a second.
//
// Errors: Invalid for an id that the file does not have, which says how to bring it back; Corrupt for a wrapped key that
// does not open, or bytes that cannot be an id or a wrapped key.
func (r *Ring) Unwrap(keyID string, wrapped, aad []byte) ([]byte, error) {
	if len(wrapped) != WrappedBytes {
		return nil, status.Errorf(status.Corrupt, "a wrapped data key of %d bytes: it must have %d", len(wrapped), WrappedBytes)
	}
	if !validID(keyID) {
		return nil, status.Errorf(status.Corrupt, "a data key is wrapped under %d bytes that are not the id of a key", len(keyID))
	}
	k, err := r.find(keyID)
	if err != nil {
		return nil, err
	}
	dataKey, err := k.aead.Open(make([]byte, 0, keyBytes), wrapped[:nonceBytes], wrapped[nonceBytes:], bound(k.id, aad))
	if err != nil {
		return nil, status.Errorf(status.Corrupt, "the data key does not open with key %q of %s: either the file has another key under this id than "+
			"when the segment was stored (put the earlier one back), or the wrapped key or what it is bound to is damaged", keyID, r.path)
	}
	return dataKey, nil
}
