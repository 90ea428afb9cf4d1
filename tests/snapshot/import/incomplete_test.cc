#include "snapshot/import/incomplete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "snapshot/import/dump_kinds.h"
#include "snapshot/objects/unevaluated_kinds.h"
#include "tests/support/source_dir.h"

namespace ebb::incomplete_test {
namespace {

using ::testing::HasSubstr;

const InputWarning kDoubt = {"Odd", "it is odd", "kubectl get odd"};
const InputWarning kNoBudgets = {"NoBudgets", "budgets are missing", "kubectl get pdb",
                                 Lack::kKinds};
const InputWarning kNoPods = {"NoPods", "pods are missing", "kubectl get pods", Lack::kPods};

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(IncompleteTest, ADoubtLeavesAnAnswerComplete) {
  const std::vector<InputWarning> warnings = {kDoubt};
  EXPECT_TRUE(IsComplete(warnings));
  EXPECT_TRUE(MissingOf(warnings).empty());
  EXPECT_EQ(OfIncomplete(warnings), "");
  EXPECT_TRUE(CheckMayBeCarriedOut(warnings, false).ok());
}

TEST(IncompleteTest, AnAnswerWithAMissingKindIsShownAndNotCarriedOut) {
  const std::vector<InputWarning> warnings = {kDoubt, kNoBudgets};
  EXPECT_FALSE(IsComplete(warnings));
  ASSERT_EQ(MissingOf(warnings).size(), 1u);
  EXPECT_EQ(OfIncomplete(warnings), " of an incomplete cluster");
  EXPECT_TRUE(CheckWhole(warnings, false).ok());
  EXPECT_EQ(
      Text(CheckMayBeCarriedOut(warnings, false)),
      "budgets are missing; a plan of an incomplete cluster is shown and not carried out; "
      "fetch what is missing with `ebb dump` or `kubectl get pdb`, or pass "
      "--allow-incomplete to go on with what is there, or --assume-complete if it is all there is");
  EXPECT_TRUE(CheckMayBeCarriedOut(warnings, true).ok());
}

TEST(IncompleteTest, WithoutPodsQuestionsAreRefusedUnlessAllowed) {
  const std::vector<InputWarning> warnings = {kNoBudgets, kNoPods, kNoPods};
  EXPECT_THAT(Text(CheckWhole(warnings, false)),
              HasSubstr("pods are missing; pods are missing; there is no answer"));
  EXPECT_THAT(Text(CheckWhole(warnings, false)),
              HasSubstr("with `ebb dump` or `kubectl get pods`,"));
  EXPECT_TRUE(CheckWhole(warnings, true).ok());
  EXPECT_FALSE(IsComplete(warnings));
}

std::string TextOf(const std::string& file) {
  std::ifstream in(SourceDir() + "/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

// One list, from which the texts come.
TEST(DumpKindsTest, DocsNameEveryKind) {
  const std::string watch = TextOf("docs/watch.md");
  const std::string input = TextOf("docs/input.md");
  EXPECT_THAT(TextOf("docs/first-plan.md"), HasSubstr(KubectlGet(DumpWords())));
  EXPECT_THAT(input, HasSubstr(KubectlGet(DumpWords())));
  for (const DumpKind& each : DumpKinds()) {
    EXPECT_THAT(input, HasSubstr(std::string(each.resource)));
    EXPECT_THAT(input, HasSubstr(std::string(each.group)));
    if (each.everywhere) {
      EXPECT_THAT(watch, HasSubstr("<(watch " + std::string(each.word) + ")")) << each.kind;
    }
  }
}

// Symptom: for a dump without JobSets there was no warning about gangs.  Kinds of files, and kinds
// of any group, are not resources that can be listed by name.
TEST(DumpKindsTest, KindsThatAnswersNameAreOnTheList) {
  for (const UnevaluatedKind& each : UnevaluatedKinds()) {
    if (each.group == "*" || each.group == "descheduler" ||
        each.group == "kubescheduler.config.k8s.io") {
      continue;
    }
    EXPECT_TRUE(std::ranges::any_of(
        DumpKinds(),
        [&](const DumpKind& kind) { return kind.group == each.group && kind.kind == each.kind; }))
        << each.kind << "." << each.group;
  }
}

TEST(DumpKindsTest, ConfidentialKindsAreNotOnTheList) {
  for (const DumpKind& each : DumpKinds()) {
    EXPECT_NE(each.kind, "Secret");
    EXPECT_NE(each.kind, "ConfigMap");
  }
}

}  // namespace
}  // namespace ebb::incomplete_test
