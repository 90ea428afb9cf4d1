package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/e2e/nodes"
	"ebb/go/e2e/workload"
	"ebb/go/kube/app"
	"ebb/go/kube/provider/karpenter"
	wire "ebb/go/kube/wire/actuatorpb"
)

// prepareProvider is prepare for a group of nodes, a controller and a provider of its own.
func prepareProvider(t *testing.T, name string, group nodes.Group, begin func(*cluster) func(*app.Options)) *prepared {
	t.Helper()
	c := newCluster(t, name, group)
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 8, CPU: "900m"}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", 2))
	c.waitReady()
	c.eventually("the budget is known", func() bool { return c.disruptionsAllowed("web") == 2 })
	edit := begin(c)
	p := &prepared{cluster: c, judge: c.watchBudgets(), replica: c.startReplica(edit), edit: edit}
	p.waitActive()
	return p
}

func prepareKarpenter(t *testing.T, name string, drains bool) (*prepared, *karpenterFake) {
	t.Helper()
	var k *karpenterFake
	p := prepareProvider(t, name, karpenterNodes(4), func(c *cluster) func(*app.Options) {
		k = c.startKarpenter()
		k.evicts = drains
		return c.byKarpenter(drains)
	})
	return p, k
}

// options returns the replica's options, for a check.
func (p *prepared) options() *app.Options {
	o := &app.Options{Listen: p.socket}
	p.edit(o)
	return o
}

// restart ends the replica at once, as a kill does for the cluster, and starts another one.
func (p *prepared) restart() {
	p.t.Helper()
	p.stop()
	p.replica = p.startReplica(p.edit)
	p.waitActive()
}

// checkEnded checks that exactly these machines ended.
func (p *prepared) checkEnded(m *machineRoom, victims ...string) {
	p.t.Helper()
	ended := m.check()
	slices.Sort(ended)
	slices.Sort(victims)
	if !slices.Equal(slices.Compact(ended), victims) {
		p.t.Errorf("machines of %v ended; expected %v", ended, victims)
	}
}

func TestKarpentersNodesGoByTheirNodeClaims(t *testing.T) {
	p, k := prepareKarpenter(t, "karpenter", false)
	victims := p.nodesWith("web")[:2]
	p.must(p.begin(victims...))
	results := p.finish()
	for _, name := range victims {
		p.expect(results, name, true)
		p.eventually("the NodeClaim is gone", func() bool { exists, _ := k.hasClaim(name); return !exists })
	}
	if len(p.status().RecentEvictions) < 2 {
		t.Error("the drain was not ebb's")
	}
	p.checkEnded(&k.machineRoom, victims...)
	p.check()
}

func TestKarpenterDrainsTheNodesIfItIsToldTo(t *testing.T) {
	p, k := prepareKarpenter(t, "karpenter-drains", true)
	victim := p.nodesWith("web")[0]
	p.must(p.begin(victim))
	p.expect(p.finish(), victim, true)
	if evictions := p.status().RecentEvictions; len(evictions) > 0 {
		t.Errorf("%d pods were evicted by ebb", len(evictions))
	}
	p.checkEnded(&k.machineRoom, victim)
	p.check()
}

// The node keeps what was written on it, and the next process goes on, whatever was done by then.
func TestKarpentersNodeGoesOnceWhenEbbKubeIsRestartedInEachPhase(t *testing.T) {
	p, k := prepareKarpenter(t, "karpenter-restart", false)
	victim := p.nodesWith("web")[0]
	p.throughRestarts(victim, &k.machineRoom, func() bool { _, going := k.hasClaim(victim); return going })
	p.checkEnded(&k.machineRoom, victim)
	p.check()
}

