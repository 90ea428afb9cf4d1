// The heap allocations of a pass.
//
// Counts every call of operator new in this program.  That includes the tests of other files, so
// only the difference over a pass is used.

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

// The sanitizers' own operators report memory that is freed by another function than it was
// allocated by.  They are kept.
#if !EBB_TESTS_SANITIZED

// Not inlined: otherwise the compiler reports malloc and free as a mismatch with new and delete.
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

// `nodes` nodes with four pods each, of one of eight applications.  Every other application has a
// budget that is never used up, and every third is pinned to nodes that are nearly full.  So some
// nodes can be removed and others cannot.
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

// The third of three passes: by then all reused memory has its final size.
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
  // Each removed node has a list of moves.  The other allocations are for a fixed number of arrays,
  // some of which grow by doubling.
  const int64_t small_rest = small.allocations - static_cast<int64_t>(small.removed);
  const int64_t large_rest = large.allocations - static_cast<int64_t>(large.removed);
  EXPECT_LT(small_rest, 80);
  EXPECT_LT(large_rest, small_rest + 20);
}

}  // namespace
}  // namespace ebb::allocation_test
