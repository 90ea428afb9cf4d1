package feed_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/daemon"
	"ebb/go/kube/feed"
	"ebb/go/kube/internal/fakecluster"
)

var (
	machines   = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: "machines"}
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	autoscaler = schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}
)

// served returns the resources that discovery reports in these tests.
func served() map[string][]string {
	return map[string][]string{
		"v1": {"nodes", "pods"}, "cluster.x-k8s.io/v1beta1": {"machines"}, "karpenter.sh/v1": {"nodeclaims"},
		"autoscaling.k8s.io/v1": {"verticalpodautoscalers"},
	}
}

// custom returns an object of an optional kind.
func custom(version, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	for key, value := range fields {
		object.Object[key] = value
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetUID(types.UID("uid-of-" + name))
	object.SetResourceVersion("1")
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "x"}})
	return object
}

// objects returns a client with these objects of optional kinds.
func objects(t *testing.T, of ...runtime.Object) *fakedynamic.FakeDynamicClient {
	t.Helper()
	return fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		machines: "MachineList", nodeClaims: "NodeClaimList", autoscaler: "VerticalPodAutoscalerList",
	}, of...)
}

func optional(c *fakecluster.Cluster, client *fakedynamic.FakeDynamicClient) func(*feed.Options) {
	return func(o *feed.Options) {
		o.Dynamic, o.Discovery, o.LookEvery = client, c.Client.Discovery(), 5*time.Millisecond
	}
}

// Symptom: Machines, NodeClaims and VerticalPodAutoscalers were not followed. So nodes whose
// machine was being deleted received pods, and answers did not report what they had not evaluated.
func TestOptionalKindsAreFedWhereTheServerHasThem(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Serves(served())
	client := objects(t, custom("cluster.x-k8s.io/v1beta1", "Machine", "capi", "m", nil), custom("karpenter.sh/v1", "NodeClaim", "", "n", nil))
	d := startDaemon(t)
	f := feedFrom(t, c, d, optional(c, client))
	idle(t, f)
	for _, name := range []string{"Node /a", "Machine capi/m", "NodeClaim /n"} {
		if !d.has(name) {
			t.Errorf("%s is missing", name)
		}
	}
	d.mu.Lock()
	if len(d.objects["Machine capi/m"].(metav1.Object).GetManagedFields()) > 0 || len(d.broken) > 0 {
		t.Errorf("%+v; broken %v", d.objects["Machine capi/m"], d.broken)
	}
	d.mu.Unlock()
	if err := client.Resource(machines).Namespace("capi").Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	made := custom("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "default", "web", nil)
	if _, err := client.Resource(autoscaler).Namespace("default").Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	fakecluster.Eventually(t, "both changes arrive", func() bool {
		return !d.has("Machine capi/m") && d.has("VerticalPodAutoscaler default/web")
	})
	idle(t, f)
	if log, resyncs, _ := d.taken(); resyncs != 1 || !slices.Contains(log, "delete cluster.x-k8s.io/v1beta1 Machine capi/m") {
		t.Errorf("after %d resyncs: %v", resyncs, log)
	}
}

// Symptom: a kind that the user may not list blocked the feeder, or was left out silently.
func TestAKindThatMayNotBeListedIsNamedUntilItMay(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Serves(served())
	client := objects(t, custom("karpenter.sh/v1", "NodeClaim", "", "n", nil))
	allowed := make(chan struct{})
	client.PrependReactor("list", "nodeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case <-allowed:
			return false, nil, nil
		default:
			return true, nil, apierrors.NewForbidden(nodeClaims.GroupResource(), "", nil)
		}
	})
	d := startDaemon(t)
	f := feedFrom(t, c, d, optional(c, client))
	idle(t, f)
	named := func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.broken) == 1 && d.broken[0].Kind == "NodeClaim.karpenter.sh" && d.broken[0].NeverListed
	}
	fakecluster.Eventually(t, "it is named", named)
	if !d.has("Node /a") || d.has("NodeClaim /n") {
		t.Error("the rest is to be fed")
	}
	close(allowed)
	fakecluster.Eventually(t, "it is fed", func() bool { return d.has("NodeClaim /n") && !named() })
}

// Custom resource definitions come and go while the feeder runs.
func TestAKindThatIsServedLaterIsFollowedFromThenOn(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Serves(map[string][]string{"v1": {"nodes", "pods"}})
	client := objects(t, custom("cluster.x-k8s.io/v1beta1", "Machine", "capi", "m", nil))
	d := startDaemon(t)
	f := feedFrom(t, c, d, optional(c, client))
	idle(t, f)
	if d.has("Machine capi/m") {
		t.Error("its kind is not served yet")
	}
	c.Serves(served())
	fakecluster.Eventually(t, "it is fed", func() bool { return d.has("Machine capi/m") })
	c.Serves(map[string][]string{"v1": {"nodes", "pods"}})
	fakecluster.Eventually(t, "it is forgotten", func() bool { return !d.has("Machine capi/m") })
	idle(t, f)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.objects["Node /a"] == nil || len(d.broken) > 0 {
		t.Errorf("broken: %v", d.broken)
	}
}

