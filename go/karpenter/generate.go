//go:build record

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// The features that a case may have.  Each makes some objects unusual in one way.
var allFeatures = []string{
	"anti-affinity", "budgets", "consolidate-after", "cron", "daemon-missing", "deleting", "do-not-disrupt", "drift",
	"host-ports", "limits", "node-labels", "node-states", "pdbs", "pending", "pod-costs", "pod-phases", "policies",
	"pools", "selectors", "spread", "stale-conditions", "taints", "termination-grace-period", "unmanaged",
}

// The features that are chosen more often, because many different things can happen with them.
var frequent = []string{"budgets", "cron", "deleting", "do-not-disrupt", "drift", "node-labels", "node-states", "pdbs", "pod-phases",
	"stale-conditions", "termination-grace-period"}

var zones = []string{"us-east-1a", "us-east-1b"}

var instanceTypes = []InstanceType{
	{Name: "t3.medium", Capacity: Amounts{"2", "4Gi", "8"}, Allocatable: Amounts{"1930m", "3400Mi", "8"}, Zones: zones,
		Price: 0.0416, SpotPrice: 0.0125},
	{Name: "m5.large", Capacity: Amounts{"2", "8Gi", "29"}, Allocatable: Amounts{"1930m", "7000Mi", "29"}, Zones: zones,
		Price: 0.096, SpotPrice: 0.035},
	{Name: "m5.xlarge", Capacity: Amounts{"4", "16Gi", "58"}, Allocatable: Amounts{"3920m", "15000Mi", "58"}, Zones: zones,
		Price: 0.192, SpotPrice: 0.07},
}

// A generator makes one case.
type generator struct {
	*rand.Rand
	kase     *Case
	has      map[string]bool
	objects  []client.Object
	pools    []*karpv1.NodePool
	machines []*machine
	podCount int
	cheap    bool // Most pods cost nothing to evict.
}

// A machine is a node under construction.
type machine struct {
	node   *corev1.Node
	claim  *karpv1.NodeClaim
	pool   *karpv1.NodePool
	milli  int64 // Free CPU.
	mebi   int64 // Free memory.
	pods   int64 // Free places.
	taints []corev1.Taint
}

// generate makes the case of this number, with Karpenter's answers.
func generate(seed uint64, number int) (*Case, error) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(number))), has: map[string]bool{}}
	g.kase = &Case{Name: fmt.Sprintf("%d-%04d", seed, number), Now: g.moment()}
	if number%15 == 14 {
		g.makeSchedules()
	} else {
		g.chooseFeatures()
		g.makePools()
		g.makeMachines()
		g.makeDaemonSets()
		g.makeWorkloads()
	}
	if err := g.finish(); err != nil {
		return nil, err
	}
	var err error
	if g.kase.Answers, err = answer(g.kase, instanceTypes); err != nil {
		return nil, err
	}
	if g.kase.Ask = g.someTogether(); g.kase.Ask != nil {
		g.kase.Answers, err = answer(g.kase, instanceTypes)
	}
	return g.kase, err
}

