package feed_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/clusterautoscaler/feed"
	"ebb/go/clusterautoscaler/wire"
)

func node(name, version string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: version}}
}

func pod(name, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7"},
		Spec:       v1.PodSpec{NodeName: node},
	}
}

func view(node *v1.Node, pods ...*v1.Pod) feed.NodeView { return feed.NodeView{Node: node, Pods: pods} }

func none() []feed.List { return nil }

// texts returns changes as "+Pod p@n" and "-Node n".
func texts(changes []wire.Change) []string {
	var said []string
	for _, change := range changes {
		switch object := change.Object.(type) {
		case nil:
			said = append(said, fmt.Sprintf("-%s %s", change.Kind.Name, change.Name))
		case *v1.Pod:
			said = append(said, fmt.Sprintf("+Pod %s@%s", object.Name, object.Spec.NodeName))
		default:
			said = append(said, fmt.Sprintf("+%s %s", change.Kind.Name, object.GetName()))
		}
	}
	return said
}

func expect(t *testing.T, changes []wire.Change, want ...string) {
	t.Helper()
	if got := texts(changes); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSendsOnlyWhatChanged(t *testing.T) {
	f := feed.New()
	a, b := node("a", "1"), node("b", "1")
	p, q := pod("p", "a"), pod("q", "a")
	expect(t, f.Diff([]feed.NodeView{view(a, p, q), view(b)}, none), "+Node a", "+Node b", "+Pod p@a", "+Pod q@a")
	expect(t, f.Diff([]feed.NodeView{view(b), view(a, p, q)}, none))

	moved := pod("q", "b")
	expect(t, f.Diff([]feed.NodeView{view(a, p), view(b, moved)}, none), "+Pod q@b")
	expect(t, f.Diff([]feed.NodeView{view(a), view(b, moved)}, none), "-Pod p")
	expect(t, f.Diff([]feed.NodeView{view(b, moved)}, none), "-Node a")
	f.Reset()
	expect(t, f.Diff([]feed.NodeView{view(b, moved)}, none), "+Node b", "+Pod q@b")
}

func TestNodeIsSentAgain(t *testing.T) {
	a := node("a", "1")
	for _, test := range []struct {
		name    string
		next    func() *v1.Node
		want    []string
		version string
	}{
		{"the same", func() *v1.Node { return a }, nil, ""},
		{"a copy of the same version", func() *v1.Node { return a.DeepCopy() }, []string{"+Node a"}, ""},
		{"another version", func() *v1.Node { return node("a", "2") }, []string{"+Node a"}, ""},
		{"changed in place", func() *v1.Node { a.ResourceVersion = "3"; return a }, []string{"+Node a"}, ""},
		{"another node of that name", func() *v1.Node {
			other := node("a", "1")
			other.UID = "other"
			return other
		}, []string{"-Node a", "+Node a"}, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a = node("a", "1")
			f := feed.New()
			f.Diff([]feed.NodeView{view(a)}, none)
			changes := f.Diff([]feed.NodeView{view(test.next())}, none)
			expect(t, changes, test.want...)
			if len(changes) == 0 {
				return
			}
			// An engine skips an object whose version it has already.
			if sent := changes[len(changes)-1].Object.(*v1.Node); sent.ResourceVersion != test.version {
				t.Errorf("version %q, want %q", sent.ResourceVersion, test.version)
			}
		})
	}
}

func TestPodSitsWhereTheSnapshotHasIt(t *testing.T) {
	f := feed.New()
	waiting := pod("p", "")
	changes := f.Diff([]feed.NodeView{view(node("a", "1"), waiting)}, none)
	expect(t, changes, "+Node a", "+Pod p@a")
	if waiting.Spec.NodeName != "" || waiting.ResourceVersion != "7" {
		t.Error("the pod of the snapshot was changed")
	}
	if f.Pod(wire.PodName{Namespace: "default", Name: "p"}) != waiting {
		t.Error("the pod is not found by its name")
	}
}

func TestPodWithAnotherUIDIsAnother(t *testing.T) {
	f := feed.New()
	a := node("a", "1")
	f.Diff([]feed.NodeView{view(a, pod("p", "a"))}, none)
	other := pod("p", "a")
	other.UID = "other"
	expect(t, f.Diff([]feed.NodeView{view(a, other)}, none), "-Pod p", "+Pod p@a")
}

