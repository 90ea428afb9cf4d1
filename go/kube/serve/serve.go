// Package serve serves the actuator protocol on a Unix socket, for this user only, while this
// replica is the active one.
//
//	server, err := serve.Listen(path)
//	go server.Serve()
//	server.Activate(actuator)   // Health is SERVING.
//	server.Deactivate()         // Calls return UNAVAILABLE, and health is NOT_SERVING.
//	server.Stop()
//
// Files:   the socket has mode 0600. A socket file without a listener is replaced; any other
// existing file is an error.
// Threads: all methods may be called concurrently.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	wire "ebb/go/kube/wire/actuatorpb"
)

const service = "ebb.actuator.v1alpha1.Actuator"

// Server serves one actuator at a time; Activate replaces it.
type Server struct {
	listener net.Listener
	grpc     *grpc.Server
	health   *health.Server
	active   atomic.Pointer[active]
}

type active struct{ actuator wire.ActuatorServer }

// Listen creates the socket.
func Listen(path string) (*Server, error) {
	listener, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	s := &Server{listener: listener, health: health.NewServer()}
	s.grpc = grpc.NewServer(grpc.UnaryInterceptor(s.dispatch))
	// The registered service answers no calls itself: dispatch passes them to the active actuator.
	wire.RegisterActuatorServer(s.grpc, standby{})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.Deactivate()
	return s, nil
}

func listen(path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().Type() != os.ModeSocket:
		return nil, errors.New("exists and is not a socket")
	case err == nil:
		if connection, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = connection.Close()
			return nil, errors.New("another process listens on it already")
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	listener, err := listenPrivately(path)
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, 0o600)
}

// Serve serves until Stop.
func (s *Server) Serve() error { return s.grpc.Serve(s.listener) }

// Activate makes an actuator answer calls.
func (s *Server) Activate(actuator wire.ActuatorServer) {
	s.active.Store(&active{actuator: actuator})
	s.say(healthpb.HealthCheckResponse_SERVING)
}

// Deactivate makes calls return UNAVAILABLE.
func (s *Server) Deactivate() {
	s.say(healthpb.HealthCheckResponse_NOT_SERVING)
	s.active.Store(nil)
}

func (s *Server) say(state healthpb.HealthCheckResponse_ServingStatus) {
	s.health.SetServingStatus("", state)
	s.health.SetServingStatus(service, state)
}

// Stop ends all calls and removes the socket.
func (s *Server) Stop() {
	s.grpc.Stop()
	// In case Serve was not called.
	_ = s.listener.Close()
}

// standby is registered in place of an actuator.
type standby struct {
	wire.UnimplementedActuatorServer
}

// dispatch passes actuator calls to the active actuator.
func (s *Server) dispatch(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	name, ours := strings.CutPrefix(info.FullMethod, "/"+service+"/")
	if !ours {
		return next(ctx, request)
	}
	active := s.active.Load()
	if active == nil {
		return nil, status.Error(codes.Unavailable, "another replica is active, or none yet")
	}
	for i := range wire.Actuator_ServiceDesc.Methods {
		method := &wire.Actuator_ServiceDesc.Methods[i]
		if method.MethodName == name {
			copyRequest := func(into any) error { return assign(into, request) }
			return method.Handler(active.actuator, ctx, copyRequest, nil)
		}
	}
	return next(ctx, request)
}
