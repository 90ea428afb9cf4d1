package ebb

// #include "ebb.h"
// #cgo noescape ebb_batch_put
// #cgo nocallback ebb_batch_put
// #cgo noescape ebb_batch_put_many
// #cgo nocallback ebb_batch_put_many
// #cgo noescape ebb_batch_delete
// #cgo nocallback ebb_batch_delete
import "C"

import (
	"runtime"
	"sync"
)

// raw for the benchmark
type Batch struct {
	mutex   sync.Mutex
	handle  *C.ebb_batch
	cleanup runtime.Cleanup
}

func NewBatch() *Batch {
	b := &Batch{handle: C.ebb_batch_new()}
	b.cleanup = runtime.AddCleanup(b, func(h *C.ebb_batch) { C.ebb_batch_free(h) }, b.handle)
	return b
}

func (b *Batch) Clear() { C.ebb_batch_clear(b.handle) }

func (b *Batch) PutProtobuf(object []byte) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var told *C.ebb_error
	code := C.ebb_batch_put(b.handle, C.EBB_PROTOBUF, bytesOf(object), C.size_t(len(object)), &told)
	if code == C.EBB_OK {
		return nil
	}
	return errorOf(code, told)
}

func (b *Batch) PutMany(objects []byte, ends []uint64) error {
	var told *C.ebb_error
	code := C.ebb_batch_put_many(b.handle, C.EBB_PROTOBUF, bytesOf(objects), (*C.size_t)(&ends[0]), C.size_t(len(ends)), nil, &told)
	return errorOf(code, told)
}

func (b *Batch) with(call func(*C.ebb_batch) error) error { return call(b.handle) }
