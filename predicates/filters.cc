#include "predicates/filters.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "predicates/dynamic_resources.h"
#include "predicates/inter_pod_affinity.h"
#include "predicates/node_affinity.h"
#include "predicates/node_declared_features.h"
#include "predicates/node_ports.h"
#include "predicates/node_resources_fit.h"
#include "predicates/node_unschedulable.h"
#include "predicates/node_volume_limits.h"
#include "predicates/operating_system.h"
#include "predicates/pod_topology_spread.h"
#include "predicates/taint_toleration.h"
#include "predicates/volume_binding.h"
#include "predicates/volume_restrictions.h"
#include "predicates/volume_zone.h"

namespace ebb {
namespace {

// The plugin that reads the field named at the start of PodShape::not_understood, if the
// scheduler fails on that field too; else kNotUnderstood.
Filter FilterThatReads(std::string_view field) {
  if (!SchedulerFailsOn(field)) return Filter::kNotUnderstood;
  return field.starts_with("spec.affinity.") ? Filter::kInterPodAffinity
                                             : Filter::kPodTopologySpread;
}

FilterVerdict No(Filter filter, std::string_view reason) {
  return {.fits = false, .filter = filter, .reasons = {std::string(reason)}};
}

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

// What every filter relies on.  For assertions.  A node that is in the catalog, but not in the
// cluster, has static verdicts all the same.
bool IsSound(const Question& q) {
  const PodShape& shape = q.shape;
  return q.catalog().IsThere(q.node) && Index(shape.constraints) < q.catalog().constraint_sets() &&
         shape.repelled_by_own <= shape.repelled_by.size();
}
bool IsInCluster(const Question& q) { return IsSound(q) && q.snapshot.Contains(q.node); }

// Whether a filter that is off must be skipped here.  Of the others, PodTopologySpread finds no
// constraints in the shape, InterPodAffinity asks the shape, and two keep the pod's node.
constexpr bool MayBeOff(Filter filter) {
  return filter < Filter::kOperatingSystem && filter != Filter::kNodeResourcesFit &&
         filter != Filter::kPodTopologySpread && filter != Filter::kInterPodAffinity &&
         filter != Filter::kDynamicResources;
}
// Whether the set, that of filters which the profile of the pod's scheduler turns off, skips the
// filter.
bool Skips(FilterSet off, Filter filter) {
  return MayBeOff(filter) && (off >> static_cast<size_t>(filter) & 1) != 0;
}
bool IsOff(const Question& q, Filter filter) { return Skips(q.constraints().filters_off, filter); }
constexpr bool AreSchedulerFilters() {
  return std::size(kSchedulerFilters) == static_cast<size_t>(Filter::kOperatingSystem);
}
static_assert(AreSchedulerFilters(), "a filter that kSchedulerFilters lacks");

using Reasons = std::vector<std::string>;
using PreFilterReason = std::optional<std::string>;

void Say(bool fits, std::string_view reason, Reasons& reasons) {
  if (!fits) reasons.emplace_back(reason);
}

// One filter: what it reads, and its functions.  A function that the filter does not need is null.
struct Row {
  Filter filter;
  std::string_view name;
  FilterReads reads;
  // The reason why the pod fits nowhere, or nullopt.
  PreFilterReason (*pre_filter)(const Catalog&, const PodShape&);
  // The part that never changes while the node's registration stays the same, and the rest.
  bool (*fits_statically)(const Question&);
  bool (*fits_dynamically)(const Question&);
  // Appends the reasons if one of these two returns false.
  void (*say)(const Question&, Reasons&);
};

// The only list of the filters, in the scheduler's order.  All functions of a filter stand side
// by side and call the implementation in the filter's own file.
constexpr Row kFilters[] = {
    {
        .filter = Filter::kNodeUnschedulable,
        .name = "NodeUnschedulable",
        .reads = {.pod = kConstraintsPart},
        .pre_filter = nullptr,
        .fits_statically =
            [](const Question& q) {
              return FitsNodeUnschedulable(q.catalog(), q.constraints(), q.info());
            },
        .fits_dynamically = nullptr,
        .say =
            [](const Question& q, Reasons& reasons) {
              Say(FitsNodeUnschedulable(q.catalog(), q.constraints(), q.info()),
                  kUnschedulableReason, reasons);
            },
    },
    {
        // No functions: filters ignore spec.nodeName.
        .filter = Filter::kNodeName,
        .name = "NodeName",
        .reads = {},
        .pre_filter = nullptr,
        .fits_statically = nullptr,
        .fits_dynamically = nullptr,
        .say = nullptr,
    },
    {
        // The taint of a ghost is not static: DynamicFits rejects ghosts.
        .filter = Filter::kTaintToleration,
        .name = "TaintToleration",
        .reads = {.pod = kConstraintsPart},
        .pre_filter = nullptr,
        .fits_statically =
            [](const Question& q) { return FitsTaintToleration(q.constraints(), q.info()); },
        .fits_dynamically = nullptr,
        .say =
            [](const Question& q, Reasons& reasons) {
              Say(!q.snapshot.IsGhost(q.node) && FitsTaintToleration(q.constraints(), q.info()),
                  kUntoleratedTaintReason, reasons);
            },
    },
    {
        .filter = Filter::kNodeAffinity,
        .name = "NodeAffinity",
        .reads = {.pod = kConstraintsPart | kNodeNamesPart,
                  .pre_filter_for = kNodeNamesPart,
                  .node_name_for = kNodeNamesPart},
        .pre_filter = [](const Catalog& catalog, const PodShape& shape) -> PreFilterReason {
          if (!NodeNamesConflict(catalog.constraints(shape.constraints))) return std::nullopt;
          return std::string(kNodeAffinityConflictReason);
        },
        .fits_statically =
            [](const Question& q) {
              return FitsNodeAffinity(q.catalog(), q.constraints(), q.info());
            },
        .fits_dynamically = nullptr,
        .say =
            [](const Question& q, Reasons& reasons) {
              if (IsOutsideNodeNames(q.constraints(), q.info())) {
                reasons.emplace_back(kOutsideNodeNamesReason);
              } else if (!MatchesAddedAffinity(q.constraints(), q.info().name, q.info().labels,
                                               q.catalog().symbols())) {
                reasons.emplace_back(kAddedAffinityReason);
              } else {
                Say(FitsNodeAffinity(q.catalog(), q.constraints(), q.info()), kNodeAffinityReason,
                    reasons);
              }
            },
    },
    {
        .filter = Filter::kNodePorts,
        .name = "NodePorts",
        .reads = {.pod = kHostPortsPart, .other_pods = kHostPortsPart},
        .pre_filter = nullptr,
        .fits_statically = nullptr,
        .fits_dynamically =
            [](const Question& q) { return FitsNodePorts(q.snapshot, q.shape, q.node); },
        .say =
            [](const Question& q, Reasons& reasons) {
              Say(FitsNodePorts(q.snapshot, q.shape, q.node), kNodePortsReason, reasons);
            },
    },
    {
        .filter = Filter::kNodeResourcesFit,
        .name = "NodeResourcesFit",
        .reads = {.pod = kRequestsPart, .other_pods = kRequestsPart},
        .pre_filter = nullptr,
        .fits_statically = nullptr,
        .fits_dynamically =
            [](const Question& q) { return FitsNodeResources(q.snapshot, q.shape, q.node); },
        .say = [](const Question& q,
                  Reasons& reasons) { AppendShortages(q.snapshot, q.shape, q.node, reasons); },
    },
    {
        .filter = Filter::kVolumeRestrictions,
        .name = "VolumeRestrictions",
        .reads = {.pod = kVolumesPart, .other_pods = kVolumesPart, .pre_filter_for = kVolumesPart},
        .pre_filter = [](const Catalog& catalog, const PodShape& shape) -> PreFilterReason {
          return PreFilterVolumeRestrictions(catalog, shape);
        },
        .fits_statically = nullptr,
        .fits_dynamically =
            [](const Question& q) {
              return FilterVolumeRestrictions(q.snapshot, q.shape, q.node) ==
                     VolumeRestrictionsVerdict::kFits;
            },
        .say =
            [](const Question& q, Reasons& reasons) {
              const auto verdict = FilterVolumeRestrictions(q.snapshot, q.shape, q.node);
              Say(verdict == VolumeRestrictionsVerdict::kFits, ReasonOf(verdict), reasons);
            },
    },
    {
        .filter = Filter::kNodeVolumeLimits,
        .name = "NodeVolumeLimits",
        .reads = {.pod = kVolumesPart, .other_pods = kVolumesPart, .node_name_for = kVolumesPart},
        .pre_filter = nullptr,
        .fits_statically = nullptr,
        .fits_dynamically =
            [](const Question& q) {
              return FilterNodeVolumeLimits(q.snapshot, q.shape, q.node) ==
                     VolumeLimitsVerdict::kFits;
            },
        .say =
            [](const Question& q, Reasons& reasons) {
              const auto verdict = FilterNodeVolumeLimits(q.snapshot, q.shape, q.node);
              if (verdict == VolumeLimitsVerdict::kDriverMissing) {
                reasons.push_back(MissingDriverReason(q.snapshot, q.shape, q.node));
              } else {
                Say(verdict == VolumeLimitsVerdict::kFits, ReasonOf(verdict), reasons);
              }
            },
    },
    {
        .filter = Filter::kVolumeBinding,
        .name = "VolumeBinding",
        .reads = {.pod = kVolumesPart,
                  .pre_filter_for = kVolumesPart,
                  .node_name_for = kVolumesPart},
        .pre_filter = [](const Catalog& catalog, const PodShape& shape) -> PreFilterReason {
          return PreFilterVolumeBinding(catalog, shape);
        },
        .fits_statically =
            [](const Question& q) {
              return q.shape.volumes == 0 ||
                     FilterVolumeBinding(q.catalog(), q.shape, q.info()).Fits();
            },
        .fits_dynamically = nullptr,
        .say =
            [](const Question& q, Reasons& reasons) {
              FilterVolumeBinding(q.catalog(), q.shape, q.info()).AppendReasons(reasons);
            },
    },
    {
        .filter = Filter::kVolumeZone,
        .name = "VolumeZone",
        .reads = {.pod = kVolumesPart, .pre_filter_for = kVolumesPart},
        .pre_filter = [](const Catalog& catalog, const PodShape& shape) -> PreFilterReason {
          return PreFilterVolumeZone(catalog, shape);
        },
        .fits_statically =
            [](const Question& q) { return FitsVolumeZone(q.catalog(), q.shape, q.info()); },
        .fits_dynamically = nullptr,
        .say =
            [](const Question& q, Reasons& reasons) {
              Say(FitsVolumeZone(q.catalog(), q.shape, q.info()), kVolumeZoneReason, reasons);
            },
    },
    {
        .filter = Filter::kPodTopologySpread,
        .name = "PodTopologySpread",
        .reads = {.pod = kSpreadPart, .other_pods = kCountedPart},
        .pre_filter = nullptr,
        .fits_statically = nullptr,
        .fits_dynamically =
            [](const Question& q) {
              return FilterPodTopologySpread(q.snapshot, q.shape, q.node) == SpreadVerdict::kFits;
            },
        .say =
            [](const Question& q, Reasons& reasons) {
              const auto verdict = FilterPodTopologySpread(q.snapshot, q.shape, q.node);
              Say(verdict == SpreadVerdict::kFits, ReasonOf(verdict), reasons);
            },
    },
    {
        .filter = Filter::kInterPodAffinity,
        .name = "InterPodAffinity",
        .reads = {.pod = kAffinityPart, .other_pods = kCountedPart},
        .pre_filter = nullptr,
        .fits_statically = nullptr,
        .fits_dynamically =
            [](const Question& q) {
              return FilterInterPodAffinity(q.snapshot, q.shape, q.node) == InterPodVerdict::kFits;
            },
        .say =
            [](const Question& q, Reasons& reasons) {
              const auto verdict = FilterInterPodAffinity(q.snapshot, q.shape, q.node);
              Say(verdict == InterPodVerdict::kFits, ReasonOf(verdict), reasons);
            },
    },
    {
        .filter = Filter::kDynamicResources,
        .name = "DynamicResources",
        .reads = {.pod = kDevicesPart, .other_pods = kDevicesPart, .node_name_for = kDevicesPart},
        .pre_filter = nullptr,
        .fits_statically = nullptr,
        .fits_dynamically =
            [](const Question& q) { return FitsDynamicResources(q.snapshot, q.shape, q.node); },
        .say =
            [](const Question& q, Reasons& reasons) {
              const std::string why = WhyNotDynamicResources(q.snapshot, q.shape, q.node).reason;
              Say(why.empty(), why, reasons);
            },
    },
    {
        .filter = Filter::kNodeDeclaredFeatures,
        .name = "NodeDeclaredFeatures",
        .reads = {.pod = kFeaturesPart},
        .pre_filter = nullptr,
        .fits_statically =
            [](const Question& q) {
              return FitsNodeDeclaredFeatures(q.catalog(), q.shape, q.info());
            },
        .fits_dynamically = nullptr,
        .say =
            [](const Question& q, Reasons& reasons) {
              Say(FitsNodeDeclaredFeatures(q.catalog(), q.shape, q.info()), kDeclaredFeaturesReason,
                  reasons);
            },
    },
    {
        .filter = Filter::kOperatingSystem,
        .name = "OperatingSystem",
        .reads = {.pod = kConstraintsPart},
        .pre_filter = nullptr,
        .fits_statically =
            [](const Question& q) {
              return !q.snapshot.matches_os() || FitsOperatingSystem(q.constraints(), q.info());
            },
        .fits_dynamically = nullptr,
        .say =
            [](const Question& q, Reasons& reasons) {
              Say(!q.snapshot.matches_os() || FitsOperatingSystem(q.constraints(), q.info()),
                  kOperatingSystemReason, reasons);
            },
    },
    {
        .filter = Filter::kNotUnderstood,
        .name = "NotUnderstood",
        .reads = {.pod = kNotUnderstoodPart, .pre_filter_for = kNotUnderstoodPart},
        .pre_filter = [](const Catalog&, const PodShape& shape) -> PreFilterReason {
          if (shape.not_understood.empty()) return std::nullopt;
          return shape.not_understood;
        },
        .fits_statically = nullptr,
        .fits_dynamically = nullptr,
        .say = nullptr,
    },
};

// Every Filter has its row at its place, and every row that can reject a node can give reasons.
// (The rows hold lambdas because g++, with the undefined behaviour sanitizer, does not accept the
// address of a named function as a constant that is not null.)
constexpr bool IsComplete() {
  if (std::size(kFilters) != kFilterCount) return false;
  for (size_t i = 0; i < kFilterCount; ++i) {
    const Row& row = kFilters[i];
    if (row.filter != Filter(i) || row.name.empty()) return false;
    const bool asks = row.fits_statically != nullptr || row.fits_dynamically != nullptr;
    if (asks != (row.say != nullptr)) return false;
    // A filter that reads nothing of a pod would never be evaluated.
    if (asks != (row.reads.pod != 0) && row.pre_filter == nullptr) return false;
    if ((row.pre_filter != nullptr) != (row.reads.pre_filter_for != 0)) return false;
  }
  return true;
}
static_assert(IsComplete(), "a Filter without its row, or a row without what it needs");

// One part of a pod, and whether pods of a shape have it.
struct Part {
  PodParts bit;
  bool (*has)(const Catalog& catalog, const PodShape& shape);
};
constexpr Part kParts[] = {
    {kConstraintsPart, [](const Catalog&, const PodShape&) { return true; }},
    {kNodeNamesPart,
     [](const Catalog& catalog, const PodShape& shape) {
       return catalog.constraints(shape.constraints).names_a_node;
     }},
    {kRequestsPart, [](const Catalog&, const PodShape&) { return true; }},
    {kFeaturesPart,
     [](const Catalog&, const PodShape& shape) {
       return shape.needs_restart_all_containers || shape.needs_host_network_user_namespaces ||
              shape.needs_bind_mount_options;
     }},
    {kHostPortsPart,
     [](const Catalog&, const PodShape& shape) { return !shape.host_ports.empty(); }},
    {kVolumesPart,
     [](const Catalog&, const PodShape& shape) {
       return !shape.claims.empty() || shape.volumes != 0;
     }},
    {kSpreadPart, [](const Catalog&, const PodShape& shape) { return !shape.spread.empty(); }},
    {kAffinityPart,
     [](const Catalog&, const PodShape& shape) {
       return !shape.affinity.empty() || !shape.anti_affinity.empty() || !shape.repelled_by.empty();
     }},
    {kCountedPart, [](const Catalog&, const PodShape& shape) { return !shape.feeds.empty(); }},
    {kNotUnderstoodPart,
     [](const Catalog&, const PodShape& shape) { return !shape.not_understood.empty(); }},
    {kDevicesPart,
     [](const Catalog&, const PodShape& shape) { return !shape.device_claims.empty(); }},
};

// Every part has its row at its place, and filters read only parts that have a row.
constexpr bool AreAllParts() {
  if (std::size(kParts) != kPodPartCount) return false;
  for (size_t i = 0; i < kPodPartCount; ++i) {
    if (kParts[i].bit != PodParts{1} << i) return false;
  }
  for (const Row& row : kFilters) {
    const FilterReads& reads = row.reads;
    const auto named = reads.pod | reads.other_pods | reads.pre_filter_for | reads.node_name_for;
    if (named >> kPodPartCount != 0) return false;
  }
  return true;
}
static_assert(AreAllParts(), "a part of a pod without its row");

// The union of the `which` parts of all rows for which `applies` returns true.
template <typename Applies>
constexpr PodParts PartsReadBy(PodParts FilterReads::* which, Applies&& applies) {
  PodParts parts = 0;
  for (const Row& row : kFilters) {
    if (applies(row)) parts |= row.reads.*which;
  }
  return parts;
}
constexpr bool Always(const Row&) { return true; }
constexpr bool IsStatic(const Row& row) { return row.fits_statically != nullptr; }
constexpr bool IsDynamic(const Row& row) { return row.fits_dynamically != nullptr; }
// Every filter but NodeResourcesFit, which every search evaluates on every node.
constexpr bool IsNotRoom(const Row& row) { return row.filter != Filter::kNodeResourcesFit; }
constexpr bool IsDynamicAndNotRoom(const Row& row) { return IsDynamic(row) && IsNotRoom(row); }
// A filter that reads of other pods only what the counter tables count.
constexpr bool IsOfTopology(const Row& row) {
  return IsDynamic(row) && row.reads.other_pods == kCountedPart;
}
constexpr bool IsDynamicOtherwise(const Row& row) {
  return IsDynamicAndNotRoom(row) && !IsOfTopology(row);
}
constexpr bool IsBeforeRoom(const Row& row) { return row.filter < Filter::kNodeResourcesFit; }

// The parts in which all pods of a fit class agree.
constexpr PodParts kFitClassParts = kConstraintsPart | kNodeNamesPart | kRequestsPart;

// Unrolled, so that every call is a direct one.
template <bool (*kApplies)(const Row&), size_t... kRow>
bool FitsDynamically(const Question& question, std::index_sequence<kRow...>) {
  const auto fits = [&]<size_t kOne>(std::integral_constant<size_t, kOne>) {
    if constexpr (kApplies(kFilters[kOne])) {
      if (kFilters[kOne].fits_dynamically(question)) return true;
      return IsOff(question, kFilters[kOne].filter);
    }
    return true;
  };
  return (fits(std::integral_constant<size_t, kRow>()) && ...);
}

// Unrolled as well.
template <size_t... kPart>
PodParts PartsOf(const Catalog& catalog, const PodShape& shape, std::index_sequence<kPart...>) {
  return static_cast<PodParts>(
      ((kParts[kPart].has(catalog, shape) ? kParts[kPart].bit : PodParts{0}) | ...));
}

// Of a filter that has rejected the node.
std::string DetailOf(const Question& q, Filter filter) {
  if (filter != Filter::kDynamicResources) return {};
  return WhyNotDynamicResources(q.snapshot, q.shape, q.node).detail;
}

}  // namespace

std::string_view FilterName(Filter filter) { return kFilters[static_cast<size_t>(filter)].name; }

FilterReads ReadsOf(Filter filter) { return kFilters[static_cast<size_t>(filter)].reads; }

PodParts PartsOf(const Catalog& catalog, const PodShape& shape) {
  return PartsOf(catalog, shape, std::make_index_sequence<kPodPartCount>());
}

ShortCuts ShortCutsOf(PodParts parts) {
  constexpr PodParts kPreFilterFor = PartsReadBy(&FilterReads::pre_filter_for, Always);
  constexpr PodParts kStaticsRead = PartsReadBy(&FilterReads::pod, IsStatic) & ~kFitClassParts;
  constexpr PodParts kDynamicsRead = PartsReadBy(&FilterReads::pod, IsDynamicAndNotRoom);
  constexpr PodParts kReadOtherwise = PartsReadBy(&FilterReads::pod, IsDynamicOtherwise);
  constexpr PodParts kNameReadFor = PartsReadBy(&FilterReads::node_name_for, IsStatic);
  constexpr PodParts kReadBeforeRoom =
      PartsReadBy(&FilterReads::pod, IsBeforeRoom) & ~kFitClassParts;
  constexpr PodParts kNameReadBeforeRoom = PartsReadBy(&FilterReads::node_name_for, IsBeforeRoom);
  constexpr PodParts kReadOfOthers =
      PartsReadBy(&FilterReads::other_pods, IsNotRoom) & ~kCountedPart;
  EBB_DCHECK(parts >> kPodPartCount == 0);
  return {.passes_pre_filter = (parts & kPreFilterFor) == 0,
          .statics_of_fit_class = (parts & kStaticsRead) == 0,
          .statics_of_node_shape = (parts & kNameReadFor) == 0,
          .requests_alone = (parts & kDynamicsRead) == 0,
          .topology_alone = (parts & kReadOtherwise) == 0,
          .alike_before_room = (parts & (kReadBeforeRoom | kNameReadBeforeRoom)) == 0,
          .only_room_and_counts = (parts & kReadOfOthers) == 0};
}

bool StaticFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  const Question question{snapshot, shape, node};
  EBB_DCHECK(IsSound(question));
  return std::ranges::all_of(kFilters, [&](const Row& row) {
    // A filter that is off is not asked: its PreFilter, which it relies on, may be off too.
    return row.fits_statically == nullptr || IsOff(question, row.filter) ||
           row.fits_statically(question);
  });
}

