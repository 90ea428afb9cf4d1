package planner

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiv1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	testprovider "sigs.k8s.io/cluster-autoscaler/pkg/cloudprovider/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/config"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/pdb"
	builtin "sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/planner"
	processorstest "sigs.k8s.io/cluster-autoscaler/pkg/processors/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/store"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/testsnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"
	kube_util "sigs.k8s.io/cluster-autoscaler/pkg/utils/kubernetes"
	. "sigs.k8s.io/cluster-autoscaler/pkg/utils/test"

	"ebb/go/clusterautoscaler/choice"
)

// Measures UpdateClusterState: the first loop, loops in which nothing has changed, and loops with 1% of
// the pods replaced. "builtin" is the built-in planner, "in" and "out" are ebb in and out of process, and
// "ahead" means that nodes and pods are sent between the loops; then loops begin when ebb has received
// them. Nodes and pods come from informers. Metrics are medians: by the clock, of the processor time of
// the loop's own thread, of the whole process, which contains ebb's if it is inside, and of all, with the
// daemon. "between" is the processor time of all from the start of the informers to the first loop.
// Garbage is collected before each measurement and not during it, because a collection takes longer than
// what is measured: it visits the whole cluster. "MB" is how much was allocated.
//
//	-bench Loops/2000/in$ -benchtime 5x
func BenchmarkLoops(b *testing.B) {
	for _, nodes := range []int{400, 1000, 2000} {
		for _, name := range []string{"builtin", "in", "in-ahead", "out", "out-ahead"} {
			b.Run(fmt.Sprintf("%d/%s", nodes, name), func(b *testing.B) {
				took := map[string][]float64{}
				for b.Loop() {
					measureLoops(b, nodes, name, took)
				}
				for what, all := range took {
					slices.Sort(all)
					if !strings.HasSuffix(what, "-MB") {
						what += "-ms"
					}
					b.ReportMetric(all[len(all)/2], what)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func measureLoops(b *testing.B, nodes int, name string, took map[string][]float64) {
	b.Helper()
	const podsPerNode, loops = 40, 3
	opts := config.AutoscalingOptions{
		NodeGroupDefaults:          config.NodeGroupAutoscalingOptions{ScaleDownUnneededTime: time.Hour, ScaleDownUtilizationThreshold: 0.5},
		ScaleDownSimulationTimeout: time.Hour, ScaleDownUnreadyEnabled: true, MaxScaleDownParallelism: nodes,
	}
	provider := testprovider.NewTestCloudProviderBuilder().Build()
	provider.AddNodeGroup("group", 0, nodes, nodes)
	next := 0
	newPod := func(node string) *apiv1.Pod {
		next++
		return SetRSPodSpec(BuildScheduledTestPod(fmt.Sprintf("pod-%d", next), 100, 100, node), "rs")
	}
	client := fake.NewSimpleClientset()
	for i := range nodes {
		node := BuildTestNode(fmt.Sprintf("node-%d", i), 10_000, 10_000)
		SetNodeReadyState(node, true, now)
		provider.AddNode("group", node)
		check(b, client.Tracker().Add(node))
		for range podsPerNode {
			check(b, client.Tracker().Add(newPod(node.Name)))
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	replicaSets, err := kube_util.NewTestReplicaSetLister([]*appsv1.ReplicaSet{replicaSet(2, 1)})
	check(b, err)
	snapshot, handle, err := testsnapshot.NewCustomTestSnapshotAndHandle(store.NewDeltaSnapshotStore())
	check(b, err)
	given := &ca_context.AutoscalingContext{
		AutoscalingOptions: opts,
		AutoscalingKubeClients: ca_context.AutoscalingKubeClients{ListerRegistry: kube_util.NewListerRegistry(
			nil, nil, nil, nil, nil, nil, nil, replicaSets, nil)},
		CloudProvider: provider, ClusterSnapshot: snapshot, FrameworkHandle: handle,
		RemainingPdbTracker: pdb.NewBasicRemainingPdbTracker(),
	}
	processors, _ := processorstest.NewTestProcessors(opts)
	quotas := resourcequotas.NewTrackerFactory(resourcequotas.TrackerOptions{
		CustomResourcesProcessor: processors.CustomResourcesProcessor, QuotaProvider: resourcequotas.NewCloudMinProvider(provider)})
	var p scaledown.Planner = builtin.New(given, processors, options.NodeDeleteOptions{}, nil, quotas)
	var mine *Planner
	quiet := measureWithoutGC()
	cpu := processorTime(syscall.RUSAGE_SELF) + daemonTime(b)
	if name != "builtin" {
		where, ahead := strings.CutSuffix(name, "-ahead")
		own := Options{SendAhead: ahead, Informers: factory, CheckOneIn: *checkOneIn}
		if where == "out" {
			own.Address = *Address
		}
		mine = New(given, processors, options.NodeDeleteOptions{}, nil, quotas, own)
		if mine.engineErr != nil || mine.engine == nil || where == "out" && *Address == "" {
			b.Skip(mine.engineErr)
		}
		p = mine
		defer mine.Close()
	}
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	factory.Core().V1().Nodes().Informer()
	pods := factory.Core().V1().Pods().Lister()
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	mine.waitAhead()
	took["between"] = append(took["between"], ms(processorTime(syscall.RUSAGE_SELF)+daemonTime(b)-cpu))
	took["between-MB"] = append(took["between-MB"], quiet())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	loop := func(what string, at int) {
		all, err := factory.Core().V1().Nodes().Lister().List(labels.Everything())
		check(b, err)
		placed, err := pods.List(labels.Everything())
		check(b, err)
		check(b, snapshot.SetClusterState(all, placed, nil, nil))
		quiet := measureWithoutGC()
		daemon, cpu := daemonTime(b), processorTime(syscall.RUSAGE_SELF)
		start, thread := time.Now(), processorTime(rusageThread)
		if err := p.UpdateClusterState(all, all, status{}, now.Add(time.Duration(at)*time.Second)); err != nil {
			b.Fatal(err)
		}
		took[what] = append(took[what], ms(time.Since(start)))
		took[what+"-thread"] = append(took[what+"-thread"], ms(processorTime(rusageThread)-thread))
		cpu = processorTime(syscall.RUSAGE_SELF) - cpu
		took[what+"-cpu"] = append(took[what+"-cpu"], ms(cpu))
		took[what+"-all"] = append(took[what+"-all"], ms(cpu+daemonTime(b)-daemon))
		took[what+"-MB"] = append(took[what+"-MB"], quiet())
		if mine != nil && !mine.answered || len(p.UnneededNodes()) < nodes/2 {
			b.Fatalf("%d nodes can go, fallbacks %v", len(p.UnneededNodes()), mine.fallbacks.Counts())
		}
	}
	loop("first", 0)
	for i := range loops {
		if name == "builtin" && i > 0 {
			break // It takes seconds.
		}
		loop("same", 10*(2*i+1))
		some, err := pods.List(labels.Everything())
		check(b, err)
		for j := 0; j < len(some); j += 100 {
			added := newPod(some[j].Spec.NodeName)
			check(b, client.Tracker().Delete(apiv1.SchemeGroupVersion.WithResource("pods"), "default", some[j].Name))
			check(b, client.Tracker().Add(added))
			// The fake client holds few events that were not read.
			for _, err := pods.Pods("default").Get(added.Name); err != nil; _, err = pods.Pods("default").Get(added.Name) {
				time.Sleep(100 * time.Microsecond)
			}
		}
		mine.waitAhead()
		loop("churn", 10*(2*i+2))
	}
}

var daemonPid = flag.Int("daemon-pid", 0, "benchmarks: process id of the daemon, whose processor time is added; 0: none")

// daemonTime returns the processor time of the daemon's threads.
func daemonTime(b *testing.B) (total time.Duration) {
	b.Helper()
	if *daemonPid == 0 {
		return 0
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", *daemonPid))
	check(b, err)
	for _, thread := range threads {
		var ran int64
		if text, err := os.ReadFile(thread); err == nil { // It may have ended.
			_, err := fmt.Sscan(string(text), &ran)
			check(b, err)
		}
		total += time.Duration(ran)
	}
	return total
}

var checkOneIn = flag.Int("check-one-in", -1, "benchmarks: one in so many removals is checked; negative: none, 0: the default")

// waitAhead waits until ebb has all that it receives between the loops. p may be nil.
func (p *Planner) waitAhead() {
	for sent := p == nil || p.ahead == nil; !sent; time.Sleep(time.Millisecond) {
		p.hold(context.Background())
		p.ahead.mutex.Lock()
		sent = p.synced && len(p.ahead.dirty) == 0
		p.ahead.mutex.Unlock()
		p.release()
	}
}

// measureWithoutGC collects garbage now, and not again until the result is called, which returns the
// megabytes that were allocated since.
func measureWithoutGC() (allocated func() float64) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() float64 {
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		debug.SetGCPercent(percent)
		return float64(after.TotalAlloc-before.TotalAlloc) / 1e6
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// RUSAGE_THREAD, which package syscall lacks.
const rusageThread = 1

// processorTime returns the processor time of all threads of the process, or of this thread.
func processorTime(who int) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(who, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// Measures SetClusterState of 2,000 nodes and 80,000 pods, of which none has changed since the call before.
func BenchmarkSetClusterState(b *testing.B) {
	for _, keep := range []string{choice.Off, choice.On} {
		b.Run("keep-pods="+keep, func(b *testing.B) {
			snapshot, _, err := testsnapshot.NewCustomTestSnapshotAndHandle(store.NewDeltaSnapshotStore())
			check(b, err)
			kept := keepPods(snapshot, keep)
			var nodes []*apiv1.Node
			var pods []*apiv1.Pod
			for i := range 2000 {
				nodes = append(nodes, BuildTestNode(fmt.Sprintf("node-%d", i), 10_000, 10_000))
				for j := range 40 {
					pods = append(pods, BuildScheduledTestPod(fmt.Sprintf("pod-%d-%d", i, j), 100, 100, nodes[i].Name))
				}
			}
			check(b, kept.SetClusterState(nodes, pods, nil, nil))
			var took []float64
			for b.Loop() {
				quiet, cpu := measureWithoutGC(), processorTime(syscall.RUSAGE_SELF)
				check(b, kept.SetClusterState(nodes, pods, nil, nil))
				took = append(took, ms(processorTime(syscall.RUSAGE_SELF)-cpu))
				quiet()
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "cpu-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
