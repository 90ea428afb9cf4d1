#include "search/packing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "engine/pass/workloads.h"
#include "engine/plan/atomic_groups.h"
#include "engine/plan/group_quotas.h"
#include "predicates/drainability.h"
#include "predicates/filters.h"
#include "predicates/pdb_tracker.h"
#include "predicates/static_nodes.h"
#include "search/removable.h"

namespace ebb {
namespace {

// The sum over all resources, relative to what an average node offers.
double SizeOf(std::span<const ResourceQuantity> requests, std::span<const double> share) {
  double size = 0;
  for (const ResourceQuantity& each : requests) {
    size += static_cast<double>(each.amount) * share[Index(each.resource)];
  }
  return size;
}

std::vector<double> SharesOf(const ClusterSnapshot& snapshot) {
  const Catalog& catalog = snapshot.catalog();
  std::vector<double> offered(catalog.resources());
  snapshot.alive().ForEach([&](NodeId node) {
    for (const ResourceQuantity& each : catalog.node(node).allocatable) {
      offered[Index(each.resource)] += static_cast<double>(each.amount);
    }
  });
  for (double& sum : offered) {
    sum = sum > 0 ? static_cast<double>(snapshot.nodes()) / sum : 0;
  }
  offered[Index(kPods)] = 0;  // Pod slots are seldom the scarce resource.
  return offered;
}

}  // namespace

PackingProblem::PackingProblem(const ClusterSnapshot& snapshot, const ClusterSnapshot& running,
                               const NodeGroups& groups, const PlanRequest& request,
                               std::span<const NodeId> candidates, std::span<const int64_t> worth)
    : quotas(GroupQuotas(snapshot, groups, request.pass.now_s)),
      open(OpenNodes(snapshot, request.pass.destinations)),
      movers(snapshot.catalog().nodes()),
      others(snapshot.catalog().nodes()),
      share(SharesOf(snapshot)) {
  const Catalog& catalog = snapshot.catalog();
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    if (catalog.node(NodeId{n}).unschedulable) open.Erase(NodeId{n});
  }
  home.resize(catalog.pods(), kNoNode);
  snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId pod : snapshot.PodsOn(node)) home[Index(pod)] = node;
  });
  const std::vector<int64_t> registered = RegisteredNodes(snapshot, groups);
  absl::flat_hash_map<uint32_t, size_t> atomic;  // Index of the group's unit.
  for (RemovableCandidate& candidate :
       FindRemovable(snapshot, groups, request.planner, candidates, request.pass.now_s)) {
    const NodeId node = candidate.node;
    if (!worth.empty() && worth[Index(node)] <= 0) continue;
    std::vector<PodId>& move = movers[Index(node)];
    move = std::move(candidate.move);
    for (const PodId pod : snapshot.PodsOn(node)) {
      if (std::ranges::count(move, pod) == 0) others[Index(node)].push_back(pod);
    }
    const GroupId group = groups.Of(node);
    size_t unit = units.size();
    if (groups.groups[Index(group)].atomic) {
      unit = atomic.try_emplace(Index(group), unit).first->second;
    }
    if (unit == units.size())
      units.push_back({.nodes = {}, .group = group, .worth = 0, .spends = {}});
    PackingUnit& of = units[unit];
    of.nodes.push_back(node);
    of.worth += worth.empty() ? 1 : worth[Index(node)];
    of.size += SizeOf(catalog.node(node).allocatable, share);
    for (const PodId pod : move) of.load += SizeOf(catalog.shape_of(pod).charge_requests, share);
    of.pods += move.size();
    // Large pods first, because they are the hardest to place.
    std::ranges::stable_sort(move, std::greater(), [&](PodId pod) {
      return SizeOf(catalog.shape_of(pod).charge_requests, share);
    });
  }
  std::erase_if(units, [&](const PackingUnit& unit) {
    const NodeGroup& group = groups.groups[Index(unit.group)];
    return group.atomic &&
           !IsWhole(group, static_cast<int64_t>(unit.nodes.size()), registered[Index(unit.group)]);
  });
  FindSpends(running, groups, request);
}

