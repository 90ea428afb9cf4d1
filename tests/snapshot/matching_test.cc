#include "snapshot/matching.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ebb::matching_test {
namespace {

using objects::KeyValues;
using objects::Requirement;

class MatchingTest : public testing::Test {
 protected:
  bool Selects(const objects::LabelSelector& selector, const KeyValues& labels) {
    const absl::StatusOr<Selector> compiled = CompileSelector(selector, symbols_);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled.ok() && compiled->Matches(InternLabels(labels, symbols_));
  }
  bool Selects(const Requirement& requirement, const KeyValues& labels) {
    return Selects({.nil = false, .match_labels = {}, .match_expressions = {requirement}}, labels);
  }
  std::string ErrorOf(const Requirement& requirement) {
    return std::string(
        CompileSelector({.nil = false, .match_labels = {}, .match_expressions = {requirement}},
                        symbols_)
            .status()
            .message());
  }

  bool MayRun(const objects::Pod& pod, const KeyValues& labels, std::string_view node = "n") {
    return MatchesNodeAffinity(CompileConstraints(pod, symbols_), symbols_.Intern(node),
                               InternLabels(labels, symbols_), symbols_);
  }
  bool MayRun(const Requirement& expression, const KeyValues& labels) {
    return MayRun(Affinity({{{expression}, {}}}), labels);
  }
  bool MayRunByField(const Requirement& field, std::string_view node) {
    return MayRun(Affinity({{{}, {field}}}), {}, node);
  }
  static objects::Pod Affinity(std::vector<objects::NodeSelectorTerm> terms) {
    objects::Pod pod;
    pod.required_node_affinity.nil = false;
    pod.required_node_affinity.terms = std::move(terms);
    return pod;
  }

  bool ToleratedBy(const objects::Toleration& toleration, std::string_view value = "v",
                   std::string_view effect = "NoSchedule") {
    objects::Pod pod;
    pod.tolerations = {toleration};
    const Taint taint{symbols_.Intern("key"), symbols_.Intern(value), symbols_.Intern(effect),
                      TaintEffect::kNoSchedule};
    return Tolerates(CompileConstraints(pod, symbols_), taint);
  }

