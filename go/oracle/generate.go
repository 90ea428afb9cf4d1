package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Areas are families of rules that a cluster may exercise. If one plugin of the scheduler is the
// family, the area has its name. Each generated cluster switches each area on or off at random, so
// that an early filter does not always hide a late one.
var Areas = []string{
	"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
	"PodStatusResources", "VolumeRestrictions", "PersistentVolumes", "CSIMigration",
	"PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures", "Odd", devicesArea,
	configArea,
}

// Limits limit the generated clusters.
type Limits struct {
	NodesMax  int
	PodsAsked int      // At most this many pods of a cluster are asked about.
	Areas     []string // Subset of Areas.
	Scores    bool     // Also generate what only scores read, and request scores.
}

// generator generates one random cluster. Every set of values is small, so that rules interact: few
// label keys, few values, few ports, machines that hold only a few pods.
type generator struct {
	*rand.Rand
	limits Limits
	on     map[string]bool
	nodes  []*v1.Node
	pods   []*v1.Pod
	others []Object
	serial int
	shelf  volumeShelf
}

// Generate returns cluster `number` of a seed. The same arguments always give the same request.
func Generate(seed uint64, number int, limits Limits) *Request {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(number))), limits: limits,
		on: map[string]bool{}}
	for _, area := range Areas {
		if area == devicesArea || area == configArea {
			continue // It has random numbers of its own.
		}
		chance := 0.3
		if area == "Odd" {
			chance = 0.1
		}
		g.on[area] = slices.Contains(limits.Areas, area) && g.Float64() < chance
	}
	g.makeNamespaces()
	g.makeNodes(1 + g.IntN(limits.NodesMax))
	g.makeVolumes()
	g.makePods()
	g.addDevices(seed, number)
	if limits.Scores {
		g.addPreferences(rand.New(rand.NewPCG(^seed, uint64(number))))
	}
	g.addConfig(seed, number)
	return asRead(g.request(number))
}

// asRead returns the request as ebb reads it and as an API server would store it: an empty list
// becomes an absent one. The scheduler of 1.37 treats them differently.
func asRead(request *Request) *Request {
	text, err := json.Marshal(request)
	read := &Request{}
	if err == nil {
		err = json.Unmarshal(text, read)
	}
	if err != nil {
		panic(err) // A request that was just generated is always valid JSON.
	}
	return read
}

func (g *generator) request(number int) *Request {
	request := &Request{ID: number, Scores: g.limits.Scores, Kubernetes: kubernetesVersion}
	for _, node := range g.nodes {
		request.Objects = append(request.Objects, node)
	}
	for _, pod := range g.pods {
		request.Objects = append(request.Objects, pod)
	}
	request.Objects = append(request.Objects, g.others...)
	for _, i := range g.Perm(len(g.pods)) {
		if pod := g.pods[i]; !hasEnded(pod) && len(request.Pods) < g.limits.PodsAsked {
			request.Pods = append(request.Pods, podKey(pod))
		}
	}
	return request
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// some returns a random subset of size at most count, in the given order.
func some[T any](g *generator, count int, from ...T) []T {
	count = min(g.IntN(count+1), len(from))
	chosen := g.Perm(len(from))[:count]
	slices.Sort(chosen)
	subset := make([]T, 0, count)
	for _, i := range chosen {
		subset = append(subset, from[i])
	}
	return subset
}

func pointerTo[T any](value T) *T { return &value }

func (g *generator) uid() types.UID {
	g.serial++
	return types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", g.serial))
}

// --- Namespaces and nodes

var namespaces = []string{"default", "team-a", "team-b", "kube-system"}

func (g *generator) makeNamespaces() {
	for _, name := range namespaces {
		if g.chance(0.1) {
			continue // An unknown namespace counts as one without labels.
		}
		labels := map[string]string{}
		if g.chance(0.7) {
			labels["kubernetes.io/metadata.name"] = name
		}
		if g.chance(0.6) {
			labels["team"] = pick(g, "a", "b")
		}
		g.others = append(g.others, &v1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: g.uid(), Labels: labels},
		})
	}
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i+1) }

