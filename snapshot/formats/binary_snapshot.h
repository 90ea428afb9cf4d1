// ebb's own snapshot file: a compact copy of the objects that an import read, quick to read
// again.  wire/snapshot.proto defines the format.
//
// Reading a snapshot gives the objects that were written, in the same order, field by field.
// Fields and objects that the import ignored are not in the file.
//
// Checksums (XXH3-64, one per chunk, each chained to the one before) cover every byte, so that a
// file in which any bit has changed is rejected.  A chunk's checksum is verified before the sink
// receives its objects.
//
// Errors:  InvalidArgument, naming the file: it is truncated, damaged or of an unknown version, or
//          a text is not UTF-8.  Errors of the sink keep their code.
// Threads: calls with different sinks may run at once.

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

// Whether `bytes`, a file's content, starts as a binary snapshot does.
bool IsBinarySnapshot(std::string_view bytes);

enum class SnapshotVersions : uint8_t {
  kChecked,       // Only versions with checksums.
  kUncheckedToo,  // Also version 1, for bytes whose integrity is ensured elsewhere.
};

// Reads a whole file.  `name` is the file's name in errors.
// Cost: one copy of each distinct text; the rest is decoded chunk by chunk.
absl::Status ReadBinarySnapshot(std::string_view name, std::string_view bytes, ObjectSink& sink,
                                ImportStats& stats,
                                SnapshotVersions versions = SnapshotVersions::kChecked);

// A sink that writes a binary snapshot of the objects it receives.
//
// Call Finish() once, after the last object; readers reject a file without it as truncated.
// Memory: every distinct text, and one chunk of some hundred kilobytes.
// Threads: one thread at a time.
class BinarySnapshotWriter : public ObjectSink {
 public:
  // Receives the next bytes of the file.  An error that it returns is returned by the writer.
  using Output = std::function<absl::Status(std::string_view bytes)>;

  explicit BinarySnapshotWriter(Output output);
  ~BinarySnapshotWriter() override;

  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  // Keeps empty lists: they record that the cluster has no object of the kind.
  absl::Status OnList(std::string_view kind, uint64_t items) override;
  absl::Status OnUnevaluated(const Unevaluated& object) override;
  // Keeps how many pods of a controller are ready, and when a node's kubelet last wrote its
  // status: both are used to check the quality of the input.
  void OnAside(const Aside& aside) override;

  absl::Status Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
  // For the next object; set by OnAside().
  int64_t pods_ready_ = 0;
  int64_t heartbeat_time_ = 0;
};

// Packs one object, to keep it in memory.  The bytes are those of a chunk of a file, without a
// checksum.  Equal objects give equal bytes.
std::string PackObject(const objects::ObjectRef& object);

// An object decoded from PackObject()'s bytes.  REQUIRES: `packed` was returned by PackObject();
// any other bytes fail a check.
class UnpackedObject {
 public:
  explicit UnpackedObject(std::string_view packed);
  ~UnpackedObject();
  UnpackedObject(UnpackedObject&&) noexcept;
  UnpackedObject& operator=(UnpackedObject&&) noexcept;

  // The object and its texts live as long as this does; `packed` need not.
  [[nodiscard]] const objects::ObjectRef& ref() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_BINARY_SNAPSHOT_H_
