package brief

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const formats = "../../../snapshot/formats/"

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(formats + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ---------------------------------------------------------------------------
// kubernetes.proto

type protoField struct {
	name, message string
	inlined       bool
}

// schema returns the fields of each message by number.
func schema(t *testing.T) map[string]map[int]protoField {
	t.Helper()
	heads := regexp.MustCompile(`(?m)^message (\w+) \{$`)
	fields := regexp.MustCompile(`(?m)^  (?:optional |repeated )?(?:map<string, (\w+)>|(\w+)) (\w+) = (\d+)( \[\(inlined\) = true\])?;`)
	text := file(t, "wire/kubernetes.proto")
	messages := map[string]map[int]protoField{}
	for _, head := range heads.FindAllStringSubmatchIndex(text, -1) {
		body := text[head[1]:]
		body = body[:strings.Index(body, "\n}")]
		made := map[int]protoField{}
		for _, f := range fields.FindAllStringSubmatch(body, -1) {
			number, err := strconv.Atoi(f[4])
			if err != nil {
				t.Fatal(err)
			}
			made[number] = protoField{f[3], f[1] + f[2], f[5] != ""}
		}
		messages[text[head[2]:head[3]]] = made
	}
	if len(messages["PodSpec"]) < 40 || len(messages["NodeStatus"]) < 4 {
		t.Fatalf("kubernetes.proto is not read: %v", messages)
	}
	// Images are read, but no plan depends on them.
	delete(messages["Container"], 2)
	// Only bindMountOptions of mounts is read, and this version of the API does not have it.
	delete(messages["Container"], 9)
	delete(messages["NodeStatus"], 8)
	return messages
}

func numberOf(t *testing.T, field reflect.StructField) int {
	t.Helper()
	parts := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// pruner clears the fields of an API object that ebb does not read.
type pruner struct {
	*testing.T
	schema map[string]map[int]protoField
}

func (p pruner) prune(v reflect.Value, message string) {
	switch v.Interface().(type) {
	case resource.Quantity, metav1.Time:
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.prune(v.Elem(), message)
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.prune(v.Index(i), message)
		}
	case reflect.Struct:
		known, read := p.schema[message]
		if !read {
			p.Fatalf("kubernetes.proto has no message %s, which %s is", message, v.Type())
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			number := numberOf(p.T, field)
			is, read := known[number]
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case !read || is.message == "Unread" || message == "PodSpec" && slices.Contains(harmlessOfPodSpec, field.Name):
				v.Field(i).SetZero()
			case !is.inlined && is.name != name:
				p.Errorf("field %d of %s is %s, not %s", number, message, name, is.name)
			default:
				p.prune(v.Field(i), is.message)
			}
		}
	}
}