// An upgraded server drops a version that the feeder follows.
func TestAKindThatChangesItsVersionIsNeverMissing(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Serves(map[string][]string{"v1": {"nodes", "pods"}, "cluster.x-k8s.io/v1beta1": {"machines"}})
	newer := schema.GroupVersionResource{Group: machines.Group, Version: "v1beta2", Resource: machines.Resource}
	client := fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		machines: "MachineList", newer: "MachineList",
	}, custom("cluster.x-k8s.io/v1beta1", "Machine", "capi", "m", nil))
	if err := client.Tracker().Create(newer, custom("cluster.x-k8s.io/v1beta2", "Machine", "capi", "m", nil), "capi"); err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t)
	f := feedFrom(t, c, d, optional(c, client))
	idle(t, f)
	c.Serves(map[string][]string{"v1": {"nodes", "pods"}, "cluster.x-k8s.io/v1beta2": {"machines"}})
	fakecluster.Eventually(t, "the other version is fed", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		object := d.objects["Machine capi/m"]
		if object == nil {
			t.Error("the machine was missing")
		}
		return object != nil && object.GetObjectKind().GroupVersionKind().Version == "v1beta2" && d.resyncs == 2
	})
}

func TestAKindWhoseGroupDoesNotAnswerIsNamed(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Serves(served())
	c.Client.PrependReactor("get", "resource", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("no discovery today")
	})
	d := startDaemon(t)
	f := feedFrom(t, c, d, optional(c, objects(t)))
	idle(t, f)
	fakecluster.Eventually(t, "it is named", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.ContainsFunc(d.broken, func(b *plannerpb.BrokenWatch) bool { return b.Kind == "Machine.cluster.x-k8s.io" && b.NeverListed })
	})
}

func TestTheAPIServersVersionIsSentAgainWhenItChanges(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Serves(served())
	says := func(text string) {
		c.Client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: text}
	}
	says("v1.37.2")
	d := startDaemon(t)
	f := feedFrom(t, c, d, optional(c, objects(t)), func(o *feed.Options) { o.LookEvery = time.Hour })
	idle(t, f)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kubernetes != "v1.37.2" {
		t.Errorf("%q", d.kubernetes)
	}
}

// TestEbbKnowsWhatTheFeederSends feeds a real `ebb serve`.
func TestEbbKnowsWhatTheFeederSends(t *testing.T) {
	ebb := os.Getenv("EBB")
	if ebb == "" {
		t.Skip("EBB names no program")
	}
	dir, err := os.MkdirTemp("", "ebb-feed-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "ebb.sock")
	serve := exec.Command(ebb, "serve", "--socket", socket)
	serve.Stderr = os.Stderr
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
	fakecluster.Eventually(t, "it listens", func() bool { _, err := os.Stat(socket); return err == nil })

	now := time.Now().UTC().Truncate(time.Second)
	var nodes []runtime.Object
	for _, name := range []string{"claimed", "machine", "stays"} {
		node := fakecluster.Node(name)
		node.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		node.Status.NodeInfo.KubeletVersion = "v1.36.1"
		node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
		node.Status.Conditions[0].LastTransitionTime = node.CreationTimestamp
		nodes = append(nodes, node)
	}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid-of-the-cluster"}}
	prevents := true // Has an effect from Kubernetes 1.37 on.
	driver := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: "d.csi", UID: "d"}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &prevents},
	}
	c := fakecluster.New(append(nodes, system, driver, fakecluster.ReplicaSet(), fakecluster.Pod("web-1", "stays"))...)
	c.Serves(served())
	c.Client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.37.2"}
	claim := custom("karpenter.sh/v1", "NodeClaim", "", "c", map[string]any{
		"status": map[string]any{"nodeName": "claimed", "providerID": "fake:///claimed"}})
	machine := custom("cluster.x-k8s.io/v1beta1", "Machine", "capi", "m", map[string]any{
		"spec": map[string]any{"providerID": "fake:///machine"}, "status": map[string]any{"nodeRef": map[string]any{"name": "machine"}}})
	client := objects(t, claim, machine, custom("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "default", "web", nil))

	address := "unix:" + socket
	f := feedFrom(t, c, &fakeDaemon{t: t, address: address}, optional(c, client))
	idle(t, f)
	asks, err := daemon.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer asks.Close()
	plan := planOf(t, asks)
	if plan.Summary.KubernetesVersion != "1.37" || slices.Contains(plan.codes(), "VerticalPodAutoscalersNotEvaluated") || plan.beingDeleted() != "" {
		t.Errorf("%+v", plan)
	}
	for _, each := range []struct {
		of     schema.GroupVersionResource
		object *unstructured.Unstructured
	}{{nodeClaims, claim}, {machines, machine}} {
		ends := metav1.NewTime(now)
		each.object.SetDeletionTimestamp(&ends)
		each.object.SetResourceVersion("2")
		if err := client.Tracker().Update(each.of, each.object, each.object.GetNamespace()); err != nil {
			t.Fatal(err)
		}
	}
	fakecluster.Eventually(t, "both nodes are being deleted", func() bool { return planOf(t, asks).beingDeleted() == "claimed machine" })
}

type planJSON struct {
	Summary struct {
		KubernetesVersion string
		Warnings          []struct{ Code string }
	}
	Keep []struct{ Node, Reason string }
}

func (p *planJSON) codes() []string {
	var codes []string
	for _, each := range p.Summary.Warnings {
		codes = append(codes, each.Code)
	}
	return codes
}

func (p *planJSON) beingDeleted() string {
	var names []string
	for _, each := range p.Keep {
		if each.Reason == "CurrentlyBeingDeleted" {
			names = append(names, each.Node)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func planOf(t *testing.T, client *daemon.Client) *planJSON {
	t.Helper()
	options, err := structpb.NewStruct(map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := client.Plan(context.Background(), &plannerpb.PlanCall{
		Input: &plannerpb.PlanInput{Session: "prod", AllowIncomplete: true, Settings: &plannerpb.Settings{Options: options}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan := &planJSON{}
	if err := json.Unmarshal(reply.GetPlan(), plan); err != nil {
		t.Fatalf("%v: %s", err, reply.GetPlan())
	}
	return plan
}
