// Package feed keeps a session of `ebb serve` equal to a cluster, through client-go informers.
// Nothing is polled, and only changes are sent, in Kubernetes' protobuf.
//
//	factory := feed.NewFactory(client)
//	feeder, err := feed.New(feed.Options{Factory: factory, Kinds: feed.Kinds, Discovery: client.Discovery(),
//	    Dynamic: dynamic, Daemon: daemon, Session: "prod"})
//	factory.Start(ctx.Done())
//	err = feeder.Run(ctx)        // Until ctx ends.
//
// A full resync sends every object. The feeder makes one at the start, after the stream to the
// daemon was lost (for example because the daemon restarted), after a watch broke and had to list
// again, and after an object arrived with a lower version than before (a backup of etcd was
// restored).
//
// The feeder sends the UID of the namespace kube-system, which identifies the cluster: the daemon
// rejects a feeder of another cluster than its session's. It also sends the API server's version,
// the kinds whose watches are broken, and the kinds that it cannot list.
//
// If an object changes faster than the daemon accepts changes, only its last state is sent.
// Memory: the informers' caches; and for each waiting change, its name and a pointer.
// Threads: Run is called once; all other methods may be called concurrently.
package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/daemon"
	"ebb/go/kube/wire/object"
)

// Options of a Feeder.
type Options struct {
	Factory informers.SharedInformerFactory
	Kinds   []*Kind
	// Dynamic follows the optional kinds that Discovery finds. If either is nil, no optional kind
	// is followed, and the API server's version is not sent.
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface
	// LookEvery is how often the API server is asked which optional kinds it serves, and for its
	// version. Default 1 minute.
	LookEvery time.Duration
	Daemon    *daemon.Client
	Session   string
	// Settings returns the session's settings; it is called before each full resync. Nil: the
	// session keeps its settings.
	Settings func(context.Context) (*plannerpb.Settings, error)
	// Linger is how long to wait after a change for further changes of the same batch. Default 20
	// ms.
	Linger time.Duration
	// BatchObjects and BatchBytes limit a message. Defaults 2,000 and 4 MiB.
	BatchObjects, BatchBytes int
	// BackOffMax limits the wait after a lost stream. Default 10 s.
	BackOffMax time.Duration
	// Log receives lines for people; default: no log.
	Log func(format string, args ...any)
}

// NewFactory returns informers that drop fields that no decision reads.
func NewFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(forget))
}

// forget drops managedFields, which are large and decide nothing.
func forget(object any) (any, error) {
	if meta, ok := object.(metav1.Object); ok {
		meta.SetManagedFields(nil)
	}
	return object, nil
}

// Progress is how far the daemon has followed the cluster.
type Progress struct {
	Version uint64 // The session's version in its last acknowledgement.
	Resyncs int    // Acknowledged full resyncs.
	Puts    int    // Objects sent, also in resyncs.
	Deletes int
	// Waiting is the number of changes that are not acknowledged yet. If it is 0 and Resyncs is
	// above 0, the daemon has everything that the informers have.
	Waiting int
	// Connected: there is a stream, and its resync was acknowledged.
	Connected bool
	Broken    int // Kinds whose watch is broken, or that cannot be listed.
}

// Feeder sends changes. See the package comment.
type Feeder struct {
	o       Options
	wake    chan struct{}
	running sync.WaitGroup // Informers of optional kinds.

	mu        sync.Mutex
	kinds     []*Kind // Followed kinds, in the order of a resync.
	informers map[*Kind]cache.SharedIndexInformer
	followed  map[*Kind]*followed // By the row of o.Kinds.
	unknown   map[*Kind]bool      // Rows for which discovery failed.
	version   string              // The API server's; "": unknown.
	pending   map[key]*change
	order     []key
	inFlight  int
	broken    map[*Kind]*brokenWatch
	// The list of broken watches has changed and must be sent.
	sendBroken bool
	resync     bool
	progress   Progress
	// Since when the daemon has been missing changes; zero if it misses none, or only those of a
	// broken watch.
	outOfSync time.Time
	said      bool // sayKinds has logged which kinds are fed.
}

