package clusterapi_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider"
	"ebb/go/kube/provider/clusterapi"
	"ebb/go/kube/taint"
)

type object = map[string]any

const (
	lowered = "actuator.ebb/lowered-for"
	mark    = "cluster.x-k8s.io/delete-machine"
	least   = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	most    = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
)

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta1", Resource: name}
}

// world is the MachineDeployment "md" of four machines m0 to m3, with the nodes n0 to n3.
type world struct {
	nodes      []*corev1.Node
	cluster    object
	deployment object
	sets       []object
	machines   []object
	others     []object

	client *fake.FakeDynamicClient
	// answers are the errors of the next patches; nil: the patch is carried out.
	answers []error
	patched []string
}

func thing(kind, name string, owner object, spec object) object {
	metadata := object{"name": name, "namespace": "ns", "uid": "uid-" + name, "resourceVersion": "7"}
	if owner != nil {
		of := owner["metadata"].(object)
		metadata["ownerReferences"] = []any{object{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": owner["kind"], "name": of["name"], "uid": of["uid"], "controller": true}}
	}
	return object{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}
}

func machine(i string, set object) object {
	made := thing("Machine", "m"+i, set, object{"clusterName": "c", "providerID": "fake:///n" + i})
	made["status"] = object{"nodeRef": object{"name": "n" + i}}
	return made
}

func newWorld() *world {
	w := &world{cluster: thing("Cluster", "c", nil, object{})}
	w.deployment = thing("MachineDeployment", "md", nil, object{"clusterName": "c", "replicas": int64(4)})
	annotate(w.deployment, least, "1")
	annotate(w.deployment, most, "6")
	w.sets = []object{thing("MachineSet", "ms", w.deployment, object{"clusterName": "c", "replicas": int64(4)})}
	for _, i := range []string{"0", "1", "2", "3"} {
		w.nodes = append(w.nodes, fakecluster.Node("n"+i))
		w.machines = append(w.machines, machine(i, w.sets[0]))
	}
	return w
}

func set(of object, value any, path ...string) {
	if err := unstructured.SetNestedField(of, value, path...); err != nil {
		panic(err)
	}
}

func annotate(of object, key, value string) { set(of, value, "metadata", "annotations", key) }

func (w *world) provider(t *testing.T) *clusterapi.Provider {
	t.Helper()
	var nodes, objects []runtime.Object
	for _, node := range w.nodes {
		nodes = append(nodes, node)
	}
	for _, each := range append(append(append(w.sets, w.machines...), w.others...), w.cluster, w.deployment) {
		if each != nil {
			objects = append(objects, &unstructured.Unstructured{Object: each})
		}
	}
	w.client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		resource("clusters"): "ClusterList", resource("machinedeployments"): "MachineDeploymentList",
		resource("machinesets"): "MachineSetList", resource("machines"): "MachineList",
	}, objects...)
	w.client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchActionImpl)
		var sent struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(patch.Patch, &sent); err != nil || sent.Metadata.ResourceVersion != "7" || sent.Metadata.UID == "" {
			t.Errorf("%s is not only for the version that was read: %s", patch.Name, patch.Patch)
		}
		var answer error
		if len(w.answers) > 0 {
			answer, w.answers = w.answers[0], w.answers[1:]
		}
		if answer != nil {
			return true, nil, answer
		}
		w.patched = append(w.patched, patch.Name)
		return false, nil, nil
	})
	c := fakecluster.New(nodes...)
	c.Serves(map[string][]string{"cluster.x-k8s.io/v1beta1": {"clusters", "machinedeployments", "machines", "machinesets"}})
	return &clusterapi.Provider{Client: c.Client, Dynamic: w.client}
}

