#include "daemon/daemon_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <utility>
#include <vector>

#include "daemon/call_log.h"
#include "rounds/metrics.h"

namespace ebb {
namespace {

prometheus::Histogram::BucketBoundaries Seconds() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60};
}

}  // namespace

class DaemonMetrics::Impl {
 public:
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& calls = prometheus::BuildCounter()
                                                       .Name("ebb_calls_total")
                                                       .Help("Calls that ended, by their code.")
                                                       .Register(registry);
  prometheus::Family<prometheus::Histogram>& durations = prometheus::BuildHistogram()
                                                             .Name("ebb_call_duration_seconds")
                                                             .Help("How long calls took.")
                                                             .Register(registry);
};

DaemonMetrics::DaemonMetrics() : impl_(std::make_unique<Impl>()) {}
DaemonMetrics::~DaemonMetrics() = default;

void DaemonMetrics::Count(const EndedCall& call) {
  impl_->calls.Add({{"call", call.call}, {"code", CodeName(call.status.code())}}).Increment();
  impl_->durations.Add({{"call", call.call}}, Seconds()).Observe(call.seconds);
}

std::string DaemonMetrics::Text(const Sessions& sessions, const Now& now) const {
  // Gauges are built from scratch each time, so that no sample of a closed session remains.
  prometheus::Registry registry;
  const auto gauge = [&](const char* name, const char* help) -> auto& {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  };
  const auto counter = [&](const char* name, const char* help) -> auto& {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  };
  auto& connections = counter("ebb_connections_total", "Connections, by outcome.");
  connections.Add({{"result", "accepted"}})
      .Increment(static_cast<double>(now.connections_accepted));
  connections.Add({{"result", "refused"}}).Increment(static_cast<double>(now.connections_refused));
  connections.Add({{"result", "closed"}}).Increment(static_cast<double>(now.connections_closed));
  gauge("process_resident_memory_bytes", "Resident memory.")
      .Add({})
      .Set(static_cast<double>(now.resident_bytes));
  auto& version = gauge("ebb_session_version", "Batches of changes that were taken.");
  auto& nodes = gauge("ebb_session_nodes", "Nodes of the session's cluster.");
  auto& pods = gauge("ebb_session_pods", "Pods of the session's cluster.");
  auto& waiting = gauge("ebb_session_waiting_calls", "Calls that wait for the session.");
  auto& rebuilds = counter("ebb_session_rebuilds_total",
                           "How often a cluster, or its volumes, were built again, by cause.");
  auto& rebuild_seconds =
      counter("ebb_session_rebuild_seconds_total", "How long rebuilds took, by cause.");
  auto& renewals = counter("ebb_session_text_renewals_total",
                           "How often a rebuild also dropped the texts of deleted objects.");
  auto& plans = counter("ebb_session_plans_total", "Plans that were made.");
  std::vector<std::pair<std::string, MetricsSnapshot>> rounds;
  const auto all = sessions.All();
  gauge("ebb_sessions", "Sessions.").Add({}).Set(static_cast<double>(all.size()));
  for (const auto& session : all) {
    const wire::SessionStatus status = session->Status();
    const prometheus::Labels labels = {{"session", status.session()}};
    version.Add(labels).Set(static_cast<double>(status.version()));
    nodes.Add(labels).Set(static_cast<double>(status.nodes()));
    pods.Add(labels).Set(static_cast<double>(status.pods()));
    waiting.Add(labels).Set(static_cast<double>(status.calls_waiting()));
    const RebuildTotals totals = session->Rebuilds();
    renewals.Add(labels).Increment(static_cast<double>(totals.text_renewals));
    for (const RebuildTotals::Total& total : totals.by_cause) {
      const prometheus::Labels by_cause = {{"session", status.session()},
                                           {"cause", std::string(total.cause)}};
      rebuilds.Add(by_cause).Increment(static_cast<double>(total.rebuilds));
      rebuild_seconds.Add(by_cause).Increment(total.seconds);
    }
    plans.Add(labels).Increment(static_cast<double>(status.plans()));
    rounds.emplace_back(status.session(), session->RoundMetrics());
  }
  const prometheus::TextSerializer serializer;
  return serializer.Serialize(impl_->registry.Collect()) +
         serializer.Serialize(registry.Collect()) + MetricsText(rounds);
}

}  // namespace ebb
