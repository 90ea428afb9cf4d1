package main

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// devicesArea is dynamic resource allocation.
const devicesArea = "DynamicResources"

const (
	gpuDriver = "gpu.example.com"
	nicDriver = "nic.example.com"
)

// Selectors. Some fail on some devices: a device that lacks an attribute has no such key.
var deviceExpressions = []string{
	`device.driver == "gpu.example.com"`,
	`device.driver == "nic.example.com"`,
	`device.driver == "gpu.example.com" || device.driver == "nic.example.com"`,
	`true`,
	`device.attributes["gpu.example.com"].model == "a100"`,
	`device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "h100"`,
	`device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].index < 2`,
	`device.driver == "gpu.example.com" && device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0`,
	`device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].ecc`,
	`device.allowMultipleAllocations`,
}

// deviceMaker adds what belongs to devices to a cluster that is otherwise complete.
type deviceMaker struct {
	*generator
	slices []*resourceapi.ResourceSlice
	used   map[string]bool
	serial int
	// Few devices, most of which are shared, and many claims for their capacity.
	crowded bool
}

func (g *generator) addDevices(seed uint64, number int) {
	if !slices.Contains(g.limits.Areas, devicesArea) {
		return
	}
	own := *g
	own.Rand = rand.New(rand.NewPCG(seed^0xdeccea55, uint64(number)))
	m := &deviceMaker{generator: &own, used: map[string]bool{}}
	if !m.chance(0.35) {
		return
	}
	m.crowded = m.chance(0.35)
	m.makeClasses()
	m.makeSlices()
	m.makeClaims()
	for _, slice := range m.slices {
		own.others = append(own.others, slice)
	}
	own.Shuffle(len(own.others), func(i, j int) {
		own.others[i], own.others[j] = own.others[j], own.others[i]
	})
	g.others, g.serial = own.others, own.serial
}

func deviceMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: kind}
}

func celSelectors(expressions ...string) []resourceapi.DeviceSelector {
	var selectors []resourceapi.DeviceSelector
	for _, expression := range expressions {
		selectors = append(selectors, resourceapi.DeviceSelector{
			CEL: &resourceapi.CELDeviceSelector{Expression: expression}})
	}
	return selectors
}

var deviceClasses = []string{"gpu", "nic", "any", "odd"}

func (m *deviceMaker) makeClasses() {
	for _, name := range deviceClasses {
		class := &resourceapi.DeviceClass{TypeMeta: deviceMeta("DeviceClass"),
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: m.uid()}}
		switch name {
		case "gpu":
			class.Spec.Selectors = celSelectors(deviceExpressions[0])
		case "nic":
			class.Spec.Selectors = celSelectors(deviceExpressions[1])
		case "odd":
			class.Spec.Selectors = celSelectors(some(m.generator, 2, deviceExpressions...)...)
		}
		m.others = append(m.others, class)
	}
}

func (m *deviceMaker) device(name, driver string, index int) resourceapi.Device {
	device := resourceapi.Device{Name: name}
	device.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"index":            {IntValue: pointerTo(int64(index))},
		"example.com/numa": {StringValue: pointerTo(pick(m.generator, "0", "1"))},
	}
	if m.chance(0.85) {
		device.Attributes["model"] = resourceapi.DeviceAttribute{
			StringValue: pointerTo(pick(m.generator, "a100", "h100"))}
	}
	if m.chance(0.8) {
		device.Attributes["ecc"] = resourceapi.DeviceAttribute{BoolValue: pointerTo(m.chance(0.7))}
	}
	if m.chance(0.5) {
		device.Attributes["firmware"] = resourceapi.DeviceAttribute{
			VersionValue: pointerTo(pick(m.generator, "1.0.0", "1.2.0", "2.0.0-rc.1"))}
	}
	if driver == gpuDriver || m.chance(0.3) {
		device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse(pick(m.generator, "40Gi", "80Gi", "20Gi"))}}
	}
	if m.chance(m.orCrowded(0.3, 0.9)) {
		m.addSharing(&device)
	}
	device.BindsToNode = m.flag(0.1)
	if m.chance(0.03) {
		device.BindingConditions = []string{"example.com/attached"}
		device.BindingFailureConditions = []string{"example.com/failed"}
	}
	if m.chance(0.15) {
		device.Taints = []resourceapi.DeviceTaint{{Key: pick(m.generator, "a", "b"),
			Value: pick(m.generator, "", "x"), Effect: pick(m.generator,
				resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute,
				resourceapi.DeviceTaintEffectNone)}}
	}
	return device
}

