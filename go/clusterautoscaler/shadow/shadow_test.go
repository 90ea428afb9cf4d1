package shadow_test

import (
	"math"
	"testing"

	"ebb/go/clusterautoscaler/shadow"
)

func use(cpu float64) *shadow.Utilization {
	return &shadow.Utilization{CPU: cpu, Highest: cpu, Resource: "cpu"}
}

func TestKinds(t *testing.T) {
	blocked := shadow.Verdict{Reason: "BlockedByPod", BlockingReason: "NotEnoughPdb", BlockingPod: "default/p"}
	other := blocked
	other.BlockingPod = "default/q"
	for _, test := range []struct {
		name           string
		acting, shadow shadow.Verdict
		want           shadow.Kind
	}{
		{"same", blocked, blocked, ""},
		{"nothing", shadow.Verdict{}, shadow.Verdict{}, ""},
		{"only acting", shadow.Verdict{Unneeded: true}, blocked, shadow.OnlyActing},
		{"only shadow", blocked, shadow.Verdict{Unneeded: true}, shadow.OnlyShadow},
		{"judged", blocked, shadow.Verdict{}, shadow.Judged},
		{"reason", blocked, shadow.Verdict{Reason: "NoPlaceToMovePods"}, shadow.Reason},
		{"pod", blocked, other, shadow.BlockingPod},
		{"utilization", shadow.Verdict{Utilization: use(0.5)}, shadow.Verdict{Utilization: use(0.6)}, shadow.Use},
		{"utilization missing", shadow.Verdict{Utilization: use(0.5)}, shadow.Verdict{}, shadow.Use},
		{"rounding", shadow.Verdict{Utilization: use(0.1 + 0.2)}, shadow.Verdict{Utilization: use(0.3)}, ""},
		{"not a number", shadow.Verdict{Utilization: use(math.NaN())}, shadow.Verdict{Utilization: use(math.NaN())}, ""},
		{"not a number on one side", shadow.Verdict{Utilization: use(math.NaN())}, shadow.Verdict{Utilization: use(1)}, shadow.Use},
		{"infinite", shadow.Verdict{Utilization: use(math.Inf(1))}, shadow.Verdict{Utilization: use(math.Inf(1))}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := shadow.Compare(map[string]shadow.Verdict{"n": test.acting}, map[string]shadow.Verdict{"n": test.shadow})
			switch {
			case test.want == "" && len(found) != 0:
				t.Errorf("found %v", found)
			case test.want != "" && (len(found) != 1 || found[0].Kind != test.want || found[0].Node != "n"):
				t.Errorf("found %v, want %s", found, test.want)
			}
		})
	}
}

func TestNodesOfOneSideAndOrder(t *testing.T) {
	gone := shadow.Verdict{Unneeded: true}
	found := shadow.Compare(map[string]shadow.Verdict{"b": gone, "same": gone}, map[string]shadow.Verdict{"a": gone, "same": gone})
	if len(found) != 2 || found[0].Node != "a" || found[0].Kind != shadow.OnlyShadow ||
		found[1].Node != "b" || found[1].Kind != shadow.OnlyActing {
		t.Errorf("found %v", found)
	}
	if got, want := found[1].String(), "b: only-acting-removes: acting unneeded, shadow nothing"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
