#include "sizing/policy/clusterman/clusterman_resources.h"

#include <algorithm>
#include <cmath>

namespace ebb {
namespace {

constexpr std::array<std::string_view, kClustermanResourceCount> kNames = {"cpus", "mem", "disk",
                                                                           "gpus"};

}  // namespace

std::string_view Name(ClustermanResource resource) { return kNames[static_cast<size_t>(resource)]; }

std::optional<ClustermanResource> ClustermanResourceOf(std::string_view name) {
  const auto* const it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<ClustermanResource>(it - kNames.begin());
}

void Add(const ClustermanAmounts& amounts, ClustermanAmounts& sum) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += amounts[i];
}

ClustermanAmounts Times(const ClustermanAmounts& amounts, double factor) {
  ClustermanAmounts product;
  for (size_t i = 0; i < product.size(); ++i) product[i] = amounts[i] * factor;
  return product;
}

ClustermanRequest AsRequest(const ClustermanAmounts& amounts) {
  ClustermanRequest request;
  std::copy(amounts.begin(), amounts.end(), request.begin());
  return request;
}

bool AreQuantities(const ClustermanAmounts& amounts) {
  return std::all_of(amounts.begin(), amounts.end(),
                     [](double amount) { return std::isfinite(amount) && amount >= 0; });
}

}  // namespace ebb
