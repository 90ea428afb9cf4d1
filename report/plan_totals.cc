#include "report/plan_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/plan/utilization.h"
#include "groups/prices.h"
#include "predicates/drainability.h"
#include "report/plan_purchases.h"
#include "snapshot/devices.h"
#include "snapshot/workload_names.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

int64_t Requested(const ClusterSnapshot& snapshot, ResourceId resource, NodeId node) {
  return snapshot.Allocatable(resource, node) - snapshot.Free(resource, node);
}

void AddRequests(const Catalog& catalog, PodId pod, CpuAndMemory& to) {
  to.cpu_milli += AmountOf(catalog.shape_of(pod).charge_requests, kCpu);
  to.memory_bytes += AmountOf(catalog.shape_of(pod).charge_requests, kMemory);
}

std::optional<double> ShareOf(double requested, double allocatable) {
  if (allocatable <= 0) return std::nullopt;
  return requested / allocatable;
}

// What is offered and requested of the GPUs of nodes, each node by its own resource.
struct GpuUse {
  double requested = 0;
  double allocatable = 0;

  void Add(const ClusterSnapshot& snapshot, NodeId node) {
    const std::optional<ResourceId> gpu = GpuOf(snapshot.catalog(), node);
    if (!gpu) return;
    requested += static_cast<double>(Requested(snapshot, *gpu, node));
    allocatable += static_cast<double>(snapshot.Allocatable(*gpu, node));
  }
};

void SetShares(const GpuUse& gpu, ClusterTotals& totals) {
  totals.cpu = ShareOf(static_cast<double>(totals.requested.cpu_milli),
                       static_cast<double>(totals.allocatable.cpu_milli));
  totals.memory = ShareOf(static_cast<double>(totals.requested.memory_bytes),
                          static_cast<double>(totals.allocatable.memory_bytes));
  totals.gpu = ShareOf(gpu.requested, gpu.allocatable);
}

void CountCluster(const PlanReport& report, PlanTotals& totals) {
  const PlanContext& context = report.context;
  const ClusterSnapshot& snapshot = context.cluster->snapshot;
  const Catalog& catalog = context.catalog();
  NodeSet goes(catalog.nodes());
  for (const PlanReport::Removal& removal : report.remove) goes.Insert(removal.node);
  const NodePrices* const prices = context.prices;
  ClusterTotals& before = totals.before;
  ClusterTotals& after = totals.after;
  GpuUse gpu_before;
  GpuUse gpu_after;
  if (prices != nullptr) {
    before.cost_per_hour = 0;
    after.cost_per_hour = 0;
  }
  snapshot.alive().ForEach([&](NodeId node) {
    const auto add = [&](ClusterTotals& to, GpuUse& gpu) {
      ++to.nodes;
      to.allocatable.Add(report.facts[Index(node)].allocatable);
      to.requested.cpu_milli += Requested(snapshot, kCpu, node);
      to.requested.memory_bytes += Requested(snapshot, kMemory, node);
      gpu.Add(snapshot, node);
      if (prices != nullptr) *to.cost_per_hour += prices->hourly[Index(node)];
    };
    if (!context.Buys(node)) add(before, gpu_before);
    if (!goes.Contains(node)) add(after, gpu_after);
  });
  for (const PlanReport::Removal& removal : report.remove) {
    const std::optional<ResourceId> gpu = GpuOf(catalog, removal.node);
    for (const PlanReport::PodMove& move : removal.pods) {
      AddRequests(catalog, move.pod, after.requested);
      if (!gpu) continue;
      gpu_after.requested +=
          static_cast<double>(AmountOf(catalog.shape_of(move.pod).charge_requests, *gpu));
    }
  }
  // Pods on nodes in deletion are not placed in the snapshot, but they run.
  for (const PodId pod : context.request->pass.evicting) {
    AddRequests(catalog, pod, before.requested);
    AddRequests(catalog, pod, after.requested);
  }
  SetShares(gpu_before, before);
  SetShares(gpu_after, after);
}

// The value of the attribute, which may be written with the driver's domain or without.
std::optional<TextId> AttributeOf(const Catalog& catalog, const DeviceInfo& device,
                                  std::string_view attribute) {
  const Symbols& symbols = catalog.symbols();
  const TextId driver = catalog.devices().slice(device.slice).driver;
  const std::string full = fmt::format("{}/{}", symbols.Text(driver), attribute);
  const auto found =
      catalog.devices().AttributeOf(device, {.attribute = symbols.Find(full).value_or(kNoText),
                                             .domain = driver,
                                             .id = symbols.Find(attribute).value_or(kNoText),
                                             .requests = {}});
  if (!found) return std::nullopt;
  return found->second;
}

