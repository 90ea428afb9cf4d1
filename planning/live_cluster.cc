#include "planning/live_cluster.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "report/filter_report.h"
#include "rounds/round_events.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_scheduler_config.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/dump_kinds.h"
#include "snapshot/import/incomplete.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/unevaluated_kinds.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBudgets = "PodDisruptionBudget";

// Whether a LiveSnapshot with options `live` has the pods that LoadCluster with `load` has.
bool TakesPodsAsLoadCluster(const LiveSnapshot::Options& live, const LoadOptions& load) {
  const LiveSnapshot::Options as = LiveCluster::LiveOptionsOf(load);
  return live.expendable_pods_priority_cutoff == as.expendable_pods_priority_cutoff &&
         live.bypassed_schedulers == as.bypassed_schedulers && !live.keep_ended_pods &&
         live.unknown_namespaces == as.unknown_namespaces && live.match_os == as.match_os &&
         live.kubernetes_version == as.kubernetes_version && live.vpa == as.vpa &&
         live.unhealthy_pods == as.unhealthy_pods &&
         IsSame(live.scheduler.get(), as.scheduler.get());
}

// Takes every object as a change.
class TakingSink final : public AnyObjectSink {
 public:
  explicit TakingSink(LiveCluster& cluster) : cluster_(cluster) {}
  void OnAside(const Aside& aside) override { aside_ = aside; }
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    lists_budgets_ |= kind == kBudgets;
    if (items == 0 && !kind.empty()) empty_kinds_.emplace(kind);
    return absl::OkStatus();
  }
  absl::Status OnUnevaluated(const Unevaluated& object) override {
    cluster_.PutUnevaluated(object);
    return absl::OkStatus();
  }
  [[nodiscard]] const std::set<std::string, std::less<>>& empty_kinds() const {
    return empty_kinds_;
  }
  [[nodiscard]] bool lists_budgets() const { return lists_budgets_; }

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    const Aside aside = std::exchange(aside_, {});
    const Change change{.object = object,
                        .resource_version = aside.resource_version,
                        .pods_ready = aside.pods_ready};
    return cluster_.Take({&change, 1});
  }

 private:
  LiveCluster& cluster_;
  Aside aside_;  // For the next object.
  bool lists_budgets_ = false;
  std::set<std::string, std::less<>> empty_kinds_;
};

// Counts the objects that are neither nodes nor pods.  A LoadedCluster has the numbers of those.
class CountingLoader final : public ClusterLoader {
 public:
  using ClusterLoader::ClusterLoader;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    ++others_;
    return ClusterLoader::OnPodDisruptionBudget(budget);
  }
  absl::Status OnController(const objects::Controller& controller) override {
    ++others_;
    return ClusterLoader::OnController(controller);
  }
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override {
    ++others_;
    return ClusterLoader::OnNamespace(namespace_object);
  }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    ++others_;
    return ClusterLoader::OnStorageObject(object);
  }
  [[nodiscard]] size_t others() const { return others_; }

 private:
  size_t others_ = 0;
};

size_t PodsOf(const LoadedCluster& cluster) {
  return cluster.snapshot.catalog().pods() + cluster.counts.ended + cluster.counts.expendable;
}

// Finds the scheduler's configuration among the objects.
class ConfigSink final : public AnyObjectSink {
 public:
  absl::Status OnUnevaluated(const Unevaluated& object) override {
    if (config_ != nullptr) return absl::OkStatus();
    absl::StatusOr<std::shared_ptr<const SchedulerConfig>> config = SchedulerConfigIn(object);
    if (!config.ok()) return config.status();
    config_ = *std::move(config);
    return absl::OkStatus();
  }
  // Null: the objects have none.
  [[nodiscard]] const std::shared_ptr<const SchedulerConfig>& config() const { return config_; }

 protected:
  absl::Status OnObject(const objects::ObjectRef&) override { return absl::OkStatus(); }

