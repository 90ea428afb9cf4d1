// Whole passes on a random cluster.  The planner must decide and remember what its slow twin does;
// the verifier must accept the plan; and the snapshot must be left unchanged.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "engine/pass/planner.h"
#include "engine/verify/verify.h"
#include "tests/support/planner_twin.h"
#include "tests/support/random_cluster.h"

namespace {

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

// Adds owners, priorities and annotations; without these hardly any pod may move.
void MakeMovable(ebb::test::RawCluster& cluster, ebb::test::Choices& choices) {
  for (ebb::objects::Pod& pod : cluster.pods) {
    if (choices.Chance(90)) {
      const bool daemonset = choices.Chance(10);
      pod.meta.owners = {{"apps/v1", daemonset ? "DaemonSet" : "ReplicaSet", "owner",
                          choices.Chance(50) ? "uid-1" : "uid-2", true}};
    }
    if (choices.Chance(30)) pod.priority = static_cast<int64_t>(choices.Below(3)) - 1;
    if (choices.Chance(15)) {
      pod.meta.annotations.push_back({"cluster-autoscaler.kubernetes.io/safe-to-evict",
                                      choices.Chance(50) ? "true" : "on-completion"});
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kBytesMax = 8192;  // More than are used to make a cluster.
  if (size > kBytesMax) return 0;
  ebb::test::Choices choices(std::span(data, size));
  ebb::test::RawCluster cluster = ebb::test::RandomCluster(choices);
  MakeMovable(cluster, choices);
  absl::StatusOr<ebb::ClusterSnapshot> built = ebb::test::BuildSnapshot(cluster);
  if (!built.ok()) return 0;
  ebb::ClusterSnapshot& snapshot = *built;

  const size_t nodes = snapshot.catalog().nodes();
  ebb::NodeGroups groups;
  groups.groups.emplace_back().name = "all";
  groups.group_of.assign(nodes, ebb::GroupId{0});
  std::vector<ebb::NodeId> candidates;
  for (uint32_t n = 0; n < nodes; ++n) candidates.push_back(ebb::NodeId{n});
  ebb::PlannerOptions options;
  options.scale_down_utilization_threshold = 2;  // Only rules and filters decide.
  options.drain.skip_nodes_with_custom_controller_pods = false;
  ebb::Planner planner(options);
  ebb::test::PlannerTwin twin(options);
  for (const int64_t now_s : {1'800'000'000, 1'800'001'000}) {
    ebb::PassInput input;
    input.now_s = now_s;
    input.candidates = candidates;
    const std::string before = snapshot.Fingerprint();
    const ebb::Plan plan = planner.Pass(snapshot, groups, input).value();
    if (snapshot.Fingerprint() != before) Fail("the pass changed the snapshot");
    const std::string text = ebb::test::PlanText(snapshot, plan);
    const std::string expected = ebb::test::PlanText(snapshot, twin.Pass(snapshot, groups, input));
    if (text != expected) Fail("the twin decides otherwise:\n" + text + "twin:\n" + expected);
    const std::string memory = ebb::test::MemoryText(planner.Save());
    if (memory != ebb::test::MemoryText(twin.Save())) Fail("the twin remembers otherwise");
    const absl::Status valid = ebb::Verify(snapshot, groups, options, input, plan);
    if (!valid.ok()) Fail(valid.ToString());
  }
  return 0;
}
