package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ebb/go/e2e/chain"
	"ebb/go/e2e/workload"
	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/app"
	"ebb/go/kube/daemon"
	"ebb/go/kube/kubectl"
	wire "ebb/go/kube/wire/actuatorpb"
)

// program is another process, which can be killed and started again.
type program struct {
	c    *cluster
	path string
	args []string
	run  *exec.Cmd
	log  *testLog
}

// start starts a program; its output goes to the test's log when the test ends.
func (c *cluster) start(path string, args ...string) *program {
	c.t.Helper()
	p := &program{c: c, path: path, args: args, log: &testLog{c: c, name: filepath.Base(path)}}
	p.again()
	c.t.Cleanup(p.kill)
	return p
}

func (p *program) again() {
	p.c.t.Helper()
	p.run = exec.Command(p.path, p.args...)
	p.run.Stdout, p.run.Stderr = p.log, p.log
	p.c.must(p.run.Start())
}

// kill kills the program as kill -9 does, so that it can save nothing.
func (p *program) kill() {
	if p.run.ProcessState == nil {
		_ = p.run.Process.Signal(syscall.SIGKILL)
		_ = p.run.Wait()
	}
}

// has reports whether the program has printed a text.
func (p *program) has(text string) bool {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return strings.Contains(p.log.text.String(), text)
}

type testLog struct {
	c    *cluster
	name string
	mu   sync.Mutex
	text strings.Builder
}

func (l *testLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(text)
	l.c.t.Logf("%s: %s", l.name, strings.TrimSpace(string(text)))
	return len(text), nil
}

// served is a running `ebb serve` with a client.
type served struct {
	*program
	address string
	client  *daemon.Client
}

func (c *cluster) startDaemon() *served {
	c.t.Helper()
	ebb := ebbProgram(c.t)
	dir := c.shortFolder("ebb-serve-")
	socket := filepath.Join(dir, "ebb.sock")
	s := &served{address: "unix:" + socket}
	s.program = c.start(ebb, "serve", "--socket", socket, "--state-folder", dir, "--log", "none")
	var err error
	s.client, err = daemon.Dial(s.address)
	c.must(err)
	c.t.Cleanup(func() { _ = s.client.Close() })
	s.wait()
	return s
}

func (s *served) wait() {
	s.c.t.Helper()
	s.c.eventually("ebb serve answers", func() bool {
		ctx, cancel := context.WithTimeout(s.c.ctx, time.Second)
		defer cancel()
		_, err := s.client.Version(ctx)
		return err == nil
	})
}

func (s *served) feeding(o *app.Options) { o.Server = s.address }

// waitFed waits until the daemon has everything that the informers have.
func (r *replica) waitFed() {
	r.c.t.Helper()
	r.c.eventually("the daemon knows everything", func() bool {
		f := r.feeder.Load()
		return f != nil && f.Progress().Connected && f.Progress().Waiting == 0
	})
}

// plan returns the daemon's plan.
func (s *served) plan() *chain.Plan {
	s.c.t.Helper()
	reply, err := s.client.Plan(s.c.ctx, &plannerpb.PlanCall{Input: &plannerpb.PlanInput{Session: "e2e"}})
	s.c.must(err)
	plan := &chain.Plan{}
	s.c.must(json.Unmarshal(reply.Plan, plan))
	return plan
}

func TestKubePassesConformance(t *testing.T) {
	prepare(t, "kube-conformance", 1).passConformance()
}

// passConformance runs `ebb conformance`, which deletes one node.
func (p *prepared) passConformance() (gone string) {
	t := p.t
	t.Helper()
	ebb := ebbProgram(t)
	victims := p.nodesWith("web")[:2]
	out, err := exec.CommandContext(p.ctx, ebb, "conformance", "--actuator", "unix:"+p.socket,
		"--node", victims[0], "--node", victims[1], "--drain-and-delete").CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), " 0 failed, 0 skipped") {
		t.Error(err)
	}
	if p.hasNode(victims[0]) || !p.hasNode(victims[1]) {
		t.Error("not exactly the first node is gone")
	}
	p.check()
	return victims[0]
}