 private:
  std::shared_ptr<const SchedulerConfig> config_;
};

bool HasSchedulerConfig(const UnevaluatedObjects& objects) {
  bool has = false;
  objects
      .ForEach([&](const ObjectSink::Unevaluated& object) {
        has |= object.kind == "KubeSchedulerConfiguration";
        return absl::OkStatus();
      })
      .IgnoreError();
  return has;
}

class NullSink final : public AnyObjectSink {
 protected:
  absl::Status OnObject(const objects::ObjectRef&) override { return absl::OkStatus(); }
};

}  // namespace

LiveSnapshot::Options LiveCluster::LiveOptionsOf(const LoadOptions& options) {
  using enum LiveSnapshot::Options::UnknownNamespaces;
  return {.expendable_pods_priority_cutoff = options.expendable_pods_priority_cutoff,
          .bypassed_schedulers = options.bypassed_schedulers,
          .unknown_namespaces = options.assume_complete ? kHaveNames : kKeepPods,
          .renew_texts = true,
          .match_os = options.match_os,
          .kubernetes_version = options.kubernetes_version,
          .vpa = options.vpa,
          .scheduler = options.scheduler,
          .unhealthy_pods = options.unhealthy_pods};
}

LiveCluster::LiveCluster(const LoadOptions& options)
    : LiveCluster(options, LiveOptionsOf(options)) {}

LiveCluster::LiveCluster(LoadOptions options, LiveSnapshot::Options live)
    : options_(std::move(options)),
      holding_(live),
      live_(std::make_unique<LiveSnapshot>(std::move(live))) {}

absl::StatusOr<std::unique_ptr<LiveCluster>> LiveCluster::Load(
    std::string_view where, const LoadOptions& options, LiveSnapshot::Options live,
    const std::function<absl::Status(InputCensus&, ObjectSink&, ImportStats&)>& read) {
  InputCensus census(options.expendable_pods_priority_cutoff);
  if (options.allow_incomplete) census.TakePartsOfLists();
  ImportStats stats;
  using Loaded = absl::StatusOr<std::unique_ptr<LiveCluster>>;
  Loaded loaded = LoadNewest(census, [&]() -> Loaded {
    auto cluster = std::make_unique<LiveCluster>(options, live);
    stats = {};
    absl::Status status =
        cluster->Read([&](ObjectSink& sink) { return read(census, sink, stats); });
    if (!status.ok()) return status;
    return cluster;
  });
  if (!loaded.ok()) return loaded;
  // The shapes of pods depend on the configuration, so it is read before them.
  if (live.scheduler == nullptr && HasSchedulerConfig(census.unevaluated())) {
    ConfigSink sink;
    ImportStats again;
    InputCensus over(options.expendable_pods_priority_cutoff);
    if (options.allow_incomplete) over.TakePartsOfLists();
    if (absl::Status status = read(over, sink, again); !status.ok()) return status;
    live.scheduler = sink.config();
    if (live.scheduler != nullptr) return Load(where, options, std::move(live), read);
  }
  LoadedCluster cluster = (*loaded)->Here();
  absl::Status checked = (*loaded)->CheckCensus(census, std::move(stats), cluster);
  if (checked.ok()) checked = CheckWhole(cluster.warnings, options.allow_incomplete);
  if (checked.ok()) return loaded;
  return absl::Status(checked.code(),
                      absl::StrCat(Absl(where), where.empty() ? "" : ": ", checked.message()));
}

absl::StatusOr<std::unique_ptr<LiveCluster>> LiveCluster::FromDump(std::string_view name,
                                                                   std::string_view bytes,
                                                                   const LoadOptions& options,
                                                                   const Parallelism& parallelism) {
  return LoadDump(name, bytes, options, LiveOptionsOf(options), parallelism);
}

