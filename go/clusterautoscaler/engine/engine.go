// Package engine is ebb as a clusterautoscaler.Engine.
//
// It links go/ebb/lib/libebb.a, which `./dev archive` makes.
package engine

/*
#cgo CFLAGS: -I${SRCDIR}/../../ebb/lib
#cgo LDFLAGS: ${SRCDIR}/../../ebb/lib/libebb.a -lstdc++ -lm -lpthread
#include <stddef.h>
#include <stdlib.h>
#include "archive.h"
#include "ebb.h"

// Puts objects that lie one before the other; starts[i] is where the i-th of them starts.
static ebb_code put_all(ebb_batch* batch, const char* data, size_t end, const ptrdiff_t* starts,
                        size_t count, ebb_error** error) {
  for (size_t i = 0; i < count; ++i) {
    const size_t start = (size_t)starts[i];
    const ebb_code code = ebb_batch_put(batch, EBB_PROTOBUF, data + start, end - start, error);
    if (code != EBB_OK) return code;
    end = start;
  }
  return EBB_OK;
}
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/wire"
)

type engine struct {
	// Nil after Close.
	cluster *C.ebb_cluster
	cleanup runtime.Cleanup
}

// New makes an engine without objects.  Close gives its memory back; so does the collector, later.
func New() (clusterautoscaler.Engine, error) {
	e := &engine{}
	if err := e.open(); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *engine) open() error {
	name := C.CString("autoscaler")
	defer C.free(unsafe.Pointer(name))
	options := C.ebb_options{name: name, as_given: 1}
	var failed *C.ebb_error
	if code := C.ebb_cluster_new(C.EBB_ABI_VERSION, &options, &e.cluster, &failed); code != C.EBB_OK {
		return failure(code, failed)
	}
	e.cleanup = runtime.AddCleanup(e, func(cluster *C.ebb_cluster) { C.ebb_cluster_free(cluster) }, e.cluster)
	return nil
}

func (e *engine) Close() error {
	if e.cluster != nil {
		e.cleanup.Stop()
		C.ebb_cluster_free(e.cluster)
		e.cluster = nil
	}
	return nil
}

func (e *engine) Reset() error {
	if err := e.Close(); err != nil {
		return err
	}
	return e.open()
}

var (
	errClosed   = errors.New("ebb: the engine is closed")
	errNoMemory = errors.New("ebb: there is no memory for a batch")
)

// Options by the names of docs/rounds.md.  Nodes that could not be removed lately are remembered by
// the autoscaler.
func (e *engine) Configure(o clusterautoscaler.Options) error {
	if e.cluster == nil {
		return errClosed
	}
	type fields map[string]any
	settings, err := json.Marshal(fields{"options": fields{"scaleDown": fields{"planner": fields{
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
	}}}})
	if err != nil {
		return err
	}
	var failed *C.ebb_error
	code := C.ebb_cluster_set_settings(e.cluster, C.EBB_JSON, pointer(settings), C.size_t(len(settings)), &failed)
	return failure(code, failed)
}

// Objects are read and taken so many at a time, so that they stay in the processor's caches.
const changesPerBatch = 512

// A part of the changes, once somebody has read it.
type part struct {
	batch *C.ebb_batch
	err   error
}

// Apply reads the objects in several goroutines, ahead of taking them in their order.
func (e *engine) Apply(ctx context.Context, changes []wire.Change) error {
	if e.cluster == nil {
		return errClosed
	}
	readers := runtime.GOMAXPROCS(0)
	count := (len(changes) + changesPerBatch - 1) / changesPerBatch
	read := make([]chan part, count)
	for i := range read {
		read[i] = make(chan part, 1)
	}
	// Readers take what is next; no more batches are there than are read, waiting or taken.
	batches := make(chan *C.ebb_batch, 2*readers)
	for range min(cap(batches), count) {
		batch := C.ebb_batch_new()
		if batch == nil {
			return errNoMemory
		}
		defer C.ebb_batch_free(batch)
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
		if err := ctx.Err(); err != nil {
			return err
		}
		done := <-read[i]
		if done.err != nil {
			return done.err
		}
		var failed *C.ebb_error
		if code := C.ebb_cluster_apply(e.cluster, done.batch, nil, &failed); code != C.EBB_OK {
			return failure(code, failed)
		}
		C.ebb_batch_clear(done.batch)
		batches <- done.batch
	}
	return nil
}

// How many bytes are handed over at once.
const bytesPerCall = 512 << 10

// Its buffer is used for one batch after the other.
type reader struct{ buffer *wire.Buffer }

func (r *reader) read(batch *C.ebb_batch, changes []wire.Change) error {
	r.buffer.Clear()
	for i := range changes {
		if err := r.take(batch, &changes[i]); err != nil {
			return err
		}
	}
	return r.put(batch)
}

func (r *reader) take(batch *C.ebb_batch, change *wire.Change) error {
	if change.Object == nil {
		if err := r.put(batch); err != nil {
			return err
		}
		return remove(batch, change)
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

func (r *reader) put(batch *C.ebb_batch) error {
	count := r.buffer.Len()
	if count == 0 {
		return nil
	}
	var failed *C.ebb_error
	data, starts := r.buffer.Data(), r.buffer.Starts()
	code := C.put_all(batch, (*C.char)(pointer(data)), C.size_t(len(data)), (*C.ptrdiff_t)(unsafe.Pointer(&starts[0])), C.size_t(count), &failed)
	r.buffer.Clear()
	return failure(code, failed)
}

func remove(batch *C.ebb_batch, change *wire.Change) error {
	texts := [4]*C.char{}
	for i, text := range []string{change.Kind.Name, change.Namespace, change.Name, change.UID} {
		if i != 3 || text != "" {
			texts[i] = C.CString(text)
			defer C.free(unsafe.Pointer(texts[i]))
		}
	}
	var failed *C.ebb_error
	code := C.ebb_batch_delete(batch, texts[0], texts[1], texts[2], texts[3], &failed)
	return failure(code, failed)
}

func (e *engine) Pass(ctx context.Context, request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
	if e.cluster == nil {
		return nil, errClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if request.TimeLimit <= 0 {
		return &clusterautoscaler.Result{Termination: "deadline", Skipped: request.Candidates}, nil
	}
	message := encode(request)
	var reply *C.ebb_bytes
	var failed *C.ebb_error
	code := C.ebb_cluster_call(e.cluster, C.EBB_CALL_PASS, C.EBB_PROTOBUF, pointer(message), C.size_t(len(message)), &reply, &failed)
	if code != C.EBB_OK {
		return nil, failure(code, failed)
	}
	defer C.ebb_bytes_free(reply)
	text := C.ebb_bytes_text(reply)
	return decode(C.GoBytes(unsafe.Pointer(text.data), C.int(text.size)))
}

func pointer(data []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(data)) }

// The error of a call, which is given back.
func failure(code C.ebb_code, failed *C.ebb_error) error {
	if code == C.EBB_OK {
		return nil
	}
	defer C.ebb_error_free(failed)
	message := "there is no memory for an error"
	if failed != nil {
		message = C.GoString(C.ebb_error_message(failed))
	}
	if code == C.EBB_DEADLINE_EXCEEDED {
		return fmt.Errorf("ebb: %s: %w", message, context.DeadlineExceeded)
	}
	return fmt.Errorf("ebb: %s (code %d)", message, int(code))
}
