#include "tests/support/live_twin.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "engine/make_plan.h"
#include "predicates/drainability.h"
#include "predicates/filters.h"
#include "snapshot/devices.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/any_object_sink.h"
#include "tests/engine/planning.h"
#include "tests/support/shape_families.h"

namespace ebb::test {
namespace {

constexpr int64_t kNow = 1'000'000;

std::string Name(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  return absl::StrCat(Absl(objects::KindOf(object)), " ", Absl(meta.namespace_name), "/",
                      Absl(meta.name));
}

// Collects the names of the objects that it receives, in order.
class NameSink : public AnyObjectSink {
 public:
  std::vector<std::string> names;

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    names.push_back(Name(object));
    return absl::OkStatus();
  }
};

void DescribeNode(ClusterSnapshot& snapshot, NodeId node, std::string& text) {
  const Catalog& catalog = snapshot.catalog();
  const NodeInfo& info = catalog.node(node);
  absl::StrAppend(&text, "node ", Absl(catalog.NodeName(node)), " ", Absl(catalog.Text(info.uid)),
                  info.unschedulable ? " unschedulable" : "", info.ready ? " ready" : "",
                  " created ", info.creation_time, " leaving ", static_cast<int>(info.leaving),
                  " setup ", static_cast<int>(info.setup));
  const std::string* const machine =
      catalog.storage().dying_machines().Of(info.name, info.provider_id);
  if (machine != nullptr) absl::StrAppend(&text, " on ", *machine);
  std::set<std::string> free;
  for (uint32_t r = 0; r < catalog.resources(); ++r) {
    const int64_t amount = snapshot.Free(ResourceId{r}, node);
    if (amount == 0) continue;
    free.insert(absl::StrCat(Absl(catalog.ResourceName(ResourceId{r})), "=", amount));
  }
  absl::StrAppend(&text, " free ", absl::StrJoin(free, " "), " pods");
  for (const PodId pod : snapshot.PodsOn(node)) {
    absl::StrAppend(&text, " ", catalog.PodName(pod));
  }
  for (const NodePool& pool : catalog.devices().PoolsOf(node)) {
    absl::StrAppend(&text, " pool ",
                    Absl(catalog.Text(catalog.devices().slice(pool.first_slice).pool)),
                    pool.incomplete ? " incomplete" : "", pool.invalid ? " invalid" : "",
                    pool.uses_unknown ? " used" : "");
    for (const uint32_t s : pool.slices) {
      absl::StrAppend(&text, " ", Absl(catalog.Text(catalog.devices().slice(s).name)));
    }
  }
  text += '\n';
}

// The devices that each claim of the pod holds, and by how many others they are held.
void DescribeDevices(const ClusterSnapshot& snapshot, const PodShape& shape, std::string& text) {
  const Catalog& catalog = snapshot.catalog();
  absl::StrAppend(&text, "  ", shape.not_understood, "\n");
  for (const DeviceClaimId id : shape.device_claims) {
    const DeviceClaimState& claim = snapshot.devices().claim(id);
    absl::StrAppend(&text, "  claim ", Absl(catalog.Text(catalog.devices().claim(id).name)),
                    claim.allocated ? " allocated" : "", claim.as_in_status ? " as read" : "",
                    catalog.devices().claim(id).owned ? " owned" : "", " users ", claim.users, ":");
    for (const HeldDevice& held : claim.devices) {
      const DeviceShares* const shares = snapshot.devices().Shares(held.id);
      absl::StrAppend(&text, " ",
                      held.info == HeldDevice::kNoInfo
                          ? ""
                          : Absl(catalog.Text(catalog.devices().device(held.info).name)),
                      "*", snapshot.devices().Uses(held.id), "+",
                      shares == nullptr ? 0 : shares->claims);
    }
    text += '\n';
  }
}

void DescribePod(ClusterSnapshot& snapshot, PodId pod, std::string& text) {
  const Catalog& catalog = snapshot.catalog();
  const PodShape& shape = catalog.shape_of(pod);
  absl::StrAppend(&text, "pod ", catalog.PodName(pod), " created ", catalog.pod(pod).creation_time,
                  " key ", Absl(catalog.Text(catalog.pod(pod).key)), " budgets");
  if (shape.terminating) absl::StrAppend(&text, " deleted ", catalog.DeletionTime(pod));
  for (const PdbId id : shape.budgets) {
    const Pdb& pdb = catalog.pdbs()[Index(id)];
    absl::StrAppend(&text, " ", Absl(catalog.Text(pdb.name)), "=", pdb.disruptions_allowed);
  }
  const DrainVerdict drain = ApplyDrainRulesAlone(catalog, pod, DrainOptions(), kNow);
  absl::StrAppend(&text, " drain ", static_cast<int>(drain.outcome), " ",
                  static_cast<int>(drain.reason), "\n");
  if (!shape.resource_claims.empty()) DescribeDevices(snapshot, shape, text);
  snapshot.Fork();
  if (snapshot.NodeOf(pod) != kNoNode) snapshot.RemovePod(pod);
  snapshot.alive().ForEach([&](NodeId node) {
    FilterVerdict verdict = Explain(snapshot, shape, node);
    std::ranges::sort(verdict.reasons);
    absl::StrAppend(&text, "  on ", Absl(catalog.NodeName(node)), ": ",
                    verdict.fits ? "fits" : Absl(FilterName(verdict.filter)), " ",
                    absl::StrJoin(verdict.reasons, "; "), " ", verdict.detail, "\n");
  });
  snapshot.Revert();
}

void DescribePlan(ClusterSnapshot& snapshot, const std::vector<PodId>& pending, std::string& text) {
  const Catalog& catalog = snapshot.catalog();
  PlanRequest request;
  request.pass.now_s = kNow;
  request.planner.scale_down_utilization_threshold = 0.9;
  request.planner.drain.skip_nodes_with_system_pods = false;
  request.pass.pending = pending;
  const absl::StatusOr<PlanResult> made = MakePlan(snapshot, OneGroup(snapshot), request);
  if (!made.ok()) {
    absl::StrAppend(&text, "no plan: ", made.status().message(), "\n");
    return;
  }
  const auto move = [&](const Move& each) {
    absl::StrAppend(&text, " ", catalog.PodName(each.pod), ">", Absl(catalog.NodeName(each.to)));
  };
  for (const RemovableNode& node : made->plan.remove) {
    absl::StrAppend(&text, "remove ", Absl(catalog.NodeName(node.node)), node.risky ? " risky" : "",
                    ":");
    for (const Move& each : node.moves) move(each);
    text += '\n';
  }
  for (const UnremovableNode& node : made->plan.keep) {
    absl::StrAppend(&text, "keep ", Absl(catalog.NodeName(node.node)), " ",
                    Absl(ToString(node.reason)), " ", Absl(ToString(node.blocking_reason)), " ",
                    node.pod == kNoPod ? "" : catalog.PodName(node.pod), " ",
                    node.pdb ? Absl(catalog.Text(catalog.pdbs()[Index(*node.pdb)].name)) : "",
                    "\n");
  }
  for (uint32_t n = 0; n < made->plan.utilization.size(); ++n) {
    const std::optional<Utilization>& of = made->plan.utilization[n];
    if (!of || of->pool == kNoText) continue;
    absl::StrAppend(&text, "use of ", Absl(catalog.NodeName(NodeId{n})), " ",
                    Absl(catalog.Text(of->resource)), "/", Absl(catalog.Text(of->pool)), " ",
                    of->utilization, "\n");
  }
  text += "packed";
  for (const Move& each : made->plan.packed) move(each);
  text += '\n';
}

std::string FirstDifference(const std::string& want, const std::string& got) {
  if (want == got) return "";
  const auto line_of = [&](const std::string& text, size_t at) {
    const size_t begin = text.rfind('\n', at == 0 ? 0 : at - 1);
    const size_t from = begin == std::string::npos ? 0 : begin + 1;
    return text.substr(from, text.find('\n', at) - from);
  };
  const auto [a, b] = std::mismatch(want.begin(), want.end(), got.begin(), got.end());
  const auto at = static_cast<size_t>(a - want.begin());
  return absl::StrCat("an import gives \"", line_of(want, at), "\", the live snapshot \"",
                      line_of(got, at), "\"");
}

}  // namespace

