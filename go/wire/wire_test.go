package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

var (
	objects = flag.Int("objects", 4000, "how many random objects of all kinds together")
	seed    = flag.Uint64("seed", 0, "seed of the random objects; 0: a fresh one")
)

func newRand(t *testing.T) *rand.Rand {
	start := *seed
	if start == 0 {
		start = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", start)
	return rand.New(rand.NewPCG(start, 1))
}

// forms has one object as client-go marshals it.
type forms struct {
	gvk                   schema.GroupVersionKind
	json, enveloped, bare []byte
}

func marshal(t *testing.T, gvk schema.GroupVersionKind, object runtime.Object) forms {
	t.Helper()
	object.GetObjectKind().SetGroupVersionKind(gvk)
	made := forms{gvk: gvk}
	var buffer bytes.Buffer
	toJSON := kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kubejson.SerializerOptions{})
	if err := toJSON.Encode(object, &buffer); err != nil {
		t.Fatal(err)
	}
	made.json = bytes.Clone(buffer.Bytes())
	buffer.Reset()
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &buffer); err != nil {
		t.Fatal(err)
	}
	made.enveloped = buffer.Bytes()
	bare, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	made.bare = bare
	return made
}

func (d *dumper) all(t *testing.T, made forms) (fromJSON, enveloped, bare string) {
	t.Helper()
	version := made.gvk.GroupVersion().String()
	return d.dump(t, 'J', "", "", made.json), d.dump(t, 'P', "", "", made.enveloped),
		d.dump(t, 'P', version, made.gvk.Kind, made.bare)
}

func TestRandomObjectsAreTheSameInBothForms(t *testing.T) {
	ebb := startDumper(t)
	fill := filler{rand: newRand(t)}
	versions := versionsRead()
	if len(versions) < len(kindsRead) {
		t.Fatalf("client-go knows only %v", versions)
	}
	read := 0
	for range *objects {
		gvk := versions[fill.rand.IntN(len(versions))]
		if fill.chance(50) {
			gvk = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
		}
		made := marshal(t, gvk, fill.object(gvk))
		fromJSON, enveloped, bare := ebb.all(t, made)
		if enveloped != fromJSON || bare != fromJSON {
			t.Fatalf("of this object:\n%s\nJSON is read as\n%s\nprotobuf with envelope as\n%s\nwithout as\n%s",
				made.json, fromJSON, enveloped, bare)
		}
		if !strings.HasPrefix(fromJSON, "error: ") {
			read++
		}
	}
	// A ResourceSlice without a driver or a pool is an error.
	if read < *objects*9/10 {
		t.Errorf("only %d of %d objects were read", read, *objects)
	}
}

func TestAnErrorInOneFormIsAnErrorInTheOther(t *testing.T) {
	ebb := startDumper(t)
	fill := filler{rand: newRand(t), careless: true}
	versions := versionsRead()
	wrong := 0
	for range *objects {
		gvk := versions[fill.rand.IntN(len(versions))]
		made := marshal(t, gvk, fill.object(gvk))
		fromJSON, enveloped, bare := ebb.all(t, made)
		if enveloped != bare {
			t.Fatalf("of this object:\n%s\nprotobuf with envelope is read as\n%s\nwithout as\n%s", made.json, enveloped, bare)
		}
		if !strings.HasPrefix(fromJSON, "error: ") {
			if enveloped != fromJSON {
				t.Fatalf("of this object:\n%s\nJSON is read as\n%s\nprotobuf as\n%s", made.json, fromJSON, enveloped)
			}
			continue
		}
		// If several fields are wrong, each form reports the first one in its own order.
		wrong++
		if !strings.HasPrefix(enveloped, "error: ") {
			t.Fatalf("of this object:\n%s\nJSON says\n%s\nprotobuf is read as\n%s", made.json, fromJSON, enveloped)
		}
	}
	if wrong < *objects/20 {
		t.Errorf("only %d of %d objects were wrong", wrong, *objects)
	}
}

