package actuate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

// podBytes returns a pod as JSON, which ebb passes on to the session that makes the rounds.
func podBytes(pod *corev1.Pod) ([]byte, error) {
	named := *pod
	named.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	named.ManagedFields = nil
	return json.Marshal(&named)
}

// keysMax is how many idempotency keys are remembered.
const keysMax = 10_000

// keys are the idempotency keys of calls that were carried out.
type keys struct {
	known map[string]bool
	order []string
}

func (k *keys) add(key string) {
	if k.known == nil {
		k.known = map[string]bool{}
	}
	k.known[key] = true
	k.order = append(k.order, key)
	if len(k.order) > keysMax {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
}

// once carries out a call, unless a call with its idempotency key was carried out before.
func (a *Actuator) once(ctx context.Context, key string, call func() error) error {
	if key == "" {
		return status.Error(codes.InvalidArgument, "key: is empty")
	}
	a.calls.Lock()
	defer a.calls.Unlock()
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if a.ctx.Err() != nil {
		return status.Error(codes.Unavailable, "this replica is stopping")
	}
	a.mu.Lock()
	done := a.keys.known[key]
	a.mu.Unlock()
	if done {
		return nil
	}
	if err := call(); err != nil {
		return toStatus(err)
	}
	a.mu.Lock()
	a.keys.add(key)
	a.mu.Unlock()
	return nil
}

// toStatus converts an error to the protocol's codes.
func toStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch {
	case errors.Is(err, taint.ErrGone):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, taint.ErrForeign), isRefused(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return status.Error(codes.Unavailable, err.Error())
}

func checkNode(where, name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return status.Errorf(codes.InvalidArgument, "%s: %q names no node", where, name)
	}
	return nil
}

// Hello returns the plugin's name and version, and what it does not support.
func (a *Actuator) Hello(_ context.Context, request *wire.HelloRequest) (*wire.HelloReply, error) {
	a.o.Log("hello from %q", request.GetClient())
	reply := &wire.HelloReply{Name: a.o.Name, Version: a.o.Version}
	if a.grower() == nil {
		reply.Cannot = append(reply.Cannot, "grow")
	}
	if a.buyer() == nil {
		reply.Cannot = append(reply.Cannot, "buy")
	}
	return reply, nil
}

// softBudget is the time that soft taints took in the current window.
type softBudget struct {
	begin time.Time
	spent time.Duration
}

// SoftTaint puts the soft taint on a node or removes it. It sends no request if the node is as
// wanted already.
func (a *Actuator) SoftTaint(ctx context.Context, request *wire.SoftTaintRequest) (*wire.SoftTaintReply, error) {
	if err := checkNode("node", request.GetNode()); err != nil {
		return nil, err
	}
	return &wire.SoftTaintReply{}, a.once(ctx, request.GetKey(), func() error {
		name := request.GetNode()
		node := a.node(name, "")
		if node != nil && (taint.Find(node, taint.Soft) != nil) == request.GetTaint() {
			return nil
		}
		begin := time.Now()
		if begin.Sub(a.soft.begin) > a.o.SoftTaintWindow {
			a.soft = softBudget{begin: begin}
		}
		if a.soft.spent > a.o.SoftTaintTime {
			return status.Errorf(codes.ResourceExhausted, "soft taints took %v of the last %v; the next round may go on",
				a.soft.spent.Round(time.Millisecond), a.o.SoftTaintWindow)
		}
		err := a.o.Marker.SetSoft(ctx, name, request.GetTaint())
		a.soft.spent += time.Since(begin)
		return err
	})
}

// Taint puts a taint of a sizing policy on a node or removes it.
func (a *Actuator) Taint(ctx context.Context, request *wire.TaintRequest) (*wire.TaintReply, error) {
	if err := checkNode("node", request.GetNode()); err != nil {
		return nil, err
	}
	wanted := corev1.Taint{Key: request.GetTaintKey(), Value: request.GetValue(), Effect: corev1.TaintEffect(request.GetEffect())}
	if err := checkTaint(wanted, request.GetPut()); err != nil {
		return nil, err
	}
	return &wire.TaintReply{}, a.once(ctx, request.GetKey(), func() error {
		return a.o.Marker.SetOther(ctx, request.GetNode(), wanted, request.GetPut())
	})
}