// While its node is drained, a pod is listed twice.
func TestPodThatIsThereTwice(t *testing.T) {
	f := feed.New()
	a, b := node("a", "1"), node("b", "1")
	old, successor := pod("p", "a"), pod("p", "")
	changes := f.Diff([]feed.NodeView{view(a, old), view(b, successor)}, none)
	expect(t, changes, "+Node a", "+Node b", "+Pod p@a", "+Pod p_2@b")
	if uid := changes[3].Object.(*v1.Pod).UID; uid != "uid-p_2" {
		t.Errorf("UID %q", uid)
	}
	if f.Pod(wire.PodName{Namespace: "default", Name: "p_2"}) != successor {
		t.Error("the second one is not found")
	}
	expect(t, f.Diff([]feed.NodeView{view(a, old), view(b, successor)}, none))
	expect(t, f.Diff([]feed.NodeView{view(a), view(b, successor)}, none), "-Pod p")
}

func TestObjects(t *testing.T) {
	budget := func(version string, allowed int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "budget", UID: "uid", ResourceVersion: version},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}}
	}
	lists := func(budgets ...feed.Object) func() []feed.List {
		return func() []feed.List {
			return []feed.List{{Kind: wire.PodDisruptionBudget, Objects: budgets, ByContent: true}}
		}
	}
	f := feed.New()
	expect(t, f.Diff(nil, lists(budget("1", 2))), "+PodDisruptionBudget budget")
	expect(t, f.Diff(nil, lists(budget("1", 2))))
	changes := f.Diff(nil, lists(budget("1", 1)))
	expect(t, changes, "+PodDisruptionBudget budget")
	if sent := changes[0].Object.(*policyv1.PodDisruptionBudget); sent.ResourceVersion != "" {
		t.Errorf("version %q", sent.ResourceVersion)
	}
	expect(t, f.Diff(nil, none))
	expect(t, f.Diff(nil, lists()), "-PodDisruptionBudget budget")
}

func TestSpecialPods(t *testing.T) {
	f := feed.New()
	f.Special = func(pod *v1.Pod) bool { return pod.Name == "p" }
	a := node("a", "1")
	f.Diff([]feed.NodeView{view(a, pod("p", "a"), pod("q", "a"))}, none)
	if f.NodeSpecial("a") != 1 {
		t.Error("p is not seen")
	}
	f.Diff([]feed.NodeView{view(a)}, none)
	if f.NodeSpecial("a") != 0 || f.NodeSpecial("b") != 0 {
		t.Error("p is seen where it is not")
	}
}

func many(pods int) []feed.NodeView {
	a := view(node("a", "1"))
	for i := range pods {
		a.Pods = append(a.Pods, pod(fmt.Sprint("p", i), "a"))
	}
	return []feed.NodeView{a}
}

func TestTheFirstChangesComeWhileOthersAreFound(t *testing.T) {
	views := many(2000)
	f := feed.New()
	asked := false
	parts, last := 0, 0
	for part := range f.Changes(views, func() []feed.List { asked = true; return nil }) {
		if parts == 0 && asked {
			t.Error("all was found before the first part came")
		}
		parts++
		last = len(part)
	}
	if parts != 4 || last != 2001-3*512 || !asked {
		t.Errorf("%d parts, %d in the last, lists asked for: %v", parts, last, asked)
	}
	if again := f.Diff(views, none); len(again) > 0 {
		t.Errorf("%d changes are sent twice", len(again))
	}
	// Later changes come all at once: deletions are complete only at the end, and come first.
	views[0].Pods = append(slices.Clone(views[0].Pods[1:]), many(4000)[0].Pods[2000:]...)
	for part := range f.Changes(views, none) {
		if len(part) != 1 && len(part) != 2000 {
			t.Errorf("a part of %d", len(part))
		}
	}
}

func TestAllChangesAreSentAfterAReset(t *testing.T) {
	views := many(2000)
	f := feed.New()
	for range f.Changes(views, none) {
		break
	}
	f.Reset()
	if changes := f.Diff(views, none); len(changes) != 2001 {
		t.Errorf("%d changes", len(changes))
	}
}

