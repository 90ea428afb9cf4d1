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

// So many differences of a loop are told one by one.
const differencesTold = 20

// Shadow acts on the built-in planner and lets ebb judge the same clusters.
type Shadow struct {
	// The one that acts.
	scaledown.Planner
	// What a loop showed, for whoever wants more than metric and log.  It may be nil.
	Report func(answered bool, differences []shadow.Difference)

	given *ca_context.AutoscalingContext
	// As given, with budgets that only ebb spends.
	own *ca_context.AutoscalingContext
	ebb *Planner
}

// UpdateClusterState lets both judge, ebb first, from the same snapshot and budgets.
func (s *Shadow) UpdateClusterState(podDestinations, scaleDownCandidates []*apiv1.Node, as scaledown.ActuationStatus, currentTime time.Time) errors.AutoscalerError {
	*s.own = *s.given
	s.own.RemainingPdbTracker = pdb.NewBasicRemainingPdbTracker()
	ready := s.own.RemainingPdbTracker.SetPdbs(s.given.RemainingPdbTracker.GetPdbs())
	if ready == nil {
		s.ebb.watch(podDestinations, scaleDownCandidates, as, currentTime)
	}
	err := s.Planner.UpdateClusterState(podDestinations, scaleDownCandidates, as, currentTime)
	if err != nil || ready != nil || !s.ebb.answered {
		s.tell(false, nil)
	} else {
		acting, ebb := verdicts(s.Planner), verdicts(s.ebb)
		for _, name := range s.ebb.unjudged {
			delete(acting, name)
			delete(ebb, name)
		}
		s.tell(true, shadow.Compare(acting, ebb))
	}
	s.ebb.adopt(s.Planner)
	return err
}

// CleanUpUnneededNodes is for both.
func (s *Shadow) CleanUpUnneededNodes() {
	s.Planner.CleanUpUnneededNodes()
	s.ebb.CleanUpUnneededNodes()
}

func (s *Shadow) tell(answered bool, differences []shadow.Difference) {
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
		if i < differencesTold {
			klog.Warningf("ebb in the shadow: %v", difference)
		}
	}
	if more := len(differences) - differencesTold; more > 0 {
		klog.Warningf("ebb in the shadow: %d more nodes differ", more)
	}
}

// From loop to loop ebb is to be in the same place as the planner that acts, whatever it said.
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
