package planner

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	drasnapshot "sigs.k8s.io/cluster-autoscaler/pkg/simulator/dynamicresources/snapshot"

	"ebb/go/clusterautoscaler/feed"
	"ebb/go/clusterautoscaler/wire"
)

// lists returns the current objects that matter for decisions and are not on a node. A missing
// lister, as in tests, counts as empty. So does a lister that fails, because the autoscaler finds
// nothing through it either.
func (p *Planner) lists() []feed.List {
	var lists []feed.List
	if tracker := p.autoscalingCtx.RemainingPdbTracker; tracker != nil {
		lists = append(lists, listOf(wire.PodDisruptionBudget, tracker.GetPdbs(), true))
	}
	lists = append(lists, p.controllerLists()...)
	if handle := p.autoscalingCtx.FrameworkHandle; handle != nil && handle.Framework != nil {
		if factory := handle.Framework.SharedInformerFactory(); factory != nil {
			lists = append(lists, p.schedulerLists(factory)...)
		}
	}
	return append(lists, p.deviceLists()...)
}

// devices returns the autoscaler's view of the objects of dynamic resource allocation. Nil: it does
// not evaluate them.
func (p *Planner) devices() *drasnapshot.Snapshot {
	if !p.autoscalingCtx.DynamicResourceAllocationEnabled {
		return nil
	}
	return p.autoscalingCtx.ClusterSnapshot.DraSnapshot()
}

// deviceLists returns classes, claims and slices as they are in the shared snapshot, where pods that
// were injected have devices as well. It copies what it changes, under the same resource version, so
// that claims are compared by content.
func (p *Planner) deviceLists() []feed.List {
	devices := p.devices()
	if devices == nil {
		return nil
	}
	return []feed.List{
		listOf(wire.DeviceClass, orNone(devices.DeviceClasses().List()), false),
		listOf(wire.ResourceClaim, orNone(devices.ResourceClaims().List()), true),
		listOf(wire.ResourceSlice, orNone(devices.ResourceSlices().ListWithDeviceTaintRules()), false),
	}
}

func orNone[T any](all []T, err error) []T {
	if err != nil {
		return nil
	}
	return all
}

// controllerLists returns controllers. They matter only if pods of custom controllers block, and
// only for kinds that control a pod.
func (p *Planner) controllerLists() []feed.List {
	registry := p.autoscalingCtx.ListerRegistry
	if registry == nil || !p.deleteOptions.SkipNodesWithCustomControllerPods {
		return nil
	}
	var lists []feed.List
	if lister := registry.ReplicaSetLister(); lister != nil && p.controllers["ReplicaSet"] {
		lists = append(lists, listed(wire.ReplicaSet, lister))
	}
	if lister := registry.StatefulSetLister(); lister != nil && p.controllers["StatefulSet"] {
		lists = append(lists, listed(wire.StatefulSet, lister))
	}
	if lister := registry.JobLister(); lister != nil && p.controllers["Job"] {
		lists = append(lists, listed(wire.Job, lister))
	}
	if lister := registry.ReplicationControllerLister(); lister != nil && p.controllers["ReplicationController"] {
		lists = append(lists, listed(wire.ReplicationController, lister))
	}
	if lister := registry.DaemonSetLister(); lister != nil && p.controllers["DaemonSet"] {
		lists = append(lists, listed(wire.DaemonSet, lister))
	}
	return lists
}

// schedulerLists returns the objects besides pods and nodes that the scheduler's plugins read.
func (p *Planner) schedulerLists(factory informers.SharedInformerFactory) []feed.List {
	core, storage := factory.Core().V1(), factory.Storage().V1()
	return []feed.List{
		stored(wire.Namespace, core.Namespaces().Informer()),
		stored(wire.PersistentVolume, core.PersistentVolumes().Informer()),
		stored(wire.PersistentVolumeClaim, core.PersistentVolumeClaims().Informer()),
		stored(wire.StorageClass, storage.StorageClasses().Informer()),
		stored(wire.CSINode, storage.CSINodes().Informer()),
		stored(wire.CSIDriver, storage.CSIDrivers().Informer()),
		stored(wire.CSIStorageCapacity, storage.CSIStorageCapacities().Informer()),
		stored(wire.VolumeAttachment, storage.VolumeAttachments().Informer()),
	}
}

func stored(kind *wire.Kind, informer cache.SharedIndexInformer) feed.List {
	all := informer.GetStore().List()
	list := feed.List{Kind: kind, Objects: make([]feed.Object, 0, len(all))}
	for _, object := range all {
		list.Objects = append(list.Objects, object.(feed.Object))
	}
	return list
}

func listed[T feed.Object](kind *wire.Kind, lister interface {
	List(selector labels.Selector) ([]T, error)
}) feed.List {
	return listOf(kind, orNone(lister.List(labels.Everything())), false)
}

func listOf[T feed.Object](kind *wire.Kind, all []T, byContent bool) feed.List {
	list := feed.List{Kind: kind, ByContent: byContent, Objects: make([]feed.Object, len(all))}
	for i, object := range all {
		list.Objects[i] = object
	}
	return list
}
