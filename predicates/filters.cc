#include "predicates/filters.h"

#include <array>
#include <utility>

#include "predicates/inter_pod_affinity.h"
#include "predicates/node_affinity.h"
#include "predicates/node_declared_features.h"
#include "predicates/node_ports.h"
#include "predicates/node_resources_fit.h"
#include "predicates/node_unschedulable.h"
#include "predicates/node_volume_limits.h"
#include "predicates/pod_topology_spread.h"
#include "predicates/taint_toleration.h"
#include "predicates/volume_binding.h"
#include "predicates/volume_restrictions.h"
#include "predicates/volume_zone.h"

namespace ebb {
namespace {

constexpr std::array<std::string_view, 15> kNames = {
    "NodeUnschedulable",  "NodeName",
    "TaintToleration",    "NodeAffinity",
    "NodePorts",          "NodeResourcesFit",
    "VolumeRestrictions", "NodeVolumeLimits",
    "VolumeBinding",      "VolumeZone",
    "PodTopologySpread",  "InterPodAffinity",
    "DynamicResources",   "NodeDeclaredFeatures",
    "NotUnderstood",
};
static_assert(kNames.size() == static_cast<size_t>(Filter::kNotUnderstood) + 1);

// Which plugin reads the field at which PodShape::not_understood begins, where the
// scheduler fails on it too.
constexpr std::pair<std::string_view, Filter> kFieldsThatFail[] = {
    {"spec.topologySpreadConstraints: ", Filter::kPodTopologySpread},
    {"spec.affinity.podAffinity: ", Filter::kInterPodAffinity},
    {"spec.affinity.podAntiAffinity: ", Filter::kInterPodAffinity},
};

Filter FilterThatReads(std::string_view field) {
  for (const auto& [prefix, filter] : kFieldsThatFail) {
    if (field.starts_with(prefix)) return filter;
  }
  return Filter::kNotUnderstood;
}

FilterVerdict No(Filter filter, std::string_view reason) {
  return {.fits = false, .filter = filter, .reasons = {std::string(reason)}};
}

// What one filter says to one node; appends its reasons if that is no.
struct Question {
  const ClusterSnapshot& snapshot;
  const PodShape& shape;
  NodeId node;

  [[nodiscard]] const Catalog& catalog() const { return snapshot.catalog(); }
  [[nodiscard]] const NodeInfo& info() const { return catalog().node(node); }
  [[nodiscard]] const Constraints& constraints() const {
    return catalog().constraints(shape.constraints);
  }
};
using Reasons = std::vector<std::string>;

void Say(bool fits, std::string_view reason, Reasons& reasons) {
  if (!fits) reasons.emplace_back(reason);
}

void SayNodeUnschedulable(const Question& q, Reasons& reasons) {
  Say(FitsNodeUnschedulable(q.catalog(), q.constraints(), q.info()), kUnschedulableReason, reasons);
}
void SayTaintToleration(const Question& q, Reasons& reasons) {
  Say(!q.snapshot.IsGhost(q.node) && FitsTaintToleration(q.constraints(), q.info()),
      kUntoleratedTaintReason, reasons);
}
void SayNodeAffinity(const Question& q, Reasons& reasons) {
  Say(FitsNodeAffinity(q.catalog(), q.constraints(), q.info()), kNodeAffinityReason, reasons);
}
void SayNodePorts(const Question& q, Reasons& reasons) {
  Say(FitsNodePorts(q.snapshot, q.shape, q.node), kNodePortsReason, reasons);
}
void SayNodeResourcesFit(const Question& q, Reasons& reasons) {
  AppendShortages(q.snapshot, q.shape, q.node, reasons);
}
void SayVolumeRestrictions(const Question& q, Reasons& reasons) {
  const VolumeRestrictionsVerdict verdict = JudgeVolumeRestrictions(q.snapshot, q.shape, q.node);
  Say(verdict == VolumeRestrictionsVerdict::kFits, ReasonOf(verdict), reasons);
}
void SayNodeVolumeLimits(const Question& q, Reasons& reasons) {
  const VolumeLimitsVerdict verdict = JudgeNodeVolumeLimits(q.snapshot, q.shape, q.node);
  Say(verdict == VolumeLimitsVerdict::kFits, ReasonOf(verdict), reasons);
}
void SayVolumeBinding(const Question& q, Reasons& reasons) {
  JudgeVolumeBinding(q.catalog(), q.shape, q.info()).AppendReasons(reasons);
}
void SayVolumeZone(const Question& q, Reasons& reasons) {
  Say(FitsVolumeZone(q.catalog(), q.shape, q.info()), kVolumeZoneReason, reasons);
}
void SayPodTopologySpread(const Question& q, Reasons& reasons) {
  const SpreadVerdict verdict = JudgePodTopologySpread(q.snapshot, q.shape, q.node);
  Say(verdict == SpreadVerdict::kFits, ReasonOf(verdict), reasons);
}
void SayInterPodAffinity(const Question& q, Reasons& reasons) {
  const InterPodVerdict verdict = JudgeInterPodAffinity(q.snapshot, q.shape, q.node);
  Say(verdict == InterPodVerdict::kFits, ReasonOf(verdict), reasons);
}
void SayNodeDeclaredFeatures(const Question& q, Reasons& reasons) {
  Say(FitsNodeDeclaredFeatures(q.catalog(), q.shape, q.info()), kDeclaredFeaturesReason, reasons);
}

// In the scheduler's order.  NodeName has nothing to say: spec.nodeName is not
// looked at.  DynamicResources neither: a pod with claims is not understood.
constexpr struct {
  Filter filter;
  void (*say)(const Question&, Reasons&);
} kFilters[] = {
    {Filter::kNodeUnschedulable, SayNodeUnschedulable},
    {Filter::kTaintToleration, SayTaintToleration},
    {Filter::kNodeAffinity, SayNodeAffinity},
    {Filter::kNodePorts, SayNodePorts},
    {Filter::kNodeResourcesFit, SayNodeResourcesFit},
    {Filter::kVolumeRestrictions, SayVolumeRestrictions},
    {Filter::kNodeVolumeLimits, SayNodeVolumeLimits},
    {Filter::kVolumeBinding, SayVolumeBinding},
    {Filter::kVolumeZone, SayVolumeZone},
    {Filter::kPodTopologySpread, SayPodTopologySpread},
    {Filter::kInterPodAffinity, SayInterPodAffinity},
    {Filter::kNodeDeclaredFeatures, SayNodeDeclaredFeatures},
};

FilterVerdict PreFilterVolumes(const Catalog& catalog, const PodShape& shape) {
  if (shape.volumes == 0) return {};
  if (const auto why = PreFilterVolumeRestrictions(catalog, shape)) {
    return No(Filter::kVolumeRestrictions, *why);
  }
  if (const auto why = PreFilterVolumeBinding(catalog, shape)) {
    return No(Filter::kVolumeBinding, *why);
  }
  if (const auto why = PreFilterVolumeZone(catalog, shape)) return No(Filter::kVolumeZone, *why);
  return {};
}

}  // namespace

std::string_view FilterName(Filter filter) { return kNames[static_cast<size_t>(filter)]; }

bool StaticFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  const Catalog& catalog = snapshot.catalog();
  const NodeInfo& info = catalog.node(node);
  const Constraints& constraints = catalog.constraints(shape.constraints);
  return FitsTaintToleration(constraints, info) && FitsNodeAffinity(catalog, constraints, info) &&
         FitsNodeUnschedulable(catalog, constraints, info) &&
         FitsNodeDeclaredFeatures(catalog, shape, info) &&
         (shape.volumes == 0 || (FitsVolumeZone(catalog, shape, info) &&
                                 JudgeVolumeBinding(catalog, shape, info).Fits()));
}

