// Reading with several threads must give the sink the same calls, the same error, and a snapshot
// with the same bytes.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/samples/generate.h"
#include "tests/support/dump_sink.h"
#include "tests/support/random_seed.h"
#include "tests/support/sanitized.h"

namespace ebb::read_threads_test {
namespace {

using test::Dice;

// Large enough that a list is read by several threads.
constexpr uint32_t kNodes = 150;
constexpr size_t kParallelBytes = 768 * 1024;

std::string CompanyJson(uint64_t seed) {
  std::string json;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    json.append(bytes);
    return absl::OkStatus();
  });
  EXPECT_TRUE(samples::GenerateCompany({.nodes = kNodes, .seed = seed}, writer).ok());
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_GT(json.size(), kParallelBytes);
  return json;
}

struct Seen {
  std::string error;
  std::vector<std::string> lines;
  std::vector<std::string> ignored;
  uint64_t objects = 0;
  std::map<std::string, uint64_t, std::less<>> counted;

  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen Read(std::string_view json, size_t threads) {
  const Parallelism parallelism(threads);
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status status = ReadJson("dump.json", json, false, sink, stats, parallelism);
  return {status.ToString(), sink.lines(), sink.ignored(), stats.objects, stats.ignored};
}

// Changes a random place of a text, in one of several ways; most of them cause an error.
void Damage(Dice& dice, std::string& json) {
  const auto at = [&] { return static_cast<size_t>(dice.Below(static_cast<int>(json.size()))); };
  const auto item = [&] { return json.find("\n{", at()); };
  const auto insert = [&](std::string_view text) {
    if (const size_t place = item(); place != std::string::npos) json.insert(place + 1, text);
  };
  switch (dice.Below(9)) {
    case 0:
      json.resize(at());
      break;
    case 1:
      json[at()] = "{}[]\",:x\\\xff"[dice.Below(10)];
      break;
    case 2:
      insert(R"({"kind":"ConfigMap","metadata":{"name":"c"}},)");
      break;
    case 3:
      insert(R"({"metadata":{"name":"no-kind"}},)");
      break;
    case 4:
      insert(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":5}},)");
      break;
    case 5:
      insert(R"({"kind":"Namespace","metadata":{"name":"caf\u00e9","labels":{"a\"b":"\n"}}},)");
      break;
    case 6:
      insert(R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"gravity":"\u0031"}},)");
      break;
    case 7:
      insert("7,");
      break;
    default:
      insert("{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\",\"annotations\":{\"a\":\"" +
             std::string(at() / 4, 'x') + "\"}}},");
      break;
  }
}

TEST(ReadThreadsTest, TheSinkReceivesTheSameAtAnyNumberOfThreads) {
  const uint64_t seed = test::RandomSeed();
  size_t errors = 0;
  constexpr uint64_t kRounds = test::kSanitized ? 10 : 24;
  for (uint64_t round = 0; round < kRounds; ++round) {
    Dice dice(seed * 1000 + round);
    std::string json = CompanyJson(seed + round % 4);
    for (int damages = dice.Below(4); damages > 0; --damages) Damage(dice, json);
    const Seen one = Read(json, 1);
    errors += one.error == "OK" ? 0 : 1;
    for (const size_t threads : {2, 8}) {
      const Seen many = Read(json, threads);
      EXPECT_EQ(many.error, one.error) << "round " << round;
      ASSERT_TRUE(many == one) << "round " << round << ", " << threads << " threads";
    }
  }
  EXPECT_GT(errors, 0u);
  EXPECT_LT(errors, kRounds);
}

TEST(ReadThreadsTest, ASnapshotHasTheSameBytesAtAnyNumberOfThreads) {
  const std::string json = CompanyJson(test::RandomSeed());
  std::string first;
  std::string first_state;
  for (const size_t threads : {1, 2, 8}) {
    const Parallelism parallelism(threads);
    std::string bytes;
    BinarySnapshotWriter writer([&](std::string_view part) {
      bytes.append(part);
      return absl::OkStatus();
    });
    ImportStats stats;
    ASSERT_TRUE(ReadBytes("dump", json, writer, stats, parallelism).ok());
    ASSERT_TRUE(writer.Finish().ok());
    ClusterLoader loader;
    ASSERT_TRUE(ReadBytes("dump", json, loader, stats, parallelism).ok());
    const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
    ASSERT_TRUE(cluster.ok());
    const std::string state = cluster->snapshot.Fingerprint();
    if (threads == 1) {
      first = bytes;
      first_state = state;
    }
    EXPECT_TRUE(bytes == first) << threads;
    EXPECT_TRUE(state == first_state) << threads;
  }
}

