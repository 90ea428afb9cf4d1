#include "cli/policies/policy_eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/policies/policy_state.h"
#include "cli/policies/pool_figures.h"
#include "cli/print/fail.h"
#include "cli/print/table.h"
#include "platform/file_identity.h"
#include "platform/settings_file.h"
#include "sizing/policy/policy_registry.h"
#include "sizing/policy_file.h"
#include "sizing/pool_reader.h"
#include "sizing/pool_round.h"
#include "sizing/prometheus.h"
#include "sizing/replicator_pools.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/any_object_sink.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kEvalVersion = "ebb.policy.eval/v1";

// One pool, and what was decided for it.
struct Evaluated {
  const SizedPool* pool;
  size_t nodes;
  PolicyDecision decision{};
  bool failed = false;  // Its signals could not be fetched.
};

// The input of a round.
struct EvalInput {
  SizingFile file;
  PoolReader cluster;
  PoolFigures figures;
  std::vector<std::string> warnings;  // From the file and from discovery.
  std::vector<InputWarning> lacks;    // What the cluster's dump seems to lack.
  int64_t now_s = 0;
};

// A pool that keeps its size; this is not a round of its policy.
Evaluated Still(Evaluated evaluated, std::string_view denied_by, std::string_view reason,
                const absl::Status& why) {
  evaluated.decision = Denied(denied_by, reason);
  evaluated.decision.warnings.emplace_back(why.message());
  return evaluated;
}

// Makes a round of the pool.  Treats the changes that it requests as done.
Evaluated Evaluate(const SizedPool& pool, const EvalInput& input, SizingState& state) {
  const int64_t now_s = input.now_s;
  PolicyObservation seen = input.cluster.Observe(pool);
  seen.signals = Latest(input.figures.points, pool.name, now_s);
  Evaluated evaluated{.pool = &pool, .nodes = seen.nodes.size()};
  const absl::Status used = input.figures.usage.AddTo(seen, now_s, pool.signal_period_s);
  if (!used.ok()) return Still(evaluated, "signalPeriod", "stale usage", used);
  if (!pool.queries.empty()) {
    auto asked = QuerySignals(input.file.prometheus, pool, now_s);
    if (!asked.ok()) {
      evaluated.failed = true;
      return Still(evaluated, "queries", "a query failed", asked.status());
    }
    seen.signals.merge(*asked);
  }
  PoolState& memory = MemoryOf(pool, state);
  evaluated.decision = DecidePool(pool, seen, now_s, memory);
  if (seen.nodes.empty() && !pool.nodes.empty()) {
    evaluated.decision.warnings.push_back(NoNodes(pool));
  }
  if (evaluated.decision.delta != 0) pool.policy->Ended(true, now_s, &memory.state);
  return evaluated;
}

// The nodes that get (`put`) or lose a taint.
std::vector<std::string> TaintsOf(const PolicyDecision& decision, bool put) {
  std::vector<std::string> nodes;
  for (const PolicyTaint& taint : decision.taints) {
    if (taint.put == put) nodes.push_back(taint.node);
  }
  return nodes;
}

std::string SignedDelta(int64_t delta) { return fmt::format("{:+}", delta); }

void Print(const Evaluated& evaluated, std::ostream& out) {
  const PolicyDecision& decision = evaluated.decision;
  const std::string delta = decision.delta == 0 ? "stays" : SignedDelta(decision.delta);
  out << fmt::format("pool {}, {}: {}, {} ({})\n", Printable(evaluated.pool->name),
                     evaluated.pool->policy_name, Count(evaluated.nodes, "node", "nodes"), delta,
                     decision.reason);
  if (!decision.denied_by.empty()) {
    out << fmt::format("  denied by {}\n", Printable(decision.denied_by));
  }
  for (const std::string& warning : decision.warnings) {
    out << fmt::format("  warning: {}\n", PrintableLine(warning));
  }
  Table figures({"", ""});
  figures.Indent(2);
  for (const PolicyFigure& figure : decision.figures) figures.AddRow({figure.name, figure.value});
  if (!figures.empty()) figures.Print(out);
  const auto add_nodes = [&](std::string_view what, const std::vector<std::string>& nodes) {
    if (nodes.empty()) return;
    out << "  " << what << ":";
    for (const std::string& node : nodes) out << " " << Printable(node);
    out << "\n";
  };
  add_nodes("takes the taint off", TaintsOf(decision, false));
  add_nodes("taints", TaintsOf(decision, true));
  add_nodes("removes tainted nodes", decision.remove);
  if (decision.direction != PolicyDirection::kDown || !decision.candidates) return;
  const size_t shown = std::min<size_t>(decision.candidates->size(), 5);
  out << (shown == 0 ? "  no node may go" : "  first to go:");
  for (size_t i = 0; i < shown; ++i) out << " " << Printable((*decision.candidates)[i]);
  out << (shown < decision.candidates->size() ? " ...\n" : "\n");
}

