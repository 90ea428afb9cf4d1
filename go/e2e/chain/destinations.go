package chain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Agreement is how many pods the scheduler placed where the plan had found room for them.
type Agreement struct {
	Moved  int // pods that the plan moves
	Agreed int // moved pods that are on the node of the plan
}

func (a Agreement) String() string {
	if a.Moved == 0 {
		return "no pod moved"
	}
	return fmt.Sprintf("%d of %d pods (%.0f%%) are where the plan put them", a.Agreed, a.Moved, 100*float64(a.Agreed)/float64(a.Moved))
}

// Compare compares a plan's destinations with the nodes of the pods after it was carried out.
//
// A controller's new pod has another name, and nothing says which old pod it replaces. So the pods
// of one controller are compared as a whole: how many of the nodes that the plan gave them did its
// new pods get, where each node counts as often as the plan gave it. Compare returns an error if
// the plan moves a pod that did not exist or has no controller.
func Compare(plan *Plan, before, after []corev1.Pod) (Agreement, error) {
	controllers := map[types.NamespacedName]types.UID{}
	old := map[types.UID]bool{}
	for i := range before {
		pod := &before[i]
		old[pod.UID] = true
		if owner := metav1.GetControllerOf(pod); owner != nil {
			controllers[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = owner.UID
		}
	}
	type place struct {
		controller types.UID
		node       string
	}
	got := map[place]int{}
	for i := range after {
		pod := &after[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && !old[pod.UID] {
			got[place{owner.UID, pod.Spec.NodeName}]++
		}
	}
	var agreement Agreement
	for _, removal := range plan.Remove {
		for _, move := range removal.Pods {
			controller, known := controllers[types.NamespacedName{Namespace: move.Namespace, Name: move.Name}]
			if !known {
				return agreement, fmt.Errorf("the plan moves pod %s/%s, which no controller had", move.Namespace, move.Name)
			}
			agreement.Moved++
			if to := (place{controller, move.To}); got[to] > 0 {
				got[to]--
				agreement.Agreed++
			}
		}
	}
	return agreement, nil
}
