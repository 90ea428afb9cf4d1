package ebb

// #cgo CFLAGS: -I${SRCDIR}/lib
// #include <stdlib.h>
// #include "ebb.h"
// #cgo noescape ebb_cluster_apply
// #cgo nocallback ebb_cluster_apply
// #cgo noescape ebb_cluster_load
// #cgo nocallback ebb_cluster_load
// #cgo noescape ebb_cluster_set_settings
// #cgo nocallback ebb_cluster_set_settings
import "C"

import (
	"cmp"
	"context"
	"runtime"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"ebb/go/ebb/lib"
	"ebb/go/ebb/plannerpb"
)

// Archive is the SHA-256 of the libebb.a that this program is linked with.
const Archive = lib.Archive

// Version returns the version of the library: "0.1.0".
func Version() string { return C.GoString(C.ebb_version()) }

// Options configure a Cluster. The zero value means the default for each of them.
type Options struct {
	// Name is the cluster's name in messages and state files. 1 to 63 lower-case letters, digits,
	// "-" and "."; "" means "cluster".
	Name string
	// StateFolder is where rounds keep their state; "" means no rounds. Only one cluster of a name
	// may use a folder at a time: if two write there, the later round or report fails with Aborted.
	StateFolder string
	// ObjectsMax limits the number of objects in the cluster; 0 means 5,000,000.
	ObjectsMax uint64
	// DumpBytesMax limits the size of a decompressed dump; 0 means 4 GiB.
	DumpBytesMax uint64
	// AsGiven takes the cluster's objects literally and assumes that they are complete. Pods that
	// have ended or are expendable count too, a namespace without an object has no labels, and a
	// node without pods is accepted as empty. It is for a host that leaves out such pods itself, as
	// the autoscaler does.
	AsGiven bool
	// AllowIncomplete allows answers although pods or kinds of objects are missing;
	// PlanReply.Complete is then false. Otherwise calls fail if pods are certainly missing; rounds,
	// and plans in the form of names, also fail if kinds of objects are missing.
	AllowIncomplete bool
}

// A Cluster receives objects and answers which nodes can go. See the package comment.
//
// It accepts calls from any goroutine. They run one after the other; a call that waits for another
// one gives up when its context ends. Calls on a nil Cluster return [ErrClosed].
type Cluster struct {
	name    string
	turn    chan struct{}  // Holds one element while a call runs.
	handle  *C.ebb_cluster // Nil: closed. Guarded by turn.
	cleanup runtime.Cleanup
}

// New returns a cluster without objects.
func New(options Options) (*Cluster, error) { return newCluster(C.EBB_ABI_VERSION, options) }

func newCluster(abiVersion uint32, options Options) (*Cluster, error) {
	given := C.ebb_options{
		objects_max:    C.uint64_t(options.ObjectsMax),
		dump_bytes_max: C.uint64_t(options.DumpBytesMax),
	}
	if options.AsGiven {
		given.as_given = 1
	}
	for _, text := range []struct {
		field, value string
		to           **C.char
	}{{"Name", options.Name, &given.name}, {"StateFolder", options.StateFolder, &given.state_folder}} {
		if text.value == "" {
			continue
		}
		if strings.IndexByte(text.value, 0) >= 0 {
			return nil, &Error{Code: InvalidArgument, Message: "Options." + text.field + ": has a zero byte"}
		}
		*text.to = C.CString(text.value)
		defer C.free(unsafe.Pointer(*text.to))
	}
	var handle *C.ebb_cluster
	var failure *C.ebb_error
	code := C.ebb_cluster_new(C.uint32_t(abiVersion), &given, &handle, &failure)
	if err := errorOf(code, failure); err != nil {
		return nil, err
	}
	if options.AllowIncomplete {
		var failure *C.ebb_error
		if err := errorOf(C.ebb_cluster_allow_incomplete(handle, 1, &failure), failure); err != nil {
			C.ebb_cluster_free(handle)
			return nil, err
		}
	}
	made := &Cluster{name: cmp.Or(options.Name, "cluster"), turn: make(chan struct{}, 1), handle: handle}
	made.cleanup = runtime.AddCleanup(made, freeCluster, handle)
	return made, nil
}

func freeCluster(handle *C.ebb_cluster) { C.ebb_cluster_free(handle) }

// Close waits for the calls before it and frees the cluster. Later calls return [ErrClosed]; so
// does a second Close. A cluster that is never closed is freed some time after its last reference
// is gone. That may take long, because Go's collector does not see the memory that the cluster
// holds.
func (c *Cluster) Close() error {
	return c.do(context.Background(), func(handle *C.ebb_cluster) error {
		c.handle = nil
		c.cleanup.Stop()
		C.ebb_cluster_free(handle)
		return nil
	})
}

// do runs call while no other call on the cluster runs.
func (c *Cluster) do(ctx context.Context, call func(*C.ebb_cluster) error) error {
	if c == nil || c.turn == nil {
		return closed("cluster")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	// If both cases are ready, select picks either of them.
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.handle == nil {
		return closed("cluster " + c.name)
	}
	return call(c.handle)
}

// Load replaces the cluster with a dump, in any form that "ebb plan" reads: JSON, YAML, gzip or
// ebb's own. The context cannot interrupt it. After an error the cluster is unchanged, except that
// a cluster that ran out of memory must be closed.
func (c *Cluster) Load(ctx context.Context, dump []byte) error {
	return c.do(ctx, func(handle *C.ebb_cluster) error {
		var failure *C.ebb_error
		code := C.ebb_cluster_load(handle, bytesOf(dump), C.size_t(len(dump)), &failure)
		return errorOf(code, failure)
	})
}

// Apply applies all changes of a batch, or none, and returns the cluster's version: the number of
// batches and dumps applied so far. The batch is unchanged; Clear makes it ready for other changes.
// The context cannot interrupt Apply.
func (c *Cluster) Apply(ctx context.Context, batch *Batch) (version uint64, err error) {
	err = c.do(ctx, func(cluster *C.ebb_cluster) error {
		return batch.do(func(changes *C.ebb_batch) error {
			var failure *C.ebb_error
			var v C.uint64_t
			code := C.ebb_cluster_apply(cluster, changes, &v, &failure)
			version = uint64(v)
			return errorOf(code, failure)
		})
	})
	return version, err
}

// SetSettings sets how plans are made from now on, unless a request has settings of its own. nil
// means the defaults.
func (c *Cluster) SetSettings(ctx context.Context, settings *plannerpb.Settings) error {
	bytes, err := proto.Marshal(settings)
	if err != nil {
		return &Error{Code: InvalidArgument, Message: "settings: " + err.Error()}
	}
	return c.do(ctx, func(handle *C.ebb_cluster) error {
		var failure *C.ebb_error
		code := C.ebb_cluster_set_settings(handle, C.EBB_PROTOBUF, bytesOf(bytes), C.size_t(len(bytes)), &failure)
		return errorOf(code, failure)
	})
}

func bytesOf(bytes []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(bytes)) }
