// The events of a round, given beside the dump (`ebb plan --state FILE --events FILE`): a
// DeletionReport as a YAML or JSON file.  Every field may be omitted; `at` defaults to the round's
// time.
//
//   scaleUps:              # groups that grew since the last round
//   - {group: general, at: 2026-06-01T11:58:00Z}
//   deletionsInProgress:   # now, in addition to deletions that taints in the dump show
//   - {node: n7, group: general, drained: true}
//   deletionResults:       # of deletions that ended since the last round
//   - {node: n3, result: Ok}
//   - {node: n4, result: FailedToEvictPods, group: general, at: 2026-06-01T11:59:30Z}
//   recentEvictions:       # pods evicted since the last round, as objects or by name
//   - {pod: {apiVersion: v1, kind: Pod, metadata: ..., spec: ...}, at: 2026-06-01T11:59:00Z}
//   - {namespace: default, name: web-1, uid: 8f14e45f}
//   unreadyNodes: [n5]     # not ready whatever their conditions say
//   unregisteredNodes:     # machines of a group that are not nodes yet
//   - {group: general, count: 2}
//
// `result` is the autoscaler's NodeDeleteResultType: Ok, FailedToMarkToBeDeleted,
// FailedToEvictPods, FailedToDelete, Internal.  Where one node has Ok and a failure, in whatever
// order, both begin their cooldowns and the node takes no pods in this round.
//
// Errors: one line naming file, place and field; an unknown field is an error.
// Source: cluster-autoscaler core/scaledown ActuationStatus, status.NodeDeleteResult.

#ifndef EBB_ROUNDS_ROUND_EVENTS_H_
#define EBB_ROUNDS_ROUND_EVENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/actuation_status.h"
#include "engine/plan/node_groups.h"
#include "engine/scale_down/cooldown.h"
#include "engine/scale_down/deletion_report.h"
#include "engine/scale_down/started_deletions.h"
#include "groups/groups.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// `file` stands for the text in errors.
absl::StatusOr<DeletionReport> ParseEvents(const std::string& file, const std::string& text);

// The report as JSON text, which ParseEvents reads; "": the report is empty.
std::string EventsText(const DeletionReport& report);

// The largest number of unregistered machines of a group.
inline constexpr int64_t kMachinesMax = 1'000'000;
// Whether `result` is one of the autoscaler's: "Ok", ...
bool IsDeletionResult(std::string_view result);
// "is not one of Ok, ..."
std::string NotADeletionResult();

// Sets the namespace, name and UID of `pod` from its `object`, which is JSON.
// Errors: one line, in which `where` names the object: it is not exactly one Pod.
absl::Status NamePodOf(const std::string& where, EvictedPod& pod);

// A copy of the node that is not ready.
objects::Node MarkedUnready(const objects::Node& node);

// Logs each unready node of the report that the cluster lacks.
void LogUnknownUnready(const DeletionReport& report,
                       const std::function<bool(const std::string& node)>& is_there,
                       std::vector<std::string>& log);

// Passes the evicted pods of `report` and `remembered` that the cluster lacks to `sink`, as pods
// that wait for a node.  Logs evicted pods whose object is unknown.  `file` names the report in
// errors.
absl::Status GiveEvictedPods(const std::string& file, const DeletionReport& report,
                             const std::vector<EvictedPod>& remembered,
                             const std::function<bool(const EvictedPod& pod)>& is_there,
                             ObjectSink& sink, std::vector<std::string>& log);

// Reads a dump and applies the report: `read` passes the objects to `sink`, with unready nodes
// marked.  The evicted pods of `remembered` and `report` that the dump lacks follow, without a
// node.
//
// Appends a line to `log` for each node or pod that the dump lacks but should have.
absl::Status ReadWithEvents(const std::string& file, const DeletionReport& report,
                            const std::vector<EvictedPod>& remembered, ObjectSink& sink,
                            const std::function<absl::Status(ObjectSink&)>& read,
                            std::vector<std::string>& log);

// The events, resolved to the nodes and groups of one snapshot.
struct ResolvedEvents {
  ActuationStatus actuation;  // Includes the deletions that taints of nodes show.
  std::vector<ScaleEvent> scale_events;
  std::vector<EndedDeletion> ended;
  std::vector<std::string> failed_deletions;  // The result of each.
  std::vector<std::string> log;               // Oddities, one line each.
};
ResolvedEvents Resolve(const DeletionReport& report, const ClusterSnapshot& snapshot,
                       const NodeGroups& groups, int64_t now_s);

// Adds unregistered machines to the size of each group for which no rule gives a size.
void CountUnregistered(const DeletionReport& report, const GroupRules& rules, NodeGroups& groups,
                       std::vector<std::string>& log);

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_EVENTS_H_
