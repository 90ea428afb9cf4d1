package karpenter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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
	"ebb/go/kube/provider/karpenter"
	"ebb/go/kube/taint"
)

// 10:00 UTC on a Saturday.
var now = time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)

// world is a NodePool "default" of four nodes n0 to n3, each with a NodeClaim c0 to c3.
type world struct {
	nodes   []*corev1.Node
	pods    []*corev1.Pod
	claims  []map[string]any
	pools   []map[string]any
	drains  bool
	deleted []string
	answer  error
}

type object = map[string]any

func newWorld() *world {
	w := &world{pools: []object{{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": object{"name": "default", "uid": "pool"},
		"spec": object{"disruption": object{"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s", "budgets": []any{object{"nodes": "2"}}}},
	}}}
	for _, i := range []string{"0", "1", "2", "3"} {
		node := fakecluster.Node("n" + i)
		node.Labels["karpenter.sh/nodepool"], node.Labels["karpenter.sh/initialized"] = "default", "true"
		w.nodes = append(w.nodes, node)
		w.claims = append(w.claims, claim("c"+i, "n"+i))
	}
	return w
}

func claim(name, node string) object {
	return object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": object{"name": name, "uid": "uid-" + name, "labels": object{"karpenter.sh/nodepool": "default"}},
		"status": object{
			"nodeName": node, "providerID": "fake:///" + node,
			"conditions": []any{object{"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-28T09:00:00Z", "reason": "Initialized", "message": ""}},
		},
	}
}

func (w *world) disruption() object { return w.pools[0]["spec"].(object)["disruption"].(object) }

func set(of object, value any, path ...string) {
	if err := unstructured.SetNestedField(of, value, path...); err != nil {
		panic(err)
	}
}

func (w *world) provider(t *testing.T) *karpenter.Provider {
	t.Helper()
	var objects, others []runtime.Object
	for _, node := range w.nodes {
		objects = append(objects, node)
	}
	for _, pod := range w.pods {
		objects = append(objects, pod)
	}
	for _, each := range append(w.claims, w.pools...) {
		others = append(others, &unstructured.Unstructured{Object: each})
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{karpenter.NodeClaims: "NodeClaimList", karpenter.NodePools: "NodePoolList"}, others...)
	client.PrependReactor("delete", "nodeclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deletion := action.(clienttesting.DeleteActionImpl)
		if w.answer != nil {
			return true, nil, w.answer
		}
		held, err := client.Tracker().Get(karpenter.NodeClaims, "", deletion.Name)
		if err != nil {
			return true, nil, err
		}
		// As the API server does.
		if wanted := deletion.DeleteOptions.Preconditions; wanted == nil || wanted.UID == nil || *wanted.UID != held.(*unstructured.Unstructured).GetUID() {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, deletion.Name, errors.New("the UID differs"))
		}
		w.deleted = append(w.deleted, deletion.Name)
		return false, nil, nil
	})
	return &karpenter.Provider{Client: fakecluster.New(objects...).Client, Dynamic: client, Drains: w.drains, Now: func() time.Time { return now }}
}

// mark marks a node as the actuator does.
func mark(node *corev1.Node, phase string) {
	node.Annotations = map[string]string{taint.Annotation: `{"drain":true,"phase":"` + phase + `","since":1}`}
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: taint.Hard, Effect: corev1.TaintEffectNoSchedule, Value: "1"})
}

func (w *world) pod(value string, start time.Duration) {
	w.pods = append(w.pods, fakecluster.Pod("p", "n0", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": value}
		begin := metav1.NewTime(now.Add(-start))
		pod.Status.StartTime = &begin
	}))
}

func budgets(of ...object) func(*world) {
	return func(w *world) {
		var list []any
		for _, each := range of {
			list = append(list, each)
		}
		w.disruption()["budgets"] = list
	}
}

