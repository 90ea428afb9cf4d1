#include "tests/support/filter_differential.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "tests/support/filter_twin.h"

namespace ebb::test {
namespace {

std::string Describe(const FilterVerdict& verdict) {
  if (verdict.fits) return "it fits";
  return absl::StrCat(Absl(FilterName(verdict.filter)), " refuses (",
                      absl::StrJoin(verdict.reasons, "; "), ")");
}

bool Agree(const FilterVerdict& want, const FilterVerdict& got) {
  if (want.fits != got.fits) return false;
  if (want.fits) return true;
  if (want.filter != got.filter || got.reasons.empty()) return false;
  return want.reasons.empty() ||  // The plugin failed with an error text of its own.
         std::is_permutation(want.reasons.begin(), want.reasons.end(), got.reasons.begin(),
                             got.reasons.end());
}

// `reason` up to the first name in it.
std::string WithoutNames(const std::string& reason) { return reason.substr(0, reason.find('"')); }

class Comparison {
 public:
  Comparison(RawCluster raw, ClusterSnapshot snapshot, DifferentialStats& stats)
      : raw_(std::move(raw)), snapshot_(std::move(snapshot)), stats_(stats) {}

  std::string CompareAll() {
    for (size_t p = 0; p < raw_.pods.size(); ++p) {
      if (std::string wrong = ComparePod(p); !wrong.empty()) return wrong;
    }
    const absl::Status status = snapshot_.CheckInvariants();
    return status.ok() ? "" : std::string(status.message());
  }

  void MovePod(Choices& choices) {
    const size_t p = choices.Below(raw_.pods.size());
    const size_t n = choices.Below(raw_.nodes.size());
    if (snapshot_.NodeOf(Id(p)) != kNoNode) snapshot_.RemovePod(Id(p));
    raw_.pods[p].nominated_node_name = {};
    raw_.pods[p].node_name = raw_.nodes[n].meta.name;
    snapshot_.AddPod(Id(p), NodeIdOf(n));
  }

  void RemoveNode(Choices& choices) {
    if (raw_.nodes.size() < 2) return;
    const size_t n = choices.Below(raw_.nodes.size());
    snapshot_.RemoveNode(NodeIdOf(n));
    raw_.nodes.erase(raw_.nodes.begin() + static_cast<ptrdiff_t>(n));
  }

  // Makes a node the ghost, compares all verdicts, and reverts.
  std::string CompareWithGhost(Choices& choices) {
    const RawCluster before = raw_;
    const std::string fingerprint = snapshot_.Fingerprint();
    snapshot_.Fork();
    const size_t n = choices.Below(raw_.nodes.size());
    const NodeId node = NodeIdOf(n);
    for (size_t p = 0; p < raw_.pods.size(); ++p) {
      if (snapshot_.NodeOf(Id(p)) != node) continue;
      raw_.pods[p].node_name = raw_.pods[p].nominated_node_name = {};
    }
    snapshot_.SetGhost(node);
    raw_.nodes[n].taints.push_back({"ToBeDeletedByClusterAutoscaler", "", "NoSchedule"});
    std::string wrong = CompareAll();
    snapshot_.Revert();
    raw_ = before;
    if (wrong.empty() && snapshot_.Fingerprint() != fingerprint) return "Revert left traces";
    return wrong.empty() ? "" : absl::StrCat("with a ghost: ", wrong);
  }

 private:
  PodId Id(size_t p) const {
    const objects::ObjectMeta& meta = raw_.pods[p].meta;
    return snapshot_.catalog().FindPod(meta.namespace_name, meta.name).value();
  }
  NodeId NodeIdOf(size_t n) const {
    return snapshot_.catalog().FindNode(raw_.nodes[n].meta.name).value();
  }

  std::string ComparePod(size_t p) {
    const PodId pod = Id(p);
    const PodShape& shape = snapshot_.catalog().shape_of(pod);
    snapshot_.Fork();
    if (snapshot_.NodeOf(pod) != kNoNode) snapshot_.RemovePod(pod);
    std::string wrong;
    for (size_t n = 0; n < raw_.nodes.size() && wrong.empty(); ++n) {
      wrong = CompareVerdict(WantedVerdict(p, n), shape, NodeIdOf(n));
      if (!wrong.empty()) {
        wrong = absl::StrCat("pod ", Absl(raw_.pods[p].meta.name), " on node ",
                             Absl(raw_.nodes[n].meta.name), ": ", wrong);
      }
    }
    snapshot_.Revert();
    return wrong;
  }

  // The ghost accepts no pods, whatever they tolerate.
  FilterVerdict WantedVerdict(size_t p, size_t n) const {
    TwinVerdict want = TwinExplain(raw_, p, n);
    const bool later = want.verdict.fits || want.verdict.filter > Filter::kTaintToleration;
    if (snapshot_.IsGhost(NodeIdOf(n)) && later && !want.by_prefilter) {
      return {.fits = false,
              .filter = Filter::kTaintToleration,
              .reasons = {"node(s) had untolerated taint(s)"}};
    }
    return want.verdict;
  }

  std::string CompareVerdict(const FilterVerdict& want, const PodShape& shape, NodeId node) {
    const FilterVerdict got = Explain(snapshot_, shape, node);
    ++stats_.verdicts;
    if (want.fits) {
      ++stats_.fits;
    } else {
      ++stats_.refusals[static_cast<size_t>(want.filter)];
      for (const std::string& reason : want.reasons) ++stats_.reasons[WithoutNames(reason)];
      if (want.reasons.empty()) ++stats_.reasons[std::string(FilterName(want.filter))];
    }
    if (!Agree(want, got)) {
      return absl::StrCat("the twin says ", Describe(want), ", the filters say ", Describe(got));
    }
    const bool short_answer = PreFilter(snapshot_, shape).fits &&
                              StaticFits(snapshot_, shape, node) &&
                              DynamicFits(snapshot_, shape, node);
    if (short_answer != got.fits) {
      return absl::StrCat("StaticFits and DynamicFits say ", short_answer, ", Explain says ",
                          Describe(got));
    }
    return "";
  }

  RawCluster raw_;
  ClusterSnapshot snapshot_;
  DifferentialStats& stats_;
};

}  // namespace

std::string CompareWithTwin(Choices& choices, DifferentialStats& stats) {
  RawCluster raw = RandomCluster(choices);
  absl::StatusOr<ClusterSnapshot> snapshot = BuildSnapshot(raw);
  if (!snapshot.ok()) return std::string(snapshot.status().message());
  Comparison comparison(std::move(raw), *std::move(snapshot), stats);
  std::string wrong = comparison.CompareAll();
  for (int i = 0; i < 4 && wrong.empty(); ++i) comparison.MovePod(choices);
  if (wrong.empty()) wrong = comparison.CompareAll();
  if (wrong.empty()) wrong = comparison.CompareWithGhost(choices);
  if (!wrong.empty()) return wrong;
  comparison.RemoveNode(choices);
  comparison.MovePod(choices);
  return comparison.CompareAll();
}

}  // namespace ebb::test
