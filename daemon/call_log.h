// CallLog: one line for each call that ended and for each rebuild of a session's cluster, for
// people or for machines.
//
//   2026-06-01T12:00:00Z Plan session=prod OK 12 ms
//   2026-06-01T12:00:00Z rebuild session=prod shape, 412 ms
//   {"time":"2026-06-01T12:00:00Z","call":"Plan","session":"prod","code":"OK","seconds":0.0123}
//   {"time":"2026-06-01T12:00:00Z","rebuild":"shape","session":"prod","seconds":0.412}
//
// The reader of the lines may be slow: lines wait in a queue of kLinesMax.  Lines beyond it are
// dropped, and one line reports their number.  No call waits for the log.
//
// Threads: Add() may be called from any thread; the log writes in its own thread.

#ifndef EBB_DAEMON_CALL_LOG_H_
#define EBB_DAEMON_CALL_LOG_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "daemon/planner_service.h"
#include "planning/rebuild_log.h"

namespace ebb {

enum class LogFormat : uint8_t { kText, kJson, kNone };

// As gRPC spells it: "OK", "NOT_FOUND".
std::string CodeName(absl::StatusCode code);

// The line, without the line end.
std::string LogLine(const EndedCall& call, int64_t time_s, LogFormat format);
std::string LogLine(const std::string& session, const TimedRebuild& rebuild, int64_t time_s,
                    LogFormat format);

class CallLog {
 public:
  static constexpr size_t kLinesMax = 10'000;

  // Writes to the file descriptor, which must stay open.
  CallLog(int fd, LogFormat format);
  // Writes the lines that wait, unless the reader accepts nothing for a second.
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  void Add(const EndedCall& call);
  void Add(const std::string& session, const TimedRebuild& rebuild);

 private:
  void AddLine(std::string line);
  void Run();
  // False: the log ends, and the reader accepts nothing.
  bool Write(const std::string& text);

  const int fd_;
  const LogFormat format_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  uint64_t dropped_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_CALL_LOG_H_
