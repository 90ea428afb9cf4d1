// What a Maestro trigger measures.  A policy type is two functions, found by the type's name.
//
//   MaestroTypes types;
//   const auto queue = [](const MaestroCounts& counts) {
//     const auto length = counts.signals.find("queue");
//     return length == counts.signals.end() ? kNoUtilization : static_cast<float>(length->second);
//   };
//   const auto one = [](const MaestroTrigger&, const MaestroCounts&) { return 1; };
//   const bool added = types.Add("queue", {.delta = one, .utilization = queue});
//
// Maestro's own types, which are always present:
// - room: occupied / available rooms;
//   delta = round((occupied - usage/100 * available) / (usage/100)), halves away from zero.
// - legacy: the same utilization; delta is the trigger's own.
// - cpu, mem: use / requests of all containers;
//   delta = ceil(q * available) - available, q = utilization / (usage/100) rounded to 0.01.
//
// Utilization and the sums of use and requests are 32-bit floats, added in the order of the
// containers; a delta is computed in 64 bits.  Each step must round once, so compile this without
// fused multiply-add.
//
// Units:   rooms, millicores, bytes; utilization as a fraction.
// Cost:    O(containers).
// Threads: const methods may run concurrently if the functions may.
// Source:  Maestro v9.16, autoscaler.

#ifndef EBB_SIZING_POLICY_MAESTRO_MAESTRO_TYPES_H_
#define EBB_SIZING_POLICY_MAESTRO_MAESTRO_TYPES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/maestro/maestro_options.h"

namespace ebb {

struct MaestroRooms {
  int64_t creating = 0;
  int64_t ready = 0;
  int64_t occupied = 0;
  int64_t terminating = 0;  // Not counted anywhere.
  bool operator==(const MaestroRooms&) const = default;
};

// creating + ready + occupied, which every formula and bound uses as the total.  Absent if a count
// is negative or the sum does not fit in 64 bits.
std::optional<int64_t> Available(const MaestroRooms& rooms);

// A container of a pod whose usage was measured; other containers are left out.
struct MaestroContainer {
  int64_t cpu_usage_milli = 0;
  int64_t cpu_request_milli = 0;
  int64_t mem_usage_bytes = 0;
  int64_t mem_request_bytes = 0;
};

// The input of a policy type.
struct MaestroCounts {
  MaestroRooms rooms = {};
  std::vector<MaestroContainer> containers = {};
  std::map<std::string, double, std::less<>> signals = {};  // For types that users add.
};

// Nothing to measure, as in a pool without rooms: NaN is not above, below or at any limit.
inline constexpr float kNoUtilization = std::numeric_limits<float>::quiet_NaN();

struct MaestroPolicyType {
  // The number of rooms to change.  Absent if it is not a number or does not fit in 64 bits: the
  // round then has no action.
  std::function<std::optional<int64_t>(const MaestroTrigger&, const MaestroCounts&)> delta;
  std::function<float(const MaestroCounts&)> utilization;
};

class MaestroTypes {
 public:
  MaestroTypes();  // room, legacy, cpu, mem.

  // Adds a type.  Returns false, and changes nothing, if `name` is empty or taken or a function is
  // missing.  The functions must depend only on their arguments and must not throw.
  [[nodiscard]] bool Add(std::string name, MaestroPolicyType type);

  // Borrowed from this object; null if no type has this name.
  const MaestroPolicyType* Find(std::string_view name) const;

  std::vector<std::string> Names() const;  // Sorted.

 private:
  std::map<std::string, MaestroPolicyType, std::less<>> types_;
};

// Why `options` are invalid, a sentence each: max above 0 and below min, a type that is not in
// `types`, a time below 0, a period below 1, a max_scale_up_amount below 0.
std::vector<std::string> Problems(const MaestroOptions& options, const MaestroTypes& types);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_MAESTRO_MAESTRO_TYPES_H_
