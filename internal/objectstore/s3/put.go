package s3

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// partRetry is how often one part is sent again; a part with one number replaces itself.
var partRetry = budget.Retry{Attempts: 4, Base: 200 * time.Millisecond, Max: 5 * time.Second}

// partPace is how slow one attempt of a part may be.
var partPace = budget.Pace{Floor: 20 * time.Second, MinRate: 256 << 10}

// Put writes an object, in parallel parts if it is large.
func (s *Store) Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error) {
	if err := objectstore.CheckPut(key, src, cond); err != nil {
		return objectstore.Info{}, err
	}
	if err := s.enter(ctx, "put", key); err != nil {
		return objectstore.Info{}, err
	}
	mode, err := s.checksum(ctx)
	if err != nil {
		return objectstore.Info{}, status.Wrapf(err, "put %s: which checksum the store takes", key)
	}
	if src.Size() < s.config.SinglePutBelow {
		return s.putWhole(ctx, key, src, cond, mode)
	}
	return s.putParts(ctx, key, src, cond, mode)
}

func headers(cond objectstore.Condition) (ifNoneMatch, ifMatch *string) {
	if cond.Absent {
		ifNoneMatch = aws.String("*")
	}
	if cond.Match != "" {
		ifMatch = aws.String(`"` + cond.Match + `"`)
	}
	return ifNoneMatch, ifMatch
}

func (s *Store) putWhole(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition, mode string) (objectstore.Info, error) {
	sum, err := sumOf(mode, src, 0, src.Size())
	if err != nil {
		return objectstore.Info{}, status.Wrapf(err, "put %s", key)
	}
	body := newBody(src, 0, src.Size())
	in := &s3.PutObjectInput{Bucket: s.bucket(), Key: s.name(key), Body: body, ContentLength: aws.Int64(src.Size()), ChecksumCRC32C: sum.crc32c, ContentMD5: sum.md5}
	in.IfNoneMatch, in.IfMatch = headers(cond)
	out, err := s.client.PutObject(ctx, in, s.bodies)
	switch {
	case body.err() != nil:
		return objectstore.Info{}, status.Wrapf(body.err(), "put %s", key)
	case err != nil:
		return objectstore.Info{}, s.failed(ctx, err, call{verb: "put", key: key, cond: cond})
	}
	objectstore.TallyOf(ctx).Part()
	return objectstore.Info{Key: key, Size: src.Size(), ETag: bare(out.ETag), Modified: time.Now()}, nil
}

func (s *Store) putParts(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition, mode string) (info objectstore.Info, err error) {
	created, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: s.bucket(), Key: s.name(key), ChecksumAlgorithm: declared(mode)})
	if err != nil {
		return info, s.failed(ctx, err, call{verb: "start upload of", key: key})
	}
	completed := false
	defer func() { // after a panic too
		if !completed {
			s.aborts.add(abandoned{key: key, id: created.UploadId})
		}
	}()
	u := &upload{store: s, key: key, id: created.UploadId, src: src, size: s.config.partSize(src.Size()), mode: mode}
	if err := u.send(ctx); err != nil {
		return info, err
	}
	info, err = u.complete(ctx, cond)
	completed = err == nil
	return info, err
}

// upload is one object on its way, in parts.
type upload struct {
	store *Store
	key   string
	id    *string
	src   objectstore.Source
	size  int64  // of a part; the last is smaller
	mode  string // checksum of the parts

	mu    sync.Mutex
	next  int32
	parts []types.CompletedPart
	err   error
}

// send uploads all parts with a bounded number of senders and returns when all of them have ended.
func (u *upload) send(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u.parts = make([]types.CompletedPart, (u.src.Size()+u.size-1)/u.size)
	var senders sync.WaitGroup
	for range min(u.store.config.Concurrency, len(u.parts)) {
		senders.Add(1)
		started := u.store.parts.Go("part", func(stop context.Context) {
			defer senders.Done()
			defer context.AfterFunc(stop, cancel)()
			u.work(ctx, cancel)
		})
		if !started {
			senders.Done()
			u.fail(status.Errorf(status.Closed, "put %s: the store is closed", u.key), cancel)
		}
	}
	senders.Wait()
	for i := range u.parts {
		if u.err == nil && u.parts[i].ETag == nil { // a sender panicked; its stack is in the log
			u.err = status.Errorf(status.Internal, "put %s: part %d was not sent", u.key, i+1)
		}
	}
	return u.err
}

func (u *upload) fail(err error, cancel func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err == nil { // later ones are consequences of the cancellation
		u.err = err
	}
	cancel()
}

// work sends parts until there are none left or one has failed.
func (u *upload) work(ctx context.Context, cancel func()) {
	for {
		u.mu.Lock()
		i := u.next
		u.next++
		u.mu.Unlock()
		if int(i) >= len(u.parts) {
			return
		}
		offset := int64(i) * u.size
		length := min(u.size, u.src.Size()-offset)
		err := u.store.repeats(partRetry).Do(ctx, func(ctx context.Context, _ int) error {
			ctx, cancel := partPace.WithDeadline(ctx, length)
			defer cancel()
			part, err := u.part(ctx, i+1, offset, length)
			if err == nil {
				u.parts[i] = part
			}
			return err
		})
		if err != nil {
			u.fail(err, cancel)
			return
		}
	}
}

