package metrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ebb/go/kube/actuate"
	"ebb/go/kube/feed"
	"ebb/go/kube/metrics"
)

func page(t *testing.T, s metrics.Sources) string {
	t.Helper()
	handler, err := metrics.Handler(s)
	if err != nil {
		t.Fatal(err)
	}
	reply := httptest.NewRecorder()
	handler.ServeHTTP(reply, httptest.NewRequest("GET", "/metrics", nil))
	if reply.Code != 200 {
		t.Errorf("code %d", reply.Code)
	}
	return reply.Body.String()
}

func TestEveryFigureIsOnThePage(t *testing.T) {
	text := page(t, metrics.Sources{
		Deletions: func() (actuate.Totals, bool) {
			return actuate.Totals{Ok: 3, Failed: 1, EvictionsAccepted: 20, EvictionsRefused: 4, Phases: map[string]actuate.InPhase{
				"draining": {Nodes: 2, Longest: 90 * time.Second}, "failed": {},
			}}, true
		},
		Feed: func() feed.Progress {
			return feed.Progress{Resyncs: 2, Puts: 500, Deletes: 7, Waiting: 5, Connected: true, Broken: 1}
		},
	})
	for _, line := range []string{
		`ebb_kube_active 1`, `ebb_kube_deletions{phase="draining"} 2`, `ebb_kube_deletions{phase="failed"} 0`,
		`ebb_kube_longest_in_phase_seconds{phase="draining"} 90`, `ebb_kube_deletions_total{result="ok"} 3`,
		`ebb_kube_deletions_total{result="failed"} 1`, `ebb_kube_evictions_total{result="accepted"} 20`,
		`ebb_kube_evictions_total{result="refused"} 4`, `ebb_kube_feed_connected 1`, `ebb_kube_feed_waiting 5`,
		`ebb_kube_feed_sent_total{change="put"} 500`, `ebb_kube_feed_sent_total{change="delete"} 7`,
		`ebb_kube_feed_resyncs_total 2`, `ebb_kube_feed_broken_watches 1`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if !strings.Contains(text, "\nprocess_resident_memory_bytes ") {
		t.Error("no figures of the process")
	}
}

func TestAReplicaThatOnlyFeedsHasNoDeletions(t *testing.T) {
	text := page(t, metrics.Sources{Feed: func() feed.Progress { return feed.Progress{} }})
	if !strings.Contains(text, "\nebb_kube_feed_connected 0\n") || strings.Contains(text, "ebb_kube_deletions") {
		t.Errorf("%s", text)
	}
}

func TestServeEndsWithItsContextAndNamesABadAddress(t *testing.T) {
	if err := metrics.Serve(t.Context(), "127.0.0.1:no-port", metrics.Sources{}); err == nil || !strings.Contains(err.Error(), "metrics: ") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := metrics.Serve(ctx, "127.0.0.1:0", metrics.Sources{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
