package actuate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"

	"ebb/go/kube/actuate"
	"ebb/go/kube/drain"
	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider"
	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

// fakeProvider deletes Nodes, and can be made to fail or to do nothing.
type fakeProvider struct {
	provider.NodeObject
	mu     sync.Mutex
	calls  []string
	err    error
	idle   bool
	taken  bool
	before func()
}

func (p *fakeProvider) Name() string { return "fake" }

func (p *fakeProvider) Delete(ctx context.Context, group string, nodes []*corev1.Node) error {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	p.mu.Lock()
	p.calls = append(p.calls, group+": "+strings.Join(names, " "))
	err, idle, before := p.err, p.idle, p.before
	p.mu.Unlock()
	if before != nil {
		before()
	}
	if err != nil || idle {
		return err
	}
	return p.NodeObject.Delete(ctx, group, nodes)
}

func (p *fakeProvider) Taken(context.Context, string, *corev1.Node) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, nil
}

func (p *fakeProvider) Calls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// process is one run of the plugin over a cluster; it can be killed.
type process struct {
	*actuate.Actuator
	t        *testing.T
	kill     func()
	provider *fakeProvider
}

var keysMade int

func key() string { keysMade++; return fmt.Sprint("key-", keysMade) }

// start runs an actuator with short waiting times until it is killed or the test ends.
func start(t *testing.T, c *fakecluster.Cluster, edits ...func(*actuate.Options)) *process {
	t.Helper()
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	drains := drain.DefaultOptions()
	drains.EvictAgainAfter, drains.LookEvery, drains.MaxEvictionTime = 2*time.Millisecond, time.Millisecond, 5*time.Second
	p := &process{t: t, provider: &fakeProvider{NodeObject: provider.NodeObject{Client: c.Client}}}
	o := actuate.Options{
		Client: c.Client, Nodes: factory.Core().V1().Nodes().Informer(),
		Marker: &taint.Marker{Nodes: c.Client.CoreV1().Nodes(), Cordon: true, Now: time.Now, Retry: taint.Retry{Every: time.Millisecond, For: 50 * time.Millisecond}},
		Drainer: &drain.Drainer{
			Client: c.Client, Pods: factory.Core().V1().Pods().Lister(), Nodes: factory.Core().V1().Nodes().Lister(),
			Options: drains, Now: time.Now,
		},
		Provider: p.provider, ErrandEvery: time.Millisecond, Name: "test",
	}
	for _, edit := range edits {
		edit(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.StartInformers(ctx, t, factory)
	p.Actuator = actuate.New(o)
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	p.kill = func() { cancel(); p.Wait(); factory.Shutdown() }
	t.Cleanup(p.kill)
	return p
}

func (p *process) begin(orders ...*wire.DeletionOrder) error {
	_, err := p.Begin(p.t.Context(), &wire.BeginRequest{Key: key(), Orders: orders})
	return err
}

func order(node string) *wire.DeletionOrder {
	return &wire.DeletionOrder{Node: node, Drain: true, Group: "g"}
}

func (p *process) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) drain(node string) error {
	_, err := p.Drain(p.t.Context(), &wire.DrainRequest{Key: key(), Node: node})
	return err
}

func (p *process) delete(node string) error {
	_, err := p.Delete(p.t.Context(), &wire.DeleteRequest{Key: key(), Node: node})
	return err
}

func (p *process) rollBack(node string) error {
	_, err := p.RollBack(p.t.Context(), &wire.RollBackRequest{Key: key(), Node: node, Why: "a test"})
	return err
}

func (p *process) status() *wire.StatusReply {
	p.t.Helper()
	reply, err := p.Status(p.t.Context(), &wire.StatusRequest{})
	p.must(err)
	return reply
}

func (p *process) phase(node string) wire.DeletionPhase {
	for _, each := range p.status().Running {
		if each.Node == node {
			return each.Phase
		}
	}
	return 0
}

func (p *process) why(node string) string {
	for _, each := range p.status().Running {
		if each.Node == node {
			return each.Why
		}
	}
	return ""
}

func (p *process) result(node string) *wire.DeletionResult {
	for _, each := range p.status().Results {
		if each.Node == node {
			return each
		}
	}
	return nil
}

func (p *process) reaches(node string, phase wire.DeletionPhase) {
	p.t.Helper()
	fakecluster.Eventually(p.t, fmt.Sprintf("%s is %v, and not %v (%s)", node, phase, p.phase(node), p.why(node)),
		func() bool { return p.phase(node) == phase })
}

func (p *process) drained(node string) {
	p.t.Helper()
	p.must(p.begin(order(node)))
	p.must(p.drain(node))
	p.reaches(node, wire.DeletionPhase_DRAINED)
}

// checkClean checks that no node is marked or cordoned.
func checkClean(t *testing.T, c *fakecluster.Cluster, names ...string) {
	t.Helper()
	for _, name := range names {
		fakecluster.Eventually(t, name+" is clean", func() bool {
			node := c.GetNode(t, name)
			return taint.Find(node, taint.Hard) == nil && !node.Spec.Unschedulable && len(node.Annotations) == 0
		})
	}
}

func code(err error) codes.Code { return status.Code(err) }

func clusterOf(objects ...runtime.Object) *fakecluster.Cluster {
	return fakecluster.New(append(objects, fakecluster.Node("a"), fakecluster.Node("b"), fakecluster.Node("c"), fakecluster.ReplicaSet())...)
}

func TestADeletionGoesThroughItsPhasesAndEndsOk(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"), fakecluster.Pod("web-2", "b"))
	p := start(t, c)
	p.must(p.begin(order("a")))
	if p.phase("a") != wire.DeletionPhase_TAINTED || taint.Find(c.GetNode(t, "a"), taint.Hard) == nil {
		t.Error("it is not tainted")
	}
	if err := p.delete("a"); code(err) != codes.FailedPrecondition {
		t.Errorf("deleted before it was drained: %v", err)
	}
	p.must(p.drain("a"))
	p.must(p.drain("a"))
	p.reaches("a", wire.DeletionPhase_DRAINED)
	if totals := p.Totals(); totals.Phases["drained"].Nodes != 1 || totals.Phases["draining"].Nodes != 0 || totals.EvictionsAccepted != 1 || totals.Ok != 0 {
		t.Errorf("%+v", totals)
	}
	evictions := p.status().RecentEvictions
	if len(evictions) != 1 || evictions[0].Name != "web-1" || !strings.HasPrefix(string(evictions[0].Object), `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-1"`) || evictions[0].At == 0 {
		t.Errorf("evictions: %v", evictions)
	}
	if err := p.delete("a"); err != nil {
		t.Error(err)
	}
	fakecluster.Eventually(t, "a result", func() bool { return p.result("a") != nil })
	if result := p.result("a"); !result.Ok || result.Group != "g" || p.phase("a") != 0 {
		t.Errorf("%v", result)
	}
	if totals := p.Totals(); totals.Ok != 1 || totals.Failed != 0 || totals.Phases["drained"].Nodes != 0 {
		t.Errorf("%+v", totals)
	}
	_, err := p.Acknowledge(t.Context(), &wire.AcknowledgeRequest{Ids: []string{p.result("a").Id}})
	p.must(err)
	if p.result("a") != nil {
		t.Error("it is reported again")
	}
	if err := p.begin(order("a")); code(err) != codes.NotFound {
		t.Errorf("begun again: %v", err)
	}
}

func TestBeginMarksAllOrNone(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	if err := p.begin(order("a"), order("missing")); code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
	wrong := order("b")
	wrong.Uid = "another"
	if err := p.begin(order("a"), wrong); code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
	// Another autoscaler is deleting one of them.
	foreign := c.GetNode(t, "c")
	foreign.Spec.Taints = []corev1.Taint{{Key: taint.Hard, Value: fmt.Sprint(time.Now().Unix()), Effect: corev1.TaintEffectNoSchedule}}
	_, err := c.Client.CoreV1().Nodes().Update(t.Context(), foreign, metav1.UpdateOptions{})
	p.must(err)
	if err := p.begin(order("a"), order("b"), order("c")); code(err) != codes.FailedPrecondition {
		t.Errorf("%v", err)
	}
	checkClean(t, c, "a", "b")
	if len(p.status().Running) != 0 {
		t.Errorf("%v", p.status())
	}
}

func TestAFailedRollBackIsRetried(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	c.Client.PrependReactor("update", "nodes", awayAfterFirst(c))
	if err := p.begin(order("a"), order("b")); code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
	c.SetAway(false)
	checkClean(t, c, "a", "b")
	fakecluster.Eventually(t, "it can begin again", func() bool { return p.begin(order("a"), order("b")) == nil })
}

func TestOrdersThatBreakARuleAreRefused(t *testing.T) {
	p := start(t, clusterOf())
	for _, orders := range [][]*wire.DeletionOrder{
		{order("")}, {order("A_b")}, {order("a"), order("a")}, {{Node: "a", BatchSize: -1}},
	} {
		if err := p.begin(orders...); code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", orders, err)
		}
	}
	if _, err := p.Begin(t.Context(), &wire.BeginRequest{Orders: []*wire.DeletionOrder{order("a")}}); code(err) != codes.InvalidArgument {
		t.Errorf("without a key: %v", err)
	}
	if err := p.drain("a"); code(err) != codes.NotFound {
		t.Errorf("a drain of what was not begun: %v", err)
	}
}

