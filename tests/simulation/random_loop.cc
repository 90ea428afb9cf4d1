#include "tests/simulation/random_loop.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "snapshot/samples/generate.h"

namespace ebb::test {
namespace {

constexpr int64_t kStart = 1'767'225'600;
constexpr int64_t kTaintDelayS = 5;  // DeletionStepOptions

// The clock of a loop that ends at a given time.
class EndClock : public LoopClock {
 public:
  explicit EndClock(int64_t now_s) : now_s_(now_s) {}
  int64_t NowS() override { return now_s_; }
  bool SleepUntil(int64_t time_s) override {
    now_s_ = time_s;
    return false;
  }
  void WaitUntil(int64_t time_s) override { now_s_ = time_s; }

 private:
  int64_t now_s_;
};

// By the label that the samples have, or all in one.
NodeGroups GroupsByLabel(const Catalog& catalog) {
  NodeGroups groups;
  const std::optional<TextId> key = catalog.symbols().Find("nodegroup");
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const auto label = key ? FindLabel(catalog.node(NodeId{n}).labels, *key) : std::nullopt;
    const std::string name = label ? std::string(catalog.Text(*label)) : "all";
    size_t g = 0;
    while (g < groups.groups.size() && groups.groups[g].name != name) ++g;
    if (g == groups.groups.size()) groups.groups.emplace_back().name = name;
    ++groups.groups[g].target_size;
    groups.group_of.push_back(GroupId{static_cast<uint32_t>(g)});
  }
  return groups;
}

class RandomLoop {
 public:
  explicit RandomLoop(uint64_t seed) : random_(seed) {}

  RandomLoopResult Run(int turns) {
    Draw();
    auto made = SimulatedCluster::Make(
        [&](ObjectSink& sink) {
          return samples::GenerateDump(*kind_, {.nodes = nodes_, .seed = random_.Next()}, sink);
        },
        &GroupsByLabel, options_);
    if (!made.ok()) {
      result_.wrong = std::string(made.status().message());
      return result_;
    }
    cluster_ = *std::move(made);
    Restart();
    now_s_ = kStart;
    for (int turn = 0; turn < turns && result_.wrong.empty(); ++turn) {
      if (turn > 0 && random_.Below(40) == 0) Restart();
      loop_->Turn(now_s_);
      Check(absl::StrCat("turn ", turn));
      now_s_ += scan_interval_s_;
    }
    End();
    result_.counts = cluster_->counts();
    return std::move(result_);
  }

