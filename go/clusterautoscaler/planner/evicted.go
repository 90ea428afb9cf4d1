package planner

import (
	"fmt"

	apiv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kube_util "sigs.k8s.io/cluster-autoscaler/pkg/utils/kubernetes"
	pod_util "sigs.k8s.io/cluster-autoscaler/pkg/utils/pod"
)

// injectEvictedPods adds recently evicted pods that have no successor yet to the snapshot, on any
// node where they fit.
func (p *Planner) injectEvictedPods(evicted []*apiv1.Pod) error {
	var missing []*apiv1.Pod
	put := map[types.UID]int32{}
	for _, pod := range pod_util.FilterRecreatablePods(evicted) {
		owner := knownOwner(pod)
		if owner == nil {
			missing = append(missing, pod)
			continue
		}
		lacking, err := lackingReplicas(p.autoscalingCtx.ListerRegistry, owner, pod.Namespace)
		if err == nil && put[owner.UID] >= lacking {
			continue
		}
		if err == nil {
			put[owner.UID]++
		}
		missing = append(missing, pod)
	}
	if len(missing) == 0 {
		return nil
	}
	placed, err := p.schedule(pod_util.ClearPodNodeNames(missing))
	if err == nil && placed < len(missing) {
		err = fmt.Errorf("%d of %d do not fit", len(missing)-placed, len(missing))
	}
	return err
}

// knownOwner returns the first owner that recreates pods and has a number of replicas.
func knownOwner(pod *apiv1.Pod) *metav1.OwnerReference {
	for i, owner := range pod.OwnerReferences {
		switch owner.Kind {
		case "Job", "ReplicaSet", "ReplicationController", "StatefulSet":
			return &pod.OwnerReferences[i]
		}
	}
	return nil
}

func lackingReplicas(listers kube_util.ListerRegistry, owner *metav1.OwnerReference, namespace string) (int32, error) {
	wanted := func(replicas *int32) int32 {
		if replicas == nil {
			return 1
		}
		return *replicas
	}
	switch owner.Kind {
	case "StatefulSet":
		set, err := listers.StatefulSetLister().StatefulSets(namespace).Get(owner.Name)
		if err != nil {
			return 0, err
		}
		return wanted(set.Spec.Replicas) - set.Status.CurrentReplicas, nil
	case "ReplicaSet":
		set, err := listers.ReplicaSetLister().ReplicaSets(namespace).Get(owner.Name)
		if err != nil {
			return 0, err
		}
		return wanted(set.Spec.Replicas) - set.Status.Replicas, nil
	case "ReplicationController":
		controller, err := listers.ReplicationControllerLister().ReplicationControllers(namespace).Get(owner.Name)
		if err != nil {
			return 0, err
		}
		return wanted(controller.Spec.Replicas) - controller.Status.Replicas, nil
	}
	job, err := listers.JobLister().Jobs(namespace).Get(owner.Name)
	if err != nil {
		return 0, err
	}
	parallel := wanted(job.Spec.Parallelism)
	if job.Spec.Completions != nil {
		parallel = min(parallel, *job.Spec.Completions-job.Status.Succeeded)
	}
	return parallel - job.Status.Active, nil
}
