// Package karpenter deletes nodes that Karpenter made, by deleting their NodeClaims. Karpenter then
// ends the machine and removes the Node.
//
// A node stays unless all of this holds, by what the API server reports: exactly one NodeClaim
// names it, the NodeClaim is initialized and is not being deleted, Karpenter is not disrupting the
// node, neither the node nor one of its pods has the annotation karpenter.sh/do-not-disrupt, its
// NodePool exists and leaves consolidation to ebb, and the NodePool's budgets allow the disruption.
// With Buys, the provider also creates NodeClaims, for machines that ebb orders (buy.go). Otherwise
// it makes no machines: Karpenter makes them for pending pods.
//
// Cost:    Admit lists the NodeClaims, the NodePools, the nodes of the candidates' NodePools, and
// the pods of each candidate; Delete lists the NodeClaims.
// Threads: all methods may be called concurrently.
// Source:  rules of karpenter 1.14 pkg/controllers/disruption, pkg/controllers/state and pkg/apis/v1.
package karpenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"ebb/go/kube/provider"
	"ebb/go/kube/taint"
)

// Provider deletes NodeClaims.
type Provider struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Drains: Karpenter drains the nodes, and the actuator evicts no pod.
	Drains bool
	// Buys: NodeClaims may be created (buy.go).
	Buys bool
	// Now is the wall clock, for schedules of budgets; default time.Now.
	Now func() time.Time
}

var (
	_ provider.Provider    = (*Provider)(nil)
	_ provider.Judge       = (*Provider)(nil)
	_ provider.SelfDrainer = (*Provider)(nil)
	_ provider.Reviewer    = (*Provider)(nil)
	_ provider.Buyer       = (*Provider)(nil)
)

// Name returns "karpenter".
func (*Provider) Name() string { return "karpenter" }

// DrainsItself reports whether Karpenter drains the nodes.
func (p *Provider) DrainsItself() bool { return p.Drains }

func (p *Provider) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// findClaim returns the NodeClaim of a node, or a *provider.Refused that says why it is not clear.
func findClaim(claims []*nodeClaim, node *corev1.Node) (*nodeClaim, error) {
	var found []*nodeClaim
	var names []string
	for _, claim := range claims {
		if claim.isOf(node) {
			found, names = append(found, claim), append(names, claim.Name)
		}
	}
	switch {
	case len(found) == 0:
		return nil, provider.Refuse(node.Name, "no NodeClaim names it (status.nodeName, or status.providerID %q)", node.Spec.ProviderID)
	case len(found) > 1:
		slices.Sort(names)
		return nil, provider.Refuse(node.Name, "%d NodeClaims name it: %s", len(found), strings.Join(names, ", "))
	}
	claim := found[0]
	if claim.Status.ProviderID != node.Spec.ProviderID || (claim.Status.NodeName != "" && claim.Status.NodeName != node.Name) {
		return nil, provider.Refuse(node.Name, "NodeClaim %s contradicts it: its status has the node %q and the providerID %q, and the node has %q",
			claim.Name, claim.Status.NodeName, claim.Status.ProviderID, node.Spec.ProviderID)
	}
	return claim, nil
}

// Delete deletes the NodeClaims of the nodes. A NodeClaim that is being deleted already is left as
// it is.
func (p *Provider) Delete(ctx context.Context, _ string, nodes []*corev1.Node) error {
	claims, err := listAll[nodeClaim](ctx, p, NodeClaims)
	if err != nil {
		return again(err)
	}
	chosen := make([]*nodeClaim, 0, len(nodes))
	for _, node := range nodes {
		claim, err := findClaim(claims, node)
		if err != nil {
			return err
		}
		chosen = append(chosen, claim)
	}
	var failed []error
	for i, claim := range chosen {
		if claim.DeletionTimestamp != nil {
			continue
		}
		err := p.Dynamic.Resource(NodeClaims).Delete(ctx, claim.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &claim.UID},
		})
		if err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("node %s: NodeClaim %s: %w", nodes[i].Name, claim.Name, err))
		}
	}
	return again(errors.Join(failed...))
}

