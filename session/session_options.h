// SessionOptions: settings and limits that a program sets for all of its sessions.
//
// Threads: a session reads its options on its own thread; they must not change during its lifetime.

#ifndef EBB_SESSION_SESSION_OPTIONS_H_
#define EBB_SESSION_SESSION_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "planning/rebuild_log.h"
#include "snapshot/live/change_batch.h"

namespace ebb {

struct SessionOptions {
  // The folder for state files; empty: no rounds, unless state_file is set.
  std::string state_folder;
  // Used instead of a file in the folder, for a process with one session.
  std::string state_file = {};
  std::string record_file = {};  // Empty: no record is kept.  For a process with one session.
  int64_t rounds_kept = 100;
  // Takes changes literally: pods that have ended or are expendable count too, and a namespace that
  // is not held has no labels.  Dumps are read as usual, and nothing is assumed to be missing.
  bool as_given = false;
  // The program fills the session itself and knows whether it is complete: nothing is rejected and
  // no warnings are made for that reason, and changes of any cluster are accepted.
  bool host_fills = false;
  bool allow_incomplete = false;  // Treats every question as if it had PlanInput.allow_incomplete.
  uint64_t objects_max = 5'000'000;
  size_t object_bytes_max = ChangeBatch::kObjectBytesMax;
  uint64_t dump_bytes_max = uint64_t{4} << 30;  // Applies to the dump as sent, and as decompressed.
  // The process's memory limit: a session accepts nothing while `resident_bytes` returns more.
  uint64_t memory_bytes_max = 0;  // 0: no limit.
  std::function<uint64_t()> resident_bytes;
  std::function<int64_t()> clock_s;  // Unix time.
  size_t threads = 1;                // For reading a dump.
  // Called when a session has built its cluster again, in the session's thread.  May be null.
  std::function<void(const std::string& session, const TimedRebuild& rebuild)> on_rebuild;
};

// Errors: ResourceExhausted: the process uses more memory than memory_bytes_max.
absl::Status CheckMemory(const SessionOptions& options);

// Whether `name` is a valid name of a session.
absl::Status CheckSessionName(std::string_view name, std::string_view field = "session");

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_OPTIONS_H_
