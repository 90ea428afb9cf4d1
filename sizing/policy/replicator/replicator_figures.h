// The figures of one round of Replicator: what a pool has, what is used, which resource counts and
// which way it leads; and which node would go.
//
// Units:   resources are whole numbers of any unit, the same everywhere (the program: MHz, MB,
//          MB).  Sums and products that would overflow stay at the largest number.
// Cost:    O(allocations + tasks + nodes * log nodes).
// Threads: none.
// Source:  Nomad Replicator, client/cluster_scaling.go and client/nomad.go.  On purpose otherwise:
//          metric Disk leads by disk figures (there by those of cpu), and the least allocated node
//          is the one of the smallest share, ties by id (there, order of a hash map).

#ifndef EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_FIGURES_H_
#define EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_FIGURES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

struct ReplicatorResources {
  int64_t cpu = 0;
  int64_t memory = 0;
  int64_t disk = 0;
  bool operator==(const ReplicatorResources&) const = default;
};

// a + b, field by field.
ReplicatorResources operator+(const ReplicatorResources& a, const ReplicatorResources& b);

struct ReplicatorAllocation {
  enum class Client : uint8_t { kPending, kRunning, kOther };

  std::string job = {};
  ReplicatorResources resources = {};
  Client client = Client::kRunning;
  bool desired_run = true;  // False: it is to stop.

  // Only these are consumed capacity.
  [[nodiscard]] bool Counts() const { return client == Client::kRunning && desired_run; }
};

struct ReplicatorNode {
  std::string id = {};
  std::string address = {};           // Empty: unknown, so it cannot be removed.
  ReplicatorResources capacity = {};  // The node's reserved share not subtracted.
  std::vector<ReplicatorAllocation> allocations = {};
};

// A job that is registered for scaling, enabled or not.
struct ReplicatorJob {
  std::string id = {};
  std::vector<std::vector<ReplicatorResources>> groups = {};  // Each group's tasks; counts ignored.
};

// The resource that leads.
enum class ReplicatorMetric : uint8_t {
  kNone,  // Nothing is used.
  kCpu,
  kMemory,
  kDisk,
  kNoNumber,  // cpu is 0 of 0: leads as cpu does, and no node can be chosen.
};
std::string_view Name(ReplicatorMetric metric);

enum class ReplicatorDirection : uint8_t { kIn, kOut };
std::string_view Name(ReplicatorDirection direction);

// Shares in percent: cpu, memory, disk.  0 of 0 is NaN, x of 0 is infinite.
using ReplicatorPercents = std::array<double, 3>;

struct ReplicatorFigures {
  struct NodeShare {
    std::string id = {};
    ReplicatorPercents of_pool_use = {};  // What of the pool's use is on this node.
  };

  int64_t nodes = 0;
  ReplicatorResources total = {};
  ReplicatorResources used = {};
  // Room for each registered job that runs here to grow: its tasks, once.
  ReplicatorResources reserve = {};
  ReplicatorPercents used_percent = {};
  ReplicatorMetric metric = ReplicatorMetric::kNone;
  // Of the metric's resource (of cpu for kNone and kNoNumber):
  int64_t average = 0;      // total / nodes.
  int64_t consumed = 0;     // used.
  int64_t allowed = 0;      // (total - reserve) - average * fault_tolerance.
  int64_t sim_allowed = 0;  // The same after one node less; `average` is the old one.
  double sim_percent = 0;   // consumed of sim_allowed.
  ReplicatorDirection direction = ReplicatorDirection::kIn;
  std::vector<NodeShare> shares = {};  // In the order of the nodes.
};

// Without nodes the average is 0.
ReplicatorFigures Figures(const std::vector<ReplicatorNode>& nodes,
                          const std::vector<ReplicatorJob>& jobs, int64_t fault_tolerance);

// True if the pool without a node would be at or above what is then allowed, or at 90% of it.
bool SimulationDenies(const ReplicatorFigures& figures);

// The index in `shares` of the node with the smallest share of the metric's use, ties by id;
// `protected_node` never.  nullopt: there is none, or the metric is kNoNumber.
std::optional<size_t> LeastAllocated(const ReplicatorFigures& figures,
                                     std::string_view protected_node);

// Arithmetic that stays at the ends of the range instead of leaving it.
int64_t SaturatedAdd(int64_t a, int64_t b);
int64_t SaturatedSubtract(int64_t a, int64_t b);
int64_t SaturatedMultiply(int64_t a, int64_t b);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_FIGURES_H_
