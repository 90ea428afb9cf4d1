package serve_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"ebb/go/kube/serve"
	wire "ebb/go/kube/wire/actuatorpb"
)

type fakeActuator struct {
	wire.UnimplementedActuatorServer
	drained string
}

func (f *fakeActuator) Drain(_ context.Context, request *wire.DrainRequest) (*wire.DrainReply, error) {
	f.drained = request.GetNode()
	return &wire.DrainReply{}, nil
}

// folder returns a folder whose path is short enough for a socket.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ebb-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestOnlyTheActiveReplicaAnswers(t *testing.T) {
	path := filepath.Join(folder(t), "a.sock")
	server, err := serve.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	defer server.Stop()
	connection, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	calls, health := wire.NewActuatorClient(connection), healthpb.NewHealthClient(connection)
	serves := func() healthpb.HealthCheckResponse_ServingStatus {
		reply, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "ebb.actuator.v1alpha1.Actuator"})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Status
	}
	drain := func() error {
		_, err := calls.Drain(t.Context(), &wire.DrainRequest{Node: "n"})
		return err
	}
	actuator := &fakeActuator{}
	for range 2 {
		if serves() != healthpb.HealthCheckResponse_NOT_SERVING || status.Code(drain()) != codes.Unavailable {
			t.Error("a replica that is not active answers")
		}
		server.Activate(actuator)
		if serves() != healthpb.HealthCheckResponse_SERVING || drain() != nil || actuator.drained != "n" {
			t.Error("the active one does not answer")
		}
		if _, err := calls.Begin(t.Context(), &wire.BeginRequest{}); status.Code(err) != codes.Unimplemented {
			t.Errorf("%v", err)
		}
		server.Deactivate()
	}
}

func TestTheSocketIsForThisUserAndTakenOverOnlyIfNoProcessListens(t *testing.T) {
	path := filepath.Join(folder(t), "a.sock")
	// The socket that a killed process leaves.
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = left.Close()
	server, err := serve.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve() }()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := serve.Listen(path); err == nil {
		t.Error("a socket that another process listens on was taken over")
	}
	server.Stop()
	path = filepath.Join(folder(t), "b.sock")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Listen(path); err == nil {
		t.Error("a file that is not a socket was taken over")
	}
}
