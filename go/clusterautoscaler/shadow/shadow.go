// Package shadow says where two planners judge nodes otherwise.
package shadow

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdict is what a planner says of a node; the zero value is that it says nothing.
type Verdict struct {
	Unneeded bool
	// Why it stays; "": no reason is given.
	Reason         string
	BlockingReason string
	BlockingPod    string
	// Nil: it was not told.
	Utilization *Utilization
}

// Utilization as both report it.
type Utilization struct {
	CPU, Memory, GPU, Highest float64
	Resource                  string
}

// Kind of a difference.
type Kind string

// Kinds, of which a node has at most one; those before hide those after.
const (
	// The acting planner would let it go, the other would not.
	OnlyActing Kind = "only-acting-removes"
	// The reverse.
	OnlyShadow Kind = "only-shadow-removes"
	// One gives a reason, the other did not come to the node.
	Judged Kind = "judged"
	Reason Kind = "reason"
	// The reason is the same, the pod or why it blocks is another.
	BlockingPod Kind = "blocking-pod"
	Use         Kind = "utilization"
)

// Kinds in their order.
var Kinds = []Kind{OnlyActing, OnlyShadow, Judged, Reason, BlockingPod, Use}

// Difference is a node of which both planners speak otherwise.
type Difference struct {
	Node   string
	Kind   Kind
	Acting Verdict
	Shadow Verdict
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s: acting %s, shadow %s", d.Node, d.Kind, d.Acting, d.Shadow)
}

func (v Verdict) String() string {
	var parts []string
	if v.Unneeded {
		parts = append(parts, "unneeded")
	}
	if v.Reason != "" {
		parts = append(parts, v.Reason)
	}
	if v.BlockingReason != "" {
		parts = append(parts, v.BlockingReason, v.BlockingPod)
	}
	if v.Utilization != nil {
		parts = append(parts, fmt.Sprintf("%s %.4f", v.Utilization.Resource, v.Utilization.Highest))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " ")
}

// Compare returns the differences, by node.
func Compare(acting, shadow map[string]Verdict) []Difference {
	var found []Difference
	for node, verdict := range acting {
		if kind := differ(verdict, shadow[node]); kind != "" {
			found = append(found, Difference{node, kind, verdict, shadow[node]})
		}
	}
	for node, verdict := range shadow {
		if _, both := acting[node]; both {
			continue
		}
		if kind := differ(Verdict{}, verdict); kind != "" {
			found = append(found, Difference{node, kind, Verdict{}, verdict})
		}
	}
	slices.SortFunc(found, func(a, b Difference) int { return strings.Compare(a.Node, b.Node) })
	return found
}

func differ(acting, shadow Verdict) Kind {
	switch {
	case acting.Unneeded && !shadow.Unneeded:
		return OnlyActing
	case shadow.Unneeded && !acting.Unneeded:
		return OnlyShadow
	case (acting.Reason == "") != (shadow.Reason == ""):
		return Judged
	case acting.Reason != shadow.Reason:
		return Reason
	case acting.BlockingReason != shadow.BlockingReason || acting.BlockingPod != shadow.BlockingPod:
		return BlockingPod
	case !sameUse(acting.Utilization, shadow.Utilization):
		return Use
	}
	return ""
}

func sameUse(a, b *Utilization) bool {
	if a == nil || b == nil {
		return a == b
	}
	return near(a.CPU, b.CPU) && near(a.Memory, b.Memory) && near(a.GPU, b.GPU) &&
		near(a.Highest, b.Highest) && a.Resource == b.Resource
}

// Equal but for rounding.
func near(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	return a == b || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b))
}