// fillAll sets every field, with one element in each list.
func fillAll(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse("1500m")
		return
	case *metav1.Time:
		*p = metav1.Unix(1_780_000_000, 0)
		return
	case *[]v1.Volume:
		*p = everyVolume()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillAll(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillAll(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fillAll(value)
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString("key")
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	}
}

// everyVolume returns one volume of each source, and one without a source.
func everyVolume() []v1.Volume {
	volumes := []v1.Volume{{Name: "none"}}
	for i := range reflect.TypeFor[v1.VolumeSource]().NumField() {
		var volume v1.Volume
		source := reflect.ValueOf(&volume.VolumeSource).Elem().Field(i)
		fillAll(source)
		volume.Name = source.Type().String()
		volumes = append(volumes, volume)
	}
	return volumes
}

func fullPod() *v1.Pod {
	pod := &v1.Pod{}
	fillAll(reflect.ValueOf(pod).Elem())
	pod.TypeMeta = metav1.TypeMeta{}
	pod.Status.Conditions[0].Type = v1.PodResizePending
	pod.Status.Conditions[0].Reason = v1.PodReasonInfeasible
	return pod
}

func fullNode() *v1.Node {
	node := &v1.Node{}
	fillAll(reflect.ValueOf(node).Elem())
	node.TypeMeta = metav1.TypeMeta{}
	return node
}

func written(t *testing.T, object any) []byte {
	t.Helper()
	data := make([]byte, 1<<16)
	w := &Writer{}
	size, ok, err := w.Write(data, object)
	if !ok || err != nil {
		t.Fatalf("is not written: %v %v", ok, err)
	}
	return data[len(data)-size:]
}

// Every field of the API is set. It must come back if kubernetes.proto has it and a decision
// depends on it.
func TestWritesEveryFieldThatIsRead(t *testing.T) {
	p := pruner{t, schema(t)}
	pod, read := fullPod(), &v1.Pod{}
	if err := read.Unmarshal(written(t, pod)); err != nil {
		t.Fatal(err)
	}
	for _, each := range []*v1.Pod{pod, read} {
		p.prune(reflect.ValueOf(&each.ObjectMeta).Elem(), "ObjectMeta")
		p.prune(reflect.ValueOf(&each.Spec).Elem(), "PodSpec")
		p.prune(reflect.ValueOf(&each.Status).Elem(), "PodStatus")
	}
	if !equality.Semantic.DeepEqual(pod, read) {
		t.Errorf("of the pod\n%+v\nthis comes back:\n%+v", pod, read)
	}
	node, readNode := fullNode(), &v1.Node{}
	if err := readNode.Unmarshal(written(t, node)); err != nil {
		t.Fatal(err)
	}
	for _, each := range []*v1.Node{node, readNode} {
		p.prune(reflect.ValueOf(&each.ObjectMeta).Elem(), "ObjectMeta")
		p.prune(reflect.ValueOf(&each.Spec).Elem(), "NodeSpec")
		p.prune(reflect.ValueOf(&each.Status).Elem(), "NodeStatus")
	}
	if !equality.Semantic.DeepEqual(node, readNode) {
		t.Errorf("of the node\n%+v\nthis comes back:\n%+v", node, readNode)
	}
}

func TestEachVolumeKeepsItsSource(t *testing.T) {
	read := &v1.Pod{}
	if err := read.Unmarshal(written(t, fullPod())); err != nil {
		t.Fatal(err)
	}
	sources := func(volume v1.Volume) (set []string) {
		v := reflect.ValueOf(volume.VolumeSource)
		for i := range v.NumField() {
			if !v.Field(i).IsNil() {
				set = append(set, v.Type().Field(i).Name)
			}
		}
		return set
	}
	for i, want := range everyVolume() {
		if got := read.Spec.Volumes[i]; got.Name != want.Name || !slices.Equal(sources(got), sources(want)) {
			t.Errorf("volume %s has sources %v, not %v", got.Name, sources(got), sources(want))
		}
	}
}

// ---------------------------------------------------------------------------
// Left out

func TestKnowsTheFieldsOfAPodSpecThatEbbKnows(t *testing.T) {
	byJSON := func(names []string) (json []string) {
		for _, name := range names {
			field, found := reflect.TypeFor[v1.PodSpec]().FieldByName(name)
			if !found {
				continue // A field of another version of the API.
			}
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			json = append(json, tag)
		}
		slices.Sort(json)
		return json
	}
	header := file(t, "object_fields.h")
	_, list, _ := strings.Cut(header, "kHarmlessPodSpec = ")
	list, _, _ = strings.Cut(list, "});")
	harmless := map[string]bool{}
	for _, name := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(list, -1) {
		harmless[name[1]] = true
	}
	for _, name := range byJSON(harmlessOfPodSpec) {
		if name == "ephemeralContainers" {
			continue // Read only for bindMountOptions, which this version of the API does not have.
		}
		if !harmless[name] {
			t.Errorf("%s is not written, and ebb does not pass it over", name)
		}
	}
	inProto := map[string]bool{}
	for _, field := range schema(t)["PodSpec"] {
		inProto[field.name] = true
	}
	for _, name := range byJSON(slices.Concat(writtenOfPodSpec, harmlessOfPodSpec)) {
		if !inProto[name] {
			t.Errorf("%s is known here, and kubernetes.proto does not have it", name)
		}
	}
	for _, name := range byJSON(writtenOfPodSpec) {
		if harmless[name] {
			t.Errorf("%s decides nothing, and is written", name)
		}
	}
}

// The API has a field that these lists lack: the caller must write the whole pod.
func TestAPodWithAFieldThatIsNotKnownIsNotWritten(t *testing.T) {
	known := unknownOfPodSpec
	defer func() { unknownOfPodSpec = known }()
	spec := reflect.TypeFor[v1.PodSpec]()
	if len(known) > 0 {
		t.Fatalf("of k8s.io/api, %s is not known", spec.Field(known[0]).Name)
	}
	all := slices.Concat(writtenOfPodSpec, harmlessOfPodSpec)
	for i, name := range all {
		field, found := spec.FieldByName(name)
		if !found {
			continue
		}
		unknownOfPodSpec = unknownFields(spec, all[:i], all[i+1:])
		if len(unknownOfPodSpec) != 1 {
			t.Fatalf("without %s, %d fields are unknown", name, len(unknownOfPodSpec))
		}
		pod := &v1.Pod{}
		w := &Writer{}
		if _, ok, _ := w.Write(make([]byte, 100), pod); !ok {
			t.Errorf("a pod without %s is not written", name)
		}
		fillAll(reflect.ValueOf(&pod.Spec).Elem().FieldByIndex(field.Index))
		if _, ok, _ := w.Write(make([]byte, 1<<16), pod); ok {
			t.Errorf("a pod with %s is written, though it is not known", name)
		}
	}
}

func TestOtherKindsAreNotWritten(t *testing.T) {
	w := &Writer{}
	if _, ok, err := w.Write(make([]byte, 100), &v1.Namespace{}); ok || err != nil {
		t.Errorf("a namespace: %v %v", ok, err)
	}
}

func TestLeavesOutLargeFields(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{lastApplied: "large", "a": ""},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "large"}}},
		Spec: v1.PodSpec{Containers: []v1.Container{{Image: "large", Env: []v1.EnvVar{{Name: "large"}},
			Ports: []v1.ContainerPort{{ContainerPort: 80, Name: "large"}}}}},
		Status: v1.PodStatus{Conditions: []v1.PodCondition{{Message: "large"}}, ContainerStatuses: []v1.ContainerStatus{{Image: "large"}}}}
	if data := written(t, pod); bytes.Contains(data, []byte("large")) || len(data) > 30 {
		t.Errorf("%d bytes: %q", len(data), data)
	}
}

