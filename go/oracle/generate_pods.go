package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// makePods generates a few workloads with a few replicas each. Replicas share everything that a
// filter reads, as replicas of a ReplicaSet do. Sometimes one of them differs in a label or in its
// status, or is being deleted.
func (g *generator) makePods() {
	for workload := range 1 + g.IntN(6) {
		template := g.podTemplate(workload)
		for replica := range pick(g, 1, 1, 2, 3, 5, 8) {
			g.addPod(template.DeepCopy(), fmt.Sprintf("%s-%d", template.Name, replica))
		}
	}
}

func (g *generator) addPod(pod *v1.Pod, name string) {
	pod.Name = name
	pod.UID = g.uid()
	if g.chance(0.75) {
		pod.Spec.NodeName = nodeName(g.IntN(len(g.nodes)))
		pod.Status.Phase = v1.PodRunning
	} else {
		pod.Status.Phase = v1.PodPending
		if g.chance(0.2) {
			pod.Status.NominatedNodeName = nodeName(g.IntN(len(g.nodes)))
		}
	}
	if g.chance(0.03) {
		pod.Status.Phase = pick(g, v1.PodSucceeded, v1.PodFailed)
	}
	if g.chance(0.08) {
		pod.DeletionTimestamp = pointerTo(metav1.Unix(1700000000, 0))
		pod.DeletionGracePeriodSeconds = pointerTo(int64(30))
	}
	if g.chance(0.1) {
		pod.Labels = g.podLabels()
	}
	if g.on["PodStatusResources"] && g.chance(0.6) {
		g.addStatusResources(pod)
	}
	g.makeEphemeralClaims(pod)
	g.pods = append(g.pods, pod)
}

func (g *generator) podTemplate(workload int) *v1.Pod {
	pod := &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: pick(g, namespaces...),
			Name: fmt.Sprintf("w%d", workload), Labels: g.podLabels()},
	}
	if g.chance(0.7) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet",
			Name: pod.Name, UID: g.uid(), Controller: pointerTo(true)}}
	}
	g.addContainers(pod)
	if g.on["NodePorts"] && g.chance(0.7) {
		g.addPorts(pod)
	}
	if g.on["NodeUnschedulable"] || g.on["TaintToleration"] {
		pod.Spec.Tolerations = g.tolerations()
	}
	if g.on["NodeAffinity"] && g.chance(0.3) {
		pod.Spec.NodeSelector = g.nodeSelector()
	}
	affinity := &v1.Affinity{}
	if g.on["NodeAffinity"] && g.chance(0.5) {
		affinity.NodeAffinity = g.nodeAffinity()
	}
	if g.on["InterPodAffinity"] {
		g.interPodAffinity(affinity, pod.Labels)
	}
	if *affinity != (v1.Affinity{}) {
		pod.Spec.Affinity = affinity
	}
	if g.on["PodTopologySpread"] && g.chance(0.75) {
		pod.Spec.TopologySpreadConstraints = g.spreadConstraints(pod.Labels)
	}
	pod.Spec.Volumes = g.podVolumes(pod.Namespace)
	if g.on["NodeDeclaredFeatures"] {
		g.needFeatures(pod)
	}
	return pod
}

// --- Containers and resources

func (g *generator) allocatable() v1.ResourceList {
	if !g.on["NodeResourcesFit"] {
		return v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"),
			v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110"),
			v1.ResourceEphemeralStorage: resource.MustParse("1Ti")}
	}
	list := v1.ResourceList{}
	add := func(chance float64, name v1.ResourceName, quantities ...string) {
		if g.chance(chance) {
			list[name] = resource.MustParse(pick(g, quantities...))
		}
	}
	add(0.98, v1.ResourceCPU, "1", "2", "4", "8", "1500m", "3999m")
	add(0.98, v1.ResourceMemory, "1Gi", "2Gi", "4Gi", "8Gi", "1500M", "2147483647")
	add(0.99, v1.ResourcePods, "0", "2", "3", "5", "8", "110", "110")
	add(0.8, v1.ResourceEphemeralStorage, "1Gi", "10Gi")
	add(0.5, "example.com/gpu", "0", "1", "2", "4")
	add(0.4, "example.org/fpga", "1", "3")
	add(0.4, "hugepages-2Mi", "4Mi", "64Mi")
	add(0.2, "attachable-volumes-csi-a", "1", "2")
	add(0.2, "kubernetes.io/odd", "1")
	return list
}

