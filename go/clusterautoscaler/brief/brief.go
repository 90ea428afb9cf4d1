// Package brief writes pods and nodes as Kubernetes' protobuf with no more than what ebb plans by:
// without managed fields, images, environments, probes, addresses and the like.  ebb reads the same
// object out of that as out of all of it, but for images, which only simulations count; several
// times as fast to write.
//
// Source: snapshot/formats/wire/kubernetes.proto has the numbers, snapshot/formats/object_fields.h what is
// read.  Parts that are rare and may gain fields that restrict a pod, as an affinity, are written by
// their own Marshal.  A PodSpec is written here field by field, so fields of it that nobody knew when
// this was written are looked for: a pod that has one is not written (false), and whoever wants it
// writes all of it, so that ebb sees what it does not know.
//
// Bytes:   written from the end of a buffer to its start, as the types of k8s.io/api do.  A buffer that
// is too small is an index out of range, as with those.  Maps are written in the order of their keys.
// Threads: a pod or node is only read; one goroutine uses a Writer at a time.
package brief

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Marshaler is what the types of k8s.io/api are.
type Marshaler interface {
	MarshalToSizedBuffer(data []byte) (int, error)
}

// Writer writes objects; the zero value is ready.  It remembers how amounts are spelled.
type Writer struct {
	data []byte
	at   int
	err  error

	keys    []string
	amounts [amountsKept]amount
	next    int
}

// Write writes the object to the end of data and returns how many bytes it took.  False: it is neither a
// pod nor a node, or a pod with a field that is not known here, and nothing has been written.
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
	return len(data) - w.at, true, w.err
}

// ---------------------------------------------------------------------------
// What is not known

// Fields of a PodSpec that are written, and those that decide nothing: kHarmlessPodSpec in
// object_fields.h.
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

// The places of the fields that are in none of the lists: a fork may have newer types than ours.
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
// Bytes, backwards

func (w *Writer) varint(value uint64) {
	if value < 0x80 {
		w.at--
		w.data[w.at] = byte(value)
		return
	}
	size := 1
	for rest := value; rest >= 0x80; rest >>= 7 {
		size++
	}
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

// A number, whatever it is.
func (w *Writer) number(field int, value uint64) {
	w.varint(value)
	w.varint(uint64(field << 3))
}

// A message, or bytes, that end before `end`.
func (w *Writer) close(field, end int) {
	w.varint(uint64(end - w.at))
	w.varint(uint64(field<<3 | 2))
}

func (w *Writer) bytes(field int, value string) {
	end := w.at
	w.at -= len(value)
	copy(w.data[w.at:end], value)
	w.close(field, end)
}

// A text that is not "": that is as if it were absent.
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

// A part that is written by its own Marshal.
func (w *Writer) whole(field int, part Marshaler) {
	end := w.at
	size, err := part.MarshalToSizedBuffer(w.data[:w.at])
	if err != nil && w.err == nil {
		w.err = err
	}
	w.at -= size
	w.close(field, end)
}

// Calls write for each element, from the last to the first.
func backwards[T any](list []T, write func(*T)) {
	for i := len(list) - 1; i >= 0; i-- {
		write(&list[i])
	}
}

// ---------------------------------------------------------------------------
// Parts that several kinds have

// Its keys in their order.  Valid until the next call.
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

// Without the entry of the name `left`, if that is one.
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

// How an amount is spelled.
type amount struct {
	of   resource.Quantity
	text []byte
}

// A pod's amounts are mostly those of another one.
const amountsKept = 4

// The quantity is the caller's own: String writes into it.
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
		// Of most pods; looked up sooner than gone through and sorted.
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
	end := w.at
	text := w.spelled(quantity)
	w.at -= len(text)
	copy(w.data[w.at:], text)
	w.close(1, end)
	w.close(2, end)
	w.bytes(1, name)
	w.close(field, end)
}
