#include "tools/round_command.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/displaced.h"
#include "tools/binary_snapshot.h"
#include "tools/duration.h"
#include "tools/groups.h"
#include "tools/json_text.h"
#include "tools/metrics.h"
#include "tools/plan_command.h"
#include "tools/plan_json.h"
#include "tools/plan_report.h"
#include "tools/rfc3339.h"
#include "tools/sqlite_state.h"
#include "tools/table.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// A taint older than this belongs to a deletion that was given up.
constexpr int64_t kDeletionTimeoutS = 300;

int64_t Seconds(const std::string& duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(*ParseDuration(duration)).count();
}

std::string CheckDuration(const std::string& text) {
  return ParseDuration(text) ? "" : "\"" + text + "\" is not a duration such as 30s or 1h30m";
}

// "2:100", of which the minimum counts here.
std::optional<int64_t> Minimum(const std::string& range) {
  int64_t min = 0;
  int64_t max = 0;
  const char* const end = range.data() + range.size();
  const auto first = std::from_chars(range.data(), end, min);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, max);
  if (second.ec != std::errc() || second.ptr != end || min < 0 || max < min) return std::nullopt;
  return min;
}

std::string CheckRange(const std::string& text) {
  return Minimum(text) ? "" : "\"" + text + "\" is not a range such as 8:320000";
}

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

struct RoundSource {
  LoadedCluster cluster;
  std::string snapshot;  // The same as a binary snapshot.
};

