#include "engine/plan/headroom.h"

#include <algorithm>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "engine/plan/node_standing.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

// The zone of a node; kNoText: it has none.
TextId ZoneOf(const Catalog& catalog, NodeId node) {
  for (const std::string_view key : {kZoneLabel, kBetaZoneLabel}) {
    const std::optional<TextId> id = catalog.symbols().Find(key);
    if (!id) continue;
    if (const auto zone = FindLabel(catalog.node(node).labels, *id)) return *zone;
  }
  return kNoText;
}

}  // namespace

bool CountsForHeadroom(const Catalog& catalog, NodeId node) {
  const NodeInfo& info = catalog.node(node);
  return info.ready && !info.unschedulable && !IsLeaving(catalog, node);
}

uint64_t HeadroomScope(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                       HeadroomPer per) {
  if (per == HeadroomPer::kGroup) return Index(groups.Of(node));
  if (per == HeadroomPer::kZone) return Index(ZoneOf(catalog, node));
  return 0;
}

HeadroomTracker::HeadroomTracker(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                 const Headroom& headroom, std::span<const NodeId> in_deletion)
    : catalog_(&snapshot.catalog()), wanted_{headroom.cpu, headroom.memory} {
  if (headroom.empty()) return;
  scope_of_.assign(catalog_->nodes(), kNone);
  absl::flat_hash_map<uint64_t, uint32_t> scopes;
  snapshot.alive().ForEach([&](NodeId node) {
    if (!CountsForHeadroom(*catalog_, node)) return;
    if (std::ranges::find(in_deletion, node) != in_deletion.end()) return;
    const uint64_t name = HeadroomScope(*catalog_, groups, node, headroom.per);
    const auto [it, is_new] = scopes.try_emplace(name, static_cast<uint32_t>(scopes_.size()));
    if (is_new) scopes_.emplace_back();
    scope_of_[Index(node)] = it->second;
    Scope& scope = scopes_[it->second];
    const Amounts free = FreeOn(snapshot, node);
    for (size_t r = 0; r < free.size(); ++r) {
      scope.offered[r] += snapshot.Allocatable(r == 0 ? kCpu : kMemory, node);
      scope.free[r] += free[r];
    }
  });
}

bool HeadroomTracker::Allows(NodeId node, const Amounts& free, std::span<const Move> moves) {
  if (scope_of_.empty()) return true;
  Count(node, free, moves, +1);
  bool allowed = scope_of_[Index(node)] == kNone || IsFree(scope_of_[Index(node)]);
  for (const Move& move : moves) {
    const uint32_t scope = scope_of_[Index(move.to)];
    allowed = allowed && (scope == kNone || IsFree(scope));
  }
  Count(node, free, moves, -1);
  return allowed;
}

void HeadroomTracker::Remove(NodeId node, const Amounts& free, std::span<const Move> moves) {
  if (!scope_of_.empty()) Count(node, free, moves, +1);
}

void HeadroomTracker::Count(NodeId node, const Amounts& free, std::span<const Move> moves,
                            int sign) {
  if (const uint32_t own = scope_of_[Index(node)]; own != kNone) {
    const std::array<int64_t, 2> offered = {AmountOf(catalog_->node(node).allocatable, kCpu),
                                            AmountOf(catalog_->node(node).allocatable, kMemory)};
    for (size_t r = 0; r < free.size(); ++r) {
      scopes_[own].offered[r] -= sign * offered[r];
      scopes_[own].free[r] -= sign * free[r];
    }
  }
  for (const Move& move : moves) {
    const uint32_t scope = scope_of_[Index(move.to)];
    if (scope == kNone) continue;
    const Requests& charge = catalog_->ChargeOn(move.pod, move.to);
    scopes_[scope].free[0] -= sign * AmountOf(charge, kCpu);
    scopes_[scope].free[1] -= sign * AmountOf(charge, kMemory);
  }
}

// A scope that offers nothing, because all its nodes have gone, has nothing to keep free.
bool HeadroomTracker::IsFree(uint32_t scope) const {
  const Scope& of = scopes_[scope];
  for (size_t r = 0; r < wanted_.size(); ++r) {
    if (static_cast<double>(of.free[r]) < wanted_[r] * static_cast<double>(of.offered[r])) {
      return false;
    }
  }
  return true;
}

}  // namespace ebb
