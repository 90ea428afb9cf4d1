package ebb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"

	"ebb/go/ebb/plannerpb"
)

var ctx = context.Background()

// ---------------------------------------------------------------- objects

func nodeJSON(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"uid":%q,"labels":{"pool":"p"}},
		"status":{"capacity":{"cpu":"2","memory":"2Gi","pods":"10"},"allocatable":{"cpu":"2","memory":"2Gi","pods":"10"},
		"conditions":[{"type":"Ready","status":"True"}]}}`, name, "uid-"+name)
}

func podJSON(name, node, cpu string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"d","name":%q,"uid":%q,
		"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r","controller":true}]},
		"spec":{"nodeName":%q,"containers":[{"name":"c","resources":{"requests":{"cpu":%q,"memory":"1Mi"}}}]},
		"status":{"phase":"Running"}}`, name, "uid-"+name, node, cpu)
}

// podProtobuf returns a Pod in Kubernetes' protobuf, with its envelope.
func podProtobuf(name, node string) []byte {
	text := func(data []byte, field protowire.Number, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(data, field, protowire.BytesType), value)
	}
	owner := text(text(text(text(nil, 1, "ReplicaSet"), 3, "r"), 4, "r"), 5, "apps/v1")
	owner = protowire.AppendVarint(protowire.AppendTag(owner, 6, protowire.VarintType), 1)
	meta := text(text(text(text(nil, 1, name), 3, "d"), 5, "uid-"+name), 13, string(owner))
	spec := text(text(nil, 2, string(text(nil, 1, "c"))), 10, node)
	pod := text(text(text(nil, 1, string(meta)), 2, string(spec)), 3, string(text(nil, 1, "Running")))
	unknown := text(text(nil, 1, string(text(text(nil, 1, "v1"), 2, "Pod"))), 2, string(pod))
	return append([]byte("k8s\x00"), unknown...)
}

// dump returns three nodes; the pods of a and b fit on the other nodes.
func dump() []byte {
	return []byte(`{"kind":"List","apiVersion":"v1","items":[` + strings.Join([]string{
		nodeJSON("a"), nodeJSON("b"), nodeJSON("c"),
		podJSON("x", "a", "200m"), podJSON("y", "b", "300m"), podJSON("z", "c", "1500m"),
		`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"d","name":"r","uid":"r"},"spec":{"replicas":3}}`,
	}, ",") + `]}`)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, options Options) *Cluster {
	t.Helper()
	cluster, err := New(options)
	check(t, err)
	t.Cleanup(func() { _ = cluster.Close() })
	return cluster
}

func loaded(t testing.TB) *Cluster {
	t.Helper()
	cluster := open(t, Options{})
	check(t, cluster.Load(ctx, dump()))
	return cluster
}

func newBatch(t testing.TB) *Batch {
	t.Helper()
	batch, err := NewBatch()
	check(t, err)
	t.Cleanup(func() { _ = batch.Close() })
	return batch
}

func removed(t testing.TB, cluster *Cluster) string {
	t.Helper()
	plan, err := cluster.Plan(ctx, nil)
	check(t, err)
	var names []string
	for _, removal := range plan.Data.Removes {
		names = append(names, removal.Node)
	}
	return strings.Join(names, " ")
}

func refused(t testing.TB, err error, code Code, words string) {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != code || !errors.Is(err, code) || !strings.Contains(failure.Message, words) {
		t.Errorf("got %v, want %v with %q", err, code, words)
	}
}

// ---------------------------------------------------------------- calls

func TestPlan(t *testing.T) {
	plan, err := loaded(t).Plan(ctx, nil)
	check(t, err)
	if got := fmt.Sprintln(plan.Data.Termination, len(plan.Data.Removes), plan.Data.Removes[0].Node, plan.Data.Removes[0].Moves[0].Pod.Name); got != "complete 2 a x\n" {
		t.Errorf("plan: %s", got)
	}
	if plan.Version != 1 || plan.Removes != 2 || len(plan.Plan) != 0 {
		t.Errorf("reply: %v", plan)
	}
}

