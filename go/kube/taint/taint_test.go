package taint_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/taint"
)

var updateOptions metav1.UpdateOptions

var noon = time.Unix(1_700_000_000, 0)

func markerOf(c *fakecluster.Cluster) *taint.Marker {
	return &taint.Marker{
		Nodes: c.Client.CoreV1().Nodes(), Cordon: true, Now: func() time.Time { return noon },
		Retry: taint.Retry{Every: time.Millisecond, For: 200 * time.Millisecond},
	}
}

func TestHardMarkIsTaintCordonAndAnnotationInOneUpdate(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	before := len(c.Client.Actions())
	mark := taint.Mark{Group: "g", Drain: true, Phase: "tainted", Since: 5}
	if _, err := markerOf(c).PutHard(t.Context(), "a", "uid-a", mark); err != nil {
		t.Fatal(err)
	}
	updates := 0
	for _, action := range c.Client.Actions()[before:] {
		if action.GetVerb() == "update" {
			updates++
		}
	}
	node := c.GetNode(t, "a")
	hard := taint.Find(node, taint.Hard)
	if updates != 1 || hard == nil || hard.Value != strconv.FormatInt(noon.Unix(), 10) || hard.Effect != corev1.TaintEffectNoSchedule ||
		!node.Spec.Unschedulable || *taint.MarkOf(node) != mark {
		t.Errorf("after %d updates: %+v", updates, node)
	}
}

func TestConflictsAreTriedAgainAndSoIsAnAPIServerThatIsAway(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Conflict(3)
	if _, err := markerOf(c).PutHard(t.Context(), "a", "", taint.Mark{Phase: "tainted"}); err != nil {
		t.Error(err)
	}
	c.SetAway(true)
	time.AfterFunc(20*time.Millisecond, func() { c.SetAway(false) })
	if err := markerOf(c).TakeHard(t.Context(), "a", "uid-a"); err != nil {
		t.Error(err)
	}
	c.Conflict(1_000_000)
	if _, err := markerOf(c).PutHard(t.Context(), "a", "", taint.Mark{}); err == nil {
		t.Error("a conflict without end was no error")
	}
}

func TestAnotherMachineOfThatNameIsLeftAlone(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	m := markerOf(c)
	if _, err := m.PutHard(t.Context(), "a", "uid-of-another", taint.Mark{}); !errors.Is(err, taint.ErrGone) {
		t.Errorf("PutHard: %v", err)
	}
	if _, err := m.PutHard(t.Context(), "missing", "", taint.Mark{}); !errors.Is(err, taint.ErrGone) {
		t.Errorf("PutHard of a node that is not there: %v", err)
	}
	if err := m.TakeHard(t.Context(), "missing", ""); err != nil {
		t.Errorf("TakeHard of a node that is not there: %v", err)
	}
	if node := c.GetNode(t, "a"); len(node.Spec.Taints) != 0 || node.Spec.Unschedulable {
		t.Errorf("it was touched: %+v", node.Spec)
	}
}

func TestACordonOfAnotherProgramStays(t *testing.T) {
	cordoned := fakecluster.Node("a")
	cordoned.Spec.Unschedulable = true
	c := fakecluster.New(cordoned, fakecluster.Node("b"))
	m := markerOf(c)
	for _, name := range []string{"a", "b"} {
		if _, err := m.PutHard(t.Context(), name, "", taint.Mark{Phase: "tainted"}); err != nil {
			t.Fatal(err)
		}
		// A change of phase keeps it.
		if err := m.SetMark(t.Context(), name, "", taint.Mark{Phase: "failed"}); err != nil {
			t.Fatal(err)
		}
		if err := m.TakeHard(t.Context(), name, ""); err != nil {
			t.Fatal(err)
		}
	}
	a, b := c.GetNode(t, "a"), c.GetNode(t, "b")
	if !a.Spec.Unschedulable || b.Spec.Unschedulable {
		t.Errorf("cordoned: a %v, b %v; want true, false", a.Spec.Unschedulable, b.Spec.Unschedulable)
	}
	if len(a.Spec.Taints)+len(b.Spec.Taints)+len(a.Annotations)+len(b.Annotations) != 0 {
		t.Error("marks are left")
	}
}