std::string DescribeCluster(ClusterSnapshot& snapshot, const std::vector<PodId>& pending) {
  const Catalog& catalog = snapshot.catalog();
  std::string text;
  std::vector<PodId> pods;
  snapshot.alive().ForEach([&](NodeId node) {
    DescribeNode(snapshot, node, text);
    pods.insert(pods.end(), snapshot.PodsOn(node).begin(), snapshot.PodsOn(node).end());
  });
  text += "pending";
  for (const PodId pod : pending) absl::StrAppend(&text, " ", catalog.PodName(pod));
  text += '\n';
  pods.insert(pods.end(), pending.begin(), pending.end());
  for (const PodId pod : pods) DescribePod(snapshot, pod, text);
  DescribePlan(snapshot, pending, text);
  return text;
}

LiveTwin::LiveTwin(Dice dice, Uids uids, LiveSnapshot::Options options, Devices devices)
    : dice_(dice), uids_(uids), match_os_(options.match_os), devices_(devices), live_(options) {
  clusters_.resize(3);
  for (size_t slot = 0; slot < clusters_.size(); ++slot) DrawCluster(slot);
}

void LiveTwin::DrawCluster(size_t slot) {
  Dice dice(static_cast<uint64_t>(dice_.Below(1 << 16)));
  std::vector<uint8_t> bytes(4000);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(dice.Below(256));
  Choices choices(bytes);
  clusters_[slot] = RandomCluster(choices);
}

