package drain

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// owner is what the rules need of a pod's controller.
type owner struct {
	there    bool
	replicas *int32 // Nil: the controller has no number of replicas that could be too small.
}

// owners reads controllers from the API server, each of them once.
type owners struct {
	client kubernetes.Interface
	found  map[string]*owner
}

// find returns nil for a controller of a kind that no rule uses.
func (o *owners) find(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*owner, error) {
	key := ref.Kind + "/" + namespace + "/" + ref.Name
	if found, known := o.found[key]; known {
		return found, nil
	}
	found, err := o.ask(ctx, namespace, ref)
	if apierrors.IsNotFound(err) {
		found, err = &owner{}, nil
	}
	if err == nil {
		o.found[key] = found
	}
	return found, err
}

func (o *owners) ask(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*owner, error) {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	switch {
	case ref.Kind == "ReplicationController":
		found, err := o.client.CoreV1().ReplicationControllers(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return &owner{there: true, replicas: found.Spec.Replicas}, nil
	case ref.Kind == "DaemonSet" && group == "apps":
		_, err := o.client.AppsV1().DaemonSets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		return &owner{there: true}, err
	case ref.Kind == "Job":
		_, err := o.client.BatchV1().Jobs(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		return &owner{there: true}, err
	case ref.Kind == "ReplicaSet":
		found, err := o.client.AppsV1().ReplicaSets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return &owner{there: true, replicas: found.Spec.Replicas}, nil
	case ref.Kind == "StatefulSet" && group == "apps":
		_, err := o.client.AppsV1().StatefulSets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		return &owner{there: true}, err
	}
	return nil, nil
}
