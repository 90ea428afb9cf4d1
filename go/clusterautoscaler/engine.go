package clusterautoscaler

import (
	"context"
	"iter"
	"time"

	"ebb/go/clusterautoscaler/wire"
)

// Engine holds one cluster and plans for it.  It is used by one goroutine at a time.
type Engine interface {
	// Apply takes the changes, which come in parts, in their order, while they are gone through: once, by
	// the caller's goroutine.  After an error, which ends that early, some of them may have been taken, and
	// the engine wants a Reset.
	Apply(ctx context.Context, changes iter.Seq[[]wire.Change]) error
	// Configure says how passes are made from now on.
	Configure(options Options) error
	// Pass judges the candidates.  It remembers where pods found their places, for the next one.
	Pass(ctx context.Context, request *Request) (*Result, error)
	// Reset forgets the objects, for a cluster that is told anew.
	Reset() error
	// Close gives all of it back.
	Close() error
}

// Options are those of the autoscaler that no node group has for itself.
type Options struct {
	ScaleDownUnreadyEnabled           bool
	IgnoreMirrorPodsUtilization       bool
	SkipNodesWithSystemPods           bool
	SkipNodesWithLocalStorage         bool
	SkipNodesWithCustomControllerPods bool
	MinReplicaCount                   int
	// In whole seconds.
	BlockingSystemPodDisruptionTimeout time.Duration
}

// Request is what one pass is asked.
type Request struct {
	// In whole seconds; the rest is cut off.
	Now time.Time
	// Nodes to judge, in the order in which to try them.
	Candidates []string
	// Nodes that may take pods.
	Destinations []string
	// Candidates that are in none of them stay, as NotAutoscaled.
	Groups []Group
	// Nodes that have their provider's GPU label.
	GPUNodes []string
	// The pass ends with so many nodes to remove, those of atomic groups not counted.
	UnneededLimit int
	// Pods look for places as they are listed on their node, and not by priority.
	PodsAsListed bool
	// Of the whole call; not positive: there is no time, and every candidate is skipped.
	TimeLimit time.Duration
}

// Group is a node group with what is said of its nodes at the moment.
type Group struct {
	Name                        string
	Nodes                       []string
	Atomic                      bool
	UtilizationThreshold        float64
	GPUUtilizationThreshold     float64
	IgnoreDaemonSetsUtilization bool
}

// Result is what a pass decides.
type Result struct {
	// "complete", "limit" or "deadline".
	Termination string
	// In the order in which the nodes go.
	Removals []Removal
	// Candidates that were judged and stay.
	Kept []Kept
	// Candidates that the pass did not come to.
	Skipped []string
	// Of nodes whose utilization decided something.
	Utilization []Utilization
}

// Removal is a node that can go once those before it have gone.
type Removal struct {
	Node string
	// In the order in which the pods found their places.
	Moves        []Move
	DaemonSet    []wire.PodName
	OnCompletion []wire.PodName
	// A budget admits its pods only one after the other.
	Risky bool
}

// Move is a pod and the node where it lands.
type Move struct {
	Pod wire.PodName
	To  string
}

// Kept is a node that stays.  Reasons are spelled as the autoscaler spells them.
type Kept struct {
	Node           string
	Reason         string
	BlockingReason string
	// That blocks; of other reasons it may be empty.
	Pod wire.PodName
}

// Utilization of a node, as fractions.
type Utilization struct {
	Node        string
	CPU         float64
	Memory      float64
	GPU         float64
	Resource    string
	Utilization float64
}