func checkTaint(wanted corev1.Taint, put bool) error {
	if wanted.Key == taint.Soft || wanted.Key == taint.Hard || len(validation.IsQualifiedName(wanted.Key)) > 0 {
		return status.Errorf(codes.InvalidArgument, "taint_key: %q is not a policy's taint", cut(wanted.Key))
	}
	if !put {
		return nil
	}
	if len(validation.IsValidLabelValue(wanted.Value)) > 0 {
		return status.Errorf(codes.InvalidArgument, "value: %q is not the value of a taint", cut(wanted.Value))
	}
	switch wanted.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "effect: %q is not NoSchedule, PreferNoSchedule or NoExecute", cut(string(wanted.Effect)))
}

// Begin marks all of the nodes, or none.
func (a *Actuator) Begin(ctx context.Context, request *wire.BeginRequest) (*wire.BeginReply, error) {
	if err := checkOrders(request.GetOrders()); err != nil {
		return nil, err
	}
	return &wire.BeginReply{}, a.once(ctx, request.GetKey(), func() error { return a.begin(ctx, request.GetOrders()) })
}

// batchMax is more than the number of nodes in any cluster.
const batchMax = 1_000_000

func checkOrders(orders []*wire.DeletionOrder) error {
	seen := map[string]bool{}
	for i, order := range orders {
		if err := checkNode(fmt.Sprintf("orders[%d].node", i), order.GetNode()); err != nil {
			return err
		}
		if seen[order.GetNode()] {
			return status.Errorf(codes.InvalidArgument, "orders[%d].node: %s occurs twice", i, order.GetNode())
		}
		seen[order.GetNode()] = true
		if order.GetBatchSize() < 0 || order.GetBatchSize() > batchMax {
			return status.Errorf(codes.InvalidArgument, "orders[%d].batch_size: %d is not a number of nodes", i, order.GetBatchSize())
		}
	}
	return nil
}

func (a *Actuator) begin(ctx context.Context, orders []*wire.DeletionOrder) error {
	fresh, err := a.freshOrders(orders)
	if err != nil {
		return err
	}
	if err := a.admitOrders(ctx, fresh); err != nil {
		return err
	}
	tainted, err := a.taintAll(ctx, fresh)
	if err != nil {
		a.takeBack(tainted)
		return err
	}
	a.mu.Lock()
	for _, d := range tainted {
		a.add(d)
	}
	a.mu.Unlock()
	for _, d := range tainted {
		a.nodeEvent(d.node, corev1.EventTypeNormal, "ScaleDown", "marked the node as toBeDeleted/unschedulable")
	}
	return nil
}

// freshOrders returns the orders whose nodes are not in deletion yet. It checks all nodes before
// the first one is changed.
func (a *Actuator) freshOrders(orders []*wire.DeletionOrder) ([]*wire.DeletionOrder, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var fresh []*wire.DeletionOrder
	for _, order := range orders {
		name := order.GetNode()
		node := a.node(name, types.UID(order.GetUid()))
		if node == nil {
			return nil, fmt.Errorf("node %s: %w", name, taint.ErrGone)
		}
		if _, held := a.untaint[name]; held {
			return nil, status.Errorf(codes.Unavailable, "node %s: its last deletion is still being rolled back", name)
		}
		d := a.running[name]
		if d != nil && order.GetUid() != "" && d.uid != types.UID(order.GetUid()) {
			return nil, fmt.Errorf("node %s: %w", name, taint.ErrGone)
		}
		if d == nil {
			fresh = append(fresh, &wire.DeletionOrder{
				Node: name, Group: order.GetGroup(), Drain: order.GetDrain(), BatchSize: order.GetBatchSize(),
				// The UID in the cache: no later event can be about an earlier machine of that
				// name.
				Uid: string(node.UID),
			})
		}
	}
	return fresh, nil
}

