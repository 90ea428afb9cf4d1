#include "what_if/lower_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "snapshot/objects/quantity.h"
#include "what_if/mild_remedy.h"
#include "what_if/remedy.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kCpuLeastMilli = 10;
constexpr int64_t kMemoryLeastBytes = int64_t{100} << 20;

// A workload, what its containers use, and the patches that lower their requests.
struct Lowered {
  LowerRequests::Workload workload;
  std::vector<PodId> pods;
  PodUsage::Containers used;
  Remedy remedy;
  double weight = 0;  // Shares of the cluster that it frees, of cpu and of memory.
};

int64_t AmountIn(const Json& requests, const char* resource) {
  const auto found = requests.find(resource);
  if (found == requests.end() || !found->is_string()) return 0;
  return ParseQuantity(found->get_ref<const std::string&>(),
                       resource[0] == 'c' ? QuantityUnit::kMilli : QuantityUnit::kWhole)
      .value_or(0);
}

std::string QuantityOf(const char* resource, int64_t amount) {
  return resource[0] == 'c' ? absl::StrCat(amount, "m") : absl::StrCat(amount);
}

// "shop/web proxy"
std::string ContainerOf(const Lowered& lowered, std::string_view container) {
  return fmt::format("{}/{} {}", lowered.workload.namespace_name, lowered.workload.name, container);
}

class Lowering {
 public:
  Lowering(const PlanReport& report, const PodUsage& usage, const LowerRequestsOptions& options)
      : report_(report), catalog_(report.context.catalog()), usage_(usage), options_(options) {}

  // Finds the workloads whose pods have usage.
  std::vector<Lowered> Workloads() {
    std::map<std::tuple<std::string, std::string_view, std::string_view>, Lowered> workloads;
    const ClusterSnapshot& snapshot = report_.context.cluster->snapshot;
    std::map<std::string_view, bool> seen;  // Pods with usage, and whether they run.
    for (const auto& [pod, unused] : usage_.pods()) seen[pod] = false;
    snapshot.alive().ForEach([&](NodeId node) {
      for (const PodId pod : snapshot.PodsOn(node)) {
        if (catalog_.shape_of(pod).mirror) continue;
        PlanReport::Keeper of = WorkloadOf(catalog_, pod);
        Lowered& lowered = workloads[{of.kind, of.namespace_name, of.name}];
        lowered.pods.push_back(pod);
        const auto used = usage_.pods().find(catalog_.PodName(pod));
        if (used == usage_.pods().end()) continue;
        seen[used->first] = true;
        ++pods_with_usage;
        for (const auto& [container, samples] : used->second) {
          PodUsage::Samples& all = lowered.used[container];
          all.cpu.insert(all.cpu.end(), samples.cpu.begin(), samples.cpu.end());
          all.memory.insert(all.memory.end(), samples.memory.begin(), samples.memory.end());
        }
      }
    });
    for (const auto& [pod, runs] : seen) {
      if (!runs) others.Add(std::string(pod));
    }
    std::vector<Lowered> found;
    for (auto& [key, lowered] : workloads) {
      if (lowered.used.empty()) {
        for (const PodId pod : lowered.pods) without_usage.Add(catalog_.PodName(pod));
        continue;
      }
      lowered.workload.kind = std::get<0>(key);
      lowered.workload.namespace_name = std::get<1>(key);
      lowered.workload.name = std::get<2>(key);
      lowered.workload.pods = lowered.pods.size();
      found.push_back(std::move(lowered));
    }
    return found;
  }

