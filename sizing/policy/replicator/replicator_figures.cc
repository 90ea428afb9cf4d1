#include "sizing/policy/replicator/replicator_figures.h"

#include <algorithm>
#include <limits>
#include <set>

namespace ebb {
namespace {

constexpr double kSimulatedPercentMax = 90.0;  // At this percentage or above, a scale-in is denied.

int64_t End(bool negative) {
  return negative ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

// The order of the operations matters for rounding.
double PercentOf(int64_t part, int64_t whole) {
  return static_cast<double>(part) * 100.0 / static_cast<double>(whole);
}

ReplicatorPercents PercentOf(const ReplicatorResources& part, const ReplicatorResources& whole) {
  return {PercentOf(part.cpu, whole.cpu), PercentOf(part.memory, whole.memory),
          PercentOf(part.disk, whole.disk)};
}

// A later percentage replaces `most` only if it is strictly larger, so NaN never replaces a number,
// and a first NaN stays.
ReplicatorMetric MostUsed(const ReplicatorPercents& percents) {
  double most = percents[0];
  for (const double percent : percents) {
    if (percent > most) most = percent;
  }
  if (most == 0) return ReplicatorMetric::kNone;
  if (most == percents[0]) return ReplicatorMetric::kCpu;
  if (most == percents[2]) return ReplicatorMetric::kDisk;
  if (most == percents[1]) return ReplicatorMetric::kMemory;
  return ReplicatorMetric::kNoNumber;
}

int64_t Of(ReplicatorMetric metric, const ReplicatorResources& resources) {
  if (metric == ReplicatorMetric::kMemory) return resources.memory;
  if (metric == ReplicatorMetric::kDisk) return resources.disk;
  return resources.cpu;
}

double Of(ReplicatorMetric metric, const ReplicatorPercents& percents) {
  if (metric == ReplicatorMetric::kCpu) return percents[0];
  if (metric == ReplicatorMetric::kMemory) return percents[1];
  if (metric == ReplicatorMetric::kDisk) return percents[2];
  return 0;
}

// The tasks of every registered job that has a running allocation here.
ReplicatorResources Reserve(const std::vector<ReplicatorNode>& nodes,
                            const std::vector<ReplicatorJob>& jobs) {
  std::set<std::string_view> here;
  for (const ReplicatorNode& node : nodes) {
    for (const ReplicatorAllocation& allocation : node.allocations) {
      if (allocation.Counts()) here.insert(allocation.job);
    }
  }
  ReplicatorResources reserve;
  for (const ReplicatorJob& job : jobs) {
    if (!here.contains(job.id)) continue;
    for (const std::vector<ReplicatorResources>& group : job.groups) {
      for (const ReplicatorResources& task : group) reserve = reserve + task;
    }
  }
  return reserve;
}

}  // namespace

int64_t SaturatedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? End(b < 0) : sum;
}

int64_t SaturatedSubtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? End(b > 0) : difference;
}

int64_t SaturatedMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? End((a < 0) != (b < 0)) : product;
}

ReplicatorResources operator+(const ReplicatorResources& a, const ReplicatorResources& b) {
  return {SaturatedAdd(a.cpu, b.cpu), SaturatedAdd(a.memory, b.memory),
          SaturatedAdd(a.disk, b.disk)};
}

ReplicatorFigures Figures(const std::vector<ReplicatorNode>& nodes,
                          const std::vector<ReplicatorJob>& jobs, int64_t fault_tolerance) {
  ReplicatorFigures figures{.nodes = static_cast<int64_t>(nodes.size())};

  // 1. Capacity and use, node by node.
  std::vector<ReplicatorResources> used_by_node;
  for (const ReplicatorNode& node : nodes) {
    ReplicatorResources used;
    for (const ReplicatorAllocation& allocation : node.allocations) {
      if (allocation.Counts()) used = used + allocation.resources;
    }
    figures.total = figures.total + node.capacity;
    figures.used = figures.used + used;
    used_by_node.push_back(used);
  }
  figures.used_percent = PercentOf(figures.used, figures.total);
  for (size_t i = 0; i < nodes.size(); ++i) {
    figures.shares.push_back({nodes[i].id, PercentOf(used_by_node[i], figures.used)});
  }
  figures.reserve = Reserve(nodes, jobs);

  // 2. The resource that decides, and how much of it may be used.
  figures.metric = MostUsed(figures.used_percent);
  const int64_t total = Of(figures.metric, figures.total);
  const int64_t reserve = Of(figures.metric, figures.reserve);
  figures.consumed = Of(figures.metric, figures.used);
  figures.average = nodes.empty() ? 0 : total / figures.nodes;
  const int64_t held_back = SaturatedMultiply(figures.average, fault_tolerance);
  const auto allowed = [&](int64_t capacity) {
    return SaturatedSubtract(SaturatedSubtract(capacity, reserve), held_back);
  };
  figures.allowed = allowed(total);
  figures.sim_allowed = allowed(SaturatedSubtract(total, figures.average));
  figures.sim_percent = PercentOf(figures.consumed, figures.sim_allowed);

  // 3. There is always a direction; consuming exactly what is allowed leads out.
  const bool in = figures.consumed < figures.allowed || figures.metric == ReplicatorMetric::kNone;
  figures.direction = in ? ReplicatorDirection::kIn : ReplicatorDirection::kOut;
  return figures;
}

bool SimulationDenies(const ReplicatorFigures& figures) {
  return figures.consumed >= figures.sim_allowed || figures.sim_percent >= kSimulatedPercentMax;
}

std::optional<size_t> LeastAllocated(const ReplicatorFigures& figures,
                                     std::string_view protected_node) {
  if (figures.metric == ReplicatorMetric::kNoNumber) return std::nullopt;
  std::optional<size_t> least;
  for (size_t i = 0; i < figures.shares.size(); ++i) {
    const ReplicatorFigures::NodeShare& node = figures.shares[i];
    if (node.id == protected_node) continue;
    const double share = Of(figures.metric, node.of_pool_use);
    const double smallest = least ? Of(figures.metric, figures.shares[*least].of_pool_use) : 0;
    const bool first =
        !least || share < smallest || (share == smallest && node.id < figures.shares[*least].id);
    if (first) least = i;
  }
  return least;
}

std::string_view Name(ReplicatorMetric metric) {
  switch (metric) {
    case ReplicatorMetric::kNone:
      return "None";
    case ReplicatorMetric::kCpu:
      return "CPU";
    case ReplicatorMetric::kMemory:
      return "Memory";
    case ReplicatorMetric::kDisk:
      return "Disk";
    case ReplicatorMetric::kNoNumber:
      return "";
  }
  return "";
}

std::string_view Name(ReplicatorDirection direction) {
  return direction == ReplicatorDirection::kIn ? "In" : "Out";
}

}  // namespace ebb
