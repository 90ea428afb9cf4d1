#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {
namespace {

// The mixed cluster: applications are placed one after the other.  Each pod goes to the least
// allocated of a few random nodes, as a scheduler would place it.
class MixedCluster {
 public:
  MixedCluster(const GenerateOptions& options, ObjectSink& sink)
      : sink_(sink), random_(options.seed), size_(options.nodes) {}

  absl::Status Write() {
    if (absl::Status s = WriteNodes(); !s.ok()) return s;
    if (absl::Status s = WriteSystem(); !s.ok()) return s;
    const int64_t target = total_cpu_ * 33 / 100;
    // The limit ends the loop if the memory is full before the cpu.
    constexpr int kUnplacedMax = 1000;
    int unplaced = 0;
    for (int app = 1; used_cpu_ < target && unplaced < kUnplacedMax; ++app) {
      const int64_t before = used_cpu_;
      if (absl::Status s = WriteApp(app); !s.ok()) return s;
      unplaced = used_cpu_ == before ? unplaced + 1 : 0;
    }
    return absl::OkStatus();
  }

 private:
  enum Pool { kGeneral, kBatch, kDb };
  struct Machine {
    int64_t cpu_milli;
    int64_t memory_mib;
    std::string_view name;
  };
  struct Place {
    std::string name;
    int64_t cpu_max, memory_max;
    Pool pool;
    size_t zone;
    int64_t cpu = 0, memory = 0;
    int pods = 0;
    int last_app = 0;  // The last application that placed a pod here.
  };
  struct App {
    int number;
    std::string name, namespace_name;
    int64_t cpu_milli, memory_mib;
    Pool pool;
    bool selects_pool = false, anti = false, spread = false, local = false;
    std::optional<size_t> zone;
  };

  static constexpr std::array<std::string_view, 3> kPools = {"general", "batch", "db"};
  static constexpr std::array<std::string_view, 3> kZones = {"za", "zb", "zc"};
  static constexpr std::array<uint32_t, 3> kPoolWeights = {8, 3, 1};

  Pool RandomPool() { return static_cast<Pool>(random_.Weighted(kPoolWeights)); }

  absl::Status WriteNodes() {
    static constexpr std::array<Machine, 6> kMachines = {{{4000, 16384, "m4"},
                                                          {8000, 32768, "m8"},
                                                          {16000, 65536, "m16"},
                                                          {32000, 131072, "m32"},
                                                          {16000, 131072, "r16"},
                                                          {16000, 32768, "c16"}}};
    static constexpr std::array<uint32_t, 6> kWeights = {3, 5, 4, 1, 1, 2};
    for (uint32_t n = 0; n < size_; ++n) {
      const Machine& machine = kMachines[random_.Weighted(kWeights)];
      const size_t zone = random_.Below(3);
      const Pool pool = RandomPool();
      const std::string digits = absl::StrCat(n);
      const std::string name =
          "node-" + std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
      objects::Node node = NodeOf(name, machine.cpu_milli, machine.memory_mib);
      node.meta.labels.push_back({kZone, kZones[zone]});
      node.meta.labels.push_back({"topology.kubernetes.io/region", "r1"});
      node.meta.labels.push_back({"node.kubernetes.io/instance-type", machine.name});
      node.meta.labels.push_back({"pool", kPools[pool]});
      if (pool == kDb) node.taints = {{"dedicated", "db", "NoSchedule"}};
      if (absl::Status s = sink_.OnNode(node); !s.ok()) return s;
      of_pool_[pool].push_back(places_.size());
      places_.push_back(
          {name, machine.cpu_milli * 95 / 100, machine.memory_mib * 95 / 100, pool, zone});
      total_cpu_ += machine.cpu_milli;
    }
    return absl::OkStatus();
  }

  absl::Status WriteSystem() {
    for (int team = 0; team < 20; ++team) {
      const std::string name = absl::StrCat("team-", team);
      objects::Namespace object;
      object.meta.name = name;
      if (absl::Status s = sink_.OnNamespace(object); !s.ok()) return s;
    }
    for (const std::string_view daemon : {"logs", "net", "proxy"}) {
      const std::string owner = "o-kube-system-" + std::string(daemon);
      absl::Status s = WriteController(objects::ControllerKind::kDaemonSet, "kube-system", daemon,
                                       owner, 0, sink_);
      if (!s.ok()) return s;
      for (Place& place : places_) {
        const std::string name = std::string(daemon) + "-" + place.name;
        const std::string uid = "p-kube-system-" + name;
        objects::Pod pod = PodOf("kube-system", name, uid, place.name, 50, 64);
        pod.meta.labels = {{"app", daemon}};
        pod.meta.owners = {{"apps/v1", "DaemonSet", daemon, owner, true}};
        pod.tolerations = {{"", "Exists", "", ""}};
        if (s = sink_.OnPod(pod); !s.ok()) return s;
        Take(place, 50, 64);
      }
    }
    return absl::OkStatus();
  }

  static void Take(Place& place, int64_t cpu, int64_t memory) {
    place.cpu += cpu;
    place.memory += memory;
    ++place.pods;
  }

  // Pareto with shape 1.1: most applications are small, a few are very large.
  int RandomReplicas() {
    const double pareto = std::pow(1.0 - random_.Unit(), -1 / 1.1);
    const uint32_t most = std::max(3u, size_ / 4);
    return static_cast<int>(std::min<double>(pareto, most));
  }

