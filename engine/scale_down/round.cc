#include "engine/scale_down/round.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/displaced.h"
#include "engine/plan/atomic_groups.h"
#include "engine/plan/candidate_order.h"
#include "engine/plan/check_input.h"
#include "engine/plan/node_standing.h"
#include "engine/plan/stable_options.h"
#include "engine/scale_down/state_clock.h"
#include "engine/verify/verify.h"
#include "snapshot/node_set.h"

namespace ebb {

std::string_view ToString(ScaleDownStatus status) {
  constexpr std::array<std::string_view, 9> kNames = {
      "ScaleDownNoCandidates",  "ScaleDownInCooldown",        "ScaleDownNoNodeDeleted",
      "ScaleDownThrottled",     "ScaleDownNodeDeleteStarted", "ScaleDownClusterUnhealthy",
      "ScaleDownNoRoomForPods", "ScaleDownClockJumped",       "ScaleDownError",
  };
  return kNames[static_cast<size_t>(status)];
}

// One round: the variables that its steps share.
class RoundRun {
 public:
  RoundRun(ScaleDown& state, ClusterSnapshot& snapshot, const NodeGroups& groups,
           const RoundInput& input)
      : state_(state),
        options_(state.options_),
        snapshot_(snapshot),
        catalog_(snapshot.catalog()),
        groups_of_nodes_(WithStartingNodes(groups)),
        groups_(groups_of_nodes_ ? *groups_of_nodes_ : groups),
        input_(input),
        in_deletion_(catalog_.nodes()),
        leaving_(catalog_.nodes()),
        in_deletion_count_(groups.groups.size()) {}

  RoundResult Run() {
    TakeTime();
    TakeActuationStatus();
    for (const ScaleEvent& event : input_.events) state_.cooldowns_.Note(event);
    NoteScaleUps();
    if (jumped_) {
      DecideNothing(ScaleDownStatus::kClockJumped);
    } else if (IsUnhealthy()) {
      ForgetCandidates();
      DecideNothing(ScaleDownStatus::kClusterUnhealthy);
    } else {
      Decide();
    }
    Summarize();
    if (!jumped_) state_.started_.DropOld(now_s_);
    ++state_.rounds_;
    return std::move(result_);
  }

 private:
  void Log(std::string line) { result_.log.push_back(std::move(line)); }

  bool IsFar(int64_t from_s) const {
    return options_.clock_jump_max_s > 0 && (now_s_ - from_s > options_.clock_jump_max_s ||
                                             from_s - now_s_ > options_.clock_jump_max_s);
  }

  void TakeTime() {
    now_s_ = input_.now_s;
    const bool far = state_.rounds_ > 0 && IsFar(state_.latest_s_);
    jumped_ = far && (!state_.jump_s_ || IsFar(*state_.jump_s_));
    if (jumped_) {
      state_.jump_s_ = now_s_;
      result_.now_s = now_s_;
      result_.message = JumpMessage();
      return;
    }
    if (far) Log("a second round is at about this time, so the time counts as right");
    // Corrects times that were noted while the clock was ahead.
    if (far || state_.jump_s_) {
      ForgetWhatLiesAfter(far ? now_s_ : std::max(now_s_, state_.latest_s_));
    }
    if (state_.rounds_ > 0 && now_s_ < state_.latest_s_) {
      Log(absl::StrCat("the clock ran backwards by ", DurationText(state_.latest_s_ - now_s_),
                       "; the last round's time counts"));
      now_s_ = state_.latest_s_;
    } else if (state_.rounds_ > 0 && now_s_ == state_.latest_s_) {
      Log("the time is that of the last round");
    }
    state_.latest_s_ = now_s_;
    result_.now_s = now_s_;
  }

  std::string JumpMessage() const {
    const int64_t ahead_s = now_s_ - state_.latest_s_;
    return absl::StrCat("the time lies ", DurationText(ahead_s > 0 ? ahead_s : -ahead_s),
                        ahead_s > 0 ? " after" : " before",
                        " the last round's; nothing is deleted until a second round is at about "
                        "this time");
  }

  void ForgetWhatLiesAfter(int64_t time_s) {
    const std::shared_ptr<Symbols>& symbols = catalog_.shared_symbols();
    ScaleDownState state = state_.Save();
    const size_t changes = SetClock(state, time_s).size();
    if (changes > 0) Log(absl::StrCat(changes, " lay after it and start again"));
    state_.Restore(state, symbols);
  }