void CountDevices(const PlanReport& report, std::vector<DeviceTotals>& totals) {
  const ClusterSnapshot& snapshot = report.context.cluster->snapshot;
  const Catalog& catalog = report.context.catalog();
  const Devices& devices = catalog.devices();
  if (!devices.HasSlices()) return;
  absl::flat_hash_set<TextId> goes;  // Names of nodes.
  for (const PlanReport::Removal& removal : report.remove) {
    goes.insert(catalog.node(removal.node).name);
  }
  const DeviceState& state = snapshot.devices();
  const auto is_used = [&](DeviceId id) {
    if (state.claims() == 0) return false;  // The state knows no devices then.
    const DeviceShares* const shares = state.Shares(id);
    return state.Uses(id) > 0 || (shares != nullptr && shares->claims > 0);
  };
  absl::flat_hash_set<DeviceId> seen;
  std::map<std::pair<std::string, std::string>, DeviceTotals> kinds;
  const auto count = [&](const DeviceInfo& device) {
    if (!seen.insert(device.id).second) return;
    const SliceInfo& slice = devices.slice(device.slice);
    std::optional<TextId> product = AttributeOf(catalog, device, "productName");
    if (!product) product = AttributeOf(catalog, device, "model");
    DeviceTotals& of = kinds[{std::string(catalog.Text(slice.driver)),
                              std::string(product ? catalog.Text(*product) : "")}];
    ++of.devices;
    of.in_use += is_used(device.id) ? 1 : 0;
    const TextId node = slice.per_device_nodes ? device.reach.node : slice.reach.node;
    of.freed += node != kNoText && goes.contains(node) ? 1 : 0;
  };
  snapshot.alive().ForEach([&](NodeId node) {
    if (report.context.Buys(node)) return;
    for (const NodePool& pool : devices.PoolsOf(node)) {
      for (const uint32_t s : pool.slices) {
        const SliceInfo& slice = devices.slice(s);
        for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
          count(devices.device(d));
        }
      }
    }
  });
  for (auto& [name, of] : kinds) {
    of.driver = name.first;
    of.product = name.second;
    totals.push_back(std::move(of));
  }
}

// Groups and zones.
void CountShares(const PlanReport& report, PlanTotals& totals) {
  std::map<std::string_view, size_t> bought;  // By group.
  if (report.context.purchases != nullptr) {
    for (const auto& each : report.context.purchases->buy) ++bought[each.group];
  }
  for (const PlanReport::Share& share : report.by_group) {
    if (share.removed > 0 && share.nodes - share.removed + bought[share.name] <= 1) {
      totals.groups_on_one_node.Add(std::string(share.name));
    }
  }
  std::set<std::string_view> assumed;                           // Groups.
  std::map<std::string_view, std::pair<size_t, size_t>> zones;  // Nodes, and nodes that go.
  report.context.cluster->snapshot.alive().ForEach([&](NodeId node) {
    const std::string_view zone = report.facts[Index(node)].zone;
    if (!zone.empty()) ++zones[zone].first;
  });
  for (const PlanReport::Removal& removal : report.remove) {
    const std::string_view zone = report.facts[Index(removal.node)].zone;
    if (!zone.empty()) ++zones[zone].second;
    const NodeGroup* const group = report.context.groups->Find(removal.node);
    if (group != nullptr && !group->minimum_is_known) assumed.insert(group->name);
  }
  for (const std::string_view name : assumed) totals.assumed_minimums.Add(std::string(name));
  for (const auto& [name, nodes] : zones) {
    if (nodes.second > 0 && nodes.first - nodes.second <= 1) {
      totals.zones_on_one_node.Add(std::string(name));
    }
  }
}

// The nodes of a workload's pods: none, one, or several.
struct Nodes {
  NodeId one = kNoNode;
  bool several = false;

  void Add(NodeId node) {
    several |= one != kNoNode && one != node;
    one = node;
  }
};

struct Workload {
  bool evicted = false;
  size_t pods = 0;
  Nodes before;
  Nodes after;
};

// Counts the pods of each workload, and their nodes before and after the plan.
class Workloads {
 public:
  explicit Workloads(const PlanReport& report)
      : catalog_(report.context.catalog()),
        index_of_shape_(catalog_.pod_shapes(), kUnseen),
        to_(catalog_.pods(), kNoNode) {
    for (const PlanReport::Removal& removal : report.remove) {
      for (const PlanReport::PodMove& move : removal.pods) to_[Index(move.pod)] = move.to;
    }
    const ClusterSnapshot& snapshot = report.context.cluster->snapshot;
    snapshot.alive().ForEach([&](NodeId node) {
      for (const PodId pod : snapshot.PodsOn(node)) Add(pod, node);
    });
  }

  // Null: the pod has no controller.
  Workload* Of(PodId pod) {
    const size_t index = index_of_shape_[Index(catalog_.shape_id(pod))];
    return index >= workloads_.size() ? nullptr : &workloads_[index];
  }

