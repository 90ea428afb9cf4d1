package actuate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/actuate"
	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider"
	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

// judging is a provider with rules of its own.
type judging struct {
	fakeProvider
	cluster *fakecluster.Cluster
	drains  bool

	rules sync.Mutex
	// keep has the reasons why nodes stay now.
	keep map[string]string
	// limit is how many nodes may be acted on at a time; 0 means any number.
	limit    int
	away     int // How many calls of Admit get no answer.
	again    int // How many calls of Delete are to be repeated.
	asked    []string
	released []string
}

func (p *judging) DrainsItself() bool { return p.drains }

func (p *judging) Admit(ctx context.Context, candidates ...provider.Candidate) error {
	p.rules.Lock()
	defer p.rules.Unlock()
	for _, each := range candidates {
		name := each.Node.Name
		if each.Deleting {
			p.asked = append(p.asked, name+" deleting")
		} else {
			p.asked = append(p.asked, name)
		}
		if p.away > 0 {
			p.away--
			return errors.New("no answer")
		}
		if why := p.keep[name]; why != "" {
			return provider.Refuse(name, "%s", why)
		}
		acted := 0
		list, err := p.cluster.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if list.Items[i].Name != name && taint.IsActedOn(&list.Items[i]) {
				acted++
			}
		}
		if p.limit > 0 && acted >= p.limit {
			return provider.Refuse(name, "%d are acted on", acted)
		}
	}
	return nil
}

func (p *judging) Delete(ctx context.Context, group string, nodes []*corev1.Node) error {
	p.rules.Lock()
	again := p.again
	p.again = max(0, again-1)
	p.rules.Unlock()
	if again > 0 {
		return errors.Join(errors.New("a conflict"), provider.ErrAgain)
	}
	return p.fakeProvider.Delete(ctx, group, nodes)
}

func (p *judging) Release(_ context.Context, node *corev1.Node) error {
	p.rules.Lock()
	defer p.rules.Unlock()
	p.released = append(p.released, node.Name)
	return nil
}

func (p *judging) set(edit func()) {
	p.rules.Lock()
	defer p.rules.Unlock()
	edit()
}

func (p *judging) calls() []string {
	p.rules.Lock()
	defer p.rules.Unlock()
	return slices.Clone(p.asked)
}

// judged starts a process whose provider has rules.
func judged(t *testing.T, c *fakecluster.Cluster, edit func(*judging)) (*process, *judging) {
	t.Helper()
	rules := &judging{cluster: c, keep: map[string]string{}}
	rules.fakeProvider.NodeObject.Client = c.Client
	edit(rules)
	return start(t, c, func(o *actuate.Options) { o.Provider = rules }), rules
}

func twoNodes() *fakecluster.Cluster {
	return fakecluster.New(fakecluster.Node("n1"), fakecluster.Node("n2"), fakecluster.ReplicaSet(), fakecluster.Budget(5),
		fakecluster.Pod("p1", "n1"), fakecluster.Pod("p2", "n2"))
}

func TestBeginTaintsNoNodeIfTheProvidersRulesKeepOne(t *testing.T) {
	c := twoNodes()
	p, _ := judged(t, c, func(r *judging) { r.keep["n2"] = "its budget is closed" })
	err := p.begin(order("n1"), order("n2"))
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "node n2: its budget is closed") {
		t.Errorf("%v", err)
	}
	if len(p.status().Running) != 0 {
		t.Error("a deletion was begun")
	}
	checkClean(t, c, "n1", "n2")
}

func TestBeginIsRetriedIfTheProvidersRulesCannotBeRead(t *testing.T) {
	c := twoNodes()
	p, _ := judged(t, c, func(r *judging) { r.away = 1 })
	if err := p.begin(order("n1")); status.Code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
	p.must(p.begin(order("n1")))
}

// Symptom: a node whose NodePool's budget closed after Begin lost its pods.
func TestNoPodIsEvictedIfTheRulesKeepTheNodeByThen(t *testing.T) {
	c := twoNodes()
	p, rules := judged(t, c, func(*judging) {})
	p.must(p.begin(order("n1")))
	rules.set(func() { rules.keep["n1"] = "its budget is closed" })
	p.must(p.drain("n1"))
	p.reaches("n1", wire.DeletionPhase_FAILED)
	if why := p.why("n1"); !strings.Contains(why, "its budget is closed") {
		t.Error(why)
	}
	if evictions, _ := c.Evictions(); len(evictions) != 0 {
		t.Errorf("%v were evicted", evictions)
	}
	p.must(p.rollBack("n1"))
	checkClean(t, c, "n1")
}

