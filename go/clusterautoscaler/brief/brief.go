// Package brief writes pods and nodes as Kubernetes' protobuf with only the fields that ebb plans
// by: without managed fields, images, environments, probes, addresses and so on. ebb reads the same
// object from the brief form as from the full form, except for images, which only simulations
// count. The brief form is several times as fast to write.
//
// Source: snapshot/formats/wire/kubernetes.proto has the field numbers, and
// snapshot/formats/object_fields.h defines what is read.
// A part that is rare and may gain fields that restrict a pod, such as an affinity, is written by
// its own Marshal. A PodSpec is written here field by field, so a pod that has a field unknown to
// this code is not written (false). The caller then writes the whole pod, so that ebb sees the
// field that it does not understand.
//
// Bytes: written from the end of a buffer to its start, as the types of k8s.io/api do. If the
// buffer is too small, the result is ErrNoRoom. Maps are written in the order of their keys.
// Threads: a pod or node is only read; one goroutine uses a Writer at a time.
package brief

import (
	"errors"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Marshaler is implemented by the types of k8s.io/api.
type Marshaler interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
}

// Writer writes objects; the zero value is ready. It caches the texts of amounts.
type Writer struct {
	data []byte
	at   int
	err  error
	// Takes the rest of an object for which data has no room.
	scratch []byte

	keys    []string
	amounts [amountsKept]amount
	next    int
}

// ErrNoRoom is the error of Write if the buffer is too small.
var ErrNoRoom = errors.New("the buffer has no room for the object")

// Write writes the object to the end of data and returns the number of bytes. It returns false, and
// has written nothing, if the object is neither a pod nor a node, or is a pod with a field unknown
// to this package.
func (w *Writer) Write(data []byte, object any) (size int, ok bool, err error) {
	w.data, w.at, w.err = data, len(data), nil
	switch object := object.(type) {
	case *v1.Pod:
		if hasUnknown(&object.Spec, unknownOfPodSpec) {
			return 0, false, nil
		}
		w.pod(object)
	case *v1.Node:
		w.node(object)
	default:
		return 0, false, nil
	}
	if w.err != nil {
		return 0, true, w.err
	}
	return len(data) - w.at, true, nil
}

// ---------------------------------------------------------------------------
// Unknown fields

// The fields of a PodSpec that are written, and the fields that decide nothing (kHarmlessPodSpec in
// object_fields.h).
var (
	writtenOfPodSpec = []string{
		"Volumes", "Containers", "RestartPolicy", "TerminationGracePeriodSeconds", "NodeSelector", "NodeName",
		"HostNetwork", "Affinity", "InitContainers", "Tolerations", "Priority", "OS", "Overhead",
		"TopologySpreadConstraints", "HostUsers", "ResourceClaims", "Resources", "SchedulerName", "SchedulingGroup", "SchedulingGates",
	}
	harmlessOfPodSpec = []string{
		"ActiveDeadlineSeconds", "AutomountServiceAccountToken", "DNSConfig", "DNSPolicy", "EnableServiceLinks",
		"EphemeralContainers", "HostAliases", "HostIPC", "HostPID", "Hostname", "HostnameOverride", "ImagePullSecrets",
		"PreemptionPolicy", "PriorityClassName", "ReadinessGates", "RuntimeClassName",
		"SecurityContext", "DeprecatedServiceAccount", "ServiceAccountName",
		"SetHostnameAsFQDN", "ShareProcessNamespace", "Subdomain", "WorkloadRef",
	}
	unknownOfPodSpec = unknownFields(reflect.TypeFor[v1.PodSpec](), writtenOfPodSpec, harmlessOfPodSpec)
)

// unknownFields returns the indices of fields that are in none of the lists: a fork may have newer
// types than ours.
func unknownFields(t reflect.Type, known ...[]string) []int {
	var unknown []int
	for i := range t.NumField() {
		if !slices.ContainsFunc(known, func(names []string) bool { return slices.Contains(names, t.Field(i).Name) }) {
			unknown = append(unknown, i)
		}
	}
	return unknown
}

func hasUnknown[T any](object *T, fields []int) bool {
	for _, i := range fields {
		if !reflect.ValueOf(object).Elem().Field(i).IsZero() {
			return true
		}
	}
	return false
}

// ---------------------------------------------------------------------------
// Bytes, written backwards

// need makes room for n more bytes. If data has none, the rest of the object is written to scratch.
func (w *Writer) need(n int) {
	if n <= w.at {
		return
	}
	if w.err == nil {
		w.err = ErrNoRoom
	}
	if len(w.scratch) < n {
		w.scratch = make([]byte, max(n, 4096))
	}
	w.data, w.at = w.scratch, len(w.scratch)
}

