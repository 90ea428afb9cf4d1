// Package chart checks the Helm chart with helm's own code: unknown values are rejected, and each
// rendered template parses as the objects that it names.
package chart

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

const folder = "../../packaging/helm/ebb"

func load(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// render returns what `helm install ebb --namespace ns` would send with these values, given as
// YAML: the rendered templates by file name.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	loaded := load(t)
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: "ebb", Namespace: "ns", IsInstall: true, Revision: 1}
	all, err := chartutil.ToRenderValues(loaded, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for name, text := range rendered {
		texts[name[strings.LastIndex(name, "/")+1:]] = text
	}
	return texts, nil
}

// objects returns the objects of a rendered template.
func objects(t *testing.T, text string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, document := range strings.Split(text, "\n---\n") {
		var kind struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if kind.Kind != "" {
			found[kind.Kind+"/"+kind.Metadata.Name] = document
		}
	}
	return found
}

func deployment(t *testing.T, values string) appsv1.Deployment {
	t.Helper()
	texts, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	var made appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(objects(t, texts["deployment.yaml"])["Deployment/ebb"]), &made); err != nil {
		t.Fatal(err)
	}
	return made
}

func stateVolume(t *testing.T, made appsv1.Deployment) corev1.Volume {
	t.Helper()
	for _, volume := range made.Spec.Template.Spec.Volumes {
		if volume.Name == "state" {
			return volume
		}
	}
	t.Fatal("no volume state")
	return corev1.Volume{}
}

func TestHelmLintPasses(t *testing.T) {
	for _, message := range lint.All(folder, map[string]any{}, "ns", true).Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}

// Symptom: the chart silently accepted `provider: nonsense` and unknown names.
func TestUnknownValuesAreRejected(t *testing.T) {
	for values, why := range map[string]string{
		"provider: nonsense":                      "provider",
		"feedonly: false":                         "feedonly",
		"feedOnly: \"no\"":                        "feedOnly",
		"replicas: 0":                             "replicas",
		"images: {ebb: x, pullPolicy: Sometimes}": "pullPolicy",
		"images: {server: x}":                     "server",
		"kubeArgs: --v=2":                         "kubeArgs",
		"resources: {serve: {request: {cpu: 1}}}": "request",
		"nodeGroups: {a: b}":                      "nodeGroups",
		"state: {claim: x}":                       "claim",
		"feedOnly: false\nstate: {size: 1Gi}":     "set replicas to 1",
		"feedOnly: false\nreplicas: 1\nstate: {size: 1Gi, existingClaim: c}": "both set",
		"feedOnly: false\nreplicas: 1\nstate: {storageClassName: fast}":      "set size too",
		"state: {size: 1Gi}":                  "set feedOnly to false",
		"metrics: {alerts: true}":             "need metrics.enabled",
		"metrics: {enabled: true, rules: []}": "rules",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, without %q", values, err, why)
		}
	}
}

func TestEachValueOfTheFileIsInTheSchema(t *testing.T) {
	loaded := load(t)
	if loaded.Schema == nil {
		t.Fatal("no values.schema.json")
	}
	if err := chartutil.ValidateAgainstSchema(loaded, loaded.Values); err != nil {
		t.Fatal(err)
	}
}

func TestTheStateIsWhereTheValuesSay(t *testing.T) {
	if volume := stateVolume(t, deployment(t, "feedOnly: false")); volume.EmptyDir == nil {
		t.Errorf("not in the pod: %v", volume)
	}
	const own = "feedOnly: false\nreplicas: 1\nstate: {size: 1Gi, storageClassName: fast}"
	made := deployment(t, own)
	claim := stateVolume(t, made).PersistentVolumeClaim
	if claim == nil || claim.ClaimName != "ebb-state" || made.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("volume %v, strategy %v", claim, made.Spec.Strategy)
	}
	texts, err := render(t, own)
	if err != nil {
		t.Fatal(err)
	}
	var pvc corev1.PersistentVolumeClaim
	if err := yaml.UnmarshalStrict([]byte(objects(t, texts["deployment.yaml"])["PersistentVolumeClaim/ebb-state"]), &pvc); err != nil {
		t.Fatal(err)
	}
	if size := pvc.Spec.Resources.Requests.Storage().String(); size != "1Gi" || *pvc.Spec.StorageClassName != "fast" {
		t.Errorf("%v", pvc.Spec)
	}
	made = deployment(t, "feedOnly: false\nreplicas: 1\nstate: {existingClaim: mine}")
	if claim := stateVolume(t, made).PersistentVolumeClaim; claim == nil || claim.ClaimName != "mine" {
		t.Errorf("volume %v", claim)
	}
}

