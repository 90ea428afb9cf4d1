// The plan as commands of a shell: a script that carries it out, and annotations that let ordinary
// scale-in carry it out.
//
// The script cordons all nodes of the plan.  Then, for each node in the plan's order, it drains the
// node with the flags of `kubectl drain` that the node's pods need, removes the machine from its
// group with the command of the node's provider, and waits until no new pod is pending.  It stops
// at the first error.  It runs in any POSIX shell; shellcheck has nothing to say about it.
//
//   provider      recognised by                                    machine removed with
//   Karpenter     label karpenter.sh/nodepool                      kubectl delete nodeclaims
//   Cluster API   a label of a group that ends in cluster.x-k8s.io kubectl annotate, kubectl scale
//   AWS           providerID aws:///ZONE/i-...                     aws autoscaling
//   GCE           providerID gce://PROJECT/ZONE/NAME               gcloud compute instance-groups
//   Azure         providerID azure:///... of a scale set           az vmss
//   others                                                         only kubectl delete node
//
// Names of the cluster are quoted for the shell.  A node whose name Kubernetes does not allow makes
// the script stop before its first command.
//
// Threads: pure.

#ifndef EBB_REPORT_PLAN_SCRIPT_H_
#define EBB_REPORT_PLAN_SCRIPT_H_

#include <string>

#include "report/plan_report.h"

namespace ebb {

std::string PlanScript(const PlanReport& report);

// `kubectl annotate` lines that give the pods that move a
// controller.kubernetes.io/pod-deletion-cost below 0, the lowest on the node that goes first.  Only
// ReplicaSets read that annotation; comments count and name the other pods.
std::string PlanPatch(const PlanReport& report);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_SCRIPT_H_
