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

	"ebb/go/ebb/ranges"
)

// A Batch is an ordered list of changes for [Cluster.Apply]. It may be applied again, to the same
// cluster or another one.
//
// It accepts calls from any goroutine. Calls on a nil Batch return [ErrClosed].
type Batch struct {
	mutex   sync.Mutex
	handle  *C.ebb_batch // Nil: closed.
	cleanup runtime.Cleanup
}

// NewBatch returns an empty batch.
func NewBatch() (*Batch, error) {
	handle := C.ebb_batch_new()
	if handle == nil {
		return nil, &Error{Code: ResourceExhausted, Message: "memory: none is left"}
	}
	made := &Batch{handle: handle}
	made.cleanup = runtime.AddCleanup(made, func(handle *C.ebb_batch) { C.ebb_batch_free(handle) }, handle)
	return made, nil
}

// do runs call while no other call on the batch runs.
func (b *Batch) do(call func(*C.ebb_batch) error) error {
	if b == nil {
		return closed("batch")
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.handle == nil {
		return closed("batch")
	}
	return call(b.handle)
}

// PutProtobuf adds a Kubernetes object that is new or changed. The object is in the protobuf form
// that a watch sends and that client-go's protobuf serializer writes: the result of the object's
// Marshal in a runtime.Unknown envelope ("k8s\x00"), which names the kind. At most 10 MB. After an
// error the batch is unchanged.
func (b *Batch) PutProtobuf(object []byte) error { return b.put(C.EBB_PROTOBUF, object) }

// PutJSON adds an object in JSON, under the same rules as [Batch.PutProtobuf].
func (b *Batch) PutJSON(object []byte) error { return b.put(C.EBB_JSON, object) }

func (b *Batch) put(encoding C.ebb_encoding, object []byte) error {
	return b.do(func(handle *C.ebb_batch) error {
		var failure *C.ebb_error
		code := C.ebb_batch_put(handle, encoding, bytesOf(object), C.size_t(len(object)), &failure)
		return errorOf(code, failure)
	})
}

// A Range is the position of one object in a buffer of many: data[Begin:End].
type Range = ranges.Range

// PutManyProtobuf adds many objects in one call of C, in the order of ranges. It returns the number
// of objects added: all of them, or, with an error, those before the rejected one.
func (b *Batch) PutManyProtobuf(data []byte, ranges []Range) (taken int, err error) {
	err = b.do(func(handle *C.ebb_batch) error {
		var failure *C.ebb_error
		var n C.size_t
		code := C.ebb_batch_put_many(handle, C.EBB_PROTOBUF, bytesOf(data), C.size_t(len(data)),
			(*C.ebb_range)(unsafe.Pointer(unsafe.SliceData(ranges))), C.size_t(len(ranges)), &n, &failure)
		taken = int(n)
		return errorOf(code, failure)
	})
	return taken, err
}

// A Range has the layout of ebb_range: one of these lines does not compile if the sizes differ.
const (
	_ = uint(unsafe.Sizeof(Range{}) - C.sizeof_ebb_range)
	_ = uint(C.sizeof_ebb_range - unsafe.Sizeof(Range{}))
)

// A Reference names an object.
type Reference struct {
	Kind      string // "Pod"
	Namespace string // "" for kinds without a namespace.
	Name      string
	UID       string // "" means any UID.
}

// Delete adds the deletion of an object. Deleting an object that the cluster does not have is no
// error.
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
		var failure *C.ebb_error
		code := C.ebb_batch_delete(handle, texts[0], texts[1], texts[2], texts[3], &failure)
		return errorOf(code, failure)
	})
}

// Clear removes all changes from the batch.
func (b *Batch) Clear() error {
	return b.do(func(handle *C.ebb_batch) error {
		C.ebb_batch_clear(handle)
		return nil
	})
}

// Len returns the number of changes; 0 for a closed batch.
func (b *Batch) Len() (changes int) {
	_ = b.do(func(handle *C.ebb_batch) error {
		changes = int(C.ebb_batch_size(handle))
		return nil
	})
	return changes
}

// Close frees the batch. Later calls return [ErrClosed]; so does a second Close. A batch that is
// never closed is freed some time after its last reference is gone. That may take long, because
// Go's collector does not see the memory that the batch holds.
func (b *Batch) Close() error {
	return b.do(func(handle *C.ebb_batch) error {
		b.handle = nil
		b.cleanup.Stop()
		C.ebb_batch_free(handle)
		return nil
	})
}
