// Package remote implements clusterautoscaler.Engine with a daemon, `ebb serve`, which is asked over
// its Unix socket (wire/planner.proto). It needs no cgo, and a crash of ebb is not one of the
// program.
//
// The engine has one session of the daemon for itself: it closes a session of that name that exists,
// and creates a new one. From then on each call names the state of the session that it is about.
// So the daemon refuses a call if it was started again, or if another client changed the session;
// the engine then needs a Reset.
//
// Connecting: the first call after New or Reset connects, and checks that the daemon speaks the same
// protocol. No call connects again by itself.
// Deadlines:  each call ends at the context's deadline, and after Options.Timeout without an answer.
// Errors:     have a cause of package fallback: deadline, daemon-unavailable, daemon-version,
// daemon-limit, session-lost or session-changed. An error without a cause is about the content of
// the call.
package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"ebb/go/clusterautoscaler"
	"ebb/go/clusterautoscaler/choice"
	"ebb/go/clusterautoscaler/fallback"
	"ebb/go/clusterautoscaler/line"
	"ebb/go/clusterautoscaler/message"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb/plannerpb"
	"ebb/go/ebb/plannerpb/plannergrpc"
)

// Protocol is the protocol of this client (VersionReply.protocol).
const Protocol = 1

// Options of an engine.
type Options struct {
	// Address is "unix:PATH", the socket of the daemon.
	Address string
	// Session is the name of the engine's session; "" means "autoscaler". Two engines with one name
	// take it from each other.
	Session string
	// Timeout limits each call, in addition to the context; for Pass it begins when the time of the
	// request is over. 0 means 10 seconds.
	Timeout time.Duration
}

const (
	defaultSession = "autoscaler"
	defaultTimeout = 10 * time.Second
	// Close waits this long for the daemon at most.
	closeTimeout = time.Second
)

type engine struct {
	options    Options
	connection *grpc.ClientConn // Nil: not connected.
	stub       plannergrpc.PlannerClient
	settings   *plannerpb.Settings
	// By whose rules pods are placed: "v1.36.0". "": by those of the newest kubelet.
	kubernetesVersion string
	// Stands for the state of the session; "": the engine has no session.
	token  string
	closed bool
	line   line.Line[*batch]
}

// New returns an engine without objects. It does not connect yet.
func New(options Options) (clusterautoscaler.Engine, error) {
	if err := choice.CheckAddress(options.Address); err != nil {
		return nil, err
	}
	if options.Session == "" {
		options.Session = defaultSession
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	return &engine{options: options, line: newLine()}, nil
}

// Configure passes the options with each question, and the version of Kubernetes with each Apply, so it
// needs no daemon.
func (e *engine) Configure(_ context.Context, o clusterautoscaler.Options) (err error) {
	if e.closed {
		return clusterautoscaler.ErrClosed
	}
	if e.kubernetesVersion = ""; o.KubernetesVersion != "" {
		e.kubernetesVersion = "v" + o.KubernetesVersion + ".0"
	}
	e.settings, err = message.SettingsOf(o)
	return err
}

// Apply encodes the objects in several goroutines while the caller's iterator is still finding
// further changes. Without changes it does not ask the daemon.
func (e *engine) Apply(ctx context.Context, changes iter.Seq[[]wire.Change]) error {
	if e.closed {
		return clusterautoscaler.ErrClosed
	}
	limited, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	if err := e.connect(limited); err != nil {
		return err
	}
	stream := &stream{engine: e, cancel: cancel}
	e.line.Take = stream.take
	err := e.line.Run(limited, changes)
	token, ended := stream.end(err)
	if ended != nil {
		err = ended // The stream's end says why a part could not be sent.
	}
	if err != nil {
		e.token = ""
		return e.explain(err)
	}
	if token != "" {
		e.token = token
	}
	return nil
}

func (e *engine) Pass(ctx context.Context, request *clusterautoscaler.Request) (*clusterautoscaler.Result, error) {
	if e.closed {
		return nil, clusterautoscaler.ErrClosed
	}
	if request.TimeLimit <= 0 && ctx.Err() == nil {
		return &clusterautoscaler.Result{Termination: "deadline", Skipped: request.Candidates}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, request.TimeLimit+e.options.Timeout)
	defer cancel()
	if err := e.connect(ctx); err != nil {
		return nil, err
	}
	call := message.CallOf(request)
	call.Session, call.ClusterToken, call.Settings = e.options.Session, e.token, e.settings
	answer, err := e.stub.PassTable(ctx, call)
	if err != nil {
		return nil, e.explain(e.notFound(ctx, err))
	}
	return message.ResultOf(answer)
}

// Reset forgets the session. The next call connects again and creates a new one.
func (e *engine) Reset() error {
	if e.closed {
		e.closed = false
	}
	e.token, e.settings = "", nil
	return e.disconnect()
}

// Close ends the session. If the daemon does not answer, it stays until the next engine of its name
// begins.
func (e *engine) Close() error {
	if e.token != "" {
		ctx, cancel := context.WithTimeout(context.Background(), min(closeTimeout, e.options.Timeout))
		defer cancel()
		_, _ = e.stub.Close(ctx, &plannerpb.CloseRequest{Session: e.options.Session})
	}
	e.token, e.settings, e.closed = "", nil, true
	return e.disconnect()
}

func (e *engine) disconnect() error {
	if e.connection == nil {
		return nil
	}
	connection := e.connection
	e.connection, e.stub = nil, nil
	return connection.Close()
}

// What the daemon may send at once, and how much of it before the client has read it: the answer
// about a large cluster has some megabytes.
const (
	messageMax = 1 << 30
	windowSize = 8 << 20
	bufferSize = 256 << 10
)

// connect makes the session, unless the engine has one.
func (e *engine) connect(ctx context.Context) error {
	if e.token != "" {
		return nil
	}
	// A new connection knows nothing of an earlier daemon, and does not wait before it connects.
	if err := e.disconnect(); err != nil {
		return err
	}
	connection, err := grpc.NewClient(e.options.Address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
		grpc.WithStaticStreamWindowSize(windowSize), grpc.WithStaticConnWindowSize(windowSize),
		grpc.WithReadBufferSize(bufferSize), grpc.WithWriteBufferSize(bufferSize),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageMax)))
	if err != nil {
		return err
	}
	e.connection, e.stub = connection, plannergrpc.NewPlannerClient(connection)
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	if err := e.open(ctx); err != nil {
		return e.explain(err)
	}
	return nil
}

