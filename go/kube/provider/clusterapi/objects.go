package clusterapi

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/kube/access"
	"ebb/go/kube/provider"
	"ebb/go/kube/taint"
)

// Group is the API group of Cluster API.
const Group = "cluster.x-k8s.io"

// Annotations of Cluster API and of the autoscaler for it.
// Source: cluster-autoscaler pkg/cloudprovider/clusterapi clusterapi_utils.go.
const (
	machineOfNode   = Group + "/machine"
	namespaceOfNode = Group + "/cluster-namespace"
	deleteMachine   = Group + "/delete-machine"
	paused          = Group + "/paused"
	minSize         = Group + "/cluster-api-autoscaler-node-group-min-size"
	maxSize         = Group + "/cluster-api-autoscaler-node-group-max-size"
)

const (
	// loweredFor is an annotation of a MachineDeployment (or of a MachineSet without one): the UIDs of
	// the Machines for which its replicas were lowered, separated by commas. It changes in the same
	// request as the replicas, so a repeated deletion never lowers them twice.
	loweredFor = "actuator.ebb/lowered-for"
	// own is the value of deleteMachine if this program set it.
	own = "ebb-kube"
)

// Rights returns the rights that the provider needs beside those of every actuator.
func (*Provider) Rights() []access.Right {
	var rights []access.Right
	for _, resource := range []string{"clusters", "machinedeployments", "machines", "machinesets"} {
		rights = append(rights, access.Right{Verb: "list", Group: Group, Resource: resource})
		if resource != "clusters" {
			rights = append(rights, access.Right{Verb: "patch", Group: Group, Resource: resource})
		}
	}
	return rights
}

// item has the fields that decide, of a Cluster, MachineDeployment, MachineSet or Machine.
type item struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClusterName string `json:"clusterName"`
		Paused      bool   `json:"paused"`
		Replicas    *int64 `json:"replicas"`
		ProviderID  string `json:"providerID"`
	} `json:"spec"`
	Status struct {
		NodeRef struct {
			Name string `json:"name"`
		} `json:"nodeRef"`
	} `json:"status"`
}

// id names an object as the autoscaler names node groups: MachineDeployment/NAMESPACE/NAME.
func (i *item) id() string { return path.Join(i.Kind, i.Namespace, i.Name) }

func (i *item) isPaused() bool {
	_, annotated := i.Annotations[paused]
	return annotated || i.Spec.Paused
}

// isMarked reports whether the Machine is to be the first that is deleted.
func (i *item) isMarked() bool { _, found := i.Annotations[deleteMachine]; return found }

// isOf reports whether the Machine or the Node names the other.
func (i *item) isOf(node *corev1.Node) bool {
	named := node.Annotations[machineOfNode] == i.Name && node.Annotations[namespaceOfNode] == i.Namespace
	return named || i.Status.NodeRef.Name == node.Name
}

// pool is what is scaled: a MachineDeployment, or a MachineSet without one.
type pool struct {
	*item
	cluster  *item // Nil if it does not exist.
	sets     []*item
	machines []*item // Of all its sets.
	lowered  map[types.UID]bool
}

// replicas returns spec.replicas; its default is 1.
func (p *pool) replicas() int64 {
	if p.Spec.Replicas == nil {
		return 1
	}
	return *p.Spec.Replicas
}

// size returns the value of an annotation with a size.
func (p *pool) size(key string) (int64, error) {
	value, found := p.Annotations[key]
	if !found {
		return 0, fmt.Errorf("%s has no annotation %s", p.id(), key)
	}
	size, err := strconv.ParseInt(value, 10, 32)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("%s: annotation %s: %q is not a number of machines", p.id(), key, value)
	}
	return size, nil
}

// sizes returns the smallest and the largest size.
func (p *pool) sizes() (least, most int64, err error) {
	if least, err = p.size(minSize); err != nil {
		return 0, 0, err
	}
	if most, err = p.size(maxSize); err != nil {
		return 0, 0, err
	}
	if most < least {
		return 0, 0, fmt.Errorf("%s: its annotations have the maximum %d and the minimum %d", p.id(), most, least)
	}
	return least, most, nil
}

// whyNot returns why the pool cannot be scaled now; nil if it can.
func (p *pool) whyNot() error {
	if p.cluster == nil {
		return fmt.Errorf("the Cluster %q of %s does not exist", p.Spec.ClusterName, p.id())
	}
	for _, each := range append([]*item{p.cluster, p.item}, p.sets...) {
		if each.isPaused() {
			return fmt.Errorf("%s is paused (spec.paused, or annotation %s)", each.id(), paused)
		}
	}
	if _, _, err := p.sizes(); err != nil {
		return err
	}
	var full []string
	for _, set := range p.sets {
		if slices.ContainsFunc(p.machines, func(m *item) bool { return isOwnedBy(m, set) }) {
			full = append(full, set.Name)
		}
	}
	if len(full) > 1 {
		return fmt.Errorf("%s is being rolled out: its MachineSets %s have Machines, and Cluster API would choose among them", p.id(), strings.Join(full, ", "))
	}
	return nil
}