absl::StatusOr<std::unique_ptr<LiveCluster>> LiveCluster::FromUnchangedDump(
    std::string_view name, std::string_view bytes, const LoadOptions& options,
    LiveSnapshot::Options live, const Parallelism& parallelism) {
  std::unique_ptr<LiveCluster> as_read = ReadAsDump(name, bytes, options, live, parallelism);
  if (as_read != nullptr) return as_read;
  return LoadDump(name, bytes, options, std::move(live), parallelism);
}

absl::StatusOr<std::unique_ptr<LiveCluster>> LiveCluster::LoadDump(std::string_view name,
                                                                   std::string_view bytes,
                                                                   const LoadOptions& options,
                                                                   LiveSnapshot::Options live,
                                                                   const Parallelism& parallelism) {
  return Load(name, options, std::move(live),
              [&](InputCensus& census, ObjectSink& sink, ImportStats& stats) {
                return census.Read(name, bytes, sink, stats, parallelism, options.limits);
              });
}

std::unique_ptr<LiveCluster> LiveCluster::ReadAsDump(std::string_view name, std::string_view bytes,
                                                     const LoadOptions& options,
                                                     const LiveSnapshot::Options& live,
                                                     const Parallelism& parallelism) {
  if (!TakesPodsAsLoadCluster(live, options)) return nullptr;
  InputCensus census(options.expendable_pods_priority_cutoff);
  if (options.allow_incomplete) census.TakePartsOfLists();
  ImportStats stats;
  size_t others = 0;
  absl::StatusOr<LoadedCluster> loaded = LoadNewest(census, [&]() -> absl::StatusOr<LoadedCluster> {
    CountingLoader loader(options);
    stats = {};
    absl::Status read = census.Read(name, bytes, loader, stats, parallelism, options.limits);
    if (!read.ok()) return read;
    others = loader.others();
    return std::move(loader).Finish();
  });
  if (!loaded.ok()) return nullptr;
  auto cluster = std::make_unique<LiveCluster>(options, live);
  cluster->live_.reset();
  AsRead as_read;
  as_read.pods = PodsOf(*loaded);
  as_read.nodes = loaded->snapshot.nodes();
  as_read.counts.put = as_read.nodes + as_read.pods + others;
  cluster->as_read_ = std::move(as_read);
  if (!cluster->CheckCensus(census, std::move(stats), *loaded).ok() ||
      !CheckWhole(loaded->warnings, options.allow_incomplete).ok()) {
    return nullptr;
  }
  AsRead& held = *cluster->as_read_;
  held.cluster = *std::move(loaded);
  held.name = std::string(name);
  held.bytes = std::string(bytes);
  held.threads = parallelism.threads();
  held.cluster_uid = census.cluster_uid();
  return cluster;
}

LiveSnapshot& LiveCluster::Live() {
  if (as_read_) {
    const AsRead as_read = *std::exchange(as_read_, std::nullopt);
    HoldObjects(as_read);
  }
  return *live_;
}

// The bytes were read without an error before, with the same options, so they are again.
void LiveCluster::HoldObjects(const AsRead& as_read) {
  const Parallelism parallelism(as_read.threads);
  absl::StatusOr<std::unique_ptr<LiveCluster>> full =
      LoadDump(as_read.name, as_read.bytes, options_, holding_, parallelism);
  EBB_CHECK(full.ok());
  live_ = std::move((*full)->live_);
  last_check_ = std::move((*full)->last_check_);
  budgets_known_ = (*full)->budgets_known_;
  unevaluated_ = std::move((*full)->unevaluated_);
  empty_kinds_ = std::move((*full)->empty_kinds_);
}

std::string_view LiveCluster::UidOfNamespace(std::string_view name) {
  if (as_read_ && name == kSystemNamespace) return as_read_->cluster_uid;
  return Live().UidOfNamespace(name);
}

