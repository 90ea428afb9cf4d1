// Package message converts the questions and answers of clusterautoscaler to the messages of
// wire/planner.proto and back. It needs no cgo.
package message

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb/plannerpb"
)

// CallOf returns the question as a message.
func CallOf(request *clusterautoscaler.Request) *plannerpb.PlanInput {
	now, limit := request.Now.Unix(), request.TimeLimit.Seconds()
	most := uint64(max(request.UnneededLimit, 0))
	call := &plannerpb.PlanInput{
		Now:              &now,
		TimeLimitSeconds: &limit,
		Candidates:       &plannerpb.NodeNames{Nodes: request.Candidates},
		Destinations:     &plannerpb.NodeNames{Nodes: request.Destinations},
		Groups:           &plannerpb.PassGroups{GpuNodes: request.GPUNodes},
		UnneededLimit:    &most,
	}
	for i := range request.Groups {
		group := &request.Groups[i]
		call.Groups.Groups = append(call.Groups.Groups, &plannerpb.PassGroup{
			Name:                             group.Name,
			Nodes:                            group.Nodes,
			Atomic:                           group.Atomic,
			ScaleDownUtilizationThreshold:    &group.UtilizationThreshold,
			ScaleDownGpuUtilizationThreshold: &group.GPUUtilizationThreshold,
			IgnoreDaemonsetsUtilization:      &group.IgnoreDaemonSetsUtilization,
		})
	}
	if request.PodsAsListed {
		call.PodOrder = plannerpb.PodOrder_AS_LISTED
	}
	return call
}

// table reads a PassTable, whose pods follow one another. err is the first invalid number that was
// found.
type table struct {
	*plannerpb.PassTable
	names string // Names of the pods that have not been read yet.
	pod   int
	err   error
}

// ResultOf returns the answer of a message. A damaged message is an error.
func ResultOf(answer *plannerpb.PassTable) (*clusterautoscaler.Result, error) {
	if err := checkLengths(answer); err != nil {
		return nil, err
	}
	t := &table{PassTable: answer, names: string(answer.PodNames)}
	result := &clusterautoscaler.Result{
		Termination: answer.Termination,
		Removals:    t.removals(),
		Kept:        make([]clusterautoscaler.Kept, len(answer.KeptNodes)),
		Utilization: make([]clusterautoscaler.Utilization, len(answer.UsedNodes)),
	}
	for i := range result.Kept {
		result.Kept[i] = t.kept(i)
	}
	for _, node := range answer.Skipped {
		result.Skipped = append(result.Skipped, t.of(answer.Nodes, node))
	}
	for i := range result.Utilization {
		result.Utilization[i] = clusterautoscaler.Utilization{
			Node: t.of(answer.Nodes, answer.UsedNodes[i]), CPU: answer.Cpu[i], Memory: answer.Memory[i], GPU: answer.Gpu[i],
			Resource: t.of(answer.Resources, answer.UsedResources[i]), Utilization: answer.Utilization[i],
		}
	}
	if t.err == nil && (t.pod != len(answer.PodNameSizes) || t.names != "") {
		t.err = damaged("has pods that nothing names")
	}
	return result, t.err
}

func damaged(how string) error { return fmt.Errorf("ebb: the reply is damaged: %s", how) }

// checkLengths checks that all columns of one kind of row have the same length.
func checkLengths(t *plannerpb.PassTable) error {
	moves := 0
	for _, count := range t.Moves {
		moves += int(count)
	}
	for _, column := range []struct {
		name      string
		got, want int
	}{
		{"pod_name_sizes", len(t.PodNameSizes), len(t.PodNamespaces)},
		{"moves", len(t.Moves), len(t.RemovedNodes)},
		{"daemonset", len(t.Daemonset), len(t.RemovedNodes)},
		{"on_completion", len(t.OnCompletion), len(t.RemovedNodes)},
		{"risky", len(t.Risky), len(t.RemovedNodes)},
		{"to", len(t.To), moves},
		{"kept_reasons", len(t.KeptReasons), len(t.KeptNodes)},
		{"blocking_reasons", len(t.BlockingReasons), len(t.KeptNodes)},
		{"has_pod", len(t.HasPod), len(t.KeptNodes)},
		{"cpu", len(t.Cpu), len(t.UsedNodes)},
		{"memory", len(t.Memory), len(t.UsedNodes)},
		{"gpu", len(t.Gpu), len(t.UsedNodes)},
		{"used_resources", len(t.UsedResources), len(t.UsedNodes)},
		{"utilization", len(t.Utilization), len(t.UsedNodes)},
	} {
		if column.got != column.want {
			return damaged(fmt.Sprintf("%s has %d elements and not %d", column.name, column.got, column.want))
		}
	}
	return nil
}

