package drain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Group is a range of priorities whose pods are evicted together.
type Group struct {
	// Priority is the lowest priority of the group; the group ends where the next one begins.
	Priority int32
	Grace    time.Duration
}

// ParseGroups parses drain-priority-config: "PRIORITY:SECONDS,...".
func ParseGroups(text string) ([]Group, error) {
	if text == "" {
		return nil, nil
	}
	var groups []Group
	for _, part := range strings.Split(text, ",") {
		priority, seconds, found := strings.Cut(part, ":")
		from, err := strconv.ParseInt(strings.TrimSpace(priority), 10, 32)
		if !found || err != nil {
			return nil, fmt.Errorf("%q is not PRIORITY:SECONDS", part)
		}
		grace, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 32)
		if err != nil || grace < 0 {
			return nil, fmt.Errorf("%q: %q is not a number of seconds", part, seconds)
		}
		groups = append(groups, Group{Priority: int32(from), Grace: time.Duration(grace) * time.Second})
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Priority, b.Priority) })
	for i := 1; i < len(groups); i++ {
		if groups[i].Priority == groups[i-1].Priority {
			return nil, fmt.Errorf("priority %d occurs twice", groups[i].Priority)
		}
	}
	return groups, nil
}

// podGroup is the set of pods that are evicted at the same time.
type podGroup struct {
	grace      time.Duration
	evict      []*corev1.Pod
	bestEffort []*corev1.Pod
}

// groups returns the pods of a look in the order of their eviction, without empty groups.
func (d *Drainer) groups(look *Look) []podGroup {
	configured := d.Options.Groups
	if len(configured) == 0 {
		configured = []Group{{Priority: math.MaxInt32, Grace: d.Options.MaxGrace}}
	}
	groups := make([]podGroup, len(configured))
	for i, group := range configured {
		groups[i].grace = group.Grace
	}
	for _, pod := range look.Evict {
		i := groupOf(configured, pod)
		groups[i].evict = append(groups[i].evict, pod)
	}
	for _, pod := range look.BestEffort {
		i := groupOf(configured, pod)
		groups[i].bestEffort = append(groups[i].bestEffort, pod)
	}
	return slices.DeleteFunc(groups, func(g podGroup) bool { return len(g.evict)+len(g.bestEffort) == 0 })
}

// groupOf returns the highest group whose priority the pod reaches, or the lowest group if it
// reaches none.
func groupOf(groups []Group, pod *corev1.Pod) int {
	priority := int32(0)
	if pod.Spec.Priority != nil {
		priority = *pod.Spec.Priority
	}
	at := 0
	for i, group := range groups {
		if group.Priority <= priority {
			at = i
		}
	}
	return at
}
