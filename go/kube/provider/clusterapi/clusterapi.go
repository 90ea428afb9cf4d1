// Package clusterapi deletes and makes machines of Cluster API, in the API server that has the
// nodes: a self-managed cluster.
//
// A node goes in two requests. The first marks its Machine with the annotation
// cluster.x-k8s.io/delete-machine, so that Cluster API chooses it. The second lowers the replicas of
// its MachineDeployment, and at the same time records the Machine's UID in an annotation of the
// MachineDeployment (actuator.ebb/lowered-for). Both fail if the object was changed meanwhile. So a
// process that is killed at any moment can repeat both: replicas are lowered once for each Machine.
// If the deletion ends between the two, Release takes the mark off.
//
// A node stays if its Machine is not clear, if its Cluster, MachineDeployment, MachineSet or Machine
// is paused, if the annotations with the sizes that the autoscaler uses are missing or cannot be
// read, during a rollout, and at the minimum size.
//
// Cost:    each call lists the Clusters, MachineDeployments, MachineSets, Machines and nodes.
// Threads: all methods may be called concurrently; calls that change something run one after the
// other.
// Source:  cluster-autoscaler pkg/cloudprovider/clusterapi.
package clusterapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"ebb/go/kube/provider"
)

// Provider scales MachineDeployments.
type Provider struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	mu sync.Mutex // Held during calls that change something.
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Judge    = (*Provider)(nil)
	_ provider.Releaser = (*Provider)(nil)
	_ provider.Reviewer = (*Provider)(nil)
	_ provider.Grower   = (*Provider)(nil)
	_ provider.Grouper  = (*Provider)(nil)
)

// Name returns "cluster-api".
func (*Provider) Name() string { return "cluster-api" }

