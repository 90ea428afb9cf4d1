package planner

import (
	"context"
	"errors"

	apiv1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-autoscaler/pkg/cloudprovider"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/eligibility"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"
	"sigs.k8s.io/cluster-autoscaler/pkg/utils/gpu"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/feed"
)

// nodeGroupConfigs is the part of a NodeGroupConfigProcessor that the planner uses.
type nodeGroupConfigs interface {
	GetScaleDownUtilizationThreshold(nodeGroup cloudprovider.NodeGroup) (float64, error)
	GetScaleDownGpuUtilizationThreshold(nodeGroup cloudprovider.NodeGroup) (float64, error)
	GetIgnoreDaemonSetsUtilization(nodeGroup cloudprovider.NodeGroup) (bool, error)
}

// askEngine lets ebb evaluate the candidates. If it returns a cause, nothing has been decided.
func (p *Planner) askEngine(l *loop) (cause string, err error) {
	ctx := context.Background()
	if limit := p.autoscalingCtx.ScaleDownSimulationTimeout; limit > 0 {
		// The other half is left for the autoscaler's own simulation.
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, l.start.Add(limit/2))
		defer cancel()
	}
	if !p.hold(ctx) {
		return fallback.Deadline, errors.New("changes were still being sent")
	}
	defer p.release()
	if cause, err := p.unsupported(); cause != "" {
		return cause, err
	}
	infos, err := p.autoscalingCtx.ClusterSnapshot.ListNodeInfos()
	if err != nil {
		return fallback.Snapshot, err
	}
	a := asking{Planner: p, loop: l, views: views(infos)}
	known := p.synced
	cause, err = a.ask(ctx)
	if known && lost[cause] {
		// The state of the engine is gone, which says nothing about the engine that is there now.
		cause, err = a.ask(ctx)
	}
	p.failed = cause != ""
	if cause != "" {
		return cause, err
	}
	if l.acts {
		if err := p.check(&a); err != nil {
			return fallback.CheckFailed, err
		}
	}
	p.take(l, a.answer, a.question)
	for cause, nodes := range a.question.causes {
		p.fallbacks.Note(cause, nodes, nil)
	}
	if len(a.question.byHand) > 0 {
		p.simulate(l, a.question.byHand, a.answer.result.Removals)
	}
	return "", nil
}

// lost are the causes for which an engine is asked again in the same loop.
var lost = map[string]bool{fallback.SessionLost: true, fallback.SessionChanged: true, fallback.DaemonUnavailable: true}

// asking is a question to the engine. If it is asked again, the question is the same.
type asking struct {
	*Planner
	loop     *loop
	views    []feed.NodeView
	question *question
	answer   *answer
}

// ask sends what has changed and asks. If it returns a cause, the engine has no state any more,
// except after a deadline of the pass.
func (a *asking) ask(ctx context.Context) (cause string, err error) {
	if err := a.configure(ctx); err != nil {
		return a.forget(fallback.ApplyFailed, err)
	}
	if err := a.engine.Apply(ctx, a.feed.Changes(a.views, a.lists)); err != nil {
		return a.forget(fallback.ApplyFailed, err)
	}
	a.synced = true
	if a.question == nil {
		a.question = a.Planner.question(a.loop)
	}
	result, err := a.engine.Pass(ctx, &a.question.request)
	if err != nil {
		if isDeadline(err) {
			return fallback.Deadline, err
		}
		return a.forget(fallback.PassFailed, err)
	}
	if a.answer, err = a.read(result); err != nil {
		return a.forget(fallback.AnswerUnknown, err)
	}
	return "", nil
}

// forget resets feed and engine, so that the engine receives the whole cluster again. It returns the
// error with its cause; `otherwise` is the cause of an error without one.
func (p *Planner) forget(otherwise string, err error) (string, error) {
	cause := fallback.CauseOf(err, otherwise)
	if isDeadline(err) {
		cause = fallback.Deadline
	}
	if p.synced {
		p.resyncs.Note(cause, 1, err)
	}
	p.synced = false
	p.feed.Reset()
	p.configured = nil
	if err := p.engine.Reset(); err != nil {
		p.engineErr = err
	}
	return cause, err
}

func (p *Planner) configure(ctx context.Context) error {
	now := clusterautoscaler.Options{
		KubernetesVersion:                  p.meaning.version,
		ScaleDownUnreadyEnabled:            p.autoscalingCtx.ScaleDownUnreadyEnabled || p.ownEligibility(),
		IgnoreMirrorPodsUtilization:        p.autoscalingCtx.IgnoreMirrorPodsUtilization,
		SkipNodesWithSystemPods:            p.deleteOptions.SkipNodesWithSystemPods,
		SkipNodesWithLocalStorage:          p.deleteOptions.SkipNodesWithLocalStorage,
		SkipNodesWithCustomControllerPods:  p.deleteOptions.SkipNodesWithCustomControllerPods,
		MinReplicaCount:                    p.deleteOptions.MinReplicaCount,
		BlockingSystemPodDisruptionTimeout: p.deleteOptions.BspDisruptionTimeout,
	}
	if p.configured != nil && *p.configured == now {
		return nil
	}
	if err := p.engine.Configure(ctx, now); err != nil {
		return err
	}
	p.configured = &now
	return nil
}

// ownEligibility reports whether the fork has its own checker of which nodes may be tried.
func (p *Planner) ownEligibility() bool {
	_, own := p.eligibilityChecker.(*eligibility.Checker)
	return !own
}

