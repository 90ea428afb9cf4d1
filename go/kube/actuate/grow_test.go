package actuate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"ebb/go/kube/actuate"
	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider"
	wire "ebb/go/kube/wire/actuatorpb"
)

// growingProvider records its requests and answers when the test allows it.
type growingProvider struct {
	mu    sync.Mutex
	asked []string
	err   error
	hold  chan struct{} // Nil: it answers at once.
	able  bool
}

func (*growingProvider) Name() string                                              { return "growing" }
func (*growingProvider) Delete(context.Context, string, []*corev1.Node) error      { return nil }
func (*growingProvider) Taken(context.Context, string, *corev1.Node) (bool, error) { return false, nil }
func (p *growingProvider) CanGrow() bool                                           { return p.able }

func (p *growingProvider) Grow(_ context.Context, group string, size int) error {
	p.mu.Lock()
	p.asked = append(p.asked, fmt.Sprint(group, ":", size))
	hold, err := p.hold, p.err
	p.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return err
}

func (p *growingProvider) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func startGrowing(t *testing.T, p *growingProvider, edits ...func(*actuate.Options)) *process {
	t.Helper()
	edits = append([]func(*actuate.Options){func(o *actuate.Options) { o.Provider = p }}, edits...)
	return start(t, clusterOf(), edits...)
}

func (p *process) grow(group string, size int64) error {
	_, err := p.Grow(p.t.Context(), &wire.GrowRequest{Key: key(), Group: group, Size: size})
	return err
}

func (p *process) cannot() []string {
	p.t.Helper()
	reply, err := p.Hello(p.t.Context(), &wire.HelloRequest{Client: "test"})
	p.must(err)
	return reply.Cannot
}

func TestAGroupGrowsByItsProviderOncePerCall(t *testing.T) {
	grows := &growingProvider{able: true}
	p := startGrowing(t, grows)
	if cannot := p.cannot(); slices.Contains(cannot, "grow") {
		t.Errorf("it says that it cannot %v", cannot)
	}
	request := &wire.GrowRequest{Key: key(), Group: "pool", Size: 5}
	for range 2 {
		_, err := p.Grow(t.Context(), request)
		p.must(err)
	}
	p.must(p.grow("pool", 7))
	if asked := grows.Asked(); !slices.Equal(asked, []string{"pool:5", "pool:7"}) {
		t.Errorf("asked for %v", asked)
	}
}

func TestAProviderThatMakesNoMachinesSaysSoFirst(t *testing.T) {
	for _, p := range []*process{start(t, clusterOf()), startGrowing(t, &growingProvider{able: false})} {
		if cannot := p.cannot(); !slices.Equal(cannot, []string{"grow", "buy"}) {
			t.Errorf("it says that it cannot %v", cannot)
		}
		if err := p.grow("pool", 3); code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "not configured to make machines") {
			t.Errorf("%v", err)
		}
	}
}

func TestTheStatusCodeSaysWhyAGroupDoesNotGrow(t *testing.T) {
	for _, test := range []struct {
		err  error
		want codes.Code
	}{
		{fmt.Errorf("group x: %w", provider.ErrNoGroup), codes.NotFound},
		{fmt.Errorf("group x: %w", provider.ErrTooLarge), codes.OutOfRange},
		{errors.New("exit status 1"), codes.FailedPrecondition},
		{fmt.Errorf("asked: %w", status.Error(codes.Unavailable, "away")), codes.Unavailable},
		{fmt.Errorf("asked: %w", status.Error(codes.Unimplemented, "no")), codes.Unimplemented},
		{fmt.Errorf("asked: %w", status.Error(codes.Internal, "a bug")), codes.FailedPrecondition},
	} {
		grows := &growingProvider{able: true, err: test.err}
		p := startGrowing(t, grows)
		request := &wire.GrowRequest{Key: key(), Group: "x", Size: 3}
		if _, err := p.Grow(t.Context(), request); code(err) != test.want || !strings.Contains(err.Error(), status.Convert(test.err).Message()) {
			t.Errorf("%v: answered %v", test.err, err)
		}
		// A failed call is not remembered as carried out.
		_, _ = p.Grow(t.Context(), request)
		if asked := grows.Asked(); len(asked) != 2 {
			t.Errorf("%v: asked for %v", test.err, asked)
		}
	}
}

func TestTheProviderIsNotCalledForGrowthThatBreaksARule(t *testing.T) {
	grows := &growingProvider{able: true}
	p := startGrowing(t, grows)
	for _, request := range []*wire.GrowRequest{
		{Key: key(), Size: 3}, {Key: key(), Group: strings.Repeat("x", 2000), Size: 3},
		{Key: key(), Group: "pool", Size: -1}, {Key: key(), Group: "pool", Size: 1 << 40}, {Group: "pool", Size: 3},
	} {
		if _, err := p.Grow(t.Context(), request); code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", request, err)
		}
	}
	if asked := grows.Asked(); len(asked) != 0 {
		t.Errorf("asked for %v", asked)
	}
}

func TestASlowProviderIsNotCalledTwiceAtATime(t *testing.T) {
	grows := &growingProvider{able: true, hold: make(chan struct{})}
	p := startGrowing(t, grows, func(o *actuate.Options) { o.GrowWithin = 20 * time.Millisecond })
	// The request counts as accepted, so no caller waits longer.
	p.must(p.grow("pool", 5))
	p.must(p.grow("pool", 4))
	if err := p.grow("pool", 6); code(err) != codes.Unavailable || !strings.Contains(err.Error(), "not answered yet for 5") {
		t.Errorf("%v", err)
	}
	p.must(p.grow("other", 2))
	close(grows.hold)
	fakecluster.Eventually(t, "six are asked for", func() bool { return p.grow("pool", 6) == nil })
	asked := grows.Asked()
	if slices.Sort(asked); !slices.Equal(asked, []string{"other:2", "pool:5", "pool:6"}) {
		t.Errorf("asked for %v", asked)
	}
}