func TestPlanAsNames(t *testing.T) {
	// A plan in the form of names counts as carried out, so it needs the budgets that the dump
	// lacks.
	call := &plannerpb.PlanCall{Form: plannerpb.Form_AS_NAMES.Enum()}
	_, err := loaded(t).Plan(ctx, call)
	refused(t, err, FailedPrecondition, "no PodDisruptionBudget")
	call.Input = &plannerpb.PlanInput{AllowIncomplete: true}
	plan, err := loaded(t).Plan(ctx, call)
	check(t, err)
	if !slices.Equal(plan.Names, []string{"a", "b"}) {
		t.Errorf("%q", plan.Names)
	}
}

func TestPassTakesTheCandidatesThatItIsGiven(t *testing.T) {
	reply, err := loaded(t).Pass(ctx, &plannerpb.PlanInput{Candidates: &plannerpb.NodeNames{Nodes: []string{"b"}}})
	check(t, err)
	if len(reply.Plan.Removes) != 1 || reply.Plan.Removes[0].Node != "b" {
		t.Errorf("%v", reply.Plan)
	}
}

func TestPassTableIsThePassInColumns(t *testing.T) {
	cluster := loaded(t)
	table, err := cluster.PassTable(ctx, &plannerpb.PlanInput{Candidates: &plannerpb.NodeNames{Nodes: []string{"b"}}})
	check(t, err)
	if len(table.RemovedNodes) != 1 || table.Nodes[table.RemovedNodes[0]] != "b" || string(table.PodNames) != "y" || table.Version != 1 {
		t.Errorf("%v", table)
	}
	_, err = cluster.PassTable(ctx, &plannerpb.PlanInput{Candidates: &plannerpb.NodeNames{Nodes: []string{"nowhere"}}})
	refused(t, err, NotFound, "candidates.nodes[0]: node nowhere")
}

// Every field of the call reaches the planner.
func TestPassesTakePodsInTheOrderOfTheChanges(t *testing.T) {
	cluster, batch := loaded(t), newBatch(t)
	high := strings.Replace(podJSON("high", "a", "100m"), `"nodeName"`, `"priority":9,"nodeName"`, 1)
	check(t, batch.PutJSON([]byte(high)))
	_, err := cluster.Apply(ctx, batch)
	check(t, err)
	for order, first := range map[plannerpb.PodOrder]string{plannerpb.PodOrder_BY_PRIORITY: "high", plannerpb.PodOrder_AS_LISTED: "x"} {
		reply, err := cluster.Pass(ctx, &plannerpb.PlanInput{Candidates: &plannerpb.NodeNames{Nodes: []string{"a"}}, PodOrder: order})
		check(t, err)
		if got := reply.Plan.Removes[0].Moves[0].Pod.Name; got != first {
			t.Errorf("%v: %s is the first", order, got)
		}
	}
}

func TestOtherCalls(t *testing.T) {
	cluster := loaded(t)
	why, err := cluster.Explain(ctx, &plannerpb.ExplainCall{Nodes: []string{"c"}})
	check(t, err)
	if !strings.Contains(string(why.Json), `"c"`) {
		t.Errorf("explain: %s", why.Json)
	}
	where, err := cluster.Filter(ctx, &plannerpb.FilterCall{Pods: []string{"d/z"}})
	check(t, err)
	if !strings.Contains(string(where.Json), `"d/z"`) && !strings.Contains(string(where.Json), `"z"`) {
		t.Errorf("filter: %s", where.Json)
	}
	status, err := cluster.Status(ctx)
	check(t, err)
	if status.Nodes != 3 || status.Pods != 3 || status.Version != 1 {
		t.Errorf("status: %v", status)
	}
	snapshot, err := cluster.Export(ctx)
	check(t, err)
	copied := open(t, Options{})
	check(t, copied.Load(ctx, snapshot))
	if got, want := removed(t, copied), removed(t, cluster); got != want {
		t.Errorf("the copy removes %s, not %s", got, want)
	}
	_, err = cluster.Call(ctx, Method(99), nil)
	refused(t, err, InvalidArgument, "99")
	_, err = cluster.Call(ctx, MethodPlan, []byte{0xff})
	refused(t, err, InvalidArgument, "PlanCall")
}