func (t *table) of(names []string, number uint32) string {
	if int(number) < len(names) {
		return names[number]
	}
	t.err = damaged("a number is of nothing")
	return ""
}

// nextPod returns the next pod. Names share the reply's bytes.
func (t *table) nextPod() wire.PodName {
	if t.pod >= len(t.PodNameSizes) || int(t.PodNameSizes[t.pod]) > len(t.names) {
		t.err = damaged("it has too few pods")
		return wire.PodName{}
	}
	size := t.PodNameSizes[t.pod]
	name := wire.PodName{Namespace: t.of(t.Namespaces, t.PodNamespaces[t.pod]), Name: t.names[:size]}
	t.names = t.names[size:]
	t.pod++
	return name
}

func (t *table) nextPods(count uint32) []wire.PodName {
	if int64(count) > int64(len(t.PodNameSizes)) {
		t.err = damaged("it has too few pods")
		return nil
	}
	var pods []wire.PodName
	for range count {
		pods = append(pods, t.nextPod())
	}
	return pods
}

func (t *table) removals() []clusterautoscaler.Removal {
	removals := make([]clusterautoscaler.Removal, len(t.RemovedNodes))
	// One allocation for all moves.
	moves := make([]clusterautoscaler.Move, len(t.To))
	to := t.To
	for i := range removals {
		count := t.Moves[i]
		own := moves[:count:count]
		moves = moves[count:]
		for j := range own {
			own[j] = clusterautoscaler.Move{Pod: t.nextPod(), To: t.of(t.Nodes, to[j])}
		}
		to = to[count:]
		removals[i] = clusterautoscaler.Removal{
			Node:         t.of(t.Nodes, t.RemovedNodes[i]),
			Moves:        own,
			DaemonSet:    t.nextPods(t.Daemonset[i]),
			OnCompletion: t.nextPods(t.OnCompletion[i]),
			Risky:        t.Risky[i],
		}
	}
	return removals
}

func (t *table) kept(i int) clusterautoscaler.Kept {
	kept := clusterautoscaler.Kept{Node: t.of(t.Nodes, t.KeptNodes[i]), Reason: t.of(t.Reasons, t.KeptReasons[i])}
	if blocks := t.BlockingReasons[i]; blocks > 0 {
		kept.BlockingReason = t.of(t.Reasons, blocks-1)
	}
	if t.HasPod[i] {
		kept.Pod = t.nextPod()
	}
	return kept
}

// SettingsOf returns the options under the names of docs/rounds.md. ebb's cache of unremovable nodes
// is off, because the autoscaler has its own.
func SettingsOf(o clusterautoscaler.Options) (*plannerpb.Settings, error) {
	type fields = map[string]any
	options, err := structpb.NewStruct(fields{"scaleDown": fields{"planner": fields{
		"scaleDownUnreadyEnabled":              o.ScaleDownUnreadyEnabled,
		"ignoreMirrorPodsUtilization":          o.IgnoreMirrorPodsUtilization,
		"unremovableNodeRecheckTimeoutSeconds": 0,
		"minNodesPerPass":                      0,
		"drain": fields{
			"skipNodesWithSystemPods":                   o.SkipNodesWithSystemPods,
			"skipNodesWithLocalStorage":                 o.SkipNodesWithLocalStorage,
			"skipNodesWithCustomControllerPods":         o.SkipNodesWithCustomControllerPods,
			"minReplicaCount":                           o.MinReplicaCount,
			"blockingSystemPodDisruptionTimeoutSeconds": int64(o.BlockingSystemPodDisruptionTimeout / time.Second),
			"gangs": "ignore", // As the autoscaler does.
		},
	}}})
	if err != nil {
		return nil, err
	}
	return &plannerpb.Settings{Options: options}, nil
}
