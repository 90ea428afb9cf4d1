package planner

import (
	"flag"
	"fmt"

	"k8s.io/klog/v2"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown"
	"sigs.k8s.io/cluster-autoscaler/pkg/processors"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"

	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/remote"
)

// Values of --scale-down-planner.
const (
	BuiltIn  = "builtin"
	Ebb      = "ebb"
	InShadow = "shadow"
)

// Choice is what the flags say.
type Choice struct {
	// Planner is BuiltIn, Ebb or InShadow; "" means BuiltIn.
	Planner string
	// Address is where ebb is asked; "" means inside the program.
	Address string
}

// Flags defines --scale-down-planner and --scale-down-planner-address.
func Flags(flags *flag.FlagSet) *Choice {
	choice := &Choice{}
	set := func(field *string) func(string) error {
		return func(value string) error {
			*field = value
			return choice.check()
		}
	}
	flags.Func("scale-down-planner", "Which planner decides what is scaled down: builtin (the default), ebb, or shadow, where the built-in one acts and ebb's differences from it are reported.", set(&choice.Planner))
	flags.Func("scale-down-planner-address", "The socket of an `ebb serve` beside this process, unix:PATH, which plans for --scale-down-planner=ebb and shadow. Without it ebb must be built into this program.", set(&choice.Address))
	return choice
}

func (c Choice) check() error {
	switch c.Planner {
	case "", BuiltIn, Ebb, InShadow:
	default:
		return fmt.Errorf("--scale-down-planner=%s: is not %s, %s or %s", c.Planner, BuiltIn, Ebb, InShadow)
	}
	if c.Address == "" {
		return nil
	}
	if _, err := remote.New(remote.Options{Address: c.Address}); err != nil {
		return fmt.Errorf("--scale-down-planner-address: %w", err)
	}
	return nil
}

// Select returns the planner of a choice; `builtin` makes the built-in one. It also does so for a
// choice that Flags would reject, and then logs an error. If ebb is chosen and cannot be made, the
// log says why, and the autoscaler's own simulation decides in each loop.
func Select(choice Choice, builtin func() scaledown.Planner, autoscalingCtx *ca_context.AutoscalingContext, processors *processors.AutoscalingProcessors, deleteOptions options.NodeDeleteOptions, drainabilityRules rules.Rules, quotasTrackerFactory *resourcequotas.TrackerFactory) scaledown.Planner {
	if err := choice.check(); err != nil {
		klog.Errorf("The built-in planner decides: %v", err)
		newFallbackLog().Note(fallback.Flags, 1, err)
		return builtin()
	}
	opts := Options{Address: choice.Address}
	switch choice.Planner {
	case Ebb:
		p := New(autoscalingCtx, processors, deleteOptions, drainabilityRules, quotasTrackerFactory, opts)
		p.sayIfMissing(choice)
		return p
	case InShadow:
		s := NewShadow(builtin(), autoscalingCtx, processors, deleteOptions, drainabilityRules, quotasTrackerFactory, opts)
		s.ebb.sayIfMissing(choice)
		return s
	}
	return builtin()
}

func (p *Planner) sayIfMissing(choice Choice) {
	if p.engineErr != nil {
		klog.Errorf("--scale-down-planner=%s: %v", choice.Planner, p.engineErr)
	}
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
