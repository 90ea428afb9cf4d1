// Package engine is ebb as a clusterautoscaler.Engine.
package engine

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb"
	"ebb/go/ebb/plannerpb"
)

type engine struct{ cluster *ebb.Cluster }

// New makes an engine without objects.  Close gives its memory back; so does the collector, later.
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

// Options by the names of docs/rounds.md.  Nodes that could not be removed lately are remembered by
// the autoscaler.
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
		},
	}}})
	if err != nil {
		return err
	}
	return e.cluster.SetSettings(context.Background(), &plannerpb.Settings{Options: options})
}

// Objects are read and taken so many at a time, so that they stay in the processor's caches.
const changesPerBatch = 512

// A part of the changes, once somebody has read it.
type part struct {
	batch *ebb.Batch
	err   error
}

// Apply reads the objects in several goroutines, ahead of taking them in their order.
func (e *engine) Apply(ctx context.Context, changes []wire.Change) error {
	if e.cluster == nil {
		return ebb.ErrClosed
	}
	readers := runtime.GOMAXPROCS(0)
	count := (len(changes) + changesPerBatch - 1) / changesPerBatch
	read := make([]chan part, count)
	for i := range read {
		read[i] = make(chan part, 1)
	}
	// Readers take what is next; no more batches are there than are read, waiting or taken.
	batches := make(chan *ebb.Batch, 2*readers)
	for range min(cap(batches), count) {
		batch, err := ebb.NewBatch()
		if err != nil {
			return err
		}
		defer batch.Close()
		batches <- batch
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	var next atomic.Int64
	for range min(readers, count) {
		reading.Go(func() {
			r := &reader{wire.NewBuffer(bytesPerCall)}
			for batch := range batches {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				from := i * changesPerBatch
				to := min(from+changesPerBatch, len(changes))
				read[i] <- part{batch, r.read(batch, changes[from:to])}
			}
		})
	}
	defer close(batches)
	for i := range read {
		done := <-read[i]
		if done.err != nil {
			return done.err
		}
		if _, err := e.cluster.Apply(ctx, done.batch); err != nil {
			return err
		}
		if err := done.batch.Clear(); err != nil {
			return err
		}
		batches <- done.batch
	}
	return nil
}

// How many bytes are handed over at once.
const bytesPerCall = 512 << 10

// Its buffer is used for one batch after the other.
type reader struct{ buffer *wire.Buffer }

func (r *reader) read(batch *ebb.Batch, changes []wire.Change) error {
	r.buffer.Clear()
	for i := range changes {
		if err := r.take(batch, &changes[i]); err != nil {
			return err
		}
	}
	return r.put(batch)
}

func (r *reader) take(batch *ebb.Batch, change *wire.Change) error {
	if change.Object == nil {
		if err := r.put(batch); err != nil {
			return err
		}
		return batch.Delete(ebb.Reference{
			Kind: change.Kind.Name, Namespace: change.Namespace, Name: change.Name, UID: change.UID,
		})
	}
	ok, err := r.buffer.Put(change.Kind, change.Object)
	if ok || err != nil {
		return err
	}
	if err := r.put(batch); err != nil {
		return err
	}
	_, err = r.buffer.Put(change.Kind, change.Object)
	return err
}

func (r *reader) put(batch *ebb.Batch) error {
	_, err := batch.PutManyProtobuf(r.buffer.Data(), r.buffer.Ranges())
	r.buffer.Clear()
	return err
}

func (e *engine) Pass(ctx context.Context, request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
	if request.TimeLimit <= 0 && e.cluster != nil && ctx.Err() == nil {
		return &clusterautoscaler.Result{Termination: "deadline", Skipped: request.Candidates}, nil
	}
	reply, err := e.cluster.Call(ctx, ebb.MethodPass, encode(request))
	if err != nil {
		return nil, err
	}
	return decode(reply)
}
