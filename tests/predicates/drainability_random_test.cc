// Compares the drainability rules with a slow twin, which judges random pods, controllers and
// budgets directly from the objects.  EBB_TEST_SEED=<n> sets the first seed.

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predicates/drainability.h"
#include "snapshot/builder.h"
#include "tests/predicates/verdict.h"
#include "tests/support/random_seed.h"
#include "tests/support/twin_labels.h"

namespace ebb::test::drainability_random_test {
namespace {

using objects::Controller;
using objects::ControllerKind;
using objects::OwnerReference;
using objects::Pod;
using objects::PodDisruptionBudget;
using objects::Text;

constexpr int64_t kNow = 1'000'000;
const std::vector<Text> kPodNames = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"};
const std::vector<Text> kNamespaces = {"default", "default", "kube-system"};
const std::vector<Text> kNames = {"x", "y"};
const std::vector<Text> kSafe = {"true", "false", "on-completion", "yes", "false", "true"};

struct Raw {
  std::vector<Pod> pods;
  std::vector<Controller> controllers;
  std::vector<PodDisruptionBudget> budgets;
};

// --- Random objects

OwnerReference RandomOwner(Dice& dice) {
  const std::vector<std::pair<Text, Text>> kinds = {{"apps/v1", "ReplicaSet"},
                                                    {"apps/v1", "ReplicaSet"},
                                                    {"apps/v1", "StatefulSet"},
                                                    {"apps/v1", "DaemonSet"},
                                                    {"batch/v1", "Job"},
                                                    {"v1", "ReplicationController"},
                                                    {"other/v1", "DaemonSet"},
                                                    {"other/v1", "StatefulSet"},
                                                    {"other/v1", "ReplicaSet"},
                                                    {"other/v1", "Machine"},
                                                    {"too/many/parts", "ReplicaSet"}};
  const auto& [api_version, kind] = dice.Of(kinds);
  return {api_version, kind, dice.Of(kNames), "u", !dice.Percent(10)};
}

Pod RandomPod(Dice& dice, Text name) {
  Pod pod;
  pod.meta.name = name;
  pod.meta.namespace_name = dice.Of(kNamespaces);
  pod.node_name = "n";
  pod.phase = dice.Of<Text>({"Running", "Running", "Running", "Failed", "Succeeded"});
  pod.restart_policy = dice.Of<Text>({"Always", "Never", "OnFailure", "Sometimes", ""});
  if (!dice.Percent(10)) pod.meta.creation_time = kNow - dice.Below(3) * 3600 - dice.Below(2);
  if (dice.Percent(70)) pod.meta.labels.push_back({"app", dice.Of(kNames)});
  for (int left = dice.Below(3); left > 0; --left) pod.meta.owners.push_back(RandomOwner(dice));
  const auto annotate = [&](int percent, Text key, Text value) {
    if (dice.Percent(percent)) pod.meta.annotations.push_back({key, value});
  };
  annotate(5, "kubernetes.io/config.mirror", "m");
  annotate(20, "cluster-autoscaler.kubernetes.io/safe-to-evict", dice.Of(kSafe));
  annotate(5, "cluster-autoscaler.kubernetes.io/daemonset-pod", dice.Of<Text>({"true", "no"}));
  annotate(30, "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
           dice.Of<Text>({"a", "b,a", " a", "b"}));
  annotate(10, "karpenter.sh/do-not-disrupt", dice.Of<Text>({"true", "5m", "false", "0s", "-5m"}));
  annotate(5, "karpenter.sh/do-not-evict", dice.Of<Text>({"true", "5m"}));
  if (dice.Percent(60)) pod.start_time = kNow - dice.Below(3) * 300 + dice.Below(2);
  if (dice.Percent(15)) {
    pod.meta.deletion_time = kNow - 30 - dice.Below(3) * 30 - dice.Below(2);
    if (dice.Percent(50)) pod.termination_grace_period_s = dice.Below(3) * 30;
  }
  for (const Text volume : {"a", "b"}) {
    if (!dice.Percent(15)) continue;
    objects::Volume& added = pod.volumes.emplace_back();
    added.name = volume;
    added.source = dice.Of<Text>({"emptyDir", "emptyDir", "hostPath", "configMap"});
    if (added.source == "emptyDir") added.medium = dice.Of<Text>({"", "Memory", "HugePages"});
  }
  return pod;
}

Raw RandomRaw(Dice& dice) {
  Raw raw;
  for (const Text name : kPodNames) raw.pods.push_back(RandomPod(dice, name));
  for (const ControllerKind kind :
       {ControllerKind::kReplicationController, ControllerKind::kReplicaSet,
        ControllerKind::kStatefulSet, ControllerKind::kDaemonSet, ControllerKind::kJob}) {
    for (const Text name : kNames) {
      if (dice.Percent(15)) continue;
      for (const Text ns : {"default", "kube-system"}) {
        Controller& controller = raw.controllers.emplace_back();
        controller.kind = kind;
        controller.meta.name = name;
        controller.meta.namespace_name = ns;
        if (dice.Percent(80)) controller.spec_replicas = dice.Below(4);
      }
    }
  }
  for (const Text name : {"one", "two", "three"}) {
    if (dice.Percent(40)) continue;
    PodDisruptionBudget& budget = raw.budgets.emplace_back();
    budget.meta.name = name;
    budget.meta.namespace_name = dice.Of(kNamespaces);
    budget.disruptions_allowed = dice.Below(3);
    budget.selector.nil = dice.Percent(10);
    if (!budget.selector.nil && dice.Percent(70)) {
      budget.selector.match_labels.push_back({"app", dice.Of(kNames)});
    }
  }
  return raw;
}

DrainOptions RandomOptions(Dice& dice) {
  return {.skip_nodes_with_system_pods = dice.Percent(70),
          .skip_nodes_with_local_storage = dice.Percent(70),
          .skip_nodes_with_custom_controller_pods = dice.Percent(70),
          .min_replica_count = dice.Below(3),
          .blocking_system_pod_disruption_timeout_s = 3600};
}

// --- The twin

using Remaining = std::map<Text, int64_t>;  // By the budget's name.

class Twin {
 public:
  // A null `remaining` means that budgets and controllers are ignored, as in ApplyDrainRulesAlone.
  Twin(const Raw& raw, const Pod& pod, const DrainOptions& options, const Remaining* remaining)
      : raw_(raw), pod_(pod), options_(options), remaining_(remaining) {
    for (const OwnerReference& owner : pod.meta.owners) {
      if (owner.controller && controller_ == nullptr) controller_ = &owner;
    }
  }

