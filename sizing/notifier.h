// Notifiers report that a pool entered failsafe.
//
//   std::vector<std::unique_ptr<Notifier>> notifiers = MakeNotifiers(settings, Print, Sleep);
//   for (const std::string& problem : NotifyAll(notifiers, notice)) Print(problem);
//
// - log: prints a line.
// - webhook: sends NoticeJson as a POST.  If a retry may help, it retries after one second, and
//   waits twice as long before each further retry.
// - exec: runs a command with NoticeJson on its standard input, and kills it after its timeout.
//
// Cost:    Notify() and NotifyAll() wait for the receivers: for each at most tries * timeout, plus
// the
//          waits between tries.
// Errors:  a status that names the receiver.
// Threads: one at a time; GiveUp() may be called by another thread.

#ifndef EBB_SIZING_NOTIFIER_H_
#define EBB_SIZING_NOTIFIER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sizing/notice.h"
#include "sizing/sizing_settings.h"

namespace ebb {

// {"version": "ebb.notice/v1", "pool", "event", "text", "at"}; `at` is RFC 3339.
std::string NoticeJson(const Notice& notice);

class Notifier {
 public:
  virtual ~Notifier() = default;
  virtual absl::Status Notify(const Notice& notice) = 0;
  // Within about a second, ends a Notify() that another thread has called.  Later calls end at
  // once.
  virtual void GiveUp() {}
};

// `print` receives a line; `sleep_ms` waits between tries.  Null `sleep_ms`: the notifier waits
// itself, until GiveUp() at the latest.
std::unique_ptr<Notifier> MakeNotifier(const NotifierSettings& settings,
                                       std::function<void(std::string_view line)> print,
                                       std::function<void(int64_t ms)> sleep_ms);
std::vector<std::unique_ptr<Notifier>> MakeNotifiers(
    const std::vector<NotifierSettings>& settings,
    const std::function<void(std::string_view line)>& print,
    const std::function<void(int64_t ms)>& sleep_ms);

// Continues after a notifier that fails.  Returns the failures, one line each.
std::vector<std::string> NotifyAll(const std::vector<std::unique_ptr<Notifier>>& notifiers,
                                   const Notice& notice);

}  // namespace ebb

#endif  // EBB_SIZING_NOTIFIER_H_
