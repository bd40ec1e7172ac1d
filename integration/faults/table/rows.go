package table

// Row is one fault.
type Row struct {
	ID    string
	Fault string
	Must  string // what must happen
	Note  string // how the test differs from the fault as it is in the world; "" does not
}

// Test is the name of the row's test.
func (r Row) Test() string { return "TestStore/" + r.ID }

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
}
