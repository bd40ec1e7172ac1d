package s3

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Checksums of uploads.
const (
	Auto   = "auto"
	CRC32C = "crc32c"
	MD5    = "md5"
	None   = "none"
)

// sums is the checksum of one body, at most one of the two.
type sums struct{ crc32c, md5 *string }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumBuffers are the buffers of running sums, one each.
var sumBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// sumOf reads a range of a source once, unless the source knows the sum: then the store also finds bytes that have changed since. The sum is sent in a header and never behind the body: stores that do not know
// aws-chunked bodies would store the framing or refuse it.
func sumOf(mode string, src objectstore.Source, offset, length int64) (sums, error) {
	switch mode {
	case CRC32C:
		crc, known := uint32(0), false
		if s, ok := src.(objectstore.Summed); ok {
			crc, known = s.CRC32C(offset, length)
		}
		if known {
			return sums{crc32c: encoded(binary.BigEndian.AppendUint32(nil, crc))}, nil
		}
		err := eachPiece(src, offset, length, func(p []byte) { crc = crc32.Update(crc, castagnoli, p) })
		return sums{crc32c: encoded(binary.BigEndian.AppendUint32(nil, crc))}, err
	case MD5:
		h := md5.New()
		err := eachPiece(src, offset, length, func(p []byte) { _, _ = h.Write(p) })
		return sums{md5: encoded(h.Sum(nil))}, err
	}
	return sums{}, nil
}

func encoded(sum []byte) *string { return aws.String(base64.StdEncoding.EncodeToString(sum)) }

func eachPiece(src objectstore.Source, offset, length int64, add func(p []byte)) error {
	buf := sumBuffers.Get().(*[256 << 10]byte)
	defer sumBuffers.Put(buf)
	for end := offset + length; offset < end; {
		p := buf[:min(int64(len(buf)), end-offset)]
		if err := objectstore.ReadSource(src, p, offset); err != nil {
			return err
		}
		add(p)
		offset += int64(len(p))
	}
	return nil
}

// sumProbe is one key for all probes: what an interrupted one left behind is overwritten and removed by the next.
const sumProbe = probePrefix + "checksum"

// checksums knows which checksum the endpoint takes.
type checksums struct {
	mode   atomic.Pointer[string] // CRC32C, MD5 or None; nil while it is not known
	asking chan struct{}          // holds a token while one upload asks the endpoint
}

// checksum is the mode of the next upload. With auto the first call asks the endpoint; others wait for it. An error is that of a
// store which does not answer: it would have failed the upload too, and the next one asks again.
func (s *Store) checksum(ctx context.Context) (string, error) {
	if mode := s.sums.mode.Load(); mode != nil {
		return *mode, nil
	}
	select {
	case s.sums.asking <- struct{}{}:
		defer func() { <-s.sums.asking }()
	case <-ctx.Done():
		return "", status.Wrapf(ctx.Err(), "wait for the answer to another upload")
	}
	if mode := s.sums.mode.Load(); mode != nil {
		return *mode, nil
	}
	right, err := sumOf(CRC32C, strings.NewReader(sumProbe), 0, int64(len(sumProbe)))
	if err != nil {
		return "", err
	}
	// A store that does not look at the sum takes the wrong one. One that looks refuses it and takes the right one.
	for _, try := range []struct {
		sum       sums
		mode, why string // if it is taken
	}{
		{sums{crc32c: encoded([]byte{1, 2, 3, 4})}, MD5, "the store does not look at CRC32C"},
		{right, CRC32C, "the store checks it"},
		{sums{}, MD5, "the store refuses CRC32C"},
	} {
		took, err := s.trySum(ctx, try.sum)
		if err != nil {
			return "", err
		}
		if took {
			if err := s.remove(ctx, sumProbe); err != nil {
				s.log.Warn("s3.probe.left", "key", sumProbe, "class", status.Of(err).String(), "error", err.Error())
			}
			return s.choose(try.mode, try.why), nil
		}
	}
	return None, nil // whatever is wrong is not the checksum: the upload will say it
}

func (s *Store) choose(mode, why string) string {
	s.sums.mode.Store(&mode)
	s.log.Info("s3.checksum.chosen", "store", s.config.where(), "checksum", mode, "reason", why)
	return mode
}

// trySum puts the probe and reports whether it was taken. A reply that says nothing about the sum (none, throttled, broken) is an
// error.
func (s *Store) trySum(ctx context.Context, sum sums) (took bool, err error) {
	_, err = s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: s.bucket(), Key: s.name(sumProbe), Body: strings.NewReader(sumProbe),
		ContentLength: aws.Int64(int64(len(sumProbe))), ChecksumCRC32C: sum.crc32c, ContentMD5: sum.md5}, s.bodies)
	if err == nil {
		return true, nil
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		if code := response.HTTPStatusCode(); code >= 400 && code < 500 && code != 408 && code != 409 && code != 429 || code == 501 {
			return false, nil
		}
	}
	return false, s.failed(ctx, err, call{verb: "put", key: sumProbe})
}

// declared is what the start of an upload in parts has to say if its parts carry sums.
func declared(mode string) types.ChecksumAlgorithm {
	if mode == CRC32C {
		return types.ChecksumAlgorithmCrc32c
	}
	return ""
}

// bodies are the options of requests with a large body. Over http the SDK would read it once more for a SHA-256.
func (s *Store) bodies(o *s3.Options) {
	if !s.config.SignPayload {
		o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
	}
}

// checked are the options of a batch delete, which every store wants a checksum of: Content-MD5 where the store was not found to
// know CRC32C.
func (s *Store) checked(o *s3.Options) {
	if mode := s.sums.mode.Load(); mode != nil && *mode != CRC32C {
		o.APIOptions = append(o.APIOptions, smithyhttp.AddContentChecksumMiddleware, func(stack *middleware.Stack) error {
			_, err := stack.Finalize.Remove("AWSChecksum:ComputeInputPayloadChecksum")
			return err
		})
	}
}