  // Fills the patches of a workload.  REQUIRES: PatchedCluster::Find() was asked for its pods.
  void Lower(const PatchedCluster& patched, Lowered& lowered) {
    std::map<std::string, LowerRequests::Container> containers;
    for (const PodId pod : lowered.pods) {
      const ObjectName name = NameOfPod(catalog_, pod);
      const std::string* const text = patched.Object(name);
      if (text == nullptr) {
        not_written.Add(catalog_.PodName(pod));
        continue;
      }
      LowerPod(Json::parse(*text), name, lowered, containers);
    }
    for (auto& [name, container] : containers) {
      lowered.workload.containers.push_back(std::move(container));
    }
    for (const auto& [name, unused] : lowered.used) {
      if (!known_.contains(name)) {
        unknown.Add(ContainerOf(lowered, name));
      }
    }
    known_.clear();
    const ClusterTotals all = TotalsOfCluster();
    lowered.weight = static_cast<double>(lowered.workload.freed.cpu_milli) /
                         static_cast<double>(std::max<int64_t>(all.allocatable.cpu_milli, 1)) +
                     static_cast<double>(lowered.workload.freed.memory_bytes) /
                         static_cast<double>(std::max<int64_t>(all.allocatable.memory_bytes, 1));
  }

  size_t pods_with_usage = 0;
  Named others;         // Pods with usage that do not run here.
  Named without_usage;  // Pods of workloads without any usage.
  Named unknown;        // Containers with usage that no pod of the workload has.
  Named not_raised;     // Containers that use more than they request.
  Named not_written;    // Pods whose objects ebb cannot write.

 private:
  // The sum of what nodes offer, computed once.
  const ClusterTotals& TotalsOfCluster() {
    if (!totals_) {
      totals_.emplace();
      report_.context.cluster->snapshot.alive().ForEach(
          [&](NodeId node) { totals_->allocatable.Add(report_.facts[Index(node)].allocatable); });
    }
    return *totals_;
  }

  // What the container should request; nullopt: it has no samples.
  [[nodiscard]] std::optional<int64_t> Needed(const PodUsage::Samples& samples,
                                              const char* resource) const {
    if (resource[0] == 'c') {
      if (samples.cpu.empty()) return std::nullopt;
      const double cores = PercentileOf(samples.cpu, options_.cpu_percentile);
      return std::max(kCpuLeastMilli,
                      static_cast<int64_t>(std::ceil(std::min(cores, 1e12) * 1000 - 1e-9)));
    }
    if (samples.memory.empty()) return std::nullopt;
    const double most = std::ranges::max(samples.memory) * (1 + options_.memory_margin);
    return std::max(kMemoryLeastBytes, static_cast<int64_t>(std::ceil(std::min(most, 1e18))));
  }

  void LowerPod(const Json& pod, const ObjectName& name, Lowered& lowered,
                std::map<std::string, LowerRequests::Container>& containers) {
    Json merge = Json::object();
    Json statuses = pod.value("/status/containerStatuses"_json_pointer, Json::array());
    for (const Json& container : pod.value("/spec/containers"_json_pointer, Json::array())) {
      const std::string container_name = container.value("name", "");
      const auto used = lowered.used.find(container_name);
      if (used == lowered.used.end()) continue;
      known_.insert(container_name);
      const Json requests = container.value("/resources/requests"_json_pointer, Json::object());
      Json lower = Json::object();
      for (const char* const resource : {"cpu", "memory"}) {
        const int64_t now = AmountIn(requests, resource);
        const std::optional<int64_t> needed = Needed(used->second, resource);
        if (!needed || now == 0) continue;
        if (*needed >= now) {
          std::string of = ContainerOf(lowered, container_name);
          if (*needed > now && raised_.insert(of).second) not_raised.Add(std::move(of));
          continue;
        }
        lower[resource] = QuantityOf(resource, *needed);
        LowerRequests::Container& result = containers[container_name];
        result.name = container_name;
        CpuAndMemory& freed = lowered.workload.freed;
        if (resource[0] == 'c') {
          result.cpu_milli = needed;
          freed.cpu_milli += now - *needed;
        } else {
          result.memory_bytes = needed;
          freed.memory_bytes += now - *needed;
        }
      }
      if (lower.empty()) continue;
      LowerStatus(container_name, lower, statuses);
      merge["spec"]["containers"].push_back(
          {{"name", container_name}, {"resources", {{"requests", std::move(lower)}}}});
    }
    if (merge.empty()) return;
    // This list has no merge key, so the patch has all of it.
    if (!statuses.empty()) merge["status"]["containerStatuses"] = std::move(statuses);
    lowered.remedy.objects.push_back({.of = name, .merge = merge.dump()});
  }

