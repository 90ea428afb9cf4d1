#include "predicates/topology_asks.h"

#include <algorithm>

namespace ebb {

bool TopologyAsks::Learn(const PodShape& shape) {
  asks_ = 0;
  if (shape.ignores_pod_affinity) return false;
  EBB_DCHECK(shape.repelled_by_own <= shape.repelled_by.size());
  const size_t others = shape.repelled_by.size() - shape.repelled_by_own;
  if (!shape.affinity.empty() ||
      shape.spread.size() + shape.anti_affinity.size() + others > ask_.size()) {
    return false;
  }
  const auto add = [&](TableId table, TopologyKeyId key, int32_t max_skew, int32_t min_domains,
                       bool self_match) {
    EBB_CHECK(Index(key) < uint32_t{1} << 31);
    ask_[asks_++] = {.table = table,
                     .max_skew = max_skew,
                     .min_domains = min_domains,
                     .key = static_cast<uint32_t>(key) & 0x7FFFFFFF,
                     .self_match = self_match};
  };
  for (const SpreadConstraint& constraint : shape.spread) {
    if (constraint.max_skew <= kNoPods) return false;  // The API server accepts none below 1.
    add(constraint.table, constraint.key, constraint.max_skew, constraint.min_domains,
        constraint.self_match);
  }
  const auto add_anti = [&](const auto& term) { add(term.table, term.key, kNoPods, 0, false); };
  std::ranges::for_each(shape.anti_affinity, add_anti);
  // The first `repelled_by_own` tables belong to anti_affinity.
  for (size_t i = shape.repelled_by_own; i < shape.repelled_by.size(); ++i) {
    add_anti(shape.repelled_by[i]);
  }
  return true;
}

}  // namespace ebb