func (g *generator) makeNodes(count int) {
	for i := range count {
		node := &v1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: g.uid(), Labels: g.nodeLabels(i)},
		}
		node.Spec.Unschedulable = g.on["NodeUnschedulable"] && g.chance(0.35)
		if g.on["TaintToleration"] {
			node.Spec.Taints = g.taints()
		}
		if node.Spec.Unschedulable && g.chance(0.5) {
			node.Spec.Taints = append(node.Spec.Taints,
				v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
		}
		node.Status.Allocatable = g.allocatable()
		node.Status.Capacity = node.Status.Allocatable
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		if g.on["NodeDeclaredFeatures"] {
			node.Status.DeclaredFeatures = some(g, 3, "InPlacePodLevelResourcesVerticalScaling",
				"RestartAllContainersOnContainerExits", "SomethingNobodyKnows",
				"UserNamespacesHostNetworkSupport")
			if kubernetesVersion != "1.36" && g.chance(0.5) {
				node.Status.DeclaredFeatures = append(node.Status.DeclaredFeatures,
					"VolumeBindMountOptions")
			}
		}
		g.nodes = append(g.nodes, node)
	}
}

// Label keys of nodes; the last two only appear in selectors.
var nodeKeys = []string{
	v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyRegion, "rack", "disktype", "generation",
	"nobody/has-this", v1.LabelFailureDomainBetaZone,
}

var nodeValues = map[string][]string{
	v1.LabelTopologyZone:            {"z1", "z2", "z3"},
	v1.LabelTopologyRegion:          {"r1", "r2"},
	"rack":                          {"k1", "k2", ""},
	"disktype":                      {"ssd", "hdd"},
	"generation":                    {"1", "5", "10", "-3", "007", "x", "9223372036854775807", "1.5"},
	"nobody/has-this":               {"1", "yes"},
	v1.LabelFailureDomainBetaZone:   {"z1", "z2"},
	v1.LabelFailureDomainBetaRegion: {"r1", "r2"},
}

func (g *generator) nodeValue(key string) string {
	if key == v1.LabelHostname {
		return nodeName(g.IntN(g.limits.NodesMax + 1))
	}
	return pick(g, nodeValues[key]...)
}

func (g *generator) nodeLabels(i int) map[string]string {
	labels := map[string]string{}
	add := func(key string, chance float64) {
		if g.chance(chance) {
			labels[key] = g.nodeValue(key)
		}
	}
	if g.chance(0.95) {
		labels[v1.LabelHostname] = nodeName(i)
	}
	if g.chance(0.02) { // Two nodes with the same host name.
		labels[v1.LabelHostname] = nodeName(g.IntN(i + 1))
	}
	add(v1.LabelTopologyZone, 0.93)
	add(v1.LabelTopologyRegion, 0.88)
	add("rack", 0.8)
	add("disktype", 0.6)
	add("generation", 0.6)
	if g.on["PersistentVolumes"] {
		add(v1.LabelFailureDomainBetaZone, 0.3)
		add(v1.LabelFailureDomainBetaRegion, 0.2)
	}
	return labels
}

// --- Taints and tolerations

var (
	taintKeys = []string{"dedicated", "gpu", v1.TaintNodeNotReady, v1.TaintNodeUnschedulable,
		"ToBeDeletedByClusterAutoscaler"}
	taintValues  = []string{"", "a", "b", "1"}
	taintEffects = []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute,
		v1.TaintEffectPreferNoSchedule}
)

func (g *generator) taints() []v1.Taint {
	var taints []v1.Taint
	for range g.IntN(3) {
		taints = append(taints, v1.Taint{Key: pick(g, taintKeys...), Value: pick(g, taintValues...),
			Effect: pick(g, taintEffects...)})
	}
	return taints
}

func (g *generator) tolerations() []v1.Toleration {
	var tolerations []v1.Toleration
	for range g.IntN(4) {
		toleration := v1.Toleration{
			Key:      pick(g, append([]string{""}, taintKeys...)...),
			Operator: pick(g, "", v1.TolerationOpEqual, v1.TolerationOpExists),
			Effect:   pick(g, append([]v1.TaintEffect{"", ""}, taintEffects...)...),
		}
		if toleration.Key == "" && !g.on["Odd"] {
			toleration.Operator = v1.TolerationOpExists
		}
		if toleration.Operator != v1.TolerationOpExists {
			toleration.Value = pick(g, taintValues...)
		}
		if g.on["Odd"] && g.chance(0.3) {
			toleration.Operator = pick(g, v1.TolerationOpLt, v1.TolerationOpGt, "Sometimes")
			toleration.Value = pick(g, "0", "1", "2", "a")
		}
		if toleration.Effect == v1.TaintEffectNoExecute && g.chance(0.5) {
			toleration.TolerationSeconds = pointerTo(int64(g.IntN(3) * 100))
		}
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}

// --- Node affinity

func (g *generator) nodeSelector() map[string]string {
	selector := map[string]string{}
	for range 1 + g.IntN(2) {
		key := pick(g, nodeKeys[:6]...)
		selector[key] = g.nodeValue(key)
	}
	return selector
}

func (g *generator) nodeAffinity() *v1.NodeAffinity {
	affinity := &v1.NodeAffinity{}
	if g.chance(0.9) {
		required := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{}}
		terms := pick(g, 1, 1, 2, 3)
		if g.on["Odd"] && g.chance(0.2) {
			terms = 0
		}
		byName := g.chance(0.25)
		for range terms {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, g.nodeTerm(byName))
		}
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	if g.chance(0.15) {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{
			{Weight: 10, Preference: g.nodeTerm(false)}}
	}
	return affinity
}

