// Filters: may this pod run on that node?  The scheduler's own, in its order.
//
// Each filter is a small pure unit in a file of its own with two faces: a yes or
// no for the planner's scan, and the scheduler's reason texts for people.  Both
// come from one implementation.
//
// A pod is tested as if it were not placed: take it out of the snapshot first if
// it is.  Its spec.nodeName is not looked at.
//
// Cost:    StaticFits: O(taints + requirements), a pure function of constraints
//          and node, worth remembering.  DynamicFits: O(requests), plus look-ups
//          per topology term, plus O(pods of the node) for ports and disks.
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins, default profile, of 1.36 or 1.37 as the
//          catalog's kubernetes_version() says.

#ifndef EBB_PREDICATES_FILTERS_H_
#define EBB_PREDICATES_FILTERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

// In the order of evaluation.
enum class Filter : uint8_t {
  kNodeUnschedulable,
  kNodeName,
  kTaintToleration,
  kNodeAffinity,
  kNodePorts,
  kNodeResourcesFit,
  kVolumeRestrictions,
  kNodeVolumeLimits,
  kVolumeBinding,
  kVolumeZone,
  kPodTopologySpread,
  kInterPodAffinity,
  kDynamicResources,
  kNodeDeclaredFeatures,
  // Not the scheduler's.
  kOperatingSystem,  // Where the snapshot matches_os().
  kNotUnderstood,    // A constraint that ebb does not evaluate.
};
inline constexpr size_t kFilterCount = static_cast<size_t>(Filter::kNotUnderstood) + 1;
// "NodeResourcesFit".
std::string_view FilterName(Filter filter);

struct FilterVerdict {
  bool fits = true;
  Filter filter{};                   // Who says so; of Explain the first that said no.
  std::vector<std::string> reasons;  // In the scheduler's words.
};

// --- Yes or no -----------------------------------------------------------------

// What depends on nothing but pod and node: taints, node affinity, declared features, operating
// system, spec.unschedulable as the NodeUnschedulable filter sees it (a pod may tolerate it), and
// the storage filters that read nothing but claim and node.  Never changes while the
// node's registration does not, ghosts apart.
bool StaticFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// What depends on where pods are: ports, resources, disks, spread, affinity, and whether
// the node is the ghost.
bool DynamicFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// Of those, what depends on counts of pods by topology domain alone: spread, affinity.
bool TopologyFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// spec.unschedulable alone, which keeps the autoscaler's scan (not a hint) off a
// node even if the pod tolerates it, is the scan's business, not a filter's.

// Failures that need no node (PreFilter): missing claims, constraints that are not
// understood, conflicting affinity terms.  fits: go on with the nodes.
FilterVerdict PreFilter(const ClusterSnapshot& snapshot, const PodShape& shape);

// --- Why not -------------------------------------------------------------------

// PreFilter, then every filter on one node; the first no, with all its reasons.
FilterVerdict Explain(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// What every filter that is asked says by itself, in order, for somebody who wants to know all that
// stands in the way.  Where PreFilter fails, that is all there is: the scheduler asks
// no node then.
std::vector<FilterVerdict> ExplainEach(const ClusterSnapshot& snapshot, const PodShape& shape,
                                       NodeId node);

// --- What filters read ---------------------------------------------------------
//
// filters.cc holds the one table of the filters.  Each row says what its filter reads, and
// what a search may leave out follows from that alone (ShortCutsOf): a filter that is
// added cannot be left out of it by mistake.

// Parts of a pod: groups of PodShape's fields.
using PodParts = uint16_t;
inline constexpr PodParts kConstraintsPart = 1 << 0;  // constraints: every pod has them.
inline constexpr PodParts kNodeNamesPart = 1 << 1;    // Constraints::names_a_node.
inline constexpr PodParts kRequestsPart = 1 << 2;     // Requests, and its slot: every pod has one.
inline constexpr PodParts kFeaturesPart = 1 << 3;     // needs_*
inline constexpr PodParts kHostPortsPart = 1 << 4;    // host_ports
inline constexpr PodParts kVolumesPart = 1 << 5;      // claims, volumes
inline constexpr PodParts kSpreadPart = 1 << 6;       // spread
inline constexpr PodParts kAffinityPart = 1 << 7;     // affinity, anti_affinity, repelled_by
inline constexpr PodParts kCountedPart = 1 << 8;      // feeds: tables that count it where it runs.
inline constexpr PodParts kNotUnderstoodPart = 1 << 9;  // not_understood
inline constexpr size_t kPodPartCount = 10;

// The parts that pods of the shape have.
PodParts PartsOf(const Catalog& catalog, const PodShape& shape);

struct FilterReads {
  PodParts pod = 0;         // Of the pod that is to be placed.
  PodParts other_pods = 0;  // Of those that are placed.
  // The parts for which its PreFilter may say no: a pod without them passes it.
  PodParts pre_filter_for = 0;
  // The parts of the pod for which it reads the node's name.  All else that filters read
  // of a node's registration is its NodeInfo::shape.
  PodParts node_name_for = 0;
};
FilterReads ReadsOf(Filter filter);

// What need not be asked of pods that have certain parts and no others.
struct ShortCuts {
  bool passes_pre_filter = false;      // PreFilter never fails.
  bool statics_of_fit_class = false;   // StaticFits says the same to all of one fit class;
  bool statics_of_node_shape = false;  // and the same of all nodes of one NodeShapeId.
  bool requests_alone = false;         // DynamicFits: NodeResourcesFit alone, but for ghosts.
  bool topology_alone = false;         // The same, with TopologyFits.
  // The filters before NodeResourcesFit say the same to all of one fit class, and of all
  // nodes of one NodeShapeId.
  bool alike_before_room = false;
  // Where such pods run matters to no other pod, but for the room that they take and the
  // tables that count them.
  bool only_room_and_counts = false;
};
ShortCuts ShortCutsOf(PodParts parts);

}  // namespace ebb

#endif  // EBB_PREDICATES_FILTERS_H_
