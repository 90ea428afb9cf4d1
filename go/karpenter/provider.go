//go:build record

package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// A provider sells the instance types of a case.  Karpenter's own fake provider would bring the packages of
// its test environment into the build, and sells no types but its own by these names.
type provider struct {
	types []*cloudprovider.InstanceType
}

var _ cloudprovider.CloudProvider = &provider{}

var errNoCloud = errors.New("the recorder has no cloud")

func newProvider(types []InstanceType) *provider {
	p := &provider{}
	for _, t := range types {
		p.types = append(p.types, instanceType(t))
	}
	return p
}

func instanceType(t InstanceType) *cloudprovider.InstanceType {
	capacityTypes := map[string]float64{karpv1.CapacityTypeOnDemand: t.Price, karpv1.CapacityTypeSpot: t.SpotPrice}
	if t.SpotPrice == 0 {
		delete(capacityTypes, karpv1.CapacityTypeSpot)
	}
	sold := slices.Sorted(maps.Keys(capacityTypes))
	in := func(key string, values ...string) *scheduling.Requirement {
		return scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, values...)
	}
	var offerings cloudprovider.Offerings
	for _, zone := range t.Zones {
		for _, capacityType := range sold {
			offerings = append(offerings, &cloudprovider.Offering{
				Available: true,
				Price:     capacityTypes[capacityType],
				Requirements: scheduling.NewLabelRequirements(map[string]string{
					karpv1.CapacityTypeLabelKey: capacityType, corev1.LabelTopologyZone: zone}),
			})
		}
	}
	capacity, reserved := t.Capacity.list(), t.Capacity.list()
	for name, allocatable := range t.Allocatable.list() {
		left := reserved[name]
		left.Sub(allocatable)
		reserved[name] = left
	}
	return &cloudprovider.InstanceType{
		Name:      t.Name,
		Offerings: offerings,
		Capacity:  capacity,
		Overhead:  &cloudprovider.InstanceTypeOverhead{KubeReserved: reserved},
		Requirements: scheduling.NewRequirements(
			in(corev1.LabelInstanceTypeStable, t.Name),
			in(corev1.LabelArchStable, karpv1.ArchitectureAmd64),
			in(corev1.LabelOSStable, string(corev1.Linux)),
			in(corev1.LabelTopologyZone, t.Zones...),
			in(karpv1.CapacityTypeLabelKey, sold...)),
	}
}

func (a Amounts) list() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(a.CPU),
		corev1.ResourceMemory: resource.MustParse(a.Memory),
		corev1.ResourcePods:   resource.MustParse(a.Pods),
	}
}

func (p *provider) GetInstanceTypes(context.Context, *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.types, nil
}

func (*provider) GetSupportedNodeClasses() []status.Object { return []status.Object{newNodeClass()} }
func (*provider) Name() string                             { return "recorded" }
func (*provider) RepairPolicies() []cloudprovider.RepairPolicy {
	return nil
}

func (*provider) IsDrifted(context.Context, *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

func (*provider) Create(context.Context, *karpv1.NodeClaim) (*karpv1.NodeClaim, error) {
	return nil, errNoCloud
}
func (*provider) Delete(context.Context, *karpv1.NodeClaim) error { return errNoCloud }
func (*provider) Get(context.Context, string) (*karpv1.NodeClaim, error) {
	return nil, errNoCloud
}
func (*provider) List(context.Context) ([]*karpv1.NodeClaim, error) { return nil, errNoCloud }

// nodeClassKind is the kind of node class that NodePools must name for Karpenter to manage them.
var nodeClassKind = schema.GroupVersionKind{Group: "karpenter.k8s.aws", Version: "v1", Kind: "EC2NodeClass"}

// A nodeClass only has a kind: Karpenter compares it with spec.template.spec.nodeClassRef.
type nodeClass struct{ *unstructured.Unstructured }

func newNodeClass() nodeClass {
	class := nodeClass{&unstructured.Unstructured{}}
	class.SetGroupVersionKind(nodeClassKind)
	return class
}

func (nodeClass) GetConditions() []status.Condition { return nil }
func (nodeClass) SetConditions([]status.Condition)  {}
func (c nodeClass) StatusConditions(...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions().For(c, status.WithObservedOnly())
}
