package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// Plan is what of `ebb plan -o json` is carried out; docs/plan.md says what the fields mean.
type Plan struct {
	Summary struct {
		Nodes, Pods, Removed, MovedPods int
		Trials                          *struct {
			RandomOrder, PlanOrder Trials
		}
	} `json:"summary"`
	Remove []Removal `json:"remove"`
}

// Trials are what `--trials` foretold.
type Trials struct {
	PendingMedian, PendingMax int
	LandedAsPlanned           float64 // share
}

// Removal is a node that goes.
type Removal struct {
	Node string `json:"node"`
	Pods []Move `json:"pods"`
}

// Move is a pod that finds another place.
type Move struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	To        string `json:"to"`
}

// Nodes are the names of those that go, in order.
func (p *Plan) Nodes() []string {
	names := make([]string, 0, len(p.Remove))
	for _, removal := range p.Remove {
		names = append(names, removal.Node)
	}
	return names
}

// MakePlan asks the program ebb for a plan of a dump.  Errors hold what ebb wrote to stderr.
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