TEST(ReadThreadsTest, ItemsBeforeTheKindOfTheirListAreReadByThatKind) {
  std::string json = R"({"items":[)";
  for (int i = 0; json.size() < 2 * kParallelBytes; ++i) {
    if (i > 0) json += ",";
    json += R"({"metadata":{"name":"node-)" + std::to_string(i) + R"("},"spec":{}})";
  }
  json += R"(],"kind":"NodeList","apiVersion":"v1"})";
  const Seen one = Read(json, 1);
  EXPECT_EQ(one.error, "OK");
  EXPECT_GT(one.lines.size(), 1000u);
  EXPECT_TRUE(Read(json, 2) == one);
  EXPECT_TRUE(Read(json, 8) == one);
}

// Rejects the pod with this name.
class RefusingSink : public testing::DumpSink {
 public:
  explicit RefusingSink(std::string_view name) : name_(name) {}
  absl::Status OnPod(const objects::Pod& pod) override {
    if (pod.meta.name == name_) return absl::AlreadyExistsError("no more");
    return DumpSink::OnPod(pod);
  }

 private:
  const std::string_view name_;
};

TEST(ReadThreadsTest, ASinkThatRefusesIsNotCalledAgain) {
  std::string json = "[";
  for (int i = 0; json.size() < 2 * kParallelBytes; ++i) {
    if (i > 0) json += ",";
    json += R"({"kind":"Pod","metadata":{"name":"p)" + std::to_string(i) + "\"}}";
  }
  json += "]";
  for (const size_t threads : {1, 2, 8}) {
    RefusingSink sink("p5000");
    ImportStats stats;
    const absl::Status status = ReadJson("d", json, false, sink, stats, Parallelism(threads));
    EXPECT_EQ(status.message(), "d: Pod default/p5000: no more");
    EXPECT_EQ(sink.lines().size(), 5000u);
  }
}

// The last objects end within kJsonPadding bytes of the end.  The address sanitizer sees what is
// read behind the exact block of memory.
TEST(ReadThreadsTest, NothingIsReadBehindATextWithoutPadding) {
  for (const size_t bytes : {size_t{0}, 2 * kParallelBytes}) {
    std::string json = R"({"kind":"PodList","items":[)";
    for (int i = 0; json.size() < bytes; ++i) {
      json += R"({"metadata":{"name":"p)" + std::to_string(i) + R"("}},)";
    }
    json += R"({"metadata":{"name":"y"}},{"metadata":{"name":"z"}}]})";
    const std::vector<char> exact(json.begin(), json.end());
    const std::string padded = json + std::string(kJsonPadding, '"');
    for (const size_t threads : {1, 2}) {
      const Seen seen = Read({exact.data(), exact.size()}, threads);
      EXPECT_EQ(seen, Read(std::string_view(padded).substr(0, json.size()), threads));
      EXPECT_EQ(seen.error, "OK");
      EXPECT_EQ(seen.lines.size(), seen.objects);
      EXPECT_GE(seen.objects, 2u);
    }
  }
}

// Records what OnList receives for each list, as "KIND ITEMS;".
class ListSink : public testing::DumpSink {
 public:
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    reported.append(kind).append(" ").append(std::to_string(items)).append(";");
    return absl::OkStatus();
  }
  std::string reported;
};

TEST(ReadThreadsTest, HowManyItemsAListHasIsTheSameAtAnyNumberOfThreads) {
  std::string json = R"({"apiVersion":"v1","kind":"List","items":[)"
                     R"({"kind":"PodList","apiVersion":"v1","items":[]})";
  size_t nodes = 0;
  for (; json.size() < 2 * kParallelBytes; ++nodes) {
    json += R"(,{"kind":"Node","metadata":{"name":"node-)" + std::to_string(nodes) + "\"}}";
  }
  json += "]}";
  for (const size_t threads : {1, 2, 8}) {
    ListSink sink;
    ImportStats stats;
    const absl::Status status = ReadJson("d", json, false, sink, stats, Parallelism(threads));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(sink.reported, "Pod 0; " + std::to_string(nodes + 1) + ";") << threads;
    EXPECT_EQ(sink.lines().size(), nodes) << threads;
    EXPECT_EQ(stats.objects, nodes) << threads;
    EXPECT_EQ(stats.lists, 2u) << threads;
  }
}

}  // namespace
}  // namespace ebb::read_threads_test
