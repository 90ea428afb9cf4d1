// The four resources of Clusterman: amounts that a pool has, that pods request, that a signal
// requests.
//
// Units:   cpus in cores, mem and disk in MB of 10^6 bytes, gpus in devices.
// Threads: pure.
// Source:  Clusterman, ClustermanResources and SignalResourceRequest.  Sums are taken in the given
//          order, as in the program, because its thresholds depend on the last bit.

#ifndef EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_RESOURCES_H_
#define EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_RESOURCES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb {

// In Clusterman's order: the first resource wins a tie.
enum class ClustermanResource : uint8_t { kCpus, kMem, kDisk, kGpus };
inline constexpr size_t kClustermanResourceCount = 4;

// Indexed by ClustermanResource.
using ClustermanAmounts = std::array<double, kClustermanResourceCount>;
// An absent amount is no request; it is not a request of 0.
using ClustermanRequest = std::array<std::optional<double>, kClustermanResourceCount>;

// "cpus", "mem", "disk", "gpus", as in excluded_resources and in the names of metrics.
std::string_view Name(ClustermanResource resource);
std::optional<ClustermanResource> ClustermanResourceOf(std::string_view name);

void Add(const ClustermanAmounts& amounts, ClustermanAmounts& sum);
ClustermanAmounts Times(const ClustermanAmounts& amounts, double factor);
ClustermanRequest AsRequest(const ClustermanAmounts& amounts);

// True if no amount is NaN, infinite or below 0.
bool AreQuantities(const ClustermanAmounts& amounts);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_CLUSTERMAN_CLUSTERMAN_RESOURCES_H_
