#include "cli/commands/filter_command.h"

#include <simdjson.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/watch_command.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/input_flags.h"
#include "cli/print/fail.h"
#include "cli/print/filter_print.h"
#include "platform/file_identity.h"
#include "report/filter_report.h"
#include "session/wire_tables.h"
#include "simulation/scheduler.h"
#include "snapshot/builder_sink.h"
#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/read_scheduler_config.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

std::string OneLine(const Json& json) { return CompactJson(json); }

// Pods that have ended take no room, but a request may ask about them.  So they are added without
// their node.
class FilterSink final : public BuilderSink {
 public:
  explicit FilterSink(SnapshotBuilder& builder) : BuilderSink(builder), builder_(builder) {}
  absl::Status OnUnevaluated(const Unevaluated& object) override {
    absl::StatusOr<std::shared_ptr<const SchedulerConfig>> config = SchedulerConfigIn(object);
    if (!config.ok()) return config.status();
    if (*config != nullptr) builder_.SetScheduler(*std::move(config));
    return absl::OkStatus();
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    const bool ended = pod.phase == "Succeeded" || pod.phase == "Failed";
    if (!ended || (pod.node_name.empty() && pod.nominated_node_name.empty())) {
      return BuilderSink::OnPod(pod);
    }
    objects::Pod nowhere = pod;
    nowhere.node_name = nowhere.nominated_node_name = {};
    return BuilderSink::OnPod(nowhere);
  }

 private:
  SnapshotBuilder& builder_;
};

struct Request {
  int64_t id = 0;
  std::string objects;  // A JSON array.
  std::vector<std::string> pods;
  bool scores = false;
  std::optional<KubernetesVersion> version;  // nullopt: the version of the newest kubelet.
};

absl::Status NotARequest(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("request: ", Absl(what)));
}

// Fills as many fields as possible, so that an error reply can contain the request's id.
absl::Status ParseRequest(std::string_view line, Request& request) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(line);
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (auto error = parser.iterate(padded).get(document)) {
    return NotARequest(simdjson::error_message(error));
  }
  if (auto error = document.get_object().get(object)) {
    return NotARequest(simdjson::error_message(error));
  }
  for (auto member : object) {
    std::string_view key;
    if (auto error = member.unescaped_key().get(key)) {
      return NotARequest(simdjson::error_message(error));
    }
    if (key == "id") {
      if (member.value().get_int64().get(request.id)) return NotARequest("id: is not a number");
    } else if (key == "objects") {
      simdjson::ondemand::array array;
      std::string_view text;
      if (member.value().get_array().get(array) || array.raw_json().get(text)) {
        return NotARequest("objects: is not an array");
      }
      request.objects = text;
    } else if (key == "scores") {
      if (member.value().get_bool().get(request.scores)) {
        return NotARequest("scores: is not true or false");
      }
    } else if (key == "kubernetesVersion") {
      std::string_view text;
      if (!member.value().get_string().get(text)) request.version = ParseKubernetesVersion(text);
      if (!request.version) return NotARequest("kubernetesVersion: is neither 1.36 nor 1.37");
    } else if (key == "pods") {
      simdjson::ondemand::array array;
      if (member.value().is_null()) continue;
      if (member.value().get_array().get(array)) return NotARequest("pods: is not an array");
      for (auto each : array) {
        std::string_view name;
        if (each.get_string().get(name)) return NotARequest("pods: holds what is not a string");
        request.pods.emplace_back(name);
      }
    }
  }
  return absl::OkStatus();
}

// Adds to every node that fits the score that the simulated scheduler gives it.
void AddScores(ClusterSnapshot& snapshot, PodId pod, Json& nodes) {
  std::vector<NodeId> fitting;
  std::vector<Json*> verdicts;
  size_t at = 0;
  snapshot.alive().ForEach([&](NodeId node) {
    Json& verdict = nodes[at++];
    if (!verdict["fits"].get<bool>()) return;
    fitting.push_back(node);
    verdicts.push_back(&verdict);
  });
  snapshot.Fork();
  if (snapshot.NodeOf(pod) != kNoNode) snapshot.RemovePod(pod);
  const std::vector<NodeScore> scores =
      SimulatedScheduler::Score(snapshot, pod, fitting, PeersOf(snapshot, pod));
  snapshot.Revert();
  for (size_t i = 0; i < scores.size(); ++i) {
    Json by_plugin = Json::object();
    for (size_t plugin = 0; plugin < kScorePlugins; ++plugin) {
      by_plugin[std::string(ScorePluginName(static_cast<ScorePlugin>(plugin)))] =
          scores[i].weighted[plugin];
    }
    (*verdicts[i])["scores"] = std::move(by_plugin);
    (*verdicts[i])["total"] = scores[i].total;
  }
}

