// FindLowerRequests: how many more nodes go if workloads request what they use.
//
// For each container of a workload with usage: cpu is a percentile of its samples and at least
// 10m, memory is the largest sample plus a margin and at least 100 MiB, each over all of the
// workload's pods, as krr recommends them.  Requests are only lowered.  All workloads are tried
// together, then those that free most, each by itself.
//
// Cost:    one plan per trial, and writing the pods of the workloads.
// Threads: one at a time.
// Errors:  those of MakePlan; InvalidArgument: no pod of the cluster has usage.

#ifndef EBB_WHAT_IF_LOWER_REQUESTS_H_
#define EBB_WHAT_IF_LOWER_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planning/live_cluster.h"
#include "report/plan_report.h"
#include "report/plan_totals.h"
#include "snapshot/catalog.h"
#include "what_if/blockers.h"
#include "what_if/pod_usage.h"

namespace ebb {

struct LowerRequests {
  struct Container {
    std::string name;
    // Of one pod; absent: it is not lowered.
    std::optional<int64_t> cpu_milli;
    std::optional<int64_t> memory_bytes;
  };
  struct Workload {
    std::string kind;
    std::string namespace_name;
    std::string name;
    size_t pods = 0;
    std::vector<Container> containers;
    CpuAndMemory freed;             // Of all its pods.
    std::optional<int64_t> gained;  // Absent: not tried by itself.
    std::optional<double> saved_per_hour;
    std::string command;  // Empty: no one line makes the change.
  };
  struct Skipped {
    std::string what;  // "pods with usage do not run in the cluster"
    Named named;
  };
  size_t pods_with_usage = 0;  // Pods of the cluster.
  CpuAndMemory freed;
  int64_t gained = 0;  // If all workloads request what they use.
  std::optional<double> saved_per_hour;
  std::vector<Workload> workloads;  // Those that free most first.
  std::vector<Skipped> skipped;     // What was left out; without empty entries.
};

struct LowerRequestsOptions {
  double cpu_percentile = 95;
  double memory_margin = 0.15;
  size_t workloads = 10;  // How many workloads are tried by themselves.
};

// `blockers`: its price and deadline apply.
absl::StatusOr<LowerRequests> FindLowerRequests(const PlanReport& report, const PlanQuery& query,
                                                LiveCluster& cluster, const PodUsage& usage,
                                                const LowerRequestsOptions& options,
                                                const BlockersOptions& blockers);

// The member `lowerRequests` of Blockers in docs/blockers.schema.json.
nlohmann::ordered_json LowerRequestsJson(const LowerRequests& found,
                                         const LowerRequestsOptions& options);

}  // namespace ebb

#endif  // EBB_WHAT_IF_LOWER_REQUESTS_H_
