// Package access connects to a cluster and checks, before anything is changed, what would fail
// later: a kubeconfig that does not work, an API server that is too old, missing rights.
package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"ebb/go/kube/feed"
)

// OldestMinor is the oldest supported API server, as the minor version of 1.x. The newest API that
// ebb-kube needs is CSIStorageCapacity in storage.k8s.io/v1.
const OldestMinor = 24

// Connect reads a kubeconfig: the given file or, for "", the file that kubectl would use or, inside
// a pod, its service account. Errors name the file.
func Connect(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	if kubeconfig != "" {
		if _, err := os.Stat(kubeconfig); err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		where := kubeconfig
		if where == "" {
			where = strings.Join(rules.Precedence, ", ")
		}
		return nil, fmt.Errorf("kubeconfig %s: %w", where, err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.UserAgent = "ebb-kube"
	return config, nil
}

// CheckServer returns an error if the API server does not answer, rejects the caller, or is too
// old. A server whose version is not a number (a custom build) is accepted.
func CheckServer(ctx context.Context, client discovery.DiscoveryInterface, host string) error {
	type answer struct {
		major, minor string
		err          error
	}
	answers := make(chan answer, 1)
	go func() {
		version, err := client.ServerVersion()
		if err != nil {
			answers <- answer{err: err}
			return
		}
		answers <- answer{major: version.Major, minor: version.Minor}
	}()
	var got answer
	select {
	case <-ctx.Done():
		return fmt.Errorf("API server %s: did not answer: %w", host, context.Cause(ctx))
	case got = <-answers:
	}
	switch {
	case apierrors.IsUnauthorized(got.err):
		return fmt.Errorf("API server %s: rejects the credentials (%w); is the kubeconfig's user still valid?", host, got.err)
	case got.err != nil:
		return fmt.Errorf("API server %s: %w", host, got.err)
	}
	major, err := strconv.Atoi(got.major)
	minor, also := strconv.Atoi(digits.FindString(got.minor))
	if err != nil || also != nil || major == 0 {
		return nil
	}
	if major == 1 && minor < OldestMinor {
		return fmt.Errorf("API server %s: is version %s.%s, and 1.%d at least is needed", host, got.major, got.minor, OldestMinor)
	}
	return nil
}

var digits = regexp.MustCompile(`^\d+`)

// Served returns which of the kinds the API server serves. The error names a required kind that it
// does not serve.
func Served(client discovery.DiscoveryInterface, kinds []*feed.Kind) (*feed.Served, error) {
	served, err := feed.Look(client, kinds)
	if err != nil {
		return nil, err
	}
	for kind, err := range served.Unknown {
		if !kind.Optional {
			return nil, err
		}
	}
	for _, kind := range served.Missing {
		return nil, fmt.Errorf("the API server does not serve %s of %s: it is too old", kind.Resource, kind.GroupVersion)
	}
	return served, nil
}

// Right is a right that ebb-kube needs.
type Right struct {
	Verb, Group, Resource, Subresource string
	// Version of the group that must serve the resource; "" means any.
	Version string
	// Namespace in which the right is needed; "" means in all of them.
	Namespace string
	// Optional: without this right plans are made too, and they name what is missing.
	Optional bool
}

func (r Right) String() string {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Namespace != "" {
		return fmt.Sprintf("%s %s in namespace %s", r.Verb, resource, r.Namespace)
	}
	return fmt.Sprintf("%s %s", r.Verb, resource)
}

// Needs describes what rights are needed for.
type Needs struct {
	Kinds []*feed.Kind
	// FeedOnly: ebb-kube changes nothing in the cluster.
	FeedOnly bool
	// DeleteNodes: the provider is node-object.
	DeleteNodes bool
	// Provider are the rights that the provider needs, about kinds that the API server must serve.
	Provider []Right
	// ProviderName is the provider's name, for messages.
	ProviderName string
	// Namespace of the lease and of the status ConfigMap.
	Namespace string
}

// Rights returns the smallest sufficient set of rights.
func Rights(n Needs) []Right {
	var rights []Right
	owners := map[string]bool{"replicasets": true, "statefulsets": true, "daemonsets": true, "jobs": true, "replicationcontrollers": true}
	for _, kind := range n.Kinds {
		verbs := []string{"list", "watch"}
		if !n.FeedOnly && owners[kind.Resource] {
			verbs = append(verbs, "get") // Read right before a drain.
		}
		for _, verb := range verbs {
			rights = append(rights, Right{Verb: verb, Group: kind.Group(), Resource: kind.Resource, Optional: kind.Optional})
		}
	}
	if n.FeedOnly {
		return rights
	}
	rights = append(rights,
		Right{Verb: "get", Resource: "nodes"},
		Right{Verb: "update", Resource: "nodes"},
		Right{Verb: "create", Resource: "pods", Subresource: "eviction"},
		Right{Verb: "create", Resource: "events"},
		Right{Verb: "patch", Resource: "events"},
		Right{Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Namespace: n.Namespace},
		Right{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: n.Namespace},
		Right{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: n.Namespace},
		Right{Verb: "get", Resource: "configmaps", Namespace: n.Namespace},
		Right{Verb: "create", Resource: "configmaps", Namespace: n.Namespace},
		Right{Verb: "update", Resource: "configmaps", Namespace: n.Namespace},
	)
	if n.DeleteNodes {
		rights = append(rights, Right{Verb: "delete", Resource: "nodes"})
	}
	for _, right := range n.Provider {
		// What the provider needs is not optional, even if plans could be made without it.
		rights = slices.DeleteFunc(rights, func(other Right) bool {
			return other.Verb == right.Verb && other.Group == right.Group && other.Resource == right.Resource && other.Subresource == right.Subresource
		})
		rights = append(rights, right)
	}
	return rights
}

// checkProviderKinds returns an error that names each kind that the provider needs and the API
// server does not serve.
func checkProviderKinds(client discovery.DiscoveryInterface, n Needs) error {
	if n.FeedOnly || len(n.Provider) == 0 {
		return nil
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return fmt.Errorf("listing the kinds of the API server: %w", err)
	}
	served := func(right Right) bool {
		return slices.ContainsFunc(lists, func(list *metav1.APIResourceList) bool {
			group, version, _ := strings.Cut(list.GroupVersion, "/")
			return group == right.Group && (right.Version == "" || right.Version == version) &&
				slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == right.Resource })
		})
	}
	var missing []string
	for _, right := range n.Provider {
		name := right.Resource + "." + right.Group
		if right.Version != "" {
			name = right.Resource + "." + right.Version + "." + right.Group
		}
		if !served(right) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the API server does not serve what --provider %s needs: %s", n.ProviderName, strings.Join(missing, ", "))
}

// Missing returns the rights that the caller lacks. It sends one request to the API server for each
// right.
func Missing(ctx context.Context, client kubernetes.Interface, rights []Right) ([]Right, error) {
	var missing []Right
	for _, right := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: right.Verb, Group: right.Group, Resource: right.Resource,
				Subresource: right.Subresource, Namespace: right.Namespace,
			},
		}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("checking the right to %v: %w", right, err)
		}
		if !answer.Status.Allowed {
			missing = append(missing, right)
		}
	}
	return missing, nil
}

