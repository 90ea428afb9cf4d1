#include "report/karpenter_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "engine/plan/karpenter.h"
#include "engine/plan/node_standing.h"

namespace ebb {
namespace {

constexpr std::string_view kBudget = "NodePoolBudgetNotUnderstood";
constexpr std::string_view kAfter = "ConsolidateAfterNotUnderstood";
constexpr std::string_view kClaimsAlone = "NodeClaimsWithoutNode";
constexpr std::string_view kNodesAlone = "NodesWithoutNodeClaim";
constexpr std::string_view kNoPool = "NodesWithoutNodePool";
// Of an input that is taken for complete; the others have NoNodePools and NoNodeClaims.
constexpr std::string_view kWithoutPools = "WithoutNodePools";
constexpr std::string_view kWithoutClaims = "WithoutNodeClaims";
constexpr std::string_view kIgnored = "ScaleDownDisabledIgnored";

// "[ns/all ns/web]", as Go prints a list of names.
std::string NamesOfBudgets(const Catalog& catalog, PodId pod) {
  std::set<std::string> names;
  for (const PdbId id : catalog.shape_of(pod).budgets) {
    const Pdb& pdb = catalog.pdbs()[Index(id)];
    names.insert(fmt::format("{}/{}", Printable(catalog.Text(pdb.namespace_name)),
                             Printable(catalog.Text(pdb.name))));
  }
  return fmt::format("[{}]", fmt::join(names, " "));
}

std::string PodWords(const Catalog& catalog, const UnremovableNode& why) {
  switch (why.blocking_reason) {
    case BlockingPodReason::kDoNotDisruptAnnotation:
      return fmt::format("Pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod={})",
                         Printable(catalog.PodName(why.pod)));
    case BlockingPodReason::kNotEnoughPdb:
      return fmt::format("Pdb prevents pod evictions (PodDisruptionBudget={})",
                         NamesOfBudgets(catalog, why.pod));
    case BlockingPodReason::kSeveralPdbs:
      return fmt::format("Eviction does not support multiple PDBs (PodDisruptionBudget(s)={})",
                         NamesOfBudgets(catalog, why.pod));
    default:
      return "";
  }
}

std::string ConsolidatableWords(const Catalog& catalog, NodeId node, int64_t now_s) {
  const KarpenterObjects::Claim* const claim = FindNodeClaim(catalog, node);
  const auto until = UnderConsolidateAfterUntil(catalog, node, now_s);
  if (until) {
    return fmt::format("NodeClaim \"{}\" is not Consolidatable: consolidateAfter is over at {}",
                       Printable(claim->name), FormatRfc3339(*until));
  }
  return fmt::format("NodeClaim \"{}\" is not Consolidatable",
                     claim == nullptr ? "" : Printable(claim->name));
}

// Names, and their number; the text has the first few.
struct Names {
  size_t count = 0;
  std::string text;
  void Add(std::string_view name) {
    constexpr size_t kShown = 5;
    if (++count <= kShown) text += fmt::format("{}{}", text.empty() ? "" : ", ", Printable(name));
    if (count == kShown + 1) text += ", ...";
  }
};

void Warn(std::string_view code, const Names& names, std::string_view one, std::string_view many,
          std::string_view meaning, std::vector<InputWarning>& warnings) {
  if (names.count == 0) return;
  warnings.push_back(
      {std::string(code),
       fmt::format("{} ({}): {}", Count(names.count, one, many), names.text, meaning), ""});
}

void WarnOfPools(const ClusterSnapshot& snapshot, const NodeGroups& groups, int64_t now_s,
                 std::vector<InputWarning>& warnings) {
  const KarpenterObjects& objects = snapshot.catalog().storage().karpenter();
  const NodePoolBudgets budgets(snapshot, groups, /*in_deletion=*/{}, now_s);
  for (const auto& [name, allowance] : budgets.allowances()) {
    if (allowance.problem.empty()) continue;
    warnings.push_back({std::string(kBudget),
                        fmt::format("NodePool {}: {}; so its nodes stay, as with Karpenter",
                                    Printable(name), Printable(allowance.problem)),
                        ""});
  }
  for (const auto& [name, pool] : objects.pools()) {
    const std::string_view after = pool.consolidate_after;
    if (after.empty() || after == "Never" || ConsolidateAfterOf(pool)) continue;
    warnings.push_back({std::string(kAfter),
                        fmt::format("NodePool {}: spec.disruption.consolidateAfter: \"{}\" is not "
                                    "a duration; so its nodes stay",
                                    Printable(name), Printable(after)),
                        ""});
  }
}

void WarnOfPairs(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                 std::vector<InputWarning>& warnings) {
  const Catalog& catalog = snapshot.catalog();
  const KarpenterObjects& objects = catalog.storage().karpenter();
  Names without_claim;
  Names without_pool;
  std::set<TextId> provider_ids;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (!catalog.IsThere(node)) continue;
    provider_ids.insert(catalog.node(node).provider_id);
    if (!groups.FollowsKarpenter(node) || NodePoolOf(catalog, node).empty()) continue;
    const std::string_view name = catalog.NodeName(node);
    if (objects.HasClaims() && FindNodeClaim(catalog, node) == nullptr) without_claim.Add(name);
    if (objects.HasPools() && FindNodePool(catalog, node) == nullptr) without_pool.Add(name);
  }
  Names claims;
  objects.ForEachClaim([&](const KarpenterObjects::Claim& claim, TextId node, TextId provider_id) {
    const bool has_node =
        node != kNoText ? catalog.FindNode(node) != kNoNode : provider_ids.contains(provider_id);
    if (!has_node || (node == kNoText && provider_id == kNoText)) claims.Add(claim.name);
  });
  Warn(kClaimsAlone, claims, "NodeClaim has no node", "NodeClaims have no node",
       "Karpenter is still starting the machine, or the node is missing from the input; no budget "
       "counts it",
       warnings);
  Warn(kNodesAlone, without_claim, "node of Karpenter has no NodeClaim",
       "nodes of Karpenter have no NodeClaim", "such a node stays, and no budget counts it",
       warnings);
  Warn(kNoPool, without_pool, "node of Karpenter has no NodePool in the input",
       "nodes of Karpenter have no NodePool in the input", "such a node stays", warnings);
}

// The warnings that an input which is taken for complete does not have.
void WarnOfMissingKinds(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                        std::vector<InputWarning>& warnings) {
  const Catalog& catalog = snapshot.catalog();
  const KarpenterObjects& objects = catalog.storage().karpenter();
  Names nodes;
  snapshot.alive().ForEach([&](NodeId node) {
    if (groups.FollowsKarpenter(node)) nodes.Add(catalog.NodeName(node));
  });
  const auto warn = [&](std::string_view code, std::string_view incomplete,
                        std::string_view meaning) {
    if (std::ranges::count(warnings, incomplete, &InputWarning::code) > 0) return;
    Warn(code, nodes, "node follows Karpenter's rules", "nodes follow Karpenter's rules", meaning,
         warnings);
  };
  if (!objects.HasPools()) {
    warn(kWithoutPools, "NoNodePools",
         "there is no NodePool, so no budget, consolidationPolicy or consolidateAfter "
         "keeps a node");
  }
  if (!objects.HasClaims()) {
    warn(kWithoutClaims, "NoNodeClaims",
         "there is no NodeClaim, so the condition Consolidatable and consolidateAfter "
         "keep no node");
  }
}

}  // namespace

