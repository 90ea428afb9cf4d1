//go:build record

package main

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

// makeDaemonSets makes none or one, with a pod on each node; where a pod is missing, Karpenter keeps its room.
func (g *generator) makeDaemonSets() {
	if g.chance(0.5) && !g.has["daemon-missing"] {
		return
	}
	labels := map[string]string{"app": "agent"}
	pod := corev1.PodSpec{Containers: []corev1.Container{container(100, 128)}}
	if g.chance(0.5) {
		pod.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "kube-system", UID: "agent"},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}},
	}
	g.objects = append(g.objects, set)
	for _, m := range g.machines {
		if m.node == nil || (len(m.taints) > 0 && pod.Tolerations == nil) || g.with("daemon-missing", 0.4) {
			continue
		}
		p := g.newPod(m, "kube-system", "agent", 100, 128)
		p.OwnerReferences = []metav1.OwnerReference{owner("apps/v1", "DaemonSet", "agent")}
		p.Spec.Tolerations = pod.Tolerations
		g.objects = append(g.objects, p)
	}
}

func container(milli, mebi int64) corev1.Container {
	return corev1.Container{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(mebi<<20, resource.BinarySI)}}}
}

func owner(version, kind, name string) metav1.OwnerReference {
	isTrue := true
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID(name), Controller: &isTrue}
}

// newPod takes the room on the machine, and leaves what is special to the caller.
func (g *generator) newPod(m *machine, namespace, app string, milli, mebi int64) *corev1.Pod {
	g.podCount++
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", app, g.podCount), Namespace: namespace,
			UID: g.uid("pod", g.podCount), Labels: map[string]string{"app": app}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{container(milli, mebi)}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if m != nil {
		p.Spec.NodeName = m.node.Name
		m.milli, m.mebi, m.pods = m.milli-milli, m.mebi-mebi, m.pods-1
	}
	return p
}

// A workload is what the pods of one app have in common.
type workload struct {
	app         string
	owner       []metav1.OwnerReference
	milli, mebi int64
	spec        func(p *corev1.Pod, m *machine)
	apart       bool // At most one pod a node.
}

func (g *generator) makeWorkloads() {
	apps := []string{"web", "api", "db", "job"}
	for _, app := range apps[:2+g.IntN(3)] {
		w := g.newWorkload(app)
		used := map[*machine]bool{}
		for range 1 + g.IntN(3) {
			m := pick(g, g.machines...)
			if m.node == nil || m.milli < w.milli || m.mebi < w.mebi || m.pods < 1 || (w.apart && used[m]) {
				continue
			}
			used[m] = true
			p := g.newPod(m, "default", app, w.milli, w.mebi)
			p.OwnerReferences = w.owner
			w.spec(p, m)
			g.tolerate(p, m)
			g.varyPod(p)
			g.objects = append(g.objects, p)
		}
		if g.with("pdbs", 0.8) {
			g.makeBudgets(app)
		}
		if g.with("pending", 0.6) {
			g.objects = append(g.objects, g.pendingPod(w))
		}
	}
	if g.has["pod-phases"] {
		g.makeStaticPod()
	}
}

func (g *generator) newWorkload(app string) *workload {
	owners := [][]metav1.OwnerReference{
		{owner("apps/v1", "ReplicaSet", app+"-6d4f")}, {owner("apps/v1", "ReplicaSet", app+"-6d4f")},
		{owner("apps/v1", "StatefulSet", app)}, {owner("batch/v1", "Job", app)}, nil,
	}
	w := &workload{app: app, owner: pick(g, owners...), milli: int64(50 * (1 + g.IntN(30))), mebi: int64(128 * (1 + g.IntN(12)))}
	w.spec = func(*corev1.Pod, *machine) {}
	switch {
	case g.with("selectors", 0.6):
		w.spec = g.selector()
	case g.with("anti-affinity", 0.6):
		w.apart = true
		w.spec = func(p *corev1.Pod, _ *machine) { p.Spec.Affinity = apartFrom(app) }
	case g.with("spread", 0.6):
		key := pick(g, corev1.LabelTopologyZone, corev1.LabelHostname)
		w.spec = func(p *corev1.Pod, _ *machine) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key,
				WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selects(app)}}
		}
	case g.with("host-ports", 0.6):
		w.apart = true
		w.spec = func(p *corev1.Pod, _ *machine) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: corev1.ProtocolTCP}}
		}
	case g.chance(0.2):
		w.spec = func(p *corev1.Pod, _ *machine) {
			p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}
	}
	return w
}

func selects(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func apartFrom(app string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: selects(app)}}}}
}

