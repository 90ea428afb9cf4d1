package planner

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	apiv1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules"

	"ebb/go/clusterautoscaler/fallback"
)

// unsupported returns the cause why ebb cannot evaluate this loop; "" if it can.
func (p *Planner) unsupported() (cause string, err error) {
	_, ownSimulator := p.rs.(*simulator.RemovalSimulator)
	switch {
	case p.engineErr != nil:
		return fallback.EngineMissing, p.engineErr
	case !ownSimulator:
		return fallback.OwnSimulator, fmt.Errorf("%T", p.rs)
	case p.meaning.err != nil:
		return p.meaning.cause, p.meaning.err
	case p.checks.distrusted() != nil:
		return fallback.Distrusted, p.checks.distrusted()
	case p.autoscalingCtx.CSINodeAwareSchedulingEnabled:
		return fallback.CSINodeAware, nil
	case !p.defaultRules():
		return fallback.DrainabilityRules, nil
	case p.deleteOptions.BspDisruptionTimeout%time.Second != 0:
		return fallback.DeleteOptions, errors.New("the blocking system pod disruption timeout is not of whole seconds")
	}
	return "", nil
}

func (p *Planner) defaultRules() bool {
	if p.drainabilityRules == nil {
		return true
	}
	return slices.EqualFunc(p.drainabilityRules, rules.Default(p.deleteOptions), func(a, b rules.Rule) bool {
		return reflect.DeepEqual(a, b)
	})
}

// lookAt reports whether ebb cannot place the pod, and records the kinds of its controllers.
func (p *Planner) lookAt(pod *apiv1.Pod) bool {
	for i := range pod.OwnerReferences {
		if kind := pod.OwnerReferences[i].Kind; !p.controllers[kind] {
			p.controllers[kind] = true
		}
	}
	return p.cannotAllocate(pod)
}

// cannotAllocate reports whether the pod needs devices that ebb does not allocate.
func (p *Planner) cannotAllocate(pod *apiv1.Pod) bool {
	return pod.Status.ExtendedResourceClaimStatus != nil || len(pod.Spec.ResourceClaims) > 0 && !p.autoscalingCtx.DynamicResourceAllocationEnabled
}
