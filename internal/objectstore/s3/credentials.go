package s3

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"tidemark/internal/status"
)

// identity is what signs requests, and the region found beside it.
type identity struct {
	provider aws.CredentialsProvider
	region   string
}

// resolve finds the credentials' source. Nothing else is taken from the environment and the AWS files but the region:
// an endpoint or a retry mode set there for another program must not change this store.
func resolve(ctx context.Context, c Config) (identity, error) {
	switch c.Credentials {
	case Static:
		return identity{credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey.Reveal(), c.Token.Reveal()), c.Region}, nil
	case Environment:
		env, err := config.NewEnvConfig()
		if err != nil {
			return identity{}, status.Errorf(status.Invalid, "S3 credentials from the environment: %w", err)
		}
		if !env.Credentials.HasKeys() {
			return identity{}, status.Errorf(status.Invalid, "S3 credentials from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set for this process")
		}
		return identity{credentials.StaticCredentialsProvider{Value: env.Credentials}, env.Region}, nil
	}
	loaded, err := load(ctx, c)
	if err != nil {
		return identity{}, err
	}
	if c.Credentials == Profile {
		return identity{reloading(c), loaded.Region}, nil
	}
	return identity{loaded.Credentials, loaded.Region}, nil
}

// load reads the environment and the AWS files.
func load(ctx context.Context, c Config) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if c.Credentials == Profile {
		name := c.ProfileName
		if name == "" {
			name = config.DefaultSharedConfigProfile
		}
		options = append(options, config.WithSharedConfigProfile(name))
	}
	if c.CredentialsFile != "" {
		options = append(options, config.WithSharedCredentialsFiles([]string{c.CredentialsFile}))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return loaded, status.Errorf(status.Invalid, "S3 credentials (%s): %w", c.Credentials, err)
	}
	return loaded, refusePrograms(c, loaded)
}

// rereadAfter is how long keys from the AWS files are used before the files are read again. A refusal ends it at once.
const rereadAfter = time.Minute

// reloading reads the AWS files each time it is asked, so that keys which somebody rotates in them are taken without a restart.
// Keys of a role keep their own end.
type reloading Config

// Retrieve reads the files.
func (r reloading) Retrieve(ctx context.Context) (aws.Credentials, error) {
	loaded, err := load(ctx, Config(r))
	if err != nil {
		return aws.Credentials{}, err
	}
	keys, err := loaded.Credentials.Retrieve(ctx)
	if err == nil && !keys.CanExpire {
		keys.CanExpire, keys.Expires = true, time.Now().Add(rereadAfter)
	}
	return keys, err
}

// refusePrograms looks at the very files the credentials were made from, so that there is no moment between check and use.
func refusePrograms(c Config, loaded aws.Config) error {
	for _, source := range loaded.ConfigSources {
		switch s := source.(type) {
		case config.EnvConfig:
			if c.Credentials == Default && (s.Credentials.HasKeys() || s.WebIdentityTokenFilePath != "") {
				return nil // they come before the files
			}
		case config.SharedConfig:
			for p := &s; p != nil; p = p.Source {
				if p.CredentialProcess != "" {
					return status.Errorf(status.Invalid, "S3 credentials: profile %q has a credential_process, which is refused: a broker starts no programs. "+
						"Use keys, a role or the environment", p.Profile)
				}
			}
		}
	}
	return nil
}

// refreshWait is how long after the first refusal of a key further ones are put down to requests that were signed before the
// new key was there.
const refreshWait = 5 * time.Second

// refusal is the key that the store refused last, and since when.
type refusal struct {
	mu    sync.Mutex
	key   string
	since time.Time
}

// invalidate makes the next call ask for new credentials; it reports whether there can be others. When asking has brought the
// refused key again there are none, but the call after still asks.
func (s *Store) invalidate() bool {
	cache, ok := s.credentials.(*aws.CredentialsCache)
	if !ok || s.config.Credentials == Static || s.config.Credentials == Environment {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), refreshWait)
	defer cancel()
	keys, err := cache.Retrieve(ctx) // the cached ones, as a rule
	cache.Invalidate()
	if err != nil {
		return true
	}
	s.refusal.mu.Lock()
	defer s.refusal.mu.Unlock()
	if s.refusal.key != keys.AccessKeyID {
		s.refusal.key, s.refusal.since = keys.AccessKeyID, time.Now()
	}
	return time.Since(s.refusal.since) < refreshWait
}

// where names the store for errors: what an operator wrote, no credential.
func (c Config) where() string {
	if c.Endpoint == "" {
		return fmt.Sprintf("s3://%s (Amazon S3, region %s)", c.Bucket, c.Region)
	}
	return fmt.Sprintf("s3://%s at %s", c.Bucket, c.Endpoint)
}