// brokenWatch is a watch that broke and has not recovered yet.
type brokenWatch struct {
	version string // The version that it had reached when it broke.
	// No list of this kind has succeeded yet.
	neverListed bool
	since       time.Time
	last        time.Time // The last failure.
}

// healed is how long a watch must not fail to count as recovered even if nothing has changed since.
// client-go retries a failing watch within a minute.
const healed = 2 * time.Minute

type key struct {
	kind            *Kind
	namespace, name string
}

// change is the change of one object that is to be sent.
type change struct {
	// The object that the daemon has under this name must be deleted first.
	gone   bool
	object metav1.Object // Nil: no object has this name now.
}

// New returns a feeder over informers that have not started yet.
func New(o Options) (*Feeder, error) {
	if o.Linger == 0 {
		o.Linger = 20 * time.Millisecond
	}
	if o.BatchObjects == 0 {
		o.BatchObjects = 2000
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = 4 << 20
	}
	if o.BackOffMax == 0 {
		o.BackOffMax = 10 * time.Second
	}
	if o.LookEvery == 0 {
		o.LookEvery = time.Minute
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	f := &Feeder{
		o: o, informers: map[*Kind]cache.SharedIndexInformer{}, wake: make(chan struct{}, 1),
		pending: map[key]*change{}, broken: map[*Kind]*brokenWatch{}, followed: map[*Kind]*followed{},
	}
	f.arrange()
	for _, kind := range f.kinds {
		informer := kind.informer(o.Factory)
		f.informers[kind] = informer
		if err := f.follow(kind, informer); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Resource, err)
		}
	}
	return f, nil
}

func (f *Feeder) follow(kind *Kind, informer cache.SharedIndexInformer) error {
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if errors.Is(err, io.EOF) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			return // The server ended the watch, as it does from time to time; no event was missed.
		}
		if f.noteBroken(kind, informer) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			f.o.Log("the watch of %v broke: %v", kind, err)
		}
	})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { f.changed(kind, nil, object) },
		UpdateFunc: func(before, object any) {
			old, _ := before.(metav1.Object)
			f.changed(kind, old, object)
		},
		DeleteFunc: func(object any) { f.deleted(kind, object) },
	})
	return err
}

// noteBroken records a failed watch. It returns whether to log the failure: a kind that was never
// listed is logged once.
func (f *Feeder) noteBroken(kind *Kind, informer cache.SharedIndexInformer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.informers[kind] == nil {
		return false // The kind is no longer served.
	}
	watch := f.broken[kind]
	news := watch == nil || !watch.neverListed
	if watch == nil {
		watch = &brokenWatch{
			version: informer.LastSyncResourceVersion(), neverListed: !informer.HasSynced(), since: time.Now(),
		}
		f.broken[kind] = watch
		f.sendBroken = true
	}
	watch.last = time.Now()
	f.signal()
	return news
}

func (f *Feeder) changed(kind *Kind, before metav1.Object, now any) {
	object, ok := now.(metav1.Object)
	if !ok || (before != nil && before.GetResourceVersion() == object.GetResourceVersion() && before.GetUID() == object.GetUID()) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.informers[kind] == nil {
		return
	}
	c := f.changeOf(key{kind, object.GetNamespace(), object.GetName()})
	c.object = object
	if before != nil && before.GetUID() != object.GetUID() {
		c.gone = true
	}
	if before != nil && isOlder(object, before) {
		f.resync = true
	}
	f.signal()
}

// isOlder compares resource versions if both are whole numbers, as API servers write them.
func isOlder(a, b metav1.Object) bool {
	first, err := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	second, also := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return err == nil && also == nil && first < second
}

func (f *Feeder) deleted(kind *Kind, last any) {
	if unknown, ok := last.(cache.DeletedFinalStateUnknown); ok {
		last = unknown.Obj
	}
	object, ok := last.(metav1.Object)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.informers[kind] == nil {
		return
	}
	c := f.changeOf(key{kind, object.GetNamespace(), object.GetName()})
	c.gone, c.object = true, nil
	f.signal()
}

