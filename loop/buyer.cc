#include "loop/buyer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/figures.h"
#include "base/text.h"

namespace ebb {
namespace {

// The order may have been carried out, or may be later.
bool IsTemporary(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

std::string TextOfOrder(const MachineOrder& order) {
  std::string text = absl::StrCat(order.machine_type, " of group ", order.group);
  if (!order.zone.empty()) absl::StrAppend(&text, " in ", order.zone);
  if (!order.capacity_type.empty()) absl::StrAppend(&text, ", ", order.capacity_type);
  return text;
}

}  // namespace

std::string OrderId(const MachineOrder& order, std::span<const std::string> remove, size_t place) {
  const std::string text =
      absl::StrJoin({order.group, order.machine_type, order.zone, order.capacity_type, order.like,
                     absl::StrJoin(remove, "\n"), absl::StrCat(place)},
                    "\n\n");
  return absl::StrCat("ebb-", absl::Hex(HashOfText(text), absl::kZeroPad16));
}

BuyingTurn Buyer::Decide(Actuator& actuator, const ActuatorStatus& status, int64_t now_s) {
  BuyingTurn turn;
  ordered_.clear();
  if (phase_ == Phase::kIdle && now_s >= next_s_ && status.running.empty()) Find(now_s, turn);
  if (phase_ == Phase::kWaiting) Buy(actuator, now_s, turn);
  if (phase_ == Phase::kRemoving && status.running.empty()) Remove(now_s, turn);
  if (phase_ != Phase::kIdle) turn.left_alone = offer_.nodes;
  return turn;
}

void Buyer::Find(int64_t now_s, BuyingTurn& turn) {
  next_s_ = now_s + options_.interval_s;
  absl::StatusOr<Market::Offer> found = market_.Find(now_s);
  if (!found.ok()) {
    turn.log.push_back(absl::StrCat("buys nothing: ", found.status().message()));
    return;
  }
  if (found->buy.empty()) {
    turn.log.push_back(absl::StrCat("buys nothing: ", found->text));
    return;
  }
  offer_ = *std::move(found);
  std::map<std::string, size_t> places;
  for (MachineOrder& order : offer_.buy) {
    order.id = OrderId(order, offer_.remove, ++places[TextOfOrder(order)]);
    turn.log.push_back(absl::StrCat("buys ", order.id, ": ", TextOfOrder(order)));
  }
  turn.log.push_back(absl::StrCat("when the bought nodes are Ready, ",
                                  Count(offer_.remove.size(), "node goes", "nodes go"), ": ",
                                  offer_.text, "; until then no node is removed"));
  phase_ = Phase::kWaiting;
  since_s_ = now_s;
}

void Buyer::Buy(Actuator& actuator, int64_t now_s, BuyingTurn& turn) {
  const absl::StatusOr<std::vector<BoughtMachine>> bought = actuator.Buy(offer_.buy, now_s);
  if (!bought.ok() && !IsTemporary(bought.status())) {
    return End(absl::StrCat("refused: ", bought.status().message()), turn);
  }
  std::string waits_for;
  if (!bought.ok()) {
    waits_for = absl::StrCat(bought.status().message());
  } else {
    for (const BoughtMachine& each : *bought) {
      if (each.ready) continue;
      absl::StrAppend(&waits_for, waits_for.empty() ? "" : "; ", each.id, ": ",
                      each.waits_for.empty() ? "its node is not Ready" : each.waits_for);
    }
  }
  if (waits_for.empty()) {
    std::string names;
    for (const BoughtMachine& each : *bought) absl::StrAppend(&names, " ", each.node);
    turn.log.push_back(absl::StrCat("the bought nodes are Ready:", names));
    phase_ = Phase::kRemoving;
    since_s_ = now_s;
  } else if (now_s - since_s_ >= options_.ready_within_s) {
    End(absl::StrCat("gives up after ", now_s - since_s_,
                     " s (--replace-ready-within): ", waits_for, "; nodes that were bought stay"),
        turn);
  } else if (!bought.ok()) {
    turn.log.push_back(absl::StrCat("the bought nodes: ", waits_for));
  }
}

void Buyer::Remove(int64_t now_s, BuyingTurn& turn) {
  if (offer_.remove.empty()) return End("the plan with the bought nodes is carried out", turn);
  const absl::StatusOr<std::vector<DeletionOrder>> orders = market_.Removals(offer_.remove, now_s);
  if (!orders.ok()) {
    const std::string why = absl::StrCat(Count(offer_.remove.size(), "node", "nodes"),
                                         " of the plan: ", orders.status().message());
    if (now_s - since_s_ >= options_.ready_within_s) return End("gives up: " + why, turn);
    return turn.log.push_back(why);
  }
  if (orders->empty()) {
    return End(absl::StrCat("these nodes of the plan stay, as they can no longer go: ",
                            absl::StrJoin(offer_.remove, ", ")),
               turn);
  }
  // Those that begin together are tainted together, so none of them may take a pod of another.
  std::set<std::string> going;
  std::set<std::string> destinations;
  for (const DeletionOrder& order : *orders) {
    const bool meets = destinations.contains(order.node) ||
                       std::ranges::any_of(order.moves, [&](const PlannedMove& move) {
                         return going.contains(move.to);
                       });
    if (going.size() >= std::max<size_t>(1, options_.parallel) || meets) break;
    going.insert(order.node);
    for (const PlannedMove& move : order.moves) destinations.insert(move.to);
    turn.begin.push_back(order);
    ordered_.push_back(order.node);
  }
  since_s_ = now_s;
}

void Buyer::Begun() {
  std::erase_if(offer_.remove,
                [&](const std::string& node) { return std::ranges::count(ordered_, node) > 0; });
  ordered_.clear();
}

void Buyer::End(std::string why, BuyingTurn& turn) {
  turn.log.push_back(std::move(why));
  phase_ = Phase::kIdle;
  offer_ = {};
}

}  // namespace ebb