Json AsJson(const Evaluated& evaluated) {
  const PolicyDecision& decision = evaluated.decision;
  Json figures = Json::array();
  for (const PolicyFigure& figure : decision.figures) {
    figures.push_back({{"name", figure.name}, {"value", figure.value}});
  }
  Json json = {{"pool", evaluated.pool->name},
               {"policy", evaluated.pool->policy_name},
               {"nodes", evaluated.nodes},
               {"delta", decision.delta},
               {"direction", Name(decision.direction)},
               {"reason", decision.reason},
               {"deniedBy", decision.denied_by},
               {"figures", std::move(figures)},
               {"candidates", decision.candidates ? Json(*decision.candidates) : Json()},
               {"warnings", decision.warnings}};
  const auto add_nodes = [&](const char* what, const std::vector<std::string>& nodes) {
    if (!nodes.empty()) json[what] = nodes;
  };
  add_nodes("untaint", TaintsOf(decision, false));
  add_nodes("taint", TaintsOf(decision, true));
  add_nodes("removeTainted", decision.remove);
  return json;
}

// Adds the pools that the labels and annotations of nodes define.
void Discover(const PolicyEvalRequest& request, const PolicyRegistry& registry, EvalInput& input) {
  DiscoveredPools found =
      DiscoverPools(input.cluster.nodes(), *input.file.discover_prefix, registry);
  input.warnings.insert(input.warnings.end(), found.warnings.begin(), found.warnings.end());
  for (SizedPool& pool : found.pools) {
    const bool is_there =
        std::ranges::find(input.file.pools, pool.name, &SizedPool::name) != input.file.pools.end();
    if (!is_there) {
      input.file.pools.push_back(std::move(pool));
    } else {
      input.warnings.push_back(fmt::format(
          "pool {} is defined in {}: its definition in labels and annotations of nodes is ignored",
          pool.name, request.file));
    }
  }
}

// Warns about signals of pools that are not in the file: they have no effect.
void WarnOfStrangers(EvalInput& input) {
  std::set<std::string> strangers;
  for (const SignalPoint& point : input.figures.points) strangers.insert(point.pool);
  for (const SizedPool& pool : input.file.pools) strangers.erase(pool.name);
  for (const std::string& pool : strangers) {
    if (pool.empty()) {
      input.warnings.push_back(
          "signals with an empty pool name have no effect; expected the name of a pool");
      continue;
    }
    input.warnings.push_back(fmt::format(
        "signals of pool \"{}\" have no effect: the file has no pool of that name", pool));
  }
}

// Reads the cluster, and checks it as one that pods are placed in: requests of pods that the input
// does not show would make nodes look unused.
absl::Status ReadCluster(const PolicyEvalRequest& request, EvalInput& input) {
  InputCensus census(request.load.expendable_pods_priority_cutoff);
  if (request.load.allow_incomplete) census.TakePartsOfLists();
  ImportStats stats;
  absl::StatusOr<LoadedCluster> loaded = LoadNewest(census, [&]() -> absl::StatusOr<LoadedCluster> {
    input.cluster = PoolReader();
    ClusterLoader loader(request.load);
    TeeSink both(input.cluster, loader);
    stats = {};
    absl::Status read =
        census.Read(request.inputs, both, stats, Parallelism::One(), request.load.limits);
    if (!read.ok()) return read;
    return std::move(loader).Finish();
  });
  if (!loaded.ok()) return loaded.status();
  // Pools may have no nodes yet.
  if (loaded->snapshot.nodes() == 0 && loaded->counts.on_unknown_node == 0) return absl::OkStatus();
  absl::Status checked = CheckCompleteness(census, std::move(stats), request.load, *loaded);
  if (!checked.ok()) return checked;
  input.lacks = std::move(loaded->warnings);
  return absl::OkStatus();
}

