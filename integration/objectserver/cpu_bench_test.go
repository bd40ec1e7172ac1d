package objectserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
)

const (
	benchObject = 16 << 20 // one request
	benchRange  = 8 << 20
	benchRounds = 8 // calls of one side in a turn
)

// cpu is what this process has used; the server is another process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkClientCPU compares the CPU of this store's client with that of the AWS SDK as it comes, on one server, in turns:
//
//	go test -tags netgo,osusergo ./integration/objectserver -run '^$' -bench ClientCPU -benchtime 10x
//
// s/GB of each and their ratio, the median of the turns; a put sends one signed request with a CRC32C, a get asks for a range.
func BenchmarkClientCPU(b *testing.B) {
	server, err := StartVersity(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer server.Stop()
	c := server.Config("bench")
	c.SinglePutBelow = 2 * benchObject
	ours, err := s3.Open(b.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer ours.Close()
	bare := awss3.New(awss3.Options{Region: Region, UsePathStyle: true, BaseEndpoint: aws.String(server.Endpoint),
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")})
	data, dst := bytes.Repeat([]byte("0123456789abcdef"), benchObject/16), make([]byte, benchRange)
	barePut := func(ctx context.Context) error {
		_, err := bare.PutObject(ctx, &awss3.PutObjectInput{Bucket: &server.Bucket, Key: aws.String("bench/bare"), Body: bytes.NewReader(data), ChecksumAlgorithm: "CRC32C"})
		return err
	}
	bareGet := func(ctx context.Context) error {
		out, err := bare.GetObject(ctx, &awss3.GetObjectInput{Bucket: &server.Bucket, Key: aws.String("bench/bare"), Range: aws.String(fmt.Sprintf("bytes=%d-%d", benchRange/2, benchRange/2+benchRange-1))})
		if err != nil {
			return err
		}
		defer out.Body.Close()
		_, err = io.ReadFull(out.Body, dst)
		return err
	}
	for _, side := range []struct {
		name       string
		bytes      int64
		ours, bare func(context.Context) error
	}{
		{"put", benchObject, func(ctx context.Context) error {
			_, err := ours.Put(ctx, "ours", bytes.NewReader(data), objectstore.Condition{})
			return err
		}, barePut},
		{"get", benchRange, func(ctx context.Context) error { return ours.ReadRange(ctx, "ours", dst, benchRange/2) }, bareGet},
	} {
		b.Run(side.name, func(b *testing.B) {
			b.SetBytes(side.bytes * benchRounds)
			turn := func(call func(context.Context) error) float64 {
				before := cpu()
				for range benchRounds {
					if err := call(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				return (cpu() - before).Seconds() / float64(side.bytes*benchRounds) * 1e9
			}
			turn(side.ours) // connections, and the object that is read
			turn(side.bare)
			var o, r, ratios []float64
			for b.Loop() {
				x, y := turn(side.ours), turn(side.bare)
				o, r, ratios = append(o, x), append(r, y), append(ratios, x/y)
			}
			b.ReportMetric(median(o), "ours-s/GB")
			b.ReportMetric(median(r), "bare-s/GB")
			b.ReportMetric(median(ratios), "ratio")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
