#include "report/filter_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Takes the pod off its node for the lifetime of this object.
class Unplaced {
 public:
  Unplaced(ClusterSnapshot& snapshot, PodId pod) : snapshot_(snapshot) {
    snapshot_.Fork();
    if (snapshot_.NodeOf(pod) != kNoNode) snapshot_.RemovePod(pod);
  }
  ~Unplaced() { snapshot_.Revert(); }
  Unplaced(const Unplaced&) = delete;
  Unplaced& operator=(const Unplaced&) = delete;

 private:
  ClusterSnapshot& snapshot_;
};

Json VerdictJson(std::string_view node, const FilterVerdict& verdict) {
  Json json = {{"node", node}, {"fits", verdict.fits}};
  if (!verdict.fits) {
    json["plugin"] = FilterName(verdict.filter);
    json["reasons"] = verdict.reasons;
    if (!verdict.detail.empty()) json["detail"] = verdict.detail;
  }
  return json;
}

Json FiltersJson(const std::vector<FilterVerdict>& verdicts) {
  Json filters = Json::array();
  for (const FilterVerdict& verdict : verdicts) {
    Json filter = {{"plugin", FilterName(verdict.filter)}, {"fits", verdict.fits}};
    if (!verdict.fits) filter["reasons"] = verdict.reasons;
    if (!verdict.detail.empty()) filter["detail"] = verdict.detail;
    filters.push_back(std::move(filter));
  }
  return filters;
}

}  // namespace

absl::StatusOr<PodId> FindPodNamed(const Catalog& catalog, std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("pod \"", Absl(name), "\" is not NAMESPACE/NAME"));
  }
  return catalog.FindPod(name.substr(0, slash), name.substr(slash + 1));
}

absl::StatusOr<PodId> FindListedPod(const LoadedCluster& cluster, std::string_view name) {
  absl::StatusOr<PodId> pod = FindPodNamed(cluster.snapshot.catalog(), name);
  const std::string left_out = LeftOutText(cluster.counts);
  if (pod.ok() || left_out.empty()) return pod;
  return absl::NotFoundError(
      absl::StrCat(pod.status().message(), "; left out of the input: ", left_out));
}

std::vector<NodeVerdict> FilterNodes(ClusterSnapshot& snapshot, PodId pod,
                                     std::optional<NodeId> only) {
  const Unplaced unplaced(snapshot, pod);
  const PodShape& shape = snapshot.catalog().shape_of(pod);
  std::vector<NodeVerdict> verdicts;
  snapshot.alive().ForEach([&](NodeId node) {
    if (only && *only != node) return;
    verdicts.push_back({node, Explain(snapshot, shape, node)});
  });
  return verdicts;
}

std::vector<FilterVerdict> RunEveryFilter(ClusterSnapshot& snapshot, PodId pod, NodeId node) {
  const Unplaced unplaced(snapshot, pod);
  return ExplainEach(snapshot, snapshot.catalog().shape_of(pod), node);
}

Json FilterJson(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                FilterDetail detail) {
  Json nodes = Json::array();
  for (const NodeVerdict& v : FilterNodes(snapshot, pod, only)) {
    Json node = VerdictJson(snapshot.catalog().NodeName(v.node), v.verdict);
    if (detail == FilterDetail::kEveryFilter) {
      node["filters"] = FiltersJson(RunEveryFilter(snapshot, pod, v.node));
    }
    nodes.push_back(std::move(node));
  }
  return {{"pod", snapshot.catalog().PodName(pod)}, {"nodes", std::move(nodes)}};
}

}  // namespace ebb
