#include "snapshot/device_allocator.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/devices.h"

namespace ebb {
namespace {

using Answer = Devices::Answer;

// One search.  Its functions are those of the allocator that it follows: AllocateOne is
// allocateOne, and so on.
class DeviceSearch {
 public:
  DeviceSearch(const Catalog& catalog, const DeviceState& state, NodeId node,
               std::span<const DeviceClaimId> claims, bool explains)
      : catalog_(catalog),
        devices_(catalog.devices()),
        state_(state),
        node_(node),
        pools_(devices_.PoolsOf(node)),
        claims_(claims),
        explains_(explains),
        rules_of_137_(catalog.kubernetes_version() >= KubernetesVersion::k137),
        results_(claims.size()) {}

  bool Run() {
    if (!CheckPools() || !CheckClaims()) return false;
    const Outcome outcome = AllocateOne({}, /*in_alternative=*/false, {});
    if (outcome == Outcome::kDone) {
      waits_for_driver_ = !CheckBinding();
      return !waits_for_driver_;
    }
    if (steps_ > kLongSearch && problem_.empty()) {
      devices_.RememberFailure(Key(), TookTooManySteps());
    }
    if ((outcome != Outcome::kStop || given_up_) &&
        std::ranges::any_of(pools_, [](const NodePool& pool) { return pool.invalid; })) {
      problem_ = "invalid resource pools were encountered";
    }
    if (problem_.empty()) problem_ = "cannot allocate all claims";
    return false;
  }

