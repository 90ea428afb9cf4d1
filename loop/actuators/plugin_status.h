// ReadPluginStatus: checks and reads the status that a plugin reports.
//
//   absl::StatusOr<PluginStatus> status = ReadPluginStatus(reply, now_s);
//
// It rejects: a string that is not the name of a node; a node that occurs twice; an unset or
// unknown phase; a negative batch size; a time before 1970 or more than an hour ahead; a result
// without an id; two results with the same id; an evicted pod without a name; a name of more than
// 1000 bytes; more than 100,000 rows in a list.  Texts for people are cut to 1000 bytes.
//
// Cost:    O(reply).
// Errors:  Internal, naming the field: "running[3].phase: 9 is not a phase".
// Threads: any.

#ifndef EBB_LOOP_ACTUATORS_PLUGIN_STATUS_H_
#define EBB_LOOP_ACTUATORS_PLUGIN_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "loop/actuator.h"
#include "wire/actuator.pb.h"

namespace ebb {

struct PluginStatus {
  ActuatorStatus status;
  std::vector<std::string> result_ids;  // Of status.results, in their order.
};

absl::StatusOr<PluginStatus> ReadPluginStatus(const actuator::v1alpha1::StatusReply& reply,
                                              int64_t now_s);

// Whether a node can have this name: a DNS subdomain, as Kubernetes requires.
bool IsNodeName(std::string_view name);

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATORS_PLUGIN_STATUS_H_
