package wire

import (
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"ebb/go/clusterautoscaler/brief"
)

// ebb must read the same from an object in the brief form as from the full one, except for images.
func TestObjectsInBriefAreRead(t *testing.T) {
	for name, careless := range map[string]bool{"careful": false, "careless": true} {
		t.Run(name, func(t *testing.T) { compareBrief(t, filler{rand: newRand(t), careless: careless}) })
	}
}

func compareBrief(t *testing.T, fill filler) {
	ebb := startDumper(t)
	writer := &brief.Writer{}
	wrong := 0
	for range *objects {
		gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
		if fill.chance(20) {
			gvk.Kind = "Node"
		}
		object := fill.object(gvk)
		if pod, is := object.(*v1.Pod); is {
			moreOfAPod(fill.rand, pod)
			for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for i := range containers {
					containers[i].Image = ""
				}
			}
		} else {
			object.(*v1.Node).Status.Images = nil
		}
		made := marshal(t, gvk, object)
		whole := ebb.dump(t, 'P', "v1", gvk.Kind, made.bare)
		short := inBrief(t, writer, object)
		if len(short) > len(made.bare) {
			t.Fatalf("in brief it takes %d bytes, and else %d:\n%s", len(short), len(made.bare), made.json)
		}
		read := ebb.dump(t, 'P', "v1", gvk.Kind, short)
		if strings.HasPrefix(whole, "error: ") {
			// If several fields are wrong, the first one may be a field that the brief form leaves
			// out.
			wrong++
			continue
		}
		if read != whole {
			t.Fatalf("of this object:\n%s\nebb reads\n%s\nand in brief\n%s", made.json, whole, read)
		}
	}
	if wrong > *objects/2 || fill.careless && wrong == 0 {
		t.Errorf("%d of %d objects were wrong", wrong, *objects)
	}
}

func inBrief(t *testing.T, writer *brief.Writer, object runtime.Object) []byte {
	t.Helper()
	data := make([]byte, object.(interface{ Size() int }).Size())
	size, ok, err := writer.Write(data, object)
	if !ok || err != nil {
		t.Fatalf("is not written: %v %v", ok, err)
	}
	return data[len(data)-size:]
}

// moreOfAPod adds values that random texts rarely contain.
func moreOfAPod(random *rand.Rand, pod *v1.Pod) {
	if random.IntN(10) == 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Reason: v1.PodReasonInfeasible})
	}
	if random.IntN(3) == 0 {
		reasons := []string{"", v1.PodReasonUnschedulable, v1.PodReasonSchedulingGated, v1.PodReasonSchedulerError}
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodScheduled,
			Status: v1.ConditionFalse, Reason: reasons[random.IntN(len(reasons))]})
	}
	if random.IntN(10) == 0 {
		pod.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "5m"}
	}
	for i := range pod.Spec.Containers {
		for j := range pod.Spec.Containers[i].Ports {
			if random.IntN(2) == 0 {
				pod.Spec.Containers[i].Ports[j].HostPort = 0
			}
		}
	}
}

// For a wrong pod, ebb must report the same error in the brief form.
func TestErrorsOfBriefObjectsHaveTheSameText(t *testing.T) {
	ebb := startDumper(t)
	writer := &brief.Writer{}
	for _, change := range []func(*v1.Pod){
		func(p *v1.Pod) {
			p.Spec.Containers = []v1.Container{{}, {Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": *quantity("-1")}}}}
		},
		func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Ports: []v1.ContainerPort{{HostPort: 70000}}}}
		},
		func(p *v1.Pod) { p.Spec.NodeName = "a b" },
		func(p *v1.Pod) { p.Status.AllocatedResources = v1.ResourceList{"cpu": *quantity("-1")} },
		func(p *v1.Pod) { p.Name = "" },
		func(p *v1.Pod) { p.Labels = map[string]string{"a": "\xff"} },
	} {
		pod := &v1.Pod{}
		pod.Name, pod.Namespace = "web", "shop"
		change(pod)
		bare, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		whole := ebb.dump(t, 'P', "v1", "Pod", bare)
		if short := ebb.dump(t, 'P', "v1", "Pod", inBrief(t, writer, pod)); short != whole || !strings.HasPrefix(whole, "error: ") {
			t.Errorf("ebb says\n%s\nand in brief\n%s", whole, short)
		}
	}
}
