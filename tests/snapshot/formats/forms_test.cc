// A cluster must be the same in every form that ebb reads.  The objects are those of the golden
// cases, which together use nearly every field.

#include <gtest/gtest.h>
#include <simdjson.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "tests/support/dump_sink.h"
#include "tests/support/sanitized.h"
#include "tests/support/source_dir.h"

namespace ebb::forms_test {
namespace {

// Extracts a .tar.gz, which consists of blocks of 512 bytes with a header before each file.
std::vector<std::pair<std::string, std::string>> Untar(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> files;
  const gzFile archive = gzopen(path.c_str(), "rb");
  if (archive == nullptr) return files;
  char header[512];
  while (gzread(archive, header, sizeof(header)) == sizeof(header) && header[0] != '\0') {
    const size_t size = std::strtoul(std::string(header + 124, 12).c_str(), nullptr, 8);
    std::string content((size + 511) / 512 * 512, '\0');
    if (gzread(archive, content.data(), static_cast<unsigned>(content.size())) !=
        static_cast<int>(content.size())) {
      break;
    }
    content.resize(size);
    if (header[156] == '0') files.emplace_back(header, std::move(content));
  }
  gzclose(archive);
  return files;
}

// Writes JSON as block YAML.  Every text and key is in double quotes, for which YAML and JSON have
// the same escapes.
void AppendYaml(simdjson::dom::element element, int indent, std::string& yaml) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  if (simdjson::dom::array array; !element.get(array)) {
    if (array.size() == 0) {
      yaml += " []\n";
      return;
    }
    yaml += '\n';
    for (const simdjson::dom::element each : array) {
      yaml += margin + "-";
      AppendYaml(each, indent + 2, yaml);
    }
  } else if (simdjson::dom::object object; !element.get(object)) {
    if (object.size() == 0) {
      yaml += " {}\n";
      return;
    }
    yaml += '\n';
    for (const auto& [key, value] : object) {
      yaml += margin + "\"" + std::string(key) + "\":";
      AppendYaml(value, indent + 2, yaml);
    }
  } else {
    yaml += " " + simdjson::minify(element) + "\n";
  }
}

// {"b":1,"a":2} becomes {"a":2,"b":1}, at every level except in lists of strings, whose order may
// be significant.  The order of members must not change what a decision reads of an object.
std::string Reversed(simdjson::dom::element element) {
  if (simdjson::dom::array array; !element.get(array)) {
    std::string json;
    for (const simdjson::dom::element each : array)
      json += (json.empty() ? "" : ",") + Reversed(each);
    return "[" + json + "]";
  }
  if (simdjson::dom::object object; !element.get(object)) {
    std::string json;
    for (const auto& [key, value] : object) {
      json = "\"" + std::string(key) + "\":" + Reversed(value) + (json.empty() ? "" : ",") + json;
    }
    return "{" + json + "}";
  }
  return simdjson::minify(element);
}

std::vector<std::string> LinesOf(std::string_view text) {
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status status = ReadBytes("cluster", text, sink, stats);
  EXPECT_TRUE(status.ok()) << status;
  return sink.lines();
}

std::string Binary(std::string_view text) {
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  ImportStats stats;
  EXPECT_TRUE(ReadBytes("cluster", text, writer, stats).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return out;
}

class FormsTest : public ::testing::Test {
 protected:
  // Calls check(name, objects of the case, number of objects) for every `step`-th golden case.
  template <typename Check>
  void ForEachCase(int step, Check check) {
    const auto files = Untar(SourceDir() + "/tests/golden/wild.tar.gz");
    ASSERT_EQ(files.size(), 200u);
    int index = 0;
    for (const auto& [name, content] : files) {
      if (index++ % step != 0) continue;
      simdjson::dom::parser parser;
      simdjson::dom::element golden;
      simdjson::dom::array objects;
      ASSERT_FALSE(parser.parse(content).get(golden)) << name;
      ASSERT_FALSE(golden["objects"].get(objects)) << name;
      check(name, golden["objects"].value(), objects.size());
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(FormsTest, JsonYamlAndSnapshotAreTheSameCluster) {
  const int step = test::kSanitized ? 5 : 1;
  ForEachCase(step, [](const std::string& name, simdjson::dom::element objects, size_t count) {
    const std::string items = simdjson::minify(objects);
    const std::vector<std::string> lines = LinesOf(items);
    ASSERT_EQ(lines.size(), count) << name;
    ASSERT_EQ(LinesOf("{\"apiVersion\":\"v1\",\"items\":" + items + ",\"kind\":\"List\"}"), lines)
        << name;
    std::string yaml = "apiVersion: v1\nitems:";
    AppendYaml(objects, 0, yaml);
    ASSERT_EQ(LinesOf(yaml + "kind: List\n"), lines) << name;
    ASSERT_EQ(LinesOf(Binary(items)), lines) << name;
  });
}

TEST_F(FormsTest, TheOrderOfMembersAndBlanksDoesNotMatter) {
  const int step = test::kSanitized ? 25 : 5;  // Every case would take too long.
  ForEachCase(step, [](const std::string& name, simdjson::dom::element objects, size_t) {
    const std::string reversed = Reversed(objects);
    simdjson::dom::parser parser;
    // Reversed twice, the order is the first one again.  On the way kinds and names come last,
    // which makes the reader use its slow paths.
    const std::string again = Reversed(parser.parse(reversed).value());
    ASSERT_EQ(LinesOf(again), LinesOf(simdjson::minify(objects))) << name;
    ASSERT_EQ(LinesOf(reversed).size(), LinesOf(again).size()) << name;
    std::string spaced;
    bool in_string = false;
    for (size_t i = 0; i < again.size(); ++i) {
      if (again[i] == '"' && (i == 0 || again[i - 1] != '\\')) in_string = !in_string;
      spaced += again[i];
      if (!in_string && std::strchr("{}[],:", again[i]) != nullptr) spaced += "\n\t  ";
    }
    ASSERT_EQ(LinesOf(spaced), LinesOf(again)) << name;
  });
}

}  // namespace
}  // namespace ebb::forms_test