func TestKubeFeedsWhatADumpHolds(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "kube-feed", machines("general", 40))
	c.makeCompany(2)
	c.waitReady()
	s := c.startDaemon()
	r := c.startReplica(s.feeding)
	check := func(when string) {
		t.Helper()
		var fed, dumped []string
		c.eventually("the plans are the same "+when, func() bool {
			r.waitFed()
			fed = s.plan().Nodes()
			dump, err := chain.Dump(c.ctx, client)
			if err != nil {
				return false
			}
			plan, err := chain.MakePlan(c.ctx, ebb, dump)
			c.must(err)
			dumped = plan.Nodes()
			slices.Sort(fed)
			slices.Sort(dumped)
			return len(dumped) > 0 && slices.Equal(fed, dumped)
		})
		t.Logf("%s: %d nodes can go; %+v", when, len(fed), r.feeder.Load().Progress())
	}
	check("at first")
	resyncs := r.feeder.Load().Progress().Resyncs
	plane.DropConnections()
	c.eventually("a deployment by a client whose connection was dropped, too", func() bool {
		err := workload.Deployment(c.ctx, client, c.namespace, workload.App{Name: "more", Replicas: 10, CPU: "200m"})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	c.waitReady()
	// The daemon keeps a node's pods in the order in which they came. A pod that came after the
	// last resync would be last, but in a dump it is not.
	c.eventually("the new pods are fed", func() bool { return s.plan().Summary.Pods == len(c.pods("")) })
	s.kill()
	s.again()
	s.wait()
	c.eventually("a resync", func() bool { return r.feeder.Load().Progress().Resyncs > resyncs })
	check("after the daemon was killed")
}

// `kubectl ebb` prints the same as ebb prints about a dump.
func TestKubectlEbbPlansTheLiveCluster(t *testing.T) {
	ebb := ebbProgram(t)
	c := newCluster(t, "kubectl", machines("general", 20))
	c.makeCompany(1)
	c.waitReady()
	call := func(args ...string) string {
		t.Helper()
		var out, problems strings.Builder
		err := kubectl.Main(c.ctx, append([]string{"--kubeconfig", plane.Kubeconfig, "--ebb", ebb}, args...), &out, &problems)
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, problems.String())
		}
		return out.String()
	}
	// No system pods run here, so the dump looks as if it had only some namespaces.
	plan := &chain.Plan{}
	c.must(json.Unmarshal([]byte(call("plan", "-o", "json", "--allow-incomplete")), plan))
	dump, err := chain.Dump(c.ctx, client)
	c.must(err)
	want, err := chain.MakePlan(c.ctx, ebb, dump)
	c.must(err)
	if len(want.Nodes()) == 0 || !slices.Equal(plan.Nodes(), want.Nodes()) {
		t.Errorf("%v, not %v", plan.Nodes(), want.Nodes())
	}
	if text := call("explain", c.nodes[0], "--allow-incomplete"); !strings.Contains(text, c.nodes[0]) {
		t.Errorf("explain: %s", text)
	}
	if text := call("status"); !strings.Contains(text, "20 nodes, 0 candidates, 0 in deletion") {
		t.Errorf("status: %s", text)
	}
}

// The whole chain with ebb-kube: watch, plan, taint, evict, delete.
func TestKubeShrinksTheClusterToWhatThePlanPromised(t *testing.T) {
	c := newCluster(t, "kube-chain", machines("general", 150), machines("batch", 50))
	c.makeCompany(8)
	c.waitReady()
	s := c.startDaemon()
	r := c.startReplica(s.feeding, func(o *app.Options) { o.Drain.MaxEvictionTime = 4 * time.Minute })
	r.waitActive()
	r.waitFed()
	judge := c.watchBudgets()
	before := c.pods("")
	plan := s.plan()
	if len(plan.Remove) == 0 || plan.Summary.MovedPods == 0 {
		t.Fatal("nothing is to be done, so that the test shows nothing")
	}
	t.Logf("%d of %d nodes can go, %d of %d pods move", plan.Summary.Removed, plan.Summary.Nodes, plan.Summary.MovedPods, plan.Summary.Pods)
	begin := time.Now()
	var orders []*wire.DeletionOrder
	for _, removal := range plan.Remove {
		orders = append(orders, &wire.DeletionOrder{Node: removal.Node, Drain: len(removal.Pods) > 0})
	}
	_, err := r.calls.Begin(c.ctx, &wire.BeginRequest{Key: newKey(), Orders: orders})
	c.must(err)
	t.Logf("%d nodes tainted after %v", len(orders), since(begin))
	results := r.finish()
	t.Logf("all ended after %v", since(begin))
	for _, removal := range plan.Remove {
		if result := results[removal.Node]; result == nil || !result.Ok {
			t.Errorf("node %s: %v", removal.Node, result)
		}
	}
	c.waitReady()
	c.checkNodes(plan)
	c.checkNoMarks()
	agreement, err := chain.Compare(plan, before, c.pods(""))
	c.must(err)
	t.Log(agreement)
	report := judge()
	t.Logf("%d changes; healthy pods at worst %v of %v demanded", report.Events, report.Lowest, report.Demanded)
	if report.Evictions < plan.Summary.MovedPods {
		t.Errorf("%d evictions, and %d pods were to move", report.Evictions, plan.Summary.MovedPods)
	}
}

// rounds is a loop over the daemon's rounds.
type rounds struct {
	*replica
	s     *served
	begun []*plannerpb.BegunDeletion
	// The session is new to this loop, so the next report lists all deletions in progress.
	fresh bool
	last  int64
	ok    int
}