  // The verdict on a node that Karpenter manages.
  std::string ApplyForKarpenter() const {
    const bool active = !pod_.meta.deletion_time && pod_.phase == "Running";
    const Text keeps = Annotation("karpenter.sh/do-not-disrupt").value_or("");
    const bool over = pod_.start_time && *pod_.start_time + 300 <= kNow;
    const bool annotated = keeps == "true" || (keeps == "5m" && !over) ||
                           Annotation("karpenter.sh/do-not-evict") == "true";
    return active && annotated ? "DoNotDisruptAnnotation" : Apply();
  }

  std::string Apply() const {
    if (Annotation("kubernetes.io/config.mirror")) return "skip";
    if (pod_.meta.deletion_time &&
        *pod_.meta.deletion_time + pod_.termination_grace_period_s.value_or(30) + 30 < kNow) {
      return "skip";
    }
    if (std::string no = ReplicaCount(); !no.empty()) return no;
    if (IsDaemonSetPod()) return "drain";
    if (SafeToEvict() == "true") return "drain";
    if (pod_.phase == "Failed") return "drain";
    if (pod_.phase == "Succeeded" &&
        (pod_.restart_policy == "Never" || pod_.restart_policy == "OnFailure")) {
      return "drain";
    }
    if (SafeToEvict() == "on-completion") return "wait";
    if (!IsReplicated()) return "NotReplicated";
    if (options_.skip_nodes_with_system_pods && pod_.meta.namespace_name == "kube-system" &&
        Budgets().empty()) {
      const bool aged = pod_.meta.creation_time != 0 && pod_.meta.creation_time + 3600 < kNow;
      return aged ? "drain" : "UnmovableKubeSystemPod";
    }
    if (SafeToEvict() == "false") return "NotSafeToEvictAnnotation";
    if (options_.skip_nodes_with_local_storage && HasLocalStorage()) return "LocalStorageRequested";
    for (const Text budget : Budgets()) {
      if (remaining_->at(budget) < 1) return "NotEnoughPdb " + std::string(budget);
    }
    return "undefined";
  }

  [[nodiscard]] std::vector<Text> Budgets() const {
    std::vector<Text> budgets;
    if (remaining_ == nullptr) return budgets;
    for (const PodDisruptionBudget& budget : raw_.budgets) {
      if (budget.meta.namespace_name == pod_.meta.namespace_name &&
          *twin::Matches(budget.selector, pod_.meta.labels)) {
        budgets.push_back(budget.meta.name);
      }
    }
    return budgets;
  }

 private:
  [[nodiscard]] std::optional<Text> Annotation(Text key) const {
    return twin::Find(pod_.meta.annotations, key);
  }
  [[nodiscard]] Text SafeToEvict() const {
    return Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict").value_or("");
  }
  [[nodiscard]] bool IsDaemonSetPod() const {
    return (controller_ != nullptr && controller_->kind == "DaemonSet") ||
           Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod") == "true";
  }