  [[nodiscard]] std::vector<std::vector<HeldDevice>>& results() { return results_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Whether the device could give what the request takes of its capacities.
  [[nodiscard]] bool HasRoom(const DeviceAskInfo& ask, const DeviceInfo& device) const {
    return HasRoom(ask, device, /*beside_others=*/true);
  }
  // Whether devices were found, but one of them has binding conditions.
  [[nodiscard]] bool WaitsForDriver() const { return waits_for_driver_; }
  [[nodiscard]] bool TookTooManySteps() const { return steps_ > kDeviceStepsMax; }

 private:
  // kTooMany: the claim would have more devices than a claim may have.  kStop: an error.
  enum class Outcome : uint8_t { kDone, kNo, kTooMany, kStop };
  // After this many steps it is worthwhile to look for a request that cannot be served.
  static constexpr size_t kLongSearch = 1000;
  struct Place {  // What is to be found next.
    size_t claim = 0;
    size_t request = 0;
    size_t alternative = 0;
    size_t device = 0;
  };
  struct From {  // Where the search for the next device of a request begins.
    size_t pool = 0;
    size_t slice = 0;
    uint32_t device = 0;  // 0: the slice's first.
  };
  struct AskState {
    const DeviceAskInfo* ask = nullptr;
    const DeviceClassInfo* device_class = nullptr;
    size_t count = 0;
    std::vector<std::pair<uint32_t, size_t>> all;  // Device and pool; for mode All.
  };
  struct ConstraintState {
    size_t devices = 0;
    std::pair<TextId, TextId> matched;                                     // Match.
    std::vector<std::pair<TextId, std::pair<TextId, TextId>>> of_request;  // Distinct.
  };
  struct PoolCounters {
    bool known = false;
    std::vector<absl::int128> available;
    std::vector<absl::int128> consumed;
  };

  Outcome Stop(std::string problem) {
    problem_ = std::move(problem);
    return Outcome::kStop;
  }
  [[nodiscard]] std::string_view Text(TextId id) const { return catalog_.Text(id); }
  [[nodiscard]] const DeviceClaimInfo& Claim(size_t c) const { return devices_.claim(claims_[c]); }

  // Whether ebb understands the slices that the node sees.
  bool CheckPools() {
    for (const NodePool& pool : pools_) {
      if (!pool.wrong_slice) continue;
      const SliceInfo& slice = devices_.slice(*pool.wrong_slice);
      problem_ = absl::StrCat("ResourceSlice ", Absl(Text(slice.name)), ": ", slice.not_understood,
                              " is not evaluated");
      return false;
    }
    return true;
  }

  // Whether the devices can be used without an answer of their driver, which ebb does not have.
  bool CheckBinding() {
    for (size_t c = 0; c < results_.size(); ++c) {
      for (const HeldDevice& held : results_[c]) {
        const DeviceInfo& device = devices_.device(held.info);
        if (!device.has_binding_conditions) continue;
        problem_ = absl::StrCat(
            "claim ", Absl(Text(Claim(c).name)), ": device ", Absl(Text(device.name)), " of pool ",
            Absl(Text(devices_.slice(device.slice).pool)),
            " has binding conditions, which only its driver can fulfil; not understood");
        return false;
      }
    }
    return true;
  }

  bool CheckClaims() {
    asks_.resize(claims_.size());
    constraints_.resize(claims_.size());
    for (size_t c = 0; c < claims_.size(); ++c) {
      const DeviceClaimInfo& claim = Claim(c);
      constraints_[c].resize(claim.constraints.size());
      size_t least = 0;
      for (const DeviceRequestInfo& request : claim.requests) {
        std::vector<AskState>& asks = asks_[c].emplace_back();
        size_t least_of_request = SIZE_MAX;
        for (const DeviceAskInfo& ask : request.asks) {
          AskState& made = asks.emplace_back();
          if (!CheckAsk(request, ask, made)) return false;
          least_of_request = std::min(least_of_request, made.count);
        }
        least += least_of_request;
      }
      if (least > kDevicesOfClaimMax) {
        problem_ = absl::StrCat("claim ", Absl(Text(claim.name)), ": number of requested devices ",
                                least, " exceeds the claim limit of ", kDevicesOfClaimMax);
        return false;
      }
    }
    return true;
  }

  bool CheckAsk(const DeviceRequestInfo& request, const DeviceAskInfo& ask, AskState& made) {
    made.ask = &ask;
    made.device_class = devices_.FindClass(ask.class_name);
    const auto name = [&] {
      return ask.name == kNoText
                 ? std::string(Text(request.name))
                 : absl::StrCat(Absl(Text(request.name)), "/", Absl(Text(ask.name)));
    };
    if (made.device_class == nullptr) {
      problem_ = absl::StrCat("request ", name(), ": device class ", Absl(Text(ask.class_name)),
                              " does not exist");
      return false;
    }
    if (ask.unknown_mode) {
      problem_ = absl::StrCat("request ", name(), ": unsupported count mode");
      return false;
    }
    made.count = static_cast<size_t>(ask.count);
    if (!ask.all) return true;
    for (size_t p = 0; p < pools_.size(); ++p) {
      const NodePool& pool = pools_[p];
      if (pool.IsClosed()) {
        problem_ = absl::StrCat("request ", name(), ": asks for all devices, but resource pool ",
                                NameOf(pool), " is currently ",
                                pool.incomplete ? "being updated"
                                : pool.invalid  ? "invalid"
                                                : "used by pods whose claims are not known");
        return false;
      }
      for (const uint32_t s : pool.slices) {
        const SliceInfo& slice = devices_.slice(s);
        for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
          const DeviceInfo& device = devices_.device(d);
          const std::optional<bool> selectable = IsSelectable(made, slice, device);
          if (!selectable) return false;
          if (!*selectable) continue;
          // From 1.37 on, what others take of the device does not exclude it from "all".
          if (HasRoom(ask, device, /*beside_others=*/!rules_of_137_)) made.all.emplace_back(d, p);
        }
      }
    }
    made.count = made.all.size();
    return true;
  }

  [[nodiscard]] std::string NameOf(const NodePool& pool) const {
    const SliceInfo& slice = devices_.slice(pool.first_slice);
    return absl::StrCat(Absl(Text(slice.driver)), "/", Absl(Text(slice.pool)));
  }

  // nullopt: an error.
  std::optional<bool> SelectorsMatch(std::span<const uint32_t> selectors,
                                     const DeviceInfo& device) {
    for (const uint32_t selector : selectors) {
      switch (devices_.Ask(selector, device)) {
        case Answer::kYes:
          continue;
        case Answer::kNo:
          return false;
        default:
          problem_ = "a selector fails";
          if (explains_) {
            problem_ = absl::StrCat("device ", Absl(Text(device.name)), ": selector ",
                                    Absl(devices_.Expression(selector)), ": ",
                                    devices_.ErrorOf(selector, device));
          }
          return std::nullopt;
      }
    }
    return true;
  }

  std::optional<bool> IsSelectable(const AskState& ask, const SliceInfo& slice,
                                   const DeviceInfo& device) {
    for (const std::span<const uint32_t> selectors :
         {std::span<const uint32_t>(ask.device_class->selectors),
          std::span<const uint32_t>(ask.ask->selectors)}) {
      const std::optional<bool> matches = SelectorsMatch(selectors, device);
      if (!matches || !*matches) return matches;
    }
    const NodeInfo& node = catalog_.node(node_);
    return !slice.per_device_nodes ||
           device.reach.Matches({node.name, node.labels}, catalog_.symbols());
  }