func TestRoundsKeepTheirState(t *testing.T) {
	folder := t.TempDir()
	for round := int64(1); round <= 2; round++ {
		cluster := open(t, Options{StateFolder: folder, Name: "east", AllowIncomplete: true})
		check(t, cluster.Load(ctx, dump()))
		reply, err := cluster.Round(ctx, nil)
		check(t, err)
		if reply.Round != round {
			t.Errorf("round %d, not %d", reply.Round, round)
		}
		_, err = cluster.ReportActuation(ctx, &plannerpb.ActuationReport{Begun: []*plannerpb.BegunDeletion{{Node: "a", Group: "p"}}})
		check(t, err)
		check(t, cluster.Close())
	}
	_, err := loaded(t).Round(ctx, nil)
	refused(t, err, FailedPrecondition, "state")
}

func TestSettings(t *testing.T) {
	cluster := loaded(t)
	options, err := structpb.NewStruct(map[string]any{"scaleDown": map[string]any{"planner": map[string]any{"scaleDownUtilizationThreshold": 0.12}}})
	check(t, err)
	check(t, cluster.SetSettings(ctx, &plannerpb.Settings{Options: options}))
	if got := removed(t, cluster); got != "a" {
		t.Errorf("removes %q", got)
	}
	check(t, cluster.SetSettings(ctx, nil))
	if got := removed(t, cluster); got != "a b" {
		t.Errorf("by default: removes %q", got)
	}
	options.Fields["scaleDwon"] = structpb.NewNumberValue(1)
	refused(t, cluster.SetSettings(ctx, &plannerpb.Settings{Options: options}), InvalidArgument, "scaleDwon")
}

// ---------------------------------------------------------------- changes

func TestChanges(t *testing.T) {
	cluster := loaded(t)
	batch := newBatch(t)
	check(t, batch.PutJSON([]byte(podJSON("w", "b", "1500m"))))
	check(t, batch.Delete(Reference{Kind: "Pod", Namespace: "d", Name: "z"}))
	version, err := cluster.Apply(ctx, batch)
	check(t, err)
	if version != 2 || batch.Len() != 2 {
		t.Errorf("version %d, %d changes", version, batch.Len())
	}
	if got := removed(t, cluster); got != "a c" && got != "c a" {
		t.Errorf("removes %q", got)
	}
	check(t, batch.Clear())
	check(t, batch.PutProtobuf(podProtobuf("q", "a")))
	_, err = cluster.Apply(ctx, batch)
	check(t, err)
	status, err := cluster.Status(ctx)
	check(t, err)
	if status.Pods != 4 {
		t.Errorf("%d pods", status.Pods)
	}
}

func TestManyObjectsAtOnce(t *testing.T) {
	cluster := loaded(t)
	batch := newBatch(t)
	var data []byte
	var ranges []Range
	for i := range 100 {
		begin := uint(len(data))
		data = append(data, podProtobuf(fmt.Sprint("many-", i), "a")...)
		ranges = append(ranges, Range{Begin: begin, End: uint(len(data))})
	}
	taken, err := batch.PutManyProtobuf(data, ranges)
	check(t, err)
	if taken != 100 || batch.Len() != 100 {
		t.Errorf("%d taken, %d there", taken, batch.Len())
	}
	_, err = cluster.Apply(ctx, batch)
	check(t, err)
	status, err := cluster.Status(ctx)
	check(t, err)
	if status.Pods != 103 {
		t.Errorf("%d pods", status.Pods)
	}
	ranges[7].End = uint(len(data)) + 1
	taken, err = batch.PutManyProtobuf(data, ranges)
	refused(t, err, InvalidArgument, "ranges[7]")
	if taken != 7 || batch.Len() != 107 {
		t.Errorf("%d taken, %d there", taken, batch.Len())
	}
	taken, err = batch.PutManyProtobuf(nil, nil)
	if taken != 0 || err != nil {
		t.Errorf("of none: %d, %v", taken, err)
	}
}

// ---------------------------------------------------------------- bad input

