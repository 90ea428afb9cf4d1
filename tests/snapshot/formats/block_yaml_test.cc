#include "snapshot/formats/block_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/formats/yaml_documents.h"
#include "tests/support/random_seed.h"

namespace ebb::block_yaml_test {
namespace {

using ::testing::ElementsAre;

using Json = nlohmann::ordered_json;

// The documents that BlockYaml reads, and "?" for the first one that it does not know.
std::vector<std::string> Known(std::string_view yaml) {
  std::vector<std::string> documents;
  BlockYaml reader(yaml);
  while (true) {
    switch (reader.Next()) {
      case BlockYaml::Step::kDocument:
        documents.push_back(reader.json());
        break;
      case BlockYaml::Step::kUnknown:
        documents.emplace_back("?");
        return documents;
      case BlockYaml::Step::kEnd:
        return documents;
    }
  }
}

// What a reader finds, one line for each document, and the error.
std::string Found(std::string_view yaml, YamlReaders readers) {
  std::string found;
  const absl::Status status =
      VisitYamlDocuments("t.yaml", yaml, readers, [&found](const YamlDocument& document) {
        found += std::to_string(document.index) + (document.lists_without_kind ? " cut " : " ");
        found.append(document.json).append("\n");
        return absl::OkStatus();
      });
  return found + std::string(status.message());
}

// Whether the text may be given to the readers at all.
bool IsReadable(std::string_view yaml) {
  return FirstInvalidUtf8(yaml) == yaml.size() && !FindOddCharacter(yaml).has_value();
}

// The library is the twin.
void ExpectSameAsLibrary(std::string_view yaml) {
  ASSERT_EQ(Found(yaml, YamlReaders::kBoth), Found(yaml, YamlReaders::kLibrary))
      << "for this text:\n"
      << yaml << "<end>";
}

TEST(BlockYamlTest, WhatKubectlPrintsIsKnown) {
  const std::string yaml = R"(apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      empty: ""
      json: |
        {"a": "b"}

        second
      kept: |+
        a

      stripped: |2-
          indented
        not
      quoted: 'it''s: "x"'
    creationTimestamp: "2026-01-01T00:00:00Z"
    managedFields:
    - fieldsV1:
        f:metadata:
          .: {}
          'k:{"type":"Ready"}':
            f:x: {}
  spec:
    containers:
    - args:
      - --level=2
      - -v
      - "8080"
      - long text that was broken
        into two
      - - nested
        - list
      image: registry/app:1.2@sha256:00ff
    nodeName: n1
    priority: -7
    hostNetwork: true
    ratio: 1.50
    nothing: null
    volumes: []
  status:
    message: 'text of several
      lines:

      and a blank one'
    other: "tab\tquote\" \u00e9\
      \ more"
kind: List
metadata:
  resourceVersion: ""
)";
  EXPECT_THAT(
      Known(yaml),
      ElementsAre(
          R"({"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":)"
          R"({"empty":"","json":"{\"a\": \"b\"}\u000a\u000asecond\u000a","kept":"a\u000a\u000a",)"
          R"("stripped":"  indented\u000anot","quoted":"it's: \"x\""},)"
          R"("creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"fieldsV1":{"f:metadata":)"
          R"({".":{},"k:{\"type\":\"Ready\"}":{"f:x":{}}}}}]},"spec":{"containers":[{"args":)"
          R"(["--level=2","-v","8080","long text that was broken into two",["nested","list"]],)"
          R"("image":"registry/app:1.2@sha256:00ff"}],"nodeName":"n1","priority":-7,)"
          R"("hostNetwork":true,"ratio":1.50,"nothing":null,"volumes":[]},"status":{"message":)"
          R"("text of several lines:\u000aand a blank one","other":"tab\u0009quote\" é more"}}],)"
          R"("kind":"List","metadata":{"resourceVersion":""}})"));
  ExpectSameAsLibrary(yaml);
}

