#include "session/wire_pass.h"

#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"

namespace ebb {
namespace {

namespace wire = v1alpha1;
using Names = google::protobuf::RepeatedPtrField<std::string>;

// Calls take(id) for every name of a node; a name must not occur twice.
template <typename Take>
absl::Status ForEachNode(std::string_view field, const Names& names,
                         const ClusterSnapshot& snapshot, Take take) {
  for (int i = 0; i < names.size(); ++i) {
    const std::string_view name = names[i];
    const auto refuse = [&](std::string_view why) {
      return absl::StrCat(Absl(field), "[", i, "]: node ", Printable(name), Absl(why));
    };
    const absl::StatusOr<NodeId> node = snapshot.catalog().FindNode(name);
    if (!node.ok() || !snapshot.Contains(*node)) {
      return absl::NotFoundError(refuse(" is not in the cluster"));
    }
    if (!take(*node)) return absl::InvalidArgumentError(refuse(" is named twice"));
  }
  return absl::OkStatus();
}

// The engine checks all else of the groups.  A threshold above 1 lets every node of its group go,
// as in the autoscaler, which checks none; recorded answers have some.
absl::Status CheckGroup(const std::string& where, const wire::PassGroup& group) {
  const auto wrong = [&](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(where, what...));
  };
  if (group.name().empty()) return wrong("name: is empty");
  const auto is_threshold = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!is_threshold(group.scale_down_utilization_threshold())) {
    return wrong("scale_down_utilization_threshold: ", group.scale_down_utilization_threshold(),
                 " is not a finite number from 0 on");
  }
  if (!is_threshold(group.scale_down_gpu_utilization_threshold())) {
    return wrong("scale_down_gpu_utilization_threshold: ",
                 group.scale_down_gpu_utilization_threshold(), " is not a finite number from 0 on");
  }
  return absl::OkStatus();
}

// The resource that decides, as the autoscaler spells it: of devices, DRIVER/POOL.
std::string ResourceText(const Catalog& catalog, const Utilization& use) {
  std::string text(catalog.Text(use.resource));
  if (use.pool != kNoText) absl::StrAppend(&text, "/", Absl(catalog.Text(use.pool)));
  return text;
}

NodeGroup GroupOf(const wire::PassGroup& group) {
  NodeGroup made;
  made.name = group.name();
  made.atomic = group.atomic();
  made.target_size = group.nodes_size();
  if (group.has_scale_down_utilization_threshold()) {
    made.scale_down_utilization_threshold = group.scale_down_utilization_threshold();
  }
  if (group.has_scale_down_gpu_utilization_threshold()) {
    made.scale_down_gpu_utilization_threshold = group.scale_down_gpu_utilization_threshold();
  }
  if (group.has_ignore_daemonsets_utilization()) {
    made.ignore_daemonsets_utilization = group.ignore_daemonsets_utilization();
  }
  return made;
}

absl::StatusOr<NodeGroups> GroupsOf(const wire::PassGroups& told, const ClusterSnapshot& snapshot) {
  const size_t nodes = snapshot.catalog().nodes();
  NodeGroups made;
  made.group_of.assign(nodes, kNoGroup);
  made.gpu_label.assign(nodes, false);
  for (int g = 0; g < told.groups_size(); ++g) {
    const wire::PassGroup& group = told.groups(g);
    const std::string where = absl::StrCat("groups.groups[", g, "].");
    if (absl::Status s = CheckGroup(where, group); !s.ok()) return s;
    made.groups.push_back(GroupOf(group));
    absl::Status named = ForEachNode(where + "nodes", group.nodes(), snapshot, [&](NodeId node) {
      if (made.Of(node) != kNoGroup) return false;
      made.group_of[Index(node)] = GroupId{static_cast<uint32_t>(g)};
      return true;
    });
    if (!named.ok()) return named;
  }
  absl::Status named =
      ForEachNode("groups.gpu_nodes", told.gpu_nodes(), snapshot, [&](NodeId node) {
        made.gpu_label[Index(node)] = true;
        return true;
      });
  if (!named.ok()) return named;
  return made;
}

class PlanWriter {
 public:
  PlanWriter(const Catalog& catalog, wire::PassPlan* plan) : catalog_(catalog), plan_(plan) {}

  void Write(const Plan& plan) {
    plan_->set_termination(std::string(ToString(plan.termination)));
    plan_->mutable_removes()->Reserve(static_cast<int>(plan.remove.size()));
    for (const RemovableNode& node : plan.remove) Write(node);
    plan_->mutable_keeps()->Reserve(static_cast<int>(plan.keep.size()));
    for (const UnremovableNode& node : plan.keep) Write(node, plan_->add_keeps());
    for (const NodeId node : plan.skipped) plan_->add_skipped(Name(node));
    for (uint32_t node = 0; node < plan.utilization.size(); ++node) {
      if (plan.utilization[node]) Write(NodeId{node}, *plan.utilization[node]);
    }
  }

  void WriteExcluded(std::span<const UnremovableNode> nodes) {
    for (const UnremovableNode& node : nodes) Write(node, plan_->add_excluded());
  }

