// Package line encodes changes in several goroutines, while the caller's iterator is still finding
// further changes, and hands them on in their order.
package line

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"ebb/go/clusterautoscaler/wire"
)

// Changes are encoded and handed on in parts of this size, so that they stay in the processor's
// caches.
const changesPerPart = 512

// How many bytes of objects are encoded at once.
const bufferBytes = 512 << 10

// Line hands changes on in batches of type B. It keeps batches and buffers from one Run to the next.
// Only one goroutine may use it at a time.
type Line[B any] struct {
	// New returns an empty batch.
	New func() (B, error)
	// Put adds the objects of a buffer to a batch. The buffer is cleared afterwards.
	Put func(batch B, objects *wire.Buffer) error
	// Delete adds a deletion to a batch.
	Delete func(batch B, change *wire.Change) error
	// Take hands a batch on. It is called in the order of the changes, by one goroutine.
	Take func(ctx context.Context, batch B) error
	// Clear empties a batch.
	Clear func(batch B) error

	batches []B
	buffers []*wire.Buffer
}

// Batches returns the batches that are kept, and forgets them.
func (l *Line[B]) Batches() []B {
	batches := l.batches
	l.batches = nil
	return batches
}

// Run hands all changes on and returns the first error. The changes after an error are dropped.
func (l *Line[B]) Run(ctx context.Context, changes iter.Seq[[]wire.Change]) error {
	r := l.begin(ctx)
	for part := range changes {
		if !r.add(part) {
			break
		}
	}
	return r.end()
}

// batch is a batch that is made when it is first needed.
type batch[B any] struct {
	of   B
	made bool
}

// part is a part of the changes.
type part[B any] struct {
	changes []wire.Change
	// Holds the part's changes once they are encoded.
	batch   batch[B]
	err     error
	encoded chan struct{}
}

// run is a Line at work: the caller adds parts, encoders encode them into batches, and one taker
// hands the batches on in order.
type run[B any] struct {
	*Line[B]
	ctx       context.Context
	unencoded chan *part[B] // For any free encoder.
	inOrder   chan *part[B] // The same parts, for the taker.
	// Limits how many parts are encoded, wait or are handed on at a time. An encoder takes a batch
	// before it takes a part, so the next part to hand on never waits for a batch.
	free     chan batch[B]
	encoders sync.WaitGroup
	taker    sync.WaitGroup
	failed   atomic.Bool
	err      error // The taker's error.
}

func (l *Line[B]) begin(ctx context.Context) *run[B] {
	encoders := runtime.GOMAXPROCS(0)
	r := &run[B]{
		Line:      l,
		ctx:       ctx,
		unencoded: make(chan *part[B], encoders),
		inOrder:   make(chan *part[B], 4*encoders),
		free:      make(chan batch[B], 2*encoders),
	}
	for i := range cap(r.free) {
		if i < len(l.batches) {
			r.free <- batch[B]{of: l.batches[i], made: true}
		} else {
			r.free <- batch[B]{}
		}
	}
	for len(l.buffers) < encoders {
		l.buffers = append(l.buffers, nil) // Made when it is first needed.
	}
	for i := range encoders {
		r.encoders.Go(func() { r.encodeAll(&l.buffers[i]) })
	}
	r.taker.Go(r.takeAll)
	return r
}

// add adds changes. It returns false if there was an error; further changes are not accepted then.
func (r *run[B]) add(changes []wire.Change) bool {
	for some := range slices.Chunk(changes, changesPerPart) {
		if r.failed.Load() {
			return false
		}
		part := &part[B]{changes: some, encoded: make(chan struct{})}
		r.inOrder <- part
		r.unencoded <- part
	}
	return true
}

// end waits until all added changes are handed on, and returns the first error.
func (r *run[B]) end() error {
	close(r.unencoded)
	close(r.inOrder)
	r.encoders.Wait()
	r.taker.Wait()
	close(r.free)
	r.batches = r.batches[:0]
	for batch := range r.free {
		if batch.made {
			r.batches = append(r.batches, batch.of)
		}
	}
	return r.err
}

func (r *run[B]) encodeAll(buffer **wire.Buffer) {
	for {
		batch := <-r.free
		part, more := <-r.unencoded
		if !more {
			r.free <- batch
			return
		}
		if !batch.made {
			batch.of, part.err = r.New()
			batch.made = part.err == nil
		}
		if part.err == nil && !r.failed.Load() {
			if *buffer == nil {
				*buffer = wire.NewBuffer(bufferBytes)
			}
			part.err = r.encode(*buffer, batch.of, part.changes)
		}
		part.batch = batch
		close(part.encoded)
	}
}

func (r *run[B]) encode(buffer *wire.Buffer, batch B, changes []wire.Change) error {
	buffer.Clear()
	for i := range changes {
		change := &changes[i]
		var err error
		if change.Object == nil {
			if err = r.put(buffer, batch); err == nil {
				err = r.Delete(batch, change)
			}
		} else {
			err = r.object(buffer, batch, change)
		}
		if err != nil {
			return err
		}
	}
	return r.put(buffer, batch)
}

func (r *run[B]) object(buffer *wire.Buffer, batch B, change *wire.Change) error {
	ok, err := buffer.Put(change.Kind, change.Object)
	if ok || err != nil {
		return err
	}
	if err := r.put(buffer, batch); err != nil {
		return err
	}
	_, err = buffer.Put(change.Kind, change.Object)
	return err
}

func (r *run[B]) put(buffer *wire.Buffer, batch B) error {
	if buffer.Len() == 0 {
		return nil
	}
	err := r.Put(batch, buffer)
	buffer.Clear()
	return err
}

func (r *run[B]) takeAll() {
	for part := range r.inOrder {
		<-part.encoded
		if r.err == nil {
			r.err = r.take(part)
			r.failed.Store(r.err != nil)
		}
		if part.batch.made {
			if err := r.Clear(part.batch.of); err != nil && r.err == nil {
				r.err = err
			}
		}
		r.free <- part.batch
	}
}

func (r *run[B]) take(part *part[B]) error {
	if part.err != nil {
		return part.err
	}
	return r.Take(r.ctx, part.batch.of)
}