func (m *deviceMaker) orCrowded(usual, crowded float64) float64 {
	if m.crowded {
		return crowded
	}
	return usual
}

// flag is set with the probability, and otherwise mostly absent.
func (m *deviceMaker) flag(probability float64) *bool {
	if m.chance(probability) {
		return pointerTo(true)
	}
	if m.chance(0.1) {
		return pointerTo(false)
	}
	return nil
}

// addSharing lets several claims use a device, or at least gives its capacities policies.
func (m *deviceMaker) addSharing(device *resourceapi.Device) {
	device.AllowMultipleAllocations = m.flag(0.85)
	if m.chance(0.1) {
		return // Shared without limits, or by its one capacity.
	}
	if device.Capacity == nil {
		device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
	}
	if memory, has := device.Capacity["memory"]; has {
		memory.RequestPolicy = m.requestPolicy("10Gi", "20Gi", "5Gi", "15Gi")
		device.Capacity["memory"] = memory
	}
	if m.chance(0.7) {
		device.Capacity["slots"] = resourceapi.DeviceCapacity{
			Value:         resource.MustParse(pick(m.generator, "4", "8", "2500m", "3")),
			RequestPolicy: m.requestPolicy("1", "2", "500m", "1500m")}
	}
}

// requestPolicy generates a policy of these amounts: a whole number, its double, a step, and the
// whole number and a step. Its default is one of the amounts that it allows, as the API demands.
func (m *deviceMaker) requestPolicy(one, two, step, more string) *resourceapi.CapacityRequestPolicy {
	quantity := func(text string) *resource.Quantity { return pointerTo(resource.MustParse(text)) }
	policy := &resourceapi.CapacityRequestPolicy{}
	switch m.IntN(5) {
	case 0:
		return nil
	case 1:
		policy.ValidValues = []resource.Quantity{*quantity(one), *quantity(two)}
		if m.chance(0.3) {
			policy.ValidValues = []resource.Quantity{*quantity(step), *quantity(one), *quantity(more)}
		}
	case 2, 3:
		policy.ValidRange = &resourceapi.CapacityRequestPolicyRange{Min: quantity(one)}
		if m.chance(0.3) {
			policy.ValidRange.Min = quantity(step)
		}
		if m.chance(0.5) {
			policy.ValidRange.Max = quantity(two)
		}
		if m.chance(0.6) {
			policy.ValidRange.Step = quantity(pick(m.generator, step, one))
		}
	}
	switch {
	case m.chance(0.3):
	case policy.ValidRange != nil:
		policy.Default = policy.ValidRange.Min
	case policy.ValidValues != nil:
		policy.Default = pointerTo(pick(m.generator, policy.ValidValues...))
	default:
		policy.Default = quantity(pick(m.generator, one, step))
	}
	return policy
}

func (m *deviceMaker) slice(driver, pool string, devices int) *resourceapi.ResourceSlice {
	m.serial++
	slice := &resourceapi.ResourceSlice{TypeMeta: deviceMeta("ResourceSlice"),
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%c-slice-%d", 'a'+m.IntN(3), m.serial),
			UID: m.uid()}}
	slice.Spec.Driver = driver
	slice.Spec.Pool = resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices,
			m.device(fmt.Sprintf("dev-%d-%d", m.serial, i), driver, i))
	}
	m.slices = append(m.slices, slice)
	return slice
}

// pool generates the slices of one pool; reach sets which nodes reach them.
func (m *deviceMaker) pool(driver, name string, reach func(*resourceapi.ResourceSlice)) {
	first := len(m.slices)
	for range pick(m.generator, 1, 1, 1, 2) {
		devices := 2 + m.IntN(5)
		if m.crowded {
			devices = 1 + m.IntN(2)
		}
		reach(m.slice(driver, name, devices))
	}
	if m.chance(0.25) {
		m.addCounters(m.slices[first:], driver, name, reach)
	}
	count := int64(len(m.slices) - first)
	generation := int64(1 + m.IntN(2))
	if m.chance(0.08) {
		count++ // Incomplete.
	}
	for _, slice := range m.slices[first:] {
		slice.Spec.Pool.ResourceSliceCount = count
		slice.Spec.Pool.Generation = generation
	}
	if m.chance(0.1) {
		old := m.slice(driver, name, 1+m.IntN(2))
		reach(old)
		old.Spec.Pool.Generation = generation - 1
	}
	if m.chance(0.04) {
		devices := m.slices[first].Spec.Devices
		devices[0].Name = devices[len(devices)-1].Name // Invalid if there are two.
	}
}

