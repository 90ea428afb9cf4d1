#include "snapshot/formats/read_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "snapshot/formats/write_objects.h"
#include "snapshot/formats/yaml_scalar.h"
#include "tests/support/dump_sink.h"

namespace ebb::read_yaml_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Read {
  std::string error;
  std::vector<std::string> lines;
  ImportStats stats;
};

Read ReadText(std::string_view yaml) {
  Read read;
  testing::DumpSink sink;
  read.error = std::string(ReadYaml("dump.yaml", yaml, sink, read.stats).message());
  read.lines = sink.lines();
  return read;
}

// The labels of a namespace whose labels are written as `yaml`.
std::string Labels(std::string_view yaml) {
  const Read read =
      ReadText("kind: Namespace\nmetadata:\n  name: n\n  labels:\n" + std::string(yaml));
  if (!read.error.empty()) return read.error;
  return read.lines.empty() ? "nothing"
                            : read.lines[0].substr(std::string("Namespace name=[n]").size());
}

// The cpu of a node for which `scalar` is written.
std::string Cpu(std::string_view scalar) {
  const Read read = ReadText("kind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: " +
                             std::string(scalar) + "}}\n");
  return read.error.empty() ? read.lines.at(0) : read.error;
}

TEST(ReadYamlTest, KubectlsListIsRead) {
  const Read read = ReadText(R"(apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    labels:
      kubernetes.io/os: linux
      numeric: "7"
      truth: "true"
    name: n1
  spec: {}
  status:
    allocatable:
      cpu: "4"
      memory: 16Gi
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      multi: |
        {"a": "b"}
        second
    creationTimestamp: "2026-01-01T00:00:00Z"
    name: p
    namespace: ns
  spec:
    nodeName: n1
    priority: -7
    hostNetwork: true
kind: List
metadata:
  resourceVersion: ""
)");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(
      read.lines,
      ElementsAre("Node name=[n1] label=[kubernetes.io/os]:[linux] label=[numeric]:[7] "
                  "label=[truth]:[true] allocatable=[cpu]:4000 "
                  "allocatable=[memory]:17179869184",
                  "Pod name=[p] namespace=[ns] annotation=[multi]:[{\"a\": \"b\"}\nsecond\n] "
                  "created=1767225600 node=[n1] priority=-7 host_network=true"));
}

TEST(ReadYamlTest, DocumentsAreReadOneAfterTheOther) {
  const Read read = ReadText(
      "---\n# only a comment\n---\nkind: Namespace\nmetadata: {name: a}\n---\n"
      "kind: Namespace\nmetadata: {name: b}\n...\n");
  EXPECT_EQ(read.error, "");
  EXPECT_THAT(read.lines, ElementsAre("Namespace name=[a]", "Namespace name=[b]"));
}

TEST(ReadYamlTest, QuotedScalarsAreStringsAndPlainOnesFollowTheCoreSchema) {
  EXPECT_EQ(Labels("    a: \"1\"\n    b: 'true'\n    c: yes\n    d: on\n    e: 1.2.3\n    f: 0x\n"
                   "    g: 12e03x\n    h: '~'\n    i: !!str 5\n    true: k\n"),
            " label=[a]:[1] label=[b]:[true] label=[c]:[yes] label=[d]:[on] label=[e]:[1.2.3] "
            "label=[f]:[0x] label=[g]:[12e03x] label=[h]:[~] label=[i]:[5] label=[true]:[k]");
  EXPECT_EQ(Labels("    a: 1\n"), "dump.yaml: Namespace n: metadata.labels.a: 1 is not a string");
  EXPECT_EQ(Labels("    a: True\n"),
            "dump.yaml: Namespace n: metadata.labels.a: true is not a string");
  EXPECT_EQ(Labels("    a: ~\n    b:\n    c: null\n"), "") << "null is absent";
}

