package externalgrpc_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider"
	"ebb/go/kube/provider/externalgrpc"
	wire "ebb/go/kube/provider/externalgrpc/externalgrpcpb"
)

// cloud is a provider of one group, "pool", as a user would write it for the autoscaler.
type cloud struct {
	wire.UnimplementedCloudProviderServer

	mu        sync.Mutex
	min, max  int32
	size      int32
	instances []string // providerIDs
	deleting  []string
	deleted   []string
	foreign   string // A node that is in no group.
	increased []int32
	cannot    error // Returned by Grow.
}

func (c *cloud) Refresh(context.Context, *wire.RefreshRequest) (*wire.RefreshResponse, error) {
	return &wire.RefreshResponse{}, nil
}

func (c *cloud) NodeGroups(context.Context, *wire.NodeGroupsRequest) (*wire.NodeGroupsResponse, error) {
	return &wire.NodeGroupsResponse{NodeGroups: []*wire.NodeGroup{{Id: "pool", MinSize: c.min, MaxSize: c.max}}}, nil
}

func (c *cloud) NodeGroupForNode(_ context.Context, r *wire.NodeGroupForNodeRequest) (*wire.NodeGroupForNodeResponse, error) {
	if r.GetNode().GetName() == c.foreign {
		return &wire.NodeGroupForNodeResponse{NodeGroup: &wire.NodeGroup{}}, nil
	}
	return &wire.NodeGroupForNodeResponse{NodeGroup: &wire.NodeGroup{Id: "pool", MinSize: c.min, MaxSize: c.max}}, nil
}

func (c *cloud) NodeGroupTargetSize(context.Context, *wire.NodeGroupTargetSizeRequest) (*wire.NodeGroupTargetSizeResponse, error) {
	return &wire.NodeGroupTargetSizeResponse{TargetSize: c.size}, nil
}

func (c *cloud) NodeGroupNodes(context.Context, *wire.NodeGroupNodesRequest) (*wire.NodeGroupNodesResponse, error) {
	reply := &wire.NodeGroupNodesResponse{}
	for _, id := range c.instances {
		state := wire.InstanceStatus_instanceRunning
		if slices.Contains(c.deleting, id) {
			state = wire.InstanceStatus_instanceDeleting
		}
		reply.Instances = append(reply.Instances, &wire.Instance{Id: id, Status: &wire.InstanceStatus{InstanceState: state}})
	}
	return reply, nil
}

func (c *cloud) NodeGroupDeleteNodes(_ context.Context, r *wire.NodeGroupDeleteNodesRequest) (*wire.NodeGroupDeleteNodesResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, node := range r.GetNodes() {
		c.deleted = append(c.deleted, r.GetId()+"/"+node.GetName())
		c.deleting = append(c.deleting, node.GetProviderID())
	}
	c.size -= int32(len(r.GetNodes()))
	return &wire.NodeGroupDeleteNodesResponse{}, nil
}

func (c *cloud) NodeGroupIncreaseSize(_ context.Context, r *wire.NodeGroupIncreaseSizeRequest) (*wire.NodeGroupIncreaseSizeResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cannot != nil || r.GetId() != "pool" {
		return nil, c.cannot
	}
	c.increased = append(c.increased, r.GetDelta())
	c.size += r.GetDelta()
	return &wire.NodeGroupIncreaseSizeResponse{}, nil
}

func dial(t *testing.T, c *cloud) *externalgrpc.Provider {
	t.Helper()
	dir, err := os.MkdirTemp("", "ebb-cloud-")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	wire.RegisterCloudProviderServer(server, c)
	go func() { _ = server.Serve(listener) }()
	p, err := externalgrpc.Dial(externalgrpc.Options{Address: "unix:" + path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(); server.Stop(); _ = os.RemoveAll(dir) })
	return p
}

func three() *cloud {
	return &cloud{min: 1, max: 5, size: 3, instances: []string{"fake:///a", "fake:///b", "fake:///c"}}
}

