package access_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"ebb/go/kube/access"
	"ebb/go/kube/feed"
)

// granted are the rights that manifests give, a line each.
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

func TestTheManifestsGrantWhatIsNeededAndNoMore(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(packaging, "kustomize/base/rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, granted(t, text), needed(access.Needs{Kinds: feed.Kinds, DeleteNodes: true, Namespace: "ebb-system"}))
}

// The chart's templates have no logic within rules but the two conditions that are played here.
func TestTheChartGrantsWhatIsNeededAndNoMore(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(packaging, "helm/ebb/templates/rbac.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		feedOnly, nodeObject bool
		needs                access.Needs
	}{
		"feed only":    {true, false, access.Needs{Kinds: feed.Kinds, FeedOnly: true}},
		"node-object":  {false, true, access.Needs{Kinds: feed.Kinds, DeleteNodes: true, Namespace: "ns"}},
		"externalgrpc": {false, false, access.Needs{Kinds: feed.Kinds, Namespace: "ns"}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, granted(t, play(t, string(text), test.feedOnly, test.nodeObject)), needed(test.needs))
		})
	}
}

// play does what helm does with the conditions, and leaves every other line with an action out.
func play(t *testing.T, text string, feedOnly, nodeObject bool) []byte {
	t.Helper()
	var out strings.Builder
	var taken []bool
	for line := range strings.Lines(text) {
		switch action := strings.TrimSpace(line); {
		case strings.Contains(action, "if not .Values.feedOnly"):
			taken = append(taken, !feedOnly)
		case strings.Contains(action, `if eq .Values.provider "node-object"`):
			taken = append(taken, nodeObject)
		case strings.HasPrefix(action, "{{- with"), strings.HasPrefix(action, "{{- if"):
			taken = append(taken, false)
		case strings.HasPrefix(action, "{{- end"):
			taken = taken[:len(taken)-1]
		case slices.Contains(taken, false), strings.Contains(action, "{{"):
		default:
			out.WriteString(line)
		}
	}
	if len(taken) != 0 {
		t.Fatal("the template's conditions do not end")
	}
	return []byte(out.String())
}
