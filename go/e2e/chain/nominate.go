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

// NominatorGate is the scheduling gate that a Nominator takes off pods.
const NominatorGate = "e2e.ebb/nominate"

// Nominator writes into a new pod's status.nominatedNodeName the node where a plan found room for it, so
// that the scheduler tries that node first.
//
// A controller's new pod has another name than the one that went; it gets any place that the plan has for a
// pod of that controller, each place once.  A pod that has NominatorGate is not scheduled before it
// was nominated, as the gate is taken off afterwards.  One without it is nominated in a race with the
// scheduler.
//
// Threads: Follow and Stop may be called from any goroutine, Stop once.
type Nominator struct {
	client kubernetes.Interface
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	places map[types.UID][]string // By controller.
	share  float64
	placed int // Places that were taken out of places.
	seen   map[types.UID]bool
	count  Nominations
}

// Nominations counts what was done for new pods that a plan has a place for.
type Nominations struct {
	Nominated int // Before they were bound.
	Late      int // Bound already, or gone.
	LeftOut   int // As only a share of them is nominated.
	Failed    error
}

// StartNominator looks after a namespace's pods until Stop; ctx bounds it all.
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

// Follow has a share, from 0 to 1, of the pods that come from now on nominated by a plan over these pods.
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

// Stop ends it and tells what it did.
func (n *Nominator) Stop() Nominations {
	n.cancel()
	n.done.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count
}

// came handles a pod once.
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

// placeFor takes the next place of the pod's controller.  "": there is none, or the pod is not of those that
// are nominated.
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
	// Spread evenly: of every second one, say, each second.
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
		// The API server refuses it for a pod that is bound.
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
