// What tests of passes and plans share: a cluster with its groups, deadlines, and plans as text.

#ifndef EBB_TESTS_ENGINE_PLANNING_H_
#define EBB_TESTS_ENGINE_PLANNING_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "engine/pass/planner.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::test {

inline constexpr int64_t kPassTime = 1'000'000;

// A deadline that has passed once it was asked so often.
class ExpiresAfter : public Deadline {
 public:
  explicit ExpiresAfter(int questions) : questions_(questions) {}
  [[nodiscard]] bool Expired() const override { return asked_++ >= questions_; }

 private:
  int questions_;
  mutable int asked_ = 0;
};

// Every node in one group that may shrink to nothing.
inline NodeGroups OneGroupOf(const Catalog& catalog) {
  NodeGroups groups;
  groups.groups.resize(1);
  groups.groups[0].name = "group";
  groups.groups[0].target_size = static_cast<int64_t>(catalog.nodes());
  groups.group_of.assign(catalog.nodes(), GroupId{0});
  return groups;
}

inline NodeGroups OneGroup(const ClusterSnapshot& snapshot) {
  return OneGroupOf(snapshot.catalog());
}

inline std::vector<NodeId> NodesNamed(const ClusterSnapshot& snapshot,
                                      const std::vector<std::string_view>& names) {
  std::vector<NodeId> nodes;
  for (const std::string_view name : names) nodes.push_back(NodeNamed(snapshot, name));
  return nodes;
}

inline std::vector<PodId> PodsNamed(const ClusterSnapshot& snapshot,
                                    const std::vector<std::string_view>& names) {
  std::vector<PodId> pods;
  for (const std::string_view name : names) pods.push_back(PodNamed(snapshot, name));
  return pods;
}

// "a: p>b q>c" for each node to remove, separated by "; ".
inline std::string Removals(const ClusterSnapshot& snapshot, const Plan& plan) {
  const Catalog& catalog = snapshot.catalog();
  std::string text;
  for (const RemovableNode& node : plan.remove) {
    if (!text.empty()) text += "; ";
    text += std::string(catalog.NodeName(node.node)) + ":";
    for (const auto& [pod, to] : node.moves) {
      text += ' ';
      text += catalog.Text(catalog.pod(pod).name);
      text += '>';
      text += catalog.NodeName(to);
    }
  }
  return text;
}

// "a=NoPlaceToMovePods" for each node that stays, separated by spaces.
inline std::string Kept(const ClusterSnapshot& snapshot, const Plan& plan) {
  std::string text;
  for (const UnremovableNode& node : plan.keep) {
    if (!text.empty()) text += ' ';
    text += std::string(snapshot.catalog().NodeName(node.node)) + "=";
    text += ToString(node.reason);
  }
  return text;
}

}  // namespace ebb::test

#endif  // EBB_TESTS_ENGINE_PLANNING_H_
