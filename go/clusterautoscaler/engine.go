package clusterautoscaler

import (
	"context"
	"errors"
	"iter"
	"time"

	"ebb/go/clusterautoscaler/wire"
)

// ErrClosed is the error of calls on an engine that was closed.
var ErrClosed = errors.New("the engine was used after Close")

// Engine holds one cluster and plans for it. Only one goroutine may use it at a time. Package engine
// has ebb inside the program, package remote asks a daemon. An error may have a cause
// (fallback.CauseOf).
type Engine interface {
	// Apply applies changes, which come in parts, in their order. It iterates over them once, in
	// the caller's goroutine. An error ends the iteration early; then some of the changes may have
	// been applied, and the engine needs a Reset.
	Apply(ctx context.Context, changes iter.Seq[[]wire.Change]) error
	// Configure sets the options of the passes from now on.
	Configure(ctx context.Context, options Options) error
	// Pass evaluates the candidates. It remembers where pods were placed, as hints for the next
	// pass.
	Pass(ctx context.Context, request *Request) (*Result, error)
	// Reset removes all objects and options; the caller then sends the whole cluster again.
	Reset() error
	// Close frees the engine.
	Close() error
}

// Options are the autoscaler's options that cannot be set for a single node group.
type Options struct {
	// Minor version whose scheduler's rules apply: "1.36". "": that of the newest kubelet.
	KubernetesVersion                 string
	ScaleDownUnreadyEnabled           bool
	IgnoreMirrorPodsUtilization       bool
	SkipNodesWithSystemPods           bool
	SkipNodesWithLocalStorage         bool
	SkipNodesWithCustomControllerPods bool
	MinReplicaCount                   int
	// In whole seconds.
	BlockingSystemPodDisruptionTimeout time.Duration
}

// Request is the question of one pass.
type Request struct {
	// In whole seconds; the rest is cut off.
	Now time.Time
	// Nodes to evaluate, in the order in which to try them.
	Candidates []string
	// Nodes that may take pods.
	Destinations []string
	// Candidates that are in no group stay, as NotAutoscaled.
	Groups []Group
	// Nodes with their provider's GPU label.
	GPUNodes []string
	// The pass ends when this many nodes can be removed, not counting nodes of atomic groups.
	UnneededLimit int
	// Pods are placed in the order in which their node lists them, not by priority.
	PodsAsListed bool
	// For the whole call. If it is not positive, there is no time and every candidate is skipped.
	TimeLimit time.Duration
}

// Group is a node group with the current options for its nodes.
type Group struct {
	Name                        string
	Nodes                       []string
	Atomic                      bool
	UtilizationThreshold        float64
	GPUUtilizationThreshold     float64
	IgnoreDaemonSetsUtilization bool
}

// Result is the outcome of a pass.
type Result struct {
	// "complete", "limit" or "deadline".
	Termination string
	// In the order in which the nodes go.
	Removals []Removal
	// Candidates that were evaluated and stay.
	Kept []Kept
	// Candidates that the pass did not reach.
	Skipped []string
	// For nodes whose utilization was part of a decision.
	Utilization []Utilization
}

// Removal is a node that can go after the removals before it.
type Removal struct {
	Node string
	// In the order in which the pods were placed.
	Moves        []Move
	DaemonSet    []wire.PodName
	OnCompletion []wire.PodName
	// A budget allows its pods to be evicted only one after the other.
	Risky bool
}

// Move is a pod and the node on which it lands.
type Move struct {
	Pod wire.PodName
	To  string
}

// Kept is a node that stays. Reasons are the autoscaler's names.
type Kept struct {
	Node           string
	Reason         string
	BlockingReason string
	// The pod that blocks. It may be empty for other reasons.
	Pod wire.PodName
}

// Utilization is the utilization of a node, as fractions.
type Utilization struct {
	Node        string
	CPU         float64
	Memory      float64
	GPU         float64
	Resource    string
	Utilization float64
}
