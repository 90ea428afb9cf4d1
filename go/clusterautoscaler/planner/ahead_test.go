package planner

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apiv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/cluster-autoscaler/pkg/simulator/options"
	. "sigs.k8s.io/cluster-autoscaler/pkg/utils/test"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/wire"
)

// informed is a world whose nodes and pods come from informers.
type informed struct {
	*world
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	// What the engine received between the loops, and when it was asked for the first time.
	applied chan []wire.Change
	asked   chan struct{}
}

func newInformed(t *testing.T, w *world) *informed {
	t.Helper()
	var objects []runtime.Object
	infos, err := w.given.ClusterSnapshot.ListNodeInfos()
	check(t, err)
	for _, info := range infos {
		objects = append(objects, info.Node())
		for _, pod := range info.Pods() {
			objects = append(objects, pod.Pod)
		}
	}
	i := &informed{world: w, client: fake.NewClientset(objects...), applied: make(chan []wire.Change, 100), asked: make(chan struct{}, 100)}
	i.factory = informers.NewSharedInformerFactory(i.client, 0)
	w.engine.apply = func(changes []wire.Change) error { i.applied <- changes; return nil }
	w.engine.pass = func(request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
		i.asked <- struct{}{}
		return w.engine.Engine.Pass(context.Background(), request)
	}
	return i
}

func (i *informed) start(t *testing.T) *Planner {
	t.Helper()
	p := New(i.given, i.processors, options.NodeDeleteOptions{}, nil, i.quotas,
		Options{Engine: i.engine, Fallbacks: i.log, Resyncs: i.resyncs, SendAhead: true, Informers: i.factory})
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); i.factory.Shutdown(); _ = p.Close() })
	i.factory.Start(stop)
	i.factory.WaitForCacheSync(stop)
	return p
}

// show fills the snapshot from the informers, as the autoscaler does.
func (i *informed) show(t *testing.T) {
	t.Helper()
	nodes, err := i.factory.Core().V1().Nodes().Lister().List(labels.Everything())
	check(t, err)
	pods, err := i.factory.Core().V1().Pods().Lister().List(labels.Everything())
	check(t, err)
	check(t, i.given.ClusterSnapshot.SetClusterState(nodes, pods, nil, nil))
	i.nodes = nodes
}

func names(changes []wire.Change) []string {
	var all []string
	for _, change := range changes {
		if change.Object == nil {
			all = append(all, "no "+change.Kind.Name+" "+change.Name)
		} else {
			all = append(all, change.Kind.Name+" "+change.Object.GetName())
		}
	}
	slices.Sort(all)
	return all
}

// The cluster is sent between the loops, so that the loops send nothing.
func TestTheClusterIsSentBetweenTheLoops(t *testing.T) {
	i := newInformed(t, newWorld(t, nil))
	p := i.start(t)
	<-i.asked
	want := []string{"Node blocked", "Node empty-1", "Node empty-2", "Node moves", "Pod blocks", "Pod moves"}
	if got := names(<-i.applied); !slices.Equal(got, want) {
		t.Errorf("sent ahead: %q", got)
	}
	i.show(t)
	i.update(t, p, 0)
	expect(t, p, usual...)
	for _, test := range []struct {
		change func() error
		want   string
	}{
		{func() error {
			_, err := i.client.CoreV1().Pods("default").Create(context.Background(), BuildScheduledTestPod("new", 1, 1, "empty-1"), metav1.CreateOptions{})
			return err
		}, "Pod new"},
		{func() error {
			return i.client.CoreV1().Pods("default").Delete(context.Background(), "new", metav1.DeleteOptions{})
		}, "no Pod new"},
		{func() error {
			_, err := i.client.CoreV1().Nodes().Create(context.Background(), BuildTestNode("node", 1, 1), metav1.CreateOptions{})
			return err
		}, "Node node"},
		{func() error {
			return i.client.CoreV1().Nodes().Delete(context.Background(), "node", metav1.DeleteOptions{})
		}, "no Node node"},
	} {
		check(t, test.change())
		if got := names(<-i.applied); !slices.Equal(got, []string{test.want}) {
			t.Errorf("sent ahead: %q, want %q", got, test.want)
		}
	}
	i.show(t)
	i.update(t, p, 10*time.Minute)
	if len(i.applied) > 0 {
		t.Errorf("the loops sent %q", names(<-i.applied))
	}
	if counts, resyncs := i.log.Counts(), i.resyncs.Counts(); len(counts)+len(resyncs) > 0 {
		t.Errorf("fallbacks %v, resyncs %v", counts, resyncs)
	}
	check(t, p.Close())
}

// Pods that the autoscaler leaves out of its snapshot are not sent.
func TestPodsThatDoNotCountAreNotSentAhead(t *testing.T) {
	i := newInformed(t, newWorld(t, nil))
	low := int32(-100)
	for name, change := range map[string]func(*apiv1.Pod){
		"ended":      func(pod *apiv1.Pod) { pod.Status.Phase = apiv1.PodSucceeded },
		"expendable": func(pod *apiv1.Pod) { pod.Spec.Priority = &low },
		"pending":    func(pod *apiv1.Pod) { pod.Spec.NodeName = "" },
	} {
		pod := BuildScheduledTestPod(name, 1, 1, "empty-1")
		change(pod)
		_, err := i.client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
		check(t, err)
	}
	i.start(t)
	<-i.asked
	if got := names(<-i.applied); len(got) != 6 {
		t.Errorf("sent ahead: %q", got)
	}
}

// What fails between the loops costs no loop its answer: the loop sends the whole cluster.
func TestAFailureBetweenTheLoopsCostsNoLoop(t *testing.T) {
	i := newInformed(t, newWorld(t, nil))
	failed := make(chan struct{}, 1)
	i.engine.apply = func(changes []wire.Change) error {
		select {
		case failed <- struct{}{}:
			return errors.New("broken")
		default:
			i.applied <- changes
			return nil
		}
	}
	p := i.start(t)
	for !func() bool { p.hold(context.Background()); defer p.release(); return p.failed }() {
		time.Sleep(time.Millisecond) // Until the goroutine has noticed.
	}
	i.show(t)
	i.update(t, p, 0)
	expect(t, p, usual...)
	if got := names(<-i.applied); len(got) < 6 {
		t.Errorf("the loop sent %q", got)
	}
	if counts := i.log.Counts(); len(counts) > 0 || p.failed {
		t.Errorf("fallbacks %v", counts)
	}
}

// A loop does not wait longer than its deadline for a batch that is being sent.
func TestALoopWaitsForABatchNoLongerThanItsDeadline(t *testing.T) {
	w := newWorld(t, nil)
	p := w.planner(nil)
	p.busy <- struct{}{}
	w.given.ScaleDownSimulationTimeout = 2 * time.Nanosecond
	if cause, err := p.askEngine(&loop{start: time.Now()}); cause != "deadline" || err == nil {
		t.Errorf("%s, %v", cause, err)
	}
	p.release()
}
