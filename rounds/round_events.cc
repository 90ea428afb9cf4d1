#include "rounds/round_events.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "engine/displaced.h"
#include "engine/plan/node_standing.h"
#include "platform/settings_file.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/yaml_scalar.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kResults = std::to_array<const char*>(
    {"Ok", "FailedToMarkToBeDeleted", "FailedToEvictPods", "FailedToDelete", "Internal"});

std::string DeletionResults() { return absl::StrJoin(kResults, ", "); }

// --- Reading the file ---------------------------------------------------------------

// A scalar as JSON, typed by YAML's core schema; a quoted one is text.
Json ScalarJson(const YAML::Node& node) {
  if (node.Tag() == "!") return node.Scalar();
  if (IsOctalToSome(node.Scalar())) {
    throw YAML::RepresentationException(
        node.Mark(), node.Scalar() + " is octal to some readers of YAML and decimal to others");
  }
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  if (YAML::convert<int64_t>::decode(node, integer)) return integer;
  if (YAML::convert<double>::decode(node, real)) return real;
  if (node.Scalar() == "true" || node.Scalar() == "false") {
    YAML::convert<bool>::decode(node, boolean);
    return boolean;
  }
  return node.Scalar();
}

Json ToJson(const YAML::Node& node) {
  if (node.IsScalar()) return ScalarJson(node);
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& item : node) list.push_back(ToJson(item));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  Json map = Json::object();
  for (const auto& field : node) map[field.first.Scalar()] = ToJson(field.second);
  return map;
}

template <typename Item>
FieldReader<Item> Name(std::string Item::* field) {
  return [field](const YAML::Node& value, Item& item) { return ReadName(value, item.*field); };
}

template <typename Item>
FieldReader<Item> Time(std::optional<int64_t> Item::* field) {
  return [field](const YAML::Node& value, Item& item) -> std::string {
    item.*field = value.IsScalar() ? ParseRfc3339(value.Scalar()) : std::nullopt;
    return item.*field ? "" : Quoted(value) + " is not a time such as 2026-01-02T03:04:05Z";
  };
}

const FieldReaders<DeletionReport::ScaleUp>& ReadersOf(const DeletionReport::ScaleUp&) {
  using Item = DeletionReport::ScaleUp;
  static const auto* const readers =
      new FieldReaders<Item>{{"group", Name(&Item::group)}, {"at", Time(&Item::at_s)}};
  return *readers;
}

const FieldReaders<DeletionReport::Deletion>& ReadersOf(const DeletionReport::Deletion&) {
  using Item = DeletionReport::Deletion;
  static const auto* const readers =
      new FieldReaders<Item>{{"node", Name(&Item::node)},
                             {"group", Name(&Item::group)},
                             {"drained", [](const YAML::Node& value, Item& item) {
                                return ReadBool(value, item.drained.emplace());
                              }}};
  return *readers;
}

const FieldReaders<DeletionReport::DeletionResult>& ReadersOf(
    const DeletionReport::DeletionResult&) {
  using Item = DeletionReport::DeletionResult;
  static const auto* const readers =
      new FieldReaders<Item>{{"node", Name(&Item::node)},
                             {"group", Name(&Item::group)},
                             {"at", Time(&Item::at_s)},
                             {"result", [](const YAML::Node& value, Item& item) -> std::string {
                                if (!value.IsScalar() || !IsDeletionResult(value.Scalar())) {
                                  return absl::StrCat(Quoted(value), " ", NotADeletionResult());
                                }
                                item.result = value.Scalar();
                                return "";
                              }}};
  return *readers;
}

FieldReader<DeletionReport::Eviction> PodText(std::string EvictedPod::* field) {
  return [field](const YAML::Node& value, DeletionReport::Eviction& item) {
    return ReadName(value, item.pod.*field);
  };
}

const FieldReaders<DeletionReport::Eviction>& ReadersOf(const DeletionReport::Eviction&) {
  using Item = DeletionReport::Eviction;
  static const auto* const readers =
      new FieldReaders<Item>{{"namespace", PodText(&EvictedPod::namespace_name)},
                             {"name", PodText(&EvictedPod::name)},
                             {"uid", PodText(&EvictedPod::uid)},
                             {"at", Time(&Item::at_s)},
                             {"pod", [](const YAML::Node& value, Item& item) -> std::string {
                                if (!value.IsMap()) return "is not a Pod";
                                item.pod.object = CompactJson(ToJson(value));
                                return "";
                              }}};
  return *readers;
}

