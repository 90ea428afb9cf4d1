#include "search/bound.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "base/check.h"
#include "engine/deletions_under_way.h"
#include "engine/pass/workloads.h"
#include "engine/plan/check_input.h"
#include "engine/plan/group_quotas.h"
#include "predicates/drainability.h"
#include "predicates/static_nodes.h"
#include "search/relaxation.h"
#include "search/removable.h"
#include "search/usable_room.h"

namespace ebb {
namespace {

struct Term {
  size_t candidate;
  absl::int128 amount;
};

// sum amount * x <= most.
struct Limit {
  absl::int128 most = 0;
  std::vector<Term> terms;  // Amounts above 0.
};

std::vector<RemovableCandidate> CandidatesOf(const ClusterSnapshot& snapshot,
                                             const NodeGroups& groups, const PlanRequest& request) {
  std::vector<NodeId> nodes;
  if (request.candidates == nullptr) {
    snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
  }
  return FindRemovable(snapshot, groups, request.planner,
                       request.candidates != nullptr ? *request.candidates : nodes,
                       request.pass.now_s);
}

// The amount that a pod both must find free and then takes.  The pods of a node take no more of it
// together than the node's room, since each of them found its amount free.
int64_t TakenOf(const PodShape& shape, ResourceId resource) {
  if (resource == kPods) return 1;
  int64_t taken =
      std::min(AmountOf(shape.fit_requests, resource), AmountOf(shape.charge_requests, resource));
  // A pod that stays may take less than one that moves.
  if (shape.vpa != kNoText) taken = std::min(taken, AmountOf(shape.home_requests, resource));
  return std::max<int64_t>(0, taken);
}

// A set of nodes that some pods cannot leave, because selectors bind them to it or taints keep them
// off all other nodes.
struct Realm {
  NodeSet nodes;
  // By StaticClassOf: whether pods of the class can run on no other nodes.
  std::vector<bool> classes;
  NodeSet takers;  // The nodes on which some pod of these classes can run.
};

// The set of all nodes that may take pods, and each set of nodes that some pods which may have to
// move cannot leave; at most kRealmsMax in all.
std::vector<Realm> FindRealms(const ClusterSnapshot& snapshot, const PlanRequest& request,
                              std::span<const RemovableCandidate> candidates) {
  // More realms can make the bound lower, but every round of the search for prices walks over all
  // of them.  Not tuned: other values were not compared.
  constexpr size_t kRealmsMax = 24;
  const Catalog& catalog = snapshot.catalog();
  const NodeSet open = OpenNodes(snapshot, request.pass.destinations);
  const NodeSet none(catalog.nodes());
  std::vector<Realm> realms = {{.nodes = open, .classes = {}, .takers = none}};
  std::vector<std::optional<NodeSet>> nodes_of(StaticClasses(catalog));
  for (const RemovableCandidate& candidate : candidates) {
    for (const PodId pod : candidate.move) {
      const PodShapeId shape = catalog.shape_id(pod);
      std::optional<NodeSet>& nodes = nodes_of[StaticClassOf(catalog, shape)];
      if (nodes) continue;
      nodes = StaticNodes(snapshot, catalog.shape(shape), open);
      const auto is_same = [&](const Realm& realm) { return realm.nodes == *nodes; };
      if (realms.size() < kRealmsMax && std::ranges::none_of(realms, is_same)) {
        realms.push_back({.nodes = *nodes, .classes = {}, .takers = none});
      }
    }
  }
  const auto is_within = [](const NodeSet& inner, const NodeSet& outer) {
    for (size_t w = 0; w < inner.words().size(); ++w) {
      if ((inner.words()[w] & ~outer.words()[w]) != 0) return false;
    }
    return true;
  };
  for (Realm& realm : realms) {
    for (const std::optional<NodeSet>& nodes : nodes_of) {
      realm.classes.push_back(nodes && is_within(*nodes, realm.nodes));
      if (realm.classes.back()) nodes->ForEach([&](NodeId node) { realm.takers.Insert(node); });
    }
  }
  return realms;
}

// By PodShapeId, for shapes of pods that may have to move: by ResourceId, what such a pod takes.
using AmountsOfShapes = std::vector<std::vector<int64_t>>;

AmountsOfShapes FindAmounts(const Catalog& catalog,
                            std::span<const RemovableCandidate> candidates) {
  AmountsOfShapes amounts(catalog.pod_shapes());
  for (const RemovableCandidate& candidate : candidates) {
    for (const PodId pod : candidate.move) {
      std::vector<int64_t>& of = amounts[Index(catalog.shape_id(pod))];
      if (!of.empty()) continue;
      for (uint32_t r = 0; r < catalog.resources(); ++r) {
        of.push_back(TakenOf(catalog.shape_of(pod), ResourceId{r}));
      }
    }
  }
  return amounts;
}

// Adds a limit for each resource: the room that pods bound to the realm can take of its nodes.  The
// removal of a node takes its own room out, and its bound pods take room on other nodes.
void AddLimitsOfRealm(const ClusterSnapshot& snapshot, const Realm& realm,
                      std::span<const RemovableCandidate> candidates,
                      std::span<const BoundOffer> offers, const AmountsOfShapes& amounts,
                      std::vector<Limit>& limits) {
  const Catalog& catalog = snapshot.catalog();
  const size_t resources = catalog.resources();
  const auto is_bound = [&](PodShapeId shape) {
    return realm.classes[StaticClassOf(catalog, shape)];
  };
  std::set<std::vector<int64_t>> kinds;
  for (uint32_t shape = 0; shape < amounts.size(); ++shape) {
    if (!amounts[shape].empty() && is_bound(PodShapeId{shape})) kinds.insert(amounts[shape]);
  }
  const std::vector<std::vector<int64_t>> list(kinds.begin(), kinds.end());
  const UsableRoom usable(list);
  std::vector<int64_t> room(resources);
  std::vector<int64_t> most(resources);
  // A node that is overcommitted takes no pod that requests anything.
  const auto find_most = [&](NodeId node) {
    std::ranges::fill(most, 0);
    if (!realm.takers.Contains(node)) return;
    for (uint32_t r = 0; r < resources; ++r) {
      room[r] = std::max<int64_t>(0, snapshot.Free(ResourceId{r}, node));
    }
    usable.Of(room, most);
  };
  std::vector<Limit> of(resources);
  snapshot.alive().ForEach([&](NodeId node) {
    find_most(node);
    for (size_t r = 0; r < resources; ++r) of[r].most += most[r];
  });
  for (size_t c = 0; c < candidates.size(); ++c) {
    find_most(candidates[c].node);
    std::vector<absl::int128> amount(most.begin(), most.end());
    for (const PodId pod : candidates[c].move) {
      const PodShapeId shape = catalog.shape_id(pod);
      if (!is_bound(shape)) continue;
      for (size_t r = 0; r < resources; ++r) amount[r] += amounts[Index(shape)][r];
    }
    for (size_t r = 0; r < resources; ++r) {
      if (amount[r] > 0) of[r].terms.push_back({.candidate = c, .amount = amount[r]});
    }
  }
  for (size_t o = 0; o < offers.size(); ++o) {
    find_most(offers[o].node);
    for (size_t r = 0; r < resources; ++r) {
      if (most[r] <= 0) continue;
      const absl::int128 all = absl::int128{most[r]} * offers[o].copies;
      of[r].most += all - most[r];
      of[r].terms.push_back({.candidate = candidates.size() + o, .amount = all});
    }
  }
  std::ranges::move(of, std::back_inserter(limits));
}

void AddLimitsOfGroups(const ClusterSnapshot& snapshot, const NodeGroups& groups, int64_t now_s,
                       std::span<const RemovableCandidate> candidates,
                       std::span<const BoundOffer> offers, std::vector<Limit>& limits) {
  const std::vector<int64_t> quotas = GroupQuotas(snapshot, groups, now_s);
  std::vector<Limit> of_groups(quotas.size());
  for (size_t g = 0; g < quotas.size(); ++g) of_groups[g].most = std::max<int64_t>(0, quotas[g]);
  for (size_t c = 0; c < candidates.size(); ++c) {
    of_groups[Index(groups.Of(candidates[c].node))].terms.push_back({.candidate = c, .amount = 1});
  }
  // A share of more nodes may be more nodes.
  for (const BoundOffer& each : offers) {
    if (each.group != kNoGroup) of_groups[Index(each.group)].most += each.copies;
  }
  std::ranges::move(of_groups, std::back_inserter(limits));
}

// The budgets, used up; but budgets that allow all that candidates could use are left alone.
PdbTracker SpentBudgets(const Catalog& catalog, std::span<const RemovableCandidate> candidates) {
  std::vector<std::vector<PodId>> pods(catalog.pdbs().size());
  for (const RemovableCandidate& candidate : candidates) {
    for (const PodId pod : candidate.move) {
      for (const PdbId pdb : catalog.ChargedBudgets(pod)) pods[Index(pdb)].push_back(pod);
    }
  }
  PdbTracker spent(catalog);
  for (size_t p = 0; p < pods.size(); ++p) {
    const int64_t left = spent.remaining(PdbId{static_cast<uint32_t>(p)});
    if (left <= 0 || left >= static_cast<int64_t>(pods[p].size())) continue;
    spent.RemovePods(std::span(pods[p]).first(static_cast<size_t>(left)));
  }
  return spent;
}

// Some rules before that of budgets let a pod be moved without asking its budgets.  Which pods do
// ask is found by judging them with used-up budgets.
void AddLimitsOfBudgets(const Catalog& catalog, const NodeGroups& groups,
                        const PlanRequest& request, std::span<const RemovableCandidate> candidates,
                        std::vector<Limit>& limits) {
  const PdbTracker spent = SpentBudgets(catalog, candidates);
  const std::vector<Pdb>& pdbs = catalog.pdbs();
  std::vector<Limit> nodes(pdbs.size());
  std::vector<Limit> pods(pdbs.size());
  for (size_t c = 0; c < candidates.size(); ++c) {
    for (const PodId pod : candidates[c].move) {
      if (catalog.ChargedBudgets(pod).empty()) continue;
      const DrainVerdict verdict =
          ApplyDrainRules(catalog, pod, request.planner.drain, spent, request.pass.now_s,
                          groups.ManagerOf(candidates[c].node));
      if (verdict.reason != BlockingPodReason::kNotEnoughPdb || !verdict.pdb) continue;
      std::vector<Term>& of_pods = pods[Index(*verdict.pdb)].terms;
      if (of_pods.empty() || of_pods.back().candidate != c) {
        of_pods.push_back({.candidate = c, .amount = 0});
        nodes[Index(*verdict.pdb)].terms.push_back({.candidate = c, .amount = 1});
      }
      of_pods.back().amount += 1;
    }
  }
  for (size_t p = 0; p < pdbs.size(); ++p) {
    if (nodes[p].terms.empty()) continue;
    const int64_t allowed = std::max(0, pdbs[p].disruptions_allowed);
    nodes[p].most = allowed;
    absl::int128 most_on_one = 0;
    for (const Term& term : pods[p].terms) most_on_one = std::max(most_on_one, term.amount);
    pods[p].most = allowed - 1 + most_on_one;
    limits.push_back(std::move(nodes[p]));
    limits.push_back(std::move(pods[p]));
  }
}

// Adds a limit for each workload: the share of its pods that may be evicted.
void AddLimitsOfWorkloads(const ClusterSnapshot& snapshot, double share,
                          std::span<const RemovableCandidate> candidates,
                          std::vector<Limit>& limits) {
  if (share >= 1) return;
  const Workloads workloads(snapshot);
  std::vector<Limit> of_workloads(workloads.pods.size());
  for (size_t w = 0; w < workloads.pods.size(); ++w) {
    of_workloads[w].most = PodsOfShare(workloads.pods[w].size(), share);
  }
  for (size_t c = 0; c < candidates.size(); ++c) {
    for (const PodId pod : candidates[c].move) {
      if (workloads.of[Index(pod)] == Workloads::kNone) continue;
      std::vector<Term>& terms = of_workloads[workloads.of[Index(pod)]].terms;
      if (terms.empty() || terms.back().candidate != c) {
        terms.push_back({.candidate = c, .amount = 0});
      }
      terms.back().amount += 1;
    }
  }
  std::ranges::move(of_workloads, std::back_inserter(limits));
}

// Clears the worth of nodes that break a limit alone, then drops limits that cannot be reached.
void Reduce(std::vector<Limit>& limits, std::vector<int64_t>& worth) {
  for (const Limit& limit : limits) {
    for (const Term& term : limit.terms) {
      if (term.amount > limit.most) worth[term.candidate] = 0;
    }
  }
  std::erase_if(limits, [&](Limit& limit) {
    std::erase_if(limit.terms, [&](const Term& term) { return worth[term.candidate] <= 0; });
    absl::int128 all = 0;
    for (const Term& term : limit.terms) all += term.amount;
    return all <= limit.most;
  });
}

// The shares that choices take of limits.
std::vector<LimitShares> SharesOf(const std::vector<Limit>& limits) {
  std::vector<LimitShares> shares;
  for (const Limit& limit : limits) {
    LimitShares& of = shares.emplace_back();
    for (const Term& term : limit.terms) {
      of.emplace_back(static_cast<uint32_t>(term.candidate),
                      static_cast<double>(term.amount) / static_cast<double>(limit.most));
    }
  }
  return shares;
}

// The limit with amounts so small that sums of products do not overflow.  Each choice that
// satisfies `limit` also satisfies the result.
Limit Shrunk(const Limit& limit) {
  constexpr absl::int128 kMost = absl::int128{1} << 40;
  const absl::int128 divisor = limit.most / kMost + 1;
  Limit shrunk{.most = (limit.most + divisor - 1) / divisor, .terms = limit.terms};
  for (Term& term : shrunk.terms) term.amount /= divisor;
  return shrunk;
}

// The bound that `prices` give, in integers: sum price * most, plus for each candidate the part of
// its worth that exceeds its price.  One unit of worth is 2^shift.  All worth together is below
// 2^110 and each price is at most all worth, so 2^15 limits stay below 2^127.
int64_t ExactBound(const std::vector<Limit>& limits, const std::vector<int64_t>& worth,
                   std::span<const double> prices) {
  constexpr size_t kLimitsMax = size_t{1} << 15;
  absl::int128 all = 0;
  for (const int64_t of_node : worth) all += of_node;
  int shift = 0;
  while (shift < 90 && (all << (shift + 1)) < (absl::int128{1} << 110)) ++shift;
  std::vector<absl::int128> left;
  left.reserve(worth.size());
  for (const int64_t of_node : worth) left.push_back(absl::int128{of_node} << shift);
  absl::int128 bound = 0;
  for (size_t l = 0; l < std::min(limits.size(), kLimitsMax); ++l) {
    const Limit limit = Shrunk(limits[l]);
    const double share = std::clamp(prices[l], 0.0, static_cast<double>(all));
    const absl::int128 price =
        std::min(absl::int128(std::ldexp(share, shift)), all << shift) / limit.most;
    bound += price * limit.most;
    for (const Term& term : limit.terms) left[term.candidate] -= price * term.amount;
  }
  for (const absl::int128 of_node : left) bound += std::max(absl::int128{0}, of_node);
  bound = std::min(bound >> shift, all);
  return static_cast<int64_t>(std::min(bound, absl::int128{INT64_MAX}));
}

RemovalBound BoundPrepared(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                           const PlanRequest& request, std::span<const int64_t> worth,
                           const Deadline* deadline, std::span<const BoundOffer> offers) {
  const std::vector<RemovableCandidate> candidates = CandidatesOf(snapshot, groups, request);
  std::vector<Limit> limits;
  const AmountsOfShapes amounts = FindAmounts(snapshot.catalog(), candidates);
  for (const Realm& realm : FindRealms(snapshot, request, candidates)) {
    AddLimitsOfRealm(snapshot, realm, candidates, offers, amounts, limits);
  }
  AddLimitsOfGroups(snapshot, groups, request.pass.now_s, candidates, offers, limits);
  AddLimitsOfBudgets(snapshot.catalog(), groups, request, candidates, limits);
  AddLimitsOfWorkloads(snapshot, request.pass.max_workload_share, candidates, limits);

  std::vector<int64_t> worths;
  for (const RemovableCandidate& candidate : candidates) {
    worths.push_back(worth.empty() ? 1 : std::max<int64_t>(0, worth[Index(candidate.node)]));
  }
  int64_t unbought = 0;
  for (const BoundOffer& each : offers) {
    worths.push_back(each.price * each.copies);
    unbought += each.price * each.copies;
  }
  RemovalBound bound;
  bound.eligible = candidates.size();
  Reduce(limits, worths);
  bound.removable = static_cast<size_t>(std::ranges::count_if(
      std::span(worths).first(candidates.size()), [](int64_t of_node) { return of_node > 0; }));
  const std::vector<LimitShares> shares = SharesOf(limits);
  std::vector<double> left(worths.begin(), worths.end());
  const Relaxation relaxed = SolveRelaxation(shares, left, deadline);
  bound.worth = ExactBound(limits, worths, relaxed.prices) - unbought;
  for (size_t l = 0; l < shares.size(); ++l) {
    for (const auto& [candidate, share] : shares[l]) left[candidate] -= relaxed.prices[l] * share;
  }
  bound.surplus.assign(snapshot.catalog().nodes(), std::numeric_limits<double>::lowest());
  bound.solution.assign(snapshot.catalog().nodes(), 0);
  for (size_t c = 0; c < candidates.size(); ++c) {
    if (worths[c] <= 0) continue;
    bound.surplus[Index(candidates[c].node)] = left[c];
    bound.solution[Index(candidates[c].node)] = relaxed.solution[c];
  }
  for (size_t o = 0; o < offers.size(); ++o) {
    const auto copies = static_cast<double>(offers[o].copies);
    bound.bought.push_back(copies * (1 - relaxed.solution[candidates.size() + o]));
    bound.gain.push_back(-left[candidates.size() + o] / copies);
  }
  return bound;
}

}  // namespace

RemovalBound BoundRemovals(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                           const PlanRequest& request, std::span<const int64_t> worth,
                           const Deadline* deadline, std::span<const BoundOffer> offers) {
  EBB_DCHECK(CheckNoFork(snapshot).ok() && CheckOptions(request.planner).ok() &&
             CheckGroups(snapshot.catalog(), groups).ok() &&
             CheckPassInput(snapshot, request.pass).ok());
  EBB_DCHECK(worth.empty() || worth.size() == snapshot.catalog().nodes());
  return BesideDeletions(snapshot, request,
                         [&](const ClusterSnapshot& beside, const PlanRequest& asked) {
                           return BoundPrepared(beside, groups, asked, worth, deadline, offers);
                         });
}

}  // namespace ebb
