#include "report/page_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/plan/utilization.h"
#include "predicates/drainability.h"
#include "snapshot/objects/pod_requests.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Longer names are not split, so that the page shortens them as it does in the plan.
constexpr size_t kSplitMax = 253;

// Texts, each once, in the order in which they came.
class TextList {
 public:
  int64_t Add(std::string_view text) {
    const auto [at, is_new] = places_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return static_cast<int64_t>(at->second);
  }
  Json Take() { return std::move(list_); }

 private:
  absl::flat_hash_map<std::string_view, size_t> places_;
  Json list_ = Json::array();
};

class ClusterWriter {
 public:
  ClusterWriter(const PlanReport& report, std::string_view team_label)
      : report_(report), catalog_(report.context.catalog()), team_label_(team_label) {
    team_key_ = catalog_.symbols().Find(team_label);
    for (const std::string_view name : kGpuResources) {
      if (const auto gpu = catalog_.FindResource(name)) gpus_.push_back(*gpu);
    }
    by_shape_.resize(catalog_.pod_shapes(), {});
  }

  Json Write() {
    Json nodes = Json::array();
    report_.context.cluster->snapshot.alive().ForEach(
        [&](NodeId node) { nodes.push_back(NodeJson(node)); });
    return {{"teamLabel", team_label_},  {"namespaces", namespaces_.Take()},
            {"teams", teams_.Take()},    {"pods", std::move(kinds_)},
            {"nodes", std::move(nodes)}, {"waits", Waits()},
            {"budgets", Budgets()},      {"keepers", KeepersOfNodes()}};
  }

 private:
  // What the kinds of a shape's pods have in common.
  struct OfShape {
    bool is_known = false;
    int64_t namespace_index = 0;
    int64_t cpu = 0;
    int64_t memory = 0;
    int64_t gpus = 0;
    int64_t team = -1;
    bool stays = false;
  };

  const OfShape& ShapeOf(PodId pod) {
    OfShape& known = by_shape_[Index(catalog_.shape_id(pod))];
    if (known.is_known) return known;
    const PodShape& shape = catalog_.shape_of(pod);
    known = {.is_known = true,
             .namespace_index = namespaces_.Add(catalog_.Text(shape.namespace_name)),
             .cpu = AmountOf(shape.Counted(), kCpu),
             .memory = AmountOf(shape.Counted(), kMemory),
             .team = TeamOf(shape),
             .stays = shape.mirror || IsDaemonSetPod(catalog_, shape)};
    for (const ResourceId gpu : gpus_) known.gpus += AmountOf(shape.Counted(), gpu);
    return known;
  }

  int64_t TeamOf(const PodShape& shape) {
    if (!team_key_) return -1;
    std::optional<TextId> team = FindLabel(shape.labels, *team_key_);
    const LabelSet* const labels = catalog_.FindNamespaceLabels(shape.namespace_name);
    if (!team && labels != nullptr) team = FindLabel(*labels, *team_key_);
    return team ? teams_.Add(catalog_.Text(*team)) : -1;
  }

  int64_t KindOf(PodId pod, std::string_view begin) {
    const OfShape& shape = ShapeOf(pod);
    const auto [at, is_new] =
        places_.try_emplace(std::pair(size_t{Index(catalog_.shape_id(pod))}, begin), kinds_.size());
    if (is_new) {
      kinds_.push_back({shape.namespace_index, begin, shape.cpu, shape.memory, shape.gpus,
                        shape.team, shape.stays ? 1 : 0});
    }
    return static_cast<int64_t>(at->second);
  }

  Json NodeJson(NodeId node) {
    Json pods = Json::array();
    int64_t last = -1;
    for (const PodId pod : report_.context.cluster->snapshot.PodsOn(node)) {
      const std::string_view name = catalog_.Text(catalog_.pod(pod).name);
      const size_t dash = name.size() <= kSplitMax ? name.rfind('-') : std::string_view::npos;
      const size_t end = dash == std::string_view::npos ? 0 : dash + 1;
      const int64_t kind = KindOf(pod, name.substr(0, end));
      if (kind != last) pods.push_back(kind);
      last = kind;
      pods.push_back(name.substr(end));
    }
    Json json = {catalog_.NodeName(node), std::move(pods)};
    if (const auto gpu = GpuOf(catalog_, node)) {
      json.push_back(report_.context.cluster->snapshot.Allocatable(*gpu, node));
    }
    return json;
  }

  Json Waits() {
    Json waits = Json::array();
    for (const PlanReport::Removal& removal : report_.remove) {
      Json node = Json::array();
      for (const PlanReport::PodMove& move : removal.pods) {
        Json pod = Json::array();
        for (const PdbId pdb : catalog_.ChargedBudgets(move.pod)) {
          const auto [at, is_new] = budget_places_.try_emplace(pdb, budgets_.size());
          if (is_new) budgets_.push_back(pdb);
          pod.push_back(at->second);
        }
        node.push_back(std::move(pod));
      }
      waits.push_back(std::move(node));
    }
    return waits;
  }

  Json Budgets() const {
    Json json = Json::array();
    for (const PdbId id : budgets_) {
      const Pdb& pdb = catalog_.pdbs()[Index(id)];
      json.push_back(
          {catalog_.Text(pdb.namespace_name), catalog_.Text(pdb.name), pdb.disruptions_allowed});
    }
    return json;
  }

  Json KeepersOfNodes() const {
    using Key = std::tuple<std::string, std::string_view, std::string_view, std::string_view>;
    absl::flat_hash_map<Key, size_t> places;
    for (const PlanReport::Keeper& keeper : report_.keepers) {
      places.try_emplace(Key(keeper.kind, keeper.namespace_name, keeper.name, keeper.reason),
                         places.size());
    }
    Json json = Json::array();
    for (const PlanReport::Kept& kept : report_.keep) {
      int64_t place = -1;
      if (kept.why.pod != kNoPod) {
        const PlanReport::Keeper keeper = KeeperOf(catalog_, kept.why);
        place = static_cast<int64_t>(
            places.at(Key(keeper.kind, keeper.namespace_name, keeper.name, keeper.reason)));
      }
      json.push_back(place);
    }
    return json;
  }

  const PlanReport& report_;
  const Catalog& catalog_;
  std::string_view team_label_;
  std::optional<TextId> team_key_;
  std::vector<ResourceId> gpus_;
  TextList namespaces_;
  TextList teams_;
  std::vector<OfShape> by_shape_;
  absl::flat_hash_map<std::pair<size_t, std::string_view>, size_t> places_;
  Json kinds_ = Json::array();
  std::vector<PdbId> budgets_;
  absl::flat_hash_map<PdbId, size_t> budget_places_;
};

}  // namespace

Json PageData(const PlanReport& report, Json plan, std::string_view team_label) {
  return {{"plan", std::move(plan)}, {"cluster", ClusterWriter(report, team_label).Write()}};
}

}  // namespace ebb
