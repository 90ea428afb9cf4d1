package e2e

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"ebb/go/e2e/nodes"
	"ebb/go/e2e/workload"
)

// autoscalerProgram returns the path of a Cluster Autoscaler with ebb's planner and the kwok provider
// (go/clusterautoscaler/README.md); without one the test is skipped.
func autoscalerProgram(t *testing.T) string {
	t.Helper()
	path := os.Getenv("EBB_AUTOSCALER")
	if path == "" {
		t.Skip("EBB_AUTOSCALER is not set to the path of a Cluster Autoscaler with ebb's planner and the kwok provider")
	}
	return path
}

// kwokMachines are nodes that the kwok provider may delete. At least two of the group stay.
func kwokMachines(name string, count int) nodes.Group {
	group := machines(name, count)
	group.Provider = "kwok:"
	group.Annotations = map[string]string{
		"kwok.x-k8s.io/node":                              "fake",
		"cluster-autoscaler.kwok.nodegroup/name":          name,
		"cluster-autoscaler.kwok.nodegroup/min-count":     "2",
		"cluster-autoscaler.kwok.nodegroup/max-count":     "40",
		"cluster-autoscaler.kwok.nodegroup/desired-count": "2",
	}
	return group
}

const packagedSidecar = "../../packaging/cluster-autoscaler/"

// sidecar is `ebb serve` as the manifest runs it: its arguments, its probe and the autoscaler's
// flags. Only the paths differ, because there is no container.
type sidecar struct {
	*program
	probe []string // a command
	flags []string // of the autoscaler
}

// startSidecar starts `ebb serve` and waits until the startup probe succeeds.
func (c *cluster) startSidecar() *sidecar {
	c.t.Helper()
	ebb := ebbProgram(c.t)
	var patch appsv1.Deployment
	c.readYAML(packagedSidecar+"sidecar.yaml", &patch)
	container := patch.Spec.Template.Spec.InitContainers[0]
	var flags []struct{ Value string }
	c.readYAML(packagedSidecar+"flags.yaml", &flags)

	volume := strings.NewReplacer(container.VolumeMounts[0].MountPath+"/", c.shortFolder("ebb-")+"/", "/usr/bin/ebb", ebb)
	here := func(texts []string) (replaced []string) {
		for _, text := range texts {
			replaced = append(replaced, volume.Replace(text))
		}
		return replaced
	}
	s := &sidecar{probe: here(container.StartupProbe.Exec.Command)}
	for _, flag := range flags {
		s.flags = append(s.flags, volume.Replace(flag.Value))
	}
	s.program = c.start(ebb, here(container.Args)...)
	s.waitServing()
	return s
}

func (s *sidecar) waitServing() {
	s.c.t.Helper()
	took := s.c.eventually("the sidecar's probe succeeds", s.isServing)
	s.c.t.Logf("the sidecar serves after %v", took)
}

func (s *sidecar) isServing() bool {
	return exec.CommandContext(s.c.ctx, s.probe[0], s.probe[1:]...).Run() == nil
}

func (c *cluster) readYAML(path string, into any) {
	c.t.Helper()
	text, err := os.ReadFile(path)
	c.must(err)
	c.must(yaml.Unmarshal(text, into))
}

// autoscaler is a running Cluster Autoscaler.
type autoscaler struct {
	*program
	address string // of its metrics
}

