package wire

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var update = flag.Bool("update", false, "write the fixtures again")

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

func pointer[T any](value T) *T { return &value }

// typicalPod returns a running pod of a Deployment, with one container and its service account's
// token, as the API server stores it.
func typicalPod() *v1.Pod {
	created := metav1.NewTime(time.Unix(1_767_323_045, 0))
	managed := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &created,
			FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
		}
	}
	requests := v1.ResourceList{v1.ResourceCPU: *quantity("250m"), v1.ResourceMemory: *quantity("512Mi")}
	limits := v1.ResourceList{v1.ResourceCPU: *quantity("500m"), v1.ResourceMemory: *quantity("512Mi")}
	condition := func(kind v1.PodConditionType) v1.PodCondition {
		return v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: created, ObservedGeneration: 1}
	}
	notReady := func(key string) v1.Toleration {
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: pointer(int64(300))}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "checkout-7d9f8b6c54-x2x4q", GenerateName: "checkout-7d9f8b6c54-", Namespace: "shop",
			UID: "0b7a4c1e-52f0-4c55-9d3e-8f1f4c6a9b21", ResourceVersion: "482913377", Generation: 1, CreationTimestamp: created,
			Labels: map[string]string{
				"app.kubernetes.io/name": "checkout", "app.kubernetes.io/instance": "checkout-prod", "app.kubernetes.io/component": "api",
				"pod-template-hash": "7d9f8b6c54", "team": "payments",
			},
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"kubectl.kubernetes.io/restartedAt": "2026-01-02T03:04:05Z",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout-7d9f8b6c54", UID: "6a1b0f52-9a3d-4f0e-8f7c-1e2d3c4b5a69",
				Controller: pointer(true), BlockOwnerDeletion: pointer(true),
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				managed("kube-controller-manager", `{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{},"f:team":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"6a1b0f52-9a3d-4f0e-8f7c-1e2d3c4b5a69\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"api\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}`),
				managed("kubelet", `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.42.17.38\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`),
			},
		},
		Spec: v1.PodSpec{
			Volumes: []v1.Volume{
				{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
					LocalObjectReference: v1.LocalObjectReference{Name: "checkout-config"}, DefaultMode: pointer(int32(420)),
				}}},
				{Name: "kube-api-access-p7m2k", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
					Sources: []v1.VolumeProjection{
						{ServiceAccountToken: &v1.ServiceAccountTokenProjection{ExpirationSeconds: pointer(int64(3607)), Path: "token"}},
						{ConfigMap: &v1.ConfigMapProjection{
							LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
						}},
						{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{
							Path: "namespace", FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
						}}}},
					}, DefaultMode: pointer(int32(420)),
				}}},
			},
			Containers: []v1.Container{{
				Name: "api", Image: "registry.example.com/shop/checkout:2026.1.2", Args: []string{"--listen=:8080", "--metrics=:9090"},
				Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: v1.ProtocolTCP}},
				Env: []v1.EnvVar{
					{Name: "REGION", Value: "eu-central-1"}, {Name: "LOG_LEVEL", Value: "info"},
					{Name: "DB_PASSWORD", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "db"}, Key: "password"}}},
				},
				Resources: v1.ResourceRequirements{Requests: requests, Limits: limits},
				VolumeMounts: []v1.VolumeMount{
					{Name: "config", ReadOnly: true, MountPath: "/etc/checkout"},
					{Name: "kube-api-access-p7m2k", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
				},
				ReadinessProbe: &v1.Probe{
					ProbeHandler:   v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/ready", Scheme: v1.URISchemeHTTP}},
					TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
				},
				TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile, ImagePullPolicy: v1.PullIfNotPresent,
			}},
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: pointer(int64(30)), DNSPolicy: v1.DNSClusterFirst,
			ServiceAccountName: "checkout", DeprecatedServiceAccount: "checkout", NodeName: "ip-10-42-17-9.eu-central-1.compute.internal",
			SecurityContext: &v1.PodSecurityContext{}, SchedulerName: v1.DefaultSchedulerName,
			Tolerations: []v1.Toleration{notReady("node.kubernetes.io/not-ready"), notReady("node.kubernetes.io/unreachable")},
			Priority:    pointer(int32(0)), EnableServiceLinks: pointer(true), PreemptionPolicy: pointer(v1.PreemptLowerPriority),
		},
		Status: v1.PodStatus{
			ObservedGeneration: 1, Phase: v1.PodRunning,
			Conditions: []v1.PodCondition{
				condition("PodReadyToStartContainers"), condition(v1.PodInitialized), condition(v1.PodReady), condition(v1.ContainersReady),
				condition(v1.PodScheduled),
			},
			HostIP: "10.42.17.9", HostIPs: []v1.HostIP{{IP: "10.42.17.9"}}, PodIP: "10.42.17.38", PodIPs: []v1.PodIP{{IP: "10.42.17.38"}}, StartTime: &created,
			ContainerStatuses: []v1.ContainerStatus{{
				Name: "api", State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: created}}, Ready: true, Started: pointer(true),
				Image: "registry.example.com/shop/checkout:2026.1.2", ImageID: "registry.example.com/shop/checkout@sha256:3f1c9c1c1f0d6a8e6f0a4f7b7f3d9e5c2b1a0987654321fedcba9876543210ab",
				ContainerID: "containerd://9b1f2e3d4c5b6a79880f1e2d3c4b5a6978695a4b3c2d1e0f9b1f2e3d4c5b6a79", AllocatedResources: requests,
				Resources: &v1.ResourceRequirements{Requests: requests, Limits: limits},
			}},
			QOSClass: v1.PodQOSBurstable,
		},
	}
}

