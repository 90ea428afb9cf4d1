#include "search/worth.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "search/removable.h"

namespace ebb {
namespace {

// Worth is an integer, in millionths of the unit of the prices, so that its sums do not depend on
// their order.  Sums must fit 64 bits: nine million nodes of kHourlyMax do.
constexpr double kWorthPerUnit = 1e6;

}  // namespace

std::vector<int64_t> WorthOfNodes(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const PlanRequest& request, std::span<const double> hourly,
                                  double move_cost) {
  const auto is_price = [](double price) { return 0 <= price && price <= kHourlyMax; };
  EBB_DCHECK(hourly.size() == snapshot.catalog().nodes());
  EBB_DCHECK(std::ranges::all_of(hourly, is_price));
  EBB_DCHECK(0 <= move_cost && move_cost <= kHourlyMax * 4 * static_cast<double>(hourly.size()));
  std::vector<int64_t> worth;
  for (const double price : hourly) worth.push_back(std::llround(price * kWorthPerUnit));
  std::vector<NodeId> nodes;
  snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
  const int64_t move = std::llround(move_cost * kWorthPerUnit);
  for (const RemovableCandidate& each :
       FindRemovable(snapshot, groups, request.planner, nodes, request.pass.now_s)) {
    worth[Index(each.node)] -= move * static_cast<int64_t>(each.move.size());
  }
  return worth;
}

}  // namespace ebb
