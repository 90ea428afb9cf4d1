#include "engine/actuation/deletion_steps.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/actuation/scripted_actuator.h"

namespace ebb::deletion_steps_test {
namespace {

using test::ScriptedActuator;
using testing::ElementsAre;
using testing::IsEmpty;

RunningDeletion In(DeletionPhase phase, std::string node, int64_t since_s = 100) {
  return {.node = std::move(node), .group = "g", .drain = true, .phase = phase, .since_s = since_s};
}
RunningDeletion InBatch(DeletionPhase phase, std::string node, int64_t size) {
  RunningDeletion deletion = In(phase, std::move(node));
  deletion.batch_size = size;
  return deletion;
}

std::vector<std::string> CallsFor(std::vector<RunningDeletion> running, int64_t now_s,
                                  std::vector<DeletionResult> results = {}) {
  ScriptedActuator actuator;
  actuator.status.running = std::move(running);
  actuator.status.results = std::move(results);
  AdvanceDeletions(actuator, ActuatorStatus(actuator.status), {}, now_s);
  return actuator.calls;
}

TEST(DeletionStepsTest, ANodeIsDrainedOnceItsTaintHasStoodForTheDelay) {
  EXPECT_THAT(CallsFor({In(DeletionPhase::kTainted, "a")}, 104), IsEmpty());
  EXPECT_THAT(CallsFor({In(DeletionPhase::kTainted, "a")}, 105), ElementsAre("drain a"));
}

TEST(DeletionStepsTest, ADrainedNodeIsDeletedAndOneAtWorkIsLeftAlone) {
  EXPECT_THAT(CallsFor({In(DeletionPhase::kDraining, "a"), In(DeletionPhase::kDrained, "b"),
                        In(DeletionPhase::kDeleting, "c")},
                       900),
              ElementsAre("delete b"));
}

TEST(DeletionStepsTest, AFailedDeletionIsRolledBackWithItsReason) {
  RunningDeletion failed = In(DeletionPhase::kFailed, "a");
  failed.why = "no";
  EXPECT_THAT(CallsFor({failed}, 900), ElementsAre("roll back a: no"));
}

TEST(DeletionStepsTest, AnAtomicGroupIsDeletedOnlyWhenAllOfItIsDrained) {
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDrained, "a", 2),
                        InBatch(DeletionPhase::kDraining, "b", 2)},
                       900),
              IsEmpty());
  EXPECT_THAT(
      CallsFor({InBatch(DeletionPhase::kDrained, "a", 2), InBatch(DeletionPhase::kDrained, "b", 2)},
               900),
      ElementsAre("delete a", "delete b"));
  // One of it is gone already.
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDrained, "a", 2)}, 900,
                       {{.node = "b", .group = "g", .ok = true, .at_s = 800}}),
              ElementsAre("delete a"));
}

TEST(DeletionStepsTest, WhereOneOfAnAtomicGroupFailsTheOthersAreRolledBack) {
  EXPECT_THAT(
      CallsFor({InBatch(DeletionPhase::kDrained, "a", 3), InBatch(DeletionPhase::kFailed, "b", 3),
                InBatch(DeletionPhase::kTainted, "c", 3), In(DeletionPhase::kDrained, "d")},
               900),
      ElementsAre("roll back a: another node of its group failed",
                  "roll back b: ", "roll back c: another node of its group failed", "delete d"));
}

TEST(DeletionStepsTest, ANodeIsNotDeletedWhoseAtomicGroupIsNotWholeAnyMore) {
  // The other failed while this one drained, and that was told before.
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDraining, "a", 2)}, 900), IsEmpty());
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDrained, "a", 2)}, 900),
              ElementsAre("roll back a: its group does not come together"));
}

TEST(DeletionStepsTest, ACallThatFailsIsToldAndDueAgain) {
  ScriptedActuator actuator;
  actuator.status.running = {In(DeletionPhase::kDrained, "a")};
  actuator.answer = absl::UnavailableError("away");
  EXPECT_THAT(AdvanceDeletions(actuator, ActuatorStatus(actuator.status), {}, 900),
              ElementsAre("node a: away"));
  EXPECT_THAT(AdvanceDeletions(actuator, ActuatorStatus(actuator.status), {}, 901),
              ElementsAre("node a: away"));
}

}  // namespace
}  // namespace ebb::deletion_steps_test
