package ebb

// #include <stdlib.h>
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
	"strings"
	"sync"
	"unsafe"
)

// A Batch is changes for [Cluster.Apply], in their order. It may be used again, for the same
// cluster or another one.
//
// It takes calls from any goroutine. A nil Batch answers with [ErrClosed].
type Batch struct {
	mutex   sync.Mutex
	handle  *C.ebb_batch // Nil: closed.
	cleanup runtime.Cleanup
}

// NewBatch makes a batch without changes.
func NewBatch() (*Batch, error) {
	handle := C.ebb_batch_new()
	if handle == nil {
		return nil, &Error{Code: ResourceExhausted, Message: "memory: none is left"}
	}
	made := &Batch{handle: handle}
	made.cleanup = runtime.AddCleanup(made, func(handle *C.ebb_batch) { C.ebb_batch_free(handle) }, handle)
	return made, nil
}

// do runs call while no other call runs.
func (b *Batch) do(call func(*C.ebb_batch) error) error {
	if b == nil {
		return ErrClosed
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.handle == nil {
		return ErrClosed
	}
	return call(b.handle)
}

// PutProtobuf adds a Kubernetes object that is there now, new or changed: what a watch sent, or what
// client-go's protobuf serializer writes. That is what the object's Marshal returns within the envelope
// that a runtime.Unknown makes ("k8s\x00"), which names the kind. At most 10 MB. After an error the
// batch is as it was.
func (b *Batch) PutProtobuf(object []byte) error { return b.put(C.EBB_PROTOBUF, object) }

// PutJSON adds an object, as [Batch.PutProtobuf] does.
func (b *Batch) PutJSON(object []byte) error { return b.put(C.EBB_JSON, object) }

func (b *Batch) put(encoding C.ebb_encoding, object []byte) error {
	return b.do(func(handle *C.ebb_batch) error {
		var told *C.ebb_error
		code := C.ebb_batch_put(handle, encoding, bytesOf(object), C.size_t(len(object)), &told)
		return errorOf(code, told)
	})
}

// A Range is where an object stands in the bytes of many: data[Begin:End].
type Range struct{ Begin, End uint }

// PutManyProtobuf adds many objects in one call of C, in the order of ranges. It returns how many
// were added: all of them, or those before the one that the error is about.
func (b *Batch) PutManyProtobuf(data []byte, ranges []Range) (taken int, err error) {
	err = b.do(func(handle *C.ebb_batch) error {
		var told *C.ebb_error
		var n C.size_t
		code := C.ebb_batch_put_many(handle, C.EBB_PROTOBUF, bytesOf(data), C.size_t(len(data)),
			(*C.ebb_range)(unsafe.Pointer(unsafe.SliceData(ranges))), C.size_t(len(ranges)), &n, &told)
		taken = int(n)
		return errorOf(code, told)
	})
	return taken, err
}

// A Range is an ebb_range: neither line compiles if their sizes differ.
const (
	_ = uint(unsafe.Sizeof(Range{}) - C.sizeof_ebb_range)
	_ = uint(C.sizeof_ebb_range - unsafe.Sizeof(Range{}))
)

// A Reference names an object.
type Reference struct {
	Kind      string // "Pod"
	Namespace string // "" for kinds that have none.
	Name      string
	UID       string // "": any.
}

// Delete adds that an object is gone. That nobody knows of it is no error.
func (b *Batch) Delete(object Reference) error {
	return b.do(func(handle *C.ebb_batch) error {
		var texts [4]*C.char
		for i, text := range []string{object.Kind, object.Namespace, object.Name, object.UID} {
			if strings.IndexByte(text, 0) >= 0 {
				return &Error{Code: InvalidArgument, Message: "a reference with a zero byte: " + object.Kind}
			}
			texts[i] = C.CString(text)
			defer C.free(unsafe.Pointer(texts[i]))
		}
		var told *C.ebb_error
		code := C.ebb_batch_delete(handle, texts[0], texts[1], texts[2], texts[3], &told)
		return errorOf(code, told)
	})
}

// Clear takes all changes out.
func (b *Batch) Clear() error {
	return b.do(func(handle *C.ebb_batch) error {
		C.ebb_batch_clear(handle)
		return nil
	})
}

// Len is how many changes there are; 0 for a batch that is closed.
func (b *Batch) Len() (changes int) {
	_ = b.do(func(handle *C.ebb_batch) error {
		changes = int(C.ebb_batch_size(handle))
		return nil
	})
	return changes
}

// Close gives back what the batch holds. Later calls return [ErrClosed]; so does a second Close. A
// batch that is never closed is freed some time after the last reference to it is gone, which may be
// long: Go's collector does not see what it holds.
func (b *Batch) Close() error {
	return b.do(func(handle *C.ebb_batch) error {
		b.handle = nil
		b.cleanup.Stop()
		C.ebb_batch_free(handle)
		return nil
	})
}
