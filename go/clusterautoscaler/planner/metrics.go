package planner

import (
	"sync"

	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"ebb/go/clusterautoscaler/fallback"
)

var (
	fallbacksTotal = k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
		Namespace: "cluster_autoscaler",
		Name:      "ebb_fallbacks_total",
		Help:      "Loops, and nodes, that the autoscaler's own simulation judged in place of ebb, by cause.",
	}, []string{"cause"})
	resyncsTotal = k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
		Namespace: "cluster_autoscaler",
		Name:      "ebb_resyncs_total",
		Help:      "How often ebb received the whole cluster again, by cause.",
	}, []string{"cause"})
	shadowLoopsTotal = k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
		Namespace: "cluster_autoscaler",
		Name:      "ebb_shadow_loops_total",
		Help:      "Loops in which ebb ran beside the built-in planner: same, different, or no_answer.",
	}, []string{"result"})
	shadowDifferencesTotal = k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
		Namespace: "cluster_autoscaler",
		Name:      "ebb_shadow_differences_total",
		Help:      "Nodes that ebb judged differently from the built-in planner, by kind.",
	}, []string{"kind"})
	checksTotal = k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
		Namespace: "cluster_autoscaler",
		Name:      "ebb_checks_total",
		Help:      "Removals found by ebb that the autoscaler's own simulation was to check: same, mismatch, or skipped.",
	}, []string{"result"})
	keptNodesTotal = k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
		Namespace: "cluster_autoscaler",
		Name:      "ebb_snapshot_nodes_total",
		Help:      "Nodes whose kept state was compared with that of the autoscaler's own snapshot: same or different.",
	}, []string{"result"})
	registerOnce sync.Once
)

func registerMetrics() {
	registerOnce.Do(func() {
		legacyregistry.MustRegister(fallbacksTotal, resyncsTotal, shadowLoopsTotal, shadowDifferencesTotal, checksTotal, keptNodesTotal)
	})
}

// fallbackText returns the log line about a use of the autoscaler's own simulation; detail may be
// nil.
func fallbackText(cause string, detail error) string {
	text := "ebb: the autoscaler's own simulation runs in place of ebb's, by reason of " + cause
	if detail != nil {
		text += ": " + detail.Error()
	}
	return text + " (logged once for each reason)"
}

func newCheckCounter() func(result string, times int) {
	registerMetrics()
	return func(result string, times int) { checksTotal.WithLabelValues(result).Add(float64(times)) }
}

func newResyncLog() *fallback.Log {
	registerMetrics()
	return &fallback.Log{
		Say: func(cause string, detail error) {
			klog.Warningf("ebb: receives the whole cluster again, by reason of %s: %v (logged once for each reason)", cause, detail)
		},
		Count: func(cause string, times int) {
			resyncsTotal.WithLabelValues(cause).Add(float64(times))
		},
	}
}

func newFallbackLog() *fallback.Log {
	registerMetrics()
	return &fallback.Log{
		Say: func(cause string, detail error) {
			klog.Warning(fallbackText(cause, detail))
		},
		Count: func(cause string, times int) {
			fallbacksTotal.WithLabelValues(cause).Add(float64(times))
		},
	}
}
