package karpenter_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/kube/provider"
	"ebb/go/kube/provider/karpenter"
)

var order = provider.Order{ID: "ebb-1", Group: "default", MachineType: "m8", Zone: "za", CapacityType: "on-demand", Like: "n0"}

// shop is a world in which machines can be bought.
func shop() *world {
	w := newWorld()
	spec := w.pools[0]["spec"].(object)
	spec["disruption"].(object)["consolidateAfter"] = "1h"
	spec["template"] = object{
		"metadata": object{"labels": object{"team": "a"}, "annotations": object{"note": "x"}},
		"spec": object{
			"nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "standard"},
			"requirements": []any{
				object{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand", "spot"}},
				object{"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": []any{"m"}},
			},
			"taints":      []any{object{"key": "own", "effect": "NoSchedule"}},
			"expireAfter": "720h",
		},
	}
	w.pools[0]["metadata"].(object)["annotations"] = object{"karpenter.sh/nodepool-hash": "12", "karpenter.sh/nodepool-hash-version": "v3"}
	return w
}

// buyer returns a provider that may buy, and the NodeClaims that it created; a dry run creates none.
func (w *world) buyer(t *testing.T) (*karpenter.Provider, func() []*unstructured.Unstructured, *int) {
	t.Helper()
	p := w.provider(t)
	p.Buys = true
	client := p.Dynamic.(*fake.FakeDynamicClient)
	var created []*unstructured.Unstructured
	dryRuns := 0
	client.PrependReactor("create", "nodeclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		creation := action.(clienttesting.CreateActionImpl)
		if w.answer != nil {
			return true, nil, w.answer
		}
		made := creation.Object.(*unstructured.Unstructured)
		if len(creation.CreateOptions.DryRun) > 0 {
			dryRuns++
			return true, made, nil
		}
		created = append(created, made)
		return false, nil, nil
	})
	return p, func() []*unstructured.Unstructured { return created }, &dryRuns
}

func TestBuyCreatesTheNodeClaimOfTheNodePool(t *testing.T) {
	p, created, dryRuns := shop().buyer(t)
	bought, err := p.Buy(t.Context(), []provider.Order{order})
	if err != nil || len(bought) != 1 || bought[0].Ready || bought[0].WaitsFor == "" {
		t.Fatalf("%v %v", bought, err)
	}
	if len(created()) != 1 || *dryRuns != 1 {
		t.Fatalf("%v, %d dry runs", created(), *dryRuns)
	}
	claim := created()[0]
	if claim.GetName() != "ebb-1" || claim.GetAnnotations()["ebb/order"] != "ebb-1" || claim.GetAnnotations()["karpenter.sh/nodepool-hash"] != "12" || claim.GetAnnotations()["note"] != "x" {
		t.Errorf("%v", claim.Object["metadata"])
	}
	labels := claim.GetLabels()
	if labels["karpenter.sh/nodepool"] != "default" || labels["karpenter.k8s.aws/ec2nodeclass"] != "standard" || labels["team"] != "a" {
		t.Errorf("%v", labels)
	}
	if owners := claim.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "NodePool" || owners[0].UID != "pool" {
		t.Errorf("%v", owners)
	}
	spec := claim.Object["spec"].(object)
	var text []string
	for _, each := range spec["requirements"].([]any) {
		of := each.(object)
		text = append(text, of["key"].(string)+" "+of["values"].([]any)[0].(string))
	}
	want := "karpenter.k8s.aws/instance-category m, karpenter.sh/capacity-type on-demand, node.kubernetes.io/instance-type m8, topology.kubernetes.io/zone za, team a"
	if got := strings.Join(text, ", "); got != want {
		t.Errorf("%s", got)
	}
	if spec["expireAfter"] != "720h" || len(spec["taints"].([]any)) != 1 || spec["nodeClassRef"].(object)["name"] != "standard" {
		t.Errorf("%v", spec)
	}
}

// Also by another process: the name follows from the order.
func TestAnOrderIsCarriedOutOnce(t *testing.T) {
	w := shop()
	p, created, _ := w.buyer(t)
	for range 3 {
		if _, err := p.Buy(t.Context(), []provider.Order{order}); err != nil {
			t.Fatal(err)
		}
	}
	other := *p
	if _, err := other.Buy(t.Context(), []provider.Order{order}); err != nil || len(created()) != 1 {
		t.Errorf("%v, %d NodeClaims", err, len(created()))
	}
}

