#include "snapshot/karpenter_objects.h"

#include <algorithm>
#include <utility>

namespace ebb {
namespace {

std::vector<std::string> Copies(const std::vector<objects::Text>& texts) {
  return {texts.begin(), texts.end()};
}

std::optional<std::string> Copy(const std::optional<objects::Text>& text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

KarpenterObjects::Claim Read(const objects::NodeClaim& from) {
  KarpenterObjects::Claim claim{.name = std::string(from.meta.name),
                                .has_conditions = !from.conditions.empty(),
                                .last_pod_event = from.last_pod_event};
  for (const auto& [type, status, since] : from.conditions) {
    if (status != "True") continue;
    if (type == "Initialized") {
      claim.initialized = true;
      if (!claim.last_pod_event) claim.last_pod_event = since;
    } else if (type == "Consolidatable") {
      claim.consolidatable = true;
    } else if (type == "InstanceTerminating") {
      claim.terminating = true;
    }
  }
  return claim;
}

}  // namespace

void KarpenterObjects::Put(const objects::NodePool& from, Symbols& /*symbols*/) {
  Pool pool{.name = std::string(from.meta.name),
            .is_static = from.is_static,
            .policy = std::string(from.policy),
            .consolidate_after = std::string(from.consolidate_after),
            .budgets = {},
            .not_understood = std::string(from.not_understood),
            .limits = {},
            .resources = {},
            .labels = {},
            .requirements = {},
            .taints = {},
            .not_bought = {}};
  for (const objects::NodePool::Budget& budget : from.budgets) {
    Budget& kept = pool.budgets.emplace_back();
    if (budget.has_reasons) kept.reasons = Copies(budget.reasons);
    kept.nodes = std::string(budget.nodes);
    kept.schedule = Copy(budget.schedule);
    kept.duration = Copy(budget.duration);
  }
  if (!from.has_budgets) pool.budgets.emplace_back().nodes = "10%";
  pool.weight = from.weight.value_or(0);
  for (const auto& each : from.limits) pool.limits[std::string(each.name)] = each.amount;
  for (const auto& each : from.resources) pool.resources[std::string(each.name)] = each.amount;
  for (const auto& each : from.labels) pool.labels[std::string(each.key)] = std::string(each.value);
  for (const objects::NodePool::Requirement& each : from.requirements) {
    pool.requirements.push_back({.key = std::string(each.key),
                                 .op = std::string(each.op),
                                 .values = Copies(each.values),
                                 .min_values = each.min_values});
  }
  for (const auto* const taints : {&from.taints, &from.startup_taints}) {
    for (const objects::Taint& each : *taints) {
      pool.taints.push_back({.key = std::string(each.key),
                             .value = std::string(each.value),
                             .effect = std::string(each.effect),
                             .is_startup = taints == &from.startup_taints});
    }
  }
  pool.not_bought = std::string(from.not_bought);
  std::string name = pool.name;
  pools_.insert_or_assign(std::move(name), std::move(pool));
}

void KarpenterObjects::Remove(const objects::NodePool& pool, Symbols& /*symbols*/) {
  pools_.erase(std::string(pool.meta.name));
}

std::vector<std::string>* KarpenterObjects::ListOf(const KeptClaim& kept) {
  if (kept.node_name != kNoText) return &by_node_[kept.node_name];
  return kept.provider_id != kNoText ? &by_provider_id_[kept.provider_id] : nullptr;
}

void KarpenterObjects::Unlist(std::string_view name) {
  const auto kept = claims_.find(name);
  if (kept == claims_.end()) return;
  if (std::vector<std::string>* const list = ListOf(kept->second)) std::erase(*list, name);
}

void KarpenterObjects::Put(const objects::NodeClaim& claim, Symbols& symbols) {
  Unlist(claim.meta.name);
  const auto id = [&](objects::Text text) { return text.empty() ? kNoText : symbols.Intern(text); };
  KeptClaim& kept = claims_[std::string(claim.meta.name)];
  kept = {
      .claim = Read(claim), .node_name = id(claim.node_name), .provider_id = id(claim.provider_id)};
  std::vector<std::string>* const list = ListOf(kept);
  if (list == nullptr) return;
  list->insert(std::ranges::upper_bound(*list, kept.claim.name), kept.claim.name);
}

void KarpenterObjects::Remove(const objects::NodeClaim& claim, Symbols& /*symbols*/) {
  Unlist(claim.meta.name);
  claims_.erase(std::string(claim.meta.name));
}

const KarpenterObjects::Pool* KarpenterObjects::FindPool(std::string_view name) const {
  const auto it = pools_.find(name);
  return it == pools_.end() ? nullptr : &it->second;
}

const KarpenterObjects::KeptClaim* KarpenterObjects::FirstIn(const Names& names, TextId key) const {
  const auto it = names.find(key);
  if (key == kNoText || it == names.end() || it->second.empty()) return nullptr;
  return &claims_.find(it->second.front())->second;
}

const KarpenterObjects::Claim* KarpenterObjects::FindClaim(TextId node_name,
                                                           TextId provider_id) const {
  const KeptClaim* kept = FirstIn(by_node_, node_name);
  if (kept == nullptr) kept = FirstIn(by_provider_id_, provider_id);
  if (kept == nullptr) return nullptr;
  const bool is_of_another =
      kept->provider_id != kNoText && provider_id != kNoText && kept->provider_id != provider_id;
  return is_of_another ? nullptr : &kept->claim;
}

bool KarpenterObjects::HasSeveralClaims(TextId node_name, TextId provider_id) const {
  const auto count = [](const Names& names, TextId key) {
    const auto it = names.find(key);
    return key == kNoText || it == names.end() ? size_t{0} : it->second.size();
  };
  return count(by_node_, node_name) + count(by_provider_id_, provider_id) > 1;
}

}  // namespace ebb