absl::StatusOr<std::unique_ptr<LiveCluster>> LiveCluster::FromInputs(
    std::span<const std::string> inputs, const LoadOptions& options,
    const Parallelism& parallelism) {
  return Load(inputs.size() == 1 ? inputs[0] : "", options, LiveOptionsOf(options),
              [&](InputCensus& census, ObjectSink& sink, ImportStats& stats) {
                return census.Read(inputs, sink, stats, parallelism, options.limits);
              });
}

absl::Status LiveCluster::Take(std::span<const Change> changes, OlderObjects older) {
  return Live().Take(changes, older);
}

void LiveCluster::SetAssumeComplete(bool assume_complete) {
  if (options_.assume_complete == assume_complete) return;
  (void)Live();
  options_.assume_complete = assume_complete;
  last_check_.reset();
}

void LiveCluster::SetSource(InputSource source) {
  if (source_ == source) return;
  (void)Live();
  source_ = source;
  last_check_.reset();
}

void LiveCluster::SetServerVersion(KubernetesVersion version) {
  server_version_ = version;
  if (!options_.kubernetes_version) Live().SetVersion(version);
}

bool LiveCluster::PutUnevaluated(const ObjectSink::Unevaluated& object) {
  (void)Live();
  const bool is_new = unevaluated_.Put(object);
  if (is_new) last_check_.reset();
  return is_new;
}

bool LiveCluster::EraseUnevaluated(const ObjectSink::Unevaluated& object) {
  (void)Live();
  const bool was_there = unevaluated_.Erase(object);
  if (was_there) last_check_.reset();
  return was_there;
}

absl::Status LiveCluster::Read(const std::function<absl::Status(ObjectSink&)>& read) {
  (void)Live();
  TakingSink sink(*this);
  absl::Status status = read(sink);
  if (sink.lists_budgets() && !std::exchange(budgets_known_, true)) last_check_.reset();
  for (const std::string& kind : sink.empty_kinds()) {
    if (empty_kinds_.insert(kind).second) last_check_.reset();
  }
  return status;
}

void LiveCluster::ForgetLastCheck() {
  (void)Live();
  last_check_.reset();
}

void LiveCluster::AllKindsAreListed() {
  (void)Live();
  SetSource(InputSource::kFeeder);
  if (!std::exchange(all_kinds_listed_, true)) last_check_.reset();
}

LoadedCluster LiveCluster::LoadedAs(ClusterSnapshot snapshot, std::vector<PodId> pending) {
  LiveSnapshot& live = Live();
  LoadedCluster cluster{.snapshot = std::move(snapshot),
                        .pending = std::move(pending),
                        .newest_time = live.NewestTime(),
                        .counts = {},
                        .warnings = {},
                        .source = source_};
  cluster.counts.ended = live.PodsLeftOut(PodListing::kEnded);
  cluster.counts.expendable = live.PodsLeftOut(PodListing::kExpendable);
  cluster.counts.on_unknown_node = live.PodsOnUnknownNodes();
  cluster.counts.first_unknown = live.FirstPodOnUnknownNode();
  cluster.counts.scheduling_recorded = live.SchedulingRecorded();
  const auto without_node = live.PodsWithoutNode();
  for (size_t w = 0; w < without_node.size(); ++w) {
    cluster.counts.without_node[w] = {.pods = without_node[w].pods, .first = without_node[w].first};
  }
  return cluster;
}

LiveCluster::Version LiveCluster::Unchecked() {
  LiveBranch branch = Live().Branch();
  LoadedCluster cluster = LoadedAs(branch.Snapshot(), branch.Pending());
  return {.branch = std::move(branch), .cluster = std::move(cluster)};
}

LoadedCluster LiveCluster::Here() {
  if (as_read_) {
    LoadedCluster cluster = as_read_->cluster;
    cluster.counts.input = {};
    cluster.warnings.clear();
    return cluster;
  }
  return LoadedAs(live_->Snapshot(), live_->Pending());
}

