// Package engine is ebb as a clusterautoscaler.Engine.
//
// It links go/ebb/lib/libebb.a, which `./dev archive` makes.
package engine

/*
#cgo CFLAGS: -I${SRCDIR}/../../ebb/lib
#cgo LDFLAGS: ${SRCDIR}/../../ebb/lib/libebb.a -lstdc++ -lm -lpthread
#include <stdlib.h>
#include "archive.h"
#include "ebb.h"

// Puts objects that lie one after the other; ends[i] is where the i-th of them ends.
static ebb_code put_all(ebb_batch* batch, const char* data, const size_t* ends, size_t count,
                        ebb_error** error) {
  size_t start = 0;
  for (size_t i = 0; i < count; ++i) {
    const ebb_code code = ebb_batch_put(batch, EBB_PROTOBUF, data + start, ends[i] - start, error);
    if (code != EBB_OK) return code;
    start = ends[i];
  }
  return EBB_OK;
}
*/
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
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

var errClosed = fmt.Errorf("the engine is closed")

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

// So many changes are worth a batch of their own.
const changesPerBatch = 4096

// Apply reads the objects in as many goroutines as there are processors, and takes them in order.
func (e *engine) Apply(ctx context.Context, changes []wire.Change) error {
	if e.cluster == nil {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	parts := min(max(len(changes)/changesPerBatch, 1), runtime.GOMAXPROCS(0))
	batches := make([]*C.ebb_batch, parts)
	failures := make([]error, parts)
	var reading sync.WaitGroup
	for i := range parts {
		part := changes[len(changes)*i/parts : len(changes)*(i+1)/parts]
		reading.Go(func() { batches[i], failures[i] = read(part) })
	}
	reading.Wait()
	defer func() {
		for _, batch := range batches {
			C.ebb_batch_free(batch)
		}
	}()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	for _, batch := range batches {
		var failed *C.ebb_error
		if code := C.ebb_cluster_apply(e.cluster, batch, nil, &failed); code != C.EBB_OK {
			return failure(code, failed)
		}
	}
	return nil
}

// How much is handed over in one call.
const putBytes = 1 << 20

func read(changes []wire.Change) (*C.ebb_batch, error) {
	batch := C.ebb_batch_new()
	if batch == nil {
		return nil, fmt.Errorf("there is no memory for a batch")
	}
	data := make([]byte, 0, putBytes+putBytes/4)
	ends := make([]C.size_t, 0, 1024)
	put := func() error {
		if len(ends) == 0 {
			return nil
		}
		var failed *C.ebb_error
		code := C.put_all(batch, (*C.char)(pointer(data)), &ends[0], C.size_t(len(ends)), &failed)
		data, ends = data[:0], ends[:0]
		return failure(code, failed)
	}
	for i := range changes {
		change := &changes[i]
		if change.Object == nil {
			if err := put(); err != nil {
				return batch, err
			}
			if err := remove(batch, change); err != nil {
				return batch, err
			}
			continue
		}
		var err error
		if data, err = wire.Append(data, change.Kind, change.Object); err != nil {
			return batch, err
		}
		ends = append(ends, C.size_t(len(data)))
		if len(data) >= putBytes {
			if err := put(); err != nil {
				return batch, err
			}
		}
	}
	return batch, put()
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
