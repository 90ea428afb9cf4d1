// SessionOptions: what the program that has sessions decides for all of them, and the limits that
// it sets them.
//
// Threads: a session reads its options on its own thread; nothing changes them while it is there.

#ifndef EBB_SESSION_SESSION_OPTIONS_H_
#define EBB_SESSION_SESSION_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/live/change_batch.h"

namespace ebb {

struct SessionOptions {
  std::string state_folder;  // Of state files; empty: no rounds, but with state_file.
  // In place of one in the folder.  For a process with one session.
  std::string state_file = {};
  std::string record_file = {};  // Empty: none is kept.  The same.
  int64_t rounds_kept = 100;
  // Pods that have ended or are expendable count too, and a namespace that is not there has no
  // labels: what changes tell is meant as it is.  Dumps are read as ever, and nothing is taken to
  // be missing.
  bool as_given = false;
  // The program that has the session fills it itself and knows how far it is: nothing is refused or
  // warned of for that, and any cluster's changes are taken.
  bool host_fills = false;
  bool allow_incomplete = false;  // As if every question had PlanInput.allow_incomplete.
  uint64_t objects_max = 5'000'000;
  size_t object_bytes_max = ChangeBatch::kObjectBytesMax;
  uint64_t dump_bytes_max = uint64_t{4} << 30;  // As it is sent, and unpacked.
  // The daemon's memory: a session takes nothing while `resident_bytes` says more.
  uint64_t memory_bytes_max = 0;  // 0: no limit.
  std::function<uint64_t()> resident_bytes;
  std::function<int64_t()> clock_s;  // Unix time.
  size_t threads = 1;                // That read a dump.
};

// Errors: ResourceExhausted: the process has more memory than memory_bytes_max.
absl::Status CheckMemory(const SessionOptions& options);

// Whether a session may have that name.
absl::Status CheckSessionName(std::string_view name, std::string_view field = "session");

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_OPTIONS_H_
