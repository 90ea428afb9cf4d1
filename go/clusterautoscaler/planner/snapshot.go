package planner

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"sync"

	apiv1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot"
	csisnapshot "sigs.k8s.io/cluster-autoscaler/pkg/simulator/csi/snapshot"
	drasnapshot "sigs.k8s.io/cluster-autoscaler/pkg/simulator/dynamicresources/snapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"

	"ebb/go/clusterautoscaler/choice"
	"ebb/go/clusterautoscaler/feed"
)

// keptSnapshot is the autoscaler's snapshot, except that SetClusterState keeps what was computed about a
// pod in the loop before, or ahead of the loop: its requests and affinities. A pod counts as unchanged if
// its pointer is the same, because informers never modify an object.
//
// With devices or CSI nodes it keeps nothing, and does what the autoscaler's snapshot does.
type keptSnapshot struct {
	clustersnapshot.ClusterSnapshot
	// The autoscaler's snapshot is used, and the other way is only compared with it.
	shadow bool
	// Counts the nodes that were compared: same or different.
	count func(result string, times int)

	mutex sync.Mutex
	pods  map[*apiv1.Pod]*framework.PodInfo
}

// keepPods returns the snapshot of a choice.
func keepPods(snapshot clustersnapshot.ClusterSnapshot, chosen string) clustersnapshot.ClusterSnapshot {
	if chosen != choice.On && chosen != choice.Shadow {
		return snapshot
	}
	registerMetrics()
	return &keptSnapshot{
		ClusterSnapshot: snapshot,
		shadow:          chosen == choice.Shadow,
		count:           func(result string, times int) { keptNodesTotal.WithLabelValues(result).Add(float64(times)) },
	}
}

// remember computes ahead of the loop what SetClusterState needs of the pods. Any goroutine may call it.
func (s *keptSnapshot) remember(views []feed.NodeView) {
	computed := map[*apiv1.Pod]*framework.PodInfo{}
	for i := range views {
		for _, pod := range views[i].Pods {
			computed[pod] = framework.NewPodInfo(pod, nil)
			computed[pod].CalculateResource() // Keeps its result.
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.pods == nil {
		s.pods = computed
		return
	}
	maps.Copy(s.pods, computed)
}

func (s *keptSnapshot) SetClusterState(nodes []*apiv1.Node, scheduledPods []*apiv1.Pod, draSnapshot *drasnapshot.Snapshot, csiSnapshot *csisnapshot.Snapshot) error {
	if draSnapshot != nil || csiSnapshot != nil {
		return s.ClusterSnapshot.SetClusterState(nodes, scheduledPods, draSnapshot, csiSnapshot)
	}
	infos := s.infos(nodes, scheduledPods)
	if s.shadow {
		if err := s.ClusterSnapshot.SetClusterState(nodes, scheduledPods, nil, nil); err != nil {
			return err
		}
		s.compare(infos)
		return nil
	}
	if err := s.ClusterSnapshot.SetClusterState(nil, nil, nil, nil); err != nil {
		return err
	}
	for _, info := range infos {
		if err := s.StoreNodeInfo(info); err != nil {
			return err
		}
	}
	return nil
}

// infos returns the nodes with their pods, and keeps these pods alone for the next call. A pod whose node
// is not among the nodes is left out.
func (s *keptSnapshot) infos(nodes []*apiv1.Node, pods []*apiv1.Pod) []*framework.NodeInfo {
	infos, podsOf := make([]*framework.NodeInfo, len(nodes)), make([][]*framework.PodInfo, len(nodes))
	index := make(map[string]int, len(nodes))
	for i, node := range nodes {
		infos[i] = framework.NewNodeInfo(node, nil)
		index[node.Name] = i
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	kept := make(map[*apiv1.Pod]*framework.PodInfo, len(pods))
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if name == "" {
			name = pod.Status.NominatedNodeName
		}
		i, there := index[name]
		if !there {
			continue
		}
		info := s.pods[pod]
		if info == nil {
			info = framework.NewPodInfo(pod, nil)
		}
		kept[pod] = info
		podsOf[i] = append(podsOf[i], info)
	}
	s.pods = kept
	workqueue.ParallelizeUntil(context.Background(), runtime.GOMAXPROCS(0), len(nodes), func(i int) {
		for _, pod := range podsOf[i] {
			infos[i].AddPodInfo(pod) // Computes and keeps what a new pod lacks.
		}
	})
	return infos
}

// compare counts the nodes that are as in the autoscaler's snapshot.
func (s *keptSnapshot) compare(infos []*framework.NodeInfo) {
	same := 0
	for _, info := range infos {
		theirs, err := s.GetNodeInfo(info.Node().Name)
		if err != nil {
			klog.Errorf("ebb: node %s: is not in the autoscaler's snapshot: %v", info.Node().Name, err)
			continue
		}
		if difference := differenceOf(info, theirs); difference != "" {
			klog.Errorf("ebb: node %s: %s", info.Node().Name, difference)
			continue
		}
		same++
	}
	s.count("same", same)
	s.count("different", len(infos)-same)
}

// differenceOf returns what a filter could see; "": nothing.
func differenceOf(kept, theirs *framework.NodeInfo) string {
	for _, part := range []struct {
		what         string
		kept, theirs any
	}{
		{"pods", podsOf(kept), podsOf(theirs)},
		{"requests", kept.Requested, theirs.Requested},
		{"requests with defaults", kept.NonZeroRequested, theirs.NonZeroRequested},
		{"allocatable", kept.Allocatable, theirs.Allocatable},
		{"ports", kept.UsedPorts, theirs.UsedPorts},
		{"volume claims", kept.PVCRefCounts, theirs.PVCRefCounts},
		{"pods with affinity", len(kept.PodsWithAffinity), len(theirs.PodsWithAffinity)},
		{"pods with required anti-affinity", len(kept.PodsWithRequiredAntiAffinity), len(theirs.PodsWithRequiredAntiAffinity)},
	} {
		if !reflect.DeepEqual(part.kept, part.theirs) {
			return fmt.Sprintf("%s are %v, and %v in the autoscaler's snapshot", part.what, part.kept, part.theirs)
		}
	}
	return ""
}

func podsOf(info *framework.NodeInfo) []string {
	names := []string{}
	for _, pod := range info.GetPods() {
		names = append(names, pod.GetPod().Namespace+"/"+pod.GetPod().Name)
	}
	return names
}