  [[nodiscard]] const Controller* Find(ControllerKind kind) const {
    for (const Controller& each : raw_.controllers) {
      if (each.kind == kind && each.meta.name == controller_->name &&
          each.meta.namespace_name == pod_.meta.namespace_name) {
        return &each;
      }
    }
    return nullptr;
  }
  [[nodiscard]] std::string MustExist(ControllerKind kind) const {
    return Find(kind) == nullptr ? "ControllerNotFound" : "";
  }
  [[nodiscard]] std::string MustHaveEnough(ControllerKind kind) const {
    const Controller* found = Find(kind);
    if (found == nullptr) return "ControllerNotFound";
    const bool few = found->spec_replicas && *found->spec_replicas < options_.min_replica_count;
    return few ? "MinReplicasReached" : "";
  }

  [[nodiscard]] std::string ReplicaCount() const {
    if (!options_.skip_nodes_with_custom_controller_pods || remaining_ == nullptr) return "";
    if (controller_ == nullptr || controller_->api_version == "too/many/parts") return "";
    const bool apps = controller_->api_version == "apps/v1";
    const Text kind = controller_->kind;
    if (kind == "ReplicationController") {
      return MustHaveEnough(ControllerKind::kReplicationController);
    }
    if (IsDaemonSetPod()) {
      return apps && kind == "DaemonSet" ? MustExist(ControllerKind::kDaemonSet) : "";
    }
    if (kind == "Job") return MustExist(ControllerKind::kJob);
    if (kind == "ReplicaSet") return MustHaveEnough(ControllerKind::kReplicaSet);
    if (kind == "StatefulSet" && apps) return MustExist(ControllerKind::kStatefulSet);
    return "";
  }

  [[nodiscard]] bool IsReplicated() const {
    if (controller_ == nullptr) return false;
    const Text kind = controller_->kind;
    return !options_.skip_nodes_with_custom_controller_pods || kind == "ReplicationController" ||
           kind == "Job" || kind == "ReplicaSet" || kind == "StatefulSet";
  }

  [[nodiscard]] bool HasLocalStorage() const {
    const Text safe =
        Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes").value_or("");
    for (const objects::Volume& volume : pod_.volumes) {
      const bool local =
          volume.source == "hostPath" || (volume.source == "emptyDir" && volume.medium != "Memory");
      const bool named = safe == volume.name || (safe == "b,a");  // "b,a" names both volumes.
      if (local && !named) return true;
    }
    return false;
  }