// changeOf returns the waiting change of an object, or adds one. REQUIRES: mu.
func (f *Feeder) changeOf(k key) *change {
	c := f.pending[k]
	if c == nil {
		c = &change{}
		f.pending[k] = c
		f.order = append(f.order, k)
	}
	return c
}

func (f *Feeder) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Progress returns how far the daemon has followed.
func (f *Feeder) Progress() Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.progress
	p.Broken = len(f.broken) + len(f.unknown)
	p.Waiting = len(f.pending) + f.inFlight
	if f.resync {
		p.Waiting++
	}
	return p
}

// Run feeds the daemon until ctx ends, and returns the cause.
func (f *Feeder) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer f.running.Wait()
	defer cancel(nil)
	f.noteOutOfSync()
	for _, each := range f.followedNow() {
		if !cache.WaitForCacheSync(ctx.Done(), each.informer.HasSynced) {
			return fmt.Errorf("%s: %w", each.kind.Resource, context.Cause(ctx))
		}
	}
	if f.o.Dynamic != nil && f.o.Discovery != nil {
		f.look(ctx)
		f.running.Go(func() { f.keepLooking(ctx) })
	}
	f.sayKinds()
	wait := time.Duration(0)
	for {
		resyncs := f.Progress().Resyncs
		err := f.stream(ctx)
		f.setConnected(false)
		f.noteOutOfSync()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if f.Progress().Resyncs > resyncs {
			wait = 0
		}
		wait = min(max(2*wait, 200*time.Millisecond), f.o.BackOffMax)
		f.o.Log("the daemon: %v; again in %v", err, wait)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// informing is a followed kind with its informer.
type informing struct {
	kind     *Kind
	informer cache.SharedIndexInformer
}

// followedNow returns the followed kinds, in the order of a resync.
func (f *Feeder) followedNow() []informing {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := make([]informing, 0, len(f.kinds))
	for _, kind := range f.kinds {
		now = append(now, informing{kind, f.informers[kind]})
	}
	return now
}

func (f *Feeder) setConnected(connected bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress.Connected = connected
	f.inFlight = 0
}

// noteOutOfSync records that the daemon misses changes from now on, until a resync.
func (f *Feeder) noteOutOfSync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outOfSync.IsZero() {
		f.outOfSync = time.Now()
	}
}

// lookAtBroken is how often a broken watch is checked, until it has recovered.
const lookAtBroken = 250 * time.Millisecond

// stream feeds over one stream until the stream is lost.
func (f *Feeder) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &sender{feeder: f}
	var err error
	if s.stream, err = f.o.Daemon.Sync(ctx); err != nil {
		return err
	}
	s.follow()
	defer s.ended.Wait()
	defer cancel()
	if err := s.resync(ctx); err != nil {
		return err
	}
	for {
		again := f.isResyncDue()
		if again {
			if err := s.resync(ctx); err != nil {
				return err
			}
		}
		if err := s.sendChanges(ctx); err != nil {
			return err
		}
		if err := f.waitForChanges(ctx, s); err != nil {
			return err
		}
	}
}

// waitForChanges returns when there are changes, or when a broken watch may have recovered.
func (f *Feeder) waitForChanges(ctx context.Context, s *sender) error {
	f.mu.Lock()
	due := len(f.pending) > 0 || f.resync || f.sendBroken || f.version != s.version
	var look <-chan time.Time
	if len(f.broken) > 0 {
		look = time.After(lookAtBroken)
	}
	f.mu.Unlock()
	if due {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.over:
		return s.failed()
	case <-look:
		return nil
	case <-f.wake:
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(f.o.Linger):
		return nil
	}
}

