#include "tools/round_command.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "service/file_identity.h"
#include "service/groups.h"
#include "service/metrics.h"
#include "service/output_file.h"
#include "service/plan_json.h"
#include "service/plan_report.h"
#include "service/round_events.h"
#include "service/round_report.h"
#include "service/settings_file.h"
#include "service/sqlite_state.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/duration.h"
#include "snapshot/formats/rfc3339.h"
#include "snapshot/node_set.h"
#include "tools/autoscaler_flags.h"
#include "tools/fail.h"
#include "tools/flag_values.h"
#include "tools/plan_command.h"
#include "tools/plan_print.h"
#include "tools/round_print.h"
#include "tools/terminal.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// What a record says of the rules that its rounds were made by.
constexpr int64_t kRulesWithJumps = 2;
constexpr int64_t kRulesWithNotStarted = 3;
constexpr int64_t kRecordRules = 3;

// Hands every object to the loader and to the record.
class Tee final : public ObjectSink {
 public:
  Tee(ObjectSink& loader, ObjectSink& writer) : sinks_{&loader, &writer} {}
  absl::Status OnNode(const objects::Node& o) override { return Both(&ObjectSink::OnNode, o); }
  absl::Status OnPod(const objects::Pod& o) override { return Both(&ObjectSink::OnPod, o); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& o) override {
    return Both(&ObjectSink::OnPodDisruptionBudget, o);
  }
  absl::Status OnController(const objects::Controller& o) override {
    return Both(&ObjectSink::OnController, o);
  }
  absl::Status OnNamespace(const objects::Namespace& o) override {
    return Both(&ObjectSink::OnNamespace, o);
  }
  absl::Status OnStorageObject(const objects::StorageObject& o) override {
    return Both(&ObjectSink::OnStorageObject, o);
  }

