// Rounds of Replicator's scaling loop; a small world carries out its operations.

#include "tests/policies/replay_replicator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "fmt/format.h"
#include "sizing/policy/replicator/replicator.h"
#include "tests/policies/replicator_operation.h"

namespace ebb {
namespace {

using nlohmann::json;

constexpr char kDisk[] = "metric Disk uses disk figures";
constexpr char kUnreadable[] = "an unreadable provider denies";
constexpr char kThreshold[] = "the count permits at or above its threshold";
constexpr char kLeast[] = "least allocated is the smallest share, ties by name";
constexpr char kFailedStep[] = "a failed step terminates nothing and counts toward failsafe";

// ---------------------------------------------------------------- reading the recorded input

ReplicatorResources ReadResources(const json& list) {
  return {list.at(0).get<int64_t>(), list.at(1).get<int64_t>(), list.at(2).get<int64_t>()};
}

ReplicatorAllocation ReadAllocation(const json& from) {
  using Client = ReplicatorAllocation::Client;
  const std::string client = from.at("client");
  return {.job = from.at("job"),
          .resources = {from.at("cpu").get<int64_t>(), from.at("mem").get<int64_t>(),
                        from.at("disk").get<int64_t>()},
          .client = client == "running"   ? Client::kRunning
                    : client == "pending" ? Client::kPending
                                          : Client::kOther,
          .desired_run = from.at("desired") == "run"};
}

ReplicatorObservation ReadObservation(const json& round) {
  ReplicatorObservation observation;
  for (const json& from : round.at("nodes")) {
    ReplicatorNode node{.id = from.at("id"),
                        .address = from.at("ip"),
                        .capacity = {from.at("cpu").get<int64_t>(), from.at("mem").get<int64_t>(),
                                     from.at("disk").get<int64_t>()},
                        .allocations = {}};
    for (const json& allocation : from.at("allocs")) {
      node.allocations.push_back(ReadAllocation(allocation));
    }
    observation.nodes.push_back(std::move(node));
  }
  if (round.at("jobs").is_array()) {
    for (const json& from : round.at("jobs")) {
      if (!from.at("scaling").get<bool>()) continue;
      ReplicatorJob job{.id = from.at("id"), .groups = {}};
      for (const json& group : from.at("groups")) {
        job.groups.emplace_back();
        for (const json& task : group) job.groups.back().push_back(ReadResources(task));
      }
      observation.jobs.push_back(std::move(job));
    }
  }
  const json& group = round.at("provider");
  if (group.at("readable").get<bool>()) {
    observation.group = {
        .min = group.at("min"), .max = group.at("max"), .desired = group.at("desired")};
  }
  observation.readable = round.at("world").at("nomad_api");
  observation.protected_node = round.at("protected");
  return observation;
}

ReplicatorOptions ReadOptions(const json& config) {
  return {.replicator_enabled = true,
          .replicator_worker_pool = "pool-a",
          .replicator_region = "us-east-1",
          .replicator_notification_uid = config.at("notification_uid"),
          .replicator_provider = "aws",
          .replicator_cooldown = config.at("cooldown"),
          .replicator_node_fault_tolerance = config.at("fault_tolerance"),
          .replicator_retry_threshold = config.at("retry_threshold"),
          .replicator_scaling_threshold = config.at("scaling_threshold"),
          .replicator_min = {},
          .replicator_max = {}};
}

ReplicatorState ReadState(const json& from) {
  ReplicatorState state;
  state.scale_in_requests = from.at("scale_in_requests");
  state.scale_out_requests = from.at("scale_out_requests");
  state.failure_count = from.at("failure_count");
  state.failsafe = from.at("failsafe");
  const json& event = from.at("last_event_s");
  if (!event.is_null()) state.last_event_ms = std::llround(event.get<double>() * 1000);
  return state;
}

json ToJson(const ReplicatorState& state) {
  json to = {{"scale_in_requests", state.scale_in_requests},
             {"scale_out_requests", state.scale_out_requests},
             {"failure_count", state.failure_count},
             {"failsafe", state.failsafe},
             {"last_event_s", nullptr},
             {"eligible_nodes", json::array()}};
  if (state.last_event_ms) {
    to["last_event_s"] = static_cast<double>(*state.last_event_ms) / 1000;
  }
  return to;
}

json ToJson(const ReplicatorResources& resources) {
  return {resources.cpu, resources.memory, resources.disk};
}

json ToJson(const ReplicatorPercents& percents) {
  json to = json::array();
  for (const double percent : percents) {
    if (std::isnan(percent)) {
      to.push_back("nan");
    } else if (std::isinf(percent)) {
      to.push_back("inf");
    } else {
      to.push_back(percent);
    }
  }
  return to;
}

// ---------------------------------------------------------------- the world

// The group, its instances and nodes while one operation runs.
class World {
 public:
  // `member_late`: a poll does not see a node that joins at the very time of the poll.
  World(const json& round, bool member_late) : member_late_(member_late) {
    const json& world = round.at("world");
    for (const json& delay : world.at("join_delays_s")) delays_s_.push_back(delay);
    launches_ = world.at("launch");
    drain_ = world.at("drain");
    desired_ = round.at("provider").at("desired");
    for (const json& node : round.at("nodes")) {
      const std::string id = node.at("id");
      instances_.push_back({.number = id.substr(1)});
      last_number_ = std::max(last_number_, std::stoi(id.substr(1)));
      bool active = false;
      for (const json& allocation : node.at("allocs")) {
        active =
            active || allocation.at("client") == "running" || allocation.at("client") == "pending";
      }
      if (active) busy_.insert(id);
    }
    // Instances are numbered across the whole case.
    for (const json& action : round.at("out").at("actions")) {
      const std::string text = action;
      if (!text.starts_with("launch i-")) continue;
      last_number_ = std::stoi(text.substr(9)) - 1;
      break;
    }
  }

