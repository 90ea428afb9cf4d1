// DeviceAmount: how much of one capacity of a device is asked for or taken.

#ifndef EBB_SNAPSHOT_DEVICE_AMOUNT_H_
#define EBB_SNAPSHOT_DEVICE_AMOUNT_H_

#include "absl/numeric/int128.h"
#include "snapshot/ids.h"

namespace ebb {

struct DeviceAmount {
  TextId name = kNoText;   // Of the capacity.
  absl::int128 nanos = 0;  // Billionths, which is as fine as a quantity is.
  friend bool operator==(const DeviceAmount&, const DeviceAmount&) = default;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_DEVICE_AMOUNT_H_