objects::Node& LiveTwin::DrawNode(const RawCluster& from) {
  objects::Node& node = *nodes_.emplace_back(std::make_unique<objects::Node>(dice_.Of(from.nodes)));
  node.meta.uid = dice_.Percent(95) ? "u1" : "u2";
  node.conditions = {{"Ready", dice_.Percent(80) ? "True" : "False"}};
  node.unschedulable ^= dice_.Percent(10);
  if (dice_.Percent(2)) node.meta.deletion_time = 900'000;
  if (dice_.Percent(2)) node.taints.push_back({"karpenter.sh/disrupted", "", "NoSchedule"});
  if (!node.allocatable.empty() && dice_.Percent(20)) {
    node.allocatable[0].amount = dice_.Below(20);
  }
  return node;
}

objects::Pod& LiveTwin::DrawPod(const RawCluster& from) {
  static const std::vector<objects::Text> kPhases = {"Running", "Running", "Running", "Pending",
                                                     "Succeeded"};
  static const std::vector<objects::Scheduling> kScheduling = {
      objects::Scheduling::kUnprocessed, objects::Scheduling::kUnschedulable,
      objects::Scheduling::kGated, objects::Scheduling::kOther};
  objects::Pod& pod = *pods_.emplace_back(std::make_unique<objects::Pod>(dice_.Of(from.pods)));
  if (dice_.Percent(80)) {
    pod.meta.owners = {{"apps/v1", "ReplicaSet", "rs", "rs", true}};
  }
  if (dice_.Percent(30)) pod.node_name = dice_.Of(from.nodes).meta.name;
  if (dice_.Percent(10)) pod.node_name = {};
  pod.phase = dice_.Of(kPhases);
  if (uids_ == Uids::kUnique) pod.meta.uid = {};
  pod.meta.creation_time = 900'000 + dice_.Below(3);
  if (dice_.Percent(5)) pod.priority = dice_.Percent(50) ? -20 : 10;
  if (dice_.Percent(20)) pod.scheduling = dice_.Of(kScheduling);
  if (dice_.Percent(20)) pod.scheduler_name = "custom";
  return pod;
}

objects::ObjectRef LiveTwin::DrawMachine(const RawCluster& from) {
  objects::Machine machine;
  machine.meta.namespace_name = "machines";
  machine.meta.name = dice_.Percent(50) ? "one" : "two";
  machine.node_name = dice_.Of(from.nodes).meta.name;
  if (dice_.Percent(20)) machine.meta.deletion_time = 900'000;
  return storage_.emplace_back(std::make_unique<objects::StorageObject>(machine)).get();
}