// Admit checks that the machine of each candidate can be deleted.
func (p *Provider) Admit(ctx context.Context, candidates ...provider.Candidate) error {
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	for _, candidate := range candidates {
		if err := v.admit(candidate); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) admit(candidate provider.Candidate) error {
	node := candidate.Node
	machine, pool, err := v.find(node)
	if err != nil {
		return err
	}
	isGoing := machine.DeletionTimestamp != nil || pool.lowered[machine.UID]
	switch {
	case isGoing && candidate.Deleting:
		return nil
	case isGoing:
		return provider.Refuse(node.Name, "Cluster API is deleting %s already", machine.id())
	case machine.isPaused():
		return provider.Refuse(node.Name, "%s is paused (annotation %s)", machine.id(), paused)
	}
	if err := pool.whyNot(); err != nil {
		return provider.Refuse(node.Name, "%v", err)
	}
	// Nodes that are drained now will go too.
	going := int64(0)
	for _, other := range pool.machines {
		if other != machine && other.DeletionTimestamp == nil && !pool.lowered[other.UID] && v.isActedOn(other) {
			going++
		}
	}
	least, _, _ := pool.sizes() // whyNot has checked them.
	if pool.replicas()-going-1 < least {
		return provider.Refuse(node.Name, "%s has %d replicas, of which %d go already, and its minimum is %d", pool.id(), pool.replicas(), going, least)
	}
	return nil
}

// Delete marks the Machines of the nodes and lowers the replicas of what scales them. It changes
// nothing if one of the nodes may not go.
func (p *Provider) Delete(ctx context.Context, _ string, nodes []*corev1.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.look(ctx)
	if err != nil {
		return again(err)
	}
	chosen := map[*pool][]*item{}
	for _, node := range nodes {
		machine, pool, err := v.find(node)
		if err != nil {
			return err
		}
		if machine.DeletionTimestamp == nil && !pool.lowered[machine.UID] {
			chosen[pool] = append(chosen[pool], machine)
		}
	}
	for pool, machines := range chosen {
		if err := v.check(pool, machines); err != nil {
			return err
		}
	}
	var failed []error
	for pool, machines := range chosen {
		if err := p.lower(ctx, v, pool, machines); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// check checks that lowering the replicas deletes exactly these machines.
func (v *view) check(pool *pool, machines []*item) error {
	if err := pool.whyNot(); err != nil {
		return err
	}
	least, _, _ := pool.sizes() // whyNot has checked them.
	if left := pool.replicas() - int64(len(machines)); left < least {
		return fmt.Errorf("%s: %d of %d replicas cannot go, as its minimum is %d", pool.id(), len(machines), pool.replicas(), least)
	}
	stay := int64(0)
	for _, machine := range pool.machines {
		if machine.DeletionTimestamp != nil || pool.lowered[machine.UID] {
			continue
		}
		stay++
		// A mark of this program on a node that it is deleting is of a process that was killed.
		if machine.isMarked() && !slices.Contains(machines, machine) && !(machine.Annotations[deleteMachine] == own && v.isActedOn(machine)) {
			return fmt.Errorf("%s has the annotation %s too, and Cluster API could delete it instead", machine.id(), deleteMachine)
		}
	}
	// Otherwise Cluster API is about to make or to delete other machines, and lowering the replicas
	// might only cancel that.
	if stay != pool.replicas() {
		return again(fmt.Errorf("%s is being scaled: it has %d machines that stay, and %d replicas", pool.id(), stay, pool.replicas()))
	}
	return nil
}

// lower marks machines and lowers the pool's replicas. The mark comes first: Cluster API must not
// see lower replicas without it.
func (p *Provider) lower(ctx context.Context, v *view, pool *pool, machines []*item) error {
	for _, machine := range machines {
		if machine.isMarked() {
			continue
		}
		if err := p.patch(ctx, v, machine, map[string]any{deleteMachine: own}, nil); err != nil {
			return err
		}
	}
	var uids []string
	for _, machine := range pool.machines { // Machines that are gone are forgotten.
		if pool.lowered[machine.UID] || slices.Contains(machines, machine) {
			uids = append(uids, string(machine.UID))
		}
	}
	replicas := pool.replicas() - int64(len(machines))
	return p.patch(ctx, v, pool.item, map[string]any{loweredFor: strings.Join(uids, ",")}, &replicas)
}

// patch changes annotations (nil removes one) and replicas of an object, if it was not changed since
// it was read.
func (p *Provider) patch(ctx context.Context, v *view, object *item, annotations map[string]any, replicas *int64) error {
	metadata := map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	change := map[string]any{"metadata": metadata}
	if replicas != nil {
		change["spec"] = map[string]any{"replicas": *replicas}
	}
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	resource := v.resource(strings.ToLower(object.Kind) + "s")
	_, err = p.Dynamic.Resource(resource).Namespace(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		return again(fmt.Errorf("%s: %w", object.id(), err))
	}
	return nil
}

// again marks an error after which a repeated call may succeed: the API server gave no answer, or
// an object was changed meanwhile.
func again(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, provider.ErrAgain)
}

// Taken reports whether the node's Machine is being deleted, or the node is gone.
func (p *Provider) Taken(ctx context.Context, _ string, node *corev1.Node) (bool, error) {
	v, err := p.look(ctx)
	if err != nil {
		return false, err
	}
	// The caller's node may be an old one.
	if held := v.nodes[node.Name]; held == nil || held.UID != node.UID {
		return true, nil
	}
	machine, pool, err := v.find(node)
	if err != nil {
		return false, nil // Delete names the reason.
	}
	return machine.DeletionTimestamp != nil || pool.lowered[machine.UID], nil
}

// Release takes the mark off the node's Machine, if this program set it and no replicas were lowered
// for it.
func (p *Provider) Release(ctx context.Context, node *corev1.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	machine, pool, err := v.find(node)
	if err != nil || machine.DeletionTimestamp != nil || pool.lowered[machine.UID] || machine.Annotations[deleteMachine] != own {
		return nil // Nothing is left that this program could take off.
	}
	return p.patch(ctx, v, machine, map[string]any{deleteMachine: nil}, nil)
}

// CanGrow returns true.
func (*Provider) CanGrow() bool { return true }

// growTries is how often growth is tried if its MachineDeployment is changed meanwhile.
const growTries = 5

// Grow raises the replicas of a MachineDeployment to size; larger replicas stay. The group is named
// MachineDeployment/NAMESPACE/NAME, or by a name that only one MachineDeployment has.
func (p *Provider) Grow(ctx context.Context, group string, size int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for try := 1; ; try++ {
		err := p.grow(ctx, group, int64(size))
		if !apierrors.IsConflict(err) || try == growTries {
			return err
		}
	}
}

func (p *Provider) grow(ctx context.Context, group string, size int64) error {
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	pool, err := v.named(group)
	if err != nil {
		return err
	}
	if pool.cluster != nil && pool.cluster.isPaused() || pool.isPaused() {
		return fmt.Errorf("%s or its Cluster is paused", pool.id())
	}
	_, most, err := pool.sizes()
	switch {
	case err != nil:
		return err
	case pool.replicas() >= size:
		return nil
	case size > most:
		return fmt.Errorf("%s: %w: %d machines are wanted, and its maximum is %d", pool.id(), provider.ErrTooLarge, size, most)
	}
	return p.patch(ctx, v, pool.item, nil, &size)
}

func (v *view) named(group string) (*pool, error) {
	var found []*pool
	var ids []string
	for _, pool := range v.pools {
		if pool.id() == group || pool.Name == group {
			found = append(found, pool)
		}
		ids = append(ids, pool.id())
	}
	slices.Sort(ids)
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("group %q: %w among these: %s", group, provider.ErrNoGroup, strings.Join(ids, ", "))
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("group %q: %w: %d have that name; expected one of: %s", group, provider.ErrNoGroup, len(found), strings.Join(ids, ", "))
}

// Groups returns the MachineDeployments that have the annotations with their sizes.
func (p *Provider) Groups(ctx context.Context, nodes []*corev1.Node) ([]provider.Group, error) {
	v, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	var groups []provider.Group
	for _, pool := range v.pools {
		least, most, err := pool.sizes()
		if err != nil {
			continue // Review names it, and its nodes stay.
		}
		group := provider.Group{Name: pool.id(), MinSize: int(least), MaxSize: int(most), TargetSize: int(pool.replicas())}
		for _, node := range nodes {
			if machine, err := v.machineOf(node); err == nil && slices.Contains(pool.machines, machine) {
				group.Nodes = append(group.Nodes, node.Name)
			}
		}
		slices.Sort(group.Nodes)
		groups = append(groups, group)
	}
	return groups, nil
}

// Review lists the MachineDeployments whose nodes all stay, and the Machines and nodes that do not
// fit together.
func (p *Provider) Review(ctx context.Context) (refused, notes []string, err error) {
	v, err := p.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, pool := range v.pools {
		if err := pool.whyNot(); err != nil {
			refused = append(refused, err.Error())
		}
	}
	for _, node := range v.nodes {
		if _, found := node.Annotations[machineOfNode]; !found {
			continue
		}
		var why *provider.Refused
		if _, err := v.machineOf(node); errors.As(err, &why) {
			notes = append(notes, why.Error())
		}
	}
	for _, machine := range v.machines {
		if name := machine.Status.NodeRef.Name; v.nodes[name] == nil {
			notes = append(notes, fmt.Sprintf("%s has no node", machine.id()))
		}
	}
	slices.Sort(refused)
	slices.Sort(notes)
	return refused, notes, nil
}
