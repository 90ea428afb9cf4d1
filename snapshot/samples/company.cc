#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb::samples {
namespace {

using objects::Text;

constexpr int64_t kNewest = kNewYearS;  // No object is younger.

std::string Uid(Random& random) {
  const uint64_t a = random.Next();
  const uint64_t b = random.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", a >> 32, (a >> 16) & 0xffff,
                     a & 0xfff, (b >> 48) & 0xfff, b & 0xffffffffffff);
}

objects::ObjectMeta MetaOf(Text name, Text namespace_name, Text uid, int64_t created) {
  objects::ObjectMeta meta;
  meta.name = name;
  meta.namespace_name = namespace_name;
  meta.uid = uid;
  meta.creation_time = created;
  return meta;
}

objects::Volume VolumeOf(Text name, Text source, Text medium = {}) {
  objects::Volume volume;
  volume.name = name;
  volume.source = source;
  volume.medium = medium;
  return volume;
}

// The random end of the names of ReplicaSets and their pods.
std::string Suffix(Random& random, size_t length) {
  constexpr Text kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  while (text.size() < length) text.push_back(kLetters[random.Below(kLetters.size())]);
  return text;
}

// A suffix that depends on the text alone, as a controller's hash of its pod template does.  It
// takes nothing from the cluster's own random numbers.
std::string HashOf(Text text, size_t length = 9) {
  uint64_t hash = 14695981039346656037U;  // FNV-1a.
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  Random random(hash);
  return Suffix(random, length);
}

// Distinct suffixes for the names of one controller's pods.  Only a duplicate is drawn again, so
// that clusters without duplicates have the names that Suffix() alone would give.
class Suffixes {
 public:
  std::string Draw(Random& random, size_t length) {
    while (true) {
      if (auto [drawn, is_new] = drawn_.insert(Suffix(random, length)); is_new) return *drawn;
    }
  }

 private:
  absl::flat_hash_set<std::string> drawn_;
};

struct Shape {
  Text name;
  int64_t cpu_milli;
  int64_t memory_bytes;
  int64_t gpus;
};

constexpr Shape kM4 = {"m4", 4000, 16 * kGi, 0};
constexpr Shape kM8 = {"m8", 8000, 32 * kGi, 0};
constexpr Shape kM16 = {"m16", 16000, 64 * kGi, 0};
constexpr Shape kM32 = {"m32", 32000, 128 * kGi, 0};
constexpr Shape kC16 = {"c16", 16000, 32 * kGi, 0};
constexpr Shape kR16 = {"r16", 16000, 128 * kGi, 0};
constexpr Shape kG16 = {"g16", 16000, 64 * kGi, 4};

enum PoolId : size_t { kGeneral, kBatch, kSpot, kDb, kGpu };

struct Pool {
  Text name;
  uint32_t weight;  // Its share of the nodes, relative to the other pools'.
  std::array<Shape, 2> shapes;
  int64_t load_permille;  // Share of the pool's cpu that its pods request.
  Text taint_key;         // Empty: no taint.
  Text taint_value;
};

constexpr Pool kPools[] = {
    {"general", 56, {kM8, kM16}, 400, "", ""},
    {"batch", 20, {kC16, kM32}, 330, "", ""},
    {"spot", 14, {kM4, kM8}, 380, "", ""},
    {"db", 6, {kR16, kR16}, 440, "dedicated", "db"},
    {"gpu", 4, {kG16, kG16}, 350, "nvidia.com/gpu", "present"},
};
constexpr Text kZones[] = {"eu-west-1a", "eu-west-1b", "eu-west-1c"};

struct MadeNode {
  std::string name;
  size_t pool;
  size_t zone;
  int64_t free_cpu;
  int64_t free_memory;
  int64_t free_gpus;
  int64_t free_pods;
};

