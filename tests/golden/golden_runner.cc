// golden_runner CASE.json...: replays recorded answers of Cluster Autoscaler.
//
// A case is a cluster and a few steps of time; tests/golden/README.md describes the format.  One
// planner lives as long as the case and makes one pass in every step.  Each case is replayed four
// times, because what is kept from step to step must not change an answer:
//   new snapshot      every step builds its snapshot from the objects;
//   kept snapshot     a step changes the snapshot of the step before, as long as its catalog has
//                     the same objects; an unchanged step must find the snapshot unchanged;
//   restored planner  planner, timers and limit are saved after every step and restored into new
//                     ones, which do not share their Symbols;
//   live cluster      steps are changes of one LiveCluster and of a Session.  The session is called
//                     through messages, as a host that embeds ebb does, and must answer the same.
// Prints `ok NAME`, or every field that differs, and counts at the end.
// Exit code: 0 all agree; 1 some differ, or a case cannot be read.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "engine/pass/planner.h"
#include "engine/plan/atomic_groups.h"
#include "engine/plan/limits.h"
#include "engine/scale_down/budgets.h"
#include "engine/scale_down/deletion.h"
#include "engine/scale_down/unneeded.h"
#include "engine/verify/verify.h"
#include "nlohmann/json.hpp"
#include "options/round_options.h"
#include "planning/live_cluster.h"
#include "session/session.h"
#include "session/wire_pass.h"
#include "snapshot/builder.h"
#include "snapshot/builder_sink.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/live/change_batch.h"

namespace ebb {
namespace {

using Json = nlohmann::json;
using Reasons = std::map<std::string, std::string>;

// The GPU label of the cloud provider with which the cases were recorded.
constexpr std::string_view kGpuLabelOfCases = "TestGPULabel/accelerator";

// --- The objects of a case ----------------------------------------------------

struct Object {
  std::string key;   // "Pod/ns/name", "Node/name".
  std::string name;  // "ns/name", "name".
  std::string json;
  bool is_pod = false;
  bool is_node = false;
  std::string node;     // The node in a pod's spec.nodeName or nomination; empty: none.
  std::string content;  // A pod's JSON without its node.
};
using Objects = std::vector<std::shared_ptr<const Object>>;

std::shared_ptr<const Object> MakeObject(const Json& json) {
  Object object;
  const Json& meta = json.at("metadata");
  const std::string kind = json.at("kind");
  const std::string ns = meta.value("namespace", "");
  object.name = absl::StrCat(ns, ns.empty() ? "" : "/", meta.at("name").get<std::string>());
  object.key = absl::StrCat(kind, "/", object.name);
  object.json = json.dump();
  object.is_pod = kind == "Pod";
  object.is_node = kind == "Node";
  if (object.is_pod) {
    Json content = json;
    const auto take = [&](const char* part, const char* field) {
      if (!content.contains(part)) return std::string();
      const std::string node = content[part].value(field, "");
      content[part].erase(field);
      return node;
    };
    object.node = take("spec", "nodeName");
    const std::string nominated = take("status", "nominatedNodeName");
    if (object.node.empty()) object.node = nominated;
    object.content = content.dump();
  }
  return std::make_shared<const Object>(std::move(object));
}

// The objects of each step, after the step's deletions and additions.
std::vector<Objects> ObjectsOfSteps(const Json& json) {
  Objects objects;
  for (const Json& object : json.at("objects")) objects.push_back(MakeObject(object));
  const auto drop = [&](const std::string& key) {
    std::erase_if(objects, [&](const auto& object) { return object->key == key; });
  };
  std::vector<Objects> steps;
  for (const Json& step : json.at("steps")) {
    for (const Json& key : step.at("delete")) drop(key.get<std::string>());
    for (const Json& object : step.at("upsert")) {
      const auto made = MakeObject(object);
      drop(made->key);
      objects.push_back(made);
    }
    steps.push_back(objects);
  }
  return steps;
}

std::vector<std::string> Strings(const Json& list) {
  std::vector<std::string> strings;
  if (list.is_array()) strings = list.get<std::vector<std::string>>();
  return strings;
}

// The part of a case that one catalog can hold only once: all objects but pods, and the pods'
// contents.
class Content {
 public:
  Content(const Objects& objects, const std::vector<std::string>& node_order)
      : node_order_(node_order) {
    for (const auto& object : objects) {
      if (object->is_node) nodes_.emplace(object->name, object->json);
      if (!object->is_node && !object->is_pod) others_.push_back(object->json);
      if (object->is_pod) Add(object);
    }
  }

  // Adds the objects of another step.  Returns false if one catalog cannot hold both.
  bool Join(const Objects& objects, const std::vector<std::string>& node_order) {
    const Content other(objects, node_order);
    if (other.others_ != others_ || !IsPartOfOrder(node_order)) return false;
    for (const auto& [name, json] : other.nodes_) {
      if (const auto it = nodes_.find(name); it == nodes_.end() || it->second != json) return false;
    }
    for (const auto& [name, pod] : other.pods_) {
      const auto it = pods_.find(name);
      if (it != pods_.end() && it->second->content != pod->content) return false;
    }
    for (const auto& pod : other.in_order_) Add(pod);
    return true;
  }

