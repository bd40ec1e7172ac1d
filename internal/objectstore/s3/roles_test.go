package s3

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/status"
)

// roles answers as the token service, the endpoint of containers and the metadata service of machines.
func roles(t *testing.T) *fake {
	ends := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	keys := func(name string) string {
		return fmt.Sprintf(`{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"%s","SecretAccessKey":"wJalrXUtnFEMI","Token":"TOKEN-%s","Expiration":"%s"}`, name, name, ends)
	}
	return newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, body []byte) {
		const machine = "/latest/meta-data/iam/security-credentials/"
		switch {
		case r.Method == "POST" && strings.Contains(string(body), "Action=AssumeRole"):
			verb := "AssumeRole"
			if strings.Contains(string(body), "AssumeRoleWithWebIdentity") {
				if verb = "AssumeRoleWithWebIdentity"; !strings.Contains(string(body), "WebIdentityToken=the-token") {
					t.Errorf("the token of the file is not sent")
				}
			} else if !strings.Contains(string(body), "ExternalId=outside") || !strings.Contains(string(body), "RoleSessionName=broker-1") {
				t.Errorf("external id or session name is missing: %s", body)
			}
			fmt.Fprintf(w, `<%sResponse><%sResult><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>wJalrXUtnFEMI</SecretAccessKey>`+
				`<SessionToken>TOKEN-%s</SessionToken><Expiration>%s</Expiration></Credentials></%sResult></%sResponse>`, verb, verb, verb, verb, ends, verb, verb)
		case r.URL.Path == "/container":
			fmt.Fprint(w, keys("Container"))
		case r.Method == "PUT" && r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			fmt.Fprint(w, "session")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
			w.WriteHeader(401)
		case r.URL.Path == machine:
			fmt.Fprint(w, "role")
		case r.URL.Path == machine+"role":
			fmt.Fprint(w, keys("Machine"))
		default:
			w.WriteHeader(404)
		}
	})
}

func TestCredentialsOfRoles(t *testing.T) {
	dir := t.TempDir()
	token, file := filepath.Join(dir, "token"), filepath.Join(dir, "config")
	if err := os.WriteFile(token, []byte("the-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[profile role]\nrole_arn = arn:aws:iam::123456789012:role/x\nsource_profile = keys\nexternal_id = outside\n"+
		"role_session_name = broker-1\n[profile keys]\naws_access_key_id = SOURCE\naws_secret_access_key = wJalrXUtnFEMI\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := roles(t)
	for _, c := range []struct {
		key, kind, profile string
		env                map[string]string
	}{
		{"AssumeRoleWithWebIdentity", Default, "", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/x"}},
		{"AssumeRole", Profile, "role", nil},
		{"Container", Default, "", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/container"}},
		{"Machine", Default, "", map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL, "AWS_EC2_METADATA_DISABLED": "false"}},
	} {
		t.Run(c.key, func(t *testing.T) {
			environment(t, map[string]string{"AWS_ENDPOINT_URL_STS": server.URL, "AWS_CONFIG_FILE": file, "AWS_REGION": "eu-west-9"})
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			store := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
				if !strings.Contains(r.Header.Get("Authorization"), "Credential="+c.key+"/") || r.Header.Get("X-Amz-Security-Token") != "TOKEN-"+c.key {
					reply(w, 403, "InvalidAccessKeyId")
					return
				}
				w.Header().Set("ETag", `"e"`)
			})
			config := testConfig(store.URL)
			config.Credentials, config.AccessKey, config.SecretKey, config.ProfileName = c.kind, "", "", c.profile
			s, err := Open(t.Context(), config, slog.New(slog.NewTextHandler(t.Output(), nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 2 {
				_, err := s.Head(t.Context(), "a")
				want(t, "head", err, status.OK)
			}
		})
	}
}
