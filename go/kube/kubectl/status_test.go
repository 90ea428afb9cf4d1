package kubectl

import (
	"bytes"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ebb/go/kube/internal/fakecluster"
	"ebb/go/kube/taint"
)

func TestStatusTellsWhatStandsOnTheNodes(t *testing.T) {
	going, candidate, foreign := fakecluster.Node("going"), fakecluster.Node("candidate"), fakecluster.Node("foreign")
	going.Spec.Taints = []corev1.Taint{{Key: taint.Hard}}
	going.Annotations = map[string]string{taint.Annotation: `{"phase":"draining","group":"g","since":1000}`}
	candidate.Spec.Taints = []corev1.Taint{{Key: taint.Soft}}
	foreign.Spec.Taints = []corev1.Taint{{Key: taint.Hard}}
	holder := "replica-1"
	c := fakecluster.New(going, candidate, foreign, fakecluster.Node("plain"), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "ebb"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder},
	})
	s, err := ReadStatus(t.Context(), c.Client, "kube-system", "ebb")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.print(&out, time.Unix(1090, 0)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 nodes, 1 candidates, 1 in deletion; active: replica-1", "going  g      draining  1m30s", "candidate: candidate", "somebody else is deleting: foreign"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