struct DaemonSet {
  Text name;
  int64_t cpu_milli;
  int64_t memory_bytes;
};
constexpr DaemonSet kDaemonSets[] = {
    {"kube-proxy", 100, 64 * kMi}, {"cni-node", 50, 128 * kMi}, {"log-shipper", 50, 192 * kMi}};

enum class AppKind { kDeployment, kStatefulSet, kJob, kBare };

// A group of identical pods, and what their placement must respect.
struct App {
  AppKind kind = AppKind::kDeployment;
  std::string namespace_name;
  std::string name;
  std::string controller;  // The controller's name; a ReplicaSet's has a random suffix.
  std::string controller_uid;
  size_t pool = kGeneral;
  int64_t replicas = 1;
  int64_t cpu_milli = 100;
  int64_t memory_bytes = 0;
  int64_t gpus = 0;
  bool bound_to_pool = false;  // nodeSelector.
  std::optional<size_t> zone;  // From node affinity, or the zone of the cache.
  bool near_cache = false;     // The zone comes from pod affinity.
  bool one_per_node = false;   // Has an anti-affinity to itself.
  int64_t zone_max_skew = 0;   // 0: no spread constraint.
  bool local_storage = false;
  bool memory_volume = false;
  int64_t host_port = 0;
  std::optional<int64_t> priority;
  Text safe_to_evict;  // Empty: no annotation.
  int64_t created = kNewest;
};

// A ReplicaSet is named after its Deployment and the hash of its pod template.
std::string TemplateHashOf(const App& app) {
  return app.controller.substr(app.controller.rfind('-') + 1);
}

// A random number of replicas as in a company: many small applications, few large ones.
int64_t Replicas(Dice& random, int64_t most) {
  struct Range {
    int64_t first;
    int64_t last;
  };
  constexpr Range kRanges[] = {{1, 1}, {2, 2}, {3, 3}, {4, 6}, {7, 12}, {13, 30}, {31, 80}};
  constexpr uint32_t kWeights[] = {24, 24, 20, 16, 10, 5, 1};
  const Range range = kRanges[random.Weighted(kWeights)];
  return std::min(random.Between(range.first, range.last), most);
}

class CompanyCluster {
 public:
  CompanyCluster(const GenerateOptions& options, ObjectSink& sink)
      : options_(options), random_(options.seed), sink_(sink) {}

