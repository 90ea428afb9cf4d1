package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// Plan is the part of `ebb plan -o json` that is carried out; docs/plan.md documents the fields.
type Plan struct {
	Summary struct {
		Nodes, Pods, Removed, MovedPods int
		Trials                          *struct {
			RandomOrder, PlanOrder Trials
		}
	} `json:"summary"`
	Remove []Removal `json:"remove"`
}

// Trials are the predictions of `--trials`.
type Trials struct {
	PendingMedian, PendingMax int
	LandedAsPlanned           float64 // share
}

// Removal is a node that the plan removes.
type Removal struct {
	Node string `json:"node"`
	Pods []Move `json:"pods"`
}

// Move is a pod that the plan moves to another node.
type Move struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	To        string `json:"to"`
}

// Nodes returns the names of the removed nodes, in order.
func (p *Plan) Nodes() []string {
	names := make([]string, 0, len(p.Remove))
	for _, removal := range p.Remove {
		names = append(names, removal.Node)
	}
	return names
}

// MakePlan runs `ebb plan` over a dump. Errors include ebb's stderr.
func MakePlan(ctx context.Context, ebb string, dump []byte, flags ...string) (*Plan, error) {
	command := exec.CommandContext(ctx, ebb, append([]string{"plan", "-", "-o", "json", "--allow-incomplete"}, flags...)...)
	command.Stdin = bytes.NewReader(dump)
	var output, errors bytes.Buffer
	command.Stdout, command.Stderr = &output, &errors
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("ebb plan: %w: %s", err, errors.String())
	}
	plan := &Plan{}
	if err := json.Unmarshal(output.Bytes(), plan); err != nil {
		return nil, fmt.Errorf("ebb plan: %w", err)
	}
	return plan, nil
}