  App RandomApp(int number, int replicas) {
    static constexpr std::array<int64_t, 8> kCpu = {50, 100, 100, 250, 250, 500, 1000, 2000};
    static constexpr std::array<int64_t, 5> kMemoryPerCpu = {1, 2, 4, 4, 8};
    App app;
    app.number = number;
    app.name = absl::StrCat("app-", number);
    app.namespace_name = absl::StrCat("team-", random_.Below(20));
    app.cpu_milli = kCpu[random_.Below(kCpu.size())];
    app.memory_mib = app.cpu_milli * kMemoryPerCpu[random_.Below(kMemoryPerCpu.size())];
    app.pool = RandomPool();
    if (of_pool_[app.pool].empty()) app.pool = kGeneral;
    app.selects_pool = app.pool == kDb || random_.Chance(250);
    if (of_pool_[app.pool].empty()) app.selects_pool = false;
    const uint64_t k = random_.Below(100);
    if (k < 6 && replicas > 1 && replicas < static_cast<int>(size_) / 10) {
      app.anti = true;
    } else if (k < 16 && replicas > 2) {
      app.spread = true;
    } else if (k < 24) {
      app.zone = random_.Below(3);
    }
    app.local = random_.Chance(30);
    return app;
  }

  void Constrain(const App& app, int replicas, objects::Pod& pod) const {
    const objects::LabelSelector own = Labelled("app", app.name);
    if (app.pool == kDb) pod.tolerations = {{"dedicated", "Equal", "db", "NoSchedule"}};
    if (app.selects_pool) {
      pod.has_node_selector = true;
      pod.node_selector = {{"pool", kPools[app.pool]}};
    }
    if (app.anti) Repel(own, pod);
    if (app.spread) SpreadOverZones(own, std::max(1, replicas / 5), pod);
    if (app.zone) KeepInZone(kZones[*app.zone], pod);
    if (app.local) {
      pod.volumes.resize(1);
      pod.volumes[0].name = "tmp";
      pod.volumes[0].source = "emptyDir";
    }
  }

  bool Takes(const Place& place, const App& app, const std::array<int, 3>& in_zone) const {
    if (place.pool == kDb && app.pool != kDb) return false;
    if (app.zone && place.zone != *app.zone) return false;
    if (app.anti && place.last_app == app.number) return false;
    if (app.spread && in_zone[place.zone] > *std::min_element(in_zone.begin(), in_zone.end()))
      return false;
    return place.cpu + app.cpu_milli <= place.cpu_max &&
           place.memory + app.memory_mib <= place.memory_max && place.pods < 105;
  }

  Place* FindPlace(const App& app, const std::array<int, 3>& in_zone) {
    Place* best = nullptr;
    double least = 0;
    for (int tries = 0; tries < 12; ++tries) {
      const std::vector<size_t>& pool = of_pool_[app.pool];
      Place& place = app.selects_pool ? places_[pool[random_.Below(pool.size())]]
                                      : places_[random_.Below(places_.size())];
      if (!Takes(place, app, in_zone)) continue;
      const double load = static_cast<double>(place.cpu) / static_cast<double>(place.cpu_max) +
                          static_cast<double>(place.memory) / static_cast<double>(place.memory_max);
      if (best == nullptr || load < least) {
        best = &place;
        least = load;
      }
    }
    return best;
  }

  absl::Status WriteApp(int number) {
    const int replicas = RandomReplicas();
    const App app = RandomApp(number, replicas);
    const std::string owner = absl::StrCat("o-", app.namespace_name, "-", app.name);
    std::array<int, 3> in_zone = {0, 0, 0};
    int placed = 0;
    for (int r = 0; r < replicas; ++r) {
      Place* place = FindPlace(app, in_zone);
      if (place == nullptr) continue;
      Take(*place, app.cpu_milli, app.memory_mib);
      place->last_app = number;
      ++in_zone[place->zone];
      used_cpu_ += app.cpu_milli;
      ++placed;
      const std::string name = absl::StrCat(app.name, "-", r);
      const std::string uid = absl::StrCat("p-", app.namespace_name, "-", name);
      objects::Pod pod =
          PodOf(app.namespace_name, name, uid, place->name, app.cpu_milli, app.memory_mib);
      pod.meta.labels = {{"app", app.name}};
      pod.meta.owners = {{"apps/v1", "ReplicaSet", app.name, owner, true}};
      if (random_.Chance(4)) pod.meta.annotations = {{kSafeToEvict, "false"}};
      Constrain(app, replicas, pod);
      if (absl::Status s = sink_.OnPod(pod); !s.ok()) return s;
    }
    if (placed == 0) return absl::OkStatus();
    absl::Status s = WriteController(objects::ControllerKind::kReplicaSet, app.namespace_name,
                                     app.name, owner, placed, sink_);
    if (!s.ok() || placed <= 2 || random_.Chance(500)) return s;
    objects::PodDisruptionBudget budget;
    budget.meta.namespace_name = app.namespace_name;
    budget.meta.name = app.name;
    budget.selector = Labelled("app", app.name);
    budget.disruptions_allowed = random_.Chance(900) ? std::max(1, placed / 4) : 0;
    return sink_.OnPodDisruptionBudget(budget);
  }

  ObjectSink& sink_;
  Dice random_;
  uint32_t size_;
  std::vector<Place> places_;
  std::array<std::vector<size_t>, 3> of_pool_;
  int64_t total_cpu_ = 0;
  int64_t used_cpu_ = 0;
};

}  // namespace

absl::Status GenerateMixed(const GenerateOptions& options, ObjectSink& sink) {
  return MixedCluster(options, sink).Write();
}

}  // namespace ebb::samples
