package karpenter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// budget is an entry of a NodePool's spec.disruption.budgets.
type budget struct {
	Reasons  []string `json:"reasons"`
	Nodes    string   `json:"nodes"`
	Schedule *string  `json:"schedule"`
	Duration *string  `json:"duration"`
}

// Reasons of a disruption for which a budget may be.
const (
	empty         = "Empty"
	underutilized = "Underutilized"
)

// allowed returns how many of the pool's nodes may be disrupted at a time: what the tightest budget
// allows that is open and is for the reason. An error means that a budget cannot be read; then no
// node may be disrupted.
// Source: karpenter pkg/apis/v1 nodepool.go, GetAllowedDisruptionsByReason.
func (p *nodePool) allowed(now time.Time, nodes int, reason string) (int, error) {
	least := math.MaxInt
	for i, each := range p.budgets() {
		open, err := each.isOpen(now)
		if err != nil {
			return 0, fmt.Errorf("NodePool %q: spec.disruption.budgets[%d].%w", p.Name, i, err)
		}
		allows, err := each.count(nodes)
		if err != nil {
			return 0, fmt.Errorf("NodePool %q: spec.disruption.budgets[%d].%w", p.Name, i, err)
		}
		if open && (each.Reasons == nil || slices.Contains(each.Reasons, reason)) {
			least = min(least, allows)
		}
	}
	return least, nil
}

// isOpen reports whether the budget holds now: it always does without a schedule; otherwise from
// each time of the schedule, in UTC, for the duration.
func (b *budget) isOpen(now time.Time) (bool, error) {
	if b.Schedule == nil && b.Duration == nil {
		return true, nil
	}
	if b.Schedule == nil || b.Duration == nil {
		return false, errors.New("schedule: schedule and duration must be set together")
	}
	if strings.HasPrefix(*b.Schedule, "TZ=") || strings.HasPrefix(*b.Schedule, "CRON_TZ=") {
		return false, fmt.Errorf("schedule: %q names a time zone; schedules are in UTC", *b.Schedule)
	}
	schedule, err := cron.ParseStandard("TZ=UTC " + *b.Schedule)
	if err != nil {
		return false, fmt.Errorf("schedule: %q is not a cron expression: %w", *b.Schedule, err)
	}
	duration, err := time.ParseDuration(*b.Duration)
	if err != nil || duration < 0 {
		return false, fmt.Errorf("duration: %q is not a duration", *b.Duration)
	}
	next := schedule.Next(now.UTC().Add(-duration))
	// A schedule without any time, such as February 30th, has the zero time.
	return !next.IsZero() && !next.After(now.UTC()), nil
}

// count returns the number of nodes that the budget allows; a percentage is rounded up.
func (b *budget) count(nodes int) (int, error) {
	value := intstr.FromString(b.Nodes)
	if number, err := strconv.Atoi(b.Nodes); err == nil {
		value = intstr.FromInt(number)
	}
	count, err := intstr.GetScaledValueFromIntOrPercent(&value, nodes, true)
	if err != nil || count < 0 {
		return 0, fmt.Errorf("nodes: %q is neither a number of nodes nor a percentage", b.Nodes)
	}
	return count, nil
}
