package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/e2e/budgets"
	"ebb/go/e2e/chain"
	"ebb/go/e2e/workload"
	"ebb/go/ebb/plannerpb"
)

var (
	scaleNodes = flag.Int("scale-nodes", 0, "nodes of TestProgramsAreKilledOnALargeCluster, which is skipped at 0")
	scaleFor   = flag.Duration("scale-for", 5*time.Minute, "how long it rolls out and kills")
)

// The large cluster. A node has room for 40 of its pods; a third of each node is used.
const (
	scaleDeployments = 250
	scalePodsPerNode = 8
	// A quarter of a Deployment's pods may be missing during a rollout (Kubernetes' default).
	rolloutMissing = 0.25
)

// A large cluster, while Deployments are rolled out and the three programs are killed one after the
// other, as by kill -9. Afterwards no node is marked, and every Deployment has all its pods. Every
// plan in between must be about the whole cluster: a daemon that has just started returns none.
//
// `./dev e2e-scale` runs this test; `./dev e2e` does not.
func TestProgramsAreKilledOnALargeCluster(t *testing.T) {
	if *scaleNodes == 0 {
		t.Skip("-scale-nodes is 0")
	}
	ebb, path := ebbProgram(t), kubeProgram(t)
	c := newClusterWithin(t, 30*time.Minute+*scaleFor, "scale", machines("general", *scaleNodes))
	pods := c.fillLarge()
	s := c.startDaemon()
	asker := c.askForPlans(s, pods)
	begin := time.Now()
	feeder, r := c.startKube(path, "ebb-scale", "--server", s.address, "--session", "e2e", "--abandoned-after", "1m")
	r.waitActive()
	c.eventually("a plan is given", func() bool { return asker.given.Load() > 0 })
	t.Logf("the first plan was given after %v", since(begin))
	// A rollout removes healthy pods without regard to budgets.
	judge := c.watchBudgetsBut(func(b budgets.Breach) bool { return b.StatusBehind })
	loop := c.start(ebb, "run", "--server", s.address, "--session", "e2e", "--actuator", "unix:"+r.socket,
		"--scan-interval", "2s", "--scale-down-unneeded-time", "10s", "--node-delete-delay-after-taint", "1s",
		"--scale-down-delay-after-failure", "0s", "--scale-down-delay-after-add", "0s",
		"--max-drain-parallelism", "10", "--max-scale-down-parallelism", "20")

	kills := c.rollOutAndKill(s.program, feeder, loop)
	gone := *scaleNodes - c.countNodes()
	loop.kill()
	r.finish()
	c.waitReady()
	c.checkNoMarks()
	judge()
	asker.end()
	t.Logf("%d kills; %d of %d nodes went; %d plans were given and %d refused", kills, gone, *scaleNodes, asker.given.Load(), asker.refused.Load())
	if gone == 0 {
		t.Error("no node went, so that the test shows nothing")
	}
}

// fillLarge creates Deployments with budgets and returns the number of their pods.
func (c *cluster) fillLarge() int {
	c.t.Helper()
	begin := time.Now()
	replicas := int32(len(c.nodes) * scalePodsPerNode / scaleDeployments)
	for i := range scaleDeployments {
		name := appName("web", i)
		c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: name, Replicas: replicas, CPU: "150m", Memory: "256Mi"}))
		c.must(workload.Budget(c.ctx, client, c.namespace, name, 2))
	}
	c.waitReady()
	c.t.Logf("filled after %v", since(begin))
	return int(replicas) * scaleDeployments
}

// rollOutAndKill alternates between rolling out Deployments and killing and restarting a program,
// until the time is over. It returns the number of kills.
func (c *cluster) rollOutAndKill(programs ...*program) int {
	c.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	kills := 0
	for end := time.Now().Add(*scaleFor); time.Now().Before(end); {
		for range 3 {
			c.rollOut(appName("web", random.IntN(scaleDeployments)), kills)
		}
		time.Sleep(time.Duration(2+random.IntN(9)) * time.Second)
		victim := programs[kills%len(programs)]
		victim.kill()
		kills++
		time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		victim.again()
	}
	return kills
}

// rollOut makes a Deployment replace all its pods.
func (c *cluster) rollOut(app string, version int) {
	c.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"e2e.ebb/version":"%d"}}}}}`, version)
	_, err := client.AppsV1().Deployments(c.namespace).Patch(c.ctx, app, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// planAsker requests plans from a daemon all the time, and fails the test if a plan is not about
// the whole cluster.
type planAsker struct {
	given, refused atomic.Int64

	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (c *cluster) askForPlans(s *served, pods int) *planAsker {
	ctx, cancel := context.WithCancel(c.ctx)
	a := &planAsker{cancel: cancel}
	least := int(float64(pods) * (1 - rolloutMissing))
	a.done.Go(func() {
		for ctx.Err() == nil {
			a.ask(ctx, c, s, least)
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	c.t.Cleanup(a.end)
	return a
}

func (a *planAsker) end() {
	a.cancel()
	a.done.Wait()
}

func (a *planAsker) ask(ctx context.Context, c *cluster, s *served, leastPods int) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	reply, err := s.client.Plan(limited, &plannerpb.PlanCall{Input: &plannerpb.PlanInput{Session: "e2e"}})
	if err != nil {
		a.refused.Add(1)
		return
	}
	plan := &chain.Plan{}
	if err := json.Unmarshal(reply.Plan, plan); err != nil {
		c.t.Error(err)
		return
	}
	// Nodes are only removed, so the nodes that exist now existed when the plan was made.
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	a.given.Add(1)
	if plan.Summary.Nodes < len(list.Items) || plan.Summary.Pods < leastPods {
		c.t.Errorf("a plan of %d nodes and %d pods, and there are %d and at least %d", plan.Summary.Nodes, plan.Summary.Pods, len(list.Items), leastPods)
	}
}
