package karpenter

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"ebb/go/kube/provider"
)

// orderAnnotation has the id of the order on a NodeClaim that ebb created.
const orderAnnotation = "ebb/order"

const capacityTypeLabel = Group + "/capacity-type"

// emptyFor is how long a new node must be allowed to stay empty: ebb first waits until all bought
// nodes are ready, and then pods are evicted one after the other.
const emptyFor = 5 * time.Minute

// template is a NodePool's spec.template.
type template struct {
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	// A NodeClaim's spec, as it is.
	Spec map[string]any `json:"spec"`
}

// requirement is an entry of spec.requirements that an order may contradict.
type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// allows reports whether a label may have the value. Unknown operators allow nothing.
func (r *requirement) allows(value string) bool {
	number, failed := strconv.Atoi(value)
	limit := 0
	if len(r.Values) == 1 {
		limit, _ = strconv.Atoi(r.Values[0])
	}
	switch corev1.NodeSelectorOperator(r.Operator) {
	case corev1.NodeSelectorOpIn:
		return slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpExists:
		return true
	case corev1.NodeSelectorOpGt:
		return failed == nil && number > limit
	case corev1.NodeSelectorOpLt:
		return failed == nil && number < limit
	}
	return false
}

// CanBuy reports whether the provider may create NodeClaims.
func (p *Provider) CanBuy() bool { return p.Buys }

// Buy creates a NodeClaim for each order: that of the NodePool's template, with the instance type,
// zone and capacity type of the order. Its name is the order's id, so an order is carried out once.
// All NodeClaims are first created as a dry run, so that none is made if the API server would
// reject one.
// Source: karpenter pkg/controllers/provisioning/scheduling nodeclaimtemplate.go, ToNodeClaim.
func (p *Provider) Buy(ctx context.Context, orders []provider.Order) ([]provider.Bought, error) {
	claims, err := listAll[nodeClaim](ctx, p, NodeClaims)
	if err != nil {
		return nil, again(err)
	}
	held := map[string]*nodeClaim{}
	for _, claim := range claims {
		held[claim.Name] = claim
	}
	fresh, err := p.fresh(ctx, orders, held, claims)
	if err != nil {
		return nil, err
	}
	for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
		for _, claim := range fresh {
			_, err := p.Dynamic.Resource(NodeClaims).Create(ctx, claim.DeepCopy(), metav1.CreateOptions{DryRun: dryRun})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return nil, again(fmt.Errorf("order %s: NodeClaim of NodePool %q: %w", claim.GetName(), claim.GetLabels()[nodePoolLabel], err))
			}
		}
	}
	bought := make([]provider.Bought, len(orders))
	for i, order := range orders {
		if bought[i], err = p.stateOf(ctx, order.ID, held[order.ID]); err != nil {
			return nil, err
		}
	}
	return bought, nil
}

// fresh returns the NodeClaims to create.
func (p *Provider) fresh(ctx context.Context, orders []provider.Order, held map[string]*nodeClaim, claims []*nodeClaim) ([]*unstructured.Unstructured, error) {
	var made []*unstructured.Unstructured
	var v *view
	more := map[string]corev1.ResourceList{} // What earlier orders use of each NodePool.
	for _, order := range orders {
		if claim := held[order.ID]; claim != nil {
			if claim.Annotations[orderAnnotation] != order.ID {
				return nil, provider.RefuseOrder(order.ID, "a NodeClaim of this name exists, and ebb did not create it")
			}
			continue
		}
		if v == nil {
			var err error
			if v, err = p.look(ctx, nil); err != nil {
				return nil, again(err)
			}
		}
		name, err := p.poolOf(ctx, order)
		if err != nil {
			return nil, err
		}
		pool := v.pools[name]
		if pool == nil {
			return nil, provider.RefuseOrder(order.ID, "there is no NodePool %q: only Karpenter's nodes can be bought", name)
		}
		if why := pool.sells(order); why != "" {
			return nil, provider.RefuseOrder(order.ID, "%s", why)
		}
		if err := p.checkLimits(ctx, order, pool, claims, more); err != nil {
			return nil, err
		}
		made = append(made, pool.claimOf(order))
	}
	return made, nil
}