// isResyncDue reports whether a resync was requested, or a broken watch has listed again.
func (f *Feeder) isResyncDue() bool {
	f.mu.Lock()
	var back []*Kind
	defer func() { f.sayHealed(back) }()
	defer f.mu.Unlock()
	for kind, watch := range f.broken {
		informer := f.informers[kind]
		healed := informer.LastSyncResourceVersion() != watch.version || time.Since(watch.last) > healed
		if watch.neverListed {
			healed = informer.HasSynced()
		}
		if healed {
			delete(f.broken, kind)
			back = append(back, kind)
			f.sendBroken = true
			f.resync = true
		}
	}
	return f.resync
}

// takeBroken returns the broken watches if the daemon does not know the current list; otherwise
// nil.
func (f *Feeder) takeBroken() *plannerpb.BrokenWatches {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.sendBroken {
		return nil
	}
	f.sendBroken = false
	broken := &plannerpb.BrokenWatches{}
	for _, row := range f.o.Kinds {
		kind := row
		if now := f.followed[row]; now != nil {
			kind = now.kind
		}
		if watch := f.broken[kind]; watch != nil {
			broken.Watches = append(broken.Watches, &plannerpb.BrokenWatch{
				Kind: kind.String(), Since: watch.since.Unix(), NeverListed: watch.neverListed,
			})
		} else if f.unknown[row] {
			broken.Watches = append(broken.Watches, &plannerpb.BrokenWatch{Kind: row.String(), NeverListed: true})
		}
	}
	return broken
}

func (f *Feeder) versionNow() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

func (f *Feeder) hasBrokenToSend() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sendBroken
}

// clusterUID returns the UID of the namespace kube-system; "" if namespaces are not followed or it
// does not exist.
func (f *Feeder) clusterUID() string {
	for _, each := range f.followedNow() {
		if each.kind.Kind != "Namespace" {
			continue
		}
		if space, found, err := each.informer.GetStore().GetByKey(metav1.NamespaceSystem); err == nil && found {
			if object, ok := space.(metav1.Object); ok {
				return string(object.GetUID())
			}
		}
	}
	return ""
}

// takePending removes all changes from the queue and returns them.
func (f *Feeder) takePending() ([]key, map[key]*change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	order, pending := f.order, f.pending
	f.order, f.pending = nil, map[key]*change{}
	f.inFlight = len(pending)
	return order, pending
}

func putOf(kind *Kind, of metav1.Object) (*plannerpb.Change, int, error) {
	if custom, ok := of.(*unstructured.Unstructured); ok {
		data, err := custom.MarshalJSON()
		if err != nil {
			return nil, 0, fmt.Errorf("%v %s/%s: %w", kind, of.GetNamespace(), of.GetName(), err)
		}
		return &plannerpb.Change{Change: &plannerpb.Change_PutJson{PutJson: data}}, len(data), nil
	}
	message, ok := of.(object.Message)
	if !ok {
		return nil, 0, fmt.Errorf("%s %s/%s: %T has no protobuf encoding", kind.Kind, of.GetNamespace(), of.GetName(), of)
	}
	data, err := object.Marshal(kind.GroupVersion, kind.Kind, message)
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s/%s: %w", kind.Kind, of.GetNamespace(), of.GetName(), err)
	}
	return &plannerpb.Change{Change: &plannerpb.Change_PutProtobuf{PutProtobuf: data}}, len(data), nil
}

func deleteOf(k key) (*plannerpb.Change, int, error) {
	if !k.kind.Optional {
		return &plannerpb.Change{Change: &plannerpb.Change_Delete{Delete: &plannerpb.Deletion{
			Kind: k.kind.Kind, Namespace: k.namespace, Name: k.name,
		}}}, 0, nil
	}
	// Kinds of several groups can share a name, so the deletion also names the group.
	gone := &unstructured.Unstructured{}
	gone.SetAPIVersion(k.kind.GroupVersion)
	gone.SetKind(k.kind.Kind)
	gone.SetNamespace(k.namespace)
	gone.SetName(k.name)
	data, err := gone.MarshalJSON()
	if err != nil {
		return nil, 0, fmt.Errorf("%v %s/%s: %w", k.kind, k.namespace, k.name, err)
	}
	return &plannerpb.Change{Change: &plannerpb.Change_DeleteJson{DeleteJson: data}}, len(data), nil
}
