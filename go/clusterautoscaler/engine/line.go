package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"ebb/go/clusterautoscaler/wire"
	"ebb/go/ebb"
)

// Objects are read and applied in parts of this size, so that they stay in the processor's caches.
const changesPerPart = 512

// part is a part of the changes.
type part struct {
	changes []wire.Change
	// Holds the part's changes once a reader has read it.
	batch *ebb.Batch
	err   error
	read  chan struct{}
}

// line is a pipeline for changes: the caller adds parts, readers encode them into batches, and one
// taker applies the batches in order.
type line struct {
	engine  *engine
	ctx     context.Context
	unread  chan *part // For any free reader.
	inOrder chan *part // The same parts, for the taker.
	// Limits how many parts are read, wait or are applied at a time. A reader takes a batch before
	// it takes a part, so the next part to apply never waits for a batch.
	batches chan *ebb.Batch
	readers sync.WaitGroup
	taker   sync.WaitGroup
	failed  atomic.Bool
	err     error // The taker's error.
}

func (e *engine) newLine(ctx context.Context) *line {
	readers := runtime.GOMAXPROCS(0)
	l := &line{
		engine:  e,
		ctx:     ctx,
		unread:  make(chan *part, readers),
		inOrder: make(chan *part, 4*readers),
		batches: make(chan *ebb.Batch, 2*readers),
	}
	for i := range cap(l.batches) {
		if i < len(e.batches) {
			l.batches <- e.batches[i]
		} else {
			l.batches <- nil // Made when it is first needed.
		}
	}
	for len(e.readers) < readers {
		e.readers = append(e.readers, &reader{})
	}
	for _, r := range e.readers[:readers] {
		l.readers.Go(func() { l.readAll(r) })
	}
	l.taker.Go(l.takeAll)
	return l
}

// add adds changes. It returns false if there was an error; further changes are not accepted then.
func (l *line) add(changes []wire.Change) bool {
	for some := range slices.Chunk(changes, changesPerPart) {
		if l.failed.Load() {
			return false
		}
		part := &part{changes: some, read: make(chan struct{})}
		l.inOrder <- part
		l.unread <- part
	}
	return true
}

// end waits until all added changes are applied, and returns the first error.
func (l *line) end() error {
	close(l.unread)
	close(l.inOrder)
	l.readers.Wait()
	l.taker.Wait()
	close(l.batches)
	l.engine.batches = l.engine.batches[:0]
	for batch := range l.batches {
		if batch != nil {
			l.engine.batches = append(l.engine.batches, batch)
		}
	}
	return l.err
}

func (l *line) readAll(r *reader) {
	for {
		batch := <-l.batches
		part, more := <-l.unread
		if !more {
			l.batches <- batch
			return
		}
		if batch == nil {
			batch, part.err = ebb.NewBatch()
		}
		if part.err == nil && !l.failed.Load() {
			part.err = r.read(batch, part.changes)
		}
		part.batch = batch
		close(part.read)
	}
}

func (l *line) takeAll() {
	for part := range l.inOrder {
		<-part.read
		if l.err == nil {
			l.err = l.take(part)
			l.failed.Store(l.err != nil)
		}
		if err := part.batch.Clear(); err != nil && !errors.Is(err, ebb.ErrClosed) && l.err == nil {
			l.err = err
		}
		l.batches <- part.batch
	}
}

func (l *line) take(part *part) error {
	if part.err != nil {
		return part.err
	}
	_, err := l.engine.cluster.Apply(l.ctx, part.batch)
	return err
}

// How many bytes one call passes to ebb.
const bytesPerCall = 512 << 10

// reader encodes objects. It reuses its buffer for one batch after the other.
type reader struct{ buffer *wire.Buffer }

func (r *reader) read(batch *ebb.Batch, changes []wire.Change) error {
	if r.buffer == nil {
		r.buffer = wire.NewBuffer(bytesPerCall)
	}
	r.buffer.Clear()
	for i := range changes {
		if err := r.take(batch, &changes[i]); err != nil {
			return err
		}
	}
	return r.put(batch)
}

func (r *reader) take(batch *ebb.Batch, change *wire.Change) error {
	if change.Object == nil {
		if err := r.put(batch); err != nil {
			return err
		}
		return batch.Delete(ebb.Reference{
			Kind: change.Kind.Name, Namespace: change.Namespace, Name: change.Name, UID: change.UID,
		})
	}
	ok, err := r.buffer.Put(change.Kind, change.Object)
	if ok || err != nil {
		return err
	}
	if err := r.put(batch); err != nil {
		return err
	}
	_, err = r.buffer.Put(change.Kind, change.Object)
	return err
}

func (r *reader) put(batch *ebb.Batch) error {
	_, err := batch.PutManyProtobuf(r.buffer.Data(), r.buffer.Ranges())
	r.buffer.Clear()
	return err
}
