package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/e2e/workload"
	"ebb/go/kube/app"
	wire "ebb/go/kube/wire/actuatorpb"
)

// poolsFile sizes the machines of "general" by Escalator's rules: above 80 % requested they grow
// until 80 % is requested; below 52 % one machine goes in each round, and below 40 % two go.
const poolsFile = `pools:
- name: general
  policy: escalator
  nodes: {eks.amazonaws.com/nodegroup: general}
  cloud: {min: 2, max: 12}
  default: true
  period: 1
  stepTimeout: 240
  options:
    name: default
    label_key: eks.amazonaws.com/nodegroup
    label_value: general
    cloud_provider_group_name: general
    min_nodes: 2
    max_nodes: 12
    scale_up_threshold_percent: 80
    taint_upper_capacity_threshold_percent: 52
    taint_lower_capacity_threshold_percent: 40
    slow_node_removal_rate: 1
    fast_node_removal_rate: 2
    soft_delete_grace_period: 5m
    hard_delete_grace_period: 10m
    scale_up_cool_down_period: 20s
`

// sizingProgram returns the path of an ebb that can size pools; without one the test is skipped.
func sizingProgram(t *testing.T) string {
	t.Helper()
	ebb := ebbProgram(t)
	if help, err := exec.Command(ebb, "run", "--help").CombinedOutput(); err != nil || !strings.Contains(string(help), "--pools") {
		t.Skip("this ebb run sizes no pools yet")
	}
	return ebb
}

// startSizing runs `ebb run --pools` with a daemon and a replica.
func (c *cluster) startSizing(ebb string, s *served, r *replica) *program {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "pools.yaml")
	c.must(os.WriteFile(file, []byte(poolsFile), 0o600))
	if out, err := exec.Command(ebb, "policy", "check", file).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return c.start(ebb, "run", "--server", s.address, "--session", "e2e", "--actuator", "unix:"+r.socket, "--pools", file,
		"--scan-interval", "1s", "--node-delete-delay-after-taint", "1s")
}

func (c *cluster) countNodes() int {
	c.t.Helper()
	list, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	c.must(err)
	return len(list.Items)
}

// makeSized creates the permanent load, under budgets. The policy counts only the 14 cores of
// "web": Escalator's default group leaves out pods with an affinity.
func (c *cluster) makeSized() {
	c.t.Helper()
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 28, CPU: "500m"}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", 2))
	c.must(workload.StatefulSet(c.ctx, client, c.namespace, workload.App{Name: "db", Replicas: 4, CPU: "200m", OnePerNode: true}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "db", 1))
	c.must(workload.DaemonSet(c.ctx, client, c.namespace, workload.App{Name: "agent", CPU: "0"}))
	c.waitReady()
}

// waitForNoPlace waits until exactly this number of pods has no node and all others are ready. At
// first the scheduler may find no node for more pods, because it does not know all nodes.
func (c *cluster) waitForNoPlace(pods int) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%d pods have no place", pods), func() bool {
		waiting, err := workload.WaitSettled(c.ctx, client, c.namespace)
		c.must(err)
		return len(waiting) == pods
	})
}

// stays fails the test if a number changes within quietFor.
func (c *cluster) stays(what string, figure func() int, want int) {
	c.t.Helper()
	for end := time.Now().Add(quietFor); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if got := figure(); got != want {
			c.t.Fatalf("%s: %d, and not %d any more", what, got, want)
		}
	}
}

// quietFor is long enough for several rounds of a pool.
const quietFor = 8 * time.Second

// The plugin alone, with a provider written for the autoscaler: a group grows by exactly the
// machines that were requested.
func TestKubeMakesAGroupGrowAndDeletesOfIt(t *testing.T) {
	group := machines("general", 3)
	c := newCluster(t, "kube-grow", group)
	cloud := c.newCloud(group, 3, 6)
	asks := cloud.serve()
	r := c.startReplica(asks)
	r.waitActive()
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 18, CPU: "900m"}))
	c.waitForNoPlace(6)
	grow := func(name string, size int64) codes.Code {
		_, err := r.calls.Grow(c.ctx, &wire.GrowRequest{Key: newKey(), Group: name, Size: size})
		return status.Code(err)
	}
	for _, test := range []struct {
		group string
		size  int64
		want  codes.Code
		nodes int
	}{
		{"general", 7, codes.OutOfRange, 3}, {"other", 4, codes.NotFound, 3}, {"general", 5, codes.OK, 5}, {"general", 5, codes.OK, 5},
	} {
		if got := grow(test.group, test.size); got != test.want || c.countNodes() != test.nodes {
			t.Errorf("Grow %s to %d: %v with %d nodes, and not %v with %d", test.group, test.size, got, c.countNodes(), test.want, test.nodes)
		}
	}
	c.waitReady()
	// The next process receives the same request; the provider shows it that the machines exist.
	r.stop()
	r = c.startReplica(asks)
	r.waitActive()
	if got := grow("general", 5); got != codes.OK || c.countNodes() != 5 {
		t.Errorf("asked again: %v with %d nodes", got, c.countNodes())
	}
	c.must(workload.Scale(c.ctx, client, c.namespace, "web", 8))
	c.waitReady()
	victim := c.nodesWith("web")[0]
	c.must(r.begin(victim))
	if result := r.finish()[victim]; result == nil || !result.Ok || c.hasNode(victim) || cloud.target() != 4 {
		t.Errorf("node %s: %v; the cloud has %d machines", victim, result, cloud.target())
	}
	c.waitReady()
	c.checkNoMarks()
	cloud.check()
}

