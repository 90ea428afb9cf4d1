// Package budgets watches PodDisruptionBudgets while a test runs, and checks whether each of them
// held at every moment. It reads each change of each pod and budget, in order, from the API
// server's watch. Nothing is sampled, and a watch that breaks continues at the version that it had
// reached.
//
// It does not rely on the disruption controller: it computes what a budget demands from the
// budget's spec and from the number of pods that the applications want.
package budgets

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// event is a change that the API server reported. Versions order the changes of all kinds, because
// one etcd stores all of them. Either pod or budget is set.
type event struct {
	version uint64
	deleted bool
	pod     *corev1.Pod
	budget  *policyv1.PodDisruptionBudget
}

// Breach is an eviction that left a budget with fewer healthy pods than it demands.
type Breach struct {
	Budget   string // name
	Pod      string // the evicted one
	Healthy  int    // pods after the eviction
	Demanded int
	Version  uint64 // resourceVersion of the pod when it was evicted
	// The budget's status counted more healthy pods than there were before the eviction, because
	// the disruption controller had not seen a rollout yet. The API server and its callers rely on
	// that status.
	StatusBehind bool
}

func (b Breach) String() string {
	text := fmt.Sprintf("budget %s: after the eviction of pod %s (resourceVersion %d) %d pods are healthy, %d are demanded",
		b.Budget, b.Pod, b.Version, b.Healthy, b.Demanded)
	if b.StatusBehind {
		text += "; the budget's status counted more"
	}
	return text
}

// Report is the result of a watch.
type Report struct {
	Events    int // changes of pods and budgets
	Evictions int // pods that the Eviction API deleted
	Breaches  []Breach
	// Lowest is the smallest number of healthy pods after an eviction, by budget; Demanded is the
	// number demanded at that moment. Budgets without an eviction are in neither.
	Lowest, Demanded map[string]int
}

// judge replays events. pods and budgets are the state before the first event; wanted returns how
// many pods the applications that a selector matches want.
func judge(pods []corev1.Pod, budgets []policyv1.PodDisruptionBudget, wanted func(labels.Selector) int,
	events []event) (*Report, error) {
	j := &judgement{
		pods:    map[types.UID]*corev1.Pod{},
		budgets: map[string]*demand{},
		wanted:  wanted,
		report:  &Report{Events: len(events), Lowest: map[string]int{}, Demanded: map[string]int{}},
	}
	for i := range pods {
		j.pods[pods[i].UID] = &pods[i]
	}
	for i := range budgets {
		if err := j.setBudget(&budgets[i], false); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		switch {
		case a.version < b.version:
			return -1
		case a.version > b.version:
			return 1
		}
		return 0
	})
	for _, e := range events {
		if e.budget != nil {
			if err := j.setBudget(e.budget, e.deleted); err != nil {
				return nil, err
			}
			continue
		}
		j.setPod(e)
	}
	return j.report, nil
}

type demand struct {
	selector labels.Selector
	healthy  int // pods that the budget demands
	counted  int // healthy pods, by the last status
}

type judgement struct {
	pods    map[types.UID]*corev1.Pod
	budgets map[string]*demand
	wanted  func(labels.Selector) int
	report  *Report
}

func (j *judgement) setBudget(budget *policyv1.PodDisruptionBudget, deleted bool) error {
	if deleted {
		delete(j.budgets, budget.Name)
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return fmt.Errorf("poddisruptionbudget %s: %w", budget.Name, err)
	}
	healthy, err := demandedBy(&budget.Spec, j.wanted(selector))
	if err != nil {
		return fmt.Errorf("poddisruptionbudget %s: %w", budget.Name, err)
	}
	j.budgets[budget.Name] = &demand{selector: selector, healthy: healthy, counted: int(budget.Status.CurrentHealthy)}
	return nil
}

// demandedBy returns how many of the wanted pods must be healthy. Percentages are rounded up, as
// the disruption controller does for both fields.
func demandedBy(spec *policyv1.PodDisruptionBudgetSpec, wanted int) (int, error) {
	if spec.MaxUnavailable != nil {
		most, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, wanted, true)
		return max(wanted-most, 0), err
	}
	if spec.MinAvailable != nil {
		return intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, wanted, true)
	}
	return 0, nil
}

func (j *judgement) setPod(e event) {
	before := j.pods[e.pod.UID]
	if e.deleted {
		delete(j.pods, e.pod.UID)
	} else {
		j.pods[e.pod.UID] = e.pod
	}
	// An eviction takes effect when the API server deletes the pod, not when it sets the condition.
	// A pod without a remaining grace period disappears without an event in which it is being
	// deleted.
	if before == nil || before.DeletionTimestamp != nil || !wasEvicted(e.pod) {
		return
	}
	if e.pod.DeletionTimestamp == nil && !e.deleted {
		return
	}
	j.report.Evictions++
	if isHealthy(before) {
		j.checkBudgets(e.pod, e.version)
	}
}

func (j *judgement) checkBudgets(evicted *corev1.Pod, version uint64) {
	for name, budget := range j.budgets {
		if !budget.selector.Matches(labels.Set(evicted.Labels)) {
			continue
		}
		healthy := 0
		for _, pod := range j.pods {
			if isHealthy(pod) && budget.selector.Matches(labels.Set(pod.Labels)) {
				healthy++
			}
		}
		if lowest, known := j.report.Lowest[name]; !known || healthy < lowest {
			j.report.Lowest[name], j.report.Demanded[name] = healthy, budget.healthy
		}
		if healthy < budget.healthy {
			j.report.Breaches = append(j.report.Breaches, Breach{
				Budget: name, Pod: evicted.Name, Healthy: healthy, Demanded: budget.healthy, Version: version,
				StatusBehind: budget.counted > healthy+1,
			})
		}
	}
}

// isHealthy follows the disruption controller: the pod is ready and not being deleted.
func isHealthy(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// wasEvicted reports whether the Eviction API deleted the pod. The API marks the pod before it
// deletes it.
func wasEvicted(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget {
			return condition.Status == corev1.ConditionTrue && condition.Reason == "EvictionByEvictionAPI"
		}
	}
	return false
}
