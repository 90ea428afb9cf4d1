package actuate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ebb/go/kube/drain"
	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// drain examines the node's pods and moves them away. Afterwards the deletion is DRAINED or FAILED.
// If this process ends first, its phase stays as it is.
func (a *Actuator) drain(d *deletion, resumed bool) {
	err := a.tryDrain(d, resumed)
	switch {
	case d.ctx.Err() != nil:
		// The deletion has ended, or this process is ending.
	case err != nil:
		a.fail(d, err)
	default:
		a.settle(d)
	}
}

func (a *Actuator) tryDrain(d *deletion, resumed bool) error {
	node := a.node(d.node, d.uid)
	if node == nil {
		return fmt.Errorf("node %s: %w", d.node, taint.ErrGone)
	}
	if resumed {
		if err := a.admitResumed(d); err != nil {
			return err
		}
	}
	look, err := a.look(d, drain.LookOptions{Empty: !d.drain, Resumed: resumed && !a.providerDrains()})
	if err != nil || a.providerDrains() {
		return err
	}
	return a.o.Drainer.Drain(d.ctx, node, look)
}

// look retries if the API server does not answer, and if this actuator's own recent evictions have
// spent a budget: those pods are still moving.
func (a *Actuator) look(d *deletion, o drain.LookOptions) (*drain.Look, error) {
	options := &a.o.Drainer.Options
	begin := time.Now()
	for {
		look, err := a.o.Drainer.Look(d.ctx, d.node, o)
		var kept *drain.Blocked
		final := err == nil || (errors.As(err, &kept) && !a.spent(kept))
		if final || time.Since(begin)+options.EvictAgainAfter > options.MaxEvictionTime {
			return look, err
		}
		if err := drain.Pause(d.ctx, options.EvictAgainAfter); err != nil {
			return nil, err
		}
	}
}

// spent reports whether a budget may be spent by evictions of this actuator, or of an earlier
// process whose drains it took over.
func (a *Actuator) spent(kept *drain.Blocked) bool {
	if kept.Reason != drain.NotEnoughPdb {
		return false
	}
	namespace, _, _ := strings.Cut(kept.Pod, "/")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.evicting[namespace] > 0 {
		return true
	}
	a.forgetEvictions()
	for _, other := range a.running {
		began := other.phase != wire.DeletionPhase_TAINTED && other.phase != wire.DeletionPhase_FAILED
		if other.takenOver && began && time.Since(other.entered) < a.o.EvictionsFor {
			return true
		}
	}
	return slices.ContainsFunc(a.evicted, func(e evicted) bool { return e.pod.Namespace == namespace })
}

// settle writes the phase DRAINED on the node, and retries until the API server accepts it.
func (a *Actuator) settle(d *deletion) {
	for {
		err := a.step(d.ctx, d, wire.DeletionPhase_DRAINED, func() {})
		if err == nil || errors.Is(err, taint.ErrGone) {
			return
		}
		if drain.Pause(d.ctx, a.o.Drainer.Options.LookEvery) != nil {
			return
		}
	}
}

// batch is a set of nodes of one group that are deleted together.
type batch struct {
	deletions []*deletion
	timer     *time.Timer // Nil if the batch waits for a number of nodes.
}

// queue schedules the deletion of a node: at once, after the batch interval, or when all nodes of
// its atomic group are ready.
func (a *Actuator) queue(d *deletion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d.batchSize == 0 && a.o.BatchInterval == 0 {
		a.tasks.Go(func() { a.deleteAll(d.group, []*deletion{d}) })
		return
	}
	b := a.batches[d.group]
	if b == nil {
		b = &batch{}
		a.batches[d.group] = b
	}
	b.deletions = append(b.deletions, d)
	switch {
	case d.batchSize > 0 && int64(len(b.deletions)) >= d.batchSize:
		a.startBatch(d.group, b)
	case d.batchSize == 0 && b.timer == nil:
		b.timer = time.AfterFunc(a.o.BatchInterval, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.batches[d.group] == b && a.ctx.Err() == nil {
				a.startBatch(d.group, b)
			}
		})
		context.AfterFunc(a.ctx, func() { b.timer.Stop() })
	}
}

// startBatch removes a batch from the queue and deletes its nodes. REQUIRES: mu.
func (a *Actuator) startBatch(group string, b *batch) {
	delete(a.batches, group)
	a.tasks.Go(func() { a.deleteAll(group, b.deletions) })
}

// leaveBatch removes a deletion from its batch. If the group is atomic, it dissolves the batch and
// returns the other deletions. REQUIRES: mu.
func (a *Actuator) leaveBatch(d *deletion) []*deletion {
	b := a.batches[d.group]
	if b == nil {
		return nil
	}
	isIt := func(other *deletion) bool { return other == d }
	if d.batchSize == 0 {
		b.deletions = slices.DeleteFunc(b.deletions, isIt)
		return nil
	}
	delete(a.batches, d.group)
	return slices.DeleteFunc(b.deletions, isIt)
}

