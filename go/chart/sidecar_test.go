package chart

import (
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const sidecarFolder = "../../packaging/cluster-autoscaler/"

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(sidecarFolder + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// values are those of the autoscaler's chart; each is copied into the pod as it is.
type values struct {
	ExtraArgs         map[string]string          `json:"extraArgs"`
	SecurityContext   *corev1.PodSecurityContext `json:"securityContext"`
	InitContainers    []corev1.Container         `json:"initContainers"`
	ExtraVolumeMounts []corev1.VolumeMount       `json:"extraVolumeMounts"`
	ExtraVolumes      []corev1.Volume            `json:"extraVolumes"`
}

// The manifest and the values of the chart describe the same pod.
func TestTheSidecarIsTheSameWithAndWithoutHelm(t *testing.T) {
	var patch appsv1.Deployment
	readYAML(t, "sidecar.yaml", &patch)
	var with values
	readYAML(t, "values.yaml", &with)
	pod := patch.Spec.Template.Spec
	for what, pair := range map[string][2]any{
		"securityContext": {pod.SecurityContext, with.SecurityContext},
		"initContainers":  {pod.InitContainers, with.InitContainers},
		"volumeMounts":    {pod.Containers[0].VolumeMounts, with.ExtraVolumeMounts},
		"volumes":         {pod.Volumes, with.ExtraVolumes},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %+v and %+v", what, pair[0], pair[1])
		}
	}
	var flags []struct{ Op, Path, Value string }
	readYAML(t, "flags.yaml", &flags)
	for _, flag := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag.Value, "--"), "=")
		if with.ExtraArgs[name] != value {
			t.Errorf("%s is %q and %q", name, value, with.ExtraArgs[name])
		}
	}
	if len(flags) != 2 || len(with.ExtraArgs) != 2 {
		t.Errorf("flags %v and %v", flags, with.ExtraArgs)
	}
}

func TestTheSidecarServesWhereTheAutoscalerAsks(t *testing.T) {
	var with values
	readYAML(t, "values.yaml", &with)
	sidecar := with.InitContainers[0]
	address := with.ExtraArgs["scale-down-planner-address"]
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix || !slices.Contains(sidecar.Args, "--socket="+path) {
		t.Errorf("serves %v, asks %s", sidecar.Args, address)
	}
	if mount := with.ExtraVolumeMounts[0].MountPath; !strings.HasPrefix(path, mount+"/") || sidecar.VolumeMounts[0].MountPath != mount {
		t.Errorf("the socket %s is not in the volume at %s", path, mount)
	}
	for _, probe := range []*corev1.Probe{sidecar.StartupProbe, sidecar.LivenessProbe} {
		if !slices.Contains(probe.Exec.Command, "--server="+address) {
			t.Errorf("probe %v", probe.Exec.Command)
		}
	}
	if *sidecar.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("an init container that ends is not a sidecar")
	}
}

func TestTheFlagsOfTheSidecarAreFlags(t *testing.T) {
	ebb := os.Getenv("EBB")
	if ebb == "" {
		t.Skip("EBB does not name the program ebb")
	}
	help, err := exec.Command(ebb, "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	var with values
	readYAML(t, "values.yaml", &with)
	for _, argument := range with.InitContainers[0].Args[1:] {
		flag, _, _ := strings.Cut(argument, "=")
		if !strings.Contains(string(help), flag) {
			t.Errorf("ebb serve has no %s", flag)
		}
	}
}