void PackingProblem::FindSpends(const ClusterSnapshot& running, const NodeGroups& groups,
                                const PlanRequest& request) {
  const Catalog& catalog = running.catalog();
  const double max_workload_share = request.pass.max_workload_share;
  PdbTracker pdbs(catalog);
  pdbs.RemovePods(request.pass.evicting);
  const auto pdb_count = static_cast<uint32_t>(catalog.pdbs().size());
  for (uint32_t p = 0; p < pdb_count; ++p) budgets.push_back(pdbs.remaining(PdbId{p}));
  std::optional<Workloads> workloads;
  if (max_workload_share < 1) {
    workloads.emplace(running);
    for (const std::vector<PodId>& pods : workloads->pods) {
      budgets.push_back(static_cast<int32_t>(PodsOfShare(pods.size(), max_workload_share)));
    }
  }
  // Whether budgets decide about a pod that must move: no rule before them does.
  const auto needs_budgets = [&](PodId pod, NodeId node) {
    return ApplyDrainRules(catalog, pod, request.planner.drain, pdbs, request.pass.now_s,
                           groups.ManagerOf(node))
               .outcome != DrainOutcome::kDrain;
  };
  budget_users.resize(budgets.size());
  SpentByBudget spent;
  for (uint32_t unit = 0; unit < units.size(); ++unit) {
    spent.clear();
    for (const NodeId node : units[unit].nodes) {
      for (const PodId pod : movers[Index(node)]) {
        const std::span<const PdbId> of_pod = catalog.ChargedBudgets(pod);
        const bool needs = !of_pod.empty() && needs_budgets(pod, node);
        for (const PdbId pdb : of_pod) spent[static_cast<uint32_t>(Index(pdb))].Add(needs);
        if (!workloads || workloads->of[Index(pod)] == Workloads::kNone) continue;
        spent[pdb_count + workloads->of[Index(pod)]].Add(/*needs=*/true);
      }
    }
    SetSpends(unit, pdb_count, spent);
  }
}

void PackingProblem::SetSpends(uint32_t unit, uint32_t pdb_count, const SpentByBudget& spent) {
  for (const auto& [budget, of_unit] : spent) {
    if (!of_unit.is_needed) {
      units[unit].goes_late = true;
      continue;
    }
    units[unit].spends.push_back(
        {.budget = budget, .pods = of_unit.pods, .least = budget < pdb_count ? 1 : of_unit.pods});
    budget_users[budget].push_back(unit);
  }
}

Packing::Packing(const ClusterSnapshot& snapshot, const PackingProblem& problem)
    : problem_(&problem),
      snapshot_(snapshot),
      removed_(problem.units.size()),
      group_removed_(problem.quotas.size()),
      budgets_(problem.budgets),
      bias_(snapshot.catalog().nodes()),
      room_(snapshot.catalog().nodes()),
      by_room_(snapshot.catalog().nodes()),
      is_overcommitted_(snapshot.catalog().nodes()),
      statics_(StaticClasses(snapshot.catalog())) {
  EBB_DCHECK(snapshot.depth() == 0);
  for (uint32_t n = 0; n < by_room_.size(); ++n) by_room_[n] = NodeId{n};
  for (const NodeId node : std::vector<NodeId>(by_room_)) Renew(node);
}

void Packing::SetBias(size_t unit, double nodes) {
  for (const NodeId node : problem_->units[unit].nodes) {
    SetRoom(node, room_[Index(node)] + nodes - bias_[Index(node)]);
    bias_[Index(node)] = nodes;
  }
}

void Packing::Renew(NodeId node) {
  double room = bias_[Index(node)];
  bool is_overcommitted = false;
  if (snapshot_.alive().Contains(node)) {
    for (const ResourceQuantity& each : snapshot_.catalog().node(node).allocatable) {
      const int64_t free = snapshot_.Free(each.resource, node);
      room += static_cast<double>(free) * problem_->share[Index(each.resource)];
      is_overcommitted = is_overcommitted || free < 0;
    }
  } else {
    room = std::numeric_limits<double>::infinity();
  }
  overcommitted_ += static_cast<size_t>(is_overcommitted);
  overcommitted_ -= static_cast<size_t>(is_overcommitted_[Index(node)]);
  is_overcommitted_[Index(node)] = is_overcommitted;
  SetRoom(node, room);
}

void Packing::SetRoom(NodeId node, double room) {
  const auto place_of = [&](double key) {
    return std::ranges::lower_bound(by_room_, std::pair(key, node), {}, [&](NodeId each) {
      return std::pair(room_[Index(each)], each);
    });
  };
  const auto from = place_of(room_[Index(node)]);
  const auto to = place_of(room);
  room_[Index(node)] = room;
  if (to > from) {
    std::rotate(from, from + 1, to);
  } else {
    std::rotate(to, from, from + 1);
  }
}

void Packing::Touch(NodeId node) {
  touched_.push_back(node);
  Renew(node);
}

const NodeSet& Packing::StaticsOf(PodShapeId id, const PodShape& shape) {
  std::optional<NodeSet>& statics = statics_[StaticClassOf(snapshot_.catalog(), id)];
  if (!statics) statics = StaticNodes(snapshot_, shape, problem_->open);
  return *statics;
}

