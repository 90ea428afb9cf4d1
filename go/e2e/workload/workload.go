// Package workload creates the applications of a test, and waits for them.
package workload

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// AppLabel is the label that holds an application's name on all of its pods; budgets select by it.
const AppLabel = "app"

// App is an application: the requests of its pods, and the constraints between them.
type App struct {
	Name     string
	Replicas int32
	CPU      string // requested by each pod; default "100m"
	Memory   string // requested by each pod; default "128Mi"

	Annotations map[string]string // of the pods
	// OnePerNode allows only one of the pods on each node (required anti-affinity).
	OnePerNode bool
	// Gate, if not "", is a scheduling gate of new pods, which stays until the test removes it.
	Gate string
	// SpreadZones allows zones to differ by at most one pod (DoNotSchedule).
	SpreadZones bool
	// SpreadNodes allows nodes to differ by at most one pod (DoNotSchedule).
	SpreadNodes bool
	// MemoryVolume gives each pod an emptyDir of medium Memory.
	MemoryVolume bool
}

// Namespace creates a namespace and waits until pods can be created in it.
func Namespace(ctx context.Context, client kubernetes.Interface, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return poll(ctx, func(ctx context.Context) (string, error) {
		_, err := client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return fmt.Sprintf("namespace %s has no default service account", name), nil
		}
		return "", err
	})
}

// Deployment creates a Deployment.
func Deployment(ctx context.Context, client kubernetes.Interface, namespace string, app App) error {
	deployment := &appsv1.Deployment{
		ObjectMeta: app.meta(),
		Spec:       appsv1.DeploymentSpec{Replicas: &app.Replicas, Selector: app.selector(), Template: app.template()},
	}
	_, err := client.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{})
	return named("deployment", namespace, app.Name, err)
}

// StatefulSet creates a StatefulSet whose pods all start at the same time.
func StatefulSet(ctx context.Context, client kubernetes.Interface, namespace string, app App) error {
	set := &appsv1.StatefulSet{
		ObjectMeta: app.meta(),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &app.Replicas, Selector: app.selector(), Template: app.template(),
			ServiceName: app.Name, PodManagementPolicy: appsv1.ParallelPodManagement,
		},
	}
	_, err := client.AppsV1().StatefulSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	return named("statefulset", namespace, app.Name, err)
}

// DaemonSet creates a DaemonSet; App.Replicas is ignored.
func DaemonSet(ctx context.Context, client kubernetes.Interface, namespace string, app App) error {
	set := &appsv1.DaemonSet{
		ObjectMeta: app.meta(),
		Spec:       appsv1.DaemonSetSpec{Selector: app.selector(), Template: app.template()},
	}
	_, err := client.AppsV1().DaemonSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	return named("daemonset", namespace, app.Name, err)
}

// Scale sets the number of pods of a Deployment.
func Scale(ctx context.Context, client kubernetes.Interface, namespace, app string, replicas int32) error {
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	_, err := client.AppsV1().Deployments(namespace).Patch(ctx, app, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return named("deployment", namespace, app, err)
}

// Budget creates a PodDisruptionBudget with the name of an application: maxUnavailable of its pods
// may be missing.
func Budget(ctx context.Context, client kubernetes.Interface, namespace, app string, maxUnavailable int) error {
	most := intstr.FromInt(maxUnavailable)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &most,
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{AppLabel: app}},
		},
	}
	_, err := client.PolicyV1().PodDisruptionBudgets(namespace).Create(ctx, budget, metav1.CreateOptions{})
	return named("poddisruptionbudget", namespace, app, err)
}

func named(kind, namespace, name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", kind, namespace, name, err)
	}
	return nil
}

func (a *App) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: a.Name, Labels: map[string]string{AppLabel: a.Name}}
}

func (a *App) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{AppLabel: a.Name}}
}

func (a *App) template() corev1.PodTemplateSpec {
	or := func(value, otherwise string) resource.Quantity {
		if value == "" {
			value = otherwise
		}
		return resource.MustParse(value)
	}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/none",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    or(a.CPU, "100m"),
				corev1.ResourceMemory: or(a.Memory, "128Mi"),
			}},
		}},
	}
	if a.Gate != "" {
		spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: a.Gate}}
	}
	if a.OnePerNode {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{LabelSelector: a.selector(), TopologyKey: corev1.LabelHostname},
			},
		}}
	}
	spread := func(key string) {
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, LabelSelector: a.selector(), WhenUnsatisfiable: corev1.DoNotSchedule,
		})
	}
	if a.SpreadZones {
		spread(corev1.LabelTopologyZone)
	}
	if a.SpreadNodes {
		spread(corev1.LabelHostname)
	}
	if a.MemoryVolume {
		spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{AppLabel: a.Name}, Annotations: a.Annotations},
		Spec:       spec,
	}
}

