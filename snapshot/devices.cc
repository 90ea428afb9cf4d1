#include "snapshot/devices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/objects/visit_fields.h"

namespace ebb {
namespace {

using objects::Text;
using NamedCounter = DeviceInfo::NamedCounter;

DeviceReach CompileReach(Text node, bool everywhere, const objects::NodeSelector& selector,
                         Symbols& symbols) {
  DeviceReach reach;
  reach.node = symbols.Intern(node);
  reach.everywhere = everywhere;
  reach.has_selector = !selector.nil;
  if (selector.nil) return reach;
  objects::Pod pod;
  pod.required_node_affinity = selector;
  reach.selector = CompileConstraints(pod, symbols);
  return reach;
}

// Keeps the first reason.
void SetReason(std::string& to, std::string_view why) {
  if (to.empty()) to = why;
}

// Appends a text that differs for different values.
void AppendKey(std::string& key, Text text) { absl::StrAppend(&key, text.size(), ":", Absl(text)); }
void AppendKey(std::string& key, int64_t number) { absl::StrAppend(&key, number, ","); }
template <typename Struct>
  requires objects::HasFields<Struct>
void AppendKey(std::string& key, const Struct& object);
template <typename Each>
void AppendKey(std::string& key, const std::vector<Each>& list) {
  AppendKey(key, static_cast<int64_t>(list.size()));
  for (const Each& each : list) AppendKey(key, each);
}
template <typename Struct>
  requires objects::HasFields<Struct>
void AppendKey(std::string& key, const Struct& object) {
  objects::VisitFields(object, [&key](Text, const auto& field) { AppendKey(key, field); });
}

constexpr absl::int128 kNanosOfUnit = 1'000'000'000;

// An amount of a capacity.  Kubernetes computes with int64, so larger amounts are not understood.
absl::StatusOr<absl::int128> ParseAmount(Text text) {
  const absl::int128 amount_max = (int64_t{1} << 61) * kNanosOfUnit;
  const absl::StatusOr<cel::Quantity> amount = cel::Quantity::Parse(text);
  if (!amount.ok()) return amount.status();
  if (amount->nanos() < 0 || amount->nanos() > amount_max) {
    return absl::OutOfRangeError(absl::StrCat(Absl(text), " is out of range"));
  }
  return amount->nanos();
}

// Quantity.Value: whole units, rounded up.
absl::int128 UnitsOf(absl::int128 nanos) { return (nanos + kNanosOfUnit - 1) / kNanosOfUnit; }

// Reads the policy; empty, or what of it is not understood.  The API server accepts only defaults
// that the policy allows.
std::string ReadPolicy(const objects::DeviceCapacity& from, DeviceCapacityInfo& to) {
  std::string why;
  const auto read = [&why](Text text, std::string_view name) {
    const absl::StatusOr<absl::int128> amount = ParseAmount(text);
    if (!amount.ok()) why = absl::StrCat(Absl(name), ": ", amount.status().message());
    return amount.value_or(0);
  };
  if (!from.standard.empty()) to.standard = read(from.standard, "default");
  for (const Text text : from.valid_values) to.valid_values.push_back(read(text, "validValues[]"));
  if (from.has_range) {
    DeviceCapacityInfo::Range range;
    range.min = read(from.range_min, "validRange.min");
    if (!from.range_max.empty()) range.max = read(from.range_max, "validRange.max");
    if (!from.range_step.empty()) range.step = read(from.range_step, "validRange.step");
    if (why.empty() && range.step && *range.step == 0) why = "validRange.step: is 0";
    to.range = range;
  }
  if (!why.empty()) {  // No amount is rounded by a policy that is not understood.
    to.standard.reset();
    to.valid_values.clear();
    to.range.reset();
  }
  if (!to.standard) return why;
  const absl::int128 standard = *to.standard;
  const bool is_allowed =
      to.range ? standard >= to.range->min && (!to.range->max || standard <= *to.range->max) &&
                     (!to.range->step ||
                      (UnitsOf(standard) - UnitsOf(to.range->min)) % UnitsOf(*to.range->step) == 0)
               : to.valid_values.empty() ||
                     std::ranges::find(to.valid_values, standard) != to.valid_values.end();
  return is_allowed ? "" : "default: is not among the amounts that the policy allows";
}

// Empty if the binding conditions of the claim's devices hold.
std::string WhyNotBound(const objects::ResourceClaim& claim) {
  for (const objects::ResourceClaim::Device& device : claim.devices) {
    if (device.binding_conditions.empty()) continue;
    const std::string name =
        absl::StrCat("device ", Absl(device.name), " of pool ", Absl(device.pool), ": ");
    const auto status = std::ranges::find_if(claim.statuses, [&](const auto& each) {
      return each.driver == device.driver && each.pool == device.pool && each.name == device.name;
    });
    const auto is_true = [&](Text type) {
      if (status == claim.statuses.end()) return false;
      const auto it = std::ranges::find(status->conditions, type,
                                        &objects::ResourceClaim::DeviceStatus::Condition::type);
      return it != status->conditions.end() && it->status == "True";
    };
    for (const Text failure : device.binding_failure_conditions) {
      if (is_true(failure)) return absl::StrCat(name, "condition ", Absl(failure), " is True");
    }
    for (const Text condition : device.binding_conditions) {
      if (!is_true(condition)) {
        return absl::StrCat(name, "binding condition ", Absl(condition), " is not True");
      }
    }
  }
  return {};
}

cel::AttributeValue ValueOf(const objects::DeviceAttribute& attribute, std::string_view text) {
  if (attribute.type == "bool") return attribute.value == "true";
  if (attribute.type == "int") {
    if (const std::optional<int64_t> number = ParseInt64(text)) return *number;
    return std::monostate();
  }
  if (attribute.type == "string") return text;
  if (attribute.type != "version") return std::monostate();
  const std::optional<cel::Semver> version = cel::Semver::Parse(text);
  if (!version) return std::monostate();
  return *version;
}

}  // namespace

bool DeviceReach::Matches(const DeviceNode& of, const Symbols& symbols) const {
  if (node != kNoText) return of.name == node;
  if (everywhere) return true;
  return has_selector && MatchesNodeAffinity(selector, of.name, of.labels, symbols);
}

std::optional<absl::int128> DeviceCapacityInfo::Taken(std::optional<absl::int128> asked) const {
  absl::int128 taken = asked ? *asked : standard.value_or(nanos);
  if (asked && range && *asked < range->min) {
    taken = range->min;
  } else if (asked && range && range->step) {
    const absl::int128 step = UnitsOf(*range->step);
    const absl::int128 min = UnitsOf(range->min);
    taken = (min + (UnitsOf(*asked) - min + step - 1) / step * step) * kNanosOfUnit;
  } else if (asked && !range) {
    const auto valid =
        std::ranges::find_if(valid_values, [&](absl::int128 each) { return *asked <= each; });
    if (valid != valid_values.end()) taken = *valid;
  }
  if (taken == standard) return taken;
  if (range) {
    const bool is_allowed =
        (!range->max || taken <= *range->max) &&
        (!range->step || (UnitsOf(taken) - UnitsOf(range->min)) % UnitsOf(*range->step) == 0);
    return is_allowed ? std::optional(taken) : std::nullopt;
  }
  const bool is_valid =
      valid_values.empty() || std::ranges::find(valid_values, taken) != valid_values.end();
  return is_valid ? std::optional(taken) : std::nullopt;
}

bool DeviceClaimInfo::IsReservedFor(TextId uid) const {
  return std::ranges::find(reserved_for, uid) != reserved_for.end();
}

// ---------------------------------------------------------------------------
// Adding

uint32_t Devices::InternSelector(std::string_view expression, Symbols& symbols) {
  const TextId id = symbols.Intern(expression);
  const auto [it, is_new] =
      selectors_by_text_.try_emplace(id, static_cast<uint32_t>(selectors_.size()));
  if (is_new) selectors_.emplace_back().expression = symbols.Text(id);
  return it->second;
}

DeviceId Devices::InternDevice(TextId driver, TextId pool, TextId name) {
  const DeviceId next{static_cast<uint32_t>(ids_.size())};
  return ids_.try_emplace({driver, pool, name}, next).first->second;
}

void Devices::Put(const objects::DeviceClass& from, Symbols& symbols) {
  DeviceClassInfo& to = classes_.emplace_back();
  to.name = symbols.Intern(from.meta.name);
  for (const Text text : from.selectors) to.selectors.push_back(InternSelector(text, symbols));
  to.not_understood = from.not_understood;
  classes_by_name_.emplace(to.name, static_cast<uint32_t>(classes_.size() - 1));
}

void Devices::Put(const objects::ResourceClaim& from, Symbols& symbols) {
  claims_.push_back(Compile(from, symbols));
  const DeviceClaimInfo& to = claims_.back();
  depend_on_version_ += to.depends_on_version ? 1 : 0;
  claims_by_name_.emplace(std::pair(to.namespace_name, to.name),
                          DeviceClaimId{static_cast<uint32_t>(claims_.size() - 1)});
}

DeviceClaimInfo Devices::Compile(const objects::ResourceClaim& from, Symbols& symbols) {
  DeviceClaimInfo to;
  to.namespace_name = symbols.Intern(from.meta.namespace_name);
  to.name = symbols.Intern(from.meta.name);
  for (const objects::OwnerReference& owner : from.meta.owners) {
    if (owner.controller && to.owner_uid == kNoText) to.owner_uid = symbols.Intern(owner.uid);
  }
  to.deleting = from.meta.deletion_time.has_value();
  to.not_understood = from.not_understood;
  for (const objects::DeviceRequest& request : from.requests) {
    DeviceRequestInfo& made = to.requests.emplace_back();
    made.name = symbols.Intern(request.name);
    made.first_available = request.first_available;
    for (const objects::DeviceAsk& ask : request.asks) {
      DeviceAskInfo& each = made.asks.emplace_back();
      each.name = symbols.Intern(ask.name);
      each.class_name = symbols.Intern(ask.class_name);
      for (const Text text : ask.selectors) each.selectors.push_back(InternSelector(text, symbols));
      each.all = ask.mode == "All";
      each.unknown_mode = !each.all && !ask.mode.empty() && ask.mode != "ExactCount";
      each.count = ask.count == 0 ? 1 : ask.count;
      each.admin_access = ask.admin_access;
      each.tolerations = CompileTolerations(ask.tolerations, symbols);
      each.capacity =
          Amounts(ask.capacity, "spec.devices.requests[].capacity", to.not_understood, symbols);
    }
    if (made.asks.empty()) {
      SetReason(to.not_understood, "spec.devices.requests[]: a request of an unknown kind");
      continue;
    }
    size_t least = SIZE_MAX;
    for (const DeviceAskInfo& ask : made.asks) {
      least = std::min(least, ask.admin_access ? 0 : ask.all ? 1 : static_cast<size_t>(ask.count));
    }
    to.unused_min += least;
  }
  for (const objects::DeviceConstraint& constraint : from.constraints) {
    DeviceConstraintInfo& made = to.constraints.emplace_back();
    made.distinct = constraint.match_attribute.empty();
    to.depends_on_version |= made.distinct;
    const Text attribute =
        made.distinct ? constraint.distinct_attribute : constraint.match_attribute;
    if (attribute.empty() || (!made.distinct && !constraint.distinct_attribute.empty())) {
      SetReason(to.not_understood, "spec.devices.constraints[]: a constraint of an unknown kind");
    }
    const size_t slash = attribute.find('/');
    made.attribute = symbols.Intern(attribute);
    if (slash != Text::npos) {
      made.domain = symbols.Intern(attribute.substr(0, slash));
      made.id = symbols.Intern(attribute.substr(slash + 1));
    }
    for (const Text request : constraint.requests) {
      const size_t at = request.find('/');
      made.requests.emplace_back(
          symbols.Intern(request.substr(0, at)),
          at == Text::npos ? kNoText : symbols.Intern(request.substr(at + 1)));
    }
  }
  std::string key;
  AppendKey(key, from.requests);
  AppendKey(key, from.constraints);
  to.spec = specs_by_key_.try_emplace(std::move(key), static_cast<uint32_t>(specs_by_key_.size()))
                .first->second;
  to.allocated = from.allocated;
  for (const objects::ResourceClaim::Device& device : from.devices) {
    DeviceClaimInfo::Device& made = to.devices.emplace_back();
    made.id = InternDevice(symbols.Intern(device.driver), symbols.Intern(device.pool),
                           symbols.Intern(device.name));
    made.admin_access = device.admin_access;
    std::string why;
    made.consumed = Amounts(device.consumed, "status.allocation.devices.results[].consumedCapacity",
                            why, symbols);
    // If the amounts are not known, the claim holds all of the device.
    made.shared = !device.share_id.empty() && why.empty();
    has_shared_devices_ |= made.shared;
    SetReason(to.not_understood, why);
  }
  to.not_bound = WhyNotBound(from);
  to.allocated_on =
      CompileReach("", /*everywhere=*/from.allocated_on.nil, from.allocated_on, symbols);
  for (const objects::ResourceClaim::Consumer& consumer : from.reserved_for) {
    to.reserved_for.push_back(symbols.Intern(consumer.uid));
  }
  to.other_users = static_cast<uint32_t>(to.reserved_for.size());
  return to;
}

std::vector<DeviceAmount> Devices::Amounts(const std::vector<objects::DeviceQuantity>& from,
                                           std::string_view where, std::string& not_understood,
                                           Symbols& symbols) {
  std::vector<DeviceAmount> amounts;
  for (const objects::DeviceQuantity& each : from) {
    const absl::StatusOr<absl::int128> amount = ParseAmount(each.value);
    if (!amount.ok()) {
      SetReason(not_understood, absl::StrCat(Absl(where), ": ", amount.status().message()));
      continue;
    }
    amounts.push_back({.name = symbols.Intern(each.name), .nanos = *amount});
  }
  return amounts;
}

std::vector<NamedCounter> Devices::Counters(const std::vector<objects::DeviceCounters>& sets,
                                            std::string_view where, SliceInfo& slice,
                                            Symbols& symbols) const {
  std::vector<NamedCounter> counters;
  for (const objects::DeviceCounters& set : sets) {
    const TextId set_name = symbols.Intern(set.counter_set);
    for (const objects::DeviceQuantity& counter : set.counters) {
      const absl::StatusOr<cel::Quantity> amount = cel::Quantity::Parse(counter.value);
      if (!amount.ok()) {
        SetReason(slice.not_understood,
                  absl::StrCat(Absl(where), ".counters: ", amount.status().message()));
        continue;
      }
      counters.push_back({set_name, symbols.Intern(counter.name), amount->nanos()});
    }
  }
  return counters;
}

uint32_t Devices::InternShape(const objects::Device& device, std::string_view driver,
                              SliceInfo& slice, Symbols& symbols) {
  Shape shape;
  shape.driver = driver;
  shape.driver_id = slice.driver;
  std::string key(driver);
  const auto append = [&key](Text text) {
    absl::StrAppend(&key, "\n", text.size(), ":", Absl(text));
  };
  for (const objects::DeviceAttribute& from : device.attributes) {
    const Attribute& to = shape.attributes.emplace_back(Attribute{
        symbols.Intern(from.name), symbols.Intern(from.type), symbols.Intern(from.value)});
    shape.for_selectors.push_back({symbols.Text(to.name), ValueOf(from, symbols.Text(to.value))});
    append(from.name), append(from.type), append(from.value);
  }
  std::ranges::sort(shape.attributes, {}, &Attribute::name);
  key += '\n';
  for (const objects::DeviceCapacity& from : device.capacity) {
    const absl::StatusOr<cel::Quantity> amount = cel::Quantity::Parse(from.value);
    if (!amount.ok()) {
      SetReason(slice.not_understood,
                absl::StrCat("spec.devices[].capacity: ", amount.status().message()));
      continue;
    }
    const TextId name = symbols.Intern(from.name);
    shape.capacity.push_back({symbols.Text(name), *amount});
    DeviceCapacityInfo& made = shape.capacities.emplace_back();
    made.name = name;
    made.nanos = amount->nanos();
    if (const std::string why = ReadPolicy(from, made); !why.empty()) {
      SetReason(slice.not_understood,
                absl::StrCat("spec.devices[].capacity[].requestPolicy.", why));
    }
    const bool computes = device.allow_multiple || from.has_policy || amount->nanos() < 0;
    if (absl::Status status = ParseAmount(from.value).status(); computes && !status.ok()) {
      SetReason(slice.not_understood, absl::StrCat("spec.devices[].capacity: ", status.message()));
    }
  }
  AppendKey(key, device.capacity);
  AppendKey(key, device.allow_multiple ? 1 : 0);
  shape.allow_multiple = device.allow_multiple;
  const auto [it, is_new] =
      shapes_by_key_.try_emplace(std::move(key), static_cast<uint32_t>(shapes_.size()));
  if (is_new) shapes_.push_back(std::move(shape));
  return it->second;
}

void Devices::Put(const objects::ResourceSlice& from, Symbols& symbols) {
  const auto index = static_cast<uint32_t>(slices_.size());
  slices_.emplace_back().first_device = static_cast<uint32_t>(devices_.size());
  slices_.back().order = next_slice_order_++;
  devices_.resize(devices_.size() + from.devices.size());
  Fill(from, index, symbols);
}

void Devices::Fill(const objects::ResourceSlice& from, uint32_t index, Symbols& symbols) {
  SliceInfo& to = slices_[index];
  to.name = symbols.Intern(from.meta.name);
  to.driver = symbols.Intern(from.driver);
  to.pool = symbols.Intern(from.pool);
  to.generation = from.generation;
  to.slice_count = from.slice_count;
  to.not_understood = from.not_understood;
  to.reach = CompileReach(from.node_name, from.all_nodes, from.node_selector, symbols);
  to.reach_known = !from.node_name.empty() || from.all_nodes || !from.node_selector.nil;
  to.per_device_nodes = from.per_device_nodes;
  to.has_counters = !from.shared_counters.empty();
  to.depends_on_version = to.has_counters;
  if (from.node_selector.terms.size() > 1) {
    SetReason(to.not_understood, "spec.nodeSelector: several terms");
  }
  to.counters = Counters(from.shared_counters, "spec.sharedCounters[]", to, symbols);
  for (const objects::DeviceCounters& set : from.shared_counters) {
    to.counter_sets.push_back(symbols.Intern(set.counter_set));
  }
  to.end_device = to.first_device;
  for (const objects::Device& device : from.devices) {
    DeviceInfo& made = devices_[to.end_device++];
    made.name = symbols.Intern(device.name);
    made.id = InternDevice(to.driver, to.pool, made.name);
    made.slice = index;
    made.shape = InternShape(device, symbols.Text(to.driver), to, symbols);
    for (const objects::Taint& taint : device.taints) {
      made.taints.push_back(CompileTaint(taint, symbols));
    }
    made.reach = CompileReach(device.node_name, device.all_nodes, device.node_selector, symbols);
    if (device.node_selector.terms.size() > 1) {
      SetReason(to.not_understood, "spec.devices[].nodeSelector: several terms");
    }
    made.consumes = Counters(device.consumes, "spec.devices[].consumesCounters[]", to, symbols);
    made.allow_multiple = device.allow_multiple;
    made.binds_to_node = device.binds_to_node;
    made.has_binding_conditions = !device.binding_conditions.empty();
    made.limits_requests =
        made.allow_multiple ||
        std::ranges::any_of(device.capacity, &objects::DeviceCapacity::has_policy);
    has_shared_devices_ |= made.allow_multiple;
    to.depends_on_version |= made.limits_requests;
  }
  depend_on_version_ += to.depends_on_version ? 1 : 0;
  live_devices_ += from.devices.size();
  slices_by_name_.emplace(to.name, index);
}

void Devices::Put(const objects::DeviceTaintRule& from, Symbols& symbols) {
  taint_rules_.push_back({.name = symbols.Intern(from.meta.name),
                          .driver = symbols.Intern(from.driver),
                          .pool = symbols.Intern(from.pool),
                          .device = symbols.Intern(from.device),
                          .taint = CompileTaint(from.taint, symbols),
                          .not_understood = std::string(from.not_understood)});
}

// ---------------------------------------------------------------------------
// Connecting

// Source: resourceslice/tracker, applyPatches.  A rule without a selector applies to all devices.
void Devices::ApplyTaintRules(uint32_t slice_index, const Symbols& symbols) {
  SliceInfo& slice = slices_[slice_index];
  const auto selects = [](TextId wanted, TextId name) {
    return wanted == kNoText || wanted == name;
  };
  for (const TaintRule& rule : taint_rules_) {
    if (!selects(rule.driver, slice.driver) || !selects(rule.pool, slice.pool)) continue;
    for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
      if (!selects(rule.device, devices_[d].name)) continue;
      devices_[d].taints.push_back(rule.taint);
      if (rule.not_understood.empty()) continue;
      SetReason(slice.not_understood,
                absl::StrCat("DeviceTaintRule ", Absl(symbols.Text(rule.name)), ": ",
                             rule.not_understood));
    }
  }
}

