package actuate

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/drain"
	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

// recover finds every deletion that an earlier process began and did not end.
func (a *Actuator) recover(ctx context.Context) error {
	// List from the API server, not the cache: a node marked a moment ago must not be missed.
	list, err := a.o.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("nodes that are in deletion: %w", err)
	}
	for i := range list.Items {
		a.takeOver(&list.Items[i])
	}
	return nil
}

func (a *Actuator) takeOver(node *corev1.Node) {
	hard := taint.Find(node, taint.Hard)
	_, marked := node.Annotations[taint.Annotation]
	switch {
	case hard == nil && !marked:
		return
	case !marked:
		a.o.Log("node %s: has the taint %s without this program's mark, and is left alone", node.Name, taint.Hard)
		return
	}
	mark := taint.MarkOf(node)
	phase, known := wire.DeletionPhase(0), false
	if mark != nil {
		phase, known = phaseNamed(mark.Phase)
	}
	if hard == nil || !known {
		// Part of the mark was removed, or it is not ours: do not delete a node because of it.
		a.o.Log("node %s: its mark is inconsistent and is removed", node.Name)
		a.mu.Lock()
		a.untaint[node.Name] = node.UID
		a.mu.Unlock()
		return
	}
	d := &deletion{
		node: node.Name, uid: node.UID, group: mark.Group, drain: mark.Drain, batchSize: mark.BatchSize,
		phase: phase, since: mark.Since, why: mark.Why, entered: time.Now(), takenOver: true,
	}
	a.mu.Lock()
	a.add(d)
	a.mu.Unlock()
	a.o.Log("node %s: found in deletion, %s", d.node, mark.Phase)
	switch phase {
	case wire.DeletionPhase_DRAINING:
		a.tasks.Go(func() { a.drain(d, true) })
	case wire.DeletionPhase_DELETING:
		a.tasks.Go(func() { a.deleteAgain(d) })
	}
}

// deleteAgain continues a deletion for which the provider may have been asked by an earlier
// process.
func (a *Actuator) deleteAgain(d *deletion) {
	begin := time.Now()
	for {
		node := a.node(d.node, d.uid)
		if node == nil {
			// The cache does not have the node yet, or no longer has it.
			if drain.Pause(d.ctx, a.o.Drainer.Options.LookEvery) != nil {
				return
			}
			if a.node(d.node, d.uid) == nil {
				a.mu.Lock()
				a.end(d, true, "")
				a.mu.Unlock()
				return
			}
			continue
		}
		taken, err := a.o.Provider.Taken(d.ctx, d.group, node)
		switch {
		case err == nil && taken:
			a.setAsked([]*deletion{d})
			a.awaitGone(d)
			return
		case err == nil:
			a.queue(d)
			return
		case time.Since(begin) > a.o.Drainer.Options.MaxEvictionTime:
			a.fail(d, err)
			return
		}
		if drain.Pause(d.ctx, a.o.Drainer.Options.LookEvery) != nil {
			return
		}
	}
}