  // All objects, one after the other, as ReadBytes reads them.
  [[nodiscard]] std::string Text() const {
    std::string text;
    for (const auto& [name, json] : nodes_) absl::StrAppend(&text, json, "\n");
    for (const std::string& json : others_) absl::StrAppend(&text, json, "\n");
    for (const auto& pod : in_order_) absl::StrAppend(&text, pod->json, "\n");
    return text;
  }
  [[nodiscard]] const std::vector<std::string>& node_order() const { return node_order_; }

 private:
  void Add(const std::shared_ptr<const Object>& pod) {
    if (pods_.emplace(pod->name, pod).second) in_order_.push_back(pod);
  }
  [[nodiscard]] bool IsPartOfOrder(const std::vector<std::string>& order) const {
    auto at = node_order_.begin();
    for (const std::string& node : order) {
      at = std::find(at, node_order_.end(), node);
      if (at == node_order_.end()) return false;
      ++at;
    }
    return true;
  }

  std::vector<std::string> node_order_;
  std::map<std::string, std::string> nodes_;
  std::vector<std::string> others_;
  std::map<std::string, std::shared_ptr<const Object>> pods_;
  Objects in_order_;
};

// `name`: "ns/name", or "name" where the namespace is empty.
PodId PodOf(const Catalog& catalog, std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return *catalog.FindPod("", name);
  return *catalog.FindPod(name.substr(0, slash), name.substr(slash + 1));
}

// As Object::name.
std::string PodNameOf(const Catalog& catalog, PodId pod) {
  const std::string_view ns = catalog.Text(catalog.shape_of(pod).namespace_name);
  return absl::StrCat(Absl(ns), ns.empty() ? "" : "/", Absl(catalog.Text(catalog.pod(pod).name)));
}

// Moves nodes and pods of the snapshot to where `objects` say.  Pods are listed on their node in
// the order of `objects`, as in a new snapshot.  Returns whether anything changed.
bool Arrange(const Objects& objects, ClusterSnapshot& snapshot) {
  const Catalog& catalog = snapshot.catalog();
  NodeSet present(catalog.nodes());
  std::vector<std::vector<PodId>> wanted(catalog.nodes());
  for (const auto& object : objects) {
    if (object->is_node) present.Insert(*catalog.FindNode(object->name));
  }
  for (const auto& object : objects) {
    if (!object->is_pod || object->node.empty()) continue;
    const absl::StatusOr<NodeId> node = catalog.FindNode(object->node);
    if (!node.ok() || !present.Contains(*node)) continue;
    wanted[Index(*node)].push_back(PodOf(catalog, object->name));
  }
  std::vector<NodeId> changed;
  bool nodes_changed = false;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (snapshot.Contains(node) && !std::ranges::equal(snapshot.PodsOn(node), wanted[n])) {
      while (!snapshot.PodsOn(node).empty()) snapshot.RemovePod(snapshot.PodsOn(node).back());
    }
    if (snapshot.Contains(node) != present.Contains(node)) {
      nodes_changed = true;
      if (present.Contains(node)) {
        snapshot.AddNode(node);
      } else {
        snapshot.RemoveNode(node);
      }
    }
    if (present.Contains(node) && !std::ranges::equal(snapshot.PodsOn(node), wanted[n])) {
      changed.push_back(node);
    }
  }
  for (const NodeId node : changed) {
    for (const PodId pod : wanted[Index(node)]) snapshot.AddPod(pod, node);
  }
  return nodes_changed || !changed.empty();
}

// --- Comparing ---------------------------------------------------------------

std::string Show(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, text.empty() ? "" : " ", name);
  return text.empty() ? "(none)" : text;
}

// Recorded numbers are rounded to nine decimal places.
bool SameNumber(double ours, double recorded) {
  return ours == recorded || std::round(ours * 1e9) == std::round(recorded * 1e9);
}

// --- A case ------------------------------------------------------------------

enum class Mode : uint8_t { kNewSnapshot, kKeptSnapshot, kRestoredPlanner, kLiveCluster };
constexpr std::pair<Mode, const char*> kModes[] = {{Mode::kNewSnapshot, "new snapshot"},
                                                   {Mode::kKeptSnapshot, "kept snapshot"},
                                                   {Mode::kRestoredPlanner, "restored planner"},
                                                   {Mode::kLiveCluster, "live cluster"}};

// Counts about the steps in mode kKeptSnapshot.
struct KeptSteps {
  size_t untouched = 0;
  size_t changed_in_place = 0;
  size_t rebuilt = 0;
};

