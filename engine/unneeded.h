// UnneededTimers: since when each node has been found removable without a break.
//
// A node's timer starts when a pass first finds it removable and ends when a pass
// does not.  Nodes are known by name and UID: one that comes back under its old
// name as another machine starts anew.
//
// Units:   seconds since the Unix epoch.
// Cost:    O(nodes tracked) a pass.
// Threads: none.
// Source:  cluster-autoscaler core/scaledown/unneeded/nodes.go.

#ifndef EBB_ENGINE_UNNEEDED_H_
#define EBB_ENGINE_UNNEEDED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/plan.h"
#include "snapshot/catalog.h"

namespace ebb {

// A node that the pass did not come to (deadline, limit): does it keep its timer?
enum class SkippedTimer : uint8_t {
  kLost,  // As the autoscaler does.
  kKept,  // It goes on if the next judgement says removable again.
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
  void Update(const Catalog& catalog, const Plan& plan, int64_t now_s, SkippedTimer skipped);

  // When the tracked node became unneeded; nullopt if the last pass did not find so.
  [[nodiscard]] std::optional<int64_t> Since(std::string_view node) const;

  // Nodes that the last pass found removable.
  [[nodiscard]] size_t size() const { return judged_; }

  void Clear();

  // Sorted by node, so that equal states are equal bytes.
  [[nodiscard]] std::vector<Timer> Save() const;
  void Restore(const std::vector<Timer>& timers);

 private:
  struct Entry {
    std::string uid;
    int64_t since_s;
    bool judged;
  };

  // A timer of the node that was running before, or nullptr.
  const Entry* Find(const Catalog& catalog, NodeId node) const;

  absl::flat_hash_map<std::string, Entry> timers_;
  size_t judged_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_UNNEEDED_H_
