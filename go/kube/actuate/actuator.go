// Package actuate serves the actuator protocol (wire/actuator.proto) over a Kubernetes
// cluster: it taints and cordons nodes, drains them, and has a provider delete them and make groups grow.
//
// What a deletion has come to stands on its node (taint.Mark) before the next step begins.  A process
// that is killed at any moment loses nothing: the next one finds all deletions from the nodes, goes
// on with what was draining or being deleted, and waits to be told of the rest.  Results and recent
// evictions are in memory alone.  Of a group that grows nothing is remembered: to be asked again for the
// same size changes nothing.
//
//	actuator := actuate.New(options)
//	err := actuator.Start(ctx)   // Finds what runs; everything ends with ctx.
//	...                          // Its methods are the calls.
//	actuator.Wait()              // After ctx ended.
//
// Doubt: a node that is another machine, lost its taint, or got a pod while it was drained is never
// deleted.  Where nobody asks for Status any more, what waits for an order is rolled back.
// Threads: calls may come concurrently.  Those that change something are carried out one after the
// other; Status waits for none of them.
// Clocks:  what is waited for is measured by the monotonic clock; the wall clock is only told.
package actuate

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"ebb/go/kube/drain"
	"ebb/go/kube/provider"
	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

// Options of an Actuator.  What is not said to have a default is required.
type Options struct {
	Client   kubernetes.Interface
	Nodes    cache.SharedIndexInformer // Of nodes; runs, and is synced when Start is called.
	Marker   *taint.Marker
	Drainer  *drain.Drainer
	Provider provider.Provider
	Recorder record.EventRecorder // May be nil.
	// Now is the wall clock; default time.Now.
	Now func() time.Time
	// Log gets lines for people; default: none.
	Log func(format string, args ...any)

	// BatchInterval has nodes of a group deleted together (node-deletion-batcher-interval).  Default 0: each at once.
	BatchInterval time.Duration
	// GoneWithin is how long a Node may stay after its provider took its deletion.  Default 15 minutes.
	GoneWithin time.Duration
	// AbandonedAfter so long without a call of Status what waits for an order is rolled back.
	// Default 10 minutes.
	AbandonedAfter time.Duration
	// EvictionsFor so long an eviction is told.  Default 2 minutes.
	EvictionsFor time.Duration
	// SoftTaintTime is what soft taints may take of SoftTaintWindow (max-bulk-soft-taint-time).
	// Default 3 s of 10 s.
	SoftTaintTime, SoftTaintWindow time.Duration
	// GrowWithin is how long Grow waits for what the provider says; it goes on without.  Default 8
	// seconds, as ebb waits 10 for a call.
	GrowWithin time.Duration
	// ErrandEvery is how often what could not be untainted is tried again, and abandoned deletions
	// are looked for.  Default 5 s.
	ErrandEvery time.Duration
	// Name and Version are told by Hello.
	Name, Version string
}

// taintsAtATime is as many nodes as are tainted concurrently.
const taintsAtATime = 5

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	set := func(value *time.Duration, otherwise time.Duration) {
		if *value == 0 {
			*value = otherwise
		}
	}
	set(&o.GoneWithin, 15*time.Minute)
	set(&o.AbandonedAfter, 10*time.Minute)
	set(&o.EvictionsFor, 2*time.Minute)
	set(&o.SoftTaintTime, 3*time.Second)
	set(&o.SoftTaintWindow, 10*time.Second)
	set(&o.GrowWithin, 8*time.Second)
	set(&o.ErrandEvery, 5*time.Second)
}

// Actuator makes nodes go.
type Actuator struct {
	wire.UnimplementedActuatorServer

	o     Options
	ctx   context.Context
	tasks sync.WaitGroup

	// calls is held by whatever changes the cluster by order.  It is taken before mu.
	calls sync.Mutex
	soft  softBudget // Guarded by calls.

	mu sync.Mutex
	// All below are guarded by mu.
	running   map[string]*deletion
	batches   map[string]*batch
	results   []*wire.DeletionResult
	ended     int
	evicted   []evicted
	evicting  map[string]int // Requests for evictions that are not answered yet, by namespace.
	keys      keys
	growths   map[string]*growth   // Of groups whose provider has not answered yet.
	untaint   map[string]types.UID // Nodes whose mark could not be taken off yet.
	lastAsked time.Time
	process   string
}

