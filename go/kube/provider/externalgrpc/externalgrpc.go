// Package externalgrpc deletes and makes machines through a provider that was written for the
// autoscaler's external provider protocol.
//
// For a deletion, the provider's own group of the node counts, not the group in the order. A group
// that grows is named as the provider names it. Before a deletion the provider's answers are
// checked: it is rejected if a size is impossible, if a node is in no group or unknown to its
// group, or if the group is at its minimum. Then nothing is deleted.
package externalgrpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"

	"ebb/go/kube/provider"
	wire "ebb/go/kube/provider/externalgrpc/externalgrpcpb"
)

// Options of a connection, as in the autoscaler's cloud-config.
type Options struct {
	// Address of the provider: HOST:PORT, or unix:PATH.
	Address string
	// Key, Certificate and CA are files for TLS; if all are empty, there is no TLS.
	Key, Certificate, CA string
	// CallTimeout limits each call. Default 1 minute, because deletions may wait for the cloud.
	CallTimeout time.Duration
}

// Provider calls a provider in another process.
type Provider struct {
	connection *grpc.ClientConn
	client     wire.CloudProviderClient
	timeout    time.Duration
	// Held during a deletion or growth, because sizes are read, checked and then changed.
	mu sync.Mutex
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Grouper  = (*Provider)(nil)
	_ provider.Grower   = (*Provider)(nil)
)

// Dial returns a provider. It does not connect yet.
func Dial(o Options) (*Provider, error) {
	if o.Address == "" {
		return nil, errors.New("externalgrpc: no address")
	}
	transport := insecure.NewCredentials()
	if o.Certificate != "" || o.CA != "" {
		config, err := tlsConfig(o)
		if err != nil {
			return nil, fmt.Errorf("externalgrpc: %w", err)
		}
		transport = credentials.NewTLS(config)
	}
	connection, err := grpc.NewClient(o.Address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return nil, fmt.Errorf("externalgrpc: %w", err)
	}
	timeout := o.CallTimeout
	if timeout == 0 {
		timeout = time.Minute
	}
	return &Provider{connection: connection, client: wire.NewCloudProviderClient(connection), timeout: timeout}, nil
}

func tlsConfig(o Options) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(o.Certificate, o.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate in PEM", o.CA)
		}
	}
	return config, nil
}

// Close closes the connection.
func (p *Provider) Close() error { return p.connection.Close() }

// Name returns "externalgrpc".
func (*Provider) Name() string { return "externalgrpc" }

func wireOf(node *corev1.Node) *wire.ExternalGrpcNode {
	return &wire.ExternalGrpcNode{
		ProviderID: node.Spec.ProviderID, Name: node.Name, Labels: node.Labels, Annotations: node.Annotations,
	}
}

// groupOf returns the node's group; nil if it is in none.
func (p *Provider) groupOf(ctx context.Context, node *corev1.Node) (*wire.NodeGroup, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	reply, err := p.client.NodeGroupForNode(ctx, &wire.NodeGroupForNodeRequest{Node: wireOf(node)})
	if err != nil {
		return nil, fmt.Errorf("NodeGroupForNode %s: %w", node.Name, err)
	}
	if reply.GetNodeGroup().GetId() == "" {
		return nil, nil
	}
	return reply.GetNodeGroup(), nil
}

func (p *Provider) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if _, err := p.client.Refresh(ctx, &wire.RefreshRequest{}); err != nil {
		return fmt.Errorf("Refresh: %w", err)
	}
	return nil
}

func (p *Provider) targetSize(ctx context.Context, id string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	reply, err := p.client.NodeGroupTargetSize(ctx, &wire.NodeGroupTargetSizeRequest{Id: id})
	if err != nil {
		return 0, fmt.Errorf("NodeGroupTargetSize %s: %w", id, err)
	}
	if reply.GetTargetSize() < 0 {
		return 0, fmt.Errorf("NodeGroupTargetSize %s: %d is not a size", id, reply.GetTargetSize())
	}
	return int(reply.GetTargetSize()), nil
}

