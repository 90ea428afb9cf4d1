#include "service/session/session.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/figures.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/time_range.h"
#include "engine/actuation/deletion_orders.h"
#include "engine/verify.h"
#include "service/explain.h"
#include "service/filter_report.h"
#include "service/plan_json.h"
#include "service/plan_time.h"
#include "service/planning/plan_answer.h"
#include "service/round_report.h"
#include "service/session/wire_pass.h"
#include "service/session/wire_query.h"
#include "service/session/wire_report.h"
#include "service/session/wire_sizing.h"
#include "service/session/wire_tables.h"
#include "service/session/wire_unremovable.h"
#include "service/session/wire_what_if.h"
#include "snapshot/any_object_sink.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/rfc3339.h"
#include "snapshot/import/incomplete.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// "Pod default/web-0", as the key of an object in a resync.
std::string KeyOfObject(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  return absl::StrCat(Absl(objects::KindOf(object)), " ", Absl(meta.namespace_name), "/",
                      Absl(meta.name));
}

std::string KeyOfObject(const ObjectSink::Unevaluated& object) {
  return absl::StrCat(Absl(object.kind), " ", Absl(object.namespace_name), "/", Absl(object.name));
}

// Whether the time of a call has ended.
bool IsOver(const Deadline* stops) { return stops != nullptr && stops->Expired(); }
absl::Status TimeIsOver() {
  return absl::DeadlineExceededError("the call's deadline has passed, or its client has gone");
}

bool IsNode(const Change& change) {
  return std::holds_alternative<const objects::Node*>(change.object);
}

// Names the objects that it is handed and that are not in `named`, for their deletion.
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

// That a call takes the form.
absl::Status CheckForm(wire::Form form, std::initializer_list<wire::Form> taken,
                       std::string_view call) {
  if (std::ranges::find(taken, form) != taken.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("form: ", wire::Form_IsValid(form) ? wire::Form_Name(form) : absl::StrCat(form),
                   " is not a form of ", Absl(call)));
}

// `patch` over `json`, member by member.
void Merge(const Json& patch, Json& json) {
  for (const auto& [key, value] : patch.items()) {
    if (value.is_object() && json.contains(key) && json[key].is_object()) {
      Merge(value, json[key]);
    } else {
      json[key] = value;
    }
  }
}

absl::StatusOr<RoundOptions> ParseOptionsOf(const google::protobuf::Struct& given) {
  if (given.fields().empty()) return RoundOptions();
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(given, &text);
  const Json patch = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!printed.ok() || !patch.is_object()) {
    return absl::InvalidArgumentError("settings: options: is not a JSON object");
  }
  Json options = OptionsJson(RoundOptions());
  Merge(patch, options);
  return ParseOptions("settings", options);
}

bool SaysHowToLoad(const wire::Settings& settings) {
  return settings.options().fields().contains("load");
}

void Lay(const google::protobuf::Struct& over, google::protobuf::Struct& options) {
  for (const auto& [name, value] : over.fields()) {
    google::protobuf::Value& there = (*options.mutable_fields())[name];
    if (value.has_struct_value() && there.has_struct_value()) {
      Lay(value.struct_value(), *there.mutable_struct_value());
    } else {
      there = value;
    }
  }
}

wire::Settings LaidOver(wire::Settings settings, const wire::Settings& over) {
  Lay(over.options(), *settings.mutable_options());
  if (!over.node_groups().empty()) {
    settings.set_node_groups(over.node_groups());
    settings.set_node_groups_name(over.node_groups_name());
  }
  absl::flat_hash_set<std::string_view> named;
  for (const wire::GroupSize& size : over.group_sizes()) named.insert(size.name());
  auto& sizes = *settings.mutable_group_sizes();
  const auto is_named = [&](const wire::GroupSize& size) { return named.contains(size.name()); };
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), is_named), sizes.end());
  sizes.MergeFrom(over.group_sizes());
  return settings;
}

// The autoscaler's planner places pods by the scheduler's rules alone.
class BareRules {
 public:
  explicit BareRules(ClusterSnapshot& snapshot)
      : snapshot_(snapshot), matched_os_(snapshot.matches_os()) {
    snapshot.SetMatchOs(false);
  }
  ~BareRules() { snapshot_.SetMatchOs(matched_os_); }
  BareRules(const BareRules&) = delete;
  BareRules& operator=(const BareRules&) = delete;

 private:
  ClusterSnapshot& snapshot_;
  const bool matched_os_;
};

}  // namespace

absl::Status PutOptions(const Json& options, wire::Settings& settings) {
  const auto put =
      google::protobuf::util::JsonStringToMessage(CompactJson(options), settings.mutable_options());
  return put.ok() ? absl::OkStatus() : absl::InternalError("options that are not JSON");
}

absl::Status CheckSessionName(std::string_view name, std::string_view field) {
  constexpr size_t kLengthMax = 63;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool good =
      !name.empty() && name.size() <= kLengthMax && letter(name.front()) && letter(name.back()) &&
      std::ranges::all_of(name, [&](char c) { return letter(c) || c == '-' || c == '.'; });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Absl(field), ": \"", Printable(name.substr(0, 2 * kLengthMax)),
      "\" is not a name; a name has 1 to ", kLengthMax,
      " lower-case letters, digits, - and ., and begins and ends with a letter or digit"));
}

Session::Session(std::string name, const SessionOptions& options)
    : name_(std::move(name)),
      options_(options),
      cluster_(NewCluster({.assume_complete = options.as_given})),
      assume_complete_(options.as_given),
      feed_(name_) {}

LiveSnapshot::Options Session::HoldingOf(const LoadOptions& load) const {
  if (!options_.as_given) return LiveCluster::HoldingOf(load);
  return {.expendable_pods_priority_cutoff = std::numeric_limits<int64_t>::min(),
          .bypassed_schedulers = load.bypassed_schedulers,
          .keep_ended_pods = true,
          .unknown_namespaces = LiveSnapshot::Options::UnknownNamespaces::kHaveNoLabels,
          .renew_texts = true,
          .match_os = load.match_os,
          .kubernetes_version = load.kubernetes_version};
}

std::unique_ptr<LiveCluster> Session::NewCluster(const LoadOptions& load) const {
  auto cluster = std::make_unique<LiveCluster>(load, HoldingOf(load));
  cluster->SetSource(InputSource::kFeeder);  // A dump makes one of its own (Load).
  if (server_version_) cluster->SetServerVersion(*server_version_);
  return cluster;
}

