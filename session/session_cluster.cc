#include "session/session_cluster.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/figures.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/import/incomplete.h"
#include "snapshot/objects/any_object_sink.h"

namespace ebb {
namespace {

// "Pod default/web-0": the key of an object in a resync.
std::string KeyOfObject(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  return absl::StrCat(Absl(objects::KindOf(object)), " ", Absl(meta.namespace_name), "/",
                      Absl(meta.name));
}

std::string KeyOfObject(const ObjectSink::Unevaluated& object) {
  return absl::StrCat(Absl(object.kind), " ", Absl(object.namespace_name), "/", Absl(object.name));
}

// The process's own random bits, and the session's number: a daemon that is started again counts
// from the beginning.
std::string NewSessionId() {
  static const uint64_t process = [] {
    std::random_device random;
    return (uint64_t{random()} << 32) | random();
  }();
  static std::atomic<uint64_t> sessions = 0;
  return absl::StrCat(absl::Hex(process, absl::kZeroPad16), "-", ++sessions);
}

bool IsNode(const Change& change) {
  return std::holds_alternative<const objects::Node*>(change.object);
}

// Adds to `deletions` the deletion of each object that it receives and that is not in `named`.
class MissingSink final : public AnyObjectSink {
 public:
  MissingSink(const absl::flat_hash_set<std::string>& named, ChangeBatch& deletions)
      : named_(named), deletions_(deletions) {}

  absl::Status OnUnevaluated(const Unevaluated& object) override {
    if (named_.contains(KeyOfObject(object)) || object.name.empty()) return absl::OkStatus();
    return deletions_.DeleteNamed(object.kind, object.namespace_name, object.name, "");
  }

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    if (named_.contains(KeyOfObject(object))) return absl::OkStatus();
    const objects::ObjectMeta& meta = objects::MetaOf(object);
    if (auto blank = ChangeBatch::NamesOf(objects::KindOf(object))) {
      deletions_.Delete(*std::move(blank), meta.namespace_name, meta.name, "");
    }
    return absl::OkStatus();
  }

 private:
  const absl::flat_hash_set<std::string>& named_;
  ChangeBatch& deletions_;
};

}  // namespace

SessionCluster::SessionCluster(std::string name, const SessionOptions& options)
    : name_(std::move(name)),
      id_(NewSessionId()),
      options_(options),
      rebuild_log_([this](const TimedRebuild& rebuild) {
        if (options_.on_rebuild != nullptr) options_.on_rebuild(name_, rebuild);
      }),
      live_(NewCluster({.assume_complete = options.as_given})),
      assume_complete_(options.as_given),
      feed_(name_) {}

LiveSnapshot::Options SessionCluster::LiveOptionsOf(const LoadOptions& load) {
  LiveSnapshot::Options options = LiveCluster::LiveOptionsOf(load);
  options.rebuild_observer = &rebuild_log_;
  if (options_.as_given) {
    options.expendable_pods_priority_cutoff = std::numeric_limits<int64_t>::min();
    options.keep_ended_pods = true;
    options.unknown_namespaces = LiveSnapshot::Options::UnknownNamespaces::kHaveNoLabels;
  }
  return options;
}

std::unique_ptr<LiveCluster> SessionCluster::NewCluster(const LoadOptions& load) {
  auto cluster = std::make_unique<LiveCluster>(load, LiveOptionsOf(load));
  cluster->SetSource(InputSource::kFeeder);  // A dump replaces this cluster (Load).
  if (server_version_) cluster->SetServerVersion(*server_version_);
  return cluster;
}

void SessionCluster::PutStatus(wire::SessionStatus& status) const {
  const LiveCounts& counts = live_->counts();
  status.set_session(name_);
  status.set_version(version_);
  status.set_nodes(live_->Nodes());
  status.set_pods(live_->Pods());
  status.set_put(counts.put);
  status.set_deleted(counts.deleted);
  status.set_unchanged(counts.unchanged);
  status.set_older(counts.older);
  status.set_unknown_deletes(counts.unknown_deletes);
  status.set_rebuilds(counts.AllRebuilds());
  status.mutable_ignored_kinds()->insert(ignored_.begin(), ignored_.end());
  status.set_feeds(feed_.feeders());
  // The values of both enums are equal.
  status.set_fill(static_cast<wire::SessionStatus::Fill>(feed_.fill()));
  if (const auto since_s = feed_.filling_since_s()) status.set_filling_since(*since_s);
  status.set_objects(live_->Objects());
  status.set_cluster_uid(feed_.cluster_uid());
  status.set_as_given(options_.as_given);
  const FeedAge age = feed_.At(ClockS());
  if (age.not_fed_since_s && live_->Objects() > 0) {
    status.set_as_of(age.as_of_s);
    status.set_not_fed_since(*age.not_fed_since_s);
  }
}

