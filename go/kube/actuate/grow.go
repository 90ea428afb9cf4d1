package actuate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"ebb/go/kube/provider"
	wire "ebb/go/kube/wire/actuatorpb"
)

// growth is what a provider was asked and has not answered yet.
type growth struct {
	size int64
	done chan struct{}
	err  error // To be read when done is closed.
}

// groupBytesMax is longer than any cloud's names.
const groupBytesMax = 1000

// grower is the provider if it makes machines here, else nil.
func (a *Actuator) grower() provider.Grower {
	if grower, ok := a.o.Provider.(provider.Grower); ok && grower.CanGrow() {
		return grower
	}
	return nil
}

// Grow has the provider make machines.  A provider that takes its time goes on when the answer OK was
// given: what it says then is in the log, and the caller sees that no machines come.
func (a *Actuator) Grow(ctx context.Context, request *wire.GrowRequest) (*wire.GrowReply, error) {
	group, size := request.GetGroup(), request.GetSize()
	switch {
	case group == "" || len(group) > groupBytesMax:
		return nil, status.Errorf(codes.InvalidArgument, "group: %q names no group", cut(group))
	case size < 0 || size > batchMax:
		return nil, status.Errorf(codes.InvalidArgument, "size: %d is no number of machines", size)
	}
	return &wire.GrowReply{}, a.once(ctx, request.GetKey(), func() error {
		grower := a.grower()
		if grower == nil {
			return status.Errorf(codes.Unimplemented, "group %s: the provider %s makes no machines as it is set up", group, a.o.Provider.Name())
		}
		late := time.After(a.o.GrowWithin)
		asked, err := a.ask(ctx, grower, group, size, late)
		if err != nil {
			return err
		}
		select {
		case <-asked.done:
			return growStatus(asked.err)
		case <-late:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	})
}

// ask has the provider asked.  While it has not answered for a group it is not asked for that group
// again: who wants no more waits for the same answer, who wants more waits until it is there.
func (a *Actuator) ask(ctx context.Context, grower provider.Grower, group string, size int64, late <-chan time.Time) (*growth, error) {
	for {
		asked := a.growthOf(grower, group, size)
		if asked.size >= size {
			return asked, nil
		}
		select {
		case <-asked.done:
		case <-late:
			return nil, status.Errorf(codes.Unavailable, "group %s: the provider %s has not answered yet for %d machines", group, a.o.Provider.Name(), asked.size)
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// growthOf is what the provider is being asked for the group, or what it is asked now.
func (a *Actuator) growthOf(grower provider.Grower, group string, size int64) *growth {
	a.mu.Lock()
	defer a.mu.Unlock()
	if asked := a.growths[group]; asked != nil {
		return asked
	}
	asked := &growth{size: size, done: make(chan struct{})}
	a.growths[group] = asked
	a.tasks.Go(func() { a.grow(grower, group, asked) })
	return asked
}

func (a *Actuator) grow(grower provider.Grower, group string, asked *growth) {
	asked.err = grower.Grow(a.ctx, group, int(asked.size))
	a.mu.Lock()
	delete(a.growths, group)
	a.mu.Unlock()
	close(asked.done)
	if asked.err != nil {
		a.o.Log("group %s: it does not grow to %d machines: %v", group, asked.size, asked.err)
		return
	}
	a.o.Log("group %s: %d machines at least were asked for", group, asked.size)
}

// growStatus tells a provider's error in the protocol's codes.
func growStatus(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, provider.ErrNoGroup):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, provider.ErrTooLarge):
		return status.Error(codes.OutOfRange, err.Error())
	}
	// A provider behind gRPC has said a code.  Only that it cannot be reached is worth an attempt at once.
	switch code := status.Code(err); code {
	case codes.Unavailable, codes.Unimplemented, codes.NotFound, codes.OutOfRange:
		return status.Error(code, err.Error())
	}
	return status.Error(codes.FailedPrecondition, fmt.Sprintf("the provider: %v", err))
}
