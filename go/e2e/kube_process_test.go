package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"ebb/go/e2e/workload"
	"ebb/go/kube/access"
	"ebb/go/kube/app"
	"ebb/go/kube/feed"
	"ebb/go/kube/provider"
	wire "ebb/go/kube/wire/actuatorpb"
)

// startKube runs the program ebb-kube and returns a client of it. Its lease and its status use the
// name. The lease is short, so another process gets it soon.
func (c *cluster) startKube(path, name string, flags ...string) (*program, *replica) {
	c.t.Helper()
	socket := filepath.Join(c.shortFolder(name+"-"), "a.sock")
	p := c.start(path, append([]string{"--kubeconfig", plane.Kubeconfig, "--listen", socket, "--provider", "node-object",
		"--leader-elect-resource-name", name, "--leader-elect-lease-duration", "4s",
		"--leader-elect-renew-deadline", "3s", "--leader-elect-retry-period", "500ms", "--status-config-map-name", name}, flags...)...)
	connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	c.must(err)
	c.t.Cleanup(func() { _ = connection.Close() })
	return p, &replica{c: c, socket: socket, calls: wire.NewActuatorClient(connection)}
}

// shortFolder makes a folder whose path is short enough for a socket.
func (c *cluster) shortFolder(pattern string) string {
	c.t.Helper()
	dir, err := os.MkdirTemp("", pattern)
	c.must(err)
	c.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// The program itself is killed, as by kill -9, while it drains.
func TestKubeKilledWhileItDrainsIsGoneOnWithByTheNext(t *testing.T) {
	path := kubeProgram(t)
	c := newCluster(t, "kube-killed", machines("general", 4))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 8, CPU: "900m"}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", 1))
	c.waitReady()
	c.eventually("the budget is known", func() bool { return c.disruptionsAllowed("web") == 1 })
	judge := c.watchBudgets()
	p, r := c.startKube(path, "ebb-killed")
	r.waitActive()

	victims := c.nodesWith("web")[:2]
	c.must(r.begin(victims...))
	for _, name := range victims {
		c.must(r.drain(name))
	}
	c.eventually("a pod was evicted", func() bool { return len(r.status().RecentEvictions) > 0 })
	p.kill()
	p.again()
	r.waitActive()
	for _, name := range victims {
		if found := r.running(name); found == nil && c.hasNode(name) {
			t.Errorf("the deletion of node %s is lost", name)
		}
	}
	r.finish()
	for _, name := range victims {
		if c.hasNode(name) {
			t.Errorf("node %s is there", name)
		}
	}
	c.waitReady()
	c.checkNoMarks()
	judge()
	status, err := client.CoreV1().ConfigMaps("kube-system").Get(c.ctx, "ebb-killed", metav1.GetOptions{})
	if err != nil || !strings.Contains(status.Data["status"], "autoscalerStatus: Running") {
		t.Errorf("status: %v, %v", status.Data, err)
	}
}

// account returns the configuration of a service account, with the roles of the manifests or
// without roles.
func (c *cluster) account(name string, withRoles bool) *rest.Config {
	c.t.Helper()
	const namespace = accountNamespace
	_, err := client.CoreV1().Namespaces().Create(c.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	c.ignoreExisting(err)
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(c.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	c.ignoreExisting(err)
	if withRoles {
		c.grant("../../packaging/kustomize/base/rbac.yaml")
	}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(c.ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	c.must(err)
	config := rest.CopyConfig(plane.Config)
	config.BearerToken = token.Status.Token
	return config
}

// accountNamespace is the namespace of the manifests.
const accountNamespace = "ebb-system"

func (c *cluster) ignoreExisting(err error) {
	c.t.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatal(err)
	}
}

// grant creates the roles of a manifest.
func (c *cluster) grant(path string) {
	c.t.Helper()
	var err error
	for _, object := range c.manifest(path) {
		switch each := object.(type) {
		case *rbacv1.ClusterRole:
			_, err = client.RbacV1().ClusterRoles().Create(c.ctx, each, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = client.RbacV1().ClusterRoleBindings().Create(c.ctx, each, metav1.CreateOptions{})
		case *rbacv1.Role:
			_, err = client.RbacV1().Roles(accountNamespace).Create(c.ctx, each, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = client.RbacV1().RoleBindings(accountNamespace).Create(c.ctx, each, metav1.CreateOptions{})
		}
		c.ignoreExisting(err)
	}
}

func (c *cluster) manifest(path string) []runtime.Object {
	c.t.Helper()
	text, err := os.ReadFile(path)
	c.must(err)
	var objects []runtime.Object
	for _, part := range strings.Split(string(text), "\n---\n") {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(part), nil, nil)
		c.must(err)
		objects = append(objects, object)
	}
	return objects
}

func TestKubeNeedsNoMoreRightsThanTheManifestsGive(t *testing.T) {
	c := newCluster(t, "kube-rights", machines("general", 4))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 8, CPU: "900m"}))
	c.waitReady()
	own, err := kubernetes.NewForConfig(c.account("ebb", true))
	c.must(err)
	r := c.startReplica(func(o *app.Options) {
		o.Client, o.Provider = own, &provider.NodeObject{Client: own}
		o.Namespace, o.Lease, o.Identity, o.StatusConfigMap = "ebb-system", "ebb", "rights", "status"
		o.StatusEvery = 200 * time.Millisecond
	})
	r.waitActive()
	victim := c.nodesWith("web")[0]
	_, err = r.calls.SoftTaint(c.ctx, &wire.SoftTaintRequest{Key: newKey(), Node: c.nodes[0], Taint: true})
	c.must(err)
	_, err = r.calls.SoftTaint(c.ctx, &wire.SoftTaintRequest{Key: newKey(), Node: c.nodes[0]})
	c.must(err)
	c.must(r.begin(victim))
	if result := r.finish()[victim]; result == nil || !result.Ok {
		t.Errorf("%v", result)
	}
	c.eventually("the status is written", func() bool {
		_, err := client.CoreV1().ConfigMaps("ebb-system").Get(c.ctx, "status", metav1.GetOptions{})
		return err == nil
	})
	c.eventually("an event was written", func() bool {
		events, err := client.CoreV1().Events("default").List(c.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + victim})
		return err == nil && len(events.Items) > 0
	})
	c.waitReady()
	c.checkNoMarks()
}

func TestKubeNamesTheRightsThatAreMissing(t *testing.T) {
	c := newCluster(t, "kube-no-rights", machines("general", 1))
	own, err := kubernetes.NewForConfig(c.account("no-rights", false))
	c.must(err)
	err = app.Run(c.ctx, app.Options{Client: own, Listen: filepath.Join(t.TempDir(), "s"), Provider: &provider.NodeObject{}, Namespace: "kube-system"})
	if err == nil {
		t.Fatal("it ran without any right")
	}
	for _, right := range access.Rights(access.Needs{Kinds: feed.Kinds, DeleteNodes: true, Namespace: "kube-system"}) {
		if !right.Optional && !strings.Contains(err.Error()+"\n", "  "+right.String()+"\n") {
			t.Errorf("not named: %v", right)
		}
	}
}
