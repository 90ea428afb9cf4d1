package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	protobuf "google.golang.org/protobuf/proto"

	"ebb/go/clusterautoscaler/line"
	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb/plannerpb"
)

// batch holds changes as SyncRequests in protobuf, which are written without a message for each
// object.
type batch struct{ requests []mem.Buffer }

func newLine() line.Line[*batch] {
	return line.Line[*batch]{
		New:    func() (*batch, error) { return &batch{}, nil },
		Put:    (*batch).put,
		Delete: (*batch).delete,
		Clear:  (*batch).clear,
	}
}

// Field numbers and types of wire/planner.proto.
const (
	changesField     = 2<<3 | 2 // SyncRequest.changes
	putProtobufField = 2<<3 | 2 // Change.put_protobuf
)

func sizeOf(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// put adds a request with the objects, in their order.
func (b *batch) put(objects *wire.Buffer) error {
	total := 0
	for i := range objects.Len() {
		change := len(objects.Object(i))
		change += 1 + sizeOf(change)
		total += change + 1 + sizeOf(change)
	}
	pool := mem.DefaultBufferPool()
	data := pool.Get(total)
	at := (*data)[:0]
	for i := range objects.Len() {
		object := objects.Object(i)
		at = append(at, changesField)
		at = binary.AppendUvarint(at, uint64(1+sizeOf(len(object))+len(object)))
		at = append(at, putProtobufField)
		at = binary.AppendUvarint(at, uint64(len(object)))
		at = append(at, object...)
	}
	b.requests = append(b.requests, mem.NewBuffer(data, pool))
	return nil
}

func (b *batch) delete(change *wire.Change) error {
	data, err := protobuf.Marshal(&plannerpb.SyncRequest{Changes: []*plannerpb.Change{{
		Change: &plannerpb.Change_Delete{Delete: &plannerpb.Deletion{
			Kind: change.Kind.Name, Namespace: change.Namespace, Name: change.Name, Uid: change.UID,
		}},
	}}})
	if err != nil {
		return err
	}
	// Serialized messages that follow one another are one message, with the changes of both.
	if last := len(b.requests) - 1; last >= 0 {
		if text, isSlice := b.requests[last].(mem.SliceBuffer); isSlice {
			b.requests[last] = append(text, data...)
			return nil
		}
	}
	b.requests = append(b.requests, mem.SliceBuffer(data))
	return nil
}

func (b *batch) clear() error {
	for _, request := range b.requests {
		request.Free()
	}
	b.requests = b.requests[:0]
	return nil
}

// encoded is a message in protobuf.
type encoded mem.BufferSlice

// codec also takes messages that are encoded already.
type codec struct{ encoding.CodecV2 }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if message, isEncoded := v.(encoded); isEncoded {
		return mem.BufferSlice(message), nil
	}
	return c.CodecV2.Marshal(v)
}

// stream is a Sync call, which begins with its first batch.
type stream struct {
	engine *engine
	cancel context.CancelFunc
	sync   grpc.BidiStreamingClient[plannerpb.SyncRequest, plannerpb.SyncReply]
	sent   int
	// Set when received is closed:
	received chan struct{}
	replies  int
	last     *plannerpb.SyncReply
	err      error // Nil: the daemon has applied everything.
}

// take sends a batch.
func (s *stream) take(ctx context.Context, batch *batch) error {
	for i, request := range batch.requests {
		message := encoded{request}
		if s.sync == nil {
			head, err := s.begin(ctx)
			if err != nil {
				return err
			}
			message = encoded{head, request}
		}
		batch.requests[i] = mem.SliceBuffer(nil) // gRPC frees it.
		if err := s.sync.SendMsg(message); err != nil {
			return err
		}
		s.sent++
	}
	return nil
}

// begin returns the fields of the first message.
func (s *stream) begin(ctx context.Context) (mem.Buffer, error) {
	head, err := protobuf.Marshal(&plannerpb.SyncRequest{Session: s.engine.options.Session, ClusterToken: s.engine.token,
		KubernetesVersion: s.engine.kubernetesVersion})
	if err != nil {
		return nil, err
	}
	s.sync, err = s.engine.stub.Sync(ctx, grpc.ForceCodecV2(codec{encoding.GetCodecV2(proto.Name)}))
	if err != nil {
		return nil, err
	}
	s.received = make(chan struct{})
	go s.receive()
	return mem.SliceBuffer(head), nil
}

func (s *stream) receive() {
	defer close(s.received)
	for {
		reply, err := s.sync.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return
		}
		s.last = reply
		s.replies++
	}
}

// end waits for the daemon's last answer and returns the token of the new state; "" if nothing was
// sent. `failed`: a batch could not be encoded or sent. The error is the stream's own.
func (s *stream) end(failed error) (token string, err error) {
	if s.sync == nil {
		return "", nil
	}
	if failed != nil && !errors.Is(failed, io.EOF) {
		s.cancel() // Nothing more is sent; what the daemon has is not the cluster.
		<-s.received
		return "", nil
	}
	if err := s.sync.CloseSend(); err != nil && failed == nil {
		failed = err
	}
	<-s.received
	switch {
	case s.err != nil:
		return "", s.err
	case failed != nil:
		return "", failed
	case s.replies != s.sent || s.last.GetClusterToken() == "":
		return "", fmt.Errorf("the daemon acknowledged %d of %d batches", s.replies, s.sent)
	}
	return s.last.ClusterToken, nil
}
