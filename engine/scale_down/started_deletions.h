// StartedDeletions: which deletions rounds asked for, each once, until it ended.
//
// A round names a node again for as long as nobody is seen to delete it: its caller may
// have been killed before it acted.  That is the same deletion, so that whoever counts
// deletions takes only nodes that AskFor returns.
//
// A deletion ends when
//   - its node is gone, or another machine (UID) has its name;
//   - its failure is told;
//   - it was seen running (the node's taint, or told) and is so no more;
//   - its success is told, and the node is there after the timeout all the same;
//   - nobody was seen to take it up, and no round has named the node for the timeout.
//
// Units:   seconds since the Unix epoch.
// Cost:    O(deletions that have not ended) a round.
// Threads: none.

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

// A deletion that is said to have ended.
struct EndedDeletion {
  std::string node;
  bool ok = true;
};

class StartedDeletions {
 public:
  enum class Phase : uint8_t {
    kAskedFor,
    kRunning,
    kSucceeded,  // It is said so; the node may be in dumps for a while.
  };
  struct Deletion {
    std::string node;
    std::string uid;
    Phase phase = Phase::kAskedFor;
    int64_t at_s = 0;  // When a round last saw it in this phase; kSucceeded: when that was said.
    friend bool operator==(const Deletion&, const Deletion&) = default;
  };

  // As a round begins.  `now_s` absent: the time is in doubt.  Then no deletion ends because it
  // took too long, nor because its node is not in `running`, which may depend on the time itself.
  void Update(const ClusterSnapshot& snapshot, const NodeSet& running,
              std::span<const EndedDeletion> ended, std::optional<int64_t> now_s);

  // The round asks for the node's deletion.  Returns whether that is a new one.
  bool AskFor(const NodeInfo& node, int64_t now_s);

  // As a round ends: nobody took up what was asked for last before the timeout.
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
