package drain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Annotations that decide about pods and nodes.
const (
	safeToEvict         = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	safeLocalVolumes    = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	daemonSetPod        = "cluster-autoscaler.kubernetes.io/daemonset-pod"
	evictDaemonSet      = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
	delayDeletionPrefix = "delay-deletion.cluster-autoscaler.kubernetes.io/"
)

// NotEnoughPdb is the reason if a pod's budget allows no disruption now.
const NotEnoughPdb = "NotEnoughPdb"

// Rules are the options that decide whether a pod may be moved. Names are the autoscaler's.
type Rules struct {
	SkipNodesWithSystemPods           bool
	SkipNodesWithLocalStorage         bool
	SkipNodesWithCustomControllerPods bool
	MinReplicaCount                   int32
	BlockingSystemPodTimeout          time.Duration
	ExpendablePodsPriorityCutoff      int32
}

// DefaultRules returns the autoscaler's defaults.
func DefaultRules() Rules {
	return Rules{
		SkipNodesWithSystemPods:           true,
		SkipNodesWithLocalStorage:         true,
		SkipNodesWithCustomControllerPods: true,
		BlockingSystemPodTimeout:          time.Hour,
		ExpendablePodsPriorityCutoff:      -10,
	}
}

// Blocked is the error about a pod that keeps its node. Reason is the autoscaler's name for it.
type Blocked struct {
	Pod    string // NAMESPACE/NAME
	Reason string
	Detail string
}

func (b *Blocked) Error() string {
	if b.Detail == "" {
		return fmt.Sprintf("pod %s may not be moved: %s", b.Pod, b.Reason)
	}
	return fmt.Sprintf("pod %s may not be moved: %s (%s)", b.Pod, b.Reason, b.Detail)
}

type outcome uint8

const (
	undecided outcome = iota
	moves
	waitsForCompletion
	isSkipped
)

// judge evaluates the rules for the pods of one node at one moment.
type judge struct {
	rules  *Rules
	owners *owners
	// By namespace. Nil: budgets are not checked, because a resumed drain has spent them itself.
	budgets map[string][]budget
	now     time.Time
}

// rule decides about a pod, or leaves it to the next rule. A Blocked error keeps the node; other
// errors mean that the API server could not be read.
type rule func(*judge, context.Context, *corev1.Pod) (outcome, error)

// In the autoscaler's order; the first rule that decides wins.
var rulesInOrder = []rule{
	mirror, longTerminating, replicaCount,
	daemonSet, safe, terminal, onCompletion,
	replicated, systemPod, notSafe, localStorage, disruptionBudget,
}

func (j *judge) decide(ctx context.Context, pod *corev1.Pod) (outcome, error) {
	for _, rule := range rulesInOrder {
		if decided, err := rule(j, ctx, pod); decided != undecided || err != nil {
			return decided, err
		}
	}
	return moves, nil
}

func blocked(pod *corev1.Pod, reason, detail string) error {
	return &Blocked{Pod: pod.Namespace + "/" + pod.Name, Reason: reason, Detail: detail}
}

func isMirror(pod *corev1.Pod) bool {
	_, found := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return found
}

func isDaemonSetPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return (owner != nil && owner.Kind == "DaemonSet") || pod.Annotations[daemonSetPod] == "true"
}

func mirror(_ *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if isMirror(pod) {
		return isSkipped, nil
	}
	return undecided, nil
}

// longTerminatingExtra is granted beyond a pod's own grace period.
const longTerminatingExtra = 30 * time.Second

func longTerminating(j *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if pod.DeletionTimestamp == nil {
		return undecided, nil
	}
	if pod.DeletionTimestamp.Add(graceOf(pod) + longTerminatingExtra).Before(j.now) {
		return isSkipped, nil
	}
	return undecided, nil
}

func graceOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return 30 * time.Second
	}
	return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
}

