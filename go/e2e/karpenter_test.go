package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"ebb/go/e2e/nodes"
	"ebb/go/kube/access"
	"ebb/go/kube/app"
	"ebb/go/kube/provider/karpenter"
)

// karpenterNodes is a group of nodes as Karpenter makes them.
func karpenterNodes(count int) nodes.Group {
	group := machines("general", count)
	group.Labels = map[string]string{"karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true"}
	return group
}

// machineRoom is what both fakes of controllers share: it ends machines.
type machineRoom struct {
	c      *cluster
	client dynamic.Interface
	mu     sync.Mutex
	isHeld bool
	// evicts: the controller moves pods away itself. Otherwise a pod that must move is a problem.
	evicts   bool
	problems []string
	ended    []string
	// mostAtOnce is the largest number of machines that were ending at a time.
	mostAtOnce int
	stop       context.CancelFunc
	done       sync.WaitGroup
}

// turnEvery is how often a fake controller looks.
const turnEvery = 50 * time.Millisecond

func (m *machineRoom) run(turn func(context.Context)) {
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.c.ctx)
	m.done.Go(func() {
		for ctx.Err() == nil {
			turn(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(turnEvery):
			}
		}
	})
	m.c.t.Cleanup(func() { m.stop(); m.done.Wait() })
}

// hold makes the controller begin nothing until it is released.
func (m *machineRoom) hold(held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isHeld = held
}

func (m *machineRoom) held() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isHeld
}

func (m *machineRoom) problem(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *machineRoom) count(going int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mostAtOnce = max(m.mostAtOnce, going)
}

// check fails the test if there were problems, and returns the nodes whose machines ended.
func (m *machineRoom) check() []string {
	m.c.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, problem := range m.problems {
		m.c.t.Error(problem)
	}
	m.c.t.Logf("machines that ended: %v", m.ended)
	return append([]string(nil), m.ended...)
}

// end drains a node and deletes it. It returns true when the node is gone.
func (m *machineRoom) end(ctx context.Context, name string) bool {
	pods, err := client.CoreV1().Pods(m.c.namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	if err != nil {
		return false
	}
	for i := range pods.Items {
		if !m.evicts {
			m.problem("node %s has the pod %s, and its machine is to end", name, pods.Items[i].Name)
		}
		_ = client.PolicyV1().Evictions(m.c.namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: m.c.namespace, Name: pods.Items[i].Name}})
	}
	if len(pods.Items) > 0 {
		return false
	}
	err = client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if err == nil {
		m.mu.Lock()
		m.ended = append(m.ended, name)
		m.mu.Unlock()
	}
	return apierrors.IsNotFound(err)
}

