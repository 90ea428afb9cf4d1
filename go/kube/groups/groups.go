// Package groups sends the daemon the rules by which nodes form groups: none, so that groups follow
// labels; the text of a file (docs/plan.md); or the groups of a provider, converted to such a file.
package groups

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/provider"
)

// FromFile reads a file of node groups.
func FromFile(path string) (*plannerpb.Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &plannerpb.Settings{NodeGroups: string(text), NodeGroupsName: path}, nil
}

// rule is one rule in a file of node groups.
type rule struct {
	Name         string            `json:"name"`
	NodeSelector map[string]string `json:"nodeSelector"`
	MinSize      *int              `json:"minSize,omitempty"`
	MaxSize      *int              `json:"maxSize,omitempty"`
	TargetSize   *int              `json:"targetSize,omitempty"`
	Autoscaled   *bool             `json:"autoscaled,omitempty"`
}

// FromProvider converts the groups of a provider to a file of node groups. A group is selected by a
// label that exactly its nodes have, or by all labels that its nodes have in common. Nodes that are
// in none of the provider's groups are excluded. If no labels distinguish a group's nodes from all
// others, FromProvider returns an error; it does not guess.
func FromProvider(ctx context.Context, of provider.Grouper, nodes []*corev1.Node) (*plannerpb.Settings, error) {
	found, err := of.Groups(ctx, nodes)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b provider.Group) int { return cmp.Compare(a.Name, b.Name) })
	var rules []rule
	member := map[string]string{}
	for i := range found {
		group := &found[i]
		if len(group.Nodes) == 0 {
			continue
		}
		for _, name := range group.Nodes {
			if other, found := member[name]; found {
				return nil, fmt.Errorf("provider: node %s is in two groups, %s and %s", name, other, group.Name)
			}
			member[name] = group.Name
		}
		selector := selectorOf(nodes, group.Nodes)
		if selector == nil {
			return nil, fmt.Errorf("provider: group %s: no labels distinguish its %d nodes from others", group.Name, len(group.Nodes))
		}
		rules = append(rules, rule{
			Name: group.Name, NodeSelector: selector,
			MinSize: &group.MinSize, MaxSize: &group.MaxSize, TargetSize: &group.TargetSize,
		})
	}
	rules = append(rules, exclusions(nodes, member)...)
	text, err := yaml.Marshal(map[string]any{"nodeGroups": rules})
	if err != nil {
		return nil, err
	}
	return &plannerpb.Settings{NodeGroups: string(text), NodeGroupsName: "the provider's groups"}, nil
}

// exclusions returns rules for the nodes that are in no group.
func exclusions(nodes []*corev1.Node, member map[string]string) []rule {
	no := false
	var names []string
	for _, node := range nodes {
		if _, found := member[node.Name]; !found {
			names = append(names, node.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if selector := selectorOf(nodes, names); selector != nil {
		return []rule{{Name: "not-of-the-provider", NodeSelector: selector, Autoscaled: &no}}
	}
	var rules []rule
	for _, node := range nodes {
		hostname := node.Labels[corev1.LabelHostname]
		if _, found := member[node.Name]; !found && hostname != "" {
			rules = append(rules, rule{
				Name:         "not-of-the-provider-" + node.Name,
				NodeSelector: map[string]string{corev1.LabelHostname: hostname}, Autoscaled: &no,
			})
		}
	}
	return rules
}

// selectorOf returns labels that the named nodes have and no other node has; nil if there are none.
func selectorOf(nodes []*corev1.Node, names []string) map[string]string {
	inGroup := map[string]bool{}
	for _, name := range names {
		inGroup[name] = true
	}
	var common map[string]string
	var others []*corev1.Node
	for _, node := range nodes {
		switch {
		case !inGroup[node.Name]:
			others = append(others, node)
		case common == nil:
			common = maps.Clone(node.Labels)
		default:
			maps.DeleteFunc(common, func(key, value string) bool {
				held, found := node.Labels[key]
				return !found || held != value
			})
		}
	}
	// Prefer one label: future nodes of the group will have it too.
	for _, key := range slices.Sorted(maps.Keys(common)) {
		if one := map[string]string{key: common[key]}; key != corev1.LabelHostname && !matchesAny(others, one) {
			return one
		}
	}
	if len(common) == 0 || matchesAny(others, common) {
		return nil
	}
	return common
}

func matchesAny(nodes []*corev1.Node, selector map[string]string) bool {
	return slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
		for key, value := range selector {
			if held, found := node.Labels[key]; !found || held != value {
				return false
			}
		}
		return true
	})
}