// throughRestarts deletes a node, and restarts ebb-kube in each phase. isAsked reports whether the
// controller was asked for the deletion.
func (p *prepared) throughRestarts(victim string, m *machineRoom, isAsked func() bool) {
	p.t.Helper()
	m.hold(true)
	p.must(p.begin(victim))
	p.restart()
	p.reaches(victim, wire.DeletionPhase_TAINTED)
	// A pod that does not end keeps the drain going after all evictions were accepted.
	var stuck string
	for _, pod := range p.pods("web") {
		if pod.Spec.NodeName == victim {
			stuck = pod.Name
		}
	}
	p.annotate(stuck, `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":"true"}}}`)
	p.must(p.drain(victim))
	p.eventually("only the pod is left that does not end", func() bool {
		for _, pod := range p.pods("web") {
			if pod.Spec.NodeName == victim && (pod.Name != stuck || pod.DeletionTimestamp == nil) {
				return false
			}
		}
		return true
	})
	p.restart()
	p.reaches(victim, wire.DeletionPhase_DRAINING)
	p.annotate(stuck, `{"metadata":{"annotations":{"`+nodes.NeverEnds+`":null}}}`)
	p.reaches(victim, wire.DeletionPhase_DRAINED)
	p.restart()
	p.reaches(victim, wire.DeletionPhase_DRAINED)
	_, err := p.calls.Delete(p.ctx, &wire.DeleteRequest{Key: newKey(), Node: victim})
	p.must(err)
	p.eventually("the controller is asked", isAsked)
	p.restart()
	p.reaches(victim, wire.DeletionPhase_DELETING)
	m.hold(false)
	p.expect(p.finish(), victim, true)
}

