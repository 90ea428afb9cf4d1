package planner

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apiv1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testprovider "sigs.k8s.io/cluster-autoscaler/pkg/cloudprovider/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/config"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/pdb"
	builtin "sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/planner"
	"sigs.k8s.io/cluster-autoscaler/pkg/processors"
	processorstest "sigs.k8s.io/cluster-autoscaler/pkg/processors/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/testsnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules/mirror"
	drasnapshot "sigs.k8s.io/cluster-autoscaler/pkg/simulator/dynamicresources/snapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"
	kube_util "sigs.k8s.io/cluster-autoscaler/pkg/utils/kubernetes"
	. "sigs.k8s.io/cluster-autoscaler/pkg/utils/test"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/choice"
	"ebb/go/clusterautoscaler/engine"
	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/message"
	"ebb/go/clusterautoscaler/remote"
	"ebb/go/clusterautoscaler/shadow"
	"ebb/go/clusterautoscaler/wire"
)

var now = time.Unix(1_780_000_000, 0)

// Address is where all tests ask ebb; "": inside the program, which then needs -tags ebb.
var Address = flag.String("address", "", "unix:PATH, the socket of an ebb serve; empty: inside the program")

func newEngine(t *testing.T) (ebb clusterautoscaler.Engine) {
	t.Helper()
	var err error
	if *Address != "" {
		ebb, err = remote.New(remote.Options{Address: *Address})
	} else {
		ebb, err = engine.New()
	}
	check(t, err)
	t.Cleanup(func() { _ = ebb.Close() })
	return ebb
}

// fakeEngine is ebb, or what a test uses in its place.
type fakeEngine struct {
	clusterautoscaler.Engine
	apply  func(changes []wire.Change) error
	pass   func(request *clusterautoscaler.Request) (*clusterautoscaler.Result, error)
	resets int
}

func (f *fakeEngine) Apply(ctx context.Context, changes iter.Seq[[]wire.Change]) error {
	all := slices.Concat(slices.Collect(changes)...)
	if f.apply != nil && len(all) > 0 {
		if err := f.apply(all); err != nil {
			return err
		}
	}
	return f.Engine.Apply(ctx, slices.Values([][]wire.Change{all}))
}

func (f *fakeEngine) Pass(ctx context.Context, request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
	if f.pass != nil {
		return f.pass(request)
	}
	return f.Engine.Pass(ctx, request)
}

func (f *fakeEngine) Reset() error {
	f.resets++
	return f.Engine.Reset()
}

type status struct{ evicted []*apiv1.Pod }

func (s status) RecentEvictions() []*apiv1.Pod                  { return s.evicted }
func (s status) DeletionsInProgress() (empty, drained []string) { return nil, nil }
func (s status) DeletionsCount(string) int                      { return 0 }

// world has two empty nodes, one node whose pod can move, and one whose pod blocks.
type world struct {
	given      *ca_context.AutoscalingContext
	processors *processors.AutoscalingProcessors
	quotas     *resourcequotas.TrackerFactory
	nodes      []*apiv1.Node
	engine     *fakeEngine
	log        *fallback.Log
	resyncs    *fallback.Log
}

