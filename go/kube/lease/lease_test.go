package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/lease"
)

func optionsOf(c *fakecluster.Cluster, identity string) lease.Options {
	return lease.Options{
		Client: c.Client, Namespace: "kube-system", Name: "ebb", Identity: identity,
		Duration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 50 * time.Millisecond,
	}
}

// TestOneLeadsAtATime checks that the next replica leads only after the first one has ended.
func TestOneLeadsAtATime(t *testing.T) {
	c := fakecluster.New()
	var leading, most atomic.Int32
	lead := func(ctx context.Context) error {
		most.Store(max(most.Load(), leading.Add(1)))
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // Ending takes a moment.
		leading.Add(-1)
		return nil
	}
	contexts, ended := []context.CancelFunc{}, make(chan error, 2)
	for _, identity := range []string{"a", "b"} {
		ctx, cancel := context.WithCancel(t.Context())
		contexts = append(contexts, cancel)
		go func() { ended <- lease.Run(ctx, optionsOf(c, identity), lead) }()
		fakecluster.Eventually(t, "one leads", func() bool { return leading.Load() == 1 })
	}
	holder := func() string {
		held, err := c.Client.CoordinationV1().Leases("kube-system").Get(t.Context(), "ebb", metav1.GetOptions{})
		if err != nil || held.Spec.HolderIdentity == nil {
			return ""
		}
		return *held.Spec.HolderIdentity
	}
	if holder() != "a" {
		t.Errorf("%s leads", holder())
	}
	contexts[0]()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	fakecluster.Eventually(t, "the second leads", func() bool { return leading.Load() == 1 && holder() == "b" })
	contexts[1]()
	<-ended
	if most.Load() != 1 || leading.Load() != 0 {
		t.Errorf("%d led at a time, %d still do", most.Load(), leading.Load())
	}
}

func TestALeaseThatCannotBeRenewedEndsTheLeading(t *testing.T) {
	c := fakecluster.New()
	var times atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- lease.Run(ctx, optionsOf(c, "a"), func(ctx context.Context) error {
			times.Add(1)
			<-ctx.Done()
			return nil
		})
	}()
	fakecluster.Eventually(t, "it leads", func() bool { return times.Load() == 1 })
	c.SetAway(true)
	time.Sleep(1200 * time.Millisecond)
	c.SetAway(false)
	fakecluster.Eventually(t, "it leads again", func() bool { return times.Load() == 2 })
	cancel()
	<-ended
}

func TestAnErrorOfTheLeaderIsReturned(t *testing.T) {
	broken := errors.New("broken")
	err := lease.Run(t.Context(), optionsOf(fakecluster.New(), "a"), func(context.Context) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