 private:
  [[nodiscard]] std::string Name(NodeId node) const { return std::string(catalog_.NodeName(node)); }

  void Write(PodId pod, wire::PodName* name) const { WritePodName(catalog_, pod, *name); }

  void Write(const RemovableNode& node) {
    wire::Removal* const written = plan_->add_removes();
    written->set_node(Name(node.node));
    written->set_risky(node.risky);
    written->mutable_moves()->Reserve(static_cast<int>(node.moves.size()));
    for (const Move& move : node.moves) {
      wire::Move* const to = written->add_moves();
      Write(move.pod, to->mutable_pod());
      to->set_to(Name(move.to));
    }
    for (const PodId pod : node.daemonset) Write(pod, written->add_daemonset());
    for (const PodId pod : node.on_completion) Write(pod, written->add_on_completion());
  }

  void Write(const UnremovableNode& node, wire::KeptNode* written) const {
    written->set_node(Name(node.node));
    written->set_reason(std::string(ToString(node.reason)));
    if (node.blocking_reason != BlockingPodReason::kNoReason) {
      written->set_blocking_reason(std::string(ToString(node.blocking_reason)));
    }
    if (node.pod != kNoPod) Write(node.pod, written->mutable_pod());
    if (node.pdb) {
      const Pdb& pdb = catalog_.pdbs()[Index(*node.pdb)];
      written->set_pdb(absl::StrCat(Absl(catalog_.Text(pdb.namespace_name)), "/",
                                    Absl(catalog_.Text(pdb.name))));
    }
  }

  void Write(NodeId node, const Utilization& use) {
    wire::NodeUse* const written = plan_->add_utilization();
    written->set_node(Name(node));
    written->set_cpu(use.cpu);
    written->set_memory(use.memory);
    written->set_gpu(use.gpu);
    written->set_resource(ResourceText(catalog_, use));
    written->set_utilization(use.utilization);
  }

  const Catalog& catalog_;
  wire::PassPlan* const plan_;
};

// Numbers things in the order of their first use; calls `name` once for each.
class Numbering {
 public:
  explicit Numbering(size_t things) : numbers_(things, 0) {}
  template <typename Name>
  uint32_t operator()(size_t thing, Name name) {
    uint32_t& number = numbers_[thing];  // The number plus one; 0: none yet.
    if (number == 0) {
      name();
      number = ++count_;
    }
    return number - 1;
  }

 private:
  std::vector<uint32_t> numbers_;
  uint32_t count_ = 0;
};

class TableWriter {
 public:
  TableWriter(const Catalog& catalog, wire::PassTable* table)
      : catalog_(catalog), table_(table), nodes_(catalog.nodes()), shapes_(catalog.pod_shapes()) {}

  void Write(const Plan& plan) {
    table_->set_termination(std::string(ToString(plan.termination)));
    Reserve(plan);
    for (const RemovableNode& node : plan.remove) Write(node);
    for (const UnremovableNode& node : plan.keep) Write(node);
    for (const NodeId node : plan.skipped) table_->add_skipped(Number(node));
    for (uint32_t node = 0; node < plan.utilization.size(); ++node) {
      if (plan.utilization[node]) Write(NodeId{node}, *plan.utilization[node]);
    }
  }

 private:
  void Reserve(const Plan& plan) {
    size_t moves = 0;
    for (const RemovableNode& node : plan.remove) moves += node.moves.size();
    const int pods = static_cast<int>(moves);
    table_->mutable_to()->Reserve(pods);
    table_->mutable_pod_namespaces()->Reserve(pods);
    table_->mutable_pod_name_sizes()->Reserve(pods);
    constexpr size_t kUsualName = 24;
    table_->mutable_pod_names()->reserve(moves * kUsualName);
  }

  uint32_t Number(NodeId node) {
    return nodes_(Index(node), [&] { table_->add_nodes(std::string(catalog_.NodeName(node))); });
  }

  // The index of `text` in `in`, for a list of few distinct texts.
  static uint32_t Number(std::string_view text,
                         google::protobuf::RepeatedPtrField<std::string>* in) {
    for (int i = 0; i < in->size(); ++i) {
      if (in->Get(i) == text) return static_cast<uint32_t>(i);
    }
    in->Add(std::string(text));
    return static_cast<uint32_t>(in->size() - 1);
  }

  void Write(PodId pod) {
    const PodShapeId shape = catalog_.shape_id(pod);
    const uint32_t number = shapes_(Index(shape), [&] {
      const std::string_view name = catalog_.Text(catalog_.shape(shape).namespace_name);
      namespace_of_.push_back(Number(name, table_->mutable_namespaces()));
    });
    table_->add_pod_namespaces(namespace_of_[number]);
    const std::string_view name = catalog_.Text(catalog_.pod(pod).name);
    table_->add_pod_name_sizes(static_cast<uint32_t>(name.size()));
    table_->mutable_pod_names()->append(name);
  }