  void TakeActuationStatus() {
    std::vector<EvictedPod> evictions = std::move(state_.actuation_.recent_evictions);
    if (input_.actuation != nullptr) {
      state_.actuation_.empty = input_.actuation->empty;
      state_.actuation_.drained = input_.actuation->drained;
      evictions.insert(evictions.end(), input_.actuation->recent_evictions.begin(),
                       input_.actuation->recent_evictions.end());
    }
    state_.actuation_.recent_evictions = StillCounting(std::move(evictions));
    for (auto* list : {&state_.actuation_.empty, &state_.actuation_.drained}) {
      TakeDeletions(*list);
    }
    // Deletions by something else do not use the budgets, but they make their group smaller.
    snapshot_.alive().ForEach([&](NodeId node) {
      if (!IsLeaving(catalog_, node) || in_deletion_.Contains(node)) return;
      leaving_.Insert(node);
      CountDeletion(groups_.Of(node));
    });
    in_progress_ = {.empty = static_cast<int64_t>(state_.actuation_.empty.size()),
                    .drain = static_cast<int64_t>(state_.actuation_.drained.size())};
    state_.started_.Update(snapshot_, in_deletion_, input_.ended,
                           jumped_ ? std::nullopt : std::optional(now_s_));
  }

  // The groups with what the options say about starting nodes; nullopt: the input's groups can be
  // used as they are.
  std::optional<NodeGroups> WithStartingNodes(const NodeGroups& groups) const {
    if (groups.max_node_startup_time_s <= 0) return std::nullopt;
    NodeGroups changed = groups;
    changed.max_node_startup_time_s = options_.max_node_startup_time_s;
    changed.has_unready_timers = true;
    return changed;
  }

  // For this long after a scale-up of a group, its nodes may be starting.
  void NoteScaleUps() {
    if (!groups_of_nodes_) return;
    for (NodeGroup& group : groups_of_nodes_->groups) {
      const std::optional<int64_t> at_s = state_.cooldowns_.LastScaleUp(group.name);
      group.scaling_up = at_s && now_s_ - *at_s < options_.max_node_startup_time_s;
    }
  }

