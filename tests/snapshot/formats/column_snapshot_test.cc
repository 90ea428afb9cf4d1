#include "snapshot/formats/column_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/object_ref.h"
#include "tests/support/dump_sink.h"
#include "tests/support/every_field.h"
#include "tests/support/source_dir.h"

namespace ebb::column_snapshot_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Written(const std::vector<objects::Pod>& pods) {
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  for (const objects::Pod& pod : pods) EXPECT_TRUE(writer.OnPod(pod).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return out;
}

objects::Pod PodOf(std::string_view name, std::string_view node = "") {
  objects::Pod pod;
  pod.meta.name = name;
  pod.meta.namespace_name = "ns";
  pod.node_name = node;
  pod.containers.emplace_back().name = "main";
  return pod;
}

std::vector<std::string> LinesOf(const std::vector<objects::Pod>& pods) {
  testing::DumpSink sink;
  for (const objects::Pod& pod : pods) EXPECT_TRUE(sink.OnPod(pod).ok());
  return sink.lines();
}

std::vector<std::string> LinesOf(std::string_view bytes) {
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status read = ReadBytes("file", bytes, sink, stats);
  EXPECT_TRUE(read.ok()) << read;
  return sink.lines();
}

// Records what a sink of columns receives.
class ColumnSink final : public testing::DumpSink {
 public:
  [[nodiscard]] bool TakesPodColumns() const override { return true; }
  absl::Status OnTexts(const TextTable& texts) override {
    texts_ = texts;
    return absl::OkStatus();
  }
  absl::Status OnPodPattern(const objects::Pod& first, uint64_t pods) override {
    calls.push_back(absl::StrCat("pattern ", Absl(first.meta.name), " x", pods));
    return absl::OkStatus();
  }
  absl::Status OnPods(const PodColumns& pods) override {
    std::string call = "pods";
    for (size_t i = 0; i < pods.size(); ++i) {
      absl::StrAppend(&call, " ", pods.pattern[i], ":", Absl(texts_[pods.name[i]]), "@",
                      Absl(texts_[pods.node_name[i]]));
    }
    calls.push_back(std::move(call));
    return absl::OkStatus();
  }
  absl::Status OnNamespace(const objects::Namespace& object) override {
    calls.push_back(absl::StrCat("namespace ", Absl(object.meta.name)));
    return absl::OkStatus();
  }
  std::vector<std::string> calls;

