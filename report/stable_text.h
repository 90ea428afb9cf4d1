// The words about how a stable plan differs from the last one.

#ifndef EBB_REPORT_STABLE_TEXT_H_
#define EBB_REPORT_STABLE_TEXT_H_

#include <string>

#include "engine/plan/plan_changes.h"
#include "snapshot/catalog.h"

namespace ebb {

// Why the node came into the plan or left it: "was NoPlaceToMovePods", "BlockedByPod default/db-0:
// NotEnoughPdb", "is no longer in the cluster".
std::string StableChangeText(const Catalog& catalog, const PlanChange& change);

}  // namespace ebb

#endif  // EBB_REPORT_STABLE_TEXT_H_