func (p *Provider) instances(ctx context.Context, id string) ([]*wire.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	reply, err := p.client.NodeGroupNodes(ctx, &wire.NodeGroupNodesRequest{Id: id})
	if err != nil {
		return nil, fmt.Errorf("NodeGroupNodes %s: %w", id, err)
	}
	return reply.GetInstances(), nil
}

// Delete deletes the machines of nodes, one provider's group after the other.
func (p *Provider) Delete(ctx context.Context, _ string, nodes []*corev1.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refresh(ctx); err != nil {
		return fmt.Errorf("externalgrpc: %w", err)
	}
	groups := map[string]*wire.NodeGroup{}
	members := map[string][]*corev1.Node{}
	var ids []string
	for _, node := range nodes {
		group, err := p.groupOf(ctx, node)
		if err == nil && group == nil {
			err = fmt.Errorf("node %s is in none of its groups", node.Name)
		}
		if err != nil {
			return fmt.Errorf("externalgrpc: %w", err)
		}
		if groups[group.GetId()] == nil {
			ids = append(ids, group.GetId())
		}
		groups[group.GetId()] = group
		members[group.GetId()] = append(members[group.GetId()], node)
	}
	// Check all groups before the first node is deleted.
	for _, id := range ids {
		if err := p.check(ctx, groups[id], members[id]); err != nil {
			return fmt.Errorf("externalgrpc: %w", err)
		}
	}
	for _, id := range ids {
		if err := p.deleteOf(ctx, id, members[id]); err != nil {
			return fmt.Errorf("externalgrpc: %w", err)
		}
	}
	return nil
}

// check returns an error if the provider's own numbers contradict the deletion.
func (p *Provider) check(ctx context.Context, group *wire.NodeGroup, nodes []*corev1.Node) error {
	id, least := group.GetId(), int(group.GetMinSize())
	if err := checkSizes(group); err != nil {
		return err
	}
	size, err := p.targetSize(ctx, id)
	if err != nil {
		return err
	}
	if size-len(nodes) < least {
		return fmt.Errorf("group %s: %d of %d nodes cannot go, as its minimum is %d", id, len(nodes), size, least)
	}
	instances, err := p.instances(ctx, id)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if find(instances, node) == nil {
			return fmt.Errorf("group %s: it does not know node %s (providerID %q)", id, node.Name, node.Spec.ProviderID)
		}
	}
	return nil
}

func checkSizes(group *wire.NodeGroup) error {
	if group.GetMinSize() < 0 || group.GetMaxSize() < group.GetMinSize() {
		return fmt.Errorf("group %s: sizes from %d to %d: the maximum is below the minimum, or the minimum is negative", group.GetId(), group.GetMinSize(), group.GetMaxSize())
	}
	return nil
}

func (p *Provider) deleteOf(ctx context.Context, id string, nodes []*corev1.Node) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	request := &wire.NodeGroupDeleteNodesRequest{Id: id}
	for _, node := range nodes {
		request.Nodes = append(request.Nodes, wireOf(node))
	}
	if _, err := p.client.NodeGroupDeleteNodes(ctx, request); err != nil {
		return fmt.Errorf("NodeGroupDeleteNodes %s: %w", id, err)
	}
	return nil
}

func find(instances []*wire.Instance, node *corev1.Node) *wire.Instance {
	at := slices.IndexFunc(instances, func(i *wire.Instance) bool { return i.GetId() == node.Spec.ProviderID })
	if at < 0 {
		return nil
	}
	return instances[at]
}

// Taken reports whether the provider is deleting the node's machine, or no longer has it.
func (p *Provider) Taken(ctx context.Context, _ string, node *corev1.Node) (bool, error) {
	group, err := p.groupOf(ctx, node)
	if err != nil {
		return false, fmt.Errorf("externalgrpc: %w", err)
	}
	if group == nil {
		return true, nil
	}
	instances, err := p.instances(ctx, group.GetId())
	if err != nil {
		return false, fmt.Errorf("externalgrpc: %w", err)
	}
	instance := find(instances, node)
	return instance == nil || instance.GetStatus().GetInstanceState() == wire.InstanceStatus_instanceDeleting, nil
}

