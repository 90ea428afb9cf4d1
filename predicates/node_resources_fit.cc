#include "predicates/node_resources_fit.h"

#include <algorithm>

namespace ebb {

void AppendShortages(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node,
                     std::vector<std::string>& reasons) {
  if (snapshot.Free(kPods, node) < 1) reasons.emplace_back("Too many pods");
  std::vector<std::string> others;
  for (const auto& [resource, amount] : shape.fit_requests) {
    if (resource == kPods || amount <= snapshot.Free(resource, node)) continue;
    const bool first = resource == kCpu || resource == kMemory || resource == kEphemeralStorage;
    (first ? reasons : others)
        .push_back(std::string("Insufficient ").append(snapshot.catalog().ResourceName(resource)));
  }
  std::ranges::sort(others);  // By name: ids depend on the order of the input.
  reasons.insert(reasons.end(), others.begin(), others.end());
}

}  // namespace ebb
