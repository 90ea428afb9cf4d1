//go:build record

package main

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// setBudgets gives the pool budgets of many forms, some of them broken.
func (g *generator) setBudgets(pool *karpv1.NodePool) {
	if !g.has["budgets"] && !g.has["cron"] {
		return
	}
	pool.Spec.Disruption.Budgets = nil
	for range pick(g, 0, 1, 1, 1, 2, 3) {
		budget := karpv1.Budget{Nodes: pick(g, "0", "1", "2", "5", "0%", "1%", "10%", "20%", "34%", "50%", "99%", "100%")}
		if g.chance(0.5) {
			budget.Reasons = g.reasons()
		}
		if g.has["cron"] && g.chance(0.8) {
			schedule, duration := g.schedule()
			budget.Schedule, budget.Duration = &schedule, &metav1.Duration{Duration: duration}
		}
		pool.Spec.Disruption.Budgets = append(pool.Spec.Disruption.Budgets, budget)
	}
}

func (g *generator) reasons() []karpv1.DisruptionReason {
	var reasons []karpv1.DisruptionReason
	for _, reason := range []karpv1.DisruptionReason{
		karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonUnderutilized, karpv1.DisruptionReasonDrifted} {
		if g.chance(0.5) {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// schedule returns a window that often begins or ends near the case's moment.
func (g *generator) schedule() (string, time.Duration) {
	duration := pick(g, time.Minute, 10*time.Minute, time.Hour, 90*time.Minute, 8*time.Hour, 24*time.Hour, 72*time.Hour)
	// Begins at the moment, ends at it, or misses it by a minute.
	start := g.kase.Now.Add(time.Duration(g.IntN(3)-1) * time.Minute)
	if g.chance(0.5) {
		start = start.Add(-duration)
	}
	minute, hour, day, month, weekday := start.Minute(), start.Hour(), start.Day(), int(start.Month()), int(start.Weekday())
	weekdays := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	months := []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	forms := []string{
		fmt.Sprintf("%d %d * * *", minute, hour),
		fmt.Sprintf("%d %d %d * *", minute, hour, day),
		fmt.Sprintf("%d %d %d %d *", minute, hour, day, month),
		fmt.Sprintf("%d %d * %s ?", minute, hour, months[month]),
		fmt.Sprintf("%d %d * * %d", minute, hour, weekday),
		fmt.Sprintf("%d %d * * %s", minute, hour, weekdays[weekday]),
		fmt.Sprintf("%d %d %d * %d", minute, hour, (day+3)%28+1, weekday), // The day or the weekday.
		fmt.Sprintf("%d %d %d * %d", minute, hour, day, (weekday+2)%7),
		fmt.Sprintf("%d-%d %d * * *", minute, 59, hour),
		fmt.Sprintf("%d/7 * * * *", minute%7),
		fmt.Sprintf("%d,%d */2 * * *", minute, (minute+30)%60),
		fmt.Sprintf("%d %d-23/3 * * mon-fri", minute, hour%3),
		"*/15 * * * *", "0 9 * * MON-FRI", "0 0 * * 0,6", "0 0 1 * *", "30 22 * 1-6 *", "* * * * *",
		"@daily", "@hourly", "@weekly", "@monthly", "@yearly", "@midnight", "@annually",
		"0 0 31 2 *",                                                                     // Never comes.
		"60 * * * *", "0 0 * * 7", "0 24 * * *", "0 0 0 * *", "a b c d e", "5-1 * * * *", // Not valid.
	}
	return pick(g, forms...), duration
}