// --- Settings ------------------------------------------------------------------------

absl::Status SessionCluster::SetSettings(const wire::Settings& settings) {
  absl::StatusOr<SessionSettings> effective = ParseSettings(settings, options_);
  if (!effective.ok()) return effective.status();
  if (!SaysHowToLoad(settings)) effective->options.load = live_->options();
  if (!SameLoad(effective->options.load, live_->options())) {
    if (live_->Objects() > 0) {
      return absl::FailedPreconditionError(
          "settings: options.load: cannot change while the session has objects; Load them with it");
    }
    live_ = NewCluster(effective->options.load);
  }
  settings_ = *std::move(effective);
  if (SaysHowToLoad(settings)) assume_complete_ = settings_.options.load.assume_complete;
  ++revision_;
  return absl::OkStatus();
}

absl::StatusOr<const SessionSettings*> SessionCluster::SettingsOf(
    const wire::PlanInput& input, std::optional<SessionSettings>& parsed) const {
  if (!input.has_settings()) return &settings_;
  const wire::Settings settings = input.settings_over_session()
                                      ? MergedSettings(settings_.given, input.settings())
                                      : input.settings();
  absl::StatusOr<SessionSettings> effective = ParseSettings(settings, options_);
  if (!effective.ok()) return effective.status();
  if (!SaysHowToLoad(settings)) effective->options.load = live_->options();
  if (!SameLoad(effective->options.load, live_->options())) {
    return absl::InvalidArgumentError(
        "settings: options.load: differs from the session's; Load the cluster with these settings");
  }
  parsed = *std::move(effective);
  return &*parsed;
}

// --- Changes -------------------------------------------------------------------------

void SessionCluster::Changed() {
  ++version_;
  ++revision_;
}

absl::Status SessionCluster::CheckRoom(std::span<const Change> changes) const {
  // Batches that only delete are always accepted: they make room.
  const auto is_put = [](const Change& each) { return each.type == Change::Type::kPut; };
  if (std::ranges::none_of(changes, is_put)) return absl::OkStatus();
  if (absl::Status s = CheckMemory(options_); !s.ok()) return s;
  if (live_->Objects() + changes.size() <= options_.objects_max) return absl::OkStatus();
  uint64_t objects = live_->Objects();
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> deleted;
  for (const Change& change : changes) {
    const bool held = live_->Holds(change.object);
    if (is_put(change) && !held) ++objects;
    if (is_put(change) || !held) continue;
    const objects::ObjectMeta& meta = objects::MetaOf(change.object);
    const bool first =
        deleted.emplace(objects::KindOf(change.object), meta.namespace_name, meta.name).second;
    if (first) --objects;
  }
  if (objects <= std::max<uint64_t>(options_.objects_max, live_->Objects())) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("objects: session ", name_, " would hold ", Count(objects, "object", "objects"),
                   "; --max-objects allows ", WithCommas(options_.objects_max)));
}

int64_t SessionCluster::ClockS() const {
  return options_.clock_s == nullptr ? 0 : options_.clock_s();
}

