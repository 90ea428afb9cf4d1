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

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/samples/generate.h"
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

// Passes every object on by itself, so that pods are not read as columns.
class ObjectsOneByOne final : public AnyObjectSink {
 public:
  explicit ObjectsOneByOne(ObjectSink& to) : to_(to) {}

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override { return Give(object, to_); }

 private:
  ObjectSink& to_;
};

enum class Pods : uint8_t { kAsColumns, kOneByOne };

// Everything that a cluster is loaded with: its state, pods, budgets and warnings.
std::string ClusterOf(std::string_view bytes, Pods pods) {
  LoadOptions options;
  options.allow_incomplete = true;
  InputCensus census(options.expendable_pods_priority_cutoff);
  ImportStats stats;
  ClusterLoader loader(options);
  ObjectsOneByOne one_by_one(loader);
  ObjectSink& to = pods == Pods::kAsColumns ? static_cast<ObjectSink&>(loader) : one_by_one;
  if (absl::Status s = census.Read("file", bytes, to, stats); !s.ok()) return s.ToString();
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return cluster.status().ToString();
  const absl::Status checked = CheckCompleteness(census, stats, options, *cluster);
  const Catalog& catalog = cluster->snapshot.catalog();
  std::string text = absl::StrCat(checked.ToString(), "\n", cluster->snapshot.Fingerprint(),
                                  "newest ", cluster->newest_time, " shapes ", catalog.pod_shapes(),
                                  " ", LeftOutText(cluster->counts), "\n",
                                  NoRoomText(cluster->counts), cluster->counts.first_unknown, "\n");
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    const PodInfo& pod = catalog.pod(PodId{p});
    absl::StrAppend(&text, catalog.PodName(PodId{p}), " ", Absl(catalog.Text(pod.key)), " ",
                    pod.creation_time, " ", Index(catalog.shape_id(PodId{p})), " ",
                    catalog.IsUnready(PodId{p}), " budgets");
    for (const PdbId budget : catalog.shape_of(PodId{p}).budgets) {
      absl::StrAppend(&text, " ", Absl(catalog.Text(catalog.pdbs()[Index(budget)].name)));
    }
    absl::StrAppend(&text, " ", catalog.shape_of(PodId{p}).not_understood, "\n");
  }
  for (const PodId pod : cluster->pending) absl::StrAppend(&text, "pending ", Index(pod), "\n");
  for (const InputWarning& each : cluster->warnings) {
    absl::StrAppend(&text, each.code, ": ", each.message, "\n");
  }
  return text;
}

void ExpectTheSameCluster(const std::string& name, std::string_view json) {
  const std::string binary = Binary(json);
  const std::string columns = ClusterOf(binary, Pods::kAsColumns);
  ASSERT_EQ(columns, ClusterOf(binary, Pods::kOneByOne)) << name;
  // A binary snapshot has neither lists that are not empty nor resource versions.
  std::string objects;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view part) {
    objects += part;
    return absl::OkStatus();
  });
  ImportStats stats;
  const absl::Status read = ReadBytes("file", binary, writer, stats);
  if (absl::IsUnimplemented(read)) return;  // A constraint that JSON cannot express.
  ASSERT_TRUE(read.ok() && writer.Finish().ok()) << name << read;
  ASSERT_EQ(columns, ClusterOf(objects, Pods::kOneByOne)) << name;
}

TEST_F(FormsTest, PodsAsColumnsAreTheSameCluster) {
  const int step = test::kSanitized ? 10 : 1;
  ForEachCase(step, [](const std::string& name, simdjson::dom::element objects, size_t) {
    ExpectTheSameCluster(name, simdjson::minify(objects));
  });
}

TEST(FormsOfGeneratedClustersTest, PodsAsColumnsAreTheSameCluster) {
  for (const samples::Kind& kind : samples::Kinds()) {
    for (const uint64_t seed : {1, 2}) {
      std::string json;
      ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view part) {
        json += part;
        return absl::OkStatus();
      });
      ASSERT_TRUE(samples::GenerateDump(kind, {.nodes = 60, .seed = seed}, writer).ok());
      ASSERT_TRUE(writer.Finish().ok());
      ExpectTheSameCluster(std::string(kind.name), json);
    }
  }
}

}  // namespace
}  // namespace ebb::forms_test
