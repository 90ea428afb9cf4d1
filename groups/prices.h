// Prices: what nodes cost an hour, from a file, from the built-in catalogue, or from both.
//
// YAML:
//   currency: USD                 # a word for people (optional)
//   prices:
//   - instanceType: m5.xlarge     # of which nodes; at least one of the four
//     region: eu-central-1
//     zone: eu-central-1a
//     capacityType: spot          # spot, preemptible, on-demand, reserved, capacity-block
//     hourly: 0.081
//   types: {m5.*: 0.192}          # the same for many types, in short
//   default: 0.20                 # of all other nodes (optional)
//   base: builtin                 # the catalogue prices the nodes that the file has no price for
//   spot: 0.35                    # the part of a price without capacityType that a spot node costs
//   discount: 0.2                 # taken off such a price for any other node
//   regions: {eu-west-1: 1.11}    # factors for prices without region and zone
//   asOf: 2026-07-20              # a day, for people
//
// An instance type may have a star.  At the end of an AWS type it stands for the size, and the
// price is that of xlarge.  Elsewhere it stands for a number, and the price is that of 1.  The
// first of two stars is a number of cores and the second one of MiB, with hourlyPerGib as its
// price.
//
// CSV has a first line with the column names: instance_type, region, zone, capacity_type, currency
// and hourly.  An empty cell is an absent field, and a line without any of the first four is the
// default.  A cell may be quoted (RFC 4180), but must not contain a line break.
//
// If several prices fit a node, the one with the most of the four fields counts; then one without a
// star; then the first in the file.  groups/node_facts.h says which labels are read.
//
// The catalogue is groups/builtin_prices.yaml, a file of this form.
//
// Units:   the file's currency per hour.
// Errors:  InvalidArgument, naming file, line or field: an unknown field (with the nearest known
//          one); a price that is not a number, below 0 or above 1,000,000; two prices for the same
//          nodes; two currencies.
// Threads: pure but for reading the file.

#ifndef EBB_GROUPS_PRICES_H_
#define EBB_GROUPS_PRICES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "groups/node_facts.h"
#include "search/worth.h"  // kHourlyMax
#include "snapshot/catalog.h"

namespace ebb {

struct Price {
  std::string instance_type;  // This and the next three: empty matches any.
  std::string zone;
  std::string capacity_type;
  double hourly = 0;
  std::string region = {};
  double hourly_per_gib = 0;  // Only with two stars.

  // The price of a node of this type; nullopt: the price is not for such a type.
  [[nodiscard]] std::optional<double> HourlyOf(std::string_view type) const;
  [[nodiscard]] bool Fits(const NodeFacts& facts) const;
  // How many of the four fields are set.
  [[nodiscard]] int Names() const;
};

// Factors over list prices.  Absent: none.
struct PriceRules {
  std::optional<double> spot;
  std::optional<double> discount;
};

struct PriceList {
  std::string file;
  std::string currency;  // May be empty.
  std::vector<Price> prices;
  std::optional<double> fallback;
  PriceRules rules = {};
  std::map<std::string, double, std::less<>> regions = {};
  std::string as_of = {};
  bool on_builtin = false;  // The catalogue has the prices that this list lacks.
};

// The name of the catalogue on the command line and in files.
inline constexpr std::string_view kBuiltinPrices = "builtin";

// The catalogue.  Cost: parsed at the first call.
const PriceList& BuiltinPrices();

absl::StatusOr<PriceList> ReadPriceFile(const std::string& path);
// `name` stands for the file in errors.  CSV if the name ends in ".csv".
absl::StatusOr<PriceList> ParsePrices(const std::string& name, const std::string& text);
// The prices of --prices: a file, "builtin", or both in any order; the file takes precedence.
// `rules` take precedence over those of the file.
// Errors: also InvalidArgument for a second file.
absl::StatusOr<PriceList> ReadPrices(std::span<const std::string> names, const PriceRules& rules);
// The list as YAML, which ParsePrices reads.
std::string PricesText(const PriceList& list);
// "spot=0.35" or "discount=0.2": sets the rule in `rules`; returns what is wrong, or "".
std::string ReadPriceRule(std::string_view text, PriceRules& rules);

// What a node costs, and how that was found.
struct PriceOfNode {
  double hourly = 0;
  bool is_builtin = false;  // From the catalogue.
  bool is_spot = false;     // The factor for spot applied.
  bool is_discounted = false;
  bool has_region = true;  // False: the list has factors, and none for the node's region.
};
// nullopt: the list has no price.
std::optional<PriceOfNode> PriceFor(const NodeFacts& facts, const PriceList& list);

// A month of prices: 365 days * 24 hours / 12.
inline constexpr double kHoursPerMonth = 730;

// The price of each node of a catalog.
struct NodePrices {
  using Tally = std::vector<std::pair<std::string, size_t>>;  // Kinds with their nodes, by name.

  std::string currency;
  std::vector<double> hourly;         // By NodeId; 0: no price is known.
  std::vector<bool> is_priced = {};   // By NodeId; empty: every node has a price.
  std::string as_of = {};             // The day of the catalogue, if it was used.
  PriceRules rules = {};              // Those that applied to some node.
  Tally without = {};                 // Kinds of nodes without a price.
  Tally regions_without_factor = {};  // Their nodes cost what they do in the list's own region.

  [[nodiscard]] bool Knows(NodeId node) const {
    return is_priced.empty() || is_priced[Index(node)];
  }
};

// `known`: prices of nodes that the list does not decide.
// Errors: InvalidArgument if the list, without the catalogue, has no price for some nodes, with
// their types and how many.
absl::StatusOr<NodePrices> PriceNodes(const Catalog& catalog, const PriceList& list,
                                      const std::map<NodeId, double>& known = {});

// Where the prices come from, as sentences; "": a file has them all, without rules.
std::string PriceWords(const NodePrices& prices);
// "m9 in z1 (2 nodes); no instance type (1 node); and 3 more".
std::string TallyText(const NodePrices::Tally& tally);

// The cells of a line of CSV, without surrounding blanks and without their quotes (RFC 4180).
// nullopt: a quote is not closed, or something follows it.
std::optional<std::vector<std::string>> CellsOfCsv(std::string_view line);

// "12.34 USD", "1,234.50".
std::string MoneyText(double amount, std::string_view currency);

}  // namespace ebb

#endif  // EBB_GROUPS_PRICES_H_
