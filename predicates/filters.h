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
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, default profile.

#ifndef EBB_PREDICATES_FILTERS_H_
#define EBB_PREDICATES_FILTERS_H_

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
  kNotUnderstood,  // Not the scheduler's: a constraint that ebb does not evaluate.
};
// "NodeResourcesFit".
std::string_view FilterName(Filter filter);

struct FilterVerdict {
  bool fits = true;
  Filter filter{};                   // Who says so; of Explain the first that said no.
  std::vector<std::string> reasons;  // In the scheduler's words.
};

// Taints, node affinity, declared features, spec.unschedulable as the
// NodeUnschedulable filter sees it (a pod may tolerate it), and the storage
// filters that depend on nothing but claim and node.  Never changes while the
// node's registration does not, ghosts apart.
bool StaticFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// What depends on where pods are: ports, resources, disks, spread, affinity.  A filter
// that looks at something else of the pods on a node has to be known to
// PodScan::TakesOnlyRoom.
bool DynamicFits(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// spec.unschedulable alone, which keeps the autoscaler's scan (not a hint) off a
// node even if the pod tolerates it, is the scan's business, not a filter's.

// Failures that need no node (PreFilter): missing claims, constraints that are not
// understood, conflicting affinity terms.  fits: go on with the nodes.
FilterVerdict PreFilter(const ClusterSnapshot& snapshot, const PodShape& shape);

// PreFilter, then every filter on one node; the first no, with all its reasons.
FilterVerdict Explain(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node);

// What every filter says by itself, in order, for somebody who wants to know all that
// stands in the way.  Where PreFilter fails, that is all there is: the scheduler asks
// no node then.
std::vector<FilterVerdict> ExplainEach(const ClusterSnapshot& snapshot, const PodShape& shape,
                                       NodeId node);

}  // namespace ebb

#endif  // EBB_PREDICATES_FILTERS_H_
