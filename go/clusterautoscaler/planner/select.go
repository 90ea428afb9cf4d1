package planner

import (
	"context"

	"k8s.io/klog/v2"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown"
	"sigs.k8s.io/cluster-autoscaler/pkg/processors"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"

	"ebb/go/clusterautoscaler/choice"
	"ebb/go/clusterautoscaler/fallback"
)

// Select returns the planner of a choice; `builtin` makes the built-in one. It also does so for a
// choice that choice.Flags would reject, and then logs an error. If ebb is chosen and cannot be made, the
// log says why, and the autoscaler's own simulation decides in each loop. Select replaces the snapshot of
// the context if the choice keeps pods.
func Select(chosen choice.Choice, builtin func() scaledown.Planner, autoscalingCtx *ca_context.AutoscalingContext, processors *processors.AutoscalingProcessors, deleteOptions options.NodeDeleteOptions, drainabilityRules rules.Rules, quotasTrackerFactory *resourcequotas.TrackerFactory) scaledown.Planner {
	if err := chosen.Check(); err != nil {
		klog.Errorf("The built-in planner decides: %v", err)
		newFallbackLog().Note(fallback.Flags, 1, err)
		return builtin()
	}
	autoscalingCtx.ClusterSnapshot = keepPods(autoscalingCtx.ClusterSnapshot, chosen.KeepPods)
	opts := Options{
		Address: chosen.Address, CheckOneIn: chosen.CheckOneIn, MismatchesMax: chosen.MismatchesMax, RecordFolder: chosen.RecordFolder,
		SendAhead: !chosen.SendInLoops,
	}
	switch chosen.Planner {
	case choice.Ebb:
		p := New(autoscalingCtx, processors, deleteOptions, drainabilityRules, quotasTrackerFactory, opts)
		p.sayIfMissing(chosen)
		return p
	case choice.Shadow:
		s := NewShadow(builtin(), autoscalingCtx, processors, deleteOptions, drainabilityRules, quotasTrackerFactory, opts)
		s.ebb.sayIfMissing(chosen)
		return s
	}
	return builtin()
}

func (p *Planner) sayIfMissing(chosen choice.Choice) {
	p.hold(context.Background())
	defer p.release()
	if p.engineErr != nil {
		klog.Errorf("--scale-down-planner=%s: %v", chosen.Planner, p.engineErr)
	}
}

// NewShadow returns a planner that acts as `acting` does, and lets ebb evaluate the same clusters.
func NewShadow(acting scaledown.Planner, autoscalingCtx *ca_context.AutoscalingContext, processors *processors.AutoscalingProcessors, deleteOptions options.NodeDeleteOptions, drainabilityRules rules.Rules, quotasTrackerFactory *resourcequotas.TrackerFactory, opts ...Options) *Shadow {
	registerMetrics()
	own := *autoscalingCtx
	var given Options
	for _, o := range opts {
		given = o
	}
	given.inLoops = true
	s := &Shadow{
		Planner: acting,
		given:   autoscalingCtx,
		own:     &own,
		ebb:     New(&own, processors, deleteOptions, drainabilityRules, quotasTrackerFactory, given),
	}
	// The acting planner places pods in the snapshot's order, which may change from loop to loop.
	s.ebb.feed.KeepOrder = true
	return s
}
