package feed_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/daemon"
	"ebb/go/kube/feed"
	"ebb/go/kube/internal/fakecluster"
)

// fakeDaemon accepts Sync streams and stores the objects, as `ebb serve` does.
type fakeDaemon struct {
	t       *testing.T
	address string
	server  *grpc.Server

	mu      sync.Mutex
	objects map[string]runtime.Object // KIND NAMESPACE/NAME
	touched map[string]bool           // Since a resync began; nil if there is none.
	resyncs int
	batches int
	log     []string // "put Pod default/web-1", "delete ..."
	refuse  error
	hold    chan struct{} // Batches wait for it.
	version uint64
	opened  []string
	cluster string // As the last resync named it.
	broken  []*plannerpb.BrokenWatch
	// The API server's version, as last received.
	kubernetes string
}

func startDaemon(t *testing.T) *fakeDaemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "ebb-feed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &fakeDaemon{t: t, address: "unix:" + filepath.Join(dir, "ebb.sock"), objects: map[string]runtime.Object{}}
	d.start()
	t.Cleanup(func() { d.server.Stop() })
	return d
}

func (d *fakeDaemon) start() {
	listener, err := net.Listen("unix", strings.TrimPrefix(d.address, "unix:"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.server = grpc.NewServer()
	d.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "ebb.v1alpha1.Planner", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Sync", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return d.sync(stream) }}},
		Methods: []grpc.MethodDesc{{MethodName: "Open", Handler: d.open}},
	}, nil)
	go func() { _ = d.server.Serve(listener) }()
}

func (d *fakeDaemon) open(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	request := &plannerpb.OpenRequest{}
	if err := decode(request); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened = append(d.opened, request.GetSettings().GetNodeGroups())
	return &plannerpb.SessionStatus{}, nil
}

// restart forgets everything, as a restarted daemon does.
func (d *fakeDaemon) restart() {
	d.server.Stop()
	d.mu.Lock()
	d.objects, d.touched, d.log = map[string]runtime.Object{}, nil, nil
	d.mu.Unlock()
	d.start()
}

func (d *fakeDaemon) sync(stream grpc.ServerStream) error {
	first := true
	for {
		request := &plannerpb.SyncRequest{}
		if err := stream.RecvMsg(request); err != nil {
			return nil
		}
		d.mu.Lock()
		hold := d.hold
		d.mu.Unlock()
		if hold != nil {
			<-hold
		}
		reply, err := d.take(request, first)
		if err != nil {
			return err
		}
		first = false
		if err := stream.SendMsg(reply); err != nil {
			return err
		}
	}
}

func (d *fakeDaemon) take(request *plannerpb.SyncRequest, first bool) (*plannerpb.SyncReply, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		return nil, d.refuse
	}
	if first != (request.Session == "prod") {
		return nil, status.Errorf(codes.InvalidArgument, "session %q, first: %v", request.Session, first)
	}
	d.batches++
	if request.ResyncBegins {
		d.touched = map[string]bool{}
		d.cluster = request.ClusterUid
	}
	if request.KubernetesVersion != "" {
		d.kubernetes = request.KubernetesVersion
	}
	if request.BrokenWatches != nil {
		d.broken = request.BrokenWatches.Watches
	}
	for _, change := range request.Changes {
		d.change(change)
	}
	if request.ResyncEnds {
		for name := range d.objects {
			if !d.touched[name] {
				delete(d.objects, name)
			}
		}
		d.touched = nil
		d.resyncs++
	}
	d.version++
	return &plannerpb.SyncReply{Version: d.version}, nil
}

func (d *fakeDaemon) change(change *plannerpb.Change) {
	if gone := change.GetDelete(); gone != nil {
		name := gone.Kind + " " + gone.Namespace + "/" + gone.Name
		delete(d.objects, name)
		d.log = append(d.log, "delete "+name)
		return
	}
	if gone := change.GetDeleteJson(); gone != nil {
		object := d.fromJSON(gone)
		name := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
		delete(d.objects, name)
		d.log = append(d.log, "delete "+object.GetAPIVersion()+" "+name)
		return
	}
	var object runtime.Object
	var kind *schema.GroupVersionKind
	if put := change.GetPutJson(); put != nil {
		custom := d.fromJSON(put)
		gvk := custom.GroupVersionKind()
		object, kind = custom, &gvk
	} else {
		// Decoded by Kubernetes' own protobuf reader.
		var err error
		object, kind, err = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(change.GetPutProtobuf(), nil, nil)
		if err != nil {
			d.t.Errorf("a change cannot be read: %v", err)
			return
		}
	}
	meta := object.(metav1.Object)
	name := kind.Kind + " " + meta.GetNamespace() + "/" + meta.GetName()
	d.objects[name] = object
	if d.touched != nil {
		d.touched[name] = true
	}
	d.log = append(d.log, "put "+name)
}

