// Four amounts that Clusterman weighs: what a pool has, what pods ask, what a signal asks for.
//
// Units:   cpus in cores, mem and disk in MB of 10^6 bytes, gpus in devices.
// Threads: pure.
// Source:  Clusterman, ClustermanResources and SignalResourceRequest; sums are taken in the
//          order given, as it takes them, because its thresholds see the last bit.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_RESOURCES_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_RESOURCES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb {

// In the order in which Clusterman goes through them: the first wins a tie.
enum class ClustermanResource : uint8_t { kCpus, kMem, kDisk, kGpus };
inline constexpr size_t kClustermanResourceCount = 4;

// Indexed by ClustermanResource.
using ClustermanAmounts = std::array<double, kClustermanResourceCount>;
// An amount that is absent says nothing; it is not 0.
using ClustermanRequest = std::array<std::optional<double>, kClustermanResourceCount>;

// "cpus", "mem", "disk", "gpus", as in excluded_resources and in the names of metrics.
std::string_view Name(ClustermanResource resource);
std::optional<ClustermanResource> ClustermanResourceOf(std::string_view name);

void Add(const ClustermanAmounts& amounts, ClustermanAmounts& sum);
ClustermanAmounts Times(const ClustermanAmounts& amounts, double factor);
ClustermanRequest AsRequest(const ClustermanAmounts& amounts);

// No NaN, no infinity, and none below 0.
bool AreQuantities(const ClustermanAmounts& amounts);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_RESOURCES_H_
