package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/e2e/chain"
	"ebb/go/e2e/workload"
)

// ebbProgram returns the path of the program ebb; without one the test is skipped.
func ebbProgram(t *testing.T) string {
	t.Helper()
	path := os.Getenv("EBB")
	if path == "" {
		t.Skip("EBB is not set to the path of the program ebb")
	}
	return path
}

// drainsAtATime is more than the autoscaler's default, so that drains compete for budgets.
const drainsAtATime = 10

// makePlan dumps the cluster and runs ebb over it. It also returns the pods of the dump.
func (c *cluster) makePlan(ebb string, flags ...string) (*chain.Plan, []corev1.Pod) {
	c.t.Helper()
	dump, err := chain.Dump(c.ctx, client)
	c.must(err)
	before := c.pods("")
	begin := time.Now()
	plan, err := chain.MakePlan(c.ctx, ebb, dump, flags...)
	c.must(err)
	c.t.Logf("%d of %d nodes can go, %d of %d pods move; ebb took %v",
		plan.Summary.Removed, plan.Summary.Nodes, plan.Summary.MovedPods, plan.Summary.Pods, since(begin))
	if plan.Summary.Removed == 0 || plan.Summary.MovedPods == 0 {
		c.t.Fatal("nothing is to be done, so that the test shows nothing")
	}
	return plan, before
}

// carryOut carries out the plan and checks the result against it.
func (c *cluster) carryOut(plan *chain.Plan) *chain.Result {
	c.t.Helper()
	begin := time.Now()
	result, err := chain.CarryOut(c.ctx, client, plan, drainsAtATime)
	c.must(err)
	c.t.Logf("%d nodes deleted after %v, %d pods evicted, %d times a budget refused at first",
		len(result.Deleted), since(begin), result.Evicted, result.Refused)
	if result.Evicted != plan.Summary.MovedPods {
		c.t.Errorf("%d pods were evicted, the plan moves %d", result.Evicted, plan.Summary.MovedPods)
	}
	c.checkNodes(plan)
	return result
}

func TestClusterShrinksToWhatThePlanPromised(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "chain", machines("general", 150), machines("batch", 50))
	c.makeCompany(8)
	c.waitReady()
	judge := c.watchBudgets()
	plan, before := c.makePlan(ebb)
	result := c.carryOut(plan)
	c.waitReady()

	agreement, err := chain.Compare(plan, before, c.pods(""))
	c.must(err)
	t.Log(agreement)
	report := judge()
	if report.Evictions != result.Evicted {
		t.Errorf("the watch saw %d evictions, not %d", report.Evictions, result.Evicted)
	}
	t.Logf("%d changes; healthy pods at worst %v of %v demanded", report.Events, report.Lowest, report.Demanded)
}

// A tight cluster shows the cost of the scheduler's own choice of nodes: the plan fills nodes, but
// the scheduler spreads pods and may find no node for some.
func TestTightPlanIsCarriedOutAndPodsWithoutAPlaceAreCounted(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "tight", machines("general", 40))
	for i, cpu := range []string{"1700m", "1300m", "600m", "300m"} {
		c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: appName("app", i), Replicas: 20, CPU: cpu}))
	}
	c.waitReady()
	plan, before := c.makePlan(ebb, "--candidate-order", "fewest-pods", "--scale-down-utilization-threshold", "1")
	c.carryOut(plan)
	nowhere, err := workload.WaitSettled(c.ctx, client, c.namespace)
	c.must(err)
	agreement, err := chain.Compare(plan, before, c.pods(""))
	c.must(err)
	t.Logf("%v; %d pods have no place", agreement, len(nowhere))
	if len(nowhere) > plan.Summary.MovedPods {
		t.Errorf("%d pods have no place, more than the %d that moved", len(nowhere), plan.Summary.MovedPods)
	}
}