TEST(BlockYamlTest, DocumentsCommentsAndLineEndsOfWindowsAreKnown) {
  const std::string yaml =
      "# a comment\n---\na: 1 # one\n# between\n\nb:\n  # deeper\n  - x\n...\n---\n---\n- y\n";
  const auto same = ElementsAre(R"({"a":1,"b":["x"]})", "null", R"(["y"])");
  EXPECT_THAT(Known(yaml), same);
  std::string windows = "\xef\xbb\xbf";
  for (const char c : yaml) windows += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_THAT(Known(windows), same);
  ExpectSameAsLibrary(yaml);
  ExpectSameAsLibrary(windows);
  EXPECT_THAT(Known(""), ElementsAre());
  EXPECT_THAT(Known("# nothing\n"), ElementsAre());
  EXPECT_THAT(Known("---\n"), ElementsAre("null"));
}

TEST(BlockYamlTest, OtherYamlIsLeftToTheLibrary) {
  for (const std::string_view yaml :
       {"a: {b: c}\n",      "a: [b]\n",         "{a: b}\n",      "a: >\n  folded\n",
        "a: &x b\n",        "a: *x\n",          "a: !!str b\n",  "%YAML 1.2\n---\na: b\n",
        "? a\n: b\n",       "a:\tb\n",          "\ta: b\n",      "a: b",
        "a: b\na: c\n",     "a: 010\n",         "a: b: c\n",     "a:\n  b\n",
        "a: b\n  c: d\n",   "text\n",           "a: b\n c: d\n", "~: a\n",
        "<<: a\n",          "a: \"x\n",         "a: \"\\q\"\n",  "a: \"\\ud800\"\n",
        "a: b\n- c\n",      "--- a\n",          "a : b\n",       "a: @x\n",
        "a: \"x\n\n  \"\n", "a: |\n \tx\n\ty\n"}) {
    EXPECT_THAT(Known(yaml), ElementsAre("?")) << yaml;
    ExpectSameAsLibrary(yaml);
  }
}

// Symptom that this prevents: a document of one flow map would make ebb forget what it read before.
TEST(BlockYamlTest, TheLibraryContinuesAtTheDocumentThatIsUnknown) {
  const std::string yaml = "a: 1\n---\nb: 2\n...\n# c\nc: {d: 3}\n---\ne: 4\n";
  EXPECT_THAT(Known(yaml), ElementsAre(R"({"a":1})", R"({"b":2})", "?"));
  EXPECT_EQ(Found(yaml, YamlReaders::kBoth),
            "1 {\"a\":1}\n2 {\"b\":2}\n3 {\"c\":{\"d\":3}}\n4 {\"e\":4}\n");
  ExpectSameAsLibrary(yaml);
  ExpectSameAsLibrary("a: 1\n---\nb: 2\n---\nc: [\n");
  ExpectSameAsLibrary("a: 1\n---\nb: 2\n---\n@\n");
}

TEST(BlockYamlTest, DeepNestingAndLongKeysAreLeftToTheLibrary) {
  for (const int depth : {99, 101, 499, 600}) {
    std::string maps;
    for (int i = 0; i < depth; ++i) maps += std::string(static_cast<size_t>(i), ' ') + "a:\n";
    ExpectSameAsLibrary(maps);
    std::string lists;
    for (int i = 0; i < depth; ++i) lists += "- ";
    ExpectSameAsLibrary(lists + "a\n");
    ExpectSameAsLibrary("a:\n" + lists + "a: b\n");
  }
  for (const size_t size : {999u, 1001u, 1023u, 1024u, 1025u, 2000u}) {
    ExpectSameAsLibrary(std::string(size, 'k') + ": v\n");
    ExpectSameAsLibrary("\"" + std::string(size, 'k') + "\": v\n");
  }
}

TEST(BlockYamlTest, AKeyIsFoundTwiceInAnyOrder) {
  std::string unsorted;
  for (int i = 300; i > 0; --i) unsorted += "k" + std::to_string(i) + ": v\n";
  ExpectSameAsLibrary(unsorted);
  ExpectSameAsLibrary(unsorted + "k7: v\n");
  ExpectSameAsLibrary("b: 1\na: 2\nb: 3\n");
  ExpectSameAsLibrary("a: 1\nb: 2\n\"a\": 3\n");
  EXPECT_THAT(Known("b: 1\na: 2\nc:\n  a: 1\n  b: 2\n"),
              ElementsAre(R"({"b":1,"a":2,"c":{"a":1,"b":2}})"));
}

// --- random texts

