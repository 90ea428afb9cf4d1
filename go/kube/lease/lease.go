// Package lease makes one replica at a time the active one, by a Lease.
//
// The work of the active replica ends before the lease is released. When ctx ends, first the work
// stops and then the lease is released, so two replicas are never active together. If the lease is
// lost (the API server is away for longer than RenewDeadline), the context of the work ends; the
// work then has Duration - RenewDeadline to stop before another replica may become active.
//
// Clocks: replicas measure time with their own monotonic clocks, so a wall clock that jumps changes
// nothing.
package lease

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Options of an election.
type Options struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Identity of this replica; no two replicas may share one.
	Identity string
	// Duration, RenewDeadline and RetryPeriod default to 15 s, 10 s and 2 s, as in the autoscaler.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Log receives lines for people; default: no log.
	Log func(format string, args ...any)
}

// Run calls lead whenever this replica holds the lease, until ctx ends. lead must return soon after
// its own context ends. If lead returns earlier, the lease is released and Run returns its error.
func Run(ctx context.Context, o Options, lead func(context.Context) error) error {
	set := func(value *time.Duration, otherwise time.Duration) {
		if *value == 0 {
			*value = otherwise
		}
	}
	set(&o.Duration, 15*time.Second)
	set(&o.RenewDeadline, 10*time.Second)
	set(&o.RetryPeriod, 2*time.Second)
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	for {
		if err := runOnce(ctx, o, lead); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		o.Log("lease %s/%s: lost", o.Namespace, o.Name)
	}
}

// runOnce joins the election and calls lead at most once.
func runOnce(ctx context.Context, o Options, lead func(context.Context) error) error {
	// The election must outlive ctx: it ends after lead has returned.
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	began, ended := make(chan struct{}), make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Client:     o.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		LeaseDuration: o.Duration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            o.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				close(began)
				leading, end := context.WithCancel(held)
				defer end()
				defer context.AfterFunc(ctx, end)()
				o.Log("lease %s/%s: held by %s", o.Namespace, o.Name, o.Identity)
				err := lead(leading)
				if leading.Err() != nil {
					err = nil
				} else if err == nil {
					err = fmt.Errorf("the work of the leader ended")
				}
				ended <- err
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(who string) { o.Log("lease %s/%s: leader is %s", o.Namespace, o.Name, who) },
		},
	})
	if err != nil {
		return fmt.Errorf("lease %s/%s: %w", o.Namespace, o.Name, err)
	}
	// A replica that is not active yet need not wait for anything.
	defer context.AfterFunc(ctx, func() {
		select {
		case <-began:
		default:
			stop()
		}
	})()
	elector.Run(electing)
	select {
	case <-began:
		return <-ended
	default:
		return nil
	}
}