absl::Status LiveCluster::CheckCensus(const InputCensus& census, ImportStats stats,
                                      LoadedCluster& cluster) {
  last_check_.reset();
  LoadOptions options = options_;
  options.allow_incomplete = true;  // Each question has its own setting for incomplete clusters.
  if (absl::Status s = CheckCompleteness(census, std::move(stats), options, cluster); !s.ok())
    return s;
  last_check_ = {.changes = Changes(),
                 .objects = Objects(),
                 .kinds = as_read_ ? 0 : live_->Kinds(),  // HoldObjects() replaces it.
                 .nodes = Nodes(),
                 .pods = Pods(),
                 .warnings = cluster.warnings,
                 .counts = cluster.counts};
  return absl::OkStatus();
}

absl::Status LiveCluster::CheckCurrent(LoadedCluster& cluster) {
  if (last_check_ && last_check_->changes == Changes()) {
    cluster.warnings = last_check_->warnings;
    cluster.counts = last_check_->counts;
    return absl::OkStatus();
  }
  InputCensus census(options_.expendable_pods_priority_cutoff);
  NullSink nothing;
  const auto give = [&](ObjectSink& sink) {
    const absl::Status given = Live().ExportAlike(
        sink,
        [&](const objects::Pod& first, uint64_t pods) { return census.OnPodsLike(first, pods); });
    return given.ok() ? ExportRest(sink) : given;
  };
  if (absl::Status s = census.Look(give, nothing); !s.ok()) return s;
  if (all_kinds_listed_) census.AllKindsAreListed();
  return CheckCensus(census, {}, cluster);
}

absl::Status LiveCluster::CheckRecently(LoadedCluster& cluster) {
  if (as_read_) return CheckCurrent(cluster);
  constexpr uint64_t kChangesOfEach = 4;
  // Whether `more` exceeds `fewer` by at most five, or by at most a tenth of `before`.
  const auto about = [](uint64_t fewer, uint64_t more, uint64_t before) {
    constexpr uint64_t kFew = 5;
    return more <= fewer + kFew || 10 * (more - fewer) <= before;
  };
  const uint64_t objects = Objects();
  const bool lately = last_check_ && last_check_->kinds == live_->Kinds() &&
                      Changes() - last_check_->changes < kChangesOfEach * objects &&
                      4 * objects >= 3 * last_check_->objects &&
                      4 * objects <= 5 * last_check_->objects &&
                      about(last_check_->nodes, Nodes(), last_check_->nodes) &&
                      about(Pods(), last_check_->pods, last_check_->pods) &&
                      CheckWhole(last_check_->warnings, /*allow_incomplete=*/false).ok();
  if (!lately || last_check_->changes == Changes()) return CheckCurrent(cluster);
  // Input that is not a cluster is rejected even now.
  if (absl::Status s = CheckNodesAndPods(cluster); !s.ok()) return s;
  cluster.warnings = last_check_->warnings;
  return absl::OkStatus();
}

absl::StatusOr<LiveCluster::Version> LiveCluster::Checked() {
  Version version = Unchecked();
  if (absl::Status s = CheckCurrent(version.cluster); !s.ok()) return s;
  if (absl::Status s = CheckWhole(version.cluster.warnings, options_.allow_incomplete); !s.ok())
    return s;
  return version;
}

absl::StatusOr<LiveCluster::Version> LiveCluster::CheckedRecently() {
  Version version = Unchecked();
  if (absl::Status s = CheckRecently(version.cluster); !s.ok()) return s;
  if (absl::Status s = CheckWhole(version.cluster.warnings, options_.allow_incomplete); !s.ok())
    return s;
  return version;
}

absl::StatusOr<LoadedCluster> LiveCluster::CheckedRecentlyHere() {
  LoadedCluster cluster = Here();
  if (absl::Status s = CheckRecently(cluster); !s.ok()) return s;
  return cluster;
}

