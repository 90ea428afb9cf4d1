#include "report/plan_waves.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "base/figures.h"
#include "report/plan_report.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

Json WaveReasonsJson(const WaveReasons& kept) {
  Json json = Json::object();
  for (const auto& [reason, nodes] : kept) json[std::string(reason)] = nodes;
  return json;
}

Json WaveJson(const Catalog& catalog, size_t number, const PlanWave& wave) {
  Json json = {{"wave", number},
               {"atSeconds", wave.at_s},
               {"takesSeconds", wave.takes_s},
               {"removed", wave.remove.size()},
               {"movedPods", wave.moved},
               {"movedAgainPods", wave.moved_again},
               {"nodes", wave.nodes},
               {"mayGoLater", wave.may_go_later},
               {"freed", AmountsJson(wave.freed)}};
  if (wave.saved_per_hour) json["savedPerHour"] = RoundedAmount(*wave.saved_per_hour);
  json["reasons"] = WaveReasonsJson(wave.kept);
  json["remove"] = Json::array();
  for (const NodeId node : wave.remove) json["remove"].push_back(catalog.NodeName(node));
  return json;
}

}  // namespace

std::string_view ToString(WavesEnd end) {
  return end == WavesEnd::kTimeLimit ? "timeLimit" : "nothingMoreGoes";
}

size_t PlanWaves::removed() const {
  size_t removed = 0;
  for (const PlanWave& wave : waves) removed += wave.remove.size();
  return removed;
}

size_t PlanWaves::moved() const {
  size_t moved = 0;
  for (const PlanWave& wave : waves) moved += wave.moved;
  return moved;
}

size_t PlanWaves::moved_again() const {
  size_t moved = 0;
  for (const PlanWave& wave : waves) moved += wave.moved_again;
  return moved;
}

int64_t PlanWaves::takes_s() const {
  return waves.empty() ? 0 : waves.back().at_s + waves.back().takes_s;
}

std::vector<std::string> WaveAssumptions(const PlanWaves& waves) {
  const WaveModel& model = waves.model;
  std::vector<std::string> texts = {
      fmt::format("An evicted pod is ready on its new node {} after its eviction "
                  "(--pod-startup-time). Its budgets then allow again what they allow now.",
                  DurationText(model.pod_startup_s)),
      "A wave begins when all pods of the wave before are ready. It evicts as many pods of a "
      "budget at once as the budget allows, and the others after these are ready. To delete a "
      "node takes no time.",
      "Pods run where the plan of their wave puts them. No other pod is created, changes or ends, "
      "and no node is added or becomes ready."};
  if (model.unneeded_s > 0 || model.delay_after_delete_s > 0) {
    texts.push_back(fmt::format(
        "Each wave waits until its nodes were unneeded for {} (--scale-down-unneeded-time), and "
        "{} after the wave before (--scale-down-delay-after-delete). Other timers of an autoscaler "
        "do not count.",
        DurationText(model.unneeded_s), DurationText(model.delay_after_delete_s)));
  } else {
    texts.emplace_back(
        "Timers and cooldowns of an autoscaler do not count. --scale-down-unneeded-time and "
        "--scale-down-delay-after-delete count if they are given.");
  }
  if (waves.gangs) {
    texts.emplace_back(
        "Pods that a wave has moved run again: their gang may lose as many pods in the next wave.");
  }
  if (waves.karpenter) {
    texts.emplace_back(
        "The consolidateAfter of a NodePool does not start again when a wave moves pods, as it "
        "does in Karpenter.");
  }
  if (waves.searched) {
    texts.emplace_back("Only the first wave was searched for (--optimize).");
  }
  if (waves.pending_placed > 0) {
    texts.push_back(fmt::format("{} for which room is kept, {} there from the second wave on.",
                                Count(waves.pending_placed, "pod without a node,",
                                      "pods without "
                                      "a node,"),
                                waves.pending_placed == 1 ? "runs" : "run"));
  }
  if (waves.in_deletion > 0) {
    texts.push_back(fmt::format("{} already being deleted {} gone from the second wave on.",
                                Count(waves.in_deletion, "node that is", "nodes that are"),
                                waves.in_deletion == 1 ? "is" : "are"));
  }
  return texts;
}

void PutWaves(const PlanContext& context, const PlanWaves& waves, Json& plan) {
  Json summary = {
      {"waves", waves.waves.size()},
      {"removed", waves.removed()},
      {"nodes", waves.nodes},
      {"movedPods", waves.moved()},
      {"movedAgainPods", waves.moved_again()},
      {"takesSeconds", waves.takes_s()},
      {"podStartupSeconds", waves.model.pod_startup_s},
      {"ended", ToString(waves.ended)},
      {"freed", AmountsJson(waves.waves.empty() ? NodeAmounts() : waves.waves.back().freed)}};
  if (context.prices != nullptr) {
    summary["savedPerHour"] =
        waves.waves.empty() ? 0 : RoundedAmount(*waves.waves.back().saved_per_hour);
  }
  summary["reasons"] = WaveReasonsJson(waves.kept);
  summary["assumptions"] = WaveAssumptions(waves);
  plan["summary"]["waves"] = std::move(summary);
  plan["waves"] = Json::array();
  for (size_t i = 0; i < waves.waves.size(); ++i) {
    plan["waves"].push_back(WaveJson(context.catalog(), i + 1, waves.waves[i]));
  }
}

}  // namespace ebb
