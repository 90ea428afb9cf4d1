package karpenter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/provider"
)

// Review lists the NodePools whose nodes all stay, and the NodeClaims and nodes that do not fit
// together.
func (p *Provider) Review(ctx context.Context) (refused, notes []string, err error) {
	claims, err := listAll[nodeClaim](ctx, p, NodeClaims)
	if err != nil {
		return nil, nil, err
	}
	pools, err := listAll[nodePool](ctx, p, NodePools)
	if err != nil {
		return nil, nil, err
	}
	names := map[string]bool{}
	for _, pool := range pools {
		names[pool.Name] = true
		if why := pool.conflict(); why != "" {
			refused = append(refused, why)
		}
		if _, err := pool.allowed(p.now(), 0, underutilized); err != nil {
			refused = append(refused, err.Error())
		}
	}
	notes, err = p.reviewNodes(ctx, claims, names)
	slices.Sort(refused)
	slices.Sort(notes)
	return refused, notes, err
}

func (p *Provider) reviewNodes(ctx context.Context, claims []*nodeClaim, pools map[string]bool) ([]string, error) {
	list, err := p.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: nodePoolLabel})
	if err != nil {
		return nil, fmt.Errorf("nodes of NodePools: %w", err)
	}
	var notes []string
	claimed := map[string]bool{}
	for i := range list.Items {
		node := &list.Items[i]
		_, err := findClaim(claims, node)
		var why *provider.Refused
		if errors.As(err, &why) {
			notes = append(notes, why.Error())
		}
		if pool := node.Labels[nodePoolLabel]; !pools[pool] {
			notes = append(notes, fmt.Sprintf("node %s: its NodePool %q does not exist", node.Name, pool))
		}
		for _, claim := range claims {
			claimed[claim.Name] = claimed[claim.Name] || claim.isOf(node)
		}
	}
	for _, claim := range claims {
		if !claimed[claim.Name] {
			notes = append(notes, fmt.Sprintf("NodeClaim %s has no node", claim.Name))
		}
	}
	return notes, nil
}