func (w *world) get(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	found, err := w.client.Resource(resource(kind)).Namespace("ns").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// check checks the replicas of md, for which machines they were lowered, and which are marked.
func (w *world) check(t *testing.T, replicas int64, loweredFor string, marked ...string) {
	t.Helper()
	md := w.get(t, "machinedeployments", "md")
	if now, _, _ := unstructured.NestedInt64(md.Object, "spec", "replicas"); now != replicas || md.GetAnnotations()[lowered] != loweredFor {
		t.Errorf("%d replicas, lowered for %q; expected %d, %q", now, md.GetAnnotations()[lowered], replicas, loweredFor)
	}
	if md.GetAnnotations()[least] == "" {
		t.Error("other annotations were lost")
	}
	var found []string
	for _, name := range []string{"m0", "m1", "m2", "m3"} {
		if _, has := w.get(t, "machines", name).GetAnnotations()[mark]; has {
			found = append(found, name)
		}
	}
	if strings.Join(found, " ") != strings.Join(marked, " ") {
		t.Errorf("marked: %v; expected %v", found, marked)
	}
}

func markNode(node *corev1.Node, phase string) {
	node.Annotations = map[string]string{taint.Annotation: `{"drain":true,"phase":"` + phase + `","since":1}`}
}

const deletionTime = "2026-11-28T09:00:00Z"

func TestAdmitSaysWhyAMachineStays(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*world)
		want string // "" if the node may go.
	}{
		"nothing keeps it": {func(*world) {}, ""},
		"no Machine":       {func(w *world) { w.machines = w.machines[1:] }, "it has no Machine"},
		"two Machines": {func(w *world) {
			w.machines = append(w.machines, machine("9", w.sets[0]))
			set(w.machines[4], "n0", "status", "nodeRef", "name")
		}, "it has 2 Machines: ns/m0, ns/m9"},
		"a Machine of another node": {func(w *world) {
			w.nodes[0].Annotations = map[string]string{"cluster.x-k8s.io/machine": "m0", "cluster.x-k8s.io/cluster-namespace": "ns"}
			set(w.machines[0], "n8", "status", "nodeRef", "name")
		}, `Machine/ns/m0 contradicts it: it has the node "n8"`},
		"a Machine of another provider ID": {func(w *world) { set(w.machines[0], "fake:///x", "spec", "providerID") }, "Machine/ns/m0 contradicts it"},
		"a Machine of a control plane":     {func(w *world) { delete(w.machines[0]["metadata"].(object), "ownerReferences") }, "belongs to no MachineDeployment and no MachineSet"},
		"it goes already":                  {func(w *world) { set(w.machines[0], deletionTime, "metadata", "deletionTimestamp") }, "Cluster API is deleting Machine/ns/m0 already"},
		"replicas were lowered for it":     {func(w *world) { annotate(w.deployment, lowered, "uid-m0") }, "Cluster API is deleting Machine/ns/m0 already"},
		"a paused Machine":                 {func(w *world) { annotate(w.machines[0], "cluster.x-k8s.io/paused", "") }, "Machine/ns/m0 is paused"},
		"a paused MachineSet":              {func(w *world) { annotate(w.sets[0], "cluster.x-k8s.io/paused", "true") }, "MachineSet/ns/ms is paused"},
		"a paused MachineDeployment":       {func(w *world) { set(w.deployment, true, "spec", "paused") }, "MachineDeployment/ns/md is paused"},
		"a paused Cluster":                 {func(w *world) { set(w.cluster, true, "spec", "paused") }, "Cluster/ns/c is paused"},
		"a paused Cluster, by annotation":  {func(w *world) { annotate(w.cluster, "cluster.x-k8s.io/paused", "") }, "Cluster/ns/c is paused"},
		"no Cluster":                       {func(w *world) { w.cluster = nil }, `the Cluster "c" of MachineDeployment/ns/md does not exist`},
		"no minimum":                       {func(w *world) { delete(w.deployment["metadata"].(object)["annotations"].(object), least) }, "has no annotation " + least},
		"no maximum":                       {func(w *world) { delete(w.deployment["metadata"].(object)["annotations"].(object), most) }, "has no annotation " + most},
		"a broken minimum":                 {func(w *world) { annotate(w.deployment, least, "few") }, `annotation ` + least + `: "few" is not a number of machines`},
		"a maximum below the minimum":      {func(w *world) { annotate(w.deployment, most, "0") }, "the maximum 0 and the minimum 1"},
		"the minimum":                      {func(w *world) { annotate(w.deployment, least, "4") }, "has 4 replicas, of which 0 go already, and its minimum is 4"},
		"the minimum, with nodes that drain": {func(w *world) {
			annotate(w.deployment, least, "2")
			markNode(w.nodes[1], "draining")
			markNode(w.nodes[2], "deleting")
		}, "of which 2 go already"},
		"nodes that wait do not count": {func(w *world) {
			annotate(w.deployment, least, "2")
			markNode(w.nodes[1], "tainted")
			markNode(w.nodes[2], "failed")
		}, ""},
		"machines that have left the replicas do not count": {func(w *world) {
			annotate(w.deployment, least, "1")
			annotate(w.deployment, lowered, "uid-m1,uid-m2")
			set(w.deployment, int64(2), "spec", "replicas")
			markNode(w.nodes[1], "deleting")
			markNode(w.nodes[2], "deleting")
		}, ""},
		"a rollout": {func(w *world) {
			w.sets = append(w.sets, thing("MachineSet", "ms2", w.deployment, object{"clusterName": "c"}))
			w.machines[3] = machine("3", w.sets[1])
		}, "MachineDeployment/ns/md is being rolled out: its MachineSets ms, ms2 have Machines"},
		"an old MachineSet without Machines": {func(w *world) {
			w.sets = append(w.sets, thing("MachineSet", "ms0", w.deployment, object{"clusterName": "c"}))
		}, ""},
		"found by the node's annotation": {func(w *world) {
			w.nodes[0].Annotations = map[string]string{"cluster.x-k8s.io/machine": "m0", "cluster.x-k8s.io/cluster-namespace": "ns"}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			test.edit(w)
			err := w.provider(t).Admit(t.Context(), provider.Candidate{Node: w.nodes[0], Drain: true})
			var refused *provider.Refused
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Why, test.want)):
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDeleteMarksMachinesAndLowersTheReplicasOnce(t *testing.T) {
	w := newWorld()
	p := w.provider(t)
	if err := p.Delete(t.Context(), "", w.nodes[1:3]); err != nil {
		t.Fatal(err)
	}
	w.check(t, 2, "uid-m1,uid-m2", "m1", "m2")
	if last := w.patched[len(w.patched)-1]; last != "md" {
		t.Errorf("%v: replicas were lowered before the last mark", w.patched)
	}
	// Again, as after a restart, before Cluster API has begun.
	if err := p.Delete(t.Context(), "", w.nodes[1:3]); err != nil {
		t.Fatal(err)
	}
	w.check(t, 2, "uid-m1,uid-m2", "m1", "m2")
	if err := p.Delete(t.Context(), "", w.nodes[:1]); err != nil {
		t.Fatal(err)
	}
	w.check(t, 1, "uid-m0,uid-m1,uid-m2", "m0", "m1", "m2")
	if err := p.Delete(t.Context(), "", w.nodes[3:]); err == nil || !strings.Contains(err.Error(), "minimum is 1") {
		t.Errorf("%v", err)
	}
	w.check(t, 1, "uid-m0,uid-m1,uid-m2", "m0", "m1", "m2")
}

func TestMachinesThatAreGoneAreForgotten(t *testing.T) {
	w := newWorld()
	annotate(w.deployment, lowered, "uid-m7,uid-m3")
	set(w.deployment, int64(3), "spec", "replicas")
	set(w.machines[3], deletionTime, "metadata", "deletionTimestamp")
	p := w.provider(t)
	if err := p.Delete(t.Context(), "", w.nodes[:1]); err != nil {
		t.Fatal(err)
	}
	w.check(t, 2, "uid-m0,uid-m3", "m0")
}

// A process may be killed, and the API server may give no answer, before and after each request.
func TestReplicasAreLoweredOnceWhereverADeletionIsInterrupted(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "x", errors.New("was changed"))
	for before := range 2 {
		for _, answer := range []error{errors.New("connection refused"), conflict} {
			w := newWorld()
			w.answers = append(make([]error, before), answer)
			p := w.provider(t)
			if err := p.Delete(t.Context(), "", w.nodes[:1]); !errors.Is(err, provider.ErrAgain) {
				t.Errorf("after %d requests, %v: %v", before, answer, err)
			}
			if taken, err := p.Taken(t.Context(), "", w.nodes[0]); taken || err != nil {
				t.Errorf("taken: %v %v", taken, err)
			}
			next := &clusterapi.Provider{Client: p.Client, Dynamic: p.Dynamic}
			if err := next.Delete(t.Context(), "", w.nodes[:1]); err != nil {
				t.Fatal(err)
			}
			w.check(t, 3, "uid-m0", "m0")
			if taken, err := next.Taken(t.Context(), "", w.nodes[0]); !taken || err != nil {
				t.Errorf("taken: %v %v", taken, err)
			}
		}
	}
}

