package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/e2e/workload"
)

// block returns the first code block after a text of a page.
func block(t *testing.T, path, after string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), after)
	if !found {
		t.Fatalf("%s has no %q", path, after)
	}
	_, rest, found = strings.Cut(rest, "```\n")
	code, _, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		t.Fatalf("%s has no block of code behind %q", path, after)
	}
	return code
}

// toolsBeside makes a folder with kubectl and ebb, for use in PATH.
func toolsBeside(t *testing.T, ebb string) string {
	t.Helper()
	dir := t.TempDir()
	absolute, err := filepath.Abs(ebb)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(absolute, filepath.Join(dir, "ebb")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "kubectl"), "k8s.io/kubernetes/cmd/kubectl")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("kubectl: %v\n%s", err, output)
	}
	return dir
}

// The lines of README.md and docs/by-hand.md shrink a cluster, starting with its dump. The script that ebb prints carries the plan out.
// They move pods with an emptyDir in memory, which drain rejects without a flag. They also move
// pods that are spread over nodes, which would fit nowhere if a cordoned node counted as a domain.
func TestTheLoopByHandOfTheDocs(t *testing.T) {
	ebb := ebbProgram(t)
	dump, _, _ := strings.Cut(block(t, "../../README.md", "Your own cluster:"), "ebb plan")
	// `less` is for people.
	carry := strings.ReplaceAll(block(t, "../../docs/by-hand.md", "# Carry a plan out by hand"), "less ", "cat ")

	c := newCluster(t, "by-hand", machines("general", 9))
	c.must(workload.DaemonSet(c.ctx, client, metav1.NamespaceSystem, workload.App{Name: "agent", CPU: "50m"}))
	t.Cleanup(func() {
		// The test's own context has already ended.
		_ = client.AppsV1().DaemonSets(metav1.NamespaceSystem).Delete(context.Background(), "agent", metav1.DeleteOptions{})
	})
	for _, app := range []workload.App{
		{Name: "scratch", Replicas: 6, CPU: "300m", MemoryVolume: true},
		{Name: "spread", Replicas: 5, CPU: "200m", SpreadNodes: true},
		{Name: "zones", Replicas: 6, CPU: "200m", SpreadZones: true},
	} {
		c.must(workload.Deployment(c.ctx, client, c.namespace, app))
		c.must(workload.Budget(c.ctx, client, c.namespace, app.Name, 3))
	}
	c.waitReady()
	c.eventually("every node has its agent", func() bool {
		agents, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(c.ctx, metav1.ListOptions{})
		c.must(err)
		return len(agents.Items) == 9 && !slices.ContainsFunc(agents.Items, func(pod corev1.Pod) bool { return !workload.IsReady(&pod) })
	})
	judge := c.watchBudgets()

	tools := toolsBeside(t, ebb)
	dir := t.TempDir()
	script := "set -eu\n" + dump + "ebb plan cluster.json -o name | sed 's/^/planned /'\n" + carry
	shell := exec.CommandContext(c.ctx, "bash", "-c", script)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "CHECK_SECONDS=1", "PATH="+tools+":"+os.Getenv("PATH"), "KUBECONFIG="+plane.Kubeconfig)
	output, err := shell.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Fatal(err)
	}
	var planned []string
	for line := range strings.Lines(string(output)) {
		if name, found := strings.CutPrefix(line, "planned node/"); found {
			planned = append(planned, strings.TrimSpace(name))
		}
	}
	if len(planned) < 2 {
		t.Errorf("%d nodes went; a plan of two or more shows something", len(planned))
	}
	c.waitReady() // No pod is left without a place.
	left, err := client.CoreV1().Nodes().List(c.ctx, metav1.ListOptions{})
	c.must(err)
	if len(left.Items) != 9-len(planned) {
		t.Errorf("%d nodes are left of 9, after %d went", len(left.Items), len(planned))
	}
	for _, node := range left.Items {
		if slices.Contains(planned, node.Name) || node.Spec.Unschedulable {
			t.Errorf("node %s is still there, or cordoned", node.Name)
		}
	}
	if report := judge(); report.Evictions == 0 {
		t.Error("nothing was evicted, so that the test shows nothing")
	}
}