wire::SessionStatus Session::Status() {
  const LiveCounts& counts = cluster_->counts();
  wire::SessionStatus status;
  status.set_session(name_);
  status.set_version(version_);
  status.set_nodes(cluster_->Nodes());
  status.set_pods(cluster_->Pods());
  status.set_put(counts.put);
  status.set_deleted(counts.deleted);
  status.set_unchanged(counts.unchanged);
  status.set_older(counts.older);
  status.set_unknown_deletes(counts.unknown_deletes);
  status.set_rebuilds(counts.AllRebuilds());
  status.set_plans(plans_);
  if (driver_ == nullptr) {
    status.set_rounds(RoundsBefore());
  } else if (driver_->before()) {
    status.set_rounds(driver_->before()->rounds);
  }
  if (last_plan_version_) {
    status.set_last_plan_version(*last_plan_version_);
    status.set_last_plan_removes(last_plan_removes_);
    status.set_last_plan_seconds(last_plan_seconds_);
  }
  if (last_round_) {
    *status.mutable_unremovable() = last_round_->unremovable;
    status.set_last_round_at(last_round_->at_s);
  }
  status.mutable_ignored_kinds()->insert(ignored_.begin(), ignored_.end());
  status.set_feeds(feed_.feeders());
  // The numbers of both enums are the same.
  status.set_fill(static_cast<wire::SessionStatus::Fill>(feed_.fill()));
  if (const auto since_s = feed_.filling_since_s()) status.set_filling_since(*since_s);
  status.set_objects(cluster_->Objects());
  status.set_cluster_uid(feed_.cluster_uid());
  const FeedAge age = feed_.At(ClockS());
  if (age.not_fed_since_s && cluster_->Objects() > 0) {
    status.set_as_of(age.as_of_s);
    status.set_not_fed_since(*age.not_fed_since_s);
  }
  return status;
}

// --- Settings ------------------------------------------------------------------------

absl::StatusOr<Session::Effective> Session::Parse(const wire::Settings& settings) const {
  absl::StatusOr<RoundOptions> options = ParseOptionsOf(settings.options());
  if (!options.ok()) return options.status();
  Effective effective{.given = settings, .options = *std::move(options), .texts = {}, .groups = {}};
  effective.options.load.limits.bytes_max = options_.dump_bytes_max;
  effective.options.load.assume_complete |= options_.as_given;
  if (!settings.node_groups().empty()) {
    effective.texts.groups = NamedText{
        settings.node_groups_name().empty() ? "settings.node_groups" : settings.node_groups_name(),
        settings.node_groups()};
  }
  for (const wire::GroupSize& size : settings.group_sizes()) {
    if (!ReadCloudGroupName(size.name()) || size.min_size() < 0 ||
        size.max_size() < size.min_size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "settings.group_sizes: ", Printable(size.name()),
          ": needs a name as --nodes takes it, without MIN:MAX:, and 0 <= min_size <= max_size"));
    }
    effective.texts.group_sizes.push_back(
        {.name = size.name(), .min_size = size.min_size(), .max_size = size.max_size()});
  }
  absl::StatusOr<RoundSettings> made = MakeSettings(effective.options, effective.texts);
  if (!made.ok()) return made.status();
  effective.groups = std::move(made->groups);
  return effective;
}

absl::Status Session::SetSettings(const wire::Settings& settings) {
  absl::StatusOr<Effective> effective = Parse(settings);
  if (!effective.ok()) return effective.status();
  if (!SaysHowToLoad(settings)) effective->options.load = cluster_->options();
  if (!SameLoad(effective->options.load, cluster_->options())) {
    if (cluster_->Objects() > 0) {
      return absl::FailedPreconditionError(
          "settings: options.load: cannot change while the session has objects; Load them with it");
    }
    cluster_ = NewCluster(effective->options.load);
  }
  settings_ = *std::move(effective);
  if (SaysHowToLoad(settings)) assume_complete_ = settings_.options.load.assume_complete;
  ++revision_;
  answers_.clear();
  return absl::OkStatus();
}

absl::StatusOr<const Session::Effective*> Session::SettingsOf(
    const wire::PlanInput& input, std::optional<Effective>& parsed) const {
  if (!input.has_settings()) return &settings_;
  const wire::Settings settings = input.settings_over_session()
                                      ? LaidOver(settings_.given, input.settings())
                                      : input.settings();
  absl::StatusOr<Effective> effective = Parse(settings);
  if (!effective.ok()) return effective.status();
  if (!SaysHowToLoad(settings)) effective->options.load = cluster_->options();
  if (!SameLoad(effective->options.load, cluster_->options())) {
    return absl::InvalidArgumentError(
        "settings: options.load: is not as the session's; Load the cluster with it");
  }
  parsed = *std::move(effective);
  return &*parsed;
}

// --- Changes -------------------------------------------------------------------------

void Session::Changed() {
  ++version_;
  ++revision_;
  answers_.clear();
}

absl::Status CheckMemory(const SessionOptions& options) {
  if (options.memory_bytes_max == 0 || options.resident_bytes() <= options.memory_bytes_max) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory: the daemon has more than ", options.memory_bytes_max, " bytes, --max-memory"));
}

absl::Status Session::CheckRoom(std::span<const Change> changes) {
  // Deletions alone are always taken: they make room.
  const auto is_put = [](const Change& each) { return each.type == Change::Type::kPut; };
  if (std::ranges::none_of(changes, is_put)) return absl::OkStatus();
  if (absl::Status s = CheckMemory(options_); !s.ok()) return s;
  if (cluster_->Objects() + changes.size() <= options_.objects_max) return absl::OkStatus();
  uint64_t objects = cluster_->Objects();
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> deleted;
  for (const Change& change : changes) {
    const bool held = cluster_->Holds(change.object);
    if (is_put(change) && !held) ++objects;
    if (is_put(change) || !held) continue;
    const objects::ObjectMeta& meta = objects::MetaOf(change.object);
    const bool first =
        deleted.emplace(objects::KindOf(change.object), meta.namespace_name, meta.name).second;
    if (first) --objects;
  }
  if (objects <= std::max<uint64_t>(options_.objects_max, cluster_->Objects())) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("objects: session ", name_, " would hold ", Count(objects, "object", "objects"),
                   "; --max-objects allows ", WithCommas(options_.objects_max)));
}

int64_t Session::ClockS() const { return options_.clock_s == nullptr ? 0 : options_.clock_s(); }

