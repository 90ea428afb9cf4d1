package drain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"

	"ebb/go/kube/drain"
	"ebb/go/kube/internal/fakecluster"
)

// drainerOf returns a drainer with short waiting times. Its informers run until the test ends.
func drainerOf(t *testing.T, c *fakecluster.Cluster) *drain.Drainer {
	t.Helper()
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	d := &drain.Drainer{
		Client: c.Client, Pods: factory.Core().V1().Pods().Lister(), Nodes: factory.Core().V1().Nodes().Lister(),
		Options: drain.DefaultOptions(), Now: time.Now,
	}
	d.Options.EvictAgainAfter = 2 * time.Millisecond
	d.Options.LookEvery = time.Millisecond
	d.Options.MaxEvictionTime = 10 * time.Second
	ctx, cancel := context.WithCancel(context.Background())
	c.StartInformers(ctx, t, factory)
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	return d
}

func clusterOf(objects ...runtime.Object) *fakecluster.Cluster {
	return fakecluster.New(append(objects, fakecluster.Node("a"), fakecluster.Node("b"), fakecluster.ReplicaSet())...)
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{key: value} }
}

func ofDaemonSet(pod *corev1.Pod) {
	pod.OwnerReferences[0].Kind = "DaemonSet"
	pod.OwnerReferences[0].Name = "agent"
}

func withPriority(priority int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &priority }
}

const caPrefix = "cluster-autoscaler.kubernetes.io/"

func TestAPodThatMayNotBeMovedIsNamedWithTheAutoscalersReason(t *testing.T) {
	old := metav1.NewTime(time.Now().Add(-2 * time.Hour))
	young := metav1.NewTime(time.Now())
	system := func(created metav1.Time) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Namespace = "kube-system"
			pod.CreationTimestamp = created
			pod.OwnerReferences[0].Kind = "Custom"
		}
	}
	local := func(volume corev1.VolumeSource) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: volume}}
		}
	}
	emptyDir := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for name, test := range map[string]struct {
		edits  []func(*corev1.Pod)
		rules  func(*drain.Rules)
		budget int32
		want   string // "": the pod moves.
	}{
		"replicated":                    {want: ""},
		"no controller":                 {edits: []func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences = nil }}, want: "NotReplicated"},
		"a controller of another kind":  {edits: []func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Custom" }}, want: "NotReplicated"},
		"a controller that is gone":     {edits: []func(*corev1.Pod){func(p *corev1.Pod) { p.OwnerReferences[0].Name = "gone" }}, want: "ControllerNotFound"},
		"too few replicas":              {rules: func(r *drain.Rules) { r.MinReplicaCount = 4 }, want: "MinReplicasReached"},
		"said to be safe":               {edits: []func(*corev1.Pod){annotated(caPrefix+"safe-to-evict", "true"), local(emptyDir)}, want: ""},
		"said to be unsafe":             {edits: []func(*corev1.Pod){annotated(caPrefix+"safe-to-evict", "false")}, want: "NotSafeToEvictAnnotation"},
		"its end is awaited":            {edits: []func(*corev1.Pod){annotated(caPrefix+"safe-to-evict", "on-completion")}, want: "BlockedByOnCompletionPod"},
		"local storage":                 {edits: []func(*corev1.Pod){local(emptyDir)}, want: "LocalStorageRequested"},
		"local storage said to be safe": {edits: []func(*corev1.Pod){local(emptyDir), annotated(caPrefix+"safe-to-evict-local-volumes", "cache,scratch")}, want: ""},
		"memory is no local storage":    {edits: []func(*corev1.Pod){local(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})}, want: ""},
		"host path":                     {edits: []func(*corev1.Pod){local(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}})}, want: "LocalStorageRequested"},
		"young system pod":              {edits: []func(*corev1.Pod){system(young)}, rules: func(r *drain.Rules) { r.SkipNodesWithCustomControllerPods = false }, want: "UnmovableKubeSystemPod"},
		"old system pod":                {edits: []func(*corev1.Pod){system(old)}, rules: func(r *drain.Rules) { r.SkipNodesWithCustomControllerPods = false }, want: ""},
		"a budget that allows nothing":  {budget: -1, want: "NotEnoughPdb"},
		"a budget that allows one":      {budget: 1, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{fakecluster.Pod("web-1", "a", test.edits...)}
			if test.budget != 0 {
				objects = append(objects, fakecluster.Budget(max(test.budget, 0)))
			}
			d := drainerOf(t, clusterOf(objects...))
			if test.rules != nil {
				test.rules(&d.Options.Rules)
			}
			look, err := d.Look(t.Context(), "a", drain.LookOptions{})
			var kept *drain.Blocked
			switch {
			case test.want == "" && (err != nil || len(look.Evict) != 1):
				t.Errorf("it stays: %v", err)
			case test.want != "" && (!errors.As(err, &kept) || kept.Reason != test.want):
				t.Errorf("%v, not %s", err, test.want)
			}
		})
	}
}

