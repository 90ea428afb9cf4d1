// Words on what a rule's verdict leaves open: until when Karpenter's annotation protects a pod,
// whether a budget recovers, which annotation a rule passed over.  Nothing decides by them.
//
// Threads: pure.

#ifndef EBB_REPORT_BLOCK_WORDS_H_
#define EBB_REPORT_BLOCK_WORDS_H_

#include <optional>
#include <string>

#include "predicates/drainability.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// On a pod that blocks: no sentence of its own, without a full stop; empty where there is nothing
// to add.  A budget that allows disruptions and blocks was spent by the plan.
std::string BlockWords(const Catalog& catalog, PodId pod, BlockingPodReason reason,
                       std::optional<PdbId> pdb);

// What a budget that blocks will do by itself.
enum class BudgetOutlook : uint8_t {
  kRecovers,     // The plan spent it.
  kWaits,        // It allows none now, and would if all of its pods were healthy.
  kNeverAllows,  // It asks for as many healthy pods as there are.
  kNotComputed,  // The disruption controller cannot count its pods.
  kUnknown,      // Its status does not say.
};
BudgetOutlook OutlookOf(const Pdb& pdb);
std::string OutlookWords(const Pdb& pdb);

// `safe-to-evict: "false"` of a pod that goes or moves nevertheless, as an earlier rule decides; or
// a value that is not "true", "false" or "on-completion" and so counts for nothing.  Empty:
// neither. Source: simulator/drainability/rules, whose order is kRulesBeforeBudgets in
// drainability.cc.
std::string PassedOverWords(const Catalog& catalog, PodId pod, const DrainVerdict& verdict);

// A pod that stays where it is because of a volume: its generic ephemeral volumes are made for it
// and deleted with it, so that the volume itself keeps no successor there.  Empty: it has none.
std::string EphemeralWords(const Catalog& catalog, PodId pod);

// "is not understood: ...", of a pod that fits nowhere because ebb does not evaluate something that
// it asks for; empty: all of it is evaluated.
std::string NotUnderstoodWords(const Catalog& catalog, PodId pod);

}  // namespace ebb

#endif  // EBB_REPORT_BLOCK_WORDS_H_