absl::Status Session::Take(const ChangeBatch& batch, std::optional<uint64_t> resync) {
  if (absl::Status s = CheckRoom(batch.changes()); !s.ok()) return s;
  if (absl::Status s = CheckCluster("", batch); !s.ok()) return s;
  absl::flat_hash_set<std::string> new_nodes;
  if (resync && feed_.is_whole()) new_nodes = NewNodes(batch);
  const OlderObjects older = resync ? OlderObjects::kTake : OlderObjects::kPassOver;
  if (absl::Status s = cluster_->Take(batch.changes(), older); !s.ok()) return s;
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

absl::flat_hash_set<std::string> Session::NewNodes(const ChangeBatch& batch) const {
  absl::flat_hash_set<std::string> nodes;
  for (const Change& change : batch.changes()) {
    if (change.type == Change::Type::kPut && IsNode(change) && !cluster_->Holds(change.object)) {
      nodes.emplace(objects::MetaOf(change.object).name);
    }
  }
  return nodes;
}

// A node that another client puts, or that is deleted, is no longer that of a resync alone.
void Session::NoteInResyncs(const ChangeBatch& batch, std::optional<uint64_t> of) {
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

void Session::TakeUnevaluated(const ChangeBatch& batch) {
  for (const auto& [type, object] : batch.unevaluated()) {
    const bool put = type == Change::Type::kPut;
    put ? cluster_->PutUnevaluated(object) : cluster_->EraseUnevaluated(object);
    for (auto& [unused, resync] : resyncs_) {
      put ? (void)resync.named.insert(KeyOfObject(object))
          : (void)resync.named.erase(KeyOfObject(object));
    }
  }
}

void Session::NoteNodesBrought() {
  std::optional<int64_t> since_s;
  for (const auto& [unused, resync] : resyncs_) {
    if (resync.new_nodes.empty()) continue;
    since_s = std::min(since_s.value_or(resync.since_s), resync.since_s);
  }
  feed_.SetBringsNodes(since_s);
}

absl::Status Session::CheckCluster(std::string_view cluster_uid, const ChangeBatch& batch) {
  if (options_.host_fills) return absl::OkStatus();
  // A session without objects and feeders may take any cluster.
  if (cluster_->Objects() == 0 && feed_.feeders() == 0 && resyncs_.empty()) feed_.ForgetCluster();
  const std::string_view of_batch = batch.ClusterUid();
  if (!cluster_uid.empty() && !of_batch.empty() && cluster_uid != of_batch) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cluster_uid: is ", Printable(cluster_uid),
        ", and Namespace kube-system of the message has the UID ", Printable(of_batch)));
  }
  if (absl::Status s = feed_.CheckCluster(cluster_uid); !s.ok()) return s;
  return feed_.CheckCluster(of_batch);
}

absl::Status Session::CheckNamesCluster(std::string_view cluster_uid, const ChangeBatch& batch,
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

void Session::KeepToCluster(std::string_view cluster_uid, std::optional<uint64_t> feeder) {
  if (feed_.cluster_uid().empty() && feed_.IsFedBeside(feeder)) return;
  feed_.KeepTo(cluster_uid);
}

uint64_t Session::BeginResync() {
  feed_.OnResync(ClockS(), cluster_->Objects() == 0);
  resyncs_.try_emplace(++last_resync_, Resync{.since_s = ClockS(), .named = {}, .new_nodes = {}});
  return last_resync_;
}

void Session::DropResync(uint64_t resync) {
  const auto dropped = resyncs_.find(resync);
  if (dropped == resyncs_.end()) return;
  ChangeBatch deletions;
  for (const std::string& node : dropped->second.new_nodes) {
    deletions.Delete(*ChangeBatch::NamesOf("Node"), "", node, "");
  }
  resyncs_.erase(dropped);
  // A deletion by name is never refused.
  if (!deletions.changes().empty() && cluster_->Take(deletions.changes()).ok()) {
    NoteInResyncs(deletions, std::nullopt);
    Changed();
  }
  NoteNodesBrought();
  ++revision_;
}

absl::Status Session::SayWhole(std::optional<uint64_t> resync) {
  for (const auto& [number, open] : resyncs_) {
    if (feed_.is_whole() || options_.host_fills || number == resync) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "whole: session ", name_, ": the first resync of another stream is open since ",
        FormatRfc3339(open.since_s), ", and the session is whole when that one ends"));
  }
  cluster_->AllKindsAreListed();
  cluster_->ForgetJudgement();
  feed_.OnWhole(ClockS());
  answers_.clear();
  ++revision_;
  return absl::OkStatus();
}

void Session::ForgetLoadsAssumption() {
  if (cluster_->options().assume_complete == assume_complete_) return;
  cluster_->SetAssumeComplete(assume_complete_);
  settings_.options.load.assume_complete = assume_complete_;
  auto& given = *settings_.given.mutable_options()->mutable_fields();
  const auto load = given.find("load");
  if (load != given.end() && load->second.has_struct_value()) {
    load->second.mutable_struct_value()->mutable_fields()->erase("assumeComplete");
    if (assume_complete_) {
      (*load->second.mutable_struct_value()->mutable_fields())["assumeComplete"].set_bool_value(
          true);
    }
  }
}

uint64_t Session::BeginFeed() {
  answers_.clear();
  ++revision_;
  return feed_.Begin();
}

void Session::EndFeed(uint64_t feeder) {
  feed_.End(feeder, ClockS());
  answers_.clear();
  ++revision_;
}

void Session::SetBrokenWatches(uint64_t feeder, const wire::BrokenWatches& watches) {
  std::vector<BrokenWatch> broken;
  for (const wire::BrokenWatch& each : watches.watches()) {
    broken.push_back(
        {.kind = each.kind(), .since_s = each.since(), .never_listed = each.never_listed()});
  }
  feed_.SetBroken(feeder, std::move(broken));
  answers_.clear();
  ++revision_;
}

void Session::SetServerVersion(std::string_view git_version) {
  const std::optional<KubernetesVersion> version = KubernetesVersionOf(git_version);
  if (!version || version == server_version_) return;
  server_version_ = version;
  cluster_->SetServerVersion(*version);
  Changed();
}

