package access_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"ebb/go/kube/access"
	"ebb/go/kube/feed"
	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider/karpenter"
)

// allowing returns a cluster that allows what allowed allows, and serves all kinds except
// `without`.
func allowing(allowed func(*authorizationv1.ResourceAttributes) bool, without ...string) *fakecluster.Cluster {
	c := fakecluster.New()
	c.Client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = allowed(review.Spec.ResourceAttributes)
		return true, review, nil
	})
	resources := map[string][]string{}
	for _, kind := range feed.Kinds {
		if !slices.Contains(without, kind.Resource) {
			version := cmp.Or(kind.GroupVersion, kind.Group()+"/v1")
			resources[version] = append(resources[version], kind.Resource)
		}
	}
	c.Serves(resources)
	return c
}

func everything(*authorizationv1.ResourceAttributes) bool { return true }

func TestMissingRightsAreNamedOneByOne(t *testing.T) {
	c := allowing(func(a *authorizationv1.ResourceAttributes) bool {
		return a.Subresource != "eviction" && (a.Resource != "leases" || a.Verb != "update") && (a.Group != "storage.k8s.io" || a.Verb != "watch")
	})
	_, err := access.Check(t.Context(), c.Client, "https://x", access.Needs{Kinds: feed.Kinds, Namespace: "ebb"})
	if err == nil {
		t.Fatal("nothing was missing")
	}
	for _, want := range []string{
		"create pods/eviction\n", "update leases.coordination.k8s.io in namespace ebb", "watch csinodes.storage.k8s.io", "watch storageclasses.storage.k8s.io",
	} {
		if !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "delete nodes") || strings.Contains(err.Error(), "list pods") {
		t.Errorf("too much: %v", err)
	}
}

// Symptom: ebb-kube did not run for a user who may not list NodeClaims, or fed without them
// silently.
func TestARightThatAnOptionalKindLacksIsANoteAndNoError(t *testing.T) {
	c := allowing(func(a *authorizationv1.ResourceAttributes) bool {
		return a.Group != "karpenter.sh" || a.Verb != "watch"
	})
	notes, err := access.Check(t.Context(), c.Client, "https://x", access.Needs{Kinds: feed.Kinds})
	if err != nil || !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, "watch nodeclaims.karpenter.sh") }) {
		t.Errorf("%v; %v", notes, err)
	}
}

