// golden_runner CASE.json...: replays recorded answers of Cluster Autoscaler.
//
// A case is a cluster and a few steps of time; tests/golden/README.md describes the
// file.  For every step the snapshot is built anew and one planner, which lives as
// long as the case, makes one pass.  Prints `ok NAME`, or every field that differs,
// and counts at the end.  Exit code 0: all agree; 1: some do not, or a case is unreadable.

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
#include "engine/budgets.h"
#include "engine/deletion.h"
#include "engine/limits.h"
#include "engine/planner.h"
#include "engine/unneeded.h"
#include "engine/verify.h"
#include "nlohmann/json.hpp"
#include "snapshot/builder.h"
#include "tools/builder_sink.h"
#include "tools/read_input.h"
#include "tools/rfc3339.h"

namespace ebb {
namespace {

using Json = nlohmann::json;
using Reasons = std::map<std::string, std::string>;

// The objects of a case as its steps change them, in order.
class Objects {
 public:
  explicit Objects(const Json& objects) {
    for (const Json& object : objects) Append(object);
  }

  void Delete(const std::string& key) {
    std::erase_if(objects_, [&](const Object& object) { return object.key == key; });
  }

  void Upsert(const Json& object) {
    Delete(Key(object));
    Append(object);
  }

  // One after the other, as ReadBytes takes them.
  std::string Text() const {
    std::string text;
    for (const Object& object : objects_) absl::StrAppend(&text, object.json, "\n");
    return text;
  }

  std::vector<std::string> NodeNames() const {
    std::vector<std::string> names;
    for (const Object& object : objects_) {
      if (object.key.starts_with("Node/")) names.push_back(object.key.substr(5));
    }
    return names;
  }

 private:
  struct Object {
    std::string key;  // "Pod/ns/name", "Node/name".
    std::string json;
  };

  static std::string Key(const Json& object) {
    const Json& meta = object.at("metadata");
    const std::string ns = meta.value("namespace", "");
    return absl::StrCat(object.at("kind").get<std::string>(), "/", ns, ns.empty() ? "" : "/",
                        meta.at("name").get<std::string>());
  }
  void Append(const Json& object) { objects_.push_back({Key(object), object.dump()}); }

  std::vector<Object> objects_;
};

std::string Show(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, text.empty() ? "" : " ", name);
  return text.empty() ? "(none)" : text;
}

std::vector<std::string> Strings(const Json& list) {
  std::vector<std::string> strings;
  if (list.is_array()) strings = list.get<std::vector<std::string>>();
  return strings;
}

// Recorded numbers are rounded to nine decimal places.
bool SameNumber(double ours, double recorded) {
  return ours == recorded || std::round(ours * 1e9) == std::round(recorded * 1e9);
}

// One case, played to its end.
class Case {
 public:
  Case(std::string name, const Json& json)
      : name_(std::move(name)),
        json_(json),
        options_(json.at("options")),
        objects_(json.at("objects")),
        planner_(PlannerOptionsOf(options_)),
        limit_(options_.at("unneeded_time_s"), options_.at("max_scale_down_parallelism")) {
    deletion_.scale_down_unneeded_time_s = options_.at("unneeded_time_s");
    deletion_.scale_down_unready_time_s = options_.at("unready_time_s");
    budgets_.max_scale_down_parallelism = options_.at("max_scale_down_parallelism");
    budgets_.max_drain_parallelism = options_.at("max_drain_parallelism");
  }

  // Whether all agrees; prints what does not.
  bool Run() {
    const std::optional<int64_t> now_s = ParseRfc3339(json_.at("now").get<std::string>());
    if (!now_s) {
      Differ("now is not a time");
      return false;
    }
    now_s_ = *now_s;
    for (step_ = 0; step_ < json_.at("steps").size(); ++step_) {
      if (const absl::Status status = RunStep(json_["steps"][step_], json_["expect"][step_]);
          !status.ok()) {
        Differ(std::string(status.message()));
        return false;
      }
    }
    if (agrees_) std::printf("ok %s\n", name_.c_str());
    return agrees_;
  }

 private:
  static PlannerOptions PlannerOptionsOf(const Json& options) {
    PlannerOptions result;
    result.scale_down_utilization_threshold = options.at("utilization_threshold");
    result.scale_down_gpu_utilization_threshold = options.at("utilization_threshold");
    result.ignore_daemonsets_utilization = options.at("ignore_daemonsets_utilization");
    result.ignore_mirror_pods_utilization = options.at("ignore_mirror_pods_utilization");
    result.unremovable_node_recheck_timeout_s = options.at("unremovable_recheck_s");
    result.drain.skip_nodes_with_system_pods = options.at("skip_nodes_with_system_pods");
    result.drain.skip_nodes_with_local_storage = options.at("skip_nodes_with_local_storage");
    result.drain.skip_nodes_with_custom_controller_pods =
        options.at("skip_nodes_with_custom_controller_pods");
    result.drain.min_replica_count = options.at("min_replica_count");
    return result;
  }