// WaitReady waits until every application of the namespace has exactly the number of pods that it
// wants, all of them ready, on existing nodes, and not being deleted. An error names what was
// missing last.
//
// Cost: lists the namespace and the nodes every 100 ms. It does not read from the API server's
// cache, which may not have the applications yet.
func WaitReady(ctx context.Context, client kubernetes.Interface, namespace string) error {
	return poll(ctx, func(ctx context.Context) (string, error) {
		unschedulable, missing, err := look(ctx, client, namespace)
		if missing == "" && err == nil && len(unschedulable) > 0 {
			missing = fmt.Sprintf("pod %s/%s fits nowhere", namespace, unschedulable[0])
		}
		return missing, err
	})
}

// WaitSettled is like WaitReady, but accepts pods for which the scheduler found no node. It returns
// their names.
func WaitSettled(ctx context.Context, client kubernetes.Interface, namespace string) ([]string, error) {
	var unschedulable []string
	err := poll(ctx, func(ctx context.Context) (missing string, err error) {
		unschedulable, missing, err = look(ctx, client, namespace)
		return missing, err
	})
	return unschedulable, err
}

// look returns what is missing, except for pods that fit on no node, which it returns separately.
func look(ctx context.Context, client kubernetes.Interface, namespace string) (unschedulable []string, missing string, err error) {
	wanted, err := podsWanted(ctx, client, namespace)
	if err != nil {
		return nil, "", err
	}
	there, unschedulable, missing, err := podsThere(ctx, client, namespace)
	if missing != "" || err != nil {
		return nil, missing, err
	}
	for app, count := range wanted {
		if there[app] != count {
			return nil, fmt.Sprintf("%s/%s has %d of %d pods", namespace, app, there[app], count), nil
		}
	}
	return unschedulable, "", nil
}

// podsWanted returns how many pods each application wants, by name.
func podsWanted(ctx context.Context, client kubernetes.Interface, namespace string) (map[string]int32, error) {
	wanted := map[string]int32{}
	deployments, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, deployment := range deployments.Items {
		wanted[deployment.Name] = *deployment.Spec.Replicas
	}
	stateful, err := client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, set := range stateful.Items {
		wanted[set.Name] = *set.Spec.Replicas
	}
	daemons, err := client.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, set := range daemons.Items {
		if set.Status.ObservedGeneration < set.Generation {
			wanted[set.Name] = -1 // Not known yet: -1 equals no number of pods.
			continue
		}
		wanted[set.Name] = set.Status.DesiredNumberScheduled
	}
	return wanted, nil
}

// podsThere counts the pods of each application that are ready or fit on no node. If a pod is
// neither, it returns that pod.
func podsThere(ctx context.Context, client kubernetes.Interface, namespace string) (
	there map[string]int32, unschedulable []string, missing string, err error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, "", err
	}
	nodes := map[string]bool{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = true
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, "", err
	}
	there = map[string]int32{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		there[pod.Labels[AppLabel]]++
		switch {
		case pod.DeletionTimestamp != nil:
			return nil, nil, fmt.Sprintf("pod %s/%s is being deleted", namespace, pod.Name), nil
		case fitsNowhere(pod, len(nodes)):
			unschedulable = append(unschedulable, pod.Name)
		case !IsReady(pod):
			return nil, nil, fmt.Sprintf("pod %s/%s is %s and not ready", namespace, pod.Name, pod.Status.Phase), nil
		case !nodes[pod.Spec.NodeName]:
			return nil, nil, fmt.Sprintf("pod %s/%s is on node %s, which is gone", namespace, pod.Name, pod.Spec.NodeName), nil
		}
	}
	return there, unschedulable, "", nil
}

// fitsNowhere reports whether the scheduler tried the pod on all nodes and found none. The
// scheduler may try a pod before it knows all nodes; it retries when it learns of a node.
func fitsNowhere(pod *corev1.Pod, nodes int) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable &&
				nodesTried(condition.Message) >= nodes
		}
	}
	return false
}

// nodesTried returns the number of nodes in the scheduler's "0/3 nodes are available: ...", or 0.
func nodesTried(message string) int {
	var tried int
	if _, err := fmt.Sscanf(message, "0/%d nodes are available", &tried); err != nil {
		return 0 // "no nodes available to schedule pods"
	}
	return tried
}

// IsReady reports whether the pod's Ready condition is true.
func IsReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Remove deletes a namespace's applications and waits until no pod is left. The namespace itself
// may disappear later.
func Remove(ctx context.Context, client kubernetes.Interface, namespace string) error {
	if err := client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return poll(ctx, func(ctx context.Context) (string, error) {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) == 0 {
			return "", err
		}
		return fmt.Sprintf("namespace %s has %d pods", namespace, len(pods.Items)), nil
	})
}

// poll retries until nothing is missing. Its error names what was missing last. Errors are retried,
// because the API server may be away.
func poll(ctx context.Context, missing func(context.Context) (string, error)) error {
	last := "nothing was asked"
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		what, err := missing(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			last = err.Error()
		case err == nil:
			last = what
		}
		return err == nil && what == "", nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(last), err)
	}
	return nil
}
