// The keys of Maestro's autoscaling section, and what it takes where they are absent.
//
// Any number is accepted but for what Problems() names (maestro_types.h): a usage of 0 or a
// threshold above 100 merely never matches, or never gives a number (maestro.h).
//
// Units:   rooms, seconds, percent.
// Threads: none.
// Source:  Maestro v9.16, scheduler configuration (autoscaling, requests) and the keys `watcher`
//          and `api.limitManager` of its own.  On purpose otherwise: a type that nobody added is an
//          error here; there it crashes the watcher in its first round.

#ifndef EBB_SIZING_POLICY_MAESTRO_MAESTRO_OPTIONS_H_
#define EBB_SIZING_POLICY_MAESTRO_MAESTRO_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

// One entry of metricsTrigger.  Whatever is absent there is 0.
struct MaestroTrigger {
  std::string type = {};  // room, cpu, mem, legacy, or one that was added.
  int64_t usage = 0;      // Percent of utilization that is aimed at.
  int64_t threshold = 0;  // Percent of points beyond `usage` that must be exceeded.
  int64_t time = 0;       // Seconds: points as old as that are looked at.
  // Percent of utilization from which an up trigger acts even in cooldown; 0 and less: 90.  No
  // down trigger has one.
  int64_t limit = 0;
  int64_t delta = 0;  // Type legacy only: rooms, below 0 to go down.

  bool operator==(const MaestroTrigger&) const = default;
};

// The old single trigger where it is absent.
MaestroTrigger DefaultMaestroTrigger();

// Section `up` or `down`, where it is given.
struct MaestroScaling {
  int64_t cooldown = 0;  // Seconds after an operation of either direction without this one.
  int64_t delta = 0;     // Rooms that one panic adds.  Of `up` only.
  // Deprecated: counts as a room trigger where `metrics_trigger` is empty.  Its type and delta
  // are ignored; its limit is that of panics in any case.
  MaestroTrigger trigger = DefaultMaestroTrigger();
  std::vector<MaestroTrigger> metrics_trigger = {};  // In order of trial.

  bool operator==(const MaestroScaling&) const = default;
};

// Section `up` or `down` where it is absent: cooldown 600, delta 1, the default trigger.  A missing
// `down` thus shrinks below 80 %.
MaestroScaling DefaultMaestroScaling();

struct MaestroOptions {
  // Bounds of creating + ready + occupied rooms.
  int64_t min = 0;
  int64_t max = 0;  // 0: none.  Below 0: none either, but no up trigger is tried.
  bool enable_panic_scale = false;
  MaestroScaling up = DefaultMaestroScaling();
  MaestroScaling down = DefaultMaestroScaling();
  // True: no room is created while an image of one cannot be had.
  bool prevent_rooms_creation_with_error = true;

  int64_t auto_scaling_period = 10;   // watcher: seconds from round to round.
  int64_t max_scale_up_amount = 300;  // watcher: most rooms that one round may add.
  int64_t key_timeout = 60;           // api.limitManager: seconds for which a panic's lock holds.

  bool operator==(const MaestroOptions&) const = default;
};

// Those that are tried: `metrics_trigger`, or the old one as a room trigger.
std::vector<MaestroTrigger> Triggers(const MaestroScaling& scaling);

// The limit of an up trigger in percent.
int64_t UpLimit(const MaestroTrigger& trigger);

// How many points `trigger` spans, time / period in whole numbers.  It looks at one more.
// REQUIRES: auto_scaling_period > 0.
int64_t Window(const MaestroOptions& options, const MaestroTrigger& trigger);

// What a scheduler file requests for one container; as written, empty if absent.
struct MaestroRequests {
  std::string container = {};  // Empty for a file without `containers`.
  std::string cpu = {};
  std::string memory = {};
};

// What `requests` lacks for triggers of type cpu or mem, a sentence each; for a file without
// `containers`, one entry.
std::vector<std::string> RequestProblems(const MaestroOptions& options,
                                         const std::vector<MaestroRequests>& requests);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_MAESTRO_MAESTRO_OPTIONS_H_