func views(infos []*framework.NodeInfo) []feed.NodeView {
	count := 0
	for _, info := range infos {
		count += len(info.GetPods())
	}
	pods := make([]*apiv1.Pod, 0, count)
	views := make([]feed.NodeView, len(infos))
	for i, info := range infos {
		start := len(pods)
		for _, pod := range info.GetPods() {
			pods = append(pods, pod.GetPod())
		}
		views[i] = feed.NodeView{Node: info.Node(), Pods: pods[start:len(pods):len(pods)]}
	}
	return views
}

// question is the request to the engine, and the candidates that are not in it.
type question struct {
	request clusterautoscaler.Request
	// Candidates that the autoscaler's own simulation must evaluate.
	byHand []*apiv1.Node
	// Number of these candidates by cause, if the cause is something that ebb does not evaluate.
	causes map[string]int
	atomic map[string]bool
}

func (p *Planner) question(l *loop) *question {
	q := &question{
		request: clusterautoscaler.Request{
			Now:           p.latestUpdate,
			UnneededLimit: max(l.limit, 0),
			TimeLimit:     p.autoscalingCtx.ScaleDownSimulationTimeout,
			PodsAsListed:  podsAsListed,
		},
		causes: map[string]int{},
		atomic: map[string]bool{},
	}
	q.request.Destinations = make([]string, 0, len(l.destinations))
	for _, node := range l.destinations {
		if p.feed.HasNode(node.Name) {
			q.request.Destinations = append(q.request.Destinations, node.Name)
		}
	}
	a := asker{Planner: p, q: q, groups: map[string]int{}, failed: map[string]bool{}, seen: map[string]bool{}}
	for _, node := range p.eligible(l) {
		cause := a.ask(node, p.feed.NodeSpecial(node.Name) > 0)
		if cause == "" {
			continue
		}
		q.byHand = append(q.byHand, node)
		if cause != known {
			q.causes[cause]++
		}
	}
	return q
}

// eligible returns the candidates, or, if the fork has its own checker, the candidates that it
// admits.
func (p *Planner) eligible(l *loop) []*apiv1.Node {
	if !p.ownEligibility() {
		return l.candidates
	}
	names, used, ineligible := p.eligibilityChecker.FilterOutUnremovable(p.autoscalingCtx, l.candidates, p.latestUpdate, p.unremovableNodes)
	for _, node := range ineligible {
		p.unremovableNodes.Add(node)
	}
	for name, use := range used {
		l.utilization[name] = use
	}
	nodes := make([]*apiv1.Node, 0, len(names))
	for _, name := range names {
		if node := p.feed.Node(name); node != nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// No simulation is needed: the autoscaler already knows the node's state.
const known = "known"

type asker struct {
	*Planner
	q *question
	// Indices in the request, by group id.
	groups map[string]int
	failed map[string]bool
	seen   map[string]bool
}

// ask adds the node to the request, or returns the cause why not.
func (a *asker) ask(node *apiv1.Node, special bool) (cause string) {
	if !a.feed.HasNode(node.Name) || a.unremovableNodes.IsRecent(node.Name) || a.seen[node.Name] {
		return known
	}
	a.seen[node.Name] = true
	if special {
		return fallback.DynamicResources
	}
	group, err := a.autoscalingCtx.CloudProvider.NodeGroupForNode(node)
	if err != nil {
		return fallback.NodeGroup
	}
	provider := a.autoscalingCtx.CloudProvider
	if !sameGPU(provider.GetNodeGpuConfig(node), gpu.GetNodeGPUFromCloudProvider(provider, node)) {
		return fallback.GPU
	}
	if group != nil {
		index, ok := a.group(group)
		if !ok {
			return fallback.NodeGroup
		}
		in := &a.q.request.Groups[index]
		in.Nodes = append(in.Nodes, node.Name)
		a.q.atomic[node.Name] = in.Atomic
	}
	if _, labelled := node.Labels[provider.GPULabel()]; labelled {
		a.q.request.GPUNodes = append(a.q.request.GPUNodes, node.Name)
	}
	a.q.request.Candidates = append(a.q.request.Candidates, node.Name)
	return ""
}

func sameGPU(a, b *cloudprovider.GpuConfig) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ExtendedResourceName == b.ExtendedResourceName && !a.ExposedViaDra()
}

// group returns the group's index in the request; false if its options cannot be read.
func (a *asker) group(group cloudprovider.NodeGroup) (int, bool) {
	id := group.Id()
	if index, found := a.groups[id]; found {
		return index, true
	}
	if a.failed[id] {
		return 0, false
	}
	threshold, err1 := a.configs.GetScaleDownUtilizationThreshold(group)
	gpuThreshold, err2 := a.configs.GetScaleDownGpuUtilizationThreshold(group)
	ignoreDaemonSets, err3 := a.configs.GetIgnoreDaemonSetsUtilization(group)
	if err1 != nil || err2 != nil || err3 != nil {
		a.failed[id] = true
		return 0, false
	}
	if a.ownEligibility() {
		threshold, gpuThreshold = anyUse, anyUse
	}
	a.groups[id] = len(a.q.request.Groups)
	a.q.request.Groups = append(a.q.request.Groups, clusterautoscaler.Group{
		Name:                        id,
		Atomic:                      a.isAtomic(group),
		UtilizationThreshold:        threshold,
		GPUUtilizationThreshold:     gpuThreshold,
		IgnoreDaemonSetsUtilization: ignoreDaemonSets,
	})
	return a.groups[id], true
}

// Higher than the utilization of any node.
const anyUse = 1e300