const FieldReaders<DeletionReport::Unregistered>& ReadersOf(const DeletionReport::Unregistered&) {
  using Item = DeletionReport::Unregistered;
  static const auto* const readers = new FieldReaders<Item>{
      {"group", Name(&Item::group)},
      {"count", [](const YAML::Node& value, Item& item) {
         item.count = AsInteger(value).value_or(-1);
         const bool is = item.count >= 0 && item.count <= kMachinesMax;
         return is ? std::string() : Quoted(value) + " is not a number of machines";
       }}};
  return *readers;
}

// Reads the identity of an evicted pod from the object of the eviction.
class PodIdentity final : public ObjectSink {
 public:
  explicit PodIdentity(EvictedPod& pod) : pod_(pod) {}
  absl::Status OnPod(const objects::Pod& pod) override {
    pod_.namespace_name = std::string(pod.meta.namespace_name);
    pod_.name = std::string(pod.meta.name);
    pod_.uid = std::string(pod.meta.uid);
    ++pods_;
    return absl::OkStatus();
  }
  absl::Status OnNode(const objects::Node&) override { return NotAPod(); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return NotAPod();
  }
  absl::Status OnController(const objects::Controller&) override { return NotAPod(); }
  absl::Status OnNamespace(const objects::Namespace&) override { return NotAPod(); }
  absl::Status OnIgnored(std::string_view) override { return NotAPod(); }
  [[nodiscard]] size_t pods() const { return pods_; }

 private:
  static absl::Status NotAPod() { return absl::InvalidArgumentError("is not a Pod"); }
  EvictedPod& pod_;
  size_t pods_ = 0;
};

// The field that an item lacks; "" if it is complete.
std::string Lacks(const DeletionReport::ScaleUp& item) { return item.group.empty() ? "group" : ""; }
std::string Lacks(const DeletionReport::Deletion& item) { return item.node.empty() ? "node" : ""; }
std::string Lacks(const DeletionReport::DeletionResult& item) {
  if (item.node.empty()) return "node";
  return item.result.empty() ? "result, which must be one of " + DeletionResults() : "";
}
std::string Lacks(const DeletionReport::Eviction& item) {
  if (!item.pod.object.empty()) return "";
  if (item.pod.namespace_name.empty()) return "namespace";
  return item.pod.name.empty() ? "name" : "";
}
std::string Lacks(const DeletionReport::Unregistered& item) {
  return item.group.empty() ? "group" : "";
}

// Completes an item after its fields are read.
template <typename Item>
absl::Status Complete(const std::string&, Item&) {
  return absl::OkStatus();
}
absl::Status Complete(const std::string& where, DeletionReport::Eviction& item) {
  if (item.pod.object.empty()) return absl::OkStatus();
  return NamePodOf(where + ".pod", item.pod);
}

template <typename Item>
absl::Status ParseItems(const std::string& file, const std::string& list, const YAML::Node& node,
                        std::vector<Item>& items) {
  if (!node.IsSequence()) return BadSetting(file, list, "is not a list");
  for (size_t i = 0; i < node.size(); ++i) {
    const std::string where = absl::StrCat(list, "[", i, "]");
    Item item;
    if (absl::Status s = ReadFields(file, where, node[i], ReadersOf(item), item); !s.ok()) return s;
    if (const std::string lacks = Lacks(item); !lacks.empty()) {
      return BadSetting(file, where, "has no " + lacks);
    }
    if (absl::Status s = Complete(absl::StrCat(file, ": ", where), item); !s.ok()) return s;
    items.push_back(std::move(item));
  }
  return absl::OkStatus();
}

absl::Status ParseNames(const std::string& file, const std::string& list, const YAML::Node& node,
                        std::vector<std::string>& names) {
  if (!node.IsSequence()) return BadSetting(file, list, "is not a list");
  for (size_t i = 0; i < node.size(); ++i) {
    const std::string wrong = ReadName(node[i], names.emplace_back());
    if (!wrong.empty()) return BadSetting(file, absl::StrCat(list, "[", i, "]"), wrong);
  }
  return absl::OkStatus();
}

