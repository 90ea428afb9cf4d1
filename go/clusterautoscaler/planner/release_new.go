//go:build !autoscaler136

package planner

import (
	"context"

	apiv1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/scheduling"
)

// Pods are placed by priority.
const podsAsListed = false

// schedule places pods in the snapshot until one fits nowhere; it returns how many were placed.
func (p *Planner) schedule(pods []*apiv1.Pod) (int, error) {
	anywhere := clustersnapshot.SchedulingOptions{IsNodeAcceptable: scheduling.ScheduleAnywhere}
	result, err := p.actuationInjector.TrySchedulePods(context.Background(), p.autoscalingCtx.ClusterSnapshot, pods, true, anywhere)
	return len(result.Statuses), err
}

// ReasonName returns a reason's name as ebb spells it.
func ReasonName(reason simulator.UnremovableReason) string { return reason.String() }
