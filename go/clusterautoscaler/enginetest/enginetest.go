// Package enginetest has the tests and benchmarks that every clusterautoscaler.Engine shares.
package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/feed"
	"ebb/go/clusterautoscaler/wire"
)

var now = time.Unix(1_780_000_000, 0)

// Node returns a node that is ready.
func Node(name string, cpuMilli, memory int64) *v1.Node {
	amounts := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.DecimalSI),
		v1.ResourcePods:   *resource.NewQuantity(100, resource.DecimalSI),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
}

// Pod returns a pod that runs on a node and may be moved.
func Pod(name, node string, cpuMilli, memory int64) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: "1",
			Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}},
		Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(memory, resource.DecimalSI),
			}}}}},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
}

// Cluster returns nodes that are used to 40%, each by 40 pods.
func Cluster(nodes int) []feed.NodeView {
	views := make([]feed.NodeView, nodes)
	for i := range views {
		name := fmt.Sprintf("node-%d", i)
		views[i].Node = Node(name, 10_000, 10_000)
		for j := range 40 {
			views[i].Pods = append(views[i].Pods, Pod(fmt.Sprintf("pod-%d-%d", i, j), name, 100, 100))
		}
	}
	return views
}

// Nothing returns no lists.
func Nothing() []feed.List { return nil }

// Request returns the question about all nodes, which are in one group.
func Request(views []feed.NodeView) *clusterautoscaler.Request {
	request := &clusterautoscaler.Request{Now: now, UnneededLimit: 10_000, TimeLimit: time.Minute}
	for _, view := range views {
		request.Candidates = append(request.Candidates, view.Node.Name)
	}
	request.Destinations = request.Candidates
	request.Groups = []clusterautoscaler.Group{{Name: "all", Nodes: request.Candidates, UtilizationThreshold: 0.5}}
	return request
}

func open(t *testing.T, newEngine func() (clusterautoscaler.Engine, error)) clusterautoscaler.Engine {
	ebb, err := newEngine()
	check(t, err)
	t.Cleanup(func() { check(t, ebb.Close()) })
	check(t, ebb.Configure(context.Background(), clusterautoscaler.Options{ScaleDownUnreadyEnabled: true}))
	return ebb
}

// Run checks an engine. newEngine returns one without objects.
func Run(t *testing.T, newEngine func() (clusterautoscaler.Engine, error)) {
	for name, test := range map[string]func(*testing.T, clusterautoscaler.Engine){
		"Pass":         pass,
		"PodsAsListed": podsAsListed,
		"ApplyInOrder": applyInOrder,
		"Refuses":      refuses,
		"Version":      version,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, newEngine)) })
	}
}

// The rules are those of the program's scheduler, not those of the newest kubelet: until 1.36, a
// namespaceSelector in a term of the pod that is placed selects every namespace if it also matches no
// labels, and from 1.37 on the namespaces that it matches.
func version(t *testing.T, ebb clusterautoscaler.Engine) {
	missing := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	apart := Pod("apart", "full", 600, 100)
	apart.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}, NamespaceSelector: missing, TopologyKey: v1.LabelHostname}}}}
	other := Pod("other", "used", 600, 100)
	other.Namespace, other.Labels = "labelled", map[string]string{"app": "other"}
	views := []feed.NodeView{
		{Node: Node("full", 2000, 1000), Pods: []*v1.Pod{apart}},
		{Node: Node("used", 2000, 1000), Pods: []*v1.Pod{other}},
	}
	for _, view := range views {
		view.Node.Labels = map[string]string{v1.LabelHostname: view.Node.Name}
	}
	namespaces := func() []feed.List {
		return []feed.List{{Kind: wire.Namespace, Objects: []feed.Object{
			&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "labelled", Labels: map[string]string{"team": "a"}}},
		}}}
	}
	for _, test := range []struct {
		version string
		moves   int
	}{{"1.36", 0}, {"1.37", 1}} {
		check(t, ebb.Reset())
		check(t, ebb.Configure(context.Background(), clusterautoscaler.Options{ScaleDownUnreadyEnabled: true, KubernetesVersion: test.version}))
		check(t, ebb.Apply(context.Background(), feed.New().Changes(views, namespaces)))
		ask := Request(views)
		ask.Candidates = ask.Candidates[:1]
		result, err := ebb.Pass(context.Background(), ask)
		check(t, err)
		if len(result.Removals) != test.moves {
			t.Errorf("by the rules of %s %v go, %v stay", test.version, result.Removals, result.Kept)
		}
	}
}

