#include "session/plan_digest.h"

#include <algorithm>
#include <span>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb {
namespace {

// Not 0, which stands for no utilization.
uint64_t UseHash(const Catalog& catalog, const Utilization& use) {
  return absl::HashOf(use.utilization, use.cpu, use.memory, use.gpu,
                      Absl(catalog.Text(use.resource))) |
         1;
}

uint64_t PodHash(const Catalog& catalog, PodId pod) {
  if (pod == kNoPod) return 0;
  return absl::HashOf(Absl(catalog.Text(catalog.shape_of(pod).namespace_name)),
                      Absl(catalog.Text(catalog.pod(pod).name)),
                      Absl(catalog.Text(catalog.pod(pod).key)));
}

uint64_t PodsHash(PodHashes& hashes, const std::vector<PodId>& pods) {
  uint64_t hash = pods.size();
  for (const PodId pod : pods) hash = absl::HashOf(hash, hashes.Of(pod));
  return hash;
}

uint64_t KeptHash(const Catalog& catalog, const UnremovableNode& kept) {
  std::string_view pdb_namespace;
  std::string_view pdb;
  if (kept.pdb) {
    pdb_namespace = catalog.Text(catalog.pdbs()[Index(*kept.pdb)].namespace_name);
    pdb = catalog.Text(catalog.pdbs()[Index(*kept.pdb)].name);
  }
  return absl::HashOf(kept.reason, kept.blocking_reason, PodHash(catalog, kept.pod),
                      Absl(pdb_namespace), Absl(pdb));
}

uint64_t FactsHash(const PlanReport& report, NodeId node) {
  const NodeFacts& facts = report.facts[Index(node)];
  const NodeGroup* const group = report.context.groups->Find(node);
  return absl::HashOf(facts.allocatable.cpu_milli, facts.allocatable.memory_bytes,
                      facts.allocatable.gpus, Absl(facts.instance_type), Absl(facts.zone),
                      Absl(facts.capacity_type), group == nullptr ? "" : group->name);
}

// The digest of what is known of each node, by NodeId.  Nodes of which the plan says nothing are
// left out.
PlanDigest DigestOf(PlanDigest::Form form, const Catalog& catalog,
                    std::span<const PlanDigest::Node> by_node) {
  PlanDigest digest{.form = form, .nodes = {}, .names = catalog.shared_symbols()};
  digest.nodes.reserve(by_node.size());
  for (uint32_t n = 0; n < by_node.size(); ++n) {
    const PlanDigest::Node& node = by_node[n];
    if (node.is_listed || node.use != 0) digest.nodes.emplace(catalog.NodeName(NodeId{n}), node);
  }
  return digest;
}

}  // namespace

void PodHashes::Attach(const Catalog& catalog) {
  const PodChangeLog& log = catalog.pod_changes();
  if (catalog_ == nullptr || catalog.lineage() != lineage_ || log.forgotten > pods_seen_ ||
      log.end() < pods_seen_) {
    hashes_.clear();
    pods_seen_ = log.end();
  }
  hashes_.resize(catalog.pods());
  for (uint64_t at = pods_seen_; at < log.end(); ++at) {
    hashes_[Index(log.changes[at - log.forgotten].id)] = 0;
  }
  catalog_ = &catalog;
  lineage_ = catalog.lineage();
  pods_seen_ = log.end();
}

uint64_t PodHashes::Of(PodId pod) {
  uint64_t& hash = hashes_[Index(pod)];
  if (hash == 0) hash = PodHash(*catalog_, pod);
  return hash;
}

PlanDigest DataDigest(const PlanContext& context, PodHashes& pods) {
  const Catalog& catalog = context.catalog();
  pods.Attach(catalog);
  std::vector<uint64_t> name_of(catalog.nodes());  // By NodeId; 0: not computed.
  const auto node_hash = [&](NodeId node) {
    uint64_t& hash = name_of[Index(node)];
    if (hash == 0) hash = absl::HashOf(Absl(catalog.NodeName(node)));
    return hash;
  };
  const Plan& plan = context.made->plan;
  std::vector<PlanDigest::Node> by_node(catalog.nodes());
  uint32_t place = 0;
  for (const RemovableNode& removal : plan.remove) {
    uint64_t hash = absl::HashOf(removal.risky, PodsHash(pods, removal.daemonset),
                                 PodsHash(pods, removal.on_completion));
    for (const Move& move : removal.moves) {
      hash = absl::HashOf(hash, pods.Of(move.pod), node_hash(move.to));
    }
    by_node[Index(removal.node)] = {.place = place++, .is_listed = true, .entry = hash};
  }
  for (const UnremovableNode& kept : plan.keep) {
    by_node[Index(kept.node)] = {.place = {}, .is_listed = true, .entry = KeptHash(catalog, kept)};
  }
  for (uint32_t n = 0; n < plan.utilization.size(); ++n) {
    if (plan.utilization[n]) by_node[n].use = UseHash(catalog, *plan.utilization[n]);
  }
  return DigestOf(PlanDigest::Form::kData, catalog, by_node);
}

