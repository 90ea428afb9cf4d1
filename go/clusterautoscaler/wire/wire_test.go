package wire_test

import (
	"bytes"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"ebb/go/clusterautoscaler/wire"
)

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"a": "b"}},
		Spec: v1.PodSpec{NodeName: "node", Containers: []v1.Container{{Name: "main", Image: "image"}}}}
}

// serialized returns an object as the API's own serializer writes it.
func serialized(t *testing.T, object *v1.Namespace) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	written := object.DeepCopy()
	written.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Namespace"))
	var buffer bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(written, &buffer); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func TestWritesTheSameBytesAsTheAPI(t *testing.T) {
	object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}}}
	got, err := wire.Marshal(wire.Namespace, object)
	if err != nil {
		t.Fatal(err)
	}
	want := serialized(t, object)
	// The serializer also writes two empty fields at the end, content encoding and type.
	if !bytes.HasPrefix(want, got) || len(want) > len(got)+4 {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The API's own serializer must read the brief form, in its envelope.
func TestPodsAreWrittenInBrief(t *testing.T) {
	data, err := wire.Marshal(wire.Pod, pod("p"))
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, kind, err := protobuf.NewSerializer(scheme, scheme).Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := object.(*v1.Pod)
	if kind.String() != "/v1, Kind=Pod" || read.Name != "p" || read.Labels["a"] != "b" || read.Spec.NodeName != "node" {
		t.Errorf("%v %+v", kind, read)
	}
	if image := read.Spec.Containers[0].Image; image != "" {
		t.Errorf("its image is written: %s", image)
	}
}

func TestBufferOfAnySize(t *testing.T) {
	long := pod(strings.Repeat("p", 1000))
	for size := range 2500 {
		buffer := wire.NewBuffer(size)
		var got [][]byte
		for _, pod := range []*v1.Pod{pod("p"), long, pod("q"), pod("r")} {
			ok, err := buffer.Put(wire.Pod, pod)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				for i := range buffer.Len() {
					got = append(got, bytes.Clone(buffer.Object(i)))
				}
				buffer.Clear()
				if ok, err = buffer.Put(wire.Pod, pod); !ok || err != nil {
					t.Fatalf("size %d: an empty buffer has no room: %v", size, err)
				}
			}
		}
		for i := range buffer.Len() {
			got = append(got, buffer.Object(i))
		}
		for i, pod := range []*v1.Pod{pod("p"), long, pod("q"), pod("r")} {
			want, err := wire.Marshal(wire.Pod, pod)
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(got) || !bytes.Equal(got[i], want) {
				t.Fatalf("size %d: object %d is %q, want %q", size, i, got[i], want)
			}
		}
	}
}