// again marks an error after which a repeated call may succeed: the API server gave no answer, or
// an object was changed meanwhile.
func again(err error) error {
	if err == nil || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, provider.ErrAgain)
}

// Taken reports whether the node's NodeClaim is being deleted, or the node is gone.
func (p *Provider) Taken(ctx context.Context, _ string, node *corev1.Node) (bool, error) {
	claims, err := listAll[nodeClaim](ctx, p, NodeClaims)
	if err != nil {
		return false, err
	}
	claim, err := findClaim(claims, node)
	if err == nil {
		return claim.DeletionTimestamp != nil, nil
	}
	// Karpenter removes the Node before the NodeClaim, so the caller's node may be an old one.
	held, err := p.Client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && held.UID != node.UID, err
}

// view is what the API server reports at one moment.
type view struct {
	claims []*nodeClaim
	pools  map[string]*nodePool
	nodes  map[string][]corev1.Node // By the name of their NodePool.
}

func (p *Provider) look(ctx context.Context, candidates []provider.Candidate) (*view, error) {
	v := &view{pools: map[string]*nodePool{}, nodes: map[string][]corev1.Node{}}
	var err error
	if v.claims, err = listAll[nodeClaim](ctx, p, NodeClaims); err != nil {
		return nil, err
	}
	pools, err := listAll[nodePool](ctx, p, NodePools)
	if err != nil {
		return nil, err
	}
	for _, pool := range pools {
		v.pools[pool.Name] = pool
	}
	for _, candidate := range candidates {
		name := candidate.Node.Labels[nodePoolLabel]
		if _, known := v.nodes[name]; known || name == "" {
			continue
		}
		list, err := p.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: nodePoolLabel + "=" + name})
		if err != nil {
			return nil, fmt.Errorf("nodes of NodePool %q: %w", name, err)
		}
		v.nodes[name] = list.Items
	}
	return v, nil
}

// Admit applies Karpenter's rules to each of the candidates.
func (p *Provider) Admit(ctx context.Context, candidates ...provider.Candidate) error {
	v, err := p.look(ctx, candidates)
	if err != nil {
		return err
	}
	for _, candidate := range candidates {
		if err := p.admit(ctx, v, candidate); err != nil {
			return err
		}
	}
	return nil
}

func (p *Provider) admit(ctx context.Context, v *view, candidate provider.Candidate) error {
	name := candidate.Node.Name
	pool := candidate.Node.Labels[nodePoolLabel]
	if pool == "" {
		return provider.Refuse(name, "it has no label %s: Karpenter did not make it", nodePoolLabel)
	}
	at := slices.IndexFunc(v.nodes[pool], func(n corev1.Node) bool { return n.Name == name && n.UID == candidate.Node.UID })
	if at < 0 {
		return fmt.Errorf("node %s: %w", name, taint.ErrGone)
	}
	node := &v.nodes[pool][at]
	claim, err := findClaim(v.claims, node)
	if err != nil {
		return err
	}
	if candidate.Deleting && (claim.isGoing() || (!p.Drains && taint.Find(node, disruptedTaint) != nil)) {
		// Karpenter deletes the node itself meanwhile, for example because the drain made it empty.
		return nil
	}
	if err := checkNode(v, node, claim); err != nil {
		return err
	}
	if err := checkPool(v, node, pool); err != nil {
		return err
	}
	if err := p.checkPods(ctx, name); err != nil {
		return err
	}
	return p.checkBudgets(v, node, candidate.Drain)
}

