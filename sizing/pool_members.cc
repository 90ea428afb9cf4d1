#include "sizing/pool_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "loop/loop.h"
#include "snapshot/matching.h"

namespace ebb {
namespace {

// Whether the node has all of the labels.
bool HasLabels(const Catalog& catalog, const NodeInfo& node,
               const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(labels, [&](const auto& label) {
    const std::optional<TextId> key = catalog.symbols().Find(label.first);
    if (!key) return false;
    const std::optional<TextId> value = FindLabel(node.labels, *key);
    return value && catalog.Text(*value) == label.second;
  });
}

// The pools that have nodes in one group.
struct Shares {
  std::set<std::string> pools{};
  std::string stray{};  // The first node that belongs to no pool.
};

class Finding {
 public:
  Finding(std::span<const SizedPool> pools, const Observation& observed)
      : pools_(pools), observed_(observed), catalog_(observed.snapshot->catalog()) {}

  std::map<std::string, PoolMembers, std::less<>> Run() {
    for (const SizedPool& pool : pools_) found_[pool.name].group = pool.group;
    observed_.snapshot->alive().ForEach([&](NodeId node) { TakeNode(node); });
    for (const auto& [name, members] : found_) {
      if (!members.group.empty()) shares_[members.group].pools.insert(name);
    }
    for (auto& [name, members] : found_) FindGroup(name, members);
    return std::move(found_);
  }

 private:
  void TakeNode(NodeId node) {
    std::vector<std::string> owners;
    for (const SizedPool& pool : pools_) {
      if (IsMember(pool, catalog_, node)) owners.push_back(pool.name);
    }
    const NodeGroup* const group = observed_.groups.Find(node);
    for (const std::string& owner : owners) {
      PoolMembers& members = found_[owner];
      members.nodes.push_back(node);
      if (members.group.empty() && group != nullptr) members.group = group->name;
      if (owners.size() == 1 || !members.overlap.empty()) continue;
      const auto other = std::ranges::find_if(owners, [&](auto& each) { return each != owner; });
      members.overlap = fmt::format("pool {} has node {} too", *other, catalog_.NodeName(node));
    }
    if (group == nullptr) return;
    Shares& shares = shares_[group->name];
    shares.pools.insert(owners.begin(), owners.end());
    if (owners.empty() && shares.stray.empty()) shares.stray = catalog_.NodeName(node);
  }

  // Call it after TakeNode for every node.
  void FindGroup(const std::string& name, PoolMembers& members) {
    if (members.group.empty()) return;
    members.others = OthersIn(shares_[members.group], name);
    const std::vector<NodeGroup>& groups = observed_.groups.groups;
    const auto group = std::ranges::find(groups, members.group, &NodeGroup::name);
    if (group == groups.end()) return;
    members.elsewhere = std::ranges::count_if(members.nodes, [&](NodeId node) {
      const NodeGroup* const its = observed_.groups.Find(node);
      return its != nullptr && its != &*group;
    });
    const int64_t nodes = std::ssize(members.nodes);
    members.target = members.others.empty() ? group->target_size + members.elsewhere : nodes;
  }

  static std::string OthersIn(const Shares& shares, const std::string& name) {
    std::vector<std::string> others;
    for (const std::string& pool : shares.pools) {
      if (pool != name) others.push_back("pool " + pool);
    }
    if (!shares.stray.empty()) {
      others.push_back(fmt::format("nodes of no pool, such as {}", shares.stray));
    }
    return fmt::format("{}", fmt::join(others, " and "));
  }

  const std::span<const SizedPool> pools_;
  const Observation& observed_;
  const Catalog& catalog_;
  std::map<std::string, PoolMembers, std::less<>> found_;
  std::map<std::string, Shares, std::less<>> shares_;  // By group.
};

}  // namespace

bool IsMember(const SizedPool& pool, const Catalog& catalog, NodeId node) {
  return pool.members.empty() ? HasLabels(catalog, catalog.node(node), pool.nodes)
                              : pool.members.contains(catalog.NodeName(node));
}

std::map<std::string, PoolMembers, std::less<>> FindPoolMembers(std::span<const SizedPool> pools,
                                                                const Observation& observed) {
  return Finding(pools, observed).Run();
}

std::string WarningOf(const SizedPool& pool, const PoolMembers& members) {
  if (members.nodes.empty()) return NoNodes(pool);
  if (!members.overlap.empty()) {
    return fmt::format("{}: nothing is done to either pool until their `nodes` differ",
                       members.overlap);
  }
  if (members.others.empty()) return "";
  return fmt::format(
      "group {} is shared with {}: the pool's size is the number of its own nodes, and it "
      "cannot grow until it has a group of its own",
      members.group, members.others);
}

}  // namespace ebb
