// What a Maestro trigger measures: a policy type is two functions, found by the type's name.
//
//   MaestroTypes types;
//   const auto queue = [](const MaestroCounts& counts) {
//     const auto length = counts.signals.find("queue");
//     return length == counts.signals.end() ? kNoUtilization : static_cast<float>(length->second);
//   };
//   const auto one = [](const MaestroTrigger&, const MaestroCounts&) { return 1; };
//   const bool added = types.Add("queue", {.delta = one, .utilization = queue});
//
// Those of Maestro, there from the start:
// - room: occupied / available rooms;
//   delta = round((occupied - usage/100 * available) / (usage/100)), halves away from zero.
// - legacy: the same utilization; delta is the trigger's own.
// - cpu, mem: use / requests of all containers;
//   delta = ceil(q * available) - available, q = utilization / (usage/100) rounded to 0.01.
//
// Utilization is of 32 bits, sums of use and requests as well, in the order of the containers; a
// delta is computed in 64.  Each step rounds once: to be compiled without fused multiply-add.
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
  int64_t terminating = 0;  // Counts nowhere.
  bool operator==(const MaestroRooms&) const = default;
};

// creating + ready + occupied: the total of every formula and bound.  Absent if a count is negative
// or their sum has no 64 bits.
std::optional<int64_t> Available(const MaestroRooms& rooms);

// A container of a pod for which there are figures of use; others are left out.
struct MaestroContainer {
  int64_t cpu_usage_milli = 0;
  int64_t cpu_request_milli = 0;
  int64_t mem_usage_bytes = 0;
  int64_t mem_request_bytes = 0;
};

// What types compute from.
struct MaestroCounts {
  MaestroRooms rooms = {};
  std::vector<MaestroContainer> containers = {};
  std::map<std::string, double, std::less<>> signals = {};  // For types that users add.
};

// There is nothing to measure, as with no room at all: never above, below or at anything.
inline constexpr float kNoUtilization = std::numeric_limits<float>::quiet_NaN();

struct MaestroPolicyType {
  // By how many rooms to change.  Absent if that is no number, or not one of 64 bits: a round
  // without action.
  std::function<std::optional<int64_t>(const MaestroTrigger&, const MaestroCounts&)> delta;
  std::function<float(const MaestroCounts&)> utilization;
};

class MaestroTypes {
 public:
  MaestroTypes();  // room, legacy, cpu, mem.

  // Adds a type.  False, and nothing is changed, if `name` is empty or taken or a function is
  // missing.  The functions must depend on their arguments only and throw nothing.
  [[nodiscard]] bool Add(std::string name, MaestroPolicyType type);

  // Borrowed from this; null if there is no such type.
  const MaestroPolicyType* Find(std::string_view name) const;

  std::vector<std::string> Names() const;  // By name.

 private:
  std::map<std::string, MaestroPolicyType, std::less<>> types_;
};

// Why `options` cannot be decided for, a sentence each: max above 0 and below min, a type that is
// not in `types`, a time below 0, a period below 1, a max_scale_up_amount below 0.
std::vector<std::string> Problems(const MaestroOptions& options, const MaestroTypes& types);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_MAESTRO_MAESTRO_TYPES_H_