// taintAll marks nodes, some of them concurrently. It returns the deletions whose nodes may be
// marked now, also with an error.
func (a *Actuator) taintAll(ctx context.Context, orders []*wire.DeletionOrder) ([]*deletion, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tainted := make([]*deletion, len(orders))
	failed := make([]error, len(orders))
	places := make(chan struct{}, taintsAtATime)
	var calls sync.WaitGroup
	for i, order := range orders {
		calls.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if tainted[i], failed[i] = a.taintOne(ctx, order); failed[i] != nil {
				stop()
			}
		})
	}
	calls.Wait()
	var touched []*deletion
	var why error
	for i := range orders {
		if tainted[i] != nil {
			touched = append(touched, tainted[i])
		}
		// Return the error of the first node that failed, not of a node that was cancelled because
		// of it.
		if failed[i] != nil && (why == nil || errors.Is(why, context.Canceled)) {
			why = failed[i]
		}
	}
	return touched, why
}

// taintOne returns a deletion even with an error if the node may have been marked.
func (a *Actuator) taintOne(ctx context.Context, order *wire.DeletionOrder) (*deletion, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &deletion{
		node: order.GetNode(), uid: types.UID(order.GetUid()), group: order.GetGroup(),
		drain: order.GetDrain(), batchSize: order.GetBatchSize(),
	}
	a.enter(d, wire.DeletionPhase_TAINTED, "")
	_, err := a.o.Marker.PutHard(ctx, d.node, d.uid, d.mark(d.phase, d.since, ""))
	switch {
	case errors.Is(err, taint.ErrGone), errors.Is(err, taint.ErrForeign):
		return nil, err
	case err != nil:
		return d, fmt.Errorf("node %s: %w", d.node, err)
	}
	return d, nil
}

// takeBack removes marks: now if possible, otherwise later as an errand.
func (a *Actuator) takeBack(tainted []*deletion) {
	ctx, cancel := context.WithTimeout(a.ctx, 20*time.Second)
	defer cancel()
	var calls sync.WaitGroup
	for _, d := range tainted {
		calls.Go(func() {
			if err := a.o.Marker.TakeHard(ctx, d.node, d.uid); err != nil {
				a.mu.Lock()
				a.untaint[d.node] = d.uid
				a.mu.Unlock()
			}
		})
	}
	calls.Wait()
}

// find returns the deletion of a node and its phase.
func (a *Actuator) find(name string) (*deletion, wire.DeletionPhase, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.running[name]
	if d == nil {
		return nil, 0, status.Errorf(codes.NotFound, "node %s is not being deleted", name)
	}
	return d, d.phase, nil
}

func wrongPhase(d *deletion, phase wire.DeletionPhase) error {
	return status.Errorf(codes.FailedPrecondition, "node %s is %v", d.node, phase)
}

// Drain starts to evict the node's pods.
func (a *Actuator) Drain(ctx context.Context, request *wire.DrainRequest) (*wire.DrainReply, error) {
	if err := checkNode("node", request.GetNode()); err != nil {
		return nil, err
	}
	return &wire.DrainReply{}, a.once(ctx, request.GetKey(), func() error {
		d, phase, err := a.find(request.GetNode())
		switch {
		case err != nil:
			return err
		case phase == wire.DeletionPhase_DRAINING || phase == wire.DeletionPhase_DRAINED:
			return nil
		case phase != wire.DeletionPhase_TAINTED:
			return wrongPhase(d, phase)
		}
		// The lock of once makes this check and the new phase one step: package provider, Judge.
		if err := a.admit(ctx, d, false); isRefused(err) {
			a.fail(d, err)
			return nil
		} else if err != nil {
			return err
		}
		return a.step(ctx, d, wire.DeletionPhase_DRAINING, func() { a.tasks.Go(func() { a.drain(d, false) }) })
	})
}

// step writes the next phase on the node, enters it, and calls start.
func (a *Actuator) step(ctx context.Context, d *deletion, phase wire.DeletionPhase, start func()) error {
	if err := a.o.Marker.SetMark(ctx, d.node, d.uid, d.mark(phase, a.now(), "")); err != nil {
		if errors.Is(err, taint.ErrGone) {
			a.fail(d, err)
		}
		return err
	}
	a.mu.Lock()
	if a.running[d.node] != d {
		a.mu.Unlock()
		return fmt.Errorf("node %s: %w", d.node, taint.ErrGone)
	}
	a.enter(d, phase, "")
	a.mu.Unlock()
	start()
	return nil
}