func TestKarpentersRulesKeepNodesAtTheMomentOfActing(t *testing.T) {
	p, k := prepareKarpenter(t, "karpenter-rules", false)
	victim := p.nodesWith("web")[0]
	refused := func(what, want string) {
		t.Helper()
		if err := p.begin(victim); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	k.setPool(object{"consolidationPolicy": "WhenEmptyOrUnderutilized"})
	refused("both consolidate", "set it to WhenEmpty, or set spec.disruption.consolidateAfter to Never")
	_, err := app.Check(p.ctx, p.options())
	if err == nil || !strings.Contains(err.Error(), "Karpenter consolidates its nodes too") {
		t.Errorf("check: %v", err)
	}
	k.setPool(object{"consolidateAfter": "Never", "budgets": []any{object{"nodes": "0", "schedule": "@hourly", "duration": "2h"}}})
	refused("the budget", `the budgets of NodePool "default" allow 0 of 4 nodes`)
	k.setPool(object{"budgets": []any{object{"nodes": "1"}}})
	if _, err := app.Check(p.ctx, p.options()); err != nil {
		t.Errorf("check: %v", err)
	}

	// A budget of one node: of two, one goes, and the other one is untouched.
	both := p.nodesWith("web")[:2]
	p.must(p.begin(both...))
	p.must(p.drain(both[0]))
	p.must(p.drain(both[1]))
	if failed := p.reaches(both[1], wire.DeletionPhase_FAILED); !strings.Contains(failed.Why, "and 1 are already") {
		t.Error(failed.Why)
	}
	// After its drain a pod forbids the deletion.
	p.reaches(both[0], wire.DeletionPhase_DRAINED)
	p.must(annotateNode(p.cluster, both[0], `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true"}}}`))
	results := p.finish()
	for i, want := range []string{"karpenter.sh/do-not-disrupt", "budgets"} {
		if result := p.expect(results, both[i], false); !strings.Contains(result.Why, want) {
			t.Error(result.Why)
		}
	}
	p.checkEnded(&k.machineRoom)
	p.check()
}

func annotateNode(c *cluster, name, patch string) error {
	_, err := client.CoreV1().Nodes().Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func TestTheProvidersOfClustersPassConformance(t *testing.T) {
	t.Run("karpenter", func(t *testing.T) {
		p, k := prepareKarpenter(t, "karpenter-conformance", false)
		p.checkEnded(&k.machineRoom, p.passConformance())
	})
	t.Run("cluster-api", func(t *testing.T) {
		p, f := prepareClusterAPI(t, "cluster-api-conformance")
		p.checkEnded(&f.machineRoom, p.passConformance())
		f.expectReplicas(3)
	})
}

// The program itself is killed, as by kill -9, while Karpenter ends the machine.
func TestTheProgramIsKilledWhileKarpenterEndsTheMachine(t *testing.T) {
	path := kubeProgram(t)
	p, k := prepareKarpenter(t, "karpenter-killed", false)
	p.stop()
	k.hold(true)
	program, r := p.startKube(path, "ebb-karpenter", "--provider", "karpenter")
	r.waitActive()
	victim := p.nodesWith("web")[0]
	p.must(r.begin(victim))
	p.must(r.drain(victim))
	r.reaches(victim, wire.DeletionPhase_DRAINED)
	_, err := r.calls.Delete(p.ctx, &wire.DeleteRequest{Key: newKey(), Node: victim})
	p.must(err)
	p.eventually("Karpenter is asked", func() bool { _, going := k.hasClaim(victim); return going })
	program.kill()
	program.again()
	r.waitActive()
	r.reaches(victim, wire.DeletionPhase_DELETING)
	k.hold(false)
	p.expect(r.finish(), victim, true)
	p.checkEnded(&k.machineRoom, victim)
	p.check()
}

// Karpenter finds a node empty that ebb has drained, and is first.
func TestANodeThatKarpenterDeletesWhileEbbDrainsItHasGone(t *testing.T) {
	p, k := prepareKarpenter(t, "karpenter-first", false)
	victim := p.nodesWith("web")[0]
	k.hold(true)
	p.must(p.begin(victim))
	p.must(p.drain(victim))
	p.reaches(victim, wire.DeletionPhase_DRAINED)
	p.must(k.client.Resource(karpenter.NodeClaims).Delete(p.ctx, "claim-"+victim, metav1.DeleteOptions{}))
	_, err := p.calls.Delete(p.ctx, &wire.DeleteRequest{Key: newKey(), Node: victim})
	p.must(err)
	k.hold(false)
	p.expect(p.finish(), victim, true)
	p.checkEnded(&k.machineRoom, victim)
	p.check()
}

// The way of docs/karpenter.md: fed only, a plan, and then the loop.
func TestEbbRunShrinksAClusterOfKarpenterWithinItsBudgets(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "karpenter-loop", karpenterNodes(8))
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 6, CPU: "900m"}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", 2))
	c.waitReady()
	k := c.startKarpenter()
	edit := c.byKarpenter(false)
	s := c.startDaemon()

	feeder := c.startReplica(edit, s.feeding, func(o *app.Options) { o.Listen = "" })
	feeder.waitFed()
	if output, err := exec.Command(ebb, "plan", "--server", s.address, "--session", "e2e", "--rules", "delegated").CombinedOutput(); err != nil || !strings.Contains(string(output), "nodes can go") {
		t.Errorf("%v: %s", err, output)
	}
	feeder.stop()

	r := c.startReplica(edit, s.feeding)
	r.waitActive()
	r.waitFed()
	judge := c.watchBudgets()
	c.start(ebb, "run", "--server", s.address, "--session", "e2e", "--actuator", "unix:"+r.socket, "--rules", "delegated",
		"--scan-interval", "1s", "--scale-down-unneeded-time", "0s", "--node-delete-delay-after-taint", "1s",
		"--scale-down-delay-after-failure", "0s", "--scale-down-delay-after-add", "0s", "--scale-down-delay-after-delete", "0s",
		"--unremovable-node-recheck-timeout", "1s", "--max-drain-parallelism", "4", "--max-scale-down-parallelism", "4")
	// Six pods of 900m fit on two nodes of four cores.
	c.eventually("the cluster is small", func() bool { return c.countNodes() <= 4 && len(r.status().Running) == 0 })
	k.check()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mostAtOnce > 2 {
		t.Errorf("%d machines were ending at a time, and the budget is 2", k.mostAtOnce)
	}
	judge()
}