 private:
  int64_t Between(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(to - from + 1)));
  }

  void Draw() {
    const auto kinds = samples::Kinds();
    // The last ones are of extreme terms, each large for what it is.
    kind_ = &kinds[random_.Below(std::min<size_t>(6, kinds.size()))];
    nodes_ = static_cast<uint32_t>(Between(4, 30));
    options_.seed = random_.Next();
    options_.start_s = kStart;
    options_.daily_load = random_.Below(2) == 0;
    options_.recount_budgets = true;
    SimulatedFaults& faults = options_.faults;
    const auto often = [&](int64_t most) { return random_.Below(3) == 0 ? 0 : Between(0, most); };
    faults.eviction_refused_permille = often(300);
    faults.eviction_refused_for_s = Between(30, 300);
    faults.never_ends_permille = often(50);
    faults.taint_fails_permille = often(300);
    faults.pod_before_taint_permille = often(300);
    faults.api_away_per_day = often(200);
    faults.api_away_for_s = Between(5, 120);
    faults.node_vanishes_per_day = often(200);
    scale_down_.deletion.scale_down_unneeded_time_s = Between(0, 120);
    scale_down_.budgets.max_drain_parallelism = Between(1, 5);
    scale_down_.budgets.max_scale_down_parallelism = Between(1, 10);
    scale_down_.cooldown.scale_down_delay_after_add_s = Between(0, 120);
    scale_down_.cooldown.scale_down_delay_after_failure_s = Between(0, 60);
    scale_down_.planner.scale_down_utilization_threshold = 0.5 + 0.1 * Between(0, 5);
    scale_down_.planner.unremovable_node_recheck_timeout_s = Between(0, 300);
    scan_interval_s_ = Between(5, 60);
  }

  // The process ends, and another goes on with what it kept.
  void Restart() {
    std::unique_ptr<ScaleDown> next = std::make_unique<ScaleDown>(scale_down_);
    if (loop_ != nullptr) {
      ++result_.restarts;
      next->Restore(kept_, cluster_->Snapshot().catalog().shared_symbols());
      const ScaleDownState again = next->Save();
      if (again.timers != kept_.timers || again.started != kept_.started ||
          again.cooldowns != kept_.cooldowns || again.rounds != kept_.rounds) {
        result_.wrong = "the state is another after it was restored";
      }
    }
    scale_down_now_ = std::move(next);
    LoopOptions options;
    options.scan_interval_s = scan_interval_s_;
    options.on_turn = [this](const LoopTurn& turn) { See(turn); };
    const auto record = [this](const ScaleDown& scale_down, const RoundResult&) {
      kept_ = scale_down.Save();
      return absl::OkStatus();
    };
    rounds_ = std::make_unique<OwnRounds>(
        *scale_down_now_, *cluster_,
        OwnRoundsOptions{.order = CandidateOrder::kAutoscaler, .advise = {}, .record = record});
    loop_ = std::make_unique<Loop>(*rounds_, *cluster_, options);
  }

  void See(const LoopTurn& turn) {
    absl::StrAppend(&result_.trace, turn.now_s, ": ", turn.begun, " begun");
    if (turn.round) {
      ++result_.rounds;
      absl::StrAppend(&result_.trace, ", ", turn.round->nodes, " nodes, ", turn.round->pending,
                      " pending, ", turn.round->status);
      if (turn.round->status == ToString(ScaleDownStatus::kError)) {
        result_.wrong = turn.round->message;
      }
    }
    for (const std::string& line : turn.log) absl::StrAppend(&result_.trace, "; ", line);
    absl::StrAppend(&result_.trace, "\n");
  }

  void Check(const std::string& when) {
    if (!result_.wrong.empty()) {
      result_.wrong = absl::StrCat(when, ": ", result_.wrong);
      return;
    }
    const absl::Status sound = cluster_->CheckSound();
    if (!sound.ok()) result_.wrong = absl::StrCat(when, ": ", sound.message());
    // Whatever waits for the loop is carried on by its next turn, where the API is there.
    if (options_.faults.api_away_per_day > 0) return;
    const absl::StatusOr<ActuatorStatus> status = cluster_->Status(now_s_);
    for (const RunningDeletion& running : status->running) {
      const bool waits = running.phase == DeletionPhase::kFailed ||
                         running.phase == DeletionPhase::kDrained ||
                         running.phase == DeletionPhase::kTainted;
      if (!waits || now_s_ - running.since_s <= 2 * scan_interval_s_ + kTaintDelayS) continue;
      result_.wrong =
          absl::StrCat(when, ": node ", running.node, " waits, and the loop does not act");
    }
  }

  // Nothing that is only tainted stays so, and what was begun ends in its time.
  void End() {
    if (!result_.wrong.empty()) return;
    EndClock clock(now_s_);
    loop_->Stop(clock);
    now_s_ = clock.NowS();
    Check("the end");
    const absl::StatusOr<ActuatorStatus> status = cluster_->Status(clock.NowS());
    for (const RunningDeletion& left : status->running) {
      // The API may be away to the last.
      const bool could_act = options_.faults.api_away_per_day == 0;
      if (could_act && left.phase == DeletionPhase::kTainted) {
        result_.wrong = absl::StrCat("node ", left.node, " was left with its taint");
      }
    }
  }

  Random random_;
  const samples::Kind* kind_ = nullptr;
  uint32_t nodes_ = 0;
  SimulatedClusterOptions options_;
  ScaleDownOptions scale_down_;
  int64_t scan_interval_s_ = 10;
  int64_t now_s_ = 0;
  std::unique_ptr<SimulatedCluster> cluster_;
  std::unique_ptr<ScaleDown> scale_down_now_;
  std::unique_ptr<OwnRounds> rounds_;
  std::unique_ptr<Loop> loop_;
  ScaleDownState kept_;
  RandomLoopResult result_;
};

}  // namespace

RandomLoopResult RunRandomLoop(uint64_t seed, int turns) { return RandomLoop(seed).Run(turns); }

}  // namespace ebb::test