func newWorld(t *testing.T, change func(*config.AutoscalingOptions)) *world {
	t.Helper()
	w := &world{log: &fallback.Log{}, resyncs: &fallback.Log{}}
	pods := []*apiv1.Pod{
		SetRSPodSpec(BuildScheduledTestPod("moves", 100, 1, "moves"), "rs"),
		BuildScheduledTestPod("blocks", 100, 1, "blocked"),
	}
	provider := testprovider.NewTestCloudProviderBuilder().Build()
	provider.AddNodeGroup("group", 0, 10, 4)
	for _, name := range []string{"blocked", "moves", "empty-1", "empty-2"} {
		node := BuildTestNode(name, 1000, 10)
		SetNodeReadyState(node, true, now)
		provider.AddNode("group", node)
		w.nodes = append(w.nodes, node)
	}
	opts := config.AutoscalingOptions{
		NodeGroupDefaults:             config.NodeGroupAutoscalingOptions{ScaleDownUnneededTime: time.Minute, ScaleDownUtilizationThreshold: 0.5},
		UnremovableNodeRecheckTimeout: 5 * time.Minute,
		ScaleDownSimulationTimeout:    time.Minute,
		ScaleDownUnreadyEnabled:       true,
		MaxScaleDownParallelism:       10,
	}
	if change != nil {
		change(&opts)
	}
	replicaSets, err := kube_util.NewTestReplicaSetLister([]*appsv1.ReplicaSet{replicaSet(2, 1)})
	check(t, err)
	snapshot, handle, err := testsnapshot.NewTestSnapshotAndHandle()
	check(t, err)
	clustersnapshot.InitializeClusterSnapshotOrDie(t, snapshot, w.nodes, pods)
	w.given = &ca_context.AutoscalingContext{
		AutoscalingOptions: opts,
		AutoscalingKubeClients: ca_context.AutoscalingKubeClients{ListerRegistry: kube_util.NewListerRegistry(
			nil, nil, nil, nil, nil, nil, nil, replicaSets, nil)},
		CloudProvider:       provider,
		ClusterSnapshot:     snapshot,
		FrameworkHandle:     handle,
		RemainingPdbTracker: pdb.NewBasicRemainingPdbTracker(),
	}
	w.processors, _ = processorstest.NewTestProcessors(opts)
	w.quotas = resourcequotas.NewTrackerFactory(resourcequotas.TrackerOptions{
		CustomResourcesProcessor: w.processors.CustomResourcesProcessor, QuotaProvider: resourcequotas.NewCloudMinProvider(provider)})
	w.engine = &fakeEngine{Engine: newEngine(t)}
	return w
}

func (w *world) planner(rules rules.Rules) *Planner {
	return New(w.given, w.processors, options.NodeDeleteOptions{}, rules, w.quotas,
		Options{Engine: w.engine, Fallbacks: w.log, Resyncs: w.resyncs})
}

func (w *world) update(t *testing.T, p scaledown.Planner, after time.Duration) {
	t.Helper()
	before := w.contents(t)
	if err := p.UpdateClusterState(w.nodes, w.nodes, status{}, now.Add(after)); err != nil {
		t.Fatal(err)
	}
	if left := w.contents(t); !slices.Equal(left, before) {
		t.Errorf("the snapshot was %v and is %v", before, left)
	}
}

func (w *world) contents(t *testing.T) []string {
	t.Helper()
	infos, err := w.given.ClusterSnapshot.ListNodeInfos()
	check(t, err)
	var all []string
	for _, info := range infos {
		all = append(all, info.Node().Name)
		for _, pod := range info.Pods() {
			all = append(all, info.Node().Name+"/"+pod.Pod.Name)
		}
	}
	slices.Sort(all)
	return all
}