 private:
  TextTable texts_;
};

TEST(ColumnSnapshotTest, PatternsAreGivenOnceAndBeforeTheirPods) {
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  objects::Namespace between;
  between.meta.name = "ns";
  ASSERT_TRUE(writer.OnPod(PodOf("a", "n")).ok());
  ASSERT_TRUE(writer.OnPod(PodOf("b", "m")).ok());
  ASSERT_TRUE(writer.OnPod(PodOf("waits")).ok());
  ASSERT_TRUE(writer.OnNamespace(between).ok());
  ASSERT_TRUE(writer.OnPod(PodOf("c", "n")).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ColumnSink sink;
  ImportStats stats;
  ASSERT_TRUE(ReadBytes("file", out, sink, stats).ok());
  EXPECT_THAT(sink.calls, ElementsAre("pattern a x3", "pattern waits x1",
                                      "pods 0:a@n 0:b@m 1:waits@", "namespace ns", "pods 0:c@n"));
  EXPECT_EQ(stats.objects, 5u);
}

// As the API server gives a volume with a random name to nearly every pod.
TEST(ColumnSnapshotTest, NamesOfVolumesWithDataDoNotMakeAPattern) {
  std::vector<objects::Pod> pods;
  for (const std::string_view name : {"a", "b", "c"}) {
    objects::Pod& pod = pods.emplace_back(PodOf(name, "n"));
    for (const std::string_view source : {"projected", "emptyDir", "secret"}) {
      objects::Volume& volume = pod.volumes.emplace_back();
      volume.source = source;
      volume.name = source == "emptyDir" ? "cache" : name;
    }
  }
  pods[1].volumes[2].name = "";
  const std::string bytes = Written(pods);
  EXPECT_EQ(LinesOf(bytes), LinesOf(pods));
  ColumnSink sink;
  ImportStats stats;
  ASSERT_TRUE(ReadBytes("file", bytes, sink, stats).ok());
  EXPECT_THAT(sink.calls, ElementsAre("pattern a x3", "pods 0:a@n 0:b@n 0:c@n"));
  pods[2].volumes[1].name = "other";
  EXPECT_EQ(LinesOf(Written(pods)), LinesOf(pods));
}

// The claim of an ephemeral volume is named after the pod.
TEST(ColumnSnapshotTest, APodWithAnEphemeralVolumeHasAPatternOfItsOwn) {
  std::vector<objects::Pod> pods = {PodOf("a", "n"), PodOf("b", "n")};
  for (objects::Pod& pod : pods) pod.volumes.emplace_back().source = "ephemeral";
  const std::string bytes = Written(pods);
  EXPECT_EQ(LinesOf(bytes), LinesOf(pods));
  ColumnSink sink;
  ImportStats stats;
  ASSERT_TRUE(ReadBytes("file", bytes, sink, stats).ok());
  EXPECT_THAT(sink.calls, ElementsAre("pattern a x1", "pattern b x1", "pods 0:a@n 1:b@n"));
}

TEST(ColumnSnapshotTest, BytesMayBeginAnywhereInMemory) {
  const std::vector<objects::Pod> pods = {PodOf("a", "n"), PodOf("b", "n")};
  const std::string bytes = Written(pods);
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, 'x') + bytes;
    EXPECT_EQ(LinesOf(std::string_view(shifted).substr(shift)), LinesOf(pods)) << shift;
    ClusterLoader loader;
    ImportStats stats;
    EXPECT_TRUE(ReadBytes("file", std::string_view(shifted).substr(shift), loader, stats).ok());
  }
}

// The texts of a cluster must outlive the bytes from which it was read.
TEST(ColumnSnapshotTest, AClusterOutlivesTheBytes) {
  auto bytes = std::make_unique<std::string>(Written({PodOf("a", "n"), PodOf("b")}));
  ClusterLoader loader;
  ImportStats stats;
  ASSERT_TRUE(ReadBytes("file", *bytes, loader, stats).ok());
  bytes->assign(bytes->size(), '\xff');
  bytes.reset();
  const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const Catalog& catalog = cluster->snapshot.catalog();
  EXPECT_EQ(catalog.PodName(PodId{0}), "ns/a");
  EXPECT_EQ(catalog.PodName(PodId{1}), "ns/b");
  EXPECT_TRUE(catalog.FindPod("ns", "b").ok());
}

TEST(ColumnSnapshotTest, PodsOfTwoFilesAreOneCluster) {
  const std::string first = Written({PodOf("a", "n"), PodOf("b", "n")});
  const std::string second = Written({PodOf("c", "n"), PodOf("b", "m")});
  ClusterLoader loader;
  ImportStats stats;
  ASSERT_TRUE(ReadBytes("first", first, loader, stats).ok());
  EXPECT_EQ(ReadBytes("second", second, loader, stats).message(), "second: Pod ns/b: occurs twice");
}

// --- Files that no writer makes

constexpr size_t kSizes = 24;
constexpr size_t kColumns = kSizes + 9 * 8;

std::string ErrorOf(std::string_view bytes) {
  testing::DumpSink lines;
  ImportStats stats;
  const auto read = [&](ObjectSink& sink) {
    return ReadBinarySnapshot("file", bytes, sink, stats, SnapshotVersions::kUncheckedToo);
  };
  const absl::Status one = read(lines);
  ClusterLoader loader;
  const absl::Status columns = read(loader);
  EXPECT_EQ(one.ok(), columns.ok()) << one << columns;
  return std::string(one.message());
}

