package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Store is a bucket, or the part of it below a prefix.
type Store struct {
	config      Config
	client      *s3.Client
	transport   *http.Transport
	credentials aws.CredentialsProvider
	prefix      string // "" or ending in a slash
	log         *slog.Logger
	parts       *budget.Tasks
	aborts      *aborts
	minRate     int64        // of bodies that are read, bytes per second
	shared      budget.Retry // whose budget repeats of requests draw from
	sums        checksums
	refusal     refusal
}

var _ objectstore.Store = (*Store)(nil)

// Open makes a store without talking to it: an unreachable store fails calls, not the start. The CA file and the AWS files
// are read; faults in them or in the configuration are Invalid.
func Open(ctx context.Context, c Config, log *slog.Logger) (*Store, error) {
	if faults := c.Validate(); len(faults) > 0 {
		return nil, status.Errorf(status.Invalid, "S3 store: %s", strings.Join(faults, "; "))
	}
	transport, err := newTransport(c)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: metered{transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	id, err := resolve(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Region == "" {
		c.Region = id.region
	}
	if c.Region == "" && c.Endpoint != "" {
		c.Region = "us-east-1"
	}
	if c.Region == "" {
		return nil, status.Errorf(status.Invalid, "S3 store: store.s3.region is not set, and neither the environment nor the AWS files name a region")
	}
	s := &Store{config: c, transport: transport, credentials: aws.NewCredentialsCache(id.provider), log: log, parts: budget.NewTasks("s3", log), minRate: readRate}
	s.aborts = &aborts{send: s.sendAbort, retry: func() budget.Retry { return s.repeats(abortRetry) }, log: log, tasks: budget.NewTasks("s3.abort", log)}
	s.sums.asking = make(chan struct{}, 1)
	if c.Checksum != Auto {
		s.sums.mode.Store(&c.Checksum)
	}
	if c.Prefix != "" {
		s.prefix = c.Prefix + "/"
	}
	s.client = s3.New(s3.Options{
		Region: c.Region, Credentials: s.credentials, HTTPClient: client, UsePathStyle: c.PathStyle, AppID: "tidemark",
		Retryer: aws.NopRetryer{}, RetryMaxAttempts: 1,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		Logger:                     logging.Nop{}, DisableLogOutputChecksumValidationSkipped: true,
	}, func(o *s3.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
	})
	return s, nil
}

// Waits that no deadline of a caller should have to cover. A reply may take long (a server joins the parts of a large
// object), a connection may not.
const (
	dialWait  = 10 * time.Second
	replyWait = 2 * time.Minute
	idleWait  = 20 * time.Second // shorter than servers keep idle connections, or a put fails on one just closed
	closeWait = 10 * time.Second
	stopWait  = 2 * time.Second // of tasks whose context has ended
)

func newTransport(c Config) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, status.Errorf(status.Invalid, "S3 store: store.s3.ca.file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, status.Errorf(status.Invalid, "S3 store: store.s3.ca.file: %s holds no PEM certificate", c.CAFile)
		}
	}
	proxy := http.ProxyFromEnvironment
	if c.Proxy != "" {
		address, err := url.Parse(c.Proxy.Reveal())
		if err != nil {
			return nil, status.Errorf(status.Invalid, "S3 store: store.s3.proxy is not an address")
		}
		proxy = http.ProxyURL(address)
	}
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: dialWait, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   dialWait,
		ResponseHeaderTimeout: replyWait,
		IdleConnTimeout:       idleWait,
		MaxConnsPerHost:       c.Connections,
		MaxIdleConnsPerHost:   c.Connections,
		DisableCompression:    true, // a ranged body must have the length that was asked for
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
	}, nil
}

// ShareRetries makes repeats of single requests (parts, completions, aborts, rests of bodies) draw from the budget of r and count with
// it: its Shared, Made and Refused. It comes before the first call.
func (s *Store) ShareRetries(r budget.Retry) { s.shared = r }

// LeastRate sets how many bytes a second a body must deliver; one that stays behind for ten seconds is ended and its rest asked for.
// It comes before the first call.
func (s *Store) LeastRate(bytesPerSecond int64) { s.minRate = bytesPerSecond }

// repeats is r within the shared budget.
func (s *Store) repeats(r budget.Retry) budget.Retry {
	r.Shared, r.Made, r.Refused = s.shared.Shared, s.shared.Made, s.shared.Refused
	return r
}

// Close is CloseWithin some seconds.
func (s *Store) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	s.CloseWithin(ctx)
}

// CloseWithin ends running uploads, gives up those that failed, as far as that is possible until ctx ends, and closes idle connections.
// No call may follow but Close, which then finds nothing to do.
func (s *Store) CloseWithin(ctx context.Context) {
	s.parts.Stop(stopWait)
	s.aborts.drain(ctx)
	s.transport.CloseIdleConnections()
}

// URI is s3://bucket/prefix/key.
func (s *Store) URI(key string) string { return "s3://" + s.config.Bucket + "/" + s.prefix + key }

// Key is the inverse of URI; s3a and s3n, as Hadoop writes them, are understood too.
func (s *Store) Key(uri string) (string, bool) {
	scheme, rest, _ := strings.Cut(uri, "://")
	if scheme != "s3" && scheme != "s3a" && scheme != "s3n" {
		return "", false
	}
	key, ok := strings.CutPrefix(rest, s.config.Bucket+"/"+s.prefix)
	return key, ok && objectstore.CheckKey(key) == nil
}

// name is the key in the bucket.
func (s *Store) name(key string) *string { return aws.String(s.prefix + key) }

// bucket is for requests.
func (s *Store) bucket() *string { return &s.config.Bucket }
