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

// growth is a request to a provider that has not answered yet.
type growth struct {
	size int64
	done chan struct{}
	err  error // Valid once done is closed.
}

// groupBytesMax is longer than the group names of any cloud.
const groupBytesMax = 1000

// grower returns the provider if it is configured to make machines, otherwise nil.
func (a *Actuator) grower() provider.Grower {
	if grower, ok := a.o.Provider.(provider.Grower); ok && grower.CanGrow() {
		return grower
	}
	return nil
}

// Grow makes the provider add machines. If the provider is slow, Grow returns OK before it has
// finished; its result is then only logged, and an error shows as machines that do not arrive.
func (a *Actuator) Grow(ctx context.Context, request *wire.GrowRequest) (*wire.GrowReply, error) {
	group, size := request.GetGroup(), request.GetSize()
	switch {
	case group == "" || len(group) > groupBytesMax:
		return nil, status.Errorf(codes.InvalidArgument, "group: %q names no group", cut(group))
	case size < 0 || size > batchMax:
		return nil, status.Errorf(codes.InvalidArgument, "size: %d is not a number of machines", size)
	}
	return &wire.GrowReply{}, a.once(ctx, request.GetKey(), func() error {
		grower := a.grower()
		if grower == nil {
			return status.Errorf(codes.Unimplemented, "group %s: the provider %s is not configured to make machines", group, a.o.Provider.Name())
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

// ask starts a request to the provider, or joins the one under way: a group has one request at a
// time. A caller that wants no more machines than the request under way shares its result; a caller
// that wants more waits until it has finished.
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

// growthOf returns the group's request under way, or starts one.
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

// growStatus converts a provider's error to the protocol's codes.
func growStatus(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, provider.ErrNoGroup):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, provider.ErrTooLarge):
		return status.Error(codes.OutOfRange, err.Error())
	}
	// A provider behind gRPC returns codes of its own. Only Unavailable makes an immediate retry
	// worthwhile.
	switch code := status.Code(err); code {
	case codes.Unavailable, codes.Unimplemented, codes.NotFound, codes.OutOfRange:
		return status.Error(code, err.Error())
	}
	return status.Error(codes.FailedPrecondition, fmt.Sprintf("the provider: %v", err))
}
