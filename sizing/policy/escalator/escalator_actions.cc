#include "sizing/policy/escalator/escalator_actions.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "sizing/policy/replicator/replicator_figures.h"

namespace ebb {
namespace {

enum class Order : uint8_t { kOldestFirst, kNewestFirst };

std::vector<size_t> ByCreation(const EscalatorRound& round, std::vector<size_t> nodes,
                               Order order) {
  std::stable_sort(nodes.begin(), nodes.end(), [&](size_t a, size_t b) {
    if (order == Order::kNewestFirst) std::swap(a, b);
    return round.Node(a).created_s < round.Node(b).created_s;
  });
  return nodes;
}

std::string Why(const absl::Status& status) { return std::string(status.message()); }

// Taints nodes of `nodes` in order, until `count` of them are tainted.
EscalatorTaints TaintFirst(const EscalatorRound& round, const std::vector<size_t>& nodes,
                           int64_t count) {
  EscalatorTaints taints;
  for (const size_t i : nodes) {
    if (static_cast<int64_t>(taints.nodes.size()) >= count) break;
    if (round.dry_mode) {
      round.state.taint_tracker.push_back(round.Node(i).name);
    } else if (const absl::Status status = round.calls.Taint(round.Node(i)); !status.ok()) {
      taints.failures.push_back({i, Why(status)});
      continue;
    }
    taints.nodes.push_back(i);
  }
  return taints;
}

void ForgetTaint(const std::string& name, std::vector<std::string>& tracker) {
  const auto tracked = std::find(tracker.begin(), tracker.end(), name);
  if (tracked != tracker.end()) tracker.erase(tracked);
}

// Untaints the newest nodes, until `count` of them are untainted.
EscalatorTaints Untaint(const EscalatorRound& round, int64_t count) {
  EscalatorTaints taints;
  for (const size_t i : ByCreation(round, round.group.tainted, Order::kNewestFirst)) {
    if (static_cast<int64_t>(taints.nodes.size()) >= count) break;
    if (round.IsUnhealthy(i)) continue;
    if (round.dry_mode) {
      ForgetTaint(round.Node(i).name, round.state.taint_tracker);
    } else if (const absl::Status status = round.calls.Untaint(round.Node(i)); !status.ok()) {
      taints.failures.push_back({i, Why(status)});
      continue;
    }
    taints.nodes.push_back(i);
  }
  return taints;
}

// Asks the cloud for `count` more nodes than its desired count at the start of the round.
void GrowCloudGroup(const EscalatorRound& round, int64_t count, EscalatorScaleUp* up) {
  const EscalatorCloudGroup& cloud = round.cloud;
  const int64_t room = SaturatedSubtract(cloud.max, cloud.desired);
  if (count > room) round.forced.push_back(EscalatorForce::kCloudMax);
  const int64_t add = std::min(count, room);
  if (add <= 0) {
    up->error = EscalatorScaleUp::Error::kBeyondMaximum;
    return;
  }
  if (!round.dry_mode) {
    up->desired = cloud.desired + add;
    if (const absl::Status status = round.calls.SetDesired(*up->desired); !status.ok()) {
      up->error = EscalatorScaleUp::Error::kCloud;
      up->why = Why(status);
      return;
    }
  }
  up->added = add;
  round.state.is_locked = true;
  round.state.requested = add;
  round.state.locked_at_s = round.now_s;
}

EscalatorReap::Error CloudForbids(const EscalatorCloudGroup& cloud, size_t count) {
  if (cloud.desired <= cloud.min) return EscalatorReap::Error::kCloudAtMinimum;
  if (cloud.desired - cloud.min < static_cast<int64_t>(count)) {
    return EscalatorReap::Error::kCloudBelowMinimum;
  }
  return EscalatorReap::Error::kNone;
}

// Removes the batch: the instances first, then the Node objects.
void Remove(const EscalatorRound& round, EscalatorReap* reap) {
  using Error = EscalatorReap::Error;
  const auto stop = [&](Error error, size_t node, std::string why) {
    reap->error = error;
    reap->node = node;
    reap->why = std::move(why);
  };
  if (round.dry_mode || reap->ready.empty()) return;
  const Error forbidden = CloudForbids(round.cloud, reap->ready.size());
  if (forbidden != Error::kNone) return stop(forbidden, reap->ready.front(), "");
  for (const size_t i : reap->ready) {
    if (!round.Node(i).in_cloud_group) return stop(Error::kForeignNode, i, "");
    const absl::Status status = round.calls.Terminate(round.Node(i));
    if (!status.ok()) return stop(Error::kCloud, i, Why(status));
    reap->terminated.push_back(i);
  }
  for (const size_t i : reap->ready) {
    const absl::Status status = round.calls.DeleteNode(round.Node(i));
    if (!status.ok()) return stop(Error::kDeleteNode, i, Why(status));
    reap->deleted.push_back(i);
  }
}

// How many of `count` nodes may be tainted.
int64_t AllowedTaints(const EscalatorRound& round, int64_t count) {
  const auto untainted = static_cast<int64_t>(round.group.untainted.size());
  // Never negative: with too few nodes the round has ended before.
  const int64_t spare = untainted - round.min_nodes;
  if (count > spare) {
    round.forced.push_back(EscalatorForce::kMinNodes);
    count = spare;
  }
  // A cloud group below its min does not limit the taints.
  const int64_t cloud_spare = round.cloud.desired - round.cloud.min;
  if (count > cloud_spare && cloud_spare >= 0) {
    round.forced.push_back(EscalatorForce::kCloudMin);
    count = cloud_spare;
  }
  return count;
}

}  // namespace

EscalatorTaints TaintUnhealthy(const EscalatorRound& round) {
  std::vector<size_t> unhealthy;
  for (const size_t i : round.group.nodes) {
    if (round.IsUnhealthy(i)) unhealthy.push_back(i);
  }
  return TaintFirst(round, unhealthy, static_cast<int64_t>(unhealthy.size()));
}

EscalatorScaleUp ScaleGroupUp(const EscalatorRound& round, int64_t count) {
  EBB_DCHECK(count > 0);
  EscalatorScaleUp up;
  up.untainted = Untaint(round, count);
  const int64_t rest = count - static_cast<int64_t>(up.untainted.nodes.size());
  if (rest > 0) GrowCloudGroup(round, rest, &up);
  return up;
}

EscalatorReap ReapForceTainted(const EscalatorRound& round) {
  EscalatorReap reap;
  for (const size_t i : round.group.force_tainted) {
    if (round.group.IsEmpty(round.Node(i))) reap.ready.push_back(i);
  }
  Remove(round, &reap);
  return reap;
}

EscalatorReap ReapTainted(const EscalatorRound& round, bool only_unhealthy) {
  EscalatorReap reap;
  for (const size_t i : round.group.tainted) {
    const EscalatorNode& node = round.Node(i);
    if (only_unhealthy && !round.IsUnhealthy(i)) continue;
    if (!node.no_delete.empty()) continue;
    const std::optional<int64_t> tainted_s = ParseInt64(node.taint.value_or(""));
    if (!tainted_s) {
      reap.unread_taints.push_back(i);
      continue;
    }
    const int64_t age_ns = AgeNs(round.now_s, *tainted_s);
    if (age_ns <= round.durations.soft_delete_ns) continue;
    if (age_ns > round.durations.hard_delete_ns || round.group.IsEmpty(node)) {
      reap.ready.push_back(i);
    }
  }
  Remove(round, &reap);
  return reap;
}

EscalatorScaleDown ScaleGroupDown(const EscalatorRound& round, int64_t count) {
  EBB_DCHECK(count > 0);
  EscalatorScaleDown down;
  down.reap = ReapTainted(round, /*only_unhealthy=*/false);
  down.allowed = AllowedTaints(round, count);
  down.tainted = TaintFirst(round, ByCreation(round, round.group.untainted, Order::kOldestFirst),
                            down.allowed);
  return down;
}

std::string_view Name(EscalatorForce force) {
  switch (force) {
    case EscalatorForce::kStarve:
      return "starve";
    case EscalatorForce::kMaxAge:
      return "max_age";
    case EscalatorForce::kOverMax:
      return "over_max";
    case EscalatorForce::kUnhealthy:
      return "unhealthy";
    case EscalatorForce::kCloudMax:
      return "cloud_max";
    case EscalatorForce::kMinNodes:
      return "min_nodes";
    case EscalatorForce::kCloudMin:
      break;
  }
  return "cloud_min";
}

std::string_view Name(EscalatorReap::Error error) {
  switch (error) {
    case EscalatorReap::Error::kNone:
      return "";
    case EscalatorReap::Error::kCloudAtMinimum:
      return "min sized reached, nodes will not be deleted";
    case EscalatorReap::Error::kCloudBelowMinimum:
      return "terminating nodes will breach minimum node size";
    case EscalatorReap::Error::kForeignNode:
      return "belongs in a different node group";
    case EscalatorReap::Error::kCloud:
      return "failed to terminate instance";
    case EscalatorReap::Error::kDeleteNode:
      break;
  }
  return "failed to delete the node";
}

}  // namespace ebb
