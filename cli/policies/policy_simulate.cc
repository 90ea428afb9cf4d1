#include "cli/policies/policy_simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/policies/pool_figures.h"
#include "cli/print/fail.h"
#include "cli/print/page_file.h"
#include "cli/print/table.h"
#include "platform/file_identity.h"
#include "platform/output_file.h"
#include "platform/settings_file.h"
#include "report/html_page.h"
#include "report/story.h"
#include "sizing/policy_file.h"
#include "sizing/policy_simulation/school_pools.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kSimulateVersion = "ebb.policy.simulate/v2";

// A figure of every pool, shown as a row of the table, the page and the JSON.
struct Line {
  const char* what;
  const char* key;
  std::function<std::string(const PolicySimulationResult&)> text;
  std::function<Json(const PolicySimulationResult&)> json;
};

std::string Whole(uint64_t number) { return WithCommas(number); }

const std::vector<Line>& Lines() {
  using Result = PolicySimulationResult;
  static const std::vector<Line> lines = {
      {"policy", "policy", [](const Result& r) { return r.policy; },
       [](const Result& r) { return Json(r.policy); }},
      {"nodes at first", "nodesAtFirst", [](const Result& r) { return Whole(r.nodes_at_first); },
       [](const Result& r) { return Json(r.nodes_at_first); }},
      {"nodes at the end", "nodesAtLast", [](const Result& r) { return Whole(r.nodes_at_last); },
       [](const Result& r) { return Json(r.nodes_at_last); }},
      {"nodes at most", "nodesMost", [](const Result& r) { return Whole(r.nodes_most); },
       [](const Result& r) { return Json(r.nodes_most); }},
      {"node-hours", "nodeHours",
       [](const Result& r) { return fmt::format("{:.1f}", r.node_hours); },
       [](const Result& r) { return Json(RoundedAmount(r.node_hours)); }},
      {"unmet demand, pod-hours", "unmetPodHours",
       [](const Result& r) { return fmt::format("{:.1f}", r.unmet_pod_hours); },
       [](const Result& r) { return Json(RoundedAmount(r.unmet_pod_hours)); }},
      {"pods without a node at most", "pendingMost",
       [](const Result& r) { return Whole(r.pending_most); },
       [](const Result& r) { return Json(r.pending_most); }},
      {"grew, times", "grew", [](const Result& r) { return Whole(r.grew); },
       [](const Result& r) { return Json(r.grew); }},
      {"shrank, times", "shrank", [](const Result& r) { return Whole(r.shrank); },
       [](const Result& r) { return Json(r.shrank); }},
      {"flaps", "flaps", [](const Result& r) { return Whole(r.flaps); },
       [](const Result& r) { return Json(r.flaps); }},
      {"nodes added", "nodesAdded", [](const Result& r) { return Whole(r.nodes_added); },
       [](const Result& r) { return Json(r.nodes_added); }},
      {"nodes deleted", "nodesDeleted", [](const Result& r) { return Whole(r.nodes_removed); },
       [](const Result& r) { return Json(r.nodes_removed); }},
      {"pods evicted", "podsEvicted", [](const Result& r) { return Whole(r.evictions); },
       [](const Result& r) { return Json(r.evictions); }},
      {"failsafe at the end", "failsafe",
       [](const Result& r) { return std::string(r.failsafe ? "yes" : "no"); },
       [](const Result& r) { return Json(r.failsafe); }},
  };
  return lines;
}

void Print(const std::string& title, const std::vector<PolicySimulationResult>& results,
           std::ostream& out) {
  out << Printable(title) << "\n\n";
  std::vector<std::string> headings = {""};
  for (const PolicySimulationResult& result : results) headings.push_back(result.pool);
  Table table(headings);
  for (size_t i = 1; i < headings.size(); ++i) table.AlignRight(i);
  for (const Line& line : Lines()) {
    std::vector<std::string> row = {line.what};
    for (const PolicySimulationResult& result : results) row.push_back(line.text(result));
    table.AddRow(std::move(row));
  }
  table.Print(out);
}

Json AsJson(const std::string& title, const std::vector<PolicySimulationResult>& results) {
  Json pools = Json::array();
  for (const PolicySimulationResult& result : results) {
    Json pool = {{"pool", result.pool}};
    for (const Line& line : Lines()) pool[line.key] = line.json(result);
    Json samples = Json::array();
    for (const PolicySimulationSample& sample : result.samples) {
      samples.push_back({{"secondsSinceStart", sample.time_s},
                         {"wanted", sample.wanted},
                         {"pending", sample.pending},
                         {"nodes", sample.nodes}});
    }
    pool["samples"] = std::move(samples);
    pool["log"] = result.log;
    pools.push_back(std::move(pool));
  }
  return {{"version", kSimulateVersion}, {"title", title}, {"pools", std::move(pools)}};
}

// The simulations to run.
struct Simulations {
  std::vector<SizedPool> pools;
  std::vector<LoadCurve> loads;  // One for each pool.
  PolicySimulationOptions options;
};

