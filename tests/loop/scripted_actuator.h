// An actuator that returns the answers that a test sets, and records its calls.

#ifndef EBB_TESTS_LOOP_SCRIPTED_ACTUATOR_H_
#define EBB_TESTS_LOOP_SCRIPTED_ACTUATOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "loop/actuator.h"

namespace ebb::test {

class ScriptedActuator : public Actuator {
 public:
  std::vector<std::string> calls;
  ActuatorStatus status;
  absl::Status answer;                // To every call but Status.
  absl::Status status_answer;         // To Status.
  std::vector<DeletionOrder> orders;  // Of the last Begin.

  absl::Status SoftTaint(std::string_view node, bool taint, int64_t) override {
    return Note(absl::StrCat(taint ? "soft " : "unsoft ", Absl(node)));
  }
  absl::Status Begin(std::span<const DeletionOrder> begun, int64_t now_s) override {
    orders.assign(begun.begin(), begun.end());
    std::string line = "begin";
    for (const DeletionOrder& order : begun) {
      absl::StrAppend(&line, " ", order.node);
      if (answer.ok()) {
        status.running.push_back({.node = order.node,
                                  .group = order.group,
                                  .drain = order.drain,
                                  .batch_size = order.batch_size,
                                  .since_s = now_s});
      }
    }
    return Note(line);
  }
  absl::Status Drain(std::string_view node, int64_t) override {
    return Note(absl::StrCat("drain ", Absl(node)));
  }
  absl::Status Delete(std::string_view node, int64_t) override {
    return Note(absl::StrCat("delete ", Absl(node)));
  }
  absl::Status RollBack(std::string_view node, std::string_view why, int64_t) override {
    std::erase_if(status.running, [&](const RunningDeletion& d) { return d.node == node; });
    return Note(absl::StrCat("roll back ", Absl(node), ": ", Absl(why)));
  }
  absl::StatusOr<ActuatorStatus> Status(int64_t) override {
    if (!status_answer.ok()) return status_answer;
    return status;
  }
  void Acknowledge(size_t results) override {
    status.results.erase(status.results.begin(),
                         status.results.begin() + static_cast<std::ptrdiff_t>(results));
  }

 private:
  absl::Status Note(std::string line) {
    calls.push_back(std::move(line));
    return answer;
  }
};

}  // namespace ebb::test

#endif  // EBB_TESTS_LOOP_SCRIPTED_ACTUATOR_H_
