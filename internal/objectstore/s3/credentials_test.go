package s3

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/status"
)

const awsFile = `[profile keys]
aws_access_key_id = PROFILEKEY
aws_secret_access_key = secret
region = eu-north-1
endpoint_url = http://elsewhere.invalid

[profile program]
credential_process = /bin/touch %MARK%

[profile nested]
role_arn = arn:aws:iam::123456789012:role/x
source_profile = program

[default]
credential_process = /bin/touch %MARK%
`

// environment replaces all of the AWS settings of this machine.
func environment(t *testing.T, vars map[string]string) (mark string) {
	dir := t.TempDir()
	mark = filepath.Join(dir, "mark")
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(awsFile, "%MARK%", mark)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for k, v := range vars {
		t.Setenv(k, v)
	}
	return mark
}

func TestCredentials(t *testing.T) {
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token", "AWS_REGION": "eu-west-9"}
	for _, c := range []struct {
		name, kind, profile string
		env                 map[string]string
		key, region         string
		fault               string
	}{
		{"static", Static, "", keys, "AKIDEXAMPLE", "us-east-1", ""},
		{"environment", Environment, "", keys, "ENVKEY", "eu-west-9", ""},
		{"empty environment", Environment, "", nil, "", "", "AWS_ACCESS_KEY_ID"},
		{"profile", Profile, "keys", keys, "PROFILEKEY", "eu-west-9", ""},
		{"profile alone", Profile, "keys", nil, "PROFILEKEY", "eu-north-1", ""},
		{"unknown profile", Profile, "none", nil, "", "", "none"},
		{"program", Profile, "program", nil, "", "", "credential_process"},
		{"program behind a role", Profile, "nested", nil, "", "", "credential_process"},
		{"program of the default profile", Profile, "", nil, "", "", "credential_process"},
		{"default chain, environment first", Default, "", keys, "ENVKEY", "eu-west-9", ""},
		{"default chain, program", Default, "", nil, "", "", "credential_process"},
		{"default chain, profile of the environment", Default, "", map[string]string{"AWS_PROFILE": "keys"}, "PROFILEKEY", "eu-north-1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			mark := environment(t, c.env)
			config := testConfig("http://127.0.0.1:1")
			config.Credentials, config.ProfileName = c.kind, c.profile
			if c.kind != Static {
				config.AccessKey, config.SecretKey = "", ""
			}
			s, err := Open(context.Background(), config, slog.New(slog.DiscardHandler))
			if c.fault != "" {
				want(t, "open", err, status.Invalid, c.fault)
			} else if err != nil {
				t.Fatal(err)
			} else {
				defer s.Close()
				got, err := s.credentials.Retrieve(context.Background())
				if err != nil || got.AccessKeyID != c.key || s.config.Region != c.region {
					t.Errorf("key %s, region %s, %v; want %s, %s", got.AccessKeyID, s.config.Region, err, c.key, c.region)
				}
				if c.key == "ENVKEY" && got.SessionToken != "token" {
					t.Error("the session token is lost")
				}
				if _, err := s.Head(context.Background(), "a"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "elsewhere") {
					t.Errorf("the endpoint of the AWS files was used: %v", err)
				}
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("a credential_process was run")
			}
		})
	}
}