PlanDigest DecisionDigest(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::vector<PlanDigest::Node> by_node(catalog.nodes());
  // An entry contains the utilization.  The order of the entries does not count.
  const auto put = [&](NodeId node, std::optional<uint32_t> place, uint64_t hash) {
    const auto& use = report.context.made->plan.utilization[Index(node)];
    by_node[Index(node)] = {
        .place = place,
        .is_listed = true,
        .entry = absl::HashOf(hash, FactsHash(report, node), use ? UseHash(catalog, *use) : 0)};
  };
  for (const PlanReport::Removal& removal : report.remove) {
    uint64_t hash = removal.risky ? 1 : 0;
    for (const PlanReport::PodMove& move : removal.pods) {
      hash = absl::HashOf(hash, PodHash(catalog, move.pod), Absl(catalog.NodeName(move.to)));
      for (const NodeId via : move.via) hash = absl::HashOf(hash, Absl(catalog.NodeName(via)));
    }
    put(removal.node, 0, hash);
  }
  for (const PlanReport::Kept& kept : report.keep) {
    put(kept.why.node, std::nullopt, absl::HashOf(KeptHash(catalog, kept.why), Absl(kept.reason)));
  }
  return DigestOf(PlanDigest::Form::kJson, catalog, by_node);
}

PlanDifference DifferenceOf(const PlanDigest& before, const PlanDigest& now) {
  PlanDifference difference;
  // A removal that both plans have.
  struct Common {
    uint32_t place;
    uint32_t place_before;
    std::string_view name;
    bool has_use;
  };
  std::vector<Common> common;
  for (const auto& [name, node] : now.nodes) {
    const auto it = before.nodes.find(name);
    const PlanDigest::Node* const last = it == before.nodes.end() ? nullptr : &it->second;
    const bool has_other_use = last == nullptr ? node.use != 0 : node.use != last->use;
    if (has_other_use && node.use != 0) difference.uses.emplace(name);
    if (!node.is_listed) {
      if (last == nullptr || !last->is_listed) continue;
      difference.gone.emplace_back(name);
      if (node.use != 0) difference.uses.emplace(name);
      continue;
    }
    const bool is_same = last != nullptr && last->is_listed && last->entry == node.entry &&
                         last->place.has_value() == node.place.has_value() &&
                         !(has_other_use && node.use == 0);
    if (!is_same) {
      difference.entries.emplace(name);
      if (node.use != 0) difference.uses.emplace(name);
    } else if (node.place) {
      common.push_back({*node.place, *last->place, name, node.use != 0});
    }
  }
  for (const auto& [name, last] : before.nodes) {
    if (!now.nodes.contains(name)) difference.gone.emplace_back(name);
  }
  std::ranges::sort(difference.gone);
  // A removal that another one has overtaken is sent again, with its place.
  std::ranges::sort(common, {}, &Common::place);
  uint32_t latest = 0;
  for (const Common& each : common) {
    latest = std::max(latest, each.place_before);
    if (each.place_before == latest) continue;
    difference.entries.emplace(each.name);
    if (each.has_use) difference.uses.emplace(each.name);
  }
  return difference;
}

std::string PlanVersions::Add(std::shared_ptr<const PlanDigest> digest) {
  kept_.emplace_back(absl::StrCat(id_, "-", ++last_), std::move(digest));
  if (kept_.size() > kKept) kept_.pop_front();
  return kept_.back().first;
}

std::shared_ptr<const PlanDigest> PlanVersions::Find(std::string_view version,
                                                     PlanDigest::Form form) const {
  const auto it = std::ranges::find(
      kept_, version, [](const auto& each) -> std::string_view { return each.first; });
  return it == kept_.end() || it->second->form != form ? nullptr : it->second;
}

}  // namespace ebb
