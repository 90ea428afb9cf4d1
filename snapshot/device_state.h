// DeviceState: which devices are in use, and by which claims.  It is the part of a ClusterSnapshot
// that dynamic resource allocation changes.
//
// Each claim of the catalog is allocated or not, and has users.  A pod that is placed uses its
// claims, and those that were not allocated get devices on its node (device_allocator.h).  When a
// pod goes, its own claims (made from a template) are deallocated; a claim that pods share is
// deallocated when its last user goes.  Source: the autoscaler's
// simulator/dynamicresources/snapshot.
//
// Cost:    what the pod's claims touch; nothing for pods without claims.  A copy shares pages.
// Threads: as ClusterSnapshot.

#ifndef EBB_SNAPSHOT_DEVICE_STATE_H_
#define EBB_SNAPSHOT_DEVICE_STATE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/cow_vector.h"
#include "snapshot/device_amount.h"
#include "snapshot/ids.h"

namespace ebb {

class Catalog;
class Devices;
struct PodShape;

struct HeldDevice {
  static constexpr uint32_t kNoInfo = std::numeric_limits<uint32_t>::max();
  DeviceId id{};
  uint32_t info = kNoInfo;             // Of Devices::device(); kNoInfo: as the claim's status says.
  bool admin_access = false;           // Does not keep others from the device.
  bool shared = false;                 // Others may hold the device as well.
  TextId only_on = kNoText;            // The node, if the device binds to it.
  std::vector<DeviceAmount> consumed;  // If shared: what it takes of the device's capacities.
  // For which request of the claim, and for which of its alternatives, if ebb has allocated it.
  uint32_t request = 0;
  uint32_t alternative = 0;
  friend bool operator==(const HeldDevice&, const HeldDevice&) = default;
};

struct DeviceClaimState {
  bool allocated = false;
  bool as_in_status = false;  // Not changed since the claim's status was read.
  uint32_t users = 0;         // Placed pods, and other consumers that the status lists.
  std::vector<HeldDevice> devices;
  friend bool operator==(const DeviceClaimState&, const DeviceClaimState&) = default;
};

// What claims that share a device hold of it.
struct DeviceShares {
  uint32_t claims = 0;
  uint32_t consumers = 0;              // Of these, those that take capacity.
  std::vector<DeviceAmount> consumed;  // Sums; a name stays when its sum is zero.
};

class DeviceState {
 public:
  // What the claims' status says.
  void Reset(const Devices& devices);
  // Makes room for the claims and devices of `devices`.
  void Grow(const Devices& devices);
  // Gives the claim the state that its status says.  REQUIRES: there is room for it; nothing is
  // logged.
  void Read(const Devices& devices, DeviceClaimId id);

  [[nodiscard]] const DeviceClaimState& claim(DeviceClaimId id) const { return claims_[Index(id)]; }
  [[nodiscard]] size_t claims() const { return claims_.size(); }
  // By how many claims the device is used exclusively: more than one only in wrong input.
  [[nodiscard]] uint32_t Uses(DeviceId id) const { return uses_[Index(id)]; }
  // What the claims that share the device take; null if no device can be shared.
  [[nodiscard]] const DeviceShares* Shares(DeviceId id) const {
    return shares_.size() == 0 ? nullptr : &shares_[Index(id)];
  }

  // The pod comes to a node.  Its claims that are not allocated get the devices that FindDevices
  // found for them there; `found` is empty if there are none, and then they hold none.
  void Take(const PodShape& shape, std::vector<std::vector<HeldDevice>> found, bool logs);
  // The pod goes.
  void Release(const Catalog& catalog, const PodShape& shape, bool logs);
  // Undoes the last logged Take or Release, which was for this shape.
  void Undo(const PodShape& shape);
  void ClearLog() { log_.clear(); }

  // Whether the uses are those of the claims.
  [[nodiscard]] absl::Status Check() const;
  [[nodiscard]] std::string Fingerprint() const;
  [[nodiscard]] bool IsLike(const DeviceState& other) const;

 private:
  struct Change {
    DeviceClaimId claim;
    DeviceClaimState before;
  };
  void Set(DeviceClaimId id, DeviceClaimState state);
  void Count(const DeviceClaimState& state, int sign);
  static void CountShare(const HeldDevice& device, int sign, DeviceShares& shares);

  CowVector<DeviceClaimState, 64> claims_;  // By DeviceClaimId.
  CowVector<uint32_t, 1024> uses_;          // By DeviceId.
  CowVector<DeviceShares, 64> shares_;      // By DeviceId; empty if no device can be shared.
  std::vector<Change> log_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_DEVICE_STATE_H_
