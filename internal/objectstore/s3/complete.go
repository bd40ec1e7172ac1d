package s3

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// completeRetry is how often a completion is sent again: all bytes are there, so that giving up costs the whole upload.
var completeRetry = budget.Retry{Attempts: 6, Base: 200 * time.Millisecond, Max: 5 * time.Second}

// completePace is how long one completion may take: a store may join the parts before it answers.
var completePace = budget.Pace{Floor: time.Minute, MinRate: 16 << 20}

// complete makes the object of the parts. A completion that fails or whose reply is lost is sent again; a store that does not know the
// upload any more is asked for the object, which is ours if it has the size and the checksum of the parts. When that cannot be told the
// class is Unknown, which nobody repeats: the parts would have to be sent again. With a condition it is sent once, because an equal
// object may be somebody else's.
func (u *upload) complete(ctx context.Context, cond objectstore.Condition) (info objectstore.Info, err error) {
	retry, once := u.store.repeats(completeRetry), cond != (objectstore.Condition{})
	if once {
		retry.Attempts = 1
	}
	lost, gone, sent := false, false, 0 // lost: the store may have made the object
	var final error
	err = retry.Do(ctx, func(ctx context.Context, _ int) error {
		ctx, cancel := completePace.WithDeadline(ctx, u.src.Size())
		defer cancel()
		if !gone {
			sent++
			var says fate
			info, says, err = u.completeOnce(ctx, cond)
			switch gone = says == fateNoUpload && !once; {
			case gone:
			case says == fateBadPart:
				final = err
				return nil
			default:
				lost = lost || says == fateOpen
				return err
			}
		}
		found, ours, err := u.find(ctx)
		switch {
		case err != nil && !status.Is(err, status.NotFound):
			return err
		case ours:
			info = found
		case lost:
			final = u.vanished(found, err)
		default: // somebody aborted the upload before it was completed
			final = status.Errorf(status.Transient, "complete upload of %s: %s does not know the upload any more", u.key, u.store.config.where())
		}
		return nil
	})
	switch {
	case final != nil:
		return objectstore.Info{}, final
	case err != nil && lost && !once && !status.Is(err, status.Cancelled):
		if found, ours, _ := u.find(ctx); ours {
			return found, nil
		}
		return objectstore.Info{}, status.Errorf(status.Unknown, "%w; all parts are stored, the completion was sent %d times and the object may have been written", err, sent)
	}
	return info, err
}

// vanished is the error for an upload that is gone after a completion without a reply, while the object is not the one that was sent.
func (u *upload) vanished(found objectstore.Info, err error) error {
	there := fmt.Sprintf("the object has %d bytes and ETag %s, which are not those of the %d bytes sent", found.Size, clean(found.ETag), u.src.Size())
	if err != nil {
		there = "there is no object"
	}
	return status.Errorf(status.Unknown, "complete upload of %s: the reply to the completion was lost, then %s did not know the upload any more, and %s",
		u.key, u.store.config.where(), there)
}

// fate is what a failed completion says about the object.
type fate int

const (
	fateNot      fate = iota // it was not made
	fateOpen                 // nothing: lost, or an error of the store in the middle of it
	fateNoUpload             // the store does not know the upload
	fateBadPart              // a part is not there: sending the completion again is of no use
)

// completeOnce sends the completion. S3 may answer 200 and tell of a failure in the body, and a body that was cut short names no ETag.
func (u *upload) completeOnce(ctx context.Context, cond objectstore.Condition) (objectstore.Info, fate, error) {
	s := u.store
	in := &s3.CompleteMultipartUploadInput{Bucket: s.bucket(), Key: s.name(u.key), UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts}}
	in.IfNoneMatch, in.IfMatch = headers(cond)
	out, err := s.client.CompleteMultipartUpload(ctx, in)
	c := call{verb: "complete upload of", key: u.key, cond: cond}
	switch {
	case err == nil && bare(out.ETag) != "":
		return objectstore.Info{Key: u.key, Size: u.src.Size(), ETag: bare(out.ETag), Modified: time.Now()}, fateNot, nil
	case err == nil && cond != (objectstore.Condition{}):
		return objectstore.Info{}, fateOpen, status.Errorf(status.Unknown, "%s %s: the reply names no object, it may have been written", c.verb, c.key)
	case err == nil:
		return objectstore.Info{}, fateOpen, status.Errorf(status.Transient, "%s %s: the reply names no object", c.verb, c.key)
	}
	return objectstore.Info{}, answered(err), s.failed(ctx, err, c)
}

// answered tells what a failure says.
func answered(err error) fate {
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "NoSuchUpload":
			return fateNoUpload
		case "InvalidPart", "InvalidPartOrder", "EntityTooSmall":
			return fateBadPart
		case "SlowDown":
			return fateNot
		}
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		if code := response.HTTPStatusCode(); code >= 300 && code < 500 {
			return fateNot
		}
	}
	if dialling(err) {
		return fateNot
	}
	return fateOpen
}

// find asks for the object and whether it is the one that the parts make.
func (u *upload) find(ctx context.Context) (info objectstore.Info, ours bool, err error) {
	s := u.store
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: s.bucket(), Key: s.name(u.key), ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return info, false, s.failed(ctx, err, call{verb: "head", key: u.key})
	}
	info = objectstore.Info{Key: u.key, Size: aws.ToInt64(out.ContentLength), ETag: bare(out.ETag), Modified: aws.ToTime(out.LastModified)}
	return info, info.Size == u.src.Size() && (u.sameSum(aws.ToString(out.ChecksumCRC32C)) || u.sameETag(info.ETag)), nil
}

// sameSum compares the checksum of checksums that S3 keeps of an object made of parts: "base64-number of parts".
func (u *upload) sameSum(sum string) bool {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, p := range u.parts {
		part, err := base64.StdEncoding.DecodeString(aws.ToString(p.ChecksumCRC32C))
		if err != nil || len(part) != crc32.Size {
			return false
		}
		_, _ = h.Write(part)
	}
	return sum == fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(h.Sum(nil)), len(u.parts))
}

// sameETag compares the ETag as most stores make it: the MD5 of the parts' MD5s, which are the parts' ETags.
func (u *upload) sameETag(etag string) bool {
	h := md5.New()
	for _, p := range u.parts {
		part, err := hex.DecodeString(bare(p.ETag))
		if err != nil || len(part) != md5.Size {
			return false
		}
		_, _ = h.Write(part)
	}
	return strings.EqualFold(etag, fmt.Sprintf("%x-%d", h.Sum(nil), len(u.parts)))
}
