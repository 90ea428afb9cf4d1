#include "snapshot/import/load_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/read_scheduler_config.h"
#include "snapshot/import/unevaluated_warnings.h"

namespace ebb {
namespace {

// Words for pods without a node that do not wait for one, or may not.
struct WaitWords {
  PodWait wait;
  std::string_view json;
  const char* one;   // "1 pod ..."
  const char* many;  // "2 pods ..."
};
constexpr WaitWords kWaitWords[] = {
    {PodWait::kGated, "gated", "pod with scheduling gates", "pods with scheduling gates"},
    {PodWait::kBeingDeleted, "beingDeleted", "pod without a node that is being deleted",
     "pods without a node that are being deleted"},
    {PodWait::kUnprocessed, "unprocessed", "pod that no scheduler has judged yet",
     "pods that no scheduler has judged yet"},
    {PodWait::kOther, "other", "pod without a node that is not marked as unschedulable",
     "pods without a node that are not marked as unschedulable"},
};

std::string Examples(const PodTally& tally) {
  return absl::StrCat(" (", Printable(tally.first), tally.pods > 1 ? ", ...)" : ")");
}

// Counts the pending pods for whose shape `text` returns a non-empty text.
template <typename Text>
PodTally Tally(const LoadedCluster& cluster, Text&& text) {
  PodTally tally;
  const Catalog& catalog = cluster.snapshot.catalog();
  for (const PodId pod : cluster.pending) {
    const std::string_view what = text(catalog.shape_of(pod));
    if (what.empty() || tally.pods++ > 0) continue;
    tally.first = absl::StrCat(catalog.PodName(pod), ": ", Absl(what));
  }
  return tally;
}

}  // namespace

std::vector<std::pair<std::string_view, PodTally>> PodsWithoutRoom(const LoadCounts& counts) {
  std::vector<std::pair<std::string_view, PodTally>> all;
  for (const WaitWords& words : kWaitWords) {
    const PodTally& tally = counts.without_node[static_cast<size_t>(words.wait)];
    if (tally.pods == 0 || TakesRoom(words.wait, counts.scheduling_recorded)) continue;
    all.emplace_back(words.json, tally);
  }
  return all;
}

void WarnOfNotRecorded(const LoadCounts& counts, InputSource source,
                       std::vector<InputWarning>& warnings) {
  PodTally all = counts.without_node[static_cast<size_t>(PodWait::kNotRecorded)];
  if (!counts.scheduling_recorded) {
    const PodTally& more = counts.without_node[static_cast<size_t>(PodWait::kUnprocessed)];
    if (all.pods == 0) all.first = more.first;
    all.pods += more.pods;
  }
  if (all.pods == 0) return;
  InputWarning& warning = warnings.emplace_back(InputWarning{
      "PodsWithoutConditions",
      absl::StrCat(
          "room is kept for ", Count(all.pods, "pod", "pods"), " without a node although", " ",
          Absl(NameOf(source)), " does not say whether ", all.pods > 1 ? "they wait" : "it waits",
          " for one (condition PodScheduled): ", Printable(all.first), all.pods > 1 ? ", ..." : ""),
      /*command=*/""});
  Advise(source, warning);
}

void WarnOfPending(const LoadedCluster& cluster, std::vector<InputWarning>& warnings) {
  using Text = std::string_view;
  const auto warn = [&](const char* code, const PodTally& pods, const std::string& what) {
    if (pods.pods == 0) return;
    warnings.push_back(
        {code, absl::StrCat(what, ": ", Printable(pods.first), pods.pods > 1 ? ", ..." : ""), ""});
  };
  const PodTally ignored =
      Tally(cluster, [](const PodShape& shape) -> Text { return shape.ignored; });
  warn("PendingPodsWithUnknownFields", ignored,
       absl::StrCat("room is kept for ", Count(ignored.pods, "pending pod", "pending pods"),
                    " as if ", ignored.pods > 1 ? "they" : "it",
                    " did not have a field that ebb does not know"));
  const PodTally odd = Tally(cluster, [](const PodShape& shape) -> Text {
    return SchedulerFailsOn(shape.not_understood) ? Text() : Text(shape.not_understood);
  });
  warn("PendingPodsNotUnderstood", odd,
       absl::StrCat(Count(odd.pods, "pending pod has", "pending pods have"),
                    " a constraint that ebb does not evaluate, and ",
                    odd.pods > 1 ? "keep" : "keeps", " the nodes that ",
                    odd.pods > 1 ? "they" : "it", " may need"));
  const PodTally failing = Tally(cluster, [](const PodShape& shape) -> Text {
    return SchedulerFailsOn(shape.not_understood) ? Text(shape.not_understood) : Text();
  });
  warn("PendingPodsNotUnderstood", failing,
       absl::StrCat("no room is kept for ", Count(failing.pods, "pending pod", "pending pods"),
                    " with a selector that does not parse, on which the scheduler fails too"));
}

ClusterLoader::ClusterLoader(LoadOptions options) : options_(std::move(options)) {}

void ClusterLoader::Saw(const objects::ObjectRef& object) {
  newest_time_ = std::max(newest_time_, objects::NewestTimeOf(object));
}

absl::Status ClusterLoader::OnNode(const objects::Node& node) {
  Saw(&node);
  return builder_.AddNode(node);
}

void ClusterLoader::LeaveOut(PodListing listing, uint64_t pods) {
  (listing == PodListing::kEnded ? counts_.ended : counts_.expendable) += pods;
}

void ClusterLoader::Note(const objects::Pod& pod) {
  if (options_.assume_complete && pod.meta.namespace_name != last_namespace_) {
    last_namespace_ = std::string(pod.meta.namespace_name);
    namespaces_of_pods_.insert(last_namespace_);
  }
  counts_.scheduling_recorded |= HasScheduledCondition(pod.scheduling);
}

absl::Status ClusterLoader::OnPod(const objects::Pod& pod) {
  Saw(&pod);
  const PodListing listing = ListingOf(pod, options_.expendable_pods_priority_cutoff);
  if (listing != PodListing::kListed) {
    LeaveOut(listing, 1);
    builder_.CountLeftOut(pod);
    return absl::OkStatus();
  }
  Note(pod);
  if (IsNominationVoid(pod)) {
    objects::Pod deleted = pod;
    deleted.nominated_node_name = {};
    return AddPod(deleted);
  }
  return AddPod(pod);
}

absl::Status ClusterLoader::AddPod(const objects::Pod& pod) {
  if (absl::Status added = builder_.AddPod(pod); !added.ok()) return added;
  if (!pod.node_name.empty()) return absl::OkStatus();
  const PodId id{static_cast<uint32_t>(builder_.wanted_nodes().size() - 1)};
  NoteWaiting(id, !pod.nominated_node_name.empty(), WaitOf(pod, options_.bypassed_schedulers));
  return absl::OkStatus();
}

void ClusterLoader::NoteWaiting(PodId pod, bool is_nominated, PodWait wait) {
  if (is_nominated) nominated_.insert(pod);
  waits_.emplace(pod, wait);
}

absl::Status ClusterLoader::OnTexts(const TextTable& texts) {
  patterns_.clear();
  absl::StatusOr<AdoptedTexts> taken = builder_.AddTexts(texts);
  if (!taken.ok()) return taken.status();
  texts_ = *std::move(taken);
  return absl::OkStatus();
}

absl::Status ClusterLoader::OnPodPattern(const objects::Pod& first, uint64_t pods_alike) {
  Pattern& pattern = patterns_.emplace_back();
  pattern.listing = ListingOf(first, options_.expendable_pods_priority_cutoff);
  if (pattern.listing != PodListing::kListed) {
    builder_.CountLeftOut(first, static_cast<int64_t>(pods_alike));
    return absl::OkStatus();
  }
  Note(first);
  pattern.wait = WaitOf(first, options_.bypassed_schedulers);
  absl::StatusOr<SnapshotBuilder::PodPattern> pods = builder_.AddPodPattern(first);
  if (!pods.ok()) return pods.status();
  pattern.pods = *std::move(pods);
  if (IsNominationVoid(first)) pattern.pods.nominated_node = kNoText;
  return absl::OkStatus();
}

absl::Status ClusterLoader::OnPods(const PodColumns& pods) {
  // The names of later pods are loaded ahead: the table of names is larger than the caches.  Not
  // tuned.
  constexpr size_t kAhead = 16;
  const auto row = [&](size_t i) {
    return SnapshotBuilder::PodRow{.name = texts_[pods.name[i]],
                                   .uid = texts_[pods.uid[i]],
                                   .node_name = texts_[pods.node_name[i]],
                                   .creation_time = pods.creation_time[i]};
  };
  builder_.ReservePods(pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    if (i + kAhead < pods.size()) {
      builder_.Prefetch(patterns_[pods.pattern[i + kAhead]].pods, row(i + kAhead));
    }
    const Pattern& pattern = patterns_[pods.pattern[i]];
    newest_time_ = std::max(newest_time_, pods.creation_time[i]);
    if (pattern.listing != PodListing::kListed) {
      LeaveOut(pattern.listing, 1);
      continue;
    }
    if (absl::Status added = builder_.AddPod(pattern.pods, row(i)); !added.ok()) return added;
    if (pods.node_name[i] != 0) continue;
    const PodId id{static_cast<uint32_t>(builder_.wanted_nodes().size() - 1)};
    NoteWaiting(id, pattern.pods.nominated_node != kNoText, pattern.wait);
  }
  return absl::OkStatus();
}

absl::Status ClusterLoader::OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) {
  Saw(&budget);
  return builder_.AddPodDisruptionBudget(budget);
}