// Checks that no node's deletion is both in progress and ended.
absl::Status CheckDeletions(const std::string& file, const DeletionReport& events) {
  std::set<std::string> ended;
  for (const auto& result : events.results) ended.insert(result.node);
  for (size_t i = 0; i < events.in_progress.size(); ++i) {
    if (!ended.contains(events.in_progress[i].node)) continue;
    return BadSetting(
        file, absl::StrCat("deletionsInProgress[", i, "]"),
        absl::StrCat("node ", events.in_progress[i].node, " is in deletionResults too"));
  }
  return absl::OkStatus();
}

absl::Status ParseDocument(const std::string& file, const YAML::Node& root,
                           DeletionReport& events) {
  if (root.IsNull()) return absl::OkStatus();
  if (!root.IsMap()) return BadSetting(file, "", "is not a map of events");
  for (const auto& field : root) {
    const std::string name = field.first.IsScalar() ? field.first.Scalar() : "";
    absl::Status status;
    if (name == "scaleUps") {
      status = ParseItems(file, name, field.second, events.scale_ups);
    } else if (name == "deletionsInProgress") {
      status = ParseItems(file, name, field.second, events.in_progress);
    } else if (name == "deletionResults") {
      status = ParseItems(file, name, field.second, events.results);
    } else if (name == "recentEvictions") {
      status = ParseItems(file, name, field.second, events.evictions);
    } else if (name == "unregisteredNodes") {
      status = ParseItems(file, name, field.second, events.unregistered);
    } else if (name == "unreadyNodes") {
      status = ParseNames(file, name, field.second, events.unready);
    } else {
      status =
          BadSetting(file, name,
                     NoSuchField(name, {"scaleUps", "deletionsInProgress", "deletionResults",
                                        "recentEvictions", "unreadyNodes", "unregisteredNodes"}));
    }
    if (!status.ok()) return status;
  }
  return CheckDeletions(file, events);
}

// Lines of one kind for a log: the first few, then the number of the others.
class FewLines {
 public:
  // `more`: what the other lines count, such as "pods" in "the same holds for 7 more pods".
  FewLines(std::string list, std::string more) : list_(std::move(list)), more_(std::move(more)) {}

  void Add(std::vector<std::string>& log, const std::string& line) {
    if (++lines_ <= kLinesMax)
      log.push_back(list_.empty() ? line : absl::StrCat(list_, ": ", line));
  }
  void End(std::vector<std::string>& log) const {
    if (lines_ <= kLinesMax) return;
    log.push_back(absl::StrCat(list_, list_.empty() ? "" : ": ", "the same holds for ",
                               lines_ - kLinesMax, " more ", more_));
  }

 private:
  static constexpr size_t kLinesMax = 10;

  std::string list_;
  std::string more_;
  size_t lines_ = 0;
};

// --- Reading a dump -----------------------------------------------------------------

std::string PodKey(std::string_view namespace_name, std::string_view name) {
  return absl::StrCat(Absl(namespace_name), "/", Absl(name));
}

// Passes the objects of a dump on, marks nodes as the events say, and records what the dump
// contains.
class EventSink final : public ObjectSink {
 public:
  EventSink(const std::vector<std::string>& unready, ObjectSink& sink) : sink_(sink) {
    for (const std::string& node : unready) unready_.emplace(node, false);
  }

  void LookFor(const EvictedPod& pod) {
    pods_.emplace(PodKey(pod.namespace_name, pod.name), false);
  }
  [[nodiscard]] bool Saw(const EvictedPod& pod) const {
    return pods_.at(PodKey(pod.namespace_name, pod.name));
  }
  [[nodiscard]] bool SawNode(const std::string& node) const { return unready_.at(node); }

  absl::Status OnNode(const objects::Node& node) override {
    const auto it = unready_.find(node.meta.name);
    if (it == unready_.end()) return sink_.OnNode(node);
    it->second = true;
    return sink_.OnNode(MarkedUnready(node));
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    if (!pods_.empty()) {
      const auto it = pods_.find(PodKey(pod.meta.namespace_name, pod.meta.name));
      if (it != pods_.end()) it->second = true;
    }
    return sink_.OnPod(pod);
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    return sink_.OnPodDisruptionBudget(budget);
  }
  absl::Status OnController(const objects::Controller& controller) override {
    return sink_.OnController(controller);
  }
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override {
    return sink_.OnNamespace(namespace_object);
  }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    return sink_.OnStorageObject(object);
  }

 private:
  ObjectSink& sink_;
  std::map<std::string, bool, std::less<>> unready_;  // By node, whether the dump contains it.
  absl::flat_hash_map<std::string, bool> pods_;       // By "namespace/name", likewise.
};

