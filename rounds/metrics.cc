#include "rounds/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <type_traits>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "engine/plan/node_standing.h"
#include "engine/plan/utilization.h"

namespace ebb {

struct CountedMetrics {
  std::vector<prometheus::MetricFamily> families;
};

std::string MetricsText(std::span<const std::pair<std::string, MetricsSnapshot>> by_session) {
  std::map<std::string, prometheus::MetricFamily> merged;  // By name.
  for (const auto& [session, counted] : by_session) {
    if (counted == nullptr) continue;
    for (const prometheus::MetricFamily& family : counted->families) {
      prometheus::MetricFamily& to = merged[family.name];
      to.name = family.name;
      to.help = family.help;
      to.type = family.type;
      for (prometheus::ClientMetric metric : family.metric) {
        metric.label.push_back({"session", session});
        to.metric.push_back(std::move(metric));
      }
    }
  }
  std::vector<prometheus::MetricFamily> families;
  for (auto& [name, family] : merged) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

// The autoscaler's own, in seconds.
Histogram::BucketBoundaries Durations() {
  return {0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 7.5, 10, 15, 30, 45, 60, 90, 120, 300, 600, 1000, 2000};
}

constexpr const char* kScaledDown = "cluster_autoscaler_scaled_down_nodes_total";
constexpr const char* kScaledDownGpu = "cluster_autoscaler_scaled_down_gpu_nodes_total";
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

// The stored form of a counter's label values.
constexpr const char* kBetweenValues = ",";
std::string Joined(const std::vector<prometheus::ClientMetric::Label>& labels) {
  std::vector<std::string> values;
  values.reserve(labels.size());
  for (const prometheus::ClientMetric::Label& label : labels) values.push_back(label.value);
  return absl::StrJoin(values, kBetweenValues);
}

// The stored form of a histogram: each bucket separately, not cumulative.
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
    // Known reasons start at 0, so that a rate can be computed from the first deletion.
    for (const char* reason : {"empty", "underutilized", "unready"}) Counted(scaled_down_, reason);
    errors_.Add({{"type", "internalError"}});
  }

