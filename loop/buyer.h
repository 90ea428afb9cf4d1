// Buyer: buys nodes so that dearer ones can go, in a loop (loop.h).
//
//   Buyer buyer(market, {.interval_s = 1800});
//   loop_options.buyer = &buyer;
//
// Each `interval_s`, while no deletion runs, the market looks for a plan that buys nodes.  The
// buyer then orders the machines, waits until all of their nodes are Ready, and only then removes
// the nodes of the plan, in its order, a few at a time.  Before each step the market plans again
// with the cluster as it is then, so a node whose pods no longer find room stays.
//
// From the order until the last removal, rounds remove no node.  The buyer ends earlier, and rounds
// go on as without it, if the actuator refuses an order, or if a machine is not Ready
// `ready_within_s` after the order.  Machines that were bought by then stay: they are ordinary
// nodes.
//
// The id of an order follows from the plan.  So an order that is given again, also by another
// process, buys nothing twice.  The rest of the state is not stored: after a restart, the next plan
// sees what was bought.
//
// Errors:    none are returned; each failure is a line of BuyingTurn::log.
// Units:     seconds since the Unix epoch.
// Ownership: borrows the market.
// Threads:   not thread-safe.

#ifndef EBB_LOOP_BUYER_H_
#define EBB_LOOP_BUYER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "loop/actuator.h"

namespace ebb {

// Finds plans that buy nodes.
class Market {
 public:
  virtual ~Market() = default;

  struct Offer {
    std::vector<MachineOrder> buy;    // Without ids.  Empty: nothing.
    std::vector<std::string> remove;  // In this order.
    std::vector<std::string> nodes;   // All nodes of the cluster.
    std::string text;                 // What it saves; why nothing is bought.
  };
  // Errors: the cluster cannot be read, or allows no plan.
  virtual absl::StatusOr<Offer> Find(int64_t now_s) = 0;
  // Which of these nodes can go now, in the order in which they go.
  virtual absl::StatusOr<std::vector<DeletionOrder>> Removals(std::span<const std::string> nodes,
                                                              int64_t now_s) = 0;
};

struct BuyerOptions {
  int64_t interval_s = 1800;     // From one search for purchases to the next.
  int64_t ready_within_s = 900;  // From an order until all of its nodes are Ready.
  size_t parallel = 1;           // How many nodes are removed at a time.
};

struct BuyingTurn {
  std::vector<DeletionOrder> begin;     // Deletions to begin now.
  std::vector<std::string> left_alone;  // Nodes whose groups the round must not shrink.
  std::vector<std::string> log;
};

class Buyer {
 public:
  Buyer(Market& market, BuyerOptions options) : market_(market), options_(options) {}

  // Call it before each round.  `status`: the actuator's deletions.  If the round fails, the caller
  // does not begin the deletions; the buyer orders them again.
  BuyingTurn Decide(Actuator& actuator, const ActuatorStatus& status, int64_t now_s);
  // The deletions of the last turn have begun, or could not begin.  They are not ordered again.
  void Begun();

 private:
  enum class Phase : uint8_t { kIdle, kWaiting, kRemoving };

  void Find(int64_t now_s, BuyingTurn& turn);
  void Buy(Actuator& actuator, int64_t now_s, BuyingTurn& turn);
  void Remove(int64_t now_s, BuyingTurn& turn);
  void End(std::string why, BuyingTurn& turn);

  Market& market_;
  const BuyerOptions options_;
  Phase phase_ = Phase::kIdle;
  int64_t since_s_ = 0;  // When the phase began, or its last step.
  int64_t next_s_ = std::numeric_limits<int64_t>::min();
  Market::Offer offer_;               // `remove`: the nodes that were not ordered yet.
  std::vector<std::string> ordered_;  // In the last turn.
};

// "ebb-" and 16 hexadecimal digits, which follow from the order, the nodes that go and the place of
// the order among equal ones.
std::string OrderId(const MachineOrder& order, std::span<const std::string> remove, size_t place);

}  // namespace ebb

#endif  // EBB_LOOP_BUYER_H_
