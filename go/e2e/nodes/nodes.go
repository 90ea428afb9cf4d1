// Package nodes creates nodes on a control plane without kubelets, and simulates their kubelets:
// bound pods become Running and Ready, deleted pods disappear. No container runs.
package nodes

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// GroupLabel is the label that names a node's group, as on EKS.
const GroupLabel = "eks.amazonaws.com/nodegroup"

// Group describes nodes that are alike.
type Group struct {
	Name   string // nodes are NAME-NUMBER
	Count  int
	CPU    string // allocatable, as "4"
	Memory string // allocatable, as "16Gi"
	Pods   string // allocatable; default "110"
	Zones  []string
	Labels map[string]string

	Annotations map[string]string
	Provider    string // the part of the provider ID before the node's name; default "e2e:///"
}

// made counts the nodes of this process, so that each name is used once. A client whose watch broke
// would take a new node with an old name for a change of the old node.
var made atomic.Int64

// Create creates the nodes of groups one after the other, Ready from the start, and returns their
// names. An error names the node.
func Create(ctx context.Context, client kubernetes.Interface, groups ...Group) ([]string, error) {
	var names []string
	for _, group := range groups {
		for range group.Count {
			node := group.node(int(made.Add(1)) - 1)
			if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
				return names, fmt.Errorf("node %s: %w", node.Name, err)
			}
			names = append(names, node.Name)
		}
	}
	return names, nil
}

func (g *Group) node(i int) *corev1.Node {
	name := fmt.Sprintf("%s-%04d", g.Name, i)
	labels := map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
		GroupLabel:             g.Name,
	}
	if len(g.Zones) > 0 {
		labels[corev1.LabelTopologyZone] = g.Zones[i%len(g.Zones)]
	}
	for key, value := range g.Labels {
		labels[key] = value
	}
	pods := g.Pods
	if pods == "" {
		pods = "110"
	}
	provider := g.Provider
	if provider == "" {
		provider = "e2e:///"
	}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(g.CPU),
		corev1.ResourceMemory: resource.MustParse(g.Memory),
		corev1.ResourcePods:   resource.MustParse(pods),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: g.Annotations},
		Spec:       corev1.NodeSpec{ProviderID: provider + name},
		Status: corev1.NodeStatus{
			Capacity: amounts, Allocatable: amounts, Conditions: healthyConditions(),
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.36.4"},
		},
	}
}

func healthyConditions() []corev1.NodeCondition {
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
	}
}
