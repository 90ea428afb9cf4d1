// PlanTotals: the whole cluster before and after a plan, and what a reader should check before the
// plan is carried out: pods that restart, groups, zones and workloads that end on one node, and
// minimums that ebb assumes.
//
// Units:   as in the report; utilization is what pods request divided by what nodes offer.
// Cost:    O(nodes + pods of the cluster).
// Threads: pure.

#ifndef EBB_REPORT_PLAN_TOTALS_H_
#define EBB_REPORT_PLAN_TOTALS_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/make_plan.h"
#include "groups/node_facts.h"
#include "report/plan_report.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Things that are counted, and the names of the first few.
struct Named {
  size_t count = 0;
  std::vector<std::string> first;  // At most kFirstNamed.

  void Add(std::string name);
};
inline constexpr size_t kFirstNamed = 5;

struct ClusterTotals {
  size_t nodes = 0;
  NodeAmounts allocatable;
  // What the pods that run now request, on the nodes where they are.  After the plan, pods of
  // DaemonSets and mirror pods of removed nodes are gone.
  CpuAndMemory requested;
  // Shares of what is allocatable; absent: nothing is.  GPUs as their resources are offered.
  std::optional<double> cpu;
  std::optional<double> memory;
  std::optional<double> gpu;
  std::optional<double> cost_per_hour;  // Absent: no prices were given.
};

// Devices of dynamic resource allocation, of one driver and product.
struct DeviceTotals {
  std::string driver;
  std::string product;  // The attribute productName or model; empty: there is neither.
  size_t devices = 0;   // That the nodes reach before the plan.
  size_t in_use = 0;    // Of these, in use before the plan.
  size_t freed = 0;     // Of these, on nodes that go: they go with the node.
};

struct PlanTotals {
  ClusterTotals before;
  ClusterTotals after;
  std::vector<DeviceTotals> devices;  // By driver and product.

  // Pods on nodes that request neither cpu nor memory, without those of DaemonSets and mirror pods.
  Named without_requests;
  Named assumed_minimums;  // Groups that lose nodes and whose minimum of 0 is an assumption.
  // Groups and zones that lose nodes and have one node left, or none; workloads with several pods
  // that are all on one node only after the plan.
  Named groups_on_one_node;
  Named zones_on_one_node;
  Named workloads_on_one_node;
  Named jobs;             // Jobs with pods that are evicted: they start over.
  Named single_replicas;  // Other workloads whose only running pod is evicted.
  Named unowned;          // Evicted pods without a controller: nothing makes them again.
};

PlanTotals TotalsOf(const PlanReport& report);

// Whether the pod counts in PlanTotals::without_requests.
bool IsWithoutRequests(const Catalog& catalog, PodId pod);

// Adds the members `totals`, `podsWithoutRequests`, `assumedMinimums`, `onOneNode` and `restarts`
// to the plan's summary; all but the first are absent if they would be empty.
void PutTotals(const PlanTotals& totals, nlohmann::ordered_json& summary);

// The whole cluster before and after the plan, a line each, and a line for each kind of device.
std::vector<std::string> TotalsText(const PlanTotals& totals, std::string_view currency);
// What to check, a line each, with printable names.
std::vector<std::string> ChecksOf(const PlanTotals& totals);

// "a, b and 3 more".
std::string NamesText(const Named& named, size_t shown = 3);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_TOTALS_H_