absl::StatusOr<uint64_t> Session::EndResync(uint64_t resync) {
  const auto named = resyncs_.find(resync);
  if (named == resyncs_.end()) {
    return absl::AbortedError("the resync is over: the cluster was loaded again");
  }
  ChangeBatch deletions;
  MissingSink missing(named->second.named, deletions);
  if (absl::Status s = cluster_->ExportAll(missing); !s.ok()) return s;
  const uint64_t before = cluster_->counts().deleted;
  if (absl::Status s = cluster_->Take(deletions.changes()); !s.ok()) return s;
  resyncs_.erase(named);
  TakeUnevaluated(deletions);
  NoteNodesBrought();
  feed_.OnWhole(ClockS());
  cluster_->AllKindsAreListed();  // A resync names everything that there is.
  cluster_->ForgetJudgement();
  ForgetLoadsAssumption();
  Changed();
  return cluster_->counts().deleted - before;
}

absl::StatusOr<wire::LoadReply> Session::Load(std::string_view dump, const wire::Settings* settings,
                                              std::string_view cluster_uid) {
  if (absl::Status s = CheckCluster(cluster_uid, ChangeBatch()); !s.ok()) return s;
  std::optional<Effective> effective;
  if (settings != nullptr) {
    absl::StatusOr<Effective> parsed = Parse(*settings);
    if (!parsed.ok()) return parsed.status();
    effective = *std::move(parsed);
  }
  LoadOptions load = effective ? effective->options.load : cluster_->options();
  load.allow_incomplete = true;  // Questions are refused where something is missing, and not dumps.
  load.limits.bytes_max = options_.dump_bytes_max;
  const Parallelism parallelism(options_.threads);
  auto loaded = LiveCluster::FromDump("dump", dump, load, HoldingOf(load), parallelism);
  if (loaded.status().code() == absl::StatusCode::kResourceExhausted) {
    // The flag of `ebb plan` is another here.
    return absl::ResourceExhaustedError(
        absl::StrReplaceAll(loaded.status().message(), {{"--max-input-bytes", "--max-dump"}}));
  }
  if (!loaded.ok()) return loaded.status();
  if ((*loaded)->Objects() > options_.objects_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("objects: the dump has ", Count((*loaded)->Objects(), "object", "objects"),
                     "; --max-objects allows ", WithCommas(options_.objects_max)));
  }
  const std::string of_dump((*loaded)->UidOfNamespace("kube-system"));
  if (absl::Status s = CheckDumpIsOf(cluster_uid, of_dump); !s.ok()) return s;
  cluster_ = *std::move(loaded);
  if (feed_.feeders() == 0) server_version_.reset();  // It may be of another cluster.
  if (server_version_) cluster_->SetServerVersion(*server_version_);
  if (effective) settings_ = *std::move(effective);
  resyncs_.clear();
  feed_.OnLoad(ClockS());
  if (feed_.feeders() == 0) feed_.ForgetCluster();
  feed_.KeepTo(cluster_uid.empty() ? std::string_view(of_dump) : cluster_uid);
  Changed();
  wire::LoadReply reply;
  reply.set_version(version_);
  reply.set_nodes(cluster_->Nodes());
  reply.set_pods(cluster_->Pods());
  return reply;
}

