package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAPodFitsNowhereOnceTheSchedulerTriedAllNodes(t *testing.T) {
	for _, test := range []struct {
		message string
		nodes   int
		want    bool
	}{
		{"no nodes available to schedule pods", 3, false},
		{"0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible", 3, false},
		{"0/3 nodes are available: 3 Insufficient cpu.", 3, true},
		{"0/4 nodes are available: 4 Insufficient cpu.", 3, true}, // One node was deleted since.
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: test.message,
		}}}}
		if got := fitsNowhere(pod, test.nodes); got != test.want {
			t.Errorf("%q with %d nodes: %v, not %v", test.message, test.nodes, got, test.want)
		}
	}
}