// Symptom: all nodes of a batch that is larger than a budget failed, and none ever went.
func TestOfABatchAsManyNodesGoAsALimitAllows(t *testing.T) {
	c := twoNodes()
	p, _ := judged(t, c, func(r *judging) { r.limit = 1 })
	p.must(p.begin(order("n1"), order("n2")))
	p.must(p.drain("n1"))
	p.must(p.drain("n2"))
	p.reaches("n2", wire.DeletionPhase_FAILED)
	p.reaches("n1", wire.DeletionPhase_DRAINED)
	p.must(p.delete("n1"))
	fakecluster.Eventually(t, "n1 is gone", func() bool { return p.result("n1") != nil && p.result("n1").Ok })
}

func TestTheRulesAreAppliedAgainRightBeforeTheDeletion(t *testing.T) {
	c := twoNodes()
	p, rules := judged(t, c, func(*judging) {})
	p.drained("n1")
	rules.set(func() { rules.keep["n1"] = "it is annotated" })
	p.must(p.delete("n1"))
	p.reaches("n1", wire.DeletionPhase_FAILED)
	if asked := rules.calls(); asked[len(asked)-1] != "n1 deleting" || len(rules.Calls()) != 0 {
		t.Errorf("%v, %v", asked, rules.Calls())
	}
	p.must(p.rollBack("n1"))
	if !slices.Contains(rules.released, "n1") {
		t.Error("the provider was not asked to release the node")
	}
}

func TestADeletionIsRepeatedIfTheProviderSaysThatItMayHelp(t *testing.T) {
	c := twoNodes()
	p, _ := judged(t, c, func(r *judging) { r.again = 3 })
	p.drained("n1")
	p.must(p.delete("n1"))
	fakecluster.Eventually(t, "n1 is gone", func() bool { return p.result("n1") != nil && p.result("n1").Ok })
}

func TestADrainThatGoesOnAfterARestartIsAdmittedAgain(t *testing.T) {
	c := twoNodes()
	c.Stays("p1")
	p, _ := judged(t, c, func(*judging) {})
	p.must(p.begin(order("n1")))
	p.must(p.drain("n1"))
	fakecluster.Eventually(t, "p1 is evicted", func() bool { evictions, _ := c.Evictions(); return len(evictions) > 0 })
	p.kill()
	p, _ = judged(t, c, func(r *judging) { r.away = 3; r.keep["n1"] = "its NodeClaim is gone" })
	p.reaches("n1", wire.DeletionPhase_FAILED)
	if why := p.why("n1"); !strings.Contains(why, "its NodeClaim is gone") {
		t.Error(why)
	}
}

func TestAProviderThatDrainsGetsANodeWithItsPods(t *testing.T) {
	c := twoNodes()
	p, rules := judged(t, c, func(r *judging) { r.drains = true })
	p.drained("n1")
	p.must(p.delete("n1"))
	fakecluster.Eventually(t, "n1 is gone", func() bool { return p.result("n1") != nil && p.result("n1").Ok })
	if evictions, _ := c.Evictions(); len(evictions) != 0 || len(rules.Calls()) != 1 {
		t.Errorf("%v were evicted; %v", evictions, rules.Calls())
	}
}

// A provider that drains is not asked if a pod may not be moved, then or right before the deletion.
func TestAProviderThatDrainsIsNotAskedAboutAPodThatMayNotMove(t *testing.T) {
	c := twoNodes()
	p, rules := judged(t, c, func(r *judging) { r.drains = true })
	p.drained("n1")
	pod, err := c.Client.CoreV1().Pods("default").Get(t.Context(), "p1", metav1.GetOptions{})
	p.must(err)
	pod.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
	_, err = c.Client.CoreV1().Pods("default").Update(t.Context(), pod, metav1.UpdateOptions{})
	p.must(err)
	p.must(p.delete("n1"))
	p.reaches("n1", wire.DeletionPhase_FAILED)
	if why := p.why("n1"); !strings.Contains(why, "NotSafeToEvictAnnotation") || len(rules.Calls()) != 0 {
		t.Errorf("%s; %v", why, rules.Calls())
	}
}