absl::Status ClusterLoader::OnController(const objects::Controller& controller) {
  Saw(&controller);
  return builder_.AddController(controller);
}

absl::Status ClusterLoader::OnNamespace(const objects::Namespace& namespace_object) {
  Saw(&namespace_object);
  if (options_.assume_complete) namespaces_.insert(std::string(namespace_object.meta.name));
  return builder_.AddNamespace(namespace_object);
}

absl::Status ClusterLoader::OnStorageObject(const objects::StorageObject& object) {
  Saw(&object);
  return builder_.AddStorageObject(object);
}

absl::Status LoadOptions::ReadScheduler(std::string_view text) {
  if (text.empty()) {
    scheduler = nullptr;
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<SchedulerConfig>> config = ParseSchedulerConfig(text);
  if (!config.ok()) return config.status();
  scheduler = *std::move(config);
  return absl::OkStatus();
}

// A KubeSchedulerConfiguration is the scheduler's file.
absl::Status ClusterLoader::OnUnevaluated(const Unevaluated& object) {
  if (options_.scheduler != nullptr) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<const SchedulerConfig>> config = SchedulerConfigIn(object);
  if (!config.ok()) return config.status();
  options_.scheduler = *std::move(config);
  return absl::OkStatus();
}

// Adds namespaces without an object, with the one label that the API server gives each namespace.
absl::Status ClusterLoader::AddUnknownNamespaces() {
  for (const std::string& name : namespaces_of_pods_) {
    if (namespaces_.contains(name)) continue;
    objects::Namespace unknown;
    unknown.meta.name = name;
    unknown.meta.labels.push_back({"kubernetes.io/metadata.name", name});
    if (absl::Status added = builder_.AddNamespace(unknown); !added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedCluster> ClusterLoader::Finish() && {
  const std::vector<TextId> wanted = builder_.wanted_nodes();
  if (!options_.assume_complete) {
    builder_.KeepWhereNamespacesAreUnknown();
  } else if (absl::Status added = AddUnknownNamespaces(); !added.ok()) {
    return added;
  }
  builder_.SetVersion(options_.kubernetes_version);
  builder_.SetVpa(options_.vpa);
  builder_.SetScheduler(options_.scheduler);
  builder_.SetUnhealthyPods(options_.unhealthy_pods);
  absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder_).Build();
  if (!snapshot.ok()) return snapshot.status();
  snapshot->SetMatchOs(options_.match_os);
  LoadedCluster cluster{.snapshot = *std::move(snapshot),
                        .pending = {},
                        .newest_time = newest_time_,
                        .counts = std::move(counts_),
                        .warnings = {}};
  const Catalog& catalog = cluster.snapshot.catalog();
  for (uint32_t p = 0; p < wanted.size(); ++p) {
    const PodId pod{p};
    if (cluster.snapshot.NodeOf(pod) != kNoNode) continue;
    // A nomination to a node that is gone is void: the pod waits like any other.
    if (wanted[p] == kNoText || nominated_.contains(pod)) {
      const PodWait wait = waits_.at(pod);
      PodTally& tally = cluster.counts.without_node[static_cast<size_t>(wait)];
      if (tally.pods++ == 0) tally.first = catalog.PodName(pod);
      if (TakesRoom(wait, cluster.counts.scheduling_recorded)) cluster.pending.push_back(pod);
    } else if (cluster.counts.on_unknown_node++ == 0) {
      cluster.counts.first_unknown =
          absl::StrCat(catalog.PodName(pod), " on ", Absl(catalog.Text(wanted[p])));
    }
  }
  const std::vector<PodId> buffers = catalog.BufferPods();
  cluster.pending.insert(cluster.pending.end(), buffers.begin(), buffers.end());
  return cluster;
}

std::string LeftOutText(const LoadCounts& counts) {
  std::string text;
  if (counts.ended > 0) text = Count(counts.ended, "pod that has ended", "pods that have ended");
  if (counts.expendable > 0) {
    absl::StrAppend(&text, text.empty() ? "" : " and ",
                    Count(counts.expendable, "expendable pod", "expendable pods"));
  }
  return text;
}

std::string NoRoomText(const LoadCounts& counts) {
  std::string text;
  for (const WaitWords& words : kWaitWords) {
    const PodTally& tally = counts.without_node[static_cast<size_t>(words.wait)];
    if (tally.pods == 0 || TakesRoom(words.wait, counts.scheduling_recorded)) continue;
    absl::StrAppend(&text, text.empty() ? "No room is kept for " : ", ",
                    Count(tally.pods, words.one, words.many), Examples(tally));
  }
  return text.empty() ? text : text + ".";
}

absl::Status CheckNodesAndPods(const LoadedCluster& cluster) {
  if (cluster.snapshot.nodes() == 0) {
    return absl::InvalidArgumentError(
        cluster.source == InputSource::kFeeder
            ? absl::StrCat("no nodes were fed; ", AdviceToFeed("nodes"))
            : "no nodes in the input; pass what `kubectl get nodes,pods,... -A -o json` prints");
  }
  const LoadCounts& counts = cluster.counts;
  if (counts.on_unknown_node > 0 && cluster.snapshot.placed_pods() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no pod is on a node of ", Absl(NameOf(cluster.source)), ": ",
        Count(counts.on_unknown_node, "pod is", "pods are"), " on other nodes (",
        Printable(counts.first_unknown), "); the nodes and the pods seem to be of two clusters"));
  }
  return absl::OkStatus();
}

void WarnOfFiles(const ImportStats& input, bool assume_complete,
                 std::vector<InputWarning>& warnings) {
  const auto more = [](uint64_t files) { return files > 1 ? ", ..." : ""; };
  if (input.files_unread > 0) {
    InputWarning& warning = warnings.emplace_back(
        InputWarning{"ObjectsNotRead",
                     absl::StrCat(Count(input.files_unread, "file seems to hold objects",
                                        "files seem to hold "
                                        "objects"),
                                  " that ebb needs and cannot read, and they are missing: ",
                                  Printable(input.first_unread), more(input.files_unread)),
                     /*command=*/"", assume_complete ? Lack::kNothing : Lack::kKinds});
    Advise(InputSource::kDump, warning);
  }
  if (input.files_foreign > 0) {
    warnings.push_back({"FilesNotRead",
                        absl::StrCat(Count(input.files_foreign, "file is", "files are"),
                                     " skipped, as broken or without objects that ebb reads: ",
                                     Printable(input.first_foreign), more(input.files_foreign)),
                        ""});
  }
  if (input.archives_unread > 0) {
    warnings.push_back(
        {"ArchivesNotRead",
         absl::StrCat(Count(input.archives_unread, "archive", "archives"),
                      " beside the dump or within it ", input.archives_unread > 1 ? "are" : "is",
                      " not read: ", Printable(input.first_archive), more(input.archives_unread)),
         ""});
  }
  if (input.files_of_named_kind > 0) {
    warnings.push_back(
        {"KindsOfFileNames",
         absl::StrCat(Count(input.files_of_named_kind, "file holds", "files hold"),
                      " objects without kind; ebb takes the kind from the file's name: ",
                      Printable(input.first_of_named_kind), more(input.files_of_named_kind)),
         ""});
  }
}

absl::Status CheckAllFilesRead(const ImportStats& input) {
  if (input.files_unread == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(input.first_unread);
}

absl::Status CheckCompleteness(const InputCensus& census, ImportStats stats,
                               const LoadOptions& options, LoadedCluster& cluster) {
  cluster.counts.input = std::move(stats);
  cluster.counts.newest_heartbeat = census.newest_heartbeat();
  if (absl::Status s = CheckNodesAndPods(cluster); !s.ok()) return s;
  const LoadCounts& counts = cluster.counts;
  WarnOfFiles(counts.input, options.assume_complete, cluster.warnings);
  // These warnings do not depend on what is missing.
  if (options.use == InputUse::kPlan) {
    WarnOfSeveralBudgets(cluster.snapshot, cluster.warnings);
    WarnOfPending(cluster, cluster.warnings);
    WarnOfUnevaluated(census.unevaluated(), cluster.snapshot, cluster.warnings);
  }
  if (options.assume_complete) return absl::OkStatus();
  const size_t before = cluster.warnings.size();
  if (counts.on_unknown_node > 0) {
    InputWarning& warning = cluster.warnings.emplace_back(InputWarning{
        "PodsOnUnknownNodes",
        absl::StrCat("left out ", Count(counts.on_unknown_node, "pod", "pods"),
                     " on nodes that are not in ", Absl(NameOf(cluster.source)), ": ",
                     Printable(counts.first_unknown), counts.on_unknown_node > 1 ? ", ..." : ""),
        /*command=*/"",
        InputCensus::MustBeMissing(counts.on_unknown_node,
                                   counts.on_unknown_node + cluster.snapshot.placed_pods())
            ? Lack::kPods
            : Lack::kNothing});
    Advise(cluster.source, warning);
  }
  WarnOfNotRecorded(counts, cluster.source, cluster.warnings);
  census.FindLacks(options.use, cluster.snapshot, cluster.newest_time, cluster.warnings,
                   cluster.source);
  for (InputWarning& each : std::span(cluster.warnings).subspan(before)) {
    each.may_be_assumed_away = true;
  }
  absl::Status whole = CheckWhole(cluster.warnings, options.allow_incomplete);
  // The warnings are not printed in this case, and this one may explain the error.
  if (whole.ok() || counts.input.files_of_named_kind == 0) return whole;
  return absl::Status(whole.code(),
                      absl::StrCat(whole.message(),
                                   "; ebb took the kind of objects without one from the file's "
                                   "name, the first ",
                                   Printable(counts.input.first_of_named_kind)));
}

absl::Status CheckStrict(const LoadOptions& options, std::span<const InputWarning> warnings) {
  const auto counted = static_cast<size_t>(std::ranges::count_if(
      warnings, [](const InputWarning& each) { return each.code != kMovesToOtherArchitecture; }));
  if (!options.strict || counted == 0) return absl::OkStatus();
  const bool some_lack = std::ranges::any_of(warnings, [](const InputWarning& each) {
    return each.may_be_assumed_away || each.lack != Lack::kNothing;
  });
  return absl::InvalidArgumentError(absl::StrCat(
      "--strict, and ", Count(counted, "warning", "warnings"),
      some_lack ? " about the input; with --assume-complete those of what may be missing do not "
                  "count"
                : "; see above"));
}

absl::StatusOr<LoadedCluster> LoadCluster(std::span<const std::string> inputs,
                                          const LoadOptions& options,
                                          const Parallelism& parallelism) {
  InputCensus census(options.expendable_pods_priority_cutoff);
  if (options.allow_incomplete) census.TakePartsOfLists();
  ImportStats stats;
  absl::StatusOr<LoadedCluster> cluster =
      LoadNewest(census, [&]() -> absl::StatusOr<LoadedCluster> {
        ClusterLoader loader(options);
        stats = {};
        absl::Status read = census.Read(inputs, loader, stats, parallelism, options.limits);
        if (!read.ok()) return read;
        return std::move(loader).Finish();
      });
  if (!cluster.ok()) return cluster;
  absl::Status checked = CheckCompleteness(census, std::move(stats), options, *cluster);
  if (checked.ok()) return cluster;
  const std::string where = inputs.size() == 1 ? absl::StrCat(inputs[0], ": ") : "";
  return absl::Status(checked.code(), absl::StrCat(where, checked.message()));
}

}  // namespace ebb