// someTogether chooses two or more of the candidates.
func (g *generator) someTogether() [][]string {
	var names []string
	for name, node := range g.kase.Answers.Nodes {
		if node.Simulation != nil {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	sort.Strings(names)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return [][]string{names[:2+g.IntN(len(names)-1)]}
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

// with reports whether the case has the feature and the dice say so.
func (g *generator) with(feature string, p float64) bool { return g.has[feature] && g.chance(p) }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// moment is a time in 2026, often a full minute or hour, where schedules begin and end.
func (g *generator) moment() time.Time {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(g.IntN(365*24*60)) * time.Minute)
	switch g.IntN(4) {
	case 0:
		return now.Truncate(time.Hour)
	case 1:
		return now.Add(time.Duration(g.IntN(60)) * time.Second)
	default:
		return now
	}
}

func (g *generator) chooseFeatures() {
	switch g.IntN(8) {
	case 0: // None.
	case 1:
		for _, feature := range allFeatures {
			g.has[feature] = g.chance(0.5)
		}
	default:
		for range 1 + g.IntN(4) {
			g.has[pick(g, pick(g, allFeatures...), pick(g, frequent...))] = true
		}
	}
	g.cheap = g.with("pod-costs", 0.5)
	g.kase.Features = []string{}
	for _, feature := range allFeatures {
		if g.has[feature] {
			g.kase.Features = append(g.kase.Features, feature)
		}
	}
}

func (g *generator) ago(d time.Duration) metav1.Time { return metav1.NewTime(g.kase.Now.Add(-d).UTC()) }

// past is a time up to two days ago, in whole minutes.
func (g *generator) past() metav1.Time { return g.ago(time.Duration(g.IntN(2*24*60)) * time.Minute) }

func (g *generator) uid(kind string, number int) types.UID {
	return types.UID(fmt.Sprintf("%s-%04d", kind, number))
}

func (g *generator) makePools() {
	count := 1 + g.IntN(2)
	if g.has["budgets"] || g.has["cron"] || g.has["pools"] {
		count++
	}
	g.addPools(count)
}

// makeSchedules makes pools with schedules, and one node that is of no pool.
func (g *generator) makeSchedules() {
	g.kase.Features = []string{"schedules"}
	g.has["cron"] = true
	g.addPools(10)
	m := g.makeMachine(0)
	g.unmanage(m)
	g.objects = append(g.objects, m.node)
}

func (g *generator) addPools(count int) {
	for i := range count {
		pool := &karpv1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%c", 'a'+i)},
			Spec: karpv1.NodePoolSpec{
				Disruption: karpv1.Disruption{
					ConsolidateAfter:    karpv1.MustParseNillableDuration("0s"),
					ConsolidationPolicy: karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
					Budgets:             []karpv1.Budget{{Nodes: pick(g, "10%", "100%", "2")}},
				},
				Template: karpv1.NodeClaimTemplate{Spec: karpv1.NodeClaimTemplateSpec{
					ExpireAfter:  karpv1.MustParseNillableDuration(pick(g, "720h", "Never", "72h")),
					NodeClassRef: classRef(),
				}},
			},
			Status: karpv1.NodePoolStatus{Conditions: []status.Condition{
				condition("Ready", true, "", metav1.Time{}),
				condition(karpv1.ConditionTypeValidationSucceeded, true, "", metav1.Time{}),
				condition(karpv1.ConditionTypeNodeClassReady, true, "", metav1.Time{})}},
		}
		g.varyPool(pool)
		g.pools = append(g.pools, pool)
		g.objects = append(g.objects, pool)
	}
}

func classRef() *karpv1.NodeClassReference {
	return &karpv1.NodeClassReference{Group: nodeClassKind.Group, Kind: nodeClassKind.Kind, Name: "default"}
}

func condition(kind string, isTrue bool, reason string, since metav1.Time) status.Condition {
	state := metav1.ConditionFalse
	if isTrue {
		state = metav1.ConditionTrue
	}
	return status.Condition{Type: kind, Status: state, Reason: reason, LastTransitionTime: since}
}

func (g *generator) varyPool(pool *karpv1.NodePool) {
	spec := &pool.Spec
	if g.with("policies", 0.7) {
		spec.Disruption.ConsolidationPolicy = pick(g, karpv1.ConsolidationPolicyWhenEmpty, karpv1.ConsolidationPolicyBalanced,
			karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized)
		if g.chance(0.3) {
			spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("Never")
		}
	}
	if g.with("consolidate-after", 0.8) {
		spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration(pick(g, "30s", "5m", "1h", "24h", "1h30m"))
	}
	if g.with("taints", 0.5) {
		taint := corev1.Taint{Key: "dedicated", Value: pick(g, "batch", "web"), Effect: corev1.TaintEffectNoSchedule}
		spec.Template.Spec.Taints = []corev1.Taint{taint}
	}
	if g.with("termination-grace-period", 0.7) {
		spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
	}
	if g.with("limits", 0.7) {
		spec.Limits = karpv1.Limits{corev1.ResourceCPU: quantity(pick(g, "0", "4", "12"))}
	}
	if g.has["pools"] {
		g.spoilPool(pool)
	}
	g.setBudgets(pool)
}

// spoilPool makes a pool that Karpenter treats as special or as absent.
func (g *generator) spoilPool(pool *karpv1.NodePool) {
	switch g.IntN(5) {
	case 0:
		replicas := int64(1 + g.IntN(3))
		pool.Spec.Replicas = &replicas
	case 1:
		pool.Spec.Template.Spec.NodeClassRef.Kind = "OtherNodeClass"
	case 2:
		pool.Status.Conditions[0].Status = metav1.ConditionFalse
		pool.Status.Conditions[0].Reason = "NodeClassNotReady"
	case 3:
		weight := int32(1 + g.IntN(100))
		pool.Spec.Weight = &weight
	}
}

func (g *generator) makeMachines() {
	count := 2 + g.IntN(4)
	if g.has["budgets"] && g.chance(0.4) {
		count += 2
	}
	for i := range count {
		m := g.makeMachine(i)
		if g.with("unmanaged", 0.4) {
			g.unmanage(m)
		} else {
			g.varyMachine(m)
		}
		g.machines = append(g.machines, m)
		if m.node != nil {
			g.objects = append(g.objects, m.node)
		}
		if m.claim != nil {
			g.objects = append(g.objects, m.claim)
		}
	}
}

func (g *generator) makeMachine(i int) *machine {
	pool := pick(g, g.pools...)
	kind := pick(g, instanceTypes...)
	zone := pick(g, zones...)
	name := fmt.Sprintf("ip-10-0-0-%d", 10+i)
	providerID := fmt.Sprintf("aws:///%s/i-%04d", zone, i)
	labels := map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelInstanceTypeStable: kind.Name,
		corev1.LabelTopologyZone:       zone,
		karpv1.CapacityTypeLabelKey:    pick(g, karpv1.CapacityTypeOnDemand, karpv1.CapacityTypeSpot),
		karpv1.NodePoolLabelKey:        pool.Name,
	}
	created := g.ago(time.Duration(3+g.IntN(100)) * time.Hour)
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%04d", pool.Name, i),
			CreationTimestamp: created, Labels: map[string]string{karpv1.NodePoolLabelKey: pool.Name}},
		Spec: karpv1.NodeClaimSpec{
			ExpireAfter: pool.Spec.Template.Spec.ExpireAfter, Taints: pool.Spec.Template.Spec.Taints,
			NodeClassRef:           pool.Spec.Template.Spec.NodeClassRef.DeepCopy(),
			TerminationGracePeriod: pool.Spec.Template.Spec.TerminationGracePeriod,
		},
		Status: karpv1.NodeClaimStatus{
			NodeName: name, ProviderID: providerID,
			Conditions: []status.Condition{condition(karpv1.ConditionTypeInitialized, true, "Initialized", created)}},
	}
	labels[karpv1.NodeRegisteredLabelKey] = "true"
	labels[karpv1.NodeInitializedLabelKey] = "true"
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: providerID, Taints: append([]corev1.Taint(nil), claim.Spec.Taints...)},
		Status: corev1.NodeStatus{Allocatable: kind.Allocatable.list(),
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	if g.has["limits"] {
		node.Status.Capacity = kind.Capacity.list()
	}
	allocatable := kind.Allocatable.list()
	return &machine{node: node, claim: claim, pool: pool, taints: node.Spec.Taints,
		milli: allocatable.Cpu().MilliValue(), mebi: allocatable.Memory().Value() >> 20, pods: allocatable.Pods().Value()}
}

