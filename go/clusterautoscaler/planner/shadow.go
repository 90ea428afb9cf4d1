package planner

import (
	"time"

	apiv1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/pdb"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/utils/errors"

	"ebb/go/clusterautoscaler/shadow"
)

// The number of differences in a loop that are logged one by one.
const differencesLogged = 20

// Shadow acts as the built-in planner does, and lets ebb evaluate the same clusters.
type Shadow struct {
	// The planner that acts.
	scaledown.Planner
	// Report receives the differences of each loop, in addition to metrics and log. It may be nil.
	Report func(answered bool, differences []shadow.Difference)

	given *ca_context.AutoscalingContext
	// A copy of given, with budgets that only ebb spends.
	own *ca_context.AutoscalingContext
	ebb *Planner
}

// UpdateClusterState lets both planners evaluate the same snapshot and budgets, ebb first.
func (s *Shadow) UpdateClusterState(podDestinations, scaleDownCandidates []*apiv1.Node, as scaledown.ActuationStatus, currentTime time.Time) errors.AutoscalerError {
	*s.own = *s.given
	s.own.RemainingPdbTracker = pdb.NewBasicRemainingPdbTracker()
	ready := s.own.RemainingPdbTracker.SetPdbs(s.given.RemainingPdbTracker.GetPdbs())
	if ready == nil {
		s.ebb.watch(podDestinations, scaleDownCandidates, as, currentTime)
	}
	err := s.Planner.UpdateClusterState(podDestinations, scaleDownCandidates, as, currentTime)
	if err != nil || ready != nil || !s.ebb.answered {
		s.report(false, nil)
	} else {
		acting, ebb := verdicts(s.Planner), verdicts(s.ebb)
		for _, name := range s.ebb.unjudged {
			delete(acting, name)
			delete(ebb, name)
		}
		s.report(true, shadow.Compare(acting, ebb))
	}
	s.ebb.adopt(s.Planner)
	return err
}

// CleanUpUnneededNodes forgets, in both planners, how long nodes have been unneeded.
func (s *Shadow) CleanUpUnneededNodes() {
	s.Planner.CleanUpUnneededNodes()
	s.ebb.CleanUpUnneededNodes()
}

func (s *Shadow) report(answered bool, differences []shadow.Difference) {
	if s.Report != nil {
		s.Report(answered, differences)
	}
	switch {
	case !answered:
		shadowLoopsTotal.WithLabelValues("no_answer").Inc()
		return
	case len(differences) == 0:
		shadowLoopsTotal.WithLabelValues("same").Inc()
		return
	}
	shadowLoopsTotal.WithLabelValues("different").Inc()
	for i, difference := range differences {
		shadowDifferencesTotal.WithLabelValues(string(difference.Kind)).Inc()
		if i < differencesLogged {
			klog.Warningf("ebb in the shadow: %v", difference)
		}
	}
	if more := len(differences) - differencesLogged; more > 0 {
		klog.Warningf("ebb in the shadow: %d more nodes differ", more)
	}
}

// adopt copies the acting planner's state into ebb's, so that both start the next loop alike.
func (p *Planner) adopt(acting scaledown.Planner) {
	var unneeded []simulator.NodeToBeRemoved
	for _, node := range acting.UnneededNodes() {
		unneeded = append(unneeded, simulator.NodeToBeRemoved{Node: node.Node})
	}
	p.unneededNodes.Update(p.autoscalingCtx, unneeded, p.latestUpdate)
	for _, node := range acting.UnremovableNodes() {
		switch node.Reason {
		case simulator.NoPlaceToMovePods, simulator.BlockedByPod:
			p.unremovableNodes.AddTimeout(node, p.recheckAt())
		}
	}
}

func verdicts(planner scaledown.Planner) map[string]shadow.Verdict {
	verdicts := map[string]shadow.Verdict{}
	for _, node := range planner.UnneededNodes() {
		verdicts[node.Node.Name] = shadow.Verdict{Unneeded: true}
	}
	for _, node := range planner.UnremovableNodes() {
		verdict := verdicts[node.Node.Name]
		verdict.Reason = ReasonName(node.Reason)
		if node.BlockingPod != nil {
			verdict.BlockingReason = node.BlockingPod.Reason.String()
			verdict.BlockingPod = node.BlockingPod.Pod.Namespace + "/" + node.BlockingPod.Pod.Name
		}
		verdicts[node.Node.Name] = verdict
	}
	for name, use := range planner.NodeUtilizationMap() {
		verdict := verdicts[name]
		verdict.Utilization = &shadow.Utilization{CPU: use.CpuUtil, Memory: use.MemUtil, GPU: use.GpuUtil,
			Highest: use.Utilization, Resource: string(use.ResourceName)}
		verdicts[name] = verdict
	}
	return verdicts
}
