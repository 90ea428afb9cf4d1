// A cluster in which nothing happens, for tests of loops.

#ifndef EBB_TESTS_LOOP_STILL_CLUSTER_H_
#define EBB_TESTS_LOOP_STILL_CLUSTER_H_

#include <algorithm>
#include <utility>

#include "loop/loop.h"
#include "tests/engine/planning.h"

namespace ebb::test {

class StillCluster : public ClusterSource {
 public:
  explicit StillCluster(ClusterSnapshot at) : snapshot(std::move(at)) {}

  ClusterSnapshot snapshot;
  absl::Status answer;

  absl::StatusOr<Observation> Observe(int64_t) override {
    if (!answer.ok()) return answer;
    return Observation{
        .snapshot = &snapshot, .groups = OneGroup(snapshot), .pending = {}, .events = {}};
  }
};

// A clock that advances when the loop sleeps.  `end_s`: from then on the loop is to end.
class TestClock : public LoopClock {
 public:
  TestClock(int64_t begin_s, int64_t end_s) : now_s_(begin_s), end_s_(end_s) {}

  int64_t NowS() override { return now_s_; }
  bool SleepUntil(int64_t time_s) override {
    now_s_ = std::min(time_s, end_s_);
    return now_s_ < end_s_;
  }
  void WaitUntil(int64_t time_s) override { now_s_ = time_s; }

 private:
  int64_t now_s_;
  const int64_t end_s_;
};

// What a round finds unneeded may go in the next one.
inline ScaleDownOptions NoWaiting() {
  ScaleDownOptions options;
  options.deletion.scale_down_unneeded_time_s = 5;
  options.recent_eviction_ttl_s = 0;
  return options;
}

}  // namespace ebb::test

#endif  // EBB_TESTS_LOOP_STILL_CLUSTER_H_