  // A deletion uses the budgets whether or not its node is still in the cluster.
  void TakeDeletions(std::vector<NodeInDeletion>& deletions) {
    std::sort(deletions.begin(), deletions.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
    deletions.erase(std::unique(deletions.begin(), deletions.end(), same), deletions.end());
    for (const NodeInDeletion& deletion : deletions) {
      const absl::StatusOr<NodeId> node = catalog_.FindNode(deletion.name);
      if (node.ok() && snapshot_.Contains(*node)) {
        in_deletion_.Insert(*node);
        CountDeletion(groups_.Of(*node));
        continue;
      }
      Log(absl::StrCat("node ", Absl(deletion.name),
                       " is reported as in deletion, and is not in the cluster"));
      for (uint32_t g = 0; g < groups_.groups.size(); ++g) {
        if (groups_.groups[g].name == deletion.group) CountDeletion(GroupId{g});
      }
    }
  }

  void CountDeletion(GroupId group) {
    if (group != kNoGroup) ++in_deletion_count_[Index(group)];
  }

  // Keeps each eviction once, with the latest of its times, and drops expired ones.  Sorted.
  std::vector<EvictedPod> StillCounting(std::vector<EvictedPod> evictions) const {
    const auto key = [](const EvictedPod& e) { return std::tie(e.namespace_name, e.name, e.uid); };
    std::sort(evictions.begin(), evictions.end(), [&](const EvictedPod& a, const EvictedPod& b) {
      return key(a) != key(b) ? key(a) < key(b) : a.evicted_at_s > b.evicted_at_s;
    });
    evictions.erase(std::unique(evictions.begin(), evictions.end(),
                                [&](const auto& a, const auto& b) { return key(a) == key(b); }),
                    evictions.end());
    std::erase_if(evictions, [&](const EvictedPod& e) {
      return !jumped_ && now_s_ - e.evicted_at_s >= options_.recent_eviction_ttl_s;
    });
    return evictions;
  }

  bool IsUnhealthy() {
    constexpr int64_t kNamed = 3;  // Nodes that the message names; it counts the others.
    int64_t unready = 0;
    // Nodes that are ready by their conditions, but not by NodeGroups::not_ready.
    int64_t judged = 0;
    std::string names;
    snapshot_.alive().ForEach([&](NodeId node) {
      const NodeInfo& info = catalog_.node(node);
      if (!IsReady(catalog_, groups_, node) &&
          now_s_ - info.creation_time >= options_.max_node_startup_time_s) {
        ++unready;
        if (!info.ready || judged++ >= kNamed) return;
        absl::StrAppend(&names, names.empty() ? "" : ", ", Printable(catalog_.NodeName(node)), " (",
                        WhyNotReady(groups_, node), ")");
      }
    });
    const auto nodes = static_cast<double>(snapshot_.nodes());
    const bool unhealthy =
        unready > options_.ok_total_unready_count &&
        static_cast<double>(unready) > nodes * options_.max_total_unready_percentage / 100;
    if (unhealthy) {
      result_.message = absl::StrCat(unready, " of ", Count(snapshot_.nodes(), "node", "nodes"),
                                     unready == 1 ? " is not ready" : " are not ready");
      if (judged > 0) absl::StrAppend(&result_.message, ": ", names);
      if (judged > 0 && unready > std::min(judged, kNamed)) {
        absl::StrAppend(&result_.message, " and ", unready - std::min(judged, kNamed), " more");
      }
    }
    return unhealthy;
  }

  // Makes an empty plan: no pass was made, or the pass rejected its input.
  void DecideNothing(ScaleDownStatus status) {
    result_.plan.termination = Termination::kNotStarted;
    result_.plan.utilization.resize(catalog_.nodes());
    for (const Pdb& pdb : catalog_.pdbs()) {
      result_.plan.pdb_remaining.push_back(pdb.disruptions_allowed);
    }
    result_.status = status;
  }

  void ForgetCandidates() {
    state_.timers_.Clear();
    state_.skipped_.clear();
    state_.resume_ = false;
  }

  void Decide() {
    LoadTimersFromTaints();
    LogLostMachines();
    const size_t limit = state_.limit_.Next(now_s_, state_.timers_.size());
    candidates_ = Candidates();
    PrepareSnapshot();

    PassInput& pass = pass_;
    pass.now_s = now_s_;
    pass.candidates = candidates_;
    pass.in_deletion = nodes_in_deletion_;
    if (options_.unneeded_limit) pass.unneeded_limit = limit;
    pass.deadline = input_.deadline;
    pass.pending = pending_;
    if (options_.displaced_pods == DisplacedPods::kMustFit) pass.must_fit = displaced_;
    pass.evicting = evicting_;
    if (KeepsUnneeded()) CloseUnneeded();
    state_.planner_.Suggest(Planned(), input_.suggestions);
    absl::StatusOr<Plan> plan = state_.planner_.Pass(Planned(), groups_, pass);
    if (!plan.ok()) {  // The round's input was checked, so this is a bug.
      DecideNothing(ScaleDownStatus::kError);
      Refuse(plan.status());
      return;
    }
    result_.plan = *std::move(plan);
    if (KeepsUnneeded()) TryGreedy();
    if (options_.verify == VerifyPlans::kAlways && !PlanIsRight()) return;
    if (options_.stable.on) NoteNewlyUnneeded();
    const std::optional<NodeSet> waiting = WaitingForBudgets();
    state_.timers_.Update(catalog_, result_.plan, now_s_, options_.skipped_timer,
                          options_.returned_node, waiting ? &*waiting : nullptr);
    NoteLostTimers();
    NoteSkipped();
    CountDisplaced();
    if (result_.status != ScaleDownStatus::kNoRoomForPods) ChooseWhatGoes();
  }

  // With StableRounds: the nodes that only a PodDisruptionBudget keeps for now.  Such a budget says
  // how many pods may be disrupted at this moment, not that the node is needed.  While other nodes
  // drain, their pods use it up.
  [[nodiscard]] std::optional<NodeSet> WaitingForBudgets() const {
    if (!options_.stable.on) return std::nullopt;
    NodeSet waiting(catalog_.nodes());
    for (const UnremovableNode& kept : result_.plan.keep) {
      const BlockingPodReason why =
          kept.before ? kept.before->blocking_reason : kept.blocking_reason;
      if (why == BlockingPodReason::kNotEnoughPdb) waiting.Insert(kept.node);
    }
    return waiting;
  }

  // Lists the nodes of the plan without a timer.
  void NoteNewlyUnneeded() {
    for (const RemovableNode& removal : result_.plan.remove) {
      if (state_.timers_.SinceOrWaiting(catalog_.node(removal.node).name)) continue;
      result_.changes.push_back(state_.kept_.Came(catalog_, removal.node));
    }
  }

  // Counts, and with StableRounds lists, the nodes whose timer has ended in this round.
  void NoteLostTimers() {
    std::vector<NodeId> lost;
    state_.timers_.ForEachEnded([&](TextId name) {
      const NodeId node = catalog_.FindNode(name);
      if (node != kNoNode && snapshot_.Contains(node) && !in_deletion_.Contains(node) &&
          !leaving_.Contains(node)) {
        lost.push_back(node);
      }
    });
    result_.timers_lost = lost.size();
    if (!options_.stable.on) return;
    state_.kept_.Clear();
    state_.kept_.Add(catalog_, result_.plan.keep);
    std::ranges::sort(lost, {}, [this](NodeId node) { return catalog_.NodeName(node); });
    for (const NodeId node : lost) {
      result_.changes.push_back(
          state_.kept_.Left(*catalog_.shared_symbols(), catalog_.node(node).name, node));
    }
  }

  // Verifies the plan.  A wrong plan is a bug, and no part of it may be used.
  bool PlanIsRight() {
    const absl::Status verified = Verify(Planned(), groups_, options_.planner, pass_, result_.plan);
    if (verified.ok()) return true;
    Refuse(verified);
    return false;
  }

  void Refuse(const absl::Status& why) {
    ForgetCandidates();
    result_.status = ScaleDownStatus::kError;
    result_.message = std::string(why.message());
    result_.plan.remove.clear();
    result_.unneeded.clear();
    result_.may_go = {};
    result_.start = {};
  }

  // Continues the timers of nodes that an earlier planner has marked with a soft taint.
  void LoadTimersFromTaints() {
    if (state_.rounds_ > 0 || options_.node_deletion_candidate_ttl_s <= 0) return;
    std::vector<UnneededTimers::Timer> timers;
    snapshot_.alive().ForEach([&](NodeId node) {
      const NodeInfo& info = catalog_.node(node);
      if (!info.deletion_candidate || *info.deletion_candidate > now_s_ ||
          now_s_ - *info.deletion_candidate > options_.node_deletion_candidate_ttl_s) {
        return;
      }
      timers.push_back({std::string(catalog_.Text(info.name)), std::string(catalog_.Text(info.uid)),
                        *info.deletion_candidate, true});
    });
    state_.timers_.Restore(timers, *catalog_.shared_symbols());
  }

  std::vector<NodeId> Candidates() {
    std::vector<NodeId> candidates =
        input_.candidates != nullptr ? *input_.candidates : CandidatesInOrder();
    std::erase_if(candidates, [&](NodeId node) {
      const NodeGroup* const group = groups_.Find(node);
      return in_deletion_.Contains(node) ||
             (group != nullptr && state_.cooldowns_.ActiveFor(group->name, now_s_));
    });
    PutSkippedFirst(candidates);
    return candidates;
  }

  std::vector<NodeId> CandidatesInOrder() const {
    std::vector<NodeId> nodes;
    nodes.reserve(snapshot_.nodes());
    NodeSet was_unneeded(catalog_.nodes());
    std::vector<std::pair<int64_t, NodeId>> unneeded;  // Since when; only if rounds are stable.
    snapshot_.alive().ForEach([&](NodeId node) {
      const NodeGroup* const group = groups_.Find(node);
      if (group == nullptr || !MayShrink(*group)) return;
      nodes.push_back(node);
      const TextId name = catalog_.node(node).name;
      if (state_.timers_.Since(name)) was_unneeded.Insert(node);
      if (!KeepsUnneeded()) return;
      if (const auto since_s = state_.timers_.SinceOrWaiting(name)) {
        unneeded.emplace_back(*since_s, node);
      }
    });
    SortCandidates(snapshot_, groups_, options_.planner, input_.order, now_s_, &was_unneeded,
                   nodes);
    if (unneeded.empty()) return nodes;
    // Nodes that became unneeded at the same time keep the order of their ids.
    std::ranges::stable_sort(unneeded, {}, &std::pair<int64_t, NodeId>::first);
    std::vector<NodeId> longest_first;
    for (const auto& [since_s, node] : unneeded) longest_first.push_back(node);
    MoveToFront(longest_first, catalog_.nodes(), nodes);
    return nodes;
  }

  [[nodiscard]] bool KeepsUnneeded() const {
    return options_.stable.on && input_.candidates == nullptr;
  }

  // Takes the nodes that are unneeded out of the destinations of the pass.  Nodes that wait for a
  // budget stay destinations, since they may wait for long.  All of them are tried in each round: a
  // budget that kept one may allow more by now.
  void CloseUnneeded() {
    destinations_ = Planned().alive();
    for (const NodeId node : candidates_) {
      const TextId name = catalog_.node(node).name;
      if (state_.timers_.Since(name)) destinations_->Erase(node);
      if (state_.timers_.SinceOrWaiting(name)) state_.planner_.TryAgain(catalog_, node);
    }
    pass_.destinations = &*destinations_;
  }

  // Makes a pass in the autoscaler's order, if it is due.  If that is better by more than the
  // margin, its plan is the plan of the round.
  void TryGreedy() {
    const int64_t every = options_.stable.greedy_every;
    if (every == 0 || (state_.rounds_ + 1) % every != 0) return;
    std::vector<NodeId> order = candidates_;
    std::ranges::sort(order);
    SortCandidates(snapshot_, groups_, options_.planner, input_.order, now_s_,
                   /*was_unneeded=*/nullptr, order);
    PassInput beside = pass_;
    beside.candidates = order;
    beside.destinations = nullptr;
    Planner planner(options_.planner);
    absl::StatusOr<Plan> greedy = planner.Pass(Planned(), groups_, beside);
    if (!greedy.ok()) return;  // Cannot be: the input is that of the pass before, reordered.
    result_.greedy_removes = greedy->remove.size();
    if (!ReplacesKept(greedy->remove.size(), result_.plan.remove.size(), options_.stable.margin)) {
      return;
    }
    result_.plan = *std::move(greedy);
    result_.took_greedy = true;
    candidates_ = std::move(order);
    pass_ = beside;
    pass_.candidates = candidates_;
    state_.planner_.Adopt(Planned(), result_.plan);
  }

  // If a deadline cut the last pass, moves the candidates that it skipped to the front, so that
  // every node gets its turn.
  void PutSkippedFirst(std::vector<NodeId>& candidates) const {
    if (!state_.resume_ || state_.skipped_.empty()) return;
    std::vector<NodeId> skipped;
    for (const auto& [name, since_s] : state_.skipped_) {
      const NodeId node = catalog_.FindNode(name);
      if (node != kNoNode) skipped.push_back(node);
    }
    MoveToFront(skipped, catalog_.nodes(), candidates);
  }

  // Lists the nodes that are being deleted, by an actuator or by something else, so that no pod is
  // planned onto them.  Lists the pods that need a node before any other node is removed.
  void PrepareSnapshot() {
    if (in_progress_.empty + in_progress_.drain > 0 || leaving_.Count() > 0) {
      beside_deletions_.emplace(snapshot_);
      snapshot_.alive().ForEach([&](NodeId node) {
        if (in_deletion_.Contains(node) || leaving_.Contains(node)) {
          nodes_in_deletion_.push_back(node);
        }
      });
      pending_ = DisplacePods(nodes_in_deletion_, now_s_, *beside_deletions_);
      evicting_ = pending_;
    }
    const std::vector<PodId> put_back =
        PodsToPutBack(snapshot_, state_.actuation_.recent_evictions);
    pending_.insert(pending_.end(), put_back.begin(), put_back.end());
    displaced_ = pending_.size();
    for (const PodId pod : input_.pending) {
      if (std::find(put_back.begin(), put_back.end(), pod) == put_back.end()) {
        pending_.push_back(pod);
      }
    }
  }

  ClusterSnapshot& Planned() { return beside_deletions_ ? *beside_deletions_ : snapshot_; }

  // The cluster after all deletions have ended.
  [[nodiscard]] ClusterSnapshot Left() {
    ClusterSnapshot left = Planned();
    for (const NodeId node : nodes_in_deletion_) left.RemoveNode(node);
    return left;
  }

  void NoteSkipped() {
    state_.resume_ = result_.plan.termination == Termination::kDeadline;
    std::vector<ScaleDown::Skipped> skipped;
    skipped.reserve(result_.plan.skipped.size());
    // Most of the skipped nodes are those of the last round, in the same order.
    auto same = state_.skipped_.begin();
    absl::flat_hash_map<TextId, int64_t> before;
    for (const NodeId node : result_.plan.skipped) {
      const TextId name = catalog_.node(node).name;
      if (same != state_.skipped_.end() && same->node == name) {
        skipped.push_back(*same++);
      } else {
        if (before.empty()) {
          for (const auto& [was, since_s] : state_.skipped_) before.emplace(was, since_s);
        }
        const auto it = before.find(name);
        skipped.push_back({name, it != before.end() ? it->second : now_s_});
      }
      const int64_t waits_s = now_s_ - skipped.back().since_s;
      if (result_.longest_skipped == kNoNode || waits_s > result_.longest_skipped_s) {
        result_.longest_skipped = node;
        result_.longest_skipped_s = waits_s;
      }
    }
    if (state_.resume_) {
      result_.message = absl::StrCat(skipped.size(), " of ", candidates_.size(),
                                     " candidates wait for the next round");
    }
    state_.skipped_ = std::move(skipped);
  }

  // Logs timers whose machine is no longer in the cluster.
  void LogLostMachines() {
    const bool keeps = options_.returned_node == ReturnedNode::kKeepsTimer;
    std::vector<std::string> lines;
    state_.timers_.ForEach([&](TextId name, TextId uid) {
      const NodeId node = catalog_.FindNode(name);
      if (node == kNoNode || !snapshot_.Contains(node)) {
        lines.push_back(absl::StrCat("node ", Absl(catalog_.Text(name)),
                                     " was unneeded and has left the cluster"));
      } else if (catalog_.node(node).uid != uid) {
        lines.push_back(absl::StrCat("node ", Absl(catalog_.Text(name)),
                                     " is another machine than before; its timer ",
                                     keeps ? "goes on" : "starts again"));
      }
    });
    std::sort(lines.begin(), lines.end());
    for (std::string& line : lines) Log(std::move(line));
  }

  // Counts the pods that lost their node and those of them that found room.
  void CountDisplaced() {
    absl::flat_hash_set<PodId> left(pending_.begin(),
                                    pending_.begin() + static_cast<std::ptrdiff_t>(displaced_));
    for (const Move& move : result_.plan.packed) left.erase(move.pod);
    result_.displaced = displaced_;
    result_.displaced_placed = displaced_ - left.size();
    if (result_.plan.termination != Termination::kNoRoomForPending) return;
    const auto first = std::find_if(pending_.begin(), pending_.end(),
                                    [&](PodId pod) { return left.contains(pod); });
    result_.status = ScaleDownStatus::kNoRoomForPods;
    result_.message =
        absl::StrCat(left.size(), " of ", displaced_,
                     " pods of nodes in deletion or recently evicted find no room, first ",
                     catalog_.PodName(*first));
  }

  void ChooseWhatGoes() {
    for (const RemovableNode& removable : result_.plan.remove) {
      result_.unneeded.push_back(
          {removable.node, *state_.timers_.Since(catalog_.node(removable.node).name)});
    }
    // Nodes in deletion no longer count for the cluster's minimums.
    const auto choose = [&](const ClusterSnapshot& left) {
      return ChooseNodesToDelete(left, groups_, result_.plan, state_.timers_, in_deletion_count_,
                                 options_.deletion, now_s_);
    };
    result_.may_go = beside_deletions_ ? choose(Left()) : choose(snapshot_);
    if (const NodeId node = result_.may_go.uncounted_gpus; node != kNoNode) {
      result_.log.push_back(absl::StrCat(
          "node ", Absl(catalog_.NodeName(node)),
          " is labelled to have GPUs and gives none: the cluster's GPUs cannot be counted, and "
          "nothing is deleted"));
    }
    if (const auto hold = state_.cooldowns_.HoldAt(now_s_)) {
      result_.status = ScaleDownStatus::kInCooldown;
      result_.cooldown = hold;
    } else if (result_.unneeded.empty()) {
      result_.status = ScaleDownStatus::kNoCandidates;
    } else {
      Start();
    }
  }

  void Start() {
    result_.start = CropNodes(result_.may_go.empty, result_.may_go.drain, groups_,
                              RegisteredNodes(snapshot_, groups_), in_progress_, options_.budgets);
    if (!result_.start.empty.empty() || !result_.start.drain.empty()) {
      if (options_.verify == VerifyPlans::kBeforeDeletion && !PlanIsRight()) return;
      result_.status = ScaleDownStatus::kNodeDeleteStarted;
      NoteDeletions(result_.start.empty);
      NoteDeletions(result_.start.drain);
      return;
    }
    result_.status = ScaleDownStatus::kNoNodeDeleted;
    const size_t may_go = result_.may_go.empty.size() + result_.may_go.drain.size();
    if (may_go == 0) return;
    const int64_t running = in_progress_.empty + in_progress_.drain;
    if (WouldStartWithoutBudgets()) {
      result_.status = ScaleDownStatus::kThrottled;
      AddMessage(absl::StrCat(may_go, " may go, and the budgets admit none with ", running,
                              " in deletion"));
    } else {
      AddMessage(absl::StrCat(may_go, " may go, but not without the rest of their groups"));
    }
  }

  // Whether some nodes would start if there were no budgets.  If not, incomplete atomic groups hold
  // all of them back.
  bool WouldStartWithoutBudgets() const {
    constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
    const CroppedNodes all = CropNodes(
        result_.may_go.empty, result_.may_go.drain, groups_, RegisteredNodes(snapshot_, groups_),
        InProgress{}, {.max_scale_down_parallelism = kNoLimit, .max_drain_parallelism = kNoLimit});
    return !all.empty.empty() || !all.drain.empty();
  }

  void AddMessage(std::string_view text) {
    absl::StrAppend(&result_.message, result_.message.empty() ? "" : "; ", Absl(text));
  }

  void NoteDeletions(const std::vector<DeletionBucket>& buckets) {
    for (const DeletionBucket& bucket : buckets) {
      state_.cooldowns_.Note(
          {ScaleEventKind::kDeletion, groups_.groups[Index(bucket.group)].name, now_s_});
      for (const NodeId node : bucket.nodes) {
        if (state_.started_.AskFor(catalog_.node(node), now_s_)) {
          result_.newly_started.push_back(node);
        }
      }
    }
  }

  void Summarize() {
    NodeSet unneeded(catalog_.nodes());
    for (const UnneededNode& node : result_.unneeded) unneeded.Insert(node.node);
    if (!jumped_) {
      result_.soft_taints =
          ChooseSoftTaints(snapshot_, groups_, unneeded, options_.max_bulk_soft_taint_count);
    }
    result_.groups.resize(groups_.groups.size());
    snapshot_.alive().ForEach([&](NodeId node) {
      if (groups_.Of(node) == kNoGroup) return;
      GroupCounts& counts = result_.groups[Index(groups_.Of(node))];
      ++counts.nodes;
      EBB_DCHECK(!in_deletion_.Contains(node) || !unneeded.Contains(node));
      if (in_deletion_.Contains(node) || leaving_.Contains(node)) {
        ++counts.in_deletion;
      } else if (unneeded.Contains(node)) {
        ++counts.unneeded;
      } else {
        ++counts.needed;
        result_.needed.push_back(node);
      }
    });
    for (const UnremovableNode& node : result_.plan.keep) {
      if (groups_.Of(node.node) != kNoGroup) {
        ++result_.groups[Index(groups_.Of(node.node))].unremovable;
      }
    }
    result_.unremovable = CountUnremovable(result_.plan, [&](NodeId node) {
      return state_.planner_.TriedAgainAt(catalog_, node, now_s_);
    });
  }

  ScaleDown& state_;
  const ScaleDownOptions& options_;
  ClusterSnapshot& snapshot_;
  const Catalog& catalog_;
  std::optional<NodeGroups> groups_of_nodes_;  // The input's groups, changed by WithStartingNodes.
  const NodeGroups& groups_;
  const RoundInput& input_;

  int64_t now_s_ = 0;
  bool jumped_ = false;  // now_s_ is not accepted.
  NodeSet in_deletion_;
  NodeSet leaving_;                         // Nodes that something other than an actuator deletes.
  std::vector<int64_t> in_deletion_count_;  // By GroupId.
  InProgress in_progress_;
  std::vector<NodeId> candidates_;
  std::optional<NodeSet> destinations_;  // With StableRounds; pass_ refers to it.
  PassInput pass_;
  std::optional<ClusterSnapshot> beside_deletions_;  // Absent: no node is being deleted.
  std::vector<NodeId> nodes_in_deletion_;
  std::vector<PodId> pending_;   // Displaced pods, then the input's.
  size_t displaced_ = 0;         // How many pods of pending_ are displaced.
  std::vector<PodId> evicting_;  // Pods of nodes in deletion.
  RoundResult result_;
};

ScaleDown::ScaleDown(ScaleDownOptions options)
    : options_(options),
      planner_(options_.planner),
      limit_(options_.deletion.scale_down_unneeded_time_s,
             options_.budgets.max_scale_down_parallelism),
      cooldowns_(options_.cooldown) {}

// Checks these options and those of the planner.
static absl::Status CheckOptions(const ScaleDownOptions& options) {
  absl::Status status = CheckOptions(options.planner);
  if (options.planner.drain.gangs == Gangs::kMove) {
    status.Update(absl::InvalidArgumentError(
        "drain.gangs: move is for plans; a round may delete some nodes of a gang later"));
  }
  const auto duration = [&](std::string_view field, int64_t duration_s) {
    status.Update(CheckDuration(field, duration_s));
  };
  duration("deletion.scale_down_unneeded_time_s", options.deletion.scale_down_unneeded_time_s);
  duration("deletion.scale_down_unready_time_s", options.deletion.scale_down_unready_time_s);
  duration("cooldown.scale_down_delay_after_add_s", options.cooldown.scale_down_delay_after_add_s);
  duration("cooldown.scale_down_delay_after_delete_s",
           options.cooldown.scale_down_delay_after_delete_s);
  duration("cooldown.scale_down_delay_after_failure_s",
           options.cooldown.scale_down_delay_after_failure_s);
  duration("max_node_startup_time_s", options.max_node_startup_time_s);
  duration("clock_jump_max_s", options.clock_jump_max_s);
  duration("node_deletion_candidate_ttl_s", options.node_deletion_candidate_ttl_s);
  duration("recent_eviction_ttl_s", options.recent_eviction_ttl_s);
  if (!(options.stable.margin >= 0) || options.stable.greedy_every < 0) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("stable: the margin ", options.stable.margin, " and the rounds ",
                     options.stable.greedy_every, " must not be negative")));
  }
  const auto minimum = [&](std::string_view field, int64_t least) {
    if (least >= 0) return;
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("deletion.minimums.", Absl(field), ": ", least, " is negative")));
  };
  minimum("cores", options.deletion.minimums.cores);
  minimum("memory_bytes", options.deletion.minimums.memory_bytes);
  minimum("nodes", options.deletion.minimums.nodes);
  if (std::isnan(options.max_total_unready_percentage)) {
    status.Update(absl::InvalidArgumentError("max_total_unready_percentage: is not a number"));
  }
  return status;
}

