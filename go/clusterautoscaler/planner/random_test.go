package planner_test

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	testprovider "sigs.k8s.io/cluster-autoscaler/pkg/cloudprovider/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/config"
	ca_context "sigs.k8s.io/cluster-autoscaler/pkg/context"
	"sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/pdb"
	builtin "sigs.k8s.io/cluster-autoscaler/pkg/core/scaledown/planner"
	processorstest "sigs.k8s.io/cluster-autoscaler/pkg/processors/test"
	"sigs.k8s.io/cluster-autoscaler/pkg/resourcequotas"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/store"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/clustersnapshot/testsnapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/drainability/rules"
	drasnapshot "sigs.k8s.io/cluster-autoscaler/pkg/simulator/dynamicresources/snapshot"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/framework"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"
	kube_util "sigs.k8s.io/cluster-autoscaler/pkg/utils/kubernetes"

	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/planner"
	"ebb/go/clusterautoscaler/shadow"
)

var (
	clusters = flag.Int("clusters", 50, "random clusters, each of several loops")
	seed     = flag.Int64("seed", 1, "of the first cluster")
)

// The built-in planner and ebb evaluate random clusters that change from loop to loop.
func TestShadowOfRandomClusters(t *testing.T) {
	total := tally{causes: map[string]int{}, reasons: map[string]int{}}
	for i := range *clusters {
		differ := runCluster(t, *seed+int64(i), &total)
		if differ {
			total.differing++
		}
	}
	t.Logf("%d clusters, %d loops, %d nodes judged, %d removable; reasons %v; fallbacks %v; %d clusters differ",
		*clusters, total.loops, total.nodes, total.removable, total.reasons, total.causes, total.differing)
	if total.removable == 0 || len(total.reasons) < 5 && *clusters >= 50 {
		t.Error("the clusters show too little")
	}
}

// The autoscaler's own simulation refuses no removal that ebb finds.
func TestChecksOfRandomClusters(t *testing.T) {
	total := tally{causes: map[string]int{}, reasons: map[string]int{}}
	counts := map[string]int{}
	for i := range *clusters {
		c := newCluster(*seed + int64(i))
		c.inCharge = func(result string, times int) { counts[result] += times }
		given, _, acting := c.start(t, &total)
		for c.loop = 0; c.loop < 3; c.loop++ {
			if c.loop > 0 {
				c.change()
			}
			c.show(t, given)
			if err := acting.UpdateClusterState(c.some(90), c.some(95), c, c.now); err != nil {
				t.Fatal(err)
			}
		}
		if counts["mismatch"] > 0 {
			t.Fatalf("seed %d: checks %v", *seed+int64(i), counts)
		}
	}
	if t.Logf("checks %v, fallbacks %v", counts, total.causes); counts["same"] == 0 {
		t.Error("no removal was checked")
	}
}

type tally struct {
	loops, nodes, removable, differing int
	causes, reasons                    map[string]int
}

func runCluster(t *testing.T, seed int64, total *tally) (differ bool) {
	c := newCluster(seed)
	given, beside, _ := c.start(t, total)
	beside.Report = func(answered bool, differences []shadow.Difference) {
		if !answered {
			t.Errorf("seed %d, loop %d: ebb gave no answer", seed, c.loop)
		}
		for _, difference := range differences {
			t.Errorf("seed %d, loop %d: %v", seed, c.loop, difference)
			differ = true
		}
	}
	for c.loop = 0; c.loop < 3+c.random.Intn(4) && !differ; c.loop++ {
		if c.loop > 0 {
			c.change()
		}
		c.show(t, given)
		candidates, destinations := c.some(95), c.some(90)
		if err := beside.UpdateClusterState(destinations, candidates, c, c.now); err != nil {
			t.Fatal(err)
		}
		total.loops++
		total.nodes += len(candidates)
		total.removable += len(beside.UnneededNodes())
		for _, node := range beside.UnremovableNodes() {
			total.reasons[planner.ReasonName(node.Reason)]++
		}
	}
	return differ
}

// cluster is a cluster with its changes. The lists have the order that the snapshot should have.
type cluster struct {
	random   *rand.Rand
	loop     int
	now      time.Time
	next     int
	options  config.AutoscalingOptions
	provider *testprovider.TestCloudProvider
	groups   []string

	nodes       []*v1.Node
	pods        map[string][]*v1.Pod
	budgets     []*policyv1.PodDisruptionBudget
	deleting    []string
	withDevices bool
	devices     map[string]int                        // By node: their number.
	claims      map[string]*resourceapi.ResourceClaim // By pod.
	sets        []*appsv1.ReplicaSet
	// If set, ebb acts and counts all its removals here.
	inCharge func(result string, times int)
}

