package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// Scores: the verdicts of the default profile's scoring plugins on the nodes that passed the
// filters.

// The plugins of the default profile that ebb scores too. Scores of other plugins
// (VolumeBinding) are compared with 0.
var scorePlugins = []string{"TaintToleration", "NodeAffinity", "NodeResourcesFit",
	"PodTopologySpread", "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality",
	"DynamicResources"}

// score fills in the scores of the nodes that fit.
func (s *Scheduler) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod,
	result *PodVerdicts) {
	var nodes []fwk.NodeInfo
	var verdicts []*Verdict
	for i := range result.Nodes {
		if result.Nodes[i].Fits {
			nodes = append(nodes, s.snapshot.nodes[i])
			verdicts = append(verdicts, &result.Nodes[i])
		}
	}
	if len(nodes) == 0 {
		return
	}
	if !s.frameworkOf(pod).RunPreScorePlugins(ctx, state, pod, nodes).IsSuccess() {
		result.Unscored = true
		return
	}
	scores, status := s.frameworkOf(pod).RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		result.Unscored = true
		return
	}
	for i, verdict := range verdicts {
		verdict.Scores = map[string]int64{}
		verdict.Total = scores[i].TotalScore
		for _, each := range scores[i].Scores {
			verdict.Scores[each.Name] = each.Score
		}
	}
	result.LeftOut = s.leftOut(pod)
	for plugin, why := range map[string]string{
		"VolumeBinding": "the room of storage on nodes is not scored",
	} {
		if slices.ContainsFunc(verdicts, func(v *Verdict) bool { return v.Scores[plugin] != 0 }) {
			result.LeftOut[plugin] = why
		}
	}
}

// leftOut returns the plugins whose scores ebb does not compute for the pod, with the reason.
// README.md explains them; all other scores are compared.
func (s *Scheduler) leftOut(pod *v1.Pod) map[string]string {
	left := map[string]string{}
	if len(pod.Spec.TopologySpreadConstraints) == 0 && !s.listed[schedulerOf(pod)] &&
		!s.selectsPeers(pod) {
		left["PodTopologySpread"] = "the selector is not the controller's alone"
	}
	if s.devices.hasAllocatedAlternatives(pod) {
		left["DynamicResources"] = "an allocated claim has alternatives"
	}
	return left
}

// selectsPeers reports whether the default spreading selects exactly the pods of the pod's
// controller. Its selector comes from services and the controller. For the scheduler's own default
// constraints, ebb counts the controller's pods; for those of a profile it deduces the selector.
func (s *Scheduler) selectsPeers(pod *v1.Pod) bool {
	core, apps := s.informers.factory.Core().V1(), s.informers.factory.Apps().V1()
	selector := helper.DefaultSelector(pod, core.Services().Lister(),
		core.ReplicationControllers().Lister(), apps.ReplicaSets().Lister(),
		apps.StatefulSets().Lister())
	owner := metav1.GetControllerOf(pod)
	spread := owner != nil && isKnownController(owner)
	if selector.Empty() || !spread {
		return selector.Empty() && !spread
	}
	return !s.snapshot.anyPlaced(func(other *v1.Pod) bool {
		peer := metav1.GetControllerOf(other)
		isPeer := peer != nil && peer.Kind == owner.Kind && peer.Name == owner.Name &&
			peer.UID == owner.UID
		return other.Namespace == pod.Namespace &&
			isPeer != selector.Matches(labels.Set(other.Labels))
	})
}

func isKnownController(owner *metav1.OwnerReference) bool {
	switch owner.APIVersion + "/" + owner.Kind {
	case "apps/v1/ReplicaSet", "apps/v1/StatefulSet", "v1/ReplicationController":
		return true
	}
	return false
}

func (s *snapshot) anyPlaced(condition func(*v1.Pod) bool) bool {
	for _, node := range s.nodes {
		if slices.ContainsFunc(node.GetPods(),
			func(p fwk.PodInfo) bool { return condition(p.GetPod()) }) {
			return true
		}
	}
	return false
}

// imageStates returns which images each node has and how many nodes have them. Like the scheduler's
// cache (backend/cache, addNodeImageStates) it uses the first size that it finds for an image.
func imageStates(nodes []*v1.Node) map[string]map[string]*fwk.ImageStateSummary {
	known := map[string]*fwk.ImageStateSummary{}
	states := map[string]map[string]*fwk.ImageStateSummary{}
	for _, node := range nodes {
		own := map[string]*fwk.ImageStateSummary{}
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				if known[name] == nil {
					known[name] = &fwk.ImageStateSummary{Size: image.SizeBytes}
				}
				if own[name] == nil {
					own[name] = known[name]
					own[name].NumNodes++
				}
			}
		}
		states[node.Name] = own
	}
	return states
}

