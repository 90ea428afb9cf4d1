package budgets

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Watcher records every change of a namespace's pods and budgets until Judge.
//
// Threads: call Start and Judge from one goroutine. The namespace's applications must not be scaled
// meanwhile, because the number of pods that they want is read only once.
// Cost: keeps every version of every pod in memory.
type Watcher struct {
	client    kubernetes.Interface
	namespace string

	pods    []corev1.Pod
	budgets []policyv1.PodDisruptionBudget
	wants   []want

	watches []*watchtools.RetryWatcher
	done    sync.WaitGroup

	mu      sync.Mutex
	events  []event
	err     error
	markers int // Number of end markers seen.
	// Closed when all end markers were seen, or when err is set and waiting is useless.
	ended    chan struct{}
	endsOnce sync.Once
}

// want is the pods of a controller: their labels and number.
type want struct {
	labels   labels.Set
	replicas int
}

// endMarker names the objects that Judge creates, one of each watched kind. When a watch has
// delivered its marker, it has delivered everything before it.
const endMarker = "budgets-end"

// watchedKinds counts pods and budgets.
const watchedKinds = 2

// Start reads the namespace and then watches it. ctx limits only Start itself.
func Start(ctx context.Context, client kubernetes.Interface, namespace string) (*Watcher, error) {
	w := &Watcher{client: client, namespace: namespace, ended: make(chan struct{})}
	if err := w.readWants(ctx); err != nil {
		return nil, err
	}
	lasting := context.WithoutCancel(ctx)
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	w.pods = pods.Items
	if err := w.follow(lasting, pods.ResourceVersion, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return client.CoreV1().Pods(namespace).Watch(ctx, o)
	}); err != nil {
		return nil, err
	}
	budgets, err := client.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		w.stop()
		return nil, err
	}
	w.budgets = budgets.Items
	if err := w.follow(lasting, budgets.ResourceVersion, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return client.PolicyV1().PodDisruptionBudgets(namespace).Watch(ctx, o)
	}); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

func (w *Watcher) readWants(ctx context.Context) error {
	deployments, err := w.client.AppsV1().Deployments(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range deployments.Items {
		w.wants = append(w.wants, want{labels: d.Spec.Template.Labels, replicas: int(*d.Spec.Replicas)})
	}
	sets, err := w.client.AppsV1().StatefulSets(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, s := range sets.Items {
		w.wants = append(w.wants, want{labels: s.Spec.Template.Labels, replicas: int(*s.Spec.Replicas)})
	}
	return nil
}

func (w *Watcher) wanted(selector labels.Selector) int {
	sum := 0
	for _, want := range w.wants {
		if selector.Matches(want.labels) {
			sum += want.replicas
		}
	}
	return sum
}

// follow records the events of a watch. If the connection breaks, the watch continues at the
// version that it had reached, so that no change is missed. If that version is too old, follow
// records an error.
func (w *Watcher) follow(ctx context.Context, from string, watch cache.WatchFuncWithContext) error {
	retry, err := watchtools.NewRetryWatcherWithContext(ctx, from, &cache.ListWatch{WatchFuncWithContext: watch})
	if err != nil {
		return err
	}
	w.watches = append(w.watches, retry)
	w.done.Go(func() {
		for e := range retry.ResultChan() {
			w.record(e)
		}
	})
	return nil
}

func (w *Watcher) record(e watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Type == watch.Error {
		w.fail(apierrors.FromObject(e.Object))
		return
	}
	recorded := event{deleted: e.Type == watch.Deleted}
	recorded.pod, _ = e.Object.(*corev1.Pod)
	recorded.budget, _ = e.Object.(*policyv1.PodDisruptionBudget)
	name, version, err := identify(e.Object)
	if err != nil {
		w.fail(err)
		return
	}
	if name == endMarker {
		if e.Type == watch.Added {
			if w.markers++; w.markers == watchedKinds {
				w.end()
			}
		}
		return
	}
	recorded.version = version
	w.events = append(w.events, recorded)
}

func (w *Watcher) fail(err error) {
	if w.err == nil {
		w.err = err
	}
	w.end()
}

func (w *Watcher) end() { w.endsOnce.Do(func() { close(w.ended) }) }

func identify(object runtime.Object) (string, uint64, error) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return "", 0, fmt.Errorf("a watch reported a %T, which has no metadata", object)
	}
	version, err := strconv.ParseUint(meta.GetResourceVersion(), 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("%s: resourceVersion: %w", meta.GetName(), err)
	}
	return meta.GetName(), version, nil
}

// Judge waits until all changes so far were delivered, ends the watches and reports whether the
// budgets held. It returns an error if a watch lost changes, because then nothing can be said. Call
// it once.
func (w *Watcher) Judge(ctx context.Context) (*Report, error) {
	defer w.stop()
	if err := w.makeMarkers(ctx); err != nil {
		return nil, err
	}
	select {
	case <-w.ended:
	case <-ctx.Done():
		return nil, fmt.Errorf("the watches of namespace %s did not come to their end: %w", w.namespace, ctx.Err())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, fmt.Errorf("a watch of namespace %s lost changes: %w", w.namespace, w.err)
	}
	return judge(w.pods, w.budgets, w.wanted, w.events)
}

func (w *Watcher) makeMarkers(ctx context.Context) error {
	budgets, pods := w.client.PolicyV1().PodDisruptionBudgets(w.namespace), w.client.CoreV1().Pods(w.namespace)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: endMarker},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{endMarker: ""}}},
	}
	if _, err := budgets.Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: endMarker},
		Spec: corev1.PodSpec{
			Containers:      []corev1.Container{{Name: "none", Image: "registry.example/none"}},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "ebb/never"}},
		},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := pods.Delete(ctx, endMarker, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return budgets.Delete(ctx, endMarker, metav1.DeleteOptions{})
}

func (w *Watcher) stop() {
	for _, watch := range w.watches {
		watch.Stop()
	}
	w.done.Wait()
}
