// Package taint marks nodes: with the soft taint for candidates, and with the hard mark for nodes
// in deletion.
//
// The hard mark consists of the autoscaler's taint, the cordon, and an annotation with the
// deletion's phase. All three are put and removed in one update. So a process that is killed leaves
// a node either marked or not, and the next process finds every deletion from the nodes alone.
//
// Threads: all functions may be called concurrently.
// Errors:  ErrGone, ErrForeign, those of the API server, and ctx's.
// Source:  behaviour of cluster-autoscaler utils/taints.
package taint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// Hard keeps new pods off a node in deletion. Its value is the time when it was put, in Unix
	// seconds.
	Hard = "ToBeDeletedByClusterAutoscaler"
	// Soft marks a node that may be deleted soon.
	Soft = "DeletionCandidateOfClusterAutoscaler"
	// Annotation holds a Mark as JSON, on nodes that this program is deleting.
	Annotation = "actuator.ebb/deletion"
	// FreshFor is how long a hard taint means that a node is being deleted. An older taint was left
	// behind.
	FreshFor = 5 * time.Minute
)

var (
	// ErrGone means that the node does not exist, or is another machine of the same name.
	ErrGone = errors.New("the node is not there")
	// ErrForeign means that another program is deleting the node.
	ErrForeign = errors.New("another program is deleting the node")
)

// Mark is the state of a node's deletion, as its annotation stores it.
type Mark struct {
	Group     string `json:"group,omitempty"`
	Drain     bool   `json:"drain,omitempty"`
	BatchSize int64  `json:"batchSize,omitempty"`
	Phase     string `json:"phase"`
	Since     int64  `json:"since"` // Unix seconds.
	Why       string `json:"why,omitempty"`
	// WasCordoned: the node was cordoned before it was marked, and stays cordoned without the mark.
	WasCordoned bool `json:"wasCordoned,omitempty"`
}

// Retry is how long an update is retried. The zero value means the autoscaler's defaults.
type Retry struct {
	Every time.Duration // Default 750 ms.
	For   time.Duration // Default 5 s.
}

// Marker puts marks on nodes.
type Marker struct {
	Nodes typedcorev1.NodeInterface
	Retry Retry
	// Cordon also cordons nodes (cordon-node-before-terminating).
	Cordon bool
	Now    func() time.Time
}

// MarkOf returns a node's mark; nil if it has none or it cannot be read.
func MarkOf(node *corev1.Node) *Mark {
	text, found := node.Annotations[Annotation]
	if !found {
		return nil
	}
	mark := &Mark{}
	if json.Unmarshal([]byte(text), mark) != nil {
		return nil
	}
	return mark
}

// IsActedOn reports whether a deletion of the node has gone beyond its taint: its pods are being
// evicted, or its machine is being deleted. A mark that cannot be read counts, and so does the taint
// of another program.
func IsActedOn(node *corev1.Node) bool {
	if _, marked := node.Annotations[Annotation]; !marked {
		return Find(node, Hard) != nil
	}
	mark := MarkOf(node)
	return mark == nil || (mark.Phase != "tainted" && mark.Phase != "failed")
}

// Find returns the node's taint with a key; nil if it has none.
func Find(node *corev1.Node, key string) *corev1.Taint {
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Key == key {
			return &node.Spec.Taints[i]
		}
	}
	return nil
}

// PutHard marks a node, if it has that UID or uid is empty. A node that is marked already keeps its
// mark. PutHard returns the node as it is afterwards.
func (m *Marker) PutHard(ctx context.Context, name string, uid types.UID, mark Mark) (*corev1.Node, error) {
	return m.change(ctx, name, uid, func(node *corev1.Node) (bool, error) {
		if MarkOf(node) != nil && Find(node, Hard) != nil {
			return false, nil
		}
		if found := Find(node, Hard); found != nil && m.isFresh(found) {
			return false, fmt.Errorf("node %s: %w: its taint %s was put at %s", name, ErrForeign, Hard, found.Value)
		}
		mark.WasCordoned = node.Spec.Unschedulable
		if err := annotate(node, &mark); err != nil {
			return false, err
		}
		remove(node, Hard)
		m.add(node, Hard, corev1.TaintEffectNoSchedule)
		if m.Cordon {
			node.Spec.Unschedulable = true
		}
		return true, nil
	})
}

func (m *Marker) isFresh(taint *corev1.Taint) bool {
	since, err := strconv.ParseInt(taint.Value, 10, 64)
	return err == nil && m.Now().Sub(time.Unix(since, 0)) < FreshFor
}

