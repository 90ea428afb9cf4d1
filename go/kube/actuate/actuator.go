// Package actuate serves the actuator protocol (wire/actuator.proto) over a Kubernetes cluster: it
// taints and cordons nodes, drains them, and makes a provider delete them. It also makes groups
// grow.
//
// The phase of a deletion is written on its node (taint.Mark) before the work of the phase begins.
// So a process that is killed at any moment loses nothing: the next process finds all deletions on
// the nodes, continues the drains and deletions under way, and waits for orders about the others.
// Results and recent evictions are only in memory. Growth of a group is not recorded: requesting
// the same size again changes nothing.
//
//	actuator := actuate.New(options)
//	err := actuator.Start(ctx)   // Finds the deletions; everything ends with ctx.
//	...                          // Its methods are the protocol's calls.
//	actuator.Wait()              // After ctx ended.
//
// Doubt: a node that is another machine, lost its taint, or received a pod while it was drained is
// never deleted. If no client calls Status any more, deletions that wait for an order are rolled
// back.
// Threads: calls may come concurrently. Calls that change something run one after the other; Status
// waits for none of them.
// Clocks: waiting times are measured with the monotonic clock; the wall clock is only used in
// reports and marks.
package actuate

import (
	"context"
	"errors"
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

// Options of an Actuator. An option is required unless it has a default.
type Options struct {
	Client   kubernetes.Interface
	Nodes    cache.SharedIndexInformer // Must run, and be synced when Start is called.
	Marker   *taint.Marker
	Drainer  *drain.Drainer
	Provider provider.Provider
	Recorder record.EventRecorder // May be nil.
	// Now is the wall clock; default time.Now.
	Now func() time.Time
	// Log receives lines for people; default: no log.
	Log func(format string, args ...any)

	// BatchInterval is how long deletions of a group are collected, to be deleted together
	// (node-deletion-batcher-interval). Default 0: each node is deleted at once.
	BatchInterval time.Duration
	// GoneWithin is how long a Node may stay after its provider accepted its deletion. Default 15
	// minutes.
	GoneWithin time.Duration
	// AbandonedAfter is how long deletions wait for an order if no client calls Status; then they
	// are rolled back. Default 10 minutes.
	AbandonedAfter time.Duration
	// EvictionsFor is how long Status reports an eviction. Default 2 minutes.
	EvictionsFor time.Duration
	// SoftTaintTime is how much of each SoftTaintWindow may be spent on soft taints
	// (max-bulk-soft-taint-time). Default 3 s of 10 s.
	SoftTaintTime, SoftTaintWindow time.Duration
	// GrowWithin is how long Grow waits for the provider; then it returns OK, and the provider
	// continues. Default 8 seconds, because ebb waits 10 seconds for a call.
	GrowWithin time.Duration
	// ErrandEvery is how often failed untaintings are retried, and abandoned deletions are looked
	// for. Default 5 s.
	ErrandEvery time.Duration
	// Name and Version are what Hello returns.
	Name, Version string
}

// taintsAtATime is the number of nodes that are tainted concurrently.
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

// Actuator taints, drains and deletes nodes. See the package comment.
type Actuator struct {
	wire.UnimplementedActuatorServer

	o     Options
	ctx   context.Context
	tasks sync.WaitGroup

	// calls is held during every call that changes the cluster. Lock it before mu.
	calls sync.Mutex
	soft  softBudget // Guarded by calls.

	mu sync.Mutex
	// The fields below are guarded by mu.
	running   map[string]*deletion
	batches   map[string]*batch
	results   []*wire.DeletionResult
	ended     int
	totals    Totals // Without Phases.
	evicted   []evicted
	evicting  map[string]int // Eviction requests without a reply yet, by namespace.
	keys      keys
	growths   map[string]*growth   // Groups whose provider has not answered yet.
	untaint   map[string]types.UID // Nodes whose mark could not be removed yet.
	lastAsked time.Time
	process   string
}

// deletion is the deletion of one node. Fields that change are guarded by Actuator.mu.
type deletion struct {
	node      string
	uid       types.UID
	group     string
	drain     bool
	batchSize int64

	phase wire.DeletionPhase
	since int64
	why   string
	// When this process entered the phase, by the monotonic clock.
	entered time.Time
	// The deletion was begun by an earlier process.
	takenOver bool
	// This process sent the deletion to the provider.
	asked bool
	// Ends ctx, and with it the work for this deletion.
	cancel context.CancelCauseFunc
	ctx    context.Context
}

type evicted struct {
	pod *wire.EvictedPod
	at  time.Time // Has a monotonic reading.
}

// New returns an actuator, which does nothing until Start.
func New(o Options) *Actuator {
	o.setDefaults()
	a := &Actuator{
		o: o, running: map[string]*deletion{}, batches: map[string]*batch{}, growths: map[string]*growth{}, evicting: map[string]int{}, untaint: map[string]types.UID{},
		lastAsked: time.Now(), process: fmt.Sprintf("%x", time.Now().UnixNano()),
	}
	a.o.Drainer.Evicting = a.beginEviction
	return a
}

// Start finds the deletions under way and continues them. Everything ends with ctx; deletions that
// have begun then stay marked on their nodes. It returns an error if the API server did not list
// the nodes.
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

// Wait waits until everything has ended, which happens some time after the context of Start ends.
func (a *Actuator) Wait() { a.tasks.Wait() }

// Running returns the number of deletions that have not ended.
func (a *Actuator) Running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.running)
}

