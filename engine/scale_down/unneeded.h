// UnneededTimers: since when each node has been found removable without a break.
//
// A node's timer starts when a pass first finds it removable and ends when a pass
// does not.  Nodes are known by name and UID: what becomes of the timer of one that
// comes back under its old name as another machine, ReturnedNode says.
//
// Names are ids of the Symbols that all snapshots of a planner share; saved timers
// carry text.
//
// Units:   seconds since the Unix epoch.
// Cost:    O(timers + nodes removable or skipped) a pass.
// Threads: none.
// Source:  cluster-autoscaler core/scaledown/unneeded/nodes.go.

#ifndef EBB_ENGINE_SCALE_DOWN_UNNEEDED_H_
#define EBB_ENGINE_SCALE_DOWN_UNNEEDED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/plan/plan.h"
#include "snapshot/catalog.h"

namespace ebb {

// Whether a node that the pass did not come to (deadline, limit) keeps its timer.
enum class SkippedTimer : uint8_t {
  kLost,  // As the autoscaler does.
  kKept,  // It goes on if the next judgement says removable again.
};

// A node that comes back under its name with another UID is another machine.
enum class ReturnedNode : uint8_t {
  kStartsAnew,  // It waits its full time.
  kKeepsTimer,  // As the autoscaler does, which knows nodes by name.
};

class UnneededTimers {
 public:
  struct Timer {
    std::string node;
    std::string uid;
    int64_t since_s = 0;
    bool judged = true;  // False: kept from an earlier pass, skipped by the last one.
    friend bool operator==(const Timer&, const Timer&) = default;
  };

  // Replaces the tracked set by `plan.remove`; a node tracked before keeps its time.
  // Skipped nodes that are still in the cluster are treated as `skipped` says.
  void Update(const Catalog& catalog, const Plan& plan, int64_t now_s, SkippedTimer skipped,
              ReturnedNode returned = ReturnedNode::kStartsAnew);

  // When the node of that name became unneeded; nullopt if the last pass did not find so.
  [[nodiscard]] std::optional<int64_t> Since(TextId node) const {
    const auto it = timers_.find(node);
    if (it == timers_.end() || !it->second.judged) return std::nullopt;
    return it->second.since_s;
  }

  // Visits (name, UID) of every node with a timer, judged or not, in unspecified order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [node, entry] : timers_) visit(node, entry.uid);
  }

  // Nodes that the last pass found removable.
  [[nodiscard]] size_t size() const { return judged_; }

  void Clear();

  // Sorted by node, so that equal states are equal bytes.
  [[nodiscard]] std::vector<Timer> Save(const Symbols& symbols) const;
  void Restore(const std::vector<Timer>& timers, Symbols& symbols);

 private:
  struct Entry {
    TextId uid;
    int64_t since_s;
    bool judged;
  };
  using Timers = absl::flat_hash_map<TextId, Entry>;  // By the node's name.

  // The timer that goes on for the node, or nullptr.
  const Entry* Find(const NodeInfo& node, ReturnedNode returned) const;
  void KeepSkipped(const Catalog& catalog, const Plan& plan, ReturnedNode returned);

  Timers timers_;
  Timers before_;  // While Update runs: those of the pass before.
  size_t judged_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_UNNEEDED_H_