objects::ObjectRef LiveTwin::DrawObject() {
  static const std::vector<objects::Text> kNamespaces = {"a", "b", "c"};
  static const std::vector<objects::Text> kNames = {"one", "two", "three"};
  static const std::vector<objects::Text> kValues = {"1", "2", ""};
  const RawCluster& from = calm_ ? clusters_[0] : dice_.Of(clusters_);
  const auto storage = [&](const auto& list) -> objects::ObjectRef {
    if (list.empty()) return &DrawPod(from);
    return storage_.emplace_back(std::make_unique<objects::StorageObject>(dice_.Of(list))).get();
  };
  if (devices_ == Devices::kSome && dice_.Percent(80)) return DrawDeviceObject(from);
  const int kind = dice_.Below(calm_ ? 90 : 100);
  if (kind < 62) return &DrawPod(from);
  if (kind < 76) return &DrawNode(from);
  if (kind < 82) {
    objects::Controller& rs = *controllers_.emplace_back(std::make_unique<objects::Controller>());
    rs.meta.namespace_name = dice_.Of(kNamespaces);
    rs.meta.name = rs.meta.uid = "rs";
    rs.spec_replicas = dice_.Below(4);
    rs.status_replicas = dice_.Below(4);
    return &rs;
  }
  if (kind < 90) {
    objects::PodDisruptionBudget& pdb =
        *budgets_.emplace_back(std::make_unique<objects::PodDisruptionBudget>());
    pdb.meta.namespace_name = dice_.Of(kNamespaces);
    pdb.meta.name = dice_.Of(kNames);
    pdb.selector.nil = false;
    if (calm_ || dice_.Percent(90)) {
      // Mostly the same for a name, so that usually only the allowed disruptions change.
      const objects::Text value = calm_ || dice_.Percent(90) ? "1" : dice_.Of(kValues);
      pdb.selector.match_labels.push_back({pdb.meta.name == "one" ? "app" : "tier", value});
    }
    pdb.disruptions_allowed = dice_.Below(4);
    return &pdb;
  }
  switch (kind) {
    case 90:
    case 91:
    case 92:
      return from.namespaces.empty() ? objects::ObjectRef(&DrawPod(from))
                                     : objects::ObjectRef(&dice_.Of(from.namespaces));
    case 93:
      return storage(from.volumes);
    case 94:
    case 95:
      return storage(from.claims);
    case 96:
      return storage(from.classes);
    case 97:
      return storage(from.csi_nodes);
    case 98:
      return storage(from.attachments);
    default:
      if (dice_.Percent(50)) return DrawMachine(from);
      return dice_.Percent(50) ? storage(from.drivers) : storage(from.capacities);
  }
}

