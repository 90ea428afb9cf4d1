package groups

import corev1 "k8s.io/api/core/v1"

// labels by which ebb finds a node's group if no file and no provider names it; the first label
// that a node has counts (docs/plan.md).
var labels = []string{
	"karpenter.sh/nodepool", "karpenter.sh/provisioner-name",
	"eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
	"cloud.google.com/gke-nodepool",
	"kubernetes.azure.com/agentpool", "agentpool",
	"kops.k8s.io/instancegroup",
	"doks.digitalocean.com/node-pool",
	"node.cluster.x-k8s.io/machine-deployment", "topology.cluster.x-k8s.io/deployment-name",
	"oci.oraclecloud.com/node-pool",
	"nodegroup",
}

// OfLabels returns a node's group by its labels, for display; "" if no label names one. Decisions
// about groups are made by the daemon.
func OfLabels(node *corev1.Node) string {
	for _, label := range labels {
		if value := node.Labels[label]; value != "" {
			return value
		}
	}
	return ""
}