func TestTheNotesSayWhichStateANewPodLoses(t *testing.T) {
	for values, wanted := range map[string][]string{
		"":                {"changes nothing", "ebb plan --server", "feedOnly: false"},
		"feedOnly: false": {"A new pod forgets", "state.size", "deletes Node objects and no machines", "One replica of 2"},
		"feedOnly: false\nprovider: exec\nreplicas: 1\nstate: {size: 1Gi}": {"by provider exec", "goes on where the last one stopped"},
	} {
		texts, err := render(t, values)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range wanted {
			if !strings.Contains(texts["NOTES.txt"], words) {
				t.Errorf("%q: the notes lack %q:\n%s", values, words, texts["NOTES.txt"])
			}
		}
	}
}

// Metrics, monitors, rules and the dashboard are off by default, and whole where they are on.
func TestMonitoringIsOffByDefault(t *testing.T) {
	texts, err := render(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(texts["monitoring.yaml"]) != "" || strings.Contains(texts["deployment.yaml"], "metrics") {
		t.Errorf("not off:\n%s", texts["monitoring.yaml"])
	}
	texts, err = render(t, "feedOnly: false\nmetrics: {enabled: true, podMonitor: true, alerts: true, dashboard: true, labels: {release: p}}")
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, texts["monitoring.yaml"])
	var rules struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(found["PrometheusRule/ebb"]), &rules); err != nil {
		t.Fatal(err)
	}
	if rules.Metadata.Labels["release"] != "p" || len(rules.Spec.Groups) != 1 || len(rules.Spec.Groups[0].Rules) < 5 {
		t.Errorf("%+v", rules)
	}
	if !strings.Contains(found["PrometheusRule/ebb"], "{{ $labels.session }}") {
		t.Error("Helm has taken the templates of Prometheus for its own")
	}
	var dashboard corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(found["ConfigMap/ebb-dashboard"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	var panels struct{ Panels []any }
	if err := json.Unmarshal([]byte(dashboard.Data["ebb.json"]), &panels); err != nil || len(panels.Panels) < 10 {
		t.Errorf("%v, %d panels", err, len(panels.Panels))
	}
	// The ports of the monitor are those of the containers.
	ports := map[string]int32{}
	for _, container := range deployment(t, "feedOnly: false\nmetrics: {enabled: true}").Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			ports[port.Name] = port.ContainerPort
			if !strings.Contains(strings.Join(container.Args, " "), fmt.Sprint("--metrics-address=0.0.0.0:", port.ContainerPort)) {
				t.Errorf("%s does not listen on %d", container.Name, port.ContainerPort)
			}
		}
	}
	if ports["metrics"] != 8085 || ports["loop-metrics"] != 8086 {
		t.Errorf("%v", ports)
	}
	for _, port := range []string{"port: metrics", "port: loop-metrics"} {
		if !strings.Contains(found["PodMonitor/ebb"], port) {
			t.Errorf("%q is not scraped", port)
		}
	}
}

// For all allowed combinations of values the templates are YAML of the objects that they name.
func TestEveryFormIsRendered(t *testing.T) {
	for _, values := range []string{
		"", "feedOnly: false", "nodeGroups: |\n  groups:\n  - name: a",
		"feedOnly: false\nprovider: externalgrpc\nproviderArgs: [--externalgrpc-address=cloud:8086]",
		"tolerations: [{operator: Exists}]\nnodeSelector: {a: b}\nserviceAccount: {annotations: {a: b}}",
	} {
		texts, err := render(t, values)
		if err != nil {
			t.Fatalf("%q: %v", values, err)
		}
		for _, file := range []string{"deployment.yaml", "rbac.yaml"} {
			if len(objects(t, texts[file])) == 0 {
				t.Errorf("%q: %s has no objects", values, file)
			}
		}
		deployment(t, values)
	}
}

// Symptom: with Karpenter's own rules the loop never plans a node that Karpenter leaves to ebb.
func TestTheLoopPlansByTheRulesThatTheProviderNeeds(t *testing.T) {
	for provider, want := range map[string]bool{"node-object": false, "karpenter": true, "cluster-api": false} {
		containers := deployment(t, "feedOnly: false\nprovider: "+provider+"\nrunArgs: [--rules=auto]").Spec.Template.Spec.Containers
		args := containers[2].Args
		at := slices.Index(args, "--rules=delegated")
		// The last flag wins, so that a user can choose otherwise.
		if (at >= 0) != want || at > slices.Index(args, "--rules=auto") {
			t.Errorf("%s: %v", provider, args)
		}
		if !slices.Contains(containers[1].Args, "--provider="+provider) {
			t.Errorf("%s: %v", provider, containers[1].Args)
		}
	}
}