// poolOf returns the name of the NodePool of the order's group: that of the node that the new one is
// like, or the group's own name.
func (p *Provider) poolOf(ctx context.Context, order provider.Order) (string, error) {
	if order.Like == "" {
		return order.Group, nil
	}
	node, err := p.Client.CoreV1().Nodes().Get(ctx, order.Like, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return order.Group, nil
	case err != nil:
		return "", again(err)
	case node.Labels[nodePoolLabel] == "":
		return "", provider.RefuseOrder(order.ID, "node %s of group %s is not of a NodePool: only Karpenter's nodes can be bought", order.Like, order.Group)
	}
	return node.Labels[nodePoolLabel], nil
}

// sells returns why no NodeClaim of the order is created in this pool, and what to set; "" if it
// is.
func (p *nodePool) sells(order provider.Order) string {
	if why := p.conflict(); why != "" {
		return why
	}
	if after := p.Spec.Disruption.ConsolidateAfter; after != "Never" {
		if duration, err := time.ParseDuration(after); err != nil || duration < emptyFor {
			return fmt.Sprintf("NodePool %q has spec.disruption.consolidateAfter %s, so Karpenter may remove the bought node before pods arrive; "+
				"set it to %dm or more, or to Never", p.Name, after, int(emptyFor.Minutes()))
		}
	}
	if p.DeletionTimestamp != nil {
		return fmt.Sprintf("NodePool %q is being deleted", p.Name)
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == "Ready" && condition.Status != metav1.ConditionTrue {
			return fmt.Sprintf("NodePool %q is not ready: %s", p.Name, condition.Message)
		}
	}
	if order.MachineType == "" {
		return "the order names no machine type"
	}
	reference, _ := p.Spec.Template.Spec["nodeClassRef"].(map[string]any)
	if len(reference) == 0 {
		return fmt.Sprintf("NodePool %q: spec.template.spec.nodeClassRef is missing", p.Name)
	}
	for _, each := range p.requirements() {
		value, pinned := pins(order)[each.Key]
		if pinned && !each.allows(value) {
			return fmt.Sprintf("NodePool %q: spec.template.spec.requirements do not allow %s %s", p.Name, each.Key, value)
		}
	}
	for key, value := range p.Spec.Template.Metadata.Labels {
		if pinned, ok := pins(order)[key]; ok && pinned != value {
			return fmt.Sprintf("NodePool %q: spec.template.metadata.labels do not allow %s %s", p.Name, key, pinned)
		}
	}
	return ""
}

func (p *nodePool) requirements() []requirement {
	var list []requirement
	text, err := json.Marshal(p.Spec.Template.Spec["requirements"])
	if err == nil {
		_ = json.Unmarshal(text, &list)
	}
	return list
}

// pins are the labels that the order decides.
func pins(order provider.Order) map[string]string {
	labels := map[string]string{corev1.LabelInstanceTypeStable: order.MachineType}
	if order.Zone != "" {
		labels[corev1.LabelTopologyZone] = order.Zone
	}
	if order.CapacityType != "" {
		labels[capacityTypeLabel] = order.CapacityType
	}
	return labels
}

// claimOf returns the NodeClaim of an order.
func (p *nodePool) claimOf(order provider.Order) *unstructured.Unstructured {
	reference, _ := p.Spec.Template.Spec["nodeClassRef"].(map[string]any)
	text := func(key string) string { value, _ := reference[key].(string); return value }
	labels := map[string]string{}
	maps.Copy(labels, p.Spec.Template.Metadata.Labels)
	labels[nodePoolLabel] = p.Name
	labels[text("group")+"/"+strings.ToLower(text("kind"))] = text("name")
	annotations := map[string]string{}
	maps.Copy(annotations, p.Spec.Template.Metadata.Annotations)
	annotations[orderAnnotation] = order.ID
	// With these Karpenter sees whether the NodePool has changed since (drift).
	for _, key := range []string{Group + "/nodepool-hash", Group + "/nodepool-hash-version"} {
		if value, ok := p.Annotations[key]; ok {
			annotations[key] = value
		}
	}
	var requirements []any
	given, _ := p.Spec.Template.Spec["requirements"].([]any)
	for _, each := range given {
		if of, ok := each.(map[string]any); ok {
			if _, pinned := pins(order)[fmt.Sprint(of["key"])]; pinned {
				continue
			}
		}
		requirements = append(requirements, each)
	}
	require := func(of map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			requirements = append(requirements, map[string]any{"key": key, "operator": "In", "values": []any{of[key]}})
		}
	}
	require(pins(order))
	require(p.Spec.Template.Metadata.Labels)
	spec := map[string]any{}
	maps.Copy(spec, p.Spec.Template.Spec)
	spec["requirements"] = requirements
	claim := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	claim.SetAPIVersion(Group + "/" + Version)
	claim.SetKind("NodeClaim")
	claim.SetName(order.ID)
	claim.SetLabels(labels)
	claim.SetAnnotations(annotations)
	claim.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: Group + "/" + Version, Kind: "NodePool", Name: p.Name, UID: p.UID}})
	return claim
}

