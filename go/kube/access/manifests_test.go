package access_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"

	"ebb/go/kube/access"
	"ebb/go/kube/feed"
	"ebb/go/kube/provider/clusterapi"
	"ebb/go/kube/provider/karpenter"
)

// granted returns the rights that manifests grant, one on each line.
func granted(t *testing.T, text []byte) []string {
	t.Helper()
	found := map[string]bool{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role struct {
			Kind  string              `json:"kind"`
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		if err := decoder.Decode(&role); err == io.EOF {
			return slices.Sorted(maps.Keys(found))
		} else if err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						found[fmt.Sprintf("%s: %s %s %s", role.Kind, verb, group, resource)] = true
					}
				}
			}
		}
	}
}

func needed(n access.Needs) []string {
	found := map[string]bool{}
	for _, right := range access.Rights(n) {
		kind, resource := "ClusterRole", right.Resource
		if right.Namespace != "" {
			kind = "Role"
		}
		if right.Subresource != "" {
			resource += "/" + right.Subresource
		}
		found[fmt.Sprintf("%s: %s %s %s", kind, right.Verb, right.Group, resource)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for _, right := range want {
		if !slices.Contains(got, right) {
			t.Errorf("not granted: %s", right)
		}
	}
	for _, right := range got {
		if !slices.Contains(want, right) {
			t.Errorf("granted and not needed: %s", right)
		}
	}
}

const packaging = "../../../packaging"

func TestTheManifestsGrantExactlyTheNeededRights(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(packaging, "kustomize/base/rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, granted(t, text), needed(access.Needs{Kinds: feed.Kinds, DeleteNodes: true, Namespace: "ebb-system"}))
}

// deletes reports whether a patch of an overlay deletes an object.
func deletes(t *testing.T, patch, object string) bool {
	t.Helper()
	type named struct {
		Patch    string `json:"$patch"`
		Kind     string
		Metadata struct{ Name string }
	}
	var wanted, held named
	// A patch that is a list of operations deletes nothing.
	if sigsyaml.Unmarshal([]byte(patch), &wanted) != nil || wanted.Patch != "delete" {
		return false
	}
	if err := sigsyaml.Unmarshal([]byte(object), &held); err != nil {
		t.Fatal(err)
	}
	return wanted.Kind == held.Kind && wanted.Metadata.Name == held.Metadata.Name
}

// overlays are the kustomize overlays that have another provider than the base.
var overlays = map[string][]access.Right{
	"karpenter": (*karpenter.Provider)(nil).Rights(), "cluster-api": (*clusterapi.Provider)(nil).Rights(),
}

func TestTheOverlaysGrantExactlyTheNeededRights(t *testing.T) {
	base, err := os.ReadFile(filepath.Join(packaging, "kustomize/base/rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, rights := range overlays {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(packaging, "kustomize", name, "kustomization.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var overlay struct {
				Resources []string
				Patches   []struct{ Patch string }
			}
			if err := sigsyaml.Unmarshal(text, &overlay); err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, part := range strings.Split("\n"+string(base), "\n---\n") {
				isDeleted := func(patch struct{ Patch string }) bool { return deletes(t, patch.Patch, part) }
				if !slices.ContainsFunc(overlay.Patches, isDeleted) {
					parts = append(parts, part)
				}
			}
			if want := []string{"../base", "role.yaml"}; !slices.Equal(overlay.Resources, want) {
				t.Errorf("%v", overlay.Resources)
			}
			role, err := os.ReadFile(filepath.Join(packaging, "kustomize", name, "role.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(append(parts, string(role)), "\n---\n")
			compare(t, granted(t, []byte(all)), needed(access.Needs{Kinds: feed.Kinds, Namespace: "ebb-system", Provider: rights}))
		})
	}
}

// render renders the chart's templates, which use only a few features of helm.
func render(t *testing.T, feedOnly bool, provider, nodeGroups string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(packaging, "helm/ebb/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := sigsyaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	values["feedOnly"], values["provider"], values["nodeGroups"] = feedOnly, provider, nodeGroups
	values["providerArgs"] = []any{"--exec-timeout=1m"}
	values["nodeSelector"] = map[string]any{"pool": "system"}
	values["serviceAccount"] = map[string]any{"annotations": map[string]any{"role": "x"}}
	functions := template.FuncMap{
		"quote": strconv.Quote,
		"int":   func(number float64) int { return int(number) },
		"fail":  func(why string) (string, error) { return "", errors.New(why) },
		"toYaml": func(value any) (string, error) {
			text, err := sigsyaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"nindent": func(by int, text string) string {
			indent := "\n" + strings.Repeat(" ", by)
			return indent + strings.ReplaceAll(text, "\n", indent)
		},
	}
	chart, err := template.New("").Funcs(functions).ParseGlob(filepath.Join(packaging, "helm/ebb/templates/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, name := range []string{"rbac.yaml", "deployment.yaml"} {
		out.WriteString("---\n")
		data := map[string]any{"Values": values, "Release": map[string]any{"Name": "ebb", "Namespace": "ns"}}
		if err := chart.ExecuteTemplate(&out, name, data); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	return out.Bytes()
}

func TestTheChartGrantsExactlyTheNeededRights(t *testing.T) {
	for name, test := range map[string]struct {
		feedOnly bool
		provider string
		needs    access.Needs
	}{
		"feed only":    {true, "node-object", access.Needs{Kinds: feed.Kinds, FeedOnly: true}},
		"node-object":  {false, "node-object", access.Needs{Kinds: feed.Kinds, DeleteNodes: true, Namespace: "ns"}},
		"externalgrpc": {false, "externalgrpc", access.Needs{Kinds: feed.Kinds, Namespace: "ns"}},
		"karpenter":    {false, "karpenter", access.Needs{Kinds: feed.Kinds, Namespace: "ns", Provider: overlays["karpenter"]}},
		"cluster-api":  {false, "cluster-api", access.Needs{Kinds: feed.Kinds, Namespace: "ns", Provider: overlays["cluster-api"]}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, granted(t, render(t, test.feedOnly, test.provider, "")), needed(test.needs))
		})
	}
}

// deploymentOf returns the Deployment in manifests, each of which must be a known Kubernetes
// object.
func deploymentOf(t *testing.T, text []byte) *appsv1.Deployment {
	t.Helper()
	var found *appsv1.Deployment
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, part := range strings.Split("\n"+string(text), "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		object, _, err := strict.Decode([]byte(part), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		if deployment, ok := object.(*appsv1.Deployment); ok {
			found = deployment
		}
	}
	if found == nil {
		t.Fatal("no Deployment")
	}
	return found
}

// checkPod checks that the pod runs as user nobody, and that every mount has its volume.
func checkPod(t *testing.T, spec *corev1.PodSpec, containers int) {
	t.Helper()
	if len(spec.Containers) != containers || !*spec.SecurityContext.RunAsNonRoot {
		t.Errorf("%d containers", len(spec.Containers))
	}
	for _, container := range append(spec.InitContainers, spec.Containers...) {
		if security := container.SecurityContext; security == nil || !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation {
			t.Errorf("%s: %+v", container.Name, security)
		}
		for _, mount := range container.VolumeMounts {
			if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
				t.Errorf("%s mounts %s, which is no volume", container.Name, mount.Name)
			}
		}
	}
}

func TestTheDeploymentsAreValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(packaging, "kustomize/base/deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checkPod(t, &deploymentOf(t, text).Spec.Template.Spec, 3)
	acts := deploymentOf(t, render(t, false, "exec", "nodeGroups:\n- name: x"))
	checkPod(t, &acts.Spec.Template.Spec, 3)
	args := acts.Spec.Template.Spec.Containers[1].Args
	for _, want := range []string{"--provider=exec", "--exec-timeout=1m", "--node-groups=/etc/ebb/groups.yaml", "--namespace=$(NAMESPACE)"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is not in %v", want, args)
		}
	}
	feeds := deploymentOf(t, render(t, true, "node-object", ""))
	checkPod(t, &feeds.Spec.Template.Spec, 2)
	if args := feeds.Spec.Template.Spec.Containers[1].Args; !slices.Contains(args, "--feed-only") || *feeds.Spec.Replicas != 1 {
		t.Errorf("%v", args)
	}
}
