// Package engine implements clusterautoscaler.Engine with ebb.
package engine

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb"
	"ebb/go/ebb/plannerpb"
)

type engine struct {
	cluster *ebb.Cluster
	// Kept for the next Apply: empty batches, and readers with their buffers.
	batches []*ebb.Batch
	readers []*reader
}

// New returns an engine without objects. Close frees its memory; otherwise the collector does so
// later.
func New() (clusterautoscaler.Engine, error) {
	e := &engine{}
	return e, e.open()
}

func (e *engine) open() (err error) {
	e.cluster, err = ebb.New(ebb.Options{Name: "autoscaler", AsGiven: true})
	return err
}

func (e *engine) Close() error {
	cluster := e.cluster
	e.cluster = nil
	for _, batch := range e.batches {
		_ = batch.Close()
	}
	e.batches = nil
	if cluster == nil {
		return nil
	}
	return cluster.Close()
}

func (e *engine) Reset() error {
	if err := e.Close(); err != nil {
		return err
	}
	return e.open()
}

// Configure passes the options to ebb under the names of docs/rounds.md. ebb's cache of unremovable
// nodes is off, because the autoscaler has its own.
func (e *engine) Configure(o clusterautoscaler.Options) error {
	type fields = map[string]any
	options, err := structpb.NewStruct(fields{"scaleDown": fields{"planner": fields{
		"scaleDownUnreadyEnabled":              o.ScaleDownUnreadyEnabled,
		"ignoreMirrorPodsUtilization":          o.IgnoreMirrorPodsUtilization,
		"unremovableNodeRecheckTimeoutSeconds": 0,
		"minNodesPerPass":                      0,
		"drain": fields{
			"skipNodesWithSystemPods":                   o.SkipNodesWithSystemPods,
			"skipNodesWithLocalStorage":                 o.SkipNodesWithLocalStorage,
			"skipNodesWithCustomControllerPods":         o.SkipNodesWithCustomControllerPods,
			"minReplicaCount":                           o.MinReplicaCount,
			"blockingSystemPodDisruptionTimeoutSeconds": int64(o.BlockingSystemPodDisruptionTimeout / time.Second),
			"gangs": "ignore", // As the autoscaler does.
		},
	}}})
	if err != nil {
		return err
	}
	return e.cluster.SetSettings(context.Background(), &plannerpb.Settings{Options: options})
}

// Apply encodes the objects in several goroutines while the caller's iterator is still finding
// further changes, and applies them in their order.
func (e *engine) Apply(ctx context.Context, changes iter.Seq[[]wire.Change]) error {
	if e.cluster == nil {
		return ebb.ErrClosed
	}
	line := e.newLine(ctx)
	for part := range changes {
		if !line.add(part) {
			break
		}
	}
	return line.end()
}

func (e *engine) Pass(ctx context.Context, request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
	if request.TimeLimit <= 0 && e.cluster != nil && ctx.Err() == nil {
		return &clusterautoscaler.Result{Termination: "deadline", Skipped: request.Candidates}, nil
	}
	answer, err := e.cluster.PassTable(ctx, callOf(request))
	if err != nil {
		return nil, err
	}
	return resultOf(answer)
}