func (m *deviceMaker) addCounters(with []*resourceapi.ResourceSlice, driver, pool string,
	reach func(*resourceapi.ResourceSlice)) {
	quantity := func(text string) resourceapi.Counter {
		return resourceapi.Counter{Value: resource.MustParse(text)}
	}
	sets := []string{"card-0", "card-1"}[:1+m.IntN(2)]
	for _, slice := range with {
		for i := range slice.Spec.Devices {
			if m.chance(0.2) {
				continue
			}
			set := pick(m.generator, sets...)
			if m.chance(0.03) {
				set = "unknown"
			}
			slice.Spec.Devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{
				CounterSet: set, Counters: map[string]resourceapi.Counter{
					"memory": quantity(pick(m.generator, "10Gi", "20Gi", "40Gi"))}}}
		}
	}
	counters := m.slice(driver, pool, 0)
	reach(counters)
	for _, set := range sets {
		counters.Spec.SharedCounters = append(counters.Spec.SharedCounters, resourceapi.CounterSet{
			Name: set, Counters: map[string]resourceapi.Counter{"memory": quantity("40Gi")}})
	}
}

func (m *deviceMaker) zoneSelector() *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone,
			Operator: v1.NodeSelectorOpIn, Values: []string{pick(m.generator, "z1", "z2", "z3")}}}}}}
}

func (m *deviceMaker) makeSlices() {
	for i := range m.nodes {
		for _, driver := range some(m.generator, 2, gpuDriver, nicDriver) {
			m.pool(driver, nodeName(i), func(slice *resourceapi.ResourceSlice) {
				slice.Spec.NodeName = pointerTo(nodeName(i))
			})
		}
	}
	if m.chance(0.3) {
		m.pool(nicDriver, "everywhere", func(slice *resourceapi.ResourceSlice) {
			slice.Spec.AllNodes = pointerTo(true)
		})
	}
	if m.chance(0.3) {
		m.pool(nicDriver, "zonal", func(slice *resourceapi.ResourceSlice) {
			slice.Spec.NodeSelector = m.zoneSelector()
		})
	}
	if m.chance(0.25) {
		m.pool(gpuDriver, "fabric", func(slice *resourceapi.ResourceSlice) {
			slice.Spec.PerDeviceNodeSelection = pointerTo(true)
			for i := range slice.Spec.Devices {
				device := &slice.Spec.Devices[i]
				switch m.IntN(3) {
				case 0:
					device.NodeName = pointerTo(nodeName(m.IntN(len(m.nodes))))
				case 1:
					device.AllNodes = pointerTo(true)
				case 2:
					device.NodeSelector = m.zoneSelector()
				}
			}
		})
	}
}

// --- Claims

