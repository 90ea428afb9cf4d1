// ReplaceMarket: finds plans that buy nodes (planning/plan_replace.h) for a loop (loop/buyer.h).
//
//   ReplaceMarket market(ObjectsOf(exported_cluster), {.query = query, .replace = {}, .load =
//   load},
//                        parallelism);
//   Buyer buyer(market, {});
//
// The cluster is read anew for each plan.
//
// Errors:    those of reading, and of AnswerReplace.
// Cost:      O(cluster), and that of AnswerReplace.
// Ownership: borrows `parallelism`.
// Threads:   those of `parallelism`; one call at a time.

#ifndef EBB_LOOP_RUN_REPLACE_MARKET_H_
#define EBB_LOOP_RUN_REPLACE_MARKET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "loop/buyer.h"
#include "loop/rounds.h"
#include "planning/live_cluster.h"
#include "planning/plan_query.h"
#include "planning/plan_replace.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

struct ReplaceMarketOptions {
  PlanQuery query;  // With prices, without the time.
  ReplaceQuery replace;
  LoadOptions load;  // How the copies are loaded; the source checks that the cluster is complete.
};

class ReplaceMarket : public Market {
 public:
  // Sends all objects of the cluster to the sink.
  using Read = std::function<absl::Status(int64_t now_s, ObjectSink& sink)>;

  ReplaceMarket(Read read, ReplaceMarketOptions options, const Parallelism& parallelism)
      : read_(std::move(read)), options_(std::move(options)), parallelism_(parallelism) {
    options_.load.assume_complete = true;
  }

  absl::StatusOr<Offer> Find(int64_t now_s) override;
  absl::StatusOr<std::vector<DeletionOrder>> Removals(std::span<const std::string> nodes,
                                                      int64_t now_s) override;

 private:
  absl::StatusOr<std::unique_ptr<LiveCluster>> Load(int64_t now_s) const;

  const Read read_;
  ReplaceMarketOptions options_;
  const Parallelism& parallelism_;
};

// Borrows the source, whose observations must have objects.
ReplaceMarket::Read ObjectsOf(ClusterSource& source);

}  // namespace ebb

#endif  // EBB_LOOP_RUN_REPLACE_MARKET_H_