// MissingError returns an error that names each missing right, or nil if none is missing.
func MissingError(missing []Right) error {
	if len(missing) == 0 {
		return nil
	}
	lines := make([]string, 0, len(missing))
	for _, right := range missing {
		lines = append(lines, "  "+right.String())
	}
	return fmt.Errorf("%d rights are missing:\n%s", len(missing), strings.Join(lines, "\n"))
}

// Check makes all checks: the server, the kinds that it serves, the rights. It returns one line for
// each optional kind that is served but cannot be fed; answers of ebb name these kinds too.
func Check(ctx context.Context, client kubernetes.Interface, host string, needs Needs) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("no answer within 30 s"))
	defer cancel()
	if err := CheckServer(ctx, client.Discovery(), host); err != nil {
		return nil, err
	}
	served, err := Served(client.Discovery(), needs.Kinds)
	if err != nil {
		return nil, err
	}
	if err := checkProviderKinds(client.Discovery(), needs); err != nil {
		return nil, err
	}
	var notes []string
	for kind, err := range served.Unknown {
		notes = append(notes, fmt.Sprintf("whether the API server has %v is not known: %v", kind, err))
	}
	needs.Kinds = served.Kinds
	missing, err := Missing(ctx, client, Rights(needs))
	if err != nil {
		return nil, err
	}
	var needed []Right
	for _, right := range missing {
		if right.Optional {
			notes = append(notes, fmt.Sprintf("the right to %v is missing: plans are made without them, and say so", right))
		} else {
			needed = append(needed, right)
		}
	}
	slices.Sort(notes)
	return notes, MissingError(needed)
}
