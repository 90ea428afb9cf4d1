package brief

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fields are written from the highest number to the lowest, so that they end up in ascending order.

// A copy of the object as text, which ebb does not read.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func (w *Writer) meta(field int, meta *metav1.ObjectMeta) {
	end := w.at
	backwards(meta.OwnerReferences, w.owner)
	w.texts(12, meta.Annotations, lastApplied)
	w.texts(11, meta.Labels, "")
	if meta.DeletionTimestamp != nil {
		w.time(9, *meta.DeletionTimestamp)
	}
	w.time(8, meta.CreationTimestamp)
	w.text(6, meta.ResourceVersion)
	w.text(5, string(meta.UID))
	w.text(3, meta.Namespace)
	w.text(1, meta.Name)
	w.close(field, end)
}

func (w *Writer) owner(owner *metav1.OwnerReference) {
	end := w.at
	w.optionalFlag(6, owner.Controller)
	w.text(5, owner.APIVersion)
	w.text(4, string(owner.UID))
	w.text(3, owner.Name)
	w.text(1, owner.Kind)
	w.close(13, end)
}

// time writes the seconds of a time; Go's zero time means the same as an absent field.
func (w *Writer) time(field int, time metav1.Time) {
	if time.IsZero() {
		return
	}
	end := w.at
	w.number(1, uint64(time.Unix()))
	w.close(field, end)
}

// ---------------------------------------------------------------------------
// Pod

func (w *Writer) pod(pod *v1.Pod) {
	w.podStatus(3, &pod.Status)
	w.podSpec(2, &pod.Spec)
	w.meta(1, &pod.ObjectMeta)
}

func (w *Writer) podSpec(field int, spec *v1.PodSpec) {
	end := w.at
	if spec.SchedulingGroup != nil {
		w.whole(43, spec.SchedulingGroup)
	}
	if spec.Resources != nil {
		w.requests(40, spec.Resources.Requests)
	}
	backwards(spec.ResourceClaims, func(claim *v1.PodResourceClaim) { w.whole(39, claim) })
	backwards(spec.SchedulingGates, func(gate *v1.PodSchedulingGate) { w.whole(38, gate) })
	w.optionalFlag(37, spec.HostUsers)
	if spec.OS != nil {
		inner := w.at
		w.text(1, string(spec.OS.Name))
		w.close(36, inner)
	}
	backwards(spec.TopologySpreadConstraints, func(each *v1.TopologySpreadConstraint) { w.whole(33, each) })
	w.resources(32, spec.Overhead)
	if spec.Priority != nil {
		w.number(25, uint64(int64(*spec.Priority)))
	}
	backwards(spec.Tolerations, func(toleration *v1.Toleration) { w.whole(22, toleration) })
	backwards(spec.InitContainers, func(container *v1.Container) { w.container(20, container) })
	w.text(19, spec.SchedulerName)
	if spec.Affinity != nil {
		w.whole(18, spec.Affinity)
	}
	w.flag(11, spec.HostNetwork)
	w.text(10, spec.NodeName)
	w.texts(7, spec.NodeSelector, "")
	if spec.TerminationGracePeriodSeconds != nil {
		w.number(4, uint64(*spec.TerminationGracePeriodSeconds))
	}
	w.text(3, string(spec.RestartPolicy))
	backwards(spec.Containers, func(container *v1.Container) { w.container(2, container) })
	backwards(spec.Volumes, w.volume)
	w.close(field, end)
}

func (w *Writer) container(field int, container *v1.Container) {
	end := w.at
	backwards(container.RestartPolicyRules, func(rule *v1.ContainerRestartRule) {
		end := w.at
		w.text(1, string(rule.Action))
		w.close(25, end)
	})
	w.optionalText(24, (*string)(container.RestartPolicy))
	w.requests(8, container.Resources.Requests)
	backwards(container.Ports, w.port)
	w.text(1, container.Name)
	w.close(field, end)
}

// port writes a port if it has a host port: only host ports exclude one another.
func (w *Writer) port(port *v1.ContainerPort) {
	if port.HostPort == 0 {
		return
	}
	end := w.at
	w.text(5, port.HostIP)
	w.text(4, string(port.Protocol))
	w.number(2, uint64(int64(port.HostPort)))
	w.close(6, end)
}

// requests writes a ResourceRequirements with only its requests.
func (w *Writer) requests(field int, requests v1.ResourceList) {
	if len(requests) == 0 {
		return
	}
	end := w.at
	w.resources(2, requests)
	w.close(field, end)
}