func TestErrorsNameTheSameObjectAndFieldInBothForms(t *testing.T) {
	ebb := startDumper(t)
	below := int32(-1)
	negative := v1.ResourceList{"cpu": *quantity("-1")}
	pod := func(change func(*v1.Pod)) *v1.Pod {
		made := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
		change(made)
		return made
	}
	for want, object := range map[string]*v1.Pod{
		"frame: Pod shop/web: spec.containers[1].resources.requests.cpu: \"-1\" is negative": pod(func(p *v1.Pod) {
			p.Spec.Containers = []v1.Container{{}, {Resources: v1.ResourceRequirements{Requests: negative}}}
		}),
		"frame: Pod shop/web: spec.topologySpreadConstraints[0].minDomains: -1 is negative": pod(func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MinDomains: &below}}
		}),
		"frame: Pod shop/web: spec.initContainers[0].ports[0].hostPort: 70000 is out of range": pod(func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Ports: []v1.ContainerPort{{HostPort: 70000}}}}
		}),
		"frame: Pod shop/web: spec.nodeName: \"a b\"": pod(func(p *v1.Pod) { p.Spec.NodeName = "a b" }),
		"frame: Pod shop/web: status.allocatedResources.cpu: \"-1\" is negative": pod(func(p *v1.Pod) {
			p.Status.AllocatedResources = negative
		}),
		"frame: Pod: metadata.name: is missing": pod(func(p *v1.Pod) { p.Name, p.Namespace = "", "" }),
	} {
		fromJSON, enveloped, bare := ebb.all(t, marshal(t, v1.SchemeGroupVersion.WithKind("Pod"), object))
		if !strings.HasPrefix(fromJSON, "error: "+want) {
			t.Errorf("want %s\ngot %s", want, fromJSON)
		}
		if enveloped != fromJSON || bare != fromJSON {
			t.Errorf("JSON says\n%s\nprotobuf with envelope\n%s\nwithout\n%s", fromJSON, enveloped, bare)
		}
	}
}

// No version of the API has a field with this number.
const strange = 57

// step is one message on the path to another: the field's number in protobuf and its name in JSON.
// The name is "" if JSON has the message's members in its place, as for a volume's source. In a
// list the path continues in the first element.
type step struct {
	number uint64
	name   string
}