func TestPodsOf(t *testing.T) {
	f := feed.New()
	views := append(many(50), view(node("b", "1"), pod("q", "b")))
	f.Diff(views, none)
	random := rand.New(rand.NewSource(1))
	for range 100 {
		find := f.PodsOf("a")
		for range 30 {
			i := random.Intn(50)
			if got := find(wire.PodName{Namespace: "default", Name: fmt.Sprint("p", i)}); got != views[0].Pods[i] {
				t.Fatalf("p%d is %v", i, got)
			}
		}
		if find(wire.PodName{Namespace: "default", Name: "q"}) != views[1].Pods[0] {
			t.Error("a pod of another node is not found")
		}
		if find(wire.PodName{Namespace: "other", Name: "p1"}) != nil || f.PodsOf("c")(wire.PodName{Namespace: "default", Name: "z"}) != nil {
			t.Error("found what is not there")
		}
	}
}

// A receiver of the changes must hold what the views show, after any sequence of views.
func TestChangesLeadToTheViews(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	f := feed.New()
	held := map[string]string{}
	nodes := map[string]bool{}
	var views []feed.NodeView
	for step := range 2000 {
		views = change(random, views)
		for _, said := range f.Diff(views, none) {
			switch object := said.Object.(type) {
			case nil:
				if said.Kind == wire.Node {
					delete(nodes, said.Name)
				} else {
					delete(held, said.Name)
				}
			case *v1.Pod:
				held[object.Name] = object.Spec.NodeName
			case *v1.Node:
				nodes[object.Name] = true
			}
		}
		pods := 0
		for _, view := range views {
			pods += len(view.Pods)
			for _, pod := range view.Pods {
				if held[pod.Name] != view.Node.Name {
					t.Fatalf("step %d: pod %s is on %q, not on %s", step, pod.Name, held[pod.Name], view.Node.Name)
				}
			}
		}
		if pods != len(held) || len(nodes) != len(views) {
			t.Fatalf("step %d: %d pods and %d nodes are held, %d and %d are there", step, len(held), len(nodes), pods, len(views))
		}
	}
}

// holder applies changes as a receiver with an order of its own: a new node comes last; the last
// pod of a node takes the place of a deleted one; the pods of a node that returns are in any order.
type holder struct {
	random *rand.Rand
	nodes  []string
	pods   map[string][]string
	node   map[string]string
}

func (h *holder) take(change wire.Change) {
	switch object := change.Object.(type) {
	case nil:
		if change.Kind == wire.Node {
			h.nodes = slices.DeleteFunc(h.nodes, func(name string) bool { return name == change.Name })
			return
		}
		h.leave(change.Name)
		delete(h.node, change.Name)
	case *v1.Node:
		if slices.Contains(h.nodes, object.Name) {
			return
		}
		h.nodes = append(h.nodes, object.Name)
		pods := h.pods[object.Name]
		h.random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	case *v1.Pod:
		h.leave(object.Name)
		h.node[object.Name] = object.Spec.NodeName
		h.pods[object.Spec.NodeName] = append(h.pods[object.Spec.NodeName], object.Name)
	}
}

func (h *holder) leave(pod string) {
	pods := h.pods[h.node[pod]]
	if i := slices.Index(pods, pod); i >= 0 {
		pods[i] = pods[len(pods)-1]
		h.pods[h.node[pod]] = pods[:len(pods)-1]
	}
}

func TestKeepOrder(t *testing.T) {
	for seed := range int64(20) {
		random := rand.New(rand.NewSource(seed))
		f := feed.New()
		f.KeepOrder = true
		held := &holder{random: random, pods: map[string][]string{}, node: map[string]string{}}
		var views []feed.NodeView
		for step := range 300 {
			views = slices.Clone(views)
			for range random.Intn(4) {
				views = change(random, views)
			}
			reorder(random, views)
			for _, said := range f.Diff(views, none) {
				held.take(said)
			}
			var nodes []string
			for _, view := range views {
				nodes = append(nodes, view.Node.Name)
				var pods []string
				for _, pod := range view.Pods {
					pods = append(pods, pod.Name)
				}
				if !slices.Equal(held.pods[view.Node.Name], pods) {
					t.Fatalf("seed %d, step %d: on %s are %q, not %q", seed, step, view.Node.Name, held.pods[view.Node.Name], pods)
				}
			}
			if !slices.Equal(held.nodes, nodes) {
				t.Fatalf("seed %d, step %d: nodes are %q, not %q", seed, step, held.nodes, nodes)
			}
			if again := f.Diff(views, none); len(again) > 0 {
				t.Fatalf("seed %d, step %d: sent twice: %q", seed, step, texts(again))
			}
		}
	}
}