// Slices of one pool for each node, and one of the network.
objects::ResourceSlice LiveTwin::DrawSlice(const RawCluster& from) {
  static const std::vector<std::array<objects::Text, 2>> kSlices = {
      {"s0", "s1"}, {"t0", "t1"}, {"u0", "u1"}, {"v0", "v1"}, {"w0", "w1"}, {"x0", "x1"}};
  static const std::vector<objects::Text> kDevices = {"d0", "d1", "d2", "d3"};
  static const std::vector<objects::Text> kModels = {"a", "b"};
  objects::ResourceSlice slice;
  slice.driver = "gpu.example.com";
  slice.generation = dice_.Percent(90) ? 1 : 2;
  slice.slice_count = dice_.Percent(80) ? 1 : 2;
  const size_t part = slice.slice_count == 2 || dice_.Percent(10) ? dice_.Below(2) : 0;
  if (dice_.Percent(15)) {
    slice.meta.name = part == 0 ? "net0" : "net1";
    slice.pool = "net";
    slice.all_nodes = dice_.Percent(50);
    slice.per_device_nodes = !slice.all_nodes && dice_.Percent(50);
    if (!slice.all_nodes && !slice.per_device_nodes) {
      slice.node_selector.nil = false;
      slice.node_selector.terms = {
          {.match_expressions = {{"zone", "In", {"z1", "1", "a"}}}, .match_fields = {}}};
    }
  } else {
    const auto n = static_cast<size_t>(dice_.Below(static_cast<int>(from.nodes.size())));
    slice.meta.name = kSlices[n % kSlices.size()][part];
    slice.node_name = slice.pool = from.nodes[n].meta.name;
  }
  if (dice_.Percent(8)) {
    slice.shared_counters = {{"set", {{"memory", dice_.Percent(50) ? "2" : "3"}}}};
    return slice;
  }
  const int first = part == 1 && dice_.Percent(90) ? 2 : 0;
  const int end = first + dice_.Below(5 - first);
  for (int d = first; d < end; ++d) {
    objects::Device& device = slice.devices.emplace_back();
    device.name = kDevices[static_cast<size_t>(d)];
    device.attributes = {{"model", "string", dice_.Of(kModels)}};
    objects::DeviceCapacity& memory = device.capacity.emplace_back();
    memory.name = "memory";
    memory.value = dice_.Percent(50) ? "4" : "2";
    device.allow_multiple = dice_.Percent(15);
    if (dice_.Percent(10)) device.taints = {{"example.com/sick", "", "NoSchedule"}};
    if (dice_.Percent(5)) device.consumes = {{"set", {{"memory", "1"}}}};
    if (slice.per_device_nodes) device.node_name = dice_.Of(from.nodes).meta.name;
  }
  if (dice_.Percent(3)) slice.not_understood = "spec.fancy";
  return slice;
}

namespace {

constexpr std::array<objects::Text, 6> kDeviceClaims = {"c0", "c1", "c2", "c3", "c4", "c5"};
constexpr std::array<objects::Text, 7> kDevicePods = {"dev0", "dev1", "dev2", "dev3",
                                                      "dev4", "dev5", "dev6"};

}  // namespace

objects::ResourceClaim LiveTwin::DrawClaim(const RawCluster& from) {
  static const std::vector<objects::Text> kDevices = {"d0", "d1", "d2", "d3"};
  const auto c = static_cast<size_t>(dice_.Below(6));
  objects::ResourceClaim claim;
  claim.meta.namespace_name = dice_.Percent(95) ? "a" : "b";
  claim.meta.name = claim.meta.uid = kDeviceClaims[c];
  if (dice_.Percent(60)) {
    const size_t owner = dice_.Percent(90) ? c : (c + 1) % kDevicePods.size();
    claim.meta.owners = {{"v1", "Pod", kDevicePods[owner], kDevicePods[owner], true}};
  }
  if (dice_.Percent(3)) claim.meta.deletion_time = 900'000;
  const int requests = 1 + dice_.Below(2);
  for (int r = 0; r < requests; ++r) {
    objects::DeviceRequest& request = claim.requests.emplace_back();
    request.name = r == 0 ? "r0" : "r1";
    objects::DeviceAsk& ask = request.asks.emplace_back();
    ask.class_name = dice_.Percent(97) ? "gpu" : "none";
    if (dice_.Percent(30)) {
      ask.selectors = {dice_.Percent(80) ? R"(device.attributes["gpu.example.com"].model == "a")"
                                         : R"(device.attributes["gpu.example.com"].speed > 3)"};
    }
    if (dice_.Percent(10)) ask.mode = "All";
    if (dice_.Percent(30)) ask.capacity = {{"memory", "1"}};
    ask.count = ask.mode.empty() ? 1 + dice_.Below(2) : 0;
  }
  if (dice_.Percent(10)) claim.constraints = {{{}, "", "gpu.example.com/model"}};
  if (dice_.Percent(70)) {
    claim.allocated = true;
    const objects::Text node = dice_.Of(from.nodes).meta.name;
    const int devices = 1 + dice_.Below(2);
    for (int d = 0; d < devices; ++d) {
      objects::ResourceClaim::Device& device = claim.devices.emplace_back();
      device.driver = "gpu.example.com";
      device.pool = dice_.Percent(85) ? node : "net";
      device.name = dice_.Of(kDevices);
      if (dice_.Percent(15)) {
        device.share_id = claim.meta.uid;
        device.consumed = {{"memory", "1"}};
      }
    }
    if (dice_.Percent(85)) {
      claim.allocated_on.nil = false;
      claim.allocated_on.terms = {
          {.match_expressions = {}, .match_fields = {{"metadata.name", "In", {node}}}}};
    }
    if (dice_.Percent(90)) claim.reserved_for.push_back({"pods", kDevicePods[c], kDevicePods[c]});
    if (dice_.Percent(30)) claim.reserved_for.push_back({"pods", kDevicePods[6], kDevicePods[6]});
  }
  return claim;
}

