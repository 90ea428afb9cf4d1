// DeletionReport: what happened to nodes and pods since the last round, and which deletions are in
// progress.  The caller of a round reports both, by name.
//
// Times: seconds since the Unix epoch; absent: the round's time.

#ifndef EBB_ENGINE_SCALE_DOWN_DELETION_REPORT_H_
#define EBB_ENGINE_SCALE_DOWN_DELETION_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/actuation_status.h"

namespace ebb {

struct DeletionReport {
  struct ScaleUp {
    std::string group;
    std::optional<int64_t> at_s;
    friend bool operator==(const ScaleUp&, const ScaleUp&) = default;
  };
  struct Deletion {
    std::string node;
    std::string group;
    std::optional<bool> drained;  // Whether pods had to move.  Absent: decided from the snapshot.
    friend bool operator==(const Deletion&, const Deletion&) = default;
  };
  struct DeletionResult {
    std::string node;
    std::string group;
    std::string result;  // The autoscaler's NodeDeleteResultType: "Ok", "FailedToEvictPods", ...
    std::optional<int64_t> at_s;
    friend bool operator==(const DeletionResult&, const DeletionResult&) = default;
  };
  struct Eviction {
    EvictedPod pod;  // `object` is JSON, or empty; the time is at_s.
    std::optional<int64_t> at_s;
    friend bool operator==(const Eviction&, const Eviction&) = default;
  };
  struct Unregistered {
    std::string group;
    int64_t count = 0;
    friend bool operator==(const Unregistered&, const Unregistered&) = default;
  };

  // Events since the last round.  Each is reported to one round only.
  std::vector<ScaleUp> scale_ups;
  std::vector<DeletionResult> results;
  std::vector<Eviction> evictions;
  // The current state, reported to every round.
  std::vector<Deletion> in_progress;
  std::vector<std::string> unready;  // Nodes that count as not ready whatever their conditions say.
  std::vector<Unregistered> unregistered;  // Machines that have not registered a node yet.
  friend bool operator==(const DeletionReport&, const DeletionReport&) = default;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_DELETION_REPORT_H_