func (p *Provider) nodeGroups(ctx context.Context) ([]*wire.NodeGroup, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	list, err := p.client.NodeGroups(ctx, &wire.NodeGroupsRequest{})
	if err != nil {
		return nil, fmt.Errorf("NodeGroups: %w", err)
	}
	return list.GetNodeGroups(), nil
}

// CanGrow returns true: the protocol has a call for it.
func (*Provider) CanGrow() bool { return true }

// Grow raises the target size of a group to size; a larger target size stays.
func (p *Provider) Grow(ctx context.Context, group string, size int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.grow(ctx, group, size); err != nil {
		return fmt.Errorf("externalgrpc: %w", err)
	}
	return nil
}

func (p *Provider) grow(ctx context.Context, id string, size int) error {
	if err := p.refresh(ctx); err != nil {
		return err
	}
	group, err := p.groupNamed(ctx, id)
	if err != nil {
		return err
	}
	if err := checkSizes(group); err != nil {
		return err
	}
	target, err := p.targetSize(ctx, id)
	if err != nil || target >= size {
		return err
	}
	if most := int(group.GetMaxSize()); size > most {
		return fmt.Errorf("group %s: %w: %d machines are wanted, and its maximum is %d", id, provider.ErrTooLarge, size, most)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if _, err := p.client.NodeGroupIncreaseSize(ctx, &wire.NodeGroupIncreaseSizeRequest{Id: id, Delta: int32(size - target)}); err != nil {
		return fmt.Errorf("NodeGroupIncreaseSize %s: %w", id, err)
	}
	return nil
}

// groupNamed finds a group by its id. The error lists the groups that exist.
func (p *Provider) groupNamed(ctx context.Context, id string) (*wire.NodeGroup, error) {
	list, err := p.nodeGroups(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, group := range list {
		if group.GetId() == id {
			return group, nil
		}
		names = append(names, fmt.Sprintf("%q", group.GetId()))
	}
	slices.Sort(names)
	return nil, fmt.Errorf("group %q: %w among the provider's: %s", id, provider.ErrNoGroup, strings.Join(names, ", "))
}

// Groups returns the provider's groups, with their nodes.
func (p *Provider) Groups(ctx context.Context, nodes []*corev1.Node) ([]provider.Group, error) {
	if err := p.refresh(ctx); err != nil {
		return nil, fmt.Errorf("externalgrpc: %w", err)
	}
	list, err := p.nodeGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("externalgrpc: %w", err)
	}
	byID := map[string]string{}
	for _, node := range nodes {
		byID[node.Spec.ProviderID] = node.Name
	}
	var groups []provider.Group
	for _, row := range list {
		group := provider.Group{Name: row.GetId(), MinSize: int(row.GetMinSize()), MaxSize: int(row.GetMaxSize())}
		if group.Name == "" || group.MinSize < 0 || group.MaxSize < group.MinSize {
			return nil, fmt.Errorf("externalgrpc: NodeGroups: group %q with sizes from %d to %d: the maximum is below the minimum, or the minimum is negative", group.Name, group.MinSize, group.MaxSize)
		}
		if group.TargetSize, err = p.targetSize(ctx, group.Name); err != nil {
			return nil, fmt.Errorf("externalgrpc: %w", err)
		}
		instances, err := p.instances(ctx, group.Name)
		if err != nil {
			return nil, fmt.Errorf("externalgrpc: %w", err)
		}
		for _, instance := range instances {
			if name, found := byID[instance.GetId()]; found && instance.GetId() != "" && !slices.Contains(group.Nodes, name) {
				group.Nodes = append(group.Nodes, name)
			}
		}
		slices.SortFunc(group.Nodes, strings.Compare)
		groups = append(groups, group)
	}
	return groups, nil
}
