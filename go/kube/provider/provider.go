// Package provider is who makes machines go when their nodes are drained, and groups grow.
//
//	node-object   deletes the Node, and nothing else: for kwok, and where something else follows Nodes
//	exec          runs a command of the user's, with JSON on its standard input; another for growth
//	externalgrpc  asks a provider that was written for the autoscaler (package externalgrpc)
//
// Threads: providers are called concurrently, for one group at a time.
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
	// Name of it, as in --provider.
	Name() string
	// Delete asks for the machines of these nodes, which are of one group, to be deleted, and returns
	// when that was taken; their Node objects may go later.  An error: at least one was not taken.
	Delete(ctx context.Context, group string, nodes []*corev1.Node) error
	// Taken tells whether a node's deletion was asked for before, as far as the provider knows: it is
	// asked after a restart, when nobody remembers.  False: it is asked for again.
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

// Grower is a provider that can make machines.
type Grower interface {
	// CanGrow tells whether it does so here: one may not be told how.
	CanGrow() bool
	// Grow asks that a group has at least size machines, those that boot counted, and returns when that
	// was taken.  It may be asked again for the same size, which changes nothing.  An error: it was not
	// taken, and is ErrNoGroup or ErrTooLarge if that is why.
	Grow(ctx context.Context, group string, size int) error
}

// Why a group does not grow.
var (
	ErrNoGroup  = errors.New("there is no such group")
	ErrTooLarge = errors.New("it may not be so large")
)

// NodeObject deletes the Node alone.  It makes none: a Node without a machine behind it would only draw
// pods that nobody runs.
type NodeObject struct {
	Client kubernetes.Interface
}

// Name is "node-object".
func (*NodeObject) Name() string { return "node-object" }

// Delete deletes the nodes that are still the same machines.
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

// Taken is never known, and to ask again does no harm.
func (*NodeObject) Taken(context.Context, string, *corev1.Node) (bool, error) { return false, nil }