bool DynamicFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  EBB_DCHECK(IsInCluster({snapshot, shape, node}));
  return !snapshot.IsGhost(node) &&
         FitsDynamically<IsDynamic>({snapshot, shape, node},
                                    std::make_index_sequence<kFilterCount>());
}

bool TopologyFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  EBB_DCHECK(IsInCluster({snapshot, shape, node}));
  return FitsDynamically<IsOfTopology>({snapshot, shape, node},
                                       std::make_index_sequence<kFilterCount>());
}

FilterVerdict PreFilter(const ClusterSnapshot& snapshot, const PodShape& shape) {
  for (const Row& row : kFilters) {
    if (row.pre_filter == nullptr) continue;
    if (Skips(snapshot.catalog().constraints(shape.constraints).pre_filters_off, row.filter)) {
      continue;
    }
    if (const PreFilterReason why = row.pre_filter(snapshot.catalog(), shape)) {
      return No(row.filter == Filter::kNotUnderstood ? FilterThatReads(*why) : row.filter, *why);
    }
  }
  return {};
}

FilterVerdict Explain(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  FilterVerdict verdict = PreFilter(snapshot, shape);
  if (!verdict.fits) return verdict;
  const Question question{snapshot, shape, node};
  EBB_DCHECK(IsInCluster(question));
  if (IsOutsideNodeNames(question.constraints(), question.info()) &&
      !IsOff(question, Filter::kNodeAffinity)) {
    return No(Filter::kNodeAffinity, kOutsideNodeNamesReason);
  }
  for (const Row& row : kFilters) {
    if (row.say == nullptr) continue;
    if (IsOff(question, row.filter)) continue;
    row.say(question, verdict.reasons);
    if (verdict.reasons.empty()) continue;
    verdict.fits = false;
    verdict.filter = row.filter;
    verdict.detail = DetailOf(question, row.filter);
    return verdict;
  }
  return verdict;
}

std::vector<FilterVerdict> ExplainEach(const ClusterSnapshot& snapshot, const PodShape& shape,
                                       NodeId node) {
  FilterVerdict before = PreFilter(snapshot, shape);
  if (!before.fits) return {std::move(before)};
  const Question question{snapshot, shape, node};
  EBB_DCHECK(IsInCluster(question));
  std::vector<FilterVerdict> verdicts;
  for (const Row& row : kFilters) {
    if (row.say == nullptr) continue;
    if (row.filter == Filter::kOperatingSystem && !snapshot.matches_os()) continue;
    FilterVerdict& verdict = verdicts.emplace_back();
    verdict.filter = row.filter;
    if (!IsOff(question, row.filter)) row.say(question, verdict.reasons);
    verdict.fits = verdict.reasons.empty();
    if (!verdict.fits) verdict.detail = DetailOf(question, row.filter);
  }
  return verdicts;
}

}  // namespace ebb