  // A container holds the largest of what it requests and what its status reports.
  static void LowerStatus(const std::string& name, const Json& lower, Json& statuses) {
    for (Json& status : statuses) {
      if (status.value("name", "") != name) continue;
      for (const char* const place : {"/resources/requests", "/allocatedResources"}) {
        const Json::json_pointer pointer(place);
        if (!status.contains(pointer)) continue;
        for (const auto& [resource, quantity] : lower.items()) {
          if (status[pointer].contains(resource)) status[pointer][resource] = quantity;
        }
      }
    }
  }

  const PlanReport& report_;
  const Catalog& catalog_;
  const PodUsage& usage_;
  const LowerRequestsOptions& options_;
  std::optional<ClusterTotals> totals_;
  std::set<std::string> known_;   // Containers of the workload's pods.
  std::set<std::string> raised_;  // Those in not_raised.
};

std::string CommandFor(const LowerRequests::Workload& workload) {
  Json containers = Json::array();
  for (const LowerRequests::Container& each : workload.containers) {
    Json requests = Json::object();
    if (each.cpu_milli) requests["cpu"] = QuantityOf("cpu", *each.cpu_milli);
    if (each.memory_bytes) requests["memory"] = QuantityOf("memory", *each.memory_bytes);
    containers.push_back({{"name", each.name}, {"resources", {{"requests", std::move(requests)}}}});
  }
  return LineToPatchPods({.kind = workload.kind,
                          .namespace_name = workload.namespace_name,
                          .name = workload.name,
                          .reason = {}},
                         {{"spec", {{"containers", std::move(containers)}}}});
}

}  // namespace