func TestBuySaysWhenTheNodeIsReady(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(w *world, claim object)
		want string
	}{
		"ready": {func(*world, object) {}, ""},
		"not launched": {func(_ *world, claim object) {
			set(claim, []any{object{"type": "Launched", "status": "False", "message": "no capacity"}}, "status", "conditions")
			set(claim, "", "status", "nodeName")
		}, "it is not launched: no capacity"},
		"not initialized": {func(_ *world, claim object) {
			set(claim, []any{object{"type": "Launched", "status": "True"}, object{"type": "Registered", "status": "True"}}, "status", "conditions")
		}, "it is not initialized"},
		"not ready": {func(w *world, _ object) { w.nodes[3].Status.Conditions = nil }, "node n3 is not ready"},
		"cordoned":  {func(w *world, _ object) { w.nodes[3].Spec.Unschedulable = true }, "node n3 is not ready"},
		"no node":   {func(_ *world, claim object) { set(claim, "n9", "status", "nodeName") }, "its Node does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop()
			held := claim("ebb-1", "n3")
			set(held, object{"ebb/order": "ebb-1"}, "metadata", "annotations")
			w.claims = append(w.claims[:3], held)
			test.edit(w, held)
			p, created, _ := w.buyer(t)
			bought, err := p.Buy(t.Context(), []provider.Order{order})
			if err != nil || len(created()) != 0 {
				t.Fatalf("%v %v", err, created())
			}
			if bought[0].Ready != (test.want == "") || bought[0].WaitsFor != test.want || (bought[0].Ready && bought[0].Node != "n3") {
				t.Errorf("%+v", bought[0])
			}
		})
	}
}

