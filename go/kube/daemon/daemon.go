// Package daemon calls `ebb serve` over its Unix socket (wire/planner.proto).
//
// It has only the calls that ebb-kube needs, with the messages of ebb/go/ebb/plannerpb.
// Threads: a Client's methods may be called concurrently; a Stream may be used by one sending and
// one receiving goroutine.
// Errors:  those of gRPC, with the daemon's text.
package daemon

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"ebb/go/ebb/plannerpb"
)

const service = "/ebb.v1alpha1.Planner/"

// Client is a client of one daemon.
type Client struct{ connection *grpc.ClientConn }

// Dial returns a client of "unix:PATH". It does not connect yet.
func Dial(address string) (*Client, error) {
	if !strings.HasPrefix(address, "unix:") || len(address) == len("unix:") {
		return nil, fmt.Errorf("%q is not unix:PATH", address)
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		// The plan of a large cluster is larger than the usual limit.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		return nil, err
	}
	return &Client{connection: connection}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.connection.Close() }

func call[Reply any](ctx context.Context, c *Client, method string, request any) (*Reply, error) {
	reply := new(Reply)
	if err := c.connection.Invoke(ctx, service+method, request, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// Version returns the daemon's version.
func (c *Client) Version(ctx context.Context) (*plannerpb.VersionReply, error) {
	return call[plannerpb.VersionReply](ctx, c, "Version", &plannerpb.VersionRequest{})
}

// Open makes a session, or changes the settings of one.
func (c *Client) Open(ctx context.Context, request *plannerpb.OpenRequest) (*plannerpb.SessionStatus, error) {
	return call[plannerpb.SessionStatus](ctx, c, "Open", request)
}

// Status returns the status of sessions.
func (c *Client) Status(ctx context.Context, request *plannerpb.StatusRequest) (*plannerpb.StatusReply, error) {
	return call[plannerpb.StatusReply](ctx, c, "Status", request)
}

// Plan returns which nodes can go.
func (c *Client) Plan(ctx context.Context, request *plannerpb.PlanCall) (*plannerpb.PlanReply, error) {
	return call[plannerpb.PlanReply](ctx, c, "Plan", request)
}

// Round makes a round.
func (c *Client) Round(ctx context.Context, request *plannerpb.RoundCall) (*plannerpb.RoundReply, error) {
	return call[plannerpb.RoundReply](ctx, c, "Round", request)
}

// ReportActuation reports the results of a round's deletions.
func (c *Client) ReportActuation(ctx context.Context, request *plannerpb.ActuationReport) (*plannerpb.ActuationReply, error) {
	return call[plannerpb.ActuationReply](ctx, c, "ReportActuation", request)
}

// Stream sends batches of changes.
type Stream struct{ stream grpc.ClientStream }

// Sync opens a stream, which ends with ctx.
func (c *Client) Sync(ctx context.Context) (*Stream, error) {
	stream, err := c.connection.NewStream(ctx, &grpc.StreamDesc{StreamName: "Sync", ServerStreams: true, ClientStreams: true}, service+"Sync")
	if err != nil {
		return nil, err
	}
	return &Stream{stream: stream}, nil
}

// Send sends a batch. io.EOF means that the stream has ended; Receive then returns the reason.
func (s *Stream) Send(batch *plannerpb.SyncRequest) error { return s.stream.SendMsg(batch) }

// CloseSend announces that no further batch follows.
func (s *Stream) CloseSend() error { return s.stream.CloseSend() }

// Receive waits for the next acknowledgement.
func (s *Stream) Receive() (*plannerpb.SyncReply, error) {
	reply := &plannerpb.SyncReply{}
	if err := s.stream.RecvMsg(reply); err != nil {
		return nil, err
	}
	return reply, nil
}
