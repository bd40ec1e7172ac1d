package faultproxy

import "time"

// Fault is what happens to a request. Fields combine where that makes sense: a latency before a status, a slow body that stalls.
// Faults of the request come first; a fault of the reply needs a request that was sent on.
type Fault struct {
	// Latency delays the request before it is sent on or answered: Latency ± Jitter, evenly distributed.
	Latency, Jitter time.Duration

	// Status is answered in place of the server, with an XML error of the given code; the body of the request was read.
	// Code is S3's word, for instance SlowDown; "" takes the usual one.
	Status     int
	Code       string
	RetryAfter time.Duration // the header, in whole seconds
	Location   string        // the header of a redirect
	Date       time.Duration // how far the Date of the answer is from now

	// BlackHole takes the connection and neither reads nor answers until the client gives up or the proxy is closed.
	BlackHole bool
	// Reset ends the connection with an RST at a point.
	Reset Point
	// LostReply lets the server apply the request, takes its whole reply and resets the connection.
	LostReply bool

	// StallHeaders holds the reply back, and StallBody the rest of its body after After bytes, for this long.
	StallHeaders, StallBody time.Duration
	// BytesPerSecond is the pace of the bodies of request and reply.
	BytesPerSecond int

	// After is where in the body a reset, a stall, a cut or a flipped bit lies. Beyond the end of the body it is the last byte.
	After int64
	// Truncate ends the connection after After bytes of the body, although its length was announced.
	Truncate bool
	// Resize makes the body longer (zeros) or shorter, with a Content-Length that agrees.
	Resize int64
	// Flip changes one bit of the byte at After.
	Flip bool
	// ShiftRange moves the Content-Range of the reply by this many bytes; the body stays.
	ShiftRange int64
	// IgnoreRange answers a range GET with 200 and, with Options.Object, the whole object; without it with the range's bytes.
	IgnoreRange bool
}

// Point is where a connection is reset.
type Point string

// The points. Only at InReply and InReplyBody has the server applied the request.
const (
	Nowhere       Point = ""
	AtRequest     Point = "request"      // after the request's headers
	InRequestBody Point = "request-body" // after After bytes of the request's body
	BeforeAck     Point = "before-ack"   // after the last byte of the request, which the server has not seen
	InReply       Point = "reply"        // in the middle of the reply's headers
	InReplyBody   Point = "reply-body"   // after After bytes of the reply's body
)

// usual words for a status.
var codes = map[int]string{400: "BadRequest", 401: "Unauthorized", 403: "AccessDenied", 404: "NoSuchKey", 409: "ConditionalRequestConflict", 412: "PreconditionFailed",
	416: "InvalidRange", 429: "TooManyRequests", 500: "InternalError", 501: "NotImplemented", 502: "BadGateway", 503: "SlowDown", 504: "GatewayTimeout"}

func (f Fault) code() string {
	if f.Code != "" {
		return f.Code
	}
	if c, ok := codes[f.Status]; ok {
		return c
	}
	return "InternalError"
}

// pass reports whether the reply goes through unchanged and unhurried.
func (f Fault) pass() bool {
	return f.StallHeaders == 0 && f.StallBody == 0 && f.BytesPerSecond == 0 && !f.Truncate && f.Resize == 0 && !f.Flip && f.ShiftRange == 0 &&
		!f.IgnoreRange && !f.LostReply && f.Reset == Nowhere
}
