// Package feed finds what has changed in a cluster since the last call.
//
//	feed := feed.New()
//	for changes := range feed.Changes(nodes, lists) {
//		... // The whole cluster, a part at a time.
//	}
//	for changes := range feed.Changes(nodes, lists) {
//		... // New, changed and deleted objects.
//	}
//	... // If some of the changes were not applied:
//	feed.Reset() // The next changes are the whole cluster again.
//
// An object counts as unchanged if its pointer is the same: informers replace the objects in their
// lists and never modify them. Nodes are also compared by resource version. Objects that are built
// again for each loop, as budgets are, are compared by their bytes.
//
// Order: nodes and pods come in the order of the lists. If the lists have another order later,
// objects that exist already keep their places, unless KeepOrder is set.
// Cost:  O(nodes + pods) comparisons of pointers, and the changes.
package feed

import (
	"bytes"
	"iter"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/clusterautoscaler/wire"
)

// NodeView is a node with its pods, as a snapshot of the cluster lists them.
type NodeView struct {
	Node *v1.Node
	// The slice must stay unchanged until the next Diff. The pods are on this node, whatever their
	// spec says.
	Pods []*v1.Pod
}

// Object is an object that is not on a node.
type Object interface {
	wire.Object
	metav1.Object
	runtime.Object
}

// List holds all objects of a kind.
type List struct {
	Kind    *wire.Kind
	Objects []Object
	// The objects are built again for each loop, so they are compared by their bytes.
	ByContent bool
}

// Feed remembers the state that it has reported. Only one goroutine may use it at a time.
type Feed struct {
	// Special selects pods to count (NodeSpecial). It is called for all pods of a node whose list
	// of pods has changed. It may be nil.
	Special func(*v1.Pod) bool
	// KeepOrder makes the receiver of the changes hold nodes, and the pods of a node, in the order
	// of the views. All objects from the first displaced one on are deleted and put again, nodes
	// with their pods. If the views' order is random, that is nearly all objects each time.
	KeepOrder bool

	// Names of the last views, in their order. Only used with KeepOrder.
	order   []string
	nodes   map[string]*sentNode
	pods    *podTable
	objects map[*wire.Kind]map[types.NamespacedName]*sentObject
	loop    uint64
}

type sentNode struct {
	node     *v1.Node
	version  string
	uid      types.UID
	pods     []*v1.Pod
	sentPods []*sentPod
	special  int
	loop     uint64
	// The node must be deleted and put again.
	again bool
}

type sentObject struct {
	object Object
	bytes  []byte
	loop   uint64
}

// New returns a feed that has reported nothing yet.
func New() *Feed {
	f := &Feed{}
	f.Reset()
	return f
}

// Reset forgets the reported state, so that the next changes are the whole cluster.
func (f *Feed) Reset() {
	f.order = nil
	f.nodes = map[string]*sentNode{}
	f.pods = newPodTable(0)
	f.objects = map[*wire.Kind]map[types.NamespacedName]*sentObject{}
}

// HasNode reports whether a node was in the last views.
func (f *Feed) HasNode(name string) bool {
	_, found := f.nodes[name]
	return found
}

// Node returns a node of the last views; nil if it was not among them.
func (f *Feed) Node(name string) *v1.Node {
	if sent := f.nodes[name]; sent != nil {
		return sent.node
	}
	return nil
}

// Pod returns a pod by the name under which it was reported; nil if there is none.
func (f *Feed) Pod(name wire.PodName) *v1.Pod {
	if sent := f.pods.find(name); sent != nil {
		return sent.pod
	}
	return nil
}

// PodsOf returns a function that finds pods of a node. If they are looked up about in the order of
// the view, each lookup costs one comparison. The function also finds pods of other nodes.
func (f *Feed) PodsOf(node string) func(name wire.PodName) *v1.Pod {
	var sent []*sentPod
	if node := f.nodes[node]; node != nil {
		sent = node.sentPods
	}
	next := 0
	return func(name wire.PodName) *v1.Pod {
		for range 2 {
			if next < len(sent) && sent[next].name == name {
				next++
				return sent[next-1].pod
			}
			next++ // Skip a pod that does not move.
		}
		for i := range sent {
			if sent[i].name == name {
				next = i + 1
				return sent[i].pod
			}
		}
		return f.Pod(name)
	}
}

// NodeSpecial returns the number of special pods on a node.
func (f *Feed) NodeSpecial(name string) int {
	if sent := f.nodes[name]; sent != nil {
		return sent.special
	}
	return 0
}

// Number of changes in a part.
const partSize = 512

// Changes returns the changes since the last call, in parts. They are found during the iteration,
// which must happen exactly once. A caller that cannot process all of them stops and then calls
// Reset. lists is called after the pods have been compared; a kind that is in none of the lists
// counts as unchanged.
func (f *Feed) Changes(views []NodeView, lists func() []List) iter.Seq[[]wire.Change] {
	return func(take func([]wire.Change) bool) {
		d := diff{Feed: f, take: take, first: f.pods.count == 0 && len(f.nodes) == 0 && len(f.objects) == 0}
		d.find(views, lists)
		d.flush()
	}
}

