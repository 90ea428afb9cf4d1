// PoolSizer: the sizing policies of a file of pools, in a loop (loop/loop.h).
//
//   PoolSizer sizer(pools, state, options);
//   loop_options.sizer = &sizer;
//   store.SetSizing(sizer.state());  // In own_rounds_options.record, before the store saves.
//
// Each turn, for each pool whose period is over: observe it, ask its policy.
//   shrink  The policy's order of nodes (or the planner's) goes to a planner pass, as many as the
//           policy asks for; those that can really go come into the drain queue (node_queues.h).
//   grow    Nodes whose taint the policy takes off serve again, and nodes of the drain queue whose
//           pods were not touched yet stay; for the rest the group is asked for machines, never
//           more than the pool's cloud.max.
//   taint   Taints that the policy puts or takes off go to the actuator. One that cannot set taints
//           is asked once; from then on each turn says which taints were not set, and machines are
//           asked for instead of nodes that should have served again.
//   remove  Nodes that the policy wants gone in any case go as those of a shrink do.
// A group that is not the pool's alone (pool_members.h) is not asked for machines: the policy is
// told that it did not grow.  Pools that have a node in common are left alone, with a warning.
// A pool never falls below its cloud.min by what is decided here, whatever its policy says.
//
// Every step is looked after.  One that fails or takes longer than the pool's stepTimeout is a
// failure, and is tried again: a node is planned anew before that, and of a group that refuses to
// grow the policy decides anew, its state as if it had not asked.  With `retries` failures in a
// row the pool enters failsafe: what of it has not begun is given up, a notice goes out, and
// nothing is done until an operator clears it.  What had begun is carried on.
//
// Groups that have a node of some pool are left alone by the planner's own rounds.
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
  // Sees what a policy is to see, to add signals and figures of use.  An error keeps the pool as it
  // is in this turn, without a round of its policy.  Null: nobody does.
  std::function<absl::Status(const SizedPool& pool, int64_t now_s, PolicyObservation& seen)>
      enrich = nullptr;
  std::function<void(const Notice& notice)> notify = nullptr;  // Null: nobody is told.
  int64_t retry_s = 60;  // After a failure, twice as long each time.
  // A group that was asked to grow has grown: of a dry run, where no machine comes.
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
  // Goes on from a state that somebody else changed, such as an operator.
  void Restore(SizingState state);

 private:
  // What a policy wants to take away.
  struct Ask {
    const SizedPool* pool;
    int64_t most;
    std::optional<std::vector<std::string>> candidates;  // Absent: any node.
    size_t turn;                                         // Its PoolTurn.
    bool reap = false;                                   // Beside the policy's delta.
  };
  struct Deed {
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
  void AskToGo(const SizedPool& pool, PolicyDecision decision, int64_t staying, PoolTurn& came,
               size_t at);
  void PutTaints(Actuator& actuator, SizingTurn& turn);
  int64_t DropQueued(const SizedPool& pool);
  int64_t KeepQueued(const SizedPool& pool, int64_t most);
  void PlanToGo(const Observation& observed, const ActuatorStatus& status, SizingTurn& turn);
  std::vector<NodeId> Candidates(const Observation& observed, const Ask& ask) const;
  void BeginWithinBudgets(const std::vector<DeletionOrder>& orders, const ActuatorStatus& status,
                          SizingTurn& turn);
  void BeginQueued(Actuator& actuator, SizingTurn& turn);
  void AskForMachines(Actuator& actuator, SizingTurn& turn);
  void Refused(const SizedPool& pool);
  void Failed(const SizedPool& pool, const std::string& what, SizingTurn& turn);
  void Succeeded(const SizedPool& pool, int64_t now_s);
  void EnterFailsafe(const SizedPool& pool, const std::string& why, SizingTurn& turn);
  void LeaveToPools(Observation& observed, SizingTurn& turn) const;
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
  std::set<std::string> asked_;                     // Pools for which machines were asked.
  std::map<std::string, std::string> last_told_;    // Warnings of each pool's policy.
  std::map<std::string, std::string> last_warned_;  // Of each pool's members.
  bool cannot_taint_ = false;                       // So the actuator said.

  // Of one turn.
  std::map<std::string, PoolMembers, std::less<>> members_;  // By pool.
  std::map<std::string, DeletionPhase, std::less<>> running_;
  std::vector<Ask> asks_;
  std::vector<DeletionOrder> begin_;
  std::vector<std::string> roll_back_;
  std::vector<Deed> deeds_;
  std::map<std::string, int64_t> grow_;  // By pool: machines that are asked for on top.
};

}  // namespace ebb

#endif  // EBB_SIZING_POOL_SIZER_H_