// Up to 1.36, the counters of a pool are seen from every node.
bool Devices::IsSeen(const SliceInfo& slice, const DeviceNode& node, const Symbols& symbols) const {
  if (slice.has_counters && version_ < KubernetesVersion::k137) return true;
  if (slice.reach_known) return slice.reach.Matches(node, symbols);
  if (!slice.per_device_nodes) return false;
  for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
    if (devices_[d].reach.Matches(node, symbols)) return true;
  }
  return false;
}

bool Devices::CountersExist(uint32_t slice, const NodePool& pool) const {
  for (uint32_t d = slices_[slice].first_device; d < slices_[slice].end_device; ++d) {
    for (const NamedCounter& used : devices_[d].consumes) {
      const auto is_used = [&](const NamedCounter& has) { return has.IsNamedAs(used); };
      if (std::ranges::none_of(pool.counters, is_used)) return false;
    }
  }
  return true;
}

// `seen`: the slices of the newest generation that matter for the node; `all`: every slice of that
// generation.
void Devices::BuildPool(std::span<const uint32_t> seen, std::span<const uint32_t> all,
                        NodePool& pool) const {
  absl::flat_hash_set<TextId> names;
  const auto check = [&](uint32_t s) {
    if (!pool.wrong_slice && !slices_[s].not_understood.empty()) pool.wrong_slice = s;
  };
  const auto add_counters = [&](const SliceInfo& slice) {
    for (const TextId set : slice.counter_sets) {
      pool.invalid |= std::ranges::find(pool.counter_sets, set) != pool.counter_sets.end();
      pool.counter_sets.push_back(set);
    }
    pool.counters.insert(pool.counters.end(), slice.counters.begin(), slice.counters.end());
  };
  for (const uint32_t s : seen) {
    const SliceInfo& slice = slices_[s];
    check(s);
    if (slice.has_counters) {
      add_counters(slice);
      continue;
    }
    pool.slices.push_back(s);
    for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
      pool.invalid |= !names.insert(devices_[d].name).second;
      pool.has_binding_conditions |= devices_[d].has_binding_conditions;
    }
  }
  std::vector<uint32_t> others;
  for (const uint32_t s : all) {
    if (std::ranges::find(seen, s) != seen.end()) continue;
    if (slices_[s].has_counters) {
      check(s);
      add_counters(slices_[s]);
    } else {
      others.push_back(s);
    }
  }
  for (const std::span<const uint32_t> each : {seen, std::span<const uint32_t>(others)}) {
    for (const uint32_t s : each) pool.invalid |= !CountersExist(s, pool);
  }
  if (!pool.counters.empty()) pool.others = std::move(others);
}