func (d *fakeDaemon) fromJSON(text []byte) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		d.t.Errorf("a change cannot be read: %v", err)
	}
	return object
}

func (d *fakeDaemon) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.objects[name] != nil
}

func (d *fakeDaemon) taken() (log []string, resyncs, batches int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log), d.resyncs, d.batches
}

// feedFrom runs a feeder until the test ends.
func feedFrom(t *testing.T, c *fakecluster.Cluster, d *fakeDaemon, edits ...func(*feed.Options)) *feed.Feeder {
	t.Helper()
	client, err := daemon.Dial(d.address)
	if err != nil {
		t.Fatal(err)
	}
	factory := feed.NewFactory(c.Client)
	o := feed.Options{Factory: factory, Kinds: feed.Kinds, Daemon: client, Session: "prod", Linger: time.Millisecond, BackOffMax: 10 * time.Millisecond}
	for _, edit := range edits {
		edit(&o)
	}
	feeder, err := feed.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.StartInformers(ctx, t, factory)
	ended := make(chan error, 1)
	go func() { ended <- feeder.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the feeder ended: %v", err)
		}
		factory.Shutdown()
		_ = client.Close()
	})
	return feeder
}

func idle(t *testing.T, f *feed.Feeder) {
	t.Helper()
	fakecluster.Eventually(t, "the daemon knows everything", func() bool { p := f.Progress(); return p.Connected && p.Waiting == 0 })
}

func TestAllObjectsAreSentAtFirstAndThenOnlyChanges(t *testing.T) {
	managed := fakecluster.Pod("web-1", "a", func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}} })
	c := fakecluster.New(fakecluster.Node("a"), fakecluster.ReplicaSet(), fakecluster.Budget(1), managed)
	d := startDaemon(t)
	f := feedFrom(t, c, d)
	idle(t, f)
	for _, name := range []string{"Node /a", "Pod default/web-1", "ReplicaSet default/web", "PodDisruptionBudget default/web"} {
		if !d.has(name) {
			t.Errorf("%s is missing", name)
		}
	}
	d.mu.Lock()
	if pod := d.objects["Pod default/web-1"].(*corev1.Pod); len(pod.ManagedFields) != 0 || pod.UID != "uid-web-1" {
		t.Errorf("%+v", pod)
	}
	d.mu.Unlock()
	before, _, _ := d.taken()

	pods := c.Client.CoreV1().Pods("default")
	changed := fakecluster.Pod("web-1", "b")
	changed.ResourceVersion = "2"
	if _, err := pods.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	fakecluster.Eventually(t, "the node is gone", func() bool { return !d.has("Node /a") })
	idle(t, f)
	after, resyncs, _ := d.taken()
	sent := slices.Sorted(slices.Values(after[len(before):]))
	if resyncs != 1 || !slices.Equal(sent, []string{"delete Node /a", "put Pod default/web-1"}) {
		t.Errorf("after %d resyncs: %v", resyncs, sent)
	}
}

func TestADaemonThatWasRestartedReceivesEverythingAgain(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"), fakecluster.Pod("web-1", "a"))
	d := startDaemon(t)
	f := feedFrom(t, c, d)
	idle(t, f)
	d.restart()
	fakecluster.Eventually(t, "it knows everything again", func() bool { return d.has("Pod default/web-1") && d.has("Node /a") })
	idle(t, f)
	if _, resyncs, _ := d.taken(); resyncs != 2 {
		t.Errorf("%d resyncs", resyncs)
	}
}

func TestEachResyncNamesTheCluster(t *testing.T) {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid-of-the-cluster"}}
	c := fakecluster.New(fakecluster.Node("a"), system)
	d := startDaemon(t)
	f := feedFrom(t, c, d)
	idle(t, f)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cluster != "uid-of-the-cluster" || d.broken != nil {
		t.Errorf("cluster %q, broken %v", d.cluster, d.broken)
	}
}

func TestABrokenWatchIsNamedWithItsTime(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	c.Client.PrependWatchReactor("replicasets", func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, nil, errors.New("no watch today")
	})
	d := startDaemon(t)
	before := time.Now().Unix()
	feedFrom(t, c, d)
	fakecluster.Eventually(t, "the daemon knows", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.broken) == 1 && d.broken[0].Kind == "ReplicaSet" && d.broken[0].Since >= before
	})
}