func newCluster(seed int64) *cluster {
	c := &cluster{random: rand.New(rand.NewSource(seed)), now: time.Unix(1_780_000_000, 0), pods: map[string][]*v1.Pod{},
		devices: map[string]int{}, claims: map[string]*resourceapi.ResourceClaim{}}
	c.options = config.AutoscalingOptions{
		NodeGroupDefaults: config.NodeGroupAutoscalingOptions{
			ScaleDownUnneededTime:            c.pick(0, 10, 60, 600),
			ScaleDownUnreadyTime:             20 * time.Minute,
			ScaleDownUtilizationThreshold:    []float64{0.3, 0.5, 0.7, 1}[c.random.Intn(4)],
			ScaleDownGpuUtilizationThreshold: 0.5,
			IgnoreDaemonSetsUtilization:      c.chance(30),
		},
		IgnoreMirrorPodsUtilization:   c.chance(30),
		ScaleDownUnreadyEnabled:       c.chance(80),
		UnremovableNodeRecheckTimeout: c.pick(0, 20, 300),
		ScaleDownSimulationTimeout:    time.Minute,
		MaxScaleDownParallelism:       []int{1, 3, 10, 1000}[c.random.Intn(4)],
		// As in every autoscaler of 1.36 and later.
		DynamicResourceAllocationEnabled: true,
	}
	c.withDevices = c.chance(40)
	c.provider = testprovider.NewTestCloudProviderBuilder().Build()
	for i := range 1 + c.random.Intn(4) {
		own := c.options.NodeGroupDefaults
		own.ZeroOrMaxNodeScaling = c.chance(15)
		if c.chance(40) {
			own.ScaleDownUtilizationThreshold = c.random.Float64()
		}
		if c.chance(30) {
			own.IgnoreDaemonSetsUtilization = !own.IgnoreDaemonSetsUtilization
		}
		c.groups = append(c.groups, fmt.Sprintf("group-%d", i))
		c.provider.AddNodeGroupWithCustomOptions(c.groups[i], 0, 1000, 10, &own)
	}
	for i := range 6 {
		c.sets = append(c.sets, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("set-%d", i), UID: types.UID(fmt.Sprintf("set-%d", i))},
			Spec:       appsv1.ReplicaSetSpec{Replicas: ptr(int32(c.random.Intn(4)))},
		})
	}
	for range 3 + c.random.Intn(18) {
		c.addNode()
	}
	for range c.random.Intn(8 * len(c.nodes)) {
		c.addPod()
	}
	for range c.random.Intn(4) {
		c.addBudget()
	}
	return c
}

// start returns ebb beside the built-in planner, or ebb alone if it is in charge.
func (c *cluster) start(t *testing.T, total *tally) (*ca_context.AutoscalingContext, *planner.Shadow, *planner.Planner) {
	snapshot, handle, err := testsnapshot.NewCustomTestSnapshotAndHandle(store.NewDeltaSnapshotStore())
	if err != nil {
		t.Fatal(err)
	}
	replicaSets, err := kube_util.NewTestReplicaSetLister(c.sets)
	if err != nil {
		t.Fatal(err)
	}
	daemonSets, err := kube_util.NewTestDaemonSetLister([]*appsv1.DaemonSet{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}}})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := kube_util.NewTestJobLister([]*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}}})
	if err != nil {
		t.Fatal(err)
	}
	statefulSets, err := kube_util.NewTestStatefulSetLister([]*appsv1.StatefulSet{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "store"}}})
	if err != nil {
		t.Fatal(err)
	}
	controllers, err := kube_util.NewTestReplicationControllerLister(nil)
	if err != nil {
		t.Fatal(err)
	}
	given := &ca_context.AutoscalingContext{
		AutoscalingOptions: c.options,
		AutoscalingKubeClients: ca_context.AutoscalingKubeClients{ListerRegistry: kube_util.NewListerRegistry(
			nil, nil, nil, nil, daemonSets, controllers, jobs, replicaSets, statefulSets)},
		CloudProvider:       c.provider,
		ClusterSnapshot:     snapshot,
		FrameworkHandle:     handle,
		RemainingPdbTracker: pdb.NewBasicRemainingPdbTracker(),
	}
	processors, _ := processorstest.NewTestProcessors(c.options)
	quotas := resourcequotas.NewTrackerFactory(resourcequotas.TrackerOptions{
		CustomResourcesProcessor: processors.CustomResourcesProcessor,
		QuotaProvider:            resourcequotas.NewCloudMinProvider(c.provider),
	})
	deletion := options.NodeDeleteOptions{
		SkipNodesWithSystemPods:           c.chance(70),
		SkipNodesWithLocalStorage:         c.chance(70),
		SkipNodesWithCustomControllerPods: c.chance(60),
		MinReplicaCount:                   c.random.Intn(3),
		BspDisruptionTimeout:              time.Hour,
	}
	drain := rules.Default(deletion)
	acting := builtin.New(given, processors, deletion, drain, quotas)
	log := &fallback.Log{
		Count: func(cause string, times int) { total.causes[cause] += times },
		Say:   func(cause string, detail error) { t.Logf("%s: %v", cause, detail) },
	}
	opts := planner.Options{Fallbacks: log, Address: *planner.Address, CheckOneIn: 1, Checks: c.inCharge}
	if c.inCharge != nil {
		return given, nil, planner.New(given, processors, deletion, drain, quotas, opts)
	}
	return given, planner.NewShadow(acting, given, processors, deletion, drain, quotas, opts), nil
}

