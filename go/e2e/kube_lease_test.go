package e2e

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/app"
	wire "ebb/go/kube/wire/actuatorpb"
)

// byLease makes replicas use leader election, with short times.
func byLease(identity string) func(*app.Options) {
	return func(o *app.Options) {
		o.Lease, o.Identity = "ebb-e2e", identity
		o.LeaseTimes.Duration, o.LeaseTimes.RenewDeadline, o.LeaseTimes.RetryPeriod = 6*time.Second, 4*time.Second, 500*time.Millisecond
	}
}

func TestKubeReplicaThatLostItsLeaseStopsAndTheOtherGoesOn(t *testing.T) {
	p := prepare(t, "kube-lease", 1, byLease("first"))
	t.Cleanup(func() {
		_ = client.CoordinationV1().Leases("kube-system").Delete(context.Background(), "ebb-e2e", metav1.DeleteOptions{})
	})
	second := p.startReplica(byLease("second"))
	p.eventually("the second answers that it is not active", func() bool {
		_, err := second.calls.Status(p.ctx, &wire.StatusRequest{})
		return status.Code(err) == codes.Unavailable
	})
	victims := p.nodesWith("web")[:2]
	p.must(p.begin(victims...))
	p.must(p.drain(victims[0]))

	p.replica.cut.set(true)
	p.eventually("the first stops", func() bool {
		_, err := p.replica.calls.Status(p.ctx, &wire.StatusRequest{})
		return status.Code(err) == codes.Unavailable
	})
	second.waitActive()
	if found := second.running(victims[1]); found == nil || found.Phase != wire.DeletionPhase_TAINTED {
		t.Errorf("the second found %v", found)
	}
	// The first replica comes back while the second one works, and must do nothing.
	p.replica.cut.set(false)
	results := second.finish()
	for _, name := range victims {
		if p.hasNode(name) {
			t.Errorf("node %s is there: %v", name, results[name])
		}
	}
	if _, err := p.replica.calls.Status(p.ctx, &wire.StatusRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("the first answers: %v", err)
	}
	p.check()
}