bool DynamicFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  return FitsNodeResources(snapshot, shape, node) && !snapshot.IsGhost(node) &&
         FitsNodePorts(snapshot, shape, node) &&
         JudgeVolumeRestrictions(snapshot, shape, node) == VolumeRestrictionsVerdict::kFits &&
         JudgeNodeVolumeLimits(snapshot, shape, node) == VolumeLimitsVerdict::kFits &&
         JudgePodTopologySpread(snapshot, shape, node) == SpreadVerdict::kFits &&
         JudgeInterPodAffinity(snapshot, shape, node) == InterPodVerdict::kFits;
}

FilterVerdict PreFilter(const ClusterSnapshot& snapshot, const PodShape& shape) {
  if (NodeNamesConflict(snapshot.catalog().constraints(shape.constraints))) {
    return No(Filter::kNodeAffinity, kNodeAffinityConflictReason);
  }
  FilterVerdict volumes = PreFilterVolumes(snapshot.catalog(), shape);
  if (!volumes.fits) return volumes;
  if (!shape.not_understood.empty()) {
    return No(FilterThatReads(shape.not_understood), shape.not_understood);
  }
  return {};
}

FilterVerdict Explain(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  FilterVerdict verdict = PreFilter(snapshot, shape);
  if (!verdict.fits) return verdict;
  const Question question{snapshot, shape, node};
  if (IsOutsideNodeNames(question.constraints(), question.info())) {
    return No(Filter::kNodeAffinity, kOutsideNodeNamesReason);
  }
  for (const auto& [filter, say] : kFilters) {
    say(question, verdict.reasons);
    if (verdict.reasons.empty()) continue;
    verdict.fits = false;
    verdict.filter = filter;
    return verdict;
  }
  return verdict;
}

std::vector<FilterVerdict> ExplainEach(const ClusterSnapshot& snapshot, const PodShape& shape,
                                       NodeId node) {
  FilterVerdict before = PreFilter(snapshot, shape);
  if (!before.fits) return {std::move(before)};
  const Question question{snapshot, shape, node};
  const bool outside = IsOutsideNodeNames(question.constraints(), question.info());
  std::vector<FilterVerdict> verdicts;
  for (const auto& [filter, say] : kFilters) {
    FilterVerdict& verdict = verdicts.emplace_back();
    verdict.filter = filter;
    if (filter == Filter::kNodeAffinity && outside) {
      verdict.reasons.emplace_back(kOutsideNodeNamesReason);
    } else {
      say(question, verdict.reasons);
    }
    verdict.fits = verdict.reasons.empty();
  }
  return verdicts;
}

}  // namespace ebb
