#include "report/place_tally.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "predicates/node_resources_fit.h"

namespace ebb {
namespace {

using Noes = std::map<std::pair<std::string, Filter>, size_t>;

FilterVerdict Ask(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  FilterVerdict verdict = Explain(snapshot, shape, node);
  if (verdict.fits && snapshot.catalog().node(node).unschedulable) {
    // The autoscaler does not use such a node even for pods that tolerate it.
    return {.fits = false,
            .filter = Filter::kNodeUnschedulable,
            .reasons = {"node(s) were unschedulable"}};
  }
  return verdict;
}

void AddNoes(const FilterVerdict& verdict, size_t nodes, Noes& noes) {
  for (const std::string& reason : verdict.reasons) noes[{reason, verdict.filter}] += nodes;
}

// Counts the answer of one node.
void AddVerdict(NodeId node, FilterVerdict verdict, PlaceTally& tally, Noes& noes) {
  if (verdict.fits) {
    if (tally.fits++ == 0) tally.first_fit = node;
    return;
  }
  AddNoes(verdict, 1, noes);
  if (verdict.detail.empty()) return;
  if (tally.details.size() == PlaceTally::kDetailsMax) {
    ++tally.details_left_out;
  } else {
    tally.details.push_back({node, verdict.filter, std::move(verdict.detail)});
  }
}

std::vector<PlaceTally::No> Sorted(const Noes& noes) {
  std::vector<PlaceTally::No> sorted;
  for (const auto& [no, nodes] : noes) sorted.push_back({no.second, no.first, nodes});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  return sorted;
}

// Whether the filters before NodeResourcesFit, including PreFilter, give the same verdict for all
// pods of one fit class on all nodes of one shape.
bool BeginsWithConstraints(const ClusterSnapshot& snapshot, const PodShape& shape) {
  constexpr size_t kRequestsMax = 63;  // Shortage() has a bit for each.
  return ShortCutsOf(PartsOf(snapshot.catalog(), shape)).alike_before_room &&
         shape.fit_requests.size() < kRequestsMax && PreFilter(snapshot, shape).fits;
}

// Bit 0: no slot for a pod; bit i + 1: too little of the i-th request.
uint64_t Shortage(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  uint64_t bits = snapshot.Free(kPods, node) < 1 ? 1 : 0;
  for (size_t i = 0; i < shape.fit_requests.size(); ++i) {
    const auto& [resource, amount] = shape.fit_requests[i];
    const bool is_short = resource != kPods && amount > snapshot.Free(resource, node);
    bits |= uint64_t{is_short} << (i + 1);
  }
  return bits;
}

}  // namespace

std::string PlaceTally::Text() const {
  std::string text = fmt::format("{}/{} nodes are available", fits, nodes);
  const char* separator = ": ";
  for (const No& no : noes) {
    text += fmt::format("{}{} {} ({})", separator, no.nodes, no.reason, FilterName(no.filter));
    separator = ", ";
  }
  return text + ".";
}

PlaceTally TallyPlaces(const ClusterSnapshot& snapshot, PodId pod) {
  EBB_DCHECK(snapshot.NodeOf(pod) == kNoNode);
  const PodShape& shape = snapshot.catalog().shape_of(pod);
  PlaceTally tally;
  Noes noes;
  snapshot.alive().ForEach([&](NodeId node) {
    if (snapshot.IsGhost(node)) return;
    ++tally.nodes;
    AddVerdict(node, Ask(snapshot, shape, node), tally, noes);
  });
  tally.noes = Sorted(noes);
  return tally;
}

PlaceTallies::Verdict PlaceTallies::Number(Class& of, FilterVerdict verdict) {
  std::vector<std::string> key = verdict.reasons;
  key.emplace_back(FilterName(verdict.filter));
  const auto [it, is_new] =
      of.by_reasons.try_emplace(std::move(key), static_cast<Verdict>(of.verdicts.size()));
  if (is_new) {
    of.verdicts.push_back(std::move(verdict));
    of.nodes.push_back(0);
  }
  return it->second;
}

// The verdict of the filters up to NodeResourcesFit.  Verdicts that depend only on the node's shape
// are computed once per shape, and shortages are identified by their bits.
PlaceTallies::Verdict PlaceTallies::RunFilters(Class& of, const ClusterSnapshot& snapshot,
                                               const PodShape& shape, NodeId node) {
  const size_t node_shape = Index(snapshot.catalog().node(node).shape);
  if (of.of_shape.size() <= node_shape) of.of_shape.resize(node_shape + 1, kUnknown);
  Verdict& of_shape = of.of_shape[node_shape];
  if (of_shape == kUnknown) {
    FilterVerdict verdict = Explain(snapshot, shape, node);
    const bool before_resources = !verdict.fits && verdict.filter < Filter::kNodeResourcesFit;
    of_shape = before_resources ? Number(of, std::move(verdict)) : kPasses;
  }
  if (of_shape != kPasses) return of_shape;
  const uint64_t shortage = Shortage(snapshot, shape, node);
  if (shortage == 0) return kPasses;
  const auto [it, is_new] = of.by_shortage.try_emplace(shortage, kPasses);
  if (is_new) it->second = Number(of, Explain(snapshot, shape, node));
  return it->second;
}

PlaceTallies::Class& PlaceTallies::ClassOf(const ClusterSnapshot& snapshot,
                                           const std::vector<NodeId>& changed,
                                           const PodShape& shape) {
  const size_t nodes = snapshot.catalog().nodes();
  if (classes_.size() * nodes * sizeof(Verdict) > kBytesMax) classes_.clear();
  Class& of = classes_[static_cast<uint32_t>(shape.fit_class)];
  const NodeId ghost = snapshot.ghost();
  const auto update = [&](NodeId node) {
    Verdict& verdict = of.of_node[Index(node)];
    --of.nodes[verdict];
    verdict =
        snapshot.Contains(node) && node != ghost ? RunFilters(of, snapshot, shape, node) : kGone;
    ++of.nodes[verdict];
  };
  if (of.of_node.empty()) {
    of.verdicts.resize(kGone + 1);
    of.nodes.assign(kGone + 1, 0);
    of.nodes[kGone] = nodes;
    of.of_node.assign(nodes, kGone);
    for (uint32_t n = 0; n < nodes; ++n) update(NodeId{n});
  } else {
    for (size_t i = of.seen; i < changed.size(); ++i) update(changed[i]);
    update(of.ghost);  // The former ghost is a node again, or gone.
    update(ghost);
  }
  of.seen = changed.size();
  of.ghost = ghost;
  return of;
}

std::optional<PlaceTally> PlaceTallies::Of(const ClusterSnapshot& snapshot,
                                           const std::vector<NodeId>& changed, PodId pod) {
  EBB_DCHECK(snapshot.ghost() != kNoNode && snapshot.NodeOf(pod) == kNoNode);
  const PodShape& shape = snapshot.catalog().shape_of(pod);
  if (!BeginsWithConstraints(snapshot, shape)) {
    if (!MayAsk(snapshot.nodes())) return std::nullopt;
    return TallyPlaces(snapshot, pod);
  }
  Class& of = ClassOf(snapshot, changed, shape);
  PlaceTally tally;
  Noes noes;
  for (size_t v = kGone + 1; v < of.verdicts.size(); ++v) {
    if (of.nodes[v] > 0) AddNoes(of.verdicts[v], of.nodes[v], noes);
  }
  for (const size_t nodes : of.nodes) tally.nodes += nodes;
  tally.nodes -= of.nodes[kGone];
  if (of.nodes[kPasses] > 0) {
    if (!MayAsk(of.nodes[kPasses])) return std::nullopt;
    for (uint32_t n = 0; n < of.of_node.size(); ++n) {
      if (of.of_node[n] != kPasses) continue;
      AddVerdict(NodeId{n}, Ask(snapshot, shape, NodeId{n}), tally, noes);
    }
  }
  tally.noes = Sorted(noes);
  return tally;
}

bool PlaceTallies::MayAsk(size_t nodes) {
  asked_ += nodes;
  return asked_ <= asks_max_;
}

}  // namespace ebb