// "empty-1", "blocked BlockedByPod NotReplicated".
func verdictsOf(p scaledown.Planner) []string {
	var all []string
	for _, node := range p.UnneededNodes() {
		all = append(all, node.Node.Name)
	}
	for _, node := range p.UnremovableNodes() {
		text := node.Node.Name + " " + ReasonName(node.Reason)
		if node.BlockingPod != nil {
			text += " " + node.BlockingPod.Reason.String()
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

func expect(t *testing.T, p scaledown.Planner, want ...string) {
	t.Helper()
	if got := verdictsOf(p); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

var usual = []string{"blocked BlockedByPod NotReplicated", "empty-1", "empty-2", "moves"}

func TestTheEngineReceivesOnlyChanges(t *testing.T) {
	w := newWorld(t, nil)
	var applied []int
	w.engine.apply = func(changes []wire.Change) error { applied = append(applied, len(changes)); return nil }
	p := w.planner(nil)
	// One node receives the pod; the other two can go.
	w.nodes = w.nodes[:3]
	w.update(t, p, 0)
	expect(t, p, "blocked BlockedByPod NotReplicated", "empty-1", "moves")
	w.update(t, p, 10*time.Second)
	expect(t, p, "blocked RecentlyUnremovable", "empty-1", "moves")
	if want := []int{6}; !slices.Equal(applied, want) {
		t.Errorf("applied %v changes, want %v", applied, want)
	}
	if counts := w.log.Counts(); len(counts) != 0 {
		t.Errorf("fallbacks %v", counts)
	}
}

// What ebb does not evaluate, the autoscaler's own simulation does, and timers continue.
func TestFallsBack(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		cause   string
		options func(*config.AutoscalingOptions)
		break_  func(w *world)
		rules   rules.Rules
		resets  int
	}{
		{cause: fallback.ApplyFailed, resets: 1,
			break_: func(w *world) { w.engine.apply = func([]wire.Change) error { return broken } }},
		{cause: fallback.PassFailed, resets: 1, break_: func(w *world) {
			w.engine.pass = func(*clusterautoscaler.Request) (*clusterautoscaler.Result, error) { return nil, broken }
		}},
		{cause: fallback.Deadline, break_: func(w *world) {
			w.engine.pass = func(*clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
				return nil, fmt.Errorf("late: %w", context.DeadlineExceeded)
			}
		}},
		{cause: fallback.AnswerUnknown, resets: 1, break_: func(w *world) {
			w.engine.pass = func(*clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
				return &clusterautoscaler.Result{Removals: []clusterautoscaler.Removal{{Node: "empty-1"}, {Node: "unknown"}}}, nil
			}
		}},
		{cause: fallback.CSINodeAware, options: func(o *config.AutoscalingOptions) { o.CSINodeAwareSchedulingEnabled = true }},
		{cause: fallback.DrainabilityRules, rules: append(rules.Default(options.NodeDeleteOptions{}), mirror.New())},
	} {
		t.Run(test.cause, func(t *testing.T) {
			w := newWorld(t, test.options)
			p := w.planner(test.rules)
			if test.rules == nil && test.options == nil {
				w.update(t, p, 0)
				w.given.ClusterSnapshot.Clear()
				clustersnapshot.InitializeClusterSnapshotOrDie(t, w.given.ClusterSnapshot, w.nodes, nil)
				test.break_(w)
				w.update(t, p, 2*time.Minute)
				// Unneeded since the first loop.
				empty, drain := p.NodesToDelete(now)
				if len(empty) < 2 || len(drain) != 0 {
					t.Errorf("deletes %d and %d nodes", len(empty), len(drain))
				}
			} else {
				w.update(t, p, 0)
				if got := len(p.UnneededNodes()); got != 3 {
					t.Errorf("%d nodes are unneeded", got)
				}
			}
			if want := map[string]int{test.cause: 1}; !maps.Equal(w.log.Counts(), want) {
				t.Errorf("fallbacks %v, want %v", w.log.Counts(), want)
			}
			if w.engine.resets != test.resets {
				t.Errorf("%d resets, want %d", w.engine.resets, test.resets)
			}
			w.engine.apply, w.engine.pass = nil, nil
			w.update(t, p, 10*time.Minute)
		})
	}
}

// A removal that the autoscaler's own simulation refuses makes it decide in the loop; after too many of
// them, ebb no longer decides.
func TestRefusedRemovals(t *testing.T) {
	for _, test := range []struct {
		name         string
		removals     []clusterautoscaler.Removal
		destinations int
		refusal      string
	}{
		{"a pod blocks", []clusterautoscaler.Removal{{Node: "empty-1"}, {Node: "blocked"}}, 4,
			"node blocked, removal 2 of 2: pod default/blocks blocks: NotReplicated"},
		{"the place takes no pods", []clusterautoscaler.Removal{{Node: "empty-1"}, {Node: "empty-2"},
			{Node: "moves", Moves: []clusterautoscaler.Move{{Pod: wire.PodName{Namespace: "default", Name: "moves"}, To: "empty-2"}}}}, 4,
			"node moves, removal 3 of 3: pod {default moves} goes to empty-2, which may not take pods"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			folder, counts, asked := t.TempDir(), map[string]int{}, 0
			w.engine.pass = func(*clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
				asked++
				return &clusterautoscaler.Result{Termination: "complete", Removals: test.removals}, nil
			}
			p := New(w.given, w.processors, options.NodeDeleteOptions{}, nil, w.quotas, Options{
				Engine: w.engine, Fallbacks: w.log, Resyncs: w.resyncs, CheckOneIn: 1, MismatchesMax: 2, RecordFolder: folder,
				Checks: func(result string, times int) { counts[result] += times },
			})
			// Without the blocked node, pods find a place on nodes that go as well.
			destinations := w.nodes[1:]
			if test.name == "a pod blocks" {
				destinations = w.nodes
			}
			for i := range 3 {
				if err := p.UpdateClusterState(destinations, w.nodes, status{}, now.Add(time.Duration(i)*10*time.Minute)); err != nil {
					t.Fatal(err)
				}
				if got := verdictsOf(p); slices.Contains(got, "blocked") && i == 0 {
					t.Errorf("%q", got)
				}
			}
			if want := map[string]int{fallback.CheckFailed: 2, fallback.Distrusted: 1}; !maps.Equal(w.log.Counts(), want) || asked != 2 {
				t.Errorf("fallbacks %v, asked %d times", w.log.Counts(), asked)
			}
			if want := map[string]int{"same": 2 * (len(test.removals) - 1), "mismatch": 2}; !maps.Equal(counts, want) {
				t.Errorf("checks %v, want %v", counts, want)
			}
			if err := p.checks.distrusted(); err == nil || !strings.Contains(err.Error(), test.refusal) {
				t.Errorf("distrusted because %v", err)
			}
			records, err := filepath.Glob(filepath.Join(folder, "*.json"))
			check(t, err)
			if len(records) != 2 {
				t.Fatalf("records %v", records)
			}
			var record message.Record
			text, err := os.ReadFile(records[0])
			check(t, err)
			check(t, json.Unmarshal(text, &record))
			if len(record.Cluster.Items) < 6 || !strings.HasSuffix(record.Refusal, test.refusal) || len(record.Request) == 0 {
				t.Errorf("the record is %s", text)
			}
		})
	}
}

// At least one removal is checked in each loop, and another one in the next loop.
func TestOneInManyRemovalsIsChecked(t *testing.T) {
	w := newWorld(t, nil)
	counts := map[string]int{}
	for _, test := range []struct{ oneIn, want int }{{0, 3}, {2, 5}, {-1, 0}} {
		clear(counts)
		p := New(w.given, w.processors, options.NodeDeleteOptions{}, nil, w.quotas, Options{
			Engine: w.engine, Fallbacks: w.log, Resyncs: w.resyncs, CheckOneIn: test.oneIn,
			Checks: func(result string, times int) { counts[result] += times },
		})
		for i := range 3 {
			w.update(t, p, time.Duration(i)*10*time.Minute)
			expect(t, p, usual...)
		}
		if counts["same"] != test.want || len(counts) > 1 {
			t.Errorf("one in %d: checks %v, want %d", test.oneIn, counts, test.want)
		}
		check(t, w.engine.Engine.Reset())
	}
}

// A daemon that was started again, or whose session another client has changed, costs no loop: it
// receives the whole cluster and is asked again.
func TestALostSessionIsFilledAgainInTheSameLoop(t *testing.T) {
	for _, cause := range []string{fallback.SessionLost, fallback.SessionChanged, fallback.DaemonUnavailable} {
		for _, call := range []string{"apply", "pass"} {
			t.Run(cause+"/"+call, func(t *testing.T) {
				w := newWorld(t, nil)
				p := w.planner(nil)
				w.update(t, p, 0)
				lost := &fallback.Error{Cause: cause, Err: errors.New("lost")}
				var applied []int
				w.engine.apply = func(changes []wire.Change) error {
					applied = append(applied, len(changes))
					if call == "apply" && len(applied) == 1 {
						return lost
					}
					return nil
				}
				asked := 0
				if call == "pass" {
					w.engine.pass = func(request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
						if asked++; asked == 1 {
							return nil, lost
						}
						return w.engine.Engine.Pass(context.Background(), request)
					}
				}
				// A pod is gone, so that there is something to apply.
				w.given.ClusterSnapshot.Clear()
				clustersnapshot.InitializeClusterSnapshotOrDie(t, w.given.ClusterSnapshot, w.nodes, nil)
				w.update(t, p, 10*time.Minute)
				expect(t, p, "blocked", "empty-1", "empty-2", "moves")
				// The lists of the whole cluster have the four nodes and the ReplicaSet.
				if len(applied) != 2 || applied[0] != 2 || applied[1] < len(w.nodes) {
					t.Errorf("applied %v changes", applied)
				}
				if counts := w.log.Counts(); len(counts) != 0 {
					t.Errorf("fallbacks %v", counts)
				}
				if want := map[string]int{cause: 1}; !maps.Equal(w.resyncs.Counts(), want) || w.engine.resets != 1 {
					t.Errorf("resyncs %v, want %v; %d resets", w.resyncs.Counts(), want, w.engine.resets)
				}
			})
		}
	}
}

// While the daemon is away, each loop is judged by the autoscaler's own simulation; the first loop
// after it is back is judged by ebb, which receives the whole cluster.
func TestTheLoopGoesOnWithoutTheDaemon(t *testing.T) {
	w := newWorld(t, nil)
	p := w.planner(nil)
	w.update(t, p, 0)
	away := &fallback.Error{Cause: fallback.DaemonUnavailable, Err: errors.New("connection refused")}
	w.engine.pass = func(*clusterautoscaler.Request) (*clusterautoscaler.Result, error) { return nil, away }
	w.engine.apply = func([]wire.Change) error { return away }
	said := map[string]int{}
	w.log.Say = func(cause string, _ error) { said[cause]++ }
	for loop := range 3 {
		w.update(t, p, time.Duration(10*(loop+1))*time.Minute)
		expect(t, p, usual...)
		if p.answered {
			t.Error("ebb has answered")
		}
	}
	want := map[string]int{fallback.DaemonUnavailable: 3}
	if !maps.Equal(w.log.Counts(), want) || said[fallback.DaemonUnavailable] != 1 {
		t.Errorf("fallbacks %v, want %v; said %v", w.log.Counts(), want, said)
	}
	if want := map[string]int{fallback.DaemonUnavailable: 1}; !maps.Equal(w.resyncs.Counts(), want) {
		t.Errorf("resyncs %v, want %v", w.resyncs.Counts(), want)
	}
	applied := 0
	w.engine.pass, w.engine.apply = nil, func(changes []wire.Change) error { applied += len(changes); return nil }
	w.update(t, p, 40*time.Minute)
	expect(t, p, usual...)
	if !p.answered || applied < len(w.nodes)+2 {
		t.Errorf("answered: %v, %d changes", p.answered, applied)
	}
}

// A daemon that accepts no connection costs the time of one call, and then the loop goes on.
func TestASocketThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ebb.sock")
	listener, err := net.Listen("unix", path)
	check(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	w := newWorld(t, nil)
	hangs, err := remote.New(remote.Options{Address: "unix:" + path, Timeout: 20 * time.Millisecond})
	check(t, err)
	w.engine = &fakeEngine{Engine: hangs}
	p := w.planner(nil)
	w.update(t, p, 0)
	expect(t, p, usual...)
	if want := map[string]int{fallback.Deadline: 1}; !maps.Equal(w.log.Counts(), want) {
		t.Errorf("fallbacks %v, want %v", w.log.Counts(), want)
	}
}

// A clock that jumps, also to before 1970, costs no loop its answer.
func TestAClockThatJumps(t *testing.T) {
	w := newWorld(t, nil)
	p := w.planner(nil)
	const years = 365 * 24 * time.Hour
	for _, after := range []time.Duration{0, 50 * years, -50 * years, -100 * years, 0, time.Second} {
		w.update(t, p, after)
		unneeded := p.UnneededNodes()
		if len(unneeded) != 3 {
			t.Errorf("%v after the first loop %d nodes are unneeded, fallbacks %v", after, len(unneeded), w.log.Counts())
		}
	}
	if len(w.log.Counts())+len(w.resyncs.Counts()) > 0 {
		t.Errorf("fallbacks %v, resyncs %v", w.log.Counts(), w.resyncs.Counts())
	}
}

// A node that is deleted while ebb plans is named by an answer, but is not in the next one.
func TestANodeThatIsDeletedBetweenTheCalls(t *testing.T) {
	w := newWorld(t, nil)
	p := w.planner(nil)
	w.update(t, p, 0)
	gone := w.nodes[3]
	w.nodes = w.nodes[:3]
	w.given.ClusterSnapshot.Clear()
	clustersnapshot.InitializeClusterSnapshotOrDie(t, w.given.ClusterSnapshot, w.nodes, nil)
	// The candidates are from before the deletion.
	if err := p.UpdateClusterState(append(w.nodes, gone), append(w.nodes, gone), status{}, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, node := range p.UnneededNodes() {
		if node.Node.Name == gone.Name {
			t.Errorf("node %s is unneeded, although it is gone", gone.Name)
		}
	}
	if len(w.log.Counts())+len(w.resyncs.Counts()) > 0 {
		t.Errorf("fallbacks %v, resyncs %v", w.log.Counts(), w.resyncs.Counts())
	}
}

// What is left of --scale-down-simulation-timeout is for the autoscaler's own simulation.
func TestTheEngineHasHalfOfTheTime(t *testing.T) {
	w := newWorld(t, func(o *config.AutoscalingOptions) { o.ScaleDownSimulationTimeout = time.Hour })
	timed := &deadlines{Engine: w.engine}
	p := New(w.given, w.processors, options.NodeDeleteOptions{}, nil, w.quotas, Options{Engine: timed, Fallbacks: w.log})
	start := time.Now()
	w.update(t, p, 0)
	if len(timed.ends) != 3 {
		t.Fatalf("%d calls", len(timed.ends))
	}
	for _, end := range timed.ends {
		if end.Before(start.Add(time.Hour/2)) || end.After(time.Now().Add(time.Hour/2)) {
			t.Errorf("a call ends %v after the start of the loop", end.Sub(start))
		}
	}
}

// deadlines records when the calls of an engine end.
type deadlines struct {
	clusterautoscaler.Engine
	ends []time.Time
}

func (d *deadlines) note(ctx context.Context) {
	end, _ := ctx.Deadline()
	d.ends = append(d.ends, end)
}

func (d *deadlines) Configure(ctx context.Context, options clusterautoscaler.Options) error {
	d.note(ctx)
	return d.Engine.Configure(ctx, options)
}

func (d *deadlines) Apply(ctx context.Context, changes iter.Seq[[]wire.Change]) error {
	d.note(ctx)
	return d.Engine.Apply(ctx, changes)
}

func (d *deadlines) Pass(ctx context.Context, request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
	d.note(ctx)
	return d.Engine.Pass(ctx, request)
}

func TestSelect(t *testing.T) {
	w := newWorld(t, nil)
	acting := builtin.New(w.given, w.processors, options.NodeDeleteOptions{}, nil, w.quotas)
	choose := func(chosen choice.Choice) scaledown.Planner {
		return Select(chosen, func() scaledown.Planner { return acting }, w.given, w.processors, options.NodeDeleteOptions{}, nil, w.quotas)
	}
	for _, chosen := range []choice.Choice{{}, {Planner: choice.BuiltIn}, {Planner: "ebbb"}, {Planner: choice.Ebb, Address: "localhost:1"}} {
		if got := choose(chosen); got != scaledown.Planner(acting) {
			t.Errorf("%+v: got %T", chosen, got)
		}
	}
	_, missing := engine.New()
	for _, chosen := range []choice.Choice{{Planner: choice.Ebb, Address: "unix:/nowhere"}, {Planner: choice.Ebb}} {
		p, isEbb := choose(chosen).(*Planner)
		if !isEbb {
			t.Fatalf("%+v: not ebb's", chosen)
		}
		// Without an address, ebb is missing in a program without cgo: the loops go on all the same.
		w.update(t, p, 0)
		expect(t, p, usual...)
		if (p.engineErr != nil) != (chosen.Address == "" && missing != nil) {
			t.Errorf("%+v: %v", chosen, p.engineErr)
		}
	}
	if s, isShadow := choose(choice.Choice{Planner: choice.Shadow, Address: "unix:/nowhere"}).(*Shadow); !isShadow || s.Planner != scaledown.Planner(acting) {
		t.Error("not in the shadow")
	}
}

// deviceNode adds a node with one device of the driver, and a pod on it.
func (w *world) deviceNode(t *testing.T, name string, pod *apiv1.Pod, claims ...*resourceapi.ResourceClaim) {
	t.Helper()
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("slice-" + name)},
		Spec: resourceapi.ResourceSliceSpec{NodeName: &name, Driver: "driver", Pool: resourceapi.ResourcePool{Name: name, ResourceSliceCount: 1},
			Devices: []resourceapi.Device{{Name: "device"}}}}
	node := BuildTestNode(name, 1000, 10)
	SetNodeReadyState(node, true, now)
	w.given.CloudProvider.(*testprovider.TestCloudProvider).AddNode("group", node)
	w.nodes = append(w.nodes, node)
	info := framework.NewNodeInfo(node, []*resourceapi.ResourceSlice{slice})
	if pod != nil {
		info.AddPod(framework.NewPodInfo(pod, claims))
	}
	check(t, w.given.ClusterSnapshot.AddNodeInfo(info))
}

// ebb judges nodes with devices: it reports their utilization, and moves no pod to a node without.
func TestNodesWithDevices(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(pod *apiv1.Pod)
		counts map[string]int
	}{
		{name: "claims", change: func(*apiv1.Pod) {}, counts: map[string]int{}},
		{name: "devices for an extended resource",
			change: func(pod *apiv1.Pod) {
				pod.Status.ExtendedResourceClaimStatus = &apiv1.PodExtendedResourceClaimStatus{ResourceClaimName: "claim"}
			},
			counts: map[string]int{fallback.DynamicResources: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, func(o *config.AutoscalingOptions) { o.DynamicResourceAllocationEnabled = true })
			// The snapshot has no way to add a class.
			nodes, err := w.given.ClusterSnapshot.ListNodeInfos()
			check(t, err)
			classes := map[string]*resourceapi.DeviceClass{"class": {ObjectMeta: metav1.ObjectMeta{Name: "class", UID: "class"}}}
			check(t, w.given.ClusterSnapshot.SetClusterState(nil, nil, drasnapshot.NewSnapshot(nil, nil, nil, classes), nil))
			for _, node := range nodes {
				check(t, w.given.ClusterSnapshot.AddNodeInfo(node))
			}
			pod := SetRSPodSpec(BuildScheduledTestPod("computes", 100, 1, "device"), "rs")
			pod.Spec.ResourceClaims = []apiv1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("claim")}}
			test.change(pod)
			w.deviceNode(t, "device", pod, &resourceapi.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "claim", UID: "claim",
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}}},
				Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
					Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "class", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}}},
				Status: resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
					Results: []resourceapi.DeviceRequestAllocationResult{{Request: "gpu", Driver: "driver", Pool: "device", Device: "device"}}}}},
			})
			p := w.planner(nil)
			w.update(t, p, 0)
			if !maps.Equal(w.log.Counts(), test.counts) {
				t.Errorf("fallbacks %v, want %v", w.log.Counts(), test.counts)
			}
			if got := verdictsOf(p); slices.Contains(got, "device") || !slices.Contains(got, "moves") {
				t.Errorf("without another device %q can go", got)
			}
			use, found := p.NodeUtilizationMap()["device"]
			if !found || use.DynamicResourceUtil != 1 {
				t.Errorf("the node's utilization is %v", use)
			}
			w.deviceNode(t, "other", nil)
			w.given.NodeGroupDefaults.ScaleDownUtilizationThreshold = 1.5
			w.update(t, p, 10*time.Minute)
			if got := verdictsOf(p); !slices.Contains(got, "device") && !slices.Contains(got, "other") {
				t.Errorf("with another device %q can go", got)
			}
		})
	}
}

