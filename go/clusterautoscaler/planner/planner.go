// Package planner is Cluster Autoscaler's scale-down planner with ebb inside.
//
// Select makes the planner that --scale-down-planner names. Planner asks ebb which nodes can go.
// Timers, quotas, minimum sizes and vetoes of processors stay with the autoscaler's own packages,
// which Planner calls as the built-in planner does. If ebb cannot evaluate something, the
// autoscaler's own simulation does so: for one node if that is sound, otherwise for the whole loop
// (unsupported.go).
package planner

import (
	"time"

	apiv1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-autoscaler/pkg/cloudprovider"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/eligibility"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/nodeevaltracker"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/pdb"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/unneeded"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/unremovable"
	"sigs.k8s.io/cluster-autoscaler/pkg/processors"
	"sigs.k8s.io/cluster-autoscaler/pkg/processors/nodes"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/scheduling"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/utilization"
	"sigs.k8s.io/cluster-autoscaler/pkg/utils/errors"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/engine"
	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/feed"
	"ebb/go/clusterautoscaler/remote"
)

// Options of a planner; the zero value means ebb inside the program.
type Options struct {
	// Address is "unix:PATH", the socket of an `ebb serve` that plans; "": ebb inside the program.
	Address string
	// Takes precedence over Address.
	Engine clusterautoscaler.Engine
	// SendAhead: ebb receives nodes and pods between the loops, from informer events.
	SendAhead bool
	// The informers for SendAhead. Nil means those of the scheduler's framework.
	Informers informers.SharedInformerFactory
	// Nil means the autoscaler's log and metrics.
	Fallbacks *fallback.Log
	// Counts why the engine received the whole cluster again. Nil means log and metrics.
	Resyncs *fallback.Log
	// How removals are checked; the zero values and flags of package choice.
	CheckOneIn    int
	MismatchesMax int
	RecordFolder  string
	// Counts the checks: same, mismatch or skipped. Nil means metrics.
	Checks func(result string, times int)

	// The cluster is sent in the loops alone, in the order of the snapshot.
	inLoops bool
}

type eligibilityChecker interface {
	FilterOutUnremovable(autoscalingCtx *ca_context.AutoscalingContext, candidates []*apiv1.Node, timestamp time.Time, unremovableNodes *unremovable.Nodes) ([]string, map[string]utilization.Info, []*simulator.UnremovableNode)
}

type removalSimulator interface {
	DropOldHints()
	SimulateNodeRemoval(node string, destinations map[string]bool, timestamp time.Time, tracker pdb.RemainingPdbTracker) (*simulator.NodeToBeRemoved, *simulator.UnremovableNode)
}

// Planner decides which nodes go. Like the built-in planner it is used by one goroutine.
type Planner struct {
	autoscalingCtx        *ca_context.AutoscalingContext
	configs               nodeGroupConfigs
	quotasTrackerFactory  *resourcequotas.TrackerFactory
	scaleDownSetProcessor nodes.ScaleDownSetProcessor
	deleteOptions         options.NodeDeleteOptions
	drainabilityRules     rules.Rules

	// State that is kept from loop to loop.
	unremovableNodes    *unremovable.Nodes
	unneededNodes       *unneeded.Nodes
	nodeUtilizationMap  map[string]utilization.Info
	scaleDownContext    *nodes.ScaleDownContext
	latestUpdate        time.Time
	minUpdateInterval   time.Duration
	maxNodeSkipEvalTime *nodeevaltracker.MaxNodeSkipEvalTime

	// The autoscaler's own simulation.
	rs                 removalSimulator
	eligibilityChecker eligibilityChecker
	actuationInjector  *scheduling.HintingSimulator

	// ebb.
	engine     clusterautoscaler.Engine
	engineErr  error
	configured *clusterautoscaler.Options
	feed       *feed.Feed
	// Kinds of controllers of all pods since the start.
	controllers map[string]bool
	fallbacks   *fallback.Log
	resyncs     *fallback.Log
	meaning     meaning
	checks      checks
	countChecks func(result string, times int)
	// Holds an element while a goroutine uses feed, engine, controllers and the fields below.
	busy chan struct{}
	// Nil: ebb receives the cluster in the loops alone.
	ahead *ahead
	// ahead sends nothing until the next loop has succeeded.
	failed bool
	// The engine has all that the feed has reported.
	synced bool
	// Whether ebb evaluated the last loop; and, if this planner does not act, the nodes that it did
	// not evaluate.
	answered bool
	unjudged []string
}