// part sends one part, read from the source by position.
func (u *upload) part(ctx context.Context, number int32, offset, length int64) (types.CompletedPart, error) {
	if err := ctx.Err(); err != nil {
		return types.CompletedPart{}, status.Wrapf(err, "put %s: part %d", u.key, number)
	}
	sum, err := sumOf(u.mode, u.src, offset, length)
	if err != nil {
		return types.CompletedPart{}, status.Wrapf(err, "put %s: part %d", u.key, number)
	}
	body := newBody(u.src, offset, length)
	out, err := u.store.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: u.store.bucket(), Key: u.store.name(u.key), UploadId: u.id,
		PartNumber: aws.Int32(number), Body: body, ContentLength: aws.Int64(length), ChecksumCRC32C: sum.crc32c, ContentMD5: sum.md5}, u.store.bodies)
	switch {
	case body.err() != nil:
		return types.CompletedPart{}, status.Wrapf(body.err(), "put %s: part %d", u.key, number)
	case err != nil:
		return types.CompletedPart{}, status.Wrapf(u.store.failed(ctx, err, call{verb: "put", key: u.key}), "part %d", number)
	}
	objectstore.TallyOf(ctx).Part()
	return types.CompletedPart{PartNumber: aws.Int32(number), ETag: out.ETag, ChecksumCRC32C: sum.crc32c}, nil
}

// body reads a range of a source and keeps the source's own error, which the HTTP client would bury. It is read twice: once
// to sign, once to send.
type body struct {
	*io.SectionReader
	src   objectstore.Source
	start int64
	fault atomic.Pointer[error] // the transport reads in a goroutine of its own
}

func newBody(src objectstore.Source, offset, length int64) *body {
	return &body{SectionReader: io.NewSectionReader(src, offset, length), src: src, start: offset}
}

// Read notes a failure of the source, and an end before its time.
func (b *body) Read(p []byte) (int, error) {
	before, _ := b.Seek(0, io.SeekCurrent)
	n, err := b.SectionReader.Read(p)
	at := before + int64(n)
	switch {
	case err == io.EOF && at < b.SectionReader.Size():
		err = status.Errorf(status.Corrupt, "the source ended at byte %d of %d", b.start+at, b.src.Size())
		b.fault.Store(&err)
	case err != nil && err != io.EOF:
		err = status.Errorf(status.Transient, "read the source at byte %d of %d: %w", b.start+at, b.src.Size(), err)
		b.fault.Store(&err)
	}
	return n, err
}

// err is what went wrong in the source; with it nothing complete was sent.
func (b *body) err() error {
	if p := b.fault.Load(); p != nil {
		return *p
	}
	return nil
}

// batchKeys is S3's limit for one batch delete.
const batchKeys = 1000

// Delete removes objects, many with one request.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := s.enter(ctx, "delete", key); err != nil {
			return err
		}
	}
	if len(keys) == 1 {
		return s.remove(ctx, keys[0])
	}
	for len(keys) > 0 {
		batch := keys[:min(batchKeys, len(keys))]
		keys = keys[len(batch):]
		in := &types.Delete{Quiet: aws.Bool(true)}
		for _, key := range batch {
			in.Objects = append(in.Objects, types.ObjectIdentifier{Key: s.name(key)})
		}
		out, err := s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: s.bucket(), Delete: in}, s.checked)
		if err != nil && unknown(err) {
			if err := s.removeEach(ctx, batch); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return s.failed(ctx, err, call{verb: "delete", key: batch[0] + " and others"})
		}
		for _, e := range out.Errors {
			if code := aws.ToString(e.Code); code != "NoSuchKey" && code != "NotFound" {
				return status.Errorf(codeClass(code), "delete %s: %s: %s (%d of %d keys failed)", aws.ToString(e.Key), clean(code),
					clean(aws.ToString(e.Message)), len(out.Errors), len(batch))
			}
		}
	}
	return nil
}

// unknown tells that the endpoint has no batch delete (Google's XML interface, some gateways).
func unknown(err error) bool {
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil {
		return false
	}
	code := response.HTTPStatusCode()
	return code == 405 || code == 501
}

// removeEach goes on after a failure, so that one key does not keep the others.
func (s *Store) removeEach(ctx context.Context, keys []string) error {
	var first error
	failed := 0
	for _, key := range keys {
		if err := s.remove(ctx, key); err != nil {
			if failed++; first == nil {
				first = err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return status.Wrapf(first, "%d of %d keys failed", failed, len(keys))
}

func (s *Store) remove(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: s.bucket(), Key: s.name(key)})
	if err == nil {
		return nil
	}
	if err = s.failed(ctx, err, call{verb: "delete", key: key}); gone(err) {
		return nil
	}
	return err
}

func gone(err error) bool { return status.Is(err, status.NotFound) }