func (m *deviceMaker) tolerations() []resourceapi.DeviceToleration {
	var tolerations []resourceapi.DeviceToleration
	for range pick(m.generator, 0, 0, 1, 2) {
		toleration := resourceapi.DeviceToleration{Key: pick(m.generator, "a", "b", ""),
			Operator: resourceapi.DeviceTolerationOpExists}
		if toleration.Key != "" && m.chance(0.5) {
			toleration.Operator = resourceapi.DeviceTolerationOpEqual
			toleration.Value = pick(m.generator, "", "x")
		}
		if m.chance(0.3) {
			toleration.Effect = resourceapi.DeviceTaintEffectNoSchedule
		}
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}

func (m *deviceMaker) exactly() resourceapi.ExactDeviceRequest {
	request := resourceapi.ExactDeviceRequest{
		DeviceClassName: pick(m.generator, "gpu", "gpu", "gpu", "nic", "nic", "any", "odd"),
		AllocationMode:  resourceapi.DeviceAllocationModeExactCount,
		Count:           pick(m.generator, int64(1), 1, 1, 1, 1, 2, 3),
		Tolerations:     m.tolerations(),
	}
	if m.chance(0.25) {
		request.Selectors = celSelectors(pick(m.generator, deviceExpressions...))
	}
	if m.chance(0.12) {
		request.AllocationMode = resourceapi.DeviceAllocationModeAll
		request.Count = 0
	}
	if m.chance(0.08) {
		request.AdminAccess = pointerTo(true)
	}
	if m.chance(m.orCrowded(0.3, 0.7)) {
		request.Capacity = m.capacityRequest()
	}
	return request
}

var capacityAmounts = map[resourceapi.QualifiedName][]string{
	"memory": {"10Gi", "12Gi", "5Gi", "20Gi", "1Gi", "10737418240500m", "60Gi"},
	"slots":  {"1", "2", "500m", "1250m", "3", "0", "1500u"},
}

func (m *deviceMaker) capacityRequest() *resourceapi.CapacityRequirements {
	capacity := &resourceapi.CapacityRequirements{
		Requests: map[resourceapi.QualifiedName]resource.Quantity{}}
	for name, amounts := range m.sortedAmounts() {
		if m.chance(0.6) {
			capacity.Requests[name] = resource.MustParse(pick(m.generator, amounts...))
		}
	}
	if m.chance(0.03) {
		capacity.Requests["unknown"] = resource.MustParse("1")
	}
	return capacity
}

// sortedAmounts iterates over capacityAmounts in a fixed order.
func (m *deviceMaker) sortedAmounts() iter.Seq2[resourceapi.QualifiedName, []string] {
	return func(yield func(resourceapi.QualifiedName, []string) bool) {
		for _, name := range slices.Sorted(maps.Keys(capacityAmounts)) {
			if !yield(name, capacityAmounts[name]) {
				return
			}
		}
	}
}

func (m *deviceMaker) request(name string) resourceapi.DeviceRequest {
	request := resourceapi.DeviceRequest{Name: name}
	if !m.chance(0.2) {
		request.Exactly = pointerTo(m.exactly())
		return request
	}
	for i := range 1 + m.IntN(3) {
		exactly := m.exactly()
		request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
			Name: fmt.Sprintf("sub%d", i), DeviceClassName: exactly.DeviceClassName,
			Selectors: exactly.Selectors, AllocationMode: exactly.AllocationMode,
			Count: exactly.Count, Tolerations: exactly.Tolerations, Capacity: exactly.Capacity})
	}
	return request
}

func (m *deviceMaker) claim(namespace, name string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{TypeMeta: deviceMeta("ResourceClaim"),
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: m.uid()}}
	spec := &claim.Spec.Devices
	names := []string{"r0", "r1", "r2"}[:pick(m.generator, 1, 1, 1, 1, 1, 2, 3)]
	for _, each := range names {
		spec.Requests = append(spec.Requests, m.request(each))
	}
	for range pick(m.generator, 0, 0, 0, 1, 2) {
		constraint := resourceapi.DeviceConstraint{}
		attribute := pointerTo(resourceapi.FullyQualifiedName(pick(m.generator, "example.com/numa",
			"gpu.example.com/model", "gpu.example.com/index", "gpu.example.com/firmware")))
		if m.chance(0.6) {
			constraint.MatchAttribute = attribute
		} else {
			constraint.DistinctAttribute = attribute
		}
		if m.chance(0.5) {
			constraint.Requests = some(m.generator, 2, names...)
			if first := spec.Requests[0]; first.FirstAvailable != nil && m.chance(0.5) {
				constraint.Requests = []string{"r0/" + first.FirstAvailable[0].Name}
			}
		}
		spec.Constraints = append(spec.Constraints, constraint)
	}
	m.others = append(m.others, claim)
	return claim
}

// allocate gives a claim some devices that a node reaches and that are free, as if they had been
// allocated in another time: they need not be what the claim requests.
func (m *deviceMaker) allocate(claim *resourceapi.ResourceClaim, node string) {
	allocation := &resourceapi.AllocationResult{}
	want := 1 + m.IntN(2)
	if m.crowded {
		want += m.IntN(4)
	}
	for _, i := range m.Perm(len(m.slices)) {
		slice := m.slices[i]
		if node != "" && slice.Spec.NodeName != nil && *slice.Spec.NodeName != node {
			continue
		}
		for _, device := range slice.Spec.Devices {
			key := slice.Spec.Driver + "/" + slice.Spec.Pool.Name + "/" + device.Name
			if want == 0 || m.used[key] || m.chance(0.3) {
				continue
			}
			shared := device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations
			if shared {
				shared = m.chance(0.95) // A driver may have allowed it later.
			}
			m.used[key] = !shared
			want--
			result := resourceapi.DeviceRequestAllocationResult{Request: "r0",
				Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: device.Name}
			if m.chance(0.05) {
				result.AdminAccess = pointerTo(true)
			}
			if shared || m.chance(0.02) {
				m.share(&device, &result)
			}
			m.bind(claim, &device, &result)
			allocation.Devices.Results = append(allocation.Devices.Results, result)
		}
	}
	switch m.IntN(5) {
	case 0:
		allocation.NodeSelector = m.zoneSelector()
	case 1, 2, 3:
		if node != "" {
			allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField,
					Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}}
		}
	}
	claim.Status.Allocation = allocation
}