// Replays one case to its end in one mode.
class Replay {
 public:
  Replay(const std::string& name, KubernetesVersion version, const Json& json,
         const std::vector<Objects>& objects, Mode mode, const char* mode_name, KeptSteps& kept)
      : name_(name),
        version_(version),
        json_(json),
        options_(json.at("options")),
        extended_(json.contains("extended") ? json.at("extended") : kNothing),
        objects_(objects),
        mode_(mode),
        mode_name_(mode_name),
        kept_(kept),
        planner_(std::make_unique<Planner>(PlannerOptionsOf(options_, extended_))),
        limit_(options_.at("unneeded_time_s"), options_.at("max_scale_down_parallelism")) {
    deletion_.scale_down_unneeded_time_s = options_.at("unneeded_time_s");
    deletion_.scale_down_unready_time_s = options_.at("unready_time_s");
    deletion_.groups_have_templates = false;  // The groups of the recording provider have none.
    deletion_.minimums.cores = extended_.value("min_cores", int64_t{0});
    deletion_.minimums.memory_bytes = extended_.value("min_memory_bytes", int64_t{0});
    budgets_.max_scale_down_parallelism = options_.at("max_scale_down_parallelism");
    budgets_.max_drain_parallelism = options_.at("max_drain_parallelism");
  }

  // Returns whether everything agrees; prints what differs.
  bool Run() {
    const std::optional<int64_t> now_s = ParseRfc3339(json_.at("now").get<std::string>());
    if (!now_s) {
      Differ("now is not a time");
      return false;
    }
    now_s_ = *now_s;
    for (step_ = 0; step_ < json_.at("steps").size(); ++step_) {
      if (const absl::Status status = RunStep(); !status.ok()) {
        Differ(std::string(status.message()));
        return false;
      }
      if (mode_ == Mode::kRestoredPlanner) RestorePlanner();
    }
    return agrees_;
  }

 private:
  static PlannerOptions PlannerOptionsOf(const Json& options, const Json& extended) {
    PlannerOptions result;
    result.scale_down_utilization_threshold = options.at("utilization_threshold");
    result.scale_down_gpu_utilization_threshold =
        extended.value("gpu_threshold", result.scale_down_utilization_threshold);
    result.scale_down_unready_enabled = extended.value("unready_enabled", true);
    result.ignore_daemonsets_utilization = options.at("ignore_daemonsets_utilization");
    result.ignore_mirror_pods_utilization = options.at("ignore_mirror_pods_utilization");
    result.unremovable_node_recheck_timeout_s = options.at("unremovable_recheck_s");
    result.drain.gangs = Gangs::kIgnore;  // As the autoscaler, whose answers these are.
    result.drain.skip_nodes_with_system_pods = options.at("skip_nodes_with_system_pods");
    result.drain.skip_nodes_with_local_storage = options.at("skip_nodes_with_local_storage");
    result.drain.skip_nodes_with_custom_controller_pods =
        options.at("skip_nodes_with_custom_controller_pods");
    result.drain.min_replica_count = options.at("min_replica_count");
    result.drain.blocking_system_pod_disruption_timeout_s =
        extended.value("system_pod_timeout_s", int64_t{3600});
    return result;
  }

  // The step's part in the extended format.
  [[nodiscard]] const Json& ExtendedStep() const {
    if (!extended_.contains("steps") || step_ >= extended_.at("steps").size()) return kNothing;
    return extended_.at("steps")[step_];
  }

  absl::Status RunStep() {
    const Json& expect = json_.at("expect")[step_];
    now_s_ += json_.at("steps")[step_].at("advance_s").get<int64_t>();
    if (const absl::Status s = PrepareSnapshot(); !s.ok()) return s;
    ClusterSnapshot& snapshot = *snapshot_;
    const Catalog& catalog = snapshot.catalog();
    const NodeGroups groups = GroupsOf(snapshot);
    const Deleting deleting = DeletingNow(snapshot, groups);
    const std::vector<NodeId> candidates = CandidatesNow(catalog, deleting);
    const std::vector<PodId> pending = PendingNow(catalog);
    NodeSet destinations = snapshot.alive();
    for (const NodeId node : deleting.nodes) destinations.Erase(node);
    PassInput input;
    input.now_s = now_s_;
    input.candidates = candidates;
    input.destinations = &destinations;
    input.pending = pending;
    input.unneeded_limit = limit_.Next(now_s_, timers_.size());
    const absl::StatusOr<Plan> made = planner_->Pass(snapshot, groups, input);
    if (!made.ok()) return made.status();
    const Plan& plan = *made;
    timers_.Update(catalog, plan, now_s_, SkippedTimer::kLost);

    CompareUnneeded(catalog, plan, expect);
    CompareDestinations(snapshot, plan, expect);
    Reasons reasons = CompareUnremovable(catalog, plan, expect);
    CompareUtilization(catalog, plan, expect);
    ComparePdbs(catalog, plan, expect);
    CompareDeletion(snapshot, groups, plan, deleting, std::move(reasons), expect);
    const absl::Status verified = Verify(snapshot, groups, planner_->options(), input, plan);
    if (!verified.ok()) Differ(absl::StrCat("verify: ", verified.message()));
    // A call has no pending pods.  After a pass with pending pods, the session's planner lacks the
    // hints that this planner has.
    session_made_all_passes_ &= pending.empty();
    if (mode_ == Mode::kLiveCluster && session_made_all_passes_) {
      return CompareSession(groups, input, plan);
    }
    return absl::OkStatus();
  }

