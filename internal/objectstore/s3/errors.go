package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// call is what was tried.
type call struct {
	verb, key string
	cond      objectstore.Condition // of a put
}

func (c call) conditional() bool { return c.cond != objectstore.Condition{} }

// failed gives an error of the SDK its class and words. Only code and message of the reply are shown: its other fields hold
// the signed text on a wrong signature.
func (s *Store) failed(ctx context.Context, err error, c call) error {
	var response *smithyhttp.ResponseError // also made without a reply, with status 0
	if errors.As(err, &response) && response.Response != nil && response.HTTPStatusCode() > 0 {
		return s.refused(err, response.HTTPStatusCode(), c)
	}
	var ended *smithy.CanceledError
	var send *smithyhttp.RequestSendError
	sent := (errors.As(err, &ended) || errors.As(err, &send)) && !dialling(err)
	switch {
	case sent && c.conditional():
		return status.Errorf(status.Unknown, "%s %s: no reply from %s, the object may have been written: %s", c.verb, c.key, s.config.where(), cause(err))
	case ctx.Err() != nil:
		return status.Wrapf(ctx.Err(), "%s %s", c.verb, c.key)
	case sent:
		return status.Errorf(status.Transient, "%s %s: no reply from %s: %s", c.verb, c.key, s.config.where(), cause(err))
	case dialling(err):
		return status.Errorf(status.Transient, "%s %s: %s cannot be reached: %s", c.verb, c.key, s.config.where(), cause(err))
	}
	return status.Errorf(status.Transient, "%s %s: the request to %s could not be made: %s", c.verb, c.key, s.config.where(), cause(err))
}

// refused is the status table.
func (s *Store) refused(err error, code int, c call) error {
	var api smithy.APIError
	name, message := "", ""
	if errors.As(err, &api) {
		name, message = api.ErrorCode(), api.ErrorMessage()
	}
	class, advice := s.judge(code, name, c)
	if off := skew(err); off != 0 && (code == 401 || code == 403 || name == "RequestTimeTooSkewed") {
		class, advice = status.Transient, fmt.Sprintf("The request was signed %s the store's time. %s; what follows is signed by the store's", ahead(off), adviseClock)
	}
	text := fmt.Sprintf("%s %s: %s answered %d", c.verb, c.key, s.config.where(), code)
	if name != "" && name != strconv.Itoa(code) && name != "UnknownError" {
		text += " " + clean(name)
	}
	if message != "" && message != name {
		text += ": " + clean(message)
	}
	var withID *awshttp.ResponseError
	if errors.As(err, &withID) && withID.ServiceRequestID() != "" {
		text += " (request " + clean(withID.ServiceRequestID()) + ")"
	}
	if advice == adviseRegion || advice == adviseKeys {
		advice = elsewhere(err, s.config.Region) + advice
	}
	if advice != "" {
		text += ". " + advice
	}
	return status.Errorf(class, "%s", text)
}

// signatureLife is how far from the store's time a signature may be dated.
const signatureLife = 15 * time.Minute

// skew is how far ahead of the store's time the request was signed, 0 if that cannot be why it was refused. A refused HEAD has no words,
// and some stores call it AccessDenied: the dates of request and reply tell. The SDK takes the store's time from this reply for the
// next request.
func skew(err error) time.Duration {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil || response.Response.Request == nil {
		return 0
	}
	theirs, err := http.ParseTime(response.Response.Header.Get("Date"))
	if err != nil {
		return 0
	}
	ours, err := time.Parse("20060102T150405Z", response.Response.Request.Header.Get("X-Amz-Date"))
	if off := ours.Sub(theirs); err == nil && off.Abs() >= signatureLife-time.Minute { // a reply takes its time
		return off
	}
	return 0
}

func ahead(off time.Duration) string {
	if off < 0 {
		return (-off).String() + " behind"
	}
	return off.String() + " ahead of"
}

// elsewhere names the bucket's region if the reply does and it is another than ours.
func elsewhere(err error, ours string) string {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil {
		return ""
	}
	region := response.Response.Header.Get("X-Amz-Bucket-Region")
	if region == "" || region == ours {
		return ""
	}
	return fmt.Sprintf("The bucket is in region %s, store.s3.region is %s. ", clean(region), clean(ours))
}

