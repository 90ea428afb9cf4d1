package chain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(controller, name, uid, node string) corev1.Pod {
	isController := true
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(uid),
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(controller), Controller: &isController}},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
}

func planOf(moves ...Move) *Plan { return &Plan{Remove: []Removal{{Node: "n0", Pods: moves}}} }

func TestCompareTakesTheNewPodsOfAControllerAsAWhole(t *testing.T) {
	before := []corev1.Pod{pod("a", "a-1", "1", "n0"), pod("a", "a-2", "2", "n0"), pod("a", "a-3", "3", "n1"), pod("b", "b-1", "4", "n0")}
	plan := planOf(
		Move{"default", "a-1", "n1"},
		Move{"default", "a-2", "n1"},
		Move{"default", "b-1", "n2"},
	)
	after := []corev1.Pod{
		pod("a", "a-3", "3", "n1"), // existed before, so it has no destination
		pod("a", "a-8", "8", "n1"),
		pod("a", "a-9", "9", "n2"),  // b's destination, not a's
		pod("b", "b-1", "10", "n2"), // a StatefulSet's pod: the same name, but another pod
	}
	got, err := Compare(plan, before, after)
	if want := (Agreement{Moved: 3, Agreed: 2}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestCompareRefusesAPlanOfAnotherCluster(t *testing.T) {
	if _, err := Compare(planOf(Move{"default", "a-1", "n1"}), nil, nil); err == nil {
		t.Error("a pod that was not there was compared")
	}
}
