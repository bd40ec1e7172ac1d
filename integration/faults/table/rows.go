package table

// Row is one fault.
type Row struct {
	ID    string
	Fault string
	Must  string // what must happen
	Note  string // how the test differs from the fault as it is in the world; "" does not
}

// Store tells a fault of the store from a crash of the broker.
func (r Row) Store() bool { return r.ID[0] == 'S' }

// Test is the name of the row's test.
func (r Row) Test() string {
	if r.Store() {
		return "TestStore/" + r.ID
	}
	return "TestPoints/" + r.ID
}

// Replay is the command that runs the row alone.
func (r Row) Replay() string { return "make faults ROW=" + r.ID }

// Rows are all rows in the order of the table. Every row also demands: no call outlives its deadline and clean-up; what is read is equal
// to what was copied or an error; a failed copy leaves no object and no upload; after the fault the next attempt succeeds; no copy is in
// flight at the end and the instance closes in time.
var Rows = []Row{
	{"S1", "500, 502 or 503 once, on each operation", "one extra request for the one that failed, no other is made twice, at most one WARN", ""},
	{"S2", "503 SlowDown on everything", "the copy fails at its deadline as Throttled, fewer calls are allowed at once, requests stay within the retry budget; all calls allowed again within a minute after", "scaled: 3 s for 5 min, and no producers"},
	{"S3", "5xx on everything for long", "requests stay within the retry budget, nothing is lost, the backlog is copied after", "scaled: 5 s for 1 h"},
	{"S4", "1 KB/s body, stall in mid-body", "the read does not wait for the stalled body, by a second GET or, without that, by asking for the rest from the byte reached; a stalled part is sent again", ""},
	{"S5", "connection refused, no such host, broken TLS handshake, black hole", "every call returns by its deadline and clean-up; other partitions go on", ""},
	{"S6", "reset before, in and after the bytes of requests and replies", "what failed is repeated; the object is whole and stored once", ""},
	{"S7", "parts acknowledged; the completion fails, or its reply is lost", "the completion is repeated, no part is sent again; an object that is there is recognised by its checksum; else Unknown and the upload is aborted", ""},
	{"S8", "truncated, zero-length or longer object", "Corrupt, counted, never short data; whole again, it is read", "a longer object is Corrupt or gives the right bytes: its tail is never asked for"},
	{"S9", "bit flip in log object, sidecar, on the way, in the disk cache", "Corrupt if it stays; on the way or in the cache it is fetched again silently", ""},
	{"S10", "404 on a referenced object", "NotFound; other segments are read", ""},
	{"S11", "403; credentials expired or rotated in mid-upload", "refreshed once if they can be, else Invalid with what to check; recovers without restart", ""},
	{"S12", "skewed signature, redirect, wrong region", "skew corrected from the reply's Date; else Invalid that names the setting; no redirect is followed", "the store is not asked at the start: the error comes with the first call"},
	{"S13", "LIST fails or is stale", "copy, read, index and delete make no LIST", ""},
	{"S14", "412 on a create-only put; its reply is lost", "Conflict and the object is as before; Unknown after a lost reply, never repeated", "equal content is recognised by the callers of the store"},
	{"S15", "delete answered 5xx, reset, reply lost; restart in between", "the broker's call has returned; removal goes on until the objects are gone", "errors of single keys in a batch: unit test of internal/objectstore/s3"},
	{"S16", "wrong Content-Range, 200 to a ranged GET, wrong length", "detected; once: fetched again; always: an error, never wrong data", ""},
	{"S17", "all kept-alive connections dropped at once under load", "all reads succeed, connections stay within store.s3.connections.max, retries within the budget", "scaled: 8 connections and 32 readers for 10 000"},
	{"C1", "SIGKILL before COPY_STARTED", "copied after the restart, no orphan", ""},
	{"C2", "SIGKILL after COPY_STARTED, before the first byte", "copied under a new id; the record of the first is harmless and goes with the topic", ""},
	{"C3", "SIGKILL inside the upload of the log object", "as C2; the upload stays until a sweep", ""},
	{"C4", "SIGKILL when the log object is complete and the sidecar is missing", "copied under a new id; the orphan is never read and goes with the topic", ""},
	{"C5", "SIGKILL inside the put of the sidecar", "as C4", ""},
	{"C6", "SIGKILL when the sidecar is complete and its put has not returned", "copied under a new id; reads use that one; the other goes with the topic", ""},
	{"C7", "SIGKILL when the copy has returned and COPY_FINISHED is not persisted", "as C6; the table has each row once", ""},
	{"C8", "SIGKILL when COPY_FINISHED is persisted and the local segment is there", "nothing is copied again, nothing changes", ""},
	{"C9", "SIGKILL during the local deletion", "read from the store", ""},
	{"E1", "SIGKILL when the tombstone is in the journal, while the store takes no delete", "the deletion is repeated and all objects go", "whether the call had returned to Kafka cannot be seen from outside: that DELETE_FINISHED was not persisted is proved"},
	{"E2", "SIGKILL when the deletion was accepted and DELETE_FINISHED is not persisted", "repeated, succeeds whatever was removed", ""},
	{"E3", "SIGKILL when the removal of objects is half done", "continued; what is missing is success", ""},
	{"E4", "journal lost with the disk", "a sweep finds the objects after the grace time", ""},
	{"F1", "SIGKILL during writes to the disk cache; torn pages", "the checksum fails, the chunk is fetched again, what is read is right", "pages are zeroed after the kill"},
	{"F2", "stop during reads ahead from a store that does not answer", "the broker exits by itself within its grace time", "60 s; SIGTERM"},
}