// One node of 8 cores for three of 4: the plan first, then the loop, which buys, waits and drains.
func TestEbbRunBuysANodeClaimAndThenRemovesDearerNodes(t *testing.T) {
	ebb := ebbProgram(t)
	group := karpenterNodes(3)
	group.Zones = []string{"a"}
	group.Labels["node.kubernetes.io/instance-type"], group.Labels["karpenter.sh/capacity-type"] = "m4", "on-demand"
	c := newCluster(t, "karpenter-buys", group)
	c.must(workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "web", Replicas: 3, CPU: "2500m"}))
	c.must(workload.Budget(c.ctx, client, c.namespace, "web", 3))
	c.waitReady()
	k := c.startKarpenter()
	k.setPool(object{"budgets": []any{object{"nodes": "3"}}})
	edit := c.byKarpenter(false)
	c.grantPurchases(edit)
	s := c.startDaemon()
	r := c.startReplica(edit, s.feeding, func(o *app.Options) { o.Provider.(*karpenter.Provider).Buys = true })
	r.waitActive()
	r.waitFed()
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		c.must(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	flags := []string{
		"--server", s.address, "--session", "e2e", "--rules", "delegated", "--replace",
		"--prices", write("prices.yaml", "currency: USD\nprices:\n- {instanceType: m4, hourly: 0.19}\n- {instanceType: m8, hourly: 0.38}\n"),
		"--machine-types", write("types.yaml", "machineTypes:\n- {name: m8, groups: [general, default], capacity: {cpu: 8, memory: 32Gi}, offers: [{capacityType: on-demand}]}\n"),
	}
	// Dry run first.
	output, err := exec.Command(ebb, append([]string{"plan"}, flags...)...).CombinedOutput()
	if err != nil || !strings.Contains(string(output), "First buy 1 node") {
		t.Fatalf("%v: %s", err, output)
	}
	judge := c.watchBudgets()
	loop := append([]string{"run", "--actuator", "unix:" + r.socket, "--scan-interval", "1s", "--node-delete-delay-after-taint", "1s",
		"--replace-interval", "10s", "--scale-down-unneeded-time", "1h"}, flags...)
	// Karpenter might remove the new node while it is empty.
	k.setPool(object{"consolidateAfter": "30s"})
	running := c.start(ebb, loop...)
	c.eventually("the order is refused", func() bool { return running.has("refused:") && running.has("set it to 5m or more, or to Never") })
	if c.countNodes() != 3 {
		t.Error("a machine was launched for an order that was refused")
	}
	k.setPool(object{"consolidateAfter": "1h"})
	c.eventually("one large node is left", func() bool { return c.countNodes() == 1 && len(r.status().Running) == 0 })
	c.waitReady()
	k.check()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.launched) != 1 {
		t.Errorf("launched %v", k.launched)
	}
	judge()
}

func TestCheckNamesKindsAndRightsThatAProviderLacks(t *testing.T) {
	c := newCluster(t, "karpenter-check", machines("general", 1))
	o := &app.Options{Client: client, Dynamic: c.others(), Listen: "x", Namespace: "kube-system", Provider: &karpenter.Provider{Client: client, Dynamic: c.others()}}
	if _, err := app.Check(c.ctx, o); err == nil || !strings.Contains(err.Error(), "what --provider karpenter needs: nodeclaims.v1.karpenter.sh, nodepools.v1.karpenter.sh") {
		t.Errorf("%v", err)
	}
	c.define(c.karpenterDefinitions()...)
	if _, err := app.Check(c.ctx, o); err != nil {
		t.Errorf("%v", err)
	}
	c.byKarpenter(false)(o)
	c.must(client.RbacV1().ClusterRoleBindings().Delete(c.ctx, "ebb-karpenter", metav1.DeleteOptions{}))
	c.eventually("the missing right is named", func() bool {
		_, err := app.Check(c.ctx, o)
		return err != nil && strings.Contains(err.Error(), "1 rights are missing:\n  delete nodeclaims.karpenter.sh")
	})
}
