// The values of devices that the language of selectors does not have itself: quantities and
// versions.
//
// Cost:    O(length).  Nothing here allocates, but for the texts of errors.
// Threads: plain values.

#ifndef EBB_CEL_VALUES_H_
#define EBB_CEL_VALUES_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"

namespace ebb::cel {

// An exact amount, as k8s.io/apimachinery/pkg/api/resource.Quantity holds it for selectors.  The
// rest of ebb counts amounts as int64 (snapshot/objects/quantity.h).
class Quantity {
 public:
  Quantity() = default;
  explicit Quantity(int64_t whole);

  // Parses "80Gi", "1.5", "3e2" by ParseQuantity's rules.
  //   InvalidArgument: not a quantity.
  //   Unimplemented:   a quantity beyond +-10^28, or finer than Kubernetes rounds.
  static absl::StatusOr<Quantity> Parse(std::string_view text);

  [[nodiscard]] absl::int128 nanos() const { return nanos_; }
  [[nodiscard]] int Sign() const { return nanos_ == 0 ? 0 : nanos_ < 0 ? -1 : 1; }
  // Whether Kubernetes holds the amount as a decimal of any length, and not as int64 with a scale.
  [[nodiscard]] bool is_decimal() const { return decimal_; }
  // Quantity.AsInt64: nullopt for a decimal and for a negative scale.  So "1.5Ki" has none, though
  // it is 1536.
  [[nodiscard]] std::optional<int64_t> AsInt64() const;
  [[nodiscard]] double AsApproximateFloat64() const;

  // nullopt: beyond what this type holds.
  [[nodiscard]] std::optional<Quantity> Add(const Quantity& other) const;
  [[nodiscard]] std::optional<Quantity> Subtract(const Quantity& other) const;

  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend bool operator<(const Quantity& a, const Quantity& b) { return a.nanos_ < b.nanos_; }

 private:
  absl::int128 nanos_ = 0;
  // The amount is value_ * 10^scale_; for a decimal only the scale is used.
  int64_t value_ = 0;
  int8_t scale_ = 0;
  bool decimal_ = false;
};

// A version by https://semver.org, as github.com/blang/semver/v4 reads it.
struct Semver {
  uint64_t major = 0;
  uint64_t minor = 0;
  uint64_t patch = 0;
  std::string_view prerelease;  // "rc.1"; points into the parsed text.
  std::string_view build;       // Counts in no comparison.

  // nullopt: not a version ("1.2", "v1.2.3", "1.02.3").  The text must outlive the result.
  static std::optional<Semver> Parse(std::string_view text);

  // By precedence: -1, 0, 1.
  [[nodiscard]] int Compare(const Semver& other) const;
};

}  // namespace ebb::cel

#endif  // EBB_CEL_VALUES_H_