// ChangesOf returns the changes of some nodes and their pods, as Changes does for all; `gone` are names
// of nodes that are no longer there. Other nodes and objects count as unchanged. It needs a feed
// without KeepOrder.
func (f *Feed) ChangesOf(views []NodeView, gone []string) iter.Seq[[]wire.Change] {
	return func(take func([]wire.Change) bool) {
		d := diff{Feed: f, take: take}
		d.loop++
		for i := range views {
			d.leave(&views[i])
		}
		for _, name := range gone {
			if sent := d.nodes[name]; sent != nil {
				d.drop(name, sent)
			}
		}
		d.arrive(views)
		d.flush()
	}
}

// Diff returns all changes at once.
func (f *Feed) Diff(views []NodeView, lists func() []List) []wire.Change {
	return slices.Concat(slices.Collect(f.Changes(views, lists))...)
}

type diff struct {
	*Feed
	take    func([]wire.Change) bool
	stopped bool
	// Nothing has been reported yet, so nothing can be gone: parts are passed on at once.
	first   bool
	deletes []wire.Change
	puts    []wire.Change
	left    []*sentPod
}

func (d *diff) find(views []NodeView, lists func() []List) {
	d.loop++
	if d.first {
		pods := 0
		for i := range views {
			pods += len(views[i].Pods)
		}
		d.pods = newPodTable(pods)
	}
	if d.KeepOrder {
		d.markDisplaced(views)
	}
	for i := range views {
		d.leave(&views[i])
	}
	d.leaveGoneNodes()
	d.arrive(views)
	for _, list := range lists() {
		d.list(&list)
	}
}

// arrive reports the nodes and pods of the views, after leave, and what is gone for good.
func (d *diff) arrive(views []NodeView) {
	for i := range views {
		d.node(&views[i])
	}
	for i := range views {
		d.come(&views[i])
	}
	d.dropPods()
}

// flush passes on the collected changes, deletions first.
func (d *diff) flush() {
	for _, changes := range [][]wire.Change{d.deletes, d.puts} {
		if len(changes) > 0 && !d.stopped {
			d.stopped = !d.take(changes)
		}
	}
	d.deletes, d.puts = nil, nil
}

// markDisplaced marks for deletion the nodes that have another place now, the nodes behind them,
// and nodes that are other machines with the same names. The receiver appends new nodes, so the
// nodes that stay must be the first of the views, in their old order.
func (d *diff) markDisplaced(views []NodeView) {
	now := make(map[string]types.UID, len(views))
	for i := range views {
		now[views[i].Node.Name] = views[i].Node.UID
	}
	stay := slices.DeleteFunc(d.order, func(name string) bool {
		uid, there := now[name]
		other := uid != d.nodes[name].uid
		d.nodes[name].again = other
		return !there || other
	})
	right := 0
	for right < len(stay) && views[right].Node.Name == stay[right] {
		right++
	}
	for _, name := range stay[right:] {
		d.nodes[name].again = true
	}
	d.order = make([]string, len(views))
	for i := range views {
		d.order[i] = views[i].Node.Name
	}
}

// markPods marks the node's pods for deletion from the first one on that has another place.
// Deleting them leaves the pods before them in their places.
func (d *diff) markPods(sent *sentNode, pods []*v1.Pod) {
	right := 0
	for !sent.again && right < len(pods) && right < len(sent.pods) && sent.pods[right] == pods[right] {
		right++
	}
	for _, pod := range sent.sentPods[right:] {
		pod.again = true
	}
}

// leave marks the pods of a changed node as gone; come finds the pods that still exist.
func (d *diff) leave(view *NodeView) {
	sent := d.nodes[view.Node.Name]
	if sent == nil {
		return
	}
	sent.loop = d.loop
	if slices.Equal(sent.pods, view.Pods) && !sent.again {
		return
	}
	if d.KeepOrder {
		d.markPods(sent, view.Pods)
	}
	d.leavePods(sent)
}

func (d *diff) leavePods(sent *sentNode) {
	for _, pod := range sent.sentPods {
		pod.there = false
	}
	d.left = append(d.left, sent.sentPods...)
	sent.pods = nil
}

func (d *diff) leaveGoneNodes() {
	for name, sent := range d.nodes {
		if sent.loop == d.loop {
			continue
		}
		if d.KeepOrder {
			d.markPods(sent, nil)
		}
		d.drop(name, sent)
	}
}

func (d *diff) drop(name string, sent *sentNode) {
	d.leavePods(sent)
	d.deletes = append(d.deletes, gone(wire.Node, "", name, ""))
	delete(d.nodes, name)
}

func (d *diff) node(view *NodeView) {
	node := view.Node
	sent := d.nodes[node.Name]
	switch {
	case sent == nil:
		sent = &sentNode{loop: d.loop}
		d.nodes[node.Name] = sent
		d.put(wire.Node, node)
	case sent.uid != node.UID || sent.again:
		sent.again = false
		d.deletes = append(d.deletes, gone(wire.Node, "", node.Name, ""))
		d.put(wire.Node, node)
	case sent.node != node || sent.version != node.ResourceVersion:
		// The autoscaler modifies copies of nodes and leaves their version unchanged.
		unversioned := *node
		unversioned.ResourceVersion = ""
		d.put(wire.Node, &unversioned)
	}
	sent.node, sent.version, sent.uid = node, node.ResourceVersion, node.UID
}

