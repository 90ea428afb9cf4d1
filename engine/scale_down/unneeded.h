// UnneededTimers: since when each node has been found removable in every pass.
//
// A node's timer starts when a pass first finds the node removable and ends when a pass does not.
// A node is identified by name and UID.  ReturnedNode says what happens to the timer if another
// machine takes the node's name.
//
// Names are ids of the Symbols that all snapshots of a planner share; saved timers contain text.
//
// Units:   seconds since the Unix epoch.
// Cost:    O(timers + nodes removable or skipped) a pass.
// Threads: not thread-safe.
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
#include "snapshot/node_set.h"

namespace ebb {

// Whether a node that the pass did not reach (deadline, limit) keeps its timer.
enum class SkippedTimer : uint8_t {
  kLost,  // As in the autoscaler.
  kKept,  // The timer continues if the next verdict on the node is removable.
};

// A node that returns with its name but another UID is another machine.
enum class ReturnedNode : uint8_t {
  kRestarts,    // It waits for the full unneeded time.
  kKeepsTimer,  // As in the autoscaler, which identifies nodes by name.
};

class UnneededTimers {
 public:
  struct Timer {
    std::string node;
    std::string uid;
    int64_t since_s = 0;
    bool judged = true;  // False: the last pass skipped the node, and its timer was kept.
    friend bool operator==(const Timer&, const Timer&) = default;
  };

  // Replaces the set of nodes with a timer by `plan.remove`; a node that had a timer keeps it.
  // `skipped` says what happens to skipped nodes that are still in the cluster.  `waiting`: nodes
  // that the plan keeps although nothing says that they are needed again; their timers go on as
  // those of skipped nodes with SkippedTimer::kKept.  May be null.
  void Update(const Catalog& catalog, const Plan& plan, int64_t now_s, SkippedTimer skipped,
              ReturnedNode returned = ReturnedNode::kRestarts, const NodeSet* waiting = nullptr);

  // When the node of that name became unneeded; nullopt: the last pass did not find it removable.
  [[nodiscard]] std::optional<int64_t> Since(TextId node) const {
    const auto it = timers_.find(node);
    if (it == timers_.end() || !it->second.judged) return std::nullopt;
    return it->second.since_s;
  }

  // When the node of that name became unneeded, also if the last pass skipped it or it waits.
  [[nodiscard]] std::optional<int64_t> SinceOrWaiting(TextId node) const {
    const auto it = timers_.find(node);
    return it == timers_.end() ? std::nullopt : std::optional(it->second.since_s);
  }

  // Visits (name, UID) of every node with a timer, judged or skipped, in unspecified order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [node, entry] : timers_) visit(node, entry.uid);
  }

  // Visits the name of every node whose timer the last Update has ended, in unspecified order.
  template <typename Visit>
  void ForEachEnded(Visit&& visit) const {
    for (const auto& [node, entry] : before_) {
      if (!timers_.contains(node)) visit(node);
    }
  }

  // The number of nodes that the last pass found removable.
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

  // The timer that continues for the node, or nullptr.
  const Entry* Find(const NodeInfo& node, ReturnedNode returned) const;
  // Keeps the timers of these nodes, as not judged.
  void KeepTimers(const Catalog& catalog, const NodeSet& nodes, ReturnedNode returned);

  Timers timers_;
  Timers before_;  // The timers before the last Update.
  size_t judged_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_UNNEEDED_H_