func TestACallOfTheSameKeyIsCarriedOutOnce(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	begin := &wire.BeginRequest{Key: "k1", Orders: []*wire.DeletionOrder{order("a")}}
	_, err := p.Begin(t.Context(), begin)
	p.must(err)
	p.must(p.rollBack("a"))
	_, err = p.Begin(t.Context(), begin)
	p.must(err)
	if p.phase("a") != 0 {
		t.Error("a late copy began it again")
	}
	checkClean(t, c, "a")
	if result := p.result("a"); result == nil || result.Ok || result.Why != "a test" {
		t.Errorf("%v", result)
	}
	if totals := p.Totals(); totals.Ok != 0 || totals.Failed != 1 {
		t.Errorf("%+v", totals)
	}
}

func TestAPodThatBecameUnsafeFailsTheDeletionBeforeAnyPodGoes(t *testing.T) {
	unsafe := fakecluster.Pod("web-2", "a", func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
	})
	c := clusterOf(fakecluster.Pod("web-1", "a"), unsafe)
	p := start(t, c)
	p.must(p.begin(order("a")))
	p.must(p.drain("a"))
	p.reaches("a", wire.DeletionPhase_FAILED)
	if evictions, _ := c.Evictions(); len(evictions) != 0 || !strings.Contains(p.why("a"), "default/web-2") {
		t.Errorf("evicted %v, why: %s", evictions, p.why("a"))
	}
	p.must(p.rollBack("a"))
	checkClean(t, c, "a")
}