// `newest`: the slices of one pool that were added, all of one generation.
void Devices::AddIfNewest(uint32_t slice, std::vector<uint32_t>& newest) const {
  if (!newest.empty()) {
    const int64_t generation = slices_[newest.front()].generation;
    if (slices_[slice].generation < generation) return;
    if (slices_[slice].generation > generation) newest.clear();
  }
  newest.push_back(slice);
}

std::vector<NodePool> Devices::GatherPools(const DeviceNode& node, std::span<const uint32_t> own,
                                           const Symbols& symbols) const {
  // The slices that matter for the node, by pool: those of the newest generation among them.
  absl::flat_hash_map<std::pair<TextId, TextId>, std::vector<uint32_t>> seen_of_pool;
  const auto add = [&](uint32_t s) {
    const SliceInfo& slice = slices_[s];
    if (!IsSeen(slice, node, symbols)) return;
    AddIfNewest(s, seen_of_pool[{slice.driver, slice.pool}]);
  };
  for (const uint32_t s : own) {
    if (!IsOfAllNodes(slices_[s])) add(s);
  }
  for (const uint32_t s : shared_slices_) add(s);
  std::vector<NodePool> pools;
  for (auto& [id, seen] : seen_of_pool) {
    const SliceInfo& first = slices_[seen.front()];
    std::vector<uint32_t> all;
    bool obsolete = false;
    for (const uint32_t s : slices_of_pool_.at(id)) {
      if (slices_[s].generation == first.generation) all.push_back(s);
      obsolete |= slices_[s].generation > first.generation;
    }
    const bool has_all = static_cast<int64_t>(seen.size()) == first.slice_count;
    if (obsolete && !has_all) continue;
    NodePool& pool = pools.emplace_back();
    pool.first_slice = seen.front();
    if (!has_all && static_cast<int64_t>(all.size()) != first.slice_count) {
      pool.incomplete = true;
      continue;
    }
    std::ranges::sort(seen, {}, [&](uint32_t s) { return symbols.Text(slices_[s].name); });
    // If the seen slices are all that the pool announces, upstream looks at no other.
    BuildPool(seen, has_all ? seen : all, pool);
  }
  std::ranges::sort(pools, {}, [&](const NodePool& pool) {
    const SliceInfo& slice = slices_[pool.first_slice];
    // Devices without binding conditions come first.
    return std::tuple(pool.has_binding_conditions, symbols.Text(slice.driver),
                      symbols.Text(slice.pool));
  });
  return pools;
}