  [[nodiscard]] bool IsTaken(DeviceId id) const {
    return std::ranges::any_of(taken_, [&](const auto& each) { return each.first == id; });
  }
  [[nodiscard]] bool IsTakenBy(DeviceId id, size_t claim) const {
    return std::ranges::any_of(
        taken_, [&](const auto& each) { return each.first == id && each.second == claim; });
  }
  [[nodiscard]] bool IsInUse(const DeviceInfo& device, const DeviceAskInfo& ask,
                             size_t claim) const {
    if (ask.admin_access) return IsTakenBy(device.id, claim);
    return state_.Uses(device.id) > 0 || IsTaken(device.id);
  }

  Outcome AllocateOne(Place at, bool in_alternative, From from) {
    if (at.claim >= claims_.size()) return Outcome::kDone;
    const DeviceClaimInfo& claim = Claim(at.claim);
    if (at.request >= claim.requests.size()) {
      const Outcome outcome = AllocateOne({.claim = at.claim + 1}, false, {});
      return outcome == Outcome::kTooMany ? Outcome::kNo : outcome;
    }
    const DeviceRequestInfo& request = claim.requests[at.request];
    if (!in_alternative && request.first_available) return AllocateAlternative(at, request);

    const AskState& ask = asks_[at.claim][at.request][at.alternative];
    if (ask.ask->all && ask.all.empty()) return Outcome::kNo;
    if (at.device >= ask.count) {
      return AllocateOne({.claim = at.claim, .request = at.request + 1}, false, {});
    }
    if (results_[at.claim].size() + ask.count - at.device > kDevicesOfClaimMax) {
      return Outcome::kTooMany;
    }
    if (ask.ask->all) return AllocateNextOfAll(at, in_alternative, ask);
    return AllocateNext(at, in_alternative, from, ask);
  }

  Outcome AllocateAlternative(Place at, const DeviceRequestInfo& request) {
    bool all_too_many = true;
    for (at.alternative = 0; at.alternative < request.asks.size(); ++at.alternative) {
      const Outcome outcome = AllocateOne(at, true, {});
      if (outcome == Outcome::kTooMany) continue;
      all_too_many = false;
      if (outcome != Outcome::kNo) return outcome;
    }
    return all_too_many ? Outcome::kTooMany : Outcome::kNo;
  }

  Outcome AllocateNextOfAll(const Place& at, bool in_alternative, const AskState& ask) {
    const auto [index, pool] = ask.all[at.device];
    const Outcome taken = TakeDevice(at, ask, index, pool, /*must=*/true);
    if (taken != Outcome::kDone) return taken;
    Place next = at;
    ++next.device;
    const Outcome outcome = AllocateOne(next, in_alternative, {});
    if (outcome != Outcome::kDone) GiveBack(at, index, pool);
    return outcome;
  }

  Outcome AllocateNext(const Place& at, bool in_alternative, const From& from,
                       const AskState& ask) {
    for (size_t p = from.pool; p < pools_.size(); ++p) {
      const NodePool& pool = pools_[p];
      if (pool.IsClosed()) continue;
      for (size_t s = p == from.pool ? from.slice : 0; s < pool.slices.size(); ++s) {
        const SliceInfo& slice = devices_.slice(pool.slices[s]);
        const bool continues = p == from.pool && s == from.slice && from.device != 0;
        for (uint32_t d = continues ? from.device : slice.first_device; d < slice.end_device; ++d) {
          const DeviceInfo& device = devices_.device(d);
          ++steps_;
          if (steps_ > kDeviceStepsMax ||
              (steps_ == kLongSearch && (FailedBefore() || IsHopeless()))) {
            given_up_ = true;
            return Outcome::kStop;
          }
          if (IsInUse(device, *ask.ask, at.claim)) continue;
          const std::optional<bool> selectable = IsSelectable(ask, slice, device);
          if (!selectable) return Outcome::kStop;
          if (!*selectable) continue;
          if (!HasRoom(*ask.ask, device, /*beside_others=*/true)) continue;
          const Outcome taken = TakeDevice(at, ask, d, p, /*must=*/false);
          if (taken == Outcome::kStop) return taken;
          if (taken != Outcome::kDone) continue;
          Place next = at;
          ++next.device;
          const Outcome outcome =
              AllocateOne(next, in_alternative, {.pool = p, .slice = s, .device = d + 1});
          if (outcome == Outcome::kDone) return outcome;
          GiveBack(at, d, p);
          if (outcome != Outcome::kNo) return outcome;
        }
      }
    }
    return Outcome::kNo;
  }