func TestDeleteChangesNothingIfAnotherMachineCouldGo(t *testing.T) {
	for name, test := range map[string]struct {
		edit  func(*world)
		want  string
		again bool
	}{
		"another is marked": {func(w *world) { annotate(w.machines[2], mark, "") }, "Machine/ns/m2 has the annotation", false},
		"a mark that was left on a node that is not in deletion": {func(w *world) { annotate(w.machines[2], mark, "ebb-kube") }, "Machine/ns/m2 has the annotation", false},
		"a machine is being replaced": {func(w *world) { set(w.machines[2], deletionTime, "metadata", "deletionTimestamp") },
			"it has 3 machines that stay, and 4 replicas", true},
		"a machine is being made": {func(w *world) { set(w.deployment, int64(5), "spec", "replicas") }, "4 machines that stay, and 5 replicas", true},
		"a pause":                 {func(w *world) { set(w.cluster, true, "spec", "paused") }, "is paused", false},
		"no Machine":              {func(w *world) { w.machines = w.machines[1:] }, "it has no Machine", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			test.edit(w)
			p := w.provider(t)
			err := p.Delete(t.Context(), "", w.nodes[:1])
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, provider.ErrAgain) != test.again || len(w.patched) > 0 {
				t.Errorf("%v; patched %v", err, w.patched)
			}
		})
	}
}

