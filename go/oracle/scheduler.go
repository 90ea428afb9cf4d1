package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configlatest "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Scheduler is kube-scheduler's own framework with its default profile, or with those of the
// cluster's KubeSchedulerConfiguration, over a cluster that can be
// replaced. It is built and called as in Cluster Autoscaler: PreFilter once for each pod, then
// Filter for every node, and for scores PreScore and Score over the nodes that fit.
//
// Cost: a new one takes about 10 ms, a verdict some microseconds.
// Threads: one goroutine at a time; several Schedulers may run side by side.
type Scheduler struct {
	defaults  framework.Framework
	profiles  map[string]framework.Framework // By schedulerName; of the loaded cluster.
	listed    map[string]bool                // Profiles that list default spread constraints.
	informers *staticInformers
	snapshot  *snapshot
	devices   *devices
	plugins   []string // Names of the filters, in the order in which they run.
}

var initMetrics sync.Once

// NewScheduler builds the framework.
func NewScheduler(ctx context.Context) (*Scheduler, error) {
	initMetrics.Do(metrics.InitMetrics)
	config, err := configlatest.Default()
	if err != nil {
		return nil, fmt.Errorf("default scheduler configuration: %w", err)
	}
	s := &Scheduler{informers: newStaticInformers(), snapshot: &snapshot{}, devices: newDevices()}
	if s.defaults, err = s.newFramework(ctx, &config.Profiles[0]); err != nil {
		return nil, err
	}
	for _, plugin := range s.defaults.ListPlugins().Filter.Enabled {
		s.plugins = append(s.plugins, plugin.Name)
	}
	return s, nil
}

func (s *Scheduler) newFramework(ctx context.Context,
	profile *schedulerconfig.KubeSchedulerProfile) (framework.Framework, error) {
	csiNodes := s.informers.factory.Storage().V1().CSINodes().Lister()
	built, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithInformerFactory(s.informers.factory),
		frameworkruntime.WithSnapshotSharedLister(s.snapshot),
		frameworkruntime.WithSharedDRAManager(s.devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(csiNodes)),
		// With a dozen nodes, goroutines cost more than they save.
		frameworkruntime.WithParallelism(1))
	if err != nil {
		return nil, fmt.Errorf("scheduler framework: %w", err)
	}
	return built, nil
}

// configure builds the profiles of a configuration.
func (s *Scheduler) configure(ctx context.Context, object *unstructured.Unstructured) error {
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return err
	}
	config, is := decoded.(*schedulerconfig.KubeSchedulerConfiguration)
	if !is {
		return fmt.Errorf("%T is not a scheduler configuration", decoded)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return err
	}
	for i := range config.Profiles {
		profile := &config.Profiles[i]
		name := profile.SchedulerName
		if s.profiles[name], err = s.newFramework(ctx, profile); err != nil {
			return err
		}
		for _, args := range profile.PluginConfig {
			if spread, is := args.Args.(*schedulerconfig.PodTopologySpreadArgs); is {
				s.listed[name] = spread.DefaultingType == schedulerconfig.ListDefaulting
			}
		}
	}
	return nil
}

// frameworkOf returns the profile of the pod's scheduler, or the default one.
func (s *Scheduler) frameworkOf(pod *v1.Pod) framework.Framework {
	if own := s.profiles[schedulerOf(pod)]; own != nil {
		return own
	}
	return s.defaults
}

func schedulerOf(pod *v1.Pod) string {
	if pod.Spec.SchedulerName == "" {
		return v1.DefaultSchedulerName
	}
	return pod.Spec.SchedulerName
}