func pass(t *testing.T, ebb clusterautoscaler.Engine) {
	views := []feed.NodeView{
		{Node: Node("empty", 1000, 1000)},
		{Node: Node("moves", 1000, 1000), Pods: []*v1.Pod{Pod("p", "moves", 100, 100)}},
		{Node: Node("busy", 1000, 1000), Pods: []*v1.Pod{Pod("q", "busy", 800, 100)}},
		{Node: Node("bare", 1000, 1000), Pods: []*v1.Pod{Pod("r", "bare", 100, 100)}},
		{Node: Node("alone", 1000, 1000)},
	}
	views[3].Pods[0].Annotations = nil
	check(t, ebb.Apply(context.Background(), feed.New().Changes(views, Nothing)))
	ask := Request(views)
	ask.Groups[0].Nodes = ask.Candidates[:4]
	result, err := ebb.Pass(context.Background(), ask)
	check(t, err)
	want := "complete[{empty [] [] [] false} {moves [{{default p} busy}] [] [] false}] " +
		"[{alone NotAutoscaled  { }} {bare BlockedByPod NotReplicated {default r}} {busy NotUnderutilized  { }}] []"
	slices.SortFunc(result.Kept, func(a, b clusterautoscaler.Kept) int { return strings.Compare(a.Node, b.Node) })
	got := fmt.Sprint(result.Termination, result.Removals, " ", result.Kept, " ", result.Skipped)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, use := range result.Utilization {
		if use.Node == "busy" && (use.CPU != 0.8 || use.Memory != 0.1 || use.Resource != "cpu" || use.Utilization != 0.8) {
			t.Errorf("busy is used %v", use)
		}
	}
	ask.UnneededLimit = 1
	result, err = ebb.Pass(context.Background(), ask)
	check(t, err)
	if len(result.Removals) != 1 || result.Termination != "limit" || len(result.Skipped) == 0 {
		t.Errorf("with a limit of 1: %+v", result)
	}
	ask.TimeLimit = 0
	result, err = ebb.Pass(context.Background(), ask)
	check(t, err)
	if len(result.Removals) != 0 || len(result.Skipped) != len(views) {
		t.Errorf("without time: %+v", result)
	}
}

func podsAsListed(t *testing.T, ebb clusterautoscaler.Engine) {
	views := []feed.NodeView{
		{Node: Node("from", 1000, 1000), Pods: []*v1.Pod{Pod("low", "from", 100, 100), Pod("high", "from", 100, 100)}},
		{Node: Node("to", 1000, 1000)},
	}
	priority := int32(9)
	views[0].Pods[1].Spec.Priority = &priority
	check(t, ebb.Apply(context.Background(), feed.New().Changes(views, Nothing)))
	for asListed, first := range map[bool]string{false: "high", true: "low"} {
		ask := Request(views)
		ask.Candidates = ask.Candidates[:1]
		ask.PodsAsListed = asListed
		result, err := ebb.Pass(context.Background(), ask)
		check(t, err)
		if len(result.Removals) != 1 || result.Removals[0].Moves[0].Pod.Name != first {
			t.Errorf("as listed %v: %+v", asListed, result.Removals)
		}
	}
}