func TestTwoDeletionsThatWereInterruptedBothGoOn(t *testing.T) {
	w := newWorld()
	for i := range 2 {
		annotate(w.machines[i], mark, "ebb-kube")
		markNode(w.nodes[i], "deleting")
	}
	p := w.provider(t)
	for i := range 2 {
		if err := p.Delete(t.Context(), "", w.nodes[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	w.check(t, 2, "uid-m0,uid-m1", "m0", "m1")
}

func TestReleaseTakesOffOnlyAMarkThatNothingCameOf(t *testing.T) {
	for name, test := range map[string]struct {
		edit  func(*world)
		stays bool
	}{
		"a mark of this program": {func(w *world) { annotate(w.machines[0], mark, "ebb-kube") }, false},
		"a mark of a user":       {func(w *world) { annotate(w.machines[0], mark, "yes") }, true},
		"replicas were lowered": {func(w *world) {
			annotate(w.machines[0], mark, "ebb-kube")
			annotate(w.deployment, lowered, "uid-m0")
		}, true},
	} {
		w := newWorld()
		test.edit(w)
		p := w.provider(t)
		if err := p.Release(t.Context(), w.nodes[0]); err != nil {
			t.Fatal(err)
		}
		if _, stays := w.get(t, "machines", "m0").GetAnnotations()[mark]; stays != test.stays {
			t.Errorf("%s: it stays: %v", name, stays)
		}
	}
}

func TestGrowRaisesTheReplicasUpToTheMaximum(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "machinedeployments"}, "md", errors.New("was changed"))
	w := newWorld()
	w.answers = []error{conflict, conflict}
	p := w.provider(t)
	if err := p.Grow(t.Context(), "MachineDeployment/ns/md", 6); err != nil {
		t.Fatal(err)
	}
	w.check(t, 6, "")
	for group, test := range map[string]struct {
		size int
		want error
	}{"md": {5, nil}, "MachineDeployment/ns/md": {7, provider.ErrTooLarge}, "other": {1, provider.ErrNoGroup}} {
		if err := p.Grow(t.Context(), group, test.size); !errors.Is(err, test.want) {
			t.Errorf("%s to %d: %v", group, test.size, err)
		}
	}
	w.check(t, 6, "")
}

func TestAPausedOrUnlimitedMachineDeploymentDoesNotGrow(t *testing.T) {
	for _, edit := range []func(*world){
		func(w *world) { set(w.deployment, true, "spec", "paused") },
		func(w *world) { set(w.cluster, true, "spec", "paused") },
		func(w *world) { delete(w.deployment["metadata"].(object)["annotations"].(object), most) },
	} {
		w := newWorld()
		edit(w)
		if err := w.provider(t).Grow(t.Context(), "md", 5); err == nil || len(w.patched) > 0 {
			t.Errorf("%v; patched %v", err, w.patched)
		}
	}
}

func TestGroupsAreTheMachineDeploymentsWithSizes(t *testing.T) {
	w := newWorld()
	w.others = []object{thing("MachineDeployment", "plain", nil, object{"clusterName": "c", "replicas": int64(2)})}
	groups, err := w.provider(t).Groups(t.Context(), w.nodes)
	if err != nil || len(groups) != 1 {
		t.Fatalf("%v %v", groups, err)
	}
	if g := groups[0]; g.Name != "MachineDeployment/ns/md" || g.MinSize != 1 || g.MaxSize != 6 || g.TargetSize != 4 || strings.Join(g.Nodes, " ") != "n0 n1 n2 n3" {
		t.Errorf("%+v", g)
	}
}

func TestAMachineSetWithoutAMachineDeploymentIsScaledItself(t *testing.T) {
	w := newWorld()
	delete(w.sets[0]["metadata"].(object), "ownerReferences")
	annotate(w.sets[0], least, "1")
	annotate(w.sets[0], most, "4")
	p := w.provider(t)
	if err := p.Delete(t.Context(), "", w.nodes[:1]); err != nil {
		t.Fatal(err)
	}
	set := w.get(t, "machinesets", "ms")
	if now, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas"); now != 3 || set.GetAnnotations()[lowered] != "uid-m0" {
		t.Errorf("%d, %v", now, set.GetAnnotations())
	}
}