absl::Status ReadAll(const PolicyEvalRequest& request, EvalInput& input) {
  const PolicyRegistry registry;
  const absl::StatusOr<std::string> yaml = ReadWholeFile(request.file);
  if (!yaml.ok()) return yaml.status();
  absl::StatusOr<SizingFile> file = ReadSizingFile(request.file, *yaml, registry);
  if (!file.ok()) return file.status();
  input.file = *std::move(file);
  input.warnings = input.file.warnings;
  if (absl::Status s = ReadCluster(request, input); !s.ok()) return s;
  absl::StatusOr<PoolFigures> figures = ReadPoolFigures(request.series, request.usage);
  if (!figures.ok()) return figures.status();
  input.figures = *std::move(figures);
  input.now_s = std::max(input.cluster.newest_s(), input.figures.usage.newest_s());
  for (const SignalPoint& point : input.figures.points)
    input.now_s = std::max(input.now_s, point.at_s);
  if (!request.now.empty()) input.now_s = *ParseRfc3339(request.now);
  if (input.file.discover_prefix) Discover(request, registry, input);
  WarnOfStrangers(input);
  return absl::OkStatus();
}

absl::Status CheckRequest(const PolicyEvalRequest& request) {
  std::vector<UsedFile> files = {{"FILE", request.file, FileUse::kRead}};
  for (const std::string& each : request.inputs) files.push_back({"INPUT", each, FileUse::kRead});
  for (const std::string& each : request.usage) files.push_back({"--usage", each, FileUse::kRead});
  if (!request.series.empty()) files.push_back({"--series", request.series, FileUse::kRead});
  if (!request.state.empty()) files.push_back({"--state", request.state, FileUse::kDatabase});
  return CheckFiles(files);
}

}  // namespace

int EvalPools(const PolicyEvalRequest& request, std::ostream& out, std::ostream& err) {
  EvalInput input;
  absl::Status read = CheckRequest(request);
  if (read.ok()) read = ReadAll(request, input);
  if (read.ok()) {
    PrintInputWarnings(input.lacks, err);
    read = CheckStrict(request.load, input.lacks);
  }
  if (!read.ok()) return Fail(read, err);
  absl::StatusOr<KeptSizing> kept = OpenSizing(request.state, {});
  if (!kept.ok()) return Fail(kept.status(), err);
  for (const std::string& warning : input.warnings) {
    PrintMessage(PrintableLine(warning), err, "ebb policy");
  }
  Json rows = Json::array();
  std::ostringstream text;
  bool failed = false;
  for (const SizedPool& pool : input.file.pools) {
    const Evaluated evaluated = Evaluate(pool, input, kept->sizing);
    if (evaluated.failed) {
      failed = true;
      PrintMessage(PrintableLine(evaluated.decision.warnings.front()), err, "ebb policy");
    }
    rows.push_back(AsJson(evaluated));
    if (rows.size() > 1) text << "\n";
    Print(evaluated, text);
  }
  // The state is saved before anything is printed.
  if (kept->store != nullptr) {
    if (absl::Status s = kept->store->SaveSizing(kept->sizing); !s.ok()) return Fail(s, err);
  }
  if (request.output == "json") {
    out << IndentedJson(
        Json{{"version", kEvalVersion}, {"now", FormatRfc3339(input.now_s)}, {"pools", rows}});
  } else {
    out << text.str();
  }
  return failed ? 1 : 0;
}

}  // namespace ebb