absl::StatusOr<RoundSource> Load(const LoadOptions& options,
                                 const std::function<absl::Status(ObjectSink&)>& read) {
  std::string bytes;
  BinarySnapshotWriter writer([&](std::string_view chunk) {
    bytes.append(chunk);
    return absl::OkStatus();
  });
  ClusterLoader loader(options);
  Tee tee(loader, writer);
  if (absl::Status s = read(tee); !s.ok()) return s;
  if (absl::Status s = writer.Finish(); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return cluster.status();
  if (cluster->snapshot.nodes() == 0) return absl::InvalidArgumentError("no nodes in the input");
  return RoundSource{*std::move(cluster), std::move(bytes)};
}

absl::StatusOr<std::string> ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// The options of the round that the flags ask for.
ScaleDownOptions OptionsOf(const PlanCommand& command) {
  const RoundFlags& flags = command.over_time;
  ScaleDownOptions options = flags.options;
  options.verify = VerifyPlans::kAlways;
  options.planner = command.planner;
  options.planner.drain.blocking_system_pod_disruption_timeout_s =
      Seconds(command.blocking_system_pod_timeout);
  options.planner.unremovable_node_recheck_timeout_s = Seconds(flags.recheck_timeout);
  options.deletion.scale_down_unneeded_time_s = Seconds(flags.unneeded_time);
  options.deletion.scale_down_unready_time_s = Seconds(flags.unready_time);
  options.deletion.minimums = {.cores = *Minimum(flags.cores_total),
                               .memory_bytes = *Minimum(flags.memory_total) * (int64_t{1} << 30),
                               .nodes = flags.nodes_min};
  options.cooldown.scale_down_delay_after_add_s = Seconds(flags.delay_after_add);
  options.cooldown.scale_down_delay_after_delete_s = Seconds(flags.delay_after_delete);
  options.cooldown.scale_down_delay_after_failure_s = Seconds(flags.delay_after_failure);
  options.node_deletion_candidate_ttl_s = Seconds(flags.deletion_candidate_ttl);
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

// Deletions as the nodes' taints tell of them.
ActuationStatus StatusFromTaints(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                 int64_t now_s) {
  ActuationStatus status;
  const Catalog& catalog = snapshot.catalog();
  snapshot.alive().ForEach([&](NodeId node) {
    const std::optional<int64_t> since_s = catalog.node(node).to_be_deleted;
    if (!since_s || now_s - *since_s >= kDeletionTimeoutS) return;
    const NodeGroup* const group = groups.Find(node);
    auto& list = PodsToReplace(snapshot, node, now_s).empty() ? status.empty : status.drained;
    list.push_back({std::string(catalog.NodeName(node)), group == nullptr ? "" : group->name});
  });
  return status;
}

// Nodes that were no candidates, with the reason.
std::vector<UnremovableNode> Excluded(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const ActuationStatus& status, const RoundResult& result) {
  const Catalog& catalog = snapshot.catalog();
  NodeSet judged(catalog.nodes());
  for (const RemovableNode& node : result.plan.remove) judged.Insert(node.node);
  for (const UnremovableNode& node : result.plan.keep) judged.Insert(node.node);
  for (const NodeId node : result.plan.skipped) judged.Insert(node);
  NodeSet in_deletion(catalog.nodes());
  for (const auto* list : {&status.empty, &status.drained}) {
    for (const NodeInDeletion& node : *list) {
      if (const auto id = catalog.FindNode(node.name); id.ok()) in_deletion.Insert(*id);
    }
  }
  std::vector<UnremovableNode> excluded;
  snapshot.alive().ForEach([&](NodeId node) {
    if (judged.Contains(node)) return;
    UnremovableNode& why = excluded.emplace_back();
    why.node = node;
    const NodeGroup* const group = groups.Find(node);
    if (in_deletion.Contains(node)) {
      why.reason = UnremovableReason::kCurrentlyBeingDeleted;
    } else if (group == nullptr) {
      why.reason = UnremovableReason::kNotAutoscaled;
    } else if (group->target_size <= group->min_size) {
      why.reason = UnremovableReason::kNodeGroupMinSizeReached;
    } else {
      why.reason = UnremovableReason::kNotUnneededOtherReason;
    }
  });
  return excluded;
}

Json NamesOf(const Catalog& catalog, const std::vector<DeletionBucket>& buckets) {
  Json names = Json::array();
  for (const DeletionBucket& bucket : buckets) {
    for (const NodeId node : bucket.nodes) names.push_back(catalog.NodeName(node));
  }
  return names;
}

Json NamesOf(const Catalog& catalog, const std::vector<NodeId>& nodes) {
  Json names = Json::array();
  for (const NodeId node : nodes) names.push_back(catalog.NodeName(node));
  return names;
}

// What a round's plan says beside any plan.
void PutRound(const Catalog& catalog, const NodeGroups& groups, int64_t number,
              const RoundResult& result, Json& json) {
  json["round"] = number;
  json["status"] = ToString(result.status);
  if (!result.message.empty()) json["message"] = result.message;
  Json unneeded = Json::array();
  for (const UnneededNode& node : result.unneeded) {
    unneeded.push_back(
        {{"node", catalog.NodeName(node.node)}, {"since", FormatRfc3339(node.since_s)}});
  }
  json["unneeded"] = std::move(unneeded);
  json["deleteNow"] = {{"empty", NamesOf(catalog, result.start.empty)},
                       {"drain", NamesOf(catalog, result.start.drain)}};
  Json not_yet = Json::array();
  for (const NotYet& node : result.may_go.not_yet) {
    not_yet.push_back({{"node", catalog.NodeName(node.node)}, {"reason", ToString(node.reason)}});
  }
  json["notYet"] = std::move(not_yet);
  json["softTaints"] = {{"taint", NamesOf(catalog, result.soft_taints.taint)},
                        {"untaint", NamesOf(catalog, result.soft_taints.untaint)}};
  json["longestSkippedSeconds"] = result.longest_skipped_s;
  Json counts = Json::array();
  for (size_t g = 0; g < groups.groups.size(); ++g) {
    const GroupCounts& c = result.groups[g];
    counts.push_back({{"group", groups.groups[g].name},
                      {"nodes", c.nodes},
                      {"unneeded", c.unneeded},
                      {"needed", c.needed},
                      {"unremovable", c.unremovable},
                      {"inDeletion", c.in_deletion}});
  }
  json["groups"] = std::move(counts);
}

// A round that was made: what it decided, and what printing it needs.
struct MadeRound {
  PlanRequest request;
  NodeGroups groups;
  MadePlan made;
  RoundResult result;
  Json json;
};

// `number`: of the round, from 1.
std::unique_ptr<MadeRound> MakeRound(ScaleDown& scale_down, LoadedCluster& cluster,
                                     const GroupRules& rules, int64_t now_s, int64_t number) {
  auto round = std::make_unique<MadeRound>();
  round->groups = AssignGroups(cluster.snapshot.catalog(), rules);
  const ActuationStatus status = StatusFromTaints(cluster.snapshot, round->groups, now_s);
  RoundInput input;
  input.now_s = now_s;
  input.actuation = &status;
  input.pending = cluster.pending;
  const auto start = std::chrono::steady_clock::now();
  round->result = scale_down.Round(cluster.snapshot, round->groups, input);
  round->made.pass_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  round->made.plan = round->result.plan;
  round->made.excluded = Excluded(cluster.snapshot, round->groups, status, round->result);
  round->made.passes = 1;
  round->request.planner = scale_down.options().planner;
  round->request.now_s = round->result.now_s;
  const PlanReport report = MakeReport({&cluster, &round->groups, &round->request, &round->made});
  round->json = PlanJson(report);
  PutRound(cluster.snapshot.catalog(), round->groups, number, round->result, round->json);
  return round;
}

// The flags that were given, for a replay: names and values, not files.
Json GivenFlags(const CLI::App& app) {
  Json flags = Json::object();
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (option->count() == 0 || names.empty()) continue;
    const std::string& name = names[0];
    static constexpr std::string_view kNotDecisive[] = {
        "help", "state", "record", "metrics", "node-groups", "output", "explain", "stats", "now"};
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

int Fail(const absl::Status& status, std::ostream& err) {
  err << "ebb: " << status.message() << "\n";
  return 1;
}

std::string JoinNames(const Json& names) {
  std::string text;
  for (const auto& name : names) text += " " + name.get<std::string>();
  return text;
}

void PrintRoundTable(const Json& json, const RoundResult& result, std::ostream& out) {
  out << fmt::format("\nRound {} at {}: {}{}{}\n", json.at("round").get<int64_t>(),
                     json.at("now").get<std::string>(), json.at("status").get<std::string>(),
                     result.message.empty() ? "" : ": ", result.message);
  const Json& now = json.at("deleteNow");
  if (!now.at("empty").empty()) out << "Delete now:" << JoinNames(now.at("empty")) << "\n";
  if (!now.at("drain").empty()) {
    out << "Drain and delete now:" << JoinNames(now.at("drain")) << "\n";
  }
  if (json.at("notYet").empty()) return;
  Table table({"NOT YET", "REASON", "UNNEEDED SINCE"});
  std::map<std::string, std::string> since;
  for (const auto& node : json.at("unneeded")) since[node.at("node")] = node.at("since");
  for (const auto& node : json.at("notYet")) {
    table.AddRow({node.at("node"), node.at("reason"), since[node.at("node")]});
  }
  table.Print(out);
}

void Print(const std::string& format, const LoadedCluster& cluster, const MadeRound& round,
           std::ostream& out) {
  if (format == "json") {
    out << IndentedJson(round.json);
  } else if (format == "yaml") {
    out << Yaml(round.json);
  } else if (format == "name") {
    for (const char* kind : {"empty", "drain"}) {
      for (const auto& name : round.json.at("deleteNow").at(kind)) {
        out << "node/" << name.get<std::string>() << "\n";
      }
    }
  } else {
    const PlanReport report = MakeReport({&cluster, &round.groups, &round.request, &round.made});
    PrintPlan(report, format == "wide" ? PlanFormat::kWide : PlanFormat::kTable, false, out);
    PrintRoundTable(round.json, round.result, out);
  }
}

}  // namespace

void RoundFlags::AddTo(CLI::App& command) {
  app = &command;
  const std::string group = "Over time (with --state)";
  const auto text = [&](const char* name, std::string& value, const char* help, const char* type) {
    return command.add_option(name, value, help)
        ->type_name(type)
        ->capture_default_str()
        ->group(group);
  };
  const auto duration = [&](const char* name, std::string& value, const char* help) {
    text(name, value, help, "DURATION")->check(CheckDuration);
  };
  const auto number = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)
        ->check(CLI::NonNegativeNumber)
        ->type_name("N")
        ->capture_default_str()
        ->group(group);
  };
  text("--state", state,
       "Make one round of the planner over time: go on from what this file remembers, and "
       "remember this round (made if absent)",
       "FILE");
  text("--record", record, "Add the round's input and decision to this file, for `ebb replay`",
       "FILE")
      ->needs("--state");
  text("--metrics", metrics, "Write the round's metrics in Prometheus' text form", "FILE");
  duration("--scale-down-unneeded-time", unneeded_time, "How long a node must be unneeded");
  duration("--scale-down-unready-time", unready_time, "The same for nodes that are not ready");
  duration("--unremovable-node-recheck-timeout", recheck_timeout,
           "How long a node that could not be removed is not tried again");
  number("--max-drain-parallelism", options.budgets.max_drain_parallelism,
         "Nodes that may drain at a time; --max-scale-down-parallelism (10 with --state) bounds "
         "all deletions");
  command
      .add_option("--max-empty-bulk-delete", max_empty_bulk_delete,
                  "Old name of --max-scale-down-parallelism, used where that is not given")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->group(group);
  duration("--scale-down-delay-after-add", delay_after_add, "Delete nothing so long after growth");
  duration("--scale-down-delay-after-delete", delay_after_delete,
           "Delete nothing so long after a deletion");
  duration("--scale-down-delay-after-failure", delay_after_failure,
           "Delete nothing so long after a failed deletion");
  command
      .add_flag("--scale-down-delay-type-local", options.cooldown.scale_down_delay_type_local,
                "These delays hold back the group alone that they happened to [false]")
      ->group(group);
  number("--ok-total-unready-count", options.ok_total_unready_count,
         "So many unready nodes are no reason to stop");
  number("--max-total-unready-percentage", options.max_total_unready_percentage,
         "More unready nodes than this stop every deletion");
  number("--max-bulk-soft-taint-count", options.max_bulk_soft_taint_count,
         "Soft taints changed in a round");
  duration("--node-deletion-candidate-ttl", deletion_candidate_ttl,
           "In the first round of all, take timers from soft taints not older than this");
  text("--cores-total", cores_total, "Cores that the cluster keeps, as min:max", "MIN:MAX")
      ->check(CheckRange);
  text("--memory-total", memory_total, "GiB of memory that the cluster keeps, as min:max",
       "MIN:MAX")
      ->check(CheckRange);
  number("--nodes-min", nodes_min, "Nodes that the cluster keeps");
  text("--displaced-pods", displaced_pods,
       "must-fit: nothing goes while pods of nodes in deletion find no room; best-effort: as the "
       "autoscaler",
       "MODE")
      ->check(CLI::IsMember({"must-fit", "best-effort"}));
}

