package planner

import (
	"strings"
	"testing"

	apiv1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeversion "k8s.io/component-base/version"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	schedulerlatest "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
)

// says reports whether an error contains a text; "" stands for no error.
func says(err error, text string) bool {
	if err == nil || text == "" {
		return err == nil && text == ""
	}
	return strings.Contains(err.Error(), text)
}

func TestVersionsWhoseRulesAreFollowed(t *testing.T) {
	for version, want := range map[string]string{"1.35": "1.36 and 1.37", "1.36": "", "1.37": "", "1.38": "1.36 and 1.37"} {
		if err := checkVersion(version); !says(err, want) {
			t.Errorf("%s: %v", version, err)
		}
	}
	if err := checkVersion(kubeversion.DefaultKubeBinaryVersion); err != nil {
		t.Error(err)
	}
}

func TestFeatureGatesThatChangeAFilter(t *testing.T) {
	for set, want := range map[string]string{
		"":                                "",
		"SchedulerAsyncPreemption=false":  "",
		"NodeDeclaredFeatures=false":      "NodeDeclaredFeatures=false",
		"DRAFractionalCapacityRange=true": "DRAFractionalCapacityRange=true",
		"TaintTolerationComparisonOperators=true": "TaintTolerationComparisonOperators=true",
	} {
		all := utilfeature.DefaultMutableFeatureGate.DeepCopy()
		if err := all.Set(set); err != nil {
			t.Logf("%s: %v", set, err) // A later version may lock it.
			continue
		}
		if err := checkGates(kubeversion.DefaultKubeBinaryVersion, all); !says(err, want) {
			t.Errorf("%s: %v", set, err)
		}
	}
}

func TestArgumentsOfFilters(t *testing.T) {
	for name, test := range map[string]struct {
		change func(plugin string, args any)
		want   string
	}{
		"default": {func(string, any) {}, ""},
		"scores": {func(_ string, args any) {
			if fit, is := args.(*schedulerconfig.NodeResourcesFitArgs); is {
				fit.ScoringStrategy.Type = schedulerconfig.MostAllocated
			}
			if affinity, is := args.(*schedulerconfig.InterPodAffinityArgs); is {
				affinity.HardPodAffinityWeight = 7
			}
		}, ""},
		"ignored resources": {func(_ string, args any) {
			if fit, is := args.(*schedulerconfig.NodeResourcesFitArgs); is {
				fit.IgnoredResources = []string{"example.com/gpu"}
			}
		}, "plugin NodeResourcesFit"},
		"added affinity": {func(_ string, args any) {
			if affinity, is := args.(*schedulerconfig.NodeAffinityArgs); is {
				affinity.AddedAffinity = &apiv1.NodeAffinity{}
			}
		}, "plugin NodeAffinity"},
		"spread, if possible": {func(_ string, args any) {
			if spread, is := args.(*schedulerconfig.PodTopologySpreadArgs); is {
				spread.DefaultConstraints = []apiv1.TopologySpreadConstraint{{MaxSkew: 1, WhenUnsatisfiable: apiv1.ScheduleAnyway}}
			}
		}, ""},
		"spread": {func(_ string, args any) {
			if spread, is := args.(*schedulerconfig.PodTopologySpreadArgs); is {
				spread.DefaultConstraints = []apiv1.TopologySpreadConstraint{{MaxSkew: 1, WhenUnsatisfiable: apiv1.DoNotSchedule}}
			}
		}, "plugin PodTopologySpread"},
	} {
		config, err := schedulerlatest.Default()
		check(t, err)
		for _, plugin := range config.Profiles[0].PluginConfig {
			test.change(plugin.Name, plugin.Args)
		}
		if err := checkConfig(config); !says(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := checkConfig(nil); err != nil {
		t.Error(err)
	}
}