func TestAdmitSaysWhichRuleKeepsANode(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*world)
		want string // "" if the node may go.
	}{
		"nothing keeps it": {func(*world) {}, ""},
		"not Karpenter's":  {func(w *world) { delete(w.nodes[0].Labels, "karpenter.sh/nodepool") }, "no label karpenter.sh/nodepool"},
		"no NodeClaim":     {func(w *world) { w.claims = w.claims[1:] }, "no NodeClaim names it"},
		"two NodeClaims":   {func(w *world) { w.claims = append(w.claims, claim("c9", "n0")) }, "2 NodeClaims name it: c0, c9"},
		"a NodeClaim of another machine": {func(w *world) { set(w.claims[0], "fake:///other", "status", "providerID") },
			`NodeClaim c0 contradicts it: its status has the node "n0" and the providerID "fake:///other"`},
		"a NodeClaim of another node": {func(w *world) { set(w.claims[0], "n7", "status", "nodeName") }, "NodeClaim c0 contradicts it"},
		"two nodes of one machine":    {func(w *world) { w.nodes[1].Spec.ProviderID = "fake:///n0" }, "node n1 has the same spec.providerID"},
		"the NodeClaim is being deleted": {func(w *world) { set(w.claims[0], "2026-11-28T09:59:00Z", "metadata", "deletionTimestamp") },
			"Karpenter is deleting NodeClaim c0 already"},
		"Karpenter disrupts it": {func(w *world) {
			w.nodes[0].Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
		}, "it has the taint karpenter.sh/disrupted"},
		"not initialized, by its NodeClaim": {func(w *world) { set(w.claims[0], []any{}, "status", "conditions") }, "NodeClaim c0 is not initialized"},
		"not initialized, by its label":     {func(w *world) { delete(w.nodes[0].Labels, "karpenter.sh/initialized") }, `its label karpenter.sh/initialized is not "true"`},
		"do-not-disrupt": {func(w *world) { w.nodes[0].Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} },
			`it is annotated karpenter.sh/do-not-disrupt: "true"`},
		"do-not-disrupt of a pod":            {func(w *world) { w.pod("true", time.Hour) }, `pod default/p is annotated karpenter.sh/do-not-disrupt: "true"`},
		"do-not-disrupt for a while":         {func(w *world) { w.pod("2h", time.Hour) }, `pod default/p is annotated karpenter.sh/do-not-disrupt: "2h"`},
		"do-not-disrupt for a while, over":   {func(w *world) { w.pod("30m", time.Hour) }, ""},
		"do-not-disrupt that is no duration": {func(w *world) { w.pod("yes", time.Hour) }, ""},
		"do-not-disrupt of a pod that ended": {func(w *world) { w.pod("true", time.Hour); w.pods[0].Status.Phase = corev1.PodSucceeded }, ""},
		"no NodePool":                        {func(w *world) { w.pools = nil }, `its NodePool "default" does not exist`},
		"Karpenter consolidates too": {func(w *world) { w.disruption()["consolidationPolicy"] = "WhenEmptyOrUnderutilized" },
			`consolidationPolicy WhenEmptyOrUnderutilized, so Karpenter consolidates its nodes too; set it to WhenEmpty, or set spec.disruption.consolidateAfter to Never`},
		"Karpenter consolidates too, balanced":   {func(w *world) { w.disruption()["consolidationPolicy"] = "Balanced" }, "consolidationPolicy Balanced"},
		"Karpenter consolidates too, by default": {func(w *world) { delete(w.disruption(), "consolidationPolicy") }, "consolidationPolicy WhenEmptyOrUnderutilized"},
		"Karpenter never consolidates": {func(w *world) {
			w.disruption()["consolidationPolicy"], w.disruption()["consolidateAfter"] = "WhenEmptyOrUnderutilized", "Never"
		}, ""},
		"a static NodePool": {func(w *world) { set(w.pools[0], int64(4), "spec", "replicas") }, "has spec.replicas, so Karpenter would replace a deleted node"},

		"a budget that allows nothing": {budgets(object{"nodes": "0"}), `the budgets of NodePool "default" allow 0 of 4 nodes to be disrupted now (reason Underutilized), and 0 are already`},
		"the tightest budget counts":   {budgets(object{"nodes": "4"}, object{"nodes": "0%"}), "allow 0 of 4 nodes"},
		"a percentage is rounded up":   {budgets(object{"nodes": "10%"}), ""},
		"a budget of another reason":   {budgets(object{"nodes": "4"}, object{"nodes": "0", "reasons": []any{"Drifted", "Empty"}}), ""},
		"a budget of this reason":      {budgets(object{"nodes": "4"}, object{"nodes": "0", "reasons": []any{"Underutilized"}}), "allow 0 of 4 nodes"},
		"a budget that is open":        {budgets(object{"nodes": "0", "schedule": "0 9 * * 6", "duration": "1h1m0s"}), "allow 0 of 4 nodes"},
		"a budget that has closed":     {budgets(object{"nodes": "0", "schedule": "0 9 * * 6", "duration": "1h"}), ""},
		"a budget of another day":      {budgets(object{"nodes": "0", "schedule": "0 9 * * 1", "duration": "8h"}), ""},
		"a budget of each day":         {budgets(object{"nodes": "0", "schedule": "@daily", "duration": "11h"}), "allow 0 of 4 nodes"},
		"no budgets":                   {func(w *world) { delete(w.disruption(), "budgets") }, ""},
		"a broken schedule": {budgets(object{"nodes": "4", "schedule": "61 9 * * 6", "duration": "1h"}),
			`NodePool "default": spec.disruption.budgets[0].schedule: "61 9 * * 6" is not a cron expression`},
		"a broken duration":            {budgets(object{"nodes": "4", "schedule": "0 9 * * 6", "duration": "soon"}), `spec.disruption.budgets[0].duration: "soon" is not a duration`},
		"a schedule without duration":  {budgets(object{"nodes": "4", "schedule": "0 9 * * 6"}), "schedule and duration must be set together"},
		"a time zone":                  {budgets(object{"nodes": "4", "schedule": "TZ=Asia/Tokyo 0 9 * * 6", "duration": "1h"}), "names a time zone"},
		"a broken number":              {budgets(object{"nodes": "4"}, object{"nodes": "many"}), `spec.disruption.budgets[1].nodes: "many" is neither`},
		"nodes that drain count":       {func(w *world) { mark(w.nodes[1], "draining"); mark(w.nodes[2], "deleting") }, "and 2 are already"},
		"nodes that wait do not count": {func(w *world) { mark(w.nodes[1], "tainted"); mark(w.nodes[2], "failed") }, ""},
		"its own mark does not count":  {func(w *world) { mark(w.nodes[0], "drained"); mark(w.nodes[1], "drained") }, ""},
		"nodes that are not ready count": {func(w *world) {
			w.nodes[1].Status.Conditions, w.nodes[2].Status.Conditions = nil, nil
		}, "and 2 are already"},
		"NodeClaims that are being deleted count": {func(w *world) {
			for _, each := range w.claims[1:3] {
				set(each, "2026-11-28T09:59:00Z", "metadata", "deletionTimestamp")
			}
		}, "and 2 are already"},
		"nodes that are not set up count for neither": {func(w *world) {
			delete(w.nodes[1].Labels, "karpenter.sh/initialized")
			w.nodes[1].Status.Conditions = nil
			budgets(object{"nodes": "1"})(w)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			test.edit(w)
			p := w.provider(t)
			err := p.Admit(t.Context(), provider.Candidate{Node: w.nodes[0], Drain: true})
			var refused *provider.Refused
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.As(err, &refused) || refused.Node != "n0" || !strings.Contains(refused.Why, test.want)):
				t.Errorf("%v", err)
			}
		})
	}
}

