// PlanDigest: what a plan says about each node, as hashes.  Two digests show which nodes a client
// that has the earlier plan must hear of.
//
//   PodHashes pods;  // Kept from plan to plan.
//   const PlanDigest now = DataDigest(context, pods);
//   const PlanDifference difference = DifferenceOf(before, now);
//
// Hashes are over names and texts, never over ids: an id may stand for another pod later.
//
// Cost:    O(nodes + moves) in time; some 100 bytes for each node, and 8 bytes for each pod.
// Threads: pure, but PodHashes is not thread-safe.

#ifndef EBB_SESSION_PLAN_DIGEST_H_
#define EBB_SESSION_PLAN_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "report/plan_report.h"

namespace ebb {

struct PlanDigest {
  // Digests of different forms cannot be compared.
  enum class Form : uint8_t { kData, kJson };
  struct Node {
    // In the order of the plan, or 0 in a digest of JSON; absent: the plan keeps the node.
    std::optional<uint32_t> place;
    bool is_listed = false;  // The plan removes the node, or says why it stays.
    uint64_t entry = 0;      // Hash of its entry.
    uint64_t use = 0;        // Hash of its utilization; 0: the plan has none.
  };
  Form form = Form::kData;
  absl::flat_hash_map<std::string_view, Node> nodes;
  // Owns the names in `nodes`: the Symbols of a catalog, or a copy of the names.
  std::shared_ptr<const void> names;
};

// The hashes of pods' names, which are the same from plan to plan.  Reading a name takes up to six
// cache misses, its hash one.
class PodHashes {
 public:
  // Forgets the hashes of pods that came or went since the last call, and all hashes if `catalog`
  // does not know which these were.  Borrows the catalog until the next call.
  void Attach(const Catalog& catalog);
  // REQUIRES: Attach() was called, and the catalog has not changed since.
  uint64_t Of(PodId pod);

 private:
  const Catalog* catalog_ = nullptr;
  uint64_t lineage_ = 0;
  uint64_t pods_seen_ = 0;        // The end of the log of pods.
  std::vector<uint64_t> hashes_;  // By PodId; 0: not computed.
};

// Of the entries of a PassPlan.  Attaches `pods` to the plan's catalog.
PlanDigest DataDigest(const PlanContext& context, PodHashes& pods);
// Of the decisions behind the entries of a plan's JSON: the node, its utilization, its moves, the
// reason and the pod that keep it.  Figures that replaying the plan would give are not part of it.
PlanDigest DecisionDigest(const PlanReport& report);

struct PlanDifference {
  // Nodes whose entry is new or differs, or whose place among the other removals does.
  absl::flat_hash_set<std::string> entries;
  absl::flat_hash_set<std::string> uses;  // Nodes whose utilization is new or differs.
  std::vector<std::string> gone;          // Nodes that are no longer listed, sorted.
};
// With the entries of `before`, those of the difference and the places of its removals, a client
// has exactly the plan of `now`, in its order (PlanReply.whole says how).
PlanDifference DifferenceOf(const PlanDigest& before, const PlanDigest& now);

// The last few plans that clients have, by the versions that stand for them.
class PlanVersions {
 public:
  static constexpr size_t kKept = 16;

  // `id`: no other PlanVersions of this or another process has the same.
  explicit PlanVersions(std::string_view id) : id_(id) {}

  // Returns the plan's version.
  std::string Add(std::shared_ptr<const PlanDigest> digest);
  // Null: the version is "", or is not remembered, or stands for a plan of another form.
  [[nodiscard]] std::shared_ptr<const PlanDigest> Find(std::string_view version,
                                                       PlanDigest::Form form) const;

 private:
  const std::string id_;
  uint64_t last_ = 0;
  std::deque<std::pair<std::string, std::shared_ptr<const PlanDigest>>> kept_;  // The latest last.
};

}  // namespace ebb

#endif  // EBB_SESSION_PLAN_DIGEST_H_