// volume writes only the kind of a volume without a disk, because nothing else of it counts.
func (w *Writer) volume(volume *v1.Volume) {
	source := 0
	switch {
	case *volume == v1.Volume{Name: volume.Name, VolumeSource: v1.VolumeSource{Projected: volume.Projected}}:
		source = 26
	case *volume == v1.Volume{Name: volume.Name, VolumeSource: v1.VolumeSource{ConfigMap: volume.ConfigMap}}:
		source = 19
	case *volume == v1.Volume{Name: volume.Name, VolumeSource: v1.VolumeSource{Secret: volume.Secret}}:
		source = 6
	default:
		w.whole(1, volume)
		return
	}
	end := w.at
	inner := w.at
	if volume.VolumeSource != (v1.VolumeSource{}) {
		w.close(source, inner)
	}
	w.close(2, inner)
	w.text(1, volume.Name)
	w.close(1, end)
}

func (w *Writer) podStatus(field int, status *v1.PodStatus) {
	end := w.at
	backwards(status.NodeAllocatableResourceClaimStatuses, func(each *v1.NodeAllocatableResourceClaimStatus) { w.whole(21, each) })
	if status.Resources != nil {
		inner := w.at
		w.resources(2, status.Resources.Requests)
		w.close(20, inner)
	}
	w.resources(19, status.AllocatedResources)
	if status.ExtendedResourceClaimStatus != nil {
		w.whole(18, status.ExtendedResourceClaimStatus)
	}
	backwards(status.ResourceClaimStatuses, func(each *v1.PodResourceClaimStatus) { w.whole(15, each) })
	w.text(11, status.NominatedNodeName)
	backwards(status.InitContainerStatuses, func(each *v1.ContainerStatus) { w.containerStatus(10, each) })
	backwards(status.ContainerStatuses, func(each *v1.ContainerStatus) { w.containerStatus(8, each) })
	if status.StartTime != nil {
		w.time(7, *status.StartTime)
	}
	backwards(status.Conditions, w.podCondition)
	w.text(1, string(status.Phase))
	w.close(field, end)
}

// podCondition writes only two conditions: a pending resize that is infeasible, and whether the
// scheduler found a node.
func (w *Writer) podCondition(condition *v1.PodCondition) {
	infeasible := condition.Type == v1.PodResizePending && condition.Reason == v1.PodReasonInfeasible
	if !infeasible && condition.Type != v1.PodScheduled {
		return
	}
	end := w.at
	w.text(5, condition.Reason)
	w.text(2, string(condition.Status))
	w.text(1, string(condition.Type))
	w.close(2, end)
}

// containerStatus writes a status only if it has resources or allocated resources; no other status
// changes a pod's charged requests.
func (w *Writer) containerStatus(field int, status *v1.ContainerStatus) {
	if status.Resources == nil && len(status.AllocatedResources) == 0 {
		return
	}
	end := w.at
	if status.Resources != nil {
		inner := w.at
		w.resources(2, status.Resources.Requests)
		w.close(11, inner)
	}
	w.resources(10, status.AllocatedResources)
	w.text(1, status.Name)
	w.close(field, end)
}

// ---------------------------------------------------------------------------
// Node

func (w *Writer) node(node *v1.Node) {
	w.nodeStatus(3, &node.Status)
	w.nodeSpec(2, &node.Spec)
	w.meta(1, &node.ObjectMeta)
}

func (w *Writer) nodeSpec(field int, spec *v1.NodeSpec) {
	end := w.at
	backwards(spec.Taints, func(taint *v1.Taint) {
		end := w.at
		w.text(3, string(taint.Effect))
		w.text(2, taint.Value)
		w.text(1, taint.Key)
		w.close(5, end)
	})
	w.flag(4, spec.Unschedulable)
	w.text(3, spec.ProviderID)
	w.close(field, end)
}

func (w *Writer) nodeStatus(field int, status *v1.NodeStatus) {
	end := w.at
	backwards(status.DeclaredFeatures, func(feature *string) { w.bytes(14, *feature) })
	inner := w.at
	w.text(10, status.NodeInfo.Architecture)
	w.text(9, status.NodeInfo.OperatingSystem)
	w.text(7, status.NodeInfo.KubeletVersion)
	if w.at != inner {
		w.close(7, inner)
	}
	backwards(status.Conditions, func(condition *v1.NodeCondition) {
		end := w.at
		w.text(2, string(condition.Status))
		w.text(1, string(condition.Type))
		w.close(4, end)
	})
	w.resources(2, status.Allocatable)
	w.resources(1, status.Capacity)
	w.close(field, end)
}