func TestReviewNamesWhatKeepsNodes(t *testing.T) {
	w := newWorld()
	set(w.cluster, true, "spec", "paused")
	w.machines = append(w.machines[1:], machine("9", w.sets[0]))
	w.nodes[0].Annotations = map[string]string{"cluster.x-k8s.io/machine": "m0", "cluster.x-k8s.io/cluster-namespace": "ns"}
	refused, notes, err := w.provider(t).Review(t.Context())
	if err != nil || len(refused) != 1 || !strings.Contains(refused[0], "Cluster/ns/c is paused") {
		t.Errorf("%q %v", refused, err)
	}
	if text := strings.Join(notes, "\n"); len(notes) != 2 || !strings.Contains(text, "node n0: it has no Machine") || !strings.Contains(text, "Machine/ns/m9 has no node") {
		t.Errorf("%q", notes)
	}
}

func TestManyMachinesGoOneByOneDownToTheMinimum(t *testing.T) {
	w := newWorld()
	p := w.provider(t)
	for i := range 3 {
		if err := p.Delete(t.Context(), "", w.nodes[i:i+1]); err != nil {
			t.Fatalf("%s: %v", strconv.Itoa(i), err)
		}
	}
	w.check(t, 1, "uid-m0,uid-m1,uid-m2", "m0", "m1", "m2")
}
