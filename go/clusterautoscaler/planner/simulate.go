package planner

import (
	"fmt"
	"time"

	apiv1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"

	"ebb/go/clusterautoscaler"
)

// simulate evaluates candidates with the autoscaler's own simulation, as the built-in planner does.
// `before` are nodes that go before them; their removals are applied to the snapshot first.
func (p *Planner) simulate(l *loop, candidates []*apiv1.Node, before []clusterautoscaler.Removal) {
	names, used, ineligible := p.eligibilityChecker.FilterOutUnremovable(p.autoscalingCtx, candidates, p.latestUpdate, p.unremovableNodes)
	for _, node := range ineligible {
		p.unremovableNodes.Add(node)
	}
	for name, use := range used {
		l.utilization[name] = use
	}
	if len(names) == 0 {
		return
	}
	if !l.acts {
		// The simulation would change the place where the acting planner starts to look for room.
		l.unjudged = names
		return
	}
	if err := p.carryOut(before); err != nil {
		klog.Errorf("%d nodes are not judged: the snapshot refuses moves: %v", len(names), err)
		l.skipped = append(l.skipped, names...)
		return
	}
	destinations := make(map[string]bool, len(l.destinations))
	for _, node := range l.destinations {
		if !l.gone[node.Name] {
			destinations[node.Name] = true
		}
	}
	end := l.start.Add(p.autoscalingCtx.ScaleDownSimulationTimeout)
	for i, name := range names {
		if l.full() || !time.Now().Before(end) {
			l.skipped = append(l.skipped, names[i:]...)
			klog.V(1).Infof("%d of %d nodes are not judged in this loop", len(names)-i, len(names))
			return
		}
		p.simulateNode(l, name, destinations)
	}
}

func (p *Planner) simulateNode(l *loop, name string, destinations map[string]bool) {
	tracker := p.autoscalingCtx.RemainingPdbTracker
	removable, unremovable := p.rs.SimulateNodeRemoval(name, destinations, p.latestUpdate, tracker)
	if unremovable != nil {
		p.unremovableNodes.AddTimeout(unremovable, p.recheckAt())
	}
	if removable == nil {
		return
	}
	_, inParallel, _ := tracker.CanRemovePods(removable.PodsToReschedule)
	removable.IsRisky = !inParallel
	delete(destinations, name)
	p.remove(l, removable, p.atomicScaleDownNode(removable))
}

// remove counts the node as gone for all nodes evaluated after it.
func (p *Planner) remove(l *loop, node *simulator.NodeToBeRemoved, atomic bool) {
	p.autoscalingCtx.RemainingPdbTracker.RemovePods(node.PodsToReschedule)
	l.removable = append(l.removable, *node)
	l.gone[node.Node.Name] = true
	if atomic {
		l.atomic++
	}
}

func (p *Planner) recheckAt() time.Time {
	return p.latestUpdate.Add(p.autoscalingCtx.UnremovableNodeRecheckTimeout)
}

// carryOut applies the engine's removals to the snapshot, which is forked.
func (p *Planner) carryOut(removals []clusterautoscaler.Removal) error {
	snapshot := p.autoscalingCtx.ClusterSnapshot
	for _, removal := range removals {
		info, err := snapshot.GetNodeInfo(removal.Node)
		if err != nil {
			return err
		}
		pods := map[types.NamespacedName]*framework.PodInfo{}
		for _, pod := range info.Pods() {
			pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
		}
		for _, move := range removal.Moves {
			pod := p.feed.Pod(move.Pod)
			there := pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
			if there == nil {
				return fmt.Errorf("pod %s/%s is not on node %s", pod.Namespace, pod.Name, removal.Node)
			}
			if err := snapshot.ForceRemovePod(pod.Namespace, pod.Name, removal.Node); err != nil {
				return err
			}
			if err := snapshot.StorePodInfo(unplaced(there), move.To); err != nil {
				return err
			}
		}
		if err := snapshot.RemoveNodeInfo(removal.Node); err != nil {
			return err
		}
	}
	return nil
}

// unplaced returns the pod as one that is on no node. It keeps the pod's requests, whose computation takes
// most of the time of ForceAddPod.
func unplaced(info *framework.PodInfo) *framework.PodInfo {
	pod, scheduled := *info.Pod, *info.PodInfo
	pod.Spec.NodeName = ""
	scheduled.Pod = &pod
	return &framework.PodInfo{Pod: &pod, PodInfo: &scheduled, NeededResourceClaims: info.NeededResourceClaims}
}
