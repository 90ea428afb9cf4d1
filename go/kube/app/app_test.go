package app_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/app"
	"ebb/go/kube/drain"
	"ebb/go/kube/feed"
	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/kubectl"
	"ebb/go/kube/provider"
	wire "ebb/go/kube/wire/actuatorpb"
)

// allowed returns a cluster that serves and allows everything.
func allowed(objects ...apiruntime.Object) *fakecluster.Cluster {
	c := fakecluster.New(objects...)
	c.Client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = true
		return true, review, nil
	})
	resources := map[string][]string{}
	for _, kind := range feed.Kinds {
		version := cmp.Or(kind.GroupVersion, kind.Group()+"/v1")
		resources[version] = append(resources[version], kind.Resource)
	}
	c.Serves(resources)
	return c
}

func options(t *testing.T, c *fakecluster.Cluster) app.Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "ebb-app-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return app.Options{
		Client: c.Client, Host: "https://x", Listen: filepath.Join(dir, "a.sock"), Server: "unix:" + filepath.Join(dir, "no-daemon.sock"),
		Provider: &provider.NodeObject{Client: c.Client}, Drain: drain.DefaultOptions(), Cordon: true,
		Namespace: "ebb", Lease: "ebb", Identity: "test", StatusConfigMap: "status",
	}
}

func TestAReplicaServesAndCleansUp(t *testing.T) {
	c := allowed(fakecluster.Node("a"))
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, c)
	o.Log, o.MetricsAddress = t.Logf, "127.0.0.1:0"
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	connection, err := grpc.NewClient("unix:"+o.Listen, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	calls := wire.NewActuatorClient(connection)
	fakecluster.Eventually(t, "it answers", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default:
		}
		_, err := calls.Begin(ctx, &wire.BeginRequest{Key: "k", Orders: []*wire.DeletionOrder{{Node: "a"}}})
		return err == nil
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	_ = connection.Close()
	if _, err := os.Stat(o.Listen); err == nil {
		t.Error("the socket is left")
	}
	// Some goroutines of client-go end a moment later.
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines are left of %d:\n%s", now-before, now, stacks[:runtime.Stack(stacks, true)])
	}
	held, err := c.Client.CoordinationV1().Leases("ebb").Get(t.Context(), "ebb", metav1.GetOptions{})
	if err != nil || (held.Spec.HolderIdentity != nil && *held.Spec.HolderIdentity != "") {
		t.Errorf("the lease was not released: %v", err)
	}
}

// reviewed is a provider that keeps nodes.
type reviewed struct{ provider.NodeObject }

func (*reviewed) Review(context.Context) (refused, notes []string, err error) {
	return []string{"NodePool x consolidates too"}, []string{"NodeClaim c has no node"}, nil
}

func TestWhatTheProviderKeepsIsLoggedAtTheStartAndFailsTheCheck(t *testing.T) {
	c := allowed(fakecluster.Node("a"))
	o := options(t, c)
	o.Provider = &reviewed{provider.NodeObject{Client: c.Client}}
	notes, err := app.Check(t.Context(), &o)
	if err == nil || !strings.Contains(err.Error(), "NodePool x consolidates too") || len(notes) != 1 || notes[0] != "NodeClaim c has no node" {
		t.Errorf("%q %v", notes, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := make(chan string, 1000)
	o.Log = func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) }
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	for want := []string{"its nodes stay: NodePool x consolidates too", "it stays: NodeClaim c has no node"}; len(want) > 0; {
		select {
		case line := <-lines:
			if line == want[0] {
				want = want[1:]
			}
		case err := <-ended:
			t.Fatalf("it ended without %q: %v", want, err)
		}
	}
	cancel()
	<-ended
	o.Listen = "" // It changes nothing, so nothing is kept.
	if notes, err := app.Check(t.Context(), &o); err != nil || len(notes) > 0 {
		t.Errorf("%q %v", notes, err)
	}
}