absl::Status SessionCluster::Take(const ChangeBatch& batch, std::optional<uint64_t> resync) {
  EBB_DCHECK(!resync || resyncs_.contains(*resync));
  if (absl::Status s = CheckRoom(batch.changes()); !s.ok()) return s;
  if (absl::Status s = CheckCluster("", batch); !s.ok()) return s;
  absl::flat_hash_set<std::string> new_nodes;
  if (resync && feed_.is_whole()) new_nodes = NewNodes(batch);
  const OlderObjects older = resync ? OlderObjects::kTake : OlderObjects::kIgnore;
  if (absl::Status s = live_->Take(batch.changes(), older); !s.ok()) return s;
  for (const auto& [kind, count] : batch.ignored()) {
    if (ignored_.size() < ChangeBatch::kIgnoredKindsMax || ignored_.contains(kind))
      ignored_[kind] += count;
  }
  TakeUnevaluated(batch);
  NoteInResyncs(batch, resync);
  if (resync) resyncs_.at(*resync).new_nodes.insert(new_nodes.begin(), new_nodes.end());
  NoteNodesBrought();
  feed_.OnBatch(ClockS());
  feed_.KeepTo(batch.ClusterUid());
  ++batches_;
  Changed();
  return absl::OkStatus();
}

absl::flat_hash_set<std::string> SessionCluster::NewNodes(const ChangeBatch& batch) const {
  absl::flat_hash_set<std::string> nodes;
  for (const Change& change : batch.changes()) {
    if (change.type == Change::Type::kPut && IsNode(change) && !live_->Holds(change.object)) {
      nodes.emplace(objects::MetaOf(change.object).name);
    }
  }
  return nodes;
}

// A node that another client puts, or that is deleted, no longer belongs to a single resync.
void SessionCluster::NoteInResyncs(const ChangeBatch& batch, std::optional<uint64_t> of) {
  for (auto& [number, resync] : resyncs_) {
    for (const Change& change : batch.changes()) {
      const bool put = change.type == Change::Type::kPut;
      const std::string key = KeyOfObject(change.object);
      put ? static_cast<void>(resync.named.insert(key))
          : static_cast<void>(resync.named.erase(key));
      if (IsNode(change) && (!put || number != of)) {
        resync.new_nodes.erase(std::string(objects::MetaOf(change.object).name));
      }
    }
  }
}

void SessionCluster::TakeUnevaluated(const ChangeBatch& batch) {
  for (const auto& [type, object] : batch.unevaluated()) {
    const bool put = type == Change::Type::kPut;
    put ? live_->PutUnevaluated(object) : live_->EraseUnevaluated(object);
    for (auto& [unused, resync] : resyncs_) {
      put ? (void)resync.named.insert(KeyOfObject(object))
          : (void)resync.named.erase(KeyOfObject(object));
    }
  }
}

void SessionCluster::NoteNodesBrought() {
  std::optional<int64_t> since_s;
  for (const auto& [unused, resync] : resyncs_) {
    if (resync.new_nodes.empty()) continue;
    since_s = std::min(since_s.value_or(resync.since_s), resync.since_s);
  }
  feed_.SetBringsNodes(since_s);
}

absl::Status SessionCluster::CheckCluster(std::string_view cluster_uid, const ChangeBatch& batch) {
  if (options_.host_fills) return absl::OkStatus();
  // A session without objects, feeders and resyncs may take any cluster.
  if (live_->Objects() == 0 && feed_.feeders() == 0 && resyncs_.empty()) feed_.ForgetCluster();
  const std::string_view of_batch = batch.ClusterUid();
  if (!cluster_uid.empty() && !of_batch.empty() && cluster_uid != of_batch) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cluster_uid: is ", Printable(cluster_uid),
        ", and Namespace kube-system of the message has the UID ", Printable(of_batch)));
  }
  if (absl::Status s = feed_.CheckCluster(cluster_uid); !s.ok()) return s;
  return feed_.CheckCluster(of_batch);
}

absl::Status SessionCluster::CheckNamesCluster(std::string_view cluster_uid,
                                               const ChangeBatch& batch,
                                               std::optional<uint64_t> feeder) const {
  if (options_.host_fills || feed_.cluster_uid().empty() || !feed_.IsFedBeside(feeder)) {
    return absl::OkStatus();
  }
  if (!cluster_uid.empty() || !batch.ClusterUid().empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "resync_begins: session ", name_,
      ": another client feeds it, with the cluster whose "
      "namespace kube-system has the UID ",
      Printable(feed_.cluster_uid()),
      "; set cluster_uid to the UID of the namespace kube-system of the cluster that the resync "
      "is of"));
}

void SessionCluster::KeepToCluster(std::string_view cluster_uid, std::optional<uint64_t> feeder) {
  if (feed_.cluster_uid().empty() && feed_.IsFedBeside(feeder)) return;
  feed_.KeepTo(cluster_uid);
}

