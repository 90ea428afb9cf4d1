// Package shadow compares the verdicts of two planners on nodes.
package shadow

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verdict is a planner's verdict on a node; the zero value means that it has none.
type Verdict struct {
	Unneeded bool
	// Why the node stays; "" if no reason is given.
	Reason         string
	BlockingReason string
	BlockingPod    string
	// Nil if it was not reported.
	Utilization *Utilization
}

// Utilization is a node's utilization, as both planners report it.
type Utilization struct {
	CPU, Memory, GPU, Highest float64
	Resource                  string
}

// Kind is a kind of difference.
type Kind string

// The kinds. A node has at most one difference, of the first kind that applies.
const (
	// The acting planner would remove the node, the other one would not.
	OnlyActing Kind = "only-acting-removes"
	// The other planner would remove the node, the acting one would not.
	OnlyShadow Kind = "only-shadow-removes"
	// One planner gives a reason, the other one did not reach the node.
	Judged Kind = "judged"
	Reason Kind = "reason"
	// The reason is the same; the blocking pod, or the reason why it blocks, differs.
	BlockingPod Kind = "blocking-pod"
	Use         Kind = "utilization"
)

// Kinds lists the kinds in their order.
var Kinds = []Kind{OnlyActing, OnlyShadow, Judged, Reason, BlockingPod, Use}

// Difference is a node on which the planners' verdicts differ.
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

// Compare returns the differences, sorted by node.
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

// near reports whether two numbers are equal except for rounding.
func near(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	return a == b || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b))
}