// reorder sometimes changes the order of nodes and pods, and replaces nodes by others of the same
// names.
func reorder(random *rand.Rand, views []feed.NodeView) {
	switch random.Intn(6) {
	case 0:
		random.Shuffle(len(views), func(i, j int) { views[i], views[j] = views[j], views[i] })
	case 1:
		for i := range views {
			pods := slices.Clone(views[i].Pods)
			random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
			views[i].Pods = pods
		}
	case 2:
		if len(views) > 0 {
			i := random.Intn(len(views))
			other := views[i].Node.DeepCopy()
			other.UID += "x"
			views[i].Node = other
		}
	case 3:
		if len(views) > 0 {
			i := random.Intn(len(views))
			pods := slices.Clone(views[i].Pods)
			if len(pods) > 0 {
				j := random.Intn(len(pods))
				pods[j] = pods[j].DeepCopy()
				pods[j].Labels = map[string]string{"changed": "yes"}
				views[i].Pods = pods
			}
		}
	}
}

var made int

func change(random *rand.Rand, views []feed.NodeView) []feed.NodeView {
	made++
	switch kind := random.Intn(6); {
	case kind == 0 || len(views) == 0:
		return append(views, view(node(fmt.Sprint("n", made), "1")))
	case kind == 1 && random.Intn(4) == 0:
		i := random.Intn(len(views))
		return slices.Delete(slices.Clone(views), i, i+1)
	}
	i := random.Intn(len(views))
	pods := slices.Clone(views[i].Pods)
	if len(pods) == 0 || random.Intn(2) == 0 {
		pods = append(pods, pod(fmt.Sprint("p", made), views[i].Node.Name))
	} else {
		j := random.Intn(len(pods))
		left := pods[j]
		pods = slices.Delete(pods, j, j+1)
		if to := random.Intn(len(views)); to != i && random.Intn(2) == 0 {
			views[to].Pods = append(slices.Clone(views[to].Pods), left)
		}
	}
	views[i].Pods = pods
	return views
}

// Changes of some nodes leave the receiver with the same objects as changes of all.
func TestChangesOfSomeNodes(t *testing.T) {
	for seed := range int64(200) {
		random := rand.New(rand.NewSource(seed))
		f, all := feed.New(), []wire.Change(nil)
		var views []feed.NodeView
		for range 30 {
			before := map[string]feed.NodeView{}
			for _, view := range views {
				before[view.Node.Name] = view
			}
			views = change(random, slices.Clone(views))
			var some []feed.NodeView
			for _, view := range views {
				if old, known := before[view.Node.Name]; !known || !slices.Equal(old.Pods, view.Pods) || random.Intn(5) == 0 {
					some = append(some, view)
				}
				delete(before, view.Node.Name)
			}
			changes := slices.Concat(slices.Collect(f.ChangesOf(some, slices.Collect(maps.Keys(before))))...)
			all = append(all, changes...)
			if left := f.Diff(views, func() []feed.List { return nil }); len(left) > 0 {
				t.Fatalf("seed %d: %d changes are left, the first %+v", seed, len(left), left[0])
			}
		}
		want := map[string]bool{}
		for _, view := range views {
			want["Node/"+view.Node.Name] = true
			for _, pod := range view.Pods {
				want["Pod/"+pod.Name+"@"+view.Node.Name] = true
			}
		}
		if got := received(all); !maps.Equal(got, want) {
			t.Fatalf("seed %d: the receiver has %v, want %v", seed, got, want)
		}
	}
}

// received returns what a receiver of the changes has.
func received(changes []wire.Change) map[string]bool {
	pods, got := map[string]string{}, map[string]bool{}
	for _, change := range changes {
		switch object := change.Object.(type) {
		case nil:
			if change.Kind == wire.Node {
				delete(got, "Node/"+change.Name)
			} else {
				delete(pods, change.Name)
			}
		case *v1.Node:
			got["Node/"+object.Name] = true
		case *v1.Pod:
			pods[object.Name] = object.Spec.NodeName
		}
	}
	for name, node := range pods {
		got["Pod/"+name+"@"+node] = true
	}
	return got
}
