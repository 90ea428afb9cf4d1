package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"ebb/go/kube/app"
	"ebb/go/kube/drain"
	"ebb/go/kube/feed"
	"ebb/go/kube/provider"
	"ebb/go/kube/taint"
	wire "ebb/go/kube/wire/actuatorpb"
)

// replica is an ebb-kube in the test process.
type replica struct {
	c      *cluster
	socket string
	calls  wire.ActuatorClient
	cancel context.CancelFunc
	ended  chan error
	feeder atomic.Pointer[feed.Feeder]
	cut    *wireCutter
	drives sync.Mutex
}

// wireCutter is a network between a replica and the API server that can be cut.
type wireCutter struct {
	mu    sync.Mutex
	isCut bool
	open  map[net.Conn]bool
}

func (w *wireCutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut {
		return nil, errors.New("the wire is cut")
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		w.open[connection] = true
	}
	return connection, err
}

func (w *wireCutter) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = cut
	if cut {
		for connection := range w.open {
			_ = connection.Close()
		}
		w.open = map[net.Conn]bool{}
	}
}

// hurriedDrain returns options that wait as long as the defaults in total, but retry more often.
func hurriedDrain() drain.Options {
	o := drain.DefaultOptions()
	o.EvictAgainAfter, o.LookEvery = 300*time.Millisecond, 50*time.Millisecond
	return o
}

// startReplica runs an ebb-kube until it is stopped or the test ends.
func (c *cluster) startReplica(edits ...func(*app.Options)) *replica {
	c.t.Helper()
	r := &replica{c: c, cut: &wireCutter{open: map[net.Conn]bool{}}}
	dir, err := os.MkdirTemp("", "ebb-kube-")
	c.must(err)
	r.socket = filepath.Join(dir, "actuator.sock")
	config := rest.CopyConfig(plane.Config)
	config.Dial = r.cut.dial
	own, err := kubernetes.NewForConfig(config)
	c.must(err)
	others, err := dynamic.NewForConfig(config)
	c.must(err)
	o := app.Options{
		Client: own, Dynamic: others, Host: config.Host, Listen: r.socket, Provider: &provider.NodeObject{Client: own},
		Drain: hurriedDrain(), Cordon: true, Namespace: "kube-system", Session: "e2e",
		OnFeeder: func(f *feed.Feeder) { r.feeder.Store(f) },
		Log:      func(format string, args ...any) { c.t.Logf("ebb-kube: "+format, args...) },
	}
	for _, edit := range edits {
		edit(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.ended = cancel, make(chan error, 1)
	go func() { r.ended <- app.Run(ctx, o) }()
	connection, err := grpc.NewClient("unix:"+r.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	c.must(err)
	r.calls = wire.NewActuatorClient(connection)
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			if err := <-r.ended; err != nil && !errors.Is(err, context.Canceled) {
				c.t.Errorf("ebb-kube ended: %v", err)
			}
			_ = connection.Close()
			_ = os.RemoveAll(dir)
		})
	}
	r.cancel = stop
	c.t.Cleanup(stop)
	return r
}

// stop ends the replica and waits for it.
func (r *replica) stop() { r.cancel() }

// waitActive waits until the replica answers.
func (r *replica) waitActive() {
	r.c.t.Helper()
	r.c.eventually("the replica is active", func() bool {
		_, err := r.calls.Status(r.c.ctx, &wire.StatusRequest{})
		return err == nil
	})
}

var keysMade atomic.Int64

func newKey() string { return fmt.Sprintf("e2e-%d-%d", os.Getpid(), keysMade.Add(1)) }

// begin orders deletions with drains.
func (r *replica) begin(names ...string) error {
	var orders []*wire.DeletionOrder
	for _, name := range names {
		orders = append(orders, &wire.DeletionOrder{Node: name, Drain: true, Group: "general"})
	}
	_, err := r.calls.Begin(r.c.ctx, &wire.BeginRequest{Key: newKey(), Orders: orders})
	return err
}

func (r *replica) drain(name string) error {
	_, err := r.calls.Drain(r.c.ctx, &wire.DrainRequest{Key: newKey(), Node: name})
	return err
}

// status waits for an answer; it returns nil if the test's time is over.
func (r *replica) status() *wire.StatusReply {
	r.c.t.Helper()
	var reply *wire.StatusReply
	r.c.eventually("the actuator answers", func() bool {
		var err error
		reply, err = r.calls.Status(r.c.ctx, &wire.StatusRequest{})
		return err == nil
	})
	return reply
}

func (r *replica) running(name string) *wire.RunningDeletion {
	for _, each := range r.status().Running {
		if each.Node == name {
			return each
		}
	}
	return nil
}

func (r *replica) reaches(name string, phase wire.DeletionPhase) *wire.RunningDeletion {
	r.c.t.Helper()
	var found *wire.RunningDeletion
	r.c.eventually(fmt.Sprintf("node %s is %v", name, phase), func() bool {
		found = r.running(name)
		return found != nil && found.Phase == phase
	})
	return found
}

// step makes the next call for every deletion, as a loop does. Errors are left to the next step, as
// in a loop.
func (r *replica) step() *wire.StatusReply {
	reply := r.status()
	for _, each := range reply.Running {
		switch each.Phase {
		case wire.DeletionPhase_TAINTED:
			_ = r.drain(each.Node)
		case wire.DeletionPhase_DRAINED:
			_, _ = r.calls.Delete(r.c.ctx, &wire.DeleteRequest{Key: newKey(), Node: each.Node})
		case wire.DeletionPhase_FAILED:
			_, _ = r.calls.RollBack(r.c.ctx, &wire.RollBackRequest{Key: newKey(), Node: each.Node, Why: each.Why})
		}
	}
	return reply
}

// finish drives all deletions until none is running, and returns the results by node.
func (r *replica) finish() map[string]*wire.DeletionResult {
	r.c.t.Helper()
	var last *wire.StatusReply
	r.c.eventually("all deletions end", func() bool {
		last = r.step()
		return len(last.Running) == 0
	})
	results := map[string]*wire.DeletionResult{}
	for _, each := range last.Results {
		results[each.Node] = each
	}
	return results
}

// nodesWith returns the nodes that have pods of an application, the fullest first.
func (c *cluster) nodesWith(app string) []string {
	c.t.Helper()
	count := map[string]int{}
	for _, pod := range c.pods(app) {
		count[pod.Spec.NodeName]++
	}
	var names []string
	for name := range count {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return compareStrings(a, b)
	})
	return names
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// checkNoMarks checks that no node is tainted, cordoned or marked. It is called when no deletion is
// under way.
func (c *cluster) checkNoMarks() {
	c.t.Helper()
	list, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	c.must(err)
	for i := range list.Items {
		node := &list.Items[i]
		_, marked := node.Annotations[taint.Annotation]
		if marked || node.Spec.Unschedulable || taint.Find(node, taint.Hard) != nil {
			c.t.Errorf("node %s is left tainted, cordoned or marked", node.Name)
		}
	}
}

func (c *cluster) hasNode(name string) bool {
	c.t.Helper()
	list, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	c.must(err)
	return slices.ContainsFunc(list.Items, func(n corev1.Node) bool { return n.Name == name })
}
