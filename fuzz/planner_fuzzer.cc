// A whole pass on a random cluster, followed by the verifier: every plan is valid,
// and the pass leaves the snapshot as it found it.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "engine/planner.h"
#include "engine/verify.h"
#include "tests/support/random_cluster.h"

namespace {

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kBytesMax = 8192;  // More than a cluster consumes.
  if (size > kBytesMax) return 0;
  ebb::test::Choices choices(std::span(data, size));
  absl::StatusOr<ebb::ClusterSnapshot> built =
      ebb::test::BuildSnapshot(ebb::test::RandomCluster(choices));
  if (!built.ok()) return 0;
  ebb::ClusterSnapshot& snapshot = *built;

  const size_t nodes = snapshot.catalog().nodes();
  ebb::NodeGroups groups;
  groups.groups.emplace_back().name = "all";
  groups.group_of.assign(nodes, ebb::GroupId{0});
  std::vector<ebb::NodeId> candidates;
  for (uint32_t n = 0; n < nodes; ++n) candidates.push_back(ebb::NodeId{n});
  ebb::PlannerOptions options;
  options.scale_down_utilization_threshold = 2;  // Let rules and filters decide.
  options.drain.skip_nodes_with_custom_controller_pods = false;
  ebb::Planner planner(options);
  for (const int64_t now_s : {1'800'000'000, 1'800'001'000}) {
    ebb::PassInput input;
    input.now_s = now_s;
    input.candidates = candidates;
    const std::string before = snapshot.Fingerprint();
    const ebb::Plan plan = planner.Pass(snapshot, groups, input);
    if (snapshot.Fingerprint() != before) Fail("the pass changed the snapshot");
    const absl::Status valid = ebb::Verify(snapshot, groups, options, input, plan);
    if (!valid.ok()) Fail(valid.ToString());
  }
  return 0;
}
