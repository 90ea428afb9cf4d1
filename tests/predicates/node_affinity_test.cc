#include "predicates/node_affinity.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/predicates/verdict.h"

namespace ebb::test::node_affinity_test {
namespace {

using objects::NodeSelectorTerm;
using objects::Requirement;

constexpr char kNoMatch[] = "NodeAffinity: node(s) didn't match Pod's node affinity/selector";
constexpr char kOutside[] = "NodeAffinity: node(s) didn't satisfy plugin(s) [NodeAffinity]";
constexpr char kConflict[] = "NodeAffinity: pod affinity terms conflict";

// The verdict on node "n", which has the labels zone=x and generation=5 and may be cordoned.
std::string WithTerms(std::vector<NodeSelectorTerm> terms, bool cordoned = false) {
  Node node("n");
  node.Label("zone", "x").Label("generation", "5");
  if (cordoned) node.Unschedulable();
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(node)
          .Add(Node("m"))
          .Add(Pod("p").With([&](objects::Pod& pod) {
            pod.required_node_affinity = {.nil = false, .terms = std::move(terms)};
          }))
          .Build();
  return VerdictOf(snapshot, "p", "n");
}

std::string WithExpression(Requirement requirement) {
  return WithTerms({{.match_expressions = {std::move(requirement)}, .match_fields = {}}});
}

NodeSelectorTerm Named(std::vector<Requirement> fields) {
  return {.match_expressions = {}, .match_fields = std::move(fields)};
}

TEST(NodeAffinityTest, NodeSelectorComparesEveryLabel) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("n").Label("zone", "x").Label("disk", "ssd"))
          .Add(Pod("both").NodeSelector("zone", "x").NodeSelector("disk", "ssd"))
          .Add(Pod("one").NodeSelector("zone", "x").NodeSelector("disk", "hdd"))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "both", "n"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "one", "n"), kNoMatch);
}

TEST(NodeAffinityTest, OperatorsReadAsInTheApi) {
  EXPECT_EQ(WithExpression({"zone", "In", {"w", "x"}}), "fits");
  EXPECT_EQ(WithExpression({"rack", "In", {"w"}}), kNoMatch);
  EXPECT_EQ(WithExpression({"zone", "NotIn", {"x"}}), kNoMatch);
  EXPECT_EQ(WithExpression({"rack", "NotIn", {"x"}}), "fits");
  EXPECT_EQ(WithExpression({"zone", "Exists", {}}), "fits");
  EXPECT_EQ(WithExpression({"zone", "DoesNotExist", {}}), kNoMatch);
  EXPECT_EQ(WithExpression({"generation", "Gt", {"4"}}), "fits");
  EXPECT_EQ(WithExpression({"generation", "Gt", {"5"}}), kNoMatch);
  EXPECT_EQ(WithExpression({"generation", "Lt", {"6"}}), "fits");
}

TEST(NodeAffinityTest, UnparsableTermsMatchNothing) {
  EXPECT_EQ(WithExpression({"zone", "Perhaps", {"x"}}), kNoMatch);
  EXPECT_EQ(WithExpression({"zone", "NotIn", {}}), kNoMatch);
  EXPECT_EQ(WithExpression({"zone", "Exists", {"x"}}), kNoMatch);
  EXPECT_EQ(WithExpression({"generation", "Gt", {"abc"}}), kNoMatch);
  EXPECT_EQ(WithExpression({"generation", "Gt", {"1", "2"}}), kNoMatch);
  // Neither text can be the value of a label.
  EXPECT_EQ(WithExpression({"generation", "Gt", {"-4"}}), kNoMatch);
  EXPECT_EQ(WithExpression({"zone", "NotIn", {"a b"}}), kNoMatch);
}

TEST(NodeAffinityTest, TermsAreAlternativesAndEmptyOnesMatchNothing) {
  const NodeSelectorTerm empty;
  const NodeSelectorTerm good{.match_expressions = {{"zone", "Exists", {}}}, .match_fields = {}};
  EXPECT_EQ(WithTerms({}), kNoMatch);
  EXPECT_EQ(WithTerms({empty}), kNoMatch);
  EXPECT_EQ(WithTerms({empty, good}), "fits");
}

TEST(NodeAffinityTest, NamesRuleOutOtherNodesBeforeAnyFilter) {
  EXPECT_EQ(WithTerms({Named({{"metadata.name", "In", {"n"}}})}), "fits");
  EXPECT_EQ(WithTerms({Named({{"metadata.name", "In", {"m"}}})}), kOutside);
  EXPECT_EQ(WithTerms({Named({{"metadata.name", "In", {"m"}}})}, /*cordoned=*/true), kOutside);
  // Because one term has no names, every node reaches the filters.
  EXPECT_EQ(WithTerms({Named({{"metadata.name", "In", {"m"}}}),
                       {.match_expressions = {{"rack", "Exists", {}}}, .match_fields = {}}}),
            kNoMatch);
  EXPECT_EQ(WithTerms({Named({{"metadata.name", "NotIn", {"n"}}})}), kNoMatch);
}

TEST(NodeAffinityTest, NamesOfTermsThatDoNotParseCountToo) {
  EXPECT_EQ(WithTerms({Named({{"metadata.name", "In", {"n", "m"}}})}), kNoMatch);
}

TEST(NodeAffinityTest, NamesThatContradictEachOtherRefuseThePodEverywhere) {
  EXPECT_EQ(WithTerms({Named({{"metadata.name", "In", {"n"}}, {"metadata.name", "In", {"m"}}})}),
            kConflict);
}

}  // namespace
}  // namespace ebb::test::node_affinity_test