func TestAFreshTaintOfAnotherProgramIsRefusedAndAnOldOneTakenOver(t *testing.T) {
	put := func(since int64) *corev1.Node {
		node := fakecluster.Node("a")
		node.Spec.Taints = []corev1.Taint{{Key: taint.Hard, Value: strconv.FormatInt(since, 10), Effect: corev1.TaintEffectNoSchedule}}
		return node
	}
	c := fakecluster.New(put(noon.Unix() - 60))
	if _, err := markerOf(c).PutHard(t.Context(), "a", "", taint.Mark{}); !errors.Is(err, taint.ErrForeign) {
		t.Errorf("a fresh one: %v", err)
	}
	if err := markerOf(c).TakeHard(t.Context(), "a", ""); err != nil || taint.Find(c.GetNode(t, "a"), taint.Hard) == nil {
		t.Errorf("it was taken off, or %v", err)
	}
	c = fakecluster.New(put(noon.Unix() - 600))
	if _, err := markerOf(c).PutHard(t.Context(), "a", "", taint.Mark{Phase: "tainted"}); err != nil {
		t.Errorf("an old one: %v", err)
	}
	if found := taint.Find(c.GetNode(t, "a"), taint.Hard); found.Value != strconv.FormatInt(noon.Unix(), 10) {
		t.Errorf("its time is still %s", found.Value)
	}
}

func TestAMarkWhoseTaintWasRemovedIsNotChanged(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	m := markerOf(c)
	if _, err := m.PutHard(t.Context(), "a", "", taint.Mark{Phase: "tainted"}); err != nil {
		t.Fatal(err)
	}
	node := c.GetNode(t, "a")
	node.Spec.Taints = nil
	if _, err := c.Client.CoreV1().Nodes().Update(context.Background(), node, updateOptions); err != nil {
		t.Fatal(err)
	}
	if err := m.SetMark(t.Context(), "a", "", taint.Mark{Phase: "draining"}); !errors.Is(err, taint.ErrGone) {
		t.Errorf("SetMark: %v", err)
	}
}

func TestSoftTaintIsPutOnceAndNotOnNodesThatGo(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"), fakecluster.Node("b"))
	m := markerOf(c)
	for range 2 {
		if err := m.SetSoft(t.Context(), "a", true); err != nil {
			t.Fatal(err)
		}
	}
	node := c.GetNode(t, "a")
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Effect != corev1.TaintEffectPreferNoSchedule {
		t.Errorf("taints: %v", node.Spec.Taints)
	}
	if _, err := m.PutHard(t.Context(), "b", "", taint.Mark{}); err != nil {
		t.Fatal(err)
	}
	if err := m.SetSoft(t.Context(), "b", true); err != nil || taint.Find(c.GetNode(t, "b"), taint.Soft) != nil {
		t.Errorf("a node that goes: %v", err)
	}
	if err := m.SetSoft(t.Context(), "a", false); err != nil || len(c.GetNode(t, "a").Spec.Taints) != 0 {
		t.Errorf("untaint: %v", err)
	}
}

func TestAPolicysTaintKeepsItsValueAndIsRemovedWithAnyValue(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	m := markerOf(c)
	put := corev1.Taint{Key: "atlassian.com/escalator", Value: "1", Effect: corev1.TaintEffectNoSchedule}
	for _, value := range []string{"1", "2"} {
		put.Value = value
		if err := m.SetOther(t.Context(), "a", put, true); err != nil {
			t.Fatal(err)
		}
	}
	if found := taint.Find(c.GetNode(t, "a"), put.Key); found == nil || found.Value != "1" || found.Effect != put.Effect {
		t.Fatalf("got %v", found)
	}
	for range 2 {
		if err := m.SetOther(t.Context(), "a", put, false); err != nil {
			t.Fatal(err)
		}
	}
	if taints := c.GetNode(t, "a").Spec.Taints; len(taints) != 0 {
		t.Fatalf("got %v", taints)
	}
	if err := m.SetOther(t.Context(), "none", put, true); !errors.Is(err, taint.ErrGone) {
		t.Fatalf("got %v", err)
	}
}

func TestANodeIsActedOnFromItsDrainUntilItsDeletionEndsOrFails(t *testing.T) {
	hard := corev1.Taint{Key: taint.Hard, Value: "1", Effect: corev1.TaintEffectNoSchedule}
	for name, test := range map[string]struct {
		mark string
		hard bool
		want bool
	}{
		"untouched": {"", false, false}, "of another program": {"", true, true}, "unreadable": {"{", true, true},
		"tainted": {`{"phase":"tainted"}`, true, false}, "draining": {`{"phase":"draining"}`, true, true},
		"drained": {`{"phase":"drained"}`, true, true}, "deleting": {`{"phase":"deleting"}`, true, true}, "failed": {`{"phase":"failed"}`, true, false},
	} {
		node := fakecluster.Node("n")
		if test.mark != "" {
			node.Annotations = map[string]string{taint.Annotation: test.mark}
		}
		if test.hard {
			node.Spec.Taints = []corev1.Taint{hard}
		}
		if taint.IsActedOn(node) != test.want {
			t.Errorf("%s: %v", name, !test.want)
		}
	}
}
