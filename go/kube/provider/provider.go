// Package provider deletes the machines of drained nodes and makes groups grow.
//
//	node-object   deletes only the Node: for kwok, and where another program follows Nodes
//	exec          runs a command of the user, with JSON on its standard input; another for growth
//	externalgrpc  calls a provider that was written for the autoscaler (package externalgrpc)
//	karpenter     deletes NodeClaims (package karpenter)
//	cluster-api   marks Machines and lowers their MachineDeployment's replicas (package clusterapi)
//
// Threads: providers are called concurrently, but for one group at a time.
package provider

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Provider deletes machines.
type Provider interface {
	// Name returns the provider's name, as in --provider.
	Name() string
	// Delete requests the deletion of the machines of these nodes, which are of one group. It
	// returns when the request was accepted; the Node objects may disappear later. An error means
	// that the deletion of at least one node was not accepted.
	Delete(ctx context.Context, group string, nodes []*corev1.Node) error
	// Taken reports whether a node's deletion was requested before, as far as the provider knows.
	// It is called after a restart, when the actuator does not know. If it returns false, the
	// deletion is requested again.
	Taken(ctx context.Context, group string, node *corev1.Node) (bool, error)
}

// Group is a node group as a provider knows it.
type Group struct {
	Name             string
	MinSize, MaxSize int
	TargetSize       int
	Nodes            []string
}

// Grouper is a provider that knows node groups.
type Grouper interface {
	Groups(ctx context.Context, nodes []*corev1.Node) ([]Group, error)
}

// Candidate is a node that is to go.
type Candidate struct {
	Node *corev1.Node
	// Drain: pods are moved away. Otherwise the node must be empty.
	Drain bool
	// Deleting: its drain is over, and the deletion of its machine is to be requested now.
	Deleting bool
}

// Judge is a provider whose own rules decide which nodes may go.
type Judge interface {
	// Admit returns an error if one of the nodes may not go now, as the API server reports it, not a
	// cache. A *Refused is final; after another error the caller may try again. Nodes of limits that
	// several nodes share (budgets, minimum sizes) count from the phase "draining" on, so callers
	// that begin drains must call Admit and write that phase one after the other.
	Admit(ctx context.Context, candidates ...Candidate) error
}

// Refused is the error about a node that a provider's rules keep.
type Refused struct{ Node, Why string }

func (r *Refused) Error() string { return fmt.Sprintf("node %s: %s", r.Node, r.Why) }

// Refuse returns a *Refused.
func Refuse(node, format string, args ...any) error {
	return &Refused{Node: node, Why: fmt.Sprintf(format, args...)}
}

// ErrAgain is wrapped by an error of Delete after which a repeated call may succeed.
var ErrAgain = errors.New("it may succeed later")

// SelfDrainer is a provider that may drain nodes itself when it deletes them.
type SelfDrainer interface {
	// DrainsItself reports whether it does. Then the actuator evicts no pod.
	DrainsItself() bool
}

// Releaser is a provider that may leave something behind when a deletion ends before it was
// accepted.
type Releaser interface {
	// Release removes what an unfinished deletion of the node has left. It may be called for any
	// node.
	Release(ctx context.Context, node *corev1.Node) error
}

// Reviewer is a provider that can list beforehand which objects keep nodes.
type Reviewer interface {
	// Review returns one line for each group whose nodes all stay, and what to change (refused), and
	// one for each other problem (notes).
	Review(ctx context.Context) (refused, notes []string, err error)
}

// Grower is a provider that may be able to make machines.
type Grower interface {
	// CanGrow reports whether the provider is configured to make machines.
	CanGrow() bool
	// Grow requests that a group has at least size machines, including machines that are booting,
	// and returns when the request was accepted. Requesting the same size again changes nothing. If
	// a request is not accepted, the error is ErrNoGroup or ErrTooLarge if that is the reason.
	Grow(ctx context.Context, group string, size int) error
}

// Reasons why a group cannot grow.
var (
	ErrNoGroup  = errors.New("there is no such group")
	ErrTooLarge = errors.New("the size is above the maximum")
)

// Order is a machine to buy.
type Order struct {
	// ID is the idempotency key: at most 40 lower-case letters, digits and "-".
	ID string
	// Empty zone or capacity type: any. Like is a node of the group.
	Group, MachineType, Zone, CapacityType, Like string
}

// Bought is the state of an order that was carried out.
type Bought struct {
	Node     string // Empty: there is none yet.
	Ready    bool   // The node is Ready and takes pods.
	WaitsFor string // If it is not ready.
}

// Buyer is a provider that may be able to buy single machines.
type Buyer interface {
	// CanBuy reports whether the provider is configured to buy machines.
	CanBuy() bool
	// Buy carries all orders out that were not carried out before, or, if one is refused, none of
	// them, and returns the state of each. A *RefusedOrder is final; after ErrAgain the caller may
	// try again.
	Buy(ctx context.Context, orders []Order) ([]Bought, error)
}

// RefusedOrder is the error about an order that the provider does not carry out. Why also says what
// to change.
type RefusedOrder struct{ ID, Why string }

func (r *RefusedOrder) Error() string { return fmt.Sprintf("order %s: %s", r.ID, r.Why) }

// RefuseOrder returns a *RefusedOrder.
func RefuseOrder(id, format string, args ...any) error {
	return &RefusedOrder{ID: id, Why: fmt.Sprintf(format, args...)}
}

// NodeObject deletes only the Node. It cannot make machines: a Node without a machine would attract
// pods that no kubelet runs.
type NodeObject struct {
	Client kubernetes.Interface
}

// Name returns "node-object".
func (*NodeObject) Name() string { return "node-object" }

// Delete deletes the nodes that are still the same machines (same UID).
func (p *NodeObject) Delete(ctx context.Context, _ string, nodes []*corev1.Node) error {
	var failed []error
	for _, node := range nodes {
		err := p.Client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &node.UID},
		})
		if err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("node %s: %w", node.Name, err))
		}
	}
	return errors.Join(failed...)
}

// Taken always returns false: a repeated deletion does no harm.
func (*NodeObject) Taken(context.Context, string, *corev1.Node) (bool, error) { return false, nil }