  ReplicatorAnswer Do(const ReplicatorOperation& operation, int64_t now_ms) {
    using Kind = ReplicatorCallKind;
    switch (operation.call.kind) {
      case Kind::kSetDesired:
        return SetDesired(operation.desired, now_ms);
      case Kind::kReadInstances:
        return Is(InGroup() == operation.desired);
      case Kind::kFindNewest:
        return Newest(now_ms);
      case Kind::kFindMember:
        return Is(Joined(operation.instance, now_ms));
      case Kind::kDrain:
        actions_.push_back("drain " + operation.node);
        return {drain_ == "api_error" ? ReplicatorAnswer::kError : ReplicatorAnswer::kDone};
      case Kind::kReadAllocations:
        return Is(drain_ != "stuck" || !busy_.contains(operation.node));
      case Kind::kDetach:
        return Detach(operation.instance);
      case Kind::kTerminate:
        return Terminate(operation.instance, now_ms);
      case Kind::kReadDetach:
      case Kind::kReadTermination:
        return {ReplicatorAnswer::kDone};
    }
    return {ReplicatorAnswer::kError};
  }

  [[nodiscard]] json NodesAfter(int64_t now_ms) const {
    std::set<std::string> nodes;
    for (const Instance& instance : instances_) {
      if (instance.join_ms <= now_ms) nodes.insert("n" + instance.number);
    }
    return nodes;
  }
  [[nodiscard]] const json& actions() const { return actions_; }
  [[nodiscard]] int64_t desired() const { return desired_; }
  [[nodiscard]] bool tie() const { return tie_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // The group notices a lost instance after this time.
  static constexpr int64_t kReplaceMs = 10'000;
  // A replacement takes this much longer to join.
  static constexpr int64_t kReplacementJoinMs = 10'000;

  struct Instance {
    std::string number;
    int64_t launched_ms = -1'000'000'000;
    int64_t join_ms = launched_ms;
    bool in_group = true;
  };

  static ReplicatorAnswer Is(bool yes) {
    return {yes ? ReplicatorAnswer::kDone : ReplicatorAnswer::kNotYet};
  }

  [[nodiscard]] int64_t InGroup() const {
    return std::count_if(instances_.begin(), instances_.end(),
                         [](const Instance& instance) { return instance.in_group; });
  }

  void Launch(int64_t launched_ms, int64_t join_extra_ms) {
    int64_t delay_s = 20;
    if (!delays_s_.empty()) {
      delay_s = delays_s_.front();
      delays_s_.erase(delays_s_.begin());
    }
    const std::string number = fmt::format("{:03}", ++last_number_);
    actions_.push_back("launch i-" + number);
    instances_.push_back(
        {.number = number,
         .launched_ms = launched_ms,
         .join_ms = delay_s < 0 ? kNever : launched_ms + join_extra_ms + delay_s * 1000});
  }

  ReplicatorAnswer SetDesired(int64_t desired, int64_t now_ms) {
    actions_.push_back(fmt::format("set_desired {}", desired));
    desired_ = desired;
    while (launches_ && InGroup() < desired_) Launch(now_ms, 0);
    return {ReplicatorAnswer::kDone};
  }

  [[nodiscard]] ReplicatorAnswer Newest(int64_t now_ms) const {
    const Instance* newest = nullptr;
    for (const Instance& instance : instances_) {
      if (!instance.in_group || instance.launched_ms > now_ms) continue;
      if (newest == nullptr || instance.launched_ms > newest->launched_ms) newest = &instance;
    }
    if (newest == nullptr) return {ReplicatorAnswer::kError};
    return {ReplicatorAnswer::kDone, newest->number, newest->launched_ms};
  }

  [[nodiscard]] bool Joined(const std::string& number, int64_t now_ms) {
    for (const Instance& instance : instances_) {
      if (instance.number != number) continue;
      tie_ = tie_ || instance.join_ms == now_ms;
      return member_late_ ? instance.join_ms < now_ms : instance.join_ms <= now_ms;
    }
    return false;
  }

  ReplicatorAnswer Detach(const std::string& number) {
    actions_.push_back("detach i-" + number);
    --desired_;
    for (Instance& instance : instances_) {
      if (instance.number == number) instance.in_group = false;
    }
    return {ReplicatorAnswer::kDone};
  }

  ReplicatorAnswer Terminate(const std::string& number, int64_t now_ms) {
    actions_.push_back("terminate i-" + number);
    std::erase_if(instances_, [&](const Instance& instance) { return instance.number == number; });
    if (InGroup() < desired_) Launch(now_ms + kReplaceMs, kReplacementJoinMs);
    return {ReplicatorAnswer::kDone};
  }

  const bool member_late_;
  bool tie_ = false;
  bool launches_ = true;
  std::string drain_;
  std::set<std::string> busy_;
  std::vector<int64_t> delays_s_;
  std::vector<Instance> instances_;
  int last_number_ = 0;
  int64_t desired_ = 0;
  json actions_ = json::array();
};

// ---------------------------------------------------------------- the program's answers

// The result of a round of ebb, in the terms of the recordings.
struct Played {
  std::string result;
  int64_t took_ms = 0;
  json actions = json::array();
  int64_t desired = 0;
  json nodes;
};

std::string ResultOf(ReplicatorReason reason) {
  switch (reason) {
    case ReplicatorReason::kFailsafe:
    case ReplicatorReason::kFailsafeEntered:
      return "denied_failsafe";
    case ReplicatorReason::kUnreadable:
      return "failed_evaluate";
    case ReplicatorReason::kSimulation:
      return "denied_simulation";
    case ReplicatorReason::kProviderUnreadable:
      return "panic";
    case ReplicatorReason::kProviderCountMismatch:
      return "denied_provider_count_mismatch";
    case ReplicatorReason::kProviderMin:
      return "denied_provider_min";
    case ReplicatorReason::kProviderMax:
      return "denied_provider_max";
    case ReplicatorReason::kCooldown:
      return "denied_cooldown";
    case ReplicatorReason::kScalingThreshold:
      return "denied_scaling_threshold";
    case ReplicatorReason::kNoNode:
      return "failed_no_node";
    default:
      return std::string(Name(reason));
  }
}

std::string ResultOf(const ReplicatorOperation& operation) {
  if (operation.outcome == ReplicatorOperation::Outcome::kSucceeded) return "scaled";
  const bool drain = operation.call.kind == ReplicatorCallKind::kDrain ||
                     operation.call.kind == ReplicatorCallKind::kReadAllocations;
  return drain ? "failed_drain" : "failed_scale";
}

// Carries out the decision until its operation has ended.
Played Act(const json& round, const ReplicatorOptions& options, const ReplicatorDecision& decision,
           int64_t start_ms, bool member_late, ReplicatorState* state, bool* tie) {
  World world(round, member_late);
  Played played{.result = ResultOf(decision.reason), .desired = 0, .nodes = {}};
  int64_t now_ms = start_ms;
  if (decision.reason == ReplicatorReason::kScaleOut) {
    StartScaleOut(decision.target, now_ms, state);
  } else if (decision.reason == ReplicatorReason::kScaleIn) {
    StartScaleIn(decision.node, decision.node.substr(1), now_ms, state);
  }
  if (state->operation) {
    while (state->operation->outcome == ReplicatorOperation::Outcome::kRunning) {
      now_ms = state->operation->call.at_ms;
      const ReplicatorAnswer answer = world.Do(*state->operation, now_ms);
      Answer(options, answer, now_ms, state);
    }
    played.result = ResultOf(*state->operation);
  }
  played.took_ms = now_ms - start_ms;
  played.actions = world.actions();
  played.desired = world.desired();
  played.nodes = world.NodesAfter(now_ms);
  *tie = world.tie();
  return played;
}

// The program's choice, which depends on the order in which it visits the nodes.
std::string ProgramsChoice(const ReplicatorFigures& figures, const std::string& protected_node,
                           const std::vector<std::string>& order) {
  double lowest = 0;
  std::string chosen;
  for (const std::string& id : order) {
    if (id == protected_node) continue;
    const auto node = std::find_if(figures.shares.begin(), figures.shares.end(),
                                   [&](const auto& share) { return share.id == id; });
    const ReplicatorPercents& shares = node->of_pool_use;
    double share = 0;
    switch (figures.metric) {
      case ReplicatorMetric::kCpu:
        share = shares[0];
        break;
      case ReplicatorMetric::kMemory:
        share = shares[1];
        break;
      case ReplicatorMetric::kDisk:
        share = shares[2];
        break;
      case ReplicatorMetric::kNone:
        chosen = id;
        continue;
      case ReplicatorMetric::kNoNumber:
        continue;
    }
    if (lowest == 0 || share < lowest) {
      lowest = share;
      chosen = id;
    }
  }
  return chosen;
}

// ---------------------------------------------------------------- comparing

void CompareFigures(const ReplicatorFigures& figures, int64_t fault_tolerance, const json& out,
                    ReplayedRound* round) {
  round->Compare("total", out.at("total"), ToJson(figures.total));
  round->Compare("used", out.at("used"), ToJson(figures.used));
  round->Compare("used_percent", out.at("used_percent"), ToJson(figures.used_percent));
  round->Compare("reserve", out.at("reserve"), ToJson(figures.reserve));
  round->Compare("metric", out.at("metric"), Name(figures.metric));
  if (out.contains("node_percent")) {
    json shares = json::object();
    for (const auto& node : figures.shares) shares[node.id] = ToJson(node.of_pool_use);
    round->Compare("node_percent", out.at("node_percent"), shares);
  }

  if (figures.metric != ReplicatorMetric::kDisk) {
    round->Compare("allowed", out.at("allowed"), figures.allowed);
    round->Compare("direction", out.at("direction"), Name(figures.direction));
    if (out.contains("sim_allowed")) {
      round->Compare("sim_allowed", out.at("sim_allowed"), figures.sim_allowed);
    }
    return;
  }
  // The recorded figures are those of cpu.
  round->Deviates(kDisk);
  const int64_t average = figures.total.cpu / figures.nodes;
  const int64_t allowed = figures.total.cpu - figures.reserve.cpu - average * fault_tolerance;
  round->Compare("allowed of cpu", out.at("allowed"), allowed);
  round->Compare("direction by cpu", out.at("direction"),
                 figures.used.cpu < allowed ? "In" : "Out");
  if (out.contains("sim_allowed")) {
    round->Compare("sim_allowed of cpu", out.at("sim_allowed"), allowed - average);
  }
}

// The chosen node, for each order in which the program could have visited the nodes.
void CompareChoice(const ReplicatorFigures& figures, const std::string& protected_node,
                   const json& out, ReplayedRound* round) {
  if (!out.contains("least_if_ids_ascending")) return;
  std::vector<std::string> ids;
  for (const auto& node : figures.shares) ids.push_back(node.id);
  std::sort(ids.begin(), ids.end());
  const std::string ascending = ProgramsChoice(figures, protected_node, ids);
  round->Compare("least_if_ids_ascending", out.at("least_if_ids_ascending"), ascending);
  std::reverse(ids.begin(), ids.end());
  round->Compare("least_if_ids_descending", out.at("least_if_ids_descending"),
                 ProgramsChoice(figures, protected_node, ids));
  const std::optional<size_t> least = LeastAllocated(figures, protected_node);
  const std::string ours = least ? figures.shares[*least].id : "";
  // The program may pass over our node only if that node has no use.
  if (ours == ascending) return;
  round->Deviates(kLeast);
  const size_t resource = figures.metric == ReplicatorMetric::kMemory ? 1
                          : figures.metric == ReplicatorMetric::kDisk ? 2
                                                                      : 0;
  const bool unused = figures.metric == ReplicatorMetric::kNone ||
                      (least && figures.shares[*least].of_pool_use[resource] == 0);
  round->Compare("a node of no use", true, unused);
}

void CompareNotices(const ReplicatorDecision& decision, const json& out, ReplayedRound* round) {
  json notices = json::array();
  if (decision.notice) {
    const ReplicatorNotice& notice = *decision.notice;
    notices.push_back({{"alert_uid", notice.alert_uid},
                       {"reason", notice.reason},
                       {"resource_id", notice.resource_id},
                       {"resource_type", notice.resource_type},
                       {"state_path", "replicator/config/state/nodes/" + notice.resource_id}});
  }
  round->Compare("notifications", out.at("notifications"), notices);
}

// After acting: the actions, how long they took, and the state that they left.
void CompareOutcome(const Played& played, const ReplicatorState& state, const json& recorded,
                    ReplayedRound* round) {
  const json& out = recorded.at("out");
  json after = ToJson(state);
  const json& failures_before = recorded.at("before").at("failure_count");
  const json& failures_after = out.at("after").at("failure_count");

  const bool failed = state.operation && played.result != "scaled";
  const bool went_on = out.at("result") == "scaled";  // Although its drain did not end.
  if (failed && (went_on || failures_after == failures_before)) {
    round->Deviates(kFailedStep);
    round->Compare("failure_count, one more", failures_before.get<int64_t>() + 1,
                   after.at("failure_count"));
    after["failure_count"] = failures_after;
    if (went_on) return;
  }
  round->Compare("actions", out.at("actions"), played.actions);
  round->Compare("result", out.at("result"), played.result);
  round->Compare("after", out.at("after"), after);
  round->Compare("took_s", out.at("took_s"), static_cast<double>(played.took_ms) / 1000);
  round->Compare("provider_desired_after", out.at("provider_desired_after"), played.desired);
  round->Compare("nodes_after", out.at("nodes_after"), played.nodes);
}

// In the program, a count that is above its threshold grows forever.
bool StuckPastThreshold(const ReplicatorOptions& options, const ReplicatorDecision& decision,
                        const json& out) {
  return out.at("result") == "denied_scaling_threshold" && decision.delta != 0 &&
         decision.requests > options.replicator_scaling_threshold;
}

void ReplayRound(const json& recorded, ReplayedRound* round) {
  const json& out = recorded.at("out");
  const ReplicatorOptions options = ReadOptions(recorded.at("config"));
  const ReplicatorObservation observation = ReadObservation(recorded);
  const int64_t now_ms = std::llround(recorded.at("now_s").get<double>() * 1000);
  ReplicatorState state = ReadState(recorded.at("before"));
  ReplicatorDecision decision = Decide(options, observation, now_ms, &state);

  round->Compare("figures", out.contains("total"), decision.figures.has_value());
  if (out.contains("total") != decision.figures.has_value()) return;
  if (decision.figures) {
    CompareFigures(*decision.figures, options.replicator_node_fault_tolerance, out, round);
    CompareChoice(*decision.figures, observation.protected_node, out, round);
  }
  CompareNotices(decision, out, round);
  if (decision.reason == ReplicatorReason::kProviderUnreadable) round->Deviates(kUnreadable);

  // The rest of the round runs with the node that the program chose.
  const std::string chosen = out.value("chosen", "");
  if (!decision.node.empty() && !chosen.empty() && decision.node != chosen) {
    round->Deviates(kLeast);
    decision.node = chosen;
  }
  const ReplicatorState decided = state;
  bool tie = false;
  Played played = Act(recorded, options, decision, now_ms, false, &state, &tie);
  if (tie && out.at("took_s") != static_cast<double>(played.took_ms) / 1000) {
    state = decided;
    played = Act(recorded, options, decision, now_ms, true, &state, &tie);
  }
  // With the figures of disk, a round can end at another step.
  const bool disk = decision.figures && decision.figures->metric == ReplicatorMetric::kDisk;
  if (disk && (out.at("direction") != Name(decision.figures->direction) ||
               (decision.reason == ReplicatorReason::kSimulation) !=
                   (out.at("result") == "denied_simulation"))) {
    return;
  }
  if (StuckPastThreshold(options, decision, out)) {
    round->Deviates(kThreshold);
    json after = ToJson(decided);
    const bool in = decision.figures->direction == ReplicatorDirection::kIn;
    after[in ? "scale_in_requests" : "scale_out_requests"] = decision.requests;
    round->Compare("after, not stuck", out.at("after"), after);
    return;
  }
  CompareOutcome(played, state, recorded, round);
}

}  // namespace

void ReplayReplicatorLoop(const json& cases, ReplayTally* tally) {
  for (const json& one : cases) {
    ++tally->cases;
    int number = 0;
    for (const json& recorded : one.at("rounds")) {
      ReplayedRound round(fmt::format("{} round {}", one.at("id").get<std::string>(), number++),
                          tally);
      ReplayRound(recorded, &round);
    }
  }
}

ReplayTally ReplayReplicator(const json& file) {
  ReplayTally tally;
  ReplayReplicatorLoop(file.at("loop"), &tally);
  ReplayReplicatorDiscovery(file.at("discovery"), &tally);
  ReplayReplicatorPoolBounds(file.at("pool_min_max_release_1_0_3"), &tally);
  ReplayReplicatorScaleFactor(file.at("scale_factor_fork"), &tally);
  return tally;
}

}  // namespace ebb