// checkLimits checks that the NodePool's spec.limits allow one more node of the order's type. What
// such a node has is known from the nodes of that type that there are.
// Source: karpenter pkg/apis/v1 nodepool.go, Limits.ExceededBy.
func (p *Provider) checkLimits(ctx context.Context, order provider.Order, pool *nodePool, claims []*nodeClaim, more map[string]corev1.ResourceList) error {
	if len(pool.Spec.Limits) == 0 {
		return nil
	}
	used := corev1.ResourceList{}
	add := func(amounts corev1.ResourceList) {
		for name, amount := range amounts {
			sum := used[name]
			sum.Add(amount)
			used[name] = sum
		}
	}
	for _, claim := range claims {
		if claim.Labels[nodePoolLabel] == pool.Name {
			add(claim.Status.Capacity)
			add(corev1.ResourceList{"nodes": resource.MustParse("1")})
		}
	}
	// The NodePool's own count is the higher one if NodeClaims have no capacity yet.
	for name, amount := range pool.Status.Resources {
		if sum := used[name]; amount.Cmp(sum) > 0 {
			used[name] = amount
		}
	}
	add(more[pool.Name])
	list, err := p.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: corev1.LabelInstanceTypeStable + "=" + order.MachineType})
	if err != nil {
		return again(err)
	}
	asked := corev1.ResourceList{"nodes": resource.MustParse("1")}
	if len(list.Items) > 0 {
		maps.Copy(asked, list.Items[0].Status.Capacity)
	}
	for name, limit := range pool.Spec.Limits {
		amount, known := asked[name]
		if !known && len(list.Items) == 0 {
			return provider.RefuseOrder(order.ID, "NodePool %q has spec.limits.%s, and no node of type %s tells how much it has", pool.Name, name, order.MachineType)
		}
		sum := used[name]
		sum.Add(amount)
		if sum.Cmp(limit) > 0 {
			held := used[name]
			return provider.RefuseOrder(order.ID, "NodePool %q: spec.limits.%s is %s, and with a node of type %s it would have %s instead of %s; raise the limit",
				pool.Name, name, limit.String(), order.MachineType, sum.String(), held.String())
		}
	}
	sum := more[pool.Name]
	if sum == nil {
		sum = corev1.ResourceList{}
	}
	for name, amount := range asked {
		total := sum[name]
		total.Add(amount)
		sum[name] = total
	}
	more[pool.Name] = sum
	return nil
}

// stateOf reports the node of an order's NodeClaim; nil: it was created just now.
func (p *Provider) stateOf(ctx context.Context, id string, claim *nodeClaim) (provider.Bought, error) {
	if claim == nil {
		return provider.Bought{WaitsFor: "its NodeClaim was created"}, nil
	}
	if claim.isGoing() {
		return provider.Bought{}, provider.RefuseOrder(id, "Karpenter deletes its NodeClaim: %s", claim.waitsFor())
	}
	if claim.Status.NodeName == "" || !claim.is("Initialized") {
		return provider.Bought{Node: claim.Status.NodeName, WaitsFor: claim.waitsFor()}, nil
	}
	node, err := p.Client.CoreV1().Nodes().Get(ctx, claim.Status.NodeName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return provider.Bought{WaitsFor: "its Node does not exist"}, nil
	case err != nil:
		return provider.Bought{}, again(err)
	case !isReady(node) || node.Spec.Unschedulable:
		return provider.Bought{Node: node.Name, WaitsFor: "node " + node.Name + " is not ready"}, nil
	}
	return provider.Bought{Node: node.Name, Ready: true}, nil
}

// waitsFor names the first condition that is not True, with its message.
func (c *nodeClaim) waitsFor() string {
	for _, kind := range []string{"Launched", "Registered", "Initialized"} {
		if c.is(kind) {
			continue
		}
		for _, each := range c.Status.Conditions {
			if each.Type == kind && each.Message != "" {
				return fmt.Sprintf("it is not %s: %s", strings.ToLower(kind), each.Message)
			}
		}
		return "it is not " + strings.ToLower(kind)
	}
	return "its node is not ready"
}