int RunRound(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  const RoundFlags& flags = command.over_time;
  if (flags.max_empty_bulk_delete) {
    err << "ebb: warning: --max-empty-bulk-delete is old; use --max-scale-down-parallelism\n";
  }
  std::string groups_text;
  GroupRules rules;
  if (!command.node_groups.empty()) {
    absl::StatusOr<std::string> text = ReadWhole(command.node_groups);
    if (!text.ok()) return Fail(text.status(), err);
    groups_text = *std::move(text);
    absl::StatusOr<GroupRules> read = ParseGroups(command.node_groups, groups_text);
    if (!read.ok()) return Fail(read.status(), err);
    rules = *std::move(read);
  }

  std::unique_ptr<SqliteState> store;
  std::optional<ScaleDownState> before;
  if (!flags.state.empty()) {
    auto opened = SqliteState::Open(flags.state, {});
    if (!opened.ok()) return Fail(opened.status(), err);
    store = *std::move(opened);
    auto loaded = store->Load();
    if (!loaded.ok()) return Fail(loaded.status(), err);
    before = *std::move(loaded);
  }
  std::unique_ptr<SqliteState> record;
  if (!flags.record.empty()) {
    auto opened = SqliteState::Open(flags.record, {.rounds_max = 0});
    if (!opened.ok()) return Fail(opened.status(), err);
    record = *std::move(opened);
  }

  const Parallelism parallelism(command.threads);
  ImportStats stats;
  absl::StatusOr<RoundSource> source = Load(command.load, [&](ObjectSink& sink) -> absl::Status {
    for (const std::string& input : command.inputs) {
      if (absl::Status s = ReadInput(input, sink, stats, parallelism); !s.ok()) return s;
    }
    return absl::OkStatus();
  });
  if (!source.ok()) return Fail(source.status(), err);
  LoadedCluster& cluster = source->cluster;
  cluster.counts.input = std::move(stats);

  ScaleDown scale_down(OptionsOf(command));
  Symbols& symbols = *cluster.snapshot.catalog().shared_symbols();
  if (before) scale_down.Restore(*before, symbols);
  const int64_t number = before ? before->rounds + 1 : 1;
  if (record) {
    auto rounds = record->Load();
    if (!rounds.ok()) return Fail(rounds.status(), err);
    if (!*rounds) {  // A new record: replays begin with the state as it is now.
      if (absl::Status s = record->SaveState(scale_down.Save(symbols)); !s.ok()) {
        return Fail(s, err);
      }
    }
  }

  const int64_t now_s = command.NowOf(cluster);
  const std::unique_ptr<MadeRound> round = MakeRound(scale_down, cluster, rules, now_s, number);
  for (const std::string& line : round->result.log) err << "ebb: " << line << "\n";
  if (round->result.status == ScaleDownStatus::kError) {
    return Fail(absl::InternalError(round->result.message), err);
  }

  RoundRecord entry;
  entry.round = number;
  entry.now_s = now_s;
  entry.status = std::string(ToString(round->result.status));
  entry.decision = CompactJson(round->json);
  const std::string arguments =
      CompactJson(Json{{"flags", flags.app != nullptr ? GivenFlags(*flags.app) : Json::object()},
                       {"nodeGroups", groups_text}});
  entry.input_digest = Digest(arguments, source->snapshot);
  if (store) {
    if (absl::Status s = store->Save(scale_down.Save(symbols), entry); !s.ok()) {
      return Fail(s, err);
    }
  }
  if (record) {
    entry.arguments = arguments;
    entry.input = std::move(source->snapshot);
    if (absl::Status s = record->Append(entry); !s.ok()) return Fail(s, err);
  }
  if (!flags.metrics.empty()) {
    Metrics metrics;
    metrics.Observe(round->result, round->made.pass_s);
    std::ofstream file(flags.metrics);
    if (!(file << metrics.Text())) {
      return Fail(absl::InvalidArgumentError(flags.metrics + ": cannot be written"), err);
    }
  }
  Print(command.output, cluster, *round, out);
  out.flush();
  return 0;
}

