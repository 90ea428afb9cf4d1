// StartedDeletions: the deletions that rounds have asked for and that have not ended.  Each is
// counted once.
//
// A round names a node again until its deletion is seen to run, because the caller may have been
// killed before it acted.  That is still the same deletion.  So to count deletions, count the nodes
// for which AskFor returns true.
//
// A deletion ends when
//   - its node is gone, or another machine (UID) has its name;
//   - its failure is reported;
//   - it was running (the node is tainted, or the deletion was reported) and is no longer;
//   - its success is reported, and the node is still there after the timeout;
//   - it was never seen to run, and no round has named the node for the timeout.
//
// Units:   seconds since the Unix epoch.  The timeout is kDeletionTimeoutS (node_standing.h).
// Cost:    O(deletions that have not ended) a round.
// Threads: not thread-safe.

#ifndef EBB_ENGINE_SCALE_DOWN_STARTED_DELETIONS_H_
#define EBB_ENGINE_SCALE_DOWN_STARTED_DELETIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/node_set.h"

namespace ebb {

// A deletion that is reported as ended.
struct EndedDeletion {
  std::string node;
  bool ok = true;
};

class StartedDeletions {
 public:
  enum class Phase : uint8_t {
    kRequested,
    kRunning,
    kSucceeded,  // Success was reported; the node may still be in snapshots for a while.
  };
  struct Deletion {
    std::string node;
    std::string uid;
    Phase phase = Phase::kRequested;
    // When a round last saw it in this phase; kSucceeded: when success was reported.
    int64_t at_s = 0;
    friend bool operator==(const Deletion&, const Deletion&) = default;
  };

  // To be called at the start of a round.  `running`: the nodes that are being deleted.  `now_s`
  // absent: the time is in doubt.  Then no deletion ends because of a timeout or because its node
  // is not in `running`, which may itself depend on the time.
  void Update(const ClusterSnapshot& snapshot, const NodeSet& running,
              std::span<const EndedDeletion> ended, std::optional<int64_t> now_s);

  // Notes that a round asks for the node's deletion.  Returns whether that is a new deletion.
  bool AskFor(const NodeInfo& node, int64_t now_s);

  // To be called at the end of a round: drops deletions that were not seen to run before the
  // timeout.
  void DropOld(int64_t now_s);

  // Sorted by node.
  [[nodiscard]] std::vector<Deletion> Save(const Symbols& symbols) const;
  void Restore(const std::vector<Deletion>& deletions, Symbols& symbols);

 private:
  struct Entry {
    TextId uid;
    Phase phase;
    int64_t at_s;
  };

  absl::flat_hash_map<TextId, Entry> deletions_;  // By the node's name.
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_STARTED_DELETIONS_H_
