package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/e2e/budgets"
	"ebb/go/e2e/nodes"
	"ebb/go/e2e/workload"
)

// happensWithin limits what a test waits for. It is long, because the machine may be busy and no
// result depends on it.
const happensWithin = 5 * time.Minute

// cluster is a test's nodes and namespace; both are deleted when the test ends.
type cluster struct {
	t         *testing.T
	ctx       context.Context
	limit     time.Duration // For the test, and again for the removal at its end.
	namespace string
	nodes     []string
}

// namespaces counts the namespaces created: a deleted one takes time to disappear, and a test may
// be repeated.
var namespaces int

// newCluster creates nodes. Tests run one after the other, so all existing nodes belong to this
// test.
func newCluster(t *testing.T, namespace string, groups ...nodes.Group) *cluster {
	t.Helper()
	return newClusterWithin(t, happensWithin, namespace, groups...)
}

// newClusterWithin is newCluster for a test that takes longer.
func newClusterWithin(t *testing.T, limit time.Duration, namespace string, groups ...nodes.Group) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	namespaces++
	c := &cluster{t: t, ctx: ctx, limit: limit, namespace: fmt.Sprintf("%s-%d", namespace, namespaces)}
	t.Cleanup(func() {
		c.remove()
		cancel()
	})
	begin := time.Now()
	var err error
	if c.nodes, err = nodes.Create(ctx, client, groups...); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes after %v", len(c.nodes), since(begin))
	c.must(workload.Namespace(ctx, client, c.namespace))
	return c
}

func (c *cluster) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	begin := time.Now()
	// Delete the nodes last: their simulated kubelets end the pods.
	if err := workload.Remove(ctx, client, c.namespace); err != nil {
		c.t.Error(err)
	}
	if err := client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		c.t.Error(err)
	}
	c.t.Logf("removed after %v", since(begin))
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// waitReady waits until all pods are ready, and logs how long it took.
func (c *cluster) waitReady() {
	c.t.Helper()
	begin := time.Now()
	c.must(workload.WaitReady(c.ctx, client, c.namespace))
	c.t.Logf("%d pods ready after %v", len(c.pods("")), since(begin))
}

// pods returns the pods of an application, or all pods.
func (c *cluster) pods(app string) []corev1.Pod {
	c.t.Helper()
	options := metav1.ListOptions{}
	if app != "" {
		options.LabelSelector = workload.AppLabel + "=" + app
	}
	pods, err := client.CoreV1().Pods(c.namespace).List(c.ctx, options)
	c.must(err)
	return pods.Items
}

func (c *cluster) evict(pod string) error {
	return client.PolicyV1().Evictions(c.namespace).Evict(c.ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: c.namespace},
	})
}

// watchBudgets returns a function that ends the watch, and fails the test if a budget did not hold.
func (c *cluster) watchBudgets() func() *budgets.Report {
	c.t.Helper()
	return c.watchBudgetsBut(func(budgets.Breach) bool { return false })
}

// watchBudgetsBut is like watchBudgets, but only logs excused breaches.
func (c *cluster) watchBudgetsBut(excused func(budgets.Breach) bool) func() *budgets.Report {
	c.t.Helper()
	watcher, err := budgets.Start(c.ctx, client, c.namespace)
	c.must(err)
	return func() *budgets.Report {
		c.t.Helper()
		begin := time.Now()
		report, err := watcher.Judge(c.ctx)
		c.must(err)
		c.t.Logf("budgets judged after %v: %d changes, %d evictions", since(begin), report.Events, report.Evictions)
		for _, breach := range report.Breaches {
			if excused(breach) {
				c.t.Log(breach)
			} else {
				c.t.Error(breach)
			}
		}
		return report
	}
}

// eventually waits until a condition is true.
func (c *cluster) eventually(what string, condition func() bool) time.Duration {
	c.t.Helper()
	begin := time.Now()
	for !condition() {
		select {
		case <-c.ctx.Done():
			c.t.Fatalf("never: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return since(begin)
}

func since(begin time.Time) time.Duration { return time.Since(begin).Round(time.Millisecond) }

func machines(name string, count int) nodes.Group {
	return nodes.Group{Name: name, Count: count, CPU: "4", Memory: "16Gi", Zones: []string{"a", "b", "c"}}
}

func appName(kind string, i int) string { return fmt.Sprintf("%s-%02d", kind, i) }
