package planner

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apiv1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	core_utils "sigs.k8s.io/cluster-autoscaler/pkg/core/utils"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/feed"
)

// ahead sends nodes and pods to ebb between the loops, from informer events, so that a loop only compares
// pointers and sends what differs from the snapshot.
//
// Sending begins when the informers have delivered all objects that exist. It is best effort: after an
// error it stops until a loop has succeeded, and the loop sends everything as it would without ahead.
// A loop waits for a batch that is being sent.
//
// Threads: informers call the handlers in goroutines of their own; run is another goroutine, which
// holds Planner.busy while it uses feed and engine.
type ahead struct {
	*Planner
	stop chan struct{}
	wake chan struct{} // Has one element if there is something to send.
	// Of the handlers, in the order nodes, pods.
	registered []cache.ResourceEventHandlerRegistration
	informers  []cache.SharedIndexInformer

	mutex sync.Mutex
	nodes map[string]*apiv1.Node
	pods  map[string][]*apiv1.Pod // By node.
	dirty map[string]bool         // Names of nodes.
}

// Batches begin at most this often, so that events which follow one another are sent together.
const aheadInterval = 250 * time.Millisecond

// How long a batch may take; a loop that comes meanwhile waits for it.
const aheadTimeout = 10 * time.Second

func (p *Planner) startAhead(factory informers.SharedInformerFactory) {
	a := &ahead{Planner: p, stop: make(chan struct{}), wake: make(chan struct{}, 1),
		nodes: map[string]*apiv1.Node{}, pods: map[string][]*apiv1.Pod{}, dirty: map[string]bool{}}
	core := factory.Core().V1()
	a.informers = []cache.SharedIndexInformer{core.Nodes().Informer(), core.Pods().Informer()}
	p.ahead = a
	for i, changed := range []func(before, after any){a.nodeChanged, a.podChanged} {
		registration, err := a.informers[i].AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(object any, isInInitialList bool) {
				if !isInInitialList { // seed takes these together.
					changed(nil, object)
				}
			},
			UpdateFunc: changed,
			DeleteFunc: func(object any) {
				if last, unknown := object.(cache.DeletedFinalStateUnknown); unknown {
					object = last.Obj
				}
				changed(object, nil)
			},
		})
		if err != nil {
			klog.Warningf("ebb: receives the cluster in the loops alone: %v", err)
			a.close()
			p.ahead = nil
			return
		}
		a.registered = append(a.registered, registration)
	}
	go a.run()
}

func (a *ahead) close() {
	close(a.stop)
	for i, registration := range a.registered {
		_ = a.informers[i].RemoveEventHandler(registration)
	}
}

func (a *ahead) nodeChanged(before, after any) {
	node, _ := after.(*apiv1.Node)
	old, _ := before.(*apiv1.Node)
	if node == nil && old == nil || node == old {
		return
	}
	a.mutex.Lock()
	if node != nil {
		a.nodes[node.Name] = node
		a.dirty[node.Name] = true
	} else {
		delete(a.nodes, old.Name)
		a.dirty[old.Name] = true
	}
	a.mutex.Unlock()
	a.signal()
}

func (a *ahead) podChanged(before, after any) {
	pod, _ := after.(*apiv1.Pod)
	old, _ := before.(*apiv1.Pod)
	if pod == old {
		return
	}
	a.mutex.Lock()
	changed := old != nil && a.remove(old)
	if pod != nil && a.counts(pod) {
		a.remove(pod)
		a.pods[pod.Spec.NodeName] = append(a.pods[pod.Spec.NodeName], pod)
		a.dirty[pod.Spec.NodeName], changed = true, true
	}
	a.mutex.Unlock()
	if changed {
		a.signal()
	}
}

// remove removes the pod with the name of this one from its node.
func (a *ahead) remove(pod *apiv1.Pod) bool {
	all := a.pods[pod.Spec.NodeName]
	i := slices.IndexFunc(all, func(other *apiv1.Pod) bool { return other.Name == pod.Name && other.Namespace == pod.Namespace })
	if i < 0 {
		return false
	}
	a.pods[pod.Spec.NodeName] = slices.Delete(all, i, i+1)
	a.dirty[pod.Spec.NodeName] = true
	return true
}

// counts reports whether the autoscaler puts the pod into its snapshot. If it did otherwise, the loop
// would send the difference.
func (a *ahead) counts(pod *apiv1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != apiv1.PodSucceeded && pod.Status.Phase != apiv1.PodFailed &&
		!core_utils.IsExpendablePod(pod, a.autoscalingCtx.ExpendablePodsPriorityCutoff)
}