class RandomYaml {
 public:
  explicit RandomYaml(uint64_t seed) : random_(seed) {}

  size_t Below(size_t limit) { return random_() % limit; }

  template <size_t N>
  std::string_view Of(const std::array<std::string_view, N>& texts) {
    return texts[Below(N)];
  }

  // Text in the style of kubectl, always known.
  std::string Regular() {
    std::string yaml;
    for (size_t documents = 1 + Below(3); documents > 0; --documents) {
      if (Below(2) == 0) yaml += "---\n";
      if (Below(4) == 0) yaml += "# comment\n\n";
      Block(0, 0, yaml);
      if (documents > 1) yaml += Below(3) == 0 ? "...\n" : "---\n";
    }
    return yaml;
  }

  // Lines of pieces that mean something to YAML.
  std::string Soup() {
    std::string yaml;
    for (size_t lines = 1 + Below(8); lines > 0; --lines) {
      yaml.append(Below(5) == 0 ? Below(9) : 2 * Below(3), ' ');
      if (Below(2) == 0) {
        yaml.append("k").append(std::to_string(Below(99))).append(": ").append(Of(kScalars));
      }
      for (size_t pieces = Below(4); pieces > 0; --pieces) yaml += Of(kPieces);
      yaml += Below(30) == 0 ? "\r\n" : "\n";
    }
    return yaml;
  }

  // A few random edits.
  void Damage(std::string& yaml) {
    for (size_t edits = 1 + Below(3); edits > 0 && !yaml.empty(); --edits) {
      const size_t at = Below(yaml.size());
      switch (Below(4)) {
        case 0:
          yaml.erase(at, 1 + Below(3));
          break;
        case 1:
          yaml.insert(at, Of(kPieces));
          break;
        case 2:
          yaml.insert(at, 1 + Below(3), ' ');
          break;
        default:
          yaml.insert(at, yaml.substr(Below(yaml.size()), Below(20)));
          break;
      }
    }
  }

 private:
  static constexpr auto kPieces = std::to_array<std::string_view>(
      {"a",         "b",     "key",     ": ",       ":",
       "- ",        "-",     "#",       " #",       " ",
       "  ",        "\n",    "\n\n",    "\"",       "'",
       "''",        "\\",    "\\n",     "|",        "|-",
       "|+",        "|2",    ">",       "{}",       "[]",
       "{",         "}",     "[",       "]",        "&x ",
       "*x",        "!",     "? ",      "%",        "---",
       "---\n",     "...",   "...\n",   "~",        "null",
       "true",      "False", "010",     "1e3",      ".5",
       "+1",        "0x1f",  "\t",      "\xc3\xa9", "\xef\xbb\xbf",
       "<<",        "kind",  "items",   "\\\n",     "a: b",
       "- a\n",     "a:\n",  "\"a\": ", "'a': ",    "apiVersion: v1\n",
       "kind: b\n", ",",     "@"});
  static constexpr auto kKeys = std::to_array<std::string_view>(
      {"a", "name", "f:x", ".", "kubernetes.io/os", "\"q\"", "'k:{\"a\":\"b\"}'", "items", "kind",
       "0", "true", "a b", "\xc3\xa9", "-x", "apiVersion"});
  static constexpr auto kScalars = std::to_array<std::string_view>({"text",
                                                                    "",
                                                                    "1",
                                                                    "-7",
                                                                    "1.50",
                                                                    "true",
                                                                    "null",
                                                                    "~",
                                                                    "{}",
                                                                    "[]",
                                                                    "\"quoted\"",
                                                                    "'it''s'",
                                                                    "\"tab\\t\\u00e9\\x41\\n\"",
                                                                    "a#b",
                                                                    "a:b",
                                                                    "8Mi",
                                                                    "--flag=x",
                                                                    "long text",
                                                                    "\"\"",
                                                                    "''",
                                                                    "0x1f",
                                                                    "+5",
                                                                    ".5",
                                                                    "1e3",
                                                                    "\"a \"",
                                                                    "' b'",
                                                                    "\xc3\xa9",
                                                                    "a \\ b",
                                                                    "say \"x\"",
                                                                    "\"# no\"",
                                                                    "0"});