  absl::Status RunStep(const Json& step, const Json& expect) {
    now_s_ += step.at("advance_s").get<int64_t>();
    for (const Json& key : step.at("delete")) objects_.Delete(key.get<std::string>());
    for (const Json& pod : step.at("upsert")) objects_.Upsert(pod);

    absl::StatusOr<ClusterSnapshot> snapshot = BuildSnapshot(Strings(expect.at("node_order")));
    if (!snapshot.ok()) return snapshot.status();
    const Catalog& catalog = snapshot->catalog();
    const NodeGroups groups = GroupsOf(catalog);
    std::vector<NodeId> candidates;
    for (const std::string& node : objects_.NodeNames()) {
      candidates.push_back(*catalog.FindNode(node));
    }
    PassInput input;
    input.now_s = now_s_;
    input.candidates = candidates;
    input.unneeded_limit = limit_.Next(now_s_, timers_.size());
    const Plan plan = planner_.Pass(*snapshot, groups, input);
    timers_.Update(catalog, plan, now_s_, SkippedTimer::kLost);

    CompareUnneeded(catalog, plan, expect);
    CompareDestinations(*snapshot, plan, expect);
    Reasons reasons = CompareUnremovable(catalog, plan, expect);
    CompareUtilization(catalog, plan, expect);
    ComparePdbs(catalog, plan, expect);
    CompareDeletion(*snapshot, groups, plan, std::move(reasons), expect);
    const absl::Status verified = Verify(*snapshot, groups, planner_.options(), input, plan);
    if (!verified.ok()) Differ(absl::StrCat("verify: ", verified.message()));
    return absl::OkStatus();
  }

  absl::StatusOr<ClusterSnapshot> BuildSnapshot(const std::vector<std::string>& node_order) {
    SnapshotBuilder builder(symbols_);
    BuilderSink sink(builder);  // Ended pods too: a case means each of its pods.
    ImportStats stats;
    if (absl::Status s = ReadBytes(name_, objects_.Text(), sink, stats); !s.ok()) return s;
    const std::vector<std::string_view> order(node_order.begin(), node_order.end());
    if (absl::Status s = builder.OrderNodes(order); !s.ok()) return s;
    return std::move(builder).Build();
  }

  NodeGroups GroupsOf(const Catalog& catalog) const {
    NodeGroups groups;
    std::map<std::string, GroupId, std::less<>> ids;
    for (const auto& [name, group] : json_.at("node_groups").items()) {
      ids.emplace(name, GroupId{static_cast<uint32_t>(groups.groups.size())});
      NodeGroup& added = groups.groups.emplace_back();
      added.name = name;
      added.min_size = group.at("min");
      added.max_size = group.at("max");
      added.atomic = group.at("atomic");
    }
    for (uint32_t n = 0; n < catalog.nodes(); ++n) {
      GroupId id = kNoGroup;
      for (const Label& label : catalog.node(NodeId{n}).labels) {
        if (catalog.Text(label.key) != "nodegroup") continue;
        if (const auto it = ids.find(catalog.Text(label.value)); it != ids.end()) id = it->second;
      }
      if (id != kNoGroup) ++groups.groups[Index(id)].target_size;
      groups.group_of.push_back(id);
    }
    return groups;
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
        const NodeId hint = planner_.Hint(pod);
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
                       Reasons reasons, const Json& expect) {
    const Catalog& catalog = snapshot.catalog();
    const std::vector<int64_t> in_deletion(groups.groups.size());
    const NodesToDelete ours =
        ChooseNodesToDelete(snapshot, groups, plan, timers_, in_deletion, deletion_, now_s_);
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
        CropNodes(ours.empty, ours.drain, groups, RegisteredNodes(snapshot, groups), {}, budgets_);
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
    std::printf("%s step %zu: %s\n", name_.c_str(), step_, what.c_str());
  }

  const std::string name_;
  const Json& json_;
  const Json& options_;
  Objects objects_;
  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  Planner planner_;
  UnneededLimit limit_;
  UnneededTimers timers_;
  DeletionOptions deletion_;
  DeletionBudgets budgets_;
  int64_t now_s_ = 0;
  size_t step_ = 0;
  bool agrees_ = true;
};

bool RunFile(const char* path) {
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
    return Case(name, json).Run();
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
  for (int i = 1; i < argc; ++i) agree += RunFile(argv[i]) ? 1 : 0;
  std::printf("%d of %d cases agree\n", agree, argc - 1);
  return agree == argc - 1 ? 0 : 1;
}

}  // namespace
}  // namespace ebb

int main(int argc, char** argv) { return ebb::Main(argc, argv); }
