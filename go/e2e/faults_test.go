package e2e

import (
	"errors"
	"net"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/e2e/workload"
)

// awayFor is long enough for every client to retry without success.
const awayFor = 5 * time.Second

func TestControlPlaneGoesOnWhenTheAPIServerComesBack(t *testing.T) {
	c := newCluster(t, "api-server-away", machines("general", 4))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 8}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", 2))
	c.waitReady()
	c.eventually("the budget allows evictions", func() bool { return c.disruptionsAllowed("web") == 2 })
	judge := c.watchBudgets()
	pods := c.pods("web")
	c.must(c.evict(pods[0].Name))

	plane.TakeAPIServerAway()
	_, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	var refused *net.OpError
	if !errors.As(err, &refused) {
		t.Errorf("the API server is away and answers: %v", err)
	}
	time.Sleep(awayFor)
	c.must(plane.BringAPIServerBack())

	begin := time.Now()
	c.eventually("the API server answers", func() bool {
		_, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
		return err == nil
	})
	c.eventually("an eviction is allowed", func() bool { return c.evict(pods[1].Name) == nil })
	c.waitReady()
	t.Logf("the control plane went on after %v", since(begin))
	if report := judge(); report.Evictions != 2 {
		t.Errorf("the watch saw %d evictions, not 2", report.Evictions)
	}
	c.must(plane.Err())
}

func TestDroppedWatchesMissNoChange(t *testing.T) {
	c := newCluster(t, "watch-dropped", machines("general", 4))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 8}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", 1))
	c.waitReady()
	judge := c.watchBudgets()
	pods := c.pods("web")
	c.eventually("an eviction is allowed", func() bool { return c.evict(pods[0].Name) == nil })
	if dropped := plane.DropConnections(); dropped == 0 {
		t.Error("there was no connection to drop")
	}
	for _, pod := range pods[1:3] {
		// Clients reconnect after a delay: client-go doubles it after each drop, up to 30 s, and
		// resets it only after two quiet minutes.
		took := c.eventually("an eviction is allowed", func() bool { return c.evict(pod.Name) == nil })
		t.Logf("evicted after %v", took)
	}
	c.waitReady()
	if report := judge(); report.Evictions != 3 {
		t.Errorf("the watch saw %d evictions, not 3", report.Evictions)
	}
}
