package planner

import (
	"errors"
	"testing"
)

// Symptom: "the autoscaler's own simulation is used for csi-node-aware: <nil>".
func TestTheReasonOfAFallbackIsLoggedWithItsDetailIfThereIsOne(t *testing.T) {
	const text = "ebb: the autoscaler's own simulation runs in place of ebb's, by reason of csi-node-aware"
	const once = " (logged once for each reason)"
	if got := fallbackText("csi-node-aware", nil); got != text+once {
		t.Error(got)
	}
	if got := fallbackText("csi-node-aware", errors.New("why")); got != text+": why"+once {
		t.Error(got)
	}
}