void ReplayCommand::AddTo(CLI::App& app) {
  app.add_option("RECORD", record, "A file that `ebb plan --record` wrote")->required();
}

int ReplayCommand::Run(std::ostream& out, std::ostream& err) const {
  auto opened = SqliteState::Open(record, {.rounds_max = 0, .read_only = true});
  if (!opened.ok()) return Fail(opened.status(), err);
  auto rounds = (*opened)->Rounds();
  if (!rounds.ok()) return Fail(rounds.status(), err);
  auto loaded = (*opened)->Load();
  if (!loaded.ok()) return Fail(loaded.status(), err);
  std::optional<ScaleDownState> state = *std::move(loaded);

  size_t same = 0;
  for (const RoundRecord& entry : *rounds) {
    const std::string name = fmt::format("{}: round {}", record, entry.round);
    const Json arguments = Json::parse(entry.arguments, nullptr, /*allow_exceptions=*/false);
    if (!arguments.is_object() || !arguments.contains("flags") ||
        !arguments.contains("nodeGroups")) {
      return Fail(absl::InvalidArgumentError(name + ": its arguments are damaged"), err);
    }
    CLI::App app;
    PlanCommand command;
    command.AddTo(app);
    std::vector<std::string> words;  // In reverse, as CLI11 takes them.
    words.push_back("-");
    for (const auto& [flag, values] : arguments.at("flags").items()) {
      for (const auto& value : values) {
        words.push_back("--" + flag + "=" + value.get<std::string>());
      }
    }
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return Fail(absl::InvalidArgumentError(name + ": " + error.what()), err);
    }
    const auto groups_text = arguments.at("nodeGroups").get<std::string>();
    absl::StatusOr<GroupRules> rules = GroupRules();
    if (!groups_text.empty()) rules = ParseGroups(name, groups_text);
    if (!rules.ok()) return Fail(rules.status(), err);
    ImportStats stats;
    absl::StatusOr<RoundSource> source = Load(
        command.load, [&](ObjectSink& sink) { return ReadBytes(name, entry.input, sink, stats); });
    if (!source.ok()) return Fail(source.status(), err);
    Symbols& symbols = *source->cluster.snapshot.catalog().shared_symbols();
    ScaleDown scale_down(OptionsOf(command));
    if (state) scale_down.Restore(*state, symbols);
    const std::unique_ptr<MadeRound> round =
        MakeRound(scale_down, source->cluster, *rules, entry.now_s, entry.round);
    state = scale_down.Save(symbols);
    const bool identical = CompactJson(round->json) == entry.decision;
    same += identical ? 1 : 0;
    out << fmt::format("round {} at {}: {}\n", entry.round, FormatRfc3339(entry.now_s),
                       identical ? "identical" : "DIFFERENT");
  }
  out << fmt::format("{} of {} rounds identical\n", same, rounds->size());
  out.flush();
  return same == rounds->size() ? 0 : 1;
}

}  // namespace ebb