// Symptom: `ebb-kube --feed-only` logged nothing at all.
func TestFeedOnlySaysWhichClusterItFeedsAndThatTheDaemonIsAway(t *testing.T) {
	c := allowed(fakecluster.Node("a"))
	c.Client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.37.2"}
	o := options(t, c)
	o.Listen, o.Server = "", "unix:/no/such/daemon.sock"
	logged := make(chan string, 100)
	o.Log = func(format string, args ...any) {
		select {
		case logged <- fmt.Sprintf(format, args...):
		default:
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	for _, want := range []string{
		"API server https://x, version v1.37.2; feeds session default of unix:/no/such/daemon.sock; changes nothing in the cluster",
		"cluster of unknown UID", "feeds 18 kinds: Namespace, Node, ", "the daemon: ",
	} {
		select {
		case line := <-logged:
			if !strings.HasPrefix(line, want) {
				t.Errorf("%q is logged, not %q", line, want)
			}
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		}
	}
	cancel()
	<-ended
}

// serveStatus serves a daemon that has made a round and accepts no streams.
func serveStatus(t *testing.T, path string) {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "ebb.v1alpha1.Planner", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Status",
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				request := &plannerpb.StatusRequest{}
				if err := decode(request); err != nil {
					return nil, err
				}
				return &plannerpb.StatusReply{Sessions: []*plannerpb.SessionStatus{{
					Session: request.GetSession(), LastRoundAt: 1_700_000_000, Unremovable: &plannerpb.UnremovableNodes{
						Nodes: 58, Remembered: 58, FirstRecheck: 1_700_000_060, LastRecheck: 1_700_000_300,
						Reasons: []*plannerpb.UnremovableNodes_OfReason{{Reason: "NotEnoughPdb", Nodes: 58}},
					}}}}, nil
			}}},
	}, nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

// Symptom: "0 unneeded" for five minutes after the blocking budgets were deleted, and nothing in
// the cluster showed why.
func TestTheStatusSaysWhichNodesTheLastRoundKept(t *testing.T) {
	c := allowed(fakecluster.Node("a"))
	o := options(t, c)
	o.Log, o.StatusEvery = t.Logf, 10*time.Millisecond
	serveStatus(t, strings.TrimPrefix(o.Server, "unix:"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	fakecluster.Eventually(t, "kubectl ebb status knows", func() bool {
		read, err := kubectl.ReadStatus(ctx, c.Client, "ebb", "ebb", "status")
		return err == nil && read.Rounds.Unremovable != nil && read.Rounds.Session == "default" &&
			read.Rounds.Unremovable.String() == "58 unremovable (58 NotEnoughPdb; looked at again from 2023-11-14T22:14:20Z to 2023-11-14T22:18:20Z)"
	})
	cancel()
	<-ended
}

func TestRunRejectsBadOptionsBeforeItStarts(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*app.Options)
		want string
	}{
		"nothing to do":           {func(o *app.Options) { o.Listen, o.Server = "", "" }, "neither"},
		"a daemon at no socket":   {func(o *app.Options) { o.Server = "tcp:1" }, "unix:PATH"},
		"groups of no file":       {func(o *app.Options) { o.NodeGroups = "/no/such/file" }, "node groups"},
		"groups of no provider":   {func(o *app.Options) { o.NodeGroups = "provider" }, "knows no node groups"},
		"a socket in no folder":   {func(o *app.Options) { o.Listen = "/no/such/folder/a.sock" }, "/no/such/folder"},
		"a cluster that is away":  {func(o *app.Options) { away(o) }, "connection refused"},
		"a cluster that is older": {func(o *app.Options) { older(o) }, "too old"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, allowed())
			test.edit(&o)
			if err := app.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func away(o *app.Options) {
	c := allowed()
	c.SetAway(true)
	o.Client = c.Client
}

func older(o *app.Options) { o.Client = fakecluster.New().Client }