 private:
  static constexpr uint32_t kUnseen = ~uint32_t{0};
  static constexpr uint32_t kNone = kUnseen - 1;

  // Of WorkloadNameOf(): the texts are the catalog's.
  struct Key {
    TextId namespace_name;
    std::string_view kind;
    std::string_view name;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.namespace_name, Absl(key.kind), Absl(key.name));
    }
  };

  uint32_t IndexOf(PodId pod) {
    uint32_t& index = index_of_shape_[Index(catalog_.shape_id(pod))];
    if (index != kUnseen) return index;
    const PodShape& shape = catalog_.shape_of(pod);
    if (!shape.has_controller) return index = kNone;
    const auto [kind, name] = WorkloadNameOf(catalog_, shape);
    const Key key{.namespace_name = shape.namespace_name, .kind = kind, .name = name};
    const auto [place, is_new] =
        index_of_.try_emplace(key, static_cast<uint32_t>(workloads_.size()));
    if (is_new) workloads_.emplace_back();
    return index = place->second;
  }

  void Add(PodId pod, NodeId node) {
    const uint32_t index = IndexOf(pod);
    if (index == kNone) return;
    Workload& workload = workloads_[index];
    const NodeId to = to_[Index(pod)];
    ++workload.pods;
    workload.evicted |= to != kNoNode;
    workload.before.Add(node);
    workload.after.Add(to == kNoNode ? node : to);
  }

  const Catalog& catalog_;
  std::vector<Workload> workloads_;
  std::vector<uint32_t> index_of_shape_;  // By PodShapeId.
  std::vector<NodeId> to_;                // By PodId, for pods that move.
  absl::flat_hash_map<Key, uint32_t> index_of_;
};

void CountRestarts(const PlanReport& report, PlanTotals& totals) {
  if (report.moved == 0) return;
  const Catalog& catalog = report.context.catalog();
  Workloads workloads(report);
  for (const PlanReport::Removal& removal : report.remove) {
    for (const PlanReport::PodMove& move : removal.pods) {
      Workload* const workload = workloads.Of(move.pod);
      if (workload == nullptr) {
        totals.unowned.Add(catalog.PodName(move.pod));
        continue;
      }
      if (!std::exchange(workload->evicted, false)) continue;  // Its first pod counted it.
      const PlanReport::Keeper of = WorkloadOf(catalog, move.pod);
      std::string name = fmt::format("{}/{}", of.namespace_name, of.name);
      if (workload->pods > 1 && workload->before.several && !workload->after.several) {
        totals.workloads_on_one_node.Add(name);
      }
      if (catalog.shape_of(move.pod).controller_kind == OwnerKind::kJob) {
        totals.jobs.Add(std::move(name));
      } else if (workload->pods == 1) {
        totals.single_replicas.Add(std::move(name));
      }
    }
  }
}

void CountWithoutRequests(const PlanReport& report, Named& pods) {
  const ClusterSnapshot& snapshot = report.context.cluster->snapshot;
  const Catalog& catalog = snapshot.catalog();
  std::vector<char> known(catalog.pod_shapes(), 'u');  // By PodShapeId: unknown, yes, no.
  snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId pod : snapshot.PodsOn(node)) {
      char& is = known[Index(catalog.shape_id(pod))];
      if (is == 'u') is = IsWithoutRequests(catalog, pod) ? 'y' : 'n';
      if (is == 'y') pods.Add(pods.first.size() < kFirstNamed ? catalog.PodName(pod) : "");
    }
  });
}

Json NamedJson(const Named& named) { return {{"count", named.count}, {"first", named.first}}; }

void PutNamed(const char* key, const Named& named, Json& to) {
  if (named.count > 0) to[key] = NamedJson(named);
}

Json ClusterJson(const ClusterTotals& totals) {
  Json use = Json::object();
  const auto put = [&](const char* key, const std::optional<double>& share) {
    if (share) use[key] = RoundedAmount(*share);
  };
  put("cpu", totals.cpu);
  put("memory", totals.memory);
  put("gpu", totals.gpu);
  Json json = {
      {"nodes", totals.nodes},
      {"allocatable", AmountsJson(totals.allocatable)},
      {"requested",
       {{"cpuMilli", totals.requested.cpu_milli}, {"memoryBytes", totals.requested.memory_bytes}}},
      {"utilization", std::move(use)}};
  if (totals.cost_per_hour) json["costPerHour"] = RoundedAmount(*totals.cost_per_hour);
  return json;
}

std::string UseText(const ClusterTotals& totals) {
  std::string text;
  const auto add = [&](std::string_view what, const std::optional<double>& share) {
    if (share) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, Percent(*share));
  };
  add("cpu", totals.cpu);
  add("memory", totals.memory);
  add("GPUs", totals.gpu);
  return fmt::format("{}; requested: {}", Count(totals.nodes, "node", "nodes"),
                     text.empty() ? "-" : text);
}

}  // namespace