  void Write(const RemovableNode& node) {
    table_->add_removed_nodes(Number(node.node));
    table_->add_moves(static_cast<uint32_t>(node.moves.size()));
    table_->add_daemonset(static_cast<uint32_t>(node.daemonset.size()));
    table_->add_on_completion(static_cast<uint32_t>(node.on_completion.size()));
    table_->add_risky(node.risky);
    for (const Move& move : node.moves) {
      Write(move.pod);
      table_->add_to(Number(move.to));
    }
    for (const PodId pod : node.daemonset) Write(pod);
    for (const PodId pod : node.on_completion) Write(pod);
  }

  void Write(const UnremovableNode& node) {
    table_->add_kept_nodes(Number(node.node));
    table_->add_kept_reasons(Number(ToString(node.reason), table_->mutable_reasons()));
    const bool blocks = node.blocking_reason != BlockingPodReason::kNoReason;
    table_->add_blocking_reasons(
        blocks ? 1 + Number(ToString(node.blocking_reason), table_->mutable_reasons()) : 0);
    table_->add_has_pod(node.pod != kNoPod);
    if (node.pod != kNoPod) Write(node.pod);
  }

  void Write(NodeId node, const Utilization& use) {
    table_->add_used_nodes(Number(node));
    table_->add_cpu(use.cpu);
    table_->add_memory(use.memory);
    table_->add_gpu(use.gpu);
    if (use.pool == kNoText) {
      table_->add_used_resources(Number(catalog_.Text(use.resource), table_->mutable_resources()));
    } else {  // Pools are as many as nodes, and nearly all differ.
      table_->add_used_resources(static_cast<uint32_t>(table_->resources_size()));
      table_->add_resources(ResourceText(catalog_, use));
    }
    table_->add_utilization(use.utilization);
  }

  const Catalog& catalog_;
  wire::PassTable* const table_;
  Numbering nodes_;
  Numbering shapes_;
  std::vector<uint32_t> namespace_of_;  // For each numbered shape.
};

}  // namespace

namespace {

absl::Status ReadLists(const wire::PlanInput& input, const ClusterSnapshot& snapshot,
                       const GroupRules& rules, PassLists& lists) {
  const Catalog& catalog = snapshot.catalog();
  NodeSet named(catalog.nodes());
  absl::Status read =
      ForEachNode("candidates.nodes", input.candidates().nodes(), snapshot, [&](NodeId node) {
        if (named.Contains(node)) return false;
        named.Insert(node);
        lists.candidates.push_back(node);
        return true;
      });
  if (!read.ok()) return read;
  if (input.has_destinations()) {
    NodeSet& destinations = lists.destinations.emplace(catalog.nodes());
    read =
        ForEachNode("destinations.nodes", input.destinations().nodes(), snapshot, [&](NodeId node) {
          destinations.Insert(node);
          return true;
        });
    if (!read.ok()) return read;
  }
  if (!input.has_groups()) {
    if (absl::Status s = CheckMinimums(catalog, rules); !s.ok()) return s;
    lists.groups = AssignGroups(catalog, rules);
    return absl::OkStatus();
  }
  absl::StatusOr<NodeGroups> groups = GroupsOf(input.groups(), snapshot);
  if (!groups.ok()) return groups.status();
  lists.groups = *std::move(groups);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PassInput> ReadPass(const wire::PlanInput& input, const ClusterSnapshot& snapshot,
                                   const GroupRules& rules, PassLists& lists) {
  if (absl::Status s = ReadLists(input, snapshot, rules, lists); !s.ok()) return s;
  PassInput pass;
  pass.now_s = input.now();
  pass.candidates = lists.candidates;
  if (lists.destinations) pass.destinations = &*lists.destinations;
  if (input.has_unneeded_limit()) pass.unneeded_limit = input.unneeded_limit();
  switch (input.pod_order()) {
    case wire::BY_PRIORITY:
      return pass;
    case wire::AS_LISTED:
      pass.pod_order = PodOrder::kAsListed;
      return pass;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("pod_order: ", static_cast<int>(input.pod_order()), " is not an order"));
  }
}

void WritePassPlan(const Catalog& catalog, const Plan& plan, wire::PassPlan* written) {
  PlanWriter(catalog, written).Write(plan);
}

void WriteWholePlan(const Catalog& catalog, const PlanResult& made, wire::PassPlan* written) {
  PlanWriter writer(catalog, written);
  writer.Write(made.plan);
  writer.WriteExcluded(made.excluded);
}

void WritePodName(const Catalog& catalog, PodId pod, wire::PodName& written) {
  const PodInfo& info = catalog.pod(pod);
  written.set_namespace_(std::string(catalog.Text(catalog.shape_of(pod).namespace_name)));
  written.set_name(std::string(catalog.Text(info.name)));
  const std::string_view key = catalog.Text(info.key);
  // The key of a pod without a UID is "namespace/name".
  if (key.find('/') == std::string_view::npos) written.set_uid(std::string(key));
}

void WritePassTable(const Catalog& catalog, const Plan& plan, wire::PassTable* written) {
  TableWriter(catalog, written).Write(plan);
}

}  // namespace ebb
