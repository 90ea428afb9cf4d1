package kubectl

import (
	"bytes"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"ebb/go/ebb/plannerpb"
	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/status"
	"ebb/go/kube/taint"
)

// Symptom: "0 unneeded" for five minutes after the blocking budgets were deleted, and nothing
// showed why.
func TestStatusSaysWhichNodesAreUnremovableAndWhenTheyAreLookedAtAgain(t *testing.T) {
	said := &plannerpb.SessionStatus{Session: "prod", LastRoundAt: 1_700_000_000, Unremovable: &plannerpb.UnremovableNodes{
		Nodes: 58, Remembered: 40, FirstRecheck: 1_700_000_060, LastRecheck: 1_700_000_300,
		Reasons: []*plannerpb.UnremovableNodes_OfReason{{Reason: "NotEnoughPdb", Nodes: 40}, {Reason: "NotUnderutilized", Nodes: 18}},
	}}
	for name, test := range map[string]struct {
		data map[string]string // Nil: no ConfigMap.
		want string
	}{
		"known": {written(t, status.RoundsOf(said)),
			"round of 2023-11-14T22:13:20Z, session prod: 58 unremovable (40 NotEnoughPdb, 18 NotUnderutilized; " +
				"40 of them looked at again from 2023-11-14T22:14:20Z to 2023-11-14T22:18:20Z)\n"},
		"no round yet": {written(t, status.RoundsOf(&plannerpb.SessionStatus{Session: "prod"})),
			"unremovable nodes: not known: the daemon has made no round since it was started\n"},
		"of the autoscaler": {map[string]string{"status": "x"}, "unremovable nodes: not known: ConfigMap ns/status: has no key \"ebb\"; is it ebb-kube's?\n"},
		"not there":         {nil, "unremovable nodes: not known: ConfigMap ns/status: is not there; ebb-kube writes it, but with --feed-only\n"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{fakecluster.Node("a")}
			if test.data != nil {
				objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "status"}, Data: test.data})
			}
			s, err := ReadStatus(t.Context(), fakecluster.New(objects...).Client, "ns", "ebb", "status")
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := s.print(&out, time.Unix(0, 0)); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(out.String(), test.want) {
				t.Errorf("%s", out.String())
			}
		})
	}
}

func written(t *testing.T, rounds status.Rounds) map[string]string {
	t.Helper()
	text, err := yaml.Marshal(rounds)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{status.Key: string(text)}
}

func TestStatusTakesANamespace(t *testing.T) {
	for _, args := range [][]string{{"-n", "ebb", "-o", "json"}, {"--namespace=ebb", "-o=json"}, {"-ojson", "-n=ebb"}} {
		if namespace, asJSON, err := statusArguments(args); namespace != "ebb" || !asJSON || err != nil {
			t.Errorf("%v: %s %v %v", args, namespace, asJSON, err)
		}
	}
	for _, args := range [][]string{{"-n"}, {"-o", "yaml"}, {"all"}} {
		if _, _, err := statusArguments(args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

func TestStatusPrintsTheMarksOfTheNodes(t *testing.T) {
	going, candidate, foreign := fakecluster.Node("going"), fakecluster.Node("candidate"), fakecluster.Node("foreign")
	going.Spec.Taints = []corev1.Taint{{Key: taint.Hard}}
	going.Annotations = map[string]string{taint.Annotation: `{"phase":"draining","group":"g","since":1000}`}
	candidate.Spec.Taints = []corev1.Taint{{Key: taint.Soft}}
	foreign.Spec.Taints = []corev1.Taint{{Key: taint.Hard}}
	holder := "replica-1"
	c := fakecluster.New(going, candidate, foreign, fakecluster.Node("plain"), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ebb"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder},
	})
	s, err := ReadStatus(t.Context(), c.Client, "kube-system", "ebb", "status")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.print(&out, time.Unix(1090, 0)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 nodes, 1 candidates, 1 in deletion; active: replica-1", "going  g      draining  1m30s", "candidate: candidate", "another program is deleting: foreign"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
