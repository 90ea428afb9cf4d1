#include "session/wire_sizing.h"

#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/time_range.h"
#include "wire/wire_limits.h"

namespace ebb {
namespace {

constexpr size_t kStateBytesMax = size_t{16} << 20;
constexpr int64_t kCountMax = int64_t{1} << 40;

absl::Status WrongSizing(const std::string& field, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("sizing.", field, ": ", Absl(what)));
}

absl::Status CheckName(const std::string& field, const std::string& name,
                       std::set<std::string>& seen) {
  if (name.empty()) return WrongSizing(field, "is empty");
  if (name.size() > kWireNameMax) return WrongSizing(field, "is too long");
  if (!seen.insert(name).second) return WrongSizing(field, Printable(name) + " occurs twice");
  return absl::OkStatus();
}

// A figure, checked against its range.
struct Figure {
  const char* name;
  int64_t value;
  int64_t most;
};
absl::Status CheckFigures(const std::string& row, std::initializer_list<Figure> figures) {
  for (const Figure& figure : figures) {
    if (figure.value >= 0 && figure.value <= figure.most) continue;
    return WrongSizing(absl::StrCat(row, ".", figure.name),
                       absl::StrCat(figure.value, " is not between 0 and ", figure.most));
  }
  return absl::OkStatus();
}

}  // namespace

void PutSizing(const SizingState& sizing, v1alpha1::Sizing& wire) {
  for (const PoolState& pool : sizing.pools) {
    v1alpha1::PoolMemory& told = *wire.add_pools();
    told.set_pool(pool.pool);
    told.set_policy(pool.policy);
    told.set_state(pool.state);
    told.set_at(pool.at_s);
    told.set_failures(pool.failures);
    told.set_failsafe(pool.failsafe);
    told.set_grow_to(pool.grow_to);
    told.set_grow_by(pool.grow_by);
    told.set_grow_since(pool.grow_since_s);
  }
  for (const QueuedNode& node : sizing.queue) {
    v1alpha1::QueuedNode& told = *wire.add_queue();
    told.set_node(node.node);
    told.set_uid(node.uid);
    told.set_pool(node.pool);
    told.set_terminating(node.queue == NodeQueue::kTerminate);
    told.set_since(node.since_s);
    told.set_attempts(node.attempts);
    told.set_retry_after(node.retry_s);
  }
}

absl::StatusOr<SizingState> ReadSizing(const v1alpha1::Sizing& wire) {
  if (wire.pools_size() > kWireRowsMax) return WrongSizing("pools", "has too many rows");
  if (wire.queue_size() > kWireRowsMax) return WrongSizing("queue", "has too many rows");
  SizingState sizing;
  std::set<std::string> pools;
  for (int i = 0; i < wire.pools_size(); ++i) {
    const v1alpha1::PoolMemory& told = wire.pools(i);
    const std::string row = absl::StrCat("pools[", i, "]");
    absl::Status right = CheckName(row + ".pool", told.pool(), pools);
    if (right.ok()) {
      right = CheckFigures(row, {{"at", told.at(), kLatestTimeS},
                                 {"failures", told.failures(), kCountMax},
                                 {"grow_to", told.grow_to(), kCountMax},
                                 {"grow_by", told.grow_by(), kCountMax},
                                 {"grow_since", told.grow_since(), kLatestTimeS}});
    }
    if (right.ok() && (told.policy().empty() || told.policy().size() > kWireNameMax)) {
      right = WrongSizing(row + ".policy", "is empty or too long");
    }
    if (right.ok() && told.state().size() > kStateBytesMax) {
      right = WrongSizing(row + ".state", "is too long");
    }
    if (!right.ok()) return right;
    sizing.pools.push_back({.pool = told.pool(),
                            .policy = told.policy(),
                            .state = told.state(),
                            .at_s = told.at(),
                            .failures = told.failures(),
                            .failsafe = told.failsafe(),
                            .grow_to = told.grow_to(),
                            .grow_by = told.grow_by(),
                            .grow_since_s = told.grow_since()});
  }
  std::set<std::string> nodes;
  for (int i = 0; i < wire.queue_size(); ++i) {
    const v1alpha1::QueuedNode& told = wire.queue(i);
    const std::string row = absl::StrCat("queue[", i, "]");
    absl::Status right = CheckName(row + ".node", told.node(), nodes);
    if (right.ok()) {
      right = CheckFigures(row, {{"since", told.since(), kLatestTimeS},
                                 {"attempts", told.attempts(), kCountMax},
                                 {"retry_after", told.retry_after(), kLatestTimeS}});
    }
    if (right.ok() && (told.uid().size() > kWireNameMax || told.pool().size() > kWireNameMax)) {
      right = WrongSizing(row, "uid or pool is too long");
    }
    if (!right.ok()) return right;
    sizing.queue.push_back({.node = told.node(),
                            .uid = told.uid(),
                            .pool = told.pool(),
                            .queue = told.terminating() ? NodeQueue::kTerminate : NodeQueue::kDrain,
                            .since_s = told.since(),
                            .attempts = told.attempts(),
                            .retry_s = told.retry_after()});
  }
  return sizing;
}

}  // namespace ebb