// requests generates the requests of one container, or of a pod as a whole.
func (g *generator) requests() v1.ResourceList {
	list := v1.ResourceList{}
	add := func(chance float64, name v1.ResourceName, quantities ...string) {
		if g.chance(chance) {
			list[name] = resource.MustParse(pick(g, quantities...))
		}
	}
	add(0.7, v1.ResourceCPU, "0", "100m", "250m", "500m", "1", "1500m", "2500u", "1n")
	add(0.7, v1.ResourceMemory, "0", "64Mi", "128Mi", "256Mi", "1Gi", "500M", "1e3", "1500m")
	if !g.on["NodeResourcesFit"] {
		return list
	}
	add(0.2, v1.ResourceEphemeralStorage, "0", "100Mi", "1Gi", "5Gi")
	add(0.1, "example.com/gpu", "0", "1", "2")
	add(0.07, "example.org/fpga", "1")
	add(0.07, "hugepages-2Mi", "2Mi", "4Mi", "32Mi")
	add(0.03, "attachable-volumes-csi-a", "1")
	add(0.03, "kubernetes.io/odd", "1")
	if g.on["Odd"] {
		add(0.05, "requests.example.com/odd", "1")
		add(0.05, "plainname", "1")
		add(0.05, "pods", "1")
		add(0.05, "storage", "1Gi")
		// More than any node has, but a node full of such pods still fits in an int64.
		add(0.02, v1.ResourceCPU, "5T")
		add(0.02, v1.ResourceMemory, "5Pi", "50P")
		add(0.02, "example.com/gpu", "9007199254740992")
	}
	return list
}

func (g *generator) addContainers(pod *v1.Pod) {
	for i := range pick(g, 1, 1, 2) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: fmt.Sprintf("main-%d", i), Image: "registry.example.com/app:1",
			Resources: v1.ResourceRequirements{Requests: g.requests()}})
	}
	if g.chance(0.3) {
		for i := range 1 + g.IntN(3) {
			container := v1.Container{Name: fmt.Sprintf("init-%d", i),
				Image:     "registry.example.com/init:1",
				Resources: v1.ResourceRequirements{Requests: g.requests()}}
			if g.chance(0.5) {
				container.RestartPolicy = pointerTo(v1.ContainerRestartPolicyAlways)
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		}
	}
	if g.chance(0.1) {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m"),
			v1.ResourceMemory: resource.MustParse("120Mi")}
	}
	if g.on["PodStatusResources"] && g.chance(0.4) {
		pod.Spec.Resources = &v1.ResourceRequirements{Requests: g.requests()}
		if g.chance(0.1) {
			pod.Spec.Resources = &v1.ResourceRequirements{Limits: g.requests()}
		}
	}
}

// addStatusResources adds the status of a pod whose resize is done, in progress or rejected.
func (g *generator) addStatusResources(pod *v1.Pod) {
	status := func(container v1.Container) v1.ContainerStatus {
		s := v1.ContainerStatus{Name: container.Name, Image: container.Image}
		if g.chance(0.8) {
			s.Resources = &v1.ResourceRequirements{Requests: g.requests()}
		}
		if g.chance(0.7) {
			s.AllocatedResources = g.requests()
		}
		return s
	}
	for _, container := range pod.Spec.Containers {
		if g.chance(0.8) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status(container))
		}
	}
	for _, container := range pod.Spec.InitContainers {
		if g.chance(0.8) {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses,
				status(container))
		}
	}
	if g.chance(0.4) {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{
			Type: v1.PodResizePending, Status: v1.ConditionTrue,
			Reason: pick(g, v1.PodReasonInfeasible, v1.PodReasonDeferred)})
	}
	if pod.Spec.Resources != nil && g.chance(0.6) {
		pod.Status.Resources = &v1.ResourceRequirements{Requests: g.requests()}
		pod.Status.AllocatedResources = g.requests()
	}
}

// --- Ports and features

func (g *generator) port() v1.ContainerPort {
	return v1.ContainerPort{ContainerPort: 8080, HostPort: int32(pick(g, 0, 80, 80, 443, 8080)),
		Protocol: pick(g, "", v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP),
		HostIP:   pick(g, "", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")}
}

func (g *generator) addPorts(pod *v1.Pod) {
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for range g.IntN(3) {
				containers[i].Ports = append(containers[i].Ports, g.port())
			}
		}
	}
}

func (g *generator) needFeatures(pod *v1.Pod) {
	if g.chance(0.4) {
		pod.Spec.HostNetwork = g.chance(0.8)
		pod.Spec.HostUsers = pick(g, nil, pointerTo(false), pointerTo(false), pointerTo(true))
	}
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			g.needNewFeatures(&containers[i])
			if g.chance(0.25) {
				containers[i].RestartPolicyRules = []v1.ContainerRestartRule{{
					Action: pick(g, v1.ContainerRestartRuleActionRestart,
						v1.ContainerRestartRuleActionRestartAllContainers),
					ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
						Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
			}
		}
	}
}
