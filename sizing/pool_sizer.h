// PoolSizer: the sizing policies of a file of pools, in a loop (loop/loop.h).
//
//   PoolSizer sizer(pools, state, options);
//   loop_options.sizer = &sizer;
//   store.SetSizing(sizer.state());  // In own_rounds_options.record, before the store saves.
//
// In each turn it observes every pool whose period is over, and asks the pool's policy.
//   shrink  The policy's order of nodes (or the planner's) goes to a planner pass, with as many
//           nodes to remove as the policy asks for.  Nodes that can really be removed enter the
//           drain queue (node_queues.h).
//   grow    Nodes whose taint the policy removes serve again, and nodes of the drain queue whose
//           pods have not been touched yet stay.  For the rest the group is asked for machines, but
//           never for more than the pool's cloud.max.
//   taint   The actuator sets and removes the policy's taints.  An actuator that cannot set taints
//           is asked once.  After that, each turn logs the taints that were not set, and asks for
//           machines instead of the nodes that should have served again.
//   remove  Nodes that the policy removes in any case are removed like the nodes of a shrink.
// If a group is not the pool's alone (pool_members.h), it is not asked for machines, and the policy
// learns that its action failed.  Pools that have a node in common are left alone, with a warning.
// No decision here takes a pool below its cloud.min, whatever its policy says.
//
// A step that fails, or takes longer than the pool's stepTimeout, is a failure and is tried again.
// Before that, a node is planned again.  If a group refuses to grow, the policy decides again from
// the state that it had before it asked.  After `retries` failures in a row the pool enters
// failsafe: steps that have not begun are given up, a notice is sent, and nothing is done until an
// operator clears failsafe.  Steps that have begun are finished.
//
// The planner's own rounds do not touch a group that has a node of some pool.
//
// Cost:      a turn in which a pool is due reads all nodes and pods of the cluster; one in which
//            nodes wait to go makes a plan.
// Threads:   one at a time.
// Ownership: borrows the pools.

#ifndef EBB_SIZING_POOL_SIZER_H_
#define EBB_SIZING_POOL_SIZER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/pass/planner.h"
#include "engine/scale_down/budgets.h"
#include "engine/scale_down/sizing_state.h"
#include "loop/sizer.h"
#include "sizing/node_queues.h"
#include "sizing/notice.h"
#include "sizing/policy_file.h"
#include "sizing/pool_members.h"
#include "sizing/pool_reader.h"

namespace ebb {

struct PoolSizerOptions {
  PlannerOptions planner;
  DeletionBudgets budgets = {.max_scale_down_parallelism = 10, .max_drain_parallelism = 10};
  // Adds signals and usage to what a policy will see.  An error keeps the pool as it is in this
  // turn, and its policy is not asked.  Null: nothing is added.
  std::function<absl::Status(const SizedPool& pool, int64_t now_s, PolicyObservation& seen)>
      enrich = nullptr;
  std::function<void(const Notice& notice)> notify = nullptr;  // Null: no notices.
  int64_t retry_s = 60;  // After a failure; doubles each time.
  // Treat a group as grown once it was asked: for dry runs, where no machine comes.
  bool trust_growth = false;
};

class PoolSizer : public Sizer {
 public:
  PoolSizer(std::span<const SizedPool> pools, SizingState state, PoolSizerOptions options);
  PoolSizer(const PoolSizer&) = delete;
  PoolSizer& operator=(const PoolSizer&) = delete;

  void Decide(Observation& observed, const ActuatorStatus& status, SizingTurn& turn) override;
  void Act(Actuator& actuator, SizingTurn& turn) override;

  [[nodiscard]] const SizingState& state() const { return state_; }
  // Replaces the state with one that another program or an operator has changed.
  void Restore(SizingState state);

