#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {
namespace {

constexpr std::array<std::string_view, 3> kDiverseZones = {"za", "zb", "zc"};
constexpr std::array<std::string_view, 3> kDiversePools = {"general", "batch", "spot"};
constexpr std::array<std::string_view, 2> kDisks = {"hdd", "ssd"};
constexpr std::array<std::string_view, 4> kTiers = {"web", "db", "cache", "queue"};
constexpr uint32_t kPodsPerNode = 10;
constexpr uint32_t kPodsPerApp = 4;

// The diverse cluster: nearly every pod has a shape of its own, and every rule concerns some pods.
// The pods of an application are on nodes far apart.
class DiverseCluster {
 public:
  DiverseCluster(const GenerateOptions& options, ObjectSink& sink)
      : sink_(sink), random_(options.seed), size_(options.nodes) {}

  absl::Status Write() {
    if (absl::Status s = WriteNodes(); !s.ok()) return s;
    const uint32_t pods = size_ * kPodsPerNode;
    const uint32_t apps = (pods + kPodsPerApp - 1) / kPodsPerApp;
    for (uint32_t a = 0; a < apps; ++a) {
      if (absl::Status s = WriteApp(a, std::min(kPodsPerApp, pods - a * kPodsPerApp)); !s.ok()) {
        return s;
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Place {
    std::string name;
    std::string rack;
    std::string_view zone, pool, disk;
    uint32_t pods = 0;
  };
  struct App {
    std::string name, uid;
    std::string_view tier, version;
    objects::ControllerKind kind;
  };

  absl::Status WriteNodes() {
    static constexpr std::array<int64_t, 3> kCpus = {8000, 16000, 32000};
    for (uint32_t n = 0; n < size_; ++n) {
      places_.push_back({.name = absl::StrCat("node-", n),
                         .rack = absl::StrCat("rack-", n / 20),
                         .zone = kDiverseZones[n % kDiverseZones.size()],
                         .pool = kDiversePools[random_.Below(kDiversePools.size())],
                         .disk = kDisks[random_.Below(kDisks.size())]});
    }
    for (const Place& place : places_) {
      const int64_t cpu = kCpus[random_.Below(kCpus.size())];
      objects::Node node = NodeOf(place.name, cpu, cpu * 4);
      node.meta.labels.insert(
          node.meta.labels.end(),
          {{kZone, place.zone}, {"pool", place.pool}, {"disk", place.disk}, {"rack", place.rack}});
      if (random_.Chance(60)) node.taints = {{"dedicated", "db", "NoSchedule"}};
      if (random_.Chance(20)) node.unschedulable = true;
      if (absl::Status s = sink_.OnNode(node); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status WriteApp(uint32_t number, uint32_t replicas) {
    static constexpr std::array<std::string_view, 3> kVersions = {"v1", "v2", "v3"};
    static constexpr std::array<objects::ControllerKind, 3> kKinds = {
        objects::ControllerKind::kReplicaSet, objects::ControllerKind::kStatefulSet,
        objects::ControllerKind::kJob};
    static constexpr std::array<uint32_t, 3> kWeights = {75, 15, 10};
    App app;
    app.name = absl::StrCat("app-", number);
    app.uid = absl::StrCat("o-", app.name);
    app.tier = kTiers[random_.Below(kTiers.size())];
    app.version = kVersions[random_.Below(kVersions.size())];
    app.kind = kKinds[random_.Weighted(kWeights)];
    if (absl::Status s = WriteController(app.kind, "default", app.name, app.uid, replicas, sink_);
        !s.ok()) {
      return s;
    }
    for (uint32_t r = 0; r < replicas; ++r) {
      // The pods of an application are size_ / kPodsPerApp nodes apart.
      const uint64_t at = number + uint64_t{r} * size_ / kPodsPerApp;
      if (absl::Status s = WritePod(app, r, PlaceFrom(at)); !s.ok()) return s;
    }
    if (!random_.Chance(100)) return absl::OkStatus();
    objects::PodDisruptionBudget budget;
    budget.meta.namespace_name = "default";
    budget.meta.name = app.name;
    budget.selector = Labelled("app", app.name);
    budget.disruptions_allowed = random_.Between(0, 3);
    return sink_.OnPodDisruptionBudget(budget);
  }

  // The first node from `at` on that has fewer than kPodsPerNode pods.
  Place& PlaceFrom(uint64_t at) {
    while (places_[at % size_].pods == kPodsPerNode) ++at;
    ++places_[at % size_].pods;
    return places_[at % size_];
  }

  absl::Status WritePod(const App& app, uint32_t replica, const Place& place) {
    const std::string name = absl::StrCat(app.name, "-", replica);
    const int64_t cpu_milli = 10 * random_.Between(1, 60);
    const int64_t memory_mib = 16 * random_.Between(1, 64);
    objects::Pod pod = PodOf("default", name, name, place.name, cpu_milli, memory_mib);
    pod.meta.labels = {{"app", app.name}, {"tier", app.tier}, {"version", app.version}};
    pod.meta.owners = {Owner(app)};
    if (app.kind == objects::ControllerKind::kJob) pod.restart_policy = "Never";
    pod.termination_grace_period_s = random_.Between(0, 600);
    if (random_.Chance(50)) pod.priority = random_.Between(0, 1000);
    if (random_.Chance(10)) pod.meta.annotations = {{kSafeToEvict, "false"}};
    if (random_.Chance(30)) {
      pod.volumes.resize(1);
      pod.volumes[0].name = "tmp";
      pod.volumes[0].source = "emptyDir";
    }
    if (random_.Chance(30)) {
      pod.containers[0].ports = {
          {.host_ip = "", .host_port = random_.Between(9000, 9100), .protocol = ""}};
    }
    SelectNodes(place, pod);
    SelectPods(app, pod);
    return sink_.OnPod(pod);
  }

  static objects::OwnerReference Owner(const App& app) {
    switch (app.kind) {
      case objects::ControllerKind::kStatefulSet:
        return {"apps/v1", "StatefulSet", app.name, app.uid, true};
      case objects::ControllerKind::kJob:
        return {"batch/v1", "Job", app.name, app.uid, true};
      default:
        return {"apps/v1", "ReplicaSet", app.name, app.uid, true};
    }
  }

  // Adds constraints that the pod's own node satisfies.
  void SelectNodes(const Place& place, objects::Pod& pod) {
    if (random_.Chance(150)) {
      pod.has_node_selector = true;
      pod.node_selector = {{"pool", place.pool}};
    }
    if (random_.Chance(100)) {
      KeepWhere("disk", place.disk, pod);
    } else if (random_.Chance(100)) {
      KeepInZone(place.zone, pod);
    }
    if (random_.Chance(200)) pod.tolerations = {{"dedicated", "Equal", "db", "NoSchedule"}};
  }

  void SelectPods(const App& app, objects::Pod& pod) {
    static constexpr std::array<objects::Text, 3> kKeys = {kZone, "rack", "pool"};
    const objects::LabelSelector own = Labelled("app", app.name);
    if (random_.Chance(300)) {
      objects::PodAffinityTerm& term = pod.affinity.emplace_back();
      term.label_selector = Labelled("tier", kTiers[random_.Below(kTiers.size())]);
      term.topology_key = kKeys[random_.Below(kKeys.size())];
    }
    if (random_.Chance(200)) Repel(own, pod);
    if (random_.Chance(50)) Repel(own, pod, "rack");
    if (random_.Chance(200)) SpreadOverZones(own, random_.Between(1, 3), pod);
    if (random_.Chance(50)) SpreadOver(kHostname, own, random_.Between(1, 2), pod);
  }

  ObjectSink& sink_;
  Dice random_;
  uint32_t size_;
  std::vector<Place> places_;
};

}  // namespace

absl::Status GenerateDiverse(const GenerateOptions& options, ObjectSink& sink) {
  return DiverseCluster(options, sink).Write();
}

}  // namespace ebb::samples
