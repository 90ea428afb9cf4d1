//go:build record

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// A Consolidation is what Karpenter made of a cluster, one command after the other.
type Consolidation struct {
	Karpenter string `json:"karpenter"`
	Policy    string `json:"policy"`
	Nodes     int    `json:"nodes"`
	Pods      int    `json:"pods"`
	// USD an hour.
	Cost      float64 `json:"cost"`
	NodesLeft int     `json:"nodes_left"`
	CostLeft  float64 `json:"cost_left"`
	Bought    int     `json:"bought"`
	Removed   int     `json:"removed"`
	Evicted   int     `json:"evicted"`
	// Why it ended: "nothing more", "time limit", or "single-node timeout": no command was found within Karpenter's own
	// limit, so that the next try would end the same way.
	End string `json:"end"`
	// Seconds of Karpenter's computation alone, by the clock on the wall and of the processor.  Its waits are left out.
	Seconds       float64 `json:"seconds"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	MultiTimeouts int     `json:"multi_timeouts"`
	// Evictions of commands of the method "empty" that saved nothing.  Karpenter would repeat such a command without end; here
	// that method is not asked again until another one found a command.  The other figures leave these commands out, but for
	// the time.
	InVain int     `json:"evicted_in_vain"`
	Rounds []Round `json:"rounds"`
}

// A Round is one command, and the methods that were asked before it in vain.
type Round struct {
	Method  string   `json:"method"`
	Removed int      `json:"removed"`
	Bought  []string `json:"bought,omitempty"`
	Evicted int      `json:"evicted"`
	Cost    float64  `json:"cost"`
	Seconds float64  `json:"seconds"`
	CPU     float64  `json:"cpu"`
}

// A runningClock goes on while this process computes, whatever else the machine does, so that Karpenter's limit for
// single-node consolidation holds as on a machine of its own.  Nothing waits: Karpenter validates a command again after
// 15 seconds.
type runningClock struct {
	clock.RealClock
	began time.Time
}

func newRunningClock() runningClock { return runningClock{began: time.Now().Add(-cpuTime())} }

func (c runningClock) Now() time.Time                       { return c.began.Add(cpuTime()) }
func (c runningClock) Since(before time.Time) time.Duration { return c.Now().Sub(before) }

func (c runningClock) After(time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	fired <- c.Now()
	return fired
}

// A consolidator runs Karpenter's methods on a cluster and carries their commands out at once.
type consolidator struct {
	asking
	pods    podsByNode
	sold    map[string]InstanceType
	pool    *karpv1.NodePool
	claim   *karpv1.NodeClaim // Replacements look like this one.
	node    *corev1.Node
	methods []disruption.Method
	result  *Consolidation
	created int
	// The last command of the method "empty" saved nothing, and no other command came after it.
	inVain bool
}

// consolidate runs Karpenter's consolidation until it finds nothing more, or `limit` is over.  It writes the cluster that
// is left to `left`, unless that is "".
func consolidate(path string, types []InstanceType, policy string, limit time.Duration, left string) (*Consolidation, error) {
	c, err := newConsolidator(path, types, policy, newRunningClock())
	if err != nil {
		return nil, err
	}
	if c.pool == nil || c.claim == nil || c.node == nil {
		return nil, fmt.Errorf("%s: no NodePool, NodeClaim or Node", path)
	}
	c.result.Policy = string(c.pool.Spec.Disruption.ConsolidationPolicy)
	for began := time.Now(); ; {
		if time.Since(began) > limit {
			c.result.End = "time limit"
			break
		}
		more, err := c.round()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		last := c.result.Rounds[len(c.result.Rounds)-1]
		fmt.Fprintf(os.Stderr, "%4d %-9s -%d +%d evicted %d, %.2f USD, %.2f s\n", len(c.result.Rounds), last.Method,
			last.Removed, len(last.Bought), last.Evicted, last.Cost, last.Seconds)
	}
	c.result.NodesLeft, c.result.CostLeft = len(c.cluster.DeepCopyNodes()), rounded(c.cost(), 4)
	if left == "" {
		return c.result, nil
	}
	return c.result, c.write(left)
}

// write writes the cluster as a List.
func (c *consolidator) write(path string) error {
	objects := []client.Object{c.pool}
	for _, node := range c.cluster.DeepCopyNodes() {
		objects = append(objects, node.NodeClaim, node.Node)
	}
	for _, node := range slices.Sorted(maps.Keys(c.pods)) {
		for _, pod := range c.pods.on(node) {
			objects = append(objects, pod)
		}
	}
	list := List{APIVersion: "v1", Kind: "List"}
	for _, object := range objects {
		item, err := encode(object)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, item)
	}
	text, err := json.Marshal(&list)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func newConsolidator(path string, types []InstanceType, policy string, clock clock.Clock) (*consolidator, error) {
	objects, err := readObjects(path)
	if err != nil {
		return nil, err
	}
	c := &consolidator{sold: map[string]InstanceType{}}
	for _, t := range types {
		c.sold[t.Name] = t
	}
	for _, object := range objects {
		switch object := object.(type) {
		case *karpv1.NodePool:
			c.pool = object
			if policy != "" {
				object.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicy(policy)
			}
		case *karpv1.NodeClaim:
			c.claim = object
		case *corev1.Node:
			c.node = object
		}
	}
	var others []client.Object
	c.pods, others = newPodsByNode(objects)
	c.world = startKarpenter(c.pods.client(others), clock, types)
	if err := c.fillState(); err != nil {
		return nil, err
	}
	for _, m := range disruption.NewMethods(c.clock, c.cluster, c.client, c.provisioner, c.provider, c.recorder, c.queue) {
		if strings.Contains(fmt.Sprintf("%T", m), "Drift") {
			continue
		}
		c.methods = append(c.methods, m)
	}
	c.result = &Consolidation{Karpenter: karpenterVersion, Nodes: len(c.cluster.DeepCopyNodes()), Pods: c.pods.count(), Cost: rounded(c.cost(), 4), End: "nothing more"}
	return c, nil
}

// cost is what the nodes cost an hour.
func (c *consolidator) cost() float64 {
	cost := 0.0
	for _, node := range c.cluster.DeepCopyNodes() {
		cost += c.sold[node.Labels()[corev1.LabelInstanceTypeStable]].Price
	}
	return cost
}

func rounded(value float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(value*scale) / scale
}

// round asks the methods in Karpenter's order for a command, and carries the first out.
func (c *consolidator) round() (bool, error) {
	wall, cpu := time.Now(), cpuTime()
	var command *disruption.Command
	var chosen disruption.Method
	for _, m := range c.methods {
		if c.inVain && m.Reason() == karpv1.DisruptionReasonEmpty {
			continue
		}
		began, beganClock := time.Now(), c.clock.Now()
		var err error
		if command, err = c.ask(m); err != nil {
			return false, err
		}
		// The limit of multi-node consolidation is by the clock on the wall.
		if m.ConsolidationType() == disruption.MultiNodeConsolidationType && time.Since(began) >= disruption.MultiNodeConsolidationTimeoutDuration {
			c.result.MultiTimeouts++
		}
		if command != nil {
			chosen = m
			break
		}
		if m.ConsolidationType() == disruption.SingleNodeConsolidationType &&
			c.clock.Since(beganClock) >= disruption.SingleNodeConsolidationTimeoutDuration {
			c.result.End = "single-node timeout"
		}
	}
	seconds, cpuSeconds := time.Since(wall).Seconds(), (cpuTime() - cpu).Seconds()
	c.result.Seconds = rounded(c.result.Seconds+seconds, 2)
	c.result.CPUSeconds = rounded(c.result.CPUSeconds+cpuSeconds, 2)
	if command == nil {
		return false, nil
	}
	before := c.cost()
	done, err := c.execute(command)
	if err != nil {
		return false, err
	}
	done.Method, done.Seconds, done.CPU = chosen.ConsolidationType(), rounded(seconds, 2), rounded(cpuSeconds, 2)
	c.result.Rounds = append(c.result.Rounds, *done)
	// A node whose only pods cost nothing to evict counts as empty.  If such a pod fits on no other node, Karpenter buys the
	// same node again, and again.
	if c.inVain = chosen.Reason() == karpv1.DisruptionReasonEmpty && c.cost() > before-1e-6; c.inVain {
		c.result.InVain += done.Evicted
		return true, nil
	}
	c.result.Removed += done.Removed
	c.result.Bought += len(done.Bought)
	c.result.Evicted += done.Evicted
	return true, nil
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ask does what Karpenter's disruption controller does with one method, without starting the command.
func (c *consolidator) ask(m disruption.Method) (*disruption.Command, error) {
	c.recorder.reset()
	candidates, totals, err := disruption.GetCandidatesWithTotals(c.ctx, c.cluster, c.client, c.recorder, c.clock, c.provider,
		m.ShouldDisrupt, m.Class(), c.queue, nil)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	if setter, ok := m.(disruption.NodePoolTotalsSetter); ok {
		setter.SetNodePoolTotals(totals)
	}
	allowed, err := c.allowed(m.Reason())
	if err != nil {
		return nil, err
	}
	commands, err := m.ComputeCommands(c.ctx, allowed, candidates...)
	for i := range commands {
		if commands[i].Decision() != disruption.NoOpDecision {
			return &commands[i], err
		}
	}
	return nil, err
}

// execute removes the command's nodes, buys its replacement and binds the pods where the simulation put them.
func (c *consolidator) execute(command *disruption.Command) (*Round, error) {
	done := &Round{Removed: len(command.Candidates)}
	evicted := map[client.ObjectKey]*corev1.Pod{}
	for _, candidate := range command.Candidates {
		for _, pod := range c.pods.on(candidate.Name()) {
			evicted[client.ObjectKeyFromObject(pod)] = pod
		}
	}
	done.Evicted = len(evicted)
	if err := c.apply(command.Results, done, evicted); err != nil {
		return nil, err
	}
	// The method "empty" also removes nodes whose pods cost nothing to evict, without looking for another place.  Such pods
	// are pending until Karpenter's provisioner finds or buys a node.
	for key, pod := range evicted {
		evicted[key] = c.pods.move(pod, "")
		if err := c.cluster.UpdatePod(c.ctx, evicted[key]); err != nil {
			return nil, err
		}
	}
	for _, candidate := range command.Candidates {
		if err := c.remove(candidate); err != nil {
			return nil, err
		}
	}
	if len(evicted) > 0 {
		results, err := disruption.SimulateScheduling(c.ctx, c.client, c.cluster, c.provisioner, c.clock, c.recorder, nil)
		if err != nil {
			return nil, err
		}
		if err := c.apply(results, done, evicted); err != nil {
			return nil, err
		}
	}
	if len(evicted) > 0 {
		return nil, fmt.Errorf("%d pods have no place", len(evicted))
	}
	done.Cost = rounded(c.cost(), 4)
	return done, nil
}

// apply buys the new nodes of the results, the cheapest type of each, and binds the evicted pods.  Those with a place are
// taken out of `evicted`.
func (c *consolidator) apply(results scheduling.Results, done *Round, evicted map[client.ObjectKey]*corev1.Pod) error {
	bind := func(pods []*corev1.Pod, to string) error {
		for _, p := range pods {
			key := client.ObjectKeyFromObject(p)
			pod, found := evicted[key]
			if !found {
				return fmt.Errorf("pod %s was not evicted", key)
			}
			delete(evicted, key)
			if err := c.cluster.UpdatePod(c.ctx, c.pods.move(pod, to)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, claim := range results.NewNodeClaims {
		kind := claim.InstanceTypeOptions.OrderByPrice(claim.Requirements)[0].Name
		name, err := c.buy(kind)
		if err != nil {
			return err
		}
		done.Bought = append(done.Bought, kind)
		if err := bind(claim.Pods, name); err != nil {
			return err
		}
	}
	for _, node := range results.ExistingNodes {
		if err := bind(node.Pods, node.StateNode.Node.Name); err != nil {
			return err
		}
	}
	return nil
}

func (c *consolidator) remove(candidate *disruption.Candidate) error {
	name, claim := candidate.Name(), candidate.NodeClaim.Name
	for _, object := range []client.Object{candidate.NodeClaim, candidate.Node} {
		if err := c.client.Delete(c.ctx, object); err != nil {
			return err
		}
	}
	c.cluster.DeleteNodeClaim(claim)
	c.cluster.DeleteNode(name)
	return nil
}

// buy adds a node of this type, which is ready at once.
func (c *consolidator) buy(kind string) (string, error) {
	c.created++
	name := fmt.Sprintf("bought-%d", c.created)
	return name, c.add(name, kind)
}

// add adds a node that looks like c.node, but for its type.
func (c *consolidator) add(name, kind string) error {
	claim, node := c.claim.DeepCopy(), c.node.DeepCopy()
	for _, object := range []client.Object{claim, node} {
		object.SetName(name)
		object.SetUID("")
		object.SetResourceVersion("")
		labels := object.GetLabels()
		labels[corev1.LabelHostname], labels[corev1.LabelInstanceTypeStable] = name, kind
	}
	claim.Status.NodeName, claim.Status.ProviderID, node.Spec.ProviderID = name, "recorded:///"+name, "recorded:///"+name
	sold := c.sold[kind]
	claim.Status.Capacity, claim.Status.Allocatable = sold.Capacity.list(), sold.Allocatable.list()
	node.Status.Capacity, node.Status.Allocatable = sold.Capacity.list(), sold.Allocatable.list()
	status := claim.Status
	if err := c.client.Create(c.ctx, claim); err != nil {
		return err
	}
	claim.Status = status
	if err := c.client.Status().Update(c.ctx, claim); err != nil {
		return err
	}
	if err := c.client.Create(c.ctx, node); err != nil {
		return err
	}
	c.cluster.UpdateNodeClaim(claim)
	return c.cluster.UpdateNode(c.ctx, node)
}

func readObjects(path string) ([]client.Object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list List
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	objects, err := decode(list)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return objects, nil
}

// readTypes reads the files that bench/lognormal_cluster.py writes for `ebb plan --replace`.
func readTypes(typesPath, pricesPath string) ([]InstanceType, error) {
	var machines struct {
		MachineTypes []struct {
			Name     string  `json:"name"`
			Capacity Amounts `json:"capacity"`
		} `json:"machineTypes"`
	}
	var prices struct {
		Types map[string]float64 `json:"types"`
	}
	for path, into := range map[string]any{typesPath: &machines, pricesPath: &prices} {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var types []InstanceType
	for _, machine := range machines.MachineTypes {
		machine.Capacity.Pods = "110"
		types = append(types, InstanceType{Name: machine.Name, Capacity: machine.Capacity, Allocatable: machine.Capacity,
			Zones: []string{"us-east-1a"}, Price: prices.Types[machine.Name]})
	}
	return types, nil
}

// marshalConsolidation writes one round a line.
func marshalConsolidation(result *Consolidation) ([]byte, error) {
	rounds := result.Rounds
	result.Rounds = []Round{}
	head, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	text := append([]byte(strings.TrimSuffix(string(head), "]}")), '\n')
	for i := range rounds {
		line, err := json.Marshal(&rounds[i])
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
		if i+1 < len(rounds) {
			text = append(text, ',')
		}
		text = append(text, '\n')
	}
	return append(text, "]}\n"...), nil
}
