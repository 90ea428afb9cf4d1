package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/daemon"
)

// sender feeds one stream. It sends a batch only after the one before was acknowledged.
type sender struct {
	feeder *Feeder
	stream *daemon.Stream
	named  bool // The session's name was sent.
	// The API server's version, as last sent.
	version string

	acknowledged chan *plannerpb.SyncReply
	over         chan struct{}
	err          error // Valid once over is closed.
	ended        sync.WaitGroup
}

// follow reads acknowledgements until the stream ends.
func (s *sender) follow() {
	// Room for the one batch under way, so that the reader never blocks when the sender leaves.
	s.acknowledged = make(chan *plannerpb.SyncReply, 1)
	s.over = make(chan struct{})
	s.ended.Go(func() {
		defer close(s.over)
		for {
			reply, err := s.stream.Receive()
			if err != nil {
				s.err = err
				return
			}
			s.acknowledged <- reply
		}
	})
}

func (s *sender) failed() error {
	<-s.over
	if errors.Is(s.err, io.EOF) {
		return errors.New("ended the stream")
	}
	return s.err
}

// send sends a batch and waits for its acknowledgement.
func (s *sender) send(ctx context.Context, batch *plannerpb.SyncRequest) error {
	if !s.named {
		batch.Session = s.feeder.o.Session
		s.named = true
	}
	batch.BrokenWatches = s.feeder.takeBroken()
	if version := s.feeder.versionNow(); version != s.version {
		batch.KubernetesVersion = version
		s.version = version
	}
	if err := s.stream.Send(batch); err != nil {
		return s.failed()
	}
	select {
	case <-s.over:
		return s.failed()
	case reply := <-s.acknowledged:
		f := s.feeder
		f.mu.Lock()
		defer f.mu.Unlock()
		f.progress.Version = reply.GetVersion()
		for _, change := range batch.Changes {
			if change.GetDelete() != nil || change.GetDeleteJson() != nil {
				f.progress.Deletes++
			} else {
				f.progress.Puts++
			}
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// batcher collects changes into messages.
type batcher struct {
	*sender
	batch *plannerpb.SyncRequest
	bytes int
}

func (b *batcher) add(ctx context.Context, change *plannerpb.Change, bytes int) error {
	full := len(b.batch.Changes) >= b.feeder.o.BatchObjects || b.bytes+bytes > b.feeder.o.BatchBytes
	if full && len(b.batch.Changes) > 0 {
		if err := b.send(ctx, b.batch); err != nil {
			return err
		}
		b.batch, b.bytes = &plannerpb.SyncRequest{}, 0
	}
	b.batch.Changes = append(b.batch.Changes, change)
	b.bytes += bytes
	return nil
}

// resync sends every object.
func (s *sender) resync(ctx context.Context) error {
	f := s.feeder
	if f.o.Settings != nil {
		settings, err := f.o.Settings(ctx)
		if err != nil {
			return fmt.Errorf("settings of the session: %w", err)
		}
		if _, err := f.o.Daemon.Open(ctx, &plannerpb.OpenRequest{Session: f.o.Session, Settings: settings}); err != nil {
			return err
		}
	}
	// Changes from here on are sent after the resync.
	f.takePending()
	f.mu.Lock()
	f.resync = false
	f.sendBroken = true // This stream has not reported any yet.
	f.mu.Unlock()
	b := &batcher{sender: s, batch: &plannerpb.SyncRequest{ResyncBegins: true, ClusterUid: f.clusterUID()}}
	sent := map[string]int{}
	for _, each := range f.followedNow() {
		objects := inOrder(each.informer.GetStore().List())
		sent[each.kind.String()] = len(objects)
		for _, object := range objects {
			change, bytes, err := putOf(each.kind, object)
			if err != nil {
				return err
			}
			if err := b.add(ctx, change, bytes); err != nil {
				return err
			}
		}
	}
	b.batch.ResyncEnds = true
	if err := s.send(ctx, b.batch); err != nil {
		return err
	}
	f.mu.Lock()
	f.inFlight = 0
	f.progress.Resyncs++
	f.progress.Connected = true
	f.mu.Unlock()
	f.saySynced(sent)
	return nil
}

// inOrder sorts objects as the API server lists them, so that the same cluster gives the same plan.
func inOrder(list []any) []metav1.Object {
	objects := make([]metav1.Object, 0, len(list))
	for _, each := range list {
		if object, ok := each.(metav1.Object); ok {
			objects = append(objects, object)
		}
	}
	slices.SortFunc(objects, func(a, b metav1.Object) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

// sendChanges sends the waiting changes.
func (s *sender) sendChanges(ctx context.Context) error {
	f := s.feeder
	order, pending := f.takePending()
	if len(order) == 0 && !f.hasBrokenToSend() && f.versionNow() == s.version {
		return nil
	}
	b := &batcher{sender: s, batch: &plannerpb.SyncRequest{}}
	for _, k := range order {
		c := pending[k]
		if c.gone {
			change, bytes, err := deleteOf(k)
			if err != nil {
				return err
			}
			if err := b.add(ctx, change, bytes); err != nil {
				return err
			}
		}
		if c.object == nil {
			continue
		}
		change, bytes, err := putOf(k.kind, c.object)
		if err != nil {
			return err
		}
		if err := b.add(ctx, change, bytes); err != nil {
			return err
		}
	}
	if err := s.send(ctx, b.batch); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight = 0
	return nil
}