 private:
  template <typename Object>
  absl::Status Both(absl::Status (ObjectSink::*call)(const Object&), const Object& object) {
    for (ObjectSink* sink : sinks_) {
      if (absl::Status s = (sink->*call)(object); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  ObjectSink* sinks_[2];
};

// The files that flags name, read.
struct RoundFiles {
  std::string groups_text;
  GroupRules groups;
  std::string events_text;
  RoundEvents events;
};

struct RoundSource {
  LoadedCluster cluster;
  std::string snapshot;  // The same as a binary snapshot.
  std::vector<std::string> log;
};

// Pods that were evicted are placed as such or not at all.
void DropEvicted(const std::vector<EvictedPod>& evictions, LoadedCluster& cluster) {
  absl::flat_hash_set<PodId> evicted;
  for (const EvictedPod& pod : evictions) {
    const auto id = cluster.snapshot.catalog().FindPod(pod.namespace_name, pod.name);
    if (!id.ok()) continue;
    const Catalog& catalog = cluster.snapshot.catalog();
    if (pod.uid.empty() || catalog.Text(catalog.pod(*id).key) == pod.uid) evicted.insert(*id);
  }
  std::erase_if(cluster.pending, [&](PodId pod) { return evicted.contains(pod); });
}

absl::StatusOr<RoundSource> Load(const LoadOptions& options, const std::string& events_name,
                                 const RoundEvents& events,
                                 const std::optional<ScaleDownState>& before,
                                 const std::function<absl::Status(ObjectSink&)>& read) {
  RoundSource source;
  BinarySnapshotWriter writer([&](std::string_view chunk) {
    source.snapshot.append(chunk);
    return absl::OkStatus();
  });
  ClusterLoader loader(options);
  Tee tee(loader, writer);
  std::vector<EvictedPod> evictions;
  if (before) evictions = before->actuation.recent_evictions;
  if (absl::Status s = ReadWithEvents(events_name, events, evictions, tee, read, source.log);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = writer.Finish(); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return cluster.status();
  source.cluster = *std::move(cluster);
  for (const auto& eviction : events.evictions) evictions.push_back(eviction.pod);
  DropEvicted(evictions, source.cluster);
  return source;
}

absl::StatusOr<RoundFiles> ReadFiles(const PlanCommand& command) {
  RoundFiles files;
  if (!command.node_groups.empty()) {
    absl::StatusOr<std::string> text = ReadWholeFile(command.node_groups);
    if (!text.ok()) return text.status();
    files.groups_text = *std::move(text);
    absl::StatusOr<GroupRules> groups = ParseGroups(command.node_groups, files.groups_text);
    if (!groups.ok()) return groups.status();
    files.groups = *std::move(groups);
  }
  command.AddNodes(files.groups);
  if (const std::string& path = command.over_time.events; !path.empty()) {
    absl::StatusOr<std::string> text = ReadWholeFile(path);
    if (!text.ok()) return text.status();
    files.events_text = *std::move(text);
    absl::StatusOr<RoundEvents> events = ParseEvents(path, files.events_text);
    if (!events.ok()) return events.status();
    files.events = *std::move(events);
  }
  return files;
}

// The end of --scale-down-simulation-timeout, by the clock or as it was recorded: as
// the question at which time was up.
class RoundDeadline final : public Deadline {
 public:
  explicit RoundDeadline(std::chrono::nanoseconds timeout) : end_(Clock::now() + timeout) {}
  // 0: it never was.
  explicit RoundDeadline(int64_t expired_at) : recorded_(expired_at) {}

  [[nodiscard]] bool Expired() const override {
    ++questions_;
    const bool expired = end_ ? Clock::now() >= *end_ : recorded_ > 0 && questions_ >= recorded_;
    if (expired && expired_at_ == 0) expired_at_ = questions_;
    return expired;
  }
  [[nodiscard]] int64_t expired_at() const { return expired_at_; }

 private:
  std::optional<Clock::time_point> end_;
  int64_t recorded_ = 0;
  mutable int64_t questions_ = 0;
  mutable int64_t expired_at_ = 0;
};

// The options of the round that the flags ask for.
ScaleDownOptions OptionsOf(const PlanCommand& command) {
  const RoundFlags& flags = command.over_time;
  ScaleDownOptions options = flags.options;
  options.verify = VerifyPlans::kAlways;
  options.planner = command.planner;
  options.planner.drain.blocking_system_pod_disruption_timeout_s =
      DurationSeconds(command.blocking_system_pod_timeout);
  options.planner.unremovable_node_recheck_timeout_s = DurationSeconds(flags.recheck_timeout);
  options.planner.min_nodes_per_pass = static_cast<size_t>(flags.min_nodes_per_pass);
  options.deletion.scale_down_unneeded_time_s = DurationSeconds(flags.unneeded_time);
  options.deletion.scale_down_unready_time_s = DurationSeconds(flags.unready_time);
  options.deletion.minimums = {
      .cores = ParseMinMax(flags.cores_total).min,
      .memory_bytes = ParseMinMax(flags.memory_total).min * (int64_t{1} << 30),
      .nodes = flags.nodes_min};
  options.cooldown.scale_down_delay_after_add_s = DurationSeconds(flags.delay_after_add);
  options.cooldown.scale_down_delay_after_delete_s = DurationSeconds(flags.delay_after_delete);
  options.cooldown.scale_down_delay_after_failure_s = DurationSeconds(flags.delay_after_failure);
  options.node_deletion_candidate_ttl_s = DurationSeconds(flags.deletion_candidate_ttl);
  options.max_node_startup_time_s = DurationSeconds(flags.max_node_startup_time);
  options.recent_eviction_ttl_s = DurationSeconds(flags.recent_eviction_ttl);
  options.skipped_timer =
      flags.skipped_timers == "lost" ? SkippedTimer::kLost : SkippedTimer::kKept;
  options.clock_jump_max_s = DurationSeconds(flags.clock_jump_max);
  options.returned_node =
      flags.returned_nodes == "keep-timer" ? ReturnedNode::kKeepsTimer : ReturnedNode::kStartsAnew;
  options.displaced_pods =
      flags.displaced_pods == "best-effort" ? DisplacedPods::kBestEffort : DisplacedPods::kMustFit;
  if (flags.max_empty_bulk_delete) {
    options.budgets.max_scale_down_parallelism = *flags.max_empty_bulk_delete;
  }
  if (command.max_scale_down_parallelism) {
    options.budgets.max_scale_down_parallelism = *command.max_scale_down_parallelism;
  }
  return options;
}

// A round that was made: what it decided, and what printing it needs.
struct MadeRound {
  PlanRequest request;
  NodeGroups groups;
  PlanResult made;
  RoundResult result;
  std::optional<PlanReport> report;  // Borrows from the others.
  Json json;
  double seconds = 0;
  int64_t deletions_in_progress = 0;
  std::vector<std::string> failed_deletions;
  std::vector<std::string> log;
};

// What MakeRound is given beside the cluster.
struct RoundSetting {
  const PlanCommand* command;
  const RoundFiles* files;
  const std::optional<ScaleDownState>* before;
  int64_t now_s;
  int64_t number;  // Of the round, from 1.
  const RoundDeadline* deadline = nullptr;
};

// Absent: the engine's own order.  Else nodes that were unneeded in the last round go
// first, so that their timers go on, in the order that --candidate-order names.
std::optional<std::vector<NodeId>> Candidates(const RoundSetting& setting,
                                              const LoadedCluster& cluster,
                                              const NodeGroups& groups,
                                              const PlanRequest& request) {
  if (request.order == CandidateOrder::kAutoscaler) return std::nullopt;
  std::vector<NodeId> candidates = OrderedCandidates(cluster.snapshot, groups, request);
  NodeSet unneeded(cluster.snapshot.catalog().nodes());
  if (*setting.before) {
    for (const auto& timer : (*setting.before)->timers) {
      const auto node = cluster.snapshot.catalog().FindNode(timer.node);
      if (timer.judged && node.ok()) unneeded.Insert(*node);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [&](NodeId a, NodeId b) {
    return unneeded.Contains(a) && !unneeded.Contains(b);
  });
  return candidates;
}

// The plan as it is told: packed pods are the pending ones.
PlanResult PlanOfRound(const LoadedCluster& cluster, const RoundResult& result,
                       NodesOutsideThePlan outside) {
  PlanResult made;
  made.plan = result.plan;
  made.plan.skipped.insert(made.plan.skipped.end(), outside.not_judged.begin(),
                           outside.not_judged.end());
  const absl::flat_hash_set<PodId> pending(cluster.pending.begin(), cluster.pending.end());
  std::erase_if(made.plan.packed, [&](const Move& move) { return !pending.contains(move.pod); });
  made.excluded = std::move(outside.excluded);
  made.passes = 1;
  return made;
}

absl::StatusOr<std::unique_ptr<MadeRound>> MakeRound(ScaleDown& scale_down, LoadedCluster& cluster,
                                                     const RoundSetting& setting) {
  auto round = std::make_unique<MadeRound>();
  round->groups = AssignGroups(cluster.snapshot.catalog(), setting.files->groups);
  CountUnregistered(setting.files->events, setting.files->groups, round->groups, round->log);
  ResolvedEvents events =
      Resolve(setting.files->events, cluster.snapshot, round->groups, setting.now_s);
  round->log.insert(round->log.end(), events.log.begin(), events.log.end());
  round->failed_deletions = std::move(events.failed_deletions);
  round->request.planner = scale_down.options().planner;
  round->request.order = setting.command->Order();
  round->request.now_s = setting.now_s;
  const auto candidates = Candidates(setting, cluster, round->groups, round->request);

  RoundInput input;
  input.now_s = setting.now_s;
  input.actuation = &events.actuation;
  input.events = events.scale_events;
  input.ended = events.ended;
  input.candidates = candidates ? &*candidates : nullptr;
  input.pending = cluster.pending;
  input.deadline = setting.deadline;
  const Clock::time_point start = Clock::now();
  absl::StatusOr<RoundResult> result = scale_down.Round(cluster.snapshot, round->groups, input);
  if (!result.ok()) return result.status();
  round->result = *std::move(result);
  round->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  round->log.insert(round->log.end(), round->result.log.begin(), round->result.log.end());
  round->deletions_in_progress =
      static_cast<int64_t>(events.actuation.empty.size() + events.actuation.drained.size());
  round->made =
      PlanOfRound(cluster, round->result,
                  OutsideThePlan(cluster.snapshot, round->groups, events.actuation, round->result));
  round->request.now_s = round->result.now_s;
  round->report = MakeReport({.cluster = &cluster,
                              .groups = &round->groups,
                              .request = &round->request,
                              .made = &round->made,
                              .pass_s = round->seconds});
  round->json = PlanJson(*round->report);
  PutRound(cluster.snapshot.catalog(), round->groups, events.actuation, setting.number,
           round->result, round->json);
  return round;
}

// The flags that were given, for a replay: names and values, not files.
Json GivenFlags(const CLI::App& app) {
  Json flags = Json::object();
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (option->count() == 0 || names.empty() || IsOtherAutoscalerFlag(*option)) continue;
    const std::string& name = names[0];
    static constexpr std::string_view kNotDecisive[] = {
        "help",        "state",  "state-rounds",    "record",   "metrics", "events",
        "node-groups", "output", "explain",         "stats",    "now",     "threads",
        "all",         "strict", "max-input-bytes", "exit-code"};
    if (std::find(std::begin(kNotDecisive), std::end(kNotDecisive), name) !=
        std::end(kNotDecisive)) {
      continue;
    }
    flags[name] = option->results();
  }
  return flags;
}

std::string Digest(std::string_view arguments, std::string_view input) {
  XXH3_state_t* const state = XXH3_createState();
  XXH3_128bits_reset(state);
  XXH3_128bits_update(state, arguments.data(), arguments.size());
  XXH3_128bits_update(state, input.data(), input.size());
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void Print(const std::string& format, bool all_rows, const MadeRound& round, std::ostream& out) {
  if (format == "json") {
    out << IndentedJson(round.json);
  } else if (format == "yaml") {
    out << Yaml(round.json);
  } else if (format == "name") {
    for (const char* kind : {"empty", "drain"}) {
      for (const auto& name : round.json.at("deleteNow").at(kind)) {
        out << "node/" << Printable(name.get<std::string>()) << "\n";
      }
    }
  } else {
    if (format == "csv") return PrintCsv(*round.report, out);
    const Terminal terminal = OutputTerminal();
    PrintPlan(*round.report, format == "wide" ? PlanFormat::kWide : PlanFormat::kTable,
              {.terminal = terminal, .all_rows = all_rows}, out);
    PrintRound(round.json, terminal, out);
  }
}

// The files that outlive the round.
struct Stores {
  std::unique_ptr<SqliteState> state;
  std::optional<ScaleDownState> before;
  Metrics metrics;
  std::unique_ptr<SqliteState> record;  // May be null.
};

absl::Status OpenStores(const RoundFlags& flags, Stores& stores) {
  auto state = SqliteState::Open(flags.state, {.rounds_max = flags.rounds_kept});
  if (!state.ok()) return state.status();
  stores.state = *std::move(state);
  auto before = stores.state->Load();
  if (!before.ok()) return before.status();
  stores.before = *std::move(before);
  auto counters = stores.state->LoadCounters();
  if (!counters.ok()) return counters.status();
  stores.metrics.Restore(*counters);
  if (flags.record.empty()) return absl::OkStatus();
  auto record = SqliteState::Open(flags.record, {.rounds_max = 0});
  if (!record.ok()) return record.status();
  stores.record = *std::move(record);
  return absl::OkStatus();
}

// Whether the state may be of the cluster at hand.  Where kube-system tells, it is certain;
// else the nodes are looked at that the state remembers and that no deletion was asked for.
// Errors: it is another cluster's.
absl::Status CheckCluster(const RoundFlags& flags, const std::string& cluster_uid, Stores& stores,
                          LoadedCluster& cluster) {
  if (!cluster_uid.empty()) {
    const ClusterId id = ClusterOf(cluster_uid);
    const std::optional<ClusterId> before = stores.state->cluster();
    if (before && *before != id) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.state,
                       ": is the state of another cluster: its namespace kube-system had another "
                       "UID; name a state file of this cluster, or a new one"));
    }
    stores.state->SetCluster(id);
    if (before) return absl::OkStatus();
  }
  if (!stores.before) return absl::OkStatus();
  const ScaleDownState& state = *stores.before;
  const Catalog& catalog = cluster.snapshot.catalog();
  const auto is_there = [&](std::string_view node) { return catalog.FindNode(node).ok(); };
  std::set<std::string_view> gone;
  for (const auto& deletion : state.started) gone.insert(deletion.node);
  size_t remembered = 0;
  size_t same = 0;
  size_t returned = 0;  // Under another UID, as one may that was repaired.
  for (const auto& timer : state.timers) {
    if (gone.contains(timer.node)) continue;
    ++remembered;
    const auto node = catalog.FindNode(timer.node);
    if (!node.ok()) continue;
    const bool is_same = timer.uid.empty() || catalog.Text(catalog.node(*node).uid) == timer.uid;
    ++(is_same ? same : returned);
  }
  size_t named = 0;
  for (const auto& node : state.planner.unremovable) {
    ++remembered;
    named += is_there(node.node) ? 1 : 0;
  }
  for (const auto& hint : state.planner.hints) {
    ++remembered;
    named += is_there(hint.node) ? 1 : 0;
  }
  const bool all_returned = same == 0 && returned > 1;
  const bool none_there = remembered > 0 && same + returned + named == 0;
  if (all_returned || none_there) {
    cluster.warnings.push_back(
        {"StateOfAnotherCluster",
         absl::StrCat("no node that ", Printable(flags.state), " remembers is in the input",
                      all_returned ? " with the UID that it had" : "",
                      ": the state seems to be of another cluster"),
         ""});
  }
  return absl::OkStatus();
}

int64_t UnregisteredNodes(const RoundEvents& events) {
  int64_t count = 0;
  for (const auto& group : events.unregistered) count += group.count;
  return count;
}

// Whether round `number` may be added to the record: a replay goes from round to round, so
// there may be no gap.
absl::StatusOr<bool> MayBegin(SqliteState& record, const std::string& path, int64_t number) {
  const absl::StatusOr<std::optional<ScaleDownState>> begun = record.Load();
  if (!begun.ok()) return begun.status();
  if (!begun->has_value()) return true;
  absl::StatusOr<int64_t> last = record.LastRound();
  if (!last.ok()) return last.status();
  if (*last == 0) *last = (*begun)->rounds;
  // Round `number` itself is there if its process was killed before it saved the state.
  if (*last != number - 1 && *last != number) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ends with round ", *last, ", and this is round ", number, "; begin a new record"));
  }
  return (*begun)->rounds == number - 1;
}

// Adds the round to the record.  One that begins with it gets the state before it too.
absl::Status AddToRecord(SqliteState& record, const std::string& path, const ScaleDownState& before,
                         const RoundRecord& round) {
  const absl::StatusOr<bool> begins = MayBegin(record, path, round.round);
  if (!begins.ok()) return begins.status();
  return *begins ? record.Save(before, round, {}) : record.Append(round);
}

}  // namespace