// startAutoscaler starts the autoscaler with the sidecar's flags. Its loops are a second apart, and a
// node is deleted as soon as two loops found it unneeded.
func (c *cluster) startAutoscaler(s *sidecar, flags ...string) *autoscaler {
	c.t.Helper()
	path := autoscalerProgram(c.t)
	_, err := client.CoreV1().ConfigMaps(c.namespace).Create(c.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kwok-provider-config"},
		Data: map[string]string{"config": "apiVersion: v1alpha1\nreadNodesFrom: cluster\n" +
			"nodegroups: {fromNodeLabelKey: " + nodes.GroupLabel + "}\nnodes: {skipTaint: true}\n"},
	}, metav1.CreateOptions{})
	c.must(err)
	c.t.Setenv("KWOK_PROVIDER_MODE", "local")
	c.t.Setenv("KUBECONFIG", plane.Kubeconfig)
	c.t.Setenv("POD_NAMESPACE", c.namespace)
	a := &autoscaler{address: c.freeAddress()}
	a.program = c.start(path, append(append([]string{
		"--kubeconfig=" + plane.Kubeconfig, "--cloud-provider=kwok", "--namespace=" + c.namespace, "--leader-elect=false",
		"--address=" + a.address, "--scan-interval=1s", "--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=0s",
		"--node-delete-delay-after-taint=0s", "--kube-client-qps=200", "--kube-client-burst=400",
	}, s.flags...), flags...)...)
	return a
}

// freeAddress returns an address of this machine that is free now.
func (c *cluster) freeAddress() string {
	c.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	c.must(err)
	defer listener.Close()
	return listener.Addr().String()
}

// metrics returns the autoscaler's metrics whose names begin with ebb_ or scaled_down_, by name and
// labels as they are printed, without the prefix of the program.
func (a *autoscaler) metrics() map[string]float64 {
	found := map[string]float64{}
	reply, err := http.Get("http://" + a.address + "/metrics")
	if err != nil {
		return found // It has only just been started.
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "cluster_autoscaler_")
		if !strings.HasPrefix(line, "ebb_") && !strings.HasPrefix(line, "scaled_down_nodes_total") {
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		found[name], err = strconv.ParseFloat(value, 64)
		a.c.must(err)
	}
	return found
}

// sum adds the metrics of a name, or those of them that have a label.
func (a *autoscaler) sum(name, label string) (sum float64) {
	for each, value := range a.metrics() {
		if strings.HasPrefix(each, name) && strings.Contains(each, label) {
			sum += value
		}
	}
	return sum
}

// makeDrainable creates pods for which a few of the cluster's nodes suffice, with a budget for each
// Deployment.
func (c *cluster) makeDrainable() {
	c.t.Helper()
	c.must(workload.DaemonSet(c.ctx, client, c.namespace, workload.App{Name: "agent"}))
	for i := range 4 {
		app := workload.App{Name: appName("web", i), Replicas: 3, CPU: "500m", Memory: "1Gi"}
		c.must(workload.Deployment(c.ctx, client, c.namespace, app))
		c.must(workload.Budget(c.ctx, client, c.namespace, app.Name, 1))
	}
	c.waitReady()
}

// Metrics and labels.
const (
	checks    = "ebb_checks_total"
	loops     = "ebb_shadow_loops_total"
	fallbacks = "ebb_fallbacks_total"
	deleted   = "scaled_down_nodes_total"

	same     = `result="same"`
	mismatch = `result="mismatch"`
	gone     = `cause="daemon-unavailable"`
	drained  = `reason="underutilized"`
)

func TestAutoscalerWithTheSidecarInShadow(t *testing.T) {
	autoscalerProgram(t)
	c := newCluster(t, "autoscaler-shadow", kwokMachines("general", 12))
	c.makeDrainable()
	judge := c.watchBudgets()
	s := c.startSidecar()
	a := c.startAutoscaler(s)
	took := c.eventually("a node is drained and deleted, and ebb judged five loops", func() bool {
		return a.sum(deleted, drained) > 0 && a.sum(loops, same) >= 5
	})
	t.Logf("%d of %d nodes are left after %v: %v", c.countNodes(), len(c.nodes), took, a.metrics())
	if all, alike := a.sum(loops, ""), a.sum(loops, same); all != alike {
		t.Errorf("%v of %v loops are not the same", all-alike, all)
	}
	if n := a.sum(fallbacks, ""); n != 0 {
		t.Errorf("%v fallbacks", n)
	}
	a.kill()
	c.waitReady()
	judge()
}

