package message

import "encoding/json"

// Record is a file about a removal that the autoscaler's own simulation refused, with all that ebb knew:
// package planner writes it, and the program replay reads it.
type Record struct {
	Node    string `json:"node"`
	Refusal string `json:"refusal"`
	// Of whose scheduler the rules apply.
	KubernetesVersion string `json:"kubernetesVersion"`
	// Settings and PlanInput of wire/planner.proto.
	Settings json.RawMessage `json:"settings"`
	Request  json.RawMessage `json:"request"`
	// A List, as `kubectl get -o json` prints it.
	Cluster struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	} `json:"cluster"`
}
