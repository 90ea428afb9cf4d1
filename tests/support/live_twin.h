// LiveTwin changes a LiveSnapshot at random.  It compares the result with a fresh import of the
// objects that exist.  It tracks these objects itself, by the rules of live_snapshot.h.
//
// The clusters are those of random_cluster.h with controllers and budgets: up to 6 nodes and 48
// pods.  Objects come in any order, some repeatedly, some too late.

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

// Describes by names everything that a plan can depend on: nodes in their order with free amounts
// and pods, the verdict of every filter for every pod on every node, which pods may be moved, and a
// plan.
std::string DescribeCluster(ClusterSnapshot& snapshot, const std::vector<PodId>& pending);

class LiveTwin {
 public:
  // UIDs of pods: as random_cluster.h makes them, or a unique UID for each pod.
  enum class Uids : uint8_t { kAsGiven, kUnique };

  // Whether there are ResourceSlices, ResourceClaims and pods that use them.
  enum class Devices : uint8_t { kNone, kSome };

  explicit LiveTwin(uint64_t seed, Uids uids = Uids::kAsGiven, LiveSnapshot::Options options = {},
                    Devices devices = Devices::kNone)
      : LiveTwin(Dice(seed), uids, options, devices) {}
  explicit LiveTwin(Dice dice, Uids uids = Uids::kAsGiven, LiveSnapshot::Options options = {},
                    Devices devices = Devices::kNone);

  // Makes up to ten changes at once.
  void Step();
  // Whether all bytes that replace a seed were used.
  [[nodiscard]] bool Exhausted() const { return dice_.Exhausted(); }

  // Empty: the snapshot equals an import of its objects.  Else the first line that differs.
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
  objects::ObjectRef DrawDeviceObject(const RawCluster& from);
  objects::ResourceSlice DrawSlice(const RawCluster& from);
  objects::ResourceClaim DrawClaim(const RawCluster& from);
  objects::Pod& DrawDevicePod(const RawCluster& from);
  objects::Pod& DrawPod(const RawCluster& from);
  objects::Node& DrawNode(const RawCluster& from);
  void Apply(const Change& change);

  Dice dice_;
  const Uids uids_;
  const bool match_os_;
  const Devices devices_;
  // For a while only the changes of a normal day: of pods, and those of nodes, budgets and
  // controllers while they run.
  bool calm_ = false;
  LiveSnapshot live_;
  std::map<std::string, Held> held_;  // By "kind namespace/name".
  uint64_t next_order_ = 0;
  uint64_t version_ = 1000;

  std::vector<RawCluster> clusters_;
  // The changes of one step and the memory behind them; cleared before the next step.
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