func replicaCount(j *judge, ctx context.Context, pod *corev1.Pod) (outcome, error) {
	owner := metav1.GetControllerOf(pod)
	if !j.rules.SkipNodesWithCustomControllerPods || owner == nil {
		return undecided, nil
	}
	found, err := j.owners.find(ctx, pod.Namespace, owner)
	if err != nil || found == nil {
		return undecided, err
	}
	if !found.there {
		return undecided, blocked(pod, "ControllerNotFound", owner.Kind+" "+owner.Name)
	}
	if found.replicas != nil && *found.replicas < j.rules.MinReplicaCount {
		return undecided, blocked(pod, "MinReplicasReached", owner.Kind+" "+owner.Name)
	}
	return undecided, nil
}

func daemonSet(_ *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if isDaemonSetPod(pod) {
		return moves, nil
	}
	return undecided, nil
}

func safe(_ *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if pod.Annotations[safeToEvict] == "true" {
		return moves, nil
	}
	return undecided, nil
}

func terminal(_ *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if pod.Status.Phase == corev1.PodFailed ||
		(pod.Status.Phase == corev1.PodSucceeded && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways) {
		return moves, nil
	}
	return undecided, nil
}

func onCompletion(_ *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if pod.Annotations[safeToEvict] == "on-completion" {
		return waitsForCompletion, nil
	}
	return undecided, nil
}

var replicatedKinds = []string{"ReplicationController", "Job", "ReplicaSet", "StatefulSet"}

func replicated(j *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return undecided, blocked(pod, "NotReplicated", "")
	}
	if j.rules.SkipNodesWithCustomControllerPods && !slices.Contains(replicatedKinds, owner.Kind) {
		return undecided, blocked(pod, "NotReplicated", "its controller is a "+owner.Kind)
	}
	return undecided, nil
}

func systemPod(j *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if !j.rules.SkipNodesWithSystemPods || pod.Namespace != metav1.NamespaceSystem || len(j.budgetsOf(pod)) > 0 {
		return undecided, nil
	}
	created := pod.CreationTimestamp.Time
	if !created.IsZero() && created.Add(j.rules.BlockingSystemPodTimeout).Before(j.now) {
		return moves, nil
	}
	return undecided, blocked(pod, "UnmovableKubeSystemPod", "")
}

func notSafe(_ *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if pod.Annotations[safeToEvict] == "false" {
		return undecided, blocked(pod, "NotSafeToEvictAnnotation", "")
	}
	return undecided, nil
}

func localStorage(j *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	if !j.rules.SkipNodesWithLocalStorage {
		return undecided, nil
	}
	safe := strings.Split(pod.Annotations[safeLocalVolumes], ",")
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		local := volume.HostPath != nil || (volume.EmptyDir != nil && volume.EmptyDir.Medium != corev1.StorageMediumMemory)
		if local && !slices.Contains(safe, volume.Name) {
			return undecided, blocked(pod, "LocalStorageRequested", "volume "+volume.Name)
		}
	}
	return undecided, nil
}

func disruptionBudget(j *judge, _ context.Context, pod *corev1.Pod) (outcome, error) {
	for _, budget := range j.budgetsOf(pod) {
		if budget.allowed < 1 {
			return undecided, blocked(pod, NotEnoughPdb, "PodDisruptionBudget "+budget.name)
		}
	}
	return undecided, nil
}

type budget struct {
	name     string
	selector labels.Selector
	allowed  int32
}

func (j *judge) budgetsOf(pod *corev1.Pod) []budget {
	var found []budget
	for _, each := range j.budgets[pod.Namespace] {
		if each.selector.Matches(labels.Set(pod.Labels)) {
			found = append(found, each)
		}
	}
	return found
}

func readBudgets(list []policyv1.PodDisruptionBudget) ([]budget, error) {
	var read []budget
	for i := range list {
		// A missing selector selects no pod, an empty one selects every pod.
		selector, err := metav1.LabelSelectorAsSelector(list[i].Spec.Selector)
		if err != nil {
			return nil, fmt.Errorf("PodDisruptionBudget %s/%s: spec.selector: %w", list[i].Namespace, list[i].Name, err)
		}
		read = append(read, budget{name: list[i].Name, selector: selector, allowed: list[i].Status.DisruptionsAllowed})
	}
	return read, nil
}