func TestTheSameObjectGivesTheSameBytes(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{}}}
	for i := range 20 {
		pod.Labels[strconv.Itoa(i)] = "x"
	}
	pod.Spec.Overhead = v1.ResourceList{}
	for _, name := range []v1.ResourceName{"memory", "cpu", "a", "z"} {
		pod.Spec.Overhead[name] = resource.MustParse("1")
	}
	first := written(t, pod)
	for range 50 {
		if !bytes.Equal(first, written(t, pod)) {
			t.Fatal("other bytes")
		}
	}
}

// Cached texts must not be used for other amounts.
func TestAmountsAreSpelledAsTheAPISpellsThem(t *testing.T) {
	w := &Writer{}
	for _, text := range []string{"1", "100m", "1Gi", "1G", "0", "1e3", "1.5Gi", "12345678901234567890", "-1", "1000m", "1024Mi", "1", "100m", "0.5Gi", "1n"} {
		quantity := resource.MustParse(text)
		// MustParse keeps the given spelling only if it is canonical.
		want := quantity.String()
		pod := &v1.Pod{Spec: v1.PodSpec{Overhead: v1.ResourceList{"cpu": resource.MustParse(text), "memory": resource.MustParse(text)}}}
		data := make([]byte, 200)
		size, _, err := w.Write(data, pod)
		read := &v1.Pod{}
		if err == nil {
			err = read.Unmarshal(data[len(data)-size:])
		}
		got := read.Spec.Overhead["cpu"]
		if err != nil || got.String() != want || len(read.Spec.Overhead) != 2 {
			t.Errorf("%s is written as %s, not %s: %v", text, got.String(), want, err)
		}
	}
}
