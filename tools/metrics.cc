#include "tools/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <type_traits>

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

constexpr const char* kScaledDown = "cluster_autoscaler_scaled_down_nodes_total";
constexpr const char* kFailed = "cluster_autoscaler_failed_scale_down_total";
constexpr const char* kDuration = "cluster_autoscaler_function_duration_seconds";
constexpr const char* kRounds = "ebb_rounds_total";

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

// A histogram's buckets as they are kept: each by itself, not summed up.
void SaveHistogram(const std::string& name, const std::string& label,
                   const prometheus::ClientMetric::Histogram& histogram,
                   std::vector<StoredCounter>& saved) {
  saved.push_back({name, label, -1, histogram.sample_sum});
  double below = 0;
  for (size_t b = 0; b < histogram.bucket.size(); ++b) {
    const auto up_to = static_cast<double>(histogram.bucket[b].cumulative_count);
    saved.push_back({name, label, static_cast<int64_t>(b), up_to - below});
    below = up_to;
  }
}

}  // namespace

class Metrics::Impl {
 public:
  Impl() {
    // Known reasons are 0 from the start, so that a rate has a beginning.
    for (const char* reason : {"empty", "underutilized", "unready"}) Counted(scaled_down_, reason);
  }

  void Observe(const ObservedRound& round) {
    const std::scoped_lock lock(mutex_);
    const RoundResult& result = *round.result;
    CountStarted(*round.catalog, result.start.empty, "empty");
    CountStarted(*round.catalog, result.start.drain, "underutilized");
    for (const std::string& reason : round.failed_deletions) Counted(failed_, reason).Increment();
    unneeded_.Add({}).Set(static_cast<double>(result.unneeded.size()));
    pending_.Add({}).Set(static_cast<double>(round.deletions_in_progress));
    in_cooldown_.Add({}).Set(result.status == ScaleDownStatus::kInCooldown ? 1 : 0);
    longest_skipped_.Add({}).Set(static_cast<double>(result.longest_skipped_s));
    rounds_.Add({{"status", std::string(ToString(result.status))}}).Increment();
    SetUnremovable(result);
    Duration("scaleDown").Observe(round.seconds);
    if (!result.start.empty.empty()) Duration("scaleDown:empty").Observe(round.seconds);
    if (!result.start.drain.empty()) Duration("scaleDown:nonEmpty").Observe(round.seconds);
  }

  std::string Text() const {
    const std::scoped_lock lock(mutex_);
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  std::vector<StoredCounter> Save() const {
    const std::scoped_lock lock(mutex_);
    std::vector<StoredCounter> saved;
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      for (const prometheus::ClientMetric& metric : family.metric) {
        const std::string label = metric.label.empty() ? "" : metric.label[0].value;
        if (family.type == prometheus::MetricType::Counter) {
          saved.push_back({family.name, label, -1, metric.counter.value});
        } else if (family.type == prometheus::MetricType::Histogram) {
          SaveHistogram(family.name, label, metric.histogram, saved);
        }
      }
    }
    std::sort(saved.begin(), saved.end(), [](const StoredCounter& a, const StoredCounter& b) {
      return std::tie(a.name, a.label, a.bucket) < std::tie(b.name, b.label, b.bucket);
    });
    return saved;
  }

  void Restore(const std::vector<StoredCounter>& counters) {
    const std::scoped_lock lock(mutex_);
    struct Stored {
      double sum = 0;
      std::vector<double> buckets = std::vector<double>(kDurations.size() + 1);
    };
    std::map<std::string, Stored> durations;  // By function.
    for (const auto& [name, label, bucket, value] : counters) {
      if (name == kScaledDown) Counted(scaled_down_, label).Increment(value);
      if (name == kFailed) Counted(failed_, label).Increment(value);
      if (name == kRounds) rounds_.Add({{"status", label}}).Increment(value);
      if (name != kDuration) continue;
      Stored& stored = durations[label];
      if (bucket < 0) {
        stored.sum = value;
      } else if (bucket < static_cast<int64_t>(stored.buckets.size())) {
        stored.buckets[static_cast<size_t>(bucket)] = value;
      }
    }
    for (const auto& [function, stored] : durations) {
      Duration(function).ObserveMultiple(stored.buckets, stored.sum);
    }
  }

 private:
  void CountStarted(const Catalog& catalog, const std::vector<DeletionBucket>& buckets,
                    const char* reason) {
    for (const DeletionBucket& bucket : buckets) {
      for (const NodeId node : bucket.nodes) {
        Counted(scaled_down_, catalog.node(node).ready ? reason : "unready").Increment();
      }
    }
  }

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

  static Counter& Counted(Family<Counter>& family, const std::string& reason) {
    return family.Add({{"reason", reason}});
  }

  Histogram& Duration(const std::string& function) {
    return durations_.Add({{"function", function}}, kDurations);
  }

  mutable std::mutex mutex_;
  Registry registry_;
  Family<Counter>& scaled_down_ =
      Add<Counter>(registry_, kScaledDown, "Number of nodes whose deletion was started.");
  Family<Counter>& failed_ =
      Add<Counter>(registry_, kFailed, "Number of deletions that failed, by their result.");
  Family<Gauge>& unneeded_ = Add<Gauge>(registry_, "cluster_autoscaler_unneeded_nodes_count",
                                        "Number of nodes currently considered unneeded.");
  Family<Gauge>& unremovable_ =
      Add<Gauge>(registry_, "cluster_autoscaler_unremovable_nodes_count",
                 "Number of nodes currently considered unremovable, by reason.");
  Family<Gauge>& pending_ = Add<Gauge>(registry_, "cluster_autoscaler_pending_node_deletions",
                                       "Number of nodes that are being deleted.");
  Family<Gauge>& in_cooldown_ = Add<Gauge>(registry_, "cluster_autoscaler_scale_down_in_cooldown",
                                           "Whether nothing is deleted for now, 1 or 0.");
  Family<Gauge>& longest_skipped_ =
      Add<Gauge>(registry_, "cluster_autoscaler_max_node_skip_eval_duration_seconds",
                 "The longest that a candidate has not been judged because passes were cut short.");
  Family<Histogram>& durations_ =
      Add<Histogram>(registry_, kDuration, "Time that rounds took, by what they did.");
  Family<Counter>& rounds_ = Add<Counter>(registry_, kRounds, "Number of rounds, by their status.");
  std::map<std::string, double> unremovable_counts_;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::Observe(const ObservedRound& round) { impl_->Observe(round); }
std::string Metrics::Text() const { return impl_->Text(); }
std::vector<StoredCounter> Metrics::Save() const { return impl_->Save(); }
void Metrics::Restore(const std::vector<StoredCounter>& counters) { impl_->Restore(counters); }

}  // namespace ebb
