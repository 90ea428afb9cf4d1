#include "predicates/node_resources_fit.h"

namespace ebb {

void AppendShortages(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node,
                     std::vector<std::string>& reasons) {
  if (snapshot.Free(kPods, node) < 1) reasons.emplace_back("Too many pods");
  for (const auto& [resource, amount] : shape.fit_requests) {
    if (resource == kPods || amount <= snapshot.Free(resource, node)) continue;
    reasons.push_back(
        std::string("Insufficient ").append(snapshot.catalog().ResourceName(resource)));
  }
}

}  // namespace ebb
