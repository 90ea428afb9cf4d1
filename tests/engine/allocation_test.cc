// What a pass takes from the heap.
//
// Counts every operator new of this program while a pass runs.  The tests of other
// files are counted with, so the count is only looked at around a pass.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "engine/pass/planner.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/support/sanitized.h"
#include "tests/testing/cluster_builder.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

// The sanitizers' own operators tell what is freed as it was not allocated: they stay.
#if !EBB_TESTS_SANITIZED

// Not inlined: the compiler would take malloc and free for a mismatch with new and delete.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept {
  return operator new(size, nothrow);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

#endif

namespace ebb::allocation_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

// `nodes` nodes with four pods each of one of eight applications, where every other
// application is guarded by a budget that never runs out and each third is pinned to
// nodes that are nearly full, so that some nodes go and others cannot.
ClusterSnapshot MakeCluster(int nodes) {
  Cluster cluster;
  for (int n = 0; n < nodes; ++n) {
    cluster.Add(Node("n" + std::to_string(n)).Cpu(n % 3 == 0 ? 1000 : 4000).Memory(test::kGiB));
  }
  for (int p = 0; p < 4 * nodes; ++p) {
    cluster.Add(Pod("p" + std::to_string(p))
                    .On("n" + std::to_string(p % nodes))
                    .Label("app", "a" + std::to_string(p % 8))
                    .Cpu(100 + 25 * (p % 8))
                    .Memory(test::kMiB));
  }
  cluster.Add(test::Budget("b").Matching("app", "a0").Allows(1 << 20));
  return cluster.Build();
}

struct Counted {
  int64_t allocations = 0;
  size_t removed = 0;
  size_t kept = 0;
};

// The third of three passes, by when all memory is as large as it gets.
Counted ThirdPass(int nodes) {
  ClusterSnapshot snapshot = MakeCluster(nodes);
  const NodeGroups groups = test::OneGroup(snapshot);
  Planner planner{PlannerOptions()};
  std::vector<NodeId> candidates;
  snapshot.alive().ForEach([&](NodeId node) { candidates.push_back(node); });
  PassInput input;
  input.now_s = test::kPassTime;
  input.candidates = candidates;
  Counted counted;
  for (int pass = 0; pass < 3; ++pass) {
    input.now_s += planner.options().unremovable_node_recheck_timeout_s + 1;
    const int64_t before = allocations.load();
    const Plan plan = planner.Pass(snapshot, groups, input).value();
    counted = {allocations.load() - before, plan.remove.size(), plan.keep.size()};
  }
  return counted;
}

TEST(AllocationTest, APassAllocatesForItsPlanAlone) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer counts its own";
  const Counted small = ThirdPass(60);
  const Counted large = ThirdPass(600);
  ASSERT_GT(small.removed, 10u);
  ASSERT_GT(small.kept, 10u);
  ASSERT_GT(large.removed, 5 * small.removed);
  // Each removed node has its list of moves.  The rest is a handful of arrays, whose
  // number does not grow with the cluster; those that double grow a few times more.
  const int64_t small_rest = small.allocations - static_cast<int64_t>(small.removed);
  const int64_t large_rest = large.allocations - static_cast<int64_t>(large.removed);
  EXPECT_LT(small_rest, 80);
  EXPECT_LT(large_rest, small_rest + 20);
}

}  // namespace
}  // namespace ebb::allocation_test
