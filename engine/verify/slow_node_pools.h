// SlowNodePools: Karpenter's rules on nodes and the budgets of its NodePools, for the verifier.  It
// shares no code with engine/plan/karpenter.h: it reads the objects' texts, labels and conditions
// itself, and looks for a due time of a cron expression minute by minute.
//
// Units:   seconds since the Unix epoch.
// Cost:    the constructor O(nodes); the first WhyKept for a NodePool O(days of its budgets'
//          durations, and the minutes of one of them); else O(labels of a node).
// Threads: not thread-safe.
// Source:  karpenter 1.14.3, as karpenter.h.

#ifndef EBB_ENGINE_VERIFY_SLOW_NODE_POOLS_H_
#define EBB_ENGINE_VERIFY_SLOW_NODE_POOLS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/plan/node_groups.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"

namespace ebb {

class SlowNodePools {
 public:
  SlowNodePools(const Catalog& catalog, const NodeGroups& groups,
                std::span<const NodeId> in_deletion, int64_t now_s);

  // Why Karpenter does not disrupt the node, as the end of a sentence; empty: it may.
  [[nodiscard]] std::string WhyNotDisrupted(NodeId node) const;
  // Why the node's NodePool keeps it.  `is_empty`: no pod that counts has to move.
  [[nodiscard]] std::string WhyKept(NodeId node, bool is_empty) const;
  // Whether no pod of a removed node may come: consolidateAfter is not over, or Karpenter has not
  // set the node up.
  [[nodiscard]] bool IsClosed(NodeId node) const;
  // Notes that the node goes.
  void Remove(NodeId node) { ++removed_[std::string(LabelOf(node))]; }

 private:
  [[nodiscard]] std::string_view LabelOf(NodeId node) const;
  [[nodiscard]] const KarpenterObjects::Pool* PoolOf(NodeId node) const;
  [[nodiscard]] const KarpenterObjects::Claim* ClaimOf(NodeId node) const;
  [[nodiscard]] bool IsSetUp(NodeId node) const;
  [[nodiscard]] bool IsUnderConsolidateAfter(NodeId node) const;
  // How many nodes of the NodePool may go in all for the reason, at most.
  [[nodiscard]] int64_t Allowed(const KarpenterObjects::Pool& pool, std::string_view reason) const;
  [[nodiscard]] int64_t CountAllowed(const KarpenterObjects::Pool& pool,
                                     std::string_view reason) const;

  const Catalog* catalog_;
  int64_t now_s_;
  bool ebb_consolidates_;
  std::map<std::string, int64_t, std::less<>> nodes_;    // By NodePool.
  std::map<std::string, int64_t, std::less<>> going_;    // By NodePool: not ready, being deleted.
  std::map<std::string, int64_t, std::less<>> removed_;  // By NodePool: by the plan.
  // By NodePool and reason, filled on first use: budgets do not change during a plan.
  mutable std::map<std::pair<std::string, std::string>, int64_t> allowed_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_VERIFY_SLOW_NODE_POOLS_H_