func (l *rounds) settings() *plannerpb.Settings {
	options, err := structpb.NewStruct(map[string]any{"scaleDown": map[string]any{
		"deletion": map[string]any{"scaleDownUnneededTimeSeconds": 0},
		"budgets":  map[string]any{"maxScaleDownParallelism": 8, "maxDrainParallelism": 4},
		"cooldown": map[string]any{"scaleDownDelayAfterAddSeconds": 0, "scaleDownDelayAfterFailureSeconds": 0},
	}})
	l.c.must(err)
	return &plannerpb.Settings{Options: options}
}

// turn makes a round and begins the deletions that it orders. If the daemon does not answer,
// nothing begins.
func (l *rounds) turn() (began int, err error) {
	reply := l.step()
	report := &plannerpb.ActuationReport{Session: "e2e", Begun: l.begun}
	if l.fresh {
		report.InProgress = &plannerpb.DeletionsInProgress{}
		for _, each := range reply.Running {
			report.InProgress.Deletions = append(report.InProgress.Deletions, &plannerpb.BegunDeletion{Node: each.Node, Group: each.Group, Drained: each.Drain})
		}
	}
	acknowledge := &wire.AcknowledgeRequest{}
	ok := 0
	for _, result := range reply.Results {
		ended := &plannerpb.EndedDeletion{Node: result.Node, Result: "Ok", Group: result.Group}
		if !result.Ok {
			ended.Result = "FailedToEvictPods"
		} else {
			ok++
		}
		report.Ended = append(report.Ended, ended)
		acknowledge.Ids = append(acknowledge.Ids, result.Id)
	}
	if _, err := l.s.client.ReportActuation(l.c.ctx, report); err != nil {
		return 0, err
	}
	l.begun, l.fresh = nil, false
	l.ok += ok
	_, err = l.calls.Acknowledge(l.c.ctx, acknowledge)
	l.c.must(err)
	round, err := l.s.client.Round(l.c.ctx, &plannerpb.RoundCall{Input: &plannerpb.PlanInput{Session: "e2e", Settings: l.settings()}})
	if err != nil {
		return 0, err
	}
	if round.Round <= l.last {
		l.c.t.Errorf("round %d came after round %d", round.Round, l.last)
	}
	l.last = round.Round
	return l.beginRound(round)
}

func (l *rounds) beginRound(round *plannerpb.RoundReply) (int, error) {
	var orders []*wire.DeletionOrder
	for _, name := range round.DeleteEmpty {
		orders = append(orders, &wire.DeletionOrder{Node: name})
	}
	for _, name := range round.DeleteDrain {
		orders = append(orders, &wire.DeletionOrder{Node: name, Drain: true})
	}
	if len(orders) == 0 {
		return 0, nil
	}
	if _, err := l.calls.Begin(l.c.ctx, &wire.BeginRequest{Key: newKey(), Orders: orders}); err != nil {
		return 0, nil // As in a loop: the next round sees the cluster as it is then.
	}
	for _, order := range orders {
		l.begun = append(l.begun, &plannerpb.BegunDeletion{Node: order.Node, Drained: order.Drain})
	}
	return len(orders), nil
}

// ebb is killed while nodes are drained and deleted, and started again. Its rounds continue from
// the state file, and the whole cluster is fed to it again.
func TestKubeRoundsGoOnWhenEbbWasKilledAndStartedAgain(t *testing.T) {
	c := newCluster(t, "kube-ebb-killed", machines("general", 30))
	c.makeCompany(1)
	c.waitReady()
	s := c.startDaemon()
	r := c.startReplica(s.feeding)
	r.waitActive()
	r.waitFed()
	judge := c.watchBudgets()
	loop := &rounds{replica: r, s: s, fresh: true}
	c.eventually("a round begins deletions", func() bool {
		began, err := loop.turn()
		c.must(err)
		time.Sleep(time.Second)
		return began > 0
	})
	s.kill()
	if _, err := loop.turn(); err == nil {
		t.Error("a daemon that was killed answers")
	}
	// Deletions that have begun continue meanwhile.
	r.step()
	s.again()
	s.wait()
	loop.fresh = true
	idle := 0
	c.eventually("nothing more can go", func() bool {
		began, err := loop.turn()
		if err != nil {
			t.Logf("no round: %v", err)
		}
		if idle++; began > 0 || err != nil || len(r.status().Running) > 0 {
			idle = 0
		}
		time.Sleep(time.Second)
		return idle >= 3
	})
	t.Logf("%d deletions ended ok in %d rounds, %d nodes are left", loop.ok, loop.last, 30-loop.ok)
	if loop.ok == 0 || loop.last < 4 {
		t.Error("nothing was deleted, or the rounds started again from 1")
	}
	c.waitReady()
	c.checkNoMarks()
	judge()
}

// kubeProgram builds the program ebb-kube, once.
func kubeProgram(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("EBB_KUBE"); path != "" {
		return path
	}
	if builtKube == "" {
		dir, err := os.MkdirTemp("", "ebb-kube-bin-")
		if err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "ebb-kube"), "./cmd/ebb-kube")
		build.Dir = "../kube"
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v: %s", err, out)
		}
		builtKube = filepath.Join(dir, "ebb-kube")
	}
	return builtKube
}

var builtKube string
