package e2e

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/e2e/chain"
	"ebb/go/e2e/workload"
)

// ebbProgram is the path of the program; without it the test is skipped.
func ebbProgram(t *testing.T) string {
	t.Helper()
	path := os.Getenv("EBB")
	if path == "" {
		t.Skip("EBB is not set to the path of the program ebb")
	}
	return path
}

// drainsAtATime is more than an autoscaler's default, so that drains meet at their budgets.
const drainsAtATime = 10

func TestClusterShrinksToWhatThePlanPromised(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "chain", machines("general", 150), machines("batch", 50))
	c.makeCompany()
	c.waitReady()
	judge := c.watchBudgets()

	dump, err := chain.Dump(c.ctx, client)
	c.must(err)
	before := c.pods("")
	begin := time.Now()
	plan, err := chain.MakePlan(c.ctx, ebb, dump)
	c.must(err)
	t.Logf("%d of %d nodes can go, %d of %d pods move; ebb took %v",
		plan.Summary.Removed, plan.Summary.Nodes, plan.Summary.MovedPods, plan.Summary.Pods, since(begin))
	if plan.Summary.Removed == 0 || plan.Summary.MovedPods == 0 {
		t.Fatal("nothing is to be done, so that the test shows nothing")
	}
	begin = time.Now()
	result, err := chain.CarryOut(c.ctx, client, plan, drainsAtATime)
	c.must(err)
	t.Logf("%d nodes deleted after %v, %d pods evicted, %d times a budget refused at first",
		len(result.Deleted), since(begin), result.Evicted, result.Refused)
	c.waitReady()

	c.checkNodes(plan)
	if result.Evicted != plan.Summary.MovedPods {
		t.Errorf("%d pods were evicted, the plan moves %d", result.Evicted, plan.Summary.MovedPods)
	}
	agreement, err := chain.Compare(plan, before, c.pods(""))
	c.must(err)
	t.Log(agreement)
	if report := judge(); report.Evictions != result.Evicted {
		t.Errorf("the watch saw %d evictions, not %d", report.Evictions, result.Evicted)
	} else {
		t.Logf("every budget held in %d changes; healthy pods at worst %v of %v demanded", report.Events, report.Lowest, report.Demanded)
	}
}

// makeCompany makes applications of every kind that the cluster's scheduler and budgets have rules
// for.
func (c *cluster) makeCompany() {
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
	for i := range 8 {
		make(deployment, workload.App{Name: appName("web", i), Replicas: 20, CPU: "400m", Memory: "1Gi"})
		c.must(workload.Budget(c.ctx, client, c.namespace, appName("web", i), 2))
		make(deployment, workload.App{Name: appName("free", i), Replicas: 15, CPU: "300m", Memory: "512Mi"})
	}
	for i := range 4 {
		make(statefulSet, workload.App{Name: appName("db", i), Replicas: 5, CPU: "1", Memory: "2Gi", OnePerNode: true})
		c.must(workload.Budget(c.ctx, client, c.namespace, appName("db", i), 1))
		make(deployment, workload.App{Name: appName("zonal", i), Replicas: 9, CPU: "500m", SpreadZones: true})
	}
}

// checkNodes: exactly the plan's nodes are gone, and none is left tainted.
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