// The remedy is to name the scheduler the node of the plan, in status.nominatedNodeName, which it
// tries first. A scheduling gate makes sure that new pods are nominated in time. Without a gate it
// is a race; its outcome is logged next to the prediction of the trials.
func TestPodsThatAreNominatedInTimeLandWhereTheTightPlanHasThem(t *testing.T) {
	for _, test := range []struct {
		name, gate string
		share      float64
	}{
		{"no pod is nominated", "", 0},
		{"in a race with the scheduler", "", 1},
		{"half of them, held by a gate", chain.NominatorGate, 0.5},
		{"all, held by a gate", chain.NominatorGate, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			agreement, nowhere := tightlyNominated(t, test.gate, test.share)
			if test.gate != "" && test.share == 1 && (agreement.Agreed != agreement.Moved || nowhere > 0) {
				t.Error("a pod that was nominated before the scheduler saw it is elsewhere, or nowhere")
			}
		})
	}
}

// tightlyNominated carries out a plan that fills nodes as far as possible, and nominates a share of
// the new pods. It returns how many pods landed as planned, and how many have no node.
func tightlyNominated(t *testing.T, gate string, share float64) (chain.Agreement, int) {
	t.Helper()
	ebb := ebbProgram(t)
	c := newCluster(t, "nominated", machines("general", 40))
	nominator := chain.StartNominator(c.ctx, client, c.namespace)
	for i, cpu := range []string{"2300m", "1500m", "900m", "300m"} {
		c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: appName("app", i), Replicas: 20, CPU: cpu, Gate: gate}))
	}
	c.waitReady()
	plan, before := c.makePlan(ebb, "--optimize", "--iterations", "20", "--scale-down-utilization-threshold", "1",
		"--trials", "20", "--nominated-share", fmt.Sprint(share))
	nominator.Follow(plan, before, share)
	c.carryOut(plan)
	nowhere, err := workload.WaitSettled(c.ctx, client, c.namespace)
	c.must(err)
	done := nominator.Stop()
	c.must(done.Failed)
	agreement, err := chain.Compare(plan, before, c.pods(""))
	c.must(err)
	if agreement.Moved == 0 || plan.Summary.Trials == nil {
		t.Fatal("no pod moves, or nothing was predicted, so that the test shows nothing")
	}
	t.Logf("%d nodes go; %d pods nominated in time, %d too late, %d not at all; %v; %d pods have no place", len(plan.Remove),
		done.Nominated, done.Late, done.LeftOut, agreement, len(nowhere))
	t.Logf("predicted in random order and in the plan's: %+v", *plan.Summary.Trials)
	return agreement, len(nowhere)
}

func TestBudgetsTightenedAfterThePlanAreWaitedFor(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "tightened", machines("general", 40))
	c.makeCompany(2)
	c.waitReady()
	judge := c.watchBudgets()
	plan, _ := c.makePlan(ebb)
	setBudgets := func(maxUnavailable int) {
		for i := range 2 {
			c.patchBudget(appName("web", i), fmt.Sprintf(`{"spec":{"maxUnavailable":%d}}`, maxUnavailable))
		}
	}
	setBudgets(0)
	for i := range 2 {
		c.eventually("the budget allows nothing", func() bool { return c.disruptionsAllowed(appName("web", i)) == 0 })
	}
	loosen := time.AfterFunc(tightFor, func() { setBudgets(1) })
	defer loosen.Stop()
	result := c.carryOut(plan)
	c.waitReady()
	if movesOf(plan, "web-") > 0 && result.Refused == 0 {
		t.Error("no budget refused an eviction")
	}
	if report := judge(); report.Evictions != result.Evicted {
		t.Errorf("the watch saw %d evictions, not %d", report.Evictions, result.Evicted)
	}
}

// movesOf counts a plan's moved pods whose names have a prefix.
func movesOf(plan *chain.Plan, prefix string) int {
	count := 0
	for _, removal := range plan.Remove {
		for _, move := range removal.Pods {
			if strings.HasPrefix(move.Name, prefix) {
				count++
			}
		}
	}
	return count
}

// tightFor is long enough for all other drains to end.
const tightFor = 5 * time.Second

