package provider_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/provider"
)

var getOptions metav1.GetOptions

func nodesNamed(names ...string) []*corev1.Node {
	var nodes []*corev1.Node
	for _, name := range names {
		nodes = append(nodes, fakecluster.Node(name))
	}
	return nodes
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "delete.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExecGivesTheCommandItsNodesAsJSON(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.json")
	p := &provider.Exec{Command: []string{script(t, `cat > "$1"`), out}}
	if err := p.Delete(t.Context(), "pool", nodesNamed("a", "b")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var request provider.Request
	if err := json.Unmarshal(text, &request); err != nil {
		t.Fatal(err)
	}
	if request.APIVersion != "ebb/v1alpha1" || request.Kind != "DeleteNodes" || request.Group != "pool" || len(request.Nodes) != 2 {
		t.Errorf("%+v", request)
	}
	if first := request.Nodes[0]; first.Name != "a" || first.UID != "uid-a" || first.ProviderID != "fake:///a" || first.Labels[corev1.LabelHostname] != "a" {
		t.Errorf("%+v", first)
	}
}

func TestExecReturnsTheStderrOfTheCommand(t *testing.T) {
	for text, want := range map[string]string{
		"cat >/dev/null; echo no such pool >&2; exit 3": "exit status 3: no such pool",
		"sleep 20": "did not end within",
	} {
		p := &provider.Exec{Command: []string{script(t, text)}, Timeout: 200 * time.Millisecond}
		if err := p.Delete(t.Context(), "pool", nodesNamed("a")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	p := &provider.Exec{Command: []string{"/no/such/program"}}
	if err := p.Delete(t.Context(), "pool", nodesNamed("a")); err == nil {
		t.Error("a program that is not there was run")
	}
}

func TestNodeObjectDeletesOnlyThatMachine(t *testing.T) {
	c := fakecluster.New(fakecluster.Node("a"), fakecluster.Node("b"))
	p := &provider.NodeObject{Client: c.Client}
	other := fakecluster.Node("b")
	other.UID = "another"
	if err := p.Delete(t.Context(), "", []*corev1.Node{fakecluster.Node("a"), other, fakecluster.Node("gone")}); err == nil || !strings.Contains(err.Error(), "node b") {
		t.Errorf("%v", err)
	}
	if c.GetNode(t, "b") == nil {
		t.Error("another machine was deleted")
	}
	if _, err := c.Client.CoreV1().Nodes().Get(t.Context(), "a", getOptions); err == nil {
		t.Error("a is there")
	}
}

func TestGrowthAndDeletionsHaveDifferentCommands(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.json")
	p := &provider.Exec{Command: []string{"/no/such/program"}, GrowCommand: []string{script(t, `cat > "$1"`), out}}
	if !p.CanGrow() {
		t.Error("it says that it cannot")
	}
	if err := p.Grow(t.Context(), "pool", 7); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil || string(text) != `{"apiVersion":"ebb/v1alpha1","kind":"GrowGroup","group":"pool","size":7}` {
		t.Errorf("%s %v", text, err)
	}
	p.GrowCommand = []string{script(t, "cat >/dev/null; echo quota is spent >&2; exit 4")}
	if err := p.Grow(t.Context(), "pool", 7); err == nil || !strings.Contains(err.Error(), "exit status 4: quota is spent") {
		t.Errorf("%v", err)
	}
	if (&provider.Exec{Command: []string{"/bin/true"}}).CanGrow() {
		t.Error("the command for deletions would be asked to make machines")
	}
	if _, grows := provider.Provider(&provider.NodeObject{}).(provider.Grower); grows {
		t.Error("Nodes without machines would be made")
	}
}
