package s3

import (
	"context"
	"fmt"

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
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if c.Credentials == Profile {
		name := c.ProfileName
		if name == "" {
			name = config.DefaultSharedConfigProfile
		}
		options = append(options, config.WithSharedConfigProfile(name))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return identity{}, status.Errorf(status.Invalid, "S3 credentials (%s): %w", c.Credentials, err)
	}
	if err := refusePrograms(c, loaded); err != nil {
		return identity{}, err
	}
	return identity{loaded.Credentials, loaded.Region}, nil
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

// invalidate makes the next call ask for new credentials; it reports whether there can be others.
func (s *Store) invalidate() bool {
	cache, ok := s.credentials.(*aws.CredentialsCache)
	if ok && s.config.Credentials != Static && s.config.Credentials != Environment {
		cache.Invalidate()
		return true
	}
	return false
}

// where names the store for errors: what an operator wrote, no credential.
func (c Config) where() string {
	if c.Endpoint == "" {
		return fmt.Sprintf("s3://%s (Amazon S3, region %s)", c.Bucket, c.Region)
	}
	return fmt.Sprintf("s3://%s at %s", c.Bucket, c.Endpoint)
}