void Devices::Link(uint32_t slice) {
  const SliceInfo& of = slices_[slice];
  const auto add_to = [&](std::vector<uint32_t>& list) {
    list.insert(
        std::ranges::upper_bound(list, of.order, {}, [&](uint32_t s) { return slices_[s].order; }),
        slice);
  };
  add_to(slices_of_pool_[{of.driver, of.pool}]);
  if (of.reach.node != kNoText) add_to(slices_of_node_[of.reach.node]);
  if (IsOfAllNodes(of)) add_to(shared_slices_);
}

void Devices::Unlink(uint32_t slice) {
  const SliceInfo& of = slices_[slice];
  std::erase(slices_of_pool_.at({of.driver, of.pool}), slice);
  if (of.reach.node != kNoText) std::erase(slices_of_node_.at(of.reach.node), slice);
  if (IsOfAllNodes(of)) std::erase(shared_slices_, slice);
}

void Devices::GatherNode(NodeId id, const DeviceNode& node, const Symbols& symbols) {
  std::vector<uint32_t>& own = own_slices_[Index(id)];
  own.clear();
  pools_of_[Index(id)].clear();
  if (node.name == kNoText) return;
  if (const auto it = slices_of_node_.find(node.name); it != slices_of_node_.end()) {
    own = it->second;
  }
  if (own.empty() && shared_slices_.empty()) return;
  pools_of_[Index(id)] = GatherPools(node, own, symbols);
}

