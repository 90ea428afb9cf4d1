// Package drain moves pods off a node. It only uses the Eviction API, so no pod goes against its
// disruption budget.
//
//	look, err := drainer.Look(ctx, node, drain.LookOptions{Empty: !order.Drain})
//	...                                    // A Blocked error: a pod may not be moved.
//	err = drainer.Drain(ctx, node, look)   // Returns when all of them are gone.
//
// Look reads the node's pods, their budgets and their controllers from the API server, not from a
// cache, so its verdict holds when the first pod is evicted.
//
// Cost:    one list of the node's pods, one list of budgets for each of their namespaces, and one
// get for each of their controllers; then one call for each pod, and one list at the end.
// Threads: a Drainer may drain many nodes concurrently.
// Source:  behaviour of cluster-autoscaler core/scaledown/actuation/drain.go and
// simulator/drain.go.
package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
)

// Options of a Drainer. Names and defaults (DefaultOptions) are the autoscaler's.
type Options struct {
	Rules Rules
	// Groups of pod priorities, the lowest first (drain-priority-config). Nil: one group, with
	// MaxGrace.
	Groups []Group
	// MaxGrace limits a pod's own grace period (max-graceful-termination-sec).
	MaxGrace time.Duration
	// MaxEvictionTime is how long a rejected eviction is retried (max-pod-eviction-time).
	MaxEvictionTime time.Duration
	// EvictAgainAfter is the time between a rejected eviction and its retry.
	EvictAgainAfter time.Duration
	// GoneExtra is how long pods may take beyond their group's grace.
	GoneExtra time.Duration
	// LookEvery is how often the cache is read to see whether pods are gone.
	LookEvery time.Duration
	// DelayDeletion is how long annotations may delay a deletion (node-deletion-delay-timeout).
	DelayDeletion time.Duration
	// EvictDaemonSetsOfEmpty and EvictDaemonSetsOfOccupied decide about pods of DaemonSets without
	// an annotation (daemonset-eviction-for-empty-nodes, daemonset-eviction-for-occupied-nodes).
	EvictDaemonSetsOfEmpty, EvictDaemonSetsOfOccupied bool
}

// DefaultOptions returns the autoscaler's defaults.
func DefaultOptions() Options {
	return Options{
		Rules:                     DefaultRules(),
		MaxGrace:                  600 * time.Second,
		MaxEvictionTime:           2 * time.Minute,
		EvictAgainAfter:           10 * time.Second,
		GoneExtra:                 30 * time.Second,
		LookEvery:                 time.Second,
		DelayDeletion:             2 * time.Minute,
		EvictDaemonSetsOfOccupied: true,
	}
}

// Drainer drains nodes.
type Drainer struct {
	Client   kubernetes.Interface
	Pods     corelisters.PodLister // From a cache that follows the API server.
	Nodes    corelisters.NodeLister
	Recorder record.EventRecorder
	Options  Options
	Now      func() time.Time
	// Evicting is called right before each eviction request. The function that it returns is called
	// right after the reply, with whether the eviction was accepted. So the caller accounts for a
	// budget that the eviction spends at every moment. It may be nil.
	Evicting func(*corev1.Pod) (answered func(taken bool))
}

// Look lists what must happen to the pods of a node.
type Look struct {
	// Evict are the pods that must be gone before the node goes.
	Evict []*corev1.Pod
	// BestEffort are pods that are evicted without waiting for them: pods of DaemonSets, and
	// expendable pods.
	BestEffort []*corev1.Pod

	resumed bool
}

// promisedFor is how long the disruption controller counts a pod as disrupted if its eviction was
// cut off halfway, for example because the caller was killed. During this time the budget is spent
// although no pod is evicted.
// Source: kubernetes pkg/controller/disruption DeletionTimeout.
const promisedFor = 2 * time.Minute

// evictionTime returns how long evictions for this look are retried.
func (d *Drainer) evictionTime(look *Look) time.Duration {
	if look.resumed {
		return d.Options.MaxEvictionTime + promisedFor
	}
	return d.Options.MaxEvictionTime
}

// LookOptions describe the deletion that a look is for.
type LookOptions struct {
	// Empty: the node should be empty, so a pod to move keeps it.
	Empty bool
	// Resumed: an earlier process began the drain. Its evictions may have spent budgets, so budgets
	// are left to the Eviction API.
	Resumed bool
}

