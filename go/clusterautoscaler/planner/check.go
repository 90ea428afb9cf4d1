package planner

import (
	"fmt"
	"time"

	apiv1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/pdb"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"
	"sigs.k8s.io/cluster-autoscaler/pkg/utils/taints"
	"sigs.k8s.io/cluster-autoscaler/pkg/utils/tpu"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/choice"
)

// checks lets the autoscaler's own simulation judge some of ebb's removals.
type checks struct {
	// Every so many removals, beginning with another one in each loop; not positive: none.
	oneIn int
	// ebb no longer decides after so many mismatches.
	mismatchesMax int
	recordFolder  string
	rs            removalSimulator

	loops      int
	mismatches int
	// The first mismatch; nil: none.
	first error
}

func newChecks(o Options, rs removalSimulator) checks {
	c := checks{oneIn: o.CheckOneIn, mismatchesMax: o.MismatchesMax, recordFolder: o.RecordFolder, rs: rs}
	if c.oneIn == 0 {
		c.oneIn = choice.DefaultCheckOneIn
	}
	if c.mismatchesMax == 0 {
		c.mismatchesMax = choice.DefaultMismatchesMax
	}
	return c
}

// distrusted returns why ebb must no longer decide; nil if it may.
func (c *checks) distrusted() error {
	if c.mismatches < c.mismatchesMax {
		return nil
	}
	return fmt.Errorf("the autoscaler's own simulation refused %d removals since the start; the first: %w", c.mismatches, c.first)
}

// What happened to a removal that was to be checked, for a metric.
const (
	checkSame     = "same"
	checkMismatch = "mismatch"
	// There was no time, or the state before the removal cannot be made in the snapshot.
	checkSkipped = "skipped"
)

// check simulates some of the removals, each after the removals before it. The error is about the first
// one that the autoscaler would not do. The snapshot is unchanged afterwards. It ends when half of the
// time of the loop is used, as ebb does.
func (p *Planner) check(a *asking) error {
	c, removals := &p.checks, a.answer.result.Removals
	if c.oneIn <= 0 || len(removals) == 0 {
		return nil
	}
	step := min(c.oneIn, len(removals))
	at := c.loops % step
	c.loops++
	state := checkedState{Planner: p, tracker: pdb.NewBasicRemainingPdbTracker(), destinations: map[string]bool{}}
	if tracker := p.autoscalingCtx.RemainingPdbTracker; tracker != nil {
		if err := state.tracker.SetPdbs(tracker.GetPdbs()); err != nil {
			return err
		}
	}
	for _, node := range a.loop.destinations {
		state.destinations[node.Name] = true
	}
	p.autoscalingCtx.ClusterSnapshot.Fork()
	defer p.autoscalingCtx.ClusterSnapshot.Revert()
	end := a.loop.start.Add(p.autoscalingCtx.ScaleDownSimulationTimeout / 2)
	for ; at < len(removals); at += step {
		if time.Now().After(end) || !state.advance(a.answer, at) {
			p.countChecks(checkSkipped, (len(removals)-at+step-1)/step)
			return nil
		}
		if err := state.judge(&removals[at], &a.answer.removable[at]); err != nil {
			p.countChecks(checkMismatch, 1)
			err = fmt.Errorf("node %s, removal %d of %d: %w", removals[at].Node, at+1, len(removals), err)
			p.noteMismatch(a, removals[at].Node, err)
			return err
		}
		p.countChecks(checkSame, 1)
	}
	return nil
}

func (p *Planner) noteMismatch(a *asking, node string, err error) {
	c := &p.checks
	c.mismatches++
	if c.first == nil {
		c.first = err
	}
	where := "no record, because --scale-down-planner-record-folder is not set"
	if c.recordFolder != "" {
		path, failed := p.record(a, node, err)
		where = "record: " + path
		if failed != nil {
			where = "no record: " + failed.Error()
		}
	}
	klog.Errorf("ebb: the autoscaler's own simulation refuses a removal, so it decides in this loop: %v (mismatch %d; after %d ebb no longer decides; %s)",
		err, c.mismatches, c.mismatchesMax, where)
}