const totalScore = "total"

func scoreOf(v *Verdict, plugin string) int64 {
	if plugin == totalScore {
		return v.Total
	}
	return v.Scores[plugin]
}

// compareScores returns the scores that differ. The total is compared only if no plugin is left
// out, and reported only if no plugin's score differs.
func compareScores(want, got *PodVerdicts) []Disagreement {
	var found []Disagreement
	for i := range want.Nodes {
		if want.Nodes[i].Scores == nil {
			continue
		}
		known := len(found)
		for _, plugin := range comparedPlugins(want) {
			if plugin == totalScore && len(found) > known {
				continue
			}
			if scoreOf(&want.Nodes[i], plugin) != scoreOf(&got.Nodes[i], plugin) {
				found = append(found, Disagreement{Kind: "score", Pod: want.Pod, Scorer: plugin,
					Want: want.Nodes[i], Got: got.Nodes[i]})
			}
		}
	}
	return found
}

// comparedPlugins returns all plugins that scored the pod, and plugins that only ebb has, except
// the left-out ones; then "total".
func comparedPlugins(want *PodVerdicts) []string {
	plugins := slices.Clone(scorePlugins)
	for i := range want.Nodes {
		for _, plugin := range slices.Sorted(maps.Keys(want.Nodes[i].Scores)) {
			if !slices.Contains(plugins, plugin) {
				plugins = append(plugins, plugin)
			}
		}
	}
	plugins = slices.DeleteFunc(plugins, func(plugin string) bool {
		_, left := want.LeftOut[plugin]
		return left
	})
	if len(want.LeftOut) == 0 {
		plugins = append(plugins, totalScore)
	}
	return plugins
}

// ScoreStats count the comparisons. A plugin that never gives two nodes different scores proves
// nothing.
type ScoreStats struct {
	Compared map[string]int // Scores, by plugin.
	Pods     map[string]int // Pods for which two nodes or more were scored.
	Apart    map[string]int // Pods among these whose nodes got different scores.
	LeftOut  map[string]int // Scores, by plugin and reason.
	Unscored int            // Pods.
}

func newScoreStats() ScoreStats {
	return ScoreStats{Compared: map[string]int{}, Pods: map[string]int{}, Apart: map[string]int{},
		LeftOut: map[string]int{}}
}

func (s *ScoreStats) add(result *PodVerdicts) {
	if result.Unscored {
		s.Unscored++
		return
	}
	var scored []*Verdict
	for i := range result.Nodes {
		if result.Nodes[i].Scores != nil {
			scored = append(scored, &result.Nodes[i])
		}
	}
	for plugin, why := range result.LeftOut {
		s.LeftOut[plugin+": "+why] += len(scored)
	}
	for _, plugin := range comparedPlugins(result) {
		s.Compared[plugin] += len(scored)
		if len(scored) < 2 {
			continue
		}
		s.Pods[plugin]++
		first := scoreOf(scored[0], plugin)
		if slices.ContainsFunc(scored,
			func(v *Verdict) bool { return scoreOf(v, plugin) != first }) {
			s.Apart[plugin]++
		}
	}
}

func (s *ScoreStats) merge(other *ScoreStats) {
	s.Unscored += other.Unscored
	for _, pair := range [][2]map[string]int{{s.Compared, other.Compared}, {s.Pods, other.Pods},
		{s.Apart, other.Apart}, {s.LeftOut, other.LeftOut}} {
		for key, count := range pair[1] {
			pair[0][key] += count
		}
	}
}

func (s *ScoreStats) write(out io.Writer) {
	sum := 0
	for _, count := range s.Compared {
		sum += count
	}
	fmt.Fprintf(out, "%d scores compared, %d pods unscored\n", sum, s.Unscored)
	fmt.Fprintf(out, "%-32s %10s %22s\n", "plugin", "compared", "pods with 2 or apart")
	for _, plugin := range append(slices.Clone(scorePlugins), totalScore) {
		fmt.Fprintf(out, "%-32s %10d %12d %6.1f%%\n", plugin, s.Compared[plugin], s.Pods[plugin],
			percent(s.Apart[plugin], s.Pods[plugin]))
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.LeftOut), strings.Compare) {
		fmt.Fprintf(out, "left out: %-50s %10d\n", key, s.LeftOut[key])
	}
}
