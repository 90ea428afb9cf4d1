package e2e

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"ebb/go/e2e/nodes"
	"ebb/go/kube/app"
	"ebb/go/kube/provider/clusterapi"
)

const capiVersion = "v1beta1"

func capi(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: clusterapi.Group, Version: capiVersion, Resource: resource}
}

// clusterAPIFake keeps as many Machines as its MachineDeployment has replicas, as the controllers of
// Cluster API do: it makes machines that are missing, and deletes the ones that are too many, first
// those that are being deleted and those with the annotation delete-machine.
type clusterAPIFake struct {
	machineRoom
	group nodes.Group
	set   *unstructured.Unstructured
}

// startClusterAPI installs minimal kinds of Cluster API, a Cluster, a MachineDeployment "md" with its
// MachineSet and a Machine for each node, and runs the fake.
func (c *cluster) startClusterAPI(group nodes.Group) *clusterAPIFake {
	c.t.Helper()
	c.define(definitionOf(clusterapi.Group, capiVersion, "Cluster", "clusters"), definitionOf(clusterapi.Group, capiVersion, "MachineDeployment", "machinedeployments"),
		definitionOf(clusterapi.Group, capiVersion, "MachineSet", "machinesets"), definitionOf(clusterapi.Group, capiVersion, "Machine", "machines"))
	f := &clusterAPIFake{machineRoom: machineRoom{c: c, client: c.others()}, group: group}
	f.create("clusters", "Cluster", object{"name": "c"}, object{}, nil)
	deployment := f.create("machinedeployments", "MachineDeployment", object{"name": "md", "annotations": object{
		"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "2", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "5",
	}}, object{"clusterName": "c", "replicas": int64(len(c.nodes))}, nil)
	f.set = f.create("machinesets", "MachineSet", object{"name": "md-1", "ownerReferences": owners(deployment)}, object{"clusterName": "c"}, nil)
	for _, name := range c.nodes {
		f.createMachine(name)
	}
	f.run(f.turn)
	return f
}

func owners(of *unstructured.Unstructured) []any {
	return []any{object{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind(), "name": of.GetName(), "uid": string(of.GetUID()), "controller": true}}
}

func (f *clusterAPIFake) createMachine(node string) {
	f.create("machines", "Machine", object{"name": "machine-" + node, "ownerReferences": owners(f.set), "finalizers": []any{"machine.cluster.x-k8s.io"}},
		object{"clusterName": "c", "providerID": "e2e:///" + node}, object{"nodeRef": object{"name": node}})
}

func (f *clusterAPIFake) create(resource, kind string, metadata, spec, status object) *unstructured.Unstructured {
	f.c.t.Helper()
	made := &unstructured.Unstructured{Object: object{"apiVersion": clusterapi.Group + "/" + capiVersion, "kind": kind, "metadata": metadata, "spec": spec}}
	of := f.client.Resource(capi(resource)).Namespace(f.c.namespace)
	held, err := of.Create(f.c.ctx, made, metav1.CreateOptions{})
	if err == nil && status != nil {
		held.Object["status"] = status
		held, err = of.UpdateStatus(f.c.ctx, held, metav1.UpdateOptions{})
	}
	if err != nil {
		f.problem("%s: %v", kind, err)
	}
	return held
}

// replicas returns the replicas of the MachineDeployment.
func (f *clusterAPIFake) replicas(ctx context.Context) (int, error) {
	deployment, err := f.client.Resource(capi("machinedeployments")).Namespace(f.c.namespace).Get(ctx, "md", metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	replicas, _, err := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	return int(replicas), err
}

func (f *clusterAPIFake) turn(ctx context.Context) {
	if f.held() {
		return
	}
	replicas, err := f.replicas(ctx)
	if err != nil {
		return
	}
	of := f.client.Resource(capi("machines")).Namespace(f.c.namespace)
	list, err := of.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for range replicas - len(list.Items) {
		made, err := nodes.Create(ctx, client, nodes.Group{Name: f.group.Name, Count: 1, CPU: f.group.CPU, Memory: f.group.Memory})
		if err != nil {
			return
		}
		f.createMachine(made[0])
	}
	machines := list.Items
	slices.SortStableFunc(machines, func(a, b unstructured.Unstructured) int { return firstToGo(&b) - firstToGo(&a) })
	for i := range machines {
		machine := &machines[i]
		if machine.GetDeletionTimestamp() != nil {
			node, _, _ := unstructured.NestedString(machine.Object, "status", "nodeRef", "name")
			if f.end(ctx, node) {
				f.release(ctx, capi("machines"), machine)
			}
			continue
		}
		if i >= len(machines)-replicas {
			continue
		}
		if firstToGo(machine) == 0 {
			f.problem("%s is deleted, which no one has marked", machine.GetName())
		}
		_ = of.Delete(ctx, machine.GetName(), metav1.DeleteOptions{})
	}
}

func firstToGo(machine *unstructured.Unstructured) int {
	_, marked := machine.GetAnnotations()["cluster.x-k8s.io/delete-machine"]
	switch {
	case machine.GetDeletionTimestamp() != nil:
		return 2
	case marked:
		return 1
	}
	return 0
}

// byClusterAPI makes a replica scale MachineDeployments, with no more rights than the manifests
// grant.
func (c *cluster) byClusterAPI() func(*app.Options) {
	return c.withRights("cluster-api", func(own kubernetes.Interface, others dynamic.Interface, o *app.Options) {
		o.Provider = &clusterapi.Provider{Client: own, Dynamic: others}
	})
}
