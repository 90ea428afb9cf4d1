package nodes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	// NeverEnds is an annotation of pods. With the value "true" a deleted pod stays, like one whose
	// container ignores signals on a node that cannot kill it. Removing the annotation lets the pod
	// end.
	NeverEnds = "e2e.ebb/never-ends"
	// NeverReady is an annotation like NeverEnds: the pod runs but does not become ready.
	NeverReady = "e2e.ebb/never-ready"
)

// Kubelets simulates the kubelets of all nodes.
//
// A pod that is bound to a node becomes Running and Ready. A pod that is being deleted is deleted
// with a grace period of 0, if it is still the same pod (UID). Pods of a deleted node are left
// alone, because that node has no kubelet any more; the pod garbage collector finds them.
//
// Threads: Stop may be called once, from any goroutine.
type Kubelets struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	nodes   corelisters.NodeLister
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
	cancel  context.CancelFunc
	done    sync.WaitGroup
	address atomic.Uint32 // the last pod IP given
}

// kubeletWorkers is high enough that the API server is the bottleneck.
const kubeletWorkers = 8

// StartKubelets starts the kubelets and waits until they know all pods. They run until Stop; ctx
// limits only the start.
func StartKubelets(ctx context.Context, client kubernetes.Interface) (*Kubelets, error) {
	bound := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		}))
	all := informers.NewSharedInformerFactory(client, 0)
	// The first delay is short: usually a conflict with another writer of the status is retried.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Second)
	k := &Kubelets{
		client: client,
		pods:   bound.Core().V1().Pods().Lister(),
		nodes:  all.Core().V1().Nodes().Lister(),
		queue:  workqueue.NewTypedRateLimitingQueue(limiter),
	}
	if err := k.listen(bound.Core().V1().Pods().Informer()); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	for _, factory := range []informers.SharedInformerFactory{all, bound} {
		factory.Start(running.Done())
		k.done.Go(func() { <-running.Done(); factory.Shutdown() })
		for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				k.Stop()
				return nil, fmt.Errorf("kubelets: %v were not listed in time", kind)
			}
		}
	}
	for range kubeletWorkers {
		k.done.Go(func() { k.work(running) })
	}
	return k, nil
}

func (k *Kubelets) listen(pods cache.SharedIndexInformer) error {
	add := func(object any) {
		if name, err := cache.ObjectToName(object); err == nil {
			k.queue.Add(name)
		}
	}
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, after any) { add(after) },
	})
	return err
}

// Stop ends all kubelets and waits for them.
func (k *Kubelets) Stop() {
	k.cancel()
	k.queue.ShutDown()
	k.done.Wait()
}

func (k *Kubelets) work(ctx context.Context) {
	for {
		name, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		if err := k.sync(ctx, name); err != nil && ctx.Err() == nil {
			k.queue.AddRateLimited(name)
		} else {
			k.queue.Forget(name)
		}
		k.queue.Done(name)
	}
}

// sync brings a pod to its next state.
func (k *Kubelets) sync(ctx context.Context, name cache.ObjectName) error {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := k.nodes.Get(pod.Spec.NodeName); err != nil {
		if apierrors.IsNotFound(err) && time.Since(pod.CreationTimestamp.Time) < nodeComesWithin {
			return fmt.Errorf("node %s is not there yet", pod.Spec.NodeName)
		}
		return nil
	}
	if pod.DeletionTimestamp != nil {
		return k.end(ctx, pod)
	}
	if pod.Status.Phase == corev1.PodPending {
		return k.begin(ctx, pod)
	}
	return nil
}

// nodeComesWithin is how long an unknown node may take to appear: the watch of nodes may be behind
// the watch of pods, and takes half a minute or more to recover after a dropped connection.
const nodeComesWithin = 2 * time.Minute

func (k *Kubelets) begin(ctx context.Context, pod *corev1.Pod) error {
	running := pod.DeepCopy()
	now := metav1.Now()
	running.Status.Phase = corev1.PodRunning
	running.Status.StartTime = &now
	running.Status.PodIP = k.nextAddress()
	running.Status.PodIPs = []corev1.PodIP{{IP: running.Status.PodIP}}
	ready := pod.Annotations[NeverReady] != "true"
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		setCondition(&running.Status, kind, ready || kind == corev1.PodInitialized, now)
	}
	running.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		running.Status.ContainerStatuses = append(running.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: ready, Started: &ready,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	_, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, running, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, isTrue bool, now metav1.Time) {
	condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: now}
	if isTrue {
		condition.Status = corev1.ConditionTrue
	}
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}

func (k *Kubelets) end(ctx context.Context, pod *corev1.Pod) error {
	if pod.Annotations[NeverEnds] == "true" {
		return nil
	}
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		// The next pod of a StatefulSet has the same name.
		Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (k *Kubelets) nextAddress() string {
	n := k.address.Add(1)
	return fmt.Sprintf("10.%d.%d.%d", 128+(n>>16)&0x7f, (n>>8)&0xff, n&0xff)
}
