package s3

import (
	"fmt"
	"net/url"
	"strings"

	"tidemark/internal/telemetry"
)

// Kinds of credentials.
const (
	Static      = "static"
	Environment = "environment"
	Profile     = "profile"
	Default     = "default"
)

// Config is where the objects are and how they are sent. The zero value is invalid.
type Config struct {
	Bucket   string `config:"store.s3.bucket" optional:"true" doc:"Bucket that holds the objects; it must exist. Needed with store.type=s3."`
	Prefix   string `config:"store.s3.prefix" optional:"true" doc:"Start of all keys in the bucket, without a slash at its ends. Lets several clusters share a bucket."`
	Region   string `config:"store.s3.region" optional:"true" doc:"Region of the bucket. Unset: the region of the profile or environment; us-east-1 if an endpoint is set."`
	Endpoint string `config:"store.s3.endpoint" optional:"true" doc:"Address of a store that is not Amazon's: http(s)://host:port."`

	PathStyle       bool             `config:"store.s3.path.style" default:"false" doc:"Put the bucket into the path and not into the host name. Most stores that are not Amazon's need it."`
	Credentials     string           `config:"store.s3.credentials" default:"default" doc:"Where credentials come from: static (store.s3.access.key and store.s3.secret.key), environment (AWS_ACCESS_KEY_ID and its like), profile (the AWS files), default (environment, files, then the role of the container or machine). A credential_process is refused: the broker starts no programs."`
	AccessKey       string           `config:"store.s3.access.key" optional:"true" doc:"Access key id for static credentials."`
	SecretKey       telemetry.Secret `config:"store.s3.secret.key" optional:"true" doc:"Secret access key for static credentials."`
	Token           telemetry.Secret `config:"store.s3.session.token" optional:"true" doc:"Session token for static credentials that are temporary."`
	ProfileName     string           `config:"store.s3.profile" optional:"true" doc:"Profile in the AWS files for profile credentials. Unset: the one named default."`
	CredentialsFile string           `config:"store.s3.credentials.file" optional:"true" doc:"File of keys in the form of the AWS credentials file, for profile credentials, in place of the one in the home directory. Read again every minute and when the store refuses the keys, so that rotated keys are taken without a restart."`
	Proxy           telemetry.Secret `config:"store.s3.proxy" optional:"true" doc:"Proxy for the requests to the endpoint: http(s)://host:port, with user:password@ if it needs them. Unset: HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the process."`
	CAFile          string           `config:"store.s3.ca.file" optional:"true" doc:"PEM file of the certificate authorities to trust for the endpoint, in place of the system's."`

	Checksum    string `config:"store.s3.checksum" default:"auto" doc:"Checksum that uploads carry in a header, so that the store refuses a body that was damaged on its way: crc32c, md5, none, or auto: the first upload finds out whether the store checks CRC32C, otherwise MD5 is sent. Bodies are never sent in the aws-chunked form, which many stores refuse."`
	SignPayload bool   `config:"store.s3.sign.payload" default:"true" doc:"Over http: sign the body of uploads too, which costs a SHA-256 of every byte. False leaves the body to store.s3.checksum. Over https the body is never signed: the connection protects it."`

	SinglePutBelow int64 `config:"store.s3.single.put.below.bytes" default:"33554432" doc:"Objects smaller than this are sent in one request, larger ones in parts, which take two requests more."`
	PartSize       int64 `config:"store.s3.part.bytes" default:"0" doc:"Size of a part, at least 5 MiB. Larger parts cost fewer requests and more repetition after an error; no memory, because they are read from the file as they are sent. 0 chooses by the size of the object: as many parts as are sent at once, each of 16 to 64 MiB. Grows by itself for objects of more than 10000 parts."`
	Concurrency    int   `config:"store.s3.part.concurrency" default:"4" doc:"Parts of one object sent at the same time. More is faster and takes more of the network from producers and consumers."`
	Connections    int   `config:"store.s3.connections.max" default:"64" doc:"Connections to the endpoint at most; calls beyond wait for one."`
}

// Bounds of Amazon S3.
const (
	minPart      = 5 << 20
	maxPart      = 5 << 30
	maxParts     = 10000
	maxSinglePut = 5 << 30
	maxPrefix    = 100 // bytes; a key of objectstore.MaxKey still fits S3's 1024
)

// Validate returns all faults at once, each with the name of its setting.
func (c Config) Validate() (faults []string) {
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	fault(c.Bucket == "" || strings.ContainsAny(c.Bucket, "/ ?#%:@"), "store.s3.bucket: %q is not the name of a bucket", c.Bucket)
	fault(len(c.Prefix) > maxPrefix || strings.HasPrefix(c.Prefix, "/") || strings.HasSuffix(c.Prefix, "/") || strings.Contains(c.Prefix, "//") ||
		strings.ContainsAny(c.Prefix, "?#%\\\x00") || dotted(c.Prefix),
		"store.s3.prefix: %q must have at most %d bytes, no slash at its ends, no empty or dot parts and none of ? # %% \\", c.Prefix, maxPrefix)
	fault(c.Endpoint == "" && c.Region == "" && c.Credentials == Static, "store.s3.region: needed with static credentials and no endpoint")
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		fault(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "",
			"store.s3.endpoint: not of the form http(s)://host:port")
	}
	switch c.Credentials {
	case Static:
		fault(c.AccessKey == "" || c.SecretKey == "", "store.s3.access.key and store.s3.secret.key: needed with static credentials")
	case Environment, Profile, Default:
		fault(c.AccessKey != "" || c.SecretKey != "" || c.Token != "", "store.s3.access.key, store.s3.secret.key and store.s3.session.token: only with store.s3.credentials=static")
	default:
		fault(true, "store.s3.credentials: %q is none of static, environment, profile, default", c.Credentials)
	}
	switch c.Checksum {
	case Auto, CRC32C, MD5, None:
	default:
		fault(true, "store.s3.checksum: %q is none of auto, crc32c, md5, none", c.Checksum)
	}
	fault(c.CredentialsFile != "" && c.Credentials != Profile, "store.s3.credentials.file: only with store.s3.credentials=profile")
	if c.Proxy != "" {
		u, err := url.Parse(c.Proxy.Reveal())
		fault(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "", "store.s3.proxy: not of the form http(s)://host:port")
	}
	fault(c.ProfileName != "" && c.Credentials != Profile, "store.s3.profile: only with store.s3.credentials=profile")
	fault(c.PartSize != 0 && (c.PartSize < minPart || c.PartSize > maxPart), "store.s3.part.bytes: %d is neither 0 nor between %d and %d", c.PartSize, minPart, int64(maxPart))
	fault(c.SinglePutBelow < 1 || c.SinglePutBelow > maxSinglePut, "store.s3.single.put.below.bytes: %d is not between 1 and %d", c.SinglePutBelow, int64(maxSinglePut))
	fault(c.Concurrency < 1 || c.Concurrency > 64, "store.s3.part.concurrency: %d is not between 1 and 64", c.Concurrency)
	fault(c.Connections < 1 || c.Connections > 10000, "store.s3.connections.max: %d is not between 1 and 10000", c.Connections)
	return faults
}

func dotted(prefix string) bool {
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}
