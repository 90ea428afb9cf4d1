package actuate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/drain"
)

// Symptom: of two nodes drained at the same time one failed with NotEnoughPdb. It read the budget
// after the other's eviction had spent it and before that eviction was recorded.
func TestABudgetIsSpentFromBeforeAnEvictionIsAskedFor(t *testing.T) {
	a := &Actuator{evicting: map[string]int{}, o: Options{EvictionsFor: time.Hour, Now: time.Now}}
	kept := &drain.Blocked{Pod: "default/web-2", Reason: drain.NotEnoughPdb}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1"}}
	for _, taken := range []bool{false, true} {
		if a.spent(kept) {
			t.Fatal("nothing was evicted")
		}
		answered := a.beginEviction(pod)
		if !a.spent(kept) {
			t.Error("the budget may be spent while the API server answers")
		}
		if a.spent(&drain.Blocked{Pod: "other/web-2", Reason: drain.NotEnoughPdb}) {
			t.Error("a budget of another namespace is not")
		}
		answered(taken)
		if a.spent(kept) != taken {
			t.Errorf("taken %v: spent %v", taken, !taken)
		}
	}
}