func TestNodesAreDeletedOfTheProvidersOwnGroup(t *testing.T) {
	c := three()
	p := dial(t, c)
	a, b := fakecluster.Node("a"), fakecluster.Node("b")
	if taken, err := p.Taken(t.Context(), "", a); taken || err != nil {
		t.Errorf("%v %v", taken, err)
	}
	if err := p.Delete(t.Context(), "called otherwise", []*corev1.Node{a, b}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.deleted, []string{"pool/a", "pool/b"}) || c.size != 1 {
		t.Errorf("%v, size %d", c.deleted, c.size)
	}
	if taken, err := p.Taken(t.Context(), "", a); !taken || err != nil {
		t.Errorf("%v %v", taken, err)
	}
	if taken, _ := p.Taken(t.Context(), "", fakecluster.Node("of-before")); !taken {
		t.Error("an instance that the provider does not have any more would be deleted again")
	}
}

func TestAProviderWithInconsistentAnswersDeletesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		lie  func(*cloud)
		want string
	}{
		"a negative size":           {func(c *cloud) { c.size = -2 }, "-2 is not a size"},
		"at its minimum":            {func(c *cloud) { c.min = 2 }, "its minimum is 2"},
		"fewer than are to go":      {func(c *cloud) { c.min, c.size = 0, 1 }, "2 of 1 nodes"},
		"sizes the wrong way round": {func(c *cloud) { c.max = 0 }, "sizes from 1 to 0"},
		"a node of no group":        {func(c *cloud) { c.foreign = "b" }, "node b is in none"},
		"a node that it forgot":     {func(c *cloud) { c.instances = c.instances[:1] }, "does not know node b"},
	} {
		t.Run(name, func(t *testing.T) {
			c := three()
			test.lie(c)
			err := dial(t, c).Delete(t.Context(), "pool", []*corev1.Node{fakecluster.Node("a"), fakecluster.Node("b")})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(c.deleted) != 0 {
				t.Errorf("%v, deleted %v", err, c.deleted)
			}
		})
	}
}

func TestGroupsAreTheProviders(t *testing.T) {
	c := three()
	groups, err := dial(t, c).Groups(t.Context(), []*corev1.Node{fakecluster.Node("b"), fakecluster.Node("a"), fakecluster.Node("other")})
	if err != nil || len(groups) != 1 {
		t.Fatalf("%v %v", groups, err)
	}
	if g := groups[0]; g.Name != "pool" || g.MinSize != 1 || g.MaxSize != 5 || g.TargetSize != 3 || !slices.Equal(g.Nodes, []string{"a", "b"}) {
		t.Errorf("%+v", g)
	}
}

func TestAGroupIsIncreasedOnceByTheMissingNodes(t *testing.T) {
	c := three()
	p := dial(t, c)
	for _, size := range []int{5, 5, 4, 0} {
		if err := p.Grow(t.Context(), "pool", size); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(c.increased, []int32{2}) || c.size != 5 {
		t.Errorf("increased by %v to %d", c.increased, c.size)
	}
}

func TestAGroupThatMayNotGrowIsNotIncreased(t *testing.T) {
	for name, test := range map[string]struct {
		edit  func(*cloud)
		group string
		size  int
		want  string
		is    error
	}{
		"another name":              {func(*cloud) {}, "pool-asg", 4, `group "pool-asg": there is no such group among the provider's: "pool"`, provider.ErrNoGroup},
		"beyond its maximum":        {func(*cloud) {}, "pool", 6, "6 machines are wanted, and its maximum is 5", provider.ErrTooLarge},
		"a negative size":           {func(c *cloud) { c.size = -2 }, "pool", 4, "-2 is not a size", nil},
		"sizes the wrong way round": {func(c *cloud) { c.max = 0 }, "pool", 4, "sizes from 1 to 0", nil},
		"a provider that refuses":   {func(c *cloud) { c.cannot = errors.New("no quota") }, "pool", 4, "no quota", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := three()
			test.edit(c)
			err := dial(t, c).Grow(t.Context(), test.group, test.size)
			if err == nil || !strings.Contains(err.Error(), test.want) || (test.is != nil && !errors.Is(err, test.is)) || len(c.increased) != 0 {
				t.Errorf("%v, increased by %v", err, c.increased)
			}
		})
	}
}