uint64_t SessionCluster::BeginResync() {
  feed_.OnResync(ClockS(), live_->Objects() == 0);
  resyncs_.try_emplace(++last_resync_, Resync{.since_s = ClockS(), .named = {}, .new_nodes = {}});
  return last_resync_;
}

void SessionCluster::DropResync(uint64_t resync) {
  const auto dropped = resyncs_.find(resync);
  if (dropped == resyncs_.end()) return;
  ChangeBatch deletions;
  for (const std::string& node : dropped->second.new_nodes) {
    deletions.Delete(*ChangeBatch::NamesOf("Node"), "", node, "");
  }
  resyncs_.erase(dropped);
  // A deletion by name never fails.
  if (!deletions.changes().empty() && live_->Take(deletions.changes()).ok()) {
    NoteInResyncs(deletions, std::nullopt);
    Changed();
  }
  NoteNodesBrought();
  ++revision_;
}

absl::Status SessionCluster::SayWhole(std::optional<uint64_t> resync) {
  for (const auto& [number, open] : resyncs_) {
    if (feed_.is_whole() || options_.host_fills || number == resync) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "whole: session ", name_, ": the first resync of another stream is open since ",
        FormatRfc3339(open.since_s), ", and the session is whole when that one ends"));
  }
  live_->AllKindsAreListed();
  live_->ForgetLastCheck();
  feed_.OnWhole(ClockS());
  ++revision_;
  return absl::OkStatus();
}

void SessionCluster::ForgetLoadsAssumption() {
  if (live_->options().assume_complete == assume_complete_) return;
  live_->SetAssumeComplete(assume_complete_);
  SetAssumeComplete(assume_complete_, settings_);
}

uint64_t SessionCluster::BeginFeed() {
  ++revision_;
  return feed_.Begin();
}

void SessionCluster::EndFeed(uint64_t feeder) {
  feed_.End(feeder, ClockS());
  ++revision_;
}

void SessionCluster::SetBrokenWatches(uint64_t feeder, const wire::BrokenWatches& watches) {
  std::vector<BrokenWatch> broken;
  for (const wire::BrokenWatch& each : watches.watches()) {
    broken.push_back(
        {.kind = each.kind(), .since_s = each.since(), .never_listed = each.never_listed()});
  }
  const size_t unseen = feed_.At(ClockS()).broken.size();
  feed_.SetBroken(feeder, std::move(broken));
  // What a repaired watch lists now may have changed while it was broken.
  if (feed_.At(ClockS()).broken.size() < unseen) ++gaps_;
  ++revision_;
}

void SessionCluster::SetServerVersion(std::string_view git_version) {
  const std::optional<KubernetesVersion> version = KubernetesVersionOf(git_version);
  if (!version || version == server_version_) return;
  server_version_ = version;
  live_->SetServerVersion(*version);
  Changed();
}

void SessionCluster::NoteGap(std::optional<uint64_t> feeder) {
  if (feed_.is_whole() && !feed_.IsFedBeside(feeder)) ++gaps_;
}

absl::StatusOr<uint64_t> SessionCluster::EndResync(uint64_t resync,
                                                   std::optional<uint64_t> feeder) {
  const auto named = resyncs_.find(resync);
  if (named == resyncs_.end()) {
    return absl::AbortedError("the resync is over: the cluster was loaded again");
  }
  ChangeBatch deletions;
  MissingSink missing(named->second.named, deletions);
  if (absl::Status s = live_->ExportAll(missing); !s.ok()) return s;
  const uint64_t before = live_->counts().deleted;
  if (absl::Status s = live_->Take(deletions.changes()); !s.ok()) return s;
  resyncs_.erase(named);
  TakeUnevaluated(deletions);
  NoteNodesBrought();
  NoteGap(feeder);
  feed_.OnWhole(ClockS());
  live_->AllKindsAreListed();  // A resync lists all objects of the cluster.
  live_->ForgetLastCheck();
  ForgetLoadsAssumption();
  Changed();
  return live_->counts().deleted - before;
}