  // Makes the pass as a call of the session, and compares the reply with the plan.
  absl::Status CompareSession(const NodeGroups& groups, const PassInput& input, const Plan& plan) {
    const Catalog& catalog = snapshot_->catalog();
    const auto name = [&](NodeId node) { return std::string(catalog.NodeName(node)); };
    v1alpha1::PlanInput call;
    call.set_now(input.now_s);
    call.mutable_groups();  // Set even if there are no groups.
    for (const NodeId node : input.candidates) call.mutable_candidates()->add_nodes(name(node));
    input.destinations->ForEach(
        [&](NodeId node) { call.mutable_destinations()->add_nodes(name(node)); });
    if (input.unneeded_limit < std::numeric_limits<size_t>::max()) {
      call.set_unneeded_limit(input.unneeded_limit);
    }
    for (const NodeGroup& group : groups.groups) {
      v1alpha1::PassGroup& pass_group = *call.mutable_groups()->add_groups();
      pass_group.set_name(group.name);
      pass_group.set_atomic(group.atomic);
      if (group.scale_down_utilization_threshold) {
        pass_group.set_scale_down_utilization_threshold(*group.scale_down_utilization_threshold);
      }
      if (group.scale_down_gpu_utilization_threshold) {
        pass_group.set_scale_down_gpu_utilization_threshold(
            *group.scale_down_gpu_utilization_threshold);
      }
      if (group.ignore_daemonsets_utilization) {
        pass_group.set_ignore_daemonsets_utilization(*group.ignore_daemonsets_utilization);
      }
    }
    snapshot_->alive().ForEach([&](NodeId node) {
      if (groups.Of(node) != kNoGroup) {
        call.mutable_groups()
            ->mutable_groups(static_cast<int>(Index(groups.Of(node))))
            ->add_nodes(name(node));
      }
      if (groups.HasGpuLabel(node)) call.mutable_groups()->add_gpu_nodes(name(node));
    });
    const absl::StatusOr<v1alpha1::PassReply> reply =
        session_->questions().Pass(call, std::nullopt);
    if (!reply.ok()) return reply.status();
    v1alpha1::PassPlan expected;
    WritePassPlan(catalog, plan, &expected);
    if (expected.SerializeAsString() != reply->plan().SerializeAsString()) {
      Differ(absl::StrCat("session: answers ", reply->plan().ShortDebugString(), " in place of ",
                          expected.ShortDebugString()));
    }
    return absl::OkStatus();
  }

  // Continues as another process would.
  void RestorePlanner() {
    const PlannerMemory memory = planner_->Save();
    const std::vector<UnneededTimers::Timer> timers = timers_.Save(*symbols_);
    const UnneededLimit::State limit = limit_.state();
    symbols_ = std::make_shared<Symbols>();
    planner_ = std::make_unique<Planner>(PlannerOptionsOf(options_, extended_));
    planner_->Restore(memory, symbols_);
    timers_ = UnneededTimers();
    timers_.Restore(timers, *symbols_);
    limit_ =
        UnneededLimit(options_.at("unneeded_time_s"), options_.at("max_scale_down_parallelism"));
    limit_.Restore(limit);
  }

  [[nodiscard]] std::vector<std::string> NodeOrder(size_t step) const {
    return Strings(json_.at("expect")[step].at("node_order"));
  }

  // Changes live_ to the objects of this step.
  absl::Status ChangeLive() {
    if (!live_) {  // A case includes each of its pods.
      live_.emplace(LoadOptions(), LiveSnapshot::Options{
                                       .expendable_pods_priority_cutoff = INT64_MIN,
                                       .keep_ended_pods = true,
                                       .unknown_namespaces =
                                           LiveSnapshot::Options::UnknownNamespaces::kHaveNoLabels,
                                       .kubernetes_version = version_});
      session_options_.as_given = true;
      session_.emplace("golden", session_options_);
      if (absl::Status s = session_->cluster().SetSettings(SessionSettings()); !s.ok()) return s;
    }
    const Objects& now = objects_[step_];
    for (const auto& object : live_objects_) {
      if (std::ranges::find(now, object) != now.end()) continue;
      if (absl::Status s = DeleteLive(*object); !s.ok()) return s;
    }
    std::string nodes;
    std::string others;
    for (const auto& object : now) {
      if (std::ranges::find(live_objects_, object) != live_objects_.end()) continue;
      absl::StrAppend(object->is_node ? &nodes : &others, object->json, "\n");
    }
    live_objects_ = now;
    if (absl::Status s = PutLive(nodes); !s.ok()) return s;
    if (absl::Status s = PutLive(others); !s.ok()) return s;
    if (absl::Status s = OrderLiveNodes(); !s.ok()) return s;
    CompareLivePods();
    snapshot_.emplace(live_->Snapshot());
    return absl::OkStatus();
  }