absl::StatusOr<Simulations> ReadSimulations(const PolicySimulateRequest& request) {
  Simulations simulations;
  simulations.options.seed = request.seed;
  simulations.options.duration_s = request.hours * 3600;
  std::string yaml(SchoolPools());
  if (!request.file.empty()) {
    absl::StatusOr<std::string> text = ReadWholeFile(request.file);
    if (!text.ok()) return text.status();
    yaml = *std::move(text);
  }
  absl::StatusOr<std::vector<SizedPool>> pools =
      ReadPolicyFile(request.file.empty() ? "schools" : request.file, yaml, PolicyRegistry());
  if (!pools.ok()) return pools.status();
  simulations.pools = *std::move(pools);
  if (request.series.empty()) {
    absl::StatusOr<LoadCurve> load =
        LoadCurve::Generated(request.load, request.pods, simulations.options.duration_s);
    if (!load.ok()) return load.status();
    simulations.loads.assign(simulations.pools.size(), *load);
    return simulations;
  }
  absl::StatusOr<PoolFigures> figures = ReadPoolFigures(request.series, {});
  if (!figures.ok()) return figures.status();
  std::vector<SignalPoint>& series = figures->points;
  if (!series.empty()) {
    simulations.options.start_s = std::ranges::min(series, {}, &SignalPoint::at_s).at_s;
  }
  for (const SizedPool& pool : simulations.pools) {
    absl::StatusOr<LoadCurve> load = LoadCurve::FromSeries(series, pool.name);
    // A series without pool names applies to every pool.
    if (absl::IsNotFound(load.status())) load = LoadCurve::FromSeries(series, "");
    if (!load.ok()) return BadSetting(request.series, "", std::string(load.status().message()));
    simulations.loads.push_back(*std::move(load));
  }
  simulations.options.signals = std::move(series);
  return simulations;
}

absl::StatusOr<std::vector<PolicySimulationResult>> RunSimulations(const Simulations& simulations) {
  std::vector<std::optional<absl::StatusOr<PolicySimulationResult>>> made(simulations.pools.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < simulations.pools.size(); i = next++) {
      made[i] = SimulatePolicy(simulations.pools[i], simulations.loads[i], simulations.options);
    }
  };
  std::vector<std::thread> threads;
  const size_t at_a_time = std::max(1U, std::thread::hardware_concurrency());
  for (size_t i = 1; i < std::min(at_a_time, simulations.pools.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<PolicySimulationResult> results;
  for (auto& each : made) {
    if (!each->ok()) return each->status();
    results.push_back(**std::move(each));
  }
  return results;
}

std::string TitleOf(const PolicySimulateRequest& request, size_t pools) {
  const std::string load =
      request.series.empty()
          ? fmt::format("{}, {} on average", request.load,
                        Count(static_cast<uint64_t>(request.pods), "pod", "pods"))
          : fmt::format("of {}", request.series);
  return fmt::format("{} over {}, load: {}, seed {}", Count(pools, "pool", "pools"),
                     DurationText(int64_t{3600} * request.hours), load, request.seed);
}

StoryChart ChartOf(const std::vector<PolicySimulationResult>& results,
                   const std::function<double(const PolicySimulationSample&)>& value) {
  StoryChart chart;
  for (const PolicySimulationResult& result : results) {
    StoryLine& line = chart.lines.emplace_back(StoryLine{.name = result.pool});
    for (const PolicySimulationSample& sample : result.samples) {
      line.points.emplace_back(sample.time_s, value(sample));
    }
  }
  return chart;
}

}  // namespace

std::string PolicySimulationPage(const std::string& title,
                                 const std::vector<PolicySimulationResult>& results) {
  Story page("ebb policy simulate", title,
             "The same load, one pool after the other on a simulated cluster.");
  page.Part("time", "Over time");
  page.Chart("Nodes", ChartOf(results, [](const PolicySimulationSample& s) {
               return static_cast<double>(s.nodes);
             }));
  page.Chart("Pods without a node", ChartOf(results, [](const PolicySimulationSample& s) {
               return static_cast<double>(s.pending);
             }));
  page.Chart("Load: pods wanted", ChartOf(results, [](const PolicySimulationSample& s) {
               return static_cast<double>(s.wanted);
             }));
  std::vector<std::string> head = {""};
  for (const PolicySimulationResult& result : results) head.push_back(result.pool);
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : Lines()) {
    std::vector<std::string>& row = rows.emplace_back(std::vector<std::string>{line.what});
    for (const PolicySimulationResult& result : results) row.push_back(line.text(result));
  }
  page.Part("figures", "Figures").Table("", head, rows);
  return HtmlReport(std::move(page).Data());
}

int SimulatePools(const PolicySimulateRequest& request, std::ostream& out, std::ostream& err) {
  std::vector<UsedFile> files;
  if (!request.file.empty()) files.push_back({"FILE", request.file, FileUse::kRead});
  if (!request.series.empty()) files.push_back({"--series", request.series, FileUse::kRead});
  if (!request.report.empty()) files.push_back({"--report", request.report, FileUse::kWrite});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(request.report); !s.ok()) return Fail(s, err);
  const absl::StatusOr<Simulations> simulations = ReadSimulations(request);
  if (!simulations.ok()) return Fail(simulations.status(), err);
  const absl::StatusOr<std::vector<PolicySimulationResult>> results = RunSimulations(*simulations);
  if (!results.ok()) return Fail(results.status(), err);
  const std::string title = TitleOf(request, results->size());
  if (request.output == "json") {
    out << IndentedJson(AsJson(title, *results));
  } else {
    Print(title, *results, out);
  }
  for (const PolicySimulationResult& result : *results) {
    if (result.log.empty()) continue;
    PrintMessage(
        PrintableLine(fmt::format("{}; {} more", result.log.front(), result.log.size() - 1)), err,
        "ebb policy");
  }
  if (request.report.empty()) return 0;
  const absl::Status wrote = WriteFile(request.report, PolicySimulationPage(title, *results));
  if (!wrote.ok()) return Fail(wrote, err);
  PrintMessage("wrote " + Printable(request.report), err);
  return 0;
}

}  // namespace ebb
