// Random nodes and applications for tests of passes and plans.  Most of the clusters exercise most
// of the rules.

#ifndef EBB_TESTS_SUPPORT_RANDOM_APPS_H_
#define EBB_TESTS_SUPPORT_RANDOM_APPS_H_

#include <string>
#include <string_view>

#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::test {

// Pods are created and deleted around this time.
inline constexpr int64_t kAppsNow = 1'000'000;

// The only label in which nodes differ for pods that do not select by it.
inline constexpr std::string_view kHostname = "kubernetes.io/hostname";

inline std::string Name(const char* what, int n) { return what + std::to_string(n); }

// The properties that all pods of an application share.  Rules that keep every node of a cluster
// are rare, so that most clusters exercise most rules.
struct App {
  App(int number, Dice& dice)
      : name(Name("app", number)),
        namespace_name(dice.Percent(10) ? "kube-system" : "default"),
        cpu(50 + 50 * dice.Below(dice.Percent(30) ? 40 : 10)),
        priority(dice.Percent(70) ? 0 : 10 * dice.Below(3) - 10),
        daemonset(dice.Percent(8)),
        bare(dice.Percent(4)),
        safe_to_evict(dice.Percent(80) ? ""
                                       : dice.Of<std::string>({"true", "false", "on-completion"})),
        port(dice.Percent(10)),
        spread(dice.Percent(15)),
        away(dice.Percent(12)),
        near(dice.Percent(6)),
        pinned(dice.Percent(15)),
        at_home(dice.Percent(4) ? Name("n", dice.Below(12)) : ""),
        device(dice.Percent(20)),
        tolerates(dice.Percent(20)) {}

  [[nodiscard]] Pod Make(int number, Dice& dice) const {
    Pod pod(name + "-" + std::to_string(number));
    pod.In(namespace_name).Label("app", name).Cpu(cpu).Memory(kMiB * cpu).Priority(priority);
    pod.CreatedAt(kAppsNow - 10'000 * dice.Below(2));
    if (daemonset) {
      pod.DaemonSet();
    } else if (bare) {
      pod.WithoutOwner();
    } else {
      pod.OwnedBy("ReplicaSet", name);
    }
    if (!safe_to_evict.empty()) pod.SafeToEvict(safe_to_evict);
    if (port) pod.HostPort(80);
    if (spread) pod.Spread("zone", 1 + dice.Below(2), Select("app", name));
    if (away) pod.Away(kHostname, Select("app", name));
    if (near) pod.Near("zone", Select("app", name));
    if (pinned) pod.NodeSelector("pool", "a");
    if (!at_home.empty()) pod.NodeSelector(kHostname, at_home);
    if (device) pod.Request("ephemeral-storage", 5).Request("example.com/device", 1);
    if (tolerates) pod.ToleratesKey("dedicated");
    if (dice.Percent(3)) pod.DeletedAt(kAppsNow - 200 + dice.Below(400));
    if (dice.Percent(1)) pod.Mirror();
    if (dice.Percent(3)) pod.Annotation("karpenter.sh/do-not-disrupt", "true");
    return pod;
  }

  std::string name, namespace_name;
  int64_t cpu;
  int priority;
  bool daemonset, bare;
  std::string safe_to_evict;
  bool port, spread, away, near, pinned;
  std::string at_home;  // The name of a node.
  bool device, tolerates;
};

// The node `n<N>`.
inline Node RandomNode(int n, Dice& dice) {
  Node node(Name("n", n));
  node.Label(kHostname, Name("n", n)).Label("zone", Name("z", dice.Below(3)));
  node.Label("pool", dice.Percent(60) ? "a" : "b");
  node.Cpu(1000 * (1 + dice.Below(4))).Memory(kGiB * (1 + dice.Below(8)));
  node.Pods(dice.Percent(10) ? dice.Below(6) : 110);
  if (dice.Percent(60)) {
    node.Resource("ephemeral-storage", 40).Resource("example.com/device", dice.Below(8));
  }
  if (dice.Percent(10)) node.Taint("dedicated");
  if (dice.Percent(5)) node.Unschedulable();
  if (dice.Percent(5)) node.NotReady();
  return node;
}

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_RANDOM_APPS_H_
