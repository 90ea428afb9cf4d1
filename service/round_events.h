// What a round is told beside the dump (`ebb plan --state FILE --events FILE`): a DeletionReport as
// a YAML or JSON file.  Every field may be left out; `at` defaults to the round's time.
//
//   scaleUps:              # groups that grew since the last round
//   - {group: general, at: 2026-06-01T11:58:00Z}
//   deletionsInProgress:   # as they stand now, beside what taints in the dump tell
//   - {node: n7, group: general, drained: true}
//   deletionResults:       # of deletions that ended since the last round
//   - {node: n3, result: Ok}
//   - {node: n4, result: FailedToEvictPods, group: general, at: 2026-06-01T11:59:30Z}
//   recentEvictions:       # pods evicted since the last round, as objects or by name
//   - {pod: {apiVersion: v1, kind: Pod, metadata: ..., spec: ...}, at: 2026-06-01T11:59:00Z}
//   - {namespace: default, name: web-1, uid: 8f14e45f}
//   unreadyNodes: [n5]     # not ready whatever their conditions say
//   unregisteredNodes:     # machines of a group that are no nodes yet
//   - {group: general, count: 2}
//
// `result` is the autoscaler's NodeDeleteResultType: Ok, FailedToMarkToBeDeleted,
// FailedToEvictPods, FailedToDelete, Internal.  Where one node has Ok and a failure, in whatever
// order, both begin their cooldowns and the node takes no pods in this round.
//
// Errors: one line naming file, place and field; an unknown field is one.
// Source: cluster-autoscaler core/scaledown ActuationStatus, status.NodeDeleteResult.

#ifndef EBB_SERVICE_ROUND_EVENTS_H_
#define EBB_SERVICE_ROUND_EVENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/actuation_status.h"
#include "engine/cooldown.h"
#include "engine/deletion_report.h"
#include "engine/node_groups.h"
#include "engine/started_deletions.h"
#include "service/groups.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/object_sink.h"

namespace ebb {

// `file` stands for the text in errors.
absl::StatusOr<DeletionReport> ParseEvents(const std::string& file, const std::string& text);

// The same as JSON text, which ParseEvents reads; "": nothing is reported.
std::string EventsText(const DeletionReport& report);

// Of a group, that are no nodes yet.
inline constexpr int64_t kMachinesMax = 1'000'000;
// Whether it is one of the autoscaler's: "Ok", ...
bool IsDeletionResult(std::string_view result);
// "is not one of Ok, ..."
std::string NotADeletionResult();

// Takes the names of a pod from its `object`, which is JSON.
// Errors: one line; `where` stands for the object in it: it is not one Pod.
absl::Status NamePodOf(const std::string& where, EvictedPod& pod);

// The node as one that is not ready.
objects::Node MarkedUnready(const objects::Node& node);

// Logs each unready node of the report that the cluster lacks.
void LogUnknownUnready(const DeletionReport& report,
                       const std::function<bool(const std::string& node)>& is_there,
                       std::vector<std::string>& log);

// Hands over the evicted pods, those of `report` and `remembered` ones, that the cluster lacks, as
// pods that wait for a node.  Logs those whose object is not known.  `file` stands for the report
// in errors.
absl::Status GiveEvictedPods(const std::string& file, const DeletionReport& report,
                             const std::vector<EvictedPod>& remembered,
                             const std::function<bool(const EvictedPod& pod)>& is_there,
                             ObjectSink& sink, std::vector<std::string>& log);

// Reads a dump as the report wants it: `read` hands its objects over to `sink` with
// unready nodes marked, and after them come evicted pods, `remembered` ones and those of
// `report`, that the dump lacks, without a node.
//
// Appends a line to `log` for each node or pod that the dump should have.
absl::Status ReadWithEvents(const std::string& file, const DeletionReport& report,
                            const std::vector<EvictedPod>& remembered, ObjectSink& sink,
                            const std::function<absl::Status(ObjectSink&)>& read,
                            std::vector<std::string>& log);

// The events in the terms of a round over one snapshot.
struct ResolvedEvents {
  ActuationStatus actuation;  // With deletions that the nodes' taints tell of.
  std::vector<ScaleEvent> scale_events;
  std::vector<EndedDeletion> ended;
  std::vector<std::string> failed_deletions;  // The result of each.
  std::vector<std::string> log;               // What was odd, a line each.
};
ResolvedEvents Resolve(const DeletionReport& report, const ClusterSnapshot& snapshot,
                       const NodeGroups& groups, int64_t now_s);

// Adds unregistered machines to the sizes of groups whose size no rule gives.
void CountUnregistered(const DeletionReport& report, const GroupRules& rules, NodeGroups& groups,
                       std::vector<std::string>& log);

}  // namespace ebb

#endif  // EBB_SERVICE_ROUND_EVENTS_H_
