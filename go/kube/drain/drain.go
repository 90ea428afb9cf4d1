// Package drain moves the pods off a node, through the Eviction API alone, so that no pod goes which
// its disruption budget holds.
//
//	look, err := drainer.Look(ctx, node, drain.LookOptions{Empty: !order.Drain})
//	...                                    // A Blocked error: a pod may not be moved.
//	err = drainer.Drain(ctx, node, look)   // Returns when all are gone.
//
// Look reads the node's pods, their budgets and their controllers from the API server, and not from
// a cache: what it says is true when the first pod is evicted.
//
// Cost:    a list of the node's pods, one of the budgets of each of their namespaces, and a get of
// each of their controllers; then a call a pod, and a list at the end.
// Threads: a Drainer may drain many nodes concurrently.
// Source:  behaviour of cluster-autoscaler core/scaledown/actuation/drain.go and simulator/drain.go.
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

// Options of a Drainer, under the autoscaler's names and with its defaults (DefaultOptions).
type Options struct {
	Rules Rules
	// Groups of priorities, the lowest first (drain-priority-config).  Nil: one, with MaxGrace.
	Groups []Group
	// MaxGrace caps a pod's own grace (max-graceful-termination-sec).
	MaxGrace time.Duration
	// MaxEvictionTime is how long a refused eviction is tried (max-pod-eviction-time).
	MaxEvictionTime time.Duration
	// EvictAgainAfter a refusal.
	EvictAgainAfter time.Duration
	// GoneExtra is granted to pods beyond their group's grace.
	GoneExtra time.Duration
	// LookEvery is how often the cache is asked whether pods are gone.
	LookEvery time.Duration
	// DelayDeletion is how long annotations may put a deletion off (node-deletion-delay-timeout).
	DelayDeletion time.Duration
	// Whether DaemonSets' pods are evicted whose annotation does not say
	// (daemonset-eviction-for-empty-nodes, daemonset-eviction-for-occupied-nodes).
	EvictDaemonSetsOfEmpty, EvictDaemonSetsOfOccupied bool
}

// DefaultOptions are the autoscaler's.
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
	Pods     corelisters.PodLister // Of a cache that follows the API server.
	Nodes    corelisters.NodeLister
	Recorder record.EventRecorder
	Options  Options
	Now      func() time.Time
	// Evicting is called right before each request for an eviction, and what it returns right after,
	// with whether the eviction was taken: no moment lies between the two in which a budget that it
	// spent is not accounted for.  It may be nil.
	Evicting func(*corev1.Pod) (answered func(taken bool))
}

// Look is what is to be done with the pods of a node.
type Look struct {
	// Evict are pods that must be gone before the node goes.
	Evict []*corev1.Pod
	// BestEffort are pods that are asked to go: DaemonSets' pods, and expendable ones.
	BestEffort []*corev1.Pod

	resumed bool
}

// promisedFor is how long the disruption controller counts a pod as disrupted whose eviction was cut
// off on its way, as by a caller that was killed: so long the budget is spent, and nothing is evicted.
// Source: kubernetes pkg/controller/disruption DeletionTimeout.
const promisedFor = 2 * time.Minute

// evictionTime is how long an eviction of a look is tried.
func (d *Drainer) evictionTime(look *Look) time.Duration {
	if look.resumed {
		return d.Options.MaxEvictionTime + promisedFor
	}
	return d.Options.MaxEvictionTime
}

// LookOptions say what a node is looked at for.
type LookOptions struct {
	// Empty: the node was to go empty, and a pod to move keeps it.
	Empty bool
	// Resumed: the drain began earlier.  Its own evictions may have spent budgets, so that those are
	// left to the Eviction API.
	Resumed bool
}

// Look reads the pods of a node and applies the rules.  A *Blocked error names the pod that keeps
// the node; other errors mean that nothing is known.
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
	if told, found := pod.Annotations[evictDaemonSet]; found {
		evict = told == "true"
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

// Drain evicts what a look says, group by group, and returns when all that must be gone is, and no
// annotation puts the deletion off any more.  An error: a pod stays, or came meanwhile.
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

// evict asks until the eviction is taken, the pod is gone, or the time since `begin` is over.
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
		// At a conflict another pod has its name now.
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

// waitUntilGone asks the cache.  It may be behind, and then waits longer.
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

// confirm asks the API server, which knows what the cache may not know yet: pods that were there all
// the time, and pods that came in spite of the taint.
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

// left names a pod that the look evicts and that is still there.  A *Blocked error: another came.
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

// Confirm says why a drained node may not be deleted: a pod came to it.  Nil: nothing speaks against it.
func (d *Drainer) Confirm(ctx context.Context, node string) error {
	_, err := d.left(ctx, node, &Look{})
	return err
}

// waitForDelays waits for annotations that put a deletion off to go, and not for ever.
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

// Pause waits for so long, or until ctx ends, whose cause it returns.
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
