package status_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"sigs.k8s.io/yaml"

	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/status"
	"ebb/go/kube/taint"
)

// written is the part of the autoscaler's format that is checked here.
type written struct {
	AutoscalerStatus string `json:"autoscalerStatus"`
	ClusterWide      struct {
		Health struct {
			Status     string `json:"status"`
			NodeCounts struct {
				Registered struct {
					Total, Ready, BeingDeleted int
					Unready                    struct{ Total int }
				} `json:"registered"`
			} `json:"nodeCounts"`
		} `json:"health"`
		ScaleDown struct {
			Status             string    `json:"status"`
			Candidates         int       `json:"candidates"`
			LastProbeTime      time.Time `json:"lastProbeTime"`
			LastTransitionTime time.Time `json:"lastTransitionTime"`
		} `json:"scaleDown"`
	} `json:"clusterWide"`
	NodeGroups []struct {
		Name      string `json:"name"`
		ScaleDown struct {
			Candidates int `json:"candidates"`
		} `json:"scaleDown"`
	} `json:"nodeGroups"`
}

func TestTheConfigMapMatchesTheNodes(t *testing.T) {
	going, candidate, unready := fakecluster.Node("going"), fakecluster.Node("candidate"), fakecluster.Node("unready")
	going.Spec.Taints = []corev1.Taint{{Key: taint.Hard}}
	candidate.Spec.Taints = []corev1.Taint{{Key: taint.Soft}}
	unready.Status.Conditions = nil
	c := fakecluster.New(going, candidate, unready, fakecluster.Node("plain"))
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	lister := factory.Core().V1().Nodes().Lister()
	factory.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(context.Background())
	c.StartInformers(ctx, t, factory)
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	now := time.Unix(1_700_000_000, 0)
	writer := &status.Writer{
		Client: c.Client, Nodes: lister, Namespace: "kube-system", Name: "cluster-autoscaler-status",
		Rounds: func(context.Context) status.Rounds { return status.Rounds{Session: "prod", Problem: "away"} },
		Now:    func() time.Time { return now }, GroupOf: func(n *corev1.Node) string { return strings.Trim(n.Name[:1], "u") },
	}
	for range 2 {
		if err := writer.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(10 * time.Second)
	}
	held, err := c.Client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "cluster-autoscaler-status", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got written
	if err := yaml.UnmarshalStrict([]byte(held.Data["status"]), &map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(held.Data["status"]), &got); err != nil {
		t.Fatal(err)
	}
	nodes, down := got.ClusterWide.Health.NodeCounts.Registered, got.ClusterWide.ScaleDown
	if got.AutoscalerStatus != "Running" || got.ClusterWide.Health.Status != "Healthy" ||
		nodes.Total != 4 || nodes.Ready != 2 || nodes.BeingDeleted != 1 || nodes.Unready.Total != 1 {
		t.Errorf("%s", held.Data["status"])
	}
	// The candidates came with the first write and still existed at the second.
	if down.Status != "CandidatesPresent" || down.Candidates != 1 || down.LastProbeTime.Sub(down.LastTransitionTime) != 10*time.Second {
		t.Errorf("%+v", down)
	}
	if len(got.NodeGroups) != 3 || got.NodeGroups[0].Name != "c" || got.NodeGroups[0].ScaleDown.Candidates != 1 {
		t.Errorf("%+v", got.NodeGroups)
	}
	if want := "problem: away\nsession: prod\n"; held.Data[status.Key] != want {
		t.Errorf("%q", held.Data[status.Key])
	}
	if !strings.HasSuffix(held.Annotations[status.LastUpdated], "UTC") {
		t.Errorf("%v", held.Annotations)
	}
}
