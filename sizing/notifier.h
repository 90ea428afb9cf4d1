// Notifiers: who is told that a pool entered failsafe.
//
//   std::vector<std::unique_ptr<Notifier>> notifiers = MakeNotifiers(settings, Print, Sleep);
//   for (const std::string& problem : NotifyAll(notifiers, notice)) Print(problem);
//
// - log      a line.
// - webhook  NoticeJson as a POST; an answer that another try may better is tried again, each time
//            twice as long after, from one second on.
// - exec     a command, with NoticeJson on its standard input; it is killed after its timeout.
//
// Cost:    telling waits for all of them: retries * timeout at most, each.
// Errors:  a status that names whom it could not be told.
// Threads: one at a time; GiveUp may come from another.

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
  // Ends a Notify that another thread is at within about a second, and all later ones at once.
  virtual void GiveUp() {}
};

// `print` takes a line; `sleep_ms` waits between tries.  Null: they wait until GiveUp at most.
std::unique_ptr<Notifier> MakeNotifier(const NotifierSettings& settings,
                                       std::function<void(std::string_view line)> print,
                                       std::function<void(int64_t ms)> sleep_ms);
std::vector<std::unique_ptr<Notifier>> MakeNotifiers(
    const std::vector<NotifierSettings>& settings,
    const std::function<void(std::string_view line)>& print,
    const std::function<void(int64_t ms)>& sleep_ms);

// One that fails keeps no other from being told.  What failed, a line each.
std::vector<std::string> NotifyAll(const std::vector<std::unique_ptr<Notifier>>& notifiers,
                                   const Notice& notice);

}  // namespace ebb

#endif  // EBB_SIZING_NOTIFIER_H_
