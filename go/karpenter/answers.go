//go:build record

package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	claimdisruption "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	disruptionutils "sigs.k8s.io/karpenter/pkg/utils/disruption"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"
	"sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/pretty"
)

// answer asks Karpenter everything about the case.  No question changes what another one reads, and no command is
// carried out.
func answer(kase *Case, types []InstanceType) (*Answers, error) {
	w, err := newWorld(kase, types)
	if err != nil {
		return nil, err
	}
	a := &asking{world: w, nodes: map[string]*NodeAnswer{}, candidates: map[string]*disruption.Candidate{}}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	for _, name := range a.names {
		if a.nodes[name], err = a.askNode(name); err != nil {
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
	}
	answers := &Answers{Nodes: a.nodes}
	for _, names := range kase.Ask {
		answers.Together = append(answers.Together, a.together(names))
	}
	if answers.Budgets, err = a.askBudgets(); err != nil {
		return nil, err
	}
	if answers.Emptiness, err = a.askMethod(method[*disruption.Emptiness](a)); err != nil {
		return nil, err
	}
	if answers.Multi, err = a.askMethod(method[*disruption.MultiNodeConsolidation](a)); err != nil {
		return nil, err
	}
	return answers, nil
}

// asking is the state of one answer.
type asking struct {
	*world
	names         []string // Of state nodes, sorted.
	stateNodes    map[string]*state.StateNode
	pdbs          pdb.Limits
	nodePools     map[string]*karpv1.NodePool
	instanceTypes map[string]map[string]*cloudprovider.InstanceType
	nodes         map[string]*NodeAnswer
	candidates    map[string]*disruption.Candidate
}

func (a *asking) prepare() error {
	var err error
	if a.pdbs, err = pdb.NewLimits(a.ctx, a.client); err != nil {
		return err
	}
	if a.nodePools, a.instanceTypes, err = disruption.BuildNodePoolMap(a.ctx, a.client, a.provider); err != nil {
		return err
	}
	a.stateNodes = map[string]*state.StateNode{}
	for _, node := range a.cluster.DeepCopyNodes() {
		name := nodeName(node)
		a.names = append(a.names, name)
		a.stateNodes[name] = node
	}
	sort.Strings(a.names)
	return nil
}

// nodeName returns the name of the Node, or nodeclaim/NAME for a NodeClaim without a Node.
func nodeName(node *state.StateNode) string {
	if node.Node == nil {
		return "nodeclaim/" + node.NodeClaim.Name
	}
	return node.Node.Name
}

func (a *asking) askNode(name string) (*NodeAnswer, error) {
	node := a.stateNodes[name]
	answer := &NodeAnswer{}
	a.recorder.reset()
	candidate, err := a.newCandidate(node, disruption.GracefulDisruptionClass)
	if err != nil {
		answer.Blocked = err.Error()
		if event := a.recorder.message(events.DisruptionBlocked, node); event != pretty.Sentence(answer.Blocked) {
			answer.Event = event
		}
	}
	eventual, err := a.newCandidate(node, disruption.EventualDisruptionClass)
	answer.EventualCandidate = candidate == nil && err == nil
	if err := a.askPods(node, answer); err != nil {
		return nil, err
	}
	if node.NodeClaim != nil {
		answer.UnderConsolidateAfter = disruptionutils.IsUnderConsolidateAfter(
			a.nodePools[node.Labels()[karpv1.NodePoolLabelKey]], node.NodeClaim, a.clock)
		consolidatable, err := a.reconciledConsolidatable(node.NodeClaim.Name)
		if err != nil {
			return nil, err
		}
		if consolidatable != nil && *consolidatable != isConsolidatable(node.NodeClaim) {
			answer.Consolidatable = consolidatable
		}
	}
	if eventual != nil {
		answer.Methods = map[string]string{}
		a.shouldDisrupt(answer, "drift", method[*disruption.Drift](a), eventual)
	}
	if candidate == nil {
		return answer, nil
	}
	a.candidates[name] = candidate
	answer.DisruptionCost, answer.Price, answer.Empty =
		candidate.RescheduleDisruptionCost, candidate.Price, candidate.IsEmpty()
	a.shouldDisrupt(answer, "emptiness", method[*disruption.Emptiness](a), candidate)
	a.shouldDisrupt(answer, "consolidation", method[*disruption.SingleNodeConsolidation](a), candidate)
	answer.Simulation = a.simulate(candidate)
	answer.Single, err = a.askSingle(candidate)
	return answer, err
}

// method returns Karpenter's method of this type, which has seen nothing yet.
func method[M disruption.Method](a *asking) M {
	var found M
	for _, m := range disruption.NewMethods(
		a.clock, a.cluster, a.client, a.provisioner, a.provider, a.recorder, a.queue) {
		if m, ok := m.(M); ok {
			found = m
		}
	}
	return found
}

func (a *asking) newCandidate(node *state.StateNode, class string) (*disruption.Candidate, error) {
	return disruption.NewCandidate(a.ctx, a.client, a.recorder, a.clock, node.DeepCopy(), a.pdbs, a.nodePools,
		a.instanceTypes, a.queue, class)
}

// askPods asks about every pod of the node by itself, because Karpenter reports the first that it meets.
func (a *asking) askPods(node *state.StateNode, answer *NodeAnswer) error {
	pods, err := node.Pods(a.ctx, a.client)
	if err != nil {
		return err
	}
	answer.BlockingPods = map[string]string{}
	for _, p := range pods {
		key := client.ObjectKeyFromObject(p).String()
		if _, err := node.ValidatePodsDisruptable(a.ctx, a.only(p), a.pdbs, a.clock, a.recorder); err != nil {
			answer.BlockingPods[key] = err.Error()
		}
		if pod.IsReschedulable(p) {
			answer.Reschedulable = append(answer.Reschedulable, key)
			if !a.pdbs.IsCurrentlyReschedulable(p, a.clock, a.recorder) {
				answer.NotEvictedNow = append(answer.NotEvictedNow, key)
			}
		}
	}
	return nil
}

// only returns a client in which `p` is the only pod.
func (a *asking) only(p *corev1.Pod) client.Client {
	return interceptor.NewClient(a.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if pods, ok := list.(*corev1.PodList); ok {
				pods.Items = []corev1.Pod{*p}
				return nil
			}
			return c.List(ctx, list, opts...)
		}})
}

