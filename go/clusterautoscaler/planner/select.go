package planner

import (
	"k8s.io/klog/v2"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown"
	"sigs.k8s.io/cluster-autoscaler/pkg/processors"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"
)

// Values of --scale-down-planner.
const (
	BuiltIn  = "builtin"
	Ebb      = "ebb"
	InShadow = "shadow"
)

// FlagHelp is the help text of --scale-down-planner.
const FlagHelp = "Which planner decides what is scaled down: builtin, ebb, or shadow, where the built-in one acts and ebb's differences from it are reported."

// Select returns the planner that a flag names; "" means the built-in one, which `builtin` makes.
// Any other value ends the process.
func Select(flag string, builtin func() scaledown.Planner, autoscalingCtx *ca_context.AutoscalingContext, processors *processors.AutoscalingProcessors, deleteOptions options.NodeDeleteOptions, drainabilityRules rules.Rules, quotasTrackerFactory *resourcequotas.TrackerFactory) scaledown.Planner {
	switch flag {
	case "", BuiltIn:
		return builtin()
	case Ebb:
		return New(autoscalingCtx, processors, deleteOptions, drainabilityRules, quotasTrackerFactory)
	case InShadow:
		return NewShadow(builtin(), autoscalingCtx, processors, deleteOptions, drainabilityRules, quotasTrackerFactory)
	}
	klog.Fatalf("--scale-down-planner=%s: is not %s, %s or %s", flag, BuiltIn, Ebb, InShadow)
	return nil
}

// NewShadow returns a planner that acts as `acting` does, and lets ebb evaluate the same clusters.
func NewShadow(acting scaledown.Planner, autoscalingCtx *ca_context.AutoscalingContext, processors *processors.AutoscalingProcessors, deleteOptions options.NodeDeleteOptions, drainabilityRules rules.Rules, quotasTrackerFactory *resourcequotas.TrackerFactory, opts ...Options) *Shadow {
	registerMetrics()
	own := *autoscalingCtx
	s := &Shadow{
		Planner: acting,
		given:   autoscalingCtx,
		own:     &own,
		ebb:     New(&own, processors, deleteOptions, drainabilityRules, quotasTrackerFactory, opts...),
	}
	// The acting planner places pods in the snapshot's order, which may change from loop to loop.
	s.ebb.feed.KeepOrder = true
	return s
}