func TestPlanIsCarriedOutThoughTheAPIServerGoesAway(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "chain-away", machines("general", 40))
	c.makeCompany(2)
	c.waitReady()
	judge := c.watchBudgets()
	plan, _ := c.makePlan(ebb)
	back := make(chan error, 1)
	firstGone := plan.Nodes()[0]
	go func() {
		c.waitUntilNodeIsGone(firstGone)
		plane.TakeAPIServerAway()
		time.Sleep(awayFor)
		back <- plane.BringAPIServerBack()
	}()
	result := c.carryOut(plan)
	c.must(<-back)
	c.waitReady()
	if report := judge(); report.Evictions != result.Evicted {
		t.Errorf("the watch saw %d evictions, not %d", report.Evictions, result.Evicted)
	}
	c.must(plane.Err())
}

// waitUntilNodeIsGone also returns when the test's time is over.
func (c *cluster) waitUntilNodeIsGone(name string) {
	for c.ctx.Err() == nil {
		if _, err := client.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// patchBudget changes a budget by a merge patch; any goroutine may call it.
func (c *cluster) patchBudget(name, patch string) {
	_, err := client.PolicyV1().PodDisruptionBudgets(c.namespace).Patch(
		c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		c.t.Error(err)
	}
}

// makeCompany creates applications for every rule of the scheduler and of budgets: a DaemonSet,
// size Deployments with a budget and size without, and half as many StatefulSets with anti-affinity
// and Deployments that are spread over zones.
func (c *cluster) makeCompany(size int) {
	c.t.Helper()
	make := func(create func(context.Context, string, workload.App) error, apps ...workload.App) {
		c.t.Helper()
		for _, app := range apps {
			c.must(create(c.ctx, c.namespace, app))
		}
	}
	deployment := func(ctx context.Context, namespace string, app workload.App) error {
		return workload.Deployment(ctx, client, namespace, app)
	}
	statefulSet := func(ctx context.Context, namespace string, app workload.App) error {
		return workload.StatefulSet(ctx, client, namespace, app)
	}
	daemonSet := func(ctx context.Context, namespace string, app workload.App) error {
		return workload.DaemonSet(ctx, client, namespace, app)
	}
	make(daemonSet, workload.App{Name: "agent", CPU: "100m"})
	// A scheduler that does not know all nodes yet would fill the nodes that it knows, and their
	// agents would find no room.
	c.eventually("an agent is bound to every node", func() bool {
		bound := slices.DeleteFunc(c.pods("agent"), func(pod corev1.Pod) bool { return pod.Spec.NodeName == "" })
		return len(bound) == len(c.nodes)
	})
	for i := range size {
		make(deployment, workload.App{Name: appName("web", i), Replicas: 20, CPU: "400m", Memory: "1Gi"})
		c.must(workload.Budget(c.ctx, client, c.namespace, appName("web", i), 2))
		make(deployment, workload.App{Name: appName("free", i), Replicas: 15, CPU: "300m", Memory: "512Mi"})
	}
	for i := range size / 2 {
		make(statefulSet, workload.App{Name: appName("db", i), Replicas: 5, CPU: "1", Memory: "2Gi", OnePerNode: true})
		c.must(workload.Budget(c.ctx, client, c.namespace, appName("db", i), 1))
		make(deployment, workload.App{Name: appName("zonal", i), Replicas: 9, CPU: "500m", SpreadZones: true})
	}
}

// checkNodes checks that exactly the plan's nodes are gone, and that no other node is tainted.
func (c *cluster) checkNodes(plan *chain.Plan) {
	c.t.Helper()
	left, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	c.must(err)
	var names []string
	for _, node := range left.Items {
		names = append(names, node.Name)
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == chain.ToBeDeleted }) || node.Spec.Unschedulable {
			c.t.Errorf("node %s is left tainted or cordoned", node.Name)
		}
	}
	want := slices.DeleteFunc(slices.Clone(c.nodes), func(name string) bool { return slices.Contains(plan.Nodes(), name) })
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		c.t.Errorf("%d nodes are left, %d were promised", len(names), len(want))
	}
}
