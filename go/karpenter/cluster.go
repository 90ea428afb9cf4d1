//go:build record

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
	"sigs.k8s.io/karpenter/pkg/utils/nodeclaim"
)

// A world is Karpenter as it would be just after it started on the cluster of a case.
type world struct {
	ctx         context.Context
	client      client.Client
	clock       clock.Clock
	provider    *provider
	recorder    *recorder
	cluster     *state.Cluster
	provisioner *provisioning.Provisioner
	queue       *disruption.Queue
}

// A stoppedClock never moves, and what waits on it goes on at once: Karpenter validates a command again after
// 15 seconds in which nothing happens here.
type stoppedClock struct{ *clocktesting.FakeClock }

func (c *stoppedClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	fired <- c.Now().Add(d)
	return fired
}

// A recorder keeps the events since the last reset.
type recorder struct{ events []events.Event }

func (r *recorder) Publish(published ...events.Event) { r.events = append(r.events, published...) }
func (r *recorder) reset()                            { r.events = nil }

// message returns the text of the first event for this reason about the node or its NodeClaim.
func (r *recorder) message(reason string, node *state.StateNode) string {
	for _, event := range r.events {
		name := event.InvolvedObject.(client.Object).GetName()
		if event.Reason == reason &&
			(node.Node != nil && name == node.Node.Name || node.NodeClaim != nil && name == node.NodeClaim.Name) {
			return event.Message
		}
	}
	return ""
}

func newWorld(kase *Case, types []InstanceType) (*world, error) {
	objects, err := decode(kase.Input)
	if err != nil {
		return nil, err
	}
	w := startKarpenter(newClient(objects), &stoppedClock{clocktesting.NewFakeClock(kase.Now)}, types)
	return w, w.fillState()
}

// startKarpenter returns Karpenter with an empty cluster state.
func startKarpenter(client client.Client, clock clock.Clock, types []InstanceType) *world {
	w := &world{
		ctx:      karpenterContext(),
		client:   client,
		clock:    clock,
		provider: newProvider(types),
		recorder: &recorder{},
	}
	w.cluster = state.NewCluster(w.clock, w.client, w.provider)
	w.provisioner = provisioning.NewProvisioner(
		w.client, w.recorder, w.provider, w.cluster, w.clock, nil, virtualpods.NewVirtualPodCache(w.client))
	w.queue = disruption.NewQueue(w.client, w.recorder, w.cluster, w.clock, w.provisioner)
	return w
}

// karpenterContext carries Karpenter's default options; it does not read the environment.
func karpenterContext() context.Context {
	ctx := log.IntoContext(context.Background(), logr.Discard())
	return options.ToContext(ctx, &options.Options{
		BatchMaxDuration:  10 * time.Second,
		BatchIdleDuration: time.Second,
		CPURequests:       1000,
		PreferencePolicy:  options.PreferencePolicyRespect,
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: true,
		FeatureGates:      options.DefaultFeatureGates(),
	})
}

func decode(list List) ([]client.Object, error) {
	var objects []client.Object
	for i, item := range list.Items {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(item, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		objects = append(objects, object.(client.Object))
	}
	return objects, nil
}

// newClient returns a client of the objects, with the indexes that Karpenter's operator makes.  Lists are in
// the order of namespaces and names; in a cache, and in the fake client, the order is arbitrary.
func newClient(objects []client.Object) client.Client {
	nodeName := func(object client.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} }
	nodeID := func(object client.Object) []string { return []string{object.(*corev1.Node).Spec.ProviderID} }
	claimID := func(object client.Object) []string {
		return []string{object.(*karpv1.NodeClaim).Status.ProviderID}
	}
	return fake.NewClientBuilder().
		WithScheme(scheme.Scheme).
		WithObjects(objects...).
		WithStatusSubresource(&karpv1.NodeClaim{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", nodeName).
		WithIndex(&corev1.Node{}, "spec.providerID", nodeID).
		WithIndex(&karpv1.NodeClaim{}, "status.providerID", claimID).
		WithInterceptorFuncs(interceptor.Funcs{List: sortedList}).
		Build()
}

func sortedList(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.List(ctx, list, opts...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	key := func(object runtime.Object) string { return client.ObjectKeyFromObject(object.(client.Object)).String() }
	sort.Slice(items, func(i, j int) bool { return key(items[i]) < key(items[j]) })
	return meta.SetList(list, items)
}

// fillState does what Karpenter's informers do when they start.
func (w *world) fillState() error {
	claims := &karpv1.NodeClaimList{}
	nodes := &corev1.NodeList{}
	daemonSets := &appsv1.DaemonSetList{}
	pods := &corev1.PodList{}
	for _, list := range []client.ObjectList{claims, nodes, daemonSets, pods} {
		if err := w.client.List(w.ctx, list); err != nil {
			return err
		}
	}
	for i := range claims.Items {
		if nodeclaim.IsManaged(&claims.Items[i], w.provider) {
			w.cluster.UpdateNodeClaim(&claims.Items[i])
		}
	}
	for i := range nodes.Items {
		if err := w.cluster.UpdateNode(w.ctx, &nodes.Items[i]); err != nil {
			return err
		}
	}
	for i := range daemonSets.Items {
		if err := w.cluster.UpdateDaemonSet(w.ctx, &daemonSets.Items[i]); err != nil {
			return err
		}
	}
	for i := range pods.Items {
		// A pod whose node is unknown is an error that the informer repeats until the node comes.
		_ = w.cluster.UpdatePod(w.ctx, &pods.Items[i])
	}
	return nil
}

// encode returns the object as kubectl prints it, without fields that say nothing.
func encode(object client.Object) (json.RawMessage, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	dropUnset(fields)
	return json.Marshal(fields)
}

// dropUnset removes nulls and the empty objects that Go writes for absent structs.
func dropUnset(fields map[string]any) {
	for name, value := range fields {
		if never[name] {
			delete(fields, name)
			continue
		}
		switch value := value.(type) {
		case nil:
			delete(fields, name)
		case string:
			if value == "" && (name == "message" || name == "reason") {
				delete(fields, name)
			}
		case map[string]any:
			dropUnset(value)
			if len(value) == 0 && unset[name] {
				delete(fields, name)
			}
		case []any:
			for _, element := range value {
				if element, ok := element.(map[string]any); ok {
					dropUnset(element)
				}
			}
		}
	}
}

// unset names the objects that mean nothing when they are empty.  An empty selector of a budget selects all pods.
var unset = map[string]bool{"status": true, "resources": true, "metadata": true, "strategy": true, "updateStrategy": true}

// never names the objects that Go writes with zeros in them.
var never = map[string]bool{"nodeInfo": true, "daemonEndpoints": true}
