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

// Exec runs one command to delete nodes of a group together, and another one to make a group grow.
//
// The deletion command receives a Request as JSON on its standard input. Exit code 0 means that the
// deletion of all of the nodes was accepted. The command may be run again for the same nodes, for
// example after a restart; it must identify machines by their UIDs and provider IDs. If it fails,
// its standard error is part of the error.
//
// GrowCommand receives a GrowRequest in the same way. It is a separate command, so that a command
// written only for deletions never receives any other request.
type Exec struct {
	Command []string
	// GrowCommand makes groups grow. Empty: groups cannot grow.
	GrowCommand []string
	// Timeout ends the command.  Default 2 minutes.
	Timeout time.Duration
}

var _ Grower = (*Exec)(nil)

// Request is the input of the deletion command.
type Request struct {
	APIVersion string        `json:"apiVersion"` // "ebb/v1alpha1"
	Kind       string        `json:"kind"`       // "DeleteNodes"
	Group      string        `json:"group"`
	Nodes      []RequestNode `json:"nodes"`
}

// RequestNode is one node of a Request.
type RequestNode struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	ProviderID  string            `json:"providerID"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// GrowRequest is the input of GrowCommand. Size is the number of machines that the group should
// have at least, including machines that are booting. So a repeated request changes nothing.
type GrowRequest struct {
	APIVersion string `json:"apiVersion"` // "ebb/v1alpha1"
	Kind       string `json:"kind"`       // "GrowGroup"
	Group      string `json:"group"`
	Size       int    `json:"size"`
}

// Name returns "exec".
func (*Exec) Name() string { return "exec" }

// stderrBytesShown is how many bytes of a command's standard error become part of the error.
const stderrBytesShown = 500

// Delete runs the deletion command.
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

// CanGrow reports whether GrowCommand is set.
func (p *Exec) CanGrow() bool { return len(p.GrowCommand) > 0 }

// Grow runs GrowCommand.
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
	// Do not wait for child processes that keep the output open.
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
	if len(complaint) > stderrBytesShown {
		complaint = "..." + complaint[len(complaint)-stderrBytesShown:]
	}
	if complaint == "" {
		return ""
	}
	return ": " + complaint
}

// Taken always returns false: a command does not report earlier deletions.
func (*Exec) Taken(context.Context, string, *corev1.Node) (bool, error) { return false, nil }