// release takes the finalizers off an object.
func (m *machineRoom) release(ctx context.Context, resource schema.GroupVersionResource, of *unstructured.Unstructured) {
	_, _ = m.client.Resource(resource).Namespace(of.GetNamespace()).Patch(ctx, of.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
}

// karpenterFake ends the machines of deleted NodeClaims, as Karpenter does: it taints the node,
// waits until no pod is left, and removes the Node and then the NodeClaim. It also launches the
// machines of new NodeClaims, with the labels that their requirements decide.
type karpenterFake struct {
	machineRoom
	launched []string // Nodes.
}

// startKarpenter installs Karpenter's kinds, a NodePool and a NodeClaim for each node, and runs the
// fake.
func (c *cluster) startKarpenter() *karpenterFake {
	c.t.Helper()
	c.define(c.karpenterDefinitions()...)
	k := &karpenterFake{machineRoom: machineRoom{c: c, client: c.others()}}
	class := object{"group": "karpenter.test", "kind": "TestNodeClass", "name": "default"}
	k.create(karpenter.NodePools, object{
		"kind": "NodePool", "metadata": object{"name": "default"},
		"spec": object{
			"template":   object{"spec": object{"nodeClassRef": class, "requirements": []any{}}},
			"disruption": object{"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1h", "budgets": []any{object{"nodes": "2"}}},
		},
	})
	for _, name := range c.nodes {
		k.create(karpenter.NodeClaims, object{
			"kind": "NodeClaim", "metadata": object{
				"name": "claim-" + name, "labels": object{"karpenter.sh/nodepool": "default"}, "finalizers": []any{"karpenter.sh/termination"},
			},
			"spec": object{"nodeClassRef": class, "requirements": []any{}},
			"status": object{"nodeName": name, "providerID": "e2e:///" + name, "conditions": []any{object{
				"type": "Initialized", "status": "True", "reason": "Initialized", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
			}}},
		})
	}
	k.run(k.turn)
	return k
}

// create creates an object and its status.
func (k *karpenterFake) create(resource schema.GroupVersionResource, made object) {
	k.c.t.Helper()
	made["apiVersion"] = "karpenter.sh/v1"
	status := made["status"]
	held, err := k.client.Resource(resource).Create(k.c.ctx, &unstructured.Unstructured{Object: made}, metav1.CreateOptions{})
	k.c.must(err)
	if status != nil {
		held.Object["status"] = status
		_, err = k.client.Resource(resource).UpdateStatus(k.c.ctx, held, metav1.UpdateOptions{})
		k.c.must(err)
	}
}

func (k *karpenterFake) turn(ctx context.Context) {
	list, err := k.client.Resource(karpenter.NodeClaims).List(ctx, metav1.ListOptions{})
	if err != nil || k.held() {
		return
	}
	going := 0
	for i := range list.Items {
		claim := &list.Items[i]
		node, _, _ := unstructured.NestedString(claim.Object, "status", "nodeName")
		if claim.GetDeletionTimestamp() == nil {
			if node == "" {
				k.launch(ctx, claim)
			}
			continue
		}
		going++
		k.count(going)
		k.taint(ctx, node)
		if k.end(ctx, node) {
			k.release(ctx, karpenter.NodeClaims, claim)
		}
	}
}

// launch makes a machine of 8 cores for a NodeClaim that has no node.
func (k *karpenterFake) launch(ctx context.Context, claim *unstructured.Unstructured) {
	labels := map[string]string{"karpenter.sh/initialized": "true"}
	for key, value := range claim.GetLabels() {
		labels[key] = value
	}
	requirements, _, _ := unstructured.NestedSlice(claim.Object, "spec", "requirements")
	for _, each := range requirements {
		of := each.(object)
		if values, _ := of["values"].([]any); of["operator"] == "In" && len(values) == 1 {
			labels[of["key"].(string)] = values[0].(string)
		}
	}
	names, err := nodes.Create(ctx, client, nodes.Group{Name: "general", Count: 1, CPU: "8", Memory: "32Gi", Labels: labels})
	if err != nil {
		k.problem("launch: %v", err)
		return
	}
	conditions := []any{}
	for _, kind := range []string{"Launched", "Registered", "Initialized"} {
		conditions = append(conditions, object{"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
	}
	claim.Object["status"] = object{"nodeName": names[0], "providerID": "e2e:///" + names[0], "conditions": conditions}
	if _, err := k.client.Resource(karpenter.NodeClaims).UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		k.problem("launch: %v", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.launched = append(k.launched, names[0])
}

func (k *karpenterFake) taint(ctx context.Context, name string) {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == "karpenter.sh/disrupted" {
			return
		}
	}
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule})
	_, _ = client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
}

// setPool changes the NodePool's spec.disruption.
func (k *karpenterFake) setPool(disruption object) {
	k.c.t.Helper()
	text, err := json.Marshal(object{"spec": object{"disruption": disruption}})
	k.c.must(err)
	_, err = k.client.Resource(karpenter.NodePools).Patch(k.c.ctx, "default", types.MergePatchType, text, metav1.PatchOptions{})
	k.c.must(err)
}

// hasClaim reports whether the NodeClaim of a node exists, and whether it is being deleted.
func (k *karpenterFake) hasClaim(node string) (exists, going bool) {
	k.c.t.Helper()
	claim, err := k.client.Resource(karpenter.NodeClaims).Get(k.c.ctx, "claim-"+node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, false
	}
	k.c.must(err)
	return true, claim.GetDeletionTimestamp() != nil
}

// grantPurchases gives the account of byKarpenter the right to create NodeClaims, and waits until
// the API server has seen it.
func (c *cluster) grantPurchases(edit func(*app.Options)) {
	c.t.Helper()
	role, err := client.RbacV1().ClusterRoles().Get(c.ctx, "ebb-karpenter", metav1.GetOptions{})
	c.must(err)
	role.Rules[0].Verbs = append(role.Rules[0].Verbs, "create")
	_, err = client.RbacV1().ClusterRoles().Update(c.ctx, role, metav1.UpdateOptions{})
	c.must(err)
	o := &app.Options{Listen: "none"}
	edit(o)
	c.eventually("the role grants purchases", func() bool {
		missing, err := access.Missing(c.ctx, o.Client, (&karpenter.Provider{Buys: true}).Rights())
		return err == nil && len(missing) == 0
	})
}

// byKarpenter makes a replica delete NodeClaims, with no more rights than the manifests grant.
func (c *cluster) byKarpenter(drains bool) func(*app.Options) {
	return c.withRights("karpenter", func(own kubernetes.Interface, others dynamic.Interface, o *app.Options) {
		o.Provider = &karpenter.Provider{Client: own, Dynamic: others, Drains: drains}
	})
}

// withRights makes a replica use an account that has the rights of an overlay of the manifests.
func (c *cluster) withRights(overlay string, choose func(kubernetes.Interface, dynamic.Interface, *app.Options)) func(*app.Options) {
	c.t.Helper()
	config := c.account("ebb", true)
	c.grant("../../packaging/kustomize/" + overlay + "/role.yaml")
	err := client.RbacV1().ClusterRoleBindings().Delete(c.ctx, "ebb-node-object", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		c.t.Fatal(err)
	}
	own, err := kubernetes.NewForConfig(config)
	c.must(err)
	others, err := dynamic.NewForConfig(config)
	c.must(err)
	edit := func(o *app.Options) {
		o.Client, o.Dynamic, o.Namespace = own, others, accountNamespace
		choose(own, others, o)
	}
	// The API server needs some time to see new roles.
	o := &app.Options{Listen: "none"}
	edit(o)
	c.eventually("the roles grant what is needed", func() bool {
		missing, err := access.Missing(c.ctx, own, o.Needs().Provider)
		return err == nil && len(missing) == 0
	})
	return edit
}
