#include "bench/workloads.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/samples/openb.h"

namespace ebb::bench {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kNodeTimeS = 1767225600;  // 2026-01-01
constexpr int64_t kPodTimeS = kNodeTimeS + 24 * 3600;
constexpr int64_t kMonthS = 30 * 24 * 3600;
constexpr std::string_view kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";
constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";

std::string& OpenbFolder() {
  static auto* const folder = new std::string("../shared/data");
  return *folder;
}

objects::Node NodeOf(const std::string& name, int64_t cpu_milli, int64_t memory_mib) {
  objects::Node node;
  node.meta.name = name;
  node.meta.uid = name;
  node.meta.creation_time = kNodeTimeS;
  node.meta.labels = {{kHostname, name}, {"kubernetes.io/os", "linux"}};
  node.provider_id = name;
  node.allocatable = {{"cpu", cpu_milli}, {"memory", memory_mib * kMiB}, {"pods", 110}};
  node.capacity = node.allocatable;
  node.conditions = {{"Ready", "True"}};
  return node;
}

objects::Pod PodOf(std::string_view ns, std::string_view name, std::string_view uid,
                   std::string_view node, int64_t cpu_milli, int64_t memory_mib) {
  objects::Pod pod;
  pod.meta.namespace_name = ns;
  pod.meta.name = name;
  pod.meta.uid = uid;
  pod.meta.creation_time = kPodTimeS;
  pod.node_name = node;
  pod.phase = "Running";
  pod.containers.resize(1);
  pod.containers[0].name = "c";
  pod.containers[0].requests = {{"cpu", cpu_milli}, {"memory", memory_mib * kMiB}};
  return pod;
}

absl::Status WriteUniform(uint32_t nodes, uint32_t pods_per_node, ObjectSink& sink) {
  for (uint32_t n = 0; n < nodes; ++n) {
    const std::string name = absl::StrCat("ng1-node-", n);
    if (absl::Status s = sink.OnNode(NodeOf(name, 10000, 10000)); !s.ok()) return s;
  }
  objects::Pod pod = PodOf("default", "", "", "", 100, 100);
  pod.meta.annotations = {{kSafeToEvict, "true"}};
  for (uint32_t p = 0; p < nodes * pods_per_node; ++p) {
    const std::string name = absl::StrCat("pod-", p);
    const std::string uid = absl::StrCat("p-default-", name);
    const std::string node = absl::StrCat("ng1-node-", p % nodes);
    pod.meta.name = name;
    pod.meta.uid = uid;
    pod.node_name = node;
    if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// The mixed cluster: applications are placed one after the other, each pod on the
// least allocated of a few nodes tried at random, as a scheduler would have.
class MixedCluster {
 public:
  MixedCluster(uint32_t nodes, ObjectSink& sink) : sink_(sink), random_(kSeed), size_(nodes) {}

  absl::Status Write() {
    if (absl::Status s = WriteNodes(); !s.ok()) return s;
    if (absl::Status s = WriteSystem(); !s.ok()) return s;
    const int64_t target = total_cpu_ * 33 / 100;
    for (int app = 1; used_cpu_ < target; ++app) {
      if (absl::Status s = WriteApp(app); !s.ok()) return s;
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
    int last_app = 0;  // The last application that put a pod here.
  };
  struct App {
    int number;
    std::string name, ns;
    int64_t cpu_milli, memory_mib;
    Pool pool;
    bool selects_pool = false, anti = false, spread = false, local = false;
    std::optional<size_t> zone;
  };

  static constexpr std::array<std::string_view, 3> kPools = {"general", "batch", "db"};
  static constexpr std::array<std::string_view, 3> kZones = {"za", "zb", "zc"};
  static constexpr std::array<uint32_t, 3> kPoolWeights = {8, 3, 1};

  // True in `permille` of 1,000 cases.
  bool Chance(uint64_t permille) { return random_.Below(1000) < permille; }

  // An index, each as likely as its weight.
  size_t Weighted(std::span<const uint32_t> weights) {
    uint64_t at = random_.Below(std::accumulate(weights.begin(), weights.end(), uint64_t{0}));
    size_t index = 0;
    while (at >= weights[index]) at -= weights[index++];
    return index;
  }

  Pool RandomPool() { return static_cast<Pool>(Weighted(kPoolWeights)); }

  absl::Status WriteNodes() {
    static constexpr std::array<Machine, 6> kMachines = {{{4000, 16384, "m4"},
                                                          {8000, 32768, "m8"},
                                                          {16000, 65536, "m16"},
                                                          {32000, 131072, "m32"},
                                                          {16000, 131072, "r16"},
                                                          {16000, 32768, "c16"}}};
    static constexpr std::array<uint32_t, 6> kWeights = {3, 5, 4, 1, 1, 2};
    for (uint32_t n = 0; n < size_; ++n) {
      const Machine& machine = kMachines[Weighted(kWeights)];
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

  absl::Status WriteController(objects::ControllerKind kind, std::string_view ns,
                               std::string_view name, std::string_view uid, int64_t replicas) {
    objects::Controller controller;
    controller.kind = kind;
    controller.meta.namespace_name = ns;
    controller.meta.name = name;
    controller.meta.uid = uid;
    if (kind != objects::ControllerKind::kDaemonSet) controller.spec_replicas = replicas;
    controller.status_replicas = replicas;
    return sink_.OnController(controller);
  }

  absl::Status WriteSystem() {
    for (int team = 0; team < 20; ++team) {
      const std::string name = absl::StrCat("team-", team);
      objects::Namespace ns;
      ns.meta.name = name;
      if (absl::Status s = sink_.OnNamespace(ns); !s.ok()) return s;
    }
    for (const std::string_view daemon : {"logs", "net", "proxy"}) {
      const std::string owner = "o-kube-system-" + std::string(daemon);
      absl::Status s =
          WriteController(objects::ControllerKind::kDaemonSet, "kube-system", daemon, owner, 0);
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
    const double u = 1.0 - static_cast<double>(random_.Next() >> 11) * 0x1.0p-53;
    const double pareto = std::pow(u, -1 / 1.1);
    return static_cast<int>(std::min<double>(pareto, std::max<double>(3, size_ / 4)));
  }

  App RandomApp(int number, int replicas) {
    static constexpr std::array<int64_t, 8> kCpu = {50, 100, 100, 250, 250, 500, 1000, 2000};
    static constexpr std::array<int64_t, 5> kMemoryPerCpu = {1, 2, 4, 4, 8};
    App app;
    app.number = number;
    app.name = absl::StrCat("app-", number);
    app.ns = absl::StrCat("team-", random_.Below(20));
    app.cpu_milli = kCpu[random_.Below(kCpu.size())];
    app.memory_mib = app.cpu_milli * kMemoryPerCpu[random_.Below(kMemoryPerCpu.size())];
    app.pool = RandomPool();
    if (of_pool_[app.pool].empty()) app.pool = kGeneral;
    app.selects_pool = app.pool == kDb || Chance(250);
    if (of_pool_[app.pool].empty()) app.selects_pool = false;
    const uint64_t k = random_.Below(100);
    if (k < 6 && replicas > 1 && replicas < static_cast<int>(size_) / 10) {
      app.anti = true;
    } else if (k < 16 && replicas > 2) {
      app.spread = true;
    } else if (k < 24) {
      app.zone = random_.Below(3);
    }
    app.local = Chance(30);
    return app;
  }

  void Constrain(const App& app, int replicas, objects::Pod& pod) const {
    const objects::LabelSelector own{
        .nil = false, .match_labels = {{"app", app.name}}, .match_expressions = {}};
    if (app.pool == kDb) pod.tolerations = {{"dedicated", "Equal", "db", "NoSchedule"}};
    if (app.selects_pool) {
      pod.has_node_selector = true;
      pod.node_selector = {{"pool", kPools[app.pool]}};
    }
    if (app.anti) {
      pod.anti_affinity.resize(1);
      pod.anti_affinity[0].label_selector = own;
      pod.anti_affinity[0].topology_key = kHostname;
    }
    if (app.spread) {
      pod.spread.resize(1);
      pod.spread[0].max_skew = std::max(1, replicas / 5);
      pod.spread[0].topology_key = kZone;
      pod.spread[0].when_unsatisfiable = "DoNotSchedule";
      pod.spread[0].label_selector = own;
    }
    if (app.zone) {
      pod.required_node_affinity.nil = false;
      pod.required_node_affinity.terms = {{{{kZone, "In", {kZones[*app.zone]}}}, {}}};
    }
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
    const std::string owner = absl::StrCat("o-", app.ns, "-", app.name);
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
      const std::string uid = absl::StrCat("p-", app.ns, "-", name);
      objects::Pod pod = PodOf(app.ns, name, uid, place->name, app.cpu_milli, app.memory_mib);
      pod.meta.labels = {{"app", app.name}};
      pod.meta.owners = {{"apps/v1", "ReplicaSet", app.name, owner, true}};
      if (Chance(4)) pod.meta.annotations = {{kSafeToEvict, "false"}};
      Constrain(app, replicas, pod);
      if (absl::Status s = sink_.OnPod(pod); !s.ok()) return s;
    }
    if (placed == 0) return absl::OkStatus();
    absl::Status s =
        WriteController(objects::ControllerKind::kReplicaSet, app.ns, app.name, owner, placed);
    if (!s.ok() || placed <= 2 || Chance(500)) return s;
    objects::PodDisruptionBudget budget;
    budget.meta.namespace_name = app.ns;
    budget.meta.name = app.name;
    budget.selector = {.nil = false, .match_labels = {{"app", app.name}}, .match_expressions = {}};
    budget.disruptions_allowed = Chance(900) ? std::max(1, placed / 4) : 0;
    return sink_.OnPodDisruptionBudget(budget);
  }

  ObjectSink& sink_;
  Random random_;
  uint32_t size_;
  std::vector<Place> places_;
  std::array<std::vector<size_t>, 3> of_pool_;
  int64_t total_cpu_ = 0;
  int64_t used_cpu_ = 0;
};

absl::Status WriteReplicaSet(const std::string& app, int64_t replicas, ObjectSink& sink) {
  objects::Controller controller;
  controller.kind = objects::ControllerKind::kReplicaSet;
  controller.meta.namespace_name = "default";
  controller.meta.name = app;
  controller.meta.uid = app;
  controller.spec_replicas = controller.status_replicas = replicas;
  return sink.OnController(controller);
}

// Every pod refuses a second one of its application on its node and in a zone that
// has two more than another.  Applications lie side by side, every seventh node.
absl::Status WriteTopology(uint32_t nodes, ObjectSink& sink) {
  static constexpr std::array<std::string_view, 3> kZones = {"z0", "z1", "z2"};
  static constexpr std::array<int, 5> kReplicas = {3, 5, 10, 20, 30};
  std::vector<std::string> names;
  for (uint32_t n = 0; n < nodes; ++n) {
    names.push_back(absl::StrCat("node-", n));
    objects::Node node = NodeOf(names.back(), 8000, 32768);
    node.meta.labels.push_back({kZone, kZones[n % kZones.size()]});
    if (absl::Status s = sink.OnNode(node); !s.ok()) return s;
  }
  Random random(kSeed);
  for (uint32_t a = 0; a < nodes * 3 / 5; ++a) {
    const std::string app = absl::StrCat("app-", a);
    const int replicas = kReplicas[random.Below(kReplicas.size())];
    const uint64_t first = random.Below(nodes);
    if (absl::Status s = WriteReplicaSet(app, replicas, sink); !s.ok()) return s;
    const objects::LabelSelector own{
        .nil = false, .match_labels = {{"app", app}}, .match_expressions = {}};
    for (int r = 0; r < replicas; ++r) {
      const std::string name = absl::StrCat(app, "-", r);
      objects::Pod pod =
          PodOf("default", name, name, names[(first + uint64_t{7} * r) % nodes], 250, 512);
      pod.meta.labels = {{"app", app}};
      pod.meta.owners = {{"apps/v1", "ReplicaSet", app, app, true}};
      pod.anti_affinity.resize(1);
      pod.anti_affinity[0].label_selector = own;
      pod.anti_affinity[0].topology_key = kHostname;
      pod.spread.resize(1);
      pod.spread[0].max_skew = 2;
      pod.spread[0].topology_key = kZone;
      pod.spread[0].when_unsatisfiable = "DoNotSchedule";
      pod.spread[0].label_selector = own;
      if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

// A pod of the ReplicaSet `app` that takes 1/40 of its node.
objects::Pod ReplicaOf(objects::Text app, objects::Text name, objects::Text node) {
  objects::Pod pod = PodOf("default", name, name, node, 200, 512);
  pod.meta.owners = {{"apps/v1", "ReplicaSet", app, app, true}};
  return pod;
}

// From now on the pod suffers no pod on the same node that `repelled` matches.
void Repel(objects::LabelSelector repelled, objects::Pod& pod) {
  objects::PodAffinityTerm& term = pod.anti_affinity.emplace_back();
  term.label_selector = std::move(repelled);
  term.topology_key = kHostname;
}

// Nodes "node-0" and so on; returns their names in `names`.
absl::Status WriteNodes(uint32_t nodes, ObjectSink& sink, std::vector<std::string>& names) {
  for (uint32_t n = 0; n < nodes; ++n) {
    names.push_back(absl::StrCat("node-", n));
    if (absl::Status s = sink.OnNode(NodeOf(names.back(), 8000, 32768)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// The pods of each application lie on nodes in a row, an application after the other,
// round and round.
absl::Status WriteRepelling(uint32_t nodes, ObjectSink& sink) {
  std::vector<std::string> names;
  if (absl::Status s = WriteNodes(nodes, sink, names); !s.ok()) return s;
  constexpr uint32_t kReplicas = 5;
  std::string app;
  for (uint32_t p = 0; p < nodes * 10; ++p) {
    if (p % kReplicas == 0) {
      app = absl::StrCat("app-", p / kReplicas);
      if (absl::Status s = WriteReplicaSet(app, kReplicas, sink); !s.ok()) return s;
    }
    const std::string name = absl::StrCat(app, "-", p % kReplicas);
    objects::Pod pod = ReplicaOf(app, name, names[p % nodes]);
    pod.meta.labels = {{"app", app}};
    Repel({.nil = false, .match_labels = {{"app", app}}, .match_expressions = {}}, pod);
    if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// P / 10 nodes with P pods "web-0" and so on, each with a label `id` of its own; `change`
// is told each pod and its name.
absl::Status WriteWebPods(
    uint32_t pods, ObjectSink& sink,
    const std::function<absl::Status(objects::Pod&, std::string_view)>& change) {
  const uint32_t nodes = std::max(1U, pods / 10);
  std::vector<std::string> names;
  if (absl::Status s = WriteNodes(nodes, sink, names); !s.ok()) return s;
  if (absl::Status s = WriteReplicaSet("web", pods, sink); !s.ok()) return s;
  for (uint32_t p = 0; p < pods; ++p) {
    const std::string name = absl::StrCat("web-", p);
    objects::Pod pod = ReplicaOf("web", name, names[p % nodes]);
    pod.meta.labels = {{"id", name}};
    if (absl::Status s = change(pod, name); !s.ok()) return s;
    if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status WriteTerms(uint32_t pods, ObjectSink& sink) {
  return WriteWebPods(pods, sink, [](objects::Pod& pod, std::string_view name) {
    pod.meta.labels = {{"app", "web"}, {"id", name}};
    Repel({.nil = false, .match_labels = pod.meta.labels, .match_expressions = {}}, pod);
    return absl::OkStatus();
  });
}

absl::Status WriteExcluding(uint32_t pods, ObjectSink& sink) {
  return WriteWebPods(pods, sink, [](objects::Pod& pod, std::string_view name) {
    Repel({.nil = false, .match_labels = {}, .match_expressions = {{"id", "NotIn", {name}}}}, pod);
    return absl::OkStatus();
  });
}

absl::Status WriteBudgets(uint32_t pods, ObjectSink& sink) {
  return WriteWebPods(pods, sink, [&](objects::Pod&, std::string_view name) {
    objects::PodDisruptionBudget budget;
    budget.meta.namespace_name = "default";
    budget.meta.name = name;
    budget.selector.nil = false;
    budget.disruptions_allowed = 1;
    return sink.OnPodDisruptionBudget(budget);
  });
}

absl::Status WriteClaims(uint32_t pods, ObjectSink& sink) {
  objects::StorageClass klass;
  klass.meta.name = "local";
  klass.provisioner = "kubernetes.io/no-provisioner";
  klass.volume_binding_mode = "WaitForFirstConsumer";
  if (absl::Status s = sink.OnStorageObject(klass); !s.ok()) return s;
  return WriteWebPods(pods, sink, [&](objects::Pod& pod, std::string_view name) {
    objects::PersistentVolume volume;
    volume.meta.name = name;
    volume.storage_class_name = "local";
    volume.capacity_bytes = int64_t{1} << 30;
    volume.access_modes = {"ReadWriteOnce"};
    volume.source = "local";
    volume.phase = "Available";
    volume.required_node_affinity.nil = false;
    volume.required_node_affinity.terms = {{{{kHostname, "In", {pod.node_name}}}, {}}};
    if (absl::Status s = sink.OnStorageObject(volume); !s.ok()) return s;
    objects::PersistentVolumeClaim claim;
    claim.meta.namespace_name = "default";
    claim.meta.name = name;
    claim.meta.uid = name;
    claim.storage_class_name = "local";
    claim.access_modes = {"ReadWriteOnce"};
    claim.request_bytes = int64_t{1} << 30;
    claim.phase = "Pending";
    if (absl::Status s = sink.OnStorageObject(claim); !s.ok()) return s;
    objects::Volume& mounted = pod.volumes.emplace_back();
    mounted.name = "data";
    mounted.source = "persistentVolumeClaim";
    mounted.claim_name = name;
    return absl::OkStatus();
  });
}

absl::Status WriteOpenb(ObjectSink& sink) {
  const OpenbOptions options{.nodes_path = OpenbFolder() + "/openb_node_list_all_node.csv",
                             .pods_path = OpenbFolder() + "/openb_pod_list_default.csv",
                             .ended_share = 0.5,
                             .seed = kSeed};
  if (!std::filesystem::exists(options.nodes_path)) {
    return absl::NotFoundError(absl::StrCat(options.nodes_path, ": no such file"));
  }
  OpenbStats stats;
  return ImportOpenb(options, sink, stats);
}

std::optional<uint32_t> Positive(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

// The N of "kind:N".
std::optional<uint32_t> SizeOf(std::string_view name, std::string_view kind) {
  if (!name.starts_with(kind)) return std::nullopt;
  return Positive(name.substr(kind.size()));
}

// The nodes and pods a node of "uniform:N" or "uniform:NxP".
std::optional<std::pair<uint32_t, uint32_t>> UniformSize(std::string_view name) {
  const size_t x = std::min(name.find('x'), name.size());
  const auto nodes = SizeOf(name.substr(0, x), "uniform:");
  const auto pods = x == name.size() ? std::optional<uint32_t>(40) : Positive(name.substr(x + 1));
  if (!nodes || !pods || uint64_t{*nodes} * *pods > 100'000'000) return std::nullopt;
  return std::pair(*nodes, *pods);
}

absl::StatusOr<std::unique_ptr<Workload>> MakeWorkload(std::string_view name) {
  ClusterLoader loader;
  if (absl::Status s = WriteWorkload(name, loader); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return cluster.status();
  auto workload = std::make_unique<Workload>(Workload{.name = std::string(name),
                                                      .snapshot = std::move(cluster->snapshot),
                                                      .groups = {},
                                                      .candidates = {},
                                                      .pending = std::move(cluster->pending),
                                                      .now_s = cluster->newest_time + kMonthS});
  const size_t nodes = workload->snapshot.catalog().nodes();
  workload->groups.groups.resize(1);
  workload->groups.groups[0].name = "default";
  workload->groups.groups[0].target_size = static_cast<int64_t>(nodes);
  workload->groups.group_of.assign(nodes, GroupId{0});
  for (uint32_t n = 0; n < nodes; ++n) workload->candidates.push_back(NodeId{n});
  return workload;
}

}  // namespace

void SetOpenbFolder(std::string folder) { OpenbFolder() = std::move(folder); }

absl::Status WriteWorkload(std::string_view name, ObjectSink& sink) {
  if (const auto size = UniformSize(name)) return WriteUniform(size->first, size->second, sink);
  if (const auto nodes = SizeOf(name, "mixed:")) return MixedCluster(*nodes, sink).Write();
  if (const auto nodes = SizeOf(name, "topology:")) return WriteTopology(*nodes, sink);
  if (const auto nodes = SizeOf(name, "repelling:")) return WriteRepelling(*nodes, sink);
  if (const auto pods = SizeOf(name, "terms:")) return WriteTerms(*pods, sink);
  if (const auto pods = SizeOf(name, "excluding:")) return WriteExcluding(*pods, sink);
  if (const auto pods = SizeOf(name, "budgets:")) return WriteBudgets(*pods, sink);
  if (const auto pods = SizeOf(name, "claims:")) return WriteClaims(*pods, sink);
  if (name == "openb") return WriteOpenb(sink);
  ImportStats stats;
  return ReadInput(name, sink, stats);
}

void ChurnPods(ClusterSnapshot& snapshot, uint32_t round) {
  for (uint32_t p = round % 100; p < snapshot.catalog().pods(); p += 100) {
    const NodeId from = snapshot.NodeOf(PodId{p});
    if (from == kNoNode) continue;
    const NodeId to = snapshot.NodeAt((snapshot.PositionOf(from) + 1) % snapshot.nodes());
    if (to != from && snapshot.Free(kCpu, to) >= 2000) snapshot.MovePod(PodId{p}, to);
  }
}

absl::StatusOr<Workload*> GetWorkload(std::string_view name) {
  static auto* const known = new std::map<std::string, std::unique_ptr<Workload>, std::less<>>();
  if (const auto it = known->find(name); it != known->end()) return it->second.get();
  absl::StatusOr<std::unique_ptr<Workload>> made = MakeWorkload(name);
  if (!made.ok()) return made.status();
  return known->emplace(name, *std::move(made)).first->second.get();
}

}  // namespace ebb::bench