// checkNode applies the rules about the node itself.
// Source: karpenter pkg/controllers/state statenode.go, ValidateNodeDisruptable.
func checkNode(v *view, node *corev1.Node, claim *nodeClaim) error {
	for i := range v.nodes[node.Labels[nodePoolLabel]] {
		other := &v.nodes[node.Labels[nodePoolLabel]][i]
		if other.Name != node.Name && other.Spec.ProviderID == node.Spec.ProviderID {
			return provider.Refuse(node.Name, "node %s has the same spec.providerID %q", other.Name, node.Spec.ProviderID)
		}
	}
	switch {
	case claim.isGoing():
		return provider.Refuse(node.Name, "Karpenter is deleting NodeClaim %s already", claim.Name)
	case taint.Find(node, disruptedTaint) != nil:
		return provider.Refuse(node.Name, "Karpenter is disrupting it: it has the taint %s", disruptedTaint)
	case !claim.is("Initialized"):
		return provider.Refuse(node.Name, "NodeClaim %s is not initialized", claim.Name)
	case node.Labels[initializedLabel] != "true":
		return provider.Refuse(node.Name, "its label %s is not \"true\"", initializedLabel)
	}
	for kind, annotations := range map[string]map[string]string{"it": node.Annotations, "NodeClaim " + claim.Name: claim.Annotations} {
		if annotations[doNotDisrupt] == "true" {
			return provider.Refuse(node.Name, "%s is annotated %s: \"true\"", kind, doNotDisrupt)
		}
	}
	return nil
}

func checkPool(v *view, node *corev1.Node, name string) error {
	pool := v.pools[name]
	if pool == nil {
		return provider.Refuse(node.Name, "its NodePool %q does not exist", name)
	}
	if why := pool.conflict(); why != "" {
		return provider.Refuse(node.Name, "%s", why)
	}
	return nil
}

// checkPods looks for pods that must not be disrupted, of DaemonSets too.
// Source: karpenter pkg/utils/pod scheduling.go, IsDisruptable.
func (p *Provider) checkPods(ctx context.Context, node string) error {
	list, err := p.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return fmt.Errorf("pods of node %s: %w", node, err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.Spec.NodeName != node || ended || pod.DeletionTimestamp != nil {
			continue
		}
		if value := pod.Annotations[doNotDisrupt]; p.keeps(value, pod.Status.StartTime) {
			return provider.Refuse(node, "pod %s/%s is annotated %s: %q", pod.Namespace, pod.Name, doNotDisrupt, value)
		}
	}
	return nil
}

// keeps reports whether a pod's annotation keeps its node now: "true" always does, a duration since
// the pod's start.
func (p *Provider) keeps(value string, start *metav1.Time) bool {
	if value == "true" {
		return true
	}
	duration, err := time.ParseDuration(value)
	if err != nil || duration <= 0 {
		return false
	}
	return start == nil || p.now().Sub(start.Time) < duration
}

// checkBudgets checks that the NodePool's budgets allow one more disruption.
// Source: karpenter pkg/controllers/disruption helpers.go, BuildDisruptionBudgetMapping.
func (p *Provider) checkBudgets(v *view, node *corev1.Node, drain bool) error {
	name := node.Labels[nodePoolLabel]
	nodes, disrupted := v.count(name, node.Name)
	reason := empty
	if drain {
		reason = underutilized
	}
	allowed, err := v.pools[name].allowed(p.now(), nodes, reason)
	if err != nil {
		return provider.Refuse(node.Name, "%v; until it can be read, the budget allows nothing", err)
	}
	if disrupted+1 > allowed {
		return provider.Refuse(node.Name, "the budgets of NodePool %q allow %d of %d nodes to be disrupted now (reason %s), and %d are already",
			name, allowed, nodes, reason, disrupted)
	}
	return nil
}

// count returns how many nodes a NodePool has, and how many are disrupted. A node that is not ready
// counts as disrupted, also the candidate itself, as with Karpenter.
func (v *view) count(pool, candidate string) (nodes, disrupted int) {
	for i := range v.nodes[pool] {
		node := &v.nodes[pool][i]
		claim, err := findClaim(v.claims, node)
		if err != nil || node.Labels[initializedLabel] != "true" || claim.is("InstanceTerminating") {
			continue
		}
		nodes++
		if claim.isGoing() || taint.Find(node, disruptedTaint) != nil || !isReady(node) || (node.Name != candidate && taint.IsActedOn(node)) {
			disrupted++
		}
	}
	return nodes, disrupted
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