var _ scaledown.Planner = &Planner{}

// New returns a planner. Its first arguments are those of the built-in planner.
func New(autoscalingCtx *ca_context.AutoscalingContext, processors *processors.AutoscalingProcessors, deleteOptions options.NodeDeleteOptions, drainabilityRules rules.Rules, quotasTrackerFactory *resourcequotas.TrackerFactory, opts ...Options) *Planner {
	p := &Planner{
		autoscalingCtx:        autoscalingCtx,
		configs:               processors.NodeGroupConfigProcessor,
		quotasTrackerFactory:  quotasTrackerFactory,
		scaleDownSetProcessor: processors.ScaleDownSetProcessor,
		deleteOptions:         deleteOptions,
		drainabilityRules:     drainabilityRules,
		unremovableNodes:      unremovable.NewNodes(),
		unneededNodes:         unneeded.NewNodes(processors.NodeGroupConfigProcessor),
		nodeUtilizationMap:    map[string]utilization.Info{},
		scaleDownContext:      nodes.NewDefaultScaleDownContext(),
		minUpdateInterval:     max(autoscalingCtx.NodeGroupDefaults.ScaleDownUnneededTime, time.Nanosecond),
		rs:                    simulator.NewRemovalSimulator(autoscalingCtx.ListerRegistry, autoscalingCtx.ClusterSnapshot, deleteOptions, drainabilityRules, true),
		eligibilityChecker:    eligibility.NewChecker(processors.NodeGroupConfigProcessor),
		actuationInjector:     scheduling.NewHintingSimulator(),
		feed:                  feed.New(),
		controllers:           map[string]bool{},
		meaning:               meaningOf(autoscalingCtx),
		busy:                  make(chan struct{}, 1),
	}
	p.feed.Special = p.lookAt
	if autoscalingCtx.NodeDeletionCandidateTTL != 0 {
		if err := p.unneededNodes.LoadFromExistingTaints(autoscalingCtx, time.Now()); err != nil {
			klog.Errorf("Cannot read unneeded times from taints: %v", err)
		}
	}
	if autoscalingCtx.MaxNodeSkipEvalTimeTrackerEnabled {
		p.maxNodeSkipEvalTime = nodeevaltracker.NewMaxNodeSkipEvalTime(time.Now())
	}
	var given Options
	for _, o := range opts {
		given = o
	}
	p.engine, p.fallbacks, p.resyncs = given.Engine, given.Fallbacks, given.Resyncs
	switch {
	case p.engine != nil:
	case given.Address != "":
		p.engine, p.engineErr = remote.New(remote.Options{Address: given.Address})
	default:
		p.engine, p.engineErr = engine.New()
	}
	p.checks = newChecks(given, simulator.NewRemovalSimulator(autoscalingCtx.ListerRegistry, autoscalingCtx.ClusterSnapshot, deleteOptions, drainabilityRules, false))
	if p.countChecks = given.Checks; p.countChecks == nil {
		p.countChecks = newCheckCounter()
	}
	if p.fallbacks == nil {
		p.fallbacks = newFallbackLog()
	}
	if p.resyncs == nil {
		p.resyncs = newResyncLog()
	}
	if given.inLoops || !given.SendAhead {
		return p
	}
	if handle := autoscalingCtx.FrameworkHandle; given.Informers == nil && handle != nil && handle.Framework != nil {
		given.Informers = handle.Framework.SharedInformerFactory()
	}
	if given.Informers != nil && p.engineErr == nil && p.meaning.err == nil {
		p.startAhead(given.Informers)
	}
	return p
}

