package kubectl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"ebb/go/kube/status"
	"ebb/go/kube/taint"
)

// Status is what `kubectl ebb status -o json` prints.
type Status struct {
	APIVersion string `json:"apiVersion"` // "ebb/v1alpha1"
	Kind       string `json:"kind"`       // "ActuationStatus"
	Nodes      int    `json:"nodes"`
	// Active is the replica that holds the lease; "" if there is none or the lease may not be read.
	Active     string     `json:"active,omitempty"`
	Candidates []string   `json:"candidates"`
	Deletions  []Deletion `json:"deletions"`
	// Foreign are nodes that another program is deleting.
	Foreign []string `json:"foreign"`
	// Rounds is ebb-kube's last report about the planner's last round.
	Rounds status.Rounds `json:"rounds"`
}

// Deletion is the deletion of one node.
type Deletion struct {
	Node string `json:"node"`
	taint.Mark
}

// statusConfigMap is the default of ebb-kube's flag --status-config-map-name.
const statusConfigMap = "cluster-autoscaler-status"

// ReadStatus reads the marks on the nodes, and the active replica's report about the planner.
func ReadStatus(ctx context.Context, client kubernetes.Interface, namespace, lease, configMap string) (*Status, error) {
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
	s.Rounds = readRounds(ctx, client, namespace, configMap)
	return s, nil
}

// readRounds reads the planner's last round from the status ConfigMap; if that fails, Problem names
// the reason.
func readRounds(ctx context.Context, client kubernetes.Interface, namespace, name string) status.Rounds {
	unknown := func(format string, args ...any) status.Rounds {
		return status.Rounds{Problem: fmt.Sprintf("ConfigMap %s/%s: ", namespace, name) + fmt.Sprintf(format, args...)}
	}
	held, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return unknown("is not there; ebb-kube writes it, but with --feed-only")
	case err != nil:
		return unknown("%v", err)
	case held.Data[status.Key] == "":
		return unknown("has no key %q; is it ebb-kube's?", status.Key)
	}
	var rounds status.Rounds
	if err := yaml.Unmarshal([]byte(held.Data[status.Key]), &rounds); err != nil {
		return unknown("key %q: %v", status.Key, err)
	}
	return rounds
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
	namespace, asJSON, err := statusArguments(args)
	if err != nil {
		return err
	}
	s, err := ReadStatus(ctx, client, namespace, "ebb", statusConfigMap)
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

// statusArguments parses [-n NAMESPACE] [-o json].
func statusArguments(args []string) (namespace string, asJSON bool, err error) {
	namespace = metav1.NamespaceSystem
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if args[i] == "-ojson" {
			name, value, joined = "-o", "json", true
		}
		if !joined && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch {
		case (name == "-n" || name == "--namespace") && value != "":
			namespace = value
		case (name == "-o" || name == "--output") && value == "json":
			asJSON = true
		default:
			return "", false, fmt.Errorf("status: %q is not expected; kubectl ebb status [-n NAMESPACE] [-o json]", args)
		}
	}
	return namespace, asJSON, nil
}

// lastRound describes the planner's last round.
func (s *Status) lastRound() string {
	if s.Rounds.Unremovable == nil {
		return "unremovable nodes: not known: " + s.Rounds.Problem
	}
	return fmt.Sprintf("round of %s, session %s: %v", s.Rounds.Time, s.Rounds.Session, s.Rounds.Unremovable)
}

func (s *Status) print(out io.Writer, now time.Time) error {
	active := s.Active
	if active == "" {
		active = "no replica"
	}
	fmt.Fprintf(out, "%d nodes, %d candidates, %d in deletion; active: %s\n", s.Nodes, len(s.Candidates), len(s.Deletions), active)
	fmt.Fprintln(out, s.lastRound())
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
		fmt.Fprintf(out, "another program is deleting: %s\n", name)
	}
	return nil
}