absl::StatusOr<std::unique_ptr<LiveCluster>> SessionCluster::ReadDump(std::string_view dump,
                                                                      LoadOptions load) {
  load.allow_incomplete = true;  // If something is missing, questions are rejected, but not dumps.
  load.limits.bytes_max = options_.dump_bytes_max;
  const Parallelism parallelism(options_.threads);
  auto loaded =
      LiveCluster::FromUnchangedDump("dump", dump, load, LiveOptionsOf(load), parallelism);
  if (loaded.status().code() == absl::StatusCode::kResourceExhausted) {
    // The message names the flag of `ebb plan`, which has another name here.
    return absl::ResourceExhaustedError(
        absl::StrReplaceAll(loaded.status().message(), {{"--max-input-bytes", "--max-dump"}}));
  }
  if (!loaded.ok()) return loaded.status();
  if ((*loaded)->Objects() > options_.objects_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("objects: the dump has ", Count((*loaded)->Objects(), "object", "objects"),
                     "; --max-objects allows ", WithCommas(options_.objects_max)));
  }
  return loaded;
}

absl::StatusOr<wire::LoadReply> SessionCluster::Load(std::string_view dump,
                                                     const wire::Settings* settings,
                                                     std::string_view cluster_uid) {
  if (absl::Status s = CheckCluster(cluster_uid, ChangeBatch()); !s.ok()) return s;
  std::optional<SessionSettings> effective;
  if (settings != nullptr) {
    absl::StatusOr<SessionSettings> parsed = ParseSettings(*settings, options_);
    if (!parsed.ok()) return parsed.status();
    effective = *std::move(parsed);
  }
  auto loaded = ReadDump(dump, effective ? effective->options.load : live_->options());
  if (!loaded.ok()) return loaded.status();
  const std::string of_dump((*loaded)->UidOfNamespace("kube-system"));
  if (absl::Status s = CheckDumpIsOf(cluster_uid, of_dump); !s.ok()) return s;
  live_ = *std::move(loaded);
  ++replaced_;
  // The old version may belong to another cluster.
  if (feed_.feeders() == 0) server_version_.reset();
  if (server_version_) live_->SetServerVersion(*server_version_);
  if (effective) settings_ = *std::move(effective);
  resyncs_.clear();
  feed_.OnLoad(ClockS());
  if (feed_.feeders() == 0) feed_.ForgetCluster();
  feed_.KeepTo(cluster_uid.empty() ? std::string_view(of_dump) : cluster_uid);
  Changed();
  wire::LoadReply reply;
  reply.set_version(version_);
  reply.set_nodes(live_->Nodes());
  reply.set_pods(live_->Pods());
  reply.set_cluster_token(Token());
  return reply;
}

std::string SessionCluster::Token() const { return absl::StrCat(id_, "-", revision_); }

absl::Status SessionCluster::CheckToken(std::string_view token) const {
  if (token.empty() || token == Token()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      "session ", name_,
      " holds another cluster than the one that was loaded: another client loaded or changed it "
      "meanwhile; name a session of your own (--session) or ask again"));
}

// A session that is being fed may not become another cluster.
absl::Status SessionCluster::CheckDumpIsOf(std::string_view cluster_uid,
                                           std::string_view of_dump) const {
  if (options_.host_fills) return absl::OkStatus();
  if (!cluster_uid.empty() && !of_dump.empty() && cluster_uid != of_dump) {
    return absl::FailedPreconditionError(
        absl::StrCat("cluster_uid: is ", Printable(cluster_uid),
                     ", and Namespace kube-system of the dump has the UID ", Printable(of_dump)));
  }
  if (feed_.feeders() == 0 && resyncs_.empty()) return absl::OkStatus();
  if (absl::Status s = feed_.CheckCluster(of_dump); !s.ok()) return s;
  const std::string& uid = feed_.cluster_uid();
  if (!uid.empty() && (of_dump == uid || cluster_uid == uid)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "dump: session ", name_,
      ": a stream feeds or resyncs it, and nothing says that the dump is "
      "of the same cluster: ",
      uid.empty() ? "the session does not know its cluster's UID"
                  : absl::StrCat("it has no namespace kube-system, and cluster_uid is not ",
                                 Printable(uid)),
      "; load it into another session"));
}

// --- Answers -------------------------------------------------------------------------