absl::StatusOr<LowerRequests> FindLowerRequests(const PlanReport& report, const PlanQuery& query,
                                                LiveCluster& cluster, const PodUsage& usage,
                                                const LowerRequestsOptions& options,
                                                const BlockersOptions& blockers) {
  const Catalog& catalog = report.context.catalog();
  RemedyPlanner planner(cluster, query);
  Lowering lowering(report, usage, options);
  std::vector<Lowered> workloads = lowering.Workloads();
  if (workloads.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("--usage: none of its {} in the cluster{}{}",
                    Count(usage.pods().size(), "pod runs", "pods runs"),
                    usage.pods().empty() ? "" : "; the first is ",
                    usage.pods().empty() ? "" : Printable(usage.pods().begin()->first)));
  }
  std::vector<ObjectName> names;
  for (const Lowered& each : workloads) {
    for (const PodId pod : each.pods) names.push_back(NameOfPod(catalog, pod));
  }
  if (absl::Status s = planner.patched().Find(names); !s.ok()) return s;
  for (Lowered& each : workloads) lowering.Lower(planner.patched(), each);
  std::erase_if(workloads, [](const Lowered& each) { return each.remedy.objects.empty(); });
  std::ranges::stable_sort(workloads, std::ranges::greater(), &Lowered::weight);

  planner.TryInOrder(NodesOfPlanFirst(report));
  const absl::StatusOr<RemedyPlanner::Outcome> now = planner.Try(Remedy());
  if (!now.ok()) return now.status();
  const auto cost_of = [&](const RemedyPlanner::Outcome& outcome) {
    double sum = 0;
    for (const std::string& name : outcome.goes) {
      const absl::StatusOr<NodeId> node = catalog.FindNode(name);
      if (node.ok()) sum += blockers.price(*node);
    }
    return sum;
  };
  const auto gain = [&](const RemedyPlanner::Outcome& then, auto& gained,
                        std::optional<double>& saved) {
    gained = static_cast<int64_t>(then.goes.size()) - static_cast<int64_t>(now->goes.size());
    if (blockers.price) saved = cost_of(then) - cost_of(*now);
  };
  LowerRequests found;
  found.pods_with_usage = lowering.pods_with_usage;
  Remedy all;
  for (const Lowered& each : workloads) {
    all.objects.insert(all.objects.end(), each.remedy.objects.begin(), each.remedy.objects.end());
    found.freed.cpu_milli += each.workload.freed.cpu_milli;
    found.freed.memory_bytes += each.workload.freed.memory_bytes;
  }
  const absl::StatusOr<RemedyPlanner::Outcome> together = planner.Try(all);
  if (!together.ok()) return together.status();
  gain(*together, found.gained, found.saved_per_hour);
  for (size_t i = 0; i < workloads.size(); ++i) {
    LowerRequests::Workload& workload = workloads[i].workload;
    const bool over = blockers.deadline != nullptr && blockers.deadline->Expired();
    if (i < options.workloads && !over) {
      const absl::StatusOr<RemedyPlanner::Outcome> then = planner.Try(workloads[i].remedy);
      if (!then.ok()) return then.status();
      gain(*then, workload.gained, workload.saved_per_hour);
    }
    workload.command = CommandFor(workload);
    found.workloads.push_back(std::move(workload));
  }
  const auto skip = [&](const char* what, Named& named) {
    if (named.count > 0) found.skipped.push_back({.what = what, .named = std::move(named)});
  };
  Named unlabelled{.count = usage.unlabelled(), .first = {}};
  skip("pods with usage that do not run in the cluster", lowering.others);
  skip("pods without usage, whose workloads keep their requests", lowering.without_usage);
  skip("containers with usage that no pod of their workload has", lowering.unknown);
  skip("containers that use more than they request, which are not raised", lowering.not_raised);
  skip("pods that ebb cannot write, which keep their requests", lowering.not_written);
  skip("series without the labels namespace, pod and container", unlabelled);
  return found;
}

Json LowerRequestsJson(const LowerRequests& found, const LowerRequestsOptions& options) {
  const auto freed_json = [](const CpuAndMemory& freed) -> Json {
    return {{"cpuMilli", freed.cpu_milli}, {"memoryBytes", freed.memory_bytes}};
  };
  Json json = {{"cpuPercentile", options.cpu_percentile},
               {"memoryMargin", options.memory_margin},
               {"podsWithUsage", found.pods_with_usage},
               {"freed", freed_json(found.freed)},
               {"nodesGained", found.gained}};
  if (found.saved_per_hour) json["savedPerHourGained"] = RoundedAmount(*found.saved_per_hour);
  json["workloads"] = Json::array();
  for (const LowerRequests::Workload& workload : found.workloads) {
    Json each = {{"kind", workload.kind},
                 {"namespace", workload.namespace_name},
                 {"name", workload.name},
                 {"pods", workload.pods},
                 {"freed", freed_json(workload.freed)},
                 {"requests", Json::array()}};
    for (const LowerRequests::Container& container : workload.containers) {
      Json request = {{"container", container.name}};
      if (container.cpu_milli) request["cpuMilli"] = *container.cpu_milli;
      if (container.memory_bytes) request["memoryBytes"] = *container.memory_bytes;
      each["requests"].push_back(std::move(request));
    }
    if (workload.gained) each["nodesGained"] = *workload.gained;
    if (workload.saved_per_hour) {
      each["savedPerHourGained"] = RoundedAmount(*workload.saved_per_hour);
    }
    if (!workload.command.empty()) each["command"] = workload.command;
    json["workloads"].push_back(std::move(each));
  }
  json["skipped"] = Json::array();
  for (const LowerRequests::Skipped& each : found.skipped) {
    json["skipped"].push_back(
        {{"what", each.what}, {"count", each.named.count}, {"first", each.named.first}});
  }
  return json;
}

}  // namespace ebb
