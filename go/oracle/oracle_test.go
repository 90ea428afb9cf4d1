package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// The test binary also simulates ebb: started as `<binary> filter --stdin` it answers with the
// scheduler's own answers, unchanged or with one planted mistake.
const actEnvironment = "ORACLE_TEST_EBB_ACTS"

func TestMain(m *testing.M) {
	quiet()
	if len(os.Args) > 1 && os.Args[1] == "filter" {
		playEbb(os.Getenv(actEnvironment))
		return
	}
	os.Exit(m.Run())
}

func playEbb(act string) {
	scheduler, err := NewScheduler(context.Background())
	if err != nil {
		panic(err)
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		request := &Request{}
		if err := json.Unmarshal(line, request); err != nil {
			panic(err)
		}
		response, err := scheduler.Answer(context.Background(), request)
		if err != nil {
			panic(err)
		}
		if act == "forgets NoExecute" {
			forgetNoExecute(request, response)
		}
		if act == "loves taints" {
			loveTaints(request, response)
		}
		if act == "crashes on SCTP" && strings.Contains(string(line), "SCTP") {
			os.Stderr.WriteString("terminate called\n")
			os.Exit(3)
		}
		answer, err := json.Marshal(response)
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(append(answer, '\n'))
	}
}

// forgetNoExecute plants a mistake: TaintToleration ignores NoExecute taints, so that it accepts
// nodes with no other kind of taint.
func forgetNoExecute(request *Request, response *Response) {
	mild := map[string]bool{}
	for _, object := range request.Objects {
		if node, ok := object.(*v1.Node); ok {
			mild[node.Name] = !slices.ContainsFunc(node.Spec.Taints,
				func(t v1.Taint) bool { return t.Effect == v1.TaintEffectNoSchedule })
		}
	}
	for i := range response.Results {
		for j := range response.Results[i].Nodes {
			v := &response.Results[i].Nodes[j]
			if v.Plugin == "TaintToleration" && mild[v.Node] {
				*v = Verdict{Node: v.Node, Fits: true}
			}
		}
	}
}

var allAreas = Limits{NodesMax: 8, PodsAsked: 40, Areas: Areas}

func huntOptions(t *testing.T, act string) *options {
	t.Helper()
	t.Setenv(actEnvironment, act)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &options{seed: 7, verdicts: 20000, workers: 2, ebb: program, limits: allAreas,
		save: t.TempDir(), disagreementsMax: 1}
}

