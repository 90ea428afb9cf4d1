#include "engine/stable_planner.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "engine/deletions_under_way.h"

// How a plan is kept.
//
// What a StablePlanner remembers is small: the names of the nodes that the last plan removes, in
// its order; and a Planner, whose hints say where each pod was placed last.  If a pod moved several
// times, because its first destination was removed later, the hint is its last place.  So a plan
// that is repaired has no such detours: each pod goes at once to the place where it ends.
//
// A pass with the nodes of the last plan first repeats the last plan as far as it still holds:
// - A hint is tried before any search.  Two pods with hints compete for a node only if something
//   has changed, because all of them had room in the last plan.
// - Nodes of the last plan are no destinations, so no search moves a pod onto them.
// - A removal that fails stays out of this plan.  Its node becomes a destination again in the next
//   plan, since it is then no node of the last plan.
//
// The planner's cache of unremovable nodes would keep a node for minutes after one failure.  Here
// each plan judges each node again, so the timeout of that cache is 0.
//
// Node names are kept by text id.  The text of a node is never released while the Symbols live, and
// `symbols_` keeps them alive.  If the cluster was built again over new Symbols, Follow translates
// the names, and Planner::Restore the hints.

namespace ebb {
namespace {

// The destinations of the request without the nodes in `first`.
NodeSet DestinationsWithout(const ClusterSnapshot& snapshot, const PlanRequest& request,
                            const std::vector<NodeId>& first) {
  NodeSet destinations =
      request.pass.destinations != nullptr ? *request.pass.destinations : snapshot.alive();
  for (const NodeId node : first) destinations.Erase(node);
  return destinations;
}

// A hash of where the pods that ran on a removed node end.  By names, which outlive ids.
uint64_t HashOfPlaces(const ClusterSnapshot& snapshot, const Planner& passes,
                      const RemovableNode& removal) {
  const Catalog& catalog = snapshot.catalog();
  uint64_t hash = 0;
  for (const Move& move : removal.moves) {
    if (snapshot.NodeOf(move.pod) != removal.node) continue;  // It came from a removed node.
    const NodeId last = passes.Hint(move.pod);
    // Pods of one node may be placed in another order than before: the sum does not depend on it.
    hash += absl::HashOf(Index(catalog.pod(move.pod).key), Index(catalog.node(last).name));
  }
  return hash;
}

// What a pass of the request depends on, with the request's candidates.
PassInput QuestionOf(const PlanRequest& request) {
  PassInput question = request.pass;
  if (request.candidates != nullptr) question.candidates = *request.candidates;
  return question;
}

// `offset`: a plan for which one check is due is not one for which the other is, unless both are
// due for each plan.
bool IsDue(uint32_t every, uint64_t plan, uint32_t offset = 0) {
  return every != 0 && plan % every == offset;
}

}  // namespace

std::string_view ToString(StableOrigin origin) {
  switch (origin) {
    case StableOrigin::kFirst:
      return "first";
    case StableOrigin::kKept:
      return "kept";
    case StableOrigin::kGreedy:
      return "greedyWasBetter";
    case StableOrigin::kOptions:
      return "otherOptions";
    case StableOrigin::kTime:
      return "timeWentBack";
    case StableOrigin::kMissed:
      return "changesMissed";
    case StableOrigin::kOtherCluster:
      return "otherCluster";
  }
  EBB_CHECK(false);
  return "";
}

void StablePlanner::Forget(StableOrigin why) {
  if (asked_) without_last_ = why;
  asked_.reset();
  passes_.reset();
  symbols_.reset();
  last_.clear();
  kept_.Clear();
  question_.reset();
  answer_.reset();
  certificates_.Forget();
}

absl::StatusOr<StablePlan> StablePlanner::Make(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                               const PlanRequest& request) {
  EBB_CHECK(request.first.empty() && request.passes == nullptr && request.suggestions.empty());
  if (std::optional<StablePlan> same = SameAsLast(snapshot, groups, request)) return *same;
  question_.reset();
  absl::StatusOr<StablePlan> plan =
      BesideDeletions(snapshot, request, [&](ClusterSnapshot& beside, const PlanRequest& prepared) {
        return MakeBeside(beside, groups, prepared);
      });
  if (!plan.ok()) return plan;
  question_.emplace(snapshot, snapshot.StateId(), groups, request.planner, QuestionOf(request),
                    std::vector<bool>(), Plan(), /*ineligible=*/0);
  answer_ = *plan;
  return plan;
}

std::optional<StablePlan> StablePlanner::SameAsLast(ClusterSnapshot& snapshot,
                                                    const NodeGroups& groups,
                                                    const PlanRequest& request) {
  if (!question_ || !asked_ || AskedOf(request) != *asked_ ||
      symbols_ != snapshot.catalog().shared_symbols() ||
      !question_->HasSameInput(snapshot.StateId(), groups, QuestionOf(request)) ||
      (request.verify && !answer_->verified)) {
    return std::nullopt;
  }
  StablePlan same = *answer_;
  same.origin = StableOrigin::kKept;
  same.kept = same.unchanged = same.made->plan.remove.size();
  same.changes.clear();
  same.greedy_removes.reset();
  return same;
}

void StablePlanner::NewPasses(const PlannerOptions& options) {
  PlannerOptions of_passes = options;
  of_passes.unremovable_node_recheck_timeout_s = 0;
  passes_ = std::make_unique<Planner>(of_passes);
}

void StablePlanner::Follow(const std::shared_ptr<Symbols>& symbols) {
  if (symbols_ == symbols) return;
  if (symbols_ != nullptr && passes_ != nullptr) {
    const PlannerMemory memory = passes_->Save();
    passes_->Restore(memory, symbols);
    for (Removal& removal : last_) {
      removal.node = symbols->Intern(symbols_->Text(removal.node));
      removal.uid = symbols->Intern(symbols_->Text(removal.uid));
    }
    kept_.Follow(*symbols_, *symbols);
  }
  symbols_ = symbols;
}

StablePlanner::Asked StablePlanner::AskedOf(const PlanRequest& request) {
  return {.planner = request.planner,
          .order = request.order,
          .pod_order = request.pass.pod_order,
          .unneeded_limit = request.pass.unneeded_limit,
          .max_workload_share = request.pass.max_workload_share};
}

StableOrigin StablePlanner::Begin(const ClusterSnapshot& snapshot, const PlanRequest& request,
                                  std::vector<NodeId>& first) const {
  if (!asked_) return without_last_;
  if (AskedOf(request) != *asked_) return StableOrigin::kOptions;
  if (request.pass.now_s < now_s_) return StableOrigin::kTime;
  const Catalog& catalog = snapshot.catalog();
  for (const Removal& removal : last_) {
    const NodeId node = catalog.FindNode(removal.node);
    if (node == kNoNode || !snapshot.Contains(node) || catalog.node(node).uid != removal.uid) {
      continue;
    }
    first.push_back(node);
  }
  return first.empty() && !last_.empty() ? StableOrigin::kOtherCluster : StableOrigin::kKept;
}

absl::StatusOr<StablePlan> StablePlanner::MakeBeside(ClusterSnapshot& snapshot,
                                                     const NodeGroups& groups,
                                                     const PlanRequest& request) {
  Follow(snapshot.catalog().shared_symbols());
  StablePlan plan;
  std::vector<NodeId> first;
  plan.origin = Begin(snapshot, request, first);
  if (plan.origin != StableOrigin::kKept) {
    first.clear();
    NewPasses(request.planner);
  }
  PlanRequest asked = request;
  asked.verify = false;
  asked.passes = passes_.get();
  asked.first = first;
  if (!first.empty()) {
    plan.destinations = DestinationsWithout(snapshot, request, first);
    asked.pass.destinations = &*plan.destinations;
  }
  absl::StatusOr<PlanResult> made = MakePlan(snapshot, groups, asked);
  if (!made.ok()) return made.status();
  ++plans_;
  if (plan.origin == StableOrigin::kKept && IsDue(options_.greedy_every, plans_)) {
    if (absl::Status s = TryGreedy(snapshot, groups, request, *made, plan); !s.ok()) return s;
  }
  if (!plan.destinations) asked.pass.destinations = request.pass.destinations;
  const bool whole =
      request.verify || IsDue(options_.verify_every, plans_, options_.verify_every / 2);
  if (absl::Status s = VerifyMade(snapshot, groups, asked, whole, *made, plan); !s.ok()) return s;
  Note(snapshot, request, *made, plan);
  plan.made = std::make_shared<const PlanResult>(*std::move(made));
  return plan;
}

absl::Status StablePlanner::VerifyMade(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                       const PlanRequest& asked, bool whole, PlanResult& made,
                                       StablePlan& plan) {
  const PassInput input = LastPassInput(asked, made);
  const absl::StatusOr<CertifiedPart> part =
      certificates_.Check(snapshot, groups, asked.planner, input, made.plan);
  if (part.ok()) {
    plan.not_covered = part->not_covered;
    plan.held = part->held;
    plan.checked = part->checked;
  }
  if (part.ok() && !plan.not_covered && !whole) return absl::OkStatus();
  if (!part.ok() && !whole) return part.status();
  absl::Status verified = VerifyOrCut(snapshot, groups, asked, made);
  if (!part.ok() || (!plan.not_covered && !verified.ok())) {
    certificates_.Forget();
    if (part.ok() == verified.ok()) return verified;
    return absl::InternalError(
        absl::StrCat("certificates and the verification of the whole plan disagree; certificates: ",
                     part.ok() ? "accepted" : part.status().message(),
                     "; verification: ", verified.ok() ? "accepted" : verified.message()));
  }
  if (!verified.ok()) return verified;
  plan.verified = true;
  const bool time_is_up = asked.verification_ends != nullptr && asked.verification_ends->Expired();
  if (!plan.not_covered || time_is_up) return absl::OkStatus();
  return certificates_.Certify(snapshot, groups, asked.planner, input, made.plan);
}

absl::Status StablePlanner::TryGreedy(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlanRequest& request, PlanResult& made,
                                      StablePlan& plan) {
  PlanRequest beside = request;
  beside.verify = false;
  beside.on_passes_done = nullptr;
  absl::StatusOr<PlanResult> greedy = MakePlan(snapshot, groups, beside);
  if (!greedy.ok()) return greedy.status();
  plan.greedy_removes = greedy->plan.remove.size();
  if (!ReplacesKept(*plan.greedy_removes, made.plan.remove.size(), options_.margin)) {
    return absl::OkStatus();
  }
  made = *std::move(greedy);
  plan.origin = StableOrigin::kGreedy;
  plan.destinations.reset();
  NewPasses(request.planner);
  passes_->Adopt(snapshot, made.plan);
  return absl::OkStatus();
}

// Tells for the removals of a plan whether the last plan has the same ones, so that their hashes
// are those of the last plan.
class StablePlanner::Unchanged {
 public:
  Unchanged(const StablePlanner& planner, const ClusterSnapshot& snapshot, const Plan& plan)
      : last_(planner.answer_ ? &planner.answer_->made->plan : nullptr) {
    const Catalog& catalog = snapshot.catalog();
    const PodChangeLog& log = catalog.pod_changes();
    if (last_ == nullptr || catalog.lineage() != planner.lineage_ ||
        log.forgotten > planner.pods_seen_ || log.end() < planner.pods_seen_) {
      last_ = nullptr;
      return;
    }
    logged_.resize(catalog.pods());
    for (uint64_t c = planner.pods_seen_ - log.forgotten; c < log.changes.size(); ++c) {
      logged_[Index(log.changes[c].id)] = true;
    }
    removed_ = NodeSet(catalog.nodes());
    for (const Plan* const each : {last_, &plan}) {
      for (const RemovableNode& removal : each->remove) removed_.Insert(removal.node);
    }
  }