// selector ties a pod to a label of the node where it runs, so that it could have been scheduled there.
func (g *generator) selector() func(p *corev1.Pod, m *machine) {
	key := pick(g, corev1.LabelTopologyZone, corev1.LabelInstanceTypeStable, karpv1.NodePoolLabelKey,
		karpv1.CapacityTypeLabelKey, corev1.LabelHostname)
	asAffinity := g.chance(0.5)
	return func(p *corev1.Pod, m *machine) {
		value, found := m.node.Labels[key]
		switch {
		case !found:
		case asAffinity:
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}}}}}
		default:
			p.Spec.NodeSelector = map[string]string{key: value}
		}
	}
}

func (g *generator) tolerate(p *corev1.Pod, m *machine) {
	for _, taint := range m.taints {
		p.Spec.Tolerations = append(p.Spec.Tolerations,
			corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect})
	}
	if len(m.taints) == 0 && g.with("taints", 0.3) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
}

func (g *generator) varyPod(p *corev1.Pod) {
	if g.with("do-not-disrupt", 0.4) {
		annotate(p, karpv1.DoNotDisruptAnnotationKey, pick(g, "true", "true", "false", "", "10m", "1h", "36h", "1h30m", "0s", "-5m",
			"5", "forever", "True"))
		if g.chance(0.9) {
			started := pick(g, g.past(), g.ago(10*time.Minute), g.ago(time.Hour), g.ago(time.Hour-time.Second))
			p.CreationTimestamp, p.Status.StartTime = started, &started
		}
	}
	if g.cheap && g.chance(0.8) {
		annotate(p, corev1.PodDeletionCost, pick(g, "-134217728", "-2147483647"))
	} else if g.with("pod-costs", 0.6) {
		g.setCosts(p)
	}
	if g.with("pod-phases", 0.4) {
		g.setPhase(p)
	}
	if g.has["pdbs"] {
		ready := pick(g, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	}
	if (g.has["pdbs"] || g.has["do-not-disrupt"]) && g.chance(0.05) {
		p.Spec.Tolerations = append(p.Spec.Tolerations,
			corev1.Toleration{Key: karpv1.DisruptedTaintKey, Operator: corev1.TolerationOpExists})
	}
}

func annotate(p *corev1.Pod, key, value string) {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[key] = value
}

// setCosts makes pods dear or cheap to evict; a node whose pods all cost nothing is empty to Karpenter.
func (g *generator) setCosts(p *corev1.Pod) {
	if g.chance(0.5) {
		annotate(p, corev1.PodDeletionCost, pick(g, "100", "134217728", "-134217728", "-2147483647", "2147483647", "much"))
	}
	if g.chance(0.5) {
		priority := pick(g, int32(-100000000), -33554432, 0, 1000, 100000000, 2000000000)
		p.Spec.Priority = &priority
	}
}

func (g *generator) setPhase(p *corev1.Pod) {
	switch g.IntN(5) {
	case 0:
		p.Status.Phase = corev1.PodSucceeded
	case 1:
		p.Status.Phase = corev1.PodFailed
	case 2:
		p.Status.Phase = corev1.PodPending
	case 3, 4:
		deleted := g.ago(pick(g, -30*time.Second, 10*time.Second, 5*time.Minute))
		p.DeletionTimestamp = &deleted
		p.Finalizers = []string{"example.com/hold"}
	}
}

func (g *generator) makeStaticPod() {
	for _, m := range g.machines {
		if m.node == nil || !g.chance(0.3) {
			continue
		}
		p := g.newPod(m, "kube-system", "proxy", 50, 64)
		p.OwnerReferences = []metav1.OwnerReference{owner("v1", "Node", m.node.Name)}
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "1"}
		g.objects = append(g.objects, p)
	}
}

// pendingPod is a pod that kube-scheduler could not place.
func (g *generator) pendingPod(w *workload) *corev1.Pod {
	p := g.newPod(nil, "default", w.app, w.milli, w.mebi)
	p.OwnerReferences = w.owner
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
	return p
}

// makeBudgets makes a PodDisruptionBudget of the app, sometimes two.
func (g *generator) makeBudgets(app string) {
	for i := range 1 + g.IntN(6)/5 {
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", app, i), Namespace: pick(g, "default", "default", "default", "other")},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selects(app)},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: pick(g, int32(0), 0, 1, 1, 2),
				CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2},
		}
		limit := intstr.Parse(pick(g, "0", "1", "2", "0%", "50%", "100%"))
		if g.chance(0.5) {
			budget.Spec.MaxUnavailable = &limit
		} else {
			budget.Spec.MinAvailable = &limit
		}
		if g.chance(0.1) {
			budget.Spec.Selector = pick(g, nil, &metav1.LabelSelector{})
		}
		if g.chance(0.4) {
			policy := pick(g, policyv1.AlwaysAllow, policyv1.AlwaysAllow, policyv1.IfHealthyBudget)
			budget.Spec.UnhealthyPodEvictionPolicy = &policy
		}
		g.objects = append(g.objects, budget)
	}
}
