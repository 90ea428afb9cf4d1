package main

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// staticInformer is a shared informer whose content is set explicitly.
//
// The scheduler's plugins read volumes, claims, classes and namespaces through informers. A real
// informer learns of an object some milliseconds after an API server stored it. A staticInformer
// has it when Replace returns, so a cluster can be replaced thousands of times a second and no
// verdict depends on timing. Event handlers are ignored: in v1.36 the only subscribers (the volume
// binder's assume caches) react to objects that were *assumed*, and nothing is assumed before
// Reserve.
//
// Methods that are not overridden here panic, so that we notice when a plugin begins to use one.
type staticInformer struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
}

func newStaticInformer() *staticInformer {
	return &staticInformer{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

// Replace replaces the whole content.
func (i *staticInformer) Replace(objects []any) error {
	if len(objects) == 0 && len(i.indexer.ListKeys()) == 0 {
		return nil
	}
	return i.indexer.Replace(objects, "")
}

func (i *staticInformer) GetIndexer() cache.Indexer { return i.indexer }
func (i *staticInformer) GetStore() cache.Store     { return i.indexer }
func (i *staticInformer) HasSynced() bool           { return true }

func (i *staticInformer) AddIndexers(indexers cache.Indexers) error {
	return i.indexer.AddIndexers(indexers)
}

func (i *staticInformer) AddEventHandler(
	cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return nil, nil
}

// staticInformers are informers for the kinds that the default plugins read while they filter and
// score.
type staticInformers struct {
	factory informers.SharedInformerFactory
	byKind  map[string]*staticInformer
}

func newStaticInformers() *staticInformers {
	s := &staticInformers{
		factory: informers.NewSharedInformerFactory(nil, 0),
		byKind:  map[string]*staticInformer{},
	}
	for kind, object := range map[string]runtime.Object{
		"Namespace":             &v1.Namespace{},
		"PersistentVolume":      &v1.PersistentVolume{},
		"PersistentVolumeClaim": &v1.PersistentVolumeClaim{},
		"StorageClass":          &storagev1.StorageClass{},
		"CSINode":               &storagev1.CSINode{},
		"CSIDriver":             &storagev1.CSIDriver{},
		"CSIStorageCapacity":    &storagev1.CSIStorageCapacity{},
		"VolumeAttachment":      &storagev1.VolumeAttachment{},
		"Service":               &v1.Service{},
		"ReplicationController": &v1.ReplicationController{},
		"ReplicaSet":            &appsv1.ReplicaSet{},
		"StatefulSet":           &appsv1.StatefulSet{},
	} {
		informer := newStaticInformer()
		s.byKind[kind] = informer
		// The factory keeps the first informer that it receives for a type.
		s.factory.InformerFor(object,
			func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return informer })
	}
	return s
}
