// StateStore keeps the state that a planner needs after its process has ended.
//
// Errors:  a store that is damaged or was written by a later version is rejected and not changed.
// Threads: not thread-safe.

#ifndef EBB_ENGINE_SCALE_DOWN_STATE_STORE_H_
#define EBB_ENGINE_SCALE_DOWN_STATE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/scale_down/scale_down_state.h"

namespace ebb {

// The record of a round, for users and for replays.
struct RoundRecord {
  int64_t round = 0;  // From 1.
  int64_t now_s = 0;
  std::string input_digest = {};  // Of the round's whole input; equal input has an equal digest.
  std::string status = {};
  std::string decision = {};  // JSON.

  // For running the round again; both are empty if they are not recorded.
  std::string arguments = {};  // JSON.
  std::string input = {};      // A binary snapshot.
};

// A metric that grows during a planner's life.  It is stored so that a restart does not reset it.
struct StoredCounter {
  std::string name;
  std::string label;    // The value of its one label.
  int64_t bucket = -1;  // The bucket of a histogram, from 0; -1: the sum, or a plain counter.
  double value = 0;
  friend bool operator==(const StoredCounter&, const StoredCounter&) = default;
};

class StateStore {
 public:
  virtual ~StateStore() = default;

  // nullopt: nothing has been saved yet.
  virtual absl::StatusOr<std::optional<ScaleDownState>> Load() = 0;
  // Sorted by name, label and bucket.
  virtual absl::StatusOr<std::vector<StoredCounter>> LoadCounters() = 0;

  // Replaces the state and the counters and adds the round, atomically: if the process is killed,
  // either the old or the new state remains.  Lists are sorted.
  // Errors: Aborted if another process has saved since Load.
  virtual absl::Status Save(const ScaleDownState& state, const RoundRecord& round,
                            const std::vector<StoredCounter>& counters) = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_STATE_STORE_H_
