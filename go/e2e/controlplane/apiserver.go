package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// identity is the API server's certificate and the credentials of its callers. It is generated for
// each control plane and stored in its directory.
type identity struct {
	token      string // of a user in system:masters
	tokenFile  string
	accountKey string // file with the key that signs service accounts' tokens
	caFile     string // the API server's own certificate, which it signs itself
}

func newIdentity(dir string) (*identity, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	id := &identity{
		token:      hex.EncodeToString(random),
		tokenFile:  filepath.Join(dir, "tokens.csv"),
		accountKey: filepath.Join(dir, "service-account.key"),
		caFile:     filepath.Join(dir, "apiserver.crt"),
	}
	if err := os.WriteFile(id.tokenFile, []byte(id.token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return id, os.WriteFile(id.accountKey, block, 0o600)
}

// completeAPIServer converts flags to options for app.Run. It also writes the certificate to
// id.caFile.
func completeAPIServer(ctx context.Context, dir, etcdURL string, id *identity, listener net.Listener,
	args []string) (options.CompletedOptions, error) {
	none := options.CompletedOptions{}
	registry, err := newRegistry()
	if err != nil {
		return none, err
	}
	server := options.NewServerRunOptions()
	server.GenericServerRunOptions.ComponentGlobalsRegistry = registry
	args = append([]string{
		"--etcd-servers=" + etcdURL,
		"--cert-dir=" + dir,
		"--bind-address=127.0.0.1",
		"--token-auth-file=" + id.tokenFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + id.accountKey,
		"--service-account-signing-key-file=" + id.accountKey,
		"--service-cluster-ip-range=10.96.0.0/16",
		// Fair queuing between callers would only make a busy machine slower.
		"--enable-priority-and-fairness=false",
		"--shutdown-delay-duration=0s",
	}, args...)
	if err := parse(apiServer, registry, server.Flags(), args); err != nil {
		return none, err
	}
	server.SecureServing.Listener = listener
	server.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	completed, err := server.Complete(ctx)
	if err != nil {
		return none, fmt.Errorf(apiServer+": %w", err)
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return none, fmt.Errorf(apiServer+": %w", utilerrors.NewAggregate(errs))
	}
	return completed, nil
}

// clientConfig returns an administrator's configuration, with protobuf and without a rate limit.
func clientConfig(id *identity, address net.Addr) *rest.Config {
	return &rest.Config{
		Host:            "https://" + address.String(),
		BearerToken:     id.token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: id.caFile},
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
		QPS: -1,
	}
}

// writeKubeconfig writes the kubeconfig with which the other components, and kubectl, connect.
func writeKubeconfig(file string, config *rest.Config) error {
	const name = "test"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	return clientcmd.WriteToFile(*kubeconfig, file)
}
