package feed

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Kind is one of those that decide something.
type Kind struct {
	GroupVersion string // "apps/v1"
	Kind         string // "ReplicaSet"
	Resource     string // "replicasets"
	// Optional: an API server may be without it, and then nothing is missing.
	Optional bool

	informer func(informers.SharedInformerFactory) cache.SharedIndexInformer
}

// Group is the API group, "" for the core's.
func (k *Kind) Group() string {
	for i, c := range k.GroupVersion {
		if c == '/' {
			return k.GroupVersion[:i]
		}
	}
	return ""
}

// Kinds are all that the daemon is fed with, in the order of a full resync: what others refer to comes first.
var Kinds = []*Kind{
	{corev1.SchemeGroupVersion.String(), "Namespace", "namespaces", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Namespaces().Informer()
	}},
	{corev1.SchemeGroupVersion.String(), "Node", "nodes", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Nodes().Informer()
	}},
	{appsv1.SchemeGroupVersion.String(), "ReplicaSet", "replicasets", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Apps().V1().ReplicaSets().Informer()
	}},
	{appsv1.SchemeGroupVersion.String(), "StatefulSet", "statefulsets", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Apps().V1().StatefulSets().Informer()
	}},
	{appsv1.SchemeGroupVersion.String(), "DaemonSet", "daemonsets", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Apps().V1().DaemonSets().Informer()
	}},
	{batchv1.SchemeGroupVersion.String(), "Job", "jobs", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Batch().V1().Jobs().Informer()
	}},
	{corev1.SchemeGroupVersion.String(), "ReplicationController", "replicationcontrollers", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().ReplicationControllers().Informer()
	}},
	{storagev1.SchemeGroupVersion.String(), "StorageClass", "storageclasses", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().StorageClasses().Informer()
	}},
	{corev1.SchemeGroupVersion.String(), "PersistentVolume", "persistentvolumes", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumes().Informer()
	}},
	{corev1.SchemeGroupVersion.String(), "PersistentVolumeClaim", "persistentvolumeclaims", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumeClaims().Informer()
	}},
	{storagev1.SchemeGroupVersion.String(), "CSINode", "csinodes", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSINodes().Informer()
	}},
	{storagev1.SchemeGroupVersion.String(), "CSIDriver", "csidrivers", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSIDrivers().Informer()
	}},
	{storagev1.SchemeGroupVersion.String(), "CSIStorageCapacity", "csistoragecapacities", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().CSIStorageCapacities().Informer()
	}},
	{storagev1.SchemeGroupVersion.String(), "VolumeAttachment", "volumeattachments", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().VolumeAttachments().Informer()
	}},
	{resourcev1.SchemeGroupVersion.String(), "DeviceClass", "deviceclasses", true, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().DeviceClasses().Informer()
	}},
	{resourcev1.SchemeGroupVersion.String(), "ResourceSlice", "resourceslices", true, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().ResourceSlices().Informer()
	}},
	{resourcev1.SchemeGroupVersion.String(), "ResourceClaimTemplate", "resourceclaimtemplates", true, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().ResourceClaimTemplates().Informer()
	}},
	{resourcev1.SchemeGroupVersion.String(), "ResourceClaim", "resourceclaims", true, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Resource().V1().ResourceClaims().Informer()
	}},
	{policyv1.SchemeGroupVersion.String(), "PodDisruptionBudget", "poddisruptionbudgets", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Policy().V1().PodDisruptionBudgets().Informer()
	}},
	{corev1.SchemeGroupVersion.String(), "Pod", "pods", false, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Pods().Informer()
	}},
}
