package chain

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// NominatorGate is the scheduling gate that a Nominator removes from pods.
const NominatorGate = "e2e.ebb/nominate"

// Nominator sets a new pod's status.nominatedNodeName to the node where a plan found room for it,
// so that the scheduler tries that node first.
//
// A controller's new pod has another name than the pod it replaces, so it gets any place that the
// plan has for a pod of that controller; each place is used once. A pod with NominatorGate is
// nominated before it is scheduled, because the gate is removed afterwards. A pod without the gate
// is nominated in a race with the scheduler.
//
// Threads: Follow and Stop may be called from any goroutine, Stop only once.
type Nominator struct {
	client kubernetes.Interface
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	places map[types.UID][]string // By controller.
	share  float64
	placed int // Number of places removed from places.
	seen   map[types.UID]bool
	count  Nominations
}

// Nominations counts the new pods for which a plan has a place, by what happened to them.
type Nominations struct {
	Nominated int // Before they were bound.
	Late      int // Already bound or deleted.
	LeftOut   int // Not nominated because share is below 1.
	Failed    error
}

// StartNominator watches a namespace's pods until Stop or until ctx ends.
func StartNominator(ctx context.Context, client kubernetes.Interface, namespace string) *Nominator {
	n := &Nominator{client: client, places: map[types.UID][]string{}, seen: map[types.UID]bool{}}
	ctx, n.cancel = context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { n.came(ctx, object.(*corev1.Pod)) },
	})
	n.count.Failed = err
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	n.done.Go(func() { <-ctx.Done(); factory.Shutdown() })
	return n
}

// Follow makes the Nominator nominate a share, from 0 to 1, of the pods that appear from now on, by
// a plan over these pods.
func (n *Nominator) Follow(plan *Plan, pods []corev1.Pod, share float64) {
	controllers := map[types.NamespacedName]types.UID{}
	for i := range pods {
		if owner := metav1.GetControllerOf(&pods[i]); owner != nil {
			controllers[types.NamespacedName{Namespace: pods[i].Namespace, Name: pods[i].Name}] = owner.UID
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.share = share
	for _, removal := range plan.Remove {
		for _, move := range removal.Pods {
			controller := controllers[types.NamespacedName{Namespace: move.Namespace, Name: move.Name}]
			n.places[controller] = append(n.places[controller], move.To)
		}
	}
}

// Stop ends the Nominator and returns its counts.
func (n *Nominator) Stop() Nominations {
	n.cancel()
	n.done.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count
}

// came handles each new pod once.
func (n *Nominator) came(ctx context.Context, pod *corev1.Pod) {
	n.mu.Lock()
	known := n.seen[pod.UID]
	n.seen[pod.UID] = true
	n.mu.Unlock()
	if known {
		return
	}
	if to := n.placeFor(pod); to != "" {
		n.nominate(ctx, pod, to)
	}
	if len(pod.Spec.SchedulingGates) > 0 {
		n.failed(ctx, insist(ctx, func() error {
			_, err := n.patch(ctx, pod, []byte(`{"spec":{"schedulingGates":null}}`))
			return err
		}))
	}
}

// placeFor takes the next place of the pod's controller. It returns "" if there is none, or if the
// pod is not in the nominated share.
func (n *Nominator) placeFor(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	places := n.places[owner.UID]
	if len(places) == 0 {
		return ""
	}
	n.places[owner.UID] = places[1:]
	n.placed++
	// Spread the share evenly: at 0.5, every second pod is nominated.
	if int(n.share*float64(n.placed)) == int(n.share*float64(n.placed-1)) {
		n.count.LeftOut++
		return ""
	}
	return places[0]
}

func (n *Nominator) nominate(ctx context.Context, pod *corev1.Pod, to string) {
	text, err := json.Marshal(map[string]any{"status": map[string]string{"nominatedNodeName": to}})
	if err != nil {
		n.failed(ctx, err)
		return
	}
	inTime := pod.Spec.NodeName == ""
	if inTime {
		err = insist(ctx, func() error {
			there, err := n.patch(ctx, pod, text, "status")
			if err == nil {
				inTime = there.Spec.NodeName == ""
			}
			return err
		})
		// The API server rejects the nomination of a bound pod.
		if !apierrors.IsInvalid(err) {
			n.failed(ctx, err)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if inTime && err == nil {
		n.count.Nominated++
	} else {
		n.count.Late++
	}
}

func (n *Nominator) patch(ctx context.Context, pod *corev1.Pod, text []byte, subresources ...string) (*corev1.Pod, error) {
	return n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, text, metav1.PatchOptions{}, subresources...)
}

func (n *Nominator) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || apierrors.IsNotFound(err) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count.Failed == nil {
		n.count.Failed = err
	}
}
