#include "cli/print/plan_print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace ebb::plan_print_test {
namespace {

namespace wire = v1alpha1;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Printed(const wire::PlanReply& reply, PlanFormat format = PlanFormat::kTable) {
  std::ostringstream out;
  PrintPlan(reply, format, PrintOptions(), out);
  return out.str();
}

wire::PlanReply StableReply(const std::string& origin) {
  wire::PlanReply reply;
  reply.set_nodes(1000);
  reply.mutable_tables()->set_termination("complete");
  reply.mutable_stable()->set_origin(origin);
  return reply;
}

void AddChange(const std::string& node, bool removes, const std::string& words,
               wire::PlanReply& reply) {
  wire::StableChange& change = *reply.mutable_stable()->add_changes();
  change.set_node(node);
  change.set_removes(removes);
  change.set_words(words);
}

TEST(PrintPlanTest, AKeptPlanSaysWhatCameAndLeft) {
  wire::PlanReply reply = StableReply("kept");
  reply.mutable_stable()->set_kept(312);
  reply.mutable_stable()->set_unchanged(309);
  reply.mutable_stable()->set_greedy_removes(315);
  AddChange("x", true, "was NoPlaceToMovePods", reply);
  AddChange("y", false, "BlockedByPod default/db-0: NotEnoughPdb", reply);
  EXPECT_THAT(
      Printed(reply),
      AllOf(HasSubstr("Kept the last plan: 312 of its 313 nodes, 309 with the same places; 1 came "
                      "and 1 left. The plan in the autoscaler's order removes 315 nodes.\n"
                      "  came x (was NoPlaceToMovePods)\n"
                      "  left y (BlockedByPod default/db-0: NotEnoughPdb)\n"),
            HasSubstr("--stable-verify-every")));
  reply.mutable_stable()->set_verified(true);
  EXPECT_THAT(Printed(reply), Not(HasSubstr("--stable-verify-every")));
}

TEST(PrintPlanTest, OnlyTheFirstChangesAreListed) {
  wire::PlanReply reply = StableReply("kept");
  for (int i = 0; i < 30; ++i) AddChange(absl::StrCat("n", i), true, "was empty", reply);
  EXPECT_THAT(Printed(reply), AllOf(HasSubstr("came n9 "), Not(HasSubstr("came n10 ")),
                                    HasSubstr("... 20 more; all with --all or -o wide")));
  EXPECT_THAT(Printed(reply, PlanFormat::kWide), HasSubstr("came n29 "));
}

TEST(PrintPlanTest, APlanThatIsNotKeptSaysWhy) {
  EXPECT_THAT(Printed(StableReply("first")), HasSubstr("This is the first stable plan"));
  EXPECT_THAT(Printed(StableReply("otherOptions")),
              HasSubstr("The plan was made from nothing: its options are others"));
  EXPECT_THAT(Printed(StableReply("timeWentBack")), HasSubstr("its time is before"));
  EXPECT_THAT(Printed(StableReply("changesMissed")), HasSubstr("may have been missed"));
  EXPECT_THAT(Printed(StableReply("otherCluster")), HasSubstr("the cluster is another one"));
  EXPECT_THAT(Printed(StableReply("greedyWasBetter")), HasSubstr("--stable-margin"));
}

}  // namespace
}  // namespace ebb::plan_print_test
