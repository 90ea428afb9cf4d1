package feed

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Kind is a kind of object that decisions depend on, or that answers name because it might matter.
type Kind struct {
	// GroupVersion is for example "apps/v1". For an optional kind it is "" until Look has found the
	// version that the API server serves.
	GroupVersion string
	Kind         string // "ReplicaSet"
	Resource     string // "replicasets"
	// Optional: API servers need not serve this kind; if one does not, nothing is missing.
	Optional bool

	group    string
	informer func(informers.SharedInformerFactory) cache.SharedIndexInformer // Nil: a dynamic one.
}

// Group returns the API group; "" for the core group.
func (k *Kind) Group() string { return k.group }

// String returns "Pod", or for an optional kind, whose name several groups may use,
// "Machine.cluster.x-k8s.io".
func (k *Kind) String() string {
	if !k.Optional {
		return k.Kind
	}
	return schema.GroupKind{Group: k.group, Kind: k.Kind}.String()
}

func typed(of schema.GroupVersion, kind, resource string,
	informer func(informers.SharedInformerFactory) cache.SharedIndexInformer) *Kind {
	return &Kind{GroupVersion: of.String(), Kind: kind, Resource: resource, group: of.Group, informer: informer}
}

func optional(group, kind, resource string) *Kind {
	return &Kind{Kind: kind, Resource: resource, Optional: true, group: group}
}

// Kinds are all kinds that are fed to the daemon, in the order of a full resync: an object's
// references come before it. snapshot/import/dump_kinds.cc has the same kinds; a test compares the
// two lists. Secrets and ConfigMaps are never read.
var Kinds = []*Kind{
	typed(corev1.SchemeGroupVersion, "Namespace", "namespaces", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Namespaces().Informer()
	}),
	typed(corev1.SchemeGroupVersion, "Node", "nodes", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Nodes().Informer()
	}),
	typed(appsv1.SchemeGroupVersion, "ReplicaSet", "replicasets", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Apps().V1().ReplicaSets().Informer()
	}),
	typed(appsv1.SchemeGroupVersion, "StatefulSet", "statefulsets", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Apps().V1().StatefulSets().Informer()
	}),
	typed(appsv1.SchemeGroupVersion, "DaemonSet", "daemonsets", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Apps().V1().DaemonSets().Informer()
	}),
	typed(batchv1.SchemeGroupVersion, "Job", "jobs", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Batch().V1().Jobs().Informer()
	}),
	typed(corev1.SchemeGroupVersion, "ReplicationController", "replicationcontrollers", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().ReplicationControllers().Informer()
	}),
	typed(storagev1.SchemeGroupVersion, "StorageClass", "storageclasses", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().StorageClasses().Informer()
	}),
	typed(corev1.SchemeGroupVersion, "PersistentVolume", "persistentvolumes", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumes().Informer()
	}),
	typed(corev1.SchemeGroupVersion, "PersistentVolumeClaim", "persistentvolumeclaims", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumeClaims().Informer()
	}),
	typed(storagev1.SchemeGroupVersion, "CSINode", "csinodes", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSINodes().Informer()
	}),
	typed(storagev1.SchemeGroupVersion, "CSIDriver", "csidrivers", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSIDrivers().Informer()
	}),
	typed(storagev1.SchemeGroupVersion, "CSIStorageCapacity", "csistoragecapacities", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSIStorageCapacities().Informer()
	}),
	typed(storagev1.SchemeGroupVersion, "VolumeAttachment", "volumeattachments", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().VolumeAttachments().Informer()
	}),
	typed(corev1.SchemeGroupVersion, "PodTemplate", "podtemplates", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PodTemplates().Informer()
	}),
	typed(corev1.SchemeGroupVersion, "Service", "services", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Services().Informer()
	}),
	optional("resource.k8s.io", "DeviceClass", "deviceclasses"),
	optional("resource.k8s.io", "ResourceSlice", "resourceslices"),
	optional("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates"),
	optional("resource.k8s.io", "ResourceClaim", "resourceclaims"),
	optional("resource.k8s.io", "DeviceTaintRule", "devicetaintrules"),
	optional("cluster.x-k8s.io", "Machine", "machines"),
	optional("machine.openshift.io", "Machine", "machines"),
	optional("karpenter.sh", "NodeClaim", "nodeclaims"),
	optional("karpenter.sh", "NodePool", "nodepools"),
	optional("scheduling.k8s.io", "Workload", "workloads"),
	optional("scheduling.k8s.io", "PodGroup", "podgroups"),
	optional("scheduling.x-k8s.io", "PodGroup", "podgroups"),
	optional("scheduling.volcano.sh", "PodGroup", "podgroups"),
	optional("kueue.x-k8s.io", "Workload", "workloads"),
	optional("autoscaling.k8s.io", "VerticalPodAutoscaler", "verticalpodautoscalers"),
	optional("autoscaling.x-k8s.io", "CapacityBuffer", "capacitybuffers"),
	optional("lifecycle.k8s.io", "EvictionRequest", "evictionrequests"),
	optional("cluster.x-k8s.io", "MachineSet", "machinesets"),
	optional("machine.openshift.io", "MachineSet", "machinesets"),
	// ebb's answers report that objects of the following kinds exist, but do not evaluate them.
	optional("karpenter.sh", "Machine", "machines"),
	optional("karpenter.sh", "Provisioner", "provisioners"),
	optional("scheduling.k8s.io", "CompositePodGroup", "compositepodgroups"),
	optional("scheduling.sigs.k8s.io", "PodGroup", "podgroups"),
	optional("scheduling.run.ai", "PodGroup", "podgroups"),
	optional("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets"),
	optional("jobset.x-k8s.io", "JobSet", "jobsets"),
	optional("autoscaling.x-k8s.io", "ProvisioningRequest", "provisioningrequests"),
	optional("scheduling.koordinator.sh", "Reservation", "reservations"),
	optional("policy.kruise.io", "PodUnavailableBudget", "podunavailablebudgets"),
	optional("lifecycle.k8s.io", "Eviction", "evictions"),
	optional("operator.openshift.io", "KubeDescheduler", "kubedeschedulers"),
	optional("nodemaintenance.medik8s.io", "NodeMaintenance", "nodemaintenances"),
	optional("autoscaling.openshift.io", "MachineAutoscaler", "machineautoscalers"),
	optional("autoscaling.openshift.io", "ClusterAutoscaler", "clusterautoscalers"),
	optional("cluster.x-k8s.io", "MachineDeployment", "machinedeployments"),
	optional("cluster.x-k8s.io", "MachinePool", "machinepools"),
	typed(policyv1.SchemeGroupVersion, "PodDisruptionBudget", "poddisruptionbudgets", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Policy().V1().PodDisruptionBudgets().Informer()
	}),
	typed(corev1.SchemeGroupVersion, "Pod", "pods", func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Pods().Informer()
	}),
}
