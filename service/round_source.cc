#include "service/round_source.h"

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "service/round_events.h"
#include "snapshot/any_object_sink.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/import/completeness.h"

namespace ebb {
namespace {

// Pods that were evicted are placed as such or not at all.
void DropEvicted(const std::vector<EvictedPod>& evictions, LoadedCluster& cluster) {
  absl::flat_hash_set<PodId> evicted;
  for (const EvictedPod& pod : evictions) {
    const auto id = cluster.snapshot.catalog().FindPod(pod.namespace_name, pod.name);
    if (!id.ok()) continue;
    const Catalog& catalog = cluster.snapshot.catalog();
    if (pod.uid.empty() || catalog.Text(catalog.pod(*id).key) == pod.uid) evicted.insert(*id);
  }
  std::erase_if(cluster.pending, [&](PodId pod) { return evicted.contains(pod); });
}

}  // namespace

absl::StatusOr<RoundSource> LoadSource(const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       const std::function<absl::Status(ObjectSink&)>& read) {
  RoundSource source;
  BinarySnapshotWriter writer([&](std::string_view chunk) {
    source.objects.append(chunk);
    return absl::OkStatus();
  });
  ClusterLoader loader(settings.options.load);
  TeeSink tee(loader, writer);
  std::vector<EvictedPod> evictions;
  if (before) evictions = before->actuation.recent_evictions;
  const std::string name = settings.texts.events ? settings.texts.events->name : "recent evictions";
  if (absl::Status s = ReadWithEvents(name, settings.report, evictions, tee, read, source.log);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = writer.Finish(); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return cluster.status();
  source.cluster = *std::move(cluster);
  for (const auto& eviction : settings.report.evictions) evictions.push_back(eviction.pod);
  DropEvicted(evictions, source.cluster);
  return source;
}

absl::StatusOr<RoundSource> ReadSource(std::span<const std::string> inputs,
                                       const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       const Parallelism& parallelism) {
  const LoadOptions& options = settings.options.load;
  InputWatch watch(options.expendable_pods_priority_cutoff);
  if (options.allow_incomplete) watch.TakePartsOfLists();
  ImportStats stats;
  absl::StatusOr<RoundSource> source = LoadNewest(watch, [&] {
    stats = {};
    return LoadSource(settings, before, [&](ObjectSink& sink) {
      return watch.Read(inputs, sink, stats, parallelism, options.limits);
    });
  });
  if (!source.ok()) return source;
  if (absl::Status s = JudgeInput(watch, std::move(stats), options, source->cluster); !s.ok()) {
    return s;
  }
  source->cluster_uid = watch.cluster_uid();
  return source;
}

}  // namespace ebb
