// Package wire encodes objects for the engine: as Kubernetes' protobuf, in its envelope, and pods
// and nodes in brief.
package wire

import (
	"encoding/binary"
	"fmt"

	"ebb/go/clusterautoscaler/brief"
	"ebb/go/ebb/ranges"
)

// Object is implemented by every type of k8s.io/api.
type Object interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
	GetNamespace() string
	GetName() string
}

// Kind is the kind of an object, with the part of the envelope that names it.
type Kind struct {
	APIVersion string
	Name       string
	head       string
}

// NewKind returns a kind: NewKind("apps/v1", "ReplicaSet").
func NewKind(apiVersion, name string) *Kind {
	typeMeta := appendText(nil, 1, apiVersion)
	typeMeta = appendText(typeMeta, 2, name)
	return &Kind{APIVersion: apiVersion, Name: name,
		head: "k8s\x00" + string(appendText(nil, 1, string(typeMeta)))}
}

// The kinds that decisions depend on.
var (
	Node                  = NewKind("v1", "Node")
	Pod                   = NewKind("v1", "Pod")
	Namespace             = NewKind("v1", "Namespace")
	PersistentVolume      = NewKind("v1", "PersistentVolume")
	PersistentVolumeClaim = NewKind("v1", "PersistentVolumeClaim")
	ReplicationController = NewKind("v1", "ReplicationController")
	DaemonSet             = NewKind("apps/v1", "DaemonSet")
	ReplicaSet            = NewKind("apps/v1", "ReplicaSet")
	StatefulSet           = NewKind("apps/v1", "StatefulSet")
	Job                   = NewKind("batch/v1", "Job")
	PodDisruptionBudget   = NewKind("policy/v1", "PodDisruptionBudget")
	StorageClass          = NewKind("storage.k8s.io/v1", "StorageClass")
	CSINode               = NewKind("storage.k8s.io/v1", "CSINode")
	CSIDriver             = NewKind("storage.k8s.io/v1", "CSIDriver")
	CSIStorageCapacity    = NewKind("storage.k8s.io/v1", "CSIStorageCapacity")
	VolumeAttachment      = NewKind("storage.k8s.io/v1", "VolumeAttachment")
	DeviceClass           = NewKind("resource.k8s.io/v1", "DeviceClass")
	ResourceClaim         = NewKind("resource.k8s.io/v1", "ResourceClaim")
	ResourceSlice         = NewKind("resource.k8s.io/v1", "ResourceSlice")
)

// PodName is a pod's name in the engine.
type PodName struct {
	Namespace string
	Name      string
}

// Change is an object that is new or changed, or the deletion of an object.
type Change struct {
	Kind *Kind
	// Nil: the object of that name was deleted.
	Object    Object
	Namespace string
	Name      string
	// UID of the deleted object; "" means any UID.
	UID string
}

// Buffer holds encoded objects, from its end to its start: as the types of k8s.io/api, objects are
// written backwards, which saves measuring their parts first.
type Buffer struct {
	data  []byte
	start int
	// The last object comes first in the data.
	ranges []ranges.Range
	brief  brief.Writer
}

// NewBuffer returns a buffer of size bytes.
func NewBuffer(size int) *Buffer {
	return &Buffer{data: make([]byte, size), start: size}
}

// Clear empties the buffer.
func (b *Buffer) Clear() {
	b.start = len(b.data)
	b.ranges = b.ranges[:0]
}

// Len returns the number of objects.
func (b *Buffer) Len() int { return len(b.ranges) }

// Data returns the whole buffer, valid until Clear; Ranges has the positions of the objects.
func (b *Buffer) Data() []byte { return b.data }

// Ranges returns the positions of the objects, in the order in which they were put.
func (b *Buffer) Ranges() []ranges.Range { return b.ranges }

// Object returns the bytes of the i-th object.
func (b *Buffer) Object(i int) []byte { return b.data[b.ranges[i].Begin:b.ranges[i].End] }

// Put adds an object. It returns false if there is no room; an empty buffer grows instead.
func (b *Buffer) Put(kind *Kind, object Object) (bool, error) {
	ok, err := b.tryPut(kind, object)
	if ok || err != nil || b.Len() > 0 {
		return ok, err
	}
	b.data = make([]byte, len(kind.head)+1+binary.MaxVarintLen64+object.Size())
	b.Clear()
	if ok, err = b.tryPut(kind, object); !ok && err == nil {
		err = fmt.Errorf("%s %s/%s: was changed meanwhile", kind.Name, object.GetNamespace(), object.GetName())
	}
	return ok, err
}

func (b *Buffer) tryPut(kind *Kind, object Object) (ok bool, err error) {
	var length [1 + binary.MaxVarintLen64]byte
	head := len(kind.head) + len(length)
	if b.start < head {
		return false, nil
	}
	// Leave room for the head in front of what is written here.
	room := b.data[head:b.start]
	size, known, err := b.brief.Write(room, object)
	if !known && err == nil {
		if object.Size() > len(room) {
			return false, nil
		}
		size, err = object.MarshalToSizedBuffer(room)
	}
	if err == brief.ErrNoRoom {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	length[0] = 2<<3 | 2
	used := 1 + binary.PutUvarint(length[1:], uint64(size))
	at := b.start - size - used
	copy(b.data[at:], length[:used])
	at -= len(kind.head)
	copy(b.data[at:], kind.head)
	b.ranges = append(b.ranges, ranges.Range{Begin: uint(at), End: uint(b.start)})
	b.start = at
	return true, nil
}

// Marshal returns the object's bytes.
func Marshal(kind *Kind, object Object) ([]byte, error) {
	buffer := NewBuffer(0)
	_, err := buffer.Put(kind, object)
	if err != nil {
		return nil, err
	}
	return buffer.Object(0), nil
}

func appendText(buffer []byte, field int, text string) []byte {
	buffer = append(buffer, byte(field<<3|2))
	buffer = binary.AppendUvarint(buffer, uint64(len(text)))
	return append(buffer, text...)
}