// Delete starts to delete a drained node.
func (a *Actuator) Delete(ctx context.Context, request *wire.DeleteRequest) (*wire.DeleteReply, error) {
	if err := checkNode("node", request.GetNode()); err != nil {
		return nil, err
	}
	return &wire.DeleteReply{}, a.once(ctx, request.GetKey(), func() error {
		d, phase, err := a.find(request.GetNode())
		switch {
		case err != nil:
			return err
		case phase == wire.DeletionPhase_DELETING:
			return nil
		case phase != wire.DeletionPhase_DRAINED:
			return wrongPhase(d, phase)
		}
		return a.step(ctx, d, wire.DeletionPhase_DELETING, func() { a.queue(d) })
	})
}

// RollBack removes the mark; the deletion ends with a result that is not ok.
func (a *Actuator) RollBack(ctx context.Context, request *wire.RollBackRequest) (*wire.RollBackReply, error) {
	if err := checkNode("node", request.GetNode()); err != nil {
		return nil, err
	}
	return &wire.RollBackReply{}, a.once(ctx, request.GetKey(), func() error {
		d, phase, err := a.find(request.GetNode())
		switch {
		case err != nil:
			return err
		case phase == wire.DeletionPhase_DRAINING || phase == wire.DeletionPhase_DELETING:
			return wrongPhase(d, phase)
		}
		return a.rollBack(ctx, d, request.GetWhy())
	})
}

func (a *Actuator) rollBack(ctx context.Context, d *deletion, why string) error {
	if err := a.release(ctx, d); err != nil {
		return err
	}
	if err := a.o.Marker.TakeHard(ctx, d.node, d.uid); err != nil {
		return err
	}
	a.mu.Lock()
	a.end(d, false, why)
	a.mu.Unlock()
	a.nodeEvent(d.node, corev1.EventTypeNormal, "ScaleDown", "the deletion was rolled back: "+why)
	return nil
}

// Status returns the running deletions, the results and the recent evictions. It returns no time in
// the future, even if the wall clock was set back.
func (a *Actuator) Status(context.Context, *wire.StatusRequest) (*wire.StatusReply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastAsked = time.Now()
	now := a.now()
	reply := &wire.StatusReply{}
	for _, name := range sortedKeys(a.running) {
		d := a.running[name]
		reply.Running = append(reply.Running, &wire.RunningDeletion{
			Node: d.node, Group: d.group, Drain: d.drain, BatchSize: d.batchSize,
			Phase: d.phase, Since: past(d.since, now), Why: d.why,
		})
	}
	for _, result := range a.results {
		reply.Results = append(reply.Results, &wire.DeletionResult{
			Id: result.Id, Node: result.Node, Group: result.Group, Ok: result.Ok, At: past(result.At, now), Why: result.Why,
		})
	}
	a.forgetEvictions()
	for _, each := range a.evicted {
		reply.RecentEvictions = append(reply.RecentEvictions, &wire.EvictedPod{
			Namespace: each.pod.Namespace, Name: each.pod.Name, Uid: each.pod.Uid, At: past(each.pod.At, now), Object: each.pod.Object,
		})
	}
	return reply, nil
}

func past(at, now int64) int64 { return max(1, min(at, now)) }

func (a *Actuator) forgetEvictions() {
	old := 0
	for old < len(a.evicted) && time.Since(a.evicted[old].at) > a.o.EvictionsFor {
		old++
	}
	a.evicted = a.evicted[old:]
}

// Acknowledge drops results that ebb has processed. Unknown ids are ignored: their results were
// dropped before.
func (a *Actuator) Acknowledge(_ context.Context, request *wire.AcknowledgeRequest) (*wire.AcknowledgeReply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := map[string]bool{}
	for _, id := range request.GetIds() {
		taken[id] = true
	}
	var left []*wire.DeletionResult
	for _, result := range a.results {
		if !taken[result.Id] {
			left = append(left, result)
		}
	}
	a.results = left
	return &wire.AcknowledgeReply{}, nil
}