  // A hash of all that the search depends on.  Nodes whose devices are alike have the same.
  [[nodiscard]] Devices::SearchKey Key() const {
    std::vector<uint32_t> parts;
    for (const DeviceClaimId id : claims_) parts.push_back(devices_.claim(id).spec);
    bool depends_on_node = false;
    const auto add = [&](uint32_t s, bool plain) {
      const SliceInfo& slice = devices_.slice(s);
      parts.insert(parts.end(), {UINT32_MAX, slice.end_device - slice.first_device});
      for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
        const DeviceInfo& device = devices_.device(d);
        const bool is_plain = plain && device.taints.empty() && !slice.per_device_nodes;
        depends_on_node |= !is_plain;
        parts.push_back(is_plain ? device.shape : d);
        parts.push_back((is_plain ? 2 : 0) + (state_.Uses(device.id) > 0 ? 1 : 0));
        AppendShares(device.id, parts);
      }
    };
    for (const NodePool& pool : pools_) {
      parts.push_back(pool.IsClosed() ? 1 : 0);
      for (const uint32_t s : pool.slices) add(s, /*plain=*/pool.counters.empty());
      for (const uint32_t s : pool.others) add(s, /*plain=*/false);
    }
    if (depends_on_node) parts.push_back(static_cast<uint32_t>(Index(node_)));
    const XXH128_hash_t hash = XXH3_128bits(parts.data(), parts.size() * sizeof(uint32_t));
    return {hash.high64, hash.low64};
  }

  void AppendShares(DeviceId id, std::vector<uint32_t>& parts) const {
    const DeviceShares* const shares = state_.Shares(id);
    if (shares == nullptr || shares->claims == 0) return;
    parts.insert(parts.end(), {UINT32_MAX - 1, shares->claims, shares->consumers});
    for (const DeviceAmount& each : shares->consumed) {
      const auto words = std::bit_cast<std::array<uint32_t, 4>>(each.nanos);
      parts.push_back(static_cast<uint32_t>(Index(each.name)));
      parts.insert(parts.end(), words.begin(), words.end());
    }
  }

  bool FailedBefore() {
    const std::optional<bool> too_long = devices_.FindFailure(Key());
    if (too_long == true) steps_ = kDeviceStepsMax + 1;
    return too_long.has_value();
  }

  // Whether some request finds too few devices even if it could choose before all others.  Then a
  // search through the choices of the others ends without a result, but may take very long.
  bool IsHopeless() {
    for (const std::vector<std::vector<AskState>>& requests : asks_) {
      for (const std::vector<AskState>& asks : requests) {
        if (std::ranges::none_of(asks, [&](const AskState& ask) { return MayBeServed(ask); })) {
          return true;
        }
      }
    }
    return false;
  }

  bool MayBeServed(const AskState& ask) {
    if (ask.ask->all) return !ask.all.empty();
    size_t found = 0;
    for (const NodePool& pool : pools_) {
      if (pool.IsClosed()) continue;
      for (const uint32_t s : pool.slices) {
        const SliceInfo& slice = devices_.slice(s);
        for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
          const DeviceInfo& device = devices_.device(d);
          if (!ask.ask->admin_access && state_.Uses(device.id) > 0) continue;
          const std::optional<bool> selectable = IsSelectable(ask, slice, device);
          if (!selectable) {
            problem_.clear();
            return true;  // The search fails when it comes to this device.
          }
          found += *selectable && ToleratesAll(ask.ask->tolerations, device.taints) ? 1 : 0;
        }
      }
    }
    return found >= ask.count;
  }