func TestADrainWaitsOnlyForABudgetThatThisActuatorSpent(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"), fakecluster.Pod("web-2", "b"), fakecluster.Budget(1))
	setBudget := func(allowed int32) {
		_, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Update(t.Context(), fakecluster.Budget(allowed), metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, c)
	p.drained("a") // Evicts a pod that the budget covers.
	setBudget(0)
	p.must(p.begin(order("b")))
	p.must(p.drain("b"))
	time.Sleep(20 * time.Millisecond)
	if phase := p.phase("b"); phase != wire.DeletionPhase_DRAINING {
		t.Errorf("it did not wait: %v", phase)
	}
	setBudget(1)
	p.reaches("b", wire.DeletionPhase_DRAINED)

	// The budget is spent, but not by this actuator.
	setBudget(0)
	_, err := c.Client.CoreV1().Pods("default").Create(t.Context(), fakecluster.Pod("web-3", "c"), metav1.CreateOptions{})
	p.must(err)
	p = start(t, c)
	p.must(p.begin(order("c")))
	p.must(p.drain("c"))
	p.reaches("c", wire.DeletionPhase_FAILED)
}

func TestANodeThatAnotherProgramDeletesEndsNotOk(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"))
	c.Refuse(func(*corev1.Pod) error { return fakecluster.TooMany() })
	p := start(t, c)
	p.must(p.begin(order("a"), order("b")))
	p.must(p.drain("a"))
	p.reaches("a", wire.DeletionPhase_DRAINING)
	p.must(c.Client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
	fakecluster.Eventually(t, "a result", func() bool { return p.result("a") != nil })
	if result := p.result("a"); result.Ok || !strings.Contains(result.Why, "another program") || p.phase("b") != wire.DeletionPhase_TAINTED {
		t.Errorf("%v", result)
	}
}

func TestANodeWhoseTaintWasRemovedIsNotDeleted(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	p.drained("a")
	node := c.GetNode(t, "a")
	node.Spec.Taints = nil
	_, err := c.Client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
	p.must(err)
	if err := p.delete("a"); code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
	p.reaches("a", wire.DeletionPhase_FAILED)
	p.must(p.rollBack("a"))
	checkClean(t, c, "a")
	if len(p.provider.Calls()) != 0 {
		t.Error("the provider was asked")
	}
}

func TestAPodThatCameAfterTheDrainKeepsTheNode(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	p.drained("a")
	_, err := c.Client.CoreV1().Pods("default").Create(t.Context(), fakecluster.Pod("late", "a"), metav1.CreateOptions{})
	p.must(err)
	p.must(p.delete("a"))
	p.reaches("a", wire.DeletionPhase_FAILED)
	if len(p.provider.Calls()) != 0 || !strings.Contains(p.why("a"), "default/late") {
		t.Errorf("calls %v, why %s", p.provider.Calls(), p.why("a"))
	}
}

func TestAProviderThatFailsLeavesTheNodeToBeRolledBack(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	p.provider.err = errors.New("quota of nonsense")
	p.drained("a")
	p.must(p.delete("a"))
	p.reaches("a", wire.DeletionPhase_FAILED)
	if !strings.Contains(p.why("a"), "quota of nonsense") {
		t.Error(p.why("a"))
	}
	p.must(p.rollBack("a"))
	checkClean(t, c, "a")
}

func TestADeletionFailsIfTheNodeStaysAfterTheProvidersDelete(t *testing.T) {
	c := clusterOf()
	p := start(t, c, func(o *actuate.Options) { o.GoneWithin = 10 * time.Millisecond })
	p.provider.idle = true
	p.drained("a")
	p.must(p.delete("a"))
	p.reaches("a", wire.DeletionPhase_FAILED)
	p.must(p.rollBack("a"))
	checkClean(t, c, "a")
}

func TestAnAtomicGroupGoesInOneCallOrNotAtAll(t *testing.T) {
	c := clusterOf(fakecluster.Pod("late", "elsewhere"))
	p := start(t, c)
	inBatch := func(node string) *wire.DeletionOrder {
		o := order(node)
		o.BatchSize = 2
		return o
	}
	drainBoth := func() {
		p.must(p.begin(inBatch("a"), inBatch("b")))
		for _, name := range []string{"a", "b"} {
			p.must(p.drain(name))
			p.reaches(name, wire.DeletionPhase_DRAINED)
		}
	}
	drainBoth()
	p.must(p.delete("a"))
	if p.phase("a") != wire.DeletionPhase_DELETING || len(p.provider.Calls()) != 0 {
		t.Error("the first did not wait for the second")
	}
	// A pod arrives on b: neither node goes.
	_, err := c.Client.CoreV1().Pods("default").Create(t.Context(), fakecluster.Pod("web-9", "b"), metav1.CreateOptions{})
	p.must(err)
	p.must(p.delete("b"))
	p.reaches("a", wire.DeletionPhase_FAILED)
	p.reaches("b", wire.DeletionPhase_FAILED)
	p.must(p.rollBack("a"))
	p.must(p.rollBack("b"))
	p.must(c.Client.CoreV1().Pods("default").Delete(t.Context(), "web-9", metav1.DeleteOptions{}))
	drainBoth()
	p.must(p.delete("a"))
	p.must(p.delete("b"))
	fakecluster.Eventually(t, "both are gone", func() bool { return p.result("a") != nil && p.result("b") != nil })
	if calls := p.provider.Calls(); !slices.Equal(calls, []string{"g: a b"}) {
		t.Errorf("calls: %v", calls)
	}
}

func TestNodesOfAGroupGoTogetherWithinTheBatchInterval(t *testing.T) {
	p := start(t, clusterOf(), func(o *actuate.Options) { o.BatchInterval = 200 * time.Millisecond })
	p.drained("a")
	p.drained("b")
	p.must(p.delete("a"))
	p.must(p.delete("b"))
	fakecluster.Eventually(t, "both are gone", func() bool { return p.result("a") != nil && p.result("b") != nil })
	if calls := p.provider.Calls(); !slices.Equal(calls, []string{"g: a b"}) {
		t.Errorf("calls: %v", calls)
	}
}

// After a kill in any phase, the next process finds the deletions on the nodes.
func TestTheNextProcessContinuesWhereTheLastWasKilled(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "b"))
	refused := true
	var mu sync.Mutex
	c.Refuse(func(*corev1.Pod) error {
		mu.Lock()
		defer mu.Unlock()
		if refused {
			return fakecluster.TooMany()
		}
		return nil
	})
	p := start(t, c)
	p.must(p.begin(order("a"), order("b")))
	p.must(p.drain("b"))
	p.drained("c")
	since := p.status().Running[0].Since
	p.kill()
	if taint.MarkOf(c.GetNode(t, "b")).Phase != "draining" {
		t.Fatal("the mark of b does not say that it drains")
	}

	p = start(t, c)
	if p.phase("a") != wire.DeletionPhase_TAINTED || p.phase("c") != wire.DeletionPhase_DRAINED || p.phase("b") != wire.DeletionPhase_DRAINING {
		t.Errorf("%v", p.status())
	}
	if first := p.status().Running[0]; first.Since != since || first.Group != "g" || !first.Drain {
		t.Errorf("%v", first)
	}
	mu.Lock()
	refused = false
	mu.Unlock()
	p.reaches("b", wire.DeletionPhase_DRAINED)
	// Killed during the call to the provider: the next process does not know whether it succeeded.
	p.provider.idle = true
	p.must(p.delete("b"))
	fakecluster.Eventually(t, "the provider was asked", func() bool { return len(p.provider.Calls()) == 1 })
	p.kill()

	p = start(t, c)
	fakecluster.Eventually(t, "it is asked again", func() bool { return p.result("b") != nil })
	if result := p.result("b"); !result.Ok {
		t.Errorf("%v", result)
	}
	p.must(p.rollBack("a"))
	p.must(p.rollBack("c"))
	checkClean(t, c, "a", "c")
}