func TestABudgetForEmptyNodesHoldsForANodeThatGoesEmpty(t *testing.T) {
	w := newWorld()
	budgets(object{"nodes": "0", "reasons": []any{"Empty"}})(w)
	p := w.provider(t)
	if err := p.Admit(t.Context(), provider.Candidate{Node: w.nodes[0]}); err == nil || !strings.Contains(err.Error(), "reason Empty") {
		t.Errorf("%v", err)
	}
}

func TestAnotherMachineOfTheNodesNameIsGone(t *testing.T) {
	w := newWorld()
	p := w.provider(t)
	other := w.nodes[0].DeepCopy()
	other.UID = "other"
	if err := p.Admit(t.Context(), provider.Candidate{Node: other}); !errors.Is(err, taint.ErrGone) {
		t.Errorf("%v", err)
	}
}

// Symptom: Karpenter deletes a node because its drain made it empty, and the deletion fails.
func TestADrainedNodeThatKarpenterDeletesItselfIsAdmitted(t *testing.T) {
	for _, drains := range []bool{false, true} {
		w := newWorld()
		w.drains = drains
		set(w.claims[0], "2026-11-28T09:59:00Z", "metadata", "deletionTimestamp")
		w.nodes[1].Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted"}}
		p := w.provider(t)
		if err := p.Admit(t.Context(), provider.Candidate{Node: w.nodes[0], Deleting: true}); err != nil {
			t.Error(err)
		}
		// Without a drain of ebb's, its pods are there, and Karpenter may still wait for a replacement.
		if err := p.Admit(t.Context(), provider.Candidate{Node: w.nodes[1], Deleting: true}); (err != nil) != drains {
			t.Errorf("drains: %v: %v", drains, err)
		}
		if err := p.Delete(t.Context(), "", w.nodes[:1]); err != nil || len(w.deleted) > 0 {
			t.Errorf("%v, deleted %v", err, w.deleted)
		}
	}
}

