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
	"context"
	"runtime"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"ebb/go/ebb/lib"
	"ebb/go/ebb/plannerpb"
)

// Archive is the SHA-256 of the libebb.a that the program is linked with.
const Archive = lib.Archive

// Version of the library: "0.1.0".
func Version() string { return C.GoString(C.ebb_version()) }

// Options of a Cluster. The zero value has defaults for all of them.
type Options struct {
	// Name of the cluster in messages and state files; "": "cluster". 1 to 63 lower-case letters,
	// digits, "-" and ".".
	Name string
	// StateFolder is where rounds keep their state; "": there are no rounds. Of one cluster of a
	// name at a time: where two write there, the later one's round or report is refused as aborted.
	StateFolder string
	// ObjectsMax is how many objects the cluster may hold; 0: 5,000,000.
	ObjectsMax uint64
	// DumpBytesMax bounds a dump, unpacked; 0: 4 GiB.
	DumpBytesMax uint64
	// AsGiven: what the cluster is told of is all that counts, as it is. Pods that have ended or
	// are expendable count too, a namespace of which nothing is told has no labels, and nodes
	// without any pod are believed. For a host that leaves out by itself what does not count, as
	// the autoscaler does.
	AsGiven bool
	// AllowIncomplete: there are answers although pods or kinds of objects are missing; replies say
	// so (PlanReply.Complete). Otherwise there is none where pods must be missing, and no round where
	// kinds are.
	AllowIncomplete bool
}

// A Cluster is told of objects and answers what can go. See the package's comment.
//
// It takes calls from any goroutine; they run one after the other, and a call that waits for
// another one gives up when its context ends. A nil Cluster answers with [ErrClosed].
type Cluster struct {
	turn    chan struct{}  // Holds one element while a call runs.
	handle  *C.ebb_cluster // Nil: closed. For whoever has the turn.
	cleanup runtime.Cleanup
}

// New makes a cluster without objects.
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
	var told *C.ebb_error
	code := C.ebb_cluster_new(C.uint32_t(abiVersion), &given, &handle, &told)
	if err := errorOf(code, told); err != nil {
		return nil, err
	}
	if options.AllowIncomplete {
		var told *C.ebb_error
		if err := errorOf(C.ebb_cluster_allow_incomplete(handle, 1, &told), told); err != nil {
			C.ebb_cluster_free(handle)
			return nil, err
		}
	}
	made := &Cluster{turn: make(chan struct{}, 1), handle: handle}
	made.cleanup = runtime.AddCleanup(made, freeCluster, handle)
	return made, nil
}

func freeCluster(handle *C.ebb_cluster) { C.ebb_cluster_free(handle) }

// Close gives back what the cluster holds, after the calls that came before it. Later calls return
// [ErrClosed]; so does a second Close. A cluster that is never closed is freed some time after
// the last reference to it is gone, which may be long: Go's collector does not see what it holds.
func (c *Cluster) Close() error {
	return c.do(context.Background(), func(handle *C.ebb_cluster) error {
		c.handle = nil
		c.cleanup.Stop()
		C.ebb_cluster_free(handle)
		return nil
	})
}

// do runs call while no other call runs.
func (c *Cluster) do(ctx context.Context, call func(*C.ebb_cluster) error) error {
	if c == nil || c.turn == nil {
		return ErrClosed
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
	// Of two cases that are ready, select takes either.
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.handle == nil {
		return ErrClosed
	}
	return call(c.handle)
}

// Load replaces the cluster by a dump as "ebb plan" reads them: JSON, YAML, gzip or ebb's own.
// The context cannot interrupt it. After an error the cluster is as it was, unless memory ran out:
// then it must be closed.
func (c *Cluster) Load(ctx context.Context, dump []byte) error {
	return c.do(ctx, func(handle *C.ebb_cluster) error {
		var told *C.ebb_error
		code := C.ebb_cluster_load(handle, bytesOf(dump), C.size_t(len(dump)), &told)
		return errorOf(code, told)
	})
}

// Apply takes the changes of a batch, all or none, and returns the cluster's version: how many
// batches and dumps it took. The batch stays as it is; Clear makes it ready for other changes.
// The context cannot interrupt it.
func (c *Cluster) Apply(ctx context.Context, batch *Batch) (version uint64, err error) {
	err = c.do(ctx, func(cluster *C.ebb_cluster) error {
		return batch.do(func(changes *C.ebb_batch) error {
			var told *C.ebb_error
			var v C.uint64_t
			code := C.ebb_cluster_apply(cluster, changes, &v, &told)
			version = uint64(v)
			return errorOf(code, told)
		})
	})
	return version, err
}

// SetSettings tells how plans are made from now on, where a request has no settings of its own. nil:
// as they are made by default.
func (c *Cluster) SetSettings(ctx context.Context, settings *plannerpb.Settings) error {
	bytes, err := proto.Marshal(settings)
	if err != nil {
		return &Error{Code: InvalidArgument, Message: "settings: " + err.Error()}
	}
	return c.do(ctx, func(handle *C.ebb_cluster) error {
		var told *C.ebb_error
		code := C.ebb_cluster_set_settings(handle, C.EBB_PROTOBUF, bytesOf(bytes), C.size_t(len(bytes)), &told)
		return errorOf(code, told)
	})
}

func bytesOf(bytes []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(bytes)) }