// unmanage makes it a node of a node group: Karpenter knows only its room.
func (g *generator) unmanage(m *machine) {
	m.claim, m.pool = nil, nil
	for _, key := range []string{karpv1.NodePoolLabelKey, karpv1.NodeRegisteredLabelKey, karpv1.NodeInitializedLabelKey,
		karpv1.CapacityTypeLabelKey} {
		delete(m.node.Labels, key)
	}
	m.node.Labels["eks.amazonaws.com/nodegroup"] = "system"
	m.node.Spec.Taints, m.taints = nil, nil
}

func (g *generator) varyMachine(m *machine) {
	if g.has["consolidate-after"] && g.chance(0.7) {
		m.claim.Status.LastPodEventTime = g.ago(pick(g, 10*time.Second, time.Minute, 5*time.Minute, 10*time.Minute,
			time.Hour, 2*time.Hour, 25*time.Hour))
	}
	if g.with("drift", 0.5) {
		m.claim.Status.Conditions = append(m.claim.Status.Conditions,
			condition(karpv1.ConditionTypeDrifted, g.chance(0.8), "NodePoolDrifted", g.past()))
	}
	if g.with("deleting", 0.3) {
		g.deleteMachine(m)
	}
	if g.with("node-labels", 0.5) {
		g.spoilLabels(m)
	}
	if g.with("node-states", 0.6) {
		g.spoilState(m)
	}
	if m.node != nil && g.with("taints", 0.2) {
		taint := pick(g, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: "example.com/maintenance", Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: "example.com/slow", Effect: corev1.TaintEffectPreferNoSchedule})
		m.node.Spec.Taints = append(m.node.Spec.Taints, taint)
		m.node.Spec.Unschedulable = taint.Key == corev1.TaintNodeUnschedulable
	}
}

func (g *generator) deleteMachine(m *machine) {
	deleted := g.ago(time.Duration(1+g.IntN(20)) * time.Minute)
	switch g.IntN(3) {
	case 0:
		m.claim.Status.Conditions = append(m.claim.Status.Conditions,
			condition(karpv1.ConditionTypeInstanceTerminating, true, "InstanceTerminating", deleted))
	case 1:
		m.node.Finalizers = []string{karpv1.TerminationFinalizer}
		m.node.DeletionTimestamp = &deleted
	}
	m.claim.DeletionTimestamp = &deleted
	m.claim.Finalizers = []string{karpv1.TerminationFinalizer}
	m.node.Spec.Taints = append(m.node.Spec.Taints, karpv1.DisruptedNoScheduleTaint)
}

