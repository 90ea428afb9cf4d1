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
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"

	"ebb/go/clusterautoscaler/fallback"
)

// filters are the filters that ebb implements: those of the scheduler's default profile.
var filters = []string{
	"DynamicResources", "InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures", "NodeName",
	"NodePorts", "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits", "PodTopologySpread",
	"TaintToleration", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
}

// unsupported returns the cause why ebb cannot evaluate this loop; "" if it can.
func (p *Planner) unsupported() (cause string, err error) {
	_, ownSimulator := p.rs.(*simulator.RemovalSimulator)
	switch {
	case p.engineErr != nil:
		return fallback.EngineMissing, p.engineErr
	case !ownSimulator:
		return fallback.OwnSimulator, fmt.Errorf("%T", p.rs)
	case p.autoscalingCtx.SchedulerConfig != nil:
		return fallback.SchedulerConfig, nil
	case p.plugins != nil:
		return fallback.SchedulerPlugins, p.plugins
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

func checkPlugins(handle *framework.Handle) error {
	if handle == nil || handle.Framework == nil {
		return nil
	}
	enabled := handle.Framework.ListPlugins()
	if enabled == nil {
		return nil
	}
	var names []string
	for _, plugin := range enabled.Filter.Enabled {
		names = append(names, plugin.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, filters) {
		return fmt.Errorf("filters are %v, ebb has %v", names, filters)
	}
	return nil
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
	return pod.Status.ExtendedResourceClaimStatus != nil || len(pod.Spec.ResourceClaims) > 0 && p.devices() == nil
}
