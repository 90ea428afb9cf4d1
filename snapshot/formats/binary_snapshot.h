// ebb's own snapshot file: what an import read, small and quick to read again.
// The format is that of wire/snapshot.proto.
//
// A snapshot gives back the objects that made it, in their order, field by field;
// what was ignored on the way in is not in it.
//
// Every byte is under a checksum (XXH3-64, one a chunk, each chained to the one before),
// so that a file that differs from what was written in any bit is refused.  A chunk is
// checked before its objects are handed over.

#ifndef EBB_SNAPSHOT_FORMATS_BINARY_SNAPSHOT_H_
#define EBB_SNAPSHOT_FORMATS_BINARY_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Whether a file starts as a binary snapshot does.
bool IsBinarySnapshot(std::string_view bytes);

enum class SnapshotVersions : uint8_t {
  kChecked,       // Those with checksums.
  kUncheckedToo,  // Also version 1, of bytes that something else vouches for.
};

// Reads a whole file.  `name` stands for it in errors: cut off, damaged, of another
// version, a text that is not UTF-8.
// Cost: one copy of each distinct text; the rest is decoded chunk by chunk.
absl::Status ReadBinarySnapshot(std::string_view name, std::string_view bytes, ObjectSink& sink,
                                ImportStats& stats,
                                SnapshotVersions versions = SnapshotVersions::kChecked);

// A sink that writes what it is given.
//
// Call Finish() once, after the last object; a file without is refused as cut off.
// Memory: every distinct text, and a chunk of some hundred kilobytes.
// Threads: one thread at a time.
class BinarySnapshotWriter : public ObjectSink {
 public:
  // Takes the next bytes of the file; what it returns comes back from the calls.
  using Output = std::function<absl::Status(std::string_view bytes)>;

  explicit BinarySnapshotWriter(Output output);
  ~BinarySnapshotWriter() override;

  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  // Empty lists are kept: they say that the cluster has none of the kind.
  absl::Status OnList(std::string_view kind, uint64_t items) override;
  absl::Status OnUnevaluated(const Unevaluated& object) override;
  // How many pods of a controller are ready and when a node's kubelet last wrote its status are
  // kept, for judging the snapshot.
  void OnAside(const Aside& aside) override;

  absl::Status Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  // Of the object that comes next.
  int64_t pods_ready_ = 0;
  int64_t heartbeat_time_ = 0;
};

// One object by itself, for keeping it in memory: as in a chunk of a file, without checksum.
// Equal objects give equal bytes.
std::string PackObject(const objects::ObjectRef& object);

// What PackObject packed.  REQUIRES: it did; other bytes are a bug.
class UnpackedObject {
 public:
  explicit UnpackedObject(std::string_view packed);
  ~UnpackedObject();
  UnpackedObject(UnpackedObject&&) noexcept;
  UnpackedObject& operator=(UnpackedObject&&) noexcept;

  // Lives, and its texts live, as long as this does; `packed` need not.
  [[nodiscard]] const objects::ObjectRef& ref() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_BINARY_SNAPSHOT_H_
