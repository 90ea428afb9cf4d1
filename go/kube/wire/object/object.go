// Package object writes objects in Kubernetes' protobuf, with the envelope that names their kind.
package object

import (
	"encoding/binary"
)

// Message is implemented by every type of k8s.io/api.
type Message interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
}

// Marshal returns an object's bytes: the magic number, the type, and the object.
func Marshal(apiVersion, kind string, object Message) ([]byte, error) {
	typeMeta := appendText(appendText(nil, 1, apiVersion), 2, kind)
	head := append([]byte("k8s\x00"), 1<<3|2)
	head = binary.AppendUvarint(head, uint64(len(typeMeta)))
	head = append(head, typeMeta...)
	size := object.Size()
	head = append(head, 2<<3|2)
	head = binary.AppendUvarint(head, uint64(size))
	data := make([]byte, len(head)+size)
	copy(data, head)
	written, err := object.MarshalToSizedBuffer(data[len(head):])
	if err != nil {
		return nil, err
	}
	// MarshalToSizedBuffer fills the buffer from its end.
	return append(data[:len(head)], data[len(data)-written:]...), nil
}

func appendText(buffer []byte, field int, text string) []byte {
	buffer = append(buffer, byte(field<<3|2))
	buffer = binary.AppendUvarint(buffer, uint64(len(text)))
	return append(buffer, text...)
}