TEST(ReadYamlTest, PlainNumbersBecomeJsonNumbers) {
  EXPECT_EQ(Cpu("4"), "Node name=[n] allocatable=[cpu]:4000");
  EXPECT_EQ(Cpu("+4"), "Node name=[n] allocatable=[cpu]:4000");
  EXPECT_EQ(Cpu(".5"), "Node name=[n] allocatable=[cpu]:500");
  EXPECT_EQ(Cpu("5."), "Node name=[n] allocatable=[cpu]:5000");
  EXPECT_EQ(Cpu("1.50"), "Node name=[n] allocatable=[cpu]:1500");
  EXPECT_EQ(Cpu("1e2"), "Node name=[n] allocatable=[cpu]:100000");
  EXPECT_EQ(Cpu("1e+2"), "Node name=[n] allocatable=[cpu]:100000");
  EXPECT_EQ(Cpu("2E-1"), "Node name=[n] allocatable=[cpu]:200");
  EXPECT_EQ(Cpu("0x1F"), "Node name=[n] allocatable=[cpu]:31000");
  EXPECT_EQ(Cpu("0x10"), "Node name=[n] allocatable=[cpu]:16000");
  EXPECT_EQ(Cpu("0o10"), "Node name=[n] allocatable=[cpu]:8000");
  EXPECT_EQ(Cpu("100m"), "Node name=[n] allocatable=[cpu]:100");
  EXPECT_EQ(Cpu("-4"), "dump.yaml: Node n: status.allocatable.cpu: \"-4\" is negative");
  EXPECT_EQ(Cpu(".inf"), "dump.yaml: Node n: status.allocatable.cpu: \".inf\" is not a quantity");
}

TEST(ReadYamlTest, ANumberThatKubectlTakesForOctalIsRefused) {
  for (const char* number : {"010", "007", "-010", "+08", "00"}) {
    EXPECT_THAT(Cpu(number),
                ::testing::AllOf(HasSubstr("dump.yaml: line "),
                                 HasSubstr(std::string(number) + " is octal to some")));
  }
  EXPECT_EQ(Cpu("\"010\""), "Node name=[n] allocatable=[cpu]:10000");
  EXPECT_EQ(Cpu("0"), "Node name=[n] allocatable=[cpu]:0");
  EXPECT_EQ(Cpu("0.5"), "Node name=[n] allocatable=[cpu]:500");
}

TEST(ReadYamlTest, AValueHasTheTypeOfItsTagOrIsRejected) {
  EXPECT_EQ(Cpu("!!int 4"), "Node name=[n] allocatable=[cpu]:4000");
  EXPECT_EQ(Cpu("!!float 1.5"), "Node name=[n] allocatable=[cpu]:1500");
  EXPECT_EQ(Cpu("!!null null"), "Node name=[n]");
  for (const char* value : {"!!null 1", "!!int 1.5", "!!int x", "!!bool 1", "!!float true",
                            "!!map 1", "!!seq 1", "!!int {}", "!!map []", "!!seq {}"}) {
    EXPECT_THAT(Cpu(value), HasSubstr("dump.yaml: line ")) << value;
  }
}

TEST(ReadYamlTest, AKeyThatAMapHasTwiceIsRefusedWithItsLine) {
  EXPECT_EQ(ReadText("kind: Pod\nmetadata: {name: a}\nkind: Node\n").error,
            "dump.yaml: line 3, column 1: is not YAML that can be read: the key \"kind\" occurs "
            "twice in one map; if these are several objects, put a line `---` between them");
  EXPECT_THAT(Labels("    a: x\n    b: y\n    \"a\": z\n"),
              HasSubstr("the key \"a\" occurs twice"));
  // The same key may occur in two maps.
  EXPECT_EQ(ReadText("- kind: Namespace\n  metadata: {name: a}\n"
                     "- kind: Namespace\n  metadata: {name: b}\n")
                .error,
            "");
}

TEST(ReadYamlTest, TextsMayHoldWhatJsonMustEscape) {
  EXPECT_EQ(Labels("    a: \"q\\\"\\\\ \\t\\x01 \\u00e9\"\n"),
            " label=[a]:[q\"\\ \t\x01 \xc3\xa9]");
}

TEST(ReadYamlTest, AliasesRepeatTheirAnchor) {
  EXPECT_EQ(Labels("    a: &x one\n    b: *x\n"), " label=[a]:[one] label=[b]:[one]");
  const Read read = ReadText(
      "- &m {kind: Namespace, metadata: &meta {name: a}}\n- *m\n- kind: Namespace\n"
      "  metadata: *meta\n");
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.lines.size(), 3u);
}