// Look reads the pods of a node and applies the rules. A *Blocked error names the pod that keeps
// the node; other errors mean that the API server could not be read.
func (d *Drainer) Look(ctx context.Context, node string, o LookOptions) (*Look, error) {
	pods, err := d.podsOn(ctx, node)
	if err != nil {
		return nil, err
	}
	j := &judge{rules: &d.Options.Rules, owners: &owners{client: d.Client, found: map[string]*owner{}}, now: d.Now()}
	if j.budgets, err = d.readBudgets(ctx, pods); err != nil {
		return nil, err
	}
	look := &Look{resumed: o.Resumed}
	for _, pod := range pods {
		if err := d.sort(ctx, j, pod, o, look); err != nil {
			return nil, err
		}
	}
	return look, nil
}

func (d *Drainer) sort(ctx context.Context, j *judge, pod *corev1.Pod, o LookOptions, look *Look) error {
	if pod.Spec.Priority != nil && *pod.Spec.Priority < d.Options.Rules.ExpendablePodsPriorityCutoff {
		look.BestEffort = append(look.BestEffort, pod)
		return nil
	}
	decided, err := j.decide(ctx, pod)
	var kept *Blocked
	if o.Resumed && errors.As(err, &kept) && kept.Reason == NotEnoughPdb {
		decided, err = moves, nil
	}
	switch {
	case err != nil:
		return err
	case decided == isSkipped:
		return nil
	case decided == waitsForCompletion:
		return blocked(pod, "BlockedByOnCompletionPod", "")
	case isDaemonSetPod(pod):
		d.sortDaemon(pod, o, look)
		return nil
	case o.Empty:
		return blocked(pod, "the node was to go empty", "")
	}
	look.Evict = append(look.Evict, pod)
	return nil
}

func (d *Drainer) sortDaemon(pod *corev1.Pod, o LookOptions, look *Look) {
	evict := d.Options.EvictDaemonSetsOfOccupied
	if o.Empty {
		evict = d.Options.EvictDaemonSetsOfEmpty
	}
	if wanted, found := pod.Annotations[evictDaemonSet]; found {
		evict = wanted == "true"
	}
	switch {
	case !evict:
	case len(d.Options.Groups) > 0 && !o.Empty:
		look.Evict = append(look.Evict, pod)
	default:
		look.BestEffort = append(look.BestEffort, pod)
	}
}

