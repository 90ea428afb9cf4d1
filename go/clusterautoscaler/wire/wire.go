// Package wire is how objects travel to the engine: as Kubernetes' protobuf, in its envelope.
package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Object is what every type of k8s.io/api is.
type Object interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
	GetNamespace() string
	GetName() string
}

// Kind of an object, with the envelope's part that names it.
type Kind struct {
	APIVersion string
	Name       string
	head       string
}

// NewKind makes a kind: NewKind("apps/v1", "ReplicaSet").
func NewKind(apiVersion, name string) *Kind {
	typeMeta := appendText(nil, 1, apiVersion)
	typeMeta = appendText(typeMeta, 2, name)
	return &Kind{APIVersion: apiVersion, Name: name,
		head: "k8s\x00" + string(appendText(nil, 1, string(typeMeta)))}
}

// The kinds that decide something.
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
)

// PodName names a pod as the engine knows it.
type PodName struct {
	Namespace string
	Name      string
}

// Change is an object that is there now, new or changed, or one that is gone.
type Change struct {
	Kind *Kind
	// Nil: the object of that name is gone.
	Object    Object
	Namespace string
	Name      string
	// Of what is gone; "": whatever UID it has.
	UID string
}

// Append adds the object's bytes to a buffer, and returns the buffer.
func Append(buffer []byte, kind *Kind, object Object) ([]byte, error) {
	size := object.Size()
	buffer = append(buffer, kind.head...)
	buffer = append(buffer, 2<<3|2)
	buffer = binary.AppendUvarint(buffer, uint64(size))
	start := len(buffer)
	buffer = slices.Grow(buffer, size)[:start+size]
	written, err := object.MarshalToSizedBuffer(buffer[start:])
	if err != nil {
		return buffer[:start], err
	}
	if written != size {
		return buffer[:start], fmt.Errorf("%s %s/%s: has %d bytes and not %d: it was changed meanwhile",
			kind.Name, object.GetNamespace(), object.GetName(), written, size)
	}
	return buffer, nil
}

func appendText(buffer []byte, field int, text string) []byte {
	buffer = append(buffer, byte(field<<3|2))
	buffer = binary.AppendUvarint(buffer, uint64(len(text)))
	return append(buffer, text...)
}
