package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/e2e/budgets"
	"ebb/go/e2e/nodes"
	"ebb/go/e2e/workload"
)

func TestControlPlaneMakesItsNamespaces(t *testing.T) {
	for _, name := range []string{"default", "kube-system", "kube-node-lease"} {
		if _, err := client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestFiveHundredPodsRunOnTwoHundredNodes(t *testing.T) {
	c := newCluster(t, "five-hundred", machines("general", 200))
	for i := range 10 {
		c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: appName("web", i), Replicas: 50}))
	}
	c.waitReady()
	if pods := c.pods(""); len(pods) != 500 {
		t.Errorf("%d pods run, not 500", len(pods))
	}
}

func TestSpentBudgetRefusesEvictionUntilThePodIsReplaced(t *testing.T) {
	c := newCluster(t, "spent-budget", machines("general", 3))
	// A StatefulSet creates no replacement while a pod is still ending.
	c.must(workload.StatefulSet(c.ctx, client, c.namespace, workload.App{Name: "db", Replicas: 3}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "db", 1))
	c.waitReady()
	c.eventually("the budget allows an eviction", func() bool { return c.disruptionsAllowed("db") == 1 })
	judge := c.watchBudgets()

	c.annotate("db-0", `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":"true"}}}`)
	c.must(c.evict("db-0"))
	for range 5 {
		if err := c.evict("db-1"); !apierrors.IsTooManyRequests(err) {
			t.Errorf("eviction at a spent budget: %v, not 429", err)
		}
	}
	c.annotate("db-0", `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":null}}}`)
	took := c.eventually("the next eviction is allowed", func() bool { return c.evict("db-1") == nil })
	t.Logf("allowed again after %v", took)
	c.waitReady()
	if report := judge(); report.Evictions != 2 || report.Lowest["db"] != 2 {
		t.Errorf("report: %+v", report)
	}
}

// The test deletes pods as the Eviction API would, although the API itself would refuse.
func TestWatchSeesABudgetThatDidNotHold(t *testing.T) {
	c := newCluster(t, "breach", machines("general", 3))
	c.must(workload.StatefulSet(c.ctx, client, c.namespace, workload.App{Name: "db", Replicas: 3}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "db", 1))
	c.waitReady()
	watcher, err := budgets.Start(c.ctx, client, c.namespace)
	c.must(err)
	// The pods stay, so that none is replaced in between.
	for _, name := range []string{"db-0", "db-1"} {
		c.annotate(name, `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":"true"}}}`)
		c.deleteAsIfEvicted(name)
	}
	report, err := watcher.Judge(c.ctx)
	c.must(err)
	if len(report.Breaches) != 1 || report.Breaches[0].Pod != "db-1" || report.Breaches[0].Healthy != 1 {
		t.Errorf("breaches: %v, not the one of db-1", report.Breaches)
	}
	for _, name := range []string{"db-0", "db-1"} {
		c.annotate(name, `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":null}}}`)
	}
}

func (c *cluster) deleteAsIfEvicted(name string) {
	c.t.Helper()
	pods := client.CoreV1().Pods(c.namespace)
	pod, err := pods.Get(c.ctx, name, metav1.GetOptions{})
	c.must(err)
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", LastTransitionTime: metav1.Now(),
	})
	_, err = pods.UpdateStatus(c.ctx, pod, metav1.UpdateOptions{})
	c.must(err)
	c.must(pods.Delete(c.ctx, name, metav1.DeleteOptions{}))
}

func TestPodsOfADeletedNodeAreReplaced(t *testing.T) {
	c := newCluster(t, "deleted-node", machines("general", 3))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 9}))
	c.must(workload.StatefulSet(c.ctx, client, c.namespace, workload.App{Name: "db", Replicas: 3}))
	c.waitReady()
	lost := c.pods("")[0].Spec.NodeName
	c.must(client.CoreV1().Nodes().Delete(c.ctx, lost, metav1.DeleteOptions{}))
	begin := time.Now()
	c.waitReady()
	t.Logf("all replaced after %v", since(begin))
	for _, pod := range c.pods("") {
		if pod.Spec.NodeName == lost {
			t.Errorf("pod %s is on %s, which was deleted", pod.Name, lost)
		}
	}
}

func TestAPodThatNeverEndsStaysUntilItIsLetGo(t *testing.T) {
	c := newCluster(t, "never-ends", machines("general", 2))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{
		Name: "stuck", Replicas: 1, Annotations: map[string]string{nodes.NeverEnds: "true"},
	}))
	c.waitReady()
	stuck := c.pods("stuck")[0]
	c.must(c.evict(stuck.Name))
	c.eventually("another pod takes its place", func() bool { return len(c.pods("stuck")) == 2 })
	pod, err := client.CoreV1().Pods(c.namespace).Get(c.ctx, stuck.Name, metav1.GetOptions{})
	c.must(err)
	if pod.DeletionTimestamp == nil || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("the pod is %s, deleted at %v", pod.Status.Phase, pod.DeletionTimestamp)
	}
	for _, pod := range c.pods("stuck") {
		c.annotate(pod.Name, `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":null}}}`)
	}
	c.waitReady()
}

func (c *cluster) disruptionsAllowed(budget string) int32 {
	c.t.Helper()
	found, err := client.PolicyV1().PodDisruptionBudgets(c.namespace).Get(c.ctx, budget, metav1.GetOptions{})
	c.must(err)
	return found.Status.DisruptionsAllowed
}

// annotate changes a pod by a merge patch.
func (c *cluster) annotate(pod, patch string) {
	c.t.Helper()
	_, err := client.CoreV1().Pods(c.namespace).Patch(c.ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}