void Named::Add(std::string name) {
  if (count++ < kFirstNamed) first.push_back(std::move(name));
}

bool IsWithoutRequests(const Catalog& catalog, PodId pod) {
  const PodShape& shape = catalog.shape_of(pod);
  return !shape.mirror && !IsDaemonSetPod(catalog, shape) &&
         AmountOf(shape.charge_requests, kCpu) == 0 &&
         AmountOf(shape.charge_requests, kMemory) == 0;
}

PlanTotals TotalsOf(const PlanReport& report) {
  PlanTotals totals;
  CountCluster(report, totals);
  CountDevices(report, totals.devices);
  CountShares(report, totals);
  CountRestarts(report, totals);
  CountWithoutRequests(report, totals.without_requests);
  return totals;
}

void PutTotals(const PlanTotals& totals, Json& summary) {
  summary["totals"] = {{"before", ClusterJson(totals.before)},
                       {"after", ClusterJson(totals.after)}};
  for (const DeviceTotals& of : totals.devices) {
    Json json = {{"driver", of.driver}};
    if (!of.product.empty()) json["product"] = of.product;
    json["devices"] = of.devices;
    json["devicesInUse"] = of.in_use;
    json["devicesFreed"] = of.freed;
    summary["totals"]["devices"].push_back(std::move(json));
  }
  PutNamed("podsWithoutRequests", totals.without_requests, summary);
  PutNamed("assumedMinimums", totals.assumed_minimums, summary);
  Json on_one = Json::object();
  PutNamed("groups", totals.groups_on_one_node, on_one);
  PutNamed("zones", totals.zones_on_one_node, on_one);
  PutNamed("workloads", totals.workloads_on_one_node, on_one);
  if (!on_one.empty()) summary["onOneNode"] = std::move(on_one);
  Json restarts = Json::object();
  PutNamed("jobs", totals.jobs, restarts);
  PutNamed("singleReplicas", totals.single_replicas, restarts);
  PutNamed("withoutController", totals.unowned, restarts);
  if (!restarts.empty()) summary["restarts"] = std::move(restarts);
}

std::vector<std::string> TotalsText(const PlanTotals& totals, std::string_view currency) {
  const auto line = [&](std::string_view of, const ClusterTotals& cluster) {
    const std::string cost =
        cluster.cost_per_hour
            ? fmt::format("; {} an hour", MoneyText(*cluster.cost_per_hour, currency))
            : "";
    return fmt::format("{}: {}{}", of, UseText(cluster), cost);
  };
  std::vector<std::string> lines = {line("Whole cluster", totals.before),
                                    line("After the plan", totals.after)};
  for (const DeviceTotals& of : totals.devices) {
    lines.push_back(
        fmt::format("Devices: {} {}{}{}, {} in use; {} with the nodes", WithCommas(of.devices),
                    Printable(of.driver), of.product.empty() ? "" : " ", Printable(of.product),
                    WithCommas(of.in_use),
                    of.freed == 1 ? "1 goes" : fmt::format("{} go", WithCommas(of.freed))));
  }
  return lines;
}

std::string NamesText(const Named& named, size_t shown) {
  // If only one name were left out, saying so would take as much room as the name.
  if (named.count == shown + 1 && named.first.size() > shown) ++shown;
  std::string text;
  size_t names = 0;
  for (const std::string& name : named.first) {
    if (names == shown) break;
    text += fmt::format("{}{}", names++ == 0 ? "" : ", ", Printable(name));
  }
  if (named.count > names) text += fmt::format(" and {} more", WithCommas(named.count - names));
  return text;
}

std::vector<std::string> ChecksOf(const PlanTotals& totals) {
  std::vector<std::string> lines;
  const auto add = [&](const Named& named, std::string_view one, std::string_view many) {
    if (named.count == 0) return;
    lines.push_back(fmt::format("{}: {}", Count(named.count, one, many), NamesText(named)));
  };
  add(totals.jobs, "Job starts over", "Jobs start over");
  add(totals.single_replicas, "workload restarts its only pod", "workloads restart their only pod");
  add(totals.unowned, "pod has no controller that makes it again",
      "pods have no controller that makes them again");
  add(totals.workloads_on_one_node, "workload ends with all of its pods on one node",
      "workloads end with all of their pods on one node");
  add(totals.groups_on_one_node, "group ends with one node or none",
      "groups end with one node or none");
  add(totals.zones_on_one_node, "zone ends with one node or none",
      "zones end with one node or none");
  add(totals.assumed_minimums, "group that shrinks has no known minimum, and 0 is assumed",
      "groups that shrink have no known minimum, and 0 is assumed");
  return lines;
}

}  // namespace ebb
