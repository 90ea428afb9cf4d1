package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/e2e/nodes"
	"ebb/go/kube/app"
	"ebb/go/kube/provider/externalgrpc"
	cloudpb "ebb/go/kube/provider/externalgrpc/externalgrpcpb"
)

// cloud is a provider of one group of machines, as a user would write it for the autoscaler. It
// creates and deletes Nodes. It can delay booting, so that a test can observe the state in between.
type cloud struct {
	cloudpb.UnimplementedCloudProviderServer

	c        *cluster
	group    nodes.Group
	min, max int32

	mu       sync.Mutex
	size     int32 // Machines, including machines that are booting.
	isHeld   bool
	booting  int32
	asked    []int32
	deleted  []string
	problems []error
}

// newCloud makes the cluster's nodes the first machines of a provider's group.
func (c *cluster) newCloud(group nodes.Group, least, most int32) *cloud {
	return &cloud{c: c, group: group, min: least, max: most, size: int32(group.Count)}
}

// serve serves the provider, and returns an option that makes a replica use it.
func (p *cloud) serve() func(*app.Options) {
	p.c.t.Helper()
	dir, err := os.MkdirTemp("", "ebb-cloud-")
	p.c.must(err)
	path := filepath.Join(dir, "cloud.sock")
	listener, err := net.Listen("unix", path)
	p.c.must(err)
	server := grpc.NewServer()
	cloudpb.RegisterCloudProviderServer(server, p)
	go func() { _ = server.Serve(listener) }()
	asked, err := externalgrpc.Dial(externalgrpc.Options{Address: "unix:" + path})
	p.c.must(err)
	p.c.t.Cleanup(func() { _ = asked.Close(); server.Stop(); _ = os.RemoveAll(dir) })
	return func(o *app.Options) { o.Provider = asked }
}

// hold delays the booting of new machines until boot.
func (p *cloud) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isHeld = true
}

func (p *cloud) boot() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isHeld = false
	p.bootNow()
}

// bootNow creates the Nodes of booting machines. REQUIRES: mu.
func (p *cloud) bootNow() {
	group := p.group
	group.Count = int(p.booting)
	if _, err := nodes.Create(p.c.ctx, client, group); err != nil {
		p.problems = append(p.problems, err)
	}
	p.booting = 0
}

// target returns the target size of the group.
func (p *cloud) target() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.size)
}

// check fails the test if the provider has recorded problems, and logs its requests.
func (p *cloud) check() {
	p.c.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.c.t.Error(problem)
	}
	p.c.t.Logf("the cloud was asked for %v machines and to delete %v", p.asked, p.deleted)
}

func (p *cloud) nodeGroup() *cloudpb.NodeGroup {
	return &cloudpb.NodeGroup{Id: p.group.Name, MinSize: p.min, MaxSize: p.max}
}

func (p *cloud) Refresh(context.Context, *cloudpb.RefreshRequest) (*cloudpb.RefreshResponse, error) {
	return &cloudpb.RefreshResponse{}, nil
}

func (p *cloud) NodeGroups(context.Context, *cloudpb.NodeGroupsRequest) (*cloudpb.NodeGroupsResponse, error) {
	return &cloudpb.NodeGroupsResponse{NodeGroups: []*cloudpb.NodeGroup{p.nodeGroup()}}, nil
}

func (p *cloud) NodeGroupForNode(_ context.Context, r *cloudpb.NodeGroupForNodeRequest) (*cloudpb.NodeGroupForNodeResponse, error) {
	if r.GetNode().GetLabels()[nodes.GroupLabel] != p.group.Name {
		return &cloudpb.NodeGroupForNodeResponse{NodeGroup: &cloudpb.NodeGroup{}}, nil
	}
	return &cloudpb.NodeGroupForNodeResponse{NodeGroup: p.nodeGroup()}, nil
}

func (p *cloud) NodeGroupTargetSize(context.Context, *cloudpb.NodeGroupTargetSizeRequest) (*cloudpb.NodeGroupTargetSizeResponse, error) {
	return &cloudpb.NodeGroupTargetSizeResponse{TargetSize: int32(p.target())}, nil
}

func (p *cloud) NodeGroupNodes(ctx context.Context, _ *cloudpb.NodeGroupNodesRequest) (*cloudpb.NodeGroupNodesResponse, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	reply := &cloudpb.NodeGroupNodesResponse{}
	for i := range list.Items {
		reply.Instances = append(reply.Instances, &cloudpb.Instance{
			Id: list.Items[i].Spec.ProviderID, Status: &cloudpb.InstanceStatus{InstanceState: cloudpb.InstanceStatus_instanceRunning},
		})
	}
	return reply, nil
}

func (p *cloud) NodeGroupIncreaseSize(_ context.Context, r *cloudpb.NodeGroupIncreaseSizeRequest) (*cloudpb.NodeGroupIncreaseSizeResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.GetId() != p.group.Name || r.GetDelta() <= 0 || p.size+r.GetDelta() > p.max {
		return nil, status.Errorf(codes.InvalidArgument, "group %q cannot have %d more than %d", r.GetId(), r.GetDelta(), p.size)
	}
	p.asked = append(p.asked, r.GetDelta())
	p.size += r.GetDelta()
	p.booting += r.GetDelta()
	if !p.isHeld {
		p.bootNow()
	}
	return &cloudpb.NodeGroupIncreaseSizeResponse{}, nil
}

func (p *cloud) NodeGroupDeleteNodes(ctx context.Context, r *cloudpb.NodeGroupDeleteNodesRequest) (*cloudpb.NodeGroupDeleteNodesResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size-int32(len(r.GetNodes())) < p.min {
		return nil, status.Errorf(codes.FailedPrecondition, "group %q would be below %d", r.GetId(), p.min)
	}
	for _, node := range r.GetNodes() {
		if err := client.CoreV1().Nodes().Delete(ctx, node.GetName(), metav1.DeleteOptions{}); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		p.deleted = append(p.deleted, node.GetName())
		p.size--
	}
	return &cloudpb.NodeGroupDeleteNodesResponse{}, nil
}