func TestBuyRefusesWhatIsNotSafe(t *testing.T) {
	spec := func(w *world) object { return w.pools[0]["spec"].(object) }
	limits := func(of object) func(*world) { return func(w *world) { spec(w)["limits"] = of } }
	typed := func(w *world) {
		w.nodes[0].Labels[corev1.LabelInstanceTypeStable] = "m8"
		w.nodes[0].Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("8")}
	}
	require := func(key, operator string, values ...any) func(*world) {
		return func(w *world) {
			of := spec(w)["template"].(object)["spec"].(object)
			of["requirements"] = []any{object{"key": key, "operator": operator, "values": values}}
		}
	}
	for name, test := range map[string]struct {
		edit func(*world)
		want string // "": it is bought.
	}{
		"a node of no NodePool":        {func(w *world) { delete(w.nodes[0].Labels, "karpenter.sh/nodepool") }, "node n0 of group default is not of a NodePool"},
		"no NodePool":                  {func(w *world) { w.pools = nil }, `there is no NodePool "default"`},
		"Karpenter consolidates too":   {func(w *world) { w.disruption()["consolidationPolicy"] = "WhenEmptyOrUnderutilized" }, "set it to WhenEmpty"},
		"Karpenter removes it early":   {func(w *world) { w.disruption()["consolidateAfter"] = "30s" }, "consolidateAfter 30s, so Karpenter may remove the bought node before pods arrive; set it to 5m or more"},
		"Karpenter never consolidates": {func(w *world) { w.disruption()["consolidateAfter"] = "Never" }, ""},
		"a static NodePool":            {func(w *world) { spec(w)["replicas"] = int64(3) }, "has spec.replicas"},
		"a NodePool that goes":         {func(w *world) { set(w.pools[0], "2026-11-28T09:59:00Z", "metadata", "deletionTimestamp") }, "is being deleted"},
		"a NodePool that is not ready": {func(w *world) {
			w.pools[0]["status"] = object{"conditions": []any{object{"type": "Ready", "status": "False", "message": "NodeClass missing"}}}
		}, "is not ready: NodeClass missing"},
		"no nodeClassRef":             {func(w *world) { delete(spec(w)["template"].(object)["spec"].(object), "nodeClassRef") }, "nodeClassRef is missing"},
		"another type":                {require("node.kubernetes.io/instance-type", "In", "m4"), "do not allow node.kubernetes.io/instance-type m8"},
		"this type":                   {require("node.kubernetes.io/instance-type", "In", "m4", "m8"), ""},
		"not this zone":               {require("topology.kubernetes.io/zone", "NotIn", "za"), "do not allow topology.kubernetes.io/zone za"},
		"no capacity type":            {require("karpenter.sh/capacity-type", "DoesNotExist"), "do not allow karpenter.sh/capacity-type on-demand"},
		"an unknown operator":         {require("topology.kubernetes.io/zone", "Near", "za"), "do not allow topology.kubernetes.io/zone za"},
		"a limit of an unknown type":  {limits(object{"cpu": "100"}), "spec.limits.cpu, and no node of type m8 tells how much it has"},
		"a limit that is reached":     {func(w *world) { typed(w); limits(object{"cpu": "7"})(w) }, "spec.limits.cpu is 7, and with a node of type m8 it would have 8 instead of 0; raise the limit"},
		"a limit that is not reached": {func(w *world) { typed(w); limits(object{"cpu": "8"})(w) }, ""},
		"what the NodePool uses counts": {func(w *world) {
			typed(w)
			limits(object{"cpu": "8"})(w)
			w.pools[0]["status"] = object{"resources": object{"cpu": "1"}}
		}, "it would have 9 instead of 1"},
		"a limit of nodes":               {limits(object{"nodes": "4"}), "spec.limits.nodes is 4"},
		"a NodeClaim of another program": {func(w *world) { w.claims = append(w.claims, claim("ebb-1", "n9")) }, "ebb did not create it"},
		"a NodeClaim that goes": {func(w *world) {
			held := claim("ebb-1", "n9")
			set(held, object{"ebb/order": "ebb-1"}, "metadata", "annotations")
			set(held, "2026-11-28T09:59:00Z", "metadata", "deletionTimestamp")
			set(held, []any{object{"type": "Launched", "status": "False", "message": "InsufficientCapacity"}}, "status", "conditions")
			w.claims = append(w.claims, held)
		}, "Karpenter deletes its NodeClaim: it is not launched: InsufficientCapacity"},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop()
			test.edit(w)
			p, created, _ := w.buyer(t)
			_, err := p.Buy(t.Context(), []provider.Order{order})
			var refused *provider.RefusedOrder
			switch {
			case test.want == "" && (err != nil || len(created()) != 1):
				t.Errorf("%v, %d NodeClaims", err, len(created()))
			case test.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) || len(created()) != 0):
				t.Errorf("%v, %d NodeClaims", err, len(created()))
			}
		})
	}
}

func TestBuyCreatesAllOrNone(t *testing.T) {
	second := order
	second.ID = "ebb-2"
	w := shop()
	w.pools[0]["spec"].(object)["limits"] = object{"nodes": "5"}
	p, created, _ := w.buyer(t)
	if _, err := p.Buy(t.Context(), []provider.Order{order, second}); err == nil || len(created()) != 0 {
		t.Errorf("%v, %d NodeClaims: the limit allows one", err, len(created()))
	}
	resource := schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}
	for name, test := range map[string]struct {
		answer error
		again  bool
	}{
		"forbidden": {apierrors.NewForbidden(resource, "ebb-1", errors.New("no")), false},
		"no answer": {errors.New("connection refused"), true},
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{Group: "karpenter.sh", Kind: "NodeClaim"}, "ebb-1", nil), false},
	} {
		w := shop()
		p, created, _ := w.buyer(t)
		w.answer = test.answer
		if _, err := p.Buy(t.Context(), []provider.Order{order}); err == nil || errors.Is(err, provider.ErrAgain) != test.again || len(created()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBuyingIsARightOfItsOwn(t *testing.T) {
	creates := func(p *karpenter.Provider) bool {
		for _, right := range p.Rights() {
			if right.Verb == "create" {
				return true
			}
		}
		return false
	}
	if creates(nil) || creates(&karpenter.Provider{}) || !creates(&karpenter.Provider{Buys: true}) {
		t.Error("the right to create NodeClaims is needed exactly with Buys")
	}
}
