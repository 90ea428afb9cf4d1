package groups_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"ebb/go/kube/groups"
	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider"
)

type fixed []provider.Group

func (t fixed) Groups(context.Context, []*corev1.Node) ([]provider.Group, error) { return t, nil }

func labelled(name string, labels ...string) *corev1.Node {
	node := fakecluster.Node(name)
	for i := 0; i < len(labels); i += 2 {
		node.Labels[labels[i]] = labels[i+1]
	}
	return node
}

type file struct {
	NodeGroups []struct {
		Name         string            `json:"name"`
		NodeSelector map[string]string `json:"nodeSelector"`
		MinSize      *int              `json:"minSize"`
		Autoscaled   *bool             `json:"autoscaled"`
	} `json:"nodeGroups"`
}

func TestAProvidersGroupsAreSelectedByLabelsThatNoOtherNodeHas(t *testing.T) {
	nodes := []*corev1.Node{
		labelled("a1", "pool", "a", "os", "linux"), labelled("a2", "pool", "a", "os", "linux"),
		labelled("b1", "zone", "x", "os", "linux", "size", "big"), labelled("b2", "zone", "x", "os", "linux", "size", "big"),
		labelled("other", "zone", "x", "os", "linux"),
	}
	settings, err := groups.FromProvider(t.Context(), fixed{
		{Name: "group-b", Nodes: []string{"b1", "b2"}, MinSize: 1, MaxSize: 3}, {Name: "group-a", Nodes: []string{"a1", "a2"}}, {Name: "empty"},
	}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	var read file
	if err := yaml.Unmarshal([]byte(settings.NodeGroups), &read); err != nil {
		t.Fatal(err)
	}
	if len(read.NodeGroups) != 3 {
		t.Fatalf("%s", settings.NodeGroups)
	}
	a, b, rest := read.NodeGroups[0], read.NodeGroups[1], read.NodeGroups[2]
	if a.Name != "group-a" || a.NodeSelector["pool"] != "a" || len(a.NodeSelector) != 1 {
		t.Errorf("%+v", a)
	}
	if b.Name != "group-b" || b.NodeSelector["size"] != "big" || *b.MinSize != 1 {
		t.Errorf("%+v", b)
	}
	if rest.Autoscaled == nil || *rest.Autoscaled || rest.NodeSelector[corev1.LabelHostname] != "other" {
		t.Errorf("%+v", rest)
	}
	checkByEbb(t, settings.NodeGroups)
}

// checkByEbb makes ebb itself read the file, if the program is available.
func checkByEbb(t *testing.T, text string) {
	t.Helper()
	ebb := os.Getenv("EBB")
	if ebb == "" {
		t.Log("EBB is not set; the file was not read by ebb")
		return
	}
	dir := t.TempDir()
	path, dump := filepath.Join(dir, "groups.yaml"), filepath.Join(dir, "dump.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(ebb, "gen", "company", "--nodes", "20", "--seed", "1", "-o", dump).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(ebb, "plan", dump, "--node-groups", path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestGroupsThatNoLabelDistinguishesAreAnError(t *testing.T) {
	nodes := []*corev1.Node{labelled("a", "os", "linux"), labelled("b", "os", "linux"), labelled("c", "os", "linux")}
	if _, err := groups.FromProvider(t.Context(), fixed{{Name: "x", Nodes: []string{"a", "b"}}}, nodes); err == nil || !strings.Contains(err.Error(), "group x") {
		t.Errorf("%v", err)
	}
	twice := fixed{{Name: "x", Nodes: []string{"a"}}, {Name: "y", Nodes: []string{"a"}}}
	if _, err := groups.FromProvider(t.Context(), twice, nodes); err == nil || !strings.Contains(err.Error(), "two groups") {
		t.Errorf("%v", err)
	}
}

func TestTheFirstLabelThatNamesAGroupCounts(t *testing.T) {
	if got := groups.OfLabels(labelled("a", "nodegroup", "last", "eks.amazonaws.com/nodegroup", "first")); got != "first" {
		t.Error(got)
	}
	if got := groups.OfLabels(labelled("a")); got != "" {
		t.Error(got)
	}
}