// A pool grows and shrinks: its policy requests machines, the actuator's provider makes them, and
// surplus nodes are drained. The loop is killed while machines boot.
func TestEbbRunSizesAPoolThroughEbbKubeUpAndDownAgain(t *testing.T) {
	ebb := sizingProgram(t)
	group := machines("general", 6)
	c := newCluster(t, "kube-pools", group)
	c.makeSized()
	cloud := c.newCloud(group, 2, 12)
	s := c.startDaemon()
	r := c.startReplica(s.feeding, cloud.serve())
	r.waitActive()
	r.waitFed()
	judge := c.watchBudgets()
	loop := c.startSizing(ebb, s, r)
	c.eventually("a round", func() bool { return loop.has("round 2") })
	c.stays("nodes while the policy is content", c.countNodes, 6)

	cloud.hold()
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "burst", Replicas: 40, CPU: "400m"}))
	waiting, err := workload.WaitSettled(c.ctx, client, c.namespace)
	c.must(err)
	if len(waiting) == 0 {
		t.Fatal("every pod has a place, so that nothing has to grow")
	}
	begin := time.Now()
	c.eventually("machines are asked for", func() bool { return cloud.target() > 6 })
	if c.countNodes() != 6 {
		t.Error("Nodes came that the cloud did not make")
	}
	// The next process must see that machines are booting already.
	asked := cloud.target()
	loop.kill()
	loop.again()
	c.stays("machines of a cloud that is as full as it was asked to be", cloud.target, asked)
	cloud.boot()
	c.waitReady()
	c.eventually("all Nodes are there", func() bool { return c.countNodes() == cloud.target() })
	grown := cloud.target()
	t.Logf("%d pods waited; %d machines instead of 6, and every pod runs, after %v", len(waiting), grown, since(begin))
	// 30 cores are 80 % of 9.4 machines.
	if grown < 10 || grown > 12 {
		t.Errorf("%d machines are not what the policy asks for", grown)
	}

	c.must(workload.Scale(c.ctx, client, c.namespace, "burst", 0))
	begin = time.Now()
	least := grown
	c.eventually("the pool is as small as its policy wants it", func() bool {
		least = min(least, c.countNodes())
		return c.countNodes() == 6 && len(r.status().Running) == 0
	})
	t.Logf("6 machines again after %v", since(begin))
	c.stays("nodes after the pool shrank", c.countNodes, 6)
	loop.kill()
	c.waitReady()
	if cloud.target() != 6 || least < 6 {
		t.Errorf("the cloud has %d machines, and there were %d at least", cloud.target(), least)
	}
	c.checkNoMarks()
	report := judge()
	t.Logf("healthy pods at worst %v of %v demanded", report.Lowest, report.Demanded)
	if report.Evictions == 0 {
		t.Error("no pod was evicted, so that no budget was tried")
	}
	cloud.check()
}

// A provider that makes no machines: the loop logs that, and nothing else happens.
func TestEbbRunSaysThatAPoolCannotGrow(t *testing.T) {
	ebb := sizingProgram(t)
	c := newCluster(t, "kube-pools-cannot", machines("general", 3))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 14, CPU: "900m"}))
	c.waitForNoPlace(2) // Three nodes hold twelve.
	s := c.startDaemon()
	r := c.startReplica(s.feeding, func(o *app.Options) { o.Actuate.AbandonedAfter = time.Minute })
	r.waitActive()
	r.waitFed()
	loop := c.startSizing(ebb, s, r)
	c.eventually("the loop says that the pool cannot grow", func() bool { return loop.has("general: it cannot grow") })
	if !loop.has("it says that it cannot") {
		t.Error("it does not say why")
	}
	loop.kill()
	c.waitForNoPlace(2)
	if c.countNodes() != 3 {
		t.Errorf("%d nodes", c.countNodes())
	}
	c.checkNoMarks()
}
