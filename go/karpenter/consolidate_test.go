//go:build record

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// generated returns a cluster of bench/lognormal_cluster.py and what its cloud sells.
func generated(t *testing.T, nodes, seed string) (string, []InstanceType) {
	t.Helper()
	folder := t.TempDir()
	cluster, types, prices := filepath.Join(folder, "cluster"), filepath.Join(folder, "types"), filepath.Join(folder, "prices")
	output, err := exec.Command("python3", "../../bench/lognormal_cluster.py", nodes, seed, cluster, types, prices).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	sold, err := readTypes(types, prices)
	if err != nil {
		t.Fatal(err)
	}
	return cluster, sold
}

func TestConsolidationLosesNoPodAndOverfillsNoNode(t *testing.T) {
	for _, policy := range []string{"WhenEmptyOrUnderutilized", "Balanced"} {
		for _, seed := range []string{"1", "2", "3"} {
			cluster, types := generated(t, "30", seed)
			left := filepath.Join(t.TempDir(), "left")
			result, err := consolidate(cluster, types, policy, time.Hour, left)
			if err != nil {
				t.Fatal(err)
			}
			if result.End != "nothing more" || result.CostLeft >= result.Cost {
				t.Errorf("%s, seed %s: it ended with %q, and the cost went from %v to %v", policy, seed, result.End, result.Cost, result.CostLeft)
			}
			objects, err := readObjects(left)
			if err != nil {
				t.Fatal(err)
			}
			free, pods := map[string]corev1.ResourceList{}, 0
			for _, object := range objects {
				if node, ok := object.(*corev1.Node); ok {
					free[node.Name] = node.Status.Allocatable
				}
			}
			for _, object := range objects {
				pod, ok := object.(*corev1.Pod)
				if !ok {
					continue
				}
				pods++
				for name, amount := range pod.Spec.Containers[0].Resources.Requests {
					has := free[pod.Spec.NodeName][name]
					has.Sub(amount)
					if has.Cmp(resource.Quantity{}) < 0 {
						t.Errorf("%s, seed %s: node %q holds more %s than it has", policy, seed, pod.Spec.NodeName, name)
					}
					free[pod.Spec.NodeName][name] = has
				}
			}
			if len(free) != result.NodesLeft || pods != result.Pods {
				t.Errorf("%s, seed %s: %d nodes and %d pods are left of %d and %d", policy, seed, len(free), pods, result.NodesLeft, result.Pods)
			}
		}
	}
}

func TestAPlanThatOverfillsANodeIsRefused(t *testing.T) {
	cluster, types := generated(t, "30", "1")
	objects, err := readObjects(cluster)
	if err != nil {
		t.Fatal(err)
	}
	pods, _ := newPodsByNode(objects)
	type Pod = map[string]string
	type Removal struct {
		Node string `json:"node"`
		Pods []Pod  `json:"pods"`
	}
	var removals []Removal
	for node := range pods {
		if node == "n0" {
			continue
		}
		removal := Removal{Node: node}
		for _, pod := range pods.on(node) {
			removal.Pods = append(removal.Pods, Pod{"namespace": pod.Namespace, "name": pod.Name, "to": "n0"})
		}
		removals = append(removals, removal)
	}
	text, err := json.Marshal(map[string]any{"remove": removals})
	if err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(plan, text, 0o644); err != nil {
		t.Fatal(err)
	}
	result, err := check(cluster, plan, types, newRunningClock())
	if err != nil {
		t.Fatal(err)
	}
	if result.accepted() || len(result.AsPlanned.Unplaced) == 0 {
		t.Errorf("Karpenter accepts that all pods go to one node: %+v", result)
	}
}