func newTestScheduler(t *testing.T) (*Scheduler, context.Context) {
	t.Helper()
	ctx := klog.NewContext(context.Background(), logr.Discard())
	scheduler, err := NewScheduler(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return scheduler, ctx
}

func TestAnswersOfTheSchedulerItselfAgree(t *testing.T) {
	agreed, err := newHunt(huntOptions(t, "truthfully")).run()
	if err != nil || !agreed {
		t.Errorf("agreed %v, error %v", agreed, err)
	}
}

func TestAMistakeIsFoundAndShrunkToOnePodAndOneNode(t *testing.T) {
	o := huntOptions(t, "forgets NoExecute")
	agreed, err := newHunt(o).run()
	if err != nil || agreed {
		t.Fatalf("agreed %v, error %v; want the mistake found", agreed, err)
	}
	paths, _ := filepath.Glob(filepath.Join(o.save, "*.json"))
	if len(paths) == 0 {
		t.Fatal("no case was saved")
	}
	regression, err := LoadRegression(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(regression.Request.Objects) != 2 || len(regression.Request.Pods) != 1 {
		t.Errorf("%d objects and %d pods, want one node and one pod",
			len(regression.Request.Objects), len(regression.Request.Pods))
	}
	for _, object := range regression.Request.Objects {
		if node, ok := object.(*v1.Node); ok {
			if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Effect != v1.TaintEffectNoExecute {
				t.Errorf("taints %v, want the NoExecute one alone", node.Spec.Taints)
			}
			if len(node.Labels) > 0 || len(node.Status.Allocatable) > 0 {
				t.Errorf("the node kept fields that do not matter: %v", node)
			}
		}
	}
}

func TestACrashIsADisagreementAndTheHuntContinues(t *testing.T) {
	o := huntOptions(t, "crashes on SCTP")
	o.disagreementsMax = 2
	o.verdicts = 5000
	h := newHunt(o)
	agreed, err := h.run()
	if err != nil || agreed {
		t.Fatalf("agreed %v, error %v; want the crash found", agreed, err)
	}
	if len(h.found) != 1 || h.verdicts.Load() < o.verdicts {
		t.Errorf("found %v in %d verdicts; want one crash and all verdicts", h.found, h.verdicts.Load())
	}
}

func TestTheSameSeedMakesTheSameClusters(t *testing.T) {
	for number := range 200 {
		first, _ := json.Marshal(Generate(3, number, allAreas))
		second, _ := json.Marshal(Generate(3, number, allAreas))
		if string(first) != string(second) {
			t.Fatalf("cluster %d differs:\n%s\n%s", number, first, second)
		}
	}
}

// ebb reads JSON, the scheduler reads Go objects: the conversion must lose nothing. The test also
// shows that the scheduler repeats its answers, even after other clusters.
func TestARequestMeansTheSameAfterJSON(t *testing.T) {
	scheduler, ctx := newTestScheduler(t)
	other, _ := newTestScheduler(t)
	for number := range 500 {
		request := Generate(4, number, allAreas)
		want, err := scheduler.Answer(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(request)
		again := &Request{}
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatal(err)
		}
		got, err := other.Answer(ctx, again)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("cluster %d: %v", number, Compare(want, got))
		}
	}
}

// The order of nodes must not matter; otherwise a verdict would be random.
func TestVerdictsDoNotDependOnTheOrderOfObjects(t *testing.T) {
	scheduler, ctx := newTestScheduler(t)
	for number := range 500 {
		request := Generate(5, number, allAreas)
		want, err := scheduler.Answer(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(request.Objects)
		got, err := scheduler.Answer(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Results {
			slices.Reverse(got.Results[i].Nodes)
		}
		if found := Compare(want, got); len(found) > 0 {
			t.Fatalf("cluster %d: %v", number, &found[0])
		}
	}
}

// Filters that can never reject a pod in these clusters: pods are asked about without their
// nodeName.
var neverRefuse = []string{"NodeName"}

func TestEveryFilterRefusesSometimesAndPassesSometimes(t *testing.T) {
	stats, plugins := countVerdicts(t, 8000)
	for _, plugin := range plugins {
		share := percent(stats.Refused[plugin], stats.Reached[plugin])
		if slices.Contains(neverRefuse, plugin) {
			if share != 0 {
				t.Errorf("%s refused %.1f%%: it can be compared after all", plugin, share)
			}
		} else if share < 3 || share > 95 {
			t.Errorf("%s refused %.1f%% of %d verdicts, want 3 to 95", plugin, share,
				stats.Reached[plugin])
		}
	}
	if share := percent(stats.Fitting, stats.Verdicts); share < 15 || share > 85 {
		t.Errorf("%.1f%% of all verdicts fit, want 15 to 85", share)
	}
}

func TestEveryReasonOfTheSchedulerComesUp(t *testing.T) {
	stats, _ := countVerdicts(t, 8000)
	for _, reason := range []string{
		"NodeUnschedulable: node(s) were unschedulable",
		"TaintToleration: node(s) had untolerated taint(s)",
		"NodeAffinity: node(s) didn't match Pod's node affinity/selector",
		"NodeAffinity: node(s) didn't satisfy plugin(s) [NodeAffinity]",
		"NodeAffinity: pod affinity terms conflict",
		"NodePorts: node(s) didn't have free ports for the requested pod ports",
		"NodeResourcesFit: Too many pods",
		"NodeResourcesFit: Insufficient cpu",
		"NodeResourcesFit: Insufficient memory",
		"NodeResourcesFit: Insufficient ephemeral-storage",
		"NodeResourcesFit: Insufficient example.com/gpu",
		"NodeResourcesFit: Insufficient hugepages-_Mi",
		"NodeResourcesFit: Insufficient attachable-volumes-csi-a",
		"VolumeRestrictions: node(s) had no available disk",
		"VolumeRestrictions: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod " +
			"access mode already in-use by another pod",
		"VolumeRestrictions: persistentvolumeclaim _ not found",
		"NodeVolumeLimits: node(s) exceed max volume count",
		"VolumeBinding: node(s) did not have enough free storage",
		"VolumeBinding: node(s) didn't find available persistent volumes to bind",
		"VolumeBinding: node(s) didn't match PersistentVolume's node affinity",
		"VolumeBinding: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
		"VolumeBinding: persistentvolumeclaim _ bound to non-existent persistentvolume _",
		"VolumeBinding: persistentvolumeclaim _ is being deleted",
		"VolumeBinding: pod has unbound immediate PersistentVolumeClaims",
		"VolumeBinding: waiting for ephemeral volume controller to create the persistentvolumeclaim _",
		"VolumeZone: node(s) had no available volume zone",
		"VolumeZone: persistentvolume _ not found",
		"PodTopologySpread: node(s) didn't match pod topology spread constraints",
		"PodTopologySpread: node(s) didn't match pod topology spread constraints " +
			"(missing required label)",
		"InterPodAffinity: node(s) didn't match pod affinity rules",
		"InterPodAffinity: node(s) didn't match pod anti-affinity rules",
		"InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules",
		"NodeDeclaredFeatures: node(s) didn't match Pod's required features",
	} {
		if stats.Reasons[reason] < 10 {
			t.Errorf("%d times in %d verdicts: %s", stats.Reasons[reason], stats.Verdicts, reason)
		}
	}
	if kubernetesVersion != "1.36" {
		return
	}
	for _, reason := range []string{
		"DynamicResources: cannot allocate all claims",
		"DynamicResources: invalid resource pools were encountered",
		"DynamicResources: resourceclaim not available on the node",
	} {
		if stats.Reasons[reason] < 10 {
			t.Errorf("%d times in %d verdicts: %s", stats.Reasons[reason], stats.Verdicts, reason)
		}
	}
}

func countVerdicts(t *testing.T, clusters int) (*Stats, []string) {
	t.Helper()
	scheduler, ctx := newTestScheduler(t)
	w := &worker{hunt: newHunt(&options{}), context: ctx, scheduler: scheduler, stats: newStats()}
	for number := range clusters {
		if _, err := w.askScheduler(Generate(6, number, allAreas)); err != nil {
			t.Fatal(err)
		}
	}
	return w.stats, scheduler.plugins
}

func TestASecondPodKeepsItsHostPortWhenAnotherOneMoves(t *testing.T) {
	pod := func(name string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: v1.PodSpec{NodeName: "n1", Containers: []v1.Container{{Name: "c",
				Ports: []v1.ContainerPort{{HostPort: 80}}}}}}
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.Allocatable = Generate(1, 0, Limits{NodesMax: 1}).Objects[0].(*v1.Node).
		Status.Allocatable
	scheduler, ctx := newTestScheduler(t)
	response, err := scheduler.Answer(ctx, &Request{Objects: []Object{node, pod("a"), pod("b")},
		Pods: []string{"default/a"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Results[0].Nodes[0].Plugin; got != "NodePorts" {
		t.Errorf("refused by %q, want NodePorts: pod b still holds port 80", got)
	}
}

func TestComparePutsADifferenceIntoTheRightClass(t *testing.T) {
	refused := Verdict{Node: "n1", Plugin: "A", Reasons: []string{"x", "y"}}
	for _, c := range []struct {
		kind string
		got  Verdict
	}{
		{"", Verdict{Node: "n1", Plugin: "A", Reasons: []string{"y", "x"}}},
		{"verdict", Verdict{Node: "n1", Fits: true}},
		{"plugin", Verdict{Node: "n1", Plugin: "B", Reasons: []string{"x", "y"}}},
		{"reasons", Verdict{Node: "n1", Plugin: "A", Reasons: []string{"x"}}},
		{"shape", Verdict{Node: "n2", Plugin: "A", Reasons: []string{"x", "y"}}},
	} {
		if kind := difference(&refused, &c.got); kind != c.kind {
			t.Errorf("%+v: %q, want %q", c.got, kind, c.kind)
		}
	}
}

func regressionPaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(regressionFolder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Only cases of the version that the test is built with.
func TestRecordedAnswersAreTheSchedulers(t *testing.T) {
	scheduler, ctx := newTestScheduler(t)
	asked := 0
	for _, path := range regressionPaths(t) {
		regression, err := LoadRegression(path)
		if err != nil {
			t.Fatal(err)
		}
		if !regression.isOfThisScheduler() {
			continue
		}
		asked++
		got, err := scheduler.Answer(ctx, regression.Request)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, d := range Compare(regression.Response, got) {
			t.Errorf("%s: recorded, and now asked: %s", path, d.String())
		}
	}
	if asked < 4 {
		t.Errorf("%d cases are of %s", asked, kubernetesVersion)
	}
}

// requestText returns a case's request as recorded: the types of this version may lack some of its
// fields.
func requestText(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var regression struct{ Request json.RawMessage }
	if err := json.Unmarshal(text, &regression); err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, regression.Request); err != nil {
		t.Fatal(err)
	}
	return line.Bytes()
}

// Needs a built ebb; without one only the scheduler's side is tested. For cases of the other
// version the recorded answer is used.
func TestEbbAgreesOnEveryRecordedCase(t *testing.T) {
	program, err := findEbb("")
	if err != nil {
		t.Skip(err)
	}
	ebb, err := StartEbb(program)
	if err != nil {
		t.Fatal(err)
	}
	defer ebb.Stop()
	scheduler, ctx := newTestScheduler(t)
	for _, path := range regressionPaths(t) {
		regression, err := LoadRegression(path)
		if err != nil {
			t.Fatal(err)
		}
		want := regression.Response
		if regression.isOfThisScheduler() {
			if want, err = scheduler.Answer(ctx, regression.Request); err != nil {
				t.Fatal(err)
			}
		}
		if err := ebb.Send(requestText(t, path)); err != nil {
			t.Fatal(err)
		}
		got, failure := ebb.Receive()
		for _, d := range judge(want, got, failure) {
			t.Errorf("%s: %s", path, d.String())
		}
	}
}