  Symbols symbols_;
};

TEST_F(MatchingTest, TheLastOfEqualLabelKeysWins) {
  const LabelSet labels = InternLabels({{"b", "1"}, {"a", "2"}, {"b", "3"}}, symbols_);
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(FindLabel(labels, symbols_.Intern("b")), symbols_.Intern("3"));
  EXPECT_EQ(FindLabel(labels, symbols_.Intern("c")), std::nullopt);
}

TEST_F(MatchingTest, ANilSelectorMatchesNothingAndAnEmptyOneEverything) {
  EXPECT_FALSE(Selects(objects::LabelSelector(), {{"a", "1"}}));
  const objects::LabelSelector empty{.nil = false, .match_labels = {}, .match_expressions = {}};
  EXPECT_TRUE(Selects(empty, {{"a", "1"}}));
  EXPECT_TRUE(Selects(empty, {}));
}

TEST_F(MatchingTest, MatchLabelsAndExpressionsMustAllHold) {
  const objects::LabelSelector selector{.nil = false,
                                        .match_labels = {{"a", "1"}, {"b", "2"}},
                                        .match_expressions = {{"c", "Exists", {}}}};
  EXPECT_TRUE(Selects(selector, {{"a", "1"}, {"b", "2"}, {"c", ""}}));
  EXPECT_FALSE(Selects(selector, {{"a", "1"}, {"b", "2"}}));
  EXPECT_FALSE(Selects(selector, {{"a", "1"}, {"b", "x"}, {"c", ""}}));
}

TEST_F(MatchingTest, SetOperatorsTreatAnAbsentKeyAsKubernetesDoes) {
  const KeyValues none;
  const KeyValues one = {{"k", "1"}};
  const KeyValues three = {{"k", "3"}};
  const Requirement in{"k", "In", {"1", "2"}};
  EXPECT_TRUE(Selects(in, one));
  EXPECT_FALSE(Selects(in, three));
  EXPECT_FALSE(Selects(in, none));
  const Requirement not_in{"k", "NotIn", {"1", "2"}};
  EXPECT_FALSE(Selects(not_in, one));
  EXPECT_TRUE(Selects(not_in, three));
  EXPECT_TRUE(Selects(not_in, none));
  EXPECT_TRUE(Selects({"k", "Exists", {}}, one));
  EXPECT_FALSE(Selects({"k", "Exists", {}}, none));
  EXPECT_FALSE(Selects({"k", "DoesNotExist", {}}, one));
  EXPECT_TRUE(Selects({"k", "DoesNotExist", {}}, none));
}

TEST_F(MatchingTest, AnUnreadableSelectorIsAnErrorThatNamesTheOperatorAndTheKey) {
  for (const Requirement& bad :
       {Requirement{"k8s", "Near", {"x"}}, Requirement{"k8s", "In", {}},
        Requirement{"k8s", "NotIn", {}}, Requirement{"k8s", "Exists", {"x"}},
        Requirement{"k8s", "DoesNotExist", {"x"}}, Requirement{"k8s", "Gt", {"1"}}}) {
    const std::string error = ErrorOf(bad);
    EXPECT_NE(error.find(bad.op), std::string::npos) << error;
    EXPECT_NE(error.find("k8s"), std::string::npos) << error;
  }
}

TEST_F(MatchingTest, GtAndLtCompareWholeNumbersStrictly) {
  EXPECT_TRUE(MayRun(Requirement{"k", "Gt", {"5"}}, {{"k", "6"}}));
  EXPECT_FALSE(MayRun(Requirement{"k", "Gt", {"5"}}, {{"k", "5"}}));
  EXPECT_TRUE(MayRun(Requirement{"k", "Lt", {"5"}}, {{"k", "-6"}}));
  EXPECT_FALSE(MayRun(Requirement{"k", "Lt", {"5"}}, {{"k", "5"}}));
  EXPECT_FALSE(MayRun(Requirement{"k", "Gt", {"5"}}, {}));
  EXPECT_FALSE(MayRun(Requirement{"k", "Gt", {"5"}}, {{"k", "six"}}));
  EXPECT_FALSE(MayRun(Requirement{"k", "Gt", {"5"}}, {{"k", "6.5"}}));
  EXPECT_TRUE(MayRun(Requirement{"k", "Gt", {"5"}}, {{"k", "+6"}}));
  EXPECT_FALSE(MayRun(Requirement{"k", "Lt", {"5"}}, {{"k", "+-6"}}));
  EXPECT_TRUE(MayRun(Requirement{"k", "Lt", {"9223372036854775807"}}, {{"k", "0"}}));
}

TEST_F(MatchingTest, ATermThatCannotBeReadMatchesNoNode) {
  const KeyValues labels = {{"k", "6"}};
  EXPECT_FALSE(MayRun(Requirement{"k", "Gt", {}}, labels));
  EXPECT_FALSE(MayRun(Requirement{"k", "Gt", {"1", "2"}}, labels));
  EXPECT_FALSE(MayRun(Requirement{"k", "Gt", {"x"}}, labels));
  EXPECT_FALSE(MayRun(Requirement{"k", "Lt", {"9223372036854775808"}}, labels));
  EXPECT_FALSE(MayRun(Requirement{"k", "In", {}}, labels));
  EXPECT_FALSE(MayRun(Requirement{"k", "Exists", {"6"}}, labels));
  EXPECT_FALSE(MayRun(Requirement{"k", "Near", {"6"}}, labels));
}

// Source: apimachinery IsQualifiedName: a name, or a DNS subdomain and a name.
TEST_F(MatchingTest, ATermWhoseKeyNoLabelCanHaveMatchesNoNode) {
  for (const char* key : {"k", "A_b.C-d", "0", "a.b/C_d", "a-1.b/k"}) {
    EXPECT_TRUE(MayRun(Requirement{key, "DoesNotExist", {}}, {})) << key;
  }
  for (const char* key :
       {"", "-k", "k-", "k k", "a/", "/k", "A/k", "a_b/k", "a/b/k", "a./k", "a..b/k", "-a/k"}) {
    EXPECT_FALSE(MayRun(Requirement{key, "DoesNotExist", {}}, {})) << key;
  }
  const std::string longest(63, 'k');
  EXPECT_TRUE(MayRun(Requirement{longest, "DoesNotExist", {}}, {}));
  const std::string longer = longest + "k";
  EXPECT_FALSE(MayRun(Requirement{longer, "DoesNotExist", {}}, {}));
}

TEST_F(MatchingTest, AnUnreadableTermDoesNotSpoilTheTermsBesideIt) {
  EXPECT_TRUE(
      MayRun(Affinity({{{{"k", "Near", {"6"}}}, {}}, {{{"k", "Exists", {}}}, {}}}), {{"k", "6"}}));
}

TEST_F(MatchingTest, TermsAreAlternativesAndRequirementsWithinOneAreNot) {
  const objects::Pod pod =
      Affinity({{{{"a", "Exists", {}}, {"b", "Exists", {}}}, {}}, {{{"c", "Exists", {}}}, {}}});
  EXPECT_FALSE(MayRun(pod, {{"a", ""}}));
  EXPECT_TRUE(MayRun(pod, {{"a", ""}, {"b", ""}}));
  EXPECT_TRUE(MayRun(pod, {{"c", ""}}));
}

TEST_F(MatchingTest, NoTermsAndEmptyTermsMatchNoNode) {
  EXPECT_FALSE(MayRun(Affinity({}), {{"a", "1"}}));
  EXPECT_FALSE(MayRun(Affinity({{{}, {}}}), {{"a", "1"}}));
  EXPECT_TRUE(MayRun(objects::Pod(), {}));
}

TEST_F(MatchingTest, NodeSelectorAndAffinityMustBothHold) {
  objects::Pod pod = Affinity({{{{"a", "Exists", {}}}, {}}});
  pod.has_node_selector = true;
  pod.node_selector = {{"b", "2"}};
  EXPECT_TRUE(MayRun(pod, {{"a", "1"}, {"b", "2"}}));
  EXPECT_FALSE(MayRun(pod, {{"a", "1"}, {"b", "3"}}));
  EXPECT_FALSE(MayRun(pod, {{"b", "2"}}));
}

TEST_F(MatchingTest, MatchFieldsKnowTheNameOfTheNode) {
  EXPECT_TRUE(MayRunByField({"metadata.name", "In", {"n1"}}, "n1"));
  EXPECT_FALSE(MayRunByField({"metadata.name", "In", {"n1"}}, "n2"));
  EXPECT_FALSE(MayRunByField({"metadata.name", "NotIn", {"n1"}}, "n1"));
  EXPECT_TRUE(MayRunByField({"metadata.name", "NotIn", {"n1"}}, "n2"));
  EXPECT_FALSE(MayRunByField({"metadata.name", "In", {"n1", "n2"}}, "n1"));  // Must be one value.
  EXPECT_FALSE(MayRunByField({"metadata.name", "Exists", {}}, "n1"));
}

TEST_F(MatchingTest, TermsThatAllNameNodesGiveTheUnionOfTheirIntersections) {
  const Requirement a{"metadata.name", "In", {"a"}};
  const Requirement b{"metadata.name", "In", {"b"}};
  const Constraints both = CompileConstraints(Affinity({{{}, {a}}, {{}, {b}}}), symbols_);
  EXPECT_TRUE(both.only_named_nodes);
  EXPECT_EQ(both.node_names.size(), 2u);
  const Constraints conflict = CompileConstraints(Affinity({{{}, {a, b}}}), symbols_);
  EXPECT_TRUE(conflict.only_named_nodes);
  EXPECT_TRUE(conflict.node_names.empty());
  const Constraints open =
      CompileConstraints(Affinity({{{}, {a}}, {{{"x", "Exists", {}}}, {}}}), symbols_);
  EXPECT_FALSE(open.only_named_nodes);
}

TEST_F(MatchingTest, ATolerationMatchesByKeyValueAndEffect) {
  EXPECT_TRUE(ToleratedBy({"key", "Equal", "v", "NoSchedule"}));
  EXPECT_TRUE(ToleratedBy({"key", "", "v", ""}));
  EXPECT_FALSE(ToleratedBy({"key", "Equal", "other", ""}));
  EXPECT_FALSE(ToleratedBy({"other", "Equal", "v", ""}));
  EXPECT_FALSE(ToleratedBy({"key", "Equal", "v", "NoExecute"}));
  EXPECT_TRUE(ToleratedBy({"key", "Exists", "", ""}));
  EXPECT_TRUE(ToleratedBy({"", "Exists", "", ""}));
  EXPECT_FALSE(ToleratedBy({"", "Exists", "", "NoExecute"}));
}

TEST_F(MatchingTest, NumericTolerationsNeverMatch) {
  EXPECT_FALSE(ToleratedBy({"key", "Gt", "1", ""}, "5"));
  EXPECT_FALSE(ToleratedBy({"key", "Lt", "9", ""}, "5"));
  EXPECT_FALSE(ToleratedBy({"key", "Lt", "5", ""}, "5"));
}

TEST_F(MatchingTest, OnlyNoScheduleAndNoExecuteTaintsNeedTolerating) {
  const Constraints none = CompileConstraints(objects::Pod(), symbols_);
  const auto taint = [&](TaintEffect effect) {
    return std::vector<Taint>{{symbols_.Intern("k"), kNoText, symbols_.Intern("e"), effect}};
  };
  EXPECT_FALSE(ToleratesAll(none, taint(TaintEffect::kNoSchedule)));
  EXPECT_FALSE(ToleratesAll(none, taint(TaintEffect::kNoExecute)));
  EXPECT_TRUE(ToleratesAll(none, taint(TaintEffect::kOther)));
}

TEST_F(MatchingTest, EveryLetterAndDigitMayBeALabelAndNothingBesideThem) {
  for (const char* key : {"a", "z", "A", "Z", "0", "9", "a/k", "z/k", "0/k", "9/k"}) {
    EXPECT_TRUE(MayRun(Requirement{key, "DoesNotExist", {}}, {})) << key;
  }
  for (const char* key : {"`", "{", "@", "[", ":", "a`a", "a{a", "a@a", "a[a", "a:a", "Z/k", "a-/k",
                          "a:a/k", "a`a/k"}) {
    EXPECT_FALSE(MayRun(Requirement{key, "DoesNotExist", {}}, {})) << key;
  }
  const std::string longest = std::string(253, 'a') + "/k";
  EXPECT_TRUE(MayRun(Requirement{longest, "DoesNotExist", {}}, {}));
  const std::string longer = std::string(254, 'a') + "/k";
  EXPECT_FALSE(MayRun(Requirement{longer, "DoesNotExist", {}}, {}));
}

TEST_F(MatchingTest, ASelectorThatNoLabelCanMatchIsAnError) {
  const auto error = [&](const KeyValues& labels) {
    return std::string(
        CheckSelector({.nil = false, .match_labels = labels, .match_expressions = {}}).message());
  };
  EXPECT_EQ(error({{"k", ""}, {"a/k", "v"}}), "");
  EXPECT_EQ(error({{"k", "v"}, {"k k", "v"}}), "key \"k k\" or a value for it cannot be a label");
  EXPECT_EQ(error({{"k", "v v"}}), "key \"k\" or a value for it cannot be a label");
  EXPECT_EQ(ErrorOf({"k", "In", {"v", "-v"}}), "key \"k\" or a value for it cannot be a label");
  EXPECT_EQ(ErrorOf({"k", "Lt", {"1"}}),
            "\"Lt\" is not a valid label selector operator (key \"k\")");
  EXPECT_EQ(ErrorOf({"k", "Exists", {"x", "y"}}), "operator Exists on key \"k\" has 2 values");
}

TEST_F(MatchingTest, FieldsOtherThanTheNameAreEmpty) {
  EXPECT_TRUE(MayRunByField({"metadata.namespace", "In", {""}}, "n1"));
  EXPECT_FALSE(MayRunByField({"metadata.namespace", "NotIn", {""}}, "n1"));
  EXPECT_FALSE(MayRunByField({"metadata.namespace", "In", {"n1"}}, "n1"));
  EXPECT_TRUE(MayRunByField({"metadata.namespace", "NotIn", {"n1"}}, "n1"));
}

// If a pod names a node, verdicts may differ between nodes with the same labels.
TEST_F(MatchingTest, APodNamesANodeByFieldOrHostname) {
  const auto names = [&](const objects::Pod& pod) {
    return CompileConstraints(pod, symbols_).names_a_node;
  };
  const auto selects = [](std::string_view key) {
    objects::Pod pod;
    pod.has_node_selector = true;
    pod.node_selector = {{"zone", "x"}, {key, "n"}};
    return pod;
  };
  const Requirement hostname{"kubernetes.io/hostname", "In", {"n"}};
  const Requirement zone{"zone", "In", {"x"}};
  const Requirement not_there{"metadata.name", "NotIn", {"n"}};
  EXPECT_FALSE(names(objects::Pod()));
  EXPECT_FALSE(names(selects("rack")));
  EXPECT_TRUE(names(selects("kubernetes.io/hostname")));
  EXPECT_FALSE(names(Affinity({{{zone}, {}}})));
  EXPECT_TRUE(names(Affinity({{{zone}, {}}, {{zone, hostname}, {}}})));
  EXPECT_TRUE(names(Affinity({{{zone}, {}}, {{zone}, {not_there}}})));
}

TEST_F(MatchingTest, ValuesAreASetInAnyOrder) {
  const TextId a = symbols_.Intern("a");
  const TextId b = symbols_.Intern("b");
  const auto compiled = [&](const Requirement& requirement) {
    return CompileSelector({.nil = false, .match_labels = {}, .match_expressions = {requirement}},
                           symbols_)
        .value();
  };
  const Selector selector = compiled({"k", "In", {"b", "a", "b"}});
  ASSERT_EQ(selector.requirements.size(), 1u);
  EXPECT_EQ(selector.requirements[0].key, symbols_.Intern("k"));
  EXPECT_EQ(selector.requirements[0].op, Operator::kIn);
  EXPECT_EQ(selector.requirements[0].values, (std::vector<TextId>{a, b}));
  EXPECT_EQ(selector, compiled({"k", "In", {"a", "b"}}));
  EXPECT_FALSE(selector == compiled({"k", "In", {"a"}}));
  for (const char* value : {"a", "b"}) {
    EXPECT_TRUE(Selects(Requirement{"k", "In", {"b", "a", "b"}}, {{"k", value}})) << value;
    EXPECT_FALSE(Selects(Requirement{"k", "NotIn", {"b", "a", "b"}}, {{"k", value}})) << value;
  }
}

TEST_F(MatchingTest, NodeNamesAreSortedAndAbsentForTermsWithoutNames) {
  const TextId a = symbols_.Intern("a");
  const TextId b = symbols_.Intern("b");
  const TextId c = symbols_.Intern("c");
  const auto in = [](std::vector<objects::Text> values) {
    return Requirement{"metadata.name", "In", std::move(values)};
  };
  const auto names = [&](const objects::Pod& pod) {
    const Constraints constraints = CompileConstraints(pod, symbols_);
    EXPECT_EQ(constraints.only_named_nodes, !constraints.node_names.empty());
    return constraints.node_names;
  };
  using Ids = std::vector<TextId>;
  EXPECT_EQ(names(Affinity({{{}, {in({"c"})}}, {{}, {in({"a"})}}, {{}, {in({"b"})}}})),
            (Ids{a, b, c}));
  EXPECT_EQ(names(Affinity({{{}, {in({"c", "b", "a"}), in({"d", "c", "a"})}}})), (Ids{a, c}));
  EXPECT_EQ(names(Affinity({{{}, {in({"a"}), {"metadata.name", "NotIn", {"b"}}}}})), Ids{a});
  EXPECT_EQ(names(Affinity({{{}, {in({"a"}), {"metadata.uid", "In", {""}}}}})), Ids{a});
  // A term that names no node, in any position.
  const objects::NodeSelectorTerm open{{{"x", "Exists", {}}}, {}};
  const objects::NodeSelectorTerm others{{}, {{"metadata.name", "NotIn", {"a"}}}};
  const objects::NodeSelectorTerm named{{}, {in({"a"})}};
  EXPECT_EQ(names(Affinity({named, open})), Ids());
  EXPECT_EQ(names(Affinity({open, named})), Ids());
  EXPECT_EQ(names(Affinity({named, others, named})), Ids());
  EXPECT_EQ(names(Affinity({})), Ids());
}

TEST_F(MatchingTest, AnEmptyTolerationHidesNoLaterOne) {
  objects::Pod pod;
  pod.tolerations = {{"key", "Gt", "1", ""},
                     {"key", "Equal", "v", "NoExecute"},
                     {"other", "Exists", "", ""},
                     {"key", "", "w", ""}};
  const Constraints constraints = CompileConstraints(pod, symbols_);
  ASSERT_EQ(constraints.tolerations.size(), 3u) << "those that may match";
  const auto taint = [&](std::string_view key, std::string_view value, std::string_view effect) {
    return Taint{symbols_.Intern(key), symbols_.Intern(value), symbols_.Intern(effect),
                 effect == "PreferNoSchedule" ? TaintEffect::kOther : TaintEffect::kNoSchedule};
  };
  const Taint last = taint("key", "w", "NoSchedule");
  const Taint first = taint("key", "v", "NoExecute");
  const Taint not_tolerated = taint("key", "v", "NoSchedule");
  EXPECT_TRUE(Tolerates(constraints, last));
  EXPECT_TRUE(Tolerates(constraints, first));
  EXPECT_FALSE(Tolerates(constraints, not_tolerated));
  const Taint soft = taint("key", "v", "PreferNoSchedule");
  EXPECT_TRUE(ToleratesAll(constraints, std::vector<Taint>{first, soft, last}));
  EXPECT_FALSE(ToleratesAll(constraints, std::vector<Taint>{first, soft, not_tolerated}));
  EXPECT_FALSE(ToleratesAll(constraints, std::vector<Taint>{not_tolerated, last}));
  EXPECT_TRUE(ToleratesAll(constraints, {}));
}

TEST_F(MatchingTest, EveryLabelOfANodeSelectorMustBeThere) {
  objects::Pod pod;
  pod.has_node_selector = true;
  pod.node_selector = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  EXPECT_TRUE(MayRun(pod, {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}));
  EXPECT_FALSE(MayRun(pod, {{"a", "0"}, {"b", "2"}, {"c", "3"}}));
  EXPECT_FALSE(MayRun(pod, {{"a", "1"}, {"c", "3"}}));
  EXPECT_FALSE(MayRun(pod, {{"a", "1"}, {"b", "2"}, {"c", "0"}}));
}

}  // namespace
}  // namespace ebb::matching_test
