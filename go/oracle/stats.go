package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Stats count how often each rule was asked and how often it rejected. They show whether the
// generator is useless because all pods fit, or none.
type Stats struct {
	Clusters, Pods, Verdicts, Fitting int
	Reached                           map[string]int // Verdicts for which the plugin was asked.
	Refused                           map[string]int // Verdicts in which it rejected the node.
	Reasons                           map[string]int // The scheduler's, without names.
	Scores                            ScoreStats
}

func newStats() *Stats {
	return &Stats{Reached: map[string]int{}, Refused: map[string]int{}, Reasons: map[string]int{},
		Scores: newScoreStats()}
}

// add counts the verdicts on one pod; PreFilter switched off the filters in skipped.
func (s *Stats) add(plugins []string, verdicts []Verdict, skipped sets.Set[string]) {
	s.Pods++
	for _, verdict := range verdicts {
		s.Verdicts++
		if verdict.Fits {
			s.Fitting++
		}
		for _, plugin := range plugins {
			if !skipped.Has(plugin) {
				s.Reached[plugin]++
			}
			if plugin == verdict.Plugin {
				break
			}
		}
		s.addRefusal(verdict)
	}
}

func (s *Stats) addRefusal(verdict Verdict) {
	if verdict.Fits {
		return
	}
	s.Refused[verdict.Plugin]++
	if verdict.Failed {
		s.Reasons[verdict.Plugin+": (an error)"]++
		return
	}
	for _, reason := range verdict.Reasons {
		s.Reasons[verdict.Plugin+": "+withoutNames(reason)]++
	}
}

func (s *Stats) merge(other *Stats) {
	s.Clusters += other.Clusters
	s.Pods += other.Pods
	s.Verdicts += other.Verdicts
	s.Fitting += other.Fitting
	for _, pair := range [][2]map[string]int{{s.Reached, other.Reached}, {s.Refused, other.Refused},
		{s.Reasons, other.Reasons}} {
		for key, count := range pair[1] {
			pair[0][key] += count
		}
	}
	s.Scores.merge(&other.Scores)
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// write prints the tables.
func (s *Stats) write(out io.Writer, plugins []string) {
	fmt.Fprintf(out, "%-22s %10s %10s %8s\n", "filter", "asked", "refused", "refused%")
	for _, plugin := range plugins {
		fmt.Fprintf(out, "%-22s %10d %10d %7.1f%%\n", plugin, s.Reached[plugin], s.Refused[plugin],
			percent(s.Refused[plugin], s.Reached[plugin]))
	}
	fmt.Fprintf(out, "%-22s %10d %10d %7.1f%%\n\n", "all", s.Verdicts, s.Verdicts-s.Fitting,
		percent(s.Verdicts-s.Fitting, s.Verdicts))
	var reasons []string
	for reason := range s.Reasons {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	})
	for _, reason := range reasons {
		fmt.Fprintf(out, "%10d  %s\n", s.Reasons[reason], reason)
	}
}
