#include "loop/own_rounds.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "loop/deletion_orders.h"
#include "loop/reported_deletions.h"

namespace ebb {
namespace {

std::vector<std::string> NamesIn(const Catalog& catalog, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.emplace_back(catalog.NodeName(node));
  return names;
}

// The groups of these nodes may not shrink.
void LeaveAlone(std::span<const std::string> nodes, Observation& observed) {
  for (const std::string& name : nodes) {
    const absl::StatusOr<NodeId> node = observed.snapshot->catalog().FindNode(name);
    const GroupId id = node.ok() ? observed.groups.Of(*node) : kNoGroup;
    if (id == kNoGroup) continue;
    NodeGroup& group = observed.groups.groups[Index(id)];
    group.min_size = std::max(group.min_size, group.target_size);
  }
}

// By name, because the snapshot may change with the first call to an actuator.
RoundOrders OrdersByName(const Observation& observed, const RoundResult& round) {
  const Catalog& catalog = observed.snapshot->catalog();
  return {.status = std::string(ToString(round.status)),
          .message = round.message,
          .cooldown = round.cooldown,
          .nodes = observed.snapshot->nodes(),
          .pending = observed.pending.size(),
          .unneeded = round.unneeded.size(),
          .unremovable = round.unremovable,
          .start = OrdersOf(catalog, observed.groups, round),
          .taint = NamesIn(catalog, round.soft_taints.taint),
          .untaint = NamesIn(catalog, round.soft_taints.untaint)};
}

}  // namespace

absl::StatusOr<Observation*> OwnRounds::Observe(int64_t now_s) {
  absl::StatusOr<Observation> now = cluster_.Observe(now_s);
  observed_.reset();
  if (!now.ok()) return now.status();
  std::ranges::copy(now->events, std::back_inserter(events_));
  return &observed_.emplace(*std::move(now));
}

absl::StatusOr<RoundOrders> OwnRounds::Make(const ActuatorStatus& report, int64_t now_s,
                                            std::span<const std::string> left_alone) {
  last_.reset();
  if (!observed_) {
    if (const auto now = Observe(now_s); !now.ok()) return now.status();
  }
  Observation observed = *std::exchange(observed_, std::nullopt);
  LeaveAlone(left_alone, observed);
  const ReportedDeletions told = ReportDeletions(report);
  std::vector<ScaleEvent> events = events_;
  std::ranges::copy(told.failed, std::back_inserter(events));
  RoundInput input{.now_s = now_s,
                   .actuation = &told.in_progress,
                   .events = events,
                   .ended = told.ended,
                   .order = options_.order,
                   .pending = observed.pending};
  std::optional<RoundAdvice> advice;
  if (options_.advise != nullptr) advice = options_.advise(observed, now_s, unneeded_);
  if (advice) {
    input.candidates = &advice->candidates;
    input.suggestions = advice->suggestions;
  }
  absl::StatusOr<RoundResult> round = scale_down_.Round(*observed.snapshot, observed.groups, input);
  if (!round.ok()) return round.status();
  events_.clear();
  unneeded_.clear();
  for (const UnneededNode& each : round->unneeded) {
    unneeded_.emplace_back(observed.snapshot->catalog().NodeName(each.node));
  }
  if (options_.record != nullptr) {
    if (const absl::Status kept = options_.record(scale_down_, *round); !kept.ok()) {
      return absl::Status(kept.code(), absl::StrCat("it was not recorded: ", kept.message()));
    }
  }
  RoundOrders orders = OrdersByName(observed, *round);
  last_ = *std::move(round);
  return orders;
}

}  // namespace ebb