// checkedState is the snapshot with the removals that were carried out in it.
type checkedState struct {
	*Planner
	tracker      pdb.RemainingPdbTracker
	destinations map[string]bool
	done         int
}

// advance carries out the removals before the one at an index. It returns false if the snapshot cannot
// show them: moves of pods with devices allocate no devices there.
func (s *checkedState) advance(a *answer, at int) bool {
	for ; s.done < at; s.done++ {
		pods := a.removable[s.done].PodsToReschedule
		for _, pod := range pods {
			if len(pod.Spec.ResourceClaims) > 0 {
				return false
			}
		}
		if err := s.carryOut(a.result.Removals[s.done : s.done+1]); err != nil {
			klog.Errorf("ebb: removals are not checked: the snapshot refuses a move: %v", err)
			return false
		}
		s.tracker.RemovePods(pods)
		delete(s.destinations, a.result.Removals[s.done].Node)
	}
	return true
}

// judge returns an error if the autoscaler would not remove the node.
func (s *checkedState) judge(removal *clusterautoscaler.Removal, node *simulator.NodeToBeRemoved) error {
	_, unremovable := s.checks.rs.SimulateNodeRemoval(removal.Node, s.destinations, s.latestUpdate, s.tracker)
	switch {
	case unremovable == nil:
		return nil
	case unremovable.Reason == simulator.NoPlaceToMovePods:
		// It tries places in another order, and takes the first that fits. So try ebb's places.
		return s.moves(removal)
	case unremovable.BlockingPod != nil:
		pod := unremovable.BlockingPod.Pod
		return fmt.Errorf("pod %s/%s blocks: %v", pod.Namespace, pod.Name, unremovable.BlockingPod.Reason)
	}
	return fmt.Errorf("%s", ReasonName(unremovable.Reason))
}

// moves carries out the moves of a removal with the autoscaler's filters, and takes them back. As in the
// autoscaler's simulation, all pods leave first, and the node stays as an empty one with a taint.
func (s *checkedState) moves(removal *clusterautoscaler.Removal) error {
	snapshot := s.autoscalingCtx.ClusterSnapshot
	snapshot.Fork()
	defer snapshot.Revert()
	pods := make([]*apiv1.Pod, len(removal.Moves))
	for i, move := range removal.Moves {
		if !s.destinations[move.To] || move.To == removal.Node {
			return fmt.Errorf("pod %v goes to %s, which may not take pods", move.Pod, move.To)
		}
		pods[i] = s.feed.Pod(move.Pod)
		if err := snapshot.UnschedulePod(pods[i].Namespace, pods[i].Name, removal.Node); err != nil {
			return err
		}
	}
	if err := s.empty(removal.Node); err != nil {
		return err
	}
	for i, pod := range tpu.ClearTPURequests(pods) {
		moved := *pod
		moved.Spec.NodeName = ""
		if err := snapshot.SchedulePod(&moved, removal.Moves[i].To); err != nil {
			return fmt.Errorf("pod %s/%s does not fit on %s: %w", pod.Namespace, pod.Name, removal.Moves[i].To, err)
		}
	}
	return nil
}

// empty replaces a node by one without pods that takes none.
func (s *checkedState) empty(name string) error {
	snapshot := s.autoscalingCtx.ClusterSnapshot
	info, err := snapshot.GetNodeInfo(name)
	if err != nil {
		return err
	}
	node := info.Node().DeepCopy()
	node.Spec.Taints = append(node.Spec.Taints, apiv1.Taint{Key: taints.ToBeDeletedTaint, Effect: apiv1.TaintEffectNoSchedule})
	if err := snapshot.RemoveNodeInfo(name); err != nil {
		return err
	}
	return snapshot.AddNodeInfo(framework.NewNodeInfo(node, info.LocalResourceSlices))
}
