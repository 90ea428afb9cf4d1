#include "simulation/robust_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/deletions_under_way.h"
#include "engine/plan/check_input.h"
#include "engine/verify/verify.h"
#include "predicates/filters.h"

namespace ebb {
namespace {

// Rounds in which nodes are kept, and attempts to remove kept nodes after all.  Each makes a plan
// and tries it out.  More can find robust plans with more nodes; fewer take less time.  Not tuned:
// other values were not compared.
constexpr int kRoundsMax = 40;
constexpr int kTakenBackMax = 40;

class RobustSearch {
 public:
  RobustSearch(ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
               const PlanResult& made, double share, const EvictionTrialOptions& options,
               const Parallelism& parallelism)
      : snapshot_(snapshot),
        groups_(groups),
        request_(request),
        made_(made),
        share_(share),
        options_(options),
        parallelism_(parallelism) {
    absl::flat_hash_map<PodId, size_t> place;  // A pod may move again with its new node.
    for (const RemovableNode& removal : made.plan.remove) {
      for (const Move& move : removal.moves) {
        const auto [it, is_new] = place.try_emplace(move.pod, places_.size());
        if (is_new) {
          places_.push_back(move);
        } else {
          places_[it->second] = move;
        }
      }
    }
  }

  absl::StatusOr<PlanResult> Run() {
    const size_t first = RobustRemovals(snapshot_, made_.plan, share_, options_, parallelism_);
    PlanResult cut = made_;
    CutPlan(snapshot_, groups_, request_, first, EndsAs(), cut);
    if (first == made_.plan.remove.size()) return cut;
    if (absl::Status s = LeaveOut(); !s.ok()) return s;
    if (!best_ || best_->remove.size() <= cut.plan.remove.size()) {
      cut.plan.termination = EndsAs();
      return cut;
    }
    if (absl::Status s = TakeBack(); !s.ok()) return s;
    return Finish();
  }

 private:
  [[nodiscard]] bool IsOver() const {
    return options_.deadline != nullptr && options_.deadline->Expired();
  }
  [[nodiscard]] Termination EndsAs() const {
    return IsOver() ? Termination::kDeadline : Termination::kRobust;
  }

  // Makes the plan without the nodes of `out`.
  absl::StatusOr<Plan> Without(const std::vector<bool>& out) {
    std::vector<NodeId> order;
    for (const RemovableNode& removal : made_.plan.remove) {
      if (!out[Index(removal.node)]) order.push_back(removal.node);
    }
    PlanRequest request = request_;
    request.order = CandidateOrder::kInput;
    request.candidates = &order;
    request.suggestions = places_;
    request.verify = false;
    request.on_passes_done = nullptr;
    request.pass.deadline = nullptr;
    absl::StatusOr<PlanResult> plan = MakePlan(snapshot_, groups_, request);
    if (!plan.ok()) return plan.status();
    return std::move(plan->plan);
  }

  [[nodiscard]] EvictionTrials Try(const Plan& plan) const {
    return RunUntilRobust(snapshot_, plan, share_, options_, parallelism_);
  }

  // Keeps more and more nodes until the rest is robust, if it ever is.
  absl::Status LeaveOut() {
    std::vector<bool> out(snapshot_.catalog().nodes());
    for (int round = 0; round < kRoundsMax && !IsOver(); ++round) {
      absl::StatusOr<Plan> plan = Without(out);
      if (!plan.ok()) return plan.status();
      const EvictionTrials trials = Try(*plan);
      if (IsRobust(trials, share_)) {
        best_ = *std::move(plan);
        out_ = std::move(out);
        return absl::OkStatus();
      }
      if (trials.cut) return absl::OkStatus();
      const std::vector<NodeId> helpers = HelpersOf(*plan, Worst(trials));
      if (helpers.empty()) return absl::OkStatus();
      for (const NodeId node : helpers) {
        out[Index(node)] = true;
        left_out_.push_back(node);
      }
    }
    return absl::OkStatus();
  }

  // The pending pods of the trial with the most pending pods.
  static const std::vector<PodId>& Worst(const EvictionTrials& trials) {
    const EvictionTrial* worst = &trials.plan_order.front();
    for (const auto* const order : {&trials.random_order, &trials.plan_order}) {
      for (const EvictionTrial& trial : *order) {
        if (trial.left.size() > worst->left.size()) worst = &trial;
      }
    }
    return worst->left;
  }

  // Nodes of the plan that together take the pods, starting with the node that takes most of them.
  std::vector<NodeId> HelpersOf(const Plan& plan, std::vector<PodId> left) {
    std::vector<NodeId> helpers;
    while (!left.empty()) {
      NodeId best = kNoNode;
      std::vector<PodId> most;
      for (const RemovableNode& removal : plan.remove) {
        if (std::ranges::count(helpers, removal.node) > 0) continue;
        std::vector<PodId> taken = TakenBy(removal.node, left);
        if (taken.size() <= most.size()) continue;
        best = removal.node;
        most = std::move(taken);
      }
      if (best == kNoNode) break;
      helpers.push_back(best);
      std::erase_if(left, [&](PodId pod) { return std::ranges::count(most, pod) > 0; });
    }
    return helpers;
  }

