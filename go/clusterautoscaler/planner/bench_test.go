package planner

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiv1 "k8s.io/api/core/v1"
	testprovider "sigs.k8s.io/cluster-autoscaler/pkg/cloudprovider/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/config"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/pdb"
	processorstest "sigs.k8s.io/cluster-autoscaler/pkg/processors/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/store"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/testsnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"
	kube_util "sigs.k8s.io/cluster-autoscaler/pkg/utils/kubernetes"
	. "sigs.k8s.io/cluster-autoscaler/pkg/utils/test"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/engine"
	"ebb/go/clusterautoscaler/remote"
)

// Measures UpdateClusterState over 2,000 nodes with 80,000 pods: the first loop, loops in which
// nothing has changed, and loops with 1% of the pods replaced. Metrics: medians by the clock, and of
// this process's processor time, which contains ebb's if it is inside.
func BenchmarkLoops2000(b *testing.B) {
	engines := map[string]func() (clusterautoscaler.Engine, error){
		"in":  engine.New,
		"out": func() (clusterautoscaler.Engine, error) { return remote.New(remote.Options{Address: *Address}) },
	}
	took := map[string][]float64{}
	for b.Loop() {
		for name, newEngine := range engines {
			ebb, err := newEngine()
			if err != nil {
				b.Logf("%s: %v", name, err)
				continue
			}
			measureLoops(b, name, ebb, took)
			check(b, ebb.Close())
		}
	}
	for what, all := range took {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], what+"-ms")
	}
	b.ReportMetric(0, "ns/op")
}

func measureLoops(b *testing.B, name string, ebb clusterautoscaler.Engine, took map[string][]float64) {
	b.Helper()
	const nodes, podsPerNode, loops = 2000, 40, 5
	opts := config.AutoscalingOptions{
		NodeGroupDefaults:          config.NodeGroupAutoscalingOptions{ScaleDownUnneededTime: time.Hour, ScaleDownUtilizationThreshold: 0.5},
		ScaleDownSimulationTimeout: time.Minute, ScaleDownUnreadyEnabled: true, MaxScaleDownParallelism: nodes,
	}
	provider := testprovider.NewTestCloudProviderBuilder().Build()
	provider.AddNodeGroup("group", 0, nodes, nodes)
	var all []*apiv1.Node
	var pods []*apiv1.Pod
	next := 0
	newPod := func(node string) *apiv1.Pod {
		next++
		return SetRSPodSpec(BuildScheduledTestPod(fmt.Sprintf("pod-%d", next), 100, 100, node), "rs")
	}
	for i := range nodes {
		node := BuildTestNode(fmt.Sprintf("node-%d", i), 10_000, 10_000)
		SetNodeReadyState(node, true, now)
		provider.AddNode("group", node)
		all = append(all, node)
		for range podsPerNode {
			pods = append(pods, newPod(node.Name))
		}
	}
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
	p := New(given, processors, options.NodeDeleteOptions{}, nil, quotas, Options{Engine: ebb})
	loop := func(what string, at int) {
		check(b, snapshot.SetClusterState(all, pods, nil, nil))
		runtime.GC() // Otherwise what the snapshot left is collected while the planner waits for ebb.
		start, cpu := time.Now(), processorTime()
		if err := p.UpdateClusterState(all, all, status{}, now.Add(time.Duration(at)*time.Second)); err != nil {
			b.Fatal(err)
		}
		took[what+"-"+name] = append(took[what+"-"+name], float64(time.Since(start).Microseconds())/1000)
		took[what+"-"+name+"-cpu"] = append(took[what+"-"+name+"-cpu"], float64((processorTime()-cpu).Microseconds())/1000)
		if !p.answered || len(p.UnneededNodes()) < 1000 {
			b.Fatalf("ebb answered: %v, %d nodes can go", p.answered, len(p.UnneededNodes()))
		}
	}
	loop("first", 0)
	for i := range loops {
		loop("same", 10*(2*i+1))
		for j := i; j < len(pods); j += 100 {
			pods[j] = newPod(pods[j].Spec.NodeName)
		}
		loop("churn", 10*(2*i+2))
	}
}

// processorTime returns the processor time of all threads of the process.
func processorTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