  // Whether the last plan's removal `index` has the same pods, and they end on the same nodes.
  [[nodiscard]] bool IsSame(size_t index, const RemovableNode& removal) const {
    if (last_ == nullptr || index >= last_->remove.size() ||
        last_->remove[index].node != removal.node ||
        !HaveSameMoves(last_->remove[index].moves, removal.moves)) {
      return false;
    }
    // The id of a pod that went may be another pod's.  A pod that comes to a removed node moves on.
    return std::ranges::none_of(removal.moves, [&](const Move& move) {
      return logged_[Index(move.pod)] || removed_.Contains(move.to);
    });
  }

 private:
  const Plan* last_;          // Null: the ids of the last plan may stand for other objects.
  std::vector<bool> logged_;  // By PodId: the pod came or went since the last plan.
  NodeSet removed_;           // By the last plan or by this one.
};

void StablePlanner::Note(const ClusterSnapshot& snapshot, const PlanRequest& request,
                         const PlanResult& made, StablePlan& plan) {
  const Catalog& catalog = snapshot.catalog();
  const bool is_continued =
      plan.origin == StableOrigin::kKept || plan.origin == StableOrigin::kGreedy;
  // By name of a removed node: its place in last_.  kFound: this plan removes it too.
  constexpr uint32_t kFound = ~uint32_t{0};
  absl::flat_hash_map<TextId, uint32_t> before;
  if (is_continued) {
    before.reserve(last_.size());
    for (uint32_t i = 0; i < last_.size(); ++i) before.emplace(last_[i].node, i);
  }
  const Unchanged unchanged(*this, snapshot, made.plan);
  std::vector<Removal> removals;
  removals.reserve(made.plan.remove.size());
  for (const RemovableNode& removal : made.plan.remove) {
    const NodeInfo& node = catalog.node(removal.node);
    const auto it = before.find(node.name);
    const bool was_there = it != before.end() && it->second != kFound;
    if (was_there && unchanged.IsSame(it->second, removal)) {
      removals.push_back({node.name, node.uid, last_[it->second].places});
    } else {
      removals.push_back({node.name, node.uid, HashOfPlaces(snapshot, *passes_, removal)});
    }
    if (was_there) {
      ++plan.kept;
      if (last_[it->second].places == removals.back().places) ++plan.unchanged;
      it->second = kFound;
    } else if (is_continued) {
      plan.changes.push_back(kept_.Came(catalog, removal.node));
    }
  }

  kept_.Clear();
  kept_.Add(catalog, made.excluded);
  kept_.Add(catalog, made.plan.keep);
  NodeSet skipped(catalog.nodes());
  for (const NodeId node : made.plan.skipped) skipped.Insert(node);
  for (const Removal& removal : last_) {
    const auto it = before.find(removal.node);
    if (it == before.end() || it->second == kFound) continue;
    NodeId node = catalog.FindNode(removal.node);
    if (node != kNoNode && !snapshot.Contains(node)) node = kNoNode;
    // If the plan did not reach the node, the next plan tries it at its old place.
    if (node != kNoNode && skipped.Contains(node)) removals.push_back(removal);
    plan.changes.push_back(kept_.Left(*symbols_, removal.node, node));
  }
  last_ = std::move(removals);
  lineage_ = catalog.lineage();
  pods_seen_ = catalog.pod_changes().end();
  now_s_ = request.pass.now_s;
  asked_ = AskedOf(request);
}

}  // namespace ebb