// slicesOf returns what the driver offers on the node. One slice, because a snapshot lists the slices
// of a node in a random order, and devices are taken in this order.
func (c *cluster) slicesOf(node *v1.Node) []*resourceapi.ResourceSlice {
	devices := c.devices[node.Name]
	if devices == 0 {
		return nil
	}
	slice := &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "slice-" + node.Name, UID: types.UID("slice-" + node.Name)},
		Spec: resourceapi.ResourceSliceSpec{NodeName: &node.Name, Driver: "gpu.example.com",
			Pool: resourceapi.ResourcePool{Name: node.Name, ResourceSliceCount: 1}},
	}
	for i := range devices {
		size := map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"large": {BoolValue: ptr(i == 0)}}
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i), Attributes: size})
	}
	return []*resourceapi.ResourceSlice{slice}
}

// claim gives the pod a device of its node, if one is free.
func (c *cluster) claim(pod *v1.Pod, node string) {
	used := map[string]bool{}
	for _, other := range c.pods[node] {
		if claim := c.claims[other.Name]; claim != nil {
			used[claim.Status.Allocation.Devices.Results[0].Device] = true
		}
	}
	for i := range c.devices[node] {
		device := fmt.Sprintf("gpu-%d", i)
		if used[device] {
			continue
		}
		request := &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}
		if i == 0 && c.chance(50) {
			request.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
				Expression: `device.attributes["gpu.example.com"].large`}}}
		}
		c.claims[pod.Name] = &resourceapi.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "claim-" + pod.Name, UID: types.UID("claim-" + pod.Name), ResourceVersion: fmt.Sprint(c.next),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr(true)}}},
			Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{Name: "gpu", Exactly: request}}}},
			Status: resourceapi.ResourceClaimStatus{
				Allocation: &resourceapi.AllocationResult{
					NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
						{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}},
					Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
						{Request: "gpu", Driver: "gpu.example.com", Pool: node, Device: device}}}},
				ReservedFor: []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}},
			},
		}
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr("claim-" + pod.Name)}}
		return
	}
}

// show builds the snapshot as the autoscaler does at the start of a loop, with the nodes in their
// order.
func (c *cluster) show(t *testing.T, given *ca_context.AutoscalingContext) {
	classes := map[string]*resourceapi.DeviceClass{"gpu": {ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "gpu"},
		Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
			Expression: `device.driver == "gpu.example.com"`}}}}}}
	if err := given.ClusterSnapshot.SetClusterState(nil, nil, drasnapshot.NewSnapshot(nil, nil, nil, classes), nil); err != nil {
		t.Fatal(err)
	}
	// A store whose nodes were listed once appends new nodes.
	if _, err := given.ClusterSnapshot.ListNodeInfos(); err != nil {
		t.Fatal(err)
	}
	for _, node := range c.nodes {
		info := framework.NewNodeInfo(node, c.slicesOf(node))
		for _, pod := range c.pods[node.Name] {
			var claims []*resourceapi.ResourceClaim
			if claim := c.claims[pod.Name]; claim != nil {
				claims = append(claims, claim.DeepCopy())
			}
			info.AddPod(framework.NewPodInfo(pod, claims))
		}
		if err := given.ClusterSnapshot.AddNodeInfo(info); err != nil {
			t.Fatal(err)
		}
	}
	if err := given.RemainingPdbTracker.SetPdbs(c.budgets); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) change() {
	c.now = c.now.Add(c.pick(1, 10, 10, 10, 30, 200, 400))
	for range c.random.Intn(6) {
		switch c.random.Intn(9) {
		case 0:
			c.addNode()
		case 1:
			c.removeNode()
		case 2:
			c.changeNode()
		case 3, 4:
			c.addPod()
		case 5, 6:
			c.removePod()
		case 7:
			c.changePod()
		case 8:
			if len(c.budgets) > 0 {
				i := c.random.Intn(len(c.budgets))
				c.budgets[i] = c.budgets[i].DeepCopy()
				c.budgets[i].Status.DisruptionsAllowed = int32(c.random.Intn(4))
			} else {
				c.addBudget()
			}
		}
	}
	c.reorder()
	c.deleting = nil
	if c.chance(20) && len(c.nodes) > 0 {
		c.deleting = []string{c.nodes[c.random.Intn(len(c.nodes))].Name}
	}
}