// nodeTerm generates a term; with byName it probably contains node names, which PreFilter then
// collects.
func (g *generator) nodeTerm(byName bool) v1.NodeSelectorTerm {
	var term v1.NodeSelectorTerm
	for range pick(g, 0, 1, 1, 2) {
		term.MatchExpressions = append(term.MatchExpressions, g.nodeRequirement())
	}
	if byName && g.chance(0.9) || g.chance(0.1) {
		for range pick(g, 1, 1, 1, 2) {
			field := v1.NodeSelectorRequirement{
				Key:      metav1.ObjectNameField,
				Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
				Values:   []string{nodeName(g.IntN(len(g.nodes) + 1))},
			}
			if g.on["Odd"] && g.chance(0.3) {
				field.Operator = pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpExists,
					v1.NodeSelectorOpGt)
				field.Values = append(field.Values, "n1")
				field.Key = pick(g, metav1.ObjectNameField, "metadata.namespace")
			}
			term.MatchFields = append(term.MatchFields, field)
		}
	}
	return term
}

func (g *generator) nodeRequirement() v1.NodeSelectorRequirement {
	r := v1.NodeSelectorRequirement{Key: pick(g, nodeKeys...)}
	r.Operator = pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn,
		v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt,
		v1.NodeSelectorOpLt)
	switch r.Operator {
	case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
		for range 1 + g.IntN(3) {
			r.Values = append(r.Values, g.nodeValue(r.Key))
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		r.Key = pick(g, "generation", "generation", "generation", "rack")
		r.Values = []string{pick(g, "0", "1", "5", "10", "-4")}
	}
	if g.on["Odd"] && g.chance(0.2) {
		r.Operator = pick(g, r.Operator, "Perhaps", v1.NodeSelectorOpGt)
		r.Values = pick(g, r.Values, []string{"abc"}, []string{"1", "2"}, []string{"+5"}, nil)
	}
	return r
}

// --- Labels of pods and selectors over them

var podValues = map[string][]string{
	"app": {"web", "db", "cache"}, "tier": {"front", "back"}, "version": {"v1", "v2", ""},
}

func (g *generator) podLabels() map[string]string {
	labels := map[string]string{}
	for _, key := range []string{"app", "tier", "version"} {
		if g.chance(0.7) {
			labels[key] = pick(g, podValues[key]...)
		}
	}
	return labels
}

// selectorNear generates a selector that probably matches a pod with the given labels, because
// workloads spread, gather and avoid pods of their own kind.
func (g *generator) selectorNear(own map[string]string) *metav1.LabelSelector {
	if key := pick(g, "app", "app", "tier"); own[key] != "" && g.chance(0.5) {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: own[key]}}
	}
	return g.labelSelector(podValues, "app", "tier", "version")
}