// What goes on being fed may not become another cluster.
absl::Status Session::CheckDumpIsOf(std::string_view cluster_uid, std::string_view of_dump) const {
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

absl::Status Session::CheckAnswers(std::optional<double> max_age_seconds) const {
  if (options_.host_fills) return absl::OkStatus();
  const SessionFeed::Counts counts{
      .objects = cluster_->Objects(), .nodes = cluster_->Nodes(), .pods = cluster_->Pods()};
  if (absl::Status s = feed_.CheckWhole(counts); !s.ok()) return s;
  return feed_.CheckAge(max_age_seconds, ClockS());
}

absl::Status Session::CheckAnswers(const wire::PlanInput& input) const {
  return CheckAnswers(input.has_max_age_seconds() ? std::optional(input.max_age_seconds())
                                                  : std::nullopt);
}

std::optional<PlanSession> Session::AgeForPlans() const {
  if (options_.host_fills || !feed_.TellsAge(ClockS())) return std::nullopt;
  const FeedAge age = feed_.At(ClockS());
  PlanSession session{.name = name_,
                      .as_of_s = age.as_of_s,
                      .not_fed_since_s = age.not_fed_since_s,
                      .cluster_uid = feed_.cluster_uid(),
                      .broken_watches = {}};
  for (const BrokenWatch& watch : age.broken) {
    if (watch.never_listed) continue;  // A warning names it.
    session.broken_watches.emplace_back(watch.kind, watch.since_s);
  }
  return session;
}

wire::Freshness Session::Freshness() const {
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

std::vector<InputWarning> Session::FeedWarnings() const {
  return options_.host_fills ? std::vector<InputWarning>() : feed_.WarningsAt(ClockS());
}

void Session::AddFeedWarnings(LoadedCluster& cluster) const {
  std::ranges::move(FeedWarnings(), std::back_inserter(cluster.warnings));
}

absl::StatusOr<LoadedCluster> Session::Judged(bool allow_incomplete, Use use) {
  const bool allowed = allow_incomplete || options_.allow_incomplete;
  const bool carried_out = use == Use::kCarriedOut;
  absl::StatusOr<LoadedCluster> judged = cluster_->JudgedLatelyHere();
  absl::Status possible = judged.status();
  if (possible.ok() && carried_out && !allowed) possible = CheckSaidToBeWhole();
  if (possible.ok()) {
    possible = carried_out ? CheckMayBeCarriedOut(judged->warnings, allowed)
                           : CheckWhole(judged->warnings, allowed);
  }
  if (possible.ok()) return judged;
  return absl::FailedPreconditionError(absl::StrCat("session ", name_, ": ", possible.message()));
}

absl::Status Session::CheckSaidToBeWhole() const {
  if (options_.host_fills || feed_.fill() != SessionFeed::Fill::kMaybeIncomplete) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "batches of changes filled it, and no client has said that they are the whole cluster (by a "
      "resync, or by `whole` in a message of Sync); ebb shows a plan of what may be a part of a "
      "cluster, and carries it out only with --allow-incomplete (allow_incomplete)");
}

absl::Status Session::WithReport(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                                 const std::function<absl::Status(const PlanReport&)>& tell) {
  return WithPlan(input, end, /*cancelled=*/nullptr, Use::kShown,
                  [&](const PlanContext& plan) { return tell(MakeReport(plan)); });
}

absl::StatusOr<PlanQuery> Session::QueryOver(const wire::PlanInput& input,
                                             std::optional<Clock::time_point> end,
                                             std::span<const InputWarning> others,
                                             const Effective& settings,
                                             LoadedCluster& cluster) const {
  const absl::StatusOr<int64_t> now_s = JudgeForPlan(
      settings.groups, others, input.has_now() ? std::optional<int64_t>(input.now()) : std::nullopt,
      ClockS(), cluster);
  if (!now_s.ok()) return now_s.status();
  absl::StatusOr<PlanQuery> query = ReadQuery(input, settings.options, settings.groups, end);
  if (query.ok()) query->now_s = *now_s;
  return query;
}

absl::StatusOr<Session::Asked> Session::Prepare(const wire::PlanInput& input,
                                                std::optional<Clock::time_point> end, Use use) {
  if (absl::Status s = CheckAnswers(input); !s.ok()) return s;
  std::optional<Effective> parsed;
  const absl::StatusOr<const Effective*> settings = SettingsOf(input, parsed);
  if (!settings.ok()) return settings.status();
  absl::StatusOr<LoadedCluster> judged = Judged(input.allow_incomplete(), use);
  if (!judged.ok()) return judged.status();
  std::vector<InputWarning> others = FeedWarnings();
  std::ranges::move(ReadWarnings(input), std::back_inserter(others));
  absl::StatusOr<PlanQuery> query = QueryOver(input, end, others, **settings, *judged);
  if (!query.ok()) return query.status();
  return Asked{.cluster = *std::move(judged), .query = *std::move(query)};
}

absl::Status Session::WithPlan(const wire::PlanInput& input, std::optional<Clock::time_point> end,
                               const Deadline* cancelled, Use use,
                               const std::function<absl::Status(const PlanContext&)>& tell) {
  const auto start = Clock::now();
  absl::StatusOr<Asked> asked = Prepare(input, end, use);
  if (!asked.ok()) return asked.status();
  const auto answer = AnswerPlan(asked->query, asked->cluster, {.cancelled = cancelled}, Threads());
  if (!answer.ok()) return answer.status();
  ++plans_;
  last_plan_version_ = version_;
  last_plan_removes_ = (*answer)->made.plan.remove.size();
  last_plan_seconds_ = SecondsSince(start);
  PlanContext context = (*answer)->Context();
  context.session = AgeForPlans();
  return tell(context);
}

int64_t Session::Now(const wire::PlanInput& input, LoadedCluster& cluster) const {
  const PlanTime time = input.has_now() ? PlanTime{.now_s = input.now()}
                                        : TimeToPlanFor(options_.clock_s(), cluster_->NewestTime());
  if (time.warning) cluster.warnings.push_back(*time.warning);
  if (auto warning = WarningOfAge(time.now_s, cluster)) cluster.warnings.push_back(*warning);
  return time.now_s;
}

namespace {

// The plan in the call's form.  What needs no report is answered without one: it takes as long as
// the pass.
void PutPlan(const PlanContext& context, const wire::PlanCall& call, wire::PlanReply& reply) {
  PutFigures(context, reply);
  switch (call.form()) {
    case wire::AS_DATA:
      return WritePassPlan(context.catalog(), context.made->plan, reply.mutable_data());
    case wire::AS_NAMES:
      for (const RemovableNode& node : context.made->plan.remove) {
        reply.add_names(std::string(context.catalog().NodeName(node.node)));
      }
      return;
    case wire::AS_TABLES:
      return PutTables(MakeReport(context), call.rows(), call.every_node(),
                       *reply.mutable_tables());
    default:
      reply.set_plan(IndentedJson(PlanJson(MakeReport(context))));
  }
}

}  // namespace

absl::StatusOr<wire::PlanReply> Session::Plan(const wire::PlanCall& call,
                                              std::optional<Clock::time_point> end,
                                              const Deadline* cancelled) {
  if (absl::Status s = CheckForm(
          call.form(), {wire::AS_JSON, wire::AS_DATA, wire::AS_NAMES, wire::AS_TABLES}, "Plan");
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckAnswers(call.input()); !s.ok()) return s;
  // An answer is for one second, as the plan tells its time.
  wire::PlanCall question = call;
  if (!question.input().has_now()) {
    question.mutable_input()->set_now(
        TimeToPlanFor(options_.clock_s(), cluster_->NewestTime()).now_s);
  }
  question.mutable_input()->clear_session();
  question.mutable_input()->clear_min_version();
  const wire::Freshness freshness = Freshness();
  // The cluster's age in the answer changes with time alone.
  const size_t said = feed_.WarningsAt(ClockS()).size() + (feed_.TellsAge(ClockS()) ? 1 : 0);
  const std::string key =
      absl::StrCat(question.SerializeAsString(), " ", freshness.SerializeAsString(), " ", said);
  for (const auto& [asked, answer] : answers_) {
    if (asked == key) return answer;
  }
  wire::PlanReply reply;
  bool cut = false;
  const auto tell = [&](const PlanContext& context) -> absl::Status {
    cut = context.made->plan.termination == Termination::kDeadline;
    reply.set_version(version_);
    if (!options_.host_fills) *reply.mutable_freshness() = freshness;
    PutPlan(context, call, reply);
    reply.set_tried_out(context.trials.has_value());
    return absl::OkStatus();
  };
  const Use use = call.form() == wire::AS_NAMES ? Use::kCarriedOut : Use::kShown;
  if (absl::Status s = WithPlan(call.input(), end, cancelled, use, tell); !s.ok()) return s;
  // Another search, other trials or another bound may find more in the time that they have.
  const wire::PlanInput& input = call.input();
  if (!cut && !input.has_search() && !input.bound() && !input.has_trials()) {
    answers_.emplace_back(key, reply);
    if (answers_.size() > kAnswersKept) answers_.pop_front();
  }
  return reply;
}

Planner& Session::PassPlanner(const PlannerOptions& options,
                              const std::shared_ptr<Symbols>& symbols) {
  if (passes_ != nullptr && passes_->options() == options && passes_symbols_ == symbols) {
    return *passes_;
  }
  auto planner = std::make_unique<Planner>(options);
  if (passes_ != nullptr) planner->Restore(passes_->Save(), symbols);
  passes_ = std::move(planner);
  passes_symbols_ = symbols;
  return *passes_;
}

template <typename Reply, typename Write>
absl::StatusOr<Reply> Session::MakePass(const wire::PlanInput& question,
                                        std::optional<Clock::time_point> end, Write write) {
  if (absl::Status s = CheckTaken(question, QuestionOf::kPass); !s.ok()) return s;
  if (absl::Status s = CheckAnswers(question); !s.ok()) return s;
  std::optional<Effective> parsed;
  const absl::StatusOr<const Effective*> settings = SettingsOf(question, parsed);
  if (!settings.ok()) return settings.status();
  if (absl::Status s = CheckNow(question); !s.ok()) return s;
  const auto ends = EndOf(question, end);
  if (!ends.ok()) return ends.status();
  ClusterSnapshot& snapshot = cluster_->Snapshot();
  const BareRules bare(snapshot);
  PassLists lists;
  absl::StatusOr<PassInput> pass = ReadPass(question, snapshot, (*settings)->groups, lists);
  if (!pass.ok()) return pass.status();
  if (!question.has_now()) {
    pass->now_s = TimeToPlanFor(options_.clock_s(), cluster_->NewestTime()).now_s;
  }
  std::optional<Deadlines> deadlines;
  if (*ends) {
    deadlines.emplace(**ends, kTimeOfCall);
    pass->deadline = &deadlines->passes_end;
  }
  const PlannerOptions& options = (*settings)->options.scale_down.planner;
  Planner& planner = PassPlanner(options, cluster_->symbols());
  const auto start = Clock::now();
  const absl::StatusOr<ebb::Plan> plan = planner.Pass(snapshot, lists.groups, *pass);
  if (!plan.ok()) return plan.status();
  Reply reply;
  reply.set_pass_seconds(SecondsSince(start));
  if (absl::Status s = Verify(snapshot, lists.groups, options, *pass, *plan); !s.ok()) return s;
  reply.set_version(version_);
  reply.set_now(pass->now_s);
  write(snapshot.catalog(), *plan, reply);
  return reply;
}

absl::StatusOr<wire::PassReply> Session::Pass(const wire::PlanInput& question,
                                              std::optional<Clock::time_point> end) {
  return MakePass<wire::PassReply>(
      question, end, [this](const Catalog& catalog, const ebb::Plan& plan, wire::PassReply& reply) {
        WritePassPlan(catalog, plan, reply.mutable_plan());
        if (!options_.host_fills) *reply.mutable_freshness() = Freshness();
      });
}

absl::StatusOr<wire::PassTable> Session::PassTable(const wire::PlanInput& question,
                                                   std::optional<Clock::time_point> end) {
  return MakePass<wire::PassTable>(
      question, end, [](const Catalog& catalog, const ebb::Plan& plan, wire::PassTable& reply) {
        WritePassTable(catalog, plan, &reply);
      });
}

absl::StatusOr<wire::ExplainReply> Session::Explain(const wire::ExplainCall& call,
                                                    std::optional<Clock::time_point> end,
                                                    const Deadline* stops) {
  if (call.nodes().empty()) return absl::InvalidArgumentError("nodes: names none");
  if (absl::Status s = CheckForm(call.form(), {wire::AS_JSON, wire::AS_TABLES}, "Explain");
      !s.ok()) {
    return s;
  }
  wire::ExplainReply reply;
  const auto put = [&](const PlanReport& report, std::span<const NodeId> nodes,
                       std::span<const Counterfactual> remedies) -> absl::Status {
    if (call.form() == wire::AS_TABLES) {
      PutExplanations(report, nodes, stops, reply);
      PutRemedies(remedies, reply);
    } else {
      PutExplainFigures(report, reply);
      Json json = ExplanationJson(report, nodes, stops);
      if (!IsOver(stops)) PutRemedies(remedies, json);  // Else nodes may be missing.
      reply.set_json(IndentedJson(json));
    }
    if (IsOver(stops)) return TimeIsOver();
    reply.set_version(version_);
    if (!options_.host_fills) *reply.mutable_freshness() = Freshness();
    return absl::OkStatus();
  };
  const auto tell = [&](const PlanReport& report) -> absl::Status {
    const std::vector<std::string> names(call.nodes().begin(), call.nodes().end());
    const absl::StatusOr<std::vector<NodeId>> nodes = FindNodes(report.context.catalog(), names);
    if (!nodes.ok()) return nodes.status();
    return put(report, *nodes, {});
  };
  const absl::Status explained =
      call.remedies() ? WithRemedies(call, end, stops, put) : WithReport(call.input(), end, tell);
  if (!explained.ok()) return explained;
  return reply;
}

absl::StatusOr<wire::FilterReply> Session::Filter(const wire::FilterCall& call,
                                                  const Deadline* stops) {
  if (call.pods().empty()) return absl::InvalidArgumentError("pods: names none");
  if (absl::Status s = CheckForm(call.form(), {wire::AS_JSON, wire::AS_TABLES}, "Filter");
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckAnswers(
          call.has_max_age_seconds() ? std::optional(call.max_age_seconds()) : std::nullopt);
      !s.ok()) {
    return s;
  }
  absl::StatusOr<LoadedCluster> cluster = Judged(call.allow_incomplete(), Use::kShown);
  if (!cluster.ok()) return cluster.status();
  AddFeedWarnings(*cluster);
  ClusterSnapshot& snapshot = cluster->snapshot;
  std::optional<NodeId> only;
  if (!call.node().empty()) {
    const absl::StatusOr<NodeId> found = snapshot.catalog().FindNode(call.node());
    if (!found.ok()) return found.status();
    only = *found;
  }
  const uint64_t pods = static_cast<uint64_t>(call.pods_size());
  const uint64_t nodes = only ? 1 : snapshot.nodes();
  if (pods * nodes > kVerdictsMax) {
    return absl::ResourceExhaustedError(absl::StrCat("pods: ", pods, " of them on ", nodes,
                                                     " nodes are more than ", kVerdictsMax,
                                                     " verdicts; ask of fewer, or of one node"));
  }
  wire::FilterReply reply;
  Json results = Json::array();
  for (const std::string& name : call.pods()) {
    if (IsOver(stops)) return TimeIsOver();
    const absl::StatusOr<PodId> pod = FindListedPod(*cluster, name);
    if (!pod.ok()) return pod.status();
    if (call.form() == wire::AS_TABLES) {
      PutVerdicts(snapshot, *pod, only, *reply.add_pods());
    } else {
      results.push_back(FilterJson(snapshot, *pod, only, FilterDetail::kEveryFilter));
    }
  }
  if (call.form() == wire::AS_JSON) reply.set_json(IndentedJson(Json{{"results", results}}));
  reply.set_version(version_);
  PutWarnings(cluster->warnings, reply);
  reply.set_left_out(LeftOutText(cluster->counts));
  if (!options_.host_fills) *reply.mutable_freshness() = Freshness();
  return reply;
}

absl::StatusOr<wire::PlanChange> Session::PlanChanges(const wire::PlanInput& input,
                                                      ToldPlan& told) {
  wire::PlanChange change;
  const auto tell = [&](const PlanReport& report) {
    const Json plan = PlanJson(report);
    ToldPlan now;
    now.told = true;
    now.is_fed = feed_.feeders() > 0;
    for (const Json& node : plan["remove"]) now.removes[node["node"]] = CompactJson(node);
    for (const Json& node : plan["keep"]) now.keeps[node["node"]] = CompactJson(node);
    const auto differs = [](const auto& before, const auto& entry) {
      const auto it = before.find(entry.first);
      return it == before.end() || it->second != entry.second;
    };
    for (const auto& entry : now.removes) {
      if (differs(told.removes, entry)) change.add_removes(entry.second);
    }
    for (const auto& entry : now.keeps) {
      if (differs(told.keeps, entry)) change.add_keeps(entry.second);
    }
    for (const auto* before : {&told.removes, &told.keeps}) {
      for (const auto& [node, unused] : *before) {
        if (!now.removes.contains(node) && !now.keeps.contains(node)) change.add_gone_nodes(node);
      }
    }
    change.set_version(version_);
    change.set_now(report.context.request->pass.now_s);
    change.set_whole(!told.told);
    change.set_remove_count(report.remove.size());
    if (!options_.host_fills) *change.mutable_freshness() = Freshness();
    told = std::move(now);
    return absl::OkStatus();
  };
  if (absl::Status s = WithReport(input, std::nullopt, tell); !s.ok()) return s;
  return change;
}

absl::Status Session::Export(const std::function<absl::Status(std::string_view)>& write) {
  if (absl::Status s = CheckAnswers(); !s.ok()) return s;
  BinarySnapshotWriter writer(write);
  if (absl::Status s = cluster_->ExportAll(writer); !s.ok()) return s;
  return writer.Finish();
}

// --- Rounds --------------------------------------------------------------------------

namespace {

// What is wrong with a file of the daemon's is no fault of the call's.
absl::Status As(absl::StatusCode code, const absl::Status& status) {
  const bool file = status.code() == absl::StatusCode::kInvalidArgument;
  return file ? absl::Status(code, status.message()) : status;
}

}  // namespace

int64_t Session::RoundsBefore() {
  if (rounds_before_) return *rounds_before_;
  rounds_before_ = 0;
  const std::string file = StateFile();
  std::error_code none;
  if (file.empty() || !std::filesystem::exists(file, none)) return 0;
  // A state file that cannot be read is told to whoever asks for a round.
  const auto driver = RoundDriver::Open({.state = file, .rounds_kept = options_.rounds_kept});
  if (driver.ok() && (*driver)->before()) rounds_before_ = (*driver)->before()->rounds;
  return *rounds_before_;
}

std::string Session::StateFile() const {
  if (!options_.state_file.empty()) return options_.state_file;
  return options_.state_folder.empty() ? ""
                                       : absl::StrCat(options_.state_folder, "/", name_, ".db");
}

absl::Status Session::OpenDriver() {
  if (driver_ != nullptr) return absl::OkStatus();
  const std::string file = StateFile();
  if (file.empty()) {
    return absl::FailedPreconditionError(
        "rounds want a folder for their state: `ebb serve --state-folder`, or state_folder in C "
        "and "
        "Go");
  }
  auto driver = RoundDriver::Open(
      {.state = file, .rounds_kept = options_.rounds_kept, .record = options_.record_file});
  if (!driver.ok()) return As(absl::StatusCode::kFailedPrecondition, driver.status());
  driver_ = *std::move(driver);
  return absl::OkStatus();
}

absl::Status Session::CheckMayMakeRound(const wire::RoundCall& call) const {
  // Loops that act on rounds go by this code.
  absl::Status answers = CheckAnswers(call.input());
  if (absl::IsUnavailable(answers)) return absl::FailedPreconditionError(answers.message());
  if (!answers.ok()) return answers;
  if (call.needs_feed() && feed_.feeders() == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "session ", name_, ": no client feeds it: no open Sync stream has ended a resync"));
  }
  return absl::OkStatus();
}

