// Words on what a rule's verdict leaves open: until when Karpenter's annotation protects a pod,
// whether a budget recovers, which annotation a rule passed over.  No decision depends on these
// words.
//
// Threads: pure.

#ifndef EBB_REPORT_BLOCK_WORDS_H_
#define EBB_REPORT_BLOCK_WORDS_H_

#include <optional>
#include <string>
#include <string_view>

#include "predicates/drainability.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Words about a pod that blocks: part of a sentence, without a full stop; empty where there is
// nothing to add.  A budget that allows disruptions and still blocks was spent by the plan.
std::string BlockWords(const Catalog& catalog, PodId pod, BlockingPodReason reason,
                       std::optional<PdbId> pdb);

// What happens to a budget that blocks, if no one changes it.
enum class BudgetOutlook : uint8_t {
  kRecovers,     // The plan spent it.
  kWaits,        // Allows none now, but would if all of its pods were healthy.
  kNeverAllows,  // Requires as many healthy pods as it has pods.
  kNotComputed,  // The disruption controller cannot count its pods.
  kUnknown,      // Its status does not say.
};
BudgetOutlook OutlookOf(const Pdb& pdb);
// "recovers", "waits", "neverAllows", "notComputed", "unknown".
std::string_view ToString(BudgetOutlook outlook);
std::string OutlookWords(const Pdb& pdb);

// Why the pod's annotation safe-to-evict did not count: it is "false" and the pod goes or moves
// nevertheless, because an earlier rule decides; or its value is not "true", "false" or
// "on-completion" and so is ignored.  Empty: neither is the case.
// Source: simulator/drainability/rules, whose order is kRulesBeforeBudgets in drainability.cc.
std::string PassedOverWords(const Catalog& catalog, PodId pod, const DrainVerdict& verdict);

// For a pod that fits nowhere: says what a VerticalPodAutoscaler lets it ask for; or else that its
// generic ephemeral volumes are made for it and deleted with it, so that the pod which replaces it
// is not bound to the place of these volumes.  Empty: neither is the case.
std::string PlaceWords(const Catalog& catalog, PodId pod);

// "is not understood: ...", for a pod that fits nowhere because it asks for something that ebb does
// not evaluate; empty: ebb evaluates everything that the pod asks for.
std::string NotUnderstoodWords(const Catalog& catalog, PodId pod);

}  // namespace ebb

#endif  // EBB_REPORT_BLOCK_WORDS_H_
