// Package status writes the autoscaler's status ConfigMap, so that whoever reads that of the
// autoscaler reads this one too.
//
// What is in it is what this program knows: nodes by their state, deletions, and candidates (nodes
// with the soft taint).  It says nothing of scale-up.
// Source: cluster-autoscaler clusterstate/api/types.go, of 1.30 and later.
package status

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"sigs.k8s.io/yaml"

	"ebb/go/kube/taint"
)

// LastUpdated is the annotation with the time of the last write.
const LastUpdated = "cluster-autoscaler.kubernetes.io/last-updated"

// Writer writes the ConfigMap.
type Writer struct {
	Client          kubernetes.Interface
	Nodes           corelisters.NodeLister
	Namespace, Name string
	// Every so often; default 10 s.
	Every time.Duration
	Now   func() time.Time
	// GroupOf names a node's group, "" if it has none.
	GroupOf func(*corev1.Node) string
	// Log gets lines for people; default: none.
	Log func(format string, args ...any)

	scaleDown transition
	health    transition
}

// transition remembers when a state was entered.
type transition struct {
	state string
	since time.Time
}

func (t *transition) enter(state string, now time.Time) {
	if t.state != state {
		t.state, t.since = state, now
	}
}

// Run writes until ctx ends.  What cannot be written is logged, and written the next time.
func (w *Writer) Run(ctx context.Context) {
	every := w.Every
	if every == 0 {
		every = 10 * time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := w.Write(ctx); err != nil && ctx.Err() == nil && w.Log != nil {
			w.Log("status %s/%s: %v", w.Namespace, w.Name, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Write writes it once.
func (w *Writer) Write(ctx context.Context) error {
	nodes, err := w.Nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	now := w.Now()
	text, err := yaml.Marshal(w.describe(nodes, now))
	if err != nil {
		return err
	}
	maps := w.Client.CoreV1().ConfigMaps(w.Namespace)
	held, err := maps.Get(ctx, w.Name, metav1.GetOptions{})
	isNew := apierrors.IsNotFound(err)
	if err != nil && !isNew {
		return err
	}
	if isNew {
		held = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}}
	}
	held = held.DeepCopy()
	held.Data = map[string]string{"status": string(text)}
	if held.Annotations == nil {
		held.Annotations = map[string]string{}
	}
	held.Annotations[LastUpdated] = now.UTC().Format(goTime)
	if isNew {
		_, err = maps.Create(ctx, held, metav1.CreateOptions{})
	} else {
		_, err = maps.Update(ctx, held, metav1.UpdateOptions{})
	}
	return err
}

// counts of nodes.
type counts struct{ total, ready, unready, notStarted, beingDeleted, candidates int }

func (c *counts) add(node *corev1.Node) {
	c.total++
	switch {
	case taint.Find(node, taint.Hard) != nil:
		c.beingDeleted++
	case isReady(node):
		c.ready++
	default:
		c.unready++
	}
	if taint.Find(node, taint.Soft) != nil {
		c.candidates++
	}
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// The autoscaler's limits of a healthy cluster (ok-total-unready-count, max-total-unready-percentage).
const (
	okUnready         = 3
	maxUnreadyPercent = 45
)

func (c *counts) healthy() string {
	if c.unready > okUnready && c.unready*100 > maxUnreadyPercent*c.total {
		return "Unhealthy"
	}
	return "Healthy"
}

func (c *counts) scaleDown() string {
	if c.candidates > 0 {
		return "CandidatesPresent"
	}
	return "NoCandidates"
}

func (c *counts) told() map[string]any {
	return map[string]any{
		"registered": map[string]any{
			"total": c.total, "ready": c.ready, "notStarted": c.notStarted, "beingDeleted": c.beingDeleted,
			"unready": map[string]any{"total": c.unready, "resourceUnready": 0},
		},
		"longUnregistered": 0, "unregistered": 0,
	}
}

func (w *Writer) describe(nodes []*corev1.Node, now time.Time) map[string]any {
	var all counts
	groups := map[string]*counts{}
	for _, node := range nodes {
		all.add(node)
		if w.GroupOf == nil {
			continue
		}
		if name := w.GroupOf(node); name != "" {
			if groups[name] == nil {
				groups[name] = &counts{}
			}
			groups[name].add(node)
		}
	}
	w.health.enter(all.healthy(), now)
	w.scaleDown.enter(all.scaleDown(), now)
	list := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		c := groups[name]
		list = append(list, map[string]any{
			"name":      name,
			"health":    map[string]any{"status": c.healthy(), "nodeCounts": c.told(), "cloudProviderTarget": c.total},
			"scaleDown": map[string]any{"status": c.scaleDown(), "candidates": c.candidates, "lastProbeTime": stamp(now)},
		})
	}
	return map[string]any{
		"time":             now.UTC().Format(goTime),
		"autoscalerStatus": "Running",
		"clusterWide": map[string]any{
			"health": map[string]any{
				"status": w.health.state, "nodeCounts": all.told(),
				"lastProbeTime": stamp(now), "lastTransitionTime": stamp(w.health.since),
			},
			"scaleDown": map[string]any{
				"status": w.scaleDown.state, "candidates": all.candidates,
				"lastProbeTime": stamp(now), "lastTransitionTime": stamp(w.scaleDown.since),
			},
		},
		"nodeGroups": list,
	}
}

// goTime is how the autoscaler writes the time: as Go prints it.
const goTime = "2006-01-02 15:04:05.999999999 -0700 MST"

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