func isOwnedBy(object, owner *item) bool {
	controller := metav1.GetControllerOf(object)
	return controller != nil && controller.UID == owner.UID
}

// view is what the API server reports at one moment.
type view struct {
	version  string
	machines []*item
	pools    []*pool
	nodes    map[string]*corev1.Node
}

// look reads all objects of Cluster API, and the nodes.
func (p *Provider) look(ctx context.Context) (*view, error) {
	v := &view{nodes: map[string]*corev1.Node{}}
	var err error
	if v.version, err = p.version(); err != nil {
		return nil, err
	}
	lists := map[string][]*item{}
	for _, resource := range []string{"clusters", "machinedeployments", "machinesets", "machines"} {
		if lists[resource], err = p.list(ctx, v.resource(resource)); err != nil {
			return nil, err
		}
	}
	nodes, err := p.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	for i := range nodes.Items {
		v.nodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	v.machines = lists["machines"]
	v.addPools(lists)
	return v, nil
}

func (v *view) addPools(lists map[string][]*item) {
	for _, deployment := range lists["machinedeployments"] {
		v.pools = append(v.pools, &pool{item: deployment})
	}
	for _, set := range lists["machinesets"] {
		at := slices.IndexFunc(v.pools, func(p *pool) bool { return isOwnedBy(set, p.item) })
		switch {
		case at >= 0:
			v.pools[at].sets = append(v.pools[at].sets, set)
		case metav1.GetControllerOf(set) == nil:
			v.pools = append(v.pools, &pool{item: set, sets: []*item{set}})
		}
	}
	for _, p := range v.pools {
		p.lowered = map[types.UID]bool{}
		for _, uid := range strings.Split(p.Annotations[loweredFor], ",") {
			p.lowered[types.UID(uid)] = true
		}
		for _, machine := range v.machines {
			if slices.ContainsFunc(p.sets, func(set *item) bool { return isOwnedBy(machine, set) }) {
				p.machines = append(p.machines, machine)
			}
		}
		for _, cluster := range lists["clusters"] {
			if cluster.Namespace == p.Namespace && cluster.Name == p.Spec.ClusterName {
				p.cluster = cluster
			}
		}
	}
}

// resource returns a resource in the version that the API server prefers.
func (v *view) resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: v.version, Resource: name}
}

// version returns the version of Cluster API that the API server prefers.
func (p *Provider) version() (string, error) {
	groups, err := p.Client.Discovery().ServerGroups()
	if err != nil {
		return "", fmt.Errorf("the groups of the API server: %w", err)
	}
	for _, group := range groups.Groups {
		if group.Name == Group {
			return group.PreferredVersion.Version, nil
		}
	}
	return "", fmt.Errorf("the API server does not serve %s", Group)
}

func (p *Provider) list(ctx context.Context, resource schema.GroupVersionResource) ([]*item, error) {
	list, err := p.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", resource.Resource, resource.Group, err)
	}
	items := make([]*item, 0, len(list.Items))
	for i := range list.Items {
		converted, err := convert(&list.Items[i])
		if err != nil {
			return nil, err
		}
		items = append(items, converted)
	}
	return items, nil
}

func convert(object *unstructured.Unstructured) (*item, error) {
	converted := &item{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, converted); err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return converted, nil
}

// machineOf returns the Machine of a node, or a *provider.Refused that says why it is not clear.
func (v *view) machineOf(node *corev1.Node) (*item, error) {
	var found []*item
	var names []string
	for _, machine := range v.machines {
		if machine.isOf(node) {
			found, names = append(found, machine), append(names, machine.Namespace+"/"+machine.Name)
		}
	}
	switch {
	case len(found) == 0:
		return nil, provider.Refuse(node.Name, "it has no Machine: neither its annotation %s nor a Machine's status.nodeRef names one that exists", machineOfNode)
	case len(found) > 1:
		slices.Sort(names)
		return nil, provider.Refuse(node.Name, "it has %d Machines: %s", len(found), strings.Join(names, ", "))
	}
	machine := found[0]
	if machine.Status.NodeRef.Name != node.Name || (machine.Spec.ProviderID != "" && machine.Spec.ProviderID != node.Spec.ProviderID) {
		return nil, provider.Refuse(node.Name, "%s contradicts it: it has the node %q and the providerID %q, and the node has %q",
			machine.id(), machine.Status.NodeRef.Name, machine.Spec.ProviderID, node.Spec.ProviderID)
	}
	return machine, nil
}

// find returns the Machine of a node and what scales it.
func (v *view) find(node *corev1.Node) (*item, *pool, error) {
	machine, err := v.machineOf(node)
	if err != nil {
		return nil, nil, err
	}
	for _, pool := range v.pools {
		if slices.Contains(pool.machines, machine) {
			return machine, pool, nil
		}
	}
	return nil, nil, provider.Refuse(node.Name, "%s belongs to no MachineDeployment and no MachineSet", machine.id())
}

// isActedOn reports whether the Machine's node is being drained or deleted.
func (v *view) isActedOn(machine *item) bool {
	node := v.nodes[machine.Status.NodeRef.Name]
	return node != nil && taint.IsActedOn(node)
}