func (w *Writer) varint(value uint64) {
	if value < 0x80 {
		w.need(1)
		w.at--
		w.data[w.at] = byte(value)
		return
	}
	size := 1
	for rest := value; rest >= 0x80; rest >>= 7 {
		size++
	}
	w.need(size)
	w.at -= size
	for i := w.at; ; i++ {
		if value < 0x80 {
			w.data[i] = byte(value)
			return
		}
		w.data[i] = byte(value) | 0x80
		value >>= 7
	}
}

// number writes a varint field, even if it is 0.
func (w *Writer) number(field int, value uint64) {
	w.varint(value)
	w.varint(uint64(field << 3))
}

// close writes the head of a message, or of bytes, whose content ends at end.
func (w *Writer) close(field, end int) {
	w.varint(uint64(end - w.at))
	w.varint(uint64(field<<3 | 2))
}

func (w *Writer) bytes(field int, value string) {
	w.need(len(value))
	end := w.at
	w.at -= len(value)
	copy(w.data[w.at:end], value)
	w.close(field, end)
}

// text writes a text field; "" means the same as an absent field.
func (w *Writer) text(field int, value string) {
	if value != "" {
		w.bytes(field, value)
	}
}

func (w *Writer) flag(field int, value bool) {
	if value {
		w.number(field, 1)
	}
}

func (w *Writer) optionalText(field int, value *string) {
	if value != nil {
		w.bytes(field, *value)
	}
}

func (w *Writer) optionalFlag(field int, value *bool) {
	switch {
	case value == nil:
	case *value:
		w.number(field, 1)
	default:
		w.number(field, 0)
	}
}

// whole writes a part by its own Marshal.
func (w *Writer) whole(field int, part Marshaler) {
	w.need(part.Size())
	end := w.at
	size, err := part.MarshalToSizedBuffer(w.data[:w.at])
	if err != nil && w.err == nil {
		w.err = err
	}
	w.at -= size
	w.close(field, end)
}

// backwards calls write for each element, from the last to the first.
func backwards[T any](list []T, write func(*T)) {
	for i := len(list) - 1; i >= 0; i-- {
		write(&list[i])
	}
}

// ---------------------------------------------------------------------------
// Parts that several kinds share

// sorted returns the map's keys in order. The result is valid until the next call.
func sorted[K ~string, V any](w *Writer, m map[K]V) []string {
	w.keys = w.keys[:0]
	for key := range m {
		w.keys = append(w.keys, string(key))
	}
	if len(w.keys) > 1 {
		slices.Sort(w.keys)
	}
	return w.keys
}

// texts writes a map without the entry with the key left, if left is not "".
func (w *Writer) texts(field int, m map[string]string, left string) {
	if len(m) == 0 {
		return
	}
	keys := sorted(w, m)
	for i := len(keys) - 1; i >= 0; i-- {
		if left != "" && keys[i] == left {
			continue
		}
		end := w.at
		w.bytes(2, m[keys[i]])
		w.bytes(1, keys[i])
		w.close(field, end)
	}
}

// amount is a quantity with its text.
type amount struct {
	of   resource.Quantity
	text []byte
}

// A pod mostly has the same amounts as the pod before it.
const amountsKept = 4

// spelled returns the text of a quantity. String writes into the quantity, so it must be the
// caller's own copy.
func (w *Writer) spelled(quantity *resource.Quantity) []byte {
	for i := range w.amounts {
		if w.amounts[i].of == *quantity && w.amounts[i].text != nil {
			return w.amounts[i].text
		}
	}
	kept := &w.amounts[w.next]
	w.next = (w.next + 1) % amountsKept
	kept.of = *quantity
	kept.text = append(kept.text[:0], quantity.String()...)
	return kept.text
}

func (w *Writer) resources(field int, list v1.ResourceList) {
	switch len(list) {
	case 0:
		return
	case 2:
		// Most pods have these two; two lookups are faster than iterating and sorting.
		cpu, hasCPU := list[v1.ResourceCPU]
		memory, hasMemory := list[v1.ResourceMemory]
		if hasCPU && hasMemory {
			w.resource(field, string(v1.ResourceMemory), &memory)
			w.resource(field, string(v1.ResourceCPU), &cpu)
			return
		}
	}
	keys := sorted(w, list)
	for i := len(keys) - 1; i >= 0; i-- {
		quantity := list[v1.ResourceName(keys[i])]
		w.resource(field, keys[i], &quantity)
	}
}

func (w *Writer) resource(field int, name string, quantity *resource.Quantity) {
	text := w.spelled(quantity)
	w.need(len(text))
	end := w.at
	w.at -= len(text)
	copy(w.data[w.at:], text)
	w.close(1, end)
	w.close(2, end)
	w.bytes(1, name)
	w.close(field, end)
}