func TestAFieldThatNoVersionHasMeansTheSameInBothForms(t *testing.T) {
	ebb := startDumper(t)
	spec, affinity := step{2, "spec"}, step{18, "affinity"}
	required, preferred := "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	podAffinity := []step{spec, affinity, {2, "podAffinity"}}
	term := append(podAffinity, step{1, required})
	nodeSelector := []step{spec, affinity, {1, "nodeAffinity"}, {1, required}}
	with := func(way []step, steps ...step) []step { return append(append([]step{}, way...), steps...) }
	metadata := step{1, "metadata"}
	status := step{3, "status"}
	container := step{2, "containers"}
	for _, where := range []struct {
		kind string
		way  []step
		says string // Of the pod's not_understood; empty if there is none.
	}{
		{"Pod", []step{spec}, "spec.field 57"},
		{"Pod", []step{spec, {1, "volumes"}}, "spec.volumes[].field 57"},
		{"Pod", []step{spec, {1, "volumes"}, {2, ""}}, "spec.volumes[].field 57"},
		{"Pod", []step{spec, {22, "tolerations"}}, "spec.tolerations[].field 57"},
		{"Pod", []step{spec, {33, "topologySpreadConstraints"}}, "spec.topologySpreadConstraints[].field 57"},
		{"Pod", []step{spec, {33, "topologySpreadConstraints"}, {4, "labelSelector"}}, "spec.topologySpreadConstraints[].field 57"},
		{"Pod", []step{spec, {39, "resourceClaims"}}, "spec.resourceClaims[].field 57"},
		{"Pod", []step{spec, affinity}, "spec.affinity.field 57"},
		{"Pod", nodeSelector[:3], "spec.affinity.nodeAffinity.field 57"},
		{"Pod", nodeSelector, "spec.affinity.nodeAffinity.field 57"},
		{"Pod", with(nodeSelector, step{1, "nodeSelectorTerms"}), "spec.affinity.nodeAffinity.field 57"},
		{"Pod", with(nodeSelector, step{1, "nodeSelectorTerms"}, step{1, "matchExpressions"}), "spec.affinity.nodeAffinity.field 57"},
		{"Pod", with(nodeSelector, step{1, "nodeSelectorTerms"}, step{2, "matchFields"}), "spec.affinity.nodeAffinity.field 57"},
		{"Pod", podAffinity, "spec.affinity.podAffinity.field 57"},
		{"Pod", term, "spec.affinity.podAffinity.field 57"},
		{"Pod", with(term, step{1, "labelSelector"}), "spec.affinity.podAffinity.field 57"},
		{"Pod", with(term, step{1, "labelSelector"}, step{2, "matchExpressions"}), "spec.affinity.podAffinity.field 57"},
		{"Pod", with(term, step{4, "namespaceSelector"}), "spec.affinity.podAffinity.field 57"},
		{"Pod", with(podAffinity, step{2, preferred}, step{2, "podAffinityTerm"}), "spec.affinity.podAffinity.field 57"},
		{"Pod", []step{spec, affinity, {3, "podAntiAffinity"}}, "spec.affinity.podAntiAffinity.field 57"},
		{"Pod", []step{spec, affinity, {3, "podAntiAffinity"}, {1, required}}, "spec.affinity.podAntiAffinity.field 57"},
		{"Pod", with(podAffinity, step{2, preferred}), ""},
		{"Pod", []step{spec, container}, ""},
		{"Pod", []step{spec, container, {8, "resources"}}, ""},
		{"Pod", []step{spec, container, {6, "ports"}}, ""},
		{"Pod", []step{metadata}, ""},
		{"Pod", []step{metadata, {13, "ownerReferences"}}, ""},
		{"Pod", []step{status}, ""},
		{"Pod", []step{status, {8, "containerStatuses"}}, ""},
		{"Pod", []step{status, {2, "conditions"}}, ""},
		{"Pod", nil, ""},
		{"Node", []step{spec}, ""},
		{"Node", []step{status}, ""},
		{"PersistentVolume", []step{spec}, ""},
		{"PersistentVolume", []step{spec, {2, ""}}, ""},
		{"PersistentVolume", []step{spec, {9, "nodeAffinity"}}, ""},
		{"PersistentVolumeClaim", []step{spec}, ""},
		{"PersistentVolumeClaim", []step{spec, {4, "selector"}}, ""},
	} {
		gvk := v1.SchemeGroupVersion.WithKind(where.kind)
		// Find a filled object in which the path exists.
		for attempt := 0; ; attempt++ {
			if attempt == 20000 {
				t.Fatalf("no random %s has %v", where.kind, where.way)
			}
			fill := filler{rand: rand.New(rand.NewPCG(uint64(attempt), 2))}
			made := marshal(t, gvk, fill.object(gvk))
			var document map[string]any
			if err := json.Unmarshal(made.json, &document); err != nil {
				t.Fatal(err)
			}
			changed, found := appended(made.bare, where.way)
			if !found || !setStrange(document, where.way) {
				continue
			}
			if strings.Contains(ebb.dump(t, 'J', "", "", made.json), "not_understood") {
				continue // Not understood for another reason.
			}
			text, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			fromJSON := ebb.dump(t, 'J', "", "", text)
			fromWire := ebb.dump(t, 'P', "v1", where.kind, changed)
			if fromJSON != fromWire {
				t.Errorf("%s %v: JSON is read as\n%s\nprotobuf as\n%s", where.kind, where.way, fromJSON, fromWire)
			}
			if says := fmt.Sprintf("not_understood=[%s]", where.says); where.says != "" && !strings.Contains(fromWire, says) {
				t.Errorf("%s %v: not %s:\n%s", where.kind, where.way, says, fromWire)
			} else if where.says == "" && strings.Contains(fromWire, "field 57") {
				t.Errorf("%s %v: not understood:\n%s", where.kind, where.way, fromWire)
			}
			break
		}
	}
}

// appended adds the strange field, with the value false, at the end of the message at the end of
// the path.
func appended(message []byte, way []step) ([]byte, bool) {
	if len(way) == 0 {
		return append(binary.AppendUvarint(bytes.Clone(message), strange<<3), 0), true
	}
	for at := 0; at < len(message); {
		start := at
		tag, n := binary.Uvarint(message[at:])
		at += n
		if tag&7 == 0 {
			_, n := binary.Uvarint(message[at:])
			at += n
			continue
		}
		size, n := binary.Uvarint(message[at:])
		at += n
		end := at + int(size)
		if tag>>3 == way[0].number {
			inner, found := appended(message[at:end], way[1:])
			changed := binary.AppendUvarint(bytes.Clone(message[:start]), tag)
			changed = binary.AppendUvarint(changed, uint64(len(inner)))
			return append(append(changed, inner...), message[end:]...), found
		}
		at = end
	}
	return nil, false
}

func setStrange(value any, way []step) bool {
	if list, is := value.([]any); is {
		return len(list) > 0 && setStrange(list[0], way)
	}
	object, is := value.(map[string]any)
	if !is {
		return false
	}
	for len(way) > 0 && way[0].name == "" {
		way = way[1:]
	}
	if len(way) == 0 {
		object[fmt.Sprint("field ", strange)] = false
		return true
	}
	next, has := object[way[0].name]
	return has && setStrange(next, way[1:])
}