// Passes an evicted pod on as a pod that needs a node.
class EvictedPodSink final : public ObjectSink {
 public:
  explicit EvictedPodSink(ObjectSink& sink) : sink_(sink) {}
  absl::Status OnPod(const objects::Pod& pod) override {
    objects::Pod waiting = pod;
    waiting.node_name = {};
    waiting.nominated_node_name = {};
    waiting.phase = "Pending";
    waiting.meta.deletion_time.reset();
    waiting.scheduling = objects::Scheduling::kUnschedulable;
    return sink_.OnPod(waiting);
  }
  absl::Status OnNode(const objects::Node&) override { return absl::OkStatus(); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller&) override { return absl::OkStatus(); }
  absl::Status OnNamespace(const objects::Namespace&) override { return absl::OkStatus(); }

 private:
  ObjectSink& sink_;
};

// --- Writing events ------------------------------------------------------------------

void PutText(const char* field, const std::string& text, Json& item) {
  if (!text.empty()) item[field] = text;
}

void AddItem(Json& list, Json item, std::optional<int64_t> at_s) {
  if (at_s) item["at"] = FormatRfc3339(*at_s);
  list.push_back(std::move(item));
}

// --- Resolving ----------------------------------------------------------------------

class Resolver {
 public:
  Resolver(const DeletionReport& events, const ClusterSnapshot& snapshot, const NodeGroups& groups,
           int64_t now_s)
      : events_(events),
        snapshot_(snapshot),
        catalog_(snapshot.catalog()),
        groups_(groups),
        now_s_(now_s) {
    for (const NodeGroup& group : groups.groups) group_names_.insert(group.name);
  }

  ResolvedEvents Run() && {
    for (const auto& up : events_.scale_ups) {
      CheckGroup(up.group, unknown_groups_);
      Note(ScaleEventKind::kScaleUp, up.group, up.at_s);
    }
    for (const auto& result : events_.results) TakeResult(result);
    LogContradictions();
    TakeTaints();
    for (const auto& deletion : events_.in_progress) {
      Delete(deletion.node, deletion.group, deletion.drained);
    }
    for (auto& [node, deletion] : deletions_) {
      (deletion.drained ? result_.actuation.drained : result_.actuation.empty)
          .push_back({node, std::move(deletion.group)});
    }
    unknown_groups_.End(result_.log);
    groups_of_results_.End(result_.log);
    nodes_of_results_.End(result_.log);
    contradictions_.End(result_.log);
    late_.End(result_.log);
    for (const auto& eviction : events_.evictions) {
      EvictedPod& pod = result_.actuation.recent_evictions.emplace_back(eviction.pod);
      pod.evicted_at_s = AtOrBefore(eviction.at_s);
    }
    return std::move(result_);
  }

 private:
  struct Deletion {
    std::string group;
    bool drained;
  };

  NodeId Find(const std::string& node) const {
    const auto found = catalog_.FindNode(node);
    return found.ok() && snapshot_.Contains(*found) ? *found : kNoNode;
  }

  // The group of the node in the dump takes precedence over `said`.
  std::string GroupOf(NodeId node, const std::string& said) const {
    const NodeGroup* const group = node == kNoNode ? nullptr : groups_.Find(node);
    return group == nullptr ? said : group->name;
  }

  void CheckGroup(const std::string& group, FewLines& unknown) {
    if (group.empty() || group_names_.contains(group)) return;
    unknown.Add(result_.log, absl::StrCat("no node of group ", group, " is in the cluster"));
  }

  // A node whose deletion succeeded is expected to be gone, and may have been the last of its
  // group.
  void CheckNames(const DeletionReport::DeletionResult& result, NodeId node, bool ok) {
    if (node == kNoNode && ok) return;
    CheckGroup(result.group, groups_of_results_);
    if (node != kNoNode) return;
    nodes_of_results_.Add(
        result_.log,
        absl::StrCat("node ", result.node, " is not in the cluster; its ", result.result,
                     " begins the cooldown after failures all the same"));
  }

  // Of a node that ended both ways.
  void LogContradictions() {
    for (const std::string& node : failed_) {
      if (!deleted_.contains(node)) continue;
      contradictions_.Add(result_.log,
                          absl::StrCat("node ", node,
                                       " has the result Ok and a failure: both begin their "
                                       "cooldowns, and the node takes no pods in this round"));
    }
  }

