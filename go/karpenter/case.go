package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// karpenterVersion is that of go.mod.
const karpenterVersion = "1.14.1"

// A File holds the cases of one file.  tests/karpenter/README.md describes every field.
type File struct {
	Karpenter     string         `json:"karpenter"`
	InstanceTypes []InstanceType `json:"instance_types"`
	Cases         []Case         `json:"cases"`
}

// A Case is a cluster at one moment, and what Karpenter's code answers about it.
type Case struct {
	Name     string    `json:"name"`
	Features []string  `json:"features"`
	Now      time.Time `json:"now"`
	Input    List      `json:"input"`
	// Sets of nodes: could they all go at once?
	Ask     [][]string `json:"ask,omitempty"`
	Answers *Answers   `json:"answers"`
}

// A List is what `kubectl get -o json` prints.
type List struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// An InstanceType is a machine that the cloud sells in every zone: on demand at Price, as spot at SpotPrice (0: not as spot).
type InstanceType struct {
	Name        string   `json:"name"`
	Capacity    Amounts  `json:"capacity"`
	Allocatable Amounts  `json:"allocatable"`
	Zones       []string `json:"zones"`
	Price       float64  `json:"price"`
	SpotPrice   float64  `json:"spot_price"`
}

// Amounts are quantities as in a node's status.
type Amounts struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
	Pods   string `json:"pods"`
}

type Answers struct {
	Nodes map[string]*NodeAnswer `json:"nodes"`
	// NodePool -> reason -> disruptions that are allowed now.
	Budgets   map[string]map[string]int `json:"budgets"`
	Emptiness *MethodAnswer             `json:"emptiness"`
	Multi     *MethodAnswer             `json:"multi"`
	// The simulation of each set of Ask.
	Together []*Simulation `json:"together,omitempty"`
}

// A NodeAnswer says what Karpenter thinks of one node.
type NodeAnswer struct {
	Blocked string `json:"blocked,omitempty"`
	// The event's text, unless it is Blocked with a capital.
	Event string `json:"event,omitempty"`
	// Blocked does not hold for drift.
	EventualCandidate bool              `json:"eventual_candidate,omitempty"`
	BlockingPods      map[string]string `json:"blocking_pods,omitempty"`
	Reschedulable     []string          `json:"reschedulable,omitempty"`
	// Reschedulable pods that no eviction would remove now; a simulation leaves them out.
	NotEvictedNow         []string          `json:"not_evicted_now,omitempty"`
	DisruptionCost        float64           `json:"reschedule_disruption_cost,omitempty"`
	Price                 float64           `json:"price,omitempty"`
	Empty                 bool              `json:"empty,omitempty"`
	Methods               map[string]string `json:"methods,omitempty"`
	UnderConsolidateAfter bool              `json:"under_consolidate_after,omitempty"`
	Consolidatable        *bool             `json:"consolidatable_when_reconciled,omitempty"`
	Simulation            *Simulation       `json:"simulation,omitempty"`
	Single                *SingleAnswer     `json:"single,omitempty"`
}

// A Simulation says where the pods of a node would go.
type Simulation struct {
	Fits      bool              `json:"fits"`
	NewNodes  int               `json:"new_nodes,omitempty"`
	Error     string            `json:"error,omitempty"`
	Unplaced  []string          `json:"unplaced,omitempty"`
	Placement map[string]string `json:"placement,omitempty"`
}

// A SingleAnswer is what single-node consolidation would do to this node alone, with room in the budget.
type SingleAnswer struct {
	Decision string `json:"decision"`
	Event    string `json:"event,omitempty"`
}

// A MethodAnswer is the command that a method would start.
type MethodAnswer struct {
	Decision     string   `json:"decision"`
	Nodes        []string `json:"nodes,omitempty"`
	Replacements int      `json:"replacements,omitempty"`
	Error        string   `json:"error,omitempty"`
}

func readFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file := &File{}
	if err := json.Unmarshal(text, file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// marshalFile writes one case a line, so that a change of one case is a change of one line.
func marshalFile(file *File) ([]byte, error) {
	types, err := json.Marshal(file.InstanceTypes)
	if err != nil {
		return nil, err
	}
	text := fmt.Appendf(nil, "{\"karpenter\":%q,\"instance_types\":%s,\"cases\":[\n", file.Karpenter, types)
	for i := range file.Cases {
		line, err := json.Marshal(&file.Cases[i])
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", file.Cases[i].Name, err)
		}
		text = append(text, line...)
		if i+1 < len(file.Cases) {
			text = append(text, ',')
		}
		text = append(text, '\n')
	}
	return append(text, "]}\n"...), nil
}

// writeFiles splits the cases into files of `perFile` and returns their names.
func writeFiles(folder string, types []InstanceType, cases []Case, perFile int) ([]string, error) {
	var names []string
	for i := 0; i < len(cases); i += perFile {
		file := &File{Karpenter: karpenterVersion, InstanceTypes: types, Cases: cases[i:min(i+perFile, len(cases))]}
		text, err := marshalFile(file)
		if err != nil {
			return nil, err
		}
		name := filepath.Join(folder, file.Cases[0].Name+".json")
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}