func TestAProviderThatIsDeletingAlreadyIsNotCalledAgain(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	p.provider.idle = true
	p.drained("a")
	p.must(p.delete("a"))
	fakecluster.Eventually(t, "the provider was asked", func() bool { return len(p.provider.Calls()) == 1 })
	p.kill()
	p = start(t, c, func(o *actuate.Options) { o.Provider.(*fakeProvider).taken = true })
	p.must(c.Client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
	fakecluster.Eventually(t, "it ends", func() bool { return p.result("a") != nil })
	if !p.result("a").Ok || len(p.provider.Calls()) != 0 {
		t.Errorf("%v, calls %v", p.result("a"), p.provider.Calls())
	}
}

func TestAnInconsistentMarkIsRemoved(t *testing.T) {
	half, nonsense, foreign := fakecluster.Node("half"), fakecluster.Node("nonsense"), fakecluster.Node("foreign")
	half.Annotations = map[string]string{taint.Annotation: `{"phase":"deleting"}`}
	half.Spec.Unschedulable = true
	hard := []corev1.Taint{{Key: taint.Hard, Value: "1", Effect: corev1.TaintEffectNoSchedule}}
	nonsense.Annotations = map[string]string{taint.Annotation: `{"phase":"???`}
	nonsense.Spec.Taints = hard
	foreign.Spec.Taints = hard
	c := clusterOf(half, nonsense, foreign)
	p := start(t, c)
	checkClean(t, c, "half", "nonsense")
	if len(p.status().Running) != 0 || taint.Find(c.GetNode(t, "foreign"), taint.Hard) == nil {
		t.Error("something was taken for a deletion, or another program's taint was removed")
	}
}

func TestAnAbandonedDeletionIsRolledBack(t *testing.T) {
	c := clusterOf()
	p := start(t, c, func(o *actuate.Options) { o.AbandonedAfter = 20 * time.Millisecond })
	p.must(p.begin(order("a"), order("b")))
	checkClean(t, c, "a", "b")
}

func TestNoTimeOfTheStatusLiesAheadWhenTheClockIsPutBack(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"))
	var mu sync.Mutex
	var shift time.Duration
	p := start(t, c, func(o *actuate.Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(shift)
		}
	})
	p.drained("a")
	p.must(p.begin(order("b")))
	p.must(p.rollBack("b"))
	mu.Lock()
	shift = -48 * time.Hour
	mu.Unlock()
	now := time.Now().Add(shift).Unix() + 1
	reply := p.status()
	if len(reply.Running) != 1 || len(reply.Results) != 1 || len(reply.RecentEvictions) != 1 {
		t.Fatalf("%v", reply)
	}
	if reply.Running[0].Since > now || reply.Results[0].At > now || reply.RecentEvictions[0].At > now {
		t.Errorf("%v", reply)
	}
	mu.Lock()
	shift = 48 * time.Hour
	mu.Unlock()
	// The jump does not end the waiting times.
	p.must(p.delete("a"))
	fakecluster.Eventually(t, "it ends", func() bool { return p.result("a") != nil })
	if !p.result("a").Ok {
		t.Errorf("%v", p.result("a"))
	}
}

