package planner

import (
	"slices"
	"testing"

	apiv1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/testsnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"
	. "sigs.k8s.io/cluster-autoscaler/pkg/utils/test"

	"ebb/go/clusterautoscaler/choice"
	"ebb/go/clusterautoscaler/feed"
)

// The kept state is that of a snapshot that is made anew, after pods came, moved, changed and went.
func TestKeptPodsAreAsInANewSnapshot(t *testing.T) {
	snapshot, _, err := testsnapshot.NewTestSnapshotAndHandle()
	check(t, err)
	fresh, _, err := testsnapshot.NewTestSnapshotAndHandle()
	check(t, err)
	kept := keepPods(snapshot, choice.On).(*keptSnapshot)
	nodes := []*apiv1.Node{BuildTestNode("a", 1000, 10), BuildTestNode("b", 1000, 10)}
	pod := func(name, node string, cpu int64) *apiv1.Pod { return BuildScheduledTestPod(name, cpu, 1, node) }
	stays, nominated := pod("stays", "a", 100), pod("nominated", "", 50)
	nominated.Status.NominatedNodeName = "b"
	affine := pod("affine", "b", 10)
	affine.Spec.Containers[0].Ports = []apiv1.ContainerPort{{HostPort: 80, Protocol: apiv1.ProtocolTCP}}
	affine.Spec.Affinity = &apiv1.Affinity{PodAntiAffinity: &apiv1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []apiv1.PodAffinityTerm{{TopologyKey: "zone"}}}}
	kept.remember([]feed.NodeView{{Node: nodes[0], Pods: []*apiv1.Pod{stays}}})
	remembered := kept.pods[stays]
	for i, pods := range [][]*apiv1.Pod{
		{stays, pod("moves", "a", 10), nominated, pod("nowhere", "gone", 1)},
		{stays, pod("moves", "b", 10), pod("changes", "a", 10)},
		{pod("changes", "a", 20), stays, affine},
	} {
		check(t, kept.SetClusterState(nodes, pods, nil, nil))
		check(t, fresh.SetClusterState(nodes, pods, nil, nil))
		for _, node := range nodes {
			got, err := kept.GetNodeInfo(node.Name)
			check(t, err)
			want, err := fresh.GetNodeInfo(node.Name)
			check(t, err)
			if difference := differenceOf(got, want); difference != "" {
				t.Errorf("state %d, node %s: %s", i, node.Name, difference)
			}
		}
		if kept.pods[stays] != remembered {
			t.Errorf("state %d: the pod that stays was computed again", i)
		}
		// What a loop does with the snapshot leaves the kept pods as they are.
		kept.Fork()
		check(t, kept.ForceRemovePod("default", "stays", "a"))
		check(t, kept.ForceAddPod(pod("stays", "", 100), "b"))
		kept.Revert()
	}
	if len(kept.pods) != 3 {
		t.Errorf("%d pods are kept", len(kept.pods))
	}
}

// In shadow mode the autoscaler's snapshot is used, and a difference is counted.
func TestKeptPodsInShadowMode(t *testing.T) {
	snapshot, _, err := testsnapshot.NewTestSnapshotAndHandle()
	check(t, err)
	kept := keepPods(snapshot, choice.Shadow).(*keptSnapshot)
	var counts []int
	kept.count = func(_ string, times int) { counts = append(counts, times) }
	nodes := []*apiv1.Node{BuildTestNode("a", 1000, 10), BuildTestNode("b", 1000, 10)}
	pod := BuildScheduledTestPod("pod", 100, 1, "a")
	check(t, kept.SetClusterState(nodes, []*apiv1.Pod{pod}, nil, nil))
	kept.pods[pod] = framework.NewPodInfo(BuildScheduledTestPod("pod", 200, 1, "a"), nil)
	check(t, kept.SetClusterState(nodes, []*apiv1.Pod{pod}, nil, nil))
	if want := []int{2, 0, 1, 1}; !slices.Equal(counts, want) {
		t.Errorf("counted %v, want %v", counts, want)
	}
	info, err := kept.GetNodeInfo("a")
	check(t, err)
	if info.Requested.MilliCPU != 100 {
		t.Errorf("%d are requested", info.Requested.MilliCPU)
	}
	if keepPods(snapshot, "") != snapshot || keepPods(snapshot, choice.Off) != snapshot {
		t.Error("the snapshot is replaced although nothing is kept")
	}
}