// labelSelector generates a selector over values; sometimes it is nil or empty.
func (g *generator) labelSelector(values map[string][]string, keys ...string) *metav1.LabelSelector {
	switch {
	case g.chance(0.06):
		return nil
	case g.chance(0.08):
		return &metav1.LabelSelector{}
	}
	selector := &metav1.LabelSelector{}
	if g.chance(0.7) {
		key := keys[0]
		if g.chance(0.3) {
			key = pick(g, keys...)
		}
		selector.MatchLabels = map[string]string{key: pick(g, values[key]...)}
	}
	if g.chance(0.35) {
		key := pick(g, keys...)
		r := metav1.LabelSelectorRequirement{Key: key, Operator: pick(g,
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
			metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = append(some(g, 2, values[key]...), pick(g, values[key]...))
		}
		if g.on["Odd"] && g.chance(0.15) {
			r.Operator, r.Values = pick(g, r.Operator, "Perhaps"), pick(g, nil, []string{"a b"})
		}
		selector.MatchExpressions = append(selector.MatchExpressions, r)
	}
	return selector
}

// --- Topology spread and inter-pod affinity

func (g *generator) topologyKey() string {
	return pick(g, v1.LabelTopologyZone, v1.LabelTopologyZone, v1.LabelHostname, v1.LabelHostname,
		v1.LabelTopologyRegion, "rack")
}

func (g *generator) spreadConstraints(own map[string]string) []v1.TopologySpreadConstraint {
	var constraints []v1.TopologySpreadConstraint
	for range pick(g, 1, 1, 2, 3) {
		c := v1.TopologySpreadConstraint{
			MaxSkew:           int32(pick(g, 1, 1, 2, 3)),
			TopologyKey:       g.topologyKey(),
			WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector:     g.selectorNear(own),
		}
		if g.chance(0.15) {
			c.WhenUnsatisfiable = v1.ScheduleAnyway
		} else if g.chance(0.3) {
			c.MinDomains = pointerTo(int32(1 + g.IntN(4)))
		}
		if g.chance(0.4) {
			c.NodeAffinityPolicy = pointerTo(pick(g, v1.NodeInclusionPolicyHonor,
				v1.NodeInclusionPolicyIgnore))
		}
		if g.chance(0.4) {
			c.NodeTaintsPolicy = pointerTo(pick(g, v1.NodeInclusionPolicyHonor,
				v1.NodeInclusionPolicyIgnore))
		}
		if c.LabelSelector != nil && g.chance(0.3) {
			c.MatchLabelKeys = append(some(g, 1, "tier", "nokey"), "version")
		}
		if g.on["Odd"] && g.chance(0.1) {
			c.TopologyKey = ""
		}
		constraints = append(constraints, c)
	}
	return constraints
}

var namespaceValues = map[string][]string{
	"team": {"a", "b"}, "kubernetes.io/metadata.name": {"default", "team-a", "team-b"},
}

func (g *generator) podAffinityTerms(own map[string]string) []v1.PodAffinityTerm {
	var terms []v1.PodAffinityTerm
	for range pick(g, 1, 1, 1, 2) {
		term := v1.PodAffinityTerm{
			TopologyKey:   g.topologyKey(),
			LabelSelector: g.selectorNear(own),
		}
		if g.chance(0.3) {
			term.Namespaces = some(g, 2, append([]string{"nowhere"}, namespaces...)...)
		}
		if g.chance(0.3) {
			term.NamespaceSelector = g.labelSelector(namespaceValues, "team",
				"kubernetes.io/metadata.name")
		}
		if term.LabelSelector != nil && g.chance(0.1) {
			// The API server has merged these into the selector; the scheduler ignores them.
			term.MatchLabelKeys = []string{"version"}
		}
		terms = append(terms, term)
	}
	return terms
}

func (g *generator) interPodAffinity(affinity *v1.Affinity, own map[string]string) {
	if g.chance(0.5) {
		affinity.PodAffinity = &v1.PodAffinity{}
		if g.chance(0.85) {
			affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution =
				g.podAffinityTerms(own)
		}
		if g.chance(0.15) {
			affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution =
				[]v1.WeightedPodAffinityTerm{{Weight: 5, PodAffinityTerm: g.podAffinityTerms(own)[0]}}
		}
	}
	if g.chance(0.6) {
		affinity.PodAntiAffinity = &v1.PodAntiAffinity{}
		if g.chance(0.85) {
			affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution =
				g.podAffinityTerms(own)
		}
		if g.chance(0.15) {
			affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution =
				[]v1.WeightedPodAffinityTerm{{Weight: 5, PodAffinityTerm: g.podAffinityTerms(own)[0]}}
		}
	}
}

// ParseAreas parses a comma-separated list of Areas; "all" means every area, "-X" leaves X out.
func ParseAreas(list string) ([]string, error) {
	chosen := map[string]bool{}
	for i, name := range strings.Split(list, ",") {
		off := strings.HasPrefix(name, "-")
		name = strings.TrimPrefix(name, "-")
		switch {
		case name == "all" || (off && i == 0):
			for _, area := range Areas {
				chosen[area] = true
			}
			if name != "all" {
				delete(chosen, name)
			}
		case slices.Contains(Areas, name):
			chosen[name] = !off
		default:
			return nil, fmt.Errorf("area %q: want one of %s", name, strings.Join(Areas, ", "))
		}
	}
	var areas []string
	for _, area := range Areas {
		if chosen[area] {
			areas = append(areas, area)
		}
	}
	return areas, nil
}