  void Block(size_t depth, size_t column, std::string& yaml) {
    if (Below(3) == 0) {
      for (size_t items = 1 + Below(3); items > 0; --items) {
        yaml.append(column, ' ').append("-");
        if (depth < 4 && Below(3) == 0) {
          Inline(depth + 1, column + 2, yaml);
        } else {
          ScalarAfter(column, yaml);
        }
      }
      return;
    }
    std::vector<std::string_view> used;
    for (size_t members = 1 + Below(4); members > 0; --members) {
      const std::string_view key = Of(kKeys);
      if (std::ranges::find(used, key) != used.end()) continue;
      used.push_back(key);
      yaml.append(column, ' ').append(key).append(":");
      if (depth < 4 && Below(3) == 0) {
        yaml += Below(8) == 0 ? " # comment\n" : "\n";
        Block(depth + 1, column + 2, yaml);
      } else {
        ScalarAfter(column, yaml);
      }
    }
  }

  // A block that starts on the line of its dash.
  void Inline(size_t depth, size_t column, std::string& yaml) {
    std::string block;
    Block(depth, column, block);
    yaml += " " + block.substr(column);
  }

  void ScalarAfter(size_t column, std::string& yaml) {
    const std::string indent(column + 2, ' ');
    switch (Below(8)) {
      case 0:
        yaml.append(" |").append(Below(2) == 0 ? "" : Below(2) == 0 ? "-" : "+");
        yaml += "\n" + indent + "line\n" + (Below(2) == 0 ? "\n" : "") + indent + "  more\n";
        if (Below(3) == 0) yaml += "\n";
        return;
      case 1:
        yaml += " folded text\n" + indent + "goes on\n";
        if (Below(3) == 0) yaml += "\n" + indent + "after a blank line\n";
        return;
      case 2:
        yaml += " \"folded\n" + indent + "text\\n\\\n" + indent + "\\ end\"\n";
        return;
      case 3:
        yaml += " 'folded ''\n\n" + indent + "text'\n";
        return;
      default:
        break;
    }
    const std::string_view scalar = Of(kScalars);
    yaml.append(scalar.empty() ? "" : " ").append(scalar);
    yaml += Below(8) == 0 ? " # comment\n" : "\n";
  }

  std::mt19937_64 random_;
};

TEST(BlockYamlTest, RegularTextsOfEveryKindAreKnownAndReadAsByTheLibrary) {
  RandomYaml random(test::RandomSeed());
  for (int i = 0; i < 1'000; ++i) {
    const std::string yaml = random.Regular();
    ASSERT_THAT(Known(yaml), ::testing::Not(::testing::Contains("?"))) << yaml;
    ASSERT_NO_FATAL_FAILURE(ExpectSameAsLibrary(yaml));
  }
}

TEST(BlockYamlTest, DamagedTextsAreReadAsByTheLibrary) {
  RandomYaml random(test::RandomSeed());
  for (int i = 0; i < 3'000; ++i) {
    std::string yaml = random.Regular();
    random.Damage(yaml);
    if (IsReadable(yaml)) {
      ASSERT_NO_FATAL_FAILURE(ExpectSameAsLibrary(yaml));
    }
  }
}

TEST(BlockYamlTest, RandomLinesAreReadAsByTheLibrary) {
  RandomYaml random(test::RandomSeed());
  size_t known = 0;
  for (int i = 0; i < 6'000; ++i) {
    const std::string yaml = random.Soup();
    if (!IsReadable(yaml)) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectSameAsLibrary(yaml));
    const std::vector<std::string> documents = Known(yaml);
    known += !documents.empty() && documents.back() != "?" ? 1 : 0;
  }
  EXPECT_GT(known, 300u) << "the texts are no test of BlockYaml";
}

// What ebb writes is known: `ebb gen -o x.yaml` and `ebb plan` on it.
TEST(BlockYamlTest, WhatEbbWritesIsKnown) {
  const Json value = Json::parse(
      R"({"kind":"Pod","n":1.5,"e":{},"l":[[1,[]],{"a":"x: y","b":" é\n\t\u0001"}],"0":null})");
  EXPECT_THAT(Known(Yaml(value)), ElementsAre(::testing::_));
  ExpectSameAsLibrary(Yaml(value));
}

}  // namespace
}  // namespace ebb::block_yaml_test