func (e *engine) open(ctx context.Context) error {
	version, err := e.stub.Version(ctx, &plannerpb.VersionRequest{})
	if err != nil {
		return err
	}
	if version.Protocol != Protocol {
		return &fallback.Error{Cause: fallback.DaemonVersion, Err: fmt.Errorf(
			"it speaks protocol %d (ebb %s), this program speaks protocol %d", version.Protocol, version.Version, Protocol)}
	}
	_, err = e.stub.Close(ctx, &plannerpb.CloseRequest{Session: e.options.Session})
	if err != nil && status.Code(err) != codes.NotFound {
		return err
	}
	opened, err := e.stub.Open(ctx, &plannerpb.OpenRequest{Session: e.options.Session, AsGiven: true})
	if err != nil {
		return err
	}
	if opened.ClusterToken == "" || opened.Objects > 0 {
		return &fallback.Error{Cause: fallback.SessionChanged, Err: errors.New("another client changed the session when it was created")}
	}
	e.token = opened.ClusterToken
	return nil
}

// notFound returns the error of a question; it has a cause if what was not found is the session, and
// not a node.
func (e *engine) notFound(ctx context.Context, err error) error {
	if status.Code(err) != codes.NotFound {
		return err
	}
	session := e.options.Session
	if _, gone := e.stub.Status(ctx, &plannerpb.StatusRequest{Session: &session}); status.Code(gone) == codes.NotFound {
		return &fallback.Error{Cause: fallback.SessionLost, Err: err}
	}
	return &fallback.Error{Cause: "", Err: err}
}

// explain adds the cause and the address to an error.
func (e *engine) explain(err error) error {
	where := "ebb serve at " + e.options.Address
	var known *fallback.Error
	if errors.As(err, &known) {
		if known.Cause == "" {
			return fmt.Errorf("%s: %w", where, known.Err)
		}
		return &fallback.Error{Cause: known.Cause, Err: fmt.Errorf("%s: %w", where, known.Err)}
	}
	reply, isStatus := status.FromError(err)
	if !isStatus {
		return err // Of the program itself, for example an object that cannot be encoded.
	}
	failure := fmt.Errorf("%s: %s", where, reply.Message())
	switch reply.Code() {
	case codes.Canceled:
		return fmt.Errorf("%s: %w", where, context.Canceled)
	case codes.DeadlineExceeded:
		return &fallback.Error{Cause: fallback.Deadline, Err: fmt.Errorf("%w: %w", failure, context.DeadlineExceeded)}
	case codes.Unavailable:
		return &fallback.Error{Cause: fallback.DaemonUnavailable, Err: failure}
	case codes.Unimplemented:
		return &fallback.Error{Cause: fallback.DaemonVersion, Err: failure}
	case codes.ResourceExhausted:
		return &fallback.Error{Cause: fallback.DaemonLimit, Err: failure}
	case codes.NotFound:
		return &fallback.Error{Cause: fallback.SessionLost, Err: failure}
	case codes.Aborted:
		return &fallback.Error{Cause: fallback.SessionChanged, Err: fmt.Errorf("%s: another client changed or closed session %s", where, e.options.Session)}
	}
	return failure
}
