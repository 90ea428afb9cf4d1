package planner

import (
	"context"
	"errors"
	"fmt"

	apiv1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/utilization"
	"sigs.k8s.io/cluster-autoscaler/pkg/utils/drain"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/wire"
)

// answer is the engine's result in the autoscaler's types.
type answer struct {
	removable []simulator.NodeToBeRemoved
	kept      []*simulator.UnremovableNode
	result    *clusterautoscaler.Result
}

var (
	reasons         = byText(simulator.BlockedByOnCompletionPod, ReasonName)
	blockingReasons = byText(drain.UnexpectedError, drain.BlockingPodReason.String)
)

// byText returns the values of an enum, from 0 to last, by their texts.
func byText[T ~int](last T, text func(T) string) map[string]T {
	values := map[string]T{}
	for value := T(0); value <= last; value++ {
		values[text(value)] = value
	}
	return values
}

func (p *Planner) read(result *clusterautoscaler.Result) (*answer, error) {
	a := &answer{result: result, removable: make([]simulator.NodeToBeRemoved, len(result.Removals))}
	for i := range result.Removals {
		if err := p.readRemoval(&result.Removals[i], &a.removable[i]); err != nil {
			return nil, err
		}
	}
	for i := range result.Kept {
		node, err := p.readKept(&result.Kept[i])
		if err != nil {
			return nil, err
		}
		a.kept = append(a.kept, node)
	}
	return a, nil
}

func (p *Planner) readRemoval(removal *clusterautoscaler.Removal, node *simulator.NodeToBeRemoved) (err error) {
	if node.Node = p.feed.Node(removal.Node); node.Node == nil {
		return fmt.Errorf("removes node %s, which is not in the snapshot", removal.Node)
	}
	node.IsRisky = removal.Risky
	if len(removal.Moves) > 0 {
		node.PodsToReschedule = make([]*apiv1.Pod, len(removal.Moves))
	}
	podOf := p.feed.PodsOf(removal.Node)
	for i := range removal.Moves {
		pod := podOf(removal.Moves[i].Pod)
		if pod == nil {
			return fmt.Errorf("moves pod %v, which is not in the snapshot", removal.Moves[i].Pod)
		}
		node.PodsToReschedule[i] = pod
	}
	if node.DaemonSetPods, err = p.pods(removal.DaemonSet); err != nil {
		return err
	}
	node.OnCompletionPods, err = p.pods(removal.OnCompletion)
	return err
}

func (p *Planner) pods(names []wire.PodName) ([]*apiv1.Pod, error) {
	var pods []*apiv1.Pod
	for _, name := range names {
		pod := p.feed.Pod(name)
		if pod == nil {
			return nil, fmt.Errorf("names pod %v, which is not in the snapshot", name)
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

func (p *Planner) readKept(kept *clusterautoscaler.Kept) (*simulator.UnremovableNode, error) {
	node := &simulator.UnremovableNode{Node: p.feed.Node(kept.Node)}
	if node.Node == nil {
		return nil, fmt.Errorf("keeps node %s, which is not in the snapshot", kept.Node)
	}
	var found bool
	if node.Reason, found = reasons[kept.Reason]; !found {
		return nil, fmt.Errorf("keeps node %s for %q, which is not a reason", kept.Node, kept.Reason)
	}
	if kept.BlockingReason == "" {
		return node, nil
	}
	node.BlockingPod = &drain.BlockingPod{Pod: p.feed.Pod(kept.Pod)}
	if node.BlockingPod.Reason, found = blockingReasons[kept.BlockingReason]; !found {
		return nil, fmt.Errorf("keeps node %s for %q, which is not a reason", kept.Node, kept.BlockingReason)
	}
	if node.BlockingPod.Pod == nil {
		return nil, fmt.Errorf("keeps node %s for pod %v, which is not in the snapshot", kept.Node, kept.Pod)
	}
	return node, nil
}

// take makes the answer the loop's decision.
func (p *Planner) take(l *loop, a *answer, q *question) {
	for i := range a.removable {
		p.remove(l, &a.removable[i], q.atomic[a.removable[i].Node.Name])
	}
	for _, node := range a.kept {
		switch node.Reason {
		case simulator.NoPlaceToMovePods, simulator.BlockedByPod:
			p.unremovableNodes.AddTimeout(node, p.recheckAt())
		default:
			p.unremovableNodes.Add(node)
		}
	}
	l.skipped = append(l.skipped, a.result.Skipped...)
	if p.ownEligibility() {
		return
	}
	for i := range a.result.Utilization {
		use := &a.result.Utilization[i]
		info := utilization.Info{
			CpuUtil:      use.CPU,
			MemUtil:      use.Memory,
			GpuUtil:      use.GPU,
			ResourceName: apiv1.ResourceName(use.Resource),
			Utilization:  use.Utilization,
		}
		if info.ResourceName != apiv1.ResourceCPU && info.ResourceName != apiv1.ResourceMemory && use.GPU == 0 {
			info.DynamicResourceUtil = use.Utilization
		}
		l.utilization[use.Node] = info
	}
}

func isDeadline(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