NodeId Packing::Fullest(PodShapeId id) {
  const PodShape& shape = snapshot_.catalog().shape(id);
  const NodeSet& passed = StaticsOf(id, shape);
  if (!PreFilter(snapshot_, shape).fits) return kNoNode;
  const auto has_room = [&](NodeId node) {
    return std::ranges::all_of(shape.fit_requests, [&](const ResourceQuantity& each) {
      return snapshot_.Free(each.resource, node) >= each.amount;
    });
  };
  // Nodes with less room in all than the pod requests need no look, unless what other amounts lack
  // may hide it.
  constexpr double kRounding = 1e-6;
  const double needed = overcommitted_ > 0
                            ? -std::numeric_limits<double>::infinity()
                            : SizeOf(shape.fit_requests, problem_->share) - kRounding;
  auto at = std::ranges::lower_bound(by_room_, needed, {},
                                     [&](NodeId node) { return room_[Index(node)]; });
  for (; at != by_room_.end() && std::isfinite(room_[Index(*at)]); ++at) {
    const bool may_run = snapshot_.alive().Contains(*at) && passed.Contains(*at);
    if (may_run && has_room(*at) && DynamicFits(snapshot_, shape, *at)) return *at;
  }
  return kNoNode;
}

bool Packing::Empty(NodeId node) {
  moving_.clear();
  for (const PodId pod : snapshot_.PodsOn(node)) {
    if (problem_->home[Index(pod)] != node) moving_.push_back(pod);
  }
  const std::vector<PodId>& own = problem_->movers[Index(node)];
  moving_.insert(moving_.begin(), own.begin(), own.end());
  snapshot_.SetGhost(node);
  for (const PodId pod : moving_) {
    const NodeId to = Fullest(snapshot_.catalog().shape_id(pod));
    if (to == kNoNode) return false;
    snapshot_.AddPod(pod, to);
    Touch(to);
  }
  snapshot_.RemoveNode(node);
  Touch(node);
  return true;
}

void Packing::Note(size_t unit, bool gone) {
  const PackingUnit& of = problem_->units[unit];
  removed_[unit] = gone;
  worth_ += gone ? of.worth : -of.worth;
  group_removed_[Index(of.group)] += static_cast<int64_t>(of.nodes.size()) * (gone ? 1 : -1);
  for (const PackingSpend& spend : of.spends) {
    budgets_[spend.budget] += gone ? -spend.pods : spend.pods;
  }
  if (gone) {
    order_.push_back(static_cast<uint32_t>(unit));
  } else {
    order_.erase(std::ranges::find(order_, unit));
  }
}

void Packing::SpentBudgets(size_t unit, std::vector<uint32_t>& spent) const {
  spent.clear();
  for (const PackingSpend& each : problem_->units[unit].spends) {
    if (budgets_[each.budget] < each.least) spent.push_back(each.budget);
  }
}

bool Packing::Remove(size_t unit) {
  EBB_DCHECK(!IsRemoved(unit));
  const PackingUnit& of = problem_->units[unit];
  if (group_removed_[Index(of.group)] + static_cast<int64_t>(of.nodes.size()) >
      problem_->quotas[Index(of.group)]) {
    return false;
  }
  SpentBudgets(unit, spent_);
  if (!spent_.empty()) return false;
  const size_t touched = touched_.size();
  snapshot_.Fork();
  for (const NodeId node : of.nodes) {
    if (Empty(node)) continue;
    snapshot_.Revert();
    for (size_t i = touched; i < touched_.size(); ++i) Renew(touched_[i]);
    touched_.resize(touched);
    return false;
  }
  snapshot_.Commit();
  Note(unit, /*gone=*/true);
  return true;
}

void Packing::PutBack(size_t unit) {
  EBB_DCHECK(IsRemoved(unit));
  for (const NodeId node : problem_->units[unit].nodes) {
    snapshot_.AddNode(node);
    for (const PodId pod : problem_->movers[Index(node)]) {
      const NodeId from = snapshot_.NodeOf(pod);
      snapshot_.MovePod(pod, node);
      Touch(from);
    }
    for (const PodId pod : problem_->others[Index(node)]) snapshot_.AddPod(pod, node);
    Touch(node);
  }
  Note(unit, /*gone=*/false);
}

void Packing::Begin() {
  EBB_CHECK(snapshot_.depth() == 0);
  saved_ = {removed_, order_, group_removed_, budgets_, worth_};
  touched_.clear();
  snapshot_.Fork();
}

void Packing::Commit() { snapshot_.Commit(); }

void Packing::Revert() {
  snapshot_.Revert();
  removed_ = saved_.removed;
  order_ = saved_.order;
  group_removed_ = saved_.group_removed;
  budgets_ = saved_.budgets;
  worth_ = saved_.worth;
  for (const NodeId node : touched_) Renew(node);
}

std::vector<Move> Packing::Places() const {
  std::vector<Move> places;
  for (const uint32_t unit : order_) {
    for (const NodeId node : problem_->units[unit].nodes) {
      for (const PodId pod : problem_->movers[Index(node)]) {
        places.push_back({pod, snapshot_.NodeOf(pod)});
      }
    }
  }
  return places;
}

}  // namespace ebb
