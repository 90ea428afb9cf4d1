package planner

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	kubeversion "k8s.io/component-base/version"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	schedulerlatest "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"

	"ebb/go/clusterautoscaler/fallback"
)

// This file compares the scheduler that is built into this program with the scheduler whose rules ebb
// follows. A difference that could change a filter is the cause of a fallback.

// filters are the filters that ebb implements: those of the scheduler's default profile.
var filters = []string{
	"DynamicResources", "InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures", "NodeName",
	"NodePorts", "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits", "PodTopologySpread",
	"TaintToleration", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
}

// versions are the minor versions of Kubernetes whose rules ebb follows, in their order.
var versions = []string{"1.36", "1.37"}

// gates are the scheduler's feature gates that are on by default, with the first version in which they
// are. ebb follows the rules of the defaults. A gate that is not in the list must be off.
var gates = map[string]string{
	"DRAAdminAccess": "1.36", "DRAConsumableCapacity": "1.36", "DRADeviceBindingConditions": "1.36",
	"DRADeviceTaints": "1.36", "DRAExtendedResource": "1.36",
	"DRAPartitionableDevices": "1.36", "DRAPrioritizedList": "1.36", "DRAResourceClaimDeviceStatus": "1.36",
	"DynamicResourceAllocation": "1.36", "InPlacePodLevelResourcesVerticalScaling": "1.36",
	"InPlacePodVerticalScaling": "1.36", "MatchLabelKeysInPodTopologySpread": "1.36",
	"NodeDeclaredFeatures": "1.36", "NodeInclusionPolicyInPodTopologySpread": "1.36", "PodLevelResources": "1.36",
	"SidecarContainers": "1.36", "VolumeAttributesClass": "1.36", "VolumeLimitScaling": "1.37",
}

// harmless are the scheduler's feature gates that change no filter: they are about scores, preemption,
// queues, groups of pods, time limits, or a faster way to the same verdict.
var harmless = []string{
	"AsyncPreemption", "CompositePodGroup", "DRASchedulerFilterTimeout", "GangScheduling", "GenericWorkload",
	"InPlacePodVerticalScalingSchedulerPreemption", "InterPodAffinityHostnameFastPath", "PodGroupPreemptionPolicy",
	"SchedulingQueueHint", "StorageCapacityScoring", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption",
}

// meaning is how the scheduler of this program differs from ebb's; the zero value: not at all.
type meaning struct {
	cause string
	err   error
	// Minor version of Kubernetes whose rules apply.
	version string
}

func meaningOf(autoscalingCtx *ca_context.AutoscalingContext) meaning {
	m := meaning{version: kubeversion.DefaultKubeBinaryVersion}
	for _, part := range []struct {
		cause string
		err   error
	}{
		{fallback.KubernetesVersion, checkVersion(m.version)},
		{fallback.FeatureGates, checkGates(m.version, utilfeature.DefaultFeatureGate)},
		{fallback.SchedulerPlugins, checkPlugins(autoscalingCtx.FrameworkHandle)},
		{fallback.SchedulerConfig, checkConfig(autoscalingCtx.SchedulerConfig)},
	} {
		if part.err != nil {
			m.cause, m.err = part.cause, part.err
			return m
		}
	}
	return m
}

func checkVersion(version string) error {
	if !slices.Contains(versions, version) {
		return fmt.Errorf("this program has the scheduler of Kubernetes %s; ebb follows the rules of %s", version, strings.Join(versions, " and "))
	}
	return nil
}

func checkGates(version string, all featuregate.FeatureGate) error {
	features := reflect.ValueOf(feature.NewSchedulerFeaturesFromGates(all))
	var differ []string
	for i := range features.NumField() {
		name := strings.TrimPrefix(features.Type().Field(i).Name, "Enable")
		since, known := gates[name]
		wanted := known && slices.Index(versions, since) <= slices.Index(versions, version)
		if on := features.Field(i).Bool(); on != wanted && !slices.Contains(harmless, name) {
			differ = append(differ, fmt.Sprintf("%s=%v", name, on))
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("feature gates that ebb expects to be otherwise: %s", strings.Join(differ, ", "))
	}
	return nil
}

func checkPlugins(handle *framework.Handle) error {
	if handle == nil || handle.Framework == nil {
		return nil
	}
	enabled := handle.Framework.ListPlugins()
	if enabled == nil {
		return nil
	}
	if names := namesOf(enabled.Filter); !slices.Equal(names, filters) {
		return fmt.Errorf("filters are %v, ebb has %v", names, filters)
	}
	for _, name := range namesOf(enabled.PreFilter) {
		if !slices.Contains(filters, name) && !slices.Contains(harmless, name) {
			return fmt.Errorf("plugin %s is a PreFilter, and ebb has no such plugin", name)
		}
	}
	return nil
}

func namesOf(set schedulerconfig.PluginSet) []string {
	var names []string
	for _, plugin := range set.Enabled {
		names = append(names, plugin.Name)
	}
	slices.Sort(names)
	return names
}

// checkConfig compares the arguments of filters with the default ones. checkPlugins compares which
// filters there are.
func checkConfig(config *schedulerconfig.KubeSchedulerConfiguration) error {
	if config == nil {
		return nil
	}
	standard, err := schedulerlatest.Default()
	if err != nil {
		return err
	}
	wanted := map[string]runtime.Object{}
	for _, plugin := range standard.Profiles[0].PluginConfig {
		wanted[plugin.Name] = ofFilter(plugin.Args)
	}
	for i := range config.Profiles {
		for _, plugin := range config.Profiles[i].PluginConfig {
			if !slices.Contains(filters, plugin.Name) {
				continue
			}
			if args := ofFilter(plugin.Args); !reflect.DeepEqual(args, wanted[plugin.Name]) {
				return fmt.Errorf("the arguments of plugin %s are not the default ones: %+v", plugin.Name, args)
			}
		}
	}
	return nil
}

// ofFilter returns the part of a plugin's arguments that decides whether a pod fits.
func ofFilter(args runtime.Object) runtime.Object {
	switch args := args.(type) {
	case *schedulerconfig.NodeResourcesFitArgs:
		return &schedulerconfig.NodeResourcesFitArgs{IgnoredResources: orNil(args.IgnoredResources), IgnoredResourceGroups: orNil(args.IgnoredResourceGroups)}
	case *schedulerconfig.PodTopologySpreadArgs:
		must := &schedulerconfig.PodTopologySpreadArgs{}
		for _, constraint := range args.DefaultConstraints {
			if constraint.WhenUnsatisfiable == v1.DoNotSchedule {
				must.DefaultConstraints = append(must.DefaultConstraints, constraint)
			}
		}
		return must
	case *schedulerconfig.InterPodAffinityArgs, *schedulerconfig.VolumeBindingArgs, *schedulerconfig.DynamicResourcesArgs:
		return nil // Scores and time limits.
	}
	return args
}

func orNil(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	return all
}
