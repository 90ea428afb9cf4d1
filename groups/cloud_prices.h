// Reads the price files of clouds as a list of prices.
//
//   AWS    an offer file of AmazonEC2 from the bulk API, as JSON or CSV: Linux, on demand, shared
//          tenancy, no pre-installed software
//   GCP    pages of SKUs of the service Compute Engine ("skus"): cores and memory of the families
//          whose machine types ebb knows, on demand and spot
//   Azure  pages of the retail prices API ("Items"): Linux, consumption, also spot
//
// A price of GCP is one of a core or a GiB, so its list has patterns with stars (prices.h).
//
// Cost:    AWS's file of one region has 400 MB; it takes a second, and memory of three times its
//          size.
// Threads: pure but for reading the files.

#ifndef EBB_GROUPS_CLOUD_PRICES_H_
#define EBB_GROUPS_CLOUD_PRICES_H_

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "groups/prices.h"

namespace ebb {

struct CloudPrices {
  PriceList list;      // Its file is empty; asOf is the newest date in the files.
  size_t skipped = 0;  // Prices of Linux machines that ebb cannot assign to a machine type.
  std::set<std::string> skipped_kinds;
};

// `regions`: only these; empty: all.
// Errors: those of reading a file; InvalidArgument naming the file: it is no price file, it is cut,
//         or its prices are in another currency than those before; no file has a price.
absl::StatusOr<CloudPrices> ReadCloudPrices(std::span<const std::string> files,
                                            const std::set<std::string>& regions);

}  // namespace ebb

#endif  // EBB_GROUPS_CLOUD_PRICES_H_