// reconciledConsolidatable returns the condition that Karpenter's controller of NodeClaims would set now,
// or nil if that controller leaves the NodeClaim alone.
func (a *asking) reconciledConsolidatable(claimName string) (*bool, error) {
	claim := &karpv1.NodeClaim{}
	if err := a.client.Get(a.ctx, client.ObjectKey{Name: claimName}, claim); err != nil {
		return nil, err
	}
	if !claim.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	if _, found := a.nodePools[claim.Labels[karpv1.NodePoolLabelKey]]; !found {
		return nil, nil
	}
	stored := claim.DeepCopy()
	controller := claimdisruption.NewController(a.clock, keepingClient{a.client}, a.provider)
	if _, err := controller.Reconcile(a.ctx, stored); err != nil {
		return nil, err
	}
	isTrue := isConsolidatable(stored)
	return &isTrue, nil
}

func isConsolidatable(claim *karpv1.NodeClaim) bool {
	return claim.StatusConditions().Get(karpv1.ConditionTypeConsolidatable).IsTrue()
}

// keepingClient forgets what is written, so that asking changes nothing.
type keepingClient struct{ client.Client }

func (c keepingClient) Status() client.SubResourceWriter { return noWriter{} }

type noWriter struct{}

func (noWriter) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return nil
}
func (noWriter) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return nil
}
func (noWriter) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}
func (noWriter) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return nil
}

// shouldDisrupt records whether the method takes the candidate: "yes", or "no" with the event's text, or nothing.
func (a *asking) shouldDisrupt(answer *NodeAnswer, name string, method disruption.Method, c *disruption.Candidate) {
	a.recorder.reset()
	switch taken := method.ShouldDisrupt(a.ctx, c); {
	case taken:
		answer.Methods[name] = "yes"
	case a.recorder.message(events.Unconsolidatable, c.StateNode) != "":
		answer.Methods[name] = "no: " + a.recorder.message(events.Unconsolidatable, c.StateNode)
	}
}

func (a *asking) together(names []string) *Simulation {
	var candidates []*disruption.Candidate
	for _, name := range names {
		candidate := a.candidates[name]
		if candidate == nil {
			return &Simulation{Error: name + " is not a candidate"}
		}
		candidates = append(candidates, candidate)
	}
	return a.simulate(candidates...)
}

// simulate asks whether the candidates' pods fit on the other nodes, with the options of a consolidation.
func (a *asking) simulate(candidates ...*disruption.Candidate) *Simulation {
	results, err := disruption.SimulateScheduling(a.ctx, a.client, a.cluster, a.provisioner, a.clock, a.recorder,
		[]scheduling.Options{scheduling.IsConsolidationSimulation}, candidates...)
	if err != nil {
		return &Simulation{Error: err.Error()}
	}
	simulation := &Simulation{
		Fits:      results.AllNonPendingPodsScheduled() && len(results.NewNodeClaims) == 0,
		NewNodes:  len(results.NewNodeClaims),
		Placement: map[string]string{},
	}
	for p := range results.PodErrors {
		if !pod.IsProvisionable(p) {
			simulation.Unplaced = append(simulation.Unplaced, client.ObjectKeyFromObject(p).String())
		}
	}
	sort.Strings(simulation.Unplaced)
	for _, node := range results.ExistingNodes {
		for _, p := range node.Pods {
			simulation.Placement[client.ObjectKeyFromObject(p).String()] = nodeName(node.StateNode)
		}
	}
	for i, claim := range results.NewNodeClaims {
		for _, p := range claim.Pods {
			simulation.Placement[client.ObjectKeyFromObject(p).String()] = fmt.Sprintf("new-%d", i)
		}
	}
	return simulation
}