 private:
  // Nodes that a policy wants to remove.
  struct Ask {
    const SizedPool* pool;
    int64_t most;
    std::optional<std::vector<std::string>> candidates;  // Absent: any node.
    size_t turn;                                         // Index of its PoolTurn.
    bool reap = false;                                   // In addition to the policy's delta.
  };
  struct NodeAction {
    const SizedPool* pool;
    PolicyTaint taint;
  };

  void FindMembers(const Observation& observed, const ActuatorStatus& status, SizingTurn& turn);
  [[nodiscard]] int64_t Staying(const PoolMembers& members, const Catalog& catalog) const;
  void WorkQueues(const Observation& observed, const ActuatorStatus& status, SizingTurn& turn);
  void CheckGrowth(const Observation& observed, SizingTurn& turn);
  void DecideDue(const Observation& observed, SizingTurn& turn);
  void DecideOne(const Observation& observed, const SizedPool& pool, const PoolReader& reader,
                 SizingTurn& turn);
  void LeaveOverlapping(const SizedPool& pool, bool is_due, const Catalog& catalog,
                        SizingTurn& turn);
  void Grow(const Observation& observed, const SizedPool& pool, PoolTurn& came, SizingTurn& turn);
  void SetTaints(const SizedPool& pool, const PolicyDecision& decision, PoolTurn& came,
                 SizingTurn& turn);
  void RequestRemovals(const SizedPool& pool, PolicyDecision decision, int64_t staying,
                       PoolTurn& came, size_t at);
  void PutTaints(Actuator& actuator, SizingTurn& turn);
  int64_t DropQueued(const SizedPool& pool);
  int64_t KeepQueued(const SizedPool& pool, int64_t most);
  void PlanRemovals(const Observation& observed, const ActuatorStatus& status, SizingTurn& turn);
  std::vector<NodeId> Candidates(const Observation& observed, const Ask& ask) const;
  void BeginWithinBudgets(const std::vector<DeletionOrder>& orders, const ActuatorStatus& status,
                          SizingTurn& turn);
  void BeginQueued(Actuator& actuator, SizingTurn& turn);
  void AskForMachines(Actuator& actuator, SizingTurn& turn);
  void Refused(const SizedPool& pool);
  void Failed(const SizedPool& pool, const std::string& what, SizingTurn& turn);
  void Succeeded(const SizedPool& pool, int64_t now_s);
  void EnterFailsafe(const SizedPool& pool, const std::string& why, SizingTurn& turn);
  void ExcludePoolGroups(Observation& observed, SizingTurn& turn) const;
  [[nodiscard]] int64_t Came(const SizedPool& pool, const Catalog& catalog);
  [[nodiscard]] bool IsActing(const SizedPool& pool);
  [[nodiscard]] bool IsLeaving(std::string_view node) const {
    return queues_.Find(node) != nullptr || running_.contains(node);
  }
  [[nodiscard]] const SizedPool* PoolOf(std::string_view name) const;
  PoolState& Memory(const SizedPool& pool);

  const std::span<const SizedPool> pools_;
  const PoolSizerOptions options_;
  SizingState state_;
  NodeQueues queues_;
  std::set<std::string> asked_;  // Pools whose group was asked for machines.
  std::map<std::string, std::string>
      last_policy_warnings_;                        // The last warnings of each pool's policy.
  std::map<std::string, std::string> last_warned_;  // The last warning about each pool's members.
  bool cannot_taint_ = false;                       // The actuator has said so.

  // State of one turn.
  std::map<std::string, PoolMembers, std::less<>> members_;  // By pool.
  std::map<std::string, DeletionPhase, std::less<>> running_;
  std::vector<Ask> asks_;
  std::vector<DeletionOrder> begin_;
  std::vector<std::string> roll_back_;
  std::vector<NodeAction> node_actions_;
  std::map<std::string, int64_t> grow_;  // By pool: additional machines to ask for.
};

}  // namespace ebb

#endif  // EBB_SIZING_POOL_SIZER_H_
