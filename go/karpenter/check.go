//go:build record

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
)

// A Plan is what this program reads of `ebb plan --replace -o json`.
type Plan struct {
	Replace struct {
		Buy []struct {
			Node        string `json:"node"`
			MachineType string `json:"machineType"`
			Like        string `json:"like"`
		} `json:"buy"`
	} `json:"replace"`
	Remove []struct {
		Node string `json:"node"`
		Pods []struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			To        string `json:"to"`
		} `json:"pods"`
	} `json:"remove"`
}

// A Check is what Karpenter says of a plan.
type Check struct {
	Removed int `json:"removed"`
	Bought  int `json:"bought"`
	// Nodes of the plan that are no candidates for Karpenter, and why.
	Refused map[string]string `json:"refused,omitempty"`
	// The nodes are more than its budgets allow.
	OverBudget bool `json:"over_budget,omitempty"`
	// Karpenter's simulation of removing the nodes at once, after the new ones are there, if each pod may only go where the
	// plan puts it.
	AsPlanned *Simulation `json:"as_planned"`
	// The same if Karpenter chooses the places.
	AsChosen *Simulation `json:"as_chosen"`
}

// accepted reports whether Karpenter could do what the plan says.
func (c *Check) accepted() bool { return len(c.Refused) == 0 && !c.OverBudget && c.AsPlanned.Fits }

// check asks Karpenter whether the nodes of a plan may go and their pods fit where the plan puts them.
func check(clusterPath, planPath string, types []InstanceType, clock clock.Clock) (*Check, error) {
	text, err := os.ReadFile(planPath)
	if err != nil {
		return nil, err
	}
	plan := &Plan{}
	if err := json.Unmarshal(text, plan); err != nil {
		return nil, fmt.Errorf("%s: %w", planPath, err)
	}
	c, err := newConsolidator(clusterPath, types, "", clock)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	result := &Check{Removed: len(plan.Remove), Bought: len(plan.Replace.Buy), Refused: map[string]string{}}
	for _, bought := range plan.Replace.Buy {
		like := c.stateNodes[bought.Like]
		if like == nil || like.Node == nil || like.NodeClaim == nil {
			return nil, fmt.Errorf("%s: new node %s is like %q, which is no node of Karpenter", planPath, bought.Node, bought.Like)
		}
		c.node, c.claim = like.Node, like.NodeClaim
		if err := c.add(bought.Node, bought.MachineType); err != nil {
			return nil, err
		}
	}
	if result.AsChosen, err = c.simulatePlan(plan, result); err != nil {
		return nil, err
	}
	c.pin(plan)
	if result.AsPlanned, err = c.simulatePlan(plan, result); err != nil {
		return nil, err
	}
	result.AsChosen.Placement, result.AsPlanned.Placement = nil, nil
	return result, nil
}

// pin lets each pod of the plan run nowhere else than on its destination.
func (c *consolidator) pin(plan *Plan) {
	to := map[client.ObjectKey]string{}
	for _, removed := range plan.Remove {
		for _, pod := range removed.Pods {
			to[client.ObjectKey{Namespace: pod.Namespace, Name: pod.Name}] = pod.To
		}
	}
	for _, on := range c.pods {
		for key, pod := range on {
			if destination, found := to[key]; found {
				pod = pod.DeepCopy()
				pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: destination}
				on[key] = pod
			}
		}
	}
}

// simulatePlan simulates the removal of the plan's nodes, and records which of them are no candidates.
func (c *consolidator) simulatePlan(plan *Plan, result *Check) (*Simulation, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	a := &c.asking
	methods := []disruption.Method{method[*disruption.Emptiness](a), method[*disruption.MultiNodeConsolidation](a)}
	var candidates []*disruption.Candidate
	taken := map[karpv1.DisruptionReason]map[string]int{methods[0].Reason(): {}, methods[1].Reason(): {}}
	for _, removed := range plan.Remove {
		candidate, err := c.newCandidate(c.stateNodes[removed.Node], disruption.GracefulDisruptionClass)
		if err != nil {
			result.Refused[removed.Node] = err.Error()
			continue
		}
		if !slices.ContainsFunc(methods, func(m disruption.Method) bool { return m.ShouldDisrupt(c.ctx, candidate) }) {
			result.Refused[removed.Node] = "no method of consolidation takes it"
			continue
		}
		reason := methods[1].Reason()
		if candidate.IsEmpty() {
			reason = methods[0].Reason()
		}
		taken[reason][candidate.NodePool.Name]++
		candidates = append(candidates, candidate)
	}
	for reason, pools := range taken {
		allowed, err := c.allowed(reason)
		if err != nil {
			return nil, err
		}
		for pool, count := range pools {
			result.OverBudget = result.OverBudget || count > allowed[pool]
		}
	}
	return c.simulate(candidates...), nil
}

// checkAll prints a line for each pair of a cluster and a plan, and fails if Karpenter accepts not all of them.
func checkAll(paths []string, types []InstanceType, clock clock.Clock) error {
	if len(paths)%2 != 0 {
		return fmt.Errorf("a plan for each cluster is expected: CLUSTER.json PLAN.json ...")
	}
	refused := 0
	for i := 0; i < len(paths); i += 2 {
		result, err := check(paths[i], paths[i+1], types, clock)
		if err != nil {
			return err
		}
		line, err := json.Marshal(result)
		if err != nil {
			return err
		}
		verdict := "accepted"
		if !result.accepted() {
			verdict = "refused"
			refused++
		}
		fmt.Printf("%s %s %s\n", verdict, paths[i+1], line)
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d plans are refused", refused, len(paths)/2)
	}
	return nil
}