func TestAutoscalerWithTheSidecarInCharge(t *testing.T) {
	autoscalerProgram(t)
	c := newCluster(t, "autoscaler-ebb", kwokMachines("general", 12))
	c.makeDrainable()
	judge := c.watchBudgets()
	s := c.startSidecar()
	a := c.startAutoscaler(s, "--scale-down-planner=ebb")
	took := c.eventually("a node is drained and deleted", func() bool { return a.sum(deleted, drained) > 0 })
	t.Logf("%d of %d nodes are left after %v: %v", c.countNodes(), len(c.nodes), took, a.metrics())
	if n := a.sum(fallbacks, ""); n != 0 || a.sum(checks, same) == 0 {
		t.Errorf("ebb did not decide, or not alone: %v", a.metrics())
	}

	s.kill()
	took = c.eventually("a loop falls back", func() bool { return a.sum(fallbacks, gone) > 0 })
	t.Logf("the first loop fell back after %v", took)
	if s.isServing() {
		t.Error("the probe succeeds without a daemon")
	}
	s.again()
	s.waitServing()
	before := a.metrics()
	checked, fallen, drainedBefore := a.sum(checks, same), a.sum(fallbacks, ""), a.sum(deleted, drained)
	// There must be something to delete, whatever happened meanwhile: three empty nodes, and room for
	// the pods of another one.
	_, err := nodes.Create(c.ctx, client, kwokMachines("general", 3))
	c.must(err)
	took = c.eventually("ebb decides again", func() bool { return a.sum(checks, same) > checked })
	t.Logf("ebb decides again after %v", took)
	// A loop may have begun before the daemon was there again.
	if n := a.sum(fallbacks, ""); n > fallen+1 {
		t.Errorf("%v loops fell back after the daemon was there again", n-fallen)
	}
	took = c.eventually("a node is drained and deleted again", func() bool { return a.sum(deleted, drained) > drainedBefore })
	t.Logf("%d of %d nodes are left after %v: %v, before %v", c.countNodes(), len(c.nodes)+3, took, a.metrics(), before)
	if n := a.sum(checks, mismatch); n != 0 {
		t.Errorf("the autoscaler refused %v removals", n)
	}
	a.kill()
	c.waitReady()
	judge()
}

// The API server accepts both patches of the manifest, in the order of its comment.
func TestTheSidecarsManifestPatchesADeployment(t *testing.T) {
	c := newCluster(t, "autoscaler-manifest", machines("general", 1))
	labels := map[string]string{workload.AppLabel: "cluster-autoscaler"}
	deployments := client.AppsV1().Deployments(c.namespace)
	_, err := deployments.Create(c.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-autoscaler"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "cluster-autoscaler", Image: "registry.example/none", Command: []string{"/cluster-autoscaler", "--cloud-provider=kwok"},
				}}},
			},
		},
	}, metav1.CreateOptions{})
	c.must(err)
	var patched *appsv1.Deployment
	for _, patch := range []struct {
		file string
		kind types.PatchType
	}{{"sidecar.yaml", types.StrategicMergePatchType}, {"flags.yaml", types.JSONPatchType}} {
		text, err := os.ReadFile(packagedSidecar + patch.file)
		c.must(err)
		text, err = yaml.ToJSON(text)
		c.must(err)
		patched, err = deployments.Patch(c.ctx, "cluster-autoscaler", patch.kind, text, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
		c.must(err)
	}
	pod := patched.Spec.Template.Spec
	if n := len(pod.Containers); n != 1 {
		t.Fatalf("%d containers beside the sidecar", n)
	}
	if command := pod.Containers[0].Command; len(command) != 4 || pod.Containers[0].Image != "registry.example/none" {
		t.Errorf("the autoscaler's container is %v %v", pod.Containers[0].Image, command)
	}
	if len(pod.InitContainers) != 1 || pod.InitContainers[0].StartupProbe == nil || len(pod.Volumes) != 1 {
		t.Errorf("the sidecar is %+v, with the volumes %+v", pod.InitContainers, pod.Volumes)
	}
}
