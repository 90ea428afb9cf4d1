package main

import (
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configArea switches on a KubeSchedulerConfiguration: profiles with default spread constraints,
// added affinity, plugins that are off, weights and strategies of scores.
const configArea = "SchedulerConfiguration"

// addConfig adds a configuration to some clusters. Its random numbers are its own, so that the rest
// of a cluster stays as it is without the area.
func (g *generator) addConfig(seed uint64, number int) {
	kept := g.Rand
	defer func() { g.Rand = kept }()
	g.Rand = rand.New(rand.NewPCG(seed^0x5ced, uint64(number)))
	if !slices.Contains(g.limits.Areas, configArea) || !g.chance(0.3) {
		return
	}
	names := []string{"default-scheduler", "other"}
	var profiles []any
	for _, name := range names[:1+g.IntN(2)] {
		profiles = append(profiles, g.profile(name))
	}
	for _, pod := range g.pods {
		pod.Spec.SchedulerName = pick(g, "", "default-scheduler", "other", "other", "nobody")
	}
	if !g.limits.Scores {
		g.makeControllers()
		g.makeServices()
	}
	g.others = append(g.others, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": profiles}})
}

// Filters that a profile may turn off. Without the others ebb keeps the nodes of the pods.
var filtersOff = []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodePorts",
	"PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures"}

// Filters that a profile may only turn off together with their PreFilter.
var bothOff = []string{"NodeAffinity", "VolumeRestrictions", "NodeVolumeLimits", "VolumeZone"}

func (g *generator) profile(name string) map[string]any {
	profile := map[string]any{"schedulerName": name}
	var args []any
	add := func(plugin string, values map[string]any) {
		args = append(args, map[string]any{"name": plugin, "args": values})
	}
	if g.chance(0.7) {
		add("PodTopologySpread", map[string]any{"defaultingType": "List",
			"defaultConstraints": g.defaultConstraints()})
	}
	if g.chance(0.3) {
		add("NodeAffinity", map[string]any{"addedAffinity": map[string]any{
			"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
				"nodeSelectorTerms": []any{g.addedTerm(), g.addedTerm()}[:1+g.IntN(2)]}}})
	}
	if g.chance(0.5) {
		add("NodeResourcesFit", g.fitArgs())
	}
	if len(args) > 0 {
		profile["pluginConfig"] = args
	}
	if plugins := g.pluginSets(); len(plugins) > 0 {
		profile["plugins"] = plugins
	}
	return profile
}

func (g *generator) defaultConstraints() []any {
	constraints := []any{}
	keys := g.Perm(3)
	for i := range g.IntN(4) {
		constraint := map[string]any{"maxSkew": 1 + int64(g.IntN(3)),
			"topologyKey":       []string{v1.LabelHostname, v1.LabelTopologyZone, "rack"}[keys[i]],
			"whenUnsatisfiable": pick(g, "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")}
		if constraint["whenUnsatisfiable"] == "DoNotSchedule" && g.chance(0.2) {
			constraint["minDomains"] = 1 + int64(g.IntN(4))
		}
		if g.chance(0.2) {
			constraint["nodeAffinityPolicy"] = pick(g, "Honor", "Ignore")
		}
		if g.chance(0.2) {
			constraint["nodeTaintsPolicy"] = pick(g, "Honor", "Ignore")
		}
		constraints = append(constraints, constraint)
	}
	return constraints
}

func (g *generator) addedTerm() map[string]any {
	if g.chance(0.1) {
		return map[string]any{"matchFields": []any{map[string]any{"key": "metadata.name",
			"operator": pick(g, "In", "NotIn"), "values": []any{nodeName(g.IntN(len(g.nodes)))}}}}
	}
	key := pick(g, v1.LabelTopologyZone, v1.LabelTopologyRegion, "disktype", "generation")
	expression := map[string]any{"key": key, "operator": pick(g, "In", "NotIn", "Exists")}
	if expression["operator"] != "Exists" {
		expression["values"] = []any{pick(g, nodeValues[key]...)}
		if key == "generation" {
			expression["values"] = []any{"5"}
		}
	}
	return map[string]any{"matchExpressions": []any{expression}}
}

func (g *generator) fitArgs() map[string]any {
	args := map[string]any{}
	strategy := map[string]any{
		"type": pick(g, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"),
		"resources": []any{map[string]any{"name": "cpu", "weight": 1 + int64(g.IntN(5))},
			map[string]any{"name": "memory", "weight": 1 + int64(g.IntN(5))}}[:1+g.IntN(2)]}
	if strategy["type"] == "RequestedToCapacityRatio" {
		strategy["requestedToCapacityRatio"] = map[string]any{"shape": []any{
			map[string]any{"utilization": int64(g.IntN(40)), "score": int64(g.IntN(11))},
			map[string]any{"utilization": 50 + int64(g.IntN(51)), "score": int64(g.IntN(11))}}}
	}
	args["scoringStrategy"] = strategy
	if g.chance(0.3) {
		args["ignoredResourceGroups"] = []any{"example.com"}
	}
	if g.chance(0.3) {
		args["ignoredResources"] = []any{"nvidia.com/gpu"}
	}
	return args
}

func named(names ...string) []any {
	var plugins []any
	for _, name := range names {
		plugins = append(plugins, map[string]any{"name": name})
	}
	return plugins
}

func (g *generator) pluginSets() map[string]any {
	sets := map[string]any{}
	if g.chance(0.4) {
		off := some(g, 2, filtersOff...)
		point := pick(g, "filter", "multiPoint")
		if point == "multiPoint" {
			off = append(off, some(g, 2, bothOff...)...)
		}
		sets[point] = map[string]any{"disabled": named(off...)}
	}
	if g.chance(0.2) && sets["filter"] == nil {
		off := some(g, 2, bothOff...)
		sets["filter"] = map[string]any{"disabled": named(off...)}
		sets["preFilter"] = map[string]any{"disabled": named(off...)}
	}
	if g.chance(0.4) {
		weights := []any{}
		for _, name := range some(g, 3, "TaintToleration", "NodeAffinity", "PodTopologySpread",
			"InterPodAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation",
			"ImageLocality") {
			weights = append(weights, map[string]any{"name": name, "weight": 1 + int64(g.IntN(9))})
		}
		sets["score"] = map[string]any{"enabled": weights}
		if g.chance(0.3) {
			sets["score"].(map[string]any)["disabled"] = named("ImageLocality")
		}
	}
	return sets
}
