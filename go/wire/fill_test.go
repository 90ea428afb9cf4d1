package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// The kinds that ebb reads: kKinds in snapshot/formats/object_fields.h.
var kindsRead = []schema.GroupKind{
	{Group: "", Kind: "Pod"},
	{Group: "", Kind: "Node"},
	{Group: "apps", Kind: "ReplicaSet"},
	{Group: "extensions", Kind: "ReplicaSet"},
	{Group: "apps", Kind: "StatefulSet"},
	{Group: "apps", Kind: "DaemonSet"},
	{Group: "extensions", Kind: "DaemonSet"},
	{Group: "batch", Kind: "Job"},
	{Group: "", Kind: "ReplicationController"},
	{Group: "policy", Kind: "PodDisruptionBudget"},
	{Group: "", Kind: "Namespace"},
	{Group: "", Kind: "PersistentVolume"},
	{Group: "", Kind: "PersistentVolumeClaim"},
	{Group: "storage.k8s.io", Kind: "StorageClass"},
	{Group: "storage.k8s.io", Kind: "CSIDriver"},
	{Group: "storage.k8s.io", Kind: "CSINode"},
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"},
	{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"},
	{Group: "resource.k8s.io", Kind: "DeviceClass"},
	{Group: "resource.k8s.io", Kind: "ResourceClaim"},
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"},
	{Group: "resource.k8s.io", Kind: "ResourceSlice"},
	{Group: "resource.k8s.io", Kind: "DeviceTaintRule"},
	{Group: "", Kind: "PodTemplate"},
	{Group: "", Kind: "Service"},
}

// versionsRead returns these kinds in every version of the API, in a fixed order.
func versionsRead() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for known := range scheme.Scheme.AllKnownTypes() {
		if slices.Contains(kindsRead, known.GroupKind()) && known.Version != runtime.APIVersionInternal {
			all = append(all, known)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	return all
}

// filler fills API types with random values that the API server would accept, as far as ebb's
// readers check them.
type filler struct {
	rand *rand.Rand
	// Allows negative whole numbers, and times that RFC 3339 cannot express.
	careless bool
}

var texts = []string{
	"a", "b", "web", "zone-1", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "In", "NotIn", "Exists",
	"Equal", "NoSchedule", "DoNotSchedule", "ScheduleAnyway", "Always", "OnFailure", "Running", "Memory", "RestartAllContainers",
	"PodResizePending", "Infeasible", "True", "ReadWriteOncePod", "Managed", "RBD", "Honor", "Ignore",
	"kubectl.kubernetes.io/last-applied-configuration",
	"", " ", "\"", "\\", "\n", "\x00", "\x7f", "ä", "日本", "\u2028", "<&>", "🙂", strings.Repeat("long ", 40), strings.Repeat("ü", 70),
}

var resources = []string{"cpu", "memory", "ephemeral-storage", "pods", "example.com/gpu", "hugepages-2Mi", "storage"}

var quantities = []string{
	"0", "1", "100m", "1500m", "1n", "1u", "1.5", "1Gi", "64Mi", "1.5Gi", "1k", "2E", "1e3", "9223372036854775807", "10Ei",
	"0.000000001", "123456789.123456789",
}

func (f *filler) text() string { return texts[f.rand.IntN(len(texts))] }

func (f *filler) chance(percent int) bool { return f.rand.IntN(100) < percent }

func (f *filler) seconds() int64 {
	switch f.rand.IntN(8) {
	case 0:
		return 0
	case 1:
		return -62135596800 + f.rand.Int64N(315537897600) // In the years 1 to 9999.
	default:
		return 1_700_000_000 + f.rand.Int64N(1e8)
	}
}

// special fills types that marshal themselves; it returns false for all others.
func (f *filler) special(v reflect.Value) bool {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse(quantities[f.rand.IntN(len(quantities))])
		if f.careless && f.chance(5) {
			p.Neg()
		}
	case *metav1.Time:
		if f.chance(80) {
			*p = metav1.Unix(f.seconds(), f.rand.Int64N(1e9))
		}
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(1_700_000_000, 0))
	case *metav1.FieldsV1:
		p.Raw = []byte(`{"f:metadata":{}}`)
	case *runtime.RawExtension:
		p.Raw = []byte(`{"a":1}`)
	case *intstr.IntOrString:
		*p = intstr.FromInt32(f.rand.Int32N(100))
		if f.chance(50) {
			*p = intstr.FromString("30%")
		}
	case *v1.VolumeSource:
		f.one(v)
	case *v1.PersistentVolumeSource:
		f.one(v)
	case *metav1.TypeMeta:
		// The serializers fill this.
	default:
		return false
	}
	return true
}

// one sets one pointer in a struct of alternatives, or none.
func (f *filler) one(v reflect.Value) {
	if f.chance(5) {
		return
	}
	field := v.Field(f.rand.IntN(v.NumField()))
	field.Set(reflect.New(field.Type().Elem()))
	f.fill(field.Elem())
}

func (f *filler) fill(v reflect.Value) {
	if v.CanAddr() && f.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f.chance(75) {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		if f.chance(60) {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		size := f.rand.IntN(4)
		if size > 0 || f.chance(30) {
			v.Set(reflect.MakeSlice(v.Type(), size, size))
		}
		for i := range size {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.rand.IntN(4) {
			key := reflect.New(v.Type().Key()).Elem()
			key.SetString(f.text())
			if v.Type().Elem() == reflect.TypeFor[resource.Quantity]() {
				key.SetString(resources[f.rand.IntN(len(resources))])
			}
			value := reflect.New(v.Type().Elem()).Elem()
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.chance(50))
	case reflect.Int32, reflect.Int64:
		v.SetInt(f.number(v.Kind() == reflect.Int64))
	case reflect.Uint8:
		v.SetUint(uint64(f.rand.IntN(256)))
	default:
		panic(fmt.Sprint("a type that the API has not had: ", v.Type()))
	}
}

func (f *filler) number(wide bool) int64 {
	number := f.rand.Int64N(1000)
	switch {
	case f.chance(30):
		number = 0
	case f.careless && f.chance(20):
		number = f.rand.Int64() - f.rand.Int64()
	}
	if !wide {
		number = int64(int32(number))
	}
	return number
}

// object returns a random object of a kind, with a name.
func (f *filler) object(gvk schema.GroupVersionKind) runtime.Object {
	object, err := scheme.Scheme.New(gvk)
	if err != nil {
		panic(err)
	}
	f.fill(reflect.ValueOf(object).Elem())
	meta := object.(metav1.Object)
	if !f.careless || f.chance(95) {
		meta.SetName(fmt.Sprint("name-", f.rand.IntN(1000)))
		meta.SetNamespace([]string{"", "default", "shop"}[f.rand.IntN(3)])
		if pod, is := object.(*v1.Pod); is {
			pod.Spec.NodeName = []string{"", "node-1"}[f.rand.IntN(2)]
		}
	}
	return object
}