  absl::Status Make() {
    for (const auto step : {&CompanyCluster::MakeNamespaces, &CompanyCluster::MakeNodes,
                            &CompanyCluster::MakeControlPlane, &CompanyCluster::MakeDaemonSets,
                            &CompanyCluster::MakeSystemApps, &CompanyCluster::MakeTeamApps}) {
      if (absl::Status s = (this->*step)(); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status MakeNamespaces();
  absl::Status MakeNodes();
  absl::Status MakeControlPlane();
  absl::Status MakeNode(std::string name, size_t pool, const Shape& shape, size_t zone);
  absl::Status MakeDaemonSets();
  absl::Status MakeDaemonPod(const DaemonSet& set, const std::string& uid, const std::string& node,
                             Suffixes& names);
  absl::Status MakeSystemApps();
  absl::Status MakeTeamApps();
  App DrawApp(size_t pool);
  void DrawConstraints(App& app);
  absl::Status MakeApp(const App& app);
  absl::Status MakeController(const App& app, int64_t pods);
  absl::Status MakeBudget(const App& app, int64_t pods);
  absl::Status MakePod(const App& app, int64_t index, Text node, Text phase, Suffixes& names);
  // What the pod's object views in addition to its App.
  struct PodTexts {
    std::string name;
    std::string uid;
    std::string index;     // Of a StatefulSet's pod.
    std::string revision;  // The hash of its controller's pod template.
  };
  static PodTexts TextsOf(const App& app, int64_t index, std::string name, std::string uid);
  static void Identify(const App& app, const PodTexts& texts, objects::Pod& pod);
  static void LabelByController(const App& app, const PodTexts& texts, objects::Pod& pod);
  static void Constrain(const App& app, objects::Pod& pod);
  static void Equip(const App& app, objects::Pod& pod);
  std::optional<size_t> Place(const App& app, const std::set<size_t>& used,
                              const std::array<int64_t, std::size(kZones)>& in_zone);
  [[nodiscard]] bool Fits(const App& app, size_t node, const std::set<size_t>& used,
                          const std::array<int64_t, std::size(kZones)>& in_zone) const;

  const GenerateOptions options_;
  Dice random_;
  ObjectSink& sink_;
  std::vector<std::string> namespaces_;
  std::vector<size_t> cache_zone_;  // Team -> the zone of its cache.
  std::vector<MadeNode> nodes_;
  std::vector<std::string> control_plane_;
  std::vector<std::vector<size_t>> by_pool_;
  std::vector<int64_t> wanted_cpu_;  // Pool -> the cpu that its pods must still request.
  uint64_t apps_ = 0;
};

absl::Status CompanyCluster::MakeNamespaces() {
  const uint32_t teams = std::clamp<uint32_t>(options_.nodes / 40, 3, 40);
  for (uint32_t t = 0; t < teams; ++t) {
    namespaces_.push_back(fmt::format("team-{}", t + 1));
    cache_zone_.push_back(random_.Below(std::size(kZones)));
  }
  std::vector<std::string> all = namespaces_;
  all.emplace_back("kube-system");
  for (const std::string& name : all) {
    const std::string uid = Uid(random_);
    objects::Namespace namespace_object;
    namespace_object.meta = MetaOf(name, {}, uid, kNewest - 400 * kDayS);
    namespace_object.meta.labels = {{"kubernetes.io/metadata.name", name}};
    if (absl::Status s = sink_.OnNamespace(namespace_object); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CompanyCluster::MakeNodes() {
  by_pool_.resize(std::size(kPools));
  std::vector<uint32_t> weights;
  for (const Pool& pool : kPools) weights.push_back(pool.weight);
  for (uint32_t n = 0; n < options_.nodes; ++n) {
    const size_t pool = random_.Weighted(weights);
    const Shape& shape = kPools[pool].shapes[random_.Below(2)];
    const size_t zone = random_.Below(std::size(kZones));
    const std::string name =
        fmt::format("{}-{}-{}-{:04}", kPools[pool].name, shape.name, kZones[zone].back(), n);
    by_pool_[pool].push_back(nodes_.size());
    if (absl::Status s = MakeNode(name, pool, shape, zone); !s.ok()) return s;
  }
  for (size_t pool = 0; pool < std::size(kPools); ++pool) {
    int64_t cpu = 0;
    for (const size_t n : by_pool_[pool]) cpu += nodes_[n].free_cpu;
    wanted_cpu_.push_back(cpu / 1000 * kPools[pool].load_permille);
  }
  return absl::OkStatus();
}

absl::Status CompanyCluster::MakeControlPlane() {
  const size_t count = options_.nodes >= 20 ? 3 : 1;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("control-plane-{}", i);
    const std::string uid = Uid(random_);
    objects::Node node;
    node.meta = MetaOf(name, {}, uid, kNewest - 400 * kDayS);
    node.meta.labels = {{kHostname, name},
                        {kZone, kZones[i % std::size(kZones)]},
                        {"node-role.kubernetes.io/control-plane", ""}};
    node.taints = {{"node-role.kubernetes.io/control-plane", "", "NoSchedule"}};
    node.capacity = {{"cpu", 8000}, {"memory", 32 * kGi}, {"pods", 110}};
    node.allocatable = node.capacity;
    node.conditions = {{"Ready", "True"}};
    control_plane_.push_back(name);
    if (absl::Status s = sink_.OnNode(node); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CompanyCluster::MakeNode(std::string name, size_t pool, const Shape& shape,
                                      size_t zone) {
  const std::string uid = Uid(random_);
  const std::string group =
      fmt::format("{}-{}-{}", kPools[pool].name, shape.name, kZones[zone].back());
  const std::string provider = fmt::format("cloud:///{}/{}", kZones[zone], name);
  objects::Node node;
  node.meta = MetaOf(name, {}, uid, kNewest - random_.Between(kDayS, 60 * kDayS));
  node.meta.labels = {{kHostname, name},
                      {"kubernetes.io/os", "linux"},
                      {"kubernetes.io/arch", "amd64"},
                      {"node.kubernetes.io/instance-type", shape.name},
                      {"topology.kubernetes.io/region", "eu-west-1"},
                      {kZone, kZones[zone]},
                      {"pool", kPools[pool].name},
                      {"nodegroup", group}};
  node.provider_id = provider;
  if (!kPools[pool].taint_key.empty()) {
    node.taints = {{kPools[pool].taint_key, kPools[pool].taint_value, "NoSchedule"}};
  }
  node.capacity = {{"cpu", shape.cpu_milli},
                   {"memory", shape.memory_bytes},
                   {"ephemeral-storage", 100 * kGi},
                   {"pods", 110}};
  // The rest is reserved for the kubelet and the system.
  node.allocatable = {{"cpu", shape.cpu_milli / 100 * 97},
                      {"memory", shape.memory_bytes / 100 * 95 / kMi * kMi},
                      {"ephemeral-storage", 90 * kGi},
                      {"pods", 110}};
  if (shape.gpus > 0) {
    node.capacity.push_back({"nvidia.com/gpu", shape.gpus});
    node.allocatable.push_back({"nvidia.com/gpu", shape.gpus});
  }
  node.conditions = {{"MemoryPressure", "False"}, {"DiskPressure", "False"}, {"Ready", "True"}};
  node.unschedulable = random_.Chance(4);  // Cordoned for maintenance.
  nodes_.push_back({.name = name,
                    .pool = pool,
                    .zone = zone,
                    .free_cpu = node.unschedulable ? 0 : node.allocatable[0].amount,
                    .free_memory = node.allocatable[1].amount,
                    .free_gpus = shape.gpus,
                    .free_pods = 110});
  return sink_.OnNode(node);
}

absl::Status CompanyCluster::MakeDaemonSets() {
  for (const DaemonSet& set : kDaemonSets) {
    const std::string uid = Uid(random_);
    objects::Controller controller;
    controller.kind = objects::ControllerKind::kDaemonSet;
    controller.meta = MetaOf(set.name, "kube-system", uid, kNewest - 400 * kDayS);
    const size_t pods = nodes_.size() + control_plane_.size();
    sink_.OnAside({.pods_ready = static_cast<int64_t>(pods)});
    if (absl::Status s = sink_.OnController(controller); !s.ok()) return s;
    Suffixes names;
    for (MadeNode& node : nodes_) {
      node.free_cpu -= set.cpu_milli;
      node.free_memory -= set.memory_bytes;
      node.free_pods -= 1;
      if (absl::Status s = MakeDaemonPod(set, uid, node.name, names); !s.ok()) return s;
    }
    for (const std::string& node : control_plane_) {
      if (absl::Status s = MakeDaemonPod(set, uid, node, names); !s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

absl::Status CompanyCluster::MakeDaemonPod(const DaemonSet& set, const std::string& set_uid,
                                           const std::string& node, Suffixes& names) {
  const std::string name = fmt::format("{}-{}", set.name, names.Draw(random_, 5));
  const std::string uid = Uid(random_);
  objects::Pod pod;
  pod.meta = MetaOf(name, "kube-system", uid, kNewest - kDayS);
  const std::string revision = HashOf(set.name);
  pod.meta.labels = {
      {"app", set.name}, {"controller-revision-hash", revision}, {"pod-template-generation", "1"}};
  pod.meta.owners = {{"apps/v1", "DaemonSet", set.name, set_uid, true}};
  pod.node_name = node;
  pod.priority = 2000001000;
  pod.tolerations = {{.key = {}, .op = "Exists", .value = {}, .effect = {}}};
  pod.containers.resize(1);
  pod.containers[0].name = "main";
  pod.containers[0].requests = {{"cpu", set.cpu_milli}, {"memory", set.memory_bytes}};
  pod.volumes = {VolumeOf("host", "hostPath")};
  pod.phase = "Running";
  pod.scheduling = objects::Scheduling::kUnprocessed;  // As readers set it without conditions.
  return sink_.OnPod(pod);
}

absl::Status CompanyCluster::MakeSystemApps() {
  struct System {
    const char* name;
    int64_t replicas;
    bool budget;
  };
  const System systems[] = {{"coredns", 2 + options_.nodes / 100, true},
                            {"metrics-server", 2, false},
                            {"cluster-autoscaler", 1, false},
                            {"ingress", 3 + options_.nodes / 200, true}};
  for (const auto& [name, replicas, budget] : systems) {
    App app;
    app.namespace_name = "kube-system";
    app.name = name;
    app.controller = fmt::format("{}-{}", name, Suffix(random_, 9));
    app.controller_uid = Uid(random_);
    app.pool = by_pool_[kGeneral].empty() ? random_.Below(kDb) : size_t{kGeneral};
    app.replicas = replicas;
    app.cpu_milli = 200;
    app.memory_bytes = 256 * kMi;
    app.priority = 2000000000;
    app.one_per_node = budget;
    app.created = kNewest - 20 * kDayS;
    if (absl::Status s = MakeApp(app); !s.ok()) return s;
    if (!budget) continue;
    if (absl::Status s = MakeBudget(app, replicas); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CompanyCluster::MakeTeamApps() {
  for (size_t pool = 0; pool < std::size(kPools); ++pool) {
    // The limit ends the loop if the pool has no room for the applications that are drawn.
    const uint64_t most = 100 + 40 * by_pool_[pool].size();
    for (uint64_t tries = 0; wanted_cpu_[pool] > 0 && tries < most; ++tries) {
      if (absl::Status s = MakeApp(DrawApp(pool)); !s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

App CompanyCluster::DrawApp(size_t pool) {
  constexpr int64_t kCpu[] = {50, 100, 100, 250, 250, 500, 500, 1000, 2000};
  constexpr int64_t kMemoryPerCpu[] = {1, 2, 3, 4, 4, 8};
  constexpr const char* kWords[] = {"api",   "web",    "worker", "search", "billing", "feed",
                                    "media", "orders", "auth",   "stream", "report",  "mail"};
  constexpr uint32_t kKinds[] = {76, 12, 10, 2};
  App app;
  const size_t team = random_.Below(namespaces_.size());
  app.pool = pool;
  app.kind = static_cast<AppKind>(random_.Weighted(kKinds));
  if (pool == kDb) app.kind = AppKind::kStatefulSet;
  app.namespace_name = namespaces_[team];
  app.name = fmt::format("{}-{}", kWords[random_.Below(std::size(kWords))], ++apps_);
  app.controller = app.name;
  if (app.kind == AppKind::kDeployment) app.controller += "-" + Suffix(random_, 9);
  app.controller_uid = Uid(random_);
  app.replicas =
      app.kind == AppKind::kBare ? 1 : Replicas(random_, std::max<int64_t>(2, options_.nodes / 8));
  app.cpu_milli = kCpu[random_.Below(std::size(kCpu))];
  app.memory_bytes = app.cpu_milli * kMemoryPerCpu[random_.Below(std::size(kMemoryPerCpu))] * kMi;
  app.gpus = pool == kGpu ? random_.Between(1, 2) : 0;
  app.created = kNewest - random_.Between(3600, 30 * kDayS);
  DrawConstraints(app);
  // Some applications want to be close to their team's cache.
  if (!app.zone && app.pool != kDb && random_.Chance(30)) {
    app.near_cache = true;
    app.zone = cache_zone_[team];
  }
  return app;
}

void CompanyCluster::DrawConstraints(App& app) {
  app.bound_to_pool = app.pool >= kDb || random_.Chance(250);
  const uint64_t draw = random_.Below(1000);
  if (draw < 60 && app.replicas > 1 && app.replicas < options_.nodes / 10) {
    app.one_per_node = true;
  } else if (draw < 180 && app.replicas > 2) {
    app.zone_max_skew = std::max<int64_t>(1, app.replicas / 6);
  } else if (draw < 250) {
    app.zone = random_.Below(std::size(kZones));
  }
  app.local_storage = random_.Chance(app.pool == kDb ? 300 : 20);
  app.memory_volume = random_.Chance(20);
  if (random_.Chance(5)) app.host_port = random_.Between(8000, 8999);
  if (random_.Chance(60)) app.priority = 100000;
  if (app.kind == AppKind::kJob && random_.Chance(100)) app.safe_to_evict = "false";
  if (app.kind != AppKind::kJob && random_.Chance(5)) app.safe_to_evict = "false";
  if (app.safe_to_evict.empty() && random_.Chance(30)) app.safe_to_evict = "true";
  if (app.pool == kBatch && random_.Chance(30)) app.priority = -100;  // Only uses idle resources.
}

bool CompanyCluster::Fits(const App& app, size_t n, const std::set<size_t>& used,
                          const std::array<int64_t, std::size(kZones)>& in_zone) const {
  const MadeNode& node = nodes_[n];
  if (app.zone && node.zone != *app.zone) return false;
  if (node.free_cpu < app.cpu_milli || node.free_memory < app.memory_bytes) return false;
  if (node.free_gpus < app.gpus || node.free_pods < 1) return false;
  if ((app.one_per_node || app.host_port != 0) && used.contains(n)) return false;
  if (app.zone_max_skew > 0) {
    const int64_t least = *std::min_element(in_zone.begin(), in_zone.end());
    if (in_zone[node.zone] + 1 - least > app.zone_max_skew) return false;
  }
  return true;
}

// Returns the emptier of the first two nodes found where the pod fits, as a scheduler that samples
// nodes does.
std::optional<size_t> CompanyCluster::Place(const App& app, const std::set<size_t>& used,
                                            const std::array<int64_t, std::size(kZones)>& in_zone) {
  const std::vector<size_t>& pool = by_pool_[app.pool];
  std::optional<size_t> best;
  size_t fitting = 0;
  for (size_t tries = 0; tries < 24 && fitting < 2 && !pool.empty(); ++tries) {
    const size_t n = pool[random_.Below(pool.size())];
    if (!Fits(app, n, used, in_zone)) continue;
    ++fitting;
    if (!best || nodes_[n].free_cpu > nodes_[*best].free_cpu) best = n;
  }
  return best;
}

absl::Status CompanyCluster::MakeApp(const App& app) {
  std::set<size_t> used;
  Suffixes names;
  std::array<int64_t, std::size(kZones)> in_zone{};
  int64_t placed = 0;
  for (int64_t r = 0; r < app.replicas; ++r) {
    const std::optional<size_t> n = Place(app, used, in_zone);
    if (!n) continue;
    MadeNode& node = nodes_[*n];
    node.free_cpu -= app.cpu_milli;
    node.free_memory -= app.memory_bytes;
    node.free_gpus -= app.gpus;
    node.free_pods -= 1;
    used.insert(*n);
    in_zone[node.zone] += 1;
    wanted_cpu_[app.pool] -= app.cpu_milli;
    if (absl::Status s = MakePod(app, r, node.name, "Running", names); !s.ok()) return s;
    ++placed;
  }
  if (placed == 0) return absl::OkStatus();
  // Pods that ended in earlier runs, and a pod that was just created.
  if (app.kind == AppKind::kJob) {
    const int64_t done = random_.Between(0, 2);
    for (int64_t r = 0; r < done; ++r) {
      const std::string& node = nodes_[*used.begin()].name;
      const absl::Status s = MakePod(app, app.replicas + r, node, "Succeeded", names);
      if (!s.ok()) return s;
    }
  } else if (app.kind == AppKind::kDeployment && random_.Chance(10)) {
    if (absl::Status s = MakePod(app, app.replicas, "", "Pending", names); !s.ok()) return s;
  }
  if (absl::Status s = MakeController(app, placed); !s.ok()) return s;
  const bool guarded = app.namespace_name != "kube-system" && placed > 2 && random_.Chance(500);
  return guarded && app.kind != AppKind::kJob ? MakeBudget(app, placed) : absl::OkStatus();
}

absl::Status CompanyCluster::MakeController(const App& app, int64_t pods) {
  if (app.kind == AppKind::kBare) return absl::OkStatus();
  objects::Controller controller;
  controller.kind = app.kind == AppKind::kDeployment    ? objects::ControllerKind::kReplicaSet
                    : app.kind == AppKind::kStatefulSet ? objects::ControllerKind::kStatefulSet
                                                        : objects::ControllerKind::kJob;
  controller.meta = MetaOf(app.controller, app.namespace_name, app.controller_uid, app.created);
  controller.meta.labels = {{"app", app.name}};
  const std::string hash = TemplateHashOf(app);
  if (app.kind == AppKind::kDeployment) {
    controller.meta.labels.push_back({"pod-template-hash", hash});
  }
  controller.spec_replicas = pods;
  controller.status_replicas = pods;
  sink_.OnAside({.pods_ready = pods});
  return sink_.OnController(controller);
}

absl::Status CompanyCluster::MakeBudget(const App& app, int64_t pods) {
  const std::string uid = Uid(random_);
  objects::PodDisruptionBudget budget;
  budget.meta = MetaOf(app.name, app.namespace_name, uid, app.created);
  budget.selector = Labelled("app", app.name);
  const bool exhausted = random_.Chance(60);  // As if a pod were down, or the budget too strict.
  budget.disruptions_allowed = exhausted ? 0 : std::max<int64_t>(1, pods / 4);
  return sink_.OnPodDisruptionBudget(budget);
}

CompanyCluster::PodTexts CompanyCluster::TextsOf(const App& app, int64_t index, std::string name,
                                                 std::string uid) {
  PodTexts texts{.name = std::move(name),
                 .uid = std::move(uid),
                 .index = fmt::format("{}", index),
                 .revision = ""};
  if (app.kind == AppKind::kDeployment) texts.revision = TemplateHashOf(app);
  if (app.kind == AppKind::kStatefulSet) {
    texts.revision = fmt::format("{}-{}", app.controller, HashOf(app.controller));
  }
  return texts;
}

// Adds the labels that the pod's controller sets on its pods.
void CompanyCluster::LabelByController(const App& app, const PodTexts& texts, objects::Pod& pod) {
  const auto add = [&](Text key, Text value) { pod.meta.labels.push_back({key, value}); };
  switch (app.kind) {
    case AppKind::kDeployment:
      return add("pod-template-hash", texts.revision);
    case AppKind::kStatefulSet:
      add("apps.kubernetes.io/pod-index", texts.index);
      add("controller-revision-hash", texts.revision);
      return add("statefulset.kubernetes.io/pod-name", texts.name);
    case AppKind::kJob:
      add("batch.kubernetes.io/controller-uid", app.controller_uid);
      add("batch.kubernetes.io/job-name", app.controller);
      // The names before 1.27, which Jobs still set.
      add("controller-uid", app.controller_uid);
      return add("job-name", app.controller);
    case AppKind::kBare:
      return;
  }
}

// Sets the pod's name, labels and owner.
void CompanyCluster::Identify(const App& app, const PodTexts& texts, objects::Pod& pod) {
  pod.meta = MetaOf(texts.name, app.namespace_name, texts.uid, app.created);
  pod.meta.labels = {{"app", app.name}};
  if (app.near_cache) pod.meta.labels.push_back({"role", "cache"});  // Matches its own affinity.
  LabelByController(app, texts, pod);
  if (!app.safe_to_evict.empty()) pod.meta.annotations = {{kSafeToEvict, app.safe_to_evict}};
  pod.restart_policy = app.kind == AppKind::kJob ? "Never" : "Always";
  if (app.kind == AppKind::kBare) return;
  const Text kind = app.kind == AppKind::kDeployment    ? "ReplicaSet"
                    : app.kind == AppKind::kStatefulSet ? "StatefulSet"
                                                        : "Job";
  const Text api = app.kind == AppKind::kJob ? "batch/v1" : "apps/v1";
  pod.meta.owners = {{api, kind, app.controller, app.controller_uid, true}};
}

// Sets where the pod may run.
void CompanyCluster::Constrain(const App& app, objects::Pod& pod) {
  const Pool& pool = kPools[app.pool];
  if (app.bound_to_pool) {
    pod.has_node_selector = true;
    pod.node_selector = {{"pool", pool.name}};
  }
  if (!pool.taint_key.empty()) {
    pod.tolerations = {{pool.taint_key, "Equal", pool.taint_value, "NoSchedule"}};
  }
  const objects::LabelSelector self = Labelled("app", app.name);
  if (app.one_per_node) Repel(self, pod);
  if (app.zone_max_skew > 0) SpreadOverZones(self, app.zone_max_skew, pod);
  if (app.near_cache) {
    pod.affinity = {{.label_selector = Labelled("role", "cache"),
                     .namespaces = {},
                     .namespace_selector = {},
                     .topology_key = kZone}};
  } else if (app.zone) {
    KeepInZone(kZones[*app.zone], pod);
  }
}

// Sets what the pod uses on its node.
void CompanyCluster::Equip(const App& app, objects::Pod& pod) {
  objects::Container& container = pod.containers.emplace_back();
  container.name = "main";
  container.requests = {{"cpu", app.cpu_milli}, {"memory", app.memory_bytes}};
  if (app.gpus > 0) container.requests.push_back({"nvidia.com/gpu", app.gpus});
  if (app.host_port != 0) {
    container.ports = {{.host_ip = {}, .host_port = app.host_port, .protocol = "TCP"}};
  }
  if (app.local_storage) pod.volumes.push_back(VolumeOf("scratch", "emptyDir"));
  if (app.memory_volume) pod.volumes.push_back(VolumeOf("shm", "emptyDir", "Memory"));
}

absl::Status CompanyCluster::MakePod(const App& app, int64_t index, Text node, Text phase,
                                     Suffixes& names) {
  std::string name = app.controller;
  if (app.kind == AppKind::kStatefulSet) {
    name += fmt::format("-{}", index);
  } else if (app.kind != AppKind::kBare) {
    name += "-" + names.Draw(random_, 5);
  }
  const PodTexts texts = TextsOf(app, index, std::move(name), Uid(random_));
  objects::Pod pod;
  Identify(app, texts, pod);
  Constrain(app, pod);
  Equip(app, pod);
  pod.node_name = node;
  pod.phase = phase;
  using enum objects::Scheduling;
  pod.scheduling = node.empty() ? kUnschedulable : kUnprocessed;
  pod.priority = app.priority;
  return sink_.OnPod(pod);
}

}  // namespace

absl::Status GenerateCompany(const GenerateOptions& options, ObjectSink& sink) {
  return CompanyCluster(options, sink).Make();
}

}  // namespace ebb::samples
