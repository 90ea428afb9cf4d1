//go:build !autoscaler136

package planner

import (
	"context"

	apiv1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/scheduling"
)

// Pods look for places by priority.
const podsAsListed = false

// Schedules pods in the snapshot until one fits nowhere; returns how many were placed.
func (p *Planner) schedule(pods []*apiv1.Pod) (int, error) {
	anywhere := clustersnapshot.SchedulingOptions{IsNodeAcceptable: scheduling.ScheduleAnywhere}
	result, err := p.actuationInjector.TrySchedulePods(context.Background(), p.autoscalingCtx.ClusterSnapshot, pods, true, anywhere)
	return len(result.Statuses), err
}

// ReasonName is a reason's name, as ebb spells it.
func ReasonName(reason simulator.UnremovableReason) string { return reason.String() }