absl::StatusOr<std::unique_ptr<LiveCluster>> LiveCluster::Copy() {
  LiveSnapshot::Options holding = holding_;
  holding.rebuild_observer = nullptr;
  auto copy = std::make_unique<LiveCluster>(options_, std::move(holding));
  if (server_version_) copy->SetServerVersion(*server_version_);
  copy->SetSource(source_);
  if (absl::Status s = copy->Read([&](ObjectSink& sink) { return ExportAll(sink); }); !s.ok()) {
    return s;
  }
  return copy;
}

absl::StatusOr<ScratchCluster> ScratchCluster::Of(LiveCluster& cluster,
                                                  const LoadedCluster& checked) {
  absl::StatusOr<std::unique_ptr<LiveCluster>> copy = cluster.Copy();
  if (!copy.ok()) return copy.status();
  LiveCluster::Version version = (*copy)->Unchecked();
  version.cluster.warnings = checked.warnings;
  version.cluster.counts = checked.counts;
  return ScratchCluster{.live = *std::move(copy), .version = std::move(version)};
}

absl::Status LiveCluster::ExportAll(ObjectSink& sink) {
  const absl::Status given = Live().Export(sink);
  return given.ok() ? ExportRest(sink) : given;
}

absl::Status LiveCluster::ExportRest(ObjectSink& sink) {
  if (absl::Status s = Live().ExportLeftOut(sink); !s.ok()) return s;
  const auto give = [&sink](const auto& object) { return sink.OnUnevaluated(object); };
  if (absl::Status s = unevaluated_.ForEach(give); !s.ok()) return s;
  const bool budgets = budgets_known_ || all_kinds_listed_;
  if (budgets && live_->Snapshot().catalog().pdbs().empty()) {
    if (absl::Status s = sink.OnList(kBudgets, 0); !s.ok()) return s;
  }
  if (all_kinds_listed_) {
    for (const DumpKind& each : DumpKinds()) empty_kinds_.emplace(each.kind);
  }
  // An empty list records that its kind was listed; its position does not matter.
  for (const std::string& kind : empty_kinds_) {
    if (kind == kBudgets) continue;
    if (absl::Status s = sink.OnList(kind, 0); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> LiveCluster::Filter(std::string_view pod,
                                         std::optional<std::string_view> node) {
  ClusterSnapshot& snapshot = Snapshot();
  const absl::StatusOr<PodId> id = FindPodNamed(snapshot.catalog(), pod);
  if (!id.ok()) return id.status();
  std::optional<NodeId> only;
  if (node) {
    const absl::StatusOr<NodeId> found = snapshot.catalog().FindNode(*node);
    if (!found.ok()) return found.status();
    only = *found;
  }
  return FilterJson(snapshot, *id, only, FilterDetail::kEveryFilter);
}

class LiveCluster::RoundMarks {
 public:
  explicit RoundMarks(LiveCluster& cluster) : cluster_(cluster), changes_(cluster.Changes()) {}
  ~RoundMarks() {
    for (const auto& [packed, version] : nodes_) Put(UnpackedObject(packed).ref(), version);
    for (const auto& [namespace_name, name] : pods_) {
      objects::Pod pod;
      pod.meta.namespace_name = namespace_name;
      pod.meta.name = name;
      const Change change{.type = Change::Type::kDelete, .object = &pod};
      EBB_CHECK(cluster_.Take({&change, 1}).ok());
    }
    // The marks are undone, so the earlier check is valid again.
    if (cluster_.last_check_) cluster_.last_check_->changes += cluster_.Changes() - changes_;
  }
  RoundMarks(const RoundMarks&) = delete;
  RoundMarks& operator=(const RoundMarks&) = delete;

  absl::Status Mark(const RoundSettings& settings, const std::vector<EvictedPod>& remembered,
                    std::vector<std::string>& log) {
    const auto mark = [&](const objects::Node& node, uint64_t version) {
      nodes_.push_back({.packed = PackObject(&node), .version = version});
      const objects::Node marked = MarkedUnready(node);
      Put(&marked, version);
    };
    LogUnknownUnready(
        settings.report,
        [&](const std::string& name) { return cluster_.Live().VisitNode(name, mark); }, log);
    PodSink sink(*this);
    return GiveEvictedPods(
        NameOfReport(settings), settings.report, remembered,
        [&](const EvictedPod& pod) { return IsInSnapshot(cluster_.Live(), pod); }, sink, log);
  }

  static bool IsInSnapshot(LiveSnapshot& live, const EvictedPod& pod) {
    return live.FindPod(pod.namespace_name, pod.name) != kNoPod;
  }

 private:
  // Puts evicted pods.
  class PodSink final : public AnyObjectSink {
   public:
    explicit PodSink(RoundMarks& marks) : marks_(marks) {}

   protected:
    absl::Status OnObject(const objects::ObjectRef& object) override {
      const objects::ObjectMeta& meta = objects::MetaOf(object);
      const Change change{.object = object};
      absl::Status taken = marks_.cluster_.Take({&change, 1});
      if (taken.ok()) {
        marks_.pods_.emplace_back(std::string(meta.namespace_name), std::string(meta.name));
      }
      return taken;
    }

   private:
    RoundMarks& marks_;
  };
  struct MarkedNode {
    std::string packed;  // The node before it was marked.
    uint64_t version = 0;
  };

  // Replaces the same object in another form, with the same version, so that the change is not
  // dropped as old.
  void Put(const objects::ObjectRef& object, uint64_t version) {
    const std::string text = version == 0 ? "" : absl::StrCat(version);
    const Change change{.object = object, .resource_version = text};
    EBB_CHECK(cluster_.Take({&change, 1}, OlderObjects::kTake).ok());
  }

  LiveCluster& cluster_;
  const uint64_t changes_;
  std::vector<MarkedNode> nodes_;
  std::vector<std::pair<std::string, std::string>> pods_;  // Namespace and name.
};

absl::StatusOr<RoundSource> LiveCluster::Source(const RoundSettings& settings,
                                                const std::optional<ScaleDownState>& before,
                                                RoundObjects objects) {
  LiveSnapshot& live = Live();
  std::vector<EvictedPod> remembered;
  if (before) remembered = before->actuation.recent_evictions;
  // A pod of the same name that has ended, or is expendable, is held outside the snapshot.  Only
  // one pod of a name can be held.
  const auto is_beside = [&](const EvictedPod& pod) {
    objects::Pod named;
    named.meta.namespace_name = pod.namespace_name;
    named.meta.name = pod.name;
    return !pod.object.empty() && live.Holds(&named) && !RoundMarks::IsInSnapshot(live, pod);
  };
  absl::StatusOr<RoundSource> source = RoundSource();
  if (std::ranges::any_of(remembered, is_beside) ||
      std::ranges::any_of(settings.report.evictions, is_beside, &DeletionReport::Eviction::pod)) {
    const auto read = [&live](ObjectSink& sink) { return live.Export(sink); };
    source = LoadSource(settings, before, read, objects);
    if (!source.ok()) return source;
  } else {
    const auto marks = std::make_shared<RoundMarks>(*this);
    if (absl::Status s = marks->Mark(settings, remembered, source->log); !s.ok()) return s;
    source->until = marks;
    source->cluster = Here();
    DropEvicted(settings, before, source->cluster);
    if (objects == RoundObjects::kForRecord) {
      BinarySnapshotWriter writer([&](std::string_view chunk) {
        source->objects.append(chunk);
        return absl::OkStatus();
      });
      absl::Status written = ExportAll(writer);
      if (written.ok()) written = writer.Finish();
      if (!written.ok()) return written;
    }
  }
  source->cluster_uid = live.UidOfNamespace(kSystemNamespace);
  return source;
}

}  // namespace ebb