objects::Pod& LiveTwin::DrawDevicePod(const RawCluster& from) {
  objects::Pod& pod = DrawPod(from);
  const auto p = static_cast<size_t>(dice_.Below(7));
  pod.meta.namespace_name = "a";
  pod.meta.name = pod.meta.uid = kDevicePods[p];
  if (dice_.Percent(15)) {
    pod.node_name = {};
    pod.nominated_node_name = dice_.Of(from.nodes).meta.name;
  } else if (dice_.Percent(80)) {
    pod.node_name = dice_.Of(from.nodes).meta.name;
  }
  const size_t claim = dice_.Percent(90) ? p % 6 : static_cast<size_t>(dice_.Below(6));
  pod.resource_claims = {{"gpu", dice_.Percent(95) ? kDeviceClaims[claim] : objects::Text(),
                          dice_.Percent(40) ? "template" : ""}};
  if (dice_.Percent(20))
    pod.resource_claims.push_back({"more", kDeviceClaims[(claim + 1) % 6], ""});
  // As of an extended resource that is allocated from devices.
  if (dice_.Percent(5)) pod.resource_claims.push_back({"", kDeviceClaims[claim], ""});
  return pod;
}

objects::ObjectRef LiveTwin::DrawDeviceObject(const RawCluster& from) {
  const auto keep = [&](objects::StorageObject object) -> objects::ObjectRef {
    return storage_.emplace_back(std::make_unique<objects::StorageObject>(std::move(object))).get();
  };
  const int kind = dice_.Below(calm_ ? 98 : 100);
  if (kind < 40) return &DrawDevicePod(from);
  if (kind < 75) return keep(DrawClaim(from));
  if (kind < 96) return keep(DrawSlice(from));
  if (kind < 98) {
    objects::ResourceClaimTemplate made_from;
    made_from.meta.namespace_name = "a";
    made_from.meta.name = "template";
    return keep(made_from);
  }
  objects::DeviceClass device_class;
  device_class.meta.name = "gpu";
  if (dice_.Percent(30)) device_class.extended_resource_name = "nvidia.com/gpu";
  if (dice_.Percent(20)) device_class.selectors = {R"(device.driver == "gpu.example.com")"};
  return keep(device_class);
}

Change LiveTwin::DrawChange() {
  Change change;
  change.object = DrawObject();
  const bool is_pod = std::holds_alternative<const objects::Pod*>(change.object);
  const bool may_go = is_pod || !calm_ ||
                      std::holds_alternative<const objects::Controller*>(change.object) ||
                      (devices_ == Devices::kSome &&
                       std::holds_alternative<const objects::StorageObject*>(change.object));
  if (may_go && dice_.Percent(is_pod ? 30 : 12)) change.type = Change::Type::kDelete;
  const int kind = dice_.Below(100);
  if (kind < 85) versions_.push_back(absl::StrCat(++version_));
  if (kind >= 85 && kind < 95) versions_.push_back(absl::StrCat(version_ - dice_.Below(200)));
  if (kind >= 95) versions_.push_back(dice_.Percent(50) ? "" : "opaque");
  change.resource_version = versions_.back();
  return change;
}

void LiveTwin::Step() {
  if (dice_.Percent(1)) calm_ = !calm_;
  if (!calm_ && dice_.Percent(1)) DrawCluster(static_cast<size_t>(dice_.Below(3)));
  changes_.clear();
  versions_.clear();
  pods_.clear();
  nodes_.clear();
  controllers_.clear();
  budgets_.clear();
  storage_.clear();
  const int count = 1 + dice_.Below(10);
  versions_.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) changes_.push_back(DrawChange());
  if (const absl::Status s = live_.Take(changes_); !s.ok()) {
    std::fprintf(stderr, "refused: %s\n", std::string(s.message()).c_str());
    std::abort();
  }
  for (const Change& change : changes_) Apply(change);
}