// SetMark changes the content of the mark. It returns ErrGone also if the mark was removed
// meanwhile.
func (m *Marker) SetMark(ctx context.Context, name string, uid types.UID, mark Mark) error {
	_, err := m.change(ctx, name, uid, func(node *corev1.Node) (bool, error) {
		held := MarkOf(node)
		if held == nil || Find(node, Hard) == nil {
			return false, fmt.Errorf("node %s: %w as it was marked: another program removed the taint", name, ErrGone)
		}
		mark.WasCordoned = held.WasCordoned
		if *held == mark {
			return false, nil
		}
		return true, annotate(node, &mark)
	})
	return err
}

// TakeHard removes the mark, and the cordon unless the node was cordoned before. If the node does
// not exist or has no mark, TakeHard returns no error.
func (m *Marker) TakeHard(ctx context.Context, name string, uid types.UID) error {
	_, err := m.change(ctx, name, uid, func(node *corev1.Node) (bool, error) {
		if _, found := node.Annotations[Annotation]; !found {
			return false, nil
		}
		mark := MarkOf(node)
		delete(node.Annotations, Annotation)
		remove(node, Hard)
		if m.Cordon && (mark == nil || !mark.WasCordoned) {
			node.Spec.Unschedulable = false
		}
		return true, nil
	})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// SetSoft puts the soft taint or removes it. It puts none on a node in deletion.
func (m *Marker) SetSoft(ctx context.Context, name string, put bool) error {
	_, err := m.change(ctx, name, "", func(node *corev1.Node) (bool, error) {
		if (Find(node, Soft) != nil) == put || (put && Find(node, Hard) != nil) {
			return false, nil
		}
		remove(node, Soft)
		if put {
			m.add(node, Soft, corev1.TaintEffectPreferNoSchedule)
		}
		return true, nil
	})
	return err
}

// SetOther puts a taint other than the soft and the hard one, or removes all taints of its key. A
// node that has a taint with the key keeps it unchanged.
func (m *Marker) SetOther(ctx context.Context, name string, taint corev1.Taint, put bool) error {
	_, err := m.change(ctx, name, "", func(node *corev1.Node) (bool, error) {
		if (Find(node, taint.Key) != nil) == put {
			return false, nil
		}
		remove(node, taint.Key)
		if put {
			node.Spec.Taints = append(node.Spec.Taints, taint)
		}
		return true, nil
	})
	return err
}

// change reads the node, changes it and writes it back, and retries if another client changed it in
// between. It also retries if the API server does not answer, until the retry time is over.
func (m *Marker) change(ctx context.Context, name string, uid types.UID,
	edit func(*corev1.Node) (bool, error)) (*corev1.Node, error) {
	every, last := m.Retry.Every, m.Retry.For
	if every == 0 {
		every = 750 * time.Millisecond
	}
	if last == 0 {
		last = 5 * time.Second
	}
	end := time.Now().Add(last)
	for {
		node, err := m.tryChange(ctx, name, uid, edit)
		if err == nil || !mayHelpAgain(err) || ctx.Err() != nil || time.Now().Add(every).After(end) {
			return node, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(every):
		}
	}
}

func (m *Marker) tryChange(ctx context.Context, name string, uid types.UID,
	edit func(*corev1.Node) (bool, error)) (*corev1.Node, error) {
	node, err := m.Nodes.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || (err == nil && uid != "" && node.UID != uid) {
		return nil, fmt.Errorf("node %s: %w", name, ErrGone)
	}
	if err != nil {
		return nil, err
	}
	node = node.DeepCopy()
	changed, err := edit(node)
	if err != nil || !changed {
		return node, err
	}
	// The node contains its resource version, so the server rejects the update if another client
	// changed it.
	written, err := m.Nodes.Update(ctx, node, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("node %s: %w", name, ErrGone)
	}
	return written, err
}

// mayHelpAgain reports whether a retry may help: after a conflict, or if the server did not give a
// definite answer.
func mayHelpAgain(err error) bool {
	if errors.Is(err, ErrGone) || errors.Is(err, ErrForeign) {
		return false
	}
	if apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) {
		return true
	}
	var answer apierrors.APIStatus
	return !errors.As(err, &answer)
}

func annotate(node *corev1.Node, mark *Mark) error {
	text, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[Annotation] = string(text)
	return nil
}

func (m *Marker) add(node *corev1.Node, key string, effect corev1.TaintEffect) {
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
		Key: key, Value: strconv.FormatInt(m.Now().Unix(), 10), Effect: effect,
	})
}

func remove(node *corev1.Node, key string) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}