// Compiles new selectors, and makes room for the answers of all about new devices.
void Devices::PrepareSelectors() {
  const bool grows = shapes_.size() > answers_;
  const size_t known = answers_;
  if (grows) answers_ = known == 0 ? shapes_.size() : 2 * shapes_.size();
  for (Selector& selector : selectors_) {
    if (!selector.compiled) {
      selector.compiled.emplace(cel::DeviceSelector::Compile(
          selector.expression, version_ < KubernetesVersion::k137
                                   ? cel::SelectorRules::kKubernetes136
                                   : cel::SelectorRules::kKubernetes137));
    }
    if (selector.answers != nullptr && !grows) continue;
    auto answers = std::make_unique<std::atomic<Answer>[]>(answers_);
    for (size_t shape = 0; selector.answers != nullptr && shape < known; ++shape) {
      answers[shape].store(selector.answers[shape].load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
    }
    selector.answers = std::move(answers);
  }
}

void Devices::Connect(const DeviceNodes& nodes, const Symbols& symbols, KubernetesVersion version) {
  version_ = version;
  PrepareSelectors();
  own_slices_.resize(nodes.count);
  pools_of_.resize(nodes.count);
  for (uint32_t s = 0; s < slices_.size(); ++s) {
    ApplyTaintRules(s, symbols);
    Link(s);
  }
  if (slices_.empty()) return;
  for (uint32_t n = 0; n < nodes.count; ++n) GatherNode(NodeId{n}, nodes.at(NodeId{n}), symbols);
}

void Devices::CloseUnknownPools(std::span<const DeviceNode> nodes, const Symbols& symbols) {
  absl::flat_hash_set<std::pair<TextId, TextId>> closed;
  for (const DeviceNode& node : nodes) {
    for (const SliceInfo& slice : slices_) {
      if (!slice.has_counters && IsSeen(slice, node, symbols)) {
        closed.emplace(slice.driver, slice.pool);
      }
    }
  }
  for (std::vector<NodePool>& pools : pools_of_) {
    for (NodePool& pool : pools) {
      const SliceInfo& slice = slices_[pool.first_slice];
      pool.uses_unknown = closed.contains({slice.driver, slice.pool});
    }
  }
}

// ---------------------------------------------------------------------------
// Changing

void Devices::Replace(const objects::ResourceClaim& from, Symbols& symbols) {
  DeviceClaimInfo made = Compile(from, symbols);
  const std::pair name(made.namespace_name, made.name);
  std::optional<DeviceClaimId> id = FindClaim(name.first, name.second);
  if (!id && !free_claims_.empty()) {
    id = free_claims_.back();
    free_claims_.pop_back();
  }
  if (!id) {
    id = DeviceClaimId{static_cast<uint32_t>(claims_.size())};
    claims_.emplace_back();
  }
  claims_by_name_[name] = *id;
  DeviceClaimInfo& to = claims_[Index(*id)];
  depend_on_version_ += (made.depends_on_version ? 1 : 0) - (to.depends_on_version ? 1 : 0);
  to = std::move(made);
}

void Devices::RemoveClaim(DeviceClaimId id) {
  DeviceClaimInfo& claim = claims_[Index(id)];
  depend_on_version_ -= claim.depends_on_version ? 1 : 0;
  claims_by_name_.erase({claim.namespace_name, claim.name});
  claim = DeviceClaimInfo();
  free_claims_.push_back(id);
}

void Devices::ForgetUsers(DeviceClaimId id) {
  DeviceClaimInfo& claim = claims_[Index(id)];
  claim.owned = false;
  claim.other_users = static_cast<uint32_t>(claim.reserved_for.size());
}

void Devices::Touch(const SliceInfo& slice) {
  touched_pools_.emplace(slice.driver, slice.pool);
  if (slice.reach.node != kNoText) touched_nodes_.insert(slice.reach.node);
  touched_all_ |= IsOfAllNodes(slice);
}

void Devices::RemoveSlice(TextId name) {
  const auto it = slices_by_name_.find(name);
  if (it == slices_by_name_.end()) return;
  const uint32_t index = it->second;
  slices_by_name_.erase(it);
  SliceInfo& slice = slices_[index];
  Touch(slice);
  Unlink(index);
  depend_on_version_ -= slice.depends_on_version ? 1 : 0;
  const uint32_t devices = slice.end_device - slice.first_device;
  live_devices_ -= devices;
  for (uint32_t d = slice.first_device; d < slice.end_device; ++d) devices_[d] = DeviceInfo();
  SliceInfo gone;
  gone.first_device = gone.end_device = slice.first_device;
  slice = std::move(gone);
  free_slices_[devices].push_back(index);
}

void Devices::Replace(const objects::ResourceSlice& from, Symbols& symbols) {
  const TextId name = symbols.Intern(from.meta.name);
  const auto known = slices_by_name_.find(name);
  const uint64_t order =
      known == slices_by_name_.end() ? next_slice_order_++ : slices_[known->second].order;
  RemoveSlice(name);
  std::vector<uint32_t>& free = free_slices_[static_cast<uint32_t>(from.devices.size())];
  uint32_t index = static_cast<uint32_t>(slices_.size());
  if (free.empty()) {
    Put(from, symbols);
  } else {
    index = free.back();
    free.pop_back();
    Fill(from, index, symbols);
  }
  slices_[index].order = order;
  ApplyTaintRules(index, symbols);
  Link(index);
  Touch(slices_[index]);
}

void Devices::Reconnect(const DeviceNodes& nodes, std::span<const NodeId> changed,
                        const Symbols& symbols) {
  ++changes_;
  PrepareSelectors();
  own_slices_.resize(nodes.count);
  pools_of_.resize(nodes.count);
  for (const auto& pool : touched_pools_) {
    for (const uint32_t s : slices_of_pool_.at(pool)) {
      if (slices_[s].reach.node != kNoText) touched_nodes_.insert(slices_[s].reach.node);
      touched_all_ |= IsOfAllNodes(slices_[s]);
    }
  }
  absl::flat_hash_set<NodeId> again(changed.begin(), changed.end());
  for (const TextId name : touched_nodes_) {
    if (const NodeId node = nodes.find(name); node != kNoNode) again.insert(node);
  }
  for (uint32_t n = 0; touched_all_ && n < nodes.count; ++n) again.insert(NodeId{n});
  for (const NodeId node : again) GatherNode(node, nodes.at(node), symbols);
  touched_pools_.clear();
  touched_nodes_.clear();
  touched_all_ = false;
  if (again.empty()) return;
  // Searches name devices by places that other devices may have now.
  const absl::MutexLock lock(&cache_.mutex);
  cache_.failures.clear();
}

bool Devices::HasMuchGone() const {
  // Small clusters may keep this many.  Not tuned.
  constexpr size_t kKept = 4096;
  return ids_.size() + shapes_.size() + devices_.size() + slices_.size() + selectors_.size() +
             specs_by_key_.size() >
         kKept + 8 * live_devices_ + 4 * claims_by_name_.size();
}

std::shared_ptr<Devices> Devices::Copy() const {
  const std::shared_ptr<Devices> copy(new Devices(*this));
  copy->PrepareSelectors();
  return copy;
}

// ---------------------------------------------------------------------------
// Reading

cel::DeviceForSelector Devices::ForSelector(uint32_t shape) const {
  const Shape& of = shapes_[shape];
  return {.driver = of.driver,
          .attributes = of.for_selectors,
          .capacity = of.capacity,
          .allow_multiple_allocations = of.allow_multiple};
}

Devices::Answer Devices::Ask(uint32_t selector, const DeviceInfo& device) const {
  const Selector& of = selectors_[selector];
  // Relaxed: every thread computes the same answer, and nothing else depends on it.
  std::atomic<Answer>& known = of.answers[device.shape];
  Answer answer = known.load(std::memory_order_relaxed);
  if (answer != Answer::kNotAsked) return answer;
  const absl::StatusOr<bool> matches = of.compiled->ok()
                                           ? (*of.compiled)->Matches(ForSelector(device.shape))
                                           : absl::StatusOr<bool>(of.compiled->status());
  if (matches.ok()) {
    answer = *matches ? Answer::kYes : Answer::kNo;
  } else {
    answer = absl::IsUnimplemented(matches.status()) ? Answer::kNotUnderstood : Answer::kError;
    const absl::MutexLock lock(&cache_.mutex);
    const std::string& text =
        *cache_.error_texts.insert(std::string(matches.status().message())).first;
    cache_.errors.try_emplace({selector, device.shape}, &text);
  }
  known.store(answer, std::memory_order_relaxed);
  return answer;
}

std::string Devices::ErrorOf(uint32_t selector, const DeviceInfo& device) const {
  const absl::MutexLock lock(&cache_.mutex);
  const auto it = cache_.errors.find({selector, device.shape});
  EBB_CHECK(it != cache_.errors.end());
  return *it->second;
}

void Devices::RememberFailure(const SearchKey& key, bool too_long) const {
  const absl::MutexLock lock(&cache_.mutex);
  cache_.failures.try_emplace(key, too_long);
}

std::optional<bool> Devices::FindFailure(const SearchKey& key) const {
  const absl::MutexLock lock(&cache_.mutex);
  const auto it = cache_.failures.find(key);
  if (it == cache_.failures.end()) return std::nullopt;
  return it->second;
}

std::optional<DeviceClaimId> Devices::FindClaim(TextId namespace_name, TextId name) const {
  const auto it = claims_by_name_.find({namespace_name, name});
  if (it == claims_by_name_.end()) return std::nullopt;
  return it->second;
}

bool Devices::IsAllocated(TextId namespace_name, TextId name) const {
  const std::optional<DeviceClaimId> id = FindClaim(namespace_name, name);
  return id && claims_[Index(*id)].allocated;
}

const DeviceClassInfo* Devices::FindClass(TextId name) const {
  const auto it = classes_by_name_.find(name);
  return it == classes_by_name_.end() ? nullptr : &classes_[it->second];
}

std::optional<std::pair<TextId, TextId>> Devices::AttributeOf(
    const DeviceInfo& device, const DeviceConstraintInfo& constraint) const {
  const Shape& shape = shapes_[device.shape];
  const auto find = [&](TextId name) -> std::optional<std::pair<TextId, TextId>> {
    const auto it = std::ranges::lower_bound(shape.attributes, name, {}, &Attribute::name);
    if (it == shape.attributes.end() || it->name != name) return std::nullopt;
    return std::pair(it->type, it->value);
  };
  if (const auto found = find(constraint.attribute)) return found;
  if (constraint.domain == kNoText || constraint.domain != shape.driver_id) return std::nullopt;
  return find(constraint.id);
}

std::string Devices::WhyNotUnderstood(DeviceClaimId id, const Symbols& symbols) const {
  const DeviceClaimInfo& claim = claims_[Index(id)];
  if (!claim.not_understood.empty()) return absl::StrCat(claim.not_understood, " is not evaluated");
  if (!claim.not_bound.empty()) return claim.not_bound;
  const auto why_selector = [&](uint32_t selector) -> std::string {
    const Selector& of = selectors_[selector];
    if (of.compiled->ok() || !absl::IsUnimplemented(of.compiled->status())) return {};
    return std::string(of.compiled->status().message());
  };
  for (const DeviceRequestInfo& request : claim.requests) {
    for (const DeviceAskInfo& ask : request.asks) {
      const DeviceClassInfo* const device_class = FindClass(ask.class_name);
      const std::string_view class_name = symbols.Text(ask.class_name);
      if (device_class == nullptr) {
        return absl::StrCat("DeviceClass ", Absl(class_name), " is not in the input");
      }
      if (!device_class->not_understood.empty()) {
        return absl::StrCat("DeviceClass ", Absl(class_name), ": ", device_class->not_understood,
                            " is not evaluated");
      }
      for (const uint32_t selector : device_class->selectors) {
        if (const std::string why = why_selector(selector); !why.empty()) {
          return absl::StrCat("DeviceClass ", Absl(class_name), ": selector: ", why);
        }
      }
      for (const uint32_t selector : ask.selectors) {
        if (const std::string why = why_selector(selector); !why.empty()) {
          return absl::StrCat("request ", Absl(symbols.Text(request.name)), ": selector: ", why);
        }
      }
    }
  }
  return {};
}

double Devices::UseOfPool(std::span<const uint32_t> slices,
                          const absl::flat_hash_set<DeviceId>& used) const {
  bool has_counters = false;
  size_t total = 0;
  size_t allocated = 0;
  absl::flat_hash_set<TextId> consumed_sets;
  absl::flat_hash_map<std::pair<TextId, TextId>, absl::int128> consumed;
  for (const uint32_t s : slices) {
    has_counters |= slices_[s].has_counters;
    for (uint32_t d = slices_[s].first_device; d < slices_[s].end_device; ++d) {
      const bool is_used = used.contains(devices_[d].id);
      ++total;
      allocated += is_used ? 1 : 0;
      for (const NamedCounter& counter : devices_[d].consumes) {
        consumed_sets.insert(counter.counter_set);
        if (is_used) consumed[{counter.counter_set, counter.name}] += counter.nanos;
      }
    }
  }
  if (!has_counters) {
    return total == 0 ? 0 : static_cast<double>(allocated) / static_cast<double>(total);
  }
  if (consumed_sets.empty()) return 0;
  double sum = 0;
  for (const uint32_t s : slices) {
    for (const TextId set : slices_[s].counter_sets) {
      double highest = 0;
      for (const NamedCounter& counter : slices_[s].counters) {
        if (counter.counter_set != set || counter.nanos == 0) continue;
        const auto it = consumed.find({set, counter.name});
        if (it == consumed.end()) continue;
        highest = std::max(highest, static_cast<double>(it->second) * 1e-9 /
                                        (static_cast<double>(counter.nanos) * 1e-9));
      }
      sum += highest / static_cast<double>(consumed_sets.size());
    }
  }
  return sum;
}

std::optional<Devices::PoolUse> Devices::HighestUse(NodeId node,
                                                    const absl::flat_hash_set<DeviceId>& used,
                                                    const Symbols& symbols) const {
  EBB_DCHECK(HasOwnSlices(node));
  absl::flat_hash_map<std::pair<TextId, TextId>, std::vector<uint32_t>> pools;
  for (const uint32_t s : own_slices_[Index(node)]) {
    const SliceInfo& slice = slices_[s];
    AddIfNewest(s, pools[{slice.driver, slice.pool}]);
  }
  const auto name_of = [&](const std::pair<TextId, TextId>& id) {
    return std::pair(symbols.Text(id.first), symbols.Text(id.second));
  };
  PoolUse highest;
  for (const auto& [id, slices] : pools) {
    if (static_cast<int64_t>(slices.size()) != slices_[slices.front()].slice_count) {
      return std::nullopt;
    }
    const double use = UseOfPool(slices, used);
    const bool is_higher = use > highest.utilization || highest.driver == kNoText;
    if (is_higher ||
        (use == highest.utilization && name_of(id) > name_of({highest.driver, highest.pool}))) {
      highest = {id.first, id.second, use};
    }
  }
  return highest;
}

}  // namespace ebb
