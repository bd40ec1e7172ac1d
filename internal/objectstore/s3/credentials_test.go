package s3

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/objectstore"
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

// Keys that are rotated in their file while an upload runs are taken by its next part; the old ones fail clearly for good.
func TestRotatedCredentialsFile(t *testing.T) {
	quickRetries(t)
	environment(t, nil)
	file := filepath.Join(t.TempDir(), "keys")
	write := func(key string) {
		if err := os.WriteFile(file, []byte("[keys]\naws_access_key_id = "+key+"\naws_secret_access_key = wJalrXUtnFEMI\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("OLDKEY")
	current := "OLDKEY"
	upload := multipart(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 1 {
			write("NEWKEY")
			current = "NEWKEY"
			reply(w, 403, "InvalidAccessKeyId")
			return true
		}
		return false
	}, nil)
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, body []byte) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential="+current+"/") {
			reply(w, 403, "InvalidAccessKeyId")
			return
		}
		if r.URL.RawQuery == "x-id=PutObject" {
			w.Header().Set("ETag", `"e"`)
			return
		}
		upload(n, w, r, body)
	})
	c := testConfig(f.URL)
	c.Credentials, c.AccessKey, c.SecretKey, c.CredentialsFile, c.ProfileName, c.Concurrency = Profile, "", "", file, "keys", 1
	s, err := Open(t.Context(), c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Put(t.Context(), "a", big(minPart+100), objectstore.Condition{}); err != nil {
		t.Fatalf("put across a rotation: %v", err)
	}
	current = "NEVER"
	_, err = s.Put(t.Context(), "a", big(10), objectstore.Condition{})
	want(t, "first refusal", err, status.Transient, "InvalidAccessKeyId", "new ones are fetched")
	s.refusal.mu.Lock()
	s.refusal.since = s.refusal.since.Add(-2 * refreshWait)
	s.refusal.mu.Unlock()
	_, err = s.Put(t.Context(), "a", big(10), objectstore.Condition{})
	want(t, "still the same keys", err, status.Invalid, "InvalidAccessKeyId", "access key")
	write("LATER")
	current = "LATER"
	for range 2 {
		_, err = s.Put(t.Context(), "a", big(10), objectstore.Condition{})
	}
	want(t, "keys that came later", err, status.OK)
}