int RunRound(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  const RoundFlags& flags = command.over_time;
  if (flags.app != nullptr) TellIgnoredFlags(*flags.app, err);
  flags.WarnOld(err);
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  absl::StatusOr<RoundFiles> files = ReadFiles(command);
  if (!files.ok()) return Fail(files.status(), err);
  Stores stores;
  if (absl::Status s = OpenStores(flags, stores); !s.ok()) return Fail(s, err);

  const Parallelism parallelism(command.threads);
  const Clock::time_point start = Clock::now();
  ImportStats stats;
  InputWatch watch;
  const auto load = [&] {
    stats = {};
    return Load(command.load, flags.events, files->events, stores.before, [&](ObjectSink& sink) {
      return watch.Read(command.inputs, sink, stats, parallelism, command.load.limits);
    });
  };
  absl::StatusOr<RoundSource> source = load();
  if (source.ok() && watch.MustReadAgain()) source = load();
  if (!source.ok()) return Fail(source.status(), err);
  LoadedCluster& cluster = source->cluster;
  if (absl::Status s = JudgeInput(watch, std::move(stats), command.load, cluster); !s.ok()) {
    return Fail(s, err);
  }
  if (absl::Status s = CheckCluster(flags, watch.cluster_uid(), stores, cluster); !s.ok()) {
    return Fail(s, err);
  }
  const absl::StatusOr<int64_t> now_s = command.Accept(files->groups, cluster);
  if (!now_s.ok()) {
    PrintLoadWarnings(cluster, err);
    return Fail(now_s.status(), err);
  }
  if (*now_s < 0) {
    return Fail(absl::InvalidArgumentError("--now: a round is not before 1970"), err);
  }
  const double import_s = std::chrono::duration<double>(Clock::now() - start).count();

  ScaleDown scale_down(OptionsOf(command));
  const std::shared_ptr<Symbols> symbols = cluster.snapshot.catalog().shared_symbols();
  if (stores.before) scale_down.Restore(*stores.before, symbols);
  const int64_t number = stores.before ? stores.before->rounds + 1 : 1;
  ScaleDownState recorded_before;
  if (stores.record) {
    if (const auto may = MayBegin(*stores.record, flags.record, number); !may.ok()) {
      return Fail(may.status(), err);
    }
    recorded_before = scale_down.Save(*symbols);
  }
  std::optional<RoundDeadline> deadline;
  if (!command.simulation_timeout.empty())
    deadline.emplace(*ParseDuration(command.simulation_timeout));
  const RoundSetting setting{.command = &command,
                             .files = &*files,
                             .before = &stores.before,
                             .now_s = *now_s,
                             .number = number,
                             .deadline = deadline ? &*deadline : nullptr};
  const absl::StatusOr<std::unique_ptr<MadeRound>> made_round =
      MakeRound(scale_down, cluster, setting);
  PrintLoadWarnings(cluster, err);
  if (!made_round.ok()) return Fail(made_round.status(), err);
  const std::unique_ptr<MadeRound>& round = *made_round;
  for (const std::string& line : source->log) PrintMessage(Printable(line), err);
  for (const std::string& line : round->log) PrintMessage(Printable(line), err);
  if (round->result.status == ScaleDownStatus::kError) {
    // Nothing else of this round is kept.
    if (absl::Status s = stores.state->Count({Metrics::kErrors, "internalError", -1, 1}); !s.ok()) {
      PrintMessage(std::string(s.message()), err);
    }
    return Fail(absl::InternalError(round->result.message), err);
  }
  stores.metrics.Observe({.catalog = &cluster.snapshot.catalog(),
                          .result = &round->result,
                          .snapshot = &cluster.snapshot,
                          .max_node_startup_time_s = scale_down.options().max_node_startup_time_s,
                          .unregistered_nodes = UnregisteredNodes(files->events),
                          .pending_pods = static_cast<int64_t>(cluster.pending.size()),
                          .deletions_in_progress = round->deletions_in_progress,
                          .failed_deletions = round->failed_deletions,
                          .seconds = round->seconds});

  RoundRecord entry;
  entry.round = setting.number;
  entry.now_s = setting.now_s;
  entry.status = std::string(ToString(round->result.status));
  entry.decision = CompactJson(round->json);
  const std::string arguments =
      CompactJson(Json{{"flags", flags.app != nullptr ? GivenFlags(*flags.app) : Json::object()},
                       {"nodeGroups", files->groups_text},
                       {"events", files->events_text},
                       {"warnings", InputWarningsJson(cluster.warnings)},
                       {"rules", kRecordRules},
                       {"deadlineQuestion", deadline ? deadline->expired_at() : 0}});
  entry.input_digest = Digest(arguments, source->snapshot);
  // A file that cannot be made is no reason to lose what the round decided.
  std::optional<OutputFile> metrics;
  if (!flags.metrics.empty() && flags.metrics != "-") {
    absl::StatusOr<OutputFile> made = OutputFile::Create(flags.metrics);
    if (!made.ok()) return Fail(made.status(), err);
    metrics.emplace(*std::move(made));
  }
  // The record comes first, so that no round that counts is missing in it, and only once the
  // state is this round's, so that it holds none that was refused.
  std::function<absl::Status()> add_to_record;
  if (stores.record) {
    add_to_record = [&] {
      RoundRecord whole = entry;
      whole.arguments = arguments;
      whole.input = std::move(source->snapshot);
      return AddToRecord(*stores.record, flags.record, recorded_before, whole);
    };
  }
  if (absl::Status s = stores.state->SaveAfter(scale_down.Save(*symbols), entry,
                                               stores.metrics.Save(), add_to_record);
      !s.ok()) {
    return Fail(s, err);
  }
  // Nobody is told of a deletion that the state does not know.
  Print(command.output, command.all_rows, *round, out);
  if (flags.metrics == "-") out << stores.metrics.Text();
  out.flush();  // Before the file, which may be standard output by another name.
  if (!out.good()) {
    PrintMessage(fmt::format("round {} was made and is in the state, but what it decided could "
                             "not be printed; the next round names its nodes again",
                             number),
                 err);
  }
  if (metrics) {
    absl::Status s = metrics->Write(stores.metrics.Text());
    if (s.ok()) s = metrics->Commit();
    if (!s.ok()) {
      return Fail(absl::InvalidArgumentError(absl::StrCat(
                      s.message(), "; round ", number,
                      " was made and is in the state, the next one writes its metrics")),
                  err);
    }
  }
  if (!out.good()) return 1;
  if (command.stats) PrintStats(*round->report, import_s, err);
  if (round->result.status == ScaleDownStatus::kClockJumped) {
    PrintMessage(round->result.message +
                     "; see `ebb state set-clock` and --clock-jump-max in docs/rounds.md",
                 err);
    return kExitClockJumped;
  }
  const auto& started = round->result.start;
  return command.ExitCode(!started.empty.empty() || !started.drain.empty());
}

