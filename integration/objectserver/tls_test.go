package objectserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// authority makes a certificate authority, writes it to a file as operators have it, and issues a certificate for this host.
func authority(t *testing.T) (file string, server tls.Certificate) {
	t.Helper()
	make := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if parent == nil {
			parent, signer = template, key
		}
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return certificate, key
	}
	ca, caKey := make(&x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of this house"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	leaf, key := make(&x509.Certificate{SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, ca, caKey)
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
}

// terminate puts TLS before a server, as load balancers do, and returns its address. Host stays as the client signed it.
func terminate(t *testing.T, server *Server, certificate tls.Certificate) string {
	t.Helper()
	origin, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // clients that trust another authority, cancelled requests
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{ErrorLog: quiet, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(origin)
		p.Out.Host = p.In.Host
	}})
	front.Config.ErrorLog = quiet
	front.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	front.StartTLS()
	t.Cleanup(front.Close)
	return front.URL
}

// tunnels is an HTTP proxy that wants a password and opens tunnels.
type tunnels struct {
	opened, refused atomic.Int64
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("broker:hunter2")) || r.Method != http.MethodConnect {
		p.refused.Add(1)
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	up, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer up.Close()
	w.WriteHeader(http.StatusOK)
	down, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	p.opened.Add(1)
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(up, buffered); done <- struct{}{} }()
	go func() { _, _ = io.Copy(down, up); done <- struct{}{} }()
	<-done
}

// secured runs the suite over TLS with an authority of its own, through a proxy that asks for a password.
func secured(t *testing.T, server *Server) {
	file, certificate := authority(t)
	endpoint := terminate(t, server, certificate)
	proxy := &tunnels{}
	door := httptest.NewServer(proxy)
	t.Cleanup(door.Close)
	open := func(t *testing.T, ca, password string) *s3.Store {
		return store(t, server, "some/prefix", func(c *s3.Config) {
			c.Endpoint, c.CAFile = endpoint, ca
			c.Proxy = telemetry.Secret(strings.Replace(door.URL, "http://", "http://broker:"+password+"@", 1))
		})
	}
	t.Run("TLS through a proxy", func(t *testing.T) {
		st := open(t, file, "hunter2")
		storetest.Acceptance(t, func(*testing.T) objectstore.Store { return st }, capsOf(server))
		if proxy.opened.Load() == 0 || proxy.refused.Load() > 0 {
			t.Errorf("the proxy opened %d tunnels and refused %d", proxy.opened.Load(), proxy.refused.Load())
		}
	})
	t.Run("another authority", func(t *testing.T) {
		other, _ := authority(t)
		for name, ca := range map[string]string{"the system's": "", "another": other} {
			_, err := open(t, ca, "hunter2").Head(t.Context(), "a")
			if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("with %s: %v: %v", name, status.Of(err), err)
			}
		}
	})
	t.Run("wrong password of the proxy", func(t *testing.T) {
		_, err := open(t, file, "wrong").Head(t.Context(), "a")
		if err == nil || !strings.Contains(err.Error(), "Proxy Authentication Required") || strings.Contains(err.Error(), "wrong") || strings.Contains(err.Error(), server.SecretKey) {
			t.Errorf("%v: %v", status.Of(err), err)
		}
	})
	t.Run("redirect", func(t *testing.T) {
		var asked atomic.Int64
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer elsewhere.Close()
		for code := range map[int]bool{301: true, 302: true, 307: true, 308: true} {
			front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", elsewhere.URL+r.URL.RequestURI())
				w.WriteHeader(code)
			}))
			front.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			front.StartTLS()
			st := store(t, server, "", func(c *s3.Config) { c.Endpoint, c.CAFile, c.Checksum = front.URL, file, s3.CRC32C })
			_, head := st.Head(t.Context(), "a")
			_, put := st.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{})
			if head == nil || put == nil || st.Delete(t.Context(), "a", "b") == nil {
				t.Errorf("%d: head: %v, put: %v", code, head, put)
			}
			front.Close()
		}
		if n := asked.Load(); n > 0 {
			t.Errorf("the place of the redirect was asked %d times", n)
		}
	})
}