  // The pods of `left` that run on the node, and the pods that fit there beside its own.
  std::vector<PodId> TakenBy(NodeId node, std::span<const PodId> left) {
    std::vector<PodId> taken;
    snapshot_.Fork();
    for (const PodId pod : left) {
      const NodeId home = snapshot_.NodeOf(pod);
      if (home == node) {
        taken.push_back(pod);
        continue;
      }
      const PodShape& shape = snapshot_.catalog().shape_of(pod);
      snapshot_.RemovePod(pod);
      const bool fits = Explain(snapshot_, shape, node).fits;
      snapshot_.AddPod(pod, fits ? node : home);
      if (fits) taken.push_back(pod);
    }
    snapshot_.Revert();
    return taken;
  }

  // Removes kept nodes after all if the plan stays robust.
  absl::Status TakeBack() {
    int tries = 0;
    for (size_t size = (left_out_.size() + 1) / 2; size > 0;
         size = size == 1 ? 0 : (size + 1) / 2) {
      for (size_t at = 0; at < left_out_.size() && tries < kTakenBackMax && !IsOver();) {
        ++tries;
        const size_t end = std::min(at + size, left_out_.size());
        std::vector<bool> out = out_;
        for (size_t i = at; i < end; ++i) out[Index(left_out_[i])] = false;
        absl::StatusOr<Plan> plan = Without(out);
        if (!plan.ok()) return plan.status();
        if (plan->remove.size() > best_->remove.size() && IsRobust(Try(*plan), share_)) {
          best_ = *std::move(plan);
          out_ = std::move(out);
          left_out_.erase(left_out_.begin() + static_cast<std::ptrdiff_t>(at),
                          left_out_.begin() + static_cast<std::ptrdiff_t>(end));
        } else {
          at = end;
        }
      }
    }
    return absl::OkStatus();
  }

  // Turns the best part into a plan of all candidates.
  absl::StatusOr<PlanResult> Finish() {
    PlanResult robust = made_;
    Plan& plan = robust.plan;
    plan.remove = std::move(best_->remove);
    plan.packed = std::move(best_->packed);
    plan.pdb_remaining = std::move(best_->pdb_remaining);
    plan.termination = EndsAs();
    std::vector<bool> has_verdict(snapshot_.catalog().nodes());
    for (const RemovableNode& removal : plan.remove) has_verdict[Index(removal.node)] = true;
    // The reason why other nodes were kept may no longer apply.
    std::erase_if(plan.keep, [&](const UnremovableNode& kept) {
      if (kept.reason == UnremovableReason::kNoPlaceToMovePods ||
          kept.reason == UnremovableReason::kBlockedByPod) {
        return true;
      }
      has_verdict[Index(kept.node)] = true;
      return false;
    });
    plan.skipped.clear();
    for (const NodeId node : robust.candidates) {
      if (!has_verdict[Index(node)]) plan.skipped.push_back(node);
    }
    if (request_.verify) {
      if (absl::Status s =
              Verify(snapshot_, groups_, request_.planner, LastPassInput(request_, robust), plan);
          !s.ok()) {
        return s;
      }
    }
    return robust;
  }

  ClusterSnapshot& snapshot_;
  const NodeGroups& groups_;
  const PlanRequest& request_;
  const PlanResult& made_;
  const double share_;
  const EvictionTrialOptions& options_;
  const Parallelism& parallelism_;
  std::vector<Move> places_;      // Where each pod ends in the plan.
  std::optional<Plan> best_;      // The largest robust part so far.
  std::vector<bool> out_;         // By NodeId: the nodes that it keeps.
  std::vector<NodeId> left_out_;  // The same nodes, in the order in which they were chosen.
};

}  // namespace

absl::StatusOr<PlanResult> MakeRobust(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlanRequest& request, const PlanResult& made,
                                      double share, const EvictionTrialOptions& options,
                                      const Parallelism& parallelism) {
  if (absl::Status s = CheckNoFork(snapshot); !s.ok()) return s;
  if (absl::Status s = CheckGroups(snapshot.catalog(), groups); !s.ok()) return s;
  if (absl::Status s = CheckPlan(snapshot.catalog(), made.plan); !s.ok()) return s;
  if (!(share >= 0 && share <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("share: ", share, " is not from 0 to 1"));
  }
  return BesideDeletions(snapshot, request, [&](ClusterSnapshot& beside, const PlanRequest& asked) {
    return RobustSearch(beside, groups, asked, made, share, options, parallelism).Run();
  });
}

}  // namespace ebb