func (d *diff) come(view *NodeView) {
	sent := d.nodes[view.Node.Name]
	if sent.pods != nil && len(sent.pods) == len(view.Pods) {
		sent.pods = view.Pods
		return
	}
	sent.pods = view.Pods
	if sent.pods == nil {
		sent.pods = []*v1.Pod{}
	}
	sent.sentPods = make([]*sentPod, len(view.Pods))
	sent.special = 0
	for i, pod := range view.Pods {
		sent.sentPods[i] = d.pod(pod, view.Node.Name)
		if d.Special != nil && d.Special(pod) {
			sent.special++
		}
	}
}

// pod returns the pod's record, and reports the pod if it is new or changed.
func (d *diff) pod(pod *v1.Pod, node string) *sentPod {
	sent := d.record(pod)
	name := sent.name
	if sent.again {
		sent.again = false
		sent.pod = nil
		d.deletes = append(d.deletes, gone(wire.Pod, name.Namespace, name.Name, ""))
	}
	if sent.pod == pod && sent.node == node {
		sent.there = true
		return sent
	}
	known := sent.pod != nil && sent.uid == string(pod.UID)
	if sent.pod != nil && !known {
		d.deletes = append(d.deletes, gone(wire.Pod, name.Namespace, name.Name, ""))
	}
	sent.pod, sent.uid, sent.node, sent.there = pod, string(pod.UID), node, true
	if !known && pod.Spec.NodeName == node && pod.Name == name.Name {
		d.put(wire.Pod, pod)
		return sent
	}
	changed := *pod
	changed.Spec.NodeName = node
	changed.ResourceVersion = ""
	if pod.Name != name.Name {
		changed.Name = name.Name
		changed.UID += types.UID(name.Name[len(pod.Name):])
	}
	d.put(wire.Pod, &changed)
	return sent
}

// record returns the record for a pod; a new record has no pod yet. While its node is drained, a
// pod is listed twice: on its node, and on the node planned for its successor. All but the first
// get a name that no real pod can have.
func (d *diff) record(pod *v1.Pod) *sentPod {
	name := wire.PodName{Namespace: pod.Namespace, Name: pod.Name}
	for i := 2; ; i++ {
		sent := d.pods.record(name)
		if !sent.there {
			return sent
		}
		name.Name = pod.Name + "_" + strconv.Itoa(i)
	}
}

func (d *diff) dropPods() {
	for _, sent := range d.left {
		// A pod may be listed twice.
		if sent.there || sent.pod == nil {
			continue
		}
		d.deletes = append(d.deletes, gone(wire.Pod, sent.name.Namespace, sent.name.Name, ""))
		d.pods.drop(sent)
		sent.pod = nil
	}
}

func (d *diff) list(list *List) {
	known := d.objects[list.Kind]
	if known == nil {
		known = make(map[types.NamespacedName]*sentObject, len(list.Objects))
		d.objects[list.Kind] = known
	}
	for _, object := range list.Objects {
		d.object(list, known, object)
	}
	for name, sent := range known {
		if sent.loop != d.loop {
			d.deletes = append(d.deletes, gone(list.Kind, name.Namespace, name.Name, ""))
			delete(known, name)
		}
	}
}

func (d *diff) object(list *List, known map[types.NamespacedName]*sentObject, object Object) {
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	sent := known[name]
	if sent == nil {
		sent = &sentObject{}
		known[name] = sent
	}
	sent.loop = d.loop
	if sent.object == object && !list.ByContent {
		return
	}
	if list.ByContent {
		now, err := wire.Marshal(list.Kind, object)
		if err == nil && bytes.Equal(sent.bytes, now) {
			return
		}
		sent.bytes = now
	}
	if sent.object != nil && sent.object.GetUID() != object.GetUID() {
		d.deletes = append(d.deletes, gone(list.Kind, name.Namespace, name.Name, ""))
	}
	// An engine skips an object whose version it has already.
	if sent.object != nil && sent.object.GetResourceVersion() == object.GetResourceVersion() {
		d.put(list.Kind, withoutVersion(object))
	} else {
		d.put(list.Kind, object)
	}
	sent.object = object
}

func withoutVersion(object Object) wire.Object {
	copied := object.DeepCopyObject().(Object)
	copied.SetResourceVersion("")
	return copied
}

func (d *diff) put(kind *wire.Kind, object wire.Object) {
	if d.puts == nil && d.first {
		d.puts = make([]wire.Change, 0, partSize)
	}
	d.puts = append(d.puts, wire.Change{Kind: kind, Object: object})
	if d.first && len(d.puts) == partSize {
		d.flush()
	}
}

func gone(kind *wire.Kind, namespace, name, uid string) wire.Change {
	return wire.Change{Kind: kind, Namespace: namespace, Name: name, UID: uid}
}
