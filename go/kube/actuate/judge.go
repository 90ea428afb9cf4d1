package actuate

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/kube/drain"
	"ebb/go/kube/provider"
	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

// A provider may have rules of its own about which nodes may go (provider.Judge). They are applied
// before a node is tainted, before its first pod is evicted, again when a drain goes on after a
// restart, and right before the deletion.

func isRefused(err error) bool {
	var refused *provider.Refused
	return errors.As(err, &refused)
}

// admitOrders applies the provider's rules to the nodes of orders.
func (a *Actuator) admitOrders(ctx context.Context, orders []*wire.DeletionOrder) error {
	judge, ok := a.o.Provider.(provider.Judge)
	if !ok || len(orders) == 0 {
		return nil
	}
	candidates := make([]provider.Candidate, 0, len(orders))
	for _, order := range orders {
		node := a.node(order.GetNode(), types.UID(order.GetUid()))
		if node == nil {
			return fmt.Errorf("node %s: %w", order.GetNode(), taint.ErrGone)
		}
		candidates = append(candidates, provider.Candidate{Node: node, Drain: order.GetDrain()})
	}
	return judge.Admit(ctx, candidates...)
}

// admit applies the provider's rules to the node of a deletion, which is to be drained or, if
// deleting, to be deleted.
func (a *Actuator) admit(ctx context.Context, d *deletion, deleting bool) error {
	judge, ok := a.o.Provider.(provider.Judge)
	if !ok {
		return nil
	}
	node := a.node(d.node, d.uid)
	if node == nil {
		return fmt.Errorf("node %s: %w", d.node, taint.ErrGone)
	}
	return judge.Admit(ctx, provider.Candidate{Node: node, Drain: d.drain, Deleting: deleting})
}

// admitResumed is admit for a drain that an earlier process began. It retries if the API server
// does not answer.
func (a *Actuator) admitResumed(d *deletion) error {
	begin := time.Now()
	for {
		err := a.admit(d.ctx, d, false)
		if err == nil || isRefused(err) || errors.Is(err, taint.ErrGone) || time.Since(begin) > a.o.Drainer.Options.MaxEvictionTime {
			return err
		}
		if err := drain.Pause(d.ctx, a.o.Drainer.Options.LookEvery); err != nil {
			return err
		}
	}
}

// providerDrains reports whether the provider drains nodes, so that no pod is evicted here.
func (a *Actuator) providerDrains() bool {
	drainer, ok := a.o.Provider.(provider.SelfDrainer)
	return ok && drainer.DrainsItself()
}

// release makes the provider remove what the deletion has left.
func (a *Actuator) release(ctx context.Context, d *deletion) error {
	releaser, ok := a.o.Provider.(provider.Releaser)
	node := a.node(d.node, d.uid)
	if !ok || node == nil {
		return nil
	}
	return releaser.Release(ctx, node)
}

// deleteBy asks the provider to delete nodes. It retries if the provider's error says that this may
// help.
func (a *Actuator) deleteBy(ctx context.Context, group string, nodes []*corev1.Node) error {
	begin := time.Now()
	for {
		err := a.o.Provider.Delete(ctx, group, nodes)
		if !errors.Is(err, provider.ErrAgain) || time.Since(begin) > a.o.Drainer.Options.MaxEvictionTime {
			return err
		}
		if drain.Pause(ctx, a.o.Drainer.Options.LookEvery) != nil {
			return err
		}
	}
}
