package main

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// devices holds the claims, slices and classes of dynamic resource allocation, as Cluster
// Autoscaler's snapshot does.
type devices struct {
	claims  map[string]*resourceapi.ResourceClaim
	slices  []*resourceapi.ResourceSlice
	classes map[string]*resourceapi.DeviceClass
}

func newDevices() *devices { return &devices{} }

func (d *devices) clear() {
	*d = devices{claims: map[string]*resourceapi.ResourceClaim{},
		classes: map[string]*resourceapi.DeviceClass{}}
}

// add reports whether the object is of dynamic resource allocation.
func (d *devices) add(object Object) bool {
	switch o := object.(type) {
	case *resourceapi.ResourceClaim:
		d.claims[o.Namespace+"/"+o.Name] = o
	case *resourceapi.ResourceSlice:
		d.slices = append(d.slices, o)
	case *resourceapi.DeviceClass:
		d.classes[o.Name] = o
	default:
		return false
	}
	return true
}

// hasAllocatedAlternatives reports whether some claim of the pod is allocated and has a request with
// firstAvailable.
func (d *devices) hasAllocatedAlternatives(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ResourceClaims, func(entry v1.PodResourceClaim) bool {
		name, _, err := resourceclaim.Name(pod, &entry)
		if err != nil || name == nil {
			return false
		}
		claim := d.claims[pod.Namespace+"/"+*name]
		return claim != nil && claim.Status.Allocation != nil &&
			slices.ContainsFunc(claim.Spec.Devices.Requests, func(r resourceapi.DeviceRequest) bool {
				return len(r.FirstAvailable) > 0
			})
	})
}

// unreserve frees the claims of a pod that is taken off its node, until the returned function is
// called: the pod's own claims, and those that no other consumer has reserved. It follows
// Snapshot.UnreservePodClaims of Cluster Autoscaler.
func (d *devices) unreserve(pod *v1.Pod) (putBack func()) {
	before := map[string]*resourceapi.ResourceClaim{}
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		key := pod.Namespace + "/" + *name
		claim := d.claims[key]
		if claim == nil || before[key] != nil {
			continue
		}
		before[key] = claim
		freed := claim.DeepCopy()
		freed.Status.ReservedFor = nil
		for _, consumer := range claim.Status.ReservedFor {
			if consumer.UID != pod.UID {
				freed.Status.ReservedFor = append(freed.Status.ReservedFor, consumer)
			}
		}
		if metav1.IsControlledBy(freed, pod) || len(freed.Status.ReservedFor) == 0 {
			freed.Status.Allocation = nil
		}
		d.claims[key] = freed
	}
	return func() {
		for key, claim := range before {
			d.claims[key] = claim
		}
	}
}

func (d *devices) ResourceClaims() fwk.ResourceClaimTracker     { return claimTracker{d} }
func (d *devices) ResourceSlices() fwk.ResourceSliceLister      { return d }
func (d *devices) DeviceClasses() fwk.DeviceClassLister         { return classLister{d} }
func (d *devices) DeviceClassResolver() fwk.DeviceClassResolver { return noClasses{} }
func (d *devices) PodGroups() fwk.PodGroupLister                { return noGroups{} }

func (d *devices) ListWithDeviceTaintRules() ([]*resourceapi.ResourceSlice, error) {
	return d.slices, nil
}

type classLister struct{ *devices }

func (l classLister) List() ([]*resourceapi.DeviceClass, error) {
	var all []*resourceapi.DeviceClass
	for _, class := range l.classes {
		all = append(all, class)
	}
	return all, nil
}

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	if class := l.classes[name]; class != nil {
		return class, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "deviceclasses"}, name)
}

type claimTracker struct{ *devices }

func (t claimTracker) List() ([]*resourceapi.ResourceClaim, error) {
	var all []*resourceapi.ResourceClaim
	for _, claim := range t.claims {
		all = append(all, claim)
	}
	return all, nil
}

func (t claimTracker) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	if claim := t.claims[namespace+"/"+name]; claim != nil {
		return claim, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, name)
}

func (t claimTracker) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	allocated := sets.New[structured.DeviceID]()
	t.forEachResult(func(id structured.DeviceID, result *resourceapi.DeviceRequestAllocationResult) {
		if result.ShareID == nil {
			allocated.Insert(id)
		}
	})
	return allocated, nil
}

// GatherAllocatedState also tells which devices claims share, and how much of them they take.
func (t claimTracker) GatherAllocatedState() (*structured.AllocatedState, error) {
	allocated, err := t.ListAllAllocatedDevices()
	state := &structured.AllocatedState{AllocatedDevices: allocated,
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection()}
	t.forEachResult(func(id structured.DeviceID, result *resourceapi.DeviceRequestAllocationResult) {
		if result.ShareID == nil {
			return
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			state.AggregatedCapacity.Insert(
				structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	})
	return state, err
}

// forEachResult visits the devices of all claims, except those with admin access.
func (t claimTracker) forEachResult(
	visit func(structured.DeviceID, *resourceapi.DeviceRequestAllocationResult)) {
	for _, claim := range t.claims {
		if claim.Status.Allocation == nil {
			continue
		}
		results := claim.Status.Allocation.Devices.Results
		for i := range results {
			result := &results[i]
			if result.AdminAccess == nil || !*result.AdminAccess {
				visit(structured.MakeDeviceID(result.Driver, result.Pool, result.Device), result)
			}
		}
	}
}

func (t claimTracker) SignalClaimPendingAllocation(types.UID, *resourceapi.ResourceClaim) error {
	return nil
}
func (t claimTracker) GetPendingAllocation(types.UID) *resourceapi.AllocationResult { return nil }
func (t claimTracker) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool       { return false }
func (t claimTracker) AssumeClaimAfterAPICall(*resourceapi.ResourceClaim) error     { return nil }
func (t claimTracker) AssumedClaimRestore(string, string)                           {}

type noGroups struct{}

func (noGroups) Get(string, string) (*podGroup, error) { return nil, nil }