// valid lets every command pass.  Karpenter's validator would look at the budgets.
type valid struct{}

func (valid) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// askSingle asks what single-node consolidation would do if this were the only candidate, whatever the budgets.
func (a *asking) askSingle(candidate *disruption.Candidate) (*SingleAnswer, error) {
	single := disruption.NewSingleNodeConsolidation(disruption.MakeConsolidation(
		a.clock, a.cluster, a.client, a.provisioner, a.provider, a.recorder, a.queue), disruption.WithValidator(valid{}))
	if !single.ShouldDisrupt(a.ctx, candidate) {
		return nil, nil
	}
	if err := a.setTotals(single, single); err != nil {
		return nil, err
	}
	a.recorder.reset()
	commands, err := single.ComputeCommands(a.ctx, map[string]int{candidate.NodePool.Name: 1}, candidate)
	if err != nil {
		return nil, err
	}
	answer := &SingleAnswer{Decision: string(disruption.NoOpDecision)}
	for _, command := range commands {
		answer.Decision = string(command.Decision())
	}
	if answer.Decision == string(disruption.NoOpDecision) {
		answer.Event = stable(a.recorder.message(events.Unconsolidatable, candidate.StateNode))
		if answer.Event == "" {
			answer.Event = a.recorder.message(events.ConsolidationRejected, candidate.StateNode)
		}
	}
	return answer, nil
}

// stable cuts texts that name new nodes by a counter of the process, and pods in the order of a Go map.
func stable(message string) string {
	if before, _, found := strings.Cut(message, ", "); found && strings.HasPrefix(message, "Not all pods would schedule") {
		return before
	}
	return message
}

// askBudgets asks how many nodes of each NodePool may be disrupted now.
func (a *asking) askBudgets() (map[string]map[string]int, error) {
	budgets := map[string]map[string]int{}
	for name := range a.nodePools {
		budgets[name] = map[string]int{}
	}
	for _, reason := range []karpv1.DisruptionReason{
		karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonUnderutilized, karpv1.DisruptionReasonDrifted} {
		allowed, err := a.allowed(reason)
		if err != nil {
			return nil, err
		}
		for name, number := range allowed {
			budgets[name][string(reason)] = number
		}
	}
	return budgets, nil
}

func (a *asking) allowed(reason karpv1.DisruptionReason) (map[string]int, error) {
	return disruption.BuildDisruptionBudgetMapping(a.ctx, a.cluster, a.clock, a.client, a.provider, a.recorder, reason)
}

// askMethod asks for the command that a method would start, within the budgets.
func (a *asking) askMethod(method disruption.Method) (*MethodAnswer, error) {
	var candidates []*disruption.Candidate
	for _, name := range a.names {
		if candidate := a.candidates[name]; candidate != nil && method.ShouldDisrupt(a.ctx, candidate) {
			candidates = append(candidates, candidate)
		}
	}
	answer := &MethodAnswer{Decision: string(disruption.NoOpDecision)}
	if len(candidates) == 0 {
		return answer, nil
	}
	if setter, ok := method.(disruption.NodePoolTotalsSetter); ok {
		if err := a.setTotals(setter, method); err != nil {
			return nil, err
		}
	}
	allowed, err := a.allowed(method.Reason())
	if err != nil {
		return nil, err
	}
	commands, err := method.ComputeCommands(a.ctx, allowed, candidates...)
	if err != nil {
		answer.Error = err.Error()
	}
	for _, command := range commands {
		answer.Decision, answer.Replacements = string(command.Decision()), len(command.Replacements)
		for _, candidate := range command.Candidates {
			answer.Nodes = append(answer.Nodes, nodeName(candidate.StateNode))
		}
	}
	sort.Strings(answer.Nodes)
	return answer, nil
}

// setTotals gives the method the sums of its NodePools, by which the policy Balanced scores.
func (a *asking) setTotals(setter disruption.NodePoolTotalsSetter, method disruption.Method) error {
	_, totals, err := disruption.GetCandidatesWithTotals(a.ctx, a.cluster, a.client, a.recorder, a.clock, a.provider,
		method.ShouldDisrupt, method.Class(), a.queue, nil)
	if err == nil {
		setter.SetNodePoolTotals(totals)
	}
	return err
}
