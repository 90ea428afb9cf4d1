package karpenter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"ebb/go/kube/access"
)

// Group and Version are those of Karpenter's kinds.
const (
	Group   = "karpenter.sh"
	Version = "v1"
)

// Labels, annotations and taints of Karpenter.
// Source: karpenter pkg/apis/v1 labels.go, taints.go.
const (
	nodePoolLabel    = Group + "/nodepool"
	initializedLabel = Group + "/initialized"
	doNotDisrupt     = Group + "/do-not-disrupt"
	disruptedTaint   = Group + "/disrupted"
)

// Resources of the kinds that the provider reads.
var (
	NodeClaims = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "nodeclaims"}
	NodePools  = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "nodepools"}
)

// Rights returns the rights that the provider needs beside those of every actuator.
func (p *Provider) Rights() []access.Right {
	rights := []access.Right{
		{Verb: "list", Group: Group, Version: Version, Resource: "nodeclaims"},
		{Verb: "delete", Group: Group, Version: Version, Resource: "nodeclaims"},
		{Verb: "list", Group: Group, Version: Version, Resource: "nodepools"},
	}
	if p != nil && p.Buys {
		rights = append(rights, access.Right{Verb: "create", Group: Group, Version: Version, Resource: "nodeclaims"})
	}
	return rights
}

// nodeClaim has the fields of a NodeClaim that decide.
type nodeClaim struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		NodeName   string              `json:"nodeName"`
		ProviderID string              `json:"providerID"`
		Conditions []metav1.Condition  `json:"conditions"`
		Capacity   corev1.ResourceList `json:"capacity"`
	} `json:"status"`
}

// is reports whether a condition is True.
func (c *nodeClaim) is(kind string) bool {
	for _, each := range c.Status.Conditions {
		if each.Type == kind {
			return each.Status == metav1.ConditionTrue
		}
	}
	return false
}

// isGoing reports whether Karpenter is deleting the machine.
func (c *nodeClaim) isGoing() bool { return c.DeletionTimestamp != nil || c.is("InstanceTerminating") }

// isOf reports whether the claim names the node by its machine or by its name.
func (c *nodeClaim) isOf(node *corev1.Node) bool {
	return (c.Status.ProviderID != "" && c.Status.ProviderID == node.Spec.ProviderID) || c.Status.NodeName == node.Name
}

// nodePool has the fields of a NodePool that decide.
type nodePool struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas   *int64 `json:"replicas"`
		Disruption struct {
			ConsolidateAfter    string   `json:"consolidateAfter"`
			ConsolidationPolicy string   `json:"consolidationPolicy"`
			Budgets             []budget `json:"budgets"`
		} `json:"disruption"`
		Limits   corev1.ResourceList `json:"limits"`
		Template template            `json:"template"`
	} `json:"spec"`
	Status struct {
		Resources  corev1.ResourceList `json:"resources"`
		Conditions []metav1.Condition  `json:"conditions"`
	} `json:"status"`
}

// defaultBudgets are those of a NodePool without budgets; the API server fills them in.
var defaultBudgets = []budget{{Nodes: "10%"}}

func (p *nodePool) budgets() []budget {
	if p.Spec.Disruption.Budgets == nil {
		return defaultBudgets
	}
	return p.Spec.Disruption.Budgets
}

// conflict returns why ebb and Karpenter would both act on the pool's nodes, and what to set; "" if
// they would not. Karpenter's methods of consolidation skip a pool whose consolidateAfter is Never,
// and with WhenEmpty they take only nodes that have nothing left to move.
// Source: karpenter pkg/controllers/disruption consolidation.go and emptiness.go, ShouldDisrupt;
// static pools: pkg/controllers/static.
func (p *nodePool) conflict() string {
	disruption := &p.Spec.Disruption
	switch {
	case p.Spec.Replicas != nil:
		return fmt.Sprintf("NodePool %q has spec.replicas, so Karpenter would replace a deleted node; lower spec.replicas instead", p.Name)
	case disruption.ConsolidateAfter == "Never", disruption.ConsolidationPolicy == "WhenEmpty":
		return ""
	}
	policy := disruption.ConsolidationPolicy
	if policy == "" {
		policy = "WhenEmptyOrUnderutilized"
	}
	return fmt.Sprintf("NodePool %q has spec.disruption.consolidationPolicy %s, so Karpenter consolidates its nodes too; "+
		"set it to WhenEmpty, or set spec.disruption.consolidateAfter to Never", p.Name, policy)
}

// listAll lists the objects of a kind and converts them.
func listAll[T any](ctx context.Context, p *Provider, resource schema.GroupVersionResource) ([]*T, error) {
	list, err := p.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", resource.Resource, resource.Group, err)
	}
	converted := make([]*T, 0, len(list.Items))
	for i := range list.Items {
		object, err := convert[T](&list.Items[i])
		if err != nil {
			return nil, err
		}
		converted = append(converted, object)
	}
	return converted, nil
}

func convert[T any](object *unstructured.Unstructured) (*T, error) {
	converted := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, converted); err != nil {
		return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return converted, nil
}