func TestShadowActsOnTheBuiltInPlanner(t *testing.T) {
	w := newWorld(t, nil)
	check(t, w.given.RemainingPdbTracker.SetPdbs([]*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 5},
	}}))
	acting := builtin.New(w.given, w.processors, options.NodeDeleteOptions{}, nil, w.quotas)
	s := NewShadow(acting, w.given, w.processors, options.NodeDeleteOptions{}, nil, w.quotas, Options{Engine: w.engine, Fallbacks: w.log})
	var reports []string
	s.Report = func(answered bool, differences []shadow.Difference) {
		reports = append(reports, fmt.Sprint(answered, differences))
	}
	if err := s.UpdateClusterState(w.nodes, w.nodes[1:2], status{}, now.Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "moves")
	if allowed := w.given.RemainingPdbTracker.GetPdbs()[0].Status.DisruptionsAllowed; allowed != 4 {
		t.Errorf("the budget allows %d after one pod of two planners", allowed)
	}
	reports = nil
	w.update(t, s, 0)
	expect(t, s, usual...)
	w.engine.pass = func(*clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
		return &clusterautoscaler.Result{Termination: "complete", Removals: []clusterautoscaler.Removal{{Node: "empty-1"}}}, nil
	}
	w.update(t, s, 10*time.Second)
	w.engine.pass = func(*clusterautoscaler.Request) (*clusterautoscaler.Result, error) { return nil, errors.New("broken") }
	w.update(t, s, 20*time.Second)
	w.engine.pass = nil
	w.update(t, s, 30*time.Second)
	want := []string{"true []",
		"true [empty-2: only-acting-removes: acting unneeded cpu 0.0000, shadow nothing moves: only-acting-removes: acting unneeded cpu 0.1000, shadow nothing]",
		"false []"}
	if len(reports) != 4 || reports[0] != want[0] || reports[2] != want[2] || !strings.HasPrefix(reports[3], "true ") || reports[1] == "true []" {
		t.Errorf("reports %q", reports)
	}
}

