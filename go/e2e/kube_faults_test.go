package e2e

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/e2e/budgets"
	"ebb/go/e2e/nodes"
	"ebb/go/e2e/workload"
	"ebb/go/kube/app"
	wire "ebb/go/kube/wire/actuatorpb"
)

// prepared is a cluster with an application, its budget, and an active replica.
type prepared struct {
	*cluster
	*replica
	judge func() *budgets.Report
	edit  func(*app.Options) // Of the replica; nil: of none.
}

// prepare creates the application "web" with eight pods, of which a node holds four and
// maxUnavailable may be missing.
func prepare(t *testing.T, name string, maxUnavailable int, edits ...func(*app.Options)) *prepared {
	t.Helper()
	c := newCluster(t, name, machines("general", 4))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 8, CPU: "900m"}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", maxUnavailable))
	c.waitReady()
	c.eventually("the budget is known", func() bool { return c.disruptionsAllowed("web") == int32(maxUnavailable) })
	p := &prepared{cluster: c, judge: c.watchBudgets(), replica: c.startReplica(edits...)}
	p.waitActive()
	return p
}

// check checks what must hold after every fault.
func (p *prepared) check() {
	p.t.Helper()
	p.waitReady()
	p.checkNoMarks()
	p.judge()
	p.must(plane.Err())
}

// expect checks the result of a node's deletion, and whether the node still exists.
func (p *prepared) expect(results map[string]*wire.DeletionResult, node string, ok bool) *wire.DeletionResult {
	p.t.Helper()
	result := results[node]
	if result == nil || result.Ok != ok || p.hasNode(node) == ok {
		p.t.Fatalf("node %s: %v; it is there: %v", node, result, p.hasNode(node))
	}
	return result
}

func (p *prepared) setBudget(maxUnavailable string) {
	p.t.Helper()
	p.patchBudget("web", `{"spec":{"maxUnavailable":`+maxUnavailable+`}}`)
}

func TestKubeDeletesNodesAndEveryPodRunsAgain(t *testing.T) {
	p := prepare(t, "kube", 1)
	victims := p.nodesWith("web")[:2]
	p.must(p.begin(victims...))
	results := p.finish()
	for _, name := range victims {
		p.expect(results, name, true)
	}
	if evictions := p.status().RecentEvictions; len(evictions) < 2 {
		t.Errorf("%d evictions were reported", len(evictions))
	}
	p.check()
}

func TestKubeWaitsForABudgetThatAllowsNothingForAWhile(t *testing.T) {
	p := prepare(t, "kube-refused", 1)
	victim := p.nodesWith("web")[0]
	if count := podsOn(p.pods("web"), victim); count < 2 {
		t.Fatalf("node %s has %d pods, and the second is to be refused", victim, count)
	}
	p.must(p.begin(victim))
	p.must(p.drain(victim))
	p.eventually("a pod was evicted", func() bool { return len(p.status().RecentEvictions) > 0 })
	p.setBudget("0")
	p.eventually("the budget allows nothing", func() bool { return p.disruptionsAllowed("web") == 0 })
	before := len(p.status().RecentEvictions)
	time.Sleep(refusedFor)
	if now := p.status(); len(now.RecentEvictions) != before && podsOn(p.pods("web"), victim) > 0 {
		t.Logf("an eviction was taken before the budget was known: %d, then %d", before, len(now.RecentEvictions))
	}
	p.setBudget("1")
	p.expect(p.finish(), victim, true)
	p.check()
}

// refusedFor is several times the delay between two attempts.
const refusedFor = 5 * time.Second

func podsOn(pods []corev1.Pod, node string) int {
	count := 0
	for i := range pods {
		if pods[i].Spec.NodeName == node {
			count++
		}
	}
	return count
}

func TestKubeGivesUpOnAPodThatNeverEnds(t *testing.T) {
	p := prepare(t, "kube-never-ends", 1, func(o *app.Options) {
		o.Drain.MaxGrace, o.Drain.GoneExtra = 2*time.Second, 2*time.Second
	})
	victim := p.nodesWith("web")[0]
	var stuck string
	for _, pod := range p.pods("web") {
		if pod.Spec.NodeName == victim {
			stuck = pod.Name
			p.annotate(stuck, `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":"true"}}}`)
			break
		}
	}
	p.must(p.begin(victim))
	result := p.expect(p.finish(), victim, false)
	if !strings.Contains(result.Why, stuck) {
		t.Errorf("why: %s, and not %s", result.Why, stuck)
	}
	p.checkNoMarks()
	p.annotate(stuck, `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":null}}}`)
	p.check()
}

func TestKubeGoesOnWhenTheAPIServerWasAwayFor30Seconds(t *testing.T) {
	p := prepare(t, "kube-away", 1, func(o *app.Options) { o.Drain.MaxEvictionTime = 4 * time.Minute })
	victims := p.nodesWith("web")[:2]
	p.must(p.begin(victims...))
	p.must(p.drain(victims[0]))
	plane.TakeAPIServerAway()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		p.step()
	}
	p.must(plane.BringAPIServerBack())
	p.eventually("the API server answers", func() bool {
		_, err := client.CoreV1().Nodes().List(p.ctx, metav1.ListOptions{})
		return err == nil
	})
	results := p.finish()
	for _, name := range victims {
		p.expect(results, name, true)
	}
	p.check()
}

