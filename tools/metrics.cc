#include "tools/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <map>
#include <mutex>

namespace ebb {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

// The autoscaler's own, in seconds.
const Histogram::BucketBoundaries kDurations = {0.01, 0.05, 0.1, 0.5, 1,   2.5, 5,   7.5,  10,  15,
                                                30,   45,   60,  90,  120, 300, 600, 1000, 2000};

template <typename Metric>
Family<Metric>& Add(Registry& registry, const char* name, const char* help) {
  if constexpr (std::is_same_v<Metric, Counter>) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  } else if constexpr (std::is_same_v<Metric, Gauge>) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  } else {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
}

}  // namespace

class Metrics::Impl {
 public:
  void Observe(const RoundResult& result, double seconds) {
    const std::scoped_lock lock(mutex_);
    const auto empty = static_cast<double>(CountNodes(result.start.empty));
    const auto drain = static_cast<double>(CountNodes(result.start.drain));
    scaled_down_.Add({{"reason", "empty"}}).Increment(empty);
    scaled_down_.Add({{"reason", "underutilized"}}).Increment(drain);
    unneeded_.Add({}).Set(static_cast<double>(result.unneeded.size()));
    longest_skipped_.Add({}).Set(static_cast<double>(result.longest_skipped_s));
    rounds_.Add({{"status", std::string(ToString(result.status))}}).Increment();
    SetUnremovable(result);
    Took("scaleDown", seconds);
    if (empty > 0) Took("scaleDown:empty", seconds);
    if (drain > 0) Took("scaleDown:nonEmpty", seconds);
  }

  std::string Text() const {
    const std::scoped_lock lock(mutex_);
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  // A reason that no node has any more is 0, not gone.
  void SetUnremovable(const RoundResult& result) {
    for (auto& [reason, count] : unremovable_counts_) count = 0;
    for (const UnremovableNode& node : result.plan.keep) {
      ++unremovable_counts_[std::string(ToString(node.reason))];
    }
    for (const NotYet& node : result.may_go.not_yet) {
      ++unremovable_counts_[std::string(ToString(node.reason))];
    }
    for (const auto& [reason, count] : unremovable_counts_) {
      unremovable_.Add({{"reason", reason}}).Set(count);
    }
  }

  void Took(const char* function, double seconds) {
    durations_.Add({{"function", function}}, kDurations).Observe(seconds);
  }

  mutable std::mutex mutex_;
  Registry registry_;
  Family<Counter>& scaled_down_ =
      Add<Counter>(registry_, "cluster_autoscaler_scaled_down_nodes_total",
                   "Number of nodes whose deletion was started.");
  Family<Gauge>& unneeded_ = Add<Gauge>(registry_, "cluster_autoscaler_unneeded_nodes_count",
                                        "Number of nodes currently considered unneeded.");
  Family<Gauge>& unremovable_ =
      Add<Gauge>(registry_, "cluster_autoscaler_unremovable_nodes_count",
                 "Number of nodes currently considered unremovable, by reason.");
  Family<Gauge>& longest_skipped_ =
      Add<Gauge>(registry_, "cluster_autoscaler_max_node_skip_eval_duration_seconds",
                 "The longest that a candidate has not been judged because passes were cut short.");
  Family<Histogram>& durations_ =
      Add<Histogram>(registry_, "cluster_autoscaler_function_duration_seconds",
                     "Time that parts of a round took.");
  Family<Counter>& rounds_ =
      Add<Counter>(registry_, "ebb_rounds_total", "Number of rounds, by their status.");
  std::map<std::string, double> unremovable_counts_;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::Observe(const RoundResult& result, double seconds) {
  impl_->Observe(result, seconds);
}

std::string Metrics::Text() const { return impl_->Text(); }

}  // namespace ebb
