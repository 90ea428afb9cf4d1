package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Exec runs a command for the nodes of a group that go together, and one for a group that grows.
//
// The command gets a Request as JSON on its standard input, and says by its exit code 0 that the
// deletion of all of them was taken.  It may be run again for the same nodes (after a restart), and
// tells machines by their UIDs and provider ids.  What it writes to standard error is told where it fails.
//
// GrowCommand gets a GrowRequest in the same way.  It is a command of its own, so that one which was
// written for deletions alone is never asked for anything else.
type Exec struct {
	Command []string
	// GrowCommand makes groups grow.  Empty: none does.
	GrowCommand []string
	// Timeout ends the command.  Default 2 minutes.
	Timeout time.Duration
}

var _ Grower = (*Exec)(nil)

// Request is what a command reads.
type Request struct {
	APIVersion string        `json:"apiVersion"` // "ebb/v1alpha1"
	Kind       string        `json:"kind"`       // "DeleteNodes"
	Group      string        `json:"group"`
	Nodes      []RequestNode `json:"nodes"`
}

// RequestNode is a node of a Request.
type RequestNode struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	ProviderID  string            `json:"providerID"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// GrowRequest is what the command for growth reads.  The group is to have at least so many machines,
// those that boot counted: to be asked twice is to be asked once.
type GrowRequest struct {
	APIVersion string `json:"apiVersion"` // "ebb/v1alpha1"
	Kind       string `json:"kind"`       // "GrowGroup"
	Group      string `json:"group"`
	Size       int    `json:"size"`
}

// Name is "exec".
func (*Exec) Name() string { return "exec" }

// toldOfStderr is how much of a command's complaint is passed on.
const toldOfStderr = 500

// Delete runs the command.
func (p *Exec) Delete(ctx context.Context, group string, nodes []*corev1.Node) error {
	request := Request{APIVersion: "ebb/v1alpha1", Kind: "DeleteNodes", Group: group}
	for _, node := range nodes {
		request.Nodes = append(request.Nodes, RequestNode{
			Name: node.Name, UID: string(node.UID), ProviderID: node.Spec.ProviderID,
			Labels: node.Labels, Annotations: node.Annotations,
		})
	}
	return p.run(ctx, p.Command, request)
}

// CanGrow tells whether there is a command for it.
func (p *Exec) CanGrow() bool { return len(p.GrowCommand) > 0 }

// Grow runs the command for growth.
func (p *Exec) Grow(ctx context.Context, group string, size int) error {
	return p.run(ctx, p.GrowCommand, GrowRequest{APIVersion: "ebb/v1alpha1", Kind: "GrowGroup", Group: group, Size: size})
}

func (p *Exec) run(ctx context.Context, words []string, request any) error {
	input, err := json.Marshal(request)
	if err != nil {
		return err
	}
	timeout := p.Timeout
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Stdin = bytes.NewReader(input)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	// Children that hold its output open do not hold this up.
	command.WaitDelay = 5 * time.Second
	if err := command.Run(); err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("did not end within %v", timeout)
		}
		return fmt.Errorf("%s: %w%s", words[0], err, tail(complaint.String()))
	}
	return nil
}

func tail(complaint string) string {
	complaint = strings.TrimSpace(complaint)
	if len(complaint) > toldOfStderr {
		complaint = "..." + complaint[len(complaint)-toldOfStderr:]
	}
	if complaint == "" {
		return ""
	}
	return ": " + complaint
}

// Taken is not known.
func (*Exec) Taken(context.Context, string, *corev1.Node) (bool, error) { return false, nil }
