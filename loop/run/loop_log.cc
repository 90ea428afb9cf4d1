#include "loop/run/loop_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "rounds/round_report.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

std::string MessageOf(const RoundOrders& round) {
  return RoundMessage(round.message, round.cooldown);
}

// The rounds of a dry run have no number, and its actuator logs the deletions that begin.
std::span<const DeletionOrder> BegunOf(const LoopTurn& turn) {
  if (!turn.round || turn.round->number == 0 || turn.begun == 0) return {};
  return turn.round->start;
}

std::string Head(const LoopTurn& turn) {
  const std::optional<RoundOrders>& round = turn.round;
  std::string text =
      round ? fmt::format("{}{}: {}, {} pending, {} unneeded",
                          round->number > 0 ? fmt::format("round {} ", round->number) : "round ",
                          Printable(round->status), Count(round->nodes, "node", "nodes"),
                          Count(round->pending, "pod", "pods"), round->unneeded)
            : "round left out";
  if (round && round->unremovable.nodes > 0) {
    text += ", " + UnremovableAsText(round->unremovable);
  }
  if (turn.in_deletion) text += fmt::format(", {} in deletion", *turn.in_deletion);
  if (turn.begun > 0) text += fmt::format(", {} begin", turn.begun);
  const std::string message = round ? MessageOf(*round) : "";
  if (!message.empty()) text += "; " + PrintableLine(message);
  return text;
}

}  // namespace

std::string UnremovableAsText(const UnremovableNodes& nodes) {
  std::string text = fmt::format("{} unremovable", nodes.nodes);
  const char* between = " (";
  for (const UnremovableNodes::OfReason& each : nodes.reasons) {
    text += fmt::format("{}{} {}", between, each.nodes, Printable(each.reason));
    between = ", ";
  }
  if (nodes.remembered > 0) {
    const std::string first = FormatRfc3339(nodes.first_recheck_s);
    const std::string last = FormatRfc3339(nodes.last_recheck_s);
    text += nodes.reasons.empty() ? " (" : "; ";
    if (nodes.remembered < nodes.nodes) text += fmt::format("{} of them ", nodes.remembered);
    text += first == last ? "looked at again at " + first
                          : fmt::format("looked at again from {} to {}", first, last);
  }
  if (!nodes.reasons.empty() || nodes.remembered > 0) text += ')';
  return text;
}

Json UnremovableAsJson(const UnremovableNodes& nodes) {
  Json json = {{"nodes", nodes.nodes}, {"reasons", Json::object()}};
  for (const UnremovableNodes::OfReason& each : nodes.reasons) {
    json["reasons"][each.reason] = each.nodes;
  }
  if (nodes.remembered == 0) return json;
  json["lookedAtAgain"] = {{"nodes", nodes.remembered},
                           {"first", FormatRfc3339(nodes.first_recheck_s)},
                           {"last", FormatRfc3339(nodes.last_recheck_s)}};
  return json;
}

std::string PoolAsText(const PoolTurn& pool) {
  std::string text = fmt::format(
      "pool {}, {}: {}, {} ({})", Printable(pool.pool), Printable(pool.policy),
      Count(static_cast<uint64_t>(std::max<int64_t>(0, pool.nodes)), "node", "nodes"),
      pool.delta == 0 ? "stays" : fmt::format("{:+}", pool.delta), PrintableLine(pool.reason));
  if (pool.grow_to > 0) {
    text += fmt::format(", group {} is to have {}",
                        pool.group.empty() ? "(not known)" : Printable(pool.group),
                        Count(static_cast<uint64_t>(pool.grow_to), "machine", "machines"));
  }
  const auto add_nodes = [&](std::string_view what, const std::vector<std::string>& nodes) {
    if (!nodes.empty())
      text +=
          fmt::format(", {} {}", what, PrintableLine(fmt::format("{}", fmt::join(nodes, ", "))));
  };
  add_nodes("untaints", pool.untaint);
  add_nodes("taints", pool.taint);
  add_nodes("removes tainted", pool.reap);
  if (pool.leaving > 0) {
    text += fmt::format(", {} to go",
                        Count(static_cast<uint64_t>(pool.leaving), "node is", "nodes are"));
  }
  if (!pool.denied_by.empty()) text += "; denied by " + PrintableLine(pool.denied_by);
  return text;
}

void AddPoolTurn(const PoolTurn& pool, Json& json) {
  json["nodes"] = pool.nodes;
  json["delta"] = pool.delta;
  json["reason"] = pool.reason;
  json["deniedBy"] = pool.denied_by;
  json["leaving"] = pool.leaving;
  json["failsafe"] = pool.failsafe;
  if (!pool.untaint.empty()) json["untaint"] = pool.untaint;
  if (!pool.taint.empty()) json["taint"] = pool.taint;
  if (!pool.reap.empty()) json["removeTainted"] = pool.reap;
  if (pool.grow_to <= 0) return;
  json["grow"] = {{"group", pool.group}, {"machines", pool.grow_to}, {"new", pool.grow_by}};
}

std::string TurnAsText(const LoopTurn& turn) {
  const std::string time = FormatRfc3339(turn.now_s);
  std::string text = fmt::format("{} {}\n", time, Head(turn));
  for (const DeletionOrder& order : BegunOf(turn)) {
    text += fmt::format(
        "{} begin {}: {}\n", time, Printable(order.node),
        order.drain ? "drain, " + Count(order.moves.size(), "pod", "pods") : std::string("empty"));
  }
  for (const DeletionResult& result : turn.ended) {
    if (result.ok) text += fmt::format("{} ended {}\n", time, Printable(result.node));
  }
  for (const PoolTurn& pool : turn.pools) text += fmt::format("{} {}\n", time, PoolAsText(pool));
  for (const std::string& line : turn.log) {
    text += fmt::format("{} {}\n", time, PrintableLine(line));
  }
  return text;
}

std::string TurnAsJson(const LoopTurn& turn) {
  const std::optional<RoundOrders>& round = turn.round;
  Json json = {{"time", FormatRfc3339(turn.now_s)}};
  if (round) {
    if (round->number > 0) json["round"] = round->number;
    json["status"] = round->status;
    if (std::string message = MessageOf(*round); !message.empty()) {
      json["message"] = std::move(message);
    }
    json["nodes"] = round->nodes;
    json["pendingPods"] = round->pending;
    json["unneeded"] = round->unneeded;
    json["unremovable"] = UnremovableAsJson(round->unremovable);
  } else {
    json["status"] = "NoRound";
  }
  if (turn.in_deletion) json["inDeletion"] = *turn.in_deletion;
  json["begun"] = Json::array();
  for (const DeletionOrder& order : BegunOf(turn)) {
    json["begun"].push_back(
        {{"node", order.node}, {"drain", order.drain}, {"pods", order.moves.size()}});
  }
  json["ended"] = Json::array();
  for (const DeletionResult& result : turn.ended) {
    Json ended = {{"node", result.node}, {"ok", result.ok}};
    if (!result.ok) ended["why"] = result.why;
    json["ended"].push_back(std::move(ended));
  }
  if (!turn.pools.empty()) {
    json["pools"] = Json::array();
    for (const PoolTurn& pool : turn.pools) {
      Json row = {{"pool", pool.pool}, {"policy", pool.policy}};
      AddPoolTurn(pool, row);
      json["pools"].push_back(std::move(row));
    }
  }
  json["log"] = Json::array();
  for (const std::string& line : turn.log) json["log"].push_back(line);
  return CompactJson(json) + "\n";
}

}  // namespace ebb