std::string With(std::string bytes, size_t at, uint32_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof(word));
  return bytes;
}

TEST(ColumnSnapshotTest, SizesThatDoNotAddUpAreDamage) {
  const std::string bytes = Written({PodOf("a", "n"), PodOf("b", "n")});
  EXPECT_EQ(ErrorOf(bytes), "");
  for (size_t size = 0; size < 9; ++size) {
    for (const uint32_t value : {0u, 1'000'000u, ~0u}) {
      for (const size_t half : {0, 4}) {
        const std::string changed = With(bytes, kSizes + 8 * size + half, value);
        if (changed == bytes) continue;
        EXPECT_THAT(ErrorOf(changed), ::testing::AnyOf(HasSubstr("file: is damaged near byte "),
                                                       HasSubstr("file: is cut off")))
            << size << " " << value;
      }
    }
  }
}

TEST(ColumnSnapshotTest, NumbersOutOfRangeAreDamageThatNamesTheObject) {
  const std::string bytes = Written({PodOf("a", "n"), PodOf("b", "n")});
  // Two times of 8 bytes, then patterns, names, UIDs and nodes of two pods.
  const size_t pattern = kColumns + 16;
  for (const size_t column : {0, 1, 2, 3}) {
    EXPECT_THAT(ErrorOf(With(bytes, pattern + 8 * column + 4, 1'000)),
                ::testing::AllOf(HasSubstr("file: is damaged near byte "),
                                 ::testing::EndsWith(", at object 1")))
        << column;
  }
  // A pattern that comes before the patterns with lower numbers.
  EXPECT_THAT(ErrorOf(With(bytes, pattern, 1)), HasSubstr("at object 0"));
  // No node, where the pattern has one; a UID, where the pattern has none.
  EXPECT_THAT(ErrorOf(With(bytes, pattern + 24 + 4, 0)), HasSubstr("at object 1"));
  EXPECT_THAT(ErrorOf(With(bytes, pattern + 16 + 4, 1)), HasSubstr("at object 1"));
}

TEST(ColumnSnapshotTest, ATextThatTheTableHasTwiceIsAnErrorWhereTextsAreAdopted) {
  std::string bytes = Written({PodOf("first", "n"), PodOf("other", "n")});
  const size_t at = bytes.rfind("other");
  ASSERT_NE(at, bytes.npos);
  bytes.replace(at, 5, "first");
  ClusterLoader loader;
  ImportStats stats;
  EXPECT_EQ(
      ReadBinarySnapshot("file", bytes, loader, stats, SnapshotVersions::kUncheckedToo).message(),
      "file: the table of texts has \"first\" twice");
}

// Version 7 writes fields by their place in the table of fields (visit_fields.h).  A new field may
// only be appended to its row; then, and if a field goes, kColumnVersion must be raised, and the
// file made again under the new version's name.
TEST(ColumnSnapshotTest, EveryFieldHasThePlaceThatVersion7GaveIt) {
  ASSERT_EQ(kColumnVersion, 7u);
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  testing::ForEachKindFilled([&]<typename Kind>(const Kind& object) {
    using Held = std::conditional_t<std::is_constructible_v<objects::StorageObject, Kind>,
                                    objects::StorageObject, Kind>;
    const Held held(object);
    ASSERT_TRUE(Give(&held, writer).ok());
  });
  ASSERT_TRUE(writer.Finish().ok());
  const std::string path = SourceDir() + "/tests/snapshot/formats/data/version_7.pb";
  // To make it again: EBB_WRITE_DATA=1.
  if (std::getenv("EBB_WRITE_DATA") != nullptr) std::ofstream(path, std::ios::binary) << out;
  std::ifstream file(path, std::ios::binary);
  const std::string before{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(out == before) << "the bytes are not those of version_7.pb";
  EXPECT_EQ(LinesOf(before), LinesOf(out));
}

}  // namespace
}  // namespace ebb::column_snapshot_test
