#include "bench/workloads.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/device_workload.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/openb.h"

namespace ebb::bench {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int64_t kMonthS = 30 * 24 * 3600;
std::string& OpenbFolder() {
  static auto* const folder = new std::string("../shared/data");
  return *folder;
}

absl::Status WriteOpenb(ObjectSink& sink) {
  const OpenbOptions options{.nodes_path = OpenbFolder() + "/openb_node_list_all_node.csv",
                             .pods_path = OpenbFolder() + "/openb_pod_list_default.csv",
                             .ended_share = 0.5,
                             .seed = kSeed};
  if (!std::filesystem::exists(options.nodes_path)) {
    return absl::NotFoundError(absl::StrCat(options.nodes_path, ": no such file"));
  }
  OpenbStats stats;
  return ImportOpenb(options, sink, stats);
}

std::optional<uint32_t> Positive(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

// N, from "kind:N".
std::optional<uint32_t> SizeOf(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind) || name.substr(kind.size(), 1) != ":") return std::nullopt;
  return Positive(name.substr(kind.size() + 1));
}

// The number of nodes, and of pods per node, from "uniform:N" or "uniform:NxP".
std::optional<std::pair<uint32_t, uint32_t>> UniformSize(std::string_view name) {
  const size_t x = std::min(name.find('x'), name.size());
  const auto nodes = SizeOf(name.substr(0, x), "uniform");
  const auto pods = x == name.size() ? std::optional<uint32_t>(40) : Positive(name.substr(x + 1));
  if (!nodes || !pods || uint64_t{*nodes} * *pods > 100'000'000) return std::nullopt;
  return std::pair(*nodes, *pods);
}

absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(std::string_view name) {
  ClusterLoader loader;
  if (absl::Status s = WriteWorkload(name, loader); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return cluster.status();
  auto workload = std::make_unique<Workload>(Workload{.name = std::string(name),
                                                      .snapshot = std::move(cluster->snapshot),
                                                      .groups = {},
                                                      .candidates = {},
                                                      .pending = std::move(cluster->pending),
                                                      .now_s = cluster->newest_time + kMonthS});
  const size_t nodes = workload->snapshot.catalog().nodes();
  workload->groups.groups.resize(1);
  workload->groups.groups[0].name = "default";
  workload->groups.groups[0].target_size = static_cast<int64_t>(nodes);
  workload->groups.group_of.assign(nodes, GroupId{0});
  for (uint32_t n = 0; n < nodes; ++n) workload->candidates.push_back(NodeId{n});
  return workload;
}

}  // namespace

void SetOpenbFolder(std::string folder) { OpenbFolder() = std::move(folder); }

absl::Status WriteWorkload(std::string_view name, ObjectSink& sink) {
  using namespace samples;  // NOLINT(google-build-using-namespace)
  if (const auto size = UniformSize(name)) return GenerateUniform(size->first, size->second, sink);
  if (const auto pods = SizeOf(name, "terms")) return GenerateTerms(*pods, sink);
  if (const auto pods = SizeOf(name, "excluding")) return GenerateExcluding(*pods, sink);
  if (const auto pods = SizeOf(name, "budgets")) return GenerateBudgets(*pods, sink);
  if (const auto pods = SizeOf(name, "claims")) return GenerateClaims(*pods, sink);
  if (const auto nodes = SizeOf(name, "devices")) return GenerateDevices(*nodes, sink);
  for (const Kind& kind : Kinds()) {
    const auto nodes = SizeOf(name, kind.name);
    if (nodes) return kind.generate({.nodes = *nodes, .seed = kSeed}, sink);
  }
  if (name == "openb") return WriteOpenb(sink);
  ImportStats stats;
  return ReadInput(name, sink, stats);
}

void ChurnPods(ClusterSnapshot& snapshot, uint32_t round) {
  for (uint32_t p = round % 100; p < snapshot.catalog().pods(); p += 100) {
    const NodeId from = snapshot.NodeOf(PodId{p});
    if (from == kNoNode) continue;
    const NodeId to = snapshot.NodeAt((snapshot.PositionOf(from) + 1) % snapshot.nodes());
    if (to != from && snapshot.Free(kCpu, to) >= 2000) snapshot.MovePod(PodId{p}, to);
  }
}

absl::StatusOr<Workload*> GetWorkload(std::string_view name) {
  static auto* const known = new std::map<std::string, std::unique_ptr<Workload>, std::less<>>();
  if (const auto it = known->find(name); it != known->end()) return it->second.get();
  absl::StatusOr<std::unique_ptr<Workload>> made = MakeWorkload(name);
  if (!made.ok()) return made.status();
  return known->emplace(name, *std::move(made)).first->second.get();
}

}  // namespace ebb::bench