// deleteAll asks the provider to delete nodes of a group. If one node of an atomic group may not be
// deleted, no node of the group is.
func (a *Actuator) deleteAll(group string, deletions []*deletion) {
	var nodes []*corev1.Node
	var going []*deletion
	for _, d := range deletions {
		node, err := a.confirm(d)
		switch {
		case err == nil:
			nodes, going = append(nodes, node), append(going, d)
		case d.batchSize > 0:
			a.failAll(deletions, err)
			return
		default:
			a.fail(d, err)
		}
	}
	if len(going) == 0 || a.ctx.Err() != nil {
		return
	}
	a.setAsked(going)
	if err := a.deleteBy(a.ctx, group, nodes); err != nil {
		if a.ctx.Err() == nil {
			a.failAll(going, fmt.Errorf("the provider %s: %w", a.o.Provider.Name(), err))
		}
		return
	}
	for _, d := range going {
		a.awaitGone(d)
	}
}

// confirm makes the last checks. It returns an error if the node must not be deleted.
func (a *Actuator) confirm(d *deletion) (*corev1.Node, error) {
	begin := time.Now()
	for {
		node := a.node(d.node, d.uid)
		if node == nil {
			return nil, fmt.Errorf("node %s: %w", d.node, taint.ErrGone)
		}
		err := a.confirmPods(d)
		if err == nil {
			// A user who has removed the taint meanwhile wants to keep the node.
			err = a.o.Marker.SetMark(d.ctx, d.node, d.uid, d.mark(wire.DeletionPhase_DELETING, a.sinceOf(d), ""))
		}
		if err == nil {
			err = a.admit(d.ctx, d, true)
		}
		var kept *drain.Blocked
		if err == nil || errors.As(err, &kept) || isRefused(err) || errors.Is(err, taint.ErrGone) || d.ctx.Err() != nil ||
			time.Since(begin) > a.o.Drainer.Options.MaxEvictionTime {
			return node, err
		}
		if err := drain.Pause(d.ctx, a.o.Drainer.Options.LookEvery); err != nil {
			return nil, err
		}
	}
}

// confirmPods checks that no pod arrived on a drained node. If the provider drains, it checks that
// all pods may still be moved.
func (a *Actuator) confirmPods(d *deletion) error {
	if !a.providerDrains() {
		return a.o.Drainer.Confirm(d.ctx, d.node)
	}
	_, err := a.o.Drainer.Look(d.ctx, d.node, drain.LookOptions{Empty: !d.drain})
	return err
}

func (a *Actuator) sinceOf(d *deletion) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return d.since
}

func (a *Actuator) failAll(deletions []*deletion, why error) {
	if a.ctx.Err() != nil {
		return
	}
	for _, d := range deletions {
		a.fail(d, why)
	}
}

func (a *Actuator) setAsked(deletions []*deletion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range deletions {
		d.asked = true
	}
}

// awaitGone fails a deletion if the provider accepted it but the node stays.
func (a *Actuator) awaitGone(d *deletion) {
	a.nodeEvent(d.node, corev1.EventTypeNormal, "ScaleDown", "node removed by cluster autoscaler")
	a.tasks.Go(func() {
		if drain.Pause(d.ctx, a.o.GoneWithin) == nil {
			a.fail(d, fmt.Errorf("the provider %s took the deletion, and the Node is there %v later", a.o.Provider.Name(), a.o.GoneWithin))
		}
	})
}

// runErrands retries failed removals of marks, and rolls back abandoned deletions.
func (a *Actuator) runErrands() {
	for drain.Pause(a.ctx, a.o.ErrandEvery) == nil {
		a.unmarkLeft()
		a.rollBackAbandoned()
	}
}

func (a *Actuator) unmarkLeft() {
	a.mu.Lock()
	left := maps.Clone(a.untaint)
	a.mu.Unlock()
	for _, name := range sortedKeys(left) {
		if a.o.Marker.TakeHard(a.ctx, name, left[name]) == nil {
			a.mu.Lock()
			delete(a.untaint, name)
			a.mu.Unlock()
		}
	}
}

func (a *Actuator) rollBackAbandoned() {
	a.calls.Lock()
	defer a.calls.Unlock()
	a.mu.Lock()
	var waiting []*deletion
	if time.Since(a.lastAsked) > a.o.AbandonedAfter {
		for _, name := range sortedKeys(a.running) {
			d := a.running[name]
			if d.phase != wire.DeletionPhase_DRAINING && d.phase != wire.DeletionPhase_DELETING {
				waiting = append(waiting, d)
			}
		}
	}
	a.mu.Unlock()
	for _, d := range waiting {
		if err := a.rollBack(a.ctx, d, fmt.Sprintf("no client has called for %v", a.o.AbandonedAfter)); err != nil {
			a.o.Log("node %s: %v", d.node, err)
		}
	}
}
