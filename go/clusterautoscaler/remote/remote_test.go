package remote_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/enginetest"
	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/feed"
	"ebb/go/clusterautoscaler/remote"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb/plannerpb"
	"ebb/go/ebb/plannerpb/plannergrpc"
)

var ctx = context.Background()

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, options remote.Options) clusterautoscaler.Engine {
	t.Helper()
	ebb, err := remote.New(options)
	check(t, err)
	t.Cleanup(func() { _ = ebb.Close() })
	check(t, ebb.Configure(ctx, clusterautoscaler.Options{ScaleDownUnreadyEnabled: true}))
	return ebb
}

func apply(ebb clusterautoscaler.Engine, views []feed.NodeView) error {
	return ebb.Apply(ctx, feed.New().Changes(views, enginetest.Nothing))
}

func expect(t *testing.T, err error, cause string, texts ...string) {
	t.Helper()
	if err == nil || fallback.CauseOf(err, "") != cause {
		t.Fatalf("got %v of cause %q, want cause %q", err, fallback.CauseOf(err, ""), cause)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

// -------------------------------------------------------------------------------------------------
// A real daemon

// daemon is `ebb serve`, the program that EBB names.
type daemon struct {
	t       testing.TB
	path    string
	flags   []string
	process *exec.Cmd
}

func start(t testing.TB, flags ...string) *daemon {
	t.Helper()
	if os.Getenv("EBB") == "" {
		t.Skip("EBB does not name the program ebb")
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	check(t, os.Chmod(folder, 0o700))
	d := &daemon{t: t, path: filepath.Join(folder, "ebb.sock"), flags: flags}
	d.start()
	t.Cleanup(d.kill)
	return d
}

func (d *daemon) address() string { return "unix:" + d.path }

// start returns once the daemon listens.
func (d *daemon) start() {
	d.t.Helper()
	d.process = exec.Command(os.Getenv("EBB"), append([]string{"serve", "--socket", d.path, "--log", "none"}, d.flags...)...)
	output, err := d.process.StderrPipe()
	check(d.t, err)
	check(d.t, d.process.Start())
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "serves on") {
			return
		}
		d.t.Log(lines.Text())
	}
	d.t.Fatal("the daemon does not serve")
}

func (d *daemon) kill() {
	_ = d.process.Process.Kill()
	_ = d.process.Wait()
}

// other returns a client that is not the engine.
func (d *daemon) other() plannergrpc.PlannerClient {
	connection, err := grpc.NewClient(d.address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(d.t, err)
	d.t.Cleanup(func() { _ = connection.Close() })
	return plannergrpc.NewPlannerClient(connection)
}

func TestEngine(t *testing.T) {
	daemon := start(t)
	enginetest.Run(t, func() (clusterautoscaler.Engine, error) {
		return remote.New(remote.Options{Address: daemon.address(), Timeout: time.Minute})
	})
}

func BenchmarkLoop2000(b *testing.B) {
	daemon := start(b)
	enginetest.Loop2000(b, func() (clusterautoscaler.Engine, error) {
		return remote.New(remote.Options{Address: daemon.address()})
	})
}

func BenchmarkPass2000(b *testing.B) {
	daemon := start(b)
	enginetest.Pass2000(b, func() (clusterautoscaler.Engine, error) {
		return remote.New(remote.Options{Address: daemon.address()})
	})
}

// lost checks that the engine has lost its session for this cause, and works again after a Reset.
func lost(t *testing.T, ebb clusterautoscaler.Engine, views []feed.NodeView, failed error, cause string) {
	t.Helper()
	expect(t, failed, cause)
	check(t, ebb.Reset())
	check(t, ebb.Configure(ctx, clusterautoscaler.Options{ScaleDownUnreadyEnabled: true}))
	check(t, apply(ebb, views))
	result, err := ebb.Pass(ctx, enginetest.Request(views))
	check(t, err)
	if len(result.Removals) == 0 {
		t.Error("no node goes")
	}
}

func TestASessionThatIsLostIsNotFilledWithChangesOnly(t *testing.T) {
	daemon := start(t)
	views := enginetest.Cluster(3)
	for what, lose := range map[string]func(){
		"the daemon starts again": func() {
			daemon.kill()
			daemon.start()
		},
		"another client closes the session": func() {
			_, err := daemon.other().Close(ctx, &plannerpb.CloseRequest{Session: "autoscaler"})
			check(t, err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			ebb := open(t, remote.Options{Address: daemon.address(), Timeout: time.Minute})
			sent := feed.New()
			check(t, ebb.Apply(ctx, sent.Changes(views, enginetest.Nothing)))
			lose()
			err := ebb.Apply(ctx, sent.Changes(views[:2], enginetest.Nothing))
			if fallback.CauseOf(err, "") == fallback.DaemonUnavailable {
				// The old connection was used before its end was known.
				lost(t, ebb, views, err, fallback.DaemonUnavailable)
			} else {
				lost(t, ebb, views, err, fallback.SessionLost)
			}
			lose()
			_, err = ebb.Pass(ctx, enginetest.Request(views))
			if fallback.CauseOf(err, "") == fallback.DaemonUnavailable {
				lost(t, ebb, views, err, fallback.DaemonUnavailable)
			} else {
				lost(t, ebb, views, err, fallback.SessionLost)
			}
		})
	}
}

func TestASessionThatAnotherClientChangesIsNotUsed(t *testing.T) {
	daemon := start(t)
	views := enginetest.Cluster(3)
	deletion := &plannerpb.Change{Change: &plannerpb.Change_Delete{Delete: &plannerpb.Deletion{Kind: "Node", Name: "node-1"}}}
	for what, change := range map[string]func() error{
		"a node is deleted": func() error {
			_, err := daemon.other().Apply(ctx, &plannerpb.ApplyRequest{Session: "autoscaler", Changes: []*plannerpb.Change{deletion}})
			return err
		},
		"the settings are set": func() error {
			_, err := daemon.other().Open(ctx, &plannerpb.OpenRequest{Session: "autoscaler"})
			return err
		},
		"another engine begins": func() error {
			return apply(open(t, remote.Options{Address: daemon.address()}), views[:1])
		},
	} {
		t.Run(what, func(t *testing.T) {
			ebb := open(t, remote.Options{Address: daemon.address(), Timeout: time.Minute})
			sent := feed.New()
			check(t, ebb.Apply(ctx, sent.Changes(views, enginetest.Nothing)))
			check(t, change())
			_, err := ebb.Pass(ctx, enginetest.Request(views))
			lost(t, ebb, views, err, fallback.SessionChanged)
			check(t, change())
			lost(t, ebb, views, ebb.Apply(ctx, feed.New().Changes(views, enginetest.Nothing)), fallback.SessionChanged)
		})
	}
}

func TestLimitsOfTheDaemonAreErrors(t *testing.T) {
	views := enginetest.Cluster(2)
	views[0].Node.Labels = map[string]string{"large": strings.Repeat("x", 20<<10)}
	for flag, text := range map[string]string{"--max-object=10KiB": "--max-object", "--max-objects=5": "--max-objects", "--max-message=10KiB": "larger than max"} {
		ebb := open(t, remote.Options{Address: start(t, flag).address(), Timeout: time.Minute})
		expect(t, apply(ebb, views), fallback.DaemonLimit, text)
	}
}

func TestANodeThatTheDaemonDoesNotHaveIsNotALostSession(t *testing.T) {
	ebb := open(t, remote.Options{Address: start(t).address(), Timeout: time.Minute})
	views := enginetest.Cluster(2)
	check(t, apply(ebb, views[:1]))
	_, err := ebb.Pass(ctx, enginetest.Request(views))
	expect(t, err, "", "node node-1 is not in the cluster")
}

// Ended and expendable pods count, as they do inside a program.
func TestPodsCountAsGiven(t *testing.T) {
	ebb := open(t, remote.Options{Address: start(t).address(), Timeout: time.Minute})
	views := enginetest.Cluster(1)
	views[0].Pods = views[0].Pods[:2]
	expendable := int32(-100)
	views[0].Pods[0].Spec.Priority = &expendable
	views[0].Pods[1].Status.Phase = "Succeeded"
	check(t, apply(ebb, views))
	result, err := ebb.Pass(ctx, enginetest.Request(views))
	check(t, err)
	if len(result.Utilization) != 1 || result.Utilization[0].CPU != 0.02 {
		t.Errorf("%+v", result)
	}
}

// -------------------------------------------------------------------------------------------------
// Faults

func TestNoDaemon(t *testing.T) {
	ebb := open(t, remote.Options{Address: "unix:" + socket(t), Timeout: time.Minute})
	expect(t, apply(ebb, enginetest.Cluster(1)), fallback.DaemonUnavailable, "ebb serve at unix:")
	_, err := ebb.Pass(ctx, enginetest.Request(enginetest.Cluster(1)))
	expect(t, err, fallback.DaemonUnavailable)
}

func TestADaemonOfAnotherVersionIsRefused(t *testing.T) {
	for _, protocol := range []uint32{0, remote.Protocol + 1} {
		daemon := fake()
		daemon.protocol = protocol
		ebb := open(t, remote.Options{Address: serve(t, daemon), Timeout: time.Minute})
		expect(t, apply(ebb, enginetest.Cluster(1)), fallback.DaemonVersion,
			fmt.Sprintf("it speaks protocol %d (ebb 9.9.9), this program speaks protocol %d", protocol, remote.Protocol))
	}
	daemon := fake()
	daemon.passTable = func(context.Context, *plannerpb.PlanInput) (*plannerpb.PassTable, error) {
		return nil, status.Error(codes.Unimplemented, "unknown method PassTable")
	}
	_, err := open(t, remote.Options{Address: serve(t, daemon), Timeout: time.Minute}).Pass(ctx, enginetest.Request(nil))
	expect(t, err, fallback.DaemonVersion, "unknown method PassTable")
}

func TestASocketThatHangsEndsAtTheTimeout(t *testing.T) {
	path := socket(t)
	listen(t, path) // Connections are never accepted.
	ebb := open(t, remote.Options{Address: "unix:" + path, Timeout: 50 * time.Millisecond})
	expect(t, apply(ebb, enginetest.Cluster(1)), fallback.Deadline)
	_, err := ebb.Pass(ctx, enginetest.Request(nil))
	expect(t, err, fallback.Deadline)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestACallThatHangsEndsAtTheDeadline(t *testing.T) {
	daemon := fake()
	address := serve(t, daemon)
	called := make(chan struct{}, 2)
	daemon.passTable = func(ctx context.Context, _ *plannerpb.PlanInput) (*plannerpb.PassTable, error) {
		called <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	daemon.sync = func(stream plannergrpc.Planner_SyncServer) error {
		called <- struct{}{}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	ebb := open(t, remote.Options{Address: address, Timeout: time.Minute})
	for range 2 {
		// The deadline comes once the call is there.
		limited, cancel := context.WithCancelCause(ctx)
		go func() {
			<-called
			cancel(nil)
		}()
		_, err := ebb.Pass(limited, enginetest.Request(nil))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	limited, cancel := context.WithCancel(ctx)
	go func() {
		<-called
		cancel()
	}()
	err := ebb.Apply(limited, feed.New().Changes(enginetest.Cluster(200), enginetest.Nothing))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestHalfAMessageIsAnError(t *testing.T) {
	daemon, cut := fake(), &cut{}
	daemon.passTable = func(context.Context, *plannerpb.PlanInput) (*plannerpb.PassTable, error) {
		cut.arm()
		return &plannerpb.PassTable{Termination: strings.Repeat("complete", 1000)}, nil
	}
	ebb := open(t, remote.Options{Address: cut.before(t, serve(t, daemon)), Timeout: time.Minute})
	check(t, apply(ebb, enginetest.Cluster(1)))
	_, err := ebb.Pass(ctx, enginetest.Request(nil))
	expect(t, err, fallback.DaemonUnavailable)
}

func TestAnAnswerThatDoesNotFitIsAnError(t *testing.T) {
	daemon := fake()
	daemon.passTable = func(context.Context, *plannerpb.PlanInput) (*plannerpb.PassTable, error) {
		return &plannerpb.PassTable{RemovedNodes: []uint32{7}}, nil
	}
	ebb := open(t, remote.Options{Address: serve(t, daemon), Timeout: time.Minute})
	_, err := ebb.Pass(ctx, enginetest.Request(nil))
	expect(t, err, "", "the reply is damaged")
}

func TestBatchesThatAreNotAcknowledgedAreAnError(t *testing.T) {
	daemon := fake()
	daemon.sync = func(stream plannergrpc.Planner_SyncServer) error {
		_, err := stream.Recv()
		return err
	}
	ebb := open(t, remote.Options{Address: serve(t, daemon), Timeout: time.Minute})
	err := apply(ebb, enginetest.Cluster(1))
	expect(t, err, "", "acknowledged 0 of 1 batches")
}

// Symptom it would have: an object that cannot be written left half of a cluster in the session.
func TestAnErrorOfTheObjectsEndsTheStream(t *testing.T) {
	ended := make(chan error, 1)
	daemon := fake()
	daemon.sync = func(stream plannergrpc.Planner_SyncServer) error {
		for {
			if _, err := stream.Recv(); err != nil {
				ended <- err
				return err
			}
		}
	}
	ebb := open(t, remote.Options{Address: serve(t, daemon), Timeout: time.Minute})
	views := enginetest.Cluster(100)
	whole := slices.Concat(slices.Collect(feed.New().Changes(views, enginetest.Nothing))...)
	whole = append(whole, wire.Change{Kind: wire.Namespace, Object: unwritable{views[0].Node}})
	err := ebb.Apply(ctx, slices.Values([][]wire.Change{whole}))
	if !errors.Is(err, errUnwritable) {
		t.Errorf("got %v", err)
	}
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("the stream ended with %v", err)
	}
}

var errUnwritable = errors.New("cannot be written")

type unwritable struct{ wire.Object }

func (unwritable) MarshalToSizedBuffer([]byte) (int, error) { return 0, errUnwritable }

func TestAddressesAndClose(t *testing.T) {
	for _, address := range []string{"", "unix:", "tcp:localhost:1", "/run/ebb.sock"} {
		if _, err := remote.New(remote.Options{Address: address}); err == nil || !strings.Contains(err.Error(), "is not unix:PATH") {
			t.Errorf("%q: %v", address, err)
		}
	}
	daemon := start(t)
	ebb := open(t, remote.Options{Address: daemon.address(), Timeout: time.Minute})
	check(t, apply(ebb, enginetest.Cluster(1)))
	check(t, ebb.Close())
	sessions, err := daemon.other().Status(ctx, &plannerpb.StatusRequest{})
	check(t, err)
	if len(sessions.Sessions) != 0 {
		t.Errorf("sessions stay: %v", sessions.Sessions)
	}
}
