// StateStore keeps what a planner must not forget when its process ends.
//
// Errors: a store that is damaged, or written by a later version, is refused and
//         stays as it is.
// Threads: none.

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

// What is kept of a round for people and for replays.
struct RoundRecord {
  int64_t round = 0;  // From 1.
  int64_t now_s = 0;
  std::string input_digest = {};  // Of all that the round was given; equal input, equal digest.
  std::string status = {};
  std::string decision = {};  // JSON.

  // To run the round again; both empty where it is not recorded.
  std::string arguments = {};  // JSON.
  std::string input = {};      // A binary snapshot.
};

// A figure that grows over a planner's life, so that a restart is no gap in it.
struct StoredCounter {
  std::string name;
  std::string label;    // The value of its one label.
  int64_t bucket = -1;  // Of a histogram, from 0; -1: the sum, or a plain counter.
  double value = 0;
  friend bool operator==(const StoredCounter&, const StoredCounter&) = default;
};

class StateStore {
 public:
  virtual ~StateStore() = default;

  // nullopt: nothing was saved yet.
  virtual absl::StatusOr<std::optional<ScaleDownState>> Load() = 0;
  // Sorted by name, label and bucket.
  virtual absl::StatusOr<std::vector<StoredCounter>> LoadCounters() = 0;

  // Replaces the state and the counters and adds the round, all or nothing: a process
  // that is killed leaves the state before or the state after.  Lists are sorted.
  // Errors: Aborted if another process saved since Load.
  virtual absl::Status Save(const ScaleDownState& state, const RoundRecord& round,
                            const std::vector<StoredCounter>& counters) = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_STATE_STORE_H_