  // kDone: the device is taken for the request, until GiveBack.
  Outcome TakeDevice(const Place& at, const AskState& ask, uint32_t index, size_t pool, bool must) {
    const DeviceInfo& device = devices_.device(index);
    if (IsInUse(device, *ask.ask, at.claim)) return Outcome::kNo;
    // A further share of a device takes no more counters.
    const bool counts = !device.consumes.empty() && !(device.allow_multiple && IsShared(device.id));
    if (counts && !TakeCounters(device, pool)) return Outcome::kNo;
    if (!ToleratesAll(ask.ask->tolerations, device.taints)) {
      if (counts) GiveBackCounters(device, pool);
      return Outcome::kNo;
    }
    const DeviceClaimInfo& claim = Claim(at.claim);
    for (size_t c = 0; c < claim.constraints.size(); ++c) {
      if (AddTo(claim.constraints[c], constraints_[at.claim][c], at, device)) continue;
      RemoveFromConstraints(at, c);
      if (counts) GiveBackCounters(device, pool);
      if (!must) return Outcome::kNo;
      return Stop(absl::StrCat("claim ", Absl(Text(claim.name)), ", request ",
                               Absl(Text(claim.requests[at.request].name)), ": cannot add device ",
                               Absl(Text(device.name)),
                               " because a claim constraint would not be satisfied"));
    }
    // Of "all" devices, one may have been shared meanwhile.
    if (!HasRoom(*ask.ask, device, /*beside_others=*/true)) {
      RemoveFromConstraints(at, claim.constraints.size());
      if (counts) GiveBackCounters(device, pool);
      return Outcome::kNo;
    }
    HeldDevice& held = results_[at.claim].emplace_back();
    held.id = device.id;
    held.info = index;
    held.admin_access = ask.ask->admin_access;
    held.request = static_cast<uint32_t>(at.request);
    held.alternative = static_cast<uint32_t>(at.alternative);
    if (device.binds_to_node) held.only_on = catalog_.node(node_).name;
    if (device.allow_multiple) {
      held.shared = true;
      for (const DeviceCapacityInfo& each : devices_.CapacitiesOf(device)) {
        DeviceAmount& amount = held.consumed.emplace_back();
        amount.name = each.name;
        amount.nanos = each.Taken(AskedOf(*ask.ask, each.name)).value_or(each.nanos);
      }
    } else {
      taken_.emplace_back(device.id, at.claim);
    }
    counts_.push_back(counts);
    return Outcome::kDone;
  }

  void GiveBack(const Place& at, uint32_t index, size_t pool) {
    const DeviceInfo& device = devices_.device(index);
    results_[at.claim].pop_back();
    if (!device.allow_multiple) taken_.pop_back();
    RemoveFromConstraints(at, Claim(at.claim).constraints.size());
    if (counts_.back()) GiveBackCounters(device, pool);
    counts_.pop_back();
  }

  // --- Capacity

  static std::optional<absl::int128> AskedOf(const DeviceAskInfo& ask, TextId name) {
    const auto it = std::ranges::find(ask.capacity, name, &DeviceAmount::name);
    if (it == ask.capacity.end()) return std::nullopt;
    return it->nanos;
  }

  // Whether the device has what the request takes of each capacity, `beside_others` in addition to
  // what all others take of it.  Only devices that allow it are shared, but any has its policies.
  [[nodiscard]] bool HasRoom(const DeviceAskInfo& ask, const DeviceInfo& device,
                             bool beside_others) const {
    const DeviceShares* const shares = beside_others ? state_.Shares(device.id) : nullptr;
    if (!device.limits_requests && ask.capacity.empty() &&
        (shares == nullptr || shares->claims == 0)) {
      return true;
    }
    const std::span<const DeviceCapacityInfo> capacities = devices_.CapacitiesOf(device);
    for (const DeviceAmount& asked : ask.capacity) {
      if (std::ranges::find(capacities, asked.name, &DeviceCapacityInfo::name) ==
          capacities.end()) {
        return false;
      }
    }
    for (const DeviceCapacityInfo& each : capacities) {
      const std::optional<absl::int128> taken = each.Taken(AskedOf(ask, each.name));
      if (!taken) return false;
      absl::int128 sum = *taken;
      if (shares != nullptr) sum += AmountOf(shares->consumed, each.name);
      if (beside_others) sum += TakenHere(device.id, each.name);
      if (sum > each.nanos) return false;
    }
    return true;
  }

  static absl::int128 AmountOf(const std::vector<DeviceAmount>& amounts, TextId name) {
    const auto it = std::ranges::find(amounts, name, &DeviceAmount::name);
    return it == amounts.end() ? 0 : it->nanos;
  }

  // What the claims of this search take.
  [[nodiscard]] absl::int128 TakenHere(DeviceId id, TextId name) const {
    absl::int128 sum = 0;
    for (const std::vector<HeldDevice>& of_claim : results_) {
      for (const HeldDevice& held : of_claim) {
        if (held.id == id && held.shared) sum += AmountOf(held.consumed, name);
      }
    }
    return sum;
  }

