// Package key is the layout of object keys and the escaping of names within them.
//
// # Guarantees
//
// Distinct input gives distinct keys, and what was put in can be read back: [Escape] has the inverse [Unescape], [UUID]
// has [ParseUUID], [Segment] has [ParseSegment]. The inverses accept only what their counterpart writes. No key made
// here holds an empty part, a part that starts with a dot, a slash within a part, or a character that a URI would have
// to encode, so a key inside an address needs no decoding by any engine.
//
//	segments/<topic id>/<partition>/<base offset, 20 digits>-<segment id>.log      the segment's bytes
//	segments/<topic id>/<partition>/<base offset, 20 digits>-<segment id>.sidecar  its indexes and manifest
//	catalog/groups/<topic id>                                                      the group of tables of a topic
//	tables/<topic id>/<role>/<generation>                                          one table: data/ and metadata/ below it
//	clusters/<cluster id, escaped>                                                 the mark of a cluster that uses the prefix
//
// Ids are written as Kafka writes them: 22 characters of unpadded base64url.
//
// # Not its job
//
// Reading or writing objects; what the objects hold.
//
// # Concurrency
//
// Pure functions.
//
// # Entry points
//
// [Segment], [ParseSegment], [Group], [Table], [Escape].
package key