// Load replaces the cluster with the objects of a request.
func (s *Scheduler) Load(ctx context.Context, objects []Object) error {
	s.profiles, s.listed = map[string]framework.Framework{}, map[string]bool{}
	byKind := map[string][]any{}
	s.devices.clear()
	var nodes []*v1.Node
	var pods []*v1.Pod
	for _, object := range objects {
		switch o := object.(type) {
		case *v1.Node:
			nodes = append(nodes, o)
		case *v1.Pod:
			pods = append(pods, o)
		case *unstructured.Unstructured:
			if err := s.configure(ctx, o); err != nil {
				return err
			}
		default:
			if s.devices.add(object) {
				continue
			}
			kind := object.GetObjectKind().GroupVersionKind().Kind
			if s.informers.byKind[kind] == nil {
				return fmt.Errorf("no informer holds objects of kind %q", kind)
			}
			byKind[kind] = append(byKind[kind], object)
		}
	}
	for kind, informer := range s.informers.byKind {
		if err := informer.Replace(byKind[kind]); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	s.snapshot.set(nodes, pods)
	return nil
}

// Answer returns the verdicts on every pod of a request.
func (s *Scheduler) Answer(ctx context.Context, request *Request) (*Response, error) {
	response, _, err := s.answer(ctx, request)
	return response, err
}

// answer also returns, for each pod asked about, which filters PreFilter switched off.
func (s *Scheduler) answer(ctx context.Context,
	request *Request) (*Response, []sets.Set[string], error) {
	if err := s.Load(ctx, request.Objects); err != nil {
		return nil, nil, err
	}
	byKey := map[string]*v1.Pod{}
	for _, object := range request.Objects {
		if pod, ok := object.(*v1.Pod); ok {
			byKey[podKey(pod)] = pod
		}
	}
	response := &Response{ID: request.ID}
	var skipped []sets.Set[string]
	for _, key := range request.Pods {
		pod := byKey[key]
		if pod == nil {
			return nil, nil, fmt.Errorf("pod %q is not among the objects", key)
		}
		result, off := s.Verdicts(ctx, pod, request.Scores)
		result.Pod = key
		response.Results = append(response.Results, result)
		skipped = append(skipped, off)
	}
	return response, skipped, nil
}

// Verdicts returns the verdicts on one pod of the loaded cluster as if it was not placed. It also
// returns which filters PreFilter switched off for the pod.
func (s *Scheduler) Verdicts(ctx context.Context, pod *v1.Pod,
	withScores bool) (PodVerdicts, sets.Set[string]) {
	defer s.snapshot.unplace(pod)()
	defer s.devices.unreserve(pod)()
	incoming := *pod
	incoming.Spec.NodeName = ""
	incoming.Status.NominatedNodeName = ""

	state := framework.NewCycleState()
	allowed, status, filteringPlugins := s.frameworkOf(pod).RunPreFilterPlugins(ctx, state, &incoming)
	verdicts := make([]Verdict, 0, len(s.snapshot.nodes))
	for _, node := range s.snapshot.nodes {
		name := node.Node().Name
		switch {
		case !status.IsSuccess():
			verdicts = append(verdicts, refusal(name, status))
		case !allowed.AllNodes() && !allowed.NodeNames.Has(name):
			verdicts = append(verdicts, outsideNames(name, filteringPlugins))
		default:
			verdicts = append(verdicts, filterVerdict(name,
				s.frameworkOf(pod).RunFilterPlugins(ctx, state, &incoming, node)))
		}
	}
	result := PodVerdicts{Nodes: verdicts}
	if withScores {
		s.score(ctx, state, &incoming, &result)
	}
	return result, state.GetSkipFilterPlugins()
}

func filterVerdict(node string, status *fwk.Status) Verdict {
	if status.IsSuccess() {
		return Verdict{Node: node, Fits: true}
	}
	return refusal(node, status)
}

func refusal(node string, status *fwk.Status) Verdict {
	reasons := append([]string(nil), status.Reasons()...)
	sort.Strings(reasons) // NodeResourcesFit iterates over a map, in random order.
	return Verdict{Node: node, Plugin: status.Plugin(), Reasons: reasons,
		Failed: status.Code() == fwk.Error || isParseError(reasons)}
}

// isParseError recognises InterPodAffinity's rejection of a pod whose terms do not parse.
func isParseError(reasons []string) bool {
	return len(reasons) == 1 && strings.HasPrefix(reasons[0], "parsing pod: ")
}

// outsideNames returns the verdict for a node that is not in PreFilter's set of node names. The
// autoscaler reports the plugins without a reason; the scheduler (schedule_one.go) reports this
// text.
func outsideNames(node string, filteringPlugins sets.Set[string]) Verdict {
	names := sets.List(filteringPlugins)
	return Verdict{Node: node, Plugin: strings.Join(names, ", "),
		Reasons: []string{fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", names)}}
}

// snapshot holds the nodes and the pods on them, as the scheduler sees them.
type snapshot struct {
	nodes    []fwk.NodeInfo
	position map[string]int // A node's index in nodes, by name.
	pods     [][]fwk.PodInfo
	images   map[string]map[string]*fwk.ImageStateSummary // By node and image name.
}

func (s *snapshot) set(nodes []*v1.Node, pods []*v1.Pod) {
	*s = snapshot{position: map[string]int{}, pods: make([][]fwk.PodInfo, len(nodes))}
	for i, node := range nodes {
		s.position[node.Name] = i
	}
	for _, pod := range pods {
		if i, known := s.position[nodeOf(pod)]; known && isPlaced(pod) {
			// The error means that an affinity term does not parse; scheduler and autoscaler both
			// continue with the other terms.
			info, _ := framework.NewPodInfo(pod)
			s.pods[i] = append(s.pods[i], info)
		}
	}
	s.images = imageStates(nodes)
	for i, node := range nodes {
		s.nodes = append(s.nodes, s.newNodeInfo(node, s.pods[i], nil))
	}
}

// unplace removes a pod from its node until the returned function is called. It rebuilds the node's
// info instead of subtracting the pod, because NodeInfo.RemovePod would free a host port that
// another pod of the node still holds.
func (s *snapshot) unplace(pod *v1.Pod) (putBack func()) {
	i, known := s.position[nodeOf(pod)]
	if !known || !isPlaced(pod) {
		return func() {}
	}
	before := s.nodes[i]
	s.nodes[i] = s.newNodeInfo(before.Node(), s.pods[i], pod)
	return func() { s.nodes[i] = before }
}

func (s *snapshot) newNodeInfo(node *v1.Node, pods []fwk.PodInfo, except *v1.Pod) fwk.NodeInfo {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	info.ImageStates = s.images[node.Name]
	for _, pod := range pods {
		if pod.GetPod() != except {
			info.AddPodInfo(pod)
		}
	}
	return info
}

func (s *snapshot) NodeInfos() fwk.NodeInfoLister           { return s }
func (s *snapshot) StorageInfos() fwk.StorageInfoLister     { return s }
func (s *snapshot) PodGroupStates() fwk.PodGroupStateLister { return nil }
func (s *snapshot) PodGroups() fwk.PodGroupLister           { return nil }

func (s *snapshot) List() ([]fwk.NodeInfo, error) { return s.nodes, nil }

func (s *snapshot) Get(name string) (fwk.NodeInfo, error) {
	if i, known := s.position[name]; known {
		return s.nodes[i], nil
	}
	return nil, fmt.Errorf("node %q is not in the snapshot", name)
}

func (s *snapshot) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return s.nodesWhere(func(n fwk.NodeInfo) bool { return len(n.GetPodsWithAffinity()) > 0 }), nil
}

func (s *snapshot) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return s.nodesWhere(
		func(n fwk.NodeInfo) bool { return len(n.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

func (s *snapshot) IsPVCUsedByPods(key string) bool {
	return len(s.nodesWhere(func(n fwk.NodeInfo) bool { return n.GetPVCRefCounts()[key] > 0 })) > 0
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList is only called if the feature gate
// InterPodAffinityHostnameFastPath is on.
func (s *snapshot) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}

func (s *snapshot) nodesWhere(condition func(fwk.NodeInfo) bool) []fwk.NodeInfo {
	var found []fwk.NodeInfo
	for _, node := range s.nodes {
		if condition(node) {
			found = append(found, node)
		}
	}
	return found
}

// noClasses maps no extended resource to a device class.
type noClasses struct{}

func (noClasses) GetDeviceClass(v1.ResourceName) *resourceapi.DeviceClass { return nil }