  // Whether the device's counters are accounted for by another share.  Up to 1.36, only one that
  // takes capacity counts.
  [[nodiscard]] bool IsShared(DeviceId id) const {
    const DeviceShares* const shares = state_.Shares(id);
    if (shares != nullptr && (rules_of_137_ ? shares->claims : shares->consumers) > 0) return true;
    return std::ranges::any_of(results_, [&](const std::vector<HeldDevice>& of_claim) {
      return std::ranges::any_of(
          of_claim, [&](const HeldDevice& held) { return held.id == id && held.shared; });
    });
  }

  [[nodiscard]] bool IsAllocated(DeviceId id) const {
    const DeviceShares* const shares = state_.Shares(id);
    return state_.Uses(id) > 0 || (shares != nullptr && shares->claims > 0);
  }

  // --- Constraints

  [[nodiscard]] bool Concerns(const DeviceConstraintInfo& constraint, const Place& at) const {
    if (constraint.requests.empty()) return true;
    const DeviceRequestInfo& request = Claim(at.claim).requests[at.request];
    return std::ranges::any_of(constraint.requests, [&](const auto& each) {
      if (each.first != request.name) return false;
      return each.second == kNoText ||
             (request.first_available && each.second == request.asks[at.alternative].name);
    });
  }

  // Undoes the last AddTo of the claim's first `count` constraints.
  void RemoveFromConstraints(const Place& at, size_t count) {
    while (count-- > 0) {
      RemoveFrom(Claim(at.claim).constraints[count], constraints_[at.claim][count], at);
    }
  }

  bool AddTo(const DeviceConstraintInfo& constraint, ConstraintState& state, const Place& at,
             const DeviceInfo& device) const {
    if (!Concerns(constraint, at)) return true;
    const auto attribute = devices_.AttributeOf(device, constraint);
    if (!attribute) return false;
    if (constraint.distinct) {
      const bool occurs = std::ranges::any_of(
          state.of_request, [&](const auto& each) { return each.second == *attribute; });
      if (state.devices > 0 && occurs) return false;
      const TextId request = Claim(at.claim).requests[at.request].name;
      // Up to 1.36, each request is compared by its last device only.
      if (!rules_of_137_) {
        std::erase_if(state.of_request, [&](const auto& each) { return each.first == request; });
      }
      state.of_request.emplace_back(request, *attribute);
    } else if (state.devices == 0) {
      state.matched = *attribute;
    } else if (state.matched != *attribute) {
      return false;
    }
    ++state.devices;
    return true;
  }

  void RemoveFrom(const DeviceConstraintInfo& constraint, ConstraintState& state,
                  const Place& at) const {
    if (!Concerns(constraint, at)) return;
    if (constraint.distinct && rules_of_137_) {
      state.of_request.pop_back();
    } else if (constraint.distinct) {
      const TextId request = Claim(at.claim).requests[at.request].name;
      std::erase_if(state.of_request, [&](const auto& each) { return each.first == request; });
    }
    --state.devices;
  }

  // --- Counters

  static void AddCounters(const NodePool& pool, const DeviceInfo& device, int sign,
                          std::vector<absl::int128>& to) {
    for (const DeviceInfo::NamedCounter& used : device.consumes) {
      for (size_t c = 0; c < pool.counters.size(); ++c) {
        const DeviceInfo::NamedCounter& has = pool.counters[c];
        if (has.IsNamedAs(used)) to[c] += sign * used.nanos;
      }
    }
  }

  PoolCounters& CountersOf(size_t pool) {
    if (counters_.empty()) counters_.resize(pools_.size());
    PoolCounters& counters = counters_[pool];
    if (std::exchange(counters.known, true)) return counters;
    const NodePool& of = pools_[pool];
    for (const DeviceInfo::NamedCounter& has : of.counters) {
      counters.available.push_back(has.nanos);
    }
    counters.consumed.resize(of.counters.size());
    for (const std::vector<uint32_t>* const slices : {&of.slices, &of.others}) {
      for (const uint32_t s : *slices) {
        const SliceInfo& slice = devices_.slice(s);
        for (uint32_t d = slice.first_device; d < slice.end_device; ++d) {
          const DeviceInfo& device = devices_.device(d);
          if (IsAllocated(device.id)) AddCounters(of, device, -1, counters.available);
        }
      }
    }
    return counters;
  }