// deletion is of a node.  All but the constant part is guarded by Actuator.mu.
type deletion struct {
	node      string
	uid       types.UID
	group     string
	drain     bool
	batchSize int64

	phase wire.DeletionPhase
	since int64
	why   string
	// When the phase began here, by the monotonic clock.
	entered time.Time
	// Another process began it.
	takenOver bool
	// The provider was asked.
	asked bool
	// Ends what is being done for it.
	cancel context.CancelCauseFunc
	ctx    context.Context
}

type evicted struct {
	pod *wire.EvictedPod
	at  time.Time // With the monotonic clock.
}

// New makes an actuator, which does nothing until Start.
func New(o Options) *Actuator {
	o.setDefaults()
	a := &Actuator{
		o: o, running: map[string]*deletion{}, batches: map[string]*batch{}, growths: map[string]*growth{}, evicting: map[string]int{}, untaint: map[string]types.UID{},
		lastAsked: time.Now(), process: fmt.Sprintf("%x", time.Now().UnixNano()),
	}
	a.o.Drainer.Evicting = a.beginEviction
	return a
}

// Start finds the deletions that are under way and goes on with them.  All ends with ctx: what was
// begun stays as it stands on the nodes.  An error: the API server did not tell.
func (a *Actuator) Start(ctx context.Context) error {
	a.ctx = ctx
	handler, err := a.o.Nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.nodeIsThere(object) },
		UpdateFunc: func(_, object any) { a.nodeIsThere(object) },
		DeleteFunc: a.nodeIsGone,
	})
	if err != nil {
		return err
	}
	if err := a.recover(ctx); err != nil {
		_ = a.o.Nodes.RemoveEventHandler(handler)
		return err
	}
	a.tasks.Go(func() {
		<-ctx.Done()
		_ = a.o.Nodes.RemoveEventHandler(handler)
	})
	a.tasks.Go(a.runErrands)
	return nil
}

// Wait returns when everything has ended, some time after the context of Start has.
func (a *Actuator) Wait() { a.tasks.Wait() }

// Running counts deletions that have not ended.
func (a *Actuator) Running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.running)
}

func (a *Actuator) now() int64 { return a.o.Now().Unix() }

func (a *Actuator) enter(d *deletion, phase wire.DeletionPhase, why string) {
	d.phase, d.since, d.why, d.entered = phase, a.now(), why, time.Now()
}

// mark is what stands on the node of a deletion that is in a phase.
func (d *deletion) mark(phase wire.DeletionPhase, since int64, why string) taint.Mark {
	return taint.Mark{
		Group: d.group, Drain: d.drain, BatchSize: d.batchSize,
		Phase: phaseNames[phase], Since: since, Why: why,
	}
}

var phaseNames = map[wire.DeletionPhase]string{
	wire.DeletionPhase_TAINTED:  "tainted",
	wire.DeletionPhase_DRAINING: "draining",
	wire.DeletionPhase_DRAINED:  "drained",
	wire.DeletionPhase_DELETING: "deleting",
	wire.DeletionPhase_FAILED:   "failed",
}

func phaseNamed(name string) (wire.DeletionPhase, bool) {
	for phase, each := range phaseNames {
		if each == name {
			return phase, true
		}
	}
	return 0, false
}

// add makes a deletion known.  REQUIRES: mu.
func (a *Actuator) add(d *deletion) {
	d.ctx, d.cancel = context.WithCancelCause(a.ctx)
	a.running[d.node] = d
	// A node has a result, or it runs.
	a.dropResultOf(d.node)
}

func (a *Actuator) dropResultOf(node string) {
	for i, result := range a.results {
		if result.Node == node {
			a.results = append(a.results[:i:i], a.results[i+1:]...)
			return
		}
	}
}