absl::Status SessionCluster::CheckAnswers(std::optional<double> max_age_seconds) const {
  if (options_.host_fills) return absl::OkStatus();
  const SessionFeed::Counts counts{
      .objects = live_->Objects(), .nodes = live_->Nodes(), .pods = live_->Pods()};
  if (absl::Status s = feed_.CheckWhole(counts); !s.ok()) return s;
  return feed_.CheckAge(max_age_seconds, ClockS());
}

std::optional<PlanSession> SessionCluster::AgeForPlans() const {
  if (options_.host_fills || !feed_.KnowsAge(ClockS())) return std::nullopt;
  const FeedAge age = feed_.At(ClockS());
  PlanSession session{.name = name_,
                      .as_of_s = age.as_of_s,
                      .not_fed_since_s = age.not_fed_since_s,
                      .cluster_uid = feed_.cluster_uid(),
                      .broken_watches = {}};
  for (const BrokenWatch& watch : age.broken) {
    if (watch.never_listed) continue;  // A warning names such a kind.
    session.broken_watches.emplace_back(watch.kind, watch.since_s);
  }
  return session;
}

wire::Freshness SessionCluster::Freshness() const {
  wire::Freshness freshness;
  if (options_.host_fills) return freshness;
  const FeedAge age = feed_.At(ClockS());
  freshness.set_as_of(age.as_of_s);
  if (age.not_fed_since_s) freshness.set_not_fed_since(*age.not_fed_since_s);
  freshness.set_cluster_uid(feed_.cluster_uid());
  for (const BrokenWatch& watch : age.broken) {
    wire::BrokenWatch& broken = *freshness.add_broken_watches();
    broken.set_kind(watch.kind);
    broken.set_since(watch.since_s);
    broken.set_never_listed(watch.never_listed);
  }
  return freshness;
}

std::vector<InputWarning> SessionCluster::FeedWarnings() const {
  return options_.host_fills ? std::vector<InputWarning>() : feed_.WarningsAt(ClockS());
}

void SessionCluster::AddFeedWarnings(LoadedCluster& cluster) const {
  std::ranges::move(FeedWarnings(), std::back_inserter(cluster.warnings));
}

absl::StatusOr<LoadedCluster> SessionCluster::Checked(bool allow_incomplete, Use use) {
  const bool allowed = allow_incomplete || options_.allow_incomplete;
  const bool carried_out = use == Use::kCarriedOut;
  absl::StatusOr<LoadedCluster> checked = live_->CheckedRecentlyHere();
  absl::Status possible = checked.status();
  if (possible.ok() && carried_out && !allowed) possible = CheckSaidToBeWhole();
  if (possible.ok()) {
    possible = carried_out ? CheckMayBeCarriedOut(checked->warnings, allowed)
                           : CheckWhole(checked->warnings, allowed);
  }
  if (possible.ok()) return checked;
  return absl::FailedPreconditionError(absl::StrCat("session ", name_, ": ", possible.message()));
}

absl::Status SessionCluster::CheckSaidToBeWhole() const {
  if (options_.host_fills || feed_.fill() != SessionFeed::Fill::kMaybeIncomplete) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "batches of changes filled it, and no client has said that they are the whole cluster (by a "
      "resync, or by `whole` in a message of Sync); ebb shows a plan of what may be a part of a "
      "cluster, and carries it out only with --allow-incomplete (allow_incomplete)");
}

PlanTime SessionCluster::TimeToPlan() const { return TimeToPlanFor(ClockS(), live_->NewestTime()); }

absl::StatusOr<ScratchCluster> SessionCluster::ScratchCopy(const LoadedCluster& checked) {
  return ScratchCluster::Of(*live_, checked);
}

absl::StatusOr<RoundSource> SessionCluster::Source(const RoundSettings& settings,
                                                   const std::optional<ScaleDownState>& before,
                                                   RoundObjects objects) {
  return live_->Source(settings, before, objects);
}

absl::Status SessionCluster::Export(const std::function<absl::Status(std::string_view)>& write) {
  if (absl::Status s = CheckAnswers(); !s.ok()) return s;
  BinarySnapshotWriter writer(write);
  if (absl::Status s = live_->ExportAll(writer); !s.ok()) return s;
  return writer.Finish();
}

}  // namespace ebb
