#include "snapshot/device_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "snapshot/catalog.h"
#include "snapshot/devices.h"

namespace ebb {

void DeviceState::Reset(const Devices& devices) {
  claims_ = {};
  uses_ = {};
  shares_ = {};
  Grow(devices);
  for (uint32_t c = 0; c < devices.claims(); ++c) Read(devices, DeviceClaimId{c});
}

void DeviceState::Grow(const Devices& devices) {
  claims_.Resize(devices.claims());
  uses_.Resize(devices.ids());
  if (devices.HasSharedDevices()) shares_.Resize(devices.ids());
}

void DeviceState::Read(const Devices& devices, DeviceClaimId id) {
  const DeviceClaimInfo& info = devices.claim(id);
  DeviceClaimState state;
  state.allocated = info.allocated;
  state.as_in_status = info.allocated;
  state.users = info.other_users;
  for (const auto& [device, admin_access, shared, consumed] : info.devices) {
    state.devices.push_back(
        {.id = device, .admin_access = admin_access, .shared = shared, .consumed = consumed});
  }
  Set(id, std::move(state));
}

void DeviceState::Count(const DeviceClaimState& state, int sign) {
  for (const HeldDevice& device : state.devices) {
    if (device.admin_access) continue;
    if (device.shared) {
      CountShare(device, sign, shares_.Mutable(Index(device.id)));
    } else {
      uses_.Mutable(Index(device.id)) += sign;
    }
  }
}

void DeviceState::CountShare(const HeldDevice& device, int sign, DeviceShares& shares) {
  shares.claims += sign;
  if (!device.consumed.empty()) shares.consumers += sign;
  for (const DeviceAmount& each : device.consumed) {
    auto sum = std::ranges::find(shares.consumed, each.name, &DeviceAmount::name);
    if (sum == shares.consumed.end()) {
      sum = shares.consumed.insert(sum, {.name = each.name});
    }
    sum->nanos += sign * each.nanos;
  }
}

void DeviceState::Set(DeviceClaimId id, DeviceClaimState state) {
  Count(claims_[Index(id)], -1);
  Count(state, +1);
  claims_.Mutable(Index(id)) = std::move(state);
}

void DeviceState::Take(const PodShape& shape, std::vector<std::vector<HeldDevice>> found,
                       bool logs) {
  for (size_t c = 0; c < shape.device_claims.size(); ++c) {
    const DeviceClaimId id = shape.device_claims[c];
    const DeviceClaimState& before = claims_[Index(id)];
    DeviceClaimState state = before;
    if (logs) log_.push_back({id, before});
    ++state.users;
    if (!found.empty() && !state.allocated) {
      state.allocated = true;
      state.as_in_status = false;
      state.devices = std::move(found[c]);
    }
    Set(id, std::move(state));
  }
}

void DeviceState::Release(const Catalog& catalog, const PodShape& shape, bool logs) {
  for (const DeviceClaimId id : shape.device_claims) {
    const DeviceClaimState& before = claims_[Index(id)];
    DeviceClaimState state = before;
    if (logs) log_.push_back({id, before});
    EBB_DCHECK(state.users > 0);
    --state.users;
    if (state.users == 0 || catalog.devices().claim(id).owned) {
      state.allocated = false;
      state.as_in_status = false;
      state.devices.clear();
    }
    Set(id, std::move(state));
  }
}

void DeviceState::Undo(const PodShape& shape) {
  for (size_t c = shape.device_claims.size(); c-- > 0; log_.pop_back()) {
    EBB_DCHECK(!log_.empty() && log_.back().claim == shape.device_claims[c]);
    Set(log_.back().claim, std::move(log_.back().before));
  }
}

absl::Status DeviceState::Check() const {
  std::vector<uint32_t> counted(uses_.size());
  std::vector<DeviceShares> shares(shares_.size());
  for (size_t c = 0; c < claims_.size(); ++c) {
    const DeviceClaimState& state = claims_[c];
    if (!state.allocated && !state.devices.empty()) {
      return absl::InternalError(absl::StrCat("device claim ", c, " holds devices unallocated"));
    }
    for (const HeldDevice& device : state.devices) {
      if (device.admin_access) continue;
      if (device.shared) {
        CountShare(device, +1, shares[Index(device.id)]);
      } else {
        ++counted[Index(device.id)];
      }
    }
  }
  for (size_t d = 0; d < shares.size(); ++d) {
    if (shares[d].claims != shares_[d].claims || shares[d].consumers != shares_[d].consumers ||
        !std::ranges::all_of(shares_[d].consumed, [&](const DeviceAmount& sum) {
          const auto it = std::ranges::find(shares[d].consumed, sum.name, &DeviceAmount::name);
          return sum.nanos == (it == shares[d].consumed.end() ? 0 : it->nanos);
        })) {
      return absl::InternalError(absl::StrCat("device ", d, " has ", shares_[d].claims,
                                              " shares, and claims hold ", shares[d].claims));
    }
  }
  for (size_t d = 0; d < counted.size(); ++d) {
    if (counted[d] != uses_[d]) {
      return absl::InternalError(
          absl::StrCat("device ", d, " has ", uses_[d], " uses, and claims hold ", counted[d]));
    }
  }
  return absl::OkStatus();
}

bool DeviceState::IsLike(const DeviceState& other) const {
  for (size_t c = 0; c < claims_.size(); ++c) {
    if (claims_[c] != other.claims_[c]) return false;
  }
  return true;
}

std::string DeviceState::Fingerprint() const {
  std::string text;
  for (size_t c = 0; c < claims_.size(); ++c) {
    const DeviceClaimState& state = claims_[c];
    absl::StrAppend(&text, "device claim ", c, state.allocated ? " allocated" : "",
                    state.as_in_status ? " as read" : "", " users ", state.users, " devices");
    for (const HeldDevice& device : state.devices) {
      absl::StrAppend(&text, " ", Index(device.id), device.admin_access ? "*" : "",
                      device.shared ? "~" : "");
      for (const DeviceAmount& each : device.consumed) {
        absl::StrAppend(&text, " ", Index(each.name), "=", static_cast<double>(each.nanos));
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace ebb