// There are more changes than fit in one batch, some of them deletions.
func applyInOrder(t *testing.T, ebb clusterautoscaler.Engine) {
	views := Cluster(100)
	sent := feed.New()
	check(t, ebb.Apply(context.Background(), sent.Changes(views, Nothing)))
	views = views[20:]
	for i := range views {
		views[i].Pods = views[i].Pods[:10]
	}
	check(t, ebb.Apply(context.Background(), sent.Changes(views, Nothing)))
	result, err := ebb.Pass(context.Background(), Request(views))
	check(t, err)
	// The 800 pods need eight nodes.
	if len(result.Removals) != 72 {
		t.Errorf("%d nodes go", len(result.Removals))
	}
	check(t, ebb.Apply(context.Background(), slices.Values([][]wire.Change{})))
}

func refuses(t *testing.T, ebb clusterautoscaler.Engine) {
	ctx := context.Background()
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	ask := Request(Cluster(1))
	_, err := ebb.Pass(ctx, ask)
	refused(err, "node node-0 is not in the cluster")

	bad := Cluster(300)
	bad[250].Pods[7].Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("-1")
	refused(ebb.Apply(ctx, feed.New().Changes(bad, Nothing)), "pod-250-7")
	check(t, ebb.Reset())
	check(t, ebb.Apply(ctx, feed.New().Changes(Cluster(1), Nothing)))
	_, err = ebb.Pass(ctx, ask)
	check(t, err)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	refused(ebb.Apply(cancelled, feed.New().Changes(Cluster(1), Nothing)), "context canceled")
	_, err = ebb.Pass(cancelled, ask)
	refused(err, "context canceled")

	check(t, ebb.Close())
	check(t, ebb.Close())
	refused(ebb.Apply(ctx, slices.Values([][]wire.Change{})), "after Close")
	refused(ebb.Configure(ctx, clusterautoscaler.Options{}), "after Close")
	_, err = ebb.Pass(ctx, ask)
	refused(err, "after Close")
	check(t, ebb.Reset())
}

// Loop2000 measures the first loop over a cluster, and a loop in which nothing has changed.
func Loop2000(b *testing.B, newEngine func() (clusterautoscaler.Engine, error)) {
	views := Cluster(2000)
	ask := Request(views)
	ctx := context.Background()
	took := map[string]time.Duration{}
	timed := func(what string, do func()) {
		start, cpu := time.Now(), cpuTime()
		do()
		took[what] += time.Since(start)
		took[what+"-cpu"] += cpuTime() - cpu
	}
	for b.Loop() {
		ebb, err := newEngine()
		check(b, err)
		check(b, ebb.Configure(ctx, clusterautoscaler.Options{ScaleDownUnreadyEnabled: true}))
		sent := feed.New()
		timed("1-send", func() { check(b, ebb.Apply(ctx, sent.Changes(views, Nothing))) })
		var result *clusterautoscaler.Result
		timed("2-pass", func() { result, err = ebb.Pass(ctx, ask) })
		check(b, err)
		if len(result.Removals) != 1200 {
			b.Fatalf("%d nodes go", len(result.Removals))
		}
		timed("3-same-send", func() { check(b, ebb.Apply(ctx, sent.Changes(views, Nothing))) })
		timed("4-same-pass", func() { _, err = ebb.Pass(ctx, ask) })
		check(b, err)
		check(b, ebb.Close())
	}
	for what, time := range took {
		b.ReportMetric(float64(time.Microseconds())/1000/float64(b.N), what+"-ms")
	}
}

// Pass2000 measures passes over a cluster that does not change.
func Pass2000(b *testing.B, newEngine func() (clusterautoscaler.Engine, error)) {
	views := Cluster(2000)
	ask := Request(views)
	ctx := context.Background()
	ebb, err := newEngine()
	check(b, err)
	check(b, ebb.Configure(ctx, clusterautoscaler.Options{ScaleDownUnreadyEnabled: true}))
	check(b, ebb.Apply(ctx, feed.New().Changes(views, Nothing)))
	for b.Loop() {
		_, err := ebb.Pass(ctx, ask)
		check(b, err)
	}
	check(b, ebb.Close())
}

// cpuTime returns the processor time of all threads of the process.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
