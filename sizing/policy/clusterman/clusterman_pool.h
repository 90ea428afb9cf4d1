// A pool as one round sees it, and what Clusterman reads out of that: totals, what is allocated,
// pods that wait, and of every instance whether it joined the cluster and what runs on it.
//
// Units:     as in clusterman_resources.h; capacity in weight units.
// Cost:      O(pods + instances), with a map of addresses.
// Threads:   pure.
// Source:    Clusterman, "Prune" (states), "Resources and the internal (pending pods) signal".

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_POOL_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_POOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/clusterman/clusterman_capacity.h"
#include "sizing/policy/clusterman/clusterman_options.h"
#include "sizing/policy/clusterman/clusterman_prune.h"
#include "sizing/policy/clusterman/clusterman_resources.h"
#include "sizing/policy/clusterman/clusterman_signal.h"

namespace ebb {

// A cluster node of the pool.
struct ClustermanAgent {
  std::string name;
  std::string ip;
  ClustermanAmounts allocatable{};
  bool is_draining = false;           // Has the taint clusterman.yelp.com/terminating.
  std::vector<ClustermanPod> pods{};  // All on it, of the pool or not.
};

// An instance of a resource group, as its cloud lists it.
struct ClustermanInstance {
  std::string id;
  std::string group_id;
  std::string ip;  // Empty: it has none yet.
  double weight = 1;
  bool is_running = true;
  bool is_cordoned = false;
  bool is_stale = false;
  double uptime_s = 0;
};

// What an outside program answered.
struct ClustermanSignalAnswer {
  bool failed = false;  // It raised, or there is no answer.
  ClustermanRequest request{};
  std::optional<int64_t> at_s{};  // When it was given, if known.
};

struct ClustermanObservation {
  std::vector<ClustermanGroup> groups{};
  std::vector<ClustermanInstance> instances{};
  std::vector<ClustermanAgent> agents{};
  std::vector<ClustermanPod> pending_pods{};  // On no node.
  // Not looked at where the options say that the signal is internal.
  ClustermanSignalAnswer signal;
  ClustermanSignalAnswer default_signal;
};

// What is wrong with an observation, as `what: why`: a number that is none or below 0, an id or
// an address that is there twice, a node without one, an annotation that is neither yes nor no.
// Empty: nothing.
std::string Fault(const ClustermanObservation& observation);

struct ClustermanPool {
  ClustermanAmounts total{};
  ClustermanAmounts allocated{};
  std::vector<ClustermanPod> unschedulable{};
  std::vector<ClustermanNode> nodes{};  // One for each instance, in the same order.
};

// REQUIRES: Fault is empty.
ClustermanPool ReadPool(const ClustermanOptions& options, const ClustermanObservation& observation);

// "y", "yes", "t", "true", "on", "1" and their opposites in any case; absent: neither.
std::optional<bool> ClustermanBool(std::string_view text);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_POOL_H_