  const Raw& raw_;
  const Pod& pod_;
  const DrainOptions& options_;
  const Remaining* remaining_;
  const OwnerReference* controller_ = nullptr;
};

// --- Comparison

ClusterSnapshot Build(const Raw& raw) {
  SnapshotBuilder builder;
  objects::Node node;
  node.meta.name = "n";
  absl::Status status = builder.AddNode(node);
  for (const Pod& pod : raw.pods) status.Update(builder.AddPod(pod));
  for (const Controller& each : raw.controllers) status.Update(builder.AddController(each));
  for (const auto& budget : raw.budgets) status.Update(builder.AddPodDisruptionBudget(budget));
  EXPECT_TRUE(status.ok()) << status;
  return std::move(builder).Build().value();
}

// The verdict as text, with the budget's name if a budget blocks.
std::string TextOf(const Catalog& catalog, const DrainVerdict& verdict) {
  std::string text = test::TextOf(verdict);
  if (verdict.pdb)
    text += ' ' + std::string(catalog.Text(catalog.pdbs()[Index(*verdict.pdb)].name));
  return text;
}

TEST(DrainabilityRandomTest, EveryVerdictIsTheTwinsWhileBudgetsAreSpent) {
  const uint64_t seed = RandomSeed();
  std::map<std::string, size_t> seen;
  size_t changed = 0;
  size_t by_itself_differs = 0;
  for (uint64_t c = 0; c < 2000; ++c) {
    Dice dice(seed * 100'000 + c);
    const Raw raw = RandomRaw(dice);
    const DrainOptions options = RandomOptions(dice);
    const ClusterSnapshot snapshot = Build(raw);
    const Catalog& catalog = snapshot.catalog();
    PdbTracker budgets(catalog);
    Remaining remaining;
    for (const auto& budget : raw.budgets) remaining[budget.meta.name] = budget.disruptions_allowed;
    DrainRules rules(catalog, options, budgets, kNow);
    for (int round = 0; round < 3; ++round) {
      for (uint32_t p = 0; p < raw.pods.size(); ++p) {
        const Twin twin(raw, raw.pods[p], options, &remaining);
        const std::string want = twin.Apply();
        ++seen[want.substr(0, want.find(' '))];
        const std::string where = "cluster " + std::to_string(c) + ", " + catalog.PodName(PodId{p});
        ASSERT_EQ(TextOf(catalog, ApplyDrainRules(catalog, PodId{p}, options, budgets, kNow)), want)
            << where;
        ASSERT_EQ(TextOf(catalog, rules.Apply(PodId{p})), want) << where;
        const std::string by_itself = Twin(raw, raw.pods[p], options, nullptr).Apply();
        ASSERT_EQ(TextOf(catalog, ApplyDrainRulesAlone(catalog, PodId{p}, options, kNow)),
                  by_itself)
            << where;
        by_itself_differs += by_itself != want;
        const std::string karpenter = twin.ApplyForKarpenter();
        ++seen["Karpenter " + karpenter.substr(0, karpenter.find(' '))];
        ASSERT_EQ(TextOf(catalog, ApplyDrainRules(catalog, PodId{p}, options, budgets, kNow,
                                                  PoolManager::kKarpenter)),
                  karpenter)
            << where;
        PodsToMove alone;
        rules.GetPodsToMove(std::vector<PodId>{PodId{p}}, alone, PoolManager::kKarpenter);
        ASSERT_EQ(alone.blocked() && alone.reason == BlockingPodReason::kDoNotDisruptAnnotation,
                  karpenter == "DoNotDisruptAnnotation")
            << where;
        if (want != "undefined" || !dice.Percent(30)) continue;
        budgets.RemovePods(std::vector<PodId>{PodId{p}});
        for (const Text budget : twin.Budgets()) --remaining[budget];
      }
    }
    // Cached verdicts on shapes still hold at another time and with other budgets.
    const PdbTracker full(catalog);
    for (const int64_t now_s : {kNow - 5000, kNow + 50, kNow + 5000}) {
      rules.Renew(full, now_s);
      const int64_t next = NextDrainChange(catalog, options, now_s);
      ASSERT_GT(next, now_s);
      for (uint32_t p = 0; p < raw.pods.size(); ++p) {
        const std::string now =
            TextOf(catalog, ApplyDrainRules(catalog, PodId{p}, options, full, now_s));
        ASSERT_EQ(TextOf(catalog, rules.Apply(PodId{p})), now) << "cluster " << c;
        const std::string last =
            TextOf(catalog, ApplyDrainRules(catalog, PodId{p}, options, full, next - 1));
        ASSERT_EQ(last, now) << "cluster " << c << ", " << next - 1;
        if (next == std::numeric_limits<int64_t>::max()) continue;
        changed += TextOf(catalog, ApplyDrainRules(catalog, PodId{p}, options, full, next)) != now;
      }
    }
  }
  EXPECT_GT(changed, 20u);
  EXPECT_GT(by_itself_differs, 50u);
  for (const char* outcome :
       {"undefined", "drain", "skip", "wait", "ControllerNotFound", "MinReplicasReached",
        "NotReplicated", "LocalStorageRequested", "NotSafeToEvictAnnotation",
        "UnmovableKubeSystemPod", "NotEnoughPdb", "Karpenter DoNotDisruptAnnotation"}) {
    EXPECT_GT(seen[outcome], 50u) << outcome;
  }
}

// The verifier evaluates such pods once per shape.
TEST(DrainabilityRandomTest, TheShapeDecidesForPodsOutsideKubeSystemThatAreNotDeleted) {
  const uint64_t seed = RandomSeed();
  size_t compared = 0;
  for (uint64_t c = 0; c < 1000; ++c) {
    Dice dice(seed * 100'000 + c);
    Raw raw = RandomRaw(dice);
    const size_t pods = raw.pods.size();
    std::vector<std::string> names;
    for (const Text name : kPodNames) names.push_back(std::string(name) + "-twin");
    for (size_t p = 0; p < pods; ++p) {
      Pod twin = raw.pods[p];
      twin.meta.name = names[p];
      twin.meta.creation_time = dice.Percent(20) ? 0 : kNow - dice.Below(3) * 3600 + dice.Below(9);
      raw.pods.push_back(twin);
    }
    const DrainOptions options = RandomOptions(dice);
    const ClusterSnapshot snapshot = Build(raw);
    const Catalog& catalog = snapshot.catalog();
    const PdbTracker budgets(catalog);
    for (uint32_t p = 0; p < pods; ++p) {
      const PodId pod{p};
      const PodId twin{static_cast<uint32_t>(p + pods)};
      ASSERT_EQ(catalog.shape_id(pod), catalog.shape_id(twin));
      const PodShape& shape = catalog.shape_of(pod);
      if (shape.terminating || catalog.Text(shape.namespace_name) == "kube-system") continue;
      ++compared;
      ASSERT_EQ(TextOf(catalog, ApplyDrainRules(catalog, pod, options, budgets, kNow)),
                TextOf(catalog, ApplyDrainRules(catalog, twin, options, budgets, kNow)));
    }
  }
  EXPECT_GT(compared, 1000u);
}

}  // namespace
}  // namespace ebb::test::drainability_random_test