  // The planner's options as the settings of a session.
  v1alpha1::Settings SessionSettings() {
    RoundOptions options;
    options.scale_down.planner = planner_->options();
    options.load.kubernetes_version = version_;
    v1alpha1::Settings settings;
    if (!PutOptions(OptionsJson(options), settings).ok()) Differ("session: options");
    return settings;
  }

  absl::Status PutLive(const std::string& text) {
    if (text.empty()) return absl::OkStatus();
    ChangeBatch batch;
    for (const absl::string_view object : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      if (absl::Status s = batch.PutJson({object.data(), object.size()}); !s.ok()) return s;
    }
    if (absl::Status s = session_->cluster().Take(batch); !s.ok()) return s;
    return live_->Read([&](ObjectSink& sink) {
      ImportStats stats;
      return ReadBytes(name_, text, sink, stats);
    });
  }
  absl::Status DeleteLive(const Object& object) {
    ChangeBatch batch;
    if (absl::Status s = batch.DeleteJson(object.json); !s.ok()) return s;
    if (absl::Status s = session_->cluster().Take(batch); !s.ok()) return s;
    return live_->Take(batch.changes());
  }

  // A live cluster keeps nodes in the order in which they came, so nodes in another order are added
  // again.
  absl::Status OrderLiveNodes() {
    std::map<std::string, std::shared_ptr<const Object>> by_name;
    for (const auto& object : live_objects_) {
      if (object->is_node) by_name.emplace(object->name, object);
    }
    const std::vector<std::string> order = NodeOrder(step_);
    size_t right = 0;
    live_->Snapshot().alive().ForEach([&](NodeId node) {
      const std::string_view name = live_->Snapshot().catalog().NodeName(node);
      right += right < order.size() && order[right] == name ? 1 : 0;
    });
    std::string text;
    for (size_t n = right; n < order.size(); ++n) {
      if (absl::Status s = DeleteLive(*by_name.at(order[n])); !s.ok()) return s;
      absl::StrAppend(&text, by_name.at(order[n])->json, "\n");
    }
    return PutLive(text);
  }

  // The pods of a node must be listed in the order of the objects, in which they came to it.
  void CompareLivePods() {
    std::map<std::string, std::vector<std::string>> of_node;
    for (const auto& object : live_objects_) {
      if (object->is_pod && !object->node.empty()) of_node[object->node].push_back(object->name);
    }
    const Catalog& catalog = live_->Snapshot().catalog();
    live_->Snapshot().alive().ForEach([&](NodeId node) {
      std::vector<std::string> there;
      for (const PodId pod : live_->Snapshot().PodsOn(node)) {
        there.push_back(PodNameOf(catalog, pod));
      }
      const std::string name(catalog.NodeName(node));
      if (there == of_node[name]) return;
      Differ(absl::StrCat("pods of ", name, ": ", Show(there), ", in the order of the objects ",
                          Show(of_node[name])));
    });
  }