// podsOn lists the node's pods that have not ended, from the API server.
func (d *Drainer) podsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	list, err := d.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("pods of node %s: %w", node, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.Spec.NodeName == node && !ended {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func (d *Drainer) readBudgets(ctx context.Context, pods []*corev1.Pod) (map[string][]budget, error) {
	budgets := map[string][]budget{}
	for _, pod := range pods {
		if _, known := budgets[pod.Namespace]; known {
			continue
		}
		list, err := d.Client.PolicyV1().PodDisruptionBudgets(pod.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("budgets of namespace %s: %w", pod.Namespace, err)
		}
		if budgets[pod.Namespace], err = readBudgets(list.Items); err != nil {
			return nil, err
		}
	}
	return budgets, nil
}

// Drain evicts the pods of a look, group by group. It returns when all pods that must go are gone
// and no annotation delays the deletion. It returns an error if a pod stays, or if a new one
// arrived.
func (d *Drainer) Drain(ctx context.Context, node *corev1.Node, look *Look) error {
	for _, group := range d.groups(look) {
		if err := d.drainGroup(ctx, node, group, d.evictionTime(look)); err != nil {
			return err
		}
	}
	if err := d.confirm(ctx, node.Name, look); err != nil {
		return err
	}
	return d.waitForDelays(ctx, node.Name)
}

func (d *Drainer) drainGroup(ctx context.Context, node *corev1.Node, group podGroup, tryFor time.Duration) error {
	begin := time.Now()
	evict := func(pod *corev1.Pod) error { return d.evict(ctx, node, pod, group.grace, begin, tryFor) }
	failed := make([]error, len(group.evict))
	var calls sync.WaitGroup
	for i, pod := range group.evict {
		calls.Go(func() { failed[i] = evict(pod) })
	}
	for _, pod := range group.bestEffort {
		calls.Go(func() { _ = evict(pod) })
	}
	calls.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return d.waitUntilGone(ctx, group.evict, group.grace+d.Options.GoneExtra)
}

// evict retries until the eviction is accepted, the pod is gone, or tryFor has passed since begin.
func (d *Drainer) evict(ctx context.Context, node *corev1.Node, pod *corev1.Pod, maxGrace time.Duration,
	begin time.Time, tryFor time.Duration) error {
	d.event(pod, "deleting pod for node scale down")
	eviction := evictionOf(pod, maxGrace)
	for {
		answered := func(bool) {}
		if d.Evicting != nil {
			answered = d.Evicting(pod)
		}
		err := d.Client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
		answered(err == nil)
		// A conflict means that another pod has this name now.
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		if time.Since(begin)+d.Options.EvictAgainAfter > tryFor {
			return fmt.Errorf("pod %s/%s could not be evicted from node %s within %v: %w",
				pod.Namespace, pod.Name, node.Name, tryFor, err)
		}
		if err := Pause(ctx, d.Options.EvictAgainAfter); err != nil {
			return err
		}
	}
}

func evictionOf(pod *corev1.Pod, maxGrace time.Duration) *policyv1.Eviction {
	grace := int64(graceOf(pod).Seconds())
	if most := int64(maxGrace.Seconds()); most > 0 && grace > most {
		grace = most
	}
	return &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{
			GracePeriodSeconds: &grace,
			Preconditions:      &metav1.Preconditions{UID: &pod.UID},
		},
	}
}

// waitUntilGone reads the cache. A cache that is behind only makes it wait longer.
func (d *Drainer) waitUntilGone(ctx context.Context, pods []*corev1.Pod, atMost time.Duration) error {
	begin := time.Now()
	for {
		left := slices.DeleteFunc(slices.Clone(pods), d.isGone)
		if len(left) == 0 {
			return nil
		}
		if time.Since(begin) > atMost {
			return fmt.Errorf("pod %s/%s did not end within %v, and %d others", left[0].Namespace, left[0].Name, atMost, len(left)-1)
		}
		if err := Pause(ctx, d.Options.LookEvery); err != nil {
			return err
		}
	}
}

func (d *Drainer) isGone(pod *corev1.Pod) bool {
	found, err := d.Pods.Pods(pod.Namespace).Get(pod.Name)
	return err != nil || found.UID != pod.UID || found.Spec.NodeName != pod.Spec.NodeName ||
		found.Status.Phase == corev1.PodSucceeded || found.Status.Phase == corev1.PodFailed
}

// confirm asks the API server for what the cache may not show yet: pods that are still there, and
// pods that arrived in spite of the taint.
func (d *Drainer) confirm(ctx context.Context, node string, look *Look) error {
	begin := time.Now()
	for {
		left, err := d.left(ctx, node, look)
		if err == nil && left == "" {
			return nil
		}
		if time.Since(begin) > d.Options.MaxGrace+d.Options.GoneExtra {
			if err == nil {
				err = fmt.Errorf("pod %s is still on node %s", left, node)
			}
			return err
		}
		var kept *Blocked
		if errors.As(err, &kept) {
			return err
		}
		if err := Pause(ctx, d.Options.LookEvery); err != nil {
			return err
		}
	}
}

// left returns the name of a pod that the look evicts and that still exists. It returns a *Blocked
// error if another pod arrived.
func (d *Drainer) left(ctx context.Context, node string, look *Look) (string, error) {
	pods, err := d.podsOn(ctx, node)
	if err != nil {
		return "", err
	}
	now := &judge{rules: &Rules{}, now: d.Now()}
	for _, pod := range pods {
		same := func(known *corev1.Pod) bool { return known.UID == pod.UID }
		if slices.ContainsFunc(look.Evict, same) {
			return pod.Namespace + "/" + pod.Name, nil
		}
		dead, _ := longTerminating(now, ctx, pod)
		expendable := pod.Spec.Priority != nil && *pod.Spec.Priority < d.Options.Rules.ExpendablePodsPriorityCutoff
		if slices.ContainsFunc(look.BestEffort, same) || isMirror(pod) || isDaemonSetPod(pod) || dead == isSkipped || expendable {
			continue
		}
		return "", blocked(pod, "it came while the node was drained", "")
	}
	return "", nil
}

// Confirm returns an error if a drained node may not be deleted because a pod arrived.
func (d *Drainer) Confirm(ctx context.Context, node string) error {
	_, err := d.left(ctx, node, &Look{})
	return err
}

// waitForDelays waits until no annotation delays the deletion, but at most DelayDeletion.
func (d *Drainer) waitForDelays(ctx context.Context, name string) error {
	begin := time.Now()
	for time.Since(begin) < d.Options.DelayDeletion {
		node, err := d.Nodes.Get(name)
		if err != nil || !isPutOff(node) {
			return nil
		}
		if err := Pause(ctx, d.Options.LookEvery); err != nil {
			return err
		}
	}
	return nil
}

func isPutOff(node *corev1.Node) bool {
	for key := range node.Annotations {
		if strings.HasPrefix(key, delayDeletionPrefix) {
			return true
		}
	}
	return false
}

func (d *Drainer) event(pod *corev1.Pod, message string) {
	if d.Recorder != nil {
		d.Recorder.Event(pod, corev1.EventTypeNormal, "ScaleDown", message)
	}
}

// Pause waits for a duration. If ctx ends first, it returns the cause.
func Pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
