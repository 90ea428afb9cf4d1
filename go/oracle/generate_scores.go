package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// addPreferences adds what scores read and filters do not. It uses a random source of its own, so
// that a seed gives the same clusters for the filters with and without it.
func (g *generator) addPreferences(source *rand.Rand) {
	filters := g.Rand
	g.Rand = source
	defer func() { g.Rand = filters }()
	if g.chance(0.4) {
		g.softTaints()
	}
	if g.chance(0.6) {
		g.makeControllers()
	}
	if g.chance(0.15) {
		g.makeServices()
	}
	if g.chance(0.2) {
		g.makeImages()
	}
	soft, nodes, pods := g.chance(0.25), g.chance(0.25), g.chance(0.2)
	for _, workload := range g.workloads() {
		if soft && g.chance(0.5) {
			g.softSpread(workload)
		}
		if nodes && g.chance(0.5) {
			g.preferNodes(workload)
		}
		if pods && g.chance(0.4) {
			g.preferPods(workload)
		}
	}
}

// workloads returns the pods of each template.
func (g *generator) workloads() [][]*v1.Pod {
	var workloads [][]*v1.Pod
	last := ""
	for _, pod := range g.pods {
		template, _, _ := strings.Cut(pod.Name, "-")
		if template != last {
			workloads = append(workloads, nil)
			last = template
		}
		workloads[len(workloads)-1] = append(workloads[len(workloads)-1], pod)
	}
	return workloads
}

func (g *generator) softTaints() {
	for _, node := range g.nodes {
		for range g.IntN(3) {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: pick(g, taintKeys...),
				Value: pick(g, taintValues...), Effect: v1.TaintEffectPreferNoSchedule})
		}
	}
	for _, workload := range g.workloads() {
		if !g.chance(0.5) {
			continue
		}
		tolerations := g.tolerations()
		for _, pod := range workload {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, tolerations...)
		}
	}
}

// makeControllers creates the owner object for most workloads that have an owner. Its selector uses
// a label that all its pods have and no other pod has, like the template hash of a Deployment.
func (g *generator) makeControllers() {
	for _, workload := range g.workloads() {
		pod := workload[0]
		if len(pod.OwnerReferences) == 0 || g.chance(0.1) {
			continue
		}
		name, match := pod.OwnerReferences[0].Name, map[string]string{"hash": pod.OwnerReferences[0].Name}
		kind := pick(g, "ReplicaSet", "ReplicaSet", "StatefulSet", "ReplicationController", "Job")
		version := map[string]string{"ReplicationController": "v1", "Job": "batch/v1"}[kind]
		if version == "" {
			version = "apps/v1"
		}
		for _, each := range workload {
			each.OwnerReferences[0].Kind, each.OwnerReferences[0].APIVersion = kind, version
			if each.Labels == nil {
				each.Labels = map[string]string{}
			}
			each.Labels["hash"] = name
		}
		meta := metav1.ObjectMeta{Namespace: pod.Namespace, Name: name,
			UID: pod.OwnerReferences[0].UID}
		selector := &metav1.LabelSelector{MatchLabels: match}
		types := metav1.TypeMeta{APIVersion: version, Kind: kind}
		switch kind {
		case "ReplicaSet":
			g.others = append(g.others, &appsv1.ReplicaSet{TypeMeta: types, ObjectMeta: meta,
				Spec: appsv1.ReplicaSetSpec{Selector: selector}})
		case "StatefulSet":
			g.others = append(g.others, &appsv1.StatefulSet{TypeMeta: types, ObjectMeta: meta,
				Spec: appsv1.StatefulSetSpec{Selector: selector}})
		case "ReplicationController":
			g.others = append(g.others, &v1.ReplicationController{TypeMeta: types, ObjectMeta: meta,
				Spec: v1.ReplicationControllerSpec{Selector: match}})
		}
	}
}

func (g *generator) makeServices() {
	for i := range 1 + g.IntN(2) {
		g.others = append(g.others, &v1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: pick(g, namespaces...),
				Name: fmt.Sprintf("svc-%d", i), UID: g.uid()},
			Spec: v1.ServiceSpec{Selector: g.podLabels()}})
	}
}

var imageNames = []string{"registry.example.com/app:1", "registry.example.com/app",
	"registry.example.com/app:latest", "registry.example.com:5000/app", "app@sha256:abc",
	"registry.example.com/init:1"}

func (g *generator) makeImages() {
	for _, node := range g.nodes {
		for _, name := range some(g, 6, imageNames...) {
			names := []string{name}
			if g.chance(0.2) {
				names = append(names, pick(g, imageNames...))
			}
			node.Status.Images = append(node.Status.Images, v1.ContainerImage{
				Names:     names,
				SizeBytes: pick(g, int64(1<<20), 50<<20, 300<<20, 1<<30, 4<<30)})
		}
	}
	for _, workload := range g.workloads() {
		name, volume, inVolume := pick(g, imageNames...), pick(g, imageNames...), g.chance(0.1)
		for _, pod := range workload {
			pod.Spec.Containers[0].Image = name
			if inVolume {
				pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "artifact",
					VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: volume}}})
			}
		}
	}
}

func (g *generator) softSpread(workload []*v1.Pod) {
	constraints := g.spreadConstraints(workload[0].Labels)
	for i := range constraints {
		constraints[i].WhenUnsatisfiable = v1.ScheduleAnyway
		constraints[i].MinDomains = nil
	}
	for _, pod := range workload {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints,
			constraints...)
	}
}

func affinityOf(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func (g *generator) preferNodes(workload []*v1.Pod) {
	var terms []v1.PreferredSchedulingTerm
	for range 1 + g.IntN(3) {
		terms = append(terms, v1.PreferredSchedulingTerm{Weight: int32(pick(g, 1, 10, 100)),
			Preference: g.nodeTerm(false)})
	}
	for _, pod := range workload {
		affinity := affinityOf(pod)
		if affinity.NodeAffinity == nil {
			affinity.NodeAffinity = &v1.NodeAffinity{}
		}
		affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = terms
	}
}

func (g *generator) preferPods(workload []*v1.Pod) {
	var near, far []v1.WeightedPodAffinityTerm
	for _, term := range g.podAffinityTerms(workload[0].Labels) {
		weighted := v1.WeightedPodAffinityTerm{Weight: int32(pick(g, 1, 10, 100)),
			PodAffinityTerm: term}
		if g.chance(0.5) {
			near = append(near, weighted)
		} else {
			far = append(far, weighted)
		}
	}
	for _, pod := range workload {
		affinity := affinityOf(pod)
		if len(near) > 0 {
			if affinity.PodAffinity == nil {
				affinity.PodAffinity = &v1.PodAffinity{}
			}
			affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = near
		}
		if len(far) > 0 {
			if affinity.PodAntiAffinity == nil {
				affinity.PodAntiAffinity = &v1.PodAntiAffinity{}
			}
			affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = far
		}
	}
}