namespace {

// What a recorded round was given.
struct ReplayInput {
  std::unique_ptr<CLI::App> app;  // The command points into it.
  PlanCommand command;
  RoundFiles files;
  std::vector<InputWarning> warnings;  // They rest on what the record's form does not hold.
  int64_t deadline_question = 0;
  int64_t rules = 1;
};

absl::Status Damaged(const std::string& name) {
  return absl::InvalidArgumentError(name + ": its arguments are damaged");
}

absl::Status ParseArguments(const std::string& name, const RoundRecord& entry, ReplayInput& input) {
  const Json arguments = Json::parse(entry.arguments, nullptr, /*allow_exceptions=*/false);
  if (!arguments.is_object() || !arguments.contains("flags") || !arguments["flags"].is_object()) {
    return Damaged(name);
  }
  input.files.groups_text = arguments.value("nodeGroups", "");
  input.files.events_text = arguments.value("events", "");
  input.warnings = InputWarningsFrom(arguments.value("warnings", Json::array()));
  input.deadline_question = arguments.value("deadlineQuestion", int64_t{0});
  input.app = std::make_unique<CLI::App>();
  input.command.AddTo(*input.app);
  std::vector<std::string> words = {"-"};  // In reverse, as CLI11 takes them.
  for (const auto& [flag, values] : arguments.at("flags").items()) {
    for (const auto& value : values) {
      if (!value.is_string()) return Damaged(name);
      words.push_back("--" + flag + "=" + value.get<std::string>());
    }
  }
  // Before there were rules about jumps every time was believed.
  input.rules = arguments.value("rules", int64_t{1});
  if (input.rules < kRulesWithJumps) words.push_back("--clock-jump-max=0s");
  std::reverse(words.begin(), words.end());
  try {
    input.app->parse(words);
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(name + ": " + error.what());
  }
  if (!input.files.groups_text.empty()) {
    absl::StatusOr<GroupRules> rules = ParseGroups(name, input.files.groups_text);
    if (!rules.ok()) return rules.status();
    input.files.groups = *std::move(rules);
  }
  input.command.AddNodes(input.files.groups);
  if (!input.files.events_text.empty()) {
    absl::StatusOr<RoundEvents> events = ParseEvents(name, input.files.events_text);
    if (!events.ok()) return events.status();
    input.files.events = *std::move(events);
  }
  return absl::OkStatus();
}

// The text of a member; "" where there is none.
std::string TextOf(const Json& json, const char* member) {
  const auto found = json.is_object() ? json.find(member) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// A decision that was recorded by earlier rules, in the words of today's: a round that judged
// nothing said "complete" and NotUnneededOtherReason, and one that was held back by the budget
// for drains alone said ScaleDownNoNodeDeleted.
void TellInTodaysWords(int64_t rules, Json& decision) {
  if (rules >= kRulesWithNotStarted) return;
  const std::string status = TextOf(decision, "status");
  const bool not_started =
      status == "ScaleDownClockJumped" || status == "ScaleDownClusterUnhealthy";
  if (status == "ScaleDownNoNodeDeleted" &&
      TextOf(decision, "message").find("the budgets admit none") != std::string::npos) {
    decision["status"] = "ScaleDownThrottled";
  }
  if (!not_started && status != "ScaleDownNoRoomForPods") return;
  const std::string was(ToString(UnremovableReason::kNotUnneededOtherReason));
  const std::string is(kNotJudged);
  if (Json& summary = decision["summary"]; summary.is_object()) {
    if (not_started) summary["termination"] = ToString(Termination::kNotStarted);
    Json& counts = summary["keptByReason"];
    if (counts.is_object() && counts.contains(was)) {
      counts[is] = counts[was];
      counts.erase(was);
    }
  }
  for (Json& node : decision["keep"]) {
    if (TextOf(node, "reason") == was) node["reason"] = is;
  }
}

// Where the decision made now departs from the recorded one; "" if it is the same bytes.
std::string Departure(const std::string& recorded, int64_t rules, const Json& now) {
  if (CompactJson(now) == recorded) return "";
  Json before = Json::parse(recorded, nullptr, /*allow_exceptions=*/false);
  if (before.is_discarded()) return "the recorded decision is no JSON";
  TellInTodaysWords(rules, before);
  const bool same_fields = rules == kRecordRules;
  const std::string difference =
      FirstDifference(before, now, same_fields ? AddedMembers::kDiffer : AddedMembers::kIgnore);
  return difference.empty() && same_fields ? "the same values in other bytes" : difference;
}

// Runs one recorded round; `state` goes on from it.
absl::StatusOr<std::string> ReplayRound(const std::string& name, const RoundRecord& entry,
                                        std::optional<ScaleDownState>& state) {
  if (Digest(entry.arguments, entry.input) != entry.input_digest) {
    return absl::InvalidArgumentError(name + ": is damaged: its input is not what was recorded");
  }
  ReplayInput input;
  if (absl::Status s = ParseArguments(name, entry, input); !s.ok()) return s;
  ImportStats stats;
  absl::StatusOr<RoundSource> source =
      Load(input.command.load, name, input.files.events, state, [&](ObjectSink& sink) {
        // The digest vouches for records of an older ebb.
        return ReadBinarySnapshot(name, entry.input, sink, stats, SnapshotVersions::kUncheckedToo);
      });
  if (!source.ok()) return source.status();
  source->cluster.warnings = std::move(input.warnings);
  const std::shared_ptr<Symbols> symbols = source->cluster.snapshot.catalog().shared_symbols();
  ScaleDown scale_down(OptionsOf(input.command));
  if (state) scale_down.Restore(*state, symbols);
  const RoundDeadline deadline(input.deadline_question);
  const absl::StatusOr<std::unique_ptr<MadeRound>> round =
      MakeRound(scale_down, source->cluster,
                {.command = &input.command,
                 .files = &input.files,
                 .before = &state,
                 .now_s = entry.now_s,
                 .number = entry.round,
                 .deadline = input.command.simulation_timeout.empty() ? nullptr : &deadline});
  if (!round.ok()) return round.status();
  state = scale_down.Save(*symbols);
  return Departure(entry.decision, input.rules, (*round)->json);
}

}  // namespace

void ReplayCommand::AddTo(CLI::App& app) {
  app.add_option("RECORD", record, "A file that `ebb plan --record` wrote")
      ->check(values::File())
      ->required();
}

int ReplayCommand::Run(std::ostream& out, std::ostream& err) const {
  const UsedFile file{"RECORD", record, FileUse::kDatabase};
  if (absl::Status s = CheckFiles({&file, 1}); !s.ok()) return Fail(s, err);
  auto opened = SqliteState::Open(record, {.rounds_max = 0, .read_only = true});
  if (!opened.ok()) return Fail(opened.status(), err);
  auto rounds = (*opened)->Rounds();
  if (!rounds.ok()) return Fail(rounds.status(), err);
  auto loaded = (*opened)->Load();
  if (!loaded.ok()) return Fail(loaded.status(), err);
  std::optional<ScaleDownState> state = *std::move(loaded);
  if (!rounds->empty() && rounds->front().arguments.empty()) {
    return Fail(absl::InvalidArgumentError(
                    record + ": is a state file, not a record that `ebb plan --record` wrote"),
                err);
  }

  if (rounds->empty()) {
    return Fail(absl::InvalidArgumentError(record + ": holds no round"), err);
  }

  size_t same = 0;
  int64_t number = state ? state->rounds : 0;
  for (const RoundRecord& entry : *rounds) {
    if (++number != entry.round) {
      return Fail(absl::InvalidArgumentError(
                      fmt::format("{}: round {} is missing: the file is damaged or was changed by "
                                  "another program",
                                  record, number)),
                  err);
    }
    const std::string name = fmt::format("{}: round {}", record, entry.round);
    const absl::StatusOr<std::string> departure = ReplayRound(name, entry, state);
    if (!departure.ok()) return Fail(departure.status(), err);
    same += departure->empty() ? 1 : 0;
    out << fmt::format(
        "round {} at {}: {}\n", entry.round, FormatRfc3339(entry.now_s),
        departure->empty() ? "identical" : "DIFFERENT: " + PrintableLine(*departure));
  }
  out << fmt::format("{} of {} rounds identical\n", same, rounds->size());
  out.flush();
  return same == rounds->size() ? 0 : 1;
}

}  // namespace ebb