func (a *ahead) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// seed takes all nodes and pods that the informers have. Events about them that arrive later lead to the
// same state.
func (a *ahead) seed() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, object := range a.informers[0].GetStore().List() {
		node := object.(*apiv1.Node)
		a.nodes[node.Name] = node
	}
	clear(a.pods)
	for _, object := range a.informers[1].GetStore().List() {
		if pod := object.(*apiv1.Pod); a.counts(pod) {
			a.pods[pod.Spec.NodeName] = append(a.pods[pod.Spec.NodeName], pod)
		}
	}
	if len(a.nodes) > 0 {
		a.signal()
	}
	// So that the answers do not depend on the order of a map.
	for _, pods := range a.pods {
		slices.SortFunc(pods, func(a, b *apiv1.Pod) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
}

func (a *ahead) run() {
	var synced []cache.InformerSynced
	for _, informer := range a.informers {
		synced = append(synced, informer.HasSynced)
	}
	for _, registration := range a.registered {
		synced = append(synced, registration.HasSynced)
	}
	if !cache.WaitForCacheSync(a.stop, synced...) {
		return
	}
	a.seed()
	pause := time.NewTicker(aheadInterval)
	defer pause.Stop()
	for {
		select {
		case <-a.stop:
			return
		case <-a.wake:
		}
		ctx, cancel := context.WithTimeout(context.Background(), aheadTimeout)
		a.send(ctx)
		cancel()
		select {
		case <-a.stop:
			return
		case <-pause.C:
		}
	}
}

// send sends what has changed since the last call.
func (a *ahead) send(ctx context.Context) {
	a.busy <- struct{}{}
	defer func() { <-a.busy }()
	if a.failed || a.engineErr != nil || a.meaning.err != nil || a.checks.distrusted() != nil {
		return
	}
	whole := !a.synced
	views, gone := a.takeDirty(whole)
	if kept, keeps := a.autoscalingCtx.ClusterSnapshot.(*keptSnapshot); keeps && !kept.shadow {
		kept.remember(views)
	}
	if err := a.configure(ctx); err != nil {
		a.give(err)
		return
	}
	changes := a.feed.ChangesOf(views, gone)
	if whole {
		changes = a.feed.Changes(views, func() []feed.List { return nil })
	}
	if err := a.engine.Apply(ctx, changes); err != nil {
		a.give(err)
		return
	}
	a.synced = true
	if !whole {
		return
	}
	// The first question about a cluster takes longer than those after it.
	nothing := clusterautoscaler.Request{Now: time.Now(), TimeLimit: aheadTimeout, PodsAsListed: podsAsListed}
	if _, err := a.engine.Pass(ctx, &nothing); err != nil {
		a.give(err)
	}
}

// give leaves the cluster to the loops, until one of them has succeeded.
func (a *ahead) give(err error) {
	a.failed = true
	cause, err := a.forget(fallback.ApplyFailed, err)
	klog.Warningf("ebb: the next loop sends the whole cluster, by reason of %s: %v", cause, err)
}

// takeDirty returns the nodes that have changed, or all, with their pods, and the names of nodes that
// are gone. Pods of unknown nodes are left out.
func (a *ahead) takeDirty(all bool) (views []feed.NodeView, gone []string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	view := func(node *apiv1.Node) {
		views = append(views, feed.NodeView{Node: node, Pods: slices.Clone(a.pods[node.Name])})
	}
	if all {
		for _, name := range slices.Sorted(maps.Keys(a.nodes)) {
			view(a.nodes[name])
		}
	} else {
		for name := range a.dirty {
			if node := a.nodes[name]; node != nil {
				view(node)
			} else {
				gone = append(gone, name)
			}
		}
	}
	clear(a.dirty)
	return views, gone
}

// hold waits until feed and engine may be used; false: not before the context ended.
func (p *Planner) hold(ctx context.Context) bool {
	select {
	case p.busy <- struct{}{}:
		return true
	default:
	}
	select {
	case p.busy <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *Planner) release() { <-p.busy }

// Close ends what runs beside the loops, and frees the engine. The autoscaler itself never closes its
// planner.
func (p *Planner) Close() error {
	if p.ahead != nil {
		p.ahead.close()
		p.ahead = nil
	}
	p.hold(context.Background())
	defer p.release()
	if p.engine == nil {
		return nil
	}
	return p.engine.Close()
}
