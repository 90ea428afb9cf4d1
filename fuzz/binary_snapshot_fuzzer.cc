// The reader of ebb's own snapshots.  Snapshots without checksums, or with wrong ones, are accepted
// too; otherwise the fuzzer would hardly ever get past the checksums.  Pods that are read as
// columns must make the same cluster as pods that are read one by one.

#include "fuzz/properties.h"
#include "fuzz/reading.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/objects/any_object_sink.h"

namespace ebb::fuzz {
namespace {

class OneByOne final : public AnyObjectSink {
 public:
  explicit OneByOne(ObjectSink& to) : to_(to) {}

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override { return Give(object, to_); }

 private:
  ObjectSink& to_;
};

// The cluster as text; empty if it cannot be loaded.
template <typename Read>
std::string ClusterOf(Read&& read, bool as_columns) {
  ClusterLoader loader;
  OneByOne one_by_one(loader);
  ImportStats stats;
  const absl::Status status =
      as_columns ? read(loader, stats) : read(static_cast<ObjectSink&>(one_by_one), stats);
  if (!status.ok()) return "";
  const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  return cluster.ok() ? cluster->snapshot.Fingerprint() : "";
}

template <typename Read>
std::string ColumnsMakeTheSameCluster(Read&& read) {
  const std::string columns = ClusterOf(read, /*as_columns=*/true);
  const std::string one_by_one = ClusterOf(read, /*as_columns=*/false);
  // Only a sink of columns sees that a text is there twice.
  if (columns.empty() || columns == one_by_one) return "";
  return "pods as columns make another cluster:\n" + columns + "\nand\n" + one_by_one;
}

}  // namespace
}  // namespace ebb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > ebb::fuzz::kBytesMax) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ebb::ReadBinarySnapshot("fuzz", bytes, sink, stats,
                                   ebb::SnapshotVersions::kUncheckedToo);
  };
  ebb::fuzz::ReadAndBuild(read);
  ebb::fuzz::Hold(ebb::fuzz::ColumnsMakeTheSameCluster(read));
  if (ebb::fuzz::See(read).status.ok()) ebb::fuzz::Hold(ebb::fuzz::BinarySaysTheSame(read));
  return 0;
}
