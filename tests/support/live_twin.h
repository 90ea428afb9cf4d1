// LiveTwin changes a LiveSnapshot at random and holds it to what importing the objects that
// are there gives.  It keeps those objects by itself, by the rules of live_snapshot.h.
//
// The clusters are those of random_cluster.h, with controllers and budgets beside them: up to
// 6 nodes and 48 pods.  Objects come in any order, some more than once, some too late.

#ifndef EBB_TESTS_SUPPORT_LIVE_TWIN_H_
#define EBB_TESTS_SUPPORT_LIVE_TWIN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "snapshot/live/live_snapshot.h"
#include "tests/support/random_cluster.h"
#include "tests/support/random_seed.h"

namespace ebb::test {

// What plans can tell of a cluster, by names: nodes in their order with what is free and which
// pods they list, what every filter says of every pod on every node, which pods may be moved,
// and a plan.
std::string DescribeCluster(ClusterSnapshot& snapshot, const std::vector<PodId>& pending);

class LiveTwin {
 public:
  // Of pods: as random_cluster.h has them, or of each pod its own.
  enum class Uids : uint8_t { kAsGiven, kUnique };

  explicit LiveTwin(uint64_t seed, Uids uids = Uids::kAsGiven, LiveSnapshot::Options options = {})
      : LiveTwin(Dice(seed), uids, options) {}
  explicit LiveTwin(Dice dice, Uids uids = Uids::kAsGiven, LiveSnapshot::Options options = {});

  // Up to ten changes at once.
  void Step();
  // Whether bytes that were given instead of a seed have run out.
  [[nodiscard]] bool Exhausted() const { return dice_.Exhausted(); }

  // Empty: the snapshot is what an import gives.  Else the first line that differs.
  std::string Compare();

  LiveSnapshot& live() { return live_; }

 private:
  struct Held {
    std::string packed;
    std::string uid;
    uint64_t version = 0;
    uint64_t order = 0;
  };

  void DrawCluster(size_t slot);
  Change DrawChange();
  objects::ObjectRef DrawMachine(const RawCluster& from);
  objects::ObjectRef DrawObject();
  objects::Pod& DrawPod(const RawCluster& from);
  objects::Node& DrawNode(const RawCluster& from);
  void Apply(const Change& change);

  Dice dice_;
  const Uids uids_;
  const bool match_os_;
  // For a while only what a normal day brings: pods, and what changes of nodes, budgets and
  // controllers while they run.
  bool calm_ = false;
  LiveSnapshot live_;
  std::map<std::string, Held> held_;  // By "kind namespace/name".
  uint64_t next_order_ = 0;
  uint64_t version_ = 1000;

  std::vector<RawCluster> clusters_;
  // What a step hands over; cleared before the next.
  std::vector<Change> changes_;
  std::vector<std::string> versions_;
  std::vector<std::unique_ptr<objects::Pod>> pods_;
  std::vector<std::unique_ptr<objects::Node>> nodes_;
  std::vector<std::unique_ptr<objects::Controller>> controllers_;
  std::vector<std::unique_ptr<objects::PodDisruptionBudget>> budgets_;
  std::vector<std::unique_ptr<objects::StorageObject>> storage_;
};

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_LIVE_TWIN_H_
