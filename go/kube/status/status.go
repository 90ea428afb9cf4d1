// Package status writes the autoscaler's status ConfigMap, so that programs that read the
// autoscaler's also work with this one.
//
// It contains what ebb-kube knows: nodes by their state, deletions, and candidates (nodes with the
// soft taint). It has nothing about scale-up. Next to the autoscaler's key "status" it has ebb's
// own key "ebb": the planner's report about its last round (Rounds).
// Source: cluster-autoscaler clusterstate/api/types.go, of 1.30 and later.
package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"sigs.k8s.io/yaml"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/taint"
)

// LastUpdated is the annotation with the time of the last write.
const LastUpdated = "cluster-autoscaler.kubernetes.io/last-updated"

// Writer writes the ConfigMap.
type Writer struct {
	Client          kubernetes.Interface
	Nodes           corelisters.NodeLister
	Namespace, Name string
	// Every is the interval between writes; default 10 s.
	Every time.Duration
	Now   func() time.Time
	// GroupOf returns a node's group, "" if it has none.
	GroupOf func(*corev1.Node) string
	// Rounds asks the planner about its last round. Nil: the planner is not asked.
	Rounds func(context.Context) Rounds
	// Log receives lines for people; default: no log.
	Log func(format string, args ...any)

	scaleDown transition
	health    transition
}

// Key is the ConfigMap's key for Rounds.
const Key = "ebb"

// Rounds is the planner's report about its last round.
type Rounds struct {
	Session string `json:"session"`
	// Problem is why the fields below are missing.
	Problem string `json:"problem,omitempty"`
	// Time of the last round, in RFC 3339.
	Time        string       `json:"time,omitempty"`
	Unremovable *Unremovable `json:"unremovable,omitempty"`
}

// Unremovable are the nodes that the round evaluated and kept.
type Unremovable struct {
	Nodes uint64 `json:"nodes"`
	// Reasons are numbers of nodes by the reason found when each node was tried.
	Reasons map[string]uint64 `json:"reasons"`
	// LookedAtAgain is about nodes that are not tried again for a while, whatever changes; nil if
	// there are none.
	LookedAtAgain *LookedAtAgain `json:"lookedAtAgain,omitempty"`
}

// LookedAtAgain has the number of nodes, and when the first and the last of them are tried again,
// in RFC 3339.
type LookedAtAgain struct {
	Nodes uint64 `json:"nodes"`
	First string `json:"first"`
	Last  string `json:"last"`
}

// RoundsOf converts the daemon's report about a session.
func RoundsOf(session *plannerpb.SessionStatus) Rounds {
	rounds := Rounds{Session: session.GetSession()}
	unremovable := session.GetUnremovable()
	if unremovable == nil {
		rounds.Problem = "the daemon has made no round since it was started"
		return rounds
	}
	rounds.Time = unix(session.GetLastRoundAt())
	rounds.Unremovable = &Unremovable{Nodes: unremovable.GetNodes(), Reasons: map[string]uint64{}}
	for _, row := range unremovable.GetReasons() {
		rounds.Unremovable.Reasons[row.GetReason()] = row.GetNodes()
	}
	if unremovable.GetRemembered() > 0 {
		rounds.Unremovable.LookedAtAgain = &LookedAtAgain{
			Nodes: unremovable.GetRemembered(), First: unix(unremovable.GetFirstRecheck()), Last: unix(unremovable.GetLastRecheck()),
		}
	}
	return rounds
}

func unix(seconds int64) string { return stamp(time.Unix(seconds, 0)) }

// String returns "58 unremovable (40 NotEnoughPdb, 18 NoPlaceToMovePods; looked at again from TIME
// to TIME)", in the form in which `ebb run` logs it.
func (u *Unremovable) String() string {
	reasons := slices.Collect(maps.Keys(u.Reasons))
	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(cmp.Compare(u.Reasons[b], u.Reasons[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range reasons {
		parts = append(parts, fmt.Sprintf("%d %s", u.Reasons[reason], reason))
	}
	text := strings.Join(parts, ", ")
	if again := u.LookedAtAgain; again != nil {
		if text != "" {
			text += "; "
		}
		if again.Nodes < u.Nodes {
			text += fmt.Sprintf("%d of them ", again.Nodes)
		}
		if again.First == again.Last {
			text += "looked at again at " + again.First
		} else {
			text += fmt.Sprintf("looked at again from %s to %s", again.First, again.Last)
		}
	}
	if text != "" {
		text = " (" + text + ")"
	}
	return fmt.Sprintf("%d unremovable%s", u.Nodes, text)
}

// transition records when a state was entered.
type transition struct {
	state string
	since time.Time
}

func (t *transition) enter(state string, now time.Time) {
	if t.state != state {
		t.state, t.since = state, now
	}
}

// Run writes until ctx ends. A failed write is logged and retried after the next interval.
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

// Write writes the ConfigMap once.
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
	rounds, err := w.rounds(ctx)
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
	if rounds != "" {
		held.Data[Key] = rounds
	}
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

// rounds returns the text under Key; "" if the planner is not asked.
func (w *Writer) rounds(ctx context.Context) (string, error) {
	if w.Rounds == nil {
		return "", nil
	}
	text, err := yaml.Marshal(w.Rounds(ctx))
	return string(text), err
}

// counts are numbers of nodes by state.
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

// The autoscaler's limits for a healthy cluster (ok-total-unready-count,
// max-total-unready-percentage).
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

func (c *counts) asMap() map[string]any {
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
			"health":    map[string]any{"status": c.healthy(), "nodeCounts": c.asMap(), "cloudProviderTarget": c.total},
			"scaleDown": map[string]any{"status": c.scaleDown(), "candidates": c.candidates, "lastProbeTime": stamp(now)},
		})
	}
	return map[string]any{
		"time":             now.UTC().Format(goTime),
		"autoscalerStatus": "Running",
		"clusterWide": map[string]any{
			"health": map[string]any{
				"status": w.health.state, "nodeCounts": all.asMap(),
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

// goTime is the time format in the autoscaler's status: that of Go's Time.String.
const goTime = "2006-01-02 15:04:05.999999999 -0700 MST"

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