// end ends a deletion that runs.  REQUIRES: mu.
func (a *Actuator) end(d *deletion, ok bool, why string) {
	if a.running[d.node] != d {
		return
	}
	delete(a.running, d.node)
	a.leaveBatch(d)
	d.cancel(errEnded)
	a.ended++
	a.results = append(a.results, &wire.DeletionResult{
		Id: fmt.Sprintf("%s-%d", a.process, a.ended), Node: d.node, Group: d.group, Ok: ok, At: a.now(), Why: why,
	})
	a.o.Log("node %s: deletion ended, ok: %v %s", d.node, ok, why)
}

var errEnded = fmt.Errorf("the deletion has ended")

// fail has a deletion wait to be rolled back.
func (a *Actuator) fail(d *deletion, why error) {
	a.mu.Lock()
	if a.running[d.node] != d || d.phase == wire.DeletionPhase_FAILED {
		a.mu.Unlock()
		return
	}
	a.enter(d, wire.DeletionPhase_FAILED, why.Error())
	others := a.leaveBatch(d)
	mark := d.mark(d.phase, d.since, cut(d.why))
	a.mu.Unlock()
	a.o.Log("node %s: %v", d.node, why)
	a.nodeEvent(d.node, corev1.EventTypeWarning, "ScaleDownFailed", "failed to drain or delete the node: "+why.Error())
	// If it does not get there, the next process goes on from the phase before.
	a.tasks.Go(func() { _ = a.o.Marker.SetMark(d.ctx, d.node, d.uid, mark) })
	for _, other := range others {
		a.fail(other, fmt.Errorf("another node of its group failed: %s", d.node))
	}
}

// cut keeps an annotation short.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// nodeIsThere notices that a node's name is another machine's.
func (a *Actuator) nodeIsThere(object any) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := a.running[node.Name]; d != nil && d.uid != node.UID {
		a.endGone(d)
	}
}

func (a *Actuator) nodeIsGone(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.untaint, node.Name)
	if d := a.running[node.Name]; d != nil && d.uid == node.UID {
		a.endGone(d)
	}
}

// endGone ends the deletion of a node that is not there any more.  REQUIRES: mu.
func (a *Actuator) endGone(d *deletion) {
	// Also where the provider was not asked yet, or nobody remembers it: it was to go now.
	if d.asked || d.phase == wire.DeletionPhase_DELETING {
		a.end(d, true, "")
		return
	}
	a.end(d, false, "somebody else deleted the node")
}

// beginEviction notes a request before it is made.  One that is taken is in a.evicted before it leaves
// a.evicting, so that another drain that finds the budget spent always sees one of the two.
func (a *Actuator) beginEviction(pod *corev1.Pod) func(taken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evicting[pod.Namespace]++
	return func(taken bool) {
		if taken {
			a.recordEviction(pod)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.evicting[pod.Namespace]--
	}
}

func (a *Actuator) recordEviction(pod *corev1.Pod) {
	object, err := podBytes(pod)
	if err != nil {
		object = nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evicted = append(a.evicted, evicted{at: time.Now(), pod: &wire.EvictedPod{
		Namespace: pod.Namespace, Name: pod.Name, Uid: string(pod.UID), At: a.now(), Object: object,
	}})
}

func (a *Actuator) nodeEvent(name, kind, reason, message string) {
	if a.o.Recorder == nil {
		return
	}
	object, found, err := a.o.Nodes.GetStore().GetByKey(name)
	if err != nil || !found {
		object = &corev1.Node{}
		object.(*corev1.Node).Name = name
	}
	a.o.Recorder.Event(object.(*corev1.Node), kind, reason, message)
}

// node as the cache has it; nil: not there, or another machine.
func (a *Actuator) node(name string, uid types.UID) *corev1.Node {
	object, found, err := a.o.Nodes.GetStore().GetByKey(name)
	if err != nil || !found {
		return nil
	}
	node := object.(*corev1.Node)
	if uid != "" && node.UID != uid {
		return nil
	}
	return node
}