func (c *cluster) addNode() {
	c.next++
	name := fmt.Sprintf("node-%d", c.next)
	amounts := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(int64(1+c.random.Intn(4))*1000, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(int64(1+c.random.Intn(4))<<30, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(int64(4+c.random.Intn(20)), resource.DecimalSI),
	}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(c.next),
			Labels: map[string]string{v1.LabelHostname: name, "zone": c.word("a", "b", "c"), "disk": c.word("fast", "slow")}},
		Spec: v1.NodeSpec{ProviderID: name},
		Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	if c.chance(10) {
		node.Status.Conditions[0].Status = v1.ConditionFalse
	}
	if c.chance(15) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "team", Value: "red", Effect: v1.TaintEffectNoSchedule})
	}
	if c.chance(6) {
		when := fmt.Sprint(c.now.Add(-c.pick(10, 299, 300, 301, 1000)).Unix())
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Value: when, Effect: v1.TaintEffectNoSchedule})
	}
	if c.chance(6) {
		node.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
	}
	if c.chance(6) {
		node.Spec.Unschedulable = true
	}
	if c.chance(4) {
		delete(node.Status.Allocatable, v1.ResourceMemory)
	}
	if c.withDevices && c.chance(60) {
		c.devices[name] = 1 + c.random.Intn(4)
	}
	if c.chance(95) {
		c.provider.AddNode(c.groups[c.random.Intn(len(c.groups))], node)
	}
	c.nodes = append(c.nodes, node)
}

func (c *cluster) removeNode() {
	if len(c.nodes) < 2 {
		return
	}
	i := c.random.Intn(len(c.nodes))
	delete(c.pods, c.nodes[i].Name)
	c.nodes = slices.Delete(c.nodes, i, i+1)
}

func (c *cluster) changeNode() {
	i := c.random.Intn(len(c.nodes))
	node := c.nodes[i].DeepCopy()
	if c.chance(70) {
		c.next++
		node.ResourceVersion = fmt.Sprint(c.next)
	}
	switch c.random.Intn(4) {
	case 0:
		node.Spec.Unschedulable = !node.Spec.Unschedulable
	case 1:
		node.Status.Conditions[0].Status = v1.ConditionFalse
	case 2:
		node.Labels["disk"] = c.word("fast", "slow")
	case 3:
		node.Spec.Taints = nil
	}
	c.nodes[i] = node
}

func (c *cluster) addPod() {
	c.next++
	name := fmt.Sprintf("pod-%d", c.next)
	node := c.nodes[c.random.Intn(len(c.nodes))]
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(c.next),
			Labels: map[string]string{"app": c.word("web", "db", "queue")}, Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(c.now.Add(-c.pick(60, 3599, 3601, 9000)))},
		Spec: v1.PodSpec{NodeName: node.Name, Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(int64(c.random.Intn(6))*100, resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(int64(c.random.Intn(6))<<27, resource.BinarySI),
			}}}}},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
	c.controller(pod)
	c.constraints(pod)
	c.marks(pod)
	if c.chance(60) {
		c.claim(pod, node.Name)
	}
	if c.chance(10) {
		// The autoscaler places pending pods in the snapshot; their spec has no node.
		pod.Spec.NodeName = ""
	}
	c.pods[node.Name] = append(c.pods[node.Name], pod)
}

func (c *cluster) controller(pod *v1.Pod) {
	kind, name, version := "ReplicaSet", fmt.Sprintf("set-%d", c.random.Intn(7)), "apps/v1"
	switch c.random.Intn(20) {
	case 0:
		return
	case 1, 2:
		kind, name = "DaemonSet", c.word("agent", "agent", "lost")
	case 3:
		kind, name, version = "Job", c.word("job", "lost"), "batch/v1"
	case 4:
		kind, name = "StatefulSet", c.word("store", "lost")
	case 5:
		kind, name, version = "Foo", "foo", "example.com/v1"
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: types.UID(name), Controller: ptr(true)}}
}