namespace {

void PutDeletions(const std::vector<DeletionOrder>& orders, wire::RoundReply& reply) {
  for (const DeletionOrder& order : orders) {
    wire::OrderedDeletion& told = *reply.add_deletions();
    told.set_node(order.node);
    told.set_uid(order.uid);
    told.set_group(order.group);
    told.set_drain(order.drain);
    told.set_batch_size(order.batch_size);
    for (const PlannedMove& move : order.moves) {
      wire::Move& to = *told.add_moves();
      to.mutable_pod()->set_namespace_(move.namespace_name);
      to.mutable_pod()->set_name(move.name);
      to.mutable_pod()->set_uid(move.uid);
      to.set_to(move.to);
    }
  }
}

// What the round is as data.
void PutRoundData(const MadeRound& round, const LoadedCluster& cluster, wire::RoundReply& reply) {
  const RoundResult& result = round.result;
  const Catalog& catalog = cluster.snapshot.catalog();
  const Json& delete_now = round.json->at("deleteNow");
  for (const Json& node : delete_now.at("empty")) reply.add_delete_empty(node);
  for (const Json& node : delete_now.at("drain")) reply.add_delete_drain(node);
  PutDeletions(OrdersOf(catalog, round.groups, result), reply);
  for (const NodeId node : result.soft_taints.taint) {
    reply.add_soft_taint(std::string(catalog.NodeName(node)));
  }
  for (const NodeId node : result.soft_taints.untaint) {
    reply.add_soft_untaint(std::string(catalog.NodeName(node)));
  }
  reply.set_round(round.number);
  reply.set_now(result.now_s);
  reply.set_status(std::string(ToString(result.status)));
  reply.set_message(Printable(RoundMessage(result)));
  reply.set_nodes(cluster.snapshot.nodes());
  reply.set_pending_pods(cluster.pending.size());
  reply.set_unneeded(result.unneeded.size());
  reply.set_in_deletion(static_cast<uint64_t>(round.deletions_in_progress));
  PutUnremovable(result.unremovable, *reply.mutable_unremovable());
}

// The groups of these nodes may not shrink in this round: they are at their minimum.  A replay is
// told the same.
absl::Status LeaveAlone(const google::protobuf::RepeatedPtrField<std::string>& nodes,
                        const Catalog& catalog, RoundSettings& settings) {
  if (nodes.empty()) return absl::OkStatus();
  const NodeGroups groups = AssignGroups(catalog, settings.groups);
  std::set<GroupId> left;
  for (const std::string& name : nodes) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    if (node.ok() && groups.Of(*node) != kNoGroup) left.insert(groups.Of(*node));
  }
  RoundTexts texts = settings.texts;
  for (const GroupId id : left) {
    const NodeGroup& group = groups.groups[Index(id)];
    texts.group_sizes.push_back(
        {.name = group.name, .min_size = group.target_size, .max_size = group.target_size});
  }
  absl::StatusOr<RoundSettings> made = MakeSettings(settings.options, std::move(texts));
  if (!made.ok()) return made.status();
  made->report = std::move(settings.report);
  settings = *std::move(made);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RoundSource> Session::SourceOf(const wire::RoundCall& call, RoundSettings& told) {
  const absl::StatusOr<LoadedCluster> judged =
      Judged(call.input().allow_incomplete(), Use::kCarriedOut);
  if (!judged.ok()) return judged.status();
  const RoundObjects objects =
      options_.record_file.empty() ? RoundObjects::kNone : RoundObjects::kForRecord;
  absl::StatusOr<RoundSource> source = cluster_->Source(told, driver_->before(), objects);
  if (!source.ok()) return source.status();
  source->cluster.warnings = judged->warnings;
  if (absl::Status s = driver_->CheckCluster(*source); !s.ok()) {
    return As(absl::StatusCode::kFailedPrecondition, s);
  }
  const Catalog& catalog = source->cluster.snapshot.catalog();
  // A group that had nodes in the first round may lose them all.
  if (!driver_->before()) {
    if (absl::Status s = CheckMinimums(catalog, told.groups); !s.ok()) return s;
  }
  AddGroupWarnings(catalog, told.groups, source->cluster.warnings);
  AddFeedWarnings(source->cluster);
  if (absl::Status s = LeaveAlone(call.left_alone(), catalog, told); !s.ok()) {
    return s;
  }
  return source;
}

absl::StatusOr<wire::RoundReply> Session::Round(const wire::RoundCall& call,
                                                std::optional<Clock::time_point> end) {
  if (absl::Status s = CheckTaken(call.input(), QuestionOf::kRound); !s.ok()) return s;
  if (absl::Status s = CheckForm(call.form(), {wire::AS_JSON, wire::AS_DATA}, "Round"); !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckMayMakeRound(call); !s.ok()) return s;
  std::optional<SizingState> sizing;
  if (call.has_sizing()) {
    absl::StatusOr<SizingState> read = ReadSizing(call.sizing());
    if (!read.ok()) return read.status();
    sizing = *std::move(read);
  }
  if (absl::Status s = OpenDriver(); !s.ok()) return s;
  std::optional<Effective> parsed;
  const absl::StatusOr<const Effective*> settings = SettingsOf(call.input(), parsed);
  if (!settings.ok()) return settings.status();
  RoundOptions options = (*settings)->options;
  // A record is replayed without the session.
  if (!options.load.kubernetes_version) options.load.kubernetes_version = server_version_;
  absl::StatusOr<RoundSettings> told = MakeSettings(options, (*settings)->texts);
  if (!told.ok()) return told.status();
  told->report = driver_->reports().With({});
  absl::StatusOr<RoundSource> source = SourceOf(call, *told);
  if (!source.ok()) return source.status();
  const int64_t now_s = Now(call.input(), source->cluster);
  if (now_s < 0) return absl::InvalidArgumentError("now: a round is not before 1970");
  if (absl::Status s = CheckNow(call.input()); !s.ok()) return s;
  const auto ends = EndOf(call.input(), end);
  if (!ends.ok()) return ends.status();
  std::optional<Deadlines> deadlines;
  if (*ends) deadlines.emplace(**ends, kTimeOfCall);
  const auto made = driver_->Make(*told, now_s, *source, *ends ? &deadlines->passes_end : nullptr);
  if (!made.ok()) return made.status();
  const MadeRound& round = **made;
  if (round.result.status == ScaleDownStatus::kError) {
    return absl::InternalError(round.result.message);
  }
  wire::RoundReply reply;
  if (call.form() == wire::AS_JSON) reply.set_json(IndentedJson(*round.json));
  // It is on disk before it is told.
  if (absl::Status s = driver_->Save(round, *source, std::move(sizing)); !s.ok()) {
    // The next call opens the file again: it may have been mended, deleted or restored.
    driver_.reset();
    return As(absl::StatusCode::kInternal, s);
  }
  reply.set_version(version_);
  if (!options_.host_fills) *reply.mutable_freshness() = Freshness();
  PutRoundData(round, source->cluster, reply);
  last_round_ = {.at_s = round.result.now_s, .unremovable = reply.unremovable()};
  PutWarnings(source->cluster.warnings, reply);
  for (const std::string& line : source->log) reply.add_log(PrintableLine(line));
  for (const std::string& line : round.log) reply.add_log(PrintableLine(line));
  return reply;
}

absl::StatusOr<wire::ActuationReply> Session::ReportActuation(const wire::ActuationReport& report) {
  if (absl::Status s = OpenDriver(); !s.ok()) return s;
  const absl::StatusOr<ReportUpdate> update = ReadReport(report);
  if (!update.ok()) return update.status();
  if (absl::Status s = driver_->Report(*update); !s.ok()) {
    if (absl::IsInternal(s)) driver_.reset();  // As Round.
    return s;
  }
  wire::ActuationReply reply;
  reply.set_in_progress(driver_->reports().in_progress().size());
  return reply;
}

absl::StatusOr<wire::SizingReply> Session::Sizing() {
  if (absl::Status s = OpenDriver(); !s.ok()) return s;
  wire::SizingReply reply;
  PutSizing(driver_->sizing(), *reply.mutable_sizing());
  return reply;
}

MetricsSnapshot Session::RoundMetrics() const {
  return driver_ == nullptr ? nullptr : driver_->CollectMetrics();
}

std::vector<Session::Timer> Session::Timers() const {
  std::vector<Timer> timers;
  if (driver_ == nullptr || !driver_->before()) return timers;
  for (const auto& timer : driver_->before()->timers) timers.push_back({timer.node, timer.since_s});
  return timers;
}

}  // namespace ebb
