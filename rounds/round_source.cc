#include "rounds/round_source.h"

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "rounds/round_events.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/import/completeness.h"
#include "snapshot/objects/any_object_sink.h"

namespace ebb {
namespace {

const std::vector<EvictedPod>& Remembered(const std::optional<ScaleDownState>& before) {
  static const auto* const none = new std::vector<EvictedPod>();
  return before ? before->actuation.recent_evictions : *none;
}

}  // namespace

std::string NameOfReport(const RoundSettings& settings) {
  return settings.texts.events ? settings.texts.events->name : "recent evictions";
}

void DropEvicted(const RoundSettings& settings, const std::optional<ScaleDownState>& before,
                 LoadedCluster& cluster) {
  const Catalog& catalog = cluster.snapshot.catalog();
  absl::flat_hash_set<PodId> evicted;
  const auto add = [&](const EvictedPod& pod) {
    const auto id = catalog.FindPod(pod.namespace_name, pod.name);
    if (!id.ok()) return;
    if (pod.uid.empty() || catalog.Text(catalog.pod(*id).key) == pod.uid) evicted.insert(*id);
  };
  for (const EvictedPod& pod : Remembered(before)) add(pod);
  for (const auto& eviction : settings.report.evictions) add(eviction.pod);
  std::erase_if(cluster.pending, [&](PodId pod) { return evicted.contains(pod); });
}

absl::StatusOr<RoundSource> LoadSource(const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       const std::function<absl::Status(ObjectSink&)>& read,
                                       RoundObjects objects) {
  RoundSource source;
  BinarySnapshotWriter writer([&](std::string_view chunk) {
    source.objects.append(chunk);
    return absl::OkStatus();
  });
  ClusterLoader loader(settings.options.load);
  TeeSink tee(loader, writer);
  const bool record = objects == RoundObjects::kForRecord;
  ObjectSink& sink = record ? static_cast<ObjectSink&>(tee) : loader;
  if (absl::Status s = ReadWithEvents(NameOfReport(settings), settings.report, Remembered(before),
                                      sink, read, source.log);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = record ? writer.Finish() : absl::OkStatus(); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return cluster.status();
  source.cluster = *std::move(cluster);
  DropEvicted(settings, before, source.cluster);
  return source;
}

absl::StatusOr<RoundSource> ReadSource(std::span<const std::string> inputs,
                                       const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       RoundObjects objects, const Parallelism& parallelism) {
  const LoadOptions& options = settings.options.load;
  InputCensus census(options.expendable_pods_priority_cutoff);
  if (options.allow_incomplete) census.TakePartsOfLists();
  ImportStats stats;
  absl::StatusOr<RoundSource> source = LoadNewest(census, [&] {
    stats = {};
    const auto read = [&](ObjectSink& sink) {
      return census.Read(inputs, sink, stats, parallelism, options.limits);
    };
    return LoadSource(settings, before, read, objects);
  });
  if (!source.ok()) return source;
  if (absl::Status s = CheckCompleteness(census, std::move(stats), options, source->cluster);
      !s.ok()) {
    return s;
  }
  source->cluster_uid = census.cluster_uid();
  return source;
}

}  // namespace ebb
