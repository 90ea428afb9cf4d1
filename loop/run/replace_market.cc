#include "loop/run/replace_market.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/figures.h"
#include "groups/prices.h"
#include "loop/deletion_orders.h"
#include "planning/plan_answer.h"
#include "report/plan_purchases.h"

namespace ebb {

absl::StatusOr<std::unique_ptr<LiveCluster>> ReplaceMarket::Load(int64_t now_s) const {
  auto live = std::make_unique<LiveCluster>(options_.load);
  absl::Status read = live->Read([&](ObjectSink& sink) { return read_(now_s, sink); });
  if (!read.ok()) return read;
  return live;
}

absl::StatusOr<Market::Offer> ReplaceMarket::Find(int64_t now_s) {
  const auto live = Load(now_s);
  if (!live.ok()) return live.status();
  LiveCluster::Version version = (*live)->Unchecked();
  PlanQuery query = options_.query;
  query.now_s = now_s;
  Offer offer;
  const ClusterSnapshot& snapshot = version.cluster.snapshot;
  snapshot.alive().ForEach(
      [&](NodeId node) { offer.nodes.emplace_back(snapshot.catalog().NodeName(node)); });
  const absl::StatusOr<std::unique_ptr<ReplaceAnswer>> answer =
      AnswerReplace(query, options_.replace, **live, version.cluster, {}, parallelism_);
  if (!answer.ok()) return answer.status();
  const PlanPurchases& purchases = (*answer)->purchases;
  const PlanContext context = (*answer)->Context();
  offer.text = purchases.why_none;
  if (purchases.buy.empty()) return offer;
  for (const PlanPurchases::Purchase& each : purchases.buy) {
    offer.buy.push_back({.group = each.group,
                         .machine_type = each.type,
                         .zone = each.zone,
                         .capacity_type = each.capacity_type,
                         .like = each.sibling});
  }
  for (const RemovableNode& each : context.made->plan.remove) {
    offer.remove.emplace_back(context.catalog().NodeName(each.node));
  }
  offer.text = fmt::format("saves {} an hour with {}",
                           MoneyText(purchases.with.saved_per_hour, context.prices->currency),
                           Count(purchases.with.moved, "eviction", "evictions"));
  return offer;
}

absl::StatusOr<std::vector<DeletionOrder>> ReplaceMarket::Removals(
    std::span<const std::string> nodes, int64_t now_s) {
  const auto live = Load(now_s);
  if (!live.ok()) return live.status();
  LiveCluster::Version version = (*live)->Unchecked();
  PlanQuery query = options_.query;
  query.now_s = now_s;
  std::vector<std::string>& candidates = query.candidates.emplace();
  for (const std::string& node : nodes) {
    if (version.cluster.snapshot.catalog().FindNode(node).ok()) candidates.push_back(node);
  }
  const absl::StatusOr<std::unique_ptr<PlanAnswer>> answer =
      AnswerPlan(query, version.cluster, {}, parallelism_);
  if (!answer.ok()) return answer.status();
  std::vector<DeletionOrder> orders;
  for (const RemovableNode& each : (*answer)->made.plan.remove) {
    orders.push_back(OrderOf(version.cluster.snapshot.catalog(), (*answer)->groups, each));
  }
  return orders;
}

ReplaceMarket::Read ObjectsOf(ClusterSource& source) {
  return [&source](int64_t now_s, ObjectSink& sink) -> absl::Status {
    const absl::StatusOr<Observation> observed = source.Observe(now_s);
    if (!observed.ok()) return observed.status();
    if (observed->objects == nullptr) {
      return absl::FailedPreconditionError("this cluster does not give its objects");
    }
    return observed->objects(sink);
  };
}

}  // namespace ebb