func replicaSet(wanted, have int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rs", UID: "rs"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &wanted}, Status: appsv1.ReplicaSetStatus{Replicas: have}}
}

// Replaces the built-in planner's test of how many replicas a controller lacks.
func TestLackingReplicas(t *testing.T) {
	two, four := int32(2), int32(4)
	sets, err := kube_util.NewTestReplicaSetLister([]*appsv1.ReplicaSet{replicaSet(5, 2)})
	check(t, err)
	stateful, err := kube_util.NewTestStatefulSetLister([]*appsv1.StatefulSet{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ss"}, Status: appsv1.StatefulSetStatus{CurrentReplicas: 3}}})
	check(t, err)
	controllers, err := kube_util.NewTestReplicationControllerLister([]*apiv1.ReplicationController{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rc"},
		Spec:       apiv1.ReplicationControllerSpec{Replicas: &two}, Status: apiv1.ReplicationControllerStatus{Replicas: 1}}})
	check(t, err)
	jobs, err := kube_util.NewTestJobLister([]*batchv1.Job{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"},
			Spec: batchv1.JobSpec{Parallelism: &four}, Status: batchv1.JobStatus{Active: 1}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ends"},
			Spec: batchv1.JobSpec{Parallelism: &four, Completions: &four}, Status: batchv1.JobStatus{Active: 1, Succeeded: 2}}})
	check(t, err)
	registry := kube_util.NewListerRegistry(nil, nil, nil, nil, nil, controllers, jobs, sets, stateful)
	for _, test := range []struct {
		kind, name string
		want       int32
		fails      bool
	}{
		{"ReplicaSet", "rs", 3, false},
		{"StatefulSet", "ss", -2, false},
		{"ReplicationController", "rc", 1, false},
		{"Job", "job", 3, false},
		{"Job", "ends", 1, false},
		{"ReplicaSet", "lost", 0, true},
		{"StatefulSet", "lost", 0, true},
		{"ReplicationController", "lost", 0, true},
		{"Job", "lost", 0, true},
	} {
		got, err := lackingReplicas(registry, &metav1.OwnerReference{Kind: test.kind, Name: test.name}, "default")
		if (err != nil) != test.fails || got != test.want {
			t.Errorf("%s %s lacks %d, %v; want %d", test.kind, test.name, got, err, test.want)
		}
	}
	if owner := knownOwner(&apiv1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{Kind: "Foo", UID: types.UID("1")}, {Kind: "Job", UID: types.UID("2")}}}}); owner == nil || owner.Kind != "Job" {
		t.Errorf("known owner %v", owner)
	}
}

// A simulation that runs out of time skips the other nodes.
func TestOutOfTime(t *testing.T) {
	w := newWorld(t, func(o *config.AutoscalingOptions) { o.ScaleDownSimulationTimeout = 0 })
	p := w.planner(nil)
	w.update(t, p, 0)
	if got := len(p.UnneededNodes()); got != 0 {
		t.Errorf("%d nodes are unneeded", got)
	}
	w.given.CSINodeAwareSchedulingEnabled = true
	w.update(t, p, time.Second)
	if got := len(p.UnneededNodes()); got != 0 {
		t.Errorf("%d nodes are unneeded", got)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