// samplePod returns a pod with exactly the fields that `ebb gen` writes.
func samplePod() *v1.Pod {
	requests := v1.ResourceList{v1.ResourceCPU: *quantity("250m"), v1.ResourceMemory: *quantity("512Mi")}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-0001-x2x4q", Namespace: "shop", UID: "p-shop-web-0001-x2x4q",
			CreationTimestamp: metav1.NewTime(time.Unix(1_767_323_045, 0)), Labels: map[string]string{"app": "web-0001"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-0001", UID: "o-shop-web-0001", Controller: pointer(true),
			}},
		},
		Spec: v1.PodSpec{
			NodeName: "node-00017", Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: requests}}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
}

func checkFixture(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what client-go writes; `go test . -run Typical -update` writes it again", path)
	}
}

func TestTypicalPodsAreAsClientGoMarshalsThem(t *testing.T) {
	ebb := startDumper(t)
	for name, pod := range map[string]*v1.Pod{"typical_pod": typicalPod(), "sample_pod": samplePod()} {
		made := marshal(t, v1.SchemeGroupVersion.WithKind("Pod"), pod)
		checkFixture(t, "../../tests/snapshot/formats/data/"+name+".pb", made.enveloped)
		checkFixture(t, "../../tests/snapshot/formats/data/"+name+".json", made.json)
		fromJSON, enveloped, bare := ebb.all(t, made)
		if enveloped != fromJSON || bare != fromJSON {
			t.Errorf("JSON is read as\n%s\nprotobuf with envelope as\n%s\nwithout as\n%s", fromJSON, enveloped, bare)
		}
	}
}

// The fuzz target starts with objects of every kind.
func TestTypicalSeedsOfTheFuzzTargetAreAsClientGoMarshalsThem(t *testing.T) {
	fill := filler{rand: rand.New(rand.NewPCG(3, 3))}
	for _, kind := range kindsRead {
		var gvk schema.GroupVersionKind
		for _, version := range versionsRead() {
			if version.GroupKind() == kind {
				gvk = version
			}
		}
		made := marshal(t, gvk, fill.object(gvk))
		name := fmt.Sprint(gvk.Kind)
		if kind.Group == "extensions" {
			name += "-extensions"
		}
		checkFixture(t, "../../fuzz/corpus/protobuf_fuzzer/"+name, made.enveloped)
	}
	checkFixture(t, "../../fuzz/corpus/protobuf_fuzzer/typical-pod",
		marshal(t, v1.SchemeGroupVersion.WithKind("Pod"), typicalPod()).enveloped)
}
