#include "predicates/topology_words.h"

#include <algorithm>

#include "base/check.h"
#include "predicates/inter_pod_affinity.h"
#include "predicates/pod_topology_spread.h"

namespace ebb {
namespace {

// A key with at most this many domains has a node set for each domain, which takes a bit for each
// domain and node.  Keys with more have lists of nodes, which take less memory, but must be united
// into a set for each rule.  Not tuned: other values were not compared.
constexpr size_t kFewDomains = 64;

}  // namespace

void TopologyWords::Reset(const Catalog& catalog) {
  keys_.clear();
  keys_.resize(catalog.topology_keys().size());
  unions_.clear();
}

TopologyWords::Key& TopologyWords::KeyOf(const Catalog& catalog, TopologyKeyId id) {
  EBB_DCHECK(keys_.size() == catalog.topology_keys().size());  // Reset was called.
  Key& key = keys_[Index(id)];
  if (key.is_known) return key;
  key.is_known = true;
  const TopologyKey& of = catalog.topology_key(id);
  const size_t domains = of.values.size();
  const auto for_each_node = [&](auto&& visit) {
    for (uint32_t n = 0; n < catalog.nodes(); ++n) {
      if (of.domain_of[n] != kNoDomain) visit(Index(of.domain_of[n]), NodeId{n});
    }
  };
  if (domains <= kFewDomains) {
    key.few.assign(domains, NodeSet(catalog.nodes()));
    for_each_node([&](size_t domain, NodeId node) { key.few[domain].Insert(node); });
    return key;
  }
  key.begins.resize(domains + 1);
  for_each_node([&](size_t domain, NodeId) { ++key.begins[domain + 1]; });
  for (size_t d = 0; d < domains; ++d) key.begins[d + 1] += key.begins[d];
  key.nodes.resize(key.begins.back());
  std::vector<uint32_t> next = key.begins;
  for_each_node([&](size_t domain, NodeId node) { key.nodes[next[domain]++] = node; });
  return key;
}

template <typename HasSay>
void TopologyWords::AddRule(const ClusterSnapshot& snapshot, TopologyKeyId id, TableId table,
                            bool admits, HasSay&& has_say) {
  EBB_DCHECK(snapshot.catalog().tables()[Index(table)].key == id);
  const Key& key = KeyOf(snapshot.catalog(), id);
  Rule& rule = rules_.emplace_back(Rule{.sets = 0, .admits = admits});
  if (key.begins.empty()) {
    for (uint32_t d = 0; d < key.few.size(); ++d) {
      if (!has_say(DomainId{d})) continue;
      sets_.push_back(key.few[d].words().data());
      ++rule.sets;
    }
    return;
  }
  if (unions_used_ == unions_.size()) unions_.emplace_back(snapshot.catalog().nodes());
  NodeSet& nodes = unions_[unions_used_++];
  std::ranges::fill(nodes.words(), 0);
  snapshot.topology().ForEachCount(table, [&](DomainId domain, uint32_t) {
    if (!has_say(domain)) return;
    for (uint32_t i = key.begins[Index(domain)]; i < key.begins[Index(domain) + 1]; ++i) {
      nodes.Insert(key.nodes[i]);
    }
  });
  sets_.push_back(nodes.words().data());
  rule.sets = 1;
}

// If the key has many domains, the rule lists the rejected ones.  A domain without matching pods
// is always admitted, because no domain is emptier.
void TopologyWords::AddSpread(const ClusterSnapshot& snapshot, const SpreadConstraint& constraint) {
  if (KeyOf(snapshot.catalog(), constraint.key).begins.empty()) {
    AddRule(snapshot, constraint.key, constraint.table, /*admits=*/true, [&](DomainId domain) {
      return FilterSpreadConstraint(snapshot, constraint, domain) == SpreadVerdict::kFits;
    });
  } else {
    AddRule(snapshot, constraint.key, constraint.table, /*admits=*/false, [&](DomainId domain) {
      return FilterSpreadConstraint(snapshot, constraint, domain) != SpreadVerdict::kFits;
    });
  }
}

void TopologyWords::Begin(const ClusterSnapshot& snapshot, const PodShape& shape) {
  rules_.clear();
  sets_.clear();
  unions_used_ = 0;
  for (const SpreadConstraint& constraint : shape.spread) AddSpread(snapshot, constraint);
  if (shape.ignores_pod_affinity) return;
  const auto add = [&](const auto& term, bool admits) {
    AddRule(snapshot, term.key, term.table, admits,
            [&](DomainId domain) { return snapshot.topology().Count(term.table, domain) > 0; });
  };
  // The first pod of its kind may run on every node that has the topology labels.
  if (shape.affinity.empty() || !MayBeTheFirst(snapshot, shape)) {
    for (const AffinityTerm& term : shape.affinity) add(term, /*admits=*/true);
  }
  for (const AntiAffinityTerm& term : shape.anti_affinity) add(term, /*admits=*/false);
  for (size_t i = shape.repelled_by_own; i < shape.repelled_by.size(); ++i) {
    add(shape.repelled_by[i], /*admits=*/false);
  }
}

}  // namespace ebb