func TestKubeGoesOnWhenWatchesAreDropped(t *testing.T) {
	// The disruption controller also needs time to reconnect.
	p := prepare(t, "kube-dropped", 1, func(o *app.Options) { o.Drain.MaxEvictionTime = 4 * time.Minute })
	victims := p.nodesWith("web")[:2]
	p.must(p.begin(victims...))
	p.step()
	if plane.DropConnections() == 0 {
		t.Error("there was no connection to drop")
	}
	results := p.finish()
	for _, name := range victims {
		p.expect(results, name, true)
	}
	p.check()
}

func TestKubeEndsTheDeletionOfANodeThatAnotherProgramDeleted(t *testing.T) {
	p := prepare(t, "kube-foreign", 1)
	victim := p.nodesWith("web")[0]
	p.must(p.begin(victim))
	p.must(client.CoreV1().Nodes().Delete(p.ctx, victim, metav1.DeleteOptions{}))
	p.eventually("the deletion ends", func() bool { return p.running(victim) == nil })
	result := p.finish()[victim]
	if result == nil || result.Ok || !strings.Contains(result.Why, "another program") {
		t.Errorf("%v", result)
	}
	// Another machine with the same name must be left alone.
	if _, err := nodes.Create(p.ctx, client, nodes.Group{Name: "again", Count: 1, CPU: "4", Memory: "16Gi"}); err != nil {
		t.Fatal(err)
	}
	p.check()
}

// landPod creates a pod whose spec names its node, so that no taint keeps it away.
func (p *prepared) landPod(name, node string) {
	p.t.Helper()
	_, err := client.CoreV1().Pods(p.namespace).Create(p.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "registry.example/none"}}},
	}, metav1.CreateOptions{})
	p.must(err)
}

func TestKubeKeepsANodeOnWhichAPodLandedSinceThePlan(t *testing.T) {
	p := prepare(t, "kube-landed", 1)
	victim := p.nodesWith("web")[0]
	// A pod without a controller may not be moved.
	p.landPod("bare", victim)
	p.must(p.begin(victim))
	result := p.expect(p.finish(), victim, false)
	if !strings.Contains(result.Why, "bare") || !strings.Contains(result.Why, "NotReplicated") {
		t.Errorf("why: %s", result.Why)
	}
	if evictions := p.status().RecentEvictions; len(evictions) != 0 {
		t.Errorf("%d pods were evicted for nothing", len(evictions))
	}
	p.must(client.CoreV1().Pods(p.namespace).Delete(p.ctx, "bare", metav1.DeleteOptions{}))
	p.eventually("the pod is gone", func() bool { return len(p.pods("")) == len(p.pods("web")) })
	p.check()
}

func TestKubeKeepsANodeThatWasToGoEmptyAndIsNot(t *testing.T) {
	p := prepare(t, "kube-not-empty", 1)
	victim := p.nodesWith("web")[0]
	_, err := p.calls.Begin(p.ctx, &wire.BeginRequest{Key: newKey(), Orders: []*wire.DeletionOrder{{Node: victim}}})
	p.must(err)
	p.expect(p.finish(), victim, false)
	p.check()
}

func TestKubeKeepsANodeWhoseBudgetWasTightenedSinceThePlan(t *testing.T) {
	p := prepare(t, "kube-tightened", 1)
	victim := p.nodesWith("web")[0]
	p.must(p.begin(victim))
	p.setBudget("0")
	p.eventually("the budget allows nothing", func() bool { return p.disruptionsAllowed("web") == 0 })
	result := p.expect(p.finish(), victim, false)
	if !strings.Contains(result.Why, "NotEnoughPdb") || len(p.status().RecentEvictions) != 0 {
		t.Errorf("why: %s, evictions: %v", result.Why, p.status().RecentEvictions)
	}
	p.check()
}

func TestKubeKeepsANodeWithAPodThatBecameUnsafeSinceThePlan(t *testing.T) {
	p := prepare(t, "kube-unsafe", 1)
	victim := p.nodesWith("web")[0]
	p.must(p.begin(victim))
	for _, pod := range p.pods("web") {
		if pod.Spec.NodeName == victim {
			p.annotate(pod.Name, `{"metadata":{"annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"false"}}}`)
		}
	}
	result := p.expect(p.finish(), victim, false)
	if !strings.Contains(result.Why, "NotSafeToEvictAnnotation") || len(p.status().RecentEvictions) != 0 {
		t.Errorf("why: %s", result.Why)
	}
	p.check()
}

func TestKubeGoesOnWhenTheClockJumps(t *testing.T) {
	var shift atomic.Int64
	// All of its pods may be missing: other tests cover budgets while two nodes drain.
	p := prepare(t, "kube-clock", 8, func(o *app.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
	})
	victims := p.nodesWith("web")[:2]
	p.must(p.begin(victims...))
	p.must(p.drain(victims[0]))
	for _, jump := range []time.Duration{-48 * time.Hour, 48 * time.Hour, 0} {
		shift.Store(int64(jump))
		reply := p.status()
		// A loop would reject later times: docs/actuators.md.
		limit := time.Now().Add(jump).Unix() + 3600
		for _, each := range reply.Running {
			if each.Since <= 0 || each.Since > limit {
				t.Errorf("after a jump by %v: since %d", jump, each.Since)
			}
		}
		p.step()
	}
	results := p.finish()
	for _, name := range victims {
		p.expect(results, name, true)
	}
	p.check()
}
