package groups

import corev1 "k8s.io/api/core/v1"

// labels by which ebb tells a node's group where nothing else does, the first that a node has
// (docs/plan.md).
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

// OfLabels names a node's group by its labels, for people to read; "": none tells it.  It is the daemon
// that decides by groups.
func OfLabels(node *corev1.Node) string {
	for _, label := range labels {
		if value := node.Labels[label]; value != "" {
			return value
		}
	}
	return ""
}
