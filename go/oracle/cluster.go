package main

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a Kubernetes object with its apiVersion and kind filled in.
type Object interface {
	runtime.Object
	metav1.Object
}

// Request is one line for `ebb filter --stdin`: a whole cluster, and the pods to ask about.
// README.md defines the protocol.
type Request struct {
	ID      int      `json:"id"`
	Objects []Object `json:"objects"`
	Pods    []string `json:"pods"`             // "namespace/name"
	Scores  bool     `json:"scores,omitempty"` // Also return scores of the nodes that fit.
	// Version of the rules: "1.36", "1.37"; empty means 1.36.
	Kubernetes string `json:"kubernetesVersion,omitempty"`
}

// Verdict is whether one node accepts one pod, and if not, which plugin rejects it and why.
type Verdict struct {
	Node    string   `json:"node"`
	Fits    bool     `json:"fits"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`

	// The score of each plugin for a node that fits, normalized and weighted as the framework adds
	// them, and their sum. A plugin that is missing counts as 0. Nil if no scores were requested.
	Scores map[string]int64 `json:"scores,omitempty"`
	Total  int64            `json:"total,omitempty"`

	// Failed marks a plugin that could not decide (the framework's status code Error, or terms that
	// do not parse). The pod does not fit, but the text is a Go error and is not compared. Only the
	// scheduler's side sets it.
	Failed bool `json:"failed,omitempty"`
}

// PodVerdicts are the verdicts on one pod, in the order in which the request lists the nodes.
type PodVerdicts struct {
	Pod   string    `json:"pod"`
	Nodes []Verdict `json:"nodes"`

	// Plugins whose scores are not compared, with the reason (leftOut). Only the scheduler's side
	// sets it.
	LeftOut map[string]string `json:"leftOut,omitempty"`
	// The scheduler cannot score this pod at all: a plugin failed.
	Unscored bool `json:"unscored,omitempty"`
}

// Response is the answer to the request with the same id; either Results or Error is set.
type Response struct {
	ID      int           `json:"id"`
	Results []PodVerdicts `json:"results,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// newObjectOfKind has every kind that a request may contain.
var newObjectOfKind = map[string]func() Object{
	"Node":                  func() Object { return &v1.Node{} },
	"Pod":                   func() Object { return &v1.Pod{} },
	"Namespace":             func() Object { return &v1.Namespace{} },
	"PersistentVolume":      func() Object { return &v1.PersistentVolume{} },
	"PersistentVolumeClaim": func() Object { return &v1.PersistentVolumeClaim{} },
	"StorageClass":          func() Object { return &storagev1.StorageClass{} },
	"CSINode":               func() Object { return &storagev1.CSINode{} },
	"CSIDriver":             func() Object { return &storagev1.CSIDriver{} },
	"CSIStorageCapacity":    func() Object { return &storagev1.CSIStorageCapacity{} },
	"VolumeAttachment":      func() Object { return &storagev1.VolumeAttachment{} },
	"Service":               func() Object { return &v1.Service{} },
	"ReplicationController": func() Object { return &v1.ReplicationController{} },
	"ReplicaSet":            func() Object { return &appsv1.ReplicaSet{} },
	"StatefulSet":           func() Object { return &appsv1.StatefulSet{} },
	"DeviceClass":           func() Object { return &resourceapi.DeviceClass{} },
	"ResourceClaim":         func() Object { return &resourceapi.ResourceClaim{} },
	"ResourceSlice":         func() Object { return &resourceapi.ResourceSlice{} },

	"KubeSchedulerConfiguration": func() Object { return &unstructured.Unstructured{} },
}

// UnmarshalJSON reads a request whose objects name their kind.
func (r *Request) UnmarshalJSON(data []byte) error {
	var raw struct {
		ID      int               `json:"id"`
		Objects []json.RawMessage `json:"objects"`
		Pods    []string          `json:"pods"`
		Scores  bool              `json:"scores"`
		Version string            `json:"kubernetesVersion"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*r = Request{ID: raw.ID, Pods: raw.Pods, Scores: raw.Scores, Kubernetes: raw.Version}
	for i, text := range raw.Objects {
		var meta metav1.TypeMeta
		if err := json.Unmarshal(text, &meta); err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
		create, known := newObjectOfKind[meta.Kind]
		if !known {
			return fmt.Errorf("objects[%d].kind: %q is not a kind of this protocol", i, meta.Kind)
		}
		object := create()
		if err := json.Unmarshal(text, object); err != nil {
			return fmt.Errorf("objects[%d]: %w", i, err)
		}
		r.Objects = append(r.Objects, object)
	}
	return nil
}

func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// isPlaced reports whether a pod takes room on a node: it is bound or nominated, and has not ended.
// Cluster Autoscaler fills its snapshot in the same way (PredicateSnapshot.SetClusterState over
// lists without Succeeded and Failed pods).
func isPlaced(pod *v1.Pod) bool { return nodeOf(pod) != "" && !hasEnded(pod) }

func nodeOf(pod *v1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return pod.Status.NominatedNodeName
}

func hasEnded(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}