// Totals are what this process has done, and the deletions under way.
type Totals struct {
	Ok, Failed                          int // Deletions that ended.
	EvictionsAccepted, EvictionsRefused int // Requests; a request that is retried counts each time.
	Phases                              map[string]InPhase
}

// InPhase are the deletions in a phase.
type InPhase struct {
	Nodes   int
	Longest time.Duration // Since this process entered the phase, of the deletion that has been longest in it.
}

// Totals returns the figures of this moment. Every phase is in Phases.
func (a *Actuator) Totals() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	totals := a.totals
	totals.Phases = map[string]InPhase{}
	for _, name := range phaseNames {
		totals.Phases[name] = InPhase{}
	}
	for _, d := range a.running {
		name := phaseNames[d.phase]
		phase := totals.Phases[name]
		phase.Nodes++
		phase.Longest = max(phase.Longest, time.Since(d.entered))
		totals.Phases[name] = phase
	}
	return totals
}

func (a *Actuator) now() int64 { return a.o.Now().Unix() }

func (a *Actuator) enter(d *deletion, phase wire.DeletionPhase, why string) {
	d.phase, d.since, d.why, d.entered = phase, a.now(), why, time.Now()
}

// mark returns the mark to write on the node of a deletion in a phase.
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

// add registers a deletion. REQUIRES: mu.
func (a *Actuator) add(d *deletion) {
	d.ctx, d.cancel = context.WithCancelCause(a.ctx)
	a.running[d.node] = d
	// A node is either running or has a result.
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

// end ends a running deletion. REQUIRES: mu.
func (a *Actuator) end(d *deletion, ok bool, why string) {
	if a.running[d.node] != d {
		return
	}
	delete(a.running, d.node)
	a.leaveBatch(d)
	d.cancel(errEnded)
	a.ended++
	if ok {
		a.totals.Ok++
	} else {
		a.totals.Failed++
	}
	a.results = append(a.results, &wire.DeletionResult{
		Id: fmt.Sprintf("%s-%d", a.process, a.ended), Node: d.node, Group: d.group, Ok: ok, At: a.now(), Why: why,
	})
	a.o.Log("node %s: deletion ended, ok: %v %s", d.node, ok, why)
}

var errEnded = fmt.Errorf("the deletion has ended")

// fail puts a deletion into the phase FAILED, in which it waits to be rolled back.
func (a *Actuator) fail(d *deletion, why error) {
	if refused, ok := why.(*provider.Refused); ok {
		why = errors.New(refused.Why) // Without the node's name, which all reports have beside it.
	}
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
	// If this write fails, the next process continues from the phase before.
	a.tasks.Go(func() { _ = a.o.Marker.SetMark(d.ctx, d.node, d.uid, mark) })
	for _, other := range others {
		a.fail(other, fmt.Errorf("another node of its group failed: %s", d.node))
	}
}

// cut shortens a text for an annotation.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// nodeIsThere ends a deletion if another machine now has the node's name.
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

// endGone ends the deletion of a node that no longer exists. REQUIRES: mu.
func (a *Actuator) endGone(d *deletion) {
	// ok also if the provider was not asked yet, or an earlier process may have asked it: the node
	// was about to be deleted.
	if d.asked || d.phase == wire.DeletionPhase_DELETING {
		a.end(d, true, "")
		return
	}
	a.end(d, false, "another program deleted the node")
}

// beginEviction records an eviction request before it is sent. An accepted eviction is added to
// a.evicted before it leaves a.evicting, so another drain that finds the budget spent always sees
// it in one of the two.
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
		if taken {
			a.totals.EvictionsAccepted++
		} else {
			a.totals.EvictionsRefused++
		}
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

// node returns a node from the cache; nil if it does not exist or is another machine.
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
