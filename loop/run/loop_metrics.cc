#include "loop/run/loop_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace ebb {

class LoopMetrics::Impl {
 public:
  prometheus::Family<prometheus::Counter>& CounterOf(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  prometheus::Gauge& GaugeOf(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& turns =
      CounterOf("ebb_loop_turns_total", "Turns of the loop, by whether they made a round.");
  prometheus::Counter& rounds = turns.Add({{"result", "round"}});
  prometheus::Counter& left_out = turns.Add({{"result", "left-out"}});
  prometheus::Family<prometheus::Counter>& deletions =
      CounterOf("ebb_loop_deletions_total", "Deletions of nodes, by result.");
  prometheus::Counter& begun = deletions.Add({{"result", "begun"}});
  prometheus::Counter& ok = deletions.Add({{"result", "ok"}});
  prometheus::Counter& failed = deletions.Add({{"result", "failed"}});
  prometheus::Counter& evicted =
      CounterOf("cluster_autoscaler_evicted_pods_total", "Pods that were evicted.")
          .Add({{"eviction_result", "succeeded"}});
  prometheus::Gauge& in_progress =
      GaugeOf("ebb_loop_deletions_in_progress", "Nodes in deletion as the last turn began.");
  prometheus::Gauge& last_round =
      GaugeOf("ebb_loop_last_round_time", "When the last round was made, in Unix seconds.");
};

LoopMetrics::LoopMetrics() : impl_(std::make_unique<Impl>()) {}
LoopMetrics::~LoopMetrics() = default;

void LoopMetrics::Observe(const LoopTurn& turn, uint64_t evictions) {
  const bool made = turn.round.has_value();
  (made ? impl_->rounds : impl_->left_out).Increment();
  if (made) impl_->last_round.Set(static_cast<double>(turn.now_s));
  if (turn.in_deletion) impl_->in_progress.Set(static_cast<double>(*turn.in_deletion));
  impl_->begun.Increment(static_cast<double>(turn.begun));
  for (const DeletionResult& result : turn.ended) {
    (result.ok ? impl_->ok : impl_->failed).Increment();
  }
  const double more = static_cast<double>(evictions) - impl_->evicted.Value();
  if (more > 0) impl_->evicted.Increment(more);
}

std::string LoopMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace ebb
