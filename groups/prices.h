// Prices: what nodes cost an hour, from a file.
//
// YAML:
//   currency: USD                 # a word for people (optional)
//   prices:
//   - instanceType: m5.xlarge     # of which nodes; at least one of the three
//     zone: eu-central-1a
//     capacityType: spot          # spot, preemptible, on-demand, reserved, capacity-block
//     hourly: 0.081
//   default: 0.20                 # of all other nodes (optional)
//
// CSV has a first line with the column names: instance_type, zone, capacity_type and hourly.  An
// empty cell is an absent field, and a line without any of the first three is the default.  A cell
// may be quoted (RFC 4180), but must not contain a line break.
//
// If several prices fit a node, the one with the most of the three fields counts; among equals, the
// first in the file. groups/node_facts.h says which labels are read.
//
// Units:   the file's currency per hour.
// Errors:  InvalidArgument, naming file, line or field: an unknown field (with the nearest known
//          one); a price that is not a number, below 0 or above 1,000,000; two prices for the same
//          nodes.
// Threads: pure but for reading the file.

#ifndef EBB_GROUPS_PRICES_H_
#define EBB_GROUPS_PRICES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "groups/node_facts.h"
#include "search/worth.h"  // kHourlyMax
#include "snapshot/catalog.h"

namespace ebb {

struct Price {
  std::string instance_type;  // This and the next two: empty matches any.
  std::string zone;
  std::string capacity_type;
  double hourly = 0;

  [[nodiscard]] bool Fits(const NodeFacts& facts) const;
  // How many of the three fields are set.
  [[nodiscard]] int Names() const;
};

struct PriceList {
  std::string file;
  std::string currency;  // May be empty.
  std::vector<Price> prices;
  std::optional<double> fallback;
};

absl::StatusOr<PriceList> ReadPriceFile(const std::string& path);
// `name` stands for the file in errors.  CSV if the name ends in ".csv".
absl::StatusOr<PriceList> ParsePrices(const std::string& name, const std::string& text);

// A month of prices: 365 days * 24 hours / 12.
inline constexpr double kHoursPerMonth = 730;

// The price of each node of a catalog.
struct NodePrices {
  std::string currency;
  std::vector<double> hourly;  // By NodeId.
};

// Errors: InvalidArgument if the list has no price for some nodes, with their types and how many.
absl::StatusOr<NodePrices> PriceNodes(const Catalog& catalog, const PriceList& list);

// "12.34 USD", "1,234.50".
std::string MoneyText(double amount, std::string_view currency);

}  // namespace ebb

#endif  // EBB_GROUPS_PRICES_H_
