// The figures of one round of Replicator: capacity and use of a pool, the resource that decides,
// the direction, and the node that would be removed.
//
// Units:   resources are integers in any unit, as long as it is the same everywhere (the program:
//          MHz, MB, MB).  Sums and products saturate instead of overflowing.
// Cost:    O(allocations + tasks + nodes * log nodes).
// Threads: none.
// Source:  Nomad Replicator, client/cluster_scaling.go and client/nomad.go.  On purpose otherwise:
//          metric Disk uses the figures of disk (there those of cpu); the least allocated node is
//          the node with the smallest share, ties by id (there in the order of a hash map).

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
  bool desired_run = true;  // False: it should stop.

  // Only allocations that count are consumed capacity.
  [[nodiscard]] bool Counts() const { return client == Client::kRunning && desired_run; }
};

struct ReplicatorNode {
  std::string id = {};
  std::string address = {};           // Empty: unknown, so the node cannot be removed.
  ReplicatorResources capacity = {};  // Without subtracting the node's reserved share.
  std::vector<ReplicatorAllocation> allocations = {};
};

// A job that is registered for scaling, enabled or not.
struct ReplicatorJob {
  std::string id = {};
  // The tasks of each group; group counts are ignored.
  std::vector<std::vector<ReplicatorResources>> groups = {};
};

// The resource that decides: the most used one.
enum class ReplicatorMetric : uint8_t {
  kNone,  // Nothing is used.
  kCpu,
  kMemory,
  kDisk,
  kNoNumber,  // cpu is 0 of 0: computed like kCpu, but no node can be chosen.
};
std::string_view Name(ReplicatorMetric metric);

enum class ReplicatorDirection : uint8_t { kIn, kOut };
std::string_view Name(ReplicatorDirection direction);

// Percentages of cpu, memory, disk.  0 of 0 is NaN, x of 0 is infinite.
using ReplicatorPercents = std::array<double, 3>;

struct ReplicatorFigures {
  struct NodeShare {
    std::string id = {};
    ReplicatorPercents of_pool_use = {};  // This node's percentage of the pool's use.
  };

  int64_t nodes = 0;
  ReplicatorResources total = {};
  ReplicatorResources used = {};
  // Room for each registered job that runs here to grow: the job's tasks, counted once.
  ReplicatorResources reserve = {};
  ReplicatorPercents used_percent = {};
  ReplicatorMetric metric = ReplicatorMetric::kNone;
  // The figures of the metric's resource (of cpu for kNone and kNoNumber):
  int64_t average = 0;      // total / nodes.
  int64_t consumed = 0;     // used.
  int64_t allowed = 0;      // (total - reserve) - average * fault_tolerance.
  int64_t sim_allowed = 0;  // The same with one node less, but with the old `average`.
  double sim_percent = 0;   // `consumed` as a percentage of `sim_allowed`.
  ReplicatorDirection direction = ReplicatorDirection::kIn;
  std::vector<NodeShare> shares = {};  // In the order of the nodes.
};

// Returns an average of 0 if there are no nodes.
ReplicatorFigures Figures(const std::vector<ReplicatorNode>& nodes,
                          const std::vector<ReplicatorJob>& jobs, int64_t fault_tolerance);

// True if, with one node less, the pool would use all that is then allowed, or 90% of it or more.
bool SimulationDenies(const ReplicatorFigures& figures);

// The index in `shares` of the node with the smallest share of the metric's use; ties by id.  Skips
// `protected_node`.  nullopt: there is no such node, or the metric is kNoNumber.
std::optional<size_t> LeastAllocated(const ReplicatorFigures& figures,
                                     std::string_view protected_node);

// Arithmetic that saturates instead of overflowing.
int64_t SaturatedAdd(int64_t a, int64_t b);
int64_t SaturatedSubtract(int64_t a, int64_t b);
int64_t SaturatedMultiply(int64_t a, int64_t b);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_FIGURES_H_