  bool TakeCounters(const DeviceInfo& device, size_t pool) {
    PoolCounters& counters = CountersOf(pool);
    AddCounters(pools_[pool], device, +1, counters.consumed);
    for (size_t c = 0; c < counters.available.size(); ++c) {
      if (counters.available[c] >= counters.consumed[c]) continue;
      AddCounters(pools_[pool], device, -1, counters.consumed);
      return false;
    }
    return true;
  }

  void GiveBackCounters(const DeviceInfo& device, size_t pool) {
    AddCounters(pools_[pool], device, -1, counters_[pool].consumed);
  }

  const Catalog& catalog_;
  const Devices& devices_;
  const DeviceState& state_;
  const NodeId node_;
  const std::span<const NodePool> pools_;
  const std::span<const DeviceClaimId> claims_;
  const bool explains_;                                   // Otherwise, problem() is not complete.
  const bool rules_of_137_;                               // Of Kubernetes 1.37.
  std::vector<std::vector<HeldDevice>> results_;          // By claim.
  std::vector<std::vector<std::vector<AskState>>> asks_;  // By claim, request, alternative.
  std::vector<std::vector<ConstraintState>> constraints_;
  std::vector<std::pair<DeviceId, size_t>> taken_;  // Device, claim; not if it is shared.
  std::vector<bool> counts_;                        // Whether each held device took counters.
  std::vector<PoolCounters> counters_;              // By pool, filled on first use.
  size_t steps_ = 0;
  bool waits_for_driver_ = false;
  bool given_up_ = false;
  std::string problem_;
};

// Whether an allocated claim can be used on the node.
bool ReachesNode(const Catalog& catalog, const DeviceClaimInfo& claim,
                 const DeviceClaimState& state, const NodeInfo& info) {
  const DeviceNode node = {info.name, info.labels};
  const Symbols& symbols = catalog.symbols();
  if (state.as_in_status) return claim.allocated_on.Matches(node, symbols);
  return std::ranges::all_of(state.devices, [&](const HeldDevice& held) {
    if (held.only_on != kNoText) return held.only_on == info.name;
    const DeviceInfo& device = catalog.devices().device(held.info);
    const SliceInfo& slice = catalog.devices().slice(device.slice);
    return (slice.per_device_nodes ? device.reach : slice.reach).Matches(node, symbols);
  });
}

// Whether the node reaches as many unused devices as the claims need at least.  A quick test before
// the search.
bool HasUnused(const Devices& devices, const DeviceState& state, NodeId node,
               std::span<const DeviceClaimId> claims) {
  size_t missing = 0;
  for (const DeviceClaimId id : claims) missing += devices.claim(id).unused_min;
  for (const NodePool& pool : devices.PoolsOf(node)) {
    if (missing == 0) return true;
    if (pool.IsClosed()) continue;
    for (const uint32_t s : pool.slices) {
      const SliceInfo& slice = devices.slice(s);
      for (uint32_t d = slice.first_device; d < slice.end_device && missing > 0; ++d) {
        if (state.Uses(devices.device(d).id) > 0) continue;
        if (devices.device(d).allow_multiple) return true;  // Any number of requests may share it.
        --missing;
      }
    }
  }
  return missing == 0;
}

// The expression of a selector, cut where it is long.
std::string Quoted(std::string_view expression) {
  constexpr size_t kBytesMax = 200;
  const std::string_view shown = CutUtf8(expression, kBytesMax);
  return absl::StrCat(Absl(shown), shown.size() < expression.size() ? "..." : "");
}

