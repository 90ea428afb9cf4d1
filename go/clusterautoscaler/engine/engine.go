//go:build cgo && ebb

package engine

import (
	"context"
	"iter"

	"google.golang.org/protobuf/types/known/structpb"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/line"
	"ebb/go/clusterautoscaler/message"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb"
)

type engine struct {
	cluster *ebb.Cluster // Nil: closed.
	line    line.Line[*ebb.Batch]
}

// New returns an engine without objects. Close frees its memory; otherwise the collector does so
// later.
func New() (clusterautoscaler.Engine, error) {
	e := &engine{}
	e.line = line.Line[*ebb.Batch]{
		New: ebb.NewBatch,
		Put: func(batch *ebb.Batch, objects *wire.Buffer) error {
			_, err := batch.PutManyProtobuf(objects.Data(), objects.Ranges())
			return err
		},
		Delete: func(batch *ebb.Batch, change *wire.Change) error {
			return batch.Delete(ebb.Reference{
				Kind: change.Kind.Name, Namespace: change.Namespace, Name: change.Name, UID: change.UID,
			})
		},
		Take: func(ctx context.Context, batch *ebb.Batch) error {
			_, err := e.cluster.Apply(ctx, batch)
			return err
		},
		Clear: (*ebb.Batch).Clear,
	}
	return e, e.open()
}

func (e *engine) open() (err error) {
	e.cluster, err = ebb.New(ebb.Options{Name: "autoscaler", AsGiven: true})
	return err
}

func (e *engine) Close() error {
	cluster := e.cluster
	e.cluster = nil
	for _, batch := range e.line.Batches() {
		_ = batch.Close()
	}
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

func (e *engine) Configure(ctx context.Context, o clusterautoscaler.Options) error {
	settings, err := message.SettingsOf(o)
	if err != nil {
		return err
	}
	if o.KubernetesVersion != "" {
		load, err := structpb.NewValue(map[string]any{"kubernetesVersion": o.KubernetesVersion})
		if err != nil {
			return err
		}
		settings.Options.Fields["load"] = load
	}
	return e.cluster.SetSettings(ctx, settings)
}

func (e *engine) Apply(ctx context.Context, changes iter.Seq[[]wire.Change]) error {
	if e.cluster == nil {
		return clusterautoscaler.ErrClosed
	}
	return e.line.Run(ctx, changes)
}

func (e *engine) Pass(ctx context.Context, request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
	if request.TimeLimit <= 0 && e.cluster != nil && ctx.Err() == nil {
		return &clusterautoscaler.Result{Termination: "deadline", Skipped: request.Candidates}, nil
	}
	answer, err := e.cluster.PassTable(ctx, message.CallOf(request))
	if err != nil {
		return nil, err
	}
	return message.ResultOf(answer)
}