bool IsKarpenters(const NodeGroups& groups, const UnremovableNode& why) {
  using enum UnremovableReason;
  if (!groups.FollowsKarpenter(why.node)) return false;
  return why.reason >= kNodeClaimNotFound || why.reason == kScaleDownDisabledAnnotation ||
         why.reason == kBlockedByPod;
}

std::string KarpenterWords(const Catalog& catalog, const NodeGroups& groups,
                           const UnremovableNode& why, int64_t now_s) {
  using enum UnremovableReason;
  if (!IsKarpenters(groups, why)) return "";
  const std::string pool = Printable(NodePoolOf(catalog, why.node));
  switch (why.reason) {
    case kScaleDownDisabledAnnotation:
      return "Disruption is blocked through the \"karpenter.sh/do-not-disrupt\" annotation";
    case kBlockedByPod:
      return why.pod == kNoPod || why.before ? "" : PodWords(catalog, why);
    case kNodeClaimNotFound:
      if (const NodeInfo& info = catalog.node(why.node);
          catalog.storage().karpenter().HasSeveralClaims(info.name, info.provider_id)) {
        return "Several NodeClaims name the node";
      }
      return FindNodeClaim(catalog, why.node) == nullptr
                 ? "Node isn't managed by karpenter"
                 : "Node doesn't have required label (label=karpenter.sh/nodepool)";
    case kNodeNotInitialized:
      return "Node isn't initialized";
    case kNodePoolNotFound:
      return fmt::format("NodePool not found (NodePool={})", pool);
    case kStaticNodePool:
      return fmt::format("NodePool \"{}\" is static: its spec.replicas is set", pool);
    case kConsolidationDisabled:
      return fmt::format("NodePool \"{}\" has consolidation disabled", pool);
    case kNodeNotEmpty:
      return fmt::format(
          "NodePool \"{}\" has consolidation policy WhenEmpty, but node is not empty", pool);
    case kConsolidationPolicyNotEvaluated: {
      const KarpenterObjects::Pool* const found = FindNodePool(catalog, why.node);
      if (found != nullptr && !found->not_understood.empty()) {
        return fmt::format("NodePool \"{}\" has {}, which ebb does not evaluate", pool,
                           Printable(found->not_understood));
      }
      if (groups.ebb_consolidates && found != nullptr) {
        return fmt::format(
            "NodePool \"{}\" has consolidation policy {}, so Karpenter consolidates its nodes "
            "itself; WhenEmpty, or consolidateAfter: Never, leaves them to ebb",
            pool, found->policy.empty() ? "WhenEmptyOrUnderutilized" : Printable(found->policy));
      }
      return fmt::format("NodePool \"{}\" has consolidation policy {}, which ebb does not evaluate",
                         pool, found == nullptr ? "" : Printable(found->policy));
    }
    case kNotConsolidatable:
      return ConsolidatableWords(catalog, why.node, now_s);
    case kEmptyBudgetReached:
      return "No allowed disruptions for disruption reason Empty due to blocking budget";
    case kUnderutilizedBudgetReached:
      return "No allowed disruptions for disruption reason Underutilized due to blocking budget";
    default:
      return "";
  }
}

