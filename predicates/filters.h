// Filters: may this pod run on that node?  The scheduler's own filters, in its order.
//
// Each filter is a small pure unit in a file of its own with two functions: a yes or no for
// the planner's scan, and the scheduler's reason texts for people.  Both use one
// implementation.
//
// A filter assumes that the pod is not placed: remove a placed pod from the snapshot first.
// Filters ignore the pod's spec.nodeName.
//
// Cost:    StaticFits: O(taints + requirements), a pure function of constraints
//          and node, worth caching.  DynamicFits: O(requests), plus look-ups
//          per topology term, plus O(pods of the node) for ports and disks.
// Threads: pure functions.
// Source:  kubernetes pkg/scheduler/framework/plugins, default profile, of version 1.36 or 1.37,
//          whichever the catalog's kubernetes_version() is.

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
  // Filters that the scheduler does not have.
  kOperatingSystem,  // Only if the snapshot's matches_os() is true.
  kNotUnderstood,    // The pod has a constraint that ebb does not evaluate.
};
inline constexpr size_t kFilterCount = static_cast<size_t>(Filter::kNotUnderstood) + 1;
// "NodeResourcesFit".
std::string_view FilterName(Filter filter);

struct FilterVerdict {
  bool fits = true;
  Filter filter{};                   // The filter that decided; for Explain the first no.
  std::vector<std::string> reasons;  // In the scheduler's words.
  // What the reasons do not say, in ebb's words: which devices do not serve the pod, and why.
  std::string detail = {};
};

// --- Yes or no -----------------------------------------------------------------

// The filters that depend only on pod and node: taints, node affinity, declared features,
// operating system, spec.unschedulable as the NodeUnschedulable filter reads it (a pod may
// tolerate it), and the storage filters that read only claims and the node.  The result does not
// change while the node's registration stays the same.  It ignores the taint of a ghost.
bool StaticFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// The filters that depend on where other pods are: ports, resources, disks, spread, affinity.
// Always false for a ghost.
bool DynamicFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// The subset of DynamicFits that depends only on pod counts by topology domain: spread, affinity.
bool TopologyFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// No filter here implements one behaviour of the autoscaler: its scan (but not a hint) avoids
// nodes with spec.unschedulable, even for a pod that tolerates it.  The planner's scan does that.

// Failures that do not depend on a node (PreFilter): missing claims, constraints that ebb does not
// understand, conflicting affinity terms.  If the verdict fits, each node must still be tested.
FilterVerdict PreFilter(const ClusterSnapshot& snapshot, const PodShape& shape);

// --- Why not -------------------------------------------------------------------

// Runs PreFilter, then every filter on one node.  Returns the first no, with all its reasons.
FilterVerdict Explain(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// The verdict of every filter on one node, in order, for a reader who wants to know every
// obstacle.  If PreFilter fails, its verdict is the only one, because the scheduler then tests
// no node.
std::vector<FilterVerdict> ExplainEach(const ClusterSnapshot& snapshot, const PodShape& shape,
                                       NodeId node);

// --- What filters read ---------------------------------------------------------
//
// filters.cc holds the only table of the filters.  Each row states what its filter reads.
// ShortCutsOf derives from these statements alone what a search may skip, so a new filter
// cannot be skipped by mistake.

// Parts of a pod: groups of PodShape's fields.
using PodParts = uint16_t;
inline constexpr PodParts kConstraintsPart = 1 << 0;  // constraints; every pod has this part.
inline constexpr PodParts kNodeNamesPart = 1 << 1;    // Constraints::names_a_node.
inline constexpr PodParts kRequestsPart = 1 << 2;     // Requests and slot; every pod has it.
inline constexpr PodParts kFeaturesPart = 1 << 3;     // needs_*
inline constexpr PodParts kHostPortsPart = 1 << 4;    // host_ports
inline constexpr PodParts kVolumesPart = 1 << 5;      // claims, volumes
inline constexpr PodParts kSpreadPart = 1 << 6;       // spread
inline constexpr PodParts kAffinityPart = 1 << 7;     // affinity, anti_affinity, repelled_by
inline constexpr PodParts kCountedPart = 1 << 8;      // feeds: tables that count it where it runs.
inline constexpr PodParts kNotUnderstoodPart = 1 << 9;  // not_understood
inline constexpr PodParts kDevicesPart = 1 << 10;       // device_claims
inline constexpr size_t kPodPartCount = 11;

// The parts that a pod of this shape has.
PodParts PartsOf(const Catalog& catalog, const PodShape& shape);

struct FilterReads {
  PodParts pod = 0;         // Parts of the pod that is to be placed.
  PodParts other_pods = 0;  // Parts of the pods that are already placed.
  // The parts because of which the filter's PreFilter may reject a pod.  A pod without them passes.
  PodParts pre_filter_for = 0;
  // The parts of the pod because of which the filter reads the node's name.  Everything else that
  // filters read of a node's registration is identified by NodeInfo::shape.
  PodParts node_name_for = 0;
};
FilterReads ReadsOf(Filter filter);

// The evaluations that a search may skip for pods that have only certain parts.
struct ShortCuts {
  bool passes_pre_filter = false;      // PreFilter never fails.
  bool statics_of_fit_class = false;   // StaticFits is the same for all pods of a fit class.
  bool statics_of_node_shape = false;  // StaticFits is the same for all nodes of a NodeShapeId.
  bool requests_alone = false;         // DynamicFits tests only requests and ghosts.
  bool topology_alone = false;         // As requests_alone, and TopologyFits.
  // The filters before NodeResourcesFit give the same verdict for all pods of a fit class and
  // for all nodes of a NodeShapeId.
  bool alike_before_room = false;
  // Where such pods run matters to other pods only through the room that they take and the
  // tables that count them.
  bool only_room_and_counts = false;
};
ShortCuts ShortCutsOf(PodParts parts);

}  // namespace ebb

#endif  // EBB_PREDICATES_FILTERS_H_