func TestSoftTaintsEndWithTheirTime(t *testing.T) {
	c := clusterOf()
	soft := func(p *process, node string, put bool) error {
		_, err := p.SoftTaint(t.Context(), &wire.SoftTaintRequest{Key: key(), Node: node, Taint: put})
		return err
	}
	p := start(t, c, func(o *actuate.Options) { o.SoftTaintTime, o.SoftTaintWindow = 1, time.Hour })
	p.must(soft(p, "a", true))
	if err := soft(p, "b", true); code(err) != codes.ResourceExhausted {
		t.Errorf("%v", err)
	}
	fakecluster.Eventually(t, "what is as it should be costs nothing", func() bool { return soft(p, "a", true) == nil })
	if err := soft(p, "missing", true); code(err) == codes.OK {
		t.Error("a node that is not there was tainted")
	}
}

func TestTaintPutsAPolicysTaintAndRefusesOurOwn(t *testing.T) {
	c := clusterOf()
	p := start(t, c)
	set := func(node, name, effect string, put bool) error {
		_, err := p.Taint(t.Context(), &wire.TaintRequest{Key: key(), Node: node, TaintKey: name, Value: "1", Effect: effect, Put: put})
		return err
	}
	const name = "atlassian.com/escalator"
	p.must(set("a", name, "NoSchedule", true))
	p.must(set("a", name, "NoSchedule", true))
	if taints := c.GetNode(t, "a").Spec.Taints; len(taints) != 1 || taints[0].Key != name || taints[0].Value != "1" {
		t.Errorf("%v", taints)
	}
	p.must(set("a", name, "", false))
	if taints := c.GetNode(t, "a").Spec.Taints; len(taints) != 0 {
		t.Errorf("%v", taints)
	}
	for _, wrong := range []string{"", "ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "a b"} {
		if err := set("a", wrong, "NoSchedule", true); code(err) != codes.InvalidArgument {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if err := set("a", name, "Never", true); code(err) != codes.InvalidArgument {
		t.Errorf("%v", err)
	}
	if err := set("missing", name, "NoSchedule", true); code(err) == codes.OK {
		t.Error("a node that is not there was tainted")
	}
}

func TestWhileTheAPIServerIsDownCallsFailAndPhasesStay(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"))
	p := start(t, c)
	p.must(p.begin(order("a")))
	c.SetAway(true)
	if err := p.begin(order("b")); code(err) != codes.Unavailable {
		t.Errorf("Begin: %v", err)
	}
	if err := p.drain("a"); code(err) != codes.Unavailable {
		t.Errorf("Drain: %v", err)
	}
	if err := p.rollBack("a"); code(err) != codes.Unavailable || p.phase("a") != wire.DeletionPhase_TAINTED {
		t.Errorf("RollBack: %v", err)
	}
	c.SetAway(false)
	p.must(p.drain("a"))
	c.SetAway(true)
	time.AfterFunc(30*time.Millisecond, func() { c.SetAway(false) })
	p.reaches("a", wire.DeletionPhase_DRAINED)
}