func TestGarbageInTheMiddleOfABatch(t *testing.T) {
	batch := newBatch(t)
	check(t, batch.PutJSON([]byte(nodeJSON("n"))))
	refused(t, batch.PutJSON([]byte("garbage")), InvalidArgument, "")
	refused(t, batch.PutJSON(nil), InvalidArgument, "")
	refused(t, batch.PutProtobuf([]byte("k8s\x00garbage")), InvalidArgument, "")
	refused(t, batch.PutProtobuf(podProtobuf("q", "a")[:30]), InvalidArgument, "")
	refused(t, batch.PutJSON([]byte(strings.Replace(podJSON("p", "a", "1"), `"1"`, `"much"`, 1))), InvalidArgument, "d/p")
	refused(t, batch.Delete(Reference{}), InvalidArgument, "")
	refused(t, batch.Delete(Reference{Kind: "Pod", Namespace: "d", Name: "a\x00b"}), InvalidArgument, "zero byte")
	if batch.Len() != 1 {
		t.Errorf("%d changes", batch.Len())
	}
}

func TestAnObjectOverTheLimit(t *testing.T) {
	batch := newBatch(t)
	object := strings.Replace(podJSON("big", "a", "1"), `"spec"`, `"x":"`+strings.Repeat("x", 10<<20)+`","spec"`, 1)
	refused(t, batch.PutJSON([]byte(object)), ResourceExhausted, "")
	cluster := open(t, Options{ObjectsMax: 2})
	refused(t, cluster.Load(ctx, dump()), ResourceExhausted, "")
	refused(t, open(t, Options{DumpBytesMax: 10}).Load(ctx, dump()), ResourceExhausted, "")
}

func TestAnEmptyClusterAllowsNoPlan(t *testing.T) {
	_, err := open(t, Options{}).Plan(ctx, nil)
	refused(t, err, FailedPrecondition, "node")
}

func TestAWrongVersionAndNames(t *testing.T) {
	_, err := newCluster(7, Options{})
	refused(t, err, FailedPrecondition, "7")
	_, err = New(Options{Name: "../../etc"})
	refused(t, err, InvalidArgument, "name")
	_, err = New(Options{StateFolder: "a\x00b"})
	refused(t, err, InvalidArgument, "StateFolder")
}

func TestNilAndZeroValues(t *testing.T) {
	for _, cluster := range []*Cluster{nil, {}} {
		_, err := cluster.Plan(ctx, nil)
		refused(t, err, FailedPrecondition, "never made")
		refused(t, cluster.Load(ctx, nil), FailedPrecondition, "")
		refused(t, cluster.Close(), FailedPrecondition, "")
	}
	for _, batch := range []*Batch{nil, {}} {
		refused(t, batch.PutJSON(nil), FailedPrecondition, "")
		refused(t, batch.Close(), FailedPrecondition, "")
		_, err := loaded(t).Apply(ctx, batch)
		refused(t, err, FailedPrecondition, "")
		if batch.Len() != 0 {
			t.Error("not empty")
		}
	}
}

