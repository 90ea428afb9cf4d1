package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"ebb/go/kube/app"
)

// The whole loop: ebb-kube feeds a daemon, `ebb run` decides by its rounds, and ebb-kube carries
// them out. `ebb run` is killed in the middle and started again.
func TestEbbRunShrinksTheClusterThroughEbbKubeAndIsKilledOnTheWay(t *testing.T) {
	ebb := ebbProgram(t)
	if help, err := exec.Command(ebb, "run", "--help").CombinedOutput(); err != nil || !strings.Contains(string(help), "--actuator") {
		t.Skip("this ebb run drives no plugin yet")
	}
	c := newCluster(t, "kube-loop", machines("general", 40))
	c.makeCompany(2)
	c.waitReady()
	s := c.startDaemon()
	r := c.startReplica(s.feeding, func(o *app.Options) { o.Actuate.AbandonedAfter = time.Minute })
	r.waitActive()
	r.waitFed()
	judge := c.watchBudgets()
	plan := s.plan()
	if len(plan.Remove) == 0 {
		t.Fatal("nothing is to be done, so that the test shows nothing")
	}
	loop := c.start(ebb, "run", "--server", s.address, "--session", "e2e", "--actuator", "unix:"+r.socket,
		"--scan-interval", "1s", "--scale-down-unneeded-time", "0s", "--node-delete-delay-after-taint", "1s",
		"--scale-down-delay-after-failure", "0s", "--scale-down-delay-after-add", "0s",
		"--max-drain-parallelism", "4", "--max-scale-down-parallelism", "8")
	c.eventually("something is being deleted", func() bool { return len(r.status().Running) > 0 })
	loop.kill()
	left := len(r.status().Running)
	loop.again()
	t.Logf("killed with %d deletions under way", left)
	quiet := time.Now()
	last := c.countNodes()
	c.eventually("nothing more goes", func() bool {
		now := c.countNodes()
		if now != last || len(r.status().Running) > 0 {
			last, quiet = now, time.Now()
		}
		time.Sleep(time.Second)
		return time.Since(quiet) > 15*time.Second
	})
	loop.kill()
	t.Logf("%d of %d nodes are left; the first plan promised %d", last, len(c.nodes), len(c.nodes)-plan.Summary.Removed)
	if last == len(c.nodes) {
		t.Error("no node went")
	}
	c.waitReady()
	c.checkNoMarks()
	judge()
}
