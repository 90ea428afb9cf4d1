package e2e

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ebb/go/kube/app"
	wire "ebb/go/kube/wire/actuatorpb"
)

func prepareClusterAPI(t *testing.T, name string) (*prepared, *clusterAPIFake) {
	t.Helper()
	var f *clusterAPIFake
	p := prepareProvider(t, name, machines("general", 4), func(c *cluster) func(*app.Options) {
		f = c.startClusterAPI(machines("general", 4))
		return c.byClusterAPI()
	})
	return p, f
}

// expectReplicas checks the replicas of the MachineDeployment.
func (f *clusterAPIFake) expectReplicas(want int) {
	f.c.t.Helper()
	if now, err := f.replicas(f.c.ctx); err != nil || now != want {
		f.c.t.Errorf("%d replicas, %v; expected %d", now, err, want)
	}
}

func TestMachinesOfClusterAPIGoAndTheReplicasWithThem(t *testing.T) {
	p, f := prepareClusterAPI(t, "cluster-api")
	victims := p.nodesWith("web")[:2]
	p.must(p.begin(victims...))
	results := p.finish()
	for _, name := range victims {
		p.expect(results, name, true)
	}
	f.expectReplicas(2)
	p.checkEnded(&f.machineRoom, victims...)
	// The minimum is 2.
	if err := p.begin(p.nodesWith("web")[0]); err == nil || !strings.Contains(err.Error(), "its minimum is 2") {
		t.Errorf("%v", err)
	}
	p.check()
}

func TestReplicasAreLoweredOnceWhenEbbKubeIsRestartedInEachPhase(t *testing.T) {
	p, f := prepareClusterAPI(t, "cluster-api-restart")
	victim := p.nodesWith("web")[0]
	p.throughRestarts(victim, &f.machineRoom, func() bool {
		now, err := f.replicas(p.ctx)
		return err == nil && now == 3
	})
	f.expectReplicas(3)
	p.checkEnded(&f.machineRoom, victim)
	p.check()
}

func TestAMachineDeploymentGrowsUpToItsMaximum(t *testing.T) {
	p, f := prepareClusterAPI(t, "cluster-api-grows")
	grow := func(size int64) error {
		_, err := p.calls.Grow(p.ctx, &wire.GrowRequest{Key: newKey(), Group: "md", Size: size})
		return err
	}
	hello, err := p.calls.Hello(p.ctx, &wire.HelloRequest{Client: "e2e"})
	p.must(err)
	if len(hello.Cannot) > 0 {
		t.Errorf("it cannot %v", hello.Cannot)
	}
	p.must(grow(5))
	p.must(grow(5))
	p.eventually("a fifth node is there", func() bool {
		list, err := client.CoreV1().Nodes().List(p.ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 5
	})
	if err := grow(6); status.Code(err) != codes.OutOfRange {
		t.Errorf("%v", err)
	}
	f.expectReplicas(5)
	p.checkEnded(&f.machineRoom)
	p.check()
}

func TestAPausedClusterKeepsItsMachines(t *testing.T) {
	p, f := prepareClusterAPI(t, "cluster-api-paused")
	victim := p.nodesWith("web")[0]
	p.must(p.begin(victim))
	p.must(p.drain(victim))
	p.reaches(victim, wire.DeletionPhase_DRAINED)
	_, err := f.client.Resource(capi("clusters")).Namespace(p.namespace).Patch(p.ctx, "c", types.MergePatchType, []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{})
	p.must(err)
	if result := p.expect(p.finish(), victim, false); !strings.Contains(result.Why, "Cluster/"+p.namespace+"/c is paused") {
		t.Error(result.Why)
	}
	f.expectReplicas(4)
	p.checkEnded(&f.machineRoom)
	p.check()
}
