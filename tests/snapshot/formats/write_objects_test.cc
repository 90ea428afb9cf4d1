#include "snapshot/formats/write_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snapshot/formats/read_json.h"
#include "snapshot/formats/read_yaml.h"
#include "tests/support/dump_sink.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::write_objects_test {
namespace {

using ::ebb::testing::DumpSink;
using test::Node;

TEST(WriteObjectsTest, ReadingBackANodeGivesAllThatItSpecifies) {
  Node node("a");
  node.Taint("dedicated", "db", "NoSchedule").Unschedulable();
  node.raw.provider_id = "aws:///z/i-1";
  DumpSink given;
  ASSERT_TRUE(given.OnNode(node.raw).ok());
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    std::string text;
    ObjectWriter writer(format, [&](std::string_view bytes) {
      text += bytes;
      return absl::OkStatus();
    });
    ASSERT_TRUE(writer.OnNode(node.raw).ok());
    ASSERT_TRUE(writer.Finish().ok());
    DumpSink read;
    ImportStats stats;
    const absl::Status status = format == ObjectFormat::kJsonList
                                    ? ReadJson("x", text, false, read, stats)
                                    : ReadYaml("x", text, read, stats);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(read.lines(), given.lines());
  }
}

TEST(WriteObjectsTest, ReadingBackAControllerOfEachKindGivesTheSame) {
  using enum objects::ControllerKind;
  for (const auto kind : {kReplicationController, kReplicaSet, kStatefulSet, kDaemonSet, kJob}) {
    test::Controller controller = test::Controller(kind, "c").Replicas(7);
    controller.raw.status_replicas = 5;
    DumpSink given;
    ASSERT_TRUE(given.OnController(controller.raw).ok());
    std::string text;
    ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
      text += bytes;
      return absl::OkStatus();
    });
    ASSERT_TRUE(writer.OnController(controller.raw).ok());
    ASSERT_TRUE(writer.Finish().ok());
    DumpSink read;
    ImportStats stats;
    const absl::Status status = ReadJson("x", text, false, read, stats);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(read.lines().size(), 1u) << text;
    if (kind == kDaemonSet || kind == kJob) continue;  // They have no replicas to write.
    EXPECT_EQ(read.lines(), given.lines()) << text;
  }
}

}  // namespace
}  // namespace ebb::write_objects_test