// UpdateClusterState evaluates the candidates in their order. It leaves the snapshot unchanged.
func (p *Planner) UpdateClusterState(podDestinations, scaleDownCandidates []*apiv1.Node, as scaledown.ActuationStatus, currentTime time.Time) errors.AutoscalerError {
	p.update(podDestinations, scaleDownCandidates, as, currentTime, true)
	return nil
}

// watch is UpdateClusterState for a planner that does not act: nodes that ebb cannot evaluate are
// not evaluated.
func (p *Planner) watch(podDestinations, scaleDownCandidates []*apiv1.Node, as scaledown.ActuationStatus, currentTime time.Time) {
	p.update(podDestinations, scaleDownCandidates, as, currentTime, false)
}

func (p *Planner) update(podDestinations, scaleDownCandidates []*apiv1.Node, as scaledown.ActuationStatus, currentTime time.Time, acts bool) {
	p.minUpdateInterval = min(p.minUpdateInterval, currentTime.Sub(p.latestUpdate))
	p.latestUpdate = currentTime
	p.scaleDownContext.ActuationStatus = as
	p.autoscalingCtx.ClusterSnapshot.Fork()
	defer p.autoscalingCtx.ClusterSnapshot.Revert()
	if err := p.injectEvictedPods(as.RecentEvictions()); err != nil {
		klog.Warningf("Not all recently evicted pods have a place: %v", err)
	}
	leaving := map[string]bool{}
	for _, names := range both(as.DeletionsInProgress()) {
		for _, name := range names {
			leaving[name] = true
		}
	}
	p.judge(without(podDestinations, leaving), without(scaleDownCandidates, leaving), acts)
	p.rs.DropOldHints()
	p.actuationInjector.DropOldHints()
}

// loop is the state of a running loop.
type loop struct {
	// The simulations end ScaleDownSimulationTimeout later.
	start        time.Time
	candidates   []*apiv1.Node
	destinations []*apiv1.Node
	// Maximum number of removable nodes, not counting nodes of atomic groups.
	limit int

	removable   []simulator.NodeToBeRemoved
	atomic      int
	utilization map[string]utilization.Info
	skipped     []string
	gone        map[string]bool

	// False if another planner decides.
	acts     bool
	unjudged []string
}

func (l *loop) full() bool { return len(l.removable)-l.atomic >= l.limit }

func (p *Planner) judge(destinations, candidates []*apiv1.Node, acts bool) {
	p.unremovableNodes.Update(p.autoscalingCtx.ClusterSnapshot, p.latestUpdate)
	l := &loop{
		start:        time.Now(),
		candidates:   candidates,
		destinations: destinations,
		limit:        p.unneededNodesLimit(),
		utilization:  map[string]utilization.Info{},
		gone:         map[string]bool{},
		acts:         acts,
	}
	cause, err := p.askEngine(l)
	p.answered = cause == ""
	if cause != "" {
		p.fallbacks.Note(cause, 1, err)
	}
	if !p.answered && acts {
		p.simulate(l, candidates, nil)
	}
	p.nodeUtilizationMap = l.utilization
	p.unjudged = l.unjudged
	if p.maxNodeSkipEvalTime != nil {
		p.maxNodeSkipEvalTime.Update(l.skipped, time.Now())
	}
	p.unneededNodes.Update(p.autoscalingCtx, l.removable, p.latestUpdate)
}

// unneededNodesLimit returns how many unneeded nodes are enough: as many as can be deleted, at
// MaxScaleDownParallelism nodes a loop, before the first of them have been unneeded long enough.
func (p *Planner) unneededNodesLimit() int {
	parallelism := p.autoscalingCtx.MaxScaleDownParallelism
	interval := max(p.minUpdateInterval, time.Nanosecond)
	unneededTime := max(p.autoscalingCtx.NodeGroupDefaults.ScaleDownUnneededTime, interval)
	most := parallelism*int(unneededTime/interval) + parallelism
	return min(most, len(p.unneededNodes.AsList())+2*parallelism)
}

