#include "groups/machine_types.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "base/printable.h"
#include "engine/plan/karpenter.h"
#include "groups/cloud_machines.h"
#include "groups/groups.h"
#include "groups/node_facts.h"
#include "groups/node_pools.h"
#include "platform/settings_file.h"
#include "predicates/drainability.h"
#include "snapshot/objects/quantity.h"

namespace ebb {
namespace {

using Amounts = AmountMap;
using Texts = TextMap;

constexpr int64_t kPodsOfKubelet = 110;  // The kubelet's default of maxPods.

QuantityUnit UnitOf(std::string_view resource) {
  return resource == "cpu" ? QuantityUnit::kMilli : QuantityUnit::kWhole;
}

// Labels that say where a node is and who it is, which a type must not change.
constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr const char* kArch = "kubernetes.io/arch";
// What clouds and device plugins say about an instance type's hardware.
constexpr std::string_view kHardwareLabels[] = {"karpenter.k8s.aws/instance-",
                                                "karpenter.azure.com/sku-",
                                                "eks.amazonaws.com/instance-",
                                                "k8s.amazonaws.com/accelerator",
                                                "cloud.google.com/gke-accelerator",
                                                "cloud.google.com/machine-family",
                                                "kubernetes.azure.com/accelerator",
                                                "nvidia.com/",
                                                "amd.com/",
                                                "beta.amd.com/",
                                                "feature.node.kubernetes.io/"};

template <typename List>
bool IsIn(const List& list, std::string_view key) {
  return std::ranges::find(list, key) != std::end(list);
}

// Whether the label follows from which machine is bought where.
bool IsOfOffer(std::string_view key) {
  return key == kHostname || IsIn(kZoneLabels, key) || IsIn(kRegionLabels, key) ||
         IsIn(kInstanceTypeLabels, key) || IsCapacityTypeLabel(key);
}

bool IsDecided(std::string_view key) {
  return IsOfOffer(key) || key.starts_with("node-role.kubernetes.io/") ||
         std::ranges::find(kGroupLabels, key, &GroupLabel::key) != kGroupLabels.end();
}

// Keeps the first error of a nested list, which names its place itself.
std::string ReadTexts(const YAML::Node& value, Texts& to) {
  if (!value.IsMap()) return "is not a map";
  for (const auto& each : value) {
    if (!each.first.IsScalar() || !each.second.IsScalar()) return "is not a map of texts";
    to[each.first.Scalar()] = each.second.Scalar();
  }
  return "";
}

std::string ReadNames(const YAML::Node& value, std::vector<std::string>& to) {
  if (!value.IsSequence()) return "is not a list";
  for (const YAML::Node& each : value) {
    if (std::string wrong = ReadName(each, to.emplace_back()); !wrong.empty()) return wrong;
  }
  return "";
}

// "10%" of `whole`, or a quantity.
std::string ReadAmount(std::string_view resource, const std::string& text,
                       std::optional<int64_t> whole, int64_t& to) {
  if (whole && text.ends_with('%')) {
    const std::optional<double> percent = AsReal(YAML::Node(text.substr(0, text.size() - 1)));
    if (!percent || !(*percent >= 0 && *percent <= 100)) {
      return fmt::format("{}: \"{}\" is not a share", resource, Printable(text));
    }
    to = static_cast<int64_t>(std::ceil(static_cast<double>(*whole) * *percent / 100));
    return "";
  }
  const absl::StatusOr<int64_t> amount = ParseQuantity(text, UnitOf(resource));
  if (!amount.ok()) return fmt::format("{}: {}", resource, std::string(amount.status().message()));
  if (*amount < 0 || *amount == kUncountable) {
    return fmt::format("{}: \"{}\" is not an amount of a machine", resource, Printable(text));
  }
  to = *amount;
  return "";
}

absl::Status ReadOffer(const std::string& file, const std::string& where, const YAML::Node& node,
                       FileMachine::Offer& offer) {
  const FieldReaders<FileMachine::Offer> readers = {
      {"zones",
       [](const YAML::Node& value, FileMachine::Offer& to) { return ReadNames(value, to.zones); }},
      {"capacityType",
       [](const YAML::Node& value, FileMachine::Offer& to) {
         std::string wrong = ReadName(value, to.capacity_type);
         to.capacity_type = CapacityTypeOf(to.capacity_type);
         return wrong;
       }},
      {"hourly",
       [](const YAML::Node& value, FileMachine::Offer& to) -> std::string {
         to.hourly = AsReal(value);
         const bool is_price = to.hourly && *to.hourly >= 0 && *to.hourly <= kHourlyMax;
         return is_price ? "" : fmt::format("{} is not a price", Quoted(value));
       }},
  };
  return ReadFields(file, where, node, readers, offer);
}

absl::Status ReadTaint(const std::string& file, const std::string& where, const YAML::Node& node,
                       MachineTaint& taint) {
  const FieldReaders<MachineTaint> readers = {
      {"key", [](const YAML::Node& value, MachineTaint& to) { return ReadName(value, to.key); }},
      {"value",
       [](const YAML::Node& value, MachineTaint& to) { return ReadName(value, to.value); }},
      {"effect",
       [](const YAML::Node& value, MachineTaint& to) -> std::string {
         to.effect = value.IsScalar() ? value.Scalar() : "";
         const bool is_effect = to.effect == "NoSchedule" || to.effect == "NoExecute" ||
                                to.effect == "PreferNoSchedule";
         return is_effect ? "" : fmt::format("{} is not an effect of a taint", Quoted(value));
       }},
  };
  if (absl::Status s = ReadFields(file, where, node, readers, taint); !s.ok()) return s;
  if (taint.key.empty()) return BadSetting(file, where + ".key", "is required");
  if (taint.effect.empty()) return BadSetting(file, where + ".effect", "is required");
  return absl::OkStatus();
}

// Reads the items of a list with `read`, which names the place of an error itself.
template <typename Item, typename Read>
std::string ReadItems(const YAML::Node& value, std::vector<Item>& to, absl::Status& status,
                      const Read& read) {
  if (!value.IsSequence()) return "is not a list";
  for (size_t i = 0; i < value.size() && status.ok(); ++i) {
    status = read(i, value[i], to.emplace_back());
  }
  return "";
}

absl::Status ReadMachine(const std::string& file, const std::string& where, const YAML::Node& node,
                         FileMachine& machine) {
  constexpr const char* kOverheads[] = {"kubeReserved", "systemReserved", "evictionHard"};
  std::map<std::string, Texts> amounts;
  std::optional<int64_t> pods;
  absl::Status nested = absl::OkStatus();
  // The kubelet's names in evictionHard.
  constexpr std::pair<std::string_view, const char*> kSignals[] = {
      {"memory.available", "memory"}, {"nodefs.available", "ephemeral-storage"}};
  const auto texts = [&amounts](const std::string& name) {
    return [&amounts, name](const YAML::Node& value, FileMachine& /*to*/) {
      return ReadTexts(value, amounts[name]);
    };
  };
  const FieldReaders<FileMachine> readers = {
      {"name", [](const YAML::Node& value, FileMachine& to) { return ReadName(value, to.name); }},
      {"groups",
       [](const YAML::Node& value, FileMachine& to) { return ReadNames(value, to.groups); }},
      {"capacity", texts("capacity")},
      {kOverheads[0], texts(kOverheads[0])},
      {kOverheads[1], texts(kOverheads[1])},
      {kOverheads[2], texts(kOverheads[2])},
      {"pods",
       [&pods](const YAML::Node& value, FileMachine& /*to*/) -> std::string {
         pods = AsInteger(value);
         return pods && *pods > 0 ? "" : fmt::format("{} is not a number of pods", Quoted(value));
       }},
      {"labels",
       [](const YAML::Node& value, FileMachine& to) { return ReadTexts(value, to.labels); }},
      {"taints",
       [&](const YAML::Node& value, FileMachine& to) {
         return ReadItems(
             value, to.taints, nested, [&](size_t i, const YAML::Node& each, MachineTaint& taint) {
               return ReadTaint(file, fmt::format("{}.taints[{}]", where, i), each, taint);
             });
       }},
      {"offers",
       [&](const YAML::Node& value, FileMachine& to) {
         return ReadItems(value, to.offers, nested,
                          [&](size_t i, const YAML::Node& each, FileMachine::Offer& offer) {
                            return ReadOffer(file, fmt::format("{}.offers[{}]", where, i), each,
                                             offer);
                          });
       }},
  };
  if (absl::Status s = ReadFields(file, where, node, readers, machine); !s.ok()) return s;
  if (!nested.ok()) return nested;
  if (machine.name.empty()) return BadSetting(file, where + ".name", "is required");
  const std::string named = fmt::format("{} ({})", where, Printable(machine.name));
  if (machine.groups.empty()) return BadSetting(file, named + ".groups", "is required");
  if (machine.offers.empty()) return BadSetting(file, named + ".offers", "is required");
  for (const auto& [resource, text] : amounts["capacity"]) {
    const std::string wrong = ReadAmount(resource, text, std::nullopt, machine.capacity[resource]);
    if (!wrong.empty()) return BadSetting(file, named + ".capacity", wrong);
  }
  for (const char* const each : {"cpu", "memory"}) {
    if (machine.capacity[each] > 0) continue;
    return BadSetting(file, fmt::format("{}.capacity.{}", named, each), "is required");
  }
  for (const auto& [key, value] : machine.labels) {
    if (!IsDecided(key)) continue;
    return BadSetting(file, named + ".labels",
                      fmt::format("{}: is decided by the group and the offer", Printable(key)));
  }
  // `pods` comes first; it may also stand in `capacity`, as in a node's status.
  int64_t& most_pods = machine.capacity.try_emplace("pods", kPodsOfKubelet).first->second;
  most_pods = pods.value_or(most_pods);
  machine.allocatable = machine.capacity;
  machine.assumes_pods = !pods && !amounts["capacity"].contains("pods");
  machine.assumes_no_overhead = std::ranges::all_of(
      kOverheads, [&](const char* overhead) { return amounts[overhead].empty(); });
  for (const char* const overhead : kOverheads) {
    for (const auto& [name, text] : amounts[overhead]) {
      const std::string place = fmt::format("{}.{}", named, overhead);
      const auto* const signal =
          std::ranges::find(kSignals, name, &std::pair<std::string_view, const char*>::first);
      const std::string resource = signal == std::end(kSignals) ? name : signal->second;
      const auto whole = machine.capacity.find(resource);
      if (whole == machine.capacity.end()) {
        return BadSetting(file, place, fmt::format("{}: capacity has none", Printable(resource)));
      }
      int64_t amount = 0;
      if (const std::string wrong = ReadAmount(resource, text, whole->second, amount);
          !wrong.empty()) {
        return BadSetting(file, place, wrong);
      }
      int64_t& left = machine.allocatable[resource];
      if (amount > left) {
        return BadSetting(file, place,
                          fmt::format("{}: is more than the capacity", Printable(resource)));
      }
      left -= amount;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadMachines(const YAML::Node& root, MachineFile& to) {
  absl::Status nested = absl::OkStatus();
  bool has_types = false;
  const FieldReaders<MachineFile> readers = {
      {"machineTypes", [&](const YAML::Node& value, MachineFile& read) {
         has_types = true;
         return ReadItems(value, read.machines, nested,
                          [&](size_t i, const YAML::Node& each, FileMachine& machine) {
                            return ReadMachine(read.file, fmt::format("machineTypes[{}]", i), each,
                                               machine);
                          });
       }}};
  if (absl::Status s = ReadFields(to.file, "", root, readers, to); !s.ok()) return s;
  if (!nested.ok()) return nested;
  if (!has_types) return BadSetting(to.file, "machineTypes", "is required");
  std::set<std::string_view> names;
  for (const FileMachine& each : to.machines) {
    if (names.insert(each.name).second) continue;
    return BadSetting(to.file, "machineTypes",
                      fmt::format("{} is listed twice", Printable(each.name)));
  }
  return absl::OkStatus();
}

// --- The catalogue -------------------------------------------------------------------

// A node of a group that new nodes may look like.
struct Sibling {
  NodeId node;
  size_t daemon_pods = 0;
};

size_t DaemonPodsOn(const ClusterSnapshot& snapshot, NodeId node) {
  const Catalog& catalog = snapshot.catalog();
  return static_cast<size_t>(std::ranges::count_if(snapshot.PodsOn(node), [&](PodId pod) {
    const PodShape& shape = catalog.shape_of(pod);
    return shape.mirror || IsDaemonSetPod(catalog, shape);
  }));
}

Amounts AllocatableOf(const Catalog& catalog, NodeId node) {
  Amounts amounts;
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    if (amount > 0) amounts[std::string(catalog.ResourceName(resource))] = amount;
  }
  return amounts;
}

class Finder {
 public:
  Finder(const ClusterSnapshot& snapshot, const NodeGroups& groups, const NodePrices& prices)
      : snapshot_(snapshot),
        catalog_(snapshot.catalog()),
        groups_(groups),
        prices_(prices),
        facts_(FactsOfNodes(catalog_)),
        siblings_(groups.groups.size()),
        shared_(groups.groups.size()) {
    snapshot.alive().ForEach([&](NodeId node) {
      if (groups.Of(node) == kNoGroup || !MayBeCopied(node)) return;
      const auto group = static_cast<size_t>(groups.Of(node));
      siblings_[group].push_back({.node = node, .daemon_pods = DaemonPodsOn(snapshot, node)});
      pools_seen_.insert(NodePoolOf(catalog_, node));
      for (const auto& [key, value] : catalog_.node(node).labels) {
        ++shared_[group].labels[{key, value}];
      }
      for (const Taint& taint : catalog_.node(node).taints) {
        shared_[group].taints.insert({taint.key, taint.value, taint.effect_text});
      }
    });
  }

  MachineCatalogue Find(const PriceList& list, const MachineFile* file) {
    for (size_t g = 0; g < siblings_.size(); ++g) AddShapes(GroupId{static_cast<uint32_t>(g)});
    if (file != nullptr) {
      if (file->is_cloud_list) FindGroupsOf(*file);
      for (const FileMachine& each : file->machines) {
        if (file->is_cloud_list) {
          AddToGroups(each, list);
        } else {
          AddMachine(each, list);
        }
      }
    }
    RefuseTooUniform();
    std::ranges::stable_sort(found_.usable, {}, [](const MachineType& type) {
      return std::tuple(type.pool == nullptr ? 0 : -type.pool->weight, type.group, type.name,
                        type.zone, type.capacity_type);
    });
    for (const auto& [name, pool] : catalog_.storage().karpenter().pools()) {
      if (!pools_seen_.contains(name)) found_.Refuse(Why::kNoSibling, "all of NodePool " + name);
    }
    return std::move(found_);
  }

 private:
  using Why = MachineCatalogue::Why;

  // A node that is not ready or cordoned may lack labels and DaemonSets' pods, or have taints that
  // a new node would not have.  By Karpenter's rules, only nodes that it manages are bought.
  [[nodiscard]] bool MayBeCopied(NodeId node) const {
    const NodeInfo& info = catalog_.node(node);
    return info.ready && !info.unschedulable && !info.upcoming &&
           info.leaving == NodeLeaving::kNo && !info.to_be_deleted &&
           groups_.WhyNotReady(node) == NotReadyReason::kNone &&
           (!groups_.FollowsKarpenter(node) ||
            WhyNotDisruptable(catalog_, node) != UnremovableReason::kNodeClaimNotFound);
  }

  // Each shape of the group's nodes once.  The node with the most DaemonSets' pods stands for it.
  void AddShapes(GroupId group) {
    using Key = std::tuple<std::string_view, std::string_view, std::string, Amounts>;
    std::map<Key, Sibling> shapes;
    for (const Sibling& each : siblings_[static_cast<size_t>(group)]) {
      const NodeFacts& facts = facts_[Index(each.node)];
      const auto [place, is_new] =
          shapes.try_emplace(Key(facts.instance_type, facts.zone, facts.capacity_type,
                                 AllocatableOf(catalog_, each.node)),
                             each);
      if (!is_new && each.daemon_pods > place->second.daemon_pods) place->second = each;
    }
    for (const auto& [key, sibling] : shapes) {
      const auto& [instance_type, zone, capacity_type, amounts] = key;
      const std::string_view name = catalog_.NodeName(sibling.node);
      MachineType type{.name = std::string(instance_type.empty() ? name : instance_type),
                       .group = group,
                       .zone = std::string(zone),
                       .capacity_type = capacity_type,
                       .hourly = prices_.hourly[Index(sibling.node)],
                       .allocatable = amounts,
                       .sibling = std::string(name)};
      Add(std::move(type), prices_.Knows(sibling.node));
    }
  }

  void AddMachine(const FileMachine& machine, const PriceList& list) {
    for (const std::string& name : machine.groups) {
      const auto group = std::ranges::find(groups_.groups, name, &NodeGroup::name);
      if (group == groups_.groups.end()) {
        found_.Refuse(Why::kUnknownGroup, fmt::format("{} of {}", machine.name, name));
        continue;
      }
      const GroupId id{static_cast<uint32_t>(group - groups_.groups.begin())};
      for (const FileMachine::Offer& offer : machine.offers) AddOffer(machine, id, offer, list);
    }
  }

  // The groups to which a cloud's list is offered: those with a NodePool, and those that are named.
  void FindGroupsOf(const MachineFile& file) {
    for (size_t g = 0; g < groups_.groups.size(); ++g) {
      const bool is_named = IsIn(file.groups, groups_.groups[g].name);
      const bool has_pool = std::ranges::any_of(siblings_[g], [&](const Sibling& each) {
        return FindNodePool(catalog_, each.node) != nullptr;
      });
      if (is_named || has_pool) list_groups_.push_back(GroupId{static_cast<uint32_t>(g)});
    }
    for (const std::string& name : file.groups) {
      if (std::ranges::find(groups_.groups, name, &NodeGroup::name) != groups_.groups.end())
        continue;
      found_.Refuse(Why::kUnknownGroup, "all of " + name);
    }
  }

  void AddToGroups(const FileMachine& machine, const PriceList& list) {
    if (list_groups_.empty()) found_.Refuse(Why::kNoGroups, machine.name);
    if (machine.offers.empty()) found_.Refuse(Why::kNotSold, machine.name);
    for (const GroupId group : list_groups_) {
      for (const FileMachine::Offer& offer : machine.offers) AddOffer(machine, group, offer, list);
    }
  }

  void AddOffer(const FileMachine& machine, GroupId group, const FileMachine::Offer& offer,
                const PriceList& list) {
    const std::vector<Sibling>& all = siblings_[static_cast<size_t>(group)];
    std::set<std::string, std::less<>> zones(offer.zones.begin(), offer.zones.end());
    const bool every_zone = zones.empty();
    const auto fits = [&](const Sibling& each) {
      const std::string& capacity_type = facts_[Index(each.node)].capacity_type;
      return offer.capacity_type.empty() || capacity_type == offer.capacity_type;
    };
    if (every_zone) {
      for (const Sibling& each : all) zones.emplace(facts_[Index(each.node)].zone);
    }
    for (const std::string& zone : zones) {
      const Sibling* best = nullptr;
      bool in_zone = false;
      for (const Sibling& each : all) {
        if (facts_[Index(each.node)].zone != zone) continue;
        in_zone = true;
        if (!fits(each)) continue;
        if (best == nullptr || each.daemon_pods > best->daemon_pods) best = &each;
      }
      MachineType type{.name = machine.name,
                       .group = group,
                       .zone = zone,
                       .capacity_type = offer.capacity_type,
                       .allocatable = machine.allocatable,
                       .sibling = "",
                       .of_file = &machine};
      if (best == nullptr) {
        // Without a named zone, another zone of the group may have a sibling.
        if (!every_zone || !std::ranges::any_of(all, fits)) {
          found_.Refuse(in_zone || every_zone ? Why::kNoSibling : Why::kNoZone, ToText(type));
        }
        continue;
      }
      const NodeFacts& facts = facts_[Index(best->node)];
      type.sibling = std::string(catalog_.NodeName(best->node));
      type.capacity_type = facts.capacity_type;
      NodeFacts asked{.instance_type = machine.name,
                      .zone = zone,
                      .region = facts.region,
                      .capacity_type = type.capacity_type,
                      .allocatable = {},
                      .gpu_sharing = {}};
      const auto gpus = machine.capacity.find("nvidia.com/gpu");
      if (gpus != machine.capacity.end()) asked.allocatable.gpus = gpus->second;
      const std::optional<PriceOfNode> listed = PriceFor(asked, list);
      if (listed) type.hourly = listed->hourly;
      if (offer.hourly) type.hourly = *offer.hourly;
      Add(std::move(type), offer.hourly.has_value() || listed.has_value());
    }
  }

  void Add(MachineType type, bool has_price) {
    const NodeGroup& group = groups_.groups[static_cast<size_t>(type.group)];
    if (!has_price) return found_.Refuse(Why::kNoPrice, ToText(type));
    if (group.target_size >= group.max_size) {
      return found_.Refuse(Why::kGroupAtMaximum, ToText(type));
    }
    if (group.atomic) return found_.Refuse(Why::kAtomicGroup, ToText(type));
    const NodeId sibling = *catalog_.FindNode(type.sibling);
    const KarpenterObjects::Pool* const pool = FindNodePool(catalog_, sibling);
    if (pool != nullptr && pool->is_static) {
      return found_.Refuse(Why::kStaticNodePool, ToText(type));
    }
    if (IsOfOtherArch(sibling, type)) return found_.Refuse(Why::kOtherArchitecture, ToText(type));
    type.capacity =
        type.of_file == nullptr ? CapacityOf(catalog_, sibling) : type.of_file->capacity;
    type.daemon_pods = DaemonPodsOn(snapshot_, sibling);
    SetLooks(sibling, group, type);
    if (pool != nullptr && !MayBuy(*pool, sibling, type)) return;
    found_.usable.push_back(std::move(type));
  }

  // Whether a new node would get the label of an architecture that it does not have.
  [[nodiscard]] bool IsOfOtherArch(NodeId sibling, const MachineType& type) const {
    if (type.of_file == nullptr || type.of_file->labels.contains(kArch)) return false;
    const std::string_view arch = ArchOfName(type.name);
    const std::optional<std::string> of_sibling = ValueOn(sibling, kArch);
    return !arch.empty() && of_sibling && *of_sibling != arch;
  }

  // Whether the NodePool allows the type.  Sets what a new node has of the NodePool.
  bool MayBuy(const KarpenterObjects::Pool& pool, NodeId sibling, MachineType& type) {
    type.pool = &pool;
    const auto refuse = [&](Why why, const std::string& what) {
      found_.Refuse(why, fmt::format("{} ({}: {})", ToText(type), pool.name, what));
      return false;
    };
    if (const std::string place = UnreadRequirement(pool); !place.empty()) {
      return refuse(Why::kRequirementsNotRead, place);
    }
    SetLooksOfPool(pool, sibling, type);
    const bool has_gpu = type.capacity.contains("nvidia.com/gpu");
    const auto is_unknown = [&](std::string_view key) {
      const bool is_of_gpu = key.find("-gpu-") != std::string_view::npos;
      return type.of_file != nullptr && IsHardware(key) && (has_gpu || !is_of_gpu);
    };
    const Texts labels = LabelsOf(sibling, type);
    if (const std::string key = UnmetRequirement(pool, labels, is_unknown); !key.empty()) {
      return refuse(Why::kRequirementsNotMet, key);
    }
    for (const KarpenterObjects::Requirement& each : pool.requirements) {
      if (!each.min_values) continue;
      const auto value = labels.find(each.key);
      if (value != labels.end()) values_[{&pool, each.key}].insert(value->second);
    }
    const auto [used, is_new] = used_.try_emplace(&pool);
    if (is_new) used->second = UsedOfLimits(snapshot_, pool);
    Amounts with = used->second;
    CountNode(type.capacity, with);
    const std::string resource = ExceededLimit(pool, with);
    return resource.empty() || refuse(Why::kLimitExceeded, resource);
  }

  static bool IsHardware(std::string_view key) {
    return std::ranges::any_of(kHardwareLabels,
                               [&](std::string_view prefix) { return key.starts_with(prefix); });
  }

  // The labels and taints of the NodePool's template, and the labels that its requirements set.
  void SetLooksOfPool(const KarpenterObjects::Pool& pool, NodeId sibling, MachineType& type) const {
    if (type.of_file != nullptr) {
      type.pool_labels = type.of_file->pool_labels;
      type.pool_labels.merge(MachineLabels(type.name, type.capacity));
    }
    for (const auto& [key, value] : pool.labels) {
      if (!IsOfOffer(key)) type.pool_labels[key] = value;
    }
    for (const KarpenterObjects::Requirement& each : pool.requirements) {
      if (IsOfMachine(each.key) || type.pool_labels.contains(each.key)) continue;
      const bool is_one = each.op == "In" && each.values.size() == 1;
      if (is_one) {
        type.pool_labels[each.key] = each.values[0];
      } else if (!Meets(each, ValueOn(sibling, each.key))) {
        type.left_out.insert(each.key);  // Karpenter chooses a value that pods ask for.
      }
    }
    for (const KarpenterObjects::PoolTaint& each : pool.taints) {
      if (each.is_startup) {
        type.startup_taints.insert(each.key);
        continue;
      }
      const auto is_it = [&](const auto& key, const auto& value, const auto& effect) {
        return key == each.key && value == each.value && effect == each.effect;
      };
      const bool is_there =
          std::ranges::any_of(catalog_.node(sibling).taints,
                              [&](const Taint& own) {
                                return is_it(catalog_.Text(own.key), catalog_.Text(own.value),
                                             catalog_.Text(own.effect_text));
                              }) ||
          std::ranges::any_of(type.group_taints, [&](const MachineTaint& own) {
            return is_it(own.key, own.value, own.effect);
          });
      if (!is_there) {
        type.group_taints.push_back({.key = each.key, .value = each.value, .effect = each.effect});
      }
    }
  }

  [[nodiscard]] std::optional<std::string> ValueOn(NodeId node, std::string_view key) const {
    for (const auto& label : catalog_.node(node).labels) {
      if (catalog_.Text(label.key) == key) return std::string(catalog_.Text(label.value));
    }
    return std::nullopt;
  }

  // The labels of a new node that requirements may be about.
  [[nodiscard]] Texts LabelsOf(NodeId sibling, const MachineType& type) const {
    const NodeFacts& facts = facts_[Index(sibling)];
    Texts labels;
    for (const auto& label : catalog_.node(sibling).labels) {
      const std::string_view key = catalog_.Text(label.key);
      if (!type.left_out.contains(key)) labels[std::string(key)] = catalog_.Text(label.value);
    }
    for (const auto& [key, value] : type.pool_labels) labels[key] = value;
    if (type.of_file != nullptr) {
      for (const auto& [key, value] : type.of_file->labels) labels[key] = value;
    }
    const auto put = [&](const auto& keys, std::string_view value) {
      for (const std::string_view key : keys) {
        if (!value.empty()) labels[std::string(key)] = value;
      }
    };
    put(kZoneLabels, type.zone);
    put(kRegionLabels, facts.region);
    put(kInstanceTypeLabels, type.name);
    labels["karpenter.sh/capacity-type"] = type.capacity_type;
    for (const auto& [beta, key] : {std::pair("beta.kubernetes.io/arch", "kubernetes.io/arch"),
                                    std::pair("beta.kubernetes.io/os", "kubernetes.io/os")}) {
      if (const auto value = labels.find(key); value != labels.end()) labels[beta] = value->second;
    }
    return labels;
  }

  // minValues: the types that a NodePool allows must have so many values of a label.
  void RefuseTooUniform() {
    const auto lacking = [&](const MachineType& type) {
      if (type.pool == nullptr) return std::string();
      for (const KarpenterObjects::Requirement& each : type.pool->requirements) {
        const auto values = values_.find({type.pool, each.key});
        const size_t count = values == values_.end() ? 0 : values->second.size();
        if (each.min_values && static_cast<int64_t>(count) < *each.min_values) return each.key;
      }
      return std::string();
    };
    std::erase_if(found_.usable, [&](const MachineType& type) {
      const std::string key = lacking(type);
      if (key.empty()) return false;
      found_.Refuse(Why::kRequirementsNotMet,
                    fmt::format("{} ({}: minValues of {})", ToText(type), type.pool->name, key));
      return true;
    });
  }

  // What a new node has of its sibling and of its group.
  void SetLooks(NodeId node, const NodeGroup& group, MachineType& type) const {
    const NodeFacts& facts = facts_[Index(node)];
    const Shared& shared = shared_[static_cast<size_t>(type.group)];
    const size_t nodes = siblings_[static_cast<size_t>(type.group)].size();
    const bool is_other_type = type.of_file != nullptr && type.name != facts.instance_type;
    std::string_view hostname;
    for (const auto& [key, value] : catalog_.node(node).labels) {
      if (catalog_.Text(key) == kHostname) hostname = catalog_.Text(value);
    }
    for (const auto& label : catalog_.node(node).labels) {
      const std::string_view key = catalog_.Text(label.key);
      const std::string_view value = catalog_.Text(label.value);
      const bool is_place = value == facts.zone || value == facts.region;
      if (IsOfOffer(key) || value == group.name) continue;
      const bool is_of_node = value == type.sibling || value == hostname ||
                              key == "alpha.eksctl.io/instance-id" ||
                              (key.starts_with("topology.") && !is_place);
      const bool is_of_all = is_place || shared.labels.at({label.key, label.value}) == nodes;
      const bool is_hardware = is_other_type && (value == facts.instance_type || IsHardware(key));
      // The same on all nodes of this instance type.
      const bool is_of_type = !is_other_type && (key.starts_with(kHardwareLabels[0]) ||
                                                 key.starts_with(kHardwareLabels[1]));
      if (is_of_node || !(is_of_all || is_of_type) || is_hardware) type.left_out.emplace(key);
    }
    for (const auto& [key, value, effect] : shared.taints) {
      const bool is_own = std::ranges::any_of(catalog_.node(node).taints, [&](const Taint& own) {
        return own.key == key && own.value == value && own.effect_text == effect;
      });
      if (is_own) continue;
      type.group_taints.push_back({.key = std::string(catalog_.Text(key)),
                                   .value = std::string(catalog_.Text(value)),
                                   .effect = std::string(catalog_.Text(effect))});
    }
    std::ranges::sort(type.group_taints, {}, [](const MachineTaint& taint) {
      return std::tie(taint.key, taint.value, taint.effect);
    });
  }

  // Of the nodes of a group that may be copied.
  struct Shared {
    std::map<std::pair<TextId, TextId>, size_t> labels;   // On so many nodes.
    std::set<std::tuple<TextId, TextId, TextId>> taints;  // Key, value and effect.
  };

  const ClusterSnapshot& snapshot_;
  const Catalog& catalog_;
  const NodeGroups& groups_;
  const NodePrices& prices_;
  const std::vector<NodeFacts> facts_;          // By NodeId.
  std::vector<std::vector<Sibling>> siblings_;  // By GroupId.
  std::vector<Shared> shared_;                  // By GroupId.
  std::vector<GroupId> list_groups_;            // For a cloud's list.
  std::set<std::string_view> pools_seen_;       // Of nodes that may be copied.
  std::map<const KarpenterObjects::Pool*, Amounts> used_;
  // The values of a label that has minValues, on types that are allowed.
  std::map<std::pair<const KarpenterObjects::Pool*, std::string>, std::set<std::string>> values_;
  MachineCatalogue found_;
};

struct WhyText {
  std::string_view reason;
  std::string_view text;
};

WhyText TextOf(MachineCatalogue::Why why) {
  using enum MachineCatalogue::Why;
  switch (why) {
    case kNoPrice:
      return {"NoPrice", "no price is known"};
    case kUnknownGroup:
      return {"UnknownGroup", "the cluster has no such group"};
    case kNoGroups:
      return {"NoGroups",
              "the list names no groups, and the cluster has no NodePool; --machine-type-groups "
              "names some"};
    case kGroupAtMaximum:
      return {"GroupAtMaximum", "the group has its largest size"};
    case kAtomicGroup:
      return {"AtomicGroup", "the group is scaled as a whole"};
    case kStaticNodePool:
      return {"StaticNodePool", "its NodePool has a fixed number of nodes"};
    case kRequirementsNotRead:
      return {"RequirementsNotRead",
              "its NodePool has a requirement or field that ebb cannot read"};
    case kRequirementsNotMet:
      return {"RequirementsNotMet", "it does not meet the requirements of its NodePool"};
    case kLimitExceeded:
      return {"LimitExceeded", "its NodePool would exceed its limits"};
    case kNoZone:
      return {"NoZone", "the group has no ready node in the zone to take labels from"};
    case kNoSibling:
      return {"NoSibling",
              "the group has no ready node of the capacity type to take labels and DaemonSets' "
              "pods from"};
    case kDominated:
      return {"Dominated",
              "another type of the same group, zone and capacity type offers as much for no more"};
    case kTooDear:
      return {"TooDear", "it costs at least as much as all nodes that may still go"};
    case kSpotFromOnDemand:
      return {"SpotFromOnDemand",
              "pods of an on-demand node would move to it; --allow-spot permits that"};
    case kNotSold:
      return {"NotSold", "the list offers it on demand or as spot in no zone"};
    case kOtherArchitecture:
      return {"OtherArchitecture",
              "by its name it has another architecture than the nodes of the group; labels: "
              "kubernetes.io/arch in the file says which it has"};
    case kLeftOut:
      return {"LeftOut",
              "more types can be bought than are tried, and the bound values others more"};
    case kTooFewSpotTypes:
      return {"TooFewSpotTypes",
              "one spot node would be replaced by it, and fewer than 15 cheaper spot types are "
              "known"};
  }
  return {};
}

}  // namespace

absl::StatusOr<MachineFile> ReadMachineFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path, kDataLimits.bytes);
  if (!text.ok()) return text.status();
  return ParseMachineFile(path, *text);
}

absl::StatusOr<MachineFile> ParseMachineFile(const std::string& name, const std::string& text) {
  MachineFile file;
  file.file = name;
  if (IsCloudMachineList(text)) {
    absl::Status read = ReadCloudMachines(name, text, file);
    if (!read.ok()) return read;
    return file;
  }
  absl::Status read =
      ParseSettings(name, text, [&](const YAML::Node& root) { return ReadMachines(root, file); });
  if (!read.ok()) return read;
  return file;
}

std::string ToText(const MachineType& type) {
  std::string text = type.name;
  if (!type.zone.empty()) text += " in " + type.zone;
  if (!type.capacity_type.empty()) text += ", " + type.capacity_type;
  return text;
}

void MachineCatalogue::Refuse(Why why, std::string name) {
  const WhyText words = TextOf(why);
  auto list = std::ranges::find(unusable, words.reason, &UnusableTypes::reason);
  if (list == unusable.end()) {
    list = unusable.insert(list, {.reason = words.reason, .text = words.text, .names = {}});
  }
  list->names.push_back(std::move(name));
}

MachineCatalogue FindMachineTypes(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const NodePrices& prices, const PriceList& list,
                                  const MachineFile* file) {
  return Finder(snapshot, groups, prices).Find(list, file);
}

}  // namespace ebb
