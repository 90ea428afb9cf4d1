package kubectl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ebb/go/kube/taint"
)

// Status is what `kubectl ebb status -o json` prints.
type Status struct {
	APIVersion string `json:"apiVersion"` // "ebb/v1alpha1"
	Kind       string `json:"kind"`       // "ActuationStatus"
	Nodes      int    `json:"nodes"`
	// Active is the replica that holds the lease; "": none does, or it may not be read.
	Active     string     `json:"active,omitempty"`
	Candidates []string   `json:"candidates"`
	Deletions  []Deletion `json:"deletions"`
	// Foreign are nodes that somebody else is deleting.
	Foreign []string `json:"foreign"`
}

// Deletion is of a node.
type Deletion struct {
	Node string `json:"node"`
	taint.Mark
}

// ReadStatus reads what stands on the nodes.
func ReadStatus(ctx context.Context, client kubernetes.Interface, namespace, lease string) (*Status, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	s := &Status{
		APIVersion: "ebb/v1alpha1", Kind: "ActuationStatus", Nodes: len(list.Items),
		Candidates: []string{}, Deletions: []Deletion{}, Foreign: []string{},
	}
	for i := range list.Items {
		s.add(&list.Items[i])
	}
	held, err := client.CoordinationV1().Leases(namespace).Get(ctx, lease, metav1.GetOptions{})
	switch {
	case err == nil && held.Spec.HolderIdentity != nil:
		s.Active = *held.Spec.HolderIdentity
	case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("lease %s/%s: %w", namespace, lease, err)
	}
	return s, nil
}

func (s *Status) add(node *corev1.Node) {
	mark := taint.MarkOf(node)
	hard := taint.Find(node, taint.Hard) != nil
	switch {
	case mark != nil && hard:
		s.Deletions = append(s.Deletions, Deletion{Node: node.Name, Mark: *mark})
	case hard:
		s.Foreign = append(s.Foreign, node.Name)
	case taint.Find(node, taint.Soft) != nil:
		s.Candidates = append(s.Candidates, node.Name)
	}
}

func printStatus(ctx context.Context, client kubernetes.Interface, args []string, out io.Writer) error {
	asJSON := len(args) == 2 && args[0] == "-o" && args[1] == "json" || len(args) == 1 && (args[0] == "-ojson" || args[0] == "-o=json")
	if len(args) > 0 && !asJSON {
		return fmt.Errorf("status: %q is not -o json", args)
	}
	s, err := ReadStatus(ctx, client, metav1.NamespaceSystem, "ebb")
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(s)
	}
	return s.print(out, time.Now())
}

func (s *Status) print(out io.Writer, now time.Time) error {
	active := s.Active
	if active == "" {
		active = "no replica"
	}
	fmt.Fprintf(out, "%d nodes, %d candidates, %d in deletion; active: %s\n", s.Nodes, len(s.Candidates), len(s.Deletions), active)
	if len(s.Deletions) > 0 {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprint(table, "\nNODE\tGROUP\tPHASE\tFOR\tWHY\n")
		for _, d := range s.Deletions {
			fmt.Fprintf(table, "%s\t%s\t%s\t%v\t%s\n", d.Node, d.Group, d.Phase, now.Sub(time.Unix(d.Since, 0)).Round(time.Second), d.Why)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	for _, name := range s.Candidates {
		fmt.Fprintf(out, "candidate: %s\n", name)
	}
	for _, name := range s.Foreign {
		fmt.Fprintf(out, "somebody else is deleting: %s\n", name)
	}
	return nil
}