func TestPodsThatAreNotMovedDelayNothing(t *testing.T) {
	past := metav1.NewTime(time.Now().Add(-time.Hour))
	c := clusterOf(
		fakecluster.Pod("mirror", "a", annotated(corev1.MirrorPodAnnotationKey, "x")),
		fakecluster.Pod("ended", "a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded; p.OwnerReferences = nil }),
		fakecluster.Pod("stuck", "a", func(p *corev1.Pod) { p.DeletionTimestamp = &past; p.Finalizers = []string{"x/y"} }),
		fakecluster.Pod("elsewhere", "b"),
	)
	d := drainerOf(t, c)
	look, err := d.Look(t.Context(), "a", drain.LookOptions{Empty: true})
	if err != nil || len(look.Evict)+len(look.BestEffort) != 0 {
		t.Fatalf("%+v, %v", look, err)
	}
	if err := d.Drain(t.Context(), fakecluster.Node("a"), look); err != nil {
		t.Error(err)
	}
}

func TestAPodOnANodeThatWasToGoEmptyKeepsIt(t *testing.T) {
	d := drainerOf(t, clusterOf(fakecluster.Pod("web-1", "a")))
	var kept *drain.Blocked
	if _, err := d.Look(t.Context(), "a", drain.LookOptions{Empty: true}); !errors.As(err, &kept) || kept.Pod != "default/web-1" {
		t.Errorf("%v", err)
	}
}

func TestARefusedEvictionIsRetriedAndThePodIsNeverDeletedDirectly(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"), fakecluster.Pod("web-2", "a"))
	refusals := 0
	c.Refuse(func(pod *corev1.Pod) error {
		if pod.Name == "web-1" && refusals < 5 {
			refusals++
			return fakecluster.TooMany()
		}
		return nil
	})
	d := drainerOf(t, c)
	var reported []string
	asked := 0
	d.Evicting = func(pod *corev1.Pod) func(bool) {
		if pod.Name != "web-1" {
			return func(bool) {}
		}
		asked++
		return func(taken bool) {
			if taken {
				reported = append(reported, pod.Name)
			}
		}
	}
	look, err := d.Look(t.Context(), "a", drain.LookOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(t.Context(), fakecluster.Node("a"), look); err != nil {
		t.Fatal(err)
	}
	evictions, _ := c.Evictions()
	if len(evictions) != 2 || refusals != 5 || len(reported) != 1 || asked != 6 {
		t.Errorf("evictions %v after %d refusals, reported %v, asked %d times", evictions, refusals, reported, asked)
	}
	for _, action := range c.Client.Actions() {
		if action.GetVerb() == "delete" {
			t.Errorf("a deletion past the Eviction API: %v", action)
		}
	}
}

func TestABudgetThatRefusesForTooLongEndsTheDrain(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"))
	c.Refuse(func(*corev1.Pod) error { return fakecluster.TooMany() })
	d := drainerOf(t, c)
	d.Options.MaxEvictionTime = 20 * time.Millisecond
	look, err := d.Look(t.Context(), "a", drain.LookOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Drain(t.Context(), fakecluster.Node("a"), look)
	if err == nil || !strings.Contains(err.Error(), "default/web-1") {
		t.Errorf("%v", err)
	}
}

func TestAPodThatNeverEndsEndsTheDrain(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"))
	c.Stays("web-1")
	d := drainerOf(t, c)
	d.Options.MaxGrace, d.Options.GoneExtra = 10*time.Millisecond, 10*time.Millisecond
	look, err := d.Look(t.Context(), "a", drain.LookOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(t.Context(), fakecluster.Node("a"), look); err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("%v", err)
	}
}

func TestAPodThatCameWhileTheNodeWasDrainedKeepsIt(t *testing.T) {
	c := clusterOf(fakecluster.Pod("web-1", "a"))
	d := drainerOf(t, c)
	look, err := d.Look(t.Context(), "a", drain.LookOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), fakecluster.Pod("late", "a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var kept *drain.Blocked
	if err := d.Drain(t.Context(), fakecluster.Node("a"), look); !errors.As(err, &kept) || kept.Pod != "default/late" {
		t.Errorf("%v", err)
	}
}

func TestGraceIsThePodsAndCapped(t *testing.T) {
	grace := func(seconds int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
	}
	c := clusterOf(fakecluster.Pod("unsaid", "a"), fakecluster.Pod("short", "a", grace(5)), fakecluster.Pod("long", "a", grace(5000)))
	d := drainerOf(t, c)
	look, err := d.Look(t.Context(), "a", drain.LookOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(t.Context(), fakecluster.Node("a"), look); err != nil {
		t.Fatal(err)
	}
	_, graces := c.Evictions()
	if graces["default/unsaid"] != 30 || graces["default/short"] != 5 || graces["default/long"] != 600 {
		t.Errorf("%v", graces)
	}
}

func TestPriorityGroupsGoOneAfterTheOther(t *testing.T) {
	c := clusterOf(
		fakecluster.Pod("high", "a", withPriority(2000)), fakecluster.Pod("low", "a", withPriority(-5)),
		fakecluster.Pod("middle", "a", withPriority(500)), fakecluster.Pod("agent", "a", ofDaemonSet, annotated(caPrefix+"daemonset-pod", "true"), withPriority(3000)),
	)
	d := drainerOf(t, c)
	var err error
	if d.Options.Groups, err = drain.ParseGroups("1000:60, 0:30"); err != nil {
		t.Fatal(err)
	}
	d.Options.Rules.SkipNodesWithCustomControllerPods = false
	look, err := d.Look(t.Context(), "a", drain.LookOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(t.Context(), fakecluster.Node("a"), look); err != nil {
		t.Fatal(err)
	}
	evictions, graces := c.Evictions()
	first := slices.Sorted(slices.Values(evictions[:2]))
	if !slices.Equal(first, []string{"default/low", "default/middle"}) || len(evictions) != 4 || graces["default/high"] != 30 {
		t.Errorf("%v %v", evictions, graces)
	}
}

func TestDaemonSetPodsAreEvictedByFlagAndAnnotationAndDelayNothing(t *testing.T) {
	agent := func(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
		return fakecluster.Pod(name, "a", append([]func(*corev1.Pod){ofDaemonSet}, edits...)...)
	}
	c := clusterOf(agent("plain"), agent("yes", annotated(caPrefix+"enable-ds-eviction", "true")), agent("no", annotated(caPrefix+"enable-ds-eviction", "false")))
	d := drainerOf(t, c)
	d.Options.Rules.SkipNodesWithCustomControllerPods = false
	names := func(o drain.LookOptions) []string {
		look, err := d.Look(t.Context(), "a", o)
		if err != nil || len(look.Evict) != 0 {
			t.Fatalf("%+v %v", look, err)
		}
		var names []string
		for _, pod := range look.BestEffort {
			names = append(names, pod.Name)
		}
		slices.Sort(names)
		return names
	}
	if got := names(drain.LookOptions{Empty: true}); !slices.Equal(got, []string{"yes"}) {
		t.Errorf("of an empty node: %v", got)
	}
	if got := names(drain.LookOptions{}); !slices.Equal(got, []string{"plain", "yes"}) {
		t.Errorf("of an occupied node: %v", got)
	}
	c.Refuse(func(*corev1.Pod) error { return fakecluster.TooMany() })
	d.Options.MaxEvictionTime = 5 * time.Millisecond
	look, err := d.Look(t.Context(), "a", drain.LookOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Drain(t.Context(), fakecluster.Node("a"), look); err != nil {
		t.Errorf("an agent that stays: %v", err)
	}
}

func TestAnAnnotationPutsTheDeletionOffForAWhile(t *testing.T) {
	delayed := fakecluster.Node("c")
	delayed.Annotations = map[string]string{"delay-deletion.cluster-autoscaler.kubernetes.io/volumes": "1"}
	c := clusterOf(delayed)
	d := drainerOf(t, c)
	d.Options.DelayDeletion = time.Minute
	done := make(chan error, 1)
	go func() { done <- d.Drain(t.Context(), delayed, &drain.Look{}) }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	free := c.GetNode(t, "c")
	free.Annotations = nil
	if _, err := c.Client.CoreV1().Nodes().Update(t.Context(), free, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	d.Options.DelayDeletion = 5 * time.Millisecond
	if err := d.Drain(t.Context(), delayed, &drain.Look{}); err != nil {
		t.Errorf("an annotation that stays: %v", err)
	}
}

func TestAResumedDrainIgnoresTheBudgetThatItSpentItself(t *testing.T) {
	d := drainerOf(t, clusterOf(fakecluster.Pod("web-1", "a"), fakecluster.Budget(0)))
	if look, err := d.Look(t.Context(), "a", drain.LookOptions{Resumed: true}); err != nil || len(look.Evict) != 1 {
		t.Errorf("%v", err)
	}
}

func TestGroupsOfPrioritiesAreReadOrRefused(t *testing.T) {
	groups, err := drain.ParseGroups("10:5,-3:60")
	if err != nil || len(groups) != 2 || groups[0].Priority != -3 || groups[1].Grace != 5*time.Second {
		t.Errorf("%v %v", groups, err)
	}
	for _, text := range []string{"x", "1", "1:x", "1:-2", "1:2,1:3", ",", "99999999999:1"} {
		if _, err := drain.ParseGroups(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