void LiveTwin::Apply(const Change& change) {
  const std::string name = Name(change.object);
  const std::string uid(objects::MetaOf(change.object).uid);
  const auto it = held_.find(name);
  uint64_t version = 0;
  const std::string text(change.resource_version);
  if (text.find_first_not_of("0123456789") == std::string::npos && !text.empty()) {
    version = std::stoull(text);
  }
  if (change.type == Change::Type::kDelete) {
    if (it == held_.end() || (!uid.empty() && it->second.uid != uid)) return;
    // The deletion may be about an earlier object of this name.
    if (uid.empty() && version != 0 && version < it->second.version) return;
    held_.erase(it);
    return;
  }
  if (it != held_.end() && version != 0 && version < it->second.version) return;
  const uint64_t order = it != held_.end() ? it->second.order : next_order_++;
  held_[name] = {
      .packed = PackObject(change.object), .uid = uid, .version = version, .order = order};
}

std::string LiveTwin::Compare() {
  ClusterSnapshot& snapshot = live_.Snapshot();
  if (const absl::Status s = snapshot.CheckInvariants(); !s.ok()) return std::string(s.message());
  if (std::string wrong = WrongFamily(snapshot.catalog()); !wrong.empty()) return wrong;
  NameSink names;
  if (const absl::Status s = live_.Export(names); !s.ok()) return std::string(s.message());
  // Both must have the same objects, and nodes in the order in which they were added.
  std::set<std::string> missing;
  for (const auto& [name, held] : held_) {
    const UnpackedObject object(held.packed);
    const auto* pod = std::get_if<const objects::Pod*>(&object.ref());
    if (pod == nullptr || ListingOf(**pod, kExpendablePodsPriorityCutoff) == PodListing::kListed) {
      missing.insert(name);
    }
  }
  uint64_t last_node = 0;
  ClusterLoader loader({.match_os = match_os_});
  for (const std::string& name : names.names) {
    if (missing.erase(name) == 0) return absl::StrCat(name, " is there, and should not be");
    const Held& held = held_.at(name);
    if (name.starts_with("Node ")) {
      if (held.order < last_node) return absl::StrCat(name, " comes too late");
      last_node = held.order;
    }
    const UnpackedObject object(held.packed);
    if (const absl::Status s = Give(object.ref(), loader); !s.ok()) return std::string(s.message());
  }
  if (!missing.empty()) return absl::StrCat(*missing.begin(), " is not there");

  absl::StatusOr<LoadedCluster> want = std::move(loader).Finish();
  if (!want.ok()) return std::string(want.status().message());
  const std::string live = DescribeCluster(snapshot, live_.Pending());
  std::string wrong = FirstDifference(DescribeCluster(want->snapshot, want->pending), live);
  if (!wrong.empty()) return wrong;
  if (want->counts.on_unknown_node != live_.PodsOnUnknownNodes()) {
    return "other pods on unknown nodes";
  }
  const auto without_node = live_.PodsWithoutNode();
  for (size_t w = 0; w < without_node.size(); ++w) {
    const PodTally& wanted = want->counts.without_node[w];
    if (wanted.pods != without_node[w].pods || wanted.first != without_node[w].first) {
      return absl::StrCat("other pods without a node: ", without_node[w].pods, " from ",
                          without_node[w].first, ", not ", wanted.pods, " from ", wanted.first);
    }
  }
  // Importing the exported objects must give the same cluster.
  ClusterLoader again({.match_os = match_os_});
  if (const absl::Status s = live_.Export(again); !s.ok()) return std::string(s.message());
  want = std::move(again).Finish();
  if (!want.ok()) return std::string(want.status().message());
  wrong = FirstDifference(DescribeCluster(want->snapshot, want->pending), live);
  return wrong.empty() ? "" : absl::StrCat("exported: ", wrong);
}

}  // namespace ebb::test
