// The keys of Maestro's autoscaling section, and their defaults.
//
// Any number is accepted unless Problems() reports it (maestro_types.h).  A usage of 0 or a
// threshold above 100 only means that a trigger never matches, or never gives a number (maestro.h).
//
// Units:   rooms, seconds, percent.
// Threads: none.
// Source:  Maestro v9.16, scheduler configuration (autoscaling, requests), and the keys `watcher`
//          and `api.limitManager` of the program itself.  On purpose otherwise: an unknown type is
//          an error here; there it crashes the watcher in its first round.

#ifndef EBB_SIZING_POLICY_MAESTRO_MAESTRO_OPTIONS_H_
#define EBB_SIZING_POLICY_MAESTRO_MAESTRO_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

// One entry of metricsTrigger.  An absent key is 0 or empty.
struct MaestroTrigger {
  std::string type = {};  // room, cpu, mem, legacy, or a type that was added.
  int64_t usage = 0;      // Target utilization in percent.
  int64_t threshold = 0;  // This percentage of the window's points must be beyond `usage`.
  int64_t time = 0;       // The length of the window in seconds.
  // Utilization in percent from which an up trigger acts even in cooldown; 0 or less means 90.
  // Down triggers have no limit.
  int64_t limit = 0;
  int64_t delta = 0;  // Only type legacy: rooms; below 0 to shrink.

  bool operator==(const MaestroTrigger&) const = default;
};

// The old single trigger, if the section has none.
MaestroTrigger DefaultMaestroTrigger();

// A section `up` or `down` that is present.
struct MaestroScaling {
  int64_t cooldown = 0;  // Seconds without another operation after one of either direction.
  int64_t delta = 0;     // Only `up`: rooms that one panic adds.
  // Deprecated: used as a room trigger if `metrics_trigger` is empty.  Its type and delta are
  // ignored.  Panics use its limit in any case.
  MaestroTrigger trigger = DefaultMaestroTrigger();
  std::vector<MaestroTrigger> metrics_trigger = {};  // Tried in this order.

  bool operator==(const MaestroScaling&) const = default;
};

// The defaults for an absent section `up` or `down`: cooldown 600, delta 1, the default trigger.
// So a pool without `down` shrinks below 80 %.
MaestroScaling DefaultMaestroScaling();

struct MaestroOptions {
  // Bounds of creating + ready + occupied rooms.
  int64_t min = 0;
  int64_t max = 0;  // 0: no maximum.  Below 0: no maximum, and no up trigger is tried.
  bool enable_panic_scale = false;
  MaestroScaling up = DefaultMaestroScaling();
  MaestroScaling down = DefaultMaestroScaling();
  // True: no room is created while an image of a room cannot be pulled.
  bool prevent_rooms_creation_with_error = true;

  int64_t auto_scaling_period = 10;   // watcher: seconds from round to round.
  int64_t max_scale_up_amount = 300;  // watcher: the most rooms that one round adds.
  int64_t key_timeout = 60;           // api.limitManager: seconds until a panic's lock expires.

  bool operator==(const MaestroOptions&) const = default;
};

// The triggers to try: `metrics_trigger`, or else the old trigger as a room trigger.
std::vector<MaestroTrigger> Triggers(const MaestroScaling& scaling);

// The limit of an up trigger in percent.
int64_t UpLimit(const MaestroTrigger& trigger);

// The window of `trigger` in points: time / period, rounded down.  The trigger looks at one more.
// REQUIRES: auto_scaling_period > 0.
int64_t Window(const MaestroOptions& options, const MaestroTrigger& trigger);

// The requests of one container in a scheduler file, as written; empty if absent.
struct MaestroRequests {
  std::string container = {};  // Empty for a file without `containers`.
  std::string cpu = {};
  std::string memory = {};
};

// The requests that triggers of type cpu or mem need and `requests` lacks, a sentence each.  A file
// without `containers` has one entry in `requests`.
std::vector<std::string> RequestProblems(const MaestroOptions& options,
                                         const std::vector<MaestroRequests>& requests);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_MAESTRO_MAESTRO_OPTIONS_H_