// Why the devices that the node reaches do not serve the claims: up to a few of them.
std::string DetailOf(const Catalog& catalog, const DeviceState& state, NodeId node,
                     std::span<const DeviceClaimId> claims, const DeviceSearch& search) {
  constexpr size_t kShown = 3;
  const Devices& devices = catalog.devices();
  const auto text = [&](TextId id) { return Absl(catalog.Text(id)); };
  std::string detail;
  size_t shown = 0;
  size_t left_out = 0;
  size_t reached = 0;
  const auto say = [&](const DeviceInfo& device, const auto&... why) {
    if (shown == kShown) {
      ++left_out;
      return;
    }
    ++shown;
    absl::StrAppend(&detail, detail.empty() ? "" : "; ", "device ", text(device.name), " of pool ",
                    text(devices.slice(device.slice).pool), " ", why...);
  };
  for (const DeviceClaimId id : claims) {
    for (const DeviceRequestInfo& request : devices.claim(id).requests) {
      for (const DeviceAskInfo& ask : request.asks) {
        const DeviceClassInfo* const device_class = devices.FindClass(ask.class_name);
        if (device_class == nullptr) continue;
        std::vector<uint32_t> selectors = device_class->selectors;
        selectors.insert(selectors.end(), ask.selectors.begin(), ask.selectors.end());
        for (const NodePool& pool : devices.PoolsOf(node)) {
          for (const uint32_t s : pool.slices) {
            for (uint32_t d = devices.slice(s).first_device; d < devices.slice(s).end_device; ++d) {
              const DeviceInfo& device = devices.device(d);
              ++reached;
              const auto failed = std::ranges::find_if(selectors, [&](uint32_t selector) {
                return devices.Ask(selector, device) != Answer::kYes;
              });
              if (failed != selectors.end()) {
                say(device, "fails selector ", Quoted(devices.Expression(*failed)));
              } else if (!ask.admin_access && state.Uses(device.id) > 0) {
                say(device, "is in use");
              } else if (!search.HasRoom(ask, device)) {
                say(device, "has not the capacity that request ", text(request.name), " takes");
              } else if (!ToleratesAll(ask.tolerations, device.taints)) {
                say(device, "has a taint that request ", text(request.name), " does not tolerate");
              }
            }
          }
        }
      }
    }
  }
  const std::span<const NodePool> pools = devices.PoolsOf(node);
  if (std::ranges::any_of(pools, [](const auto& pool) { return pool.wrong_slice.has_value(); })) {
    return "";
  }
  if (reached == 0 && pools.empty()) return "the node reaches no devices";
  if (shown == 0 && std::ranges::any_of(pools, &NodePool::IsClosed)) {
    return "devices of an incomplete or invalid pool are not allocated";
  }
  if (reached == 0) return "the node reaches no devices";
  if (shown == 0) return "each device serves by itself, but not as many together as are asked for";
  if (left_out > 0) absl::StrAppend(&detail, "; and ", left_out, " more");
  return detail;
}

}  // namespace

bool FindDevices(const Catalog& catalog, const DeviceState& state, const PodShape& shape,
                 NodeId node, std::vector<std::vector<HeldDevice>>* found, DeviceProblem* problem) {
  const Devices& devices = catalog.devices();
  if (found != nullptr) found->assign(shape.device_claims.size(), {});
  std::vector<DeviceClaimId> open;
  std::optional<DeviceClaimId> unreachable;
  const auto reject = [&](std::string_view reason, DeviceClaimId id) {
    if (problem == nullptr) return false;
    problem->reason = reason;
    problem->detail = absl::StrCat("ResourceClaim ", Absl(catalog.Text(devices.claim(id).name)));
    return false;
  };
  for (const DeviceClaimId id : shape.device_claims) {
    const DeviceClaimState& claim = state.claim(id);
    if (!claim.allocated) {
      open.push_back(id);
    } else if (claim.users >= kUsersOfClaimMax) {
      return reject("resourceclaim in use", id);
    } else if (!ReachesNode(catalog, devices.claim(id), claim, catalog.node(node))) {
      unreachable = id;
    }
  }
  // For the reason, the scheduler searches devices for the other claims first.
  if (unreachable && (problem == nullptr || open.empty())) {
    return reject("resourceclaim not available on the node", *unreachable);
  }
  if (open.empty()) return true;
  if (problem == nullptr && !HasUnused(devices, state, node, open)) return false;
  DeviceSearch search(catalog, state, node, open, problem != nullptr);
  if (!search.Run()) {
    if (problem != nullptr) {
      problem->reason = search.problem();
      if (search.TookTooManySteps()) {
        problem->detail = "the search for devices takes too many steps";
      } else if (!search.WaitsForDriver()) {
        problem->detail = DetailOf(catalog, state, node, open, search);
      }
      if (std::ranges::any_of(devices.PoolsOf(node), &NodePool::uses_unknown)) {
        absl::StrAppend(&problem->detail, problem->detail.empty() ? "" : "; ",
                        "devices that pods with missing or unallocated claims may use are not "
                        "allocated");
      }
    }
    return false;
  }
  if (unreachable) return reject("resourceclaim not available on the node", *unreachable);
  if (found == nullptr) return true;
  auto next = search.results().begin();
  for (size_t c = 0; c < shape.device_claims.size(); ++c) {
    if (!state.claim(shape.device_claims[c]).allocated) (*found)[c] = std::move(*next++);
  }
  return true;
}

}  // namespace ebb
