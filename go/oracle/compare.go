package main

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Disagreement is one difference between the answers of ebb and of the scheduler.
type Disagreement struct {
	Kind string // "crash", "error", "shape", "verdict", "plugin", "reasons" or "score"
	Pod  string
	Want Verdict // The scheduler's.
	Got  Verdict // ebb's.
	Text string  // For kinds that are not about one verdict.

	Scorer string // For "score": the plugin, or "total".
}

// Signature is equal for disagreements that look like the same mistake. It contains no names.
func (d *Disagreement) Signature() string {
	switch d.Kind {
	case "crash", "error", "shape":
		return d.Kind + ": " + withoutNames(d.Text)
	case "score":
		return "score: " + d.Scorer
	case "reasons":
		return fmt.Sprintf("reasons: %s %s, ebb %s", d.Want.Plugin,
			withoutNames(strings.Join(d.Want.Reasons, "; ")),
			withoutNames(strings.Join(d.Got.Reasons, "; ")))
	}
	return fmt.Sprintf("%s: %s, ebb %s", d.Kind, brief(d.Want), brief(d.Got))
}

func (d *Disagreement) String() string {
	if d.Text != "" {
		return fmt.Sprintf("%s: pod %s: %s", d.Kind, d.Pod, d.Text)
	}
	if d.Kind == "score" {
		return fmt.Sprintf("score: pod %s on node %s: %s: the scheduler says %d, ebb says %d", d.Pod,
			d.Want.Node, d.Scorer, scoreOf(&d.Want, d.Scorer), scoreOf(&d.Got, d.Scorer))
	}
	return fmt.Sprintf("%s: pod %s on node %s: the scheduler says %s, ebb says %s", d.Kind, d.Pod,
		d.Want.Node, verdictText(d.Want), verdictText(d.Got))
}

func brief(v Verdict) string {
	if v.Fits {
		return "fits"
	}
	return v.Plugin + " refuses"
}

func verdictText(v Verdict) string {
	if v.Fits {
		return "it fits"
	}
	return fmt.Sprintf("%s refuses (%s)", v.Plugin, strings.Join(v.Reasons, "; "))
}

var namesPattern = regexp.MustCompile(`"[^"]*"|[0-9]+`)

func withoutNames(text string) string { return namesPattern.ReplaceAllString(text, "_") }

// Compare returns every verdict in which the answers differ. Reasons are compared as sets. They are
// not compared if the scheduler's plugin failed, because the text is then a Go error.
func Compare(want, got *Response) []Disagreement {
	if got.Error != "" {
		return []Disagreement{{Kind: "error", Text: got.Error}}
	}
	if got.ID != want.ID || len(got.Results) != len(want.Results) {
		return []Disagreement{{Kind: "shape", Text: fmt.Sprintf("id %d and %d pods, not %d and %d",
			got.ID, len(got.Results), want.ID, len(want.Results))}}
	}
	var found []Disagreement
	for i := range want.Results {
		found = append(found, comparePod(&want.Results[i], &got.Results[i])...)
	}
	return found
}

func comparePod(want, got *PodVerdicts) []Disagreement {
	if got.Pod != want.Pod || len(got.Nodes) != len(want.Nodes) {
		return []Disagreement{{Kind: "shape", Pod: want.Pod, Text: fmt.Sprintf(
			"pod %q with %d nodes, not %q with %d", got.Pod, len(got.Nodes), want.Pod,
			len(want.Nodes))}}
	}
	if staysWhereItIs(want, got) {
		return nil
	}
	var found []Disagreement
	for i := range want.Nodes {
		if kind := difference(&want.Nodes[i], &got.Nodes[i]); kind != "" {
			found = append(found, Disagreement{Kind: kind, Pod: want.Pod, Want: want.Nodes[i],
				Got: got.Nodes[i]})
		}
	}
	// Scores depend on all nodes that fit.
	if len(found) == 0 && !slices.ContainsFunc(got.Nodes, func(node Verdict) bool { return waitsForDriver(&node) }) {
		found = compareScores(want, got)
	}
	return found
}

// staysWhereItIs reports whether ebb moves the pod nowhere although a filter is off that would refuse
// nodes, so that the scheduler places it (docs/scheduler.md, "What keeps nodes"): the kubelet would
// check what NodeAffinity and NodePorts do not, or a selector does not parse, which ebb refuses
// whether the plugin that reads it is on or off. If that plugin is on, the scheduler refuses by it.
// It moves no pod either with a claim whose devices' binding conditions do not hold.
func staysWhereItIs(want, got *PodVerdicts) bool {
	for i, node := range got.Nodes {
		for _, reason := range node.Reasons {
			guarded := node.Plugin == "NotUnderstood" &&
				(strings.HasSuffix(reason, "NodeAffinity is off, and the pod chooses nodes") ||
					strings.HasSuffix(reason, "NodePorts is off, and the pod has host ports"))
			unparsed := node.Plugin != want.Nodes[i].Plugin &&
				(node.Plugin == "InterPodAffinity" && strings.HasPrefix(reason, "spec.affinity.") ||
					node.Plugin == "PodTopologySpread" &&
						strings.HasPrefix(reason, "spec.topologySpreadConstraints: "))
			unbound := node.Plugin == "NotUnderstood" && strings.Contains(reason, "condition ") &&
				strings.Contains(reason, "spec.resourceClaims[")
			if guarded || unparsed || unbound {
				return true
			}
		}
	}
	return false
}

// waitsForDriver reports whether ebb refuses because the scheduler would choose a device with
// binding conditions, and wait for its driver.
func waitsForDriver(got *Verdict) bool {
	return got.Plugin == devicesArea && len(got.Reasons) == 1 &&
		strings.Contains(got.Reasons[0], "has binding conditions")
}

// difference returns the kind of the difference, or "" if the verdicts agree.
func difference(want, got *Verdict) string {
	switch {
	case got.Node != want.Node:
		return "shape"
	case waitsForDriver(got):
		return ""
	case got.Fits != want.Fits:
		return "verdict"
	case got.Plugin != want.Plugin:
		return "plugin"
	case !want.Failed && !slices.Equal(sorted(want.Reasons), sorted(got.Reasons)):
		return "reasons"
	}
	return ""
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	sort.Strings(texts)
	return texts
}
