// Package metrics serves the figures of a replica to Prometheus, over HTTP at /metrics:
//
//	ebb_kube_active                           1: this replica is the active one
//	ebb_kube_deletions{phase}                 nodes in deletion: "tainted", "draining", "drained", "deleting", "failed"
//	ebb_kube_longest_in_phase_seconds{phase}  how long the node that has been longest in the phase has been in it
//	ebb_kube_deletions_total{result}          deletions that ended: "ok", "failed"
//	ebb_kube_evictions_total{result}          eviction requests: "accepted", "refused" (by a budget or an error)
//	ebb_kube_feed_connected                   1: the daemon has the whole cluster and gets its changes
//	ebb_kube_feed_waiting                     changes that the daemon has not acknowledged yet
//	ebb_kube_feed_sent_total{change}          objects sent: "put" (also in resyncs), "delete"
//	ebb_kube_feed_resyncs_total               full resyncs that the daemon acknowledged
//	ebb_kube_feed_broken_watches              kinds whose watch is broken, or that cannot be listed
//
// and those of the Go runtime and the process. A replica that only feeds has no metrics of deletions; one that feeds no
// daemon has none of the feed.
//
//	err := metrics.Serve(ctx, "127.0.0.1:8087", sources)   // Until ctx ends.
//
// Threads: the functions of Sources are called concurrently.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ebb/go/kube/actuate"
	"ebb/go/kube/feed"
)

// Sources are where the figures come from.
type Sources struct {
	// Deletions returns the figures of the actuator, and whether this replica is the active one. Nil: nothing is deleted.
	Deletions func() (actuate.Totals, bool)
	// Feed returns how far the daemon has followed. Nil: no daemon is fed.
	Feed func() feed.Progress
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ebb_kube_"+name, help, labels, nil)
}

var (
	active    = desc("active", "1: this replica is the active one.")
	deletions = desc("deletions", "Nodes in deletion, by phase.", "phase")
	longest   = desc("longest_in_phase_seconds", "How long the node that has been longest in the phase has been in it.", "phase")
	ended     = desc("deletions_total", "Deletions of nodes that ended, by result.", "result")
	evictions = desc("evictions_total", "Eviction requests, by result.", "result")
	connected = desc("feed_connected", "1: the daemon has the whole cluster and gets its changes.")
	waiting   = desc("feed_waiting", "Changes that the daemon has not acknowledged yet.")
	sent      = desc("feed_sent_total", "Objects sent to the daemon, by change.", "change")
	resyncs   = desc("feed_resyncs_total", "Full resyncs that the daemon acknowledged.")
	broken    = desc("feed_broken_watches", "Kinds whose watch is broken, or that cannot be listed.")
)

// Describe describes nothing, so that a replica may lack metrics.
func (s Sources) Describe(chan<- *prometheus.Desc) {}

// Collect reads the figures at the time of the call.
func (s Sources) Collect(to chan<- prometheus.Metric) {
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	counter := func(of *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(of, prometheus.CounterValue, float64(value), labels...)
	}
	if s.Deletions != nil {
		totals, isActive := s.Deletions()
		gauge(active, number(isActive))
		for phase, each := range totals.Phases {
			gauge(deletions, float64(each.Nodes), phase)
			gauge(longest, each.Longest.Seconds(), phase)
		}
		counter(ended, totals.Ok, "ok")
		counter(ended, totals.Failed, "failed")
		counter(evictions, totals.EvictionsAccepted, "accepted")
		counter(evictions, totals.EvictionsRefused, "refused")
	}
	if s.Feed != nil {
		progress := s.Feed()
		gauge(connected, number(progress.Connected))
		gauge(waiting, float64(progress.Waiting))
		gauge(broken, float64(progress.Broken))
		counter(sent, progress.Puts, "put")
		counter(sent, progress.Deletes, "delete")
		counter(resyncs, progress.Resyncs)
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Handler answers with the metrics.
func Handler(s Sources) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, each := range []prometheus.Collector{
		s, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(each); err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux, nil
}

// Serve answers at HOST:PORT until ctx ends, and returns the cause.
func Serve(ctx context.Context, address string, s Sources) error {
	handler, err := Handler(s)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("metrics: %w", err)
	}
	return context.Cause(ctx)
}
