//go:build record

package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// podsByNode keeps the pods by node, as the index of an informer's cache does.  The fake client reads all of its pods for
// each list, so a cluster of 1,000 nodes would take minutes for each question.
type podsByNode map[string]map[client.ObjectKey]*corev1.Pod

func newPodsByNode(objects []client.Object) (podsByNode, []client.Object) {
	pods := podsByNode{}
	var others []client.Object
	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok {
			pods.put(pod)
		} else {
			others = append(others, object)
		}
	}
	return pods, others
}

func (p podsByNode) put(pod *corev1.Pod) {
	on := p[pod.Spec.NodeName]
	if on == nil {
		on = map[client.ObjectKey]*corev1.Pod{}
		p[pod.Spec.NodeName] = on
	}
	on[client.ObjectKeyFromObject(pod)] = pod
}

// move binds a copy of the pod to the node "to"; "" makes it pending.
func (p podsByNode) move(pod *corev1.Pod, to string) *corev1.Pod {
	key := client.ObjectKeyFromObject(pod)
	for _, on := range p {
		delete(on, key)
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = to
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
	if to == "" {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
	}
	p.put(pod)
	return pod
}

// on returns the node's pods, sorted by name.
func (p podsByNode) on(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range p[node] {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String())
	})
	return pods
}

func (p podsByNode) count() int {
	count := 0
	for _, on := range p {
		count += len(on)
	}
	return count
}

// client returns a client of these pods and of the other objects.
func (p podsByNode) client(others []client.Object) client.Client {
	return interceptor.NewClient(newClient(others).(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			pods, ok := list.(*corev1.PodList)
			if !ok {
				return c.List(ctx, list, opts...)
			}
			options := (&client.ListOptions{}).ApplyOptions(opts)
			nodes := slices.Sorted(maps.Keys(p))
			if options.FieldSelector != nil {
				node, _ := options.FieldSelector.RequiresExactMatch("spec.nodeName")
				nodes = []string{node}
			}
			for _, node := range nodes {
				for _, pod := range p.on(node) {
					if (options.Namespace == "" || options.Namespace == pod.Namespace) &&
						(options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(pod.Labels))) {
						pods.Items = append(pods.Items, *pod.DeepCopy())
					}
				}
			}
			return nil
		}})
}