func TestUsedAfterClose(t *testing.T) {
	cluster, batch := loaded(t), newBatch(t)
	check(t, cluster.Close())
	check(t, batch.Close())
	_, err := cluster.Plan(ctx, nil)
	if !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	_, err = cluster.Apply(ctx, batch)
	if !errors.Is(err, ErrClosed) || !errors.Is(batch.PutJSON(nil), ErrClosed) || !errors.Is(cluster.Close(), ErrClosed) {
		t.Error("answered after Close")
	}
	for want, err := range map[string]error{"ebb: cluster cluster: used after Close": err, "ebb: batch: used after Close": batch.Clear()} {
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// ---------------------------------------------------------------- contexts

func TestContexts(t *testing.T) {
	cluster := loaded(t)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := cluster.Plan(ended, nil)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A call that waits for its turn gives up when its context ends; the call before it is not
	// disturbed.
	cluster.turn <- struct{}{}
	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = cluster.Plan(soon, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	<-cluster.turn
	if !errors.Is(DeadlineExceeded, context.DeadlineExceeded) || errors.Is(NotFound, context.DeadlineExceeded) {
		t.Error("codes and the errors of package context")
	}
}

func TestADeadlineIsInTheRequest(t *testing.T) {
	limited, cancel := context.WithDeadline(ctx, time.Now().Add(time.Hour))
	defer cancel()
	if got := bounded(ctx, nil); got != nil {
		t.Errorf("without a deadline: %v", got)
	}
	if got := bounded(limited, nil).GetTimeLimitSeconds(); got <= 3000 || got > 3600 {
		t.Errorf("an hour: %v s", got)
	}
	given, now := 5.0, int64(7)
	input := &plannerpb.PlanInput{TimeLimitSeconds: &given, Now: &now}
	if got := bounded(limited, input); got != input {
		t.Errorf("5 s of an hour: %v", got)
	}
	given = 4000
	if got := bounded(limited, input); got.GetTimeLimitSeconds() > 3600 || *got.Now != 7 || given != 4000 {
		t.Errorf("4000 s of an hour: %v", got)
	}
	late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Hour))
	defer cancel()
	if got := bounded(late, nil); got.GetTimeLimitSeconds() != 1e-9 {
		t.Errorf("too late: %v", got)
	}
	plan, err := loaded(t).Plan(ctx, &plannerpb.PlanCall{Input: bounded(late, nil)})
	check(t, err)
	if plan.Data.Termination != "deadline" || plan.Removes != 0 {
		t.Errorf("without time: %v", plan.Data)
	}
}

// ---------------------------------------------------------------- goroutines, the collector, a kill

func TestManyGoroutinesAndOneCloses(t *testing.T) {
	cluster := loaded(t)
	batch := newBatch(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				var err error
				switch (i + j) % 3 {
				case 0:
					_, err = cluster.Plan(ctx, nil)
				case 1:
					err = batch.PutJSON([]byte(podJSON(fmt.Sprintf("g%d-%d", i, j), "a", "1m")))
				case 2:
					_, err = cluster.Apply(ctx, batch)
				}
				if err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				if i == 3 && j == 25 {
					if err := cluster.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
}

// A thousand unclosed clusters would need some hundred megabytes.
func TestTheCollectorFreesWhatWasNotClosed(t *testing.T) {
	before := resident(t)
	for i := range 1000 {
		cluster, err := New(Options{})
		check(t, err)
		check(t, cluster.Load(ctx, dump()))
		batch, err := NewBatch()
		check(t, err)
		check(t, batch.PutJSON([]byte(strings.Replace(nodeJSON("n"), `"pool":"p"`, `"pool":"`+strings.Repeat("x", 200<<10)+`"`, 1))))
		if i%50 == 0 {
			runtime.GC()
		}
	}
	if grown := resident(t) - before; grown > 100<<20 {
		t.Errorf("grown by %d MiB", grown>>20)
	}
}

func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	check(t, err)
	var size, pages int
	_, err = fmt.Sscan(string(text), &size, &pages)
	check(t, err)
	return pages * os.Getpagesize()
}

// A process killed during a call leaves a state from which the next process continues.
func TestKilledInACall(t *testing.T) {
	const child = "EBB_TEST_ROUNDS_IN"
	if folder := os.Getenv(child); folder != "" {
		cluster := open(t, Options{StateFolder: folder, AllowIncomplete: true})
		check(t, cluster.Load(ctx, dump()))
		for {
			_, err := cluster.Round(ctx, nil)
			check(t, err)
			fmt.Println("round")
		}
	}
	folder := t.TempDir()
	rounds := int64(0)
	for range 5 {
		command := exec.Command(os.Args[0], "-test.run=^TestKilledInACall$")
		command.Env = append(os.Environ(), child+"="+folder)
		output, err := command.StdoutPipe()
		check(t, err)
		check(t, command.Start())
		var line [6]byte
		for range 3 {
			_, err = output.Read(line[:])
			check(t, err)
		}
		check(t, command.Process.Signal(syscall.SIGKILL))
		_ = command.Wait()
		cluster := open(t, Options{StateFolder: folder, AllowIncomplete: true})
		check(t, cluster.Load(ctx, dump()))
		reply, err := cluster.Round(ctx, nil)
		check(t, err)
		if reply.Round < rounds+3 {
			t.Errorf("round %d after round %d", reply.Round, rounds)
		}
		rounds = reply.Round
		check(t, cluster.Close())
	}
}