func (g *generator) spoilLabels(m *machine) {
	switch g.IntN(7) {
	case 0:
		m.node.Labels[karpv1.NodePoolLabelKey] = "gone"
	case 1:
		delete(m.node.Labels, karpv1.NodePoolLabelKey)
	case 2:
		m.node.Labels[corev1.LabelInstanceTypeStable] = "x9.huge"
	case 3:
		delete(m.node.Labels, karpv1.CapacityTypeLabelKey)
	case 4:
		delete(m.node.Labels, corev1.LabelTopologyZone)
	case 5:
		m.claim.Labels[karpv1.NodePoolLabelKey] = "gone"
	case 6:
		m.claim.Spec.NodeClassRef.Kind = "OtherNodeClass"
	}
}

func (g *generator) spoilState(m *machine) {
	switch g.IntN(10) {
	case 0:
		delete(m.node.Labels, karpv1.NodeInitializedLabelKey)
		m.initialize()
	case 1:
		delete(m.node.Labels, karpv1.NodeInitializedLabelKey)
		delete(m.node.Labels, karpv1.NodeRegisteredLabelKey)
		m.initialize()
	case 2:
		m.node.Status.Conditions[0].Status = pick(g, corev1.ConditionFalse, corev1.ConditionUnknown)
	case 3, 4:
		m.node.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: pick(g, "true", "true", "false", "30m")}
	case 5:
		m.claim.Annotations = map[string]string{karpv1.DoNotDisruptAnnotationKey: "true"}
	case 6:
		m.claim = nil
	case 7:
		m.initialize()
		m.node = nil
		m.claim.Status.NodeName = ""
	case 8:
		m.node.Spec.Taints = append(m.node.Spec.Taints, karpv1.DisruptedNoScheduleTaint)
	case 9:
		m.initialize()
		m.node = nil
		m.claim.Status = karpv1.NodeClaimStatus{Conditions: m.claim.Status.Conditions} // Not launched yet.
	}
}

// initialize puts the machine back to where Karpenter waits for it.
func (m *machine) initialize() {
	m.claim.Status.Conditions[0].Status = metav1.ConditionUnknown
	m.claim.Status.Conditions[0].Reason = "AwaitingReconciliation"
	m.claim.Status.Capacity, m.claim.Status.Allocatable = m.node.Status.Capacity, m.node.Status.Allocatable
	for _, key := range []string{corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, karpv1.CapacityTypeLabelKey} {
		m.claim.Labels[key] = m.node.Labels[key]
	}
}

// finish writes the objects as a List.  Karpenter's controller of NodeClaims decides which are consolidatable.
func (g *generator) finish() error {
	if err := g.encodeAll(); err != nil {
		return err
	}
	w, err := newWorld(g.kase, instanceTypes)
	if err != nil {
		return err
	}
	a := &asking{world: w}
	if err := a.prepare(); err != nil {
		return err
	}
	for _, m := range g.machines {
		if m.claim == nil {
			continue
		}
		isTrue, err := a.reconciledConsolidatable(m.claim.Name)
		if err != nil {
			return err
		}
		consolidatable := isTrue != nil && *isTrue
		if g.with("stale-conditions", 0.4) {
			consolidatable = !consolidatable
		}
		if consolidatable {
			m.claim.Status.Conditions = append(m.claim.Status.Conditions,
				condition(karpv1.ConditionTypeConsolidatable, true, "Consolidatable", g.ago(time.Minute)))
		}
	}
	return g.encodeAll()
}

func (g *generator) encodeAll() error {
	g.kase.Input = List{APIVersion: "v1", Kind: "List", Items: []json.RawMessage{}}
	sort.SliceStable(g.objects, func(i, j int) bool { return rank(g.objects[i]) < rank(g.objects[j]) })
	for _, object := range g.objects {
		item, err := encode(object)
		if err != nil {
			return err
		}
		g.kase.Input.Items = append(g.kase.Input.Items, item)
	}
	return nil
}

// rank orders the kinds of a List.
func rank(object client.Object) int {
	switch object.(type) {
	case *karpv1.NodePool:
		return 0
	case *karpv1.NodeClaim:
		return 1
	case *corev1.Node:
		return 2
	case *corev1.Pod:
		return 4
	default:
		return 3
	}
}