func TestDeleteDeletesTheNodeClaimsAndNothingElse(t *testing.T) {
	w := newWorld()
	p := w.provider(t)
	if err := p.Delete(t.Context(), "default", w.nodes[1:3]); err != nil {
		t.Fatal(err)
	}
	if strings.Join(w.deleted, " ") != "c1 c2" {
		t.Errorf("%v", w.deleted)
	}
	list, err := p.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 4 {
		t.Errorf("%v: Nodes are Karpenter's to delete", err)
	}
}

func TestDeleteDeletesNothingIfItIsNotClearWhichNodeClaim(t *testing.T) {
	w := newWorld()
	w.claims = append(w.claims, claim("c9", "n1"))
	p := w.provider(t)
	err := p.Delete(t.Context(), "default", w.nodes[:2])
	var refused *provider.Refused
	if !errors.As(err, &refused) || len(w.deleted) != 0 {
		t.Errorf("%v, deleted %v", err, w.deleted)
	}
}

func TestDeleteSaysWhetherARepetitionMayHelp(t *testing.T) {
	resource := schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}
	for name, test := range map[string]struct {
		answer error
		again  bool
	}{
		"no answer":  {errors.New("connection refused"), true},
		"a conflict": {apierrors.NewConflict(resource, "c0", errors.New("the UID differs")), true},
		"forbidden":  {apierrors.NewForbidden(resource, "c0", errors.New("no")), false},
	} {
		w := newWorld()
		p := w.provider(t)
		w.answer = test.answer
		if err := p.Delete(t.Context(), "", w.nodes[:1]); err == nil || errors.Is(err, provider.ErrAgain) != test.again || !strings.Contains(err.Error(), "NodeClaim c0") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := newWorld()
	p := w.provider(t)
	w.answer = apierrors.NewNotFound(resource, "c0")
	if err := p.Delete(t.Context(), "", w.nodes[:1]); err != nil {
		t.Errorf("a NodeClaim that is gone: %v", err)
	}
}

func TestTakenIsADeletedNodeClaimOrAGoneNode(t *testing.T) {
	w := newWorld()
	set(w.claims[1], "2026-11-28T09:59:00Z", "metadata", "deletionTimestamp")
	w.claims = w.claims[:3] // n3 has no NodeClaim.
	p := w.provider(t)
	old := w.nodes[3].DeepCopy()
	old.UID = "old"
	gone := fakecluster.Node("gone")
	for _, test := range []struct {
		node *corev1.Node
		want bool
	}{{w.nodes[0], false}, {w.nodes[1], true}, {w.nodes[3], false}, {old, true}, {gone, true}} {
		if taken, err := p.Taken(t.Context(), "", test.node); err != nil || taken != test.want {
			t.Errorf("%s: %v %v", test.node.Name, taken, err)
		}
	}
}

func TestReviewNamesWhatKeepsNodes(t *testing.T) {
	w := newWorld()
	w.disruption()["consolidationPolicy"] = "WhenEmptyOrUnderutilized"
	w.pools = append(w.pools, object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": object{"name": "broken"},
		"spec": object{"disruption": object{"consolidateAfter": "Never", "budgets": []any{object{"nodes": "1", "schedule": "x", "duration": "1h"}}}},
	})
	w.claims = append(w.claims[1:], claim("c9", "n9"), claim("c8", "n3"))
	w.nodes[2].Labels["karpenter.sh/nodepool"] = "missing"
	refused, notes, err := w.provider(t).Review(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`NodePool "default" has spec.disruption.consolidationPolicy`, `NodePool "broken": spec.disruption.budgets[0].schedule`} {
		if !strings.Contains(strings.Join(refused, "\n"), want) {
			t.Errorf("%q is not in %q", want, refused)
		}
	}
	for _, want := range []string{"node n0: no NodeClaim", "NodeClaim c9 has no node", "node n3: 2 NodeClaims name it: c3, c8", `node n2: its NodePool "missing" does not exist`} {
		if !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("%q is not in %q", want, notes)
		}
	}
	if len(refused) != 2 || len(notes) != 4 {
		t.Errorf("%q %q", refused, notes)
	}
}

func TestKarpenterCannotGrow(t *testing.T) {
	if _, grows := provider.Provider(&karpenter.Provider{}).(provider.Grower); grows {
		t.Error("it says that it can")
	}
}
