#include "snapshot/import/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "snapshot/import/incomplete.h"

namespace ebb::advice_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

InputWarning Advised(InputSource source, std::string_view code, std::string_view words = "") {
  InputWarning warning{.code = std::string(code), .message = "m", .command = ""};
  Advise(source, warning, words);
  return warning;
}

// Symptom: the user of a session was advised to run a command for dumps.
TEST(AdviceTest, AdviceNamesRightsForAFeederAndACommandForADump) {
  EXPECT_EQ(Advised(InputSource::kDump, "NoControllers", "sts,jobs").command,
            "kubectl get sts,jobs -A -o json");
  EXPECT_EQ(Advised(InputSource::kDump, "NoControllers", "sts,jobs").advice, "");
  const InputWarning fed = Advised(InputSource::kFeeder, "NoControllers", "sts,jobs");
  EXPECT_EQ(fed.command, "");
  EXPECT_EQ(fed.advice,
            "the feeder needs the right to list and watch statefulsets.apps, jobs.batch in all "
            "namespaces (a ClusterRole with a ClusterRoleBinding), and must feed them; `ebb-kube "
            "--check` names the rights that are missing");
  EXPECT_EQ(Advised(InputSource::kFeeder, "NoNodeClaims").advice,
            "the feeder needs the right to list and watch nodeclaims.karpenter.sh, and must feed "
            "them; `ebb-kube --check` names the rights that are missing");
  EXPECT_EQ(
      Advised(InputSource::kFeeder, "NamespacesWithoutObjects").advice,
      "the feeder needs the right to list and watch all kinds that it feeds in all namespaces "
      "(a ClusterRole with a ClusterRoleBinding), and must feed them; `ebb-kube --check` "
      "names the rights that are missing");
  EXPECT_EQ(Advised(InputSource::kFeeder, "TooManyPods").advice,
            "start the feeder again: its resync replaces what is held");
  EXPECT_EQ(Advised(InputSource::kFeeder, "PodsWithoutContainers").advice,
            "feed objects as the API server gives them, with all their fields");
  // This command shows the budgets, wherever the cluster comes from.
  EXPECT_EQ(Advised(InputSource::kFeeder, "PodsWithSeveralBudgets").command, "kubectl get pdb -A");
}

// A feeder's text must not mention what only applies to files.
TEST(AdviceTest, EveryRowSaysWhatAFeedersUserDoesAndNoneNamesADump) {
  std::set<std::string_view> seen;
  for (const std::string_view code : CodesWithAdvice()) {
    EXPECT_TRUE(seen.insert(code).second) << code << " has two rows";
    const InputWarning fed = Advised(InputSource::kFeeder, code);
    EXPECT_THAT(fed.advice, AllOf(Not(HasSubstr("dump")), Not(HasSubstr("kubectl")))) << code;
    EXPECT_THAT(fed.advice, Not(HasSubstr("-A"))) << code;
    const bool of_files = code == "PartOfAList" || code == "ObjectsNotRead";
    EXPECT_EQ(fed.advice.empty() && fed.command.empty(), of_files) << code;
    EXPECT_EQ(Advised(InputSource::kDump, code).advice, "") << code;
  }
}

TEST(AdviceTest, EachSuspicionIsOfItsSource) {
  for (const Suspicion each :
       {Suspicion::kOneNamespace, Suspicion::kSomeNamespaces, Suspicion::kMissingNamespaces,
        Suspicion::kPlatformsNamespaces, Suspicion::kMissingClaims, Suspicion::kPodsOfTwoMoments,
        Suspicion::kTwoClusters, Suspicion::kManifests}) {
    EXPECT_THAT(
        std::string(TextOf(each, InputSource::kFeeder)),
        AllOf(Not(HasSubstr("dump")), Not(HasSubstr("file")), Not(HasSubstr("must-gather"))));
    EXPECT_FALSE(TextOf(each, InputSource::kDump).empty());
  }
}

TEST(AdviceTest, ARefusalOfFedObjectsAdvisesNoDump) {
  std::vector<InputWarning> warnings = {Advised(InputSource::kFeeder, "NoPods"),
                                        Advised(InputSource::kFeeder, "PodsMissing")};
  for (InputWarning& each : warnings) each.lack = Lack::kPods;
  EXPECT_EQ(
      std::string(CheckWhole(warnings, false).message()),
      "m; m; there is no answer about a part of a cluster; the feeder needs the right to list "
      "and watch pods in all namespaces (a ClusterRole with a ClusterRoleBinding), and must "
      "feed them; `ebb-kube --check` names the rights that are missing; --allow-incomplete "
      "(allow_incomplete) goes on with what is there");
}

}  // namespace
}  // namespace ebb::advice_test