  // Puts the cluster of this step into snapshot_.
  absl::Status PrepareSnapshot() {
    if (mode_ == Mode::kLiveCluster) return ChangeLive();
    const bool keeps = mode_ == Mode::kKeptSnapshot;
    if (keeps && step_ > 0 && step_ < kept_until_) {
      ++(Arrange(objects_[step_], *snapshot_) ? kept_.changed_in_place : kept_.untouched);
      return absl::OkStatus();
    }
    Content content(objects_[step_], NodeOrder(step_));
    kept_until_ = step_ + 1;
    while (keeps && kept_until_ < objects_.size() &&
           content.Join(objects_[kept_until_], NodeOrder(kept_until_))) {
      ++kept_until_;
    }
    SnapshotBuilder builder(symbols_);
    builder.SetVersion(version_);
    BuilderSink sink(builder);  // Also ended pods: a case includes each of its pods.
    ImportStats stats;
    if (absl::Status s = ReadBytes(name_, content.Text(), sink, stats); !s.ok()) return s;
    const std::vector<std::string_view> order(content.node_order().begin(),
                                              content.node_order().end());
    if (absl::Status s = builder.OrderNodes(order); !s.ok()) return s;
    absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder).Build();
    if (!snapshot.ok()) return snapshot.status();
    snapshot_.emplace(*std::move(snapshot));
    // The catalog also has the pods of later steps, which are not placed yet.
    if (keeps) {
      ++kept_.rebuilt;
      Arrange(objects_[step_], *snapshot_);
    }
    return absl::OkStatus();
  }

  NodeGroups GroupsOf(const ClusterSnapshot& snapshot) const {
    const Catalog& catalog = snapshot.catalog();
    NodeGroups groups;
    std::map<std::string, GroupId, std::less<>> ids;
    for (const auto& [name, group] : json_.at("node_groups").items()) {
      ids.emplace(name, GroupId{static_cast<uint32_t>(groups.groups.size())});
      NodeGroup& added = groups.groups.emplace_back();
      added.name = name;
      added.min_size = group.at("min");
      added.max_size = group.at("max");
      added.atomic = group.at("atomic");
      SetOptions(name, added);
    }
    for (uint32_t n = 0; n < catalog.nodes(); ++n) {
      GroupId id = kNoGroup;
      bool gpu_label = false;
      for (const Label& label : catalog.node(NodeId{n}).labels) {
        gpu_label = gpu_label || catalog.Text(label.key) == kGpuLabelOfCases;
        if (catalog.Text(label.key) != "nodegroup") continue;
        if (const auto it = ids.find(catalog.Text(label.value)); it != ids.end()) id = it->second;
      }
      if (id != kNoGroup && snapshot.Contains(NodeId{n})) ++groups.groups[Index(id)].target_size;
      groups.group_of.push_back(id);
      groups.gpu_label.push_back(gpu_label);
    }
    return groups;
  }

  // Sets the options that a group has for itself.
  void SetOptions(const std::string& name, NodeGroup& group) const {
    if (!extended_.contains("groups") || !extended_.at("groups").contains(name)) return;
    for (const auto& [option, value] : extended_.at("groups").at(name).items()) {
      if (option == "threshold") {
        group.scale_down_utilization_threshold = value;
      } else if (option == "gpu_threshold") {
        group.scale_down_gpu_utilization_threshold = value;
      } else if (option == "unneeded_s") {
        group.scale_down_unneeded_time_s = value;
      } else if (option == "unready_s") {
        group.scale_down_unready_time_s = value;
      } else if (option == "ignore_daemonsets") {
        group.ignore_daemonsets_utilization = value.get<bool>();
      }
    }
  }

  // The deletions in progress.
  struct Deleting {
    std::vector<NodeId> nodes;
    std::vector<int64_t> of_group;  // By GroupId.
    InProgress count;
  };

  Deleting DeletingNow(const ClusterSnapshot& snapshot, const NodeGroups& groups) const {
    Deleting deleting{.nodes = {}, .of_group = {}, .count = {}};
    deleting.of_group.resize(groups.groups.size());
    const auto add = [&](const char* list, int64_t& count) {
      for (const std::string& name : Strings(ExtendedStep().value(list, Json()))) {
        ++count;
        // A kept catalog also has nodes that are gone.
        const absl::StatusOr<NodeId> node = snapshot.catalog().FindNode(name);
        if (!node.ok() || !snapshot.Contains(*node)) continue;
        deleting.nodes.push_back(*node);
        if (groups.Of(*node) != kNoGroup) ++deleting.of_group[Index(groups.Of(*node))];
      }
    };
    add("deleting_empty", deleting.count.empty);
    add("deleting_drain", deleting.count.drain);
    return deleting;
  }

  std::vector<NodeId> CandidatesNow(const Catalog& catalog, const Deleting& deleting) const {
    std::vector<std::string> names;
    if (ExtendedStep().contains("candidates")) {
      names = Strings(ExtendedStep().at("candidates"));
    } else {
      for (const auto& object : objects_[step_]) {
        if (object->is_node) names.push_back(object->name);
      }
    }
    std::vector<NodeId> candidates;
    for (const std::string& name : names) {
      const NodeId node = *catalog.FindNode(name);
      if (std::ranges::find(deleting.nodes, node) == deleting.nodes.end()) {
        candidates.push_back(node);
      }
    }
    return candidates;
  }

  std::vector<PodId> PendingNow(const Catalog& catalog) const {
    std::vector<PodId> pending;
    if (!extended_.value("pending", false)) return pending;
    for (const auto& object : objects_[step_]) {
      if (object->is_pod && object->node.empty()) pending.push_back(PodOf(catalog, object->name));
    }
    return pending;
  }

  void CompareUnneeded(const Catalog& catalog, const Plan& plan, const Json& expect) {
    std::vector<std::string> ours;
    for (const RemovableNode& node : plan.remove) ours.emplace_back(catalog.NodeName(node.node));
    std::sort(ours.begin(), ours.end());
    CompareNames("unneeded", ours, Strings(expect.at("unneeded")));
  }

  void CompareDestinations(const ClusterSnapshot& snapshot, const Plan& plan, const Json& expect) {
    const Catalog& catalog = snapshot.catalog();
    std::map<std::string, std::string> ours;
    for (const RemovableNode& node : plan.remove) {
      for (const PodId pod : snapshot.PodsOn(node.node)) {
        const NodeId hint = planner_->Hint(pod);
        if (hint != kNoNode) ours[catalog.PodName(pod)] = std::string(catalog.NodeName(hint));
      }
    }
    CompareMaps("destinations", ours, expect.at("destinations").get<Reasons>());
  }

  Reasons CompareUnremovable(const Catalog& catalog, const Plan& plan, const Json& expect) {
    Reasons reasons;
    Reasons blocking;
    for (const UnremovableNode& node : plan.keep) {
      const std::string name(catalog.NodeName(node.node));
      reasons[name] = std::string(ToString(node.reason));
      if (node.reason != UnremovableReason::kBlockedByPod) continue;
      const std::string_view why = ToString(node.blocking_reason);
      blocking[name] =
          absl::StrCat(catalog.PodName(node.pod), " ", absl::string_view{why.data(), why.size()});
    }
    Reasons expected;
    Reasons expected_blocking;
    for (const auto& [name, node] : expect.at("unremovable").items()) {
      expected[name] = node.at("reason");
      if (!node.contains("blocking_pod")) continue;
      expected_blocking[name] = absl::StrCat(node["blocking_pod"].get<std::string>(), " ",
                                             node.at("blocking_reason").get<std::string>());
    }
    CompareMaps("unremovable", reasons, expected);
    CompareMaps("blocking pod", blocking, expected_blocking);
    return reasons;
  }

  void CompareUtilization(const Catalog& catalog, const Plan& plan, const Json& expect) {
    const Json& expected = expect.at("utilization");
    for (uint32_t n = 0; n < catalog.nodes(); ++n) {
      const std::string name(catalog.NodeName(NodeId{n}));
      const auto& ours = plan.utilization[n];
      if (ours.has_value() != expected.contains(name)) {
        Differ(absl::StrCat("utilization of ", name, ": ours ", ours ? "present" : "absent"));
        continue;
      }
      if (!ours) continue;
      const Json& theirs = expected[name];
      const std::string_view resource = catalog.Text(ours->resource);
      if (resource != theirs.at("resource").get<std::string>() ||
          !SameNumber(ours->cpu, theirs.at("cpu")) ||
          !SameNumber(ours->memory, theirs.at("memory")) ||
          !SameNumber(ours->utilization, theirs.at("utilization"))) {
        Differ(absl::StrCat("utilization of ", name, ": ours cpu ", ours->cpu, " memory ",
                            ours->memory, " ", absl::string_view{resource.data(), resource.size()},
                            " ", ours->utilization, ", expected ", theirs.dump()));
      }
    }
  }

  void ComparePdbs(const Catalog& catalog, const Plan& plan, const Json& expect) {
    std::map<std::string, std::string> ours;
    for (size_t p = 0; p < catalog.pdbs().size(); ++p) {
      const Pdb& pdb = catalog.pdbs()[p];
      const std::string_view ns = catalog.Text(pdb.namespace_name);
      const std::string_view name = catalog.Text(pdb.name);
      ours[absl::StrCat(absl::string_view{ns.data(), ns.size()}, "/",
                        absl::string_view{name.data(), name.size()})] =
          absl::StrCat(plan.pdb_remaining[p]);
    }
    std::map<std::string, std::string> expected;
    for (const auto& [name, left] : expect.at("pdb_remaining").items()) {
      expected[name] = absl::StrCat(left.get<int64_t>());
    }
    CompareMaps("pdb_remaining", ours, expected);
  }

  void CompareDeletion(const ClusterSnapshot& snapshot, const NodeGroups& groups, const Plan& plan,
                       const Deleting& deleting, Reasons reasons, const Json& expect) {
    const Catalog& catalog = snapshot.catalog();
    const NodesToDelete ours =
        ChooseNodesToDelete(snapshot, groups, plan, timers_, deleting.of_group, deletion_, now_s_);
    for (const NotYet& node : ours.not_yet) {
      reasons[std::string(catalog.NodeName(node.node))] = std::string(ToString(node.reason));
    }
    const Json& expected = expect.at("nodes_to_delete");
    const bool arbitrary = expected.at("choice_is_arbitrary");
    CompareChoice("nodes_to_delete.empty", Names(catalog, ours.empty),
                  Strings(expected.at("empty")), arbitrary);
    CompareChoice("nodes_to_delete.drain", Names(catalog, ours.drain),
                  Strings(expected.at("drain")), arbitrary);
    if (!arbitrary) {
      Reasons after;
      for (const auto& [name, node] : expected.at("unremovable_after").items()) {
        after[name] = node.at("reason");
      }
      CompareMaps("unremovable_after", reasons, after);
    }
    const CroppedNodes cropped =
        CropNodes(ours.empty, ours.drain, groups, RegisteredNodes(snapshot, groups), deleting.count,
                  budgets_);
    CompareCount("cropped_counts.empty", CountNodes(cropped.empty),
                 expect.at("cropped_counts").at("empty"));
    CompareCount("cropped_counts.drain", CountNodes(cropped.drain),
                 expect.at("cropped_counts").at("drain"));
  }

  static std::vector<std::string> Names(const Catalog& catalog, const std::vector<NodeId>& nodes) {
    std::vector<std::string> names;
    for (const NodeId node : nodes) names.emplace_back(catalog.NodeName(node));
    std::sort(names.begin(), names.end());
    return names;
  }

  void CompareChoice(const char* field, const std::vector<std::string>& ours,
                     const std::vector<std::string>& expected, bool arbitrary) {
    if (arbitrary) {
      CompareCount(field, ours.size(), expected.size());
    } else {
      CompareNames(field, ours, expected);
    }
  }

  void CompareCount(const char* field, size_t ours, size_t expected) {
    if (ours != expected) Differ(absl::StrCat(field, ": ours ", ours, ", expected ", expected));
  }

  // Both sorted.
  void CompareNames(const char* field, const std::vector<std::string>& ours,
                    const std::vector<std::string>& expected) {
    std::vector<std::string> extra;
    std::vector<std::string> missing;
    std::set_difference(ours.begin(), ours.end(), expected.begin(), expected.end(),
                        std::back_inserter(extra));
    std::set_difference(expected.begin(), expected.end(), ours.begin(), ours.end(),
                        std::back_inserter(missing));
    if (extra.empty() && missing.empty()) return;
    Differ(absl::StrCat(field, ": ours alone ", Show(extra), ", expected alone ", Show(missing)));
  }

  void CompareMaps(const char* field, const Reasons& ours, const Reasons& expected) {
    std::set<std::string> keys;
    for (const auto& [key, value] : ours) keys.insert(key);
    for (const auto& [key, value] : expected) keys.insert(key);
    const auto get = [](const Reasons& map, const std::string& key) {
      const auto it = map.find(key);
      return it == map.end() ? std::string("(absent)") : it->second;
    };
    for (const std::string& key : keys) {
      const std::string a = get(ours, key);
      const std::string b = get(expected, key);
      if (a != b) Differ(absl::StrCat(field, " of ", key, ": ours ", a, ", expected ", b));
    }
  }

  void Differ(const std::string& what) {
    agrees_ = false;
    std::printf("%s (%s) step %zu: %s\n", name_.c_str(), mode_name_, step_, what.c_str());
  }

  static inline const Json kNothing = Json::object();

  const std::string& name_;
  const KubernetesVersion version_;  // The version that the recorded autoscaler was built against.
  const Json& json_;
  const Json& options_;
  const Json& extended_;
  const std::vector<Objects>& objects_;  // By step.
  const Mode mode_;
  const char* const mode_name_;
  KeptSteps& kept_;
  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  std::optional<ClusterSnapshot> snapshot_;
  std::optional<LiveCluster> live_;  // Used in mode kLiveCluster.
  SessionOptions session_options_;
  std::optional<Session> session_;  // Has the same objects as live_.
  bool session_made_all_passes_ = true;
  Objects live_objects_;   // The objects of live_.
  size_t kept_until_ = 0;  // The first step whose objects the catalog of snapshot_ cannot hold.
  std::unique_ptr<Planner> planner_;
  UnneededLimit limit_;
  UnneededTimers timers_;
  DeletionOptions deletion_;
  DeletionBudgets budgets_;
  int64_t now_s_ = 0;
  size_t step_ = 0;
  bool agrees_ = true;
};