  int64_t AtOrBefore(std::optional<int64_t> at_s) const {
    return std::min(at_s.value_or(now_s_), now_s_);
  }

  void Note(ScaleEventKind kind, std::string group, std::optional<int64_t> at_s) {
    if (at_s && *at_s > now_s_) {
      late_.Add(result_.log, absl::StrCat("an event of ", FormatRfc3339(*at_s),
                                          " is later than the round; the round's time is used"));
    }
    result_.scale_events.push_back({kind, std::move(group), AtOrBefore(at_s)});
  }

  void TakeResult(const DeletionReport::DeletionResult& result) {
    const NodeId node = Find(result.node);
    const bool ok = result.result == "Ok";
    CheckNames(result, node, ok);
    Note(ok ? ScaleEventKind::kDeletion : ScaleEventKind::kFailedDeletion,
         GroupOf(node, result.group), result.at_s);
    result_.ended.push_back({result.node, ok});
    if (!ok) {
      result_.failed_deletions.push_back(result.result);
      failed_.insert(result.node);
      return;
    }
    deleted_.insert(result.node);
    if (node != kNoNode) {
      // The deletion ended, but the dump still has the node: nothing may be planned onto it.
      Delete(result.node, result.group, std::nullopt);
    }
  }

  void TakeTaints() {
    snapshot_.alive().ForEach([&](NodeId node) {
      if (!IsBeingDeleted(catalog_.node(node), now_s_)) return;
      const std::string name(catalog_.NodeName(node));
      if (!failed_.contains(name)) Delete(name, "", std::nullopt);
    });
  }

  void Delete(const std::string& name, const std::string& group, std::optional<bool> drained) {
    const NodeId node = Find(name);
    if (!drained) drained = node == kNoNode || !PodsToReplace(snapshot_, node, now_s_).empty();
    deletions_.insert_or_assign(name, Deletion{GroupOf(node, group), *drained});
  }

  const DeletionReport& events_;
  const ClusterSnapshot& snapshot_;
  const Catalog& catalog_;
  const NodeGroups& groups_;
  int64_t now_s_;
  std::set<std::string> group_names_;
  std::set<std::string> failed_;               // Nodes with such a result.
  std::set<std::string> deleted_;              // The same.
  std::map<std::string, Deletion> deletions_;  // By node.
  FewLines unknown_groups_{"scaleUps", "groups"};
  FewLines groups_of_results_{"deletionResults", "groups"};
  FewLines nodes_of_results_{"deletionResults", "nodes"};
  FewLines contradictions_{"deletionResults", "nodes"};
  FewLines late_{"", "events"};
  ResolvedEvents result_;
};

}  // namespace

bool IsDeletionResult(std::string_view result) {
  return std::ranges::find(kResults, result) != kResults.end();
}

std::string NotADeletionResult() { return "is not one of " + DeletionResults(); }

absl::Status NamePodOf(const std::string& where, EvictedPod& pod) {
  PodIdentity identity(pod);
  ImportStats stats;
  if (absl::Status s = ReadBytes(where, pod.object, identity, stats); !s.ok()) return s;
  if (identity.pods() != 1) return absl::InvalidArgumentError(where + ": is not a Pod");
  return absl::OkStatus();
}

absl::StatusOr<DeletionReport> ParseEvents(const std::string& file, const std::string& text) {
  DeletionReport events;
  absl::Status status = ParseSettings(
      file, text, [&](const YAML::Node& root) { return ParseDocument(file, root, events); },
      kDataLimits);
  if (!status.ok()) return status;
  return events;
}

std::string EventsText(const DeletionReport& report) {
  Json events = Json::object();
  for (const auto& each : report.scale_ups) {
    AddItem(events["scaleUps"], {{"group", each.group}}, each.at_s);
  }
  for (const auto& each : report.in_progress) {
    Json item = {{"node", each.node}};
    PutText("group", each.group, item);
    if (each.drained) item["drained"] = *each.drained;
    AddItem(events["deletionsInProgress"], std::move(item), std::nullopt);
  }
  for (const auto& each : report.results) {
    Json item = {{"node", each.node}, {"result", each.result}};
    PutText("group", each.group, item);
    AddItem(events["deletionResults"], std::move(item), each.at_s);
  }
  for (const auto& [pod, at_s] : report.evictions) {
    Json item = Json::object();
    if (!pod.object.empty()) item["pod"] = Json::parse(pod.object, nullptr, false);
    PutText("namespace", pod.namespace_name, item);
    PutText("name", pod.name, item);
    PutText("uid", pod.uid, item);
    AddItem(events["recentEvictions"], std::move(item), at_s);
  }
  if (!report.unready.empty()) events["unreadyNodes"] = report.unready;
  for (const auto& each : report.unregistered) {
    events["unregisteredNodes"].push_back({{"group", each.group}, {"count", each.count}});
  }
  return events.empty() ? "" : CompactJson(events);
}