// share lets the result take a part of the device.
func (m *deviceMaker) share(device *resourceapi.Device,
	result *resourceapi.DeviceRequestAllocationResult) {
	m.serial++
	result.ShareID = pointerTo(types.UID(fmt.Sprintf("share-%d", m.serial)))
	for name := range m.sortedAmounts() {
		if _, has := device.Capacity[name]; !has && m.chance(0.9) {
			continue
		}
		if result.ConsumedCapacity == nil {
			result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{}
		}
		amount := pick(m.generator, "5Gi", "10Gi", "20Gi")
		if name == "slots" {
			amount = pick(m.generator, "1", "2", "500m", "0")
		}
		result.ConsumedCapacity[name] = resource.MustParse(amount)
	}
}

// bind gives the result the device's binding conditions, which mostly hold.
func (m *deviceMaker) bind(claim *resourceapi.ResourceClaim, device *resourceapi.Device,
	result *resourceapi.DeviceRequestAllocationResult) {
	if len(device.BindingConditions) == 0 {
		return
	}
	result.BindingConditions = device.BindingConditions
	result.BindingFailureConditions = device.BindingFailureConditions
	if m.chance(0.1) {
		return
	}
	status := resourceapi.AllocatedDeviceStatus{Driver: result.Driver, Pool: result.Pool,
		Device: result.Device}
	for _, condition := range []string{"example.com/attached", "example.com/failed"} {
		value := metav1.ConditionFalse
		if (condition == "example.com/attached") == m.chance(0.9) {
			value = metav1.ConditionTrue
		}
		status.Conditions = append(status.Conditions, metav1.Condition{Type: condition,
			Status: value, Reason: "Driver"})
	}
	claim.Status.Devices = append(claim.Status.Devices, status)
}

func reserve(claim *resourceapi.ResourceClaim, pod *v1.Pod) {
	claim.Status.ReservedFor = append(claim.Status.ReservedFor,
		resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
}

func (m *deviceMaker) makeClaims() {
	shared := map[string][]*resourceapi.ResourceClaim{} // By namespace.
	for i := range m.IntN(3) {
		if m.chance(0.4) {
			m.allocate(m.claim("default", fmt.Sprintf("orphan-%d", i)), "")
		}
	}
	for _, pod := range m.pods {
		if hasEnded(pod) || pod.Status.NominatedNodeName != "" || pod.UID == "" || !m.chance(m.orCrowded(0.5, 0.9)) {
			continue
		}
		node := pod.Spec.NodeName
		for i := range pick(m.generator, 1, 1, 1, 2) {
			entry := v1.PodResourceClaim{Name: fmt.Sprintf("claim%d", i)}
			var claim *resourceapi.ResourceClaim
			known := shared[pod.Namespace]
			switch {
			case len(known) > 0 && m.chance(0.35):
				claim = pick(m.generator, known...)
				entry.ResourceClaimName = &claim.Name
			case m.chance(0.2):
				claim = m.claim(pod.Namespace, fmt.Sprintf("shared-%d", len(known)))
				shared[pod.Namespace] = append(known, claim)
				entry.ResourceClaimName = &claim.Name
			default:
				claim = m.claim(pod.Namespace, fmt.Sprintf("%s-%s", pod.Name, entry.Name))
				claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod",
					Name: pod.Name, UID: pod.UID, Controller: pointerTo(true)}}
				entry.ResourceClaimTemplateName = pointerTo("template")
				pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses,
					v1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &claim.Name})
			}
			if slices.ContainsFunc(pod.Spec.ResourceClaims, func(other v1.PodResourceClaim) bool {
				return other.ResourceClaimName != nil && entry.ResourceClaimName != nil &&
					*other.ResourceClaimName == *entry.ResourceClaimName
			}) {
				continue
			}
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
			if node != "" {
				if claim.Status.Allocation == nil {
					m.allocate(claim, node)
				}
				reserve(claim, pod)
			}
		}
	}
}
