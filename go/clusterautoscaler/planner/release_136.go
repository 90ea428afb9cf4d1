//go:build autoscaler136

package planner

import (
	apiv1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/scheduling"
)

// Pods are placed in the order in which their node lists them.
const podsAsListed = true

// schedule places pods in the snapshot until one fits nowhere; it returns how many were placed.
func (p *Planner) schedule(pods []*apiv1.Pod) (int, error) {
	anywhere := clustersnapshot.SchedulingOptions{IsNodeAcceptable: scheduling.ScheduleAnywhere}
	statuses, _, err := p.actuationInjector.TrySchedulePods(p.autoscalingCtx.ClusterSnapshot, pods, true, anywhere)
	return len(statuses), err
}

// ReasonName returns a reason's name as ebb spells it. Reasons have no names in this release.
func ReasonName(reason simulator.UnremovableReason) string { return reasonNames[reason] }

var reasonNames = map[simulator.UnremovableReason]string{
	simulator.NoReason:                         "NoReason",
	simulator.ScaleDownDisabledAnnotation:      "ScaleDownDisabledAnnotation",
	simulator.ScaleDownUnreadyDisabled:         "ScaleDownUnreadyDisabled",
	simulator.NotAutoscaled:                    "NotAutoscaled",
	simulator.NotUnneededLongEnough:            "NotUnneededLongEnough",
	simulator.NotUnreadyLongEnough:             "NotUnreadyLongEnough",
	simulator.NodeGroupMinSizeReached:          "NodeGroupMinSizeReached",
	simulator.NodeGroupMaxDeletionCountReached: "NodeGroupMaxDeletionCountReached",
	simulator.AtomicScaleDownFailed:            "AtomicScaleDownFailed",
	simulator.MinimalResourceLimitExceeded:     "MinimalResourceLimitExceeded",
	simulator.CurrentlyBeingDeleted:            "CurrentlyBeingDeleted",
	simulator.NotUnderutilized:                 "NotUnderutilized",
	simulator.NotUnneededOtherReason:           "NotUnneededOtherReason",
	simulator.RecentlyUnremovable:              "RecentlyUnremovable",
	simulator.NoPlaceToMovePods:                "NoPlaceToMovePods",
	simulator.BlockedByPod:                     "BlockedByPod",
	simulator.UnexpectedError:                  "UnexpectedError",
	simulator.NoNodeInfo:                       "NoNodeInfo",
	simulator.BlockedByOnCompletionPod:         "BlockedByOnCompletionPod",
}
