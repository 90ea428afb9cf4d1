#include "loop/deletion_steps.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/loop/scripted_actuator.h"

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

TEST(DeletionStepsTest, ADrainedNodeIsDeletedAndADrainingOneIsNotTouched) {
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

TEST(DeletionStepsTest, AnAtomicBatchThatIsDrainedDoesNotWaitForTheNextOfItsGroup) {
  EXPECT_THAT(
      CallsFor({InBatch(DeletionPhase::kDrained, "a", 2), InBatch(DeletionPhase::kDrained, "b", 2),
                InBatch(DeletionPhase::kDraining, "c", 2)},
               900),
      ElementsAre("delete a", "delete b"));
}

TEST(DeletionStepsTest, IfOneOfAnAtomicGroupFailsTheOthersAreRolledBack) {
  EXPECT_THAT(
      CallsFor({InBatch(DeletionPhase::kDrained, "a", 3), InBatch(DeletionPhase::kFailed, "b", 3),
                InBatch(DeletionPhase::kTainted, "c", 3), In(DeletionPhase::kDrained, "d")},
               900),
      ElementsAre("roll back a: another node of its group failed",
                  "roll back b: ", "roll back c: another node of its group failed", "delete d"));
}

TEST(DeletionStepsTest, ANodeIsNotDeletedWhoseAtomicGroupIsNotWholeAnyMore) {
  // The other failed while this one drained, and that was reported before.
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDraining, "a", 2)}, 900), IsEmpty());
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDrained, "a", 2)}, 900),
              ElementsAre("roll back a: its group does not come together"));
}

TEST(DeletionStepsTest, AFailedCallIsReportedAndRetried) {
  ScriptedActuator actuator;
  actuator.status.running = {In(DeletionPhase::kDrained, "a")};
  actuator.answer = absl::UnavailableError("away");
  EXPECT_THAT(AdvanceDeletions(actuator, ActuatorStatus(actuator.status), {}, 900),
              ElementsAre("node a: away"));
  EXPECT_THAT(AdvanceDeletions(actuator, ActuatorStatus(actuator.status), {}, 901),
              ElementsAre("node a: away"));
}

TEST(DeletionStepsTest, ANodeWithAnOldTaintIsDrainedAndADelayOfZeroMeansNoDelay) {
  EXPECT_THAT(CallsFor({In(DeletionPhase::kTainted, "a")}, 100'000), ElementsAre("drain a"));
  ScriptedActuator actuator;
  actuator.status.running = {In(DeletionPhase::kTainted, "a")};
  AdvanceDeletions(actuator, ActuatorStatus(actuator.status),
                   {.node_delete_delay_after_taint_s = 0}, 100);
  EXPECT_THAT(actuator.calls, ElementsAre("drain a"));
}

TEST(DeletionStepsTest, ADrainedNodeWaitsForOneOfItsGroupThatHasOnlyATaint) {
  RunningDeletion tainted = InBatch(DeletionPhase::kTainted, "b", 2);
  tainted.since_s = 898;
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDrained, "a", 2), tainted}, 900), IsEmpty());
}

TEST(DeletionStepsTest, NodesOfAnAtomicGroupThatAreBeingDeletedCountAsDrained) {
  EXPECT_THAT(CallsFor({In(DeletionPhase::kDraining, "d"), InBatch(DeletionPhase::kDrained, "a", 2),
                        InBatch(DeletionPhase::kDeleting, "b", 2)},
                       900),
              ElementsAre("delete a"));
  // More than the reported size of the group.
  EXPECT_THAT(
      CallsFor({InBatch(DeletionPhase::kDrained, "a", 2), InBatch(DeletionPhase::kDrained, "b", 2),
                InBatch(DeletionPhase::kDrained, "c", 2)},
               900),
      ElementsAre("delete a", "delete b", "delete c"));
}

TEST(DeletionStepsTest, AnAtomicGroupOfOneNodeIsWhole) {
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDrained, "a", 1)}, 900), ElementsAre("delete a"));
}

TEST(DeletionStepsTest, AResultThatFailedRollsBackTheRestOfItsAtomicGroup) {
  const DeletionResult of_another = {.node = "x", .group = "other", .ok = false, .at_s = 800};
  const DeletionResult failed = {.node = "y", .group = "g", .ok = false, .at_s = 800};
  EXPECT_THAT(
      CallsFor({InBatch(DeletionPhase::kDrained, "a", 3), InBatch(DeletionPhase::kTainted, "b", 3)},
               900, {of_another, failed}),
      ElementsAre("roll back a: another node of its group failed",
                  "roll back b: another node of its group failed"));
  // A success after it changes nothing.
  const DeletionResult gone = {.node = "z", .group = "g", .ok = true, .at_s = 800};
  EXPECT_THAT(CallsFor({InBatch(DeletionPhase::kDrained, "a", 3)}, 900, {failed, gone}),
              ElementsAre("roll back a: another node of its group failed"));
  // Nodes outside of an atomic group have nothing to do with each other.
  EXPECT_THAT(CallsFor({In(DeletionPhase::kDrained, "a")}, 900, {failed}), ElementsAre("delete a"));
}

TEST(DeletionStepsTest, EachCallThatFailsIsALine) {
  ScriptedActuator actuator;
  actuator.status.running = {In(DeletionPhase::kDrained, "a"), In(DeletionPhase::kDraining, "b"),
                             In(DeletionPhase::kTainted, "c")};
  actuator.answer = absl::UnavailableError("away");
  EXPECT_THAT(AdvanceDeletions(actuator, ActuatorStatus(actuator.status), {}, 900),
              ElementsAre("node a: away", "node c: away"));
}

}  // namespace
}  // namespace ebb::deletion_steps_test