TEST(ReadYamlTest, AliasesThatRepeatThemselvesIntoABombAreRefused) {
  std::string bomb = "a0: &a0 [xxxxxxxxxx,xxxxxxxxxx,xxxxxxxxxx]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + " ," + last +
            " ," + last + " ]\n";
  }
  EXPECT_THAT(ReadText(bomb).error, HasSubstr("aliases repeat too much"));
  EXPECT_THAT(ReadText("a: &a [*a ]\n").error, HasSubstr("dump.yaml: line 1, column"));
}

TEST(ReadYamlTest, DeepNestingIsRefusedBeforeTheStackIs) {
  EXPECT_THAT(ReadText("a: " + std::string(5'000, '[') + std::string(5'000, ']') + "\n").error,
              HasSubstr("is not YAML that can be read"));
  std::string block;
  for (int depth = 0; depth < 1'000; ++depth) block += std::string(depth, ' ') + "a:\n";
  EXPECT_THAT(ReadText(block).error, HasSubstr("is not YAML that can be read"));
}

// yaml-cpp would read the rest of the line as part of the comment.
TEST(ReadYamlTest, AmbiguousLineEndsAreRejected) {
  const std::string start = "kind: Namespace\nmetadata:\n  # c";
  EXPECT_EQ(ReadText(start + "\r  name: n\n").error,
            "dump.yaml: line 3: a carriage return that ends no line");
  for (const char* end : {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
    EXPECT_EQ(ReadText(start + end + "  name: n\n").error,
              "dump.yaml: line 3: a comment with another line end than a line feed");
  }
  EXPECT_EQ(ReadText(start + std::string(1, '\0') + "\n  name: n\n").error,
            "dump.yaml: line 3: a control character");
  EXPECT_EQ(ReadText("kind: Namespace\r\nmetadata:\r\n\t# c\r\n  name: n\r\n").error, "");
  EXPECT_EQ(Labels("    a: \"x\xe2\x80\xa8y\"\n"), " label=[a]:[x\xe2\x80\xa8y]");
}

TEST(ReadYamlTest, AnErrorNamesItsPlaceInOneLine) {
  EXPECT_EQ(ReadText("a: [1, 2\nb: 3\n").error.substr(0, 17), "dump.yaml: line 2");
  EXPECT_EQ(ReadText("kind: Namespace\nmetadata:\n  <<: {name: a}\n").error,
            "dump.yaml: line 3, column 3: is not YAML that can be read: merge keys (<<) are not "
            "supported");
  EXPECT_EQ(ReadText("[a]: b\n").error,
            "dump.yaml: line 1, column 1: is not YAML that can be read: a key is not a scalar");
  EXPECT_THAT(ReadText("a: !secret b\n").error, HasSubstr("the tag !secret is not supported"));
  for (const char* container : {"{b: c}", "[b]"}) {
    EXPECT_THAT(ReadText(std::string("a: !secret ") + container + "\n").error,
                HasSubstr("the tag !secret is not supported"));
  }
  EXPECT_EQ(ReadText("").error, "dump.yaml: is empty");
  EXPECT_EQ(ReadText("# nothing\n").error, "dump.yaml: is empty");
  EXPECT_EQ(ReadText("just words\n").error, "dump.yaml: document 1: is not a Kubernetes object");
  EXPECT_EQ(ReadText("kind: Namespace\nmetadata:\n  name: \"\xff\"\n").error,
            "dump.yaml: byte 35: is not UTF-8");
  EXPECT_THAT(ReadText("a: [\n").error, Not(HasSubstr("\n")));
}

TEST(ReadYamlTest, AListCutOffAnywhereIsAnError) {
  const std::string item = "- kind: Namespace\n  metadata:\n    name: \"ab\"\n";
  const std::string list = "apiVersion: v1\nitems:\n" + item + item + "kind: List\n";
  ASSERT_EQ(ReadText(list).error, "");
  // Cut anywhere up to the colon of its kind; behind it, "Lis" would be a valid kind.
  for (size_t size = 0; size < list.size() - std::string(" List\n").size() - 1; ++size) {
    ASSERT_NE(ReadText(std::string_view(list).substr(0, size)).error, "") << size;
  }
  EXPECT_EQ(ReadText(std::string_view(list).substr(0, list.find("kind: List"))).error,
            "dump.yaml: is truncated: a list has items but no kind behind them");
}

// Symptom: `ebb plan` did not return if two objects were separated by a comma.
TEST(ReadYamlTest, ATextThatCannotStartADocumentIsRejected) {
  for (const std::string_view text : {"{kind: Namespace, metadata: {name: a}}, {}\n", ",", "]", "}",
                                      "a: b\n---\n}\n", "{a: b} : c\n", "{} ]"}) {
    EXPECT_NE(ReadText(text).error, "") << text;
  }
}

TEST(ReadYamlTest, AWrongFieldIsNamedAsInJson) {
  EXPECT_EQ(ReadText("kind: Pod\nmetadata:\n  name: p\n  namespace: ns\nspec:\n  containers:\n"
                     "  - resources:\n      requests:\n        cpu: 4x\n")
                .error,
            "dump.yaml: Pod ns/p: spec.containers[0].resources.requests.cpu: \"4x\" is not a "
            "quantity");
}

// Three objects as ebb writes them.
std::string WrittenByEbb() {
  std::string yaml;
  ObjectWriter writer(ObjectFormat::kYamlDocuments, [&yaml](std::string_view bytes) {
    yaml += bytes;
    return absl::OkStatus();
  });
  for (const char* name : {"a", "b", "c"}) {
    objects::Namespace namespace_object;
    namespace_object.meta.name = name;
    EXPECT_TRUE(writer.OnNamespace(namespace_object).ok());
  }
  EXPECT_TRUE(writer.Finish().ok());
  return yaml;
}

// Symptom: the file of a killed writer was read as a smaller but complete cluster.
TEST(ReadYamlTest, OutputOfEbbIsRejectedIfTruncatedAtAnyPlace) {
  const std::string yaml = WrittenByEbb();
  ASSERT_EQ(ReadText(yaml).lines.size(), 3u) << ReadText(yaml).error;
  for (size_t size = 0; size + 1 < yaml.size(); ++size) {  // The last newline may be missing.
    EXPECT_NE(ReadText(yaml.substr(0, size)).error, "") << size;
  }
  EXPECT_EQ(ReadText(yaml.substr(0, yaml.rfind("..."))).error,
            "dump.yaml: is cut off: its last line, \"# End of ebb's objects\", is missing");
}

TEST(ReadYamlTest, OutputOfEbbMayBeJoinedWithOtherFilesAndEdited) {
  const std::string yaml = WrittenByEbb();
  const std::string other = "---\nkind: Namespace\nmetadata: {name: d}\n";
  EXPECT_EQ(ReadText(yaml + other).lines.size(), 4u);
  EXPECT_EQ(ReadText(other + "---\n" + yaml).lines.size(), 4u);
  EXPECT_EQ(ReadText(yaml + yaml).lines.size(), 6u);
  EXPECT_NE(ReadText(yaml + yaml.substr(0, yaml.rfind("..."))).error, "");
  std::string lines_of_windows;
  for (const char c : yaml) lines_of_windows += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(ReadText(lines_of_windows).lines.size(), 3u);
  EXPECT_EQ(ReadText(lines_of_windows.substr(0, lines_of_windows.rfind("..."))).lines.size(), 0u);
}

TEST(ReadYamlTest, AKindWithATrailingNewlineIsRejected) {
  EXPECT_THAT(ReadText("apiVersion: policy/v1\nkind: >\n  PodDisruptionBudget\n"
                       "metadata: {name: b}\n")
                  .error,
              HasSubstr("is not one of Kubernetes"));
}

TEST(ReadYamlTest, BytesAreCountedAsInTheFile) {
  const std::string yaml = "kind: Namespace\nmetadata: {name: a}\n";
  EXPECT_EQ(ReadText(yaml).stats.bytes, yaml.size());
}

TEST(ReadYamlTest, ControlCharactersOfEveryKindAreKept) {
  EXPECT_EQ(Labels("    a: \"\\x1f\\x10\\x0b\\x0f\\x7f\"\n"), " label=[a]:[\x1f\x10\x0b\x0f\x7f]");
}

TEST(ReadYamlTest, EachSpellingOfTrueAndFalseOfTheCoreSchemaIsOne) {
  const auto pod = [](const std::string& value) {
    const Read read =
        ReadText("kind: Pod\nmetadata: {name: p}\nspec: {hostUsers: " + value + "}\n");
    return read.lines.empty() ? read.error : read.lines[0];
  };
  for (const char* yes : {"true", "True", "TRUE", "!!bool true"}) {
    EXPECT_EQ(pod(yes), "Pod name=[p] namespace=[default] host_users=1") << yes;
  }
  for (const char* no : {"false", "False", "FALSE", "!!bool FALSE"}) {
    EXPECT_EQ(pod(no), "Pod name=[p] namespace=[default] host_users=0") << no;
  }
  for (const char* text : {"yes", "tRUE", "n"}) {
    EXPECT_EQ(pod(text), "dump.yaml: Pod p: spec.hostUsers: \"" + std::string(text) +
                             "\" is not true or false");
  }
}

TEST(ReadYamlTest, ATextThatResemblesANumberIsAText) {
  for (const char* text :
       {"0o8", "0xfg", "0x", "0o", "-0x1f", "0x11111111111111111", "1e", "1e+", "1.2.3"}) {
    EXPECT_EQ(Cpu(text), "dump.yaml: Node n: status.allocatable.cpu: \"" + std::string(text) +
                             "\" is not a quantity");
  }
  EXPECT_EQ(Cpu("0xff"), "Node name=[n] allocatable=[cpu]:255000");
  EXPECT_EQ(Cpu("0o17"), "Node name=[n] allocatable=[cpu]:15000");
}

TEST(ReadYamlTest, EachTagOfTheCoreSchemaIsAcceptedIfItFits) {
  EXPECT_EQ(Cpu("!!float 1e2"), "Node name=[n] allocatable=[cpu]:100000");
  EXPECT_EQ(Cpu("!!float 4"), "Node name=[n] allocatable=[cpu]:4000");
  EXPECT_EQ(Cpu("!!int -4"), "dump.yaml: Node n: status.allocatable.cpu: \"-4\" is negative");
  for (const char* null : {"!!null null", "!!null NULL", "!!null Null", "!!null ~"}) {
    EXPECT_EQ(Cpu(null), "Node name=[n]") << null;
  }
  const auto refused = [](const std::string& value, const std::string& type) {
    return "dump.yaml: line 3, column 29: is not YAML that can be read: \"" + value +
           "\" is not what its tag says, !!" + type;
  };
  EXPECT_EQ(Cpu("!!int 1e2"), refused("1e2", "int"));
  EXPECT_EQ(Cpu("!!int 1E2"), refused("1E2", "int"));
  EXPECT_EQ(Cpu("!!null Nil"), refused("Nil", "null"));
  EXPECT_EQ(Cpu("!!bool yes"), refused("yes", "bool"));
  EXPECT_EQ(ReadText("kind: Node\nmetadata: !!map {name: n}\nspec: {taints: !!seq []}\n").error,
            "");
}

TEST(ReadYamlTest, AKeyIsAScalarOfItsOwn) {
  const std::string start = "is not YAML that can be read: ";
  EXPECT_EQ(ReadText("~: b\n").error, "dump.yaml: line 1, column 1: " + start + "a key is null");
  EXPECT_EQ(ReadText("a: &x b\n*x : c\n").error,
            "dump.yaml: line 2, column 1: " + start + "a key is an alias");
}

TEST(ReadYamlTest, ADocumentThatIsNotAnObjectIsNamedByItsNumberOrCounted) {
  const std::string yaml =
      "kind: Namespace\nmetadata: {name: a}\n---\njust words\n---\nreplicas: 3\n";
  EXPECT_EQ(ReadText(yaml).error, "dump.yaml: document 2: is not a Kubernetes object");
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status read =
      ReadYaml("dump.yaml", yaml, sink, stats, Parallelism::One(), Strangers::kCounted);
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(stats.strangers, 2u);
  EXPECT_THAT(sink.lines(), ElementsAre("Namespace name=[a]"));
}

TEST(ReadYamlTest, BytesOfSeveralTextsAddUp) {
  const std::string yaml =
      "kind: Namespace\nmetadata: {name: a}\n---\nkind: Namespace\n"
      "metadata: {name: b}\n";
  testing::DumpSink sink;
  ImportStats stats;
  ASSERT_TRUE(ReadYaml("a", yaml, sink, stats).ok());
  ASSERT_TRUE(ReadYaml("b", yaml, sink, stats).ok());
  EXPECT_EQ(stats.bytes, 2 * yaml.size());
  EXPECT_EQ(stats.objects, 4u);
}

TEST(ReadYamlTest, OutputOfEbbWithoutObjectsIsComplete) {
  std::string yaml;
  ObjectWriter writer(ObjectFormat::kYamlDocuments, [&yaml](std::string_view bytes) {
    yaml += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(yaml,
            "# Objects written by ebb; the file is whole if it ends with \"# End of ebb's "
            "objects\".\n# End of ebb's objects\n");
  const Read read = ReadText(yaml);
  EXPECT_EQ(read.error, "");
  EXPECT_TRUE(read.lines.empty());
}

TEST(ReadYamlTest, OnlyAWholeLineMarksTheBeginningAndEndOfOutputOfEbb) {
  const std::string start(kYamlStart);
  const std::string end(kYamlEnd);
  const std::string object = "kind: Namespace\nmetadata: {name: n}";
  for (const std::string& text :
       {object + " " + start + "\n", start + " And more.\n" + object + "\n",
        start + "\n" + object + "\n" + end + "\n"}) {
    const Read read = ReadText(text);
    EXPECT_EQ(read.error, "") << text;
    EXPECT_THAT(read.lines, ElementsAre("Namespace name=[n]")) << text;
  }
  for (const std::string& no_end : {" " + end, end + ".", end + "\n" + start}) {
    EXPECT_EQ(ReadText(start + "\n" + object + "\n" + no_end + "\n").error,
              "dump.yaml: is cut off: its last line, \"# End of ebb's objects\", is missing")
        << no_end;
  }
}

TEST(ReadYamlTest, FieldsOfADocumentDoNotCarryOverToTheNext) {
  const std::string list = "apiVersion: v1\nitems:\n- kind: Namespace\n  metadata: {name: b}\n";
  EXPECT_EQ(ReadText("kind: Namespace\nmetadata: {name: a}\n---\n" + list).error,
            "dump.yaml: is truncated: a list has items but no kind behind them");
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status read = ReadYaml("dump.yaml", list + "kind: List\n---\nreplicas: 3\n", sink,
                                     stats, Parallelism::One(), Strangers::kCounted);
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(stats.strangers, 1u);
  EXPECT_EQ(stats.lists, 1u);
  EXPECT_THAT(sink.lines(), ElementsAre("Namespace name=[b]"));
}

TEST(OddCharacterTest, TheLineOfTheFirstIsReturned) {
  EXPECT_FALSE(FindOddCharacter("a: b\n# c\r\n\td: e"));
  const auto line = [](std::string_view yaml) {
    const std::optional<OddCharacter> odd = FindOddCharacter(yaml);
    return odd ? odd->line : 0;
  };
  EXPECT_EQ(line("a\n\nb\x01\nc\x02\n"), 3u);
  EXPECT_EQ(line("a\r"), 1u) << "no line feed behind it";
  EXPECT_EQ(line("a\n \t# \xe2\x80\xa8\n"), 2u);
  EXPECT_EQ(line("a # \xe2\x80\xa8\n"), 0u) << "not a line of its own";
  EXPECT_EQ(line("\x7f"), 1u);
}

TEST(OctalTest, AWholeNumberThatStartsWithAZeroIsOctalToSome) {
  for (const char* octal : {"00", "010", "-07", "+09"}) EXPECT_TRUE(IsOctalToSome(octal)) << octal;
  for (const char* other : {"", "0", "-0", "+", "10", "0.5", "01x", "--01", "x01"}) {
    EXPECT_FALSE(IsOctalToSome(other)) << other;
  }
}

}  // namespace
}  // namespace ebb::read_yaml_test