objects::Node MarkedUnready(const objects::Node& node) {
  objects::Node marked = node;
  std::erase_if(marked.conditions, [](const auto& c) { return c.type == "Ready"; });
  marked.conditions.push_back({.type = "Ready", .status = "False"});
  return marked;
}

void LogUnknownUnready(const DeletionReport& report,
                       const std::function<bool(const std::string& node)>& is_there,
                       std::vector<std::string>& log) {
  FewLines unknown("unreadyNodes", "nodes");
  for (const std::string& node : std::set(report.unready.begin(), report.unready.end())) {
    if (!is_there(node)) unknown.Add(log, absl::StrCat("node ", node, " is not in the cluster"));
  }
  unknown.End(log);
}

absl::Status GiveEvictedPods(const std::string& file, const DeletionReport& report,
                             const std::vector<EvictedPod>& remembered,
                             const std::function<bool(const EvictedPod& pod)>& is_there,
                             ObjectSink& sink, std::vector<std::string>& log) {
  EvictedPodSink waiting(sink);
  ImportStats stats;
  absl::flat_hash_set<std::string> added;
  const auto give = [&](const EvictedPod& pod) -> absl::Status {
    std::string name = PodKey(pod.namespace_name, pod.name);
    if (pod.object.empty() || is_there(pod) || !added.insert(name).second) return absl::OkStatus();
    return ReadBytes(absl::StrCat(file, ": pod ", name), pod.object, waiting, stats);
  };
  FewLines without_room("recentEvictions", "pods");
  for (const auto& [pod, at_s] : report.evictions) {
    if (absl::Status s = give(pod); !s.ok()) return s;
    const std::string name = PodKey(pod.namespace_name, pod.name);
    if (!pod.object.empty() || is_there(pod) || added.contains(name)) continue;
    without_room.Add(log, absl::StrCat("pod ", name,
                                       " is not in the cluster and its object is not given: "
                                       "no room is kept for it"));
  }
  without_room.End(log);
  for (const EvictedPod& pod : remembered) {
    if (absl::Status s = give(pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ReadWithEvents(const std::string& file, const DeletionReport& report,
                            const std::vector<EvictedPod>& remembered, ObjectSink& sink,
                            const std::function<absl::Status(ObjectSink&)>& read,
                            std::vector<std::string>& log) {
  EventSink dump(report.unready, sink);
  for (const auto& eviction : report.evictions) dump.LookFor(eviction.pod);
  for (const EvictedPod& pod : remembered) dump.LookFor(pod);
  if (absl::Status s = read(dump); !s.ok()) return s;
  LogUnknownUnready(report, [&](const std::string& node) { return dump.SawNode(node); }, log);
  return GiveEvictedPods(
      file, report, remembered, [&](const EvictedPod& pod) { return dump.Saw(pod); }, sink, log);
}

ResolvedEvents Resolve(const DeletionReport& events, const ClusterSnapshot& snapshot,
                       const NodeGroups& groups, int64_t now_s) {
  return Resolver(events, snapshot, groups, now_s).Run();
}

void CountUnregistered(const DeletionReport& events, const GroupRules& rules, NodeGroups& groups,
                       std::vector<std::string>& log) {
  FewLines unknown("unregisteredNodes", "groups");
  for (const auto& [name, count] : events.unregistered) {
    const auto group = std::ranges::find(groups.groups, name, &NodeGroup::name);
    if (group == groups.groups.end()) {
      unknown.Add(log, absl::StrCat("no node of group ", name, " is in the cluster"));
      continue;
    }
    const GroupRule* const rule = FindRule(rules, name);
    if (rule == nullptr || !rule->has_target_size) group->target_size += count;
  }
  unknown.End(log);
}

}  // namespace ebb