absl::Status ScaleDown::Check(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                              const RoundInput& input) const {
  if (absl::Status s = CheckNoFork(snapshot); !s.ok()) return s;
  if (absl::Status s = CheckSnapshot(snapshot, symbols_.get()); !s.ok()) return s;
  if (absl::Status s = CheckOptions(options_); !s.ok()) return s;
  if (absl::Status s = CheckGroups(snapshot.catalog(), groups); !s.ok()) return s;
  PassInput pass;
  pass.now_s = input.now_s;
  if (input.candidates != nullptr) pass.candidates = *input.candidates;
  pass.pending = input.pending;
  if (absl::Status s = CheckPassInput(snapshot, pass); !s.ok()) return s;
  if (absl::Status s = CheckSuggestions(snapshot.catalog(), input.suggestions); !s.ok()) return s;
  for (size_t i = 0; i < input.events.size(); ++i) {
    if (absl::Status s = CheckTime(absl::StrCat("events[", i, "].at_s"), input.events[i].at_s);
        !s.ok()) {
      return s;
    }
  }
  if (input.actuation == nullptr) return absl::OkStatus();
  const std::vector<EvictedPod>& evictions = input.actuation->recent_evictions;
  for (size_t i = 0; i < evictions.size(); ++i) {
    if (absl::Status s = CheckTime(absl::StrCat("actuation.recent_evictions[", i, "].evicted_at_s"),
                                   evictions[i].evicted_at_s);
        !s.ok()) {
      return s;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RoundResult> ScaleDown::Round(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                             const RoundInput& input) {
  if (absl::Status s = Check(snapshot, groups, input); !s.ok()) return s;
  symbols_ = snapshot.catalog().shared_symbols();
  return RoundRun(*this, snapshot, groups, input).Run();
}

ScaleDownState ScaleDown::Save() const {
  // If no round was made, there are no names to look up.
  const std::shared_ptr<Symbols> held =
      symbols_ != nullptr ? symbols_ : std::make_shared<Symbols>();
  const Symbols& symbols = *held;
  ScaleDownState state{.rounds = rounds_,
                       .latest_s = latest_s_,
                       .jump_s = jump_s_,
                       .limit = limit_.state(),
                       .timers = timers_.Save(symbols),
                       .skipped = {},
                       .resume = resume_,
                       .actuation = actuation_,
                       .started = started_.Save(symbols),
                       .cooldowns = cooldowns_.Save(),
                       .planner = planner_.Save()};
  state.skipped.reserve(skipped_.size());
  for (const auto& [node, since_s] : skipped_) {
    state.skipped.push_back({std::string(symbols.Text(node)), since_s});
  }
  return state;
}

void ScaleDown::Restore(const ScaleDownState& state, const std::shared_ptr<Symbols>& shared) {
  symbols_ = shared;
  Symbols& symbols = *shared;
  rounds_ = state.rounds;
  latest_s_ = state.latest_s;
  jump_s_ = state.jump_s;
  limit_.Restore(state.limit);
  timers_.Restore(state.timers, symbols);
  kept_.Clear();
  skipped_.clear();
  for (const auto& [node, since_s] : state.skipped) {
    skipped_.push_back({symbols.Intern(node), since_s});
  }
  resume_ = state.resume;
  actuation_ = state.actuation;
  started_.Restore(state.started, symbols);
  cooldowns_.Restore(state.cooldowns);
  planner_.Restore(state.planner, shared);
}

}  // namespace ebb