// What to check, by code or status.
const (
	adviseKeys     = "Check the access key and secret (store.s3.*), that they belong to this store, and that this machine's clock is right: a signature is valid for 15 minutes"
	advisePolicy   = "The credentials are known but may not do this: check the policy of the user, role and bucket (GetObject, PutObject, DeleteObject, ListBucket, ListBucketMultipartUploads, AbortMultipartUpload) and that this machine's clock is right"
	adviseUploads  = "The credentials are known but may not do this: grant s3:ListBucketMultipartUploads on the bucket and s3:AbortMultipartUpload on its objects"
	adviseSilent   = "The reply has no words: the keys may be wrong, or not allowed to do this (store.s3.*, the policy of the user, role and bucket), or this machine's clock is"
	adviseClock    = "This machine's clock and the store's differ: check NTP"
	adviseRegion   = "The bucket is elsewhere: check store.s3.region and store.s3.endpoint; redirects are not followed, because they would carry credentials"
	adviseBucket   = "Check store.s3.bucket, store.s3.endpoint and store.s3.path.style: the bucket must exist, it is not created"
	adviseExpired  = "The credentials have expired"
	adviseRotated  = "The store does not know the credentials any more; new ones are fetched"
	adviseNotMade  = "The store does not have this operation"
	adviseNesting  = "This store keeps objects as files: a key is an object or a prefix of others, not both"
	adviseExisting = "The object exists"
	adviseChanged  = "The object is not, or no longer, the expected one"
)

// unknownKey is versitygw's InvalidAccessKeyId, with the status of an object that is not there.
const unknownKey = "XAdminUserNotFound"

// judge gives the class of a reply and what to check.
func (s *Store) judge(code int, name string, c call) (status.Class, string) {
	switch name {
	case "NoSuchBucket", "InvalidBucketName":
		return status.Invalid, adviseBucket
	case "NoSuchUpload":
		if strings.HasPrefix(c.verb, "abort") {
			return status.NotFound, ""
		}
		return status.Transient, ""
	case "RequestTimeTooSkewed":
		return status.Transient, adviseClock
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired":
		if s.invalidate() {
			return status.Transient, adviseExpired + "; new ones are fetched"
		}
		return status.Invalid, adviseExpired + ": set new ones"
	case "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed", unknownKey:
		if (strings.HasPrefix(name, "Invalid") || name == unknownKey) && s.invalidate() {
			return status.Transient, adviseRotated
		}
		return status.Invalid, adviseKeys
	case "SlowDown", "RequestLimitExceeded", "ThrottlingException", "TooManyRequests":
		return status.Throttled, ""
	case "ObjectParentIsFile", "ExistingObjectIsDirectory": // versitygw
		return status.Invalid, adviseNesting
	case "FileAlreadyExists": // Alibaba OSS, with the status that means "try again" on S3
		return status.Conflict, adviseExisting
	case "", "Forbidden": // to a HEAD
		if code == 403 {
			return status.Invalid, adviseSilent
		}
	case "RequestTimeout", "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody", "InvalidPart":
		return status.Transient, ""
	}
	return judgeStatus(code, c)
}

// judgeStatus is what an HTTP status means when the error's name says nothing more.
func judgeStatus(code int, c call) (status.Class, string) {
	switch {
	case code == 412, code == 404 && c.cond.Match != "":
		if c.cond.Absent {
			return status.Conflict, adviseExisting
		}
		return status.Conflict, adviseChanged
	case code == 404:
		return status.NotFound, ""
	case code == 409:
		return status.Transient, ""
	case code == 429:
		return status.Throttled, ""
	case code == 401:
		return status.Invalid, adviseKeys
	case code == 403 && (strings.HasPrefix(c.verb, "list uploads") || strings.HasPrefix(c.verb, "abort")):
		return status.Invalid, adviseUploads
	case code == 403:
		return status.Invalid, advisePolicy
	case code == 301, code == 302, code == 308:
		return status.Invalid, adviseRegion
	case code == 307:
		return status.Transient, adviseRegion
	case code == 501:
		return status.Unsupported, adviseNotMade
	case code >= 500 || code < 300: // below 300: an error after the status line of a completion
		if c.conditional() {
			return status.Unknown, "The object may have been written"
		}
		return status.Transient, ""
	}
	return status.Invalid, ""
}

// codeClass is judge for an entry of a batch, which has no status.
func codeClass(name string) status.Class {
	switch name {
	case "SlowDown":
		return status.Throttled
	case "AccessDenied":
		return status.Invalid
	}
	return status.Transient
}

// dialling tells failures before the first byte of the request: nothing has happened, even if the put had a condition. Each
// attempt to connect that follows is for a request of which nothing was written.
func dialling(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// cause is the innermost useful text: without the URL and the SDK's layers.
func cause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	} else {
		var send *smithyhttp.RequestSendError
		var operation *smithy.OperationError
		switch {
		case errors.As(err, &send):
			err = send.Err
		case errors.As(err, &operation):
			err = operation.Err
		}
	}
	return clean(err.Error())
}

// clean makes foreign text safe for one line of a log.
func clean(text string) string {
	const longest = 300
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