absl::StatusOr<Json> Answer(const Request& request) {
  SnapshotBuilder builder;
  FilterSink sink(builder);
  ImportStats stats;
  std::string text = request.objects;
  const size_t size = text.size();
  text.append(kJsonPadding, ' ');
  if (size > 0) {
    absl::Status read =
        ReadJson("objects", std::string_view(text).substr(0, size), /*padded=*/true, sink, stats);
    if (!read.ok()) return read;
  }
  builder.SetVersion(request.version);
  absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder).Build();
  if (!snapshot.ok()) return snapshot.status();
  Json results = Json::array();
  for (const std::string& name : request.pods) {
    const absl::StatusOr<PodId> pod = FindPodNamed(snapshot->catalog(), name);
    if (!pod.ok()) return pod.status();
    results.push_back(FilterJson(*snapshot, *pod, std::nullopt, FilterDetail::kFirstNo));
    if (request.scores) AddScores(*snapshot, *pod, results.back()["nodes"]);
  }
  return results;
}

int AnswerLines(std::istream& in, std::ostream& out) {
  std::string line;
  while (out && std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    out << AnswerFilterRequest(line) << std::endl;  // The client waits for the answer.
  }
  return 0;
}

}  // namespace

std::string AnswerFilterRequest(std::string_view line) {
  Request request;
  absl::Status parsed = ParseRequest(line, request);
  absl::StatusOr<Json> results = parsed.ok() ? Answer(request) : absl::StatusOr<Json>(parsed);
  Json response = {{"id", request.id}};
  if (results.ok()) {
    response["results"] = *std::move(results);
  } else {
    response["error"] = results.status().message();
  }
  return OneLine(response);
}

void FilterCommand::AddTo(CLI::App& app) {
  app.add_option("INPUT", inputs, "Dumps of the cluster, as for `ebb plan`")->check(values::File());
  app.add_option("--pod", pods, "Pod to ask about, as NAMESPACE/NAME; may be given often")
      ->check(values::Text())
      ->type_name("NAMESPACE/NAME")
      ->allow_extra_args(false);
  app.add_option("--node", node, "Ask about this node only, and show what each filter says")
      ->check(values::NodeName())
      ->type_name("NODE");
  app.add_option("-o,--output", output, "How to print")
      ->check(values::Choice({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  AddLoadFlags(load, app, "Input");
  app.add_flag("--stdin", from_stdin,
               "Answer requests, one JSON object a line, until the input ends.\n"
               "Request: {\"id\": 1, \"objects\": [OBJECT...], \"pods\": [\"NAMESPACE/NAME\"...]}\n"
               "Answer:  {\"id\": 1, \"results\": [{\"pod\": ..., \"nodes\": [{\"node\": ...,\n"
               "         \"fits\": false, \"plugin\": ..., \"reasons\": [...]}]}]}, or\n"
               "         {\"id\": 1, \"error\": ...}.\n"
               "A request with \"scores\": true: each node that fits has \"scores\" by\n"
               "plugin and their \"total\"")
      ->check(values::Switch());
  watch.AddTo(app);
  at_server.AddTo(app);
  RefuseMisfits("filter", app);
  TakeLastOfEach(app);
}

int FilterCommand::Run(std::istream& in, std::ostream& out, std::ostream& err) const {
  if (from_stdin) return AnswerLines(in, out);
  if ((inputs.empty() && !watch.active()) || pods.empty()) {
    PrintMessage("pass INPUT... and --pod NAMESPACE/NAME, or --stdin", err, "ebb filter");
    return 2;
  }
  if (watch.active()) {
    PlanCommand watched;
    watched.inputs = inputs;
    watched.options.load = load;
    watched.watch = watch;
    const auto ask = [&](LoadedCluster& cluster, LiveCluster& /*live*/, const GroupRules& /*rules*/,
                         const PlanCommand::Loaded& /*loaded*/) { return Over(cluster, out, err); };
    return RunWatch(watched, {.output = output, .ask = ask}, out, err);
  }
  std::vector<UsedFile> files;
  for (const std::string& input : inputs) files.push_back({"INPUT", input, FileUse::kRead});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  absl::StatusOr<LoadedCluster> cluster = LoadCluster(inputs, load);
  if (!cluster.ok()) return Fail(cluster.status(), err);
  return Over(*cluster, out, err);
}

int FilterCommand::Over(LoadedCluster& cluster, std::ostream& out, std::ostream& err) const {
  if (absl::Status s = CheckStrict(load, cluster.warnings); !s.ok()) {
    PrintLoadWarnings(cluster, err);
    return Fail(s, err);
  }
  const Catalog& catalog = cluster.snapshot.catalog();
  std::optional<NodeId> only;
  if (!node.empty()) {
    const absl::StatusOr<NodeId> found = catalog.FindNode(node);
    if (!found.ok()) return Fail(found.status(), err);
    only = *found;
  }
  Json results = Json::array();
  v1alpha1::FilterReply tables;
  for (const std::string& name : pods) {
    const absl::StatusOr<PodId> pod = FindListedPod(cluster, name);
    if (!pod.ok()) {
      PrintFilterTables(tables, out);  // Of the pods before this one.
      return Fail(pod.status(), err);
    }
    if (output == "table") {
      PutVerdicts(cluster.snapshot, *pod, only, *tables.add_pods());
    } else {
      results.push_back(FilterJson(cluster.snapshot, *pod, only, FilterDetail::kEveryFilter));
    }
  }
  if (output == "json") {
    out << IndentedJson(Json{{"results", results}});
  } else {
    PrintFilterTables(tables, out);
  }
  PrintLoadWarnings(cluster, err);
  return 0;
}

}  // namespace ebb
