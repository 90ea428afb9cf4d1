package budgets

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var webLabels = map[string]string{"app": "web"}

func readyPod(name string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: webLabels},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func unready(pod corev1.Pod) corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	return pod
}

func readyPods(count int) []corev1.Pod {
	pods := make([]corev1.Pod, count)
	for i := range pods {
		pods[i] = readyPod(fmt.Sprint("web-", i))
	}
	return pods
}

func budget(spec policyv1.PodDisruptionBudgetSpec) policyv1.PodDisruptionBudget {
	spec.Selector = &metav1.LabelSelector{MatchLabels: webLabels}
	return policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: spec}
}

func atMostMissing(value intstr.IntOrString) policyv1.PodDisruptionBudget {
	return budget(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &value})
}

func atLeastThere(value intstr.IntOrString) policyv1.PodDisruptionBudget {
	return budget(policyv1.PodDisruptionBudgetSpec{MinAvailable: &value})
}

// evicted returns the API server's events for an eviction: the condition, then the deletion.
func evicted(version uint64, pod corev1.Pod) []event {
	marked := pod.DeepCopy()
	marked.Status.Conditions = append(marked.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI",
	})
	ending := marked.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{}
	return []event{{version: version, pod: marked}, {version: version + 1, pod: ending}}
}

// gone returns the event of the pod's end, after its eviction.
func gone(version uint64, pod corev1.Pod) event {
	events := evicted(version, pod)
	return event{version: version, deleted: true, pod: events[1].pod}
}

func judgeOrFail(t *testing.T, pods []corev1.Pod, budgets []policyv1.PodDisruptionBudget, events []event) *Report {
	t.Helper()
	wanted := len(pods)
	report, err := judge(pods, budgets, func(labels.Selector) int { return wanted }, events)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A rollout makes two of three pods unready while the controller still counts three.
func TestABreachSaysWhetherTheStatusWasBehind(t *testing.T) {
	for counted, behind := range map[int32]bool{3: true, 1: false} {
		pods := readyPods(3)
		budget := atMostMissing(intstr.FromInt32(1))
		budget.Status.CurrentHealthy = counted
		rolled := []corev1.Pod{unready(pods[1]), unready(pods[2])}
		events := []event{{version: 10, pod: &rolled[0]}, {version: 11, pod: &rolled[1]}}
		events = append(events, evicted(12, pods[0])...)
		report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{budget}, events)
		if len(report.Breaches) != 1 || report.Breaches[0].StatusBehind != behind {
			t.Errorf("counted %d: %+v", counted, report.Breaches)
		}
	}
}

func TestEvictionsWithinABudgetAreNotABreach(t *testing.T) {
	pods := readyPods(3)
	events := slices.Concat(evicted(10, pods[0]), []event{gone(20, pods[0])})
	replacement := readyPod("web-9")
	events = append(events, event{version: 21, pod: &replacement})
	events = append(events, evicted(30, pods[1])...)
	report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(1))}, events)
	if len(report.Breaches) != 0 || report.Evictions != 2 || report.Lowest["web"] != 2 || report.Demanded["web"] != 2 {
		t.Errorf("report: %+v", report)
	}
}

func TestSecondEvictionBeforeTheReplacementIsABreach(t *testing.T) {
	pods := readyPods(3)
	events := slices.Concat(evicted(10, pods[0]), evicted(20, pods[1]))
	report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(1))}, events)
	want := Breach{Budget: "web", Pod: "web-1", Healthy: 1, Demanded: 2, Version: 21}
	if len(report.Breaches) != 1 || report.Breaches[0] != want {
		t.Errorf("breaches: %v, not %v", report.Breaches, want)
	}
}

func TestOrderIsThatOfVersionsNotOfArrival(t *testing.T) {
	pods := readyPods(2)
	tightened := atMostMissing(intstr.FromInt(0))
	// The budget was tightened after the eviction, but the watch of budgets was faster.
	events := append([]event{{version: 50, budget: &tightened}}, evicted(10, pods[0])...)
	if report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(1))}, events); len(report.Breaches) != 0 {
		t.Errorf("breaches: %v", report.Breaches)
	}
	events = append([]event{{version: 5, budget: &tightened}}, evicted(10, pods[0])...)
	if report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(1))}, events); len(report.Breaches) != 1 {
		t.Errorf("breaches of a budget tightened before: %v", report.Breaches)
	}
}

func TestADeletedBudgetHasNoEffect(t *testing.T) {
	pods := readyPods(2)
	deleted := atMostMissing(intstr.FromInt(0))
	events := append([]event{{version: 5, deleted: true, budget: &deleted}}, evicted(10, pods[0])...)
	if report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{deleted}, events); len(report.Breaches) != 0 {
		t.Errorf("breaches: %v", report.Breaches)
	}
}

func TestPodsThatGoWithoutEvictionAreNotABreach(t *testing.T) {
	pods := readyPods(2)
	deleted := pods[0]
	deleted.DeletionTimestamp = &metav1.Time{}
	report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(0))},
		[]event{{version: 10, pod: &deleted}})
	if len(report.Breaches) != 0 || report.Evictions != 0 {
		t.Errorf("report: %+v", report)
	}
}

func TestEvictingAPodThatIsNotReadySpendsNothing(t *testing.T) {
	pods := readyPods(3)
	pods[0] = unready(pods[0])
	report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(0))}, evicted(10, pods[0]))
	if len(report.Breaches) != 0 || report.Evictions != 1 {
		t.Errorf("report: %+v", report)
	}
}

func TestPodThatIsNotReadyIsMissing(t *testing.T) {
	pods := readyPods(3)
	pods[0] = unready(pods[0])
	report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(1))}, evicted(10, pods[1]))
	if len(report.Breaches) != 1 {
		t.Errorf("report: %+v", report)
	}
}

func TestEvictedPodWithoutGraceIsSeenWhenItIsGone(t *testing.T) {
	pods := readyPods(1)
	report := judgeOrFail(t, pods, []policyv1.PodDisruptionBudget{atMostMissing(intstr.FromInt(0))}, []event{gone(10, pods[0])})
	if len(report.Breaches) != 1 || report.Evictions != 1 {
		t.Errorf("report: %+v", report)
	}
}

func TestDemandsRoundUp(t *testing.T) {
	for _, c := range []struct {
		budget policyv1.PodDisruptionBudget
		wanted int
		want   int
	}{
		{atMostMissing(intstr.FromInt(2)), 7, 5},
		{atMostMissing(intstr.FromInt(9)), 7, 0},
		{atMostMissing(intstr.FromString("30%")), 7, 4}, // 2.1 may be missing, rounded up to 3
		{atLeastThere(intstr.FromInt(3)), 7, 3},
		{atLeastThere(intstr.FromString("50%")), 7, 4}, // 3.5
		{budget(policyv1.PodDisruptionBudgetSpec{}), 7, 0},
	} {
		got, err := demandedBy(&c.budget.Spec, c.wanted)
		if err != nil || got != c.want {
			t.Errorf("%+v of %d: %d, %v; want %d", c.budget.Spec, c.wanted, got, err, c.want)
		}
	}
}
