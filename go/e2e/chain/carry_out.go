package chain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// ToBeDeleted is the autoscaler's taint for a node in deletion.
const ToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// Result is the outcome of carrying out a plan.
type Result struct {
	Evicted int // pods
	Refused int // evictions that a budget rejected at first and that were retried
	Deleted []string
}

// CarryOut removes a plan's nodes. It taints all of them first, and then drains and deletes up to
// parallel nodes at a time. It retries until ctx ends if a budget rejects an eviction or the API
// server is away.
//
// An error names the node. The drains of other nodes still finish, and no node is untainted,
// because the cluster belongs to a test.
func CarryOut(ctx context.Context, client kubernetes.Interface, plan *Plan, parallel int) (*Result, error) {
	for _, node := range plan.Nodes() {
		if err := taint(ctx, client, node); err != nil {
			return nil, fmt.Errorf("taint node %s: %w", node, err)
		}
	}
	var (
		result   = &Result{}
		mu       sync.Mutex
		first    error
		drains   sync.WaitGroup
		drainers = make(chan struct{}, parallel)
	)
	for _, node := range plan.Nodes() {
		drainers <- struct{}{}
		drains.Go(func() {
			defer func() { <-drainers }()
			evicted, refused, err := drainAndDelete(ctx, client, node)
			mu.Lock()
			defer mu.Unlock()
			result.Evicted += evicted
			result.Refused += refused
			if err == nil {
				result.Deleted = append(result.Deleted, node)
			} else if first == nil {
				first = fmt.Errorf("node %s: %w", node, err)
			}
		})
	}
	drains.Wait()
	return result, first
}

func taint(ctx context.Context, client kubernetes.Interface, name string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Unschedulable = true
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key: ToBeDeleted, Value: strconv.FormatInt(time.Now().Unix(), 10), Effect: corev1.TaintEffectNoSchedule,
		})
		_, err = client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// drainAndDelete evicts a node's pods, waits until they are gone and deletes the node.
func drainAndDelete(ctx context.Context, client kubernetes.Interface, node string) (evicted, refused int, err error) {
	var pods *corev1.PodList
	err = insist(ctx, func() (err error) {
		pods, err = client.CoreV1().Pods("").List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		})
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
			continue // goes with its node
		}
		again, err := evict(ctx, client, pod)
		refused += again
		if err != nil {
			return evicted, refused, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		evicted++
		if err := waitUntilGone(ctx, client, pod); err != nil {
			return evicted, refused, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return evicted, refused, insist(ctx, func() error {
		return client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{})
	})
}

// evict returns how often a budget rejected the eviction.
func evict(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) (refused int, err error) {
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	}
	for {
		err := insist(ctx, func() error { return client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction) })
		if !apierrors.IsTooManyRequests(err) {
			return refused, err
		}
		refused++
		if err := pause(ctx); err != nil {
			return refused, err
		}
	}
}

func waitUntilGone(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	for {
		var there *corev1.Pod
		err := insist(ctx, func() (err error) {
			there, err = client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			return err
		})
		if err != nil || there.UID != pod.UID {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// insist retries until the API server answers. NotFound is no error: an earlier request may have
// deleted the object although its answer was lost.
func insist(ctx context.Context, request func() error) error {
	for {
		err := request()
		if apierrors.IsNotFound(err) {
			return nil
		}
		var answer apierrors.APIStatus
		if err == nil || errors.As(err, &answer) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// askAgainAfter is the time between retries.
const askAgainAfter = 100 * time.Millisecond

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(askAgainAfter):
		return nil
	}
}