// atomicScaleDownNode reports whether the node's group can only go as a whole.
func (p *Planner) atomicScaleDownNode(node *simulator.NodeToBeRemoved) bool {
	group, err := p.autoscalingCtx.CloudProvider.NodeGroupForNode(node.Node)
	if err != nil || group == nil {
		klog.Errorf("Node %s: has no group: %v", node.Node.Name, err)
		return false
	}
	return p.isAtomic(group)
}

func (p *Planner) isAtomic(group cloudprovider.NodeGroup) bool {
	own, err := group.GetOptions(p.autoscalingCtx.NodeGroupDefaults)
	if err != nil && err != cloudprovider.ErrNotImplemented {
		klog.Errorf("Node group %s: cannot read its options: %v", group.Id(), err)
		return false
	}
	return own != nil && own.ZeroOrMaxNodeScaling
}

// CleanUpUnneededNodes forgets how long nodes have been unneeded.
func (p *Planner) CleanUpUnneededNodes() { p.unneededNodes.Clear() }

// UnneededNodes returns the nodes that can go, now or once they have been unneeded long enough.
func (p *Planner) UnneededNodes() []*scaledown.UnneededNode { return p.unneededNodes.AsList() }

// UnremovableNodes returns the nodes that stay, with their reasons.
func (p *Planner) UnremovableNodes() []*simulator.UnremovableNode { return p.unremovableNodes.AsList() }

// NodeUtilizationMap returns the utilization of the nodes for which it was part of a decision.
func (p *Planner) NodeUtilizationMap() map[string]utilization.Info { return p.nodeUtilizationMap }

// NodesToDelete returns the nodes that can go now: unneeded long enough, within minimum sizes and
// quotas, and not vetoed by processors.
func (p *Planner) NodesToDelete(_ time.Time) (empty, needDrain []*apiv1.Node) {
	infos, err := p.autoscalingCtx.ClusterSnapshot.ListNodeInfos()
	if err != nil {
		klog.Errorf("No node is deleted: the snapshot cannot be listed: %v", err)
		return nil, nil
	}
	all := make([]*apiv1.Node, len(infos))
	for i, info := range infos {
		all[i] = info.Node()
	}
	tracker, err := p.quotasTrackerFactory.NewMinQuotasTracker(p.autoscalingCtx, all)
	if err != nil {
		klog.Errorf("No node is deleted: cannot read quotas: %v", err)
		return nil, nil
	}
	p.scaleDownContext.Tracker = tracker

	due, dueDrain, notDue := p.unneededNodes.RemovableAt(p.autoscalingCtx, *p.scaleDownContext, p.latestUpdate)
	p.keep(notDue)
	candidates := due
	for _, risky := range []bool{false, true} {
		for _, node := range dueDrain {
			if node.IsRisky == risky {
				candidates = append(candidates, node)
			}
		}
	}
	chosen, vetoed := p.scaleDownSetProcessor.FilterUnremovableNodes(p.autoscalingCtx, p.scaleDownContext, candidates)
	p.keep(vetoed)

	empty, needDrain = []*apiv1.Node{}, []*apiv1.Node{}
	for _, node := range chosen {
		switch {
		case len(node.OnCompletionPods) > 0:
			p.keep([]simulator.UnremovableNode{{Node: node.Node, Reason: simulator.BlockedByOnCompletionPod}})
		case len(node.PodsToReschedule) > 0:
			needDrain = append(needDrain, node.Node)
		default:
			empty = append(empty, node.Node)
		}
	}
	return empty, needDrain
}

func (p *Planner) keep(unremovable []simulator.UnremovableNode) {
	for i := range unremovable {
		p.unremovableNodes.Add(&unremovable[i])
	}
}

func without(all []*apiv1.Node, names map[string]bool) []*apiv1.Node {
	others := make([]*apiv1.Node, 0, len(all))
	for _, node := range all {
		if !names[node.Name] {
			others = append(others, node)
		}
	}
	return others
}

func both(a, b []string) [][]string { return [][]string{a, b} }