func (c *cluster) constraints(pod *v1.Pod) {
	same := &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod.Labels["app"]}}
	switch c.random.Intn(16) {
	case 0:
		pod.Spec.NodeSelector = map[string]string{"disk": c.word("fast", "slow")}
	case 1:
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{LabelSelector: same, TopologyKey: c.word(v1.LabelHostname, "zone")}}}}
	case 2:
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{LabelSelector: same, TopologyKey: "zone"}}}}
	case 3, 4:
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1 + int32(c.random.Intn(2)),
			TopologyKey: c.word(v1.LabelHostname, "zone"), WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: same}}
	case 5:
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80 + int32(c.random.Intn(2)), ContainerPort: 80}}
	}
	if c.chance(20) {
		pod.Spec.Tolerations = []v1.Toleration{{Key: "team", Operator: v1.TolerationOpExists}}
	}
	if c.chance(15) {
		pod.Spec.Priority = ptr(int32(c.random.Intn(3)))
	}
}

func (c *cluster) marks(pod *v1.Pod) {
	switch c.random.Intn(40) {
	case 0, 1, 2:
		pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true"
	case 3:
		pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false"
	case 4:
		pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "on-completion"
	case 5:
		pod.Annotations["kubernetes.io/config.mirror"] = "x"
	case 6:
		pod.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	case 7:
		pod.Namespace = "kube-system"
	case 8:
		pod.DeletionTimestamp = ptr(metav1.NewTime(c.now.Add(-c.pick(0, 50, 60, 61, 500))))
	case 9:
		pod.Status.Phase = v1.PodFailed
	}
}

// removePod removes a pod; the last pod of its node takes its place.
func (c *cluster) removePod() {
	name := c.nodes[c.random.Intn(len(c.nodes))].Name
	pods := c.pods[name]
	if len(pods) == 0 {
		return
	}
	pods[c.random.Intn(len(pods))] = pods[len(pods)-1]
	c.pods[name] = pods[:len(pods)-1]
}

// A snapshot may list nodes and pods in another order in each loop.
func (c *cluster) reorder() {
	if c.chance(50) {
		c.random.Shuffle(len(c.nodes), func(i, j int) { c.nodes[i], c.nodes[j] = c.nodes[j], c.nodes[i] })
	}
	for _, node := range c.nodes {
		if pods := c.pods[node.Name]; c.chance(20) {
			c.random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		}
	}
}

// changePod changes a pod and moves it to the end of its node's list, as if it was added again.
func (c *cluster) changePod() {
	name := c.nodes[c.random.Intn(len(c.nodes))].Name
	pods := c.pods[name]
	if len(pods) == 0 {
		return
	}
	i := c.random.Intn(len(pods))
	pod := pods[i].DeepCopy()
	c.next++
	pod.ResourceVersion = fmt.Sprint(c.next)
	switch {
	case c.chance(50):
		pod.DeletionTimestamp = ptr(metav1.NewTime(c.now))
	case pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "true":
		pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true"
	default:
		return
	}
	pods[i] = pods[len(pods)-1]
	pods[len(pods)-1] = pod
}

func (c *cluster) addBudget() {
	c.next++
	name := fmt.Sprintf("budget-%d", c.next)
	c.budgets = append(c.budgets, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr(intstr.FromInt32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": c.word("web", "db", "queue")}}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(c.random.Intn(6))},
	})
}

// some returns each node with a probability in percent, in random order.
func (c *cluster) some(percent int) []*v1.Node {
	var some []*v1.Node
	for _, i := range c.random.Perm(len(c.nodes)) {
		if c.chance(percent) {
			some = append(some, c.nodes[i])
		}
	}
	return some
}

func (c *cluster) chance(percent int) bool { return c.random.Intn(100) < percent }

func (c *cluster) word(words ...string) string { return words[c.random.Intn(len(words))] }

func (c *cluster) pick(seconds ...int) time.Duration {
	return time.Duration(seconds[c.random.Intn(len(seconds))]) * time.Second
}

// The cluster is its own actuation status.
func (c *cluster) DeletionsInProgress() (empty, drained []string) { return c.deleting, nil }
func (c *cluster) DeletionsCount(string) int                      { return 0 }
func (c *cluster) RecentEvictions() []*v1.Pod                     { return nil }

func ptr[T any](value T) *T { return &value }
