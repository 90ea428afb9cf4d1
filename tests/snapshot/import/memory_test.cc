// How much memory a snapshot needs after its builder is destroyed.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <memory>

#include "snapshot/builder.h"
#include "snapshot/builder_sink.h"
#include "snapshot/samples/generate.h"

namespace ebb::memory_test {
namespace {

// How many bytes of the heap are in use.
uint64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class NodesOnly final : public BuilderSink {
 public:
  using BuilderSink::BuilderSink;
  absl::Status OnPod(const objects::Pod&) override { return absl::OkStatus(); }
};

struct Weight {
  uint64_t bytes = 0;
  uint64_t nodes = 0;
  uint64_t pods = 0;
};

template <typename Sink>
Weight WeightOf(const samples::GenerateOptions& options) {
  const uint64_t before = HeapBytes();
  auto builder = std::make_unique<SnapshotBuilder>();
  Sink sink(*builder);
  EXPECT_TRUE(samples::GenerateUniform(options, sink).ok());
  const absl::StatusOr<ClusterSnapshot> snapshot = std::move(*builder).Build();
  builder.reset();
  EXPECT_TRUE(snapshot.ok());
  return {HeapBytes() - before, snapshot->nodes(), snapshot->placed_pods()};
}

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mallinfo2().uordblks == 0) GTEST_SKIP() << "the heap is not the C library's";
  }
};

TEST_F(MemoryTest, AUniformClusterTakesAtMost300BytesAPodAnd2KilobytesANode) {
  const samples::GenerateOptions options{.nodes = 2000};
  const Weight nodes = WeightOf<NodesOnly>(options);
  const Weight all = WeightOf<BuilderSink>(options);
  ASSERT_EQ(all.pods, 80'000u);
  EXPECT_LE(nodes.bytes / nodes.nodes, 2048u);
  EXPECT_LE((all.bytes - nodes.bytes) / all.pods, 300u);
}

}  // namespace
}  // namespace ebb::memory_test