// scheduling.k8s.io/v1 has only PriorityClasses.
func TestAKindIsFoundInTheVersionThatHasIt(t *testing.T) {
	c := fakecluster.New()
	c.Serves(map[string][]string{
		"scheduling.k8s.io/v1": {"priorityclasses"}, "scheduling.k8s.io/v1alpha2": {"podgroups"},
		"resource.k8s.io/v1beta2": {"resourceslices"},
	})
	served, err := feed.Look(c.Client.Discovery(), feed.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, kind := range served.Kinds {
		found[kind.String()] = kind.GroupVersion
	}
	want := map[string]string{
		"PodGroup.scheduling.k8s.io": "scheduling.k8s.io/v1alpha2", "ResourceSlice.resource.k8s.io": "resource.k8s.io/v1beta2",
	}
	if !maps.Equal(found, want) || len(served.Missing) == 0 {
		t.Errorf("%v", found)
	}
}

// What the provider reads right before it acts is no option, even if plans can be made without it.
func TestTheProvidersRightsAndKindsAreNeeded(t *testing.T) {
	needs := access.Needs{Kinds: feed.Kinds, ProviderName: "karpenter", Provider: (*karpenter.Provider)(nil).Rights()}
	c := allowing(func(a *authorizationv1.ResourceAttributes) bool {
		return a.Resource != "nodeclaims" || (a.Verb != "delete" && a.Verb != "list")
	})
	_, err := access.Check(t.Context(), c.Client, "https://x", needs)
	for _, want := range []string{"2 rights are missing", "delete nodeclaims.karpenter.sh", "list nodeclaims.karpenter.sh"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	c = allowing(everything, "nodepools", "nodeclaims")
	_, err = access.Check(t.Context(), c.Client, "https://x", needs)
	if err == nil || !strings.Contains(err.Error(), "what --provider karpenter needs: nodeclaims.v1.karpenter.sh, nodepools.v1.karpenter.sh") {
		t.Errorf("%v", err)
	}
	needs.FeedOnly = true
	if _, err := access.Check(t.Context(), c.Client, "https://x", needs); err != nil {
		t.Errorf("a feeder needs no provider: %v", err)
	}
}

func TestFeedOnlyNeedsReadRightsOnly(t *testing.T) {
	for _, right := range access.Rights(access.Needs{Kinds: feed.Kinds, FeedOnly: true, DeleteNodes: true}) {
		if right.Verb != "list" && right.Verb != "watch" {
			t.Errorf("%v", right)
		}
	}
	if slices.ContainsFunc(access.Rights(access.Needs{Kinds: feed.Kinds}), func(r access.Right) bool { return r.Verb == "delete" }) {
		t.Error("who deletes by a provider of its own may delete")
	}
}

func TestAKindThatMayBeMissingIsLeftOutAndAnotherIsAnError(t *testing.T) {
	c := allowing(everything, "resourceslices", "deviceclasses", "resourceclaims", "resourceclaimtemplates", "devicetaintrules")
	notes, err := access.Check(t.Context(), c.Client, "https://x", access.Needs{Kinds: feed.Kinds})
	if err != nil || len(notes) != 0 {
		t.Errorf("%v, %v", notes, err)
	}
	served, err := access.Served(c.Client.Discovery(), feed.Kinds)
	if err != nil || len(served.Kinds) != len(feed.Kinds)-5 {
		t.Errorf("%v", err)
	}
	c = allowing(everything, "csistoragecapacities")
	if _, err := access.Check(t.Context(), c.Client, "https://x", access.Needs{Kinds: feed.Kinds}); err == nil || !strings.Contains(err.Error(), "csistoragecapacities") {
		t.Errorf("%v", err)
	}
}

func TestAnAPIServerThatIsTooOldIsRefused(t *testing.T) {
	c := allowing(everything)
	server := c.Client.Discovery().(*fakediscovery.FakeDiscovery)
	for _, test := range []struct {
		major, minor string
		refused      bool
	}{{"1", "23", true}, {"1", "21+", true}, {"1", "24", false}, {"1", "36+", false}, {"", "", false}, {"0", "0", false}, {"2", "0", false}} {
		server.FakedServerVersion = &version.Info{Major: test.major, Minor: test.minor}
		err := access.CheckServer(t.Context(), server, "https://x")
		if (err != nil) != test.refused || (err != nil && !strings.Contains(err.Error(), "1."+test.minor)) {
			t.Errorf("%s.%s: %v", test.major, test.minor, err)
		}
	}
}

func TestAKubeconfigThatDoesNotWorkSaysWhy(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, path := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "missing"), "nonsense": write("{"), "empty": write(""),
		"no cluster": write("apiVersion: v1\nkind: Config\ncurrent-context: x\n"),
	} {
		if _, err := access.Connect(path, ""); err == nil || !strings.Contains(err.Error(), "kubeconfig") {
			t.Errorf("%s: %v", name, err)
		}
	}
	denies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer denies.Close()
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: denies.URL})
	if err := access.CheckServer(t.Context(), client.Discovery(), denies.URL); err == nil || !strings.Contains(err.Error(), "rejects the credentials") {
		t.Errorf("%v", err)
	}
	denies.Close()
	if err := access.CheckServer(t.Context(), client.Discovery(), denies.URL); err == nil || !strings.Contains(err.Error(), denies.URL) {
		t.Errorf("%v", err)
	}
}

func TestASilentAPIServerIsAnErrorAfterATimeout(t *testing.T) {
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hangs.Close()
	defer close(release)
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: hangs.URL})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("time is over"))
	defer cancel()
	if err := access.CheckServer(ctx, client.Discovery(), hangs.URL); err == nil || !strings.Contains(err.Error(), "time is over") {
		t.Errorf("%v", err)
	}
}
