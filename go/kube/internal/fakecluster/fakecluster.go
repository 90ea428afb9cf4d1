// Package fakecluster is a cluster in memory for unit tests: client-go's fake clientset, extended
// by behaviour that the code under test relies on and the fake lacks: version conflicts, deletions
// with a UID as precondition, and evictions that budgets reject.
package fakecluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var (
	nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// Cluster is a cluster in memory.
type Cluster struct {
	Client *fake.Clientset

	mu      sync.Mutex
	version int
	// refuse returns why an eviction is rejected; nil if it is not.
	refuse func(pod *corev1.Pod) error
	// stays has the names of pods that stay after their eviction.
	stays map[string]bool
	// Accepted evictions in order, as NAMESPACE/NAME.
	evictions []string
	graces    map[string]int64
	conflicts int
	away      bool
	watches   map[string]int // Number of watches opened, by resource.
}

// New returns a cluster of these objects.
func New(objects ...runtime.Object) *Cluster {
	c := &Cluster{Client: fake.NewClientset(objects...), stays: map[string]bool{}, graces: map[string]int64{}, watches: map[string]int{}, version: 1000}
	c.Client.PrependReactor("update", "nodes", c.updateNode)
	c.Client.PrependReactor("delete", "nodes", c.deleteNode)
	c.Client.PrependReactor("create", "pods", c.evict)
	c.Client.PrependWatchReactor("*", c.watch)
	c.Client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.away {
			return true, nil, fmt.Errorf("dial tcp: connection refused")
		}
		return false, nil, nil
	})
	return c
}

// StartInformers starts informers, which must include pods and nodes, and waits until their watches
// are open: the fake loses events between a list and its watch.
func (c *Cluster) StartInformers(ctx context.Context, t *testing.T, factory informers.SharedInformerFactory) {
	t.Helper()
	count := func(resource string) int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.watches[resource]
	}
	podsBefore, nodesBefore := count("pods"), count("nodes")
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	Eventually(t, "pods and nodes are watched", func() bool { return count("pods") > podsBefore && count("nodes") > nodesBefore })
}

func (c *Cluster) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	opened, err := c.Client.Tracker().Watch(action.GetResource(), action.GetNamespace())
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.watches[action.GetResource().Resource]++
	}
	return true, opened, err
}

// Serves sets the resources that discovery reports, by group and version.
func (c *Cluster) Serves(resources map[string][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Client.Resources = nil
	for _, version := range slices.Sorted(maps.Keys(resources)) {
		list := &metav1.APIResourceList{GroupVersion: version}
		for _, resource := range resources[version] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource})
		}
		c.Client.Resources = append(c.Client.Resources, list)
	}
}

// SetAway makes every request fail as if no server listened.
func (c *Cluster) SetAway(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

// Conflict makes the next updates of nodes fail with a version conflict.
func (c *Cluster) Conflict(times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conflicts = times
}

// Refuse sets a function that may reject evictions.
func (c *Cluster) Refuse(refuse func(pod *corev1.Pod) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = refuse
}

// Stays makes a pod stay although it is evicted.
func (c *Cluster) Stays(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stays[name] = true
}

// Evictions returns the pods evicted so far, in order, and the grace period of each.
func (c *Cluster) Evictions() ([]string, map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	graces := map[string]int64{}
	for name, grace := range c.graces {
		graces[name] = grace
	}
	return append([]string(nil), c.evictions...), graces
}

func (c *Cluster) updateNode(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return false, nil, nil
	}
	node := action.(clienttesting.UpdateAction).GetObject().(*corev1.Node).DeepCopy()
	held, err := c.Client.Tracker().Get(nodes, "", node.Name)
	if err != nil {
		return true, nil, err
	}
	if c.conflicts > 0 {
		c.conflicts--
		return true, nil, conflict("nodes", node.Name)
	}
	if held.(*corev1.Node).ResourceVersion != node.ResourceVersion {
		return true, nil, conflict("nodes", node.Name)
	}
	c.version++
	node.ResourceVersion = strconv.Itoa(c.version)
	return true, node, c.Client.Tracker().Update(nodes, node, "")
}

func conflict(resource, name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: resource}, name, fmt.Errorf("was changed"))
}

func (c *Cluster) deleteNode(action clienttesting.Action) (bool, runtime.Object, error) {
	deletion := action.(clienttesting.DeleteActionImpl)
	held, err := c.Client.Tracker().Get(nodes, "", deletion.Name)
	if err != nil {
		return false, nil, nil
	}
	if wanted := deletion.DeleteOptions.Preconditions; wanted != nil && wanted.UID != nil && held.(*corev1.Node).UID != *wanted.UID {
		return true, nil, conflict("nodes", deletion.Name)
	}
	return false, nil, nil
}

func (c *Cluster) evict(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "eviction" {
		return false, nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return false, nil, nil
	}
	eviction := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
	held, err := c.Client.Tracker().Get(pods, eviction.Namespace, eviction.Name)
	if err != nil {
		return true, nil, err
	}
	pod := held.(*corev1.Pod)
	if wanted := eviction.DeleteOptions.Preconditions; wanted != nil && *wanted.UID != pod.UID {
		return true, nil, conflict("pods", eviction.Name)
	}
	if c.refuse != nil {
		if err := c.refuse(pod); err != nil {
			return true, nil, err
		}
	}
	name := pod.Namespace + "/" + pod.Name
	c.evictions = append(c.evictions, name)
	c.graces[name] = *eviction.DeleteOptions.GracePeriodSeconds
	if c.stays[pod.Name] {
		ending := pod.DeepCopy()
		now := metav1.Now()
		ending.DeletionTimestamp = &now
		return true, nil, c.Client.Tracker().Update(pods, ending, pod.Namespace)
	}
	return true, nil, c.Client.Tracker().Delete(pods, pod.Namespace, pod.Name)
}

// TooMany returns the API server's error for an eviction that a budget rejects.
func TooMany() error {
	return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
}

// Node returns a node that is ready.
func Node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{ProviderID: "fake:///" + name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// Pod returns a pod of the ReplicaSet "web" (see ReplicaSet) that runs on a node.
func Pod(name, node string, edits ...func(*corev1.Pod)) *corev1.Pod {
	isController := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1",
			Labels:          map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "uid-web", Controller: &isController}},
		},
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// GetNode reads a node.
func (c *Cluster) GetNode(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := c.Client.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// Eventually fails the test if a condition does not become true within a minute, which is long on
// any machine.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// ReplicaSet is the controller of Pod's pods.
func ReplicaSet() *appsv1.ReplicaSet {
	replicas := int32(3)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web", ResourceVersion: "1"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
	}
}

// Budget returns a budget that selects Pod's pods and allows this many disruptions.
func Budget(allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "1"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}