void WarnOfKarpenter(const ClusterSnapshot& snapshot, const NodeGroups& groups, const Plan& plan,
                     int64_t now_s, std::vector<InputWarning>& warnings) {
  std::erase_if(warnings, [](const InputWarning& each) {
    return each.code == kBudget || each.code == kAfter || each.code == kClaimsAlone ||
           each.code == kNodesAlone || each.code == kNoPool || each.code == kWithoutPools ||
           each.code == kWithoutClaims || each.code == kIgnored;
  });
  if (!groups.SomeFollowKarpenter()) return;
  WarnOfPools(snapshot, groups, now_s, warnings);
  WarnOfPairs(snapshot, groups, warnings);
  WarnOfMissingKinds(snapshot, groups, warnings);
  Names annotated;
  for (const RemovableNode& removal : plan.remove) {
    if (!groups.FollowsKarpenter(removal.node)) continue;
    if (!snapshot.catalog().node(removal.node).scale_down_disabled) continue;
    annotated.Add(snapshot.catalog().NodeName(removal.node));
  }
  Warn(kIgnored, annotated, "node of Karpenter goes although annotated scale-down-disabled",
       "nodes of Karpenter go although annotated scale-down-disabled",
       "Karpenter does not read the annotation; karpenter.sh/do-not-disrupt keeps a node",
       warnings);
}

}  // namespace ebb