// The version in the case, else in the name of its folder: "upstream-1.37".
KubernetesVersion VersionOf(std::string_view path, const Json& json) {
  if (json.contains("kubernetes_version")) {
    return ParseKubernetesVersion(json.at("kubernetes_version").get<std::string>())
        .value_or(KubernetesVersion::k136);
  }
  return path.find("upstream-1.37/") == std::string_view::npos ? KubernetesVersion::k136
                                                               : KubernetesVersion::k137;
}

bool RunFile(const char* path, KeptSteps& kept) {
  std::string name(path);
  name.erase(0, name.rfind('/') + 1);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  try {
    std::ifstream file(path);
    if (!file) {
      std::printf("%s: cannot be read\n", path);
      return false;
    }
    const Json json = Json::parse(file);
    const std::vector<Objects> objects = ObjectsOfSteps(json);
    bool agrees = true;
    for (const auto& [mode, mode_name] : kModes) {
      agrees =
          Replay(name, VersionOf(path, json), json, objects, mode, mode_name, kept).Run() && agrees;
    }
    if (agrees) std::printf("ok %s\n", name.c_str());
    return agrees;
  } catch (const Json::exception& error) {
    std::printf("%s: %s\n", path, error.what());
    return false;
  }
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: golden_runner CASE.json...\n");
    return 2;
  }
  int agree = 0;
  KeptSteps kept;
  for (int i = 1; i < argc; ++i) agree += RunFile(argv[i], kept) ? 1 : 0;
  std::printf("kept snapshots: %zu steps untouched, %zu changed in place, %zu built\n",
              kept.untouched, kept.changed_in_place, kept.rebuilt);
  std::printf("%d of %d cases agree\n", agree, argc - 1);
  return agree == argc - 1 ? 0 : 1;
}

}  // namespace
}  // namespace ebb

int main(int argc, char** argv) { return ebb::Main(argc, argv); }