func TestTheFeederRetriesADaemonThatRefuses(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"))
	d := startDaemon(t)
	d.refuse = status.Error(codes.ResourceExhausted, "--max-objects")
	f := feedFrom(t, c, d)
	time.Sleep(30 * time.Millisecond)
	if f.Progress().Connected {
		t.Error("a resync that was refused counts as taken")
	}
	d.mu.Lock()
	d.refuse = nil
	d.mu.Unlock()
	idle(t, f)
	if !d.has("Node /a") {
		t.Error("the node is missing")
	}
}

func TestChangesOfOneObjectWhileTheDaemonIsBusyAreSentAsOne(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"), fakecluster.Pod("other", "a"))
	d := startDaemon(t)
	f := feedFrom(t, c, d)
	idle(t, f)
	d.mu.Lock()
	d.hold = make(chan struct{})
	hold := d.hold
	d.mu.Unlock()
	pods := c.Client.CoreV1().Pods("default")
	touch := func(name, version string) {
		pod := fakecluster.Pod(name, "a")
		pod.ResourceVersion = version
		if _, err := pods.Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	touch("other", "2") // This batch is held.
	fakecluster.Eventually(t, "a batch is under way", func() bool { return f.Progress().Waiting > 0 })
	time.Sleep(20 * time.Millisecond)
	if _, err := pods.Create(t.Context(), fakecluster.Pod("web-1", "a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"3", "4", "5"} {
		touch("web-1", version)
	}
	// A new pod with the same name.
	if err := pods.Delete(t.Context(), "web-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := fakecluster.Pod("web-1", "a", func(p *corev1.Pod) { p.UID = "uid-2"; p.ResourceVersion = "6" })
	if _, err := pods.Create(t.Context(), again, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	fakecluster.Eventually(t, "they wait", func() bool { return f.Progress().Waiting >= 2 })
	time.Sleep(50 * time.Millisecond)
	before, _, _ := d.taken()
	d.mu.Lock()
	d.hold = nil
	d.mu.Unlock()
	close(hold)
	idle(t, f)
	after, _, _ := d.taken()
	sent := after[len(before):]
	of := slices.DeleteFunc(slices.Clone(sent), func(line string) bool { return !strings.HasSuffix(line, "web-1") })
	if !slices.Equal(of, []string{"delete Pod default/web-1", "put Pod default/web-1"}) {
		t.Errorf("sent: %v", sent)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if pod := d.objects["Pod default/web-1"].(*corev1.Pod); pod.UID != "uid-2" {
		t.Errorf("it has the pod %s", pod.UID)
	}
}

func TestAnOlderVersionThanBeforeAsksForAResync(t *testing.T) {
	node := fakecluster.Node("a")
	node.ResourceVersion = "900"
	c := fakecluster.New(node)
	d := startDaemon(t)
	f := feedFrom(t, c, d)
	idle(t, f)
	// etcd was restored from a backup.
	restored := fakecluster.Node("a")
	restored.ResourceVersion = "500"
	if err := c.Client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), restored, ""); err != nil {
		t.Fatal(err)
	}
	fakecluster.Eventually(t, "a second resync", func() bool { _, resyncs, _ := d.taken(); return resyncs == 2 })
}

func TestALargeClusterIsSentInManyMessages(t *testing.T) {
	var objects []runtime.Object
	for i := range 250 {
		objects = append(objects, fakecluster.Node("n-"+string(rune('a'+i/26))+string(rune('a'+i%26))))
	}
	d := startDaemon(t)
	f := feedFrom(t, fakecluster.New(objects...), d, func(o *feed.Options) { o.BatchObjects = 10 })
	idle(t, f)
	// Nodes whose events the informer delivers only now may be sent again after the resync.
	log, resyncs, batches := d.taken()
	sent := map[string]bool{}
	for _, line := range log {
		sent[line] = true
	}
	if len(sent) != 250 || resyncs != 1 || batches < (len(log)+9)/10 {
		t.Errorf("%d objects, %d of them different, in %d batches, %d resyncs", len(log), len(sent), batches, resyncs)
	}
}

func TestSettingsComeBeforeEachResync(t *testing.T) {
	d := startDaemon(t)
	f := feedFrom(t, fakecluster.New(fakecluster.Node("a")), d, func(o *feed.Options) {
		o.Settings = func(context.Context) (*plannerpb.Settings, error) {
			return &plannerpb.Settings{NodeGroups: "groups"}, nil
		}
	})
	idle(t, f)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.opened, []string{"groups"}) {
		t.Errorf("%v", d.opened)
	}
}