  void Observe(const ObservedRound& round) {
    const std::scoped_lock lock(mutex_);
    const RoundResult& result = *round.result;
    CountStarted(round);
    CountNodes(round);
    NoteActivity(result);
    safe_.Add({}).Set(result.status == ScaleDownStatus::kClusterUnhealthy ? 0 : 1);
    unschedulable_.Add({{"type", "unschedulable"}}).Set(static_cast<double>(round.pending_pods));
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

  MetricsSnapshot Collect() const {
    const std::scoped_lock lock(mutex_);
    return std::make_shared<const CountedMetrics>(CountedMetrics{registry_.Collect()});
  }

  std::vector<StoredCounter> Save() const {
    const std::scoped_lock lock(mutex_);
    std::vector<StoredCounter> saved;
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      for (const prometheus::ClientMetric& metric : family.metric) {
        const std::string label = Joined(metric.label);
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
    EBB_DCHECK(
        std::ranges::all_of(Save(), [](const StoredCounter& row) { return row.value == 0; }));
    const std::scoped_lock lock(mutex_);
    struct Stored {
      double sum = 0;
      std::vector<double> buckets = std::vector<double>(Durations().size() + 1);
    };
    std::map<std::string, Stored> durations;  // By function.
    for (const auto& [name, label, bucket, value] : counters) {
      if (name == kScaledDown) Counted(scaled_down_, label).Increment(value);
      if (name == kScaledDownGpu) RestoreGpu(label, value);
      if (name == kFailed) Counted(failed_, label).Increment(value);
      if (name == kErrors) errors_.Add({{"type", label}}).Increment(value);
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
  static bool CountsAsReady(const ObservedRound& round, NodeId node) {
    return round.groups == nullptr ? round.catalog->node(node).ready
                                   : IsReady(*round.catalog, *round.groups, node);
  }

  void CountStarted(const ObservedRound& round) {
    const Catalog& catalog = *round.catalog;
    const RoundResult& result = *round.result;
    std::set<NodeId> empty;
    for (const DeletionBucket& bucket : result.start.empty) {
      empty.insert(bucket.nodes.begin(), bucket.nodes.end());
    }
    for (const NodeId node : result.newly_started) {
      const char* const reason = !CountsAsReady(round, node) ? "unready"
                                 : empty.contains(node)      ? "empty"
                                                             : "underutilized";
      Counted(scaled_down_, reason).Increment();
      const std::optional<ResourceId> gpu = GpuOf(catalog, node);
      if (gpu) Gpu(reason, std::string(catalog.Text(catalog.resource_name(*gpu)))).Increment();
    }
  }

  // `name` defaults to the autoscaler's name for a GPU whose model no label gives.
  Counter& Gpu(const std::string& reason, const std::string& resource,
               const std::string& name = "generic") {
    return scaled_down_gpu_.Add(
        {{"gpu_name", name}, {"gpu_resource_name", resource}, {"reason", reason}});
  }

  // `label` is what Joined returned for labels sorted by name.
  void RestoreGpu(const std::string& label, double value) {
    const std::vector<std::string> values = absl::StrSplit(label, kBetweenValues);
    if (values.size() == 3) Gpu(values[2], values[1], values[0]).Increment(value);
  }

  // Source: cluster-autoscaler clusterstate updateReadinessStats.
  void CountNodes(const ObservedRound& round) {
    if (round.snapshot == nullptr) return;
    double ready = 0;
    double unready = 0;
    double not_started = 0;
    round.snapshot->alive().ForEach([&](NodeId node) {
      const NodeInfo& info = round.catalog->node(node);
      const int64_t age_s = round.result->now_s - info.creation_time;
      ++(CountsAsReady(round, node)              ? ready
         : age_s < round.max_node_startup_time_s ? not_started
                                                 : unready);
    });
    nodes_.Add({{"state", "ready"}}).Set(ready);
    nodes_.Add({{"state", "unready"}}).Set(unready);
    nodes_.Add({{"state", "notStarted"}}).Set(not_started);
    nodes_.Add({{"state", "unregistered"}}).Set(static_cast<double>(round.unregistered_nodes));
  }

  void NoteActivity(const RoundResult& result) {
    const auto now = static_cast<double>(result.now_s);
    for (const char* activity : {"main", "mainSuccessful", "autoscaling"}) {
      activity_.Add({{"activity", activity}}).Set(now);
    }
    const bool looked = result.status != ScaleDownStatus::kClockJumped &&
                        result.status != ScaleDownStatus::kClusterUnhealthy &&
                        result.status != ScaleDownStatus::kInCooldown;
    if (looked) activity_.Add({{"activity", "scaleDown"}}).Set(now);
  }

  // A reason that no node has any more remains, with value 0.
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
    SetCauses(result.unremovable);
  }

  void SetCauses(const UnremovableNodes& nodes) {
    for (auto& [reason, count] : cause_counts_) count = 0;
    for (const UnremovableNodes::OfReason& each : nodes.reasons) {
      cause_counts_[each.reason] = static_cast<double>(each.nodes);
    }
    for (const auto& [reason, count] : cause_counts_) causes_.Add({{"reason", reason}}).Set(count);
    remembered_.Add({}).Set(static_cast<double>(nodes.remembered));
    first_recheck_.Add({}).Set(static_cast<double>(nodes.first_recheck_s));
    last_recheck_.Add({}).Set(static_cast<double>(nodes.last_recheck_s));
  }

  static Counter& Counted(Family<Counter>& family, const std::string& reason) {
    return family.Add({{"reason", reason}});
  }

  Histogram& Duration(const std::string& function) {
    return durations_.Add({{"function", function}}, Durations());
  }

  mutable std::mutex mutex_;
  Registry registry_;
  Family<Counter>& scaled_down_ =
      Add<Counter>(registry_, kScaledDown, "Number of nodes whose deletion was started.");
  Family<Counter>& scaled_down_gpu_ = Add<Counter>(
      registry_, kScaledDownGpu, "Number of nodes with GPUs whose deletion was started.");
  Family<Counter>& errors_ =
      Add<Counter>(registry_, kErrors, "Number of rounds that ended with an error.");
  Family<Gauge>& nodes_ =
      Add<Gauge>(registry_, "cluster_autoscaler_nodes_count", "Number of nodes in the cluster.");
  Family<Gauge>& safe_ =
      Add<Gauge>(registry_, "cluster_autoscaler_cluster_safe_to_autoscale",
                 "Whether enough nodes are ready for anything to be deleted, 1 or 0.");
  Family<Gauge>& unschedulable_ = Add<Gauge>(
      registry_, "cluster_autoscaler_unschedulable_pods_count", "Number of pods without a node.");
  Family<Gauge>& activity_ = Add<Gauge>(registry_, "cluster_autoscaler_last_activity",
                                        "When a part of the loop last ran, Unix seconds.");
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
  Family<Gauge>& longest_skipped_ = Add<Gauge>(
      registry_, "cluster_autoscaler_max_node_skip_eval_duration_seconds",
      "Longest time in seconds that a candidate was not evaluated because passes were cut short.");
  Family<Histogram>& durations_ =
      Add<Histogram>(registry_, kDuration, "Time that rounds took, by what they did.");
  Family<Counter>& rounds_ = Add<Counter>(registry_, kRounds, "Number of rounds, by their status.");
  Family<Gauge>& causes_ = Add<Gauge>(
      registry_, "ebb_unremovable_nodes",
      "Number of nodes that the last round kept, by what was found when each was tried.");
  Family<Gauge>& remembered_ =
      Add<Gauge>(registry_, "ebb_remembered_unremovable_nodes",
                 "Number of unremovable nodes that are not tried again for a while.");
  Family<Gauge>& first_recheck_ =
      Add<Gauge>(registry_, "ebb_unremovable_first_recheck_timestamp_seconds",
                 "When the first of the remembered unremovable nodes is tried again; 0: none is.");
  Family<Gauge>& last_recheck_ =
      Add<Gauge>(registry_, "ebb_unremovable_last_recheck_timestamp_seconds",
                 "When the last of the remembered unremovable nodes is tried again; 0: none is.");
  std::map<std::string, double> unremovable_counts_;
  std::map<std::string, double> cause_counts_;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::Observe(const ObservedRound& round) { impl_->Observe(round); }
std::string Metrics::Text() const { return impl_->Text(); }
MetricsSnapshot Metrics::Collect() const { return impl_->Collect(); }
std::vector<StoredCounter> Metrics::Save() const { return impl_->Save(); }
void Metrics::Restore(const std::vector<StoredCounter>& counters) { impl_->Restore(counters); }

}  // namespace ebb
