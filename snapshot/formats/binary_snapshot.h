// ebb's own snapshot file: a compact copy of the objects that an import read, quick to read
// again.  column_snapshot.h defines the format that is written; wire/snapshot.proto defines
// versions 1 and 2, which are only read.
//
// Reading a snapshot gives the objects that were written, in the same order, field by field.
// Fields and objects that the import ignored are not in the file.
//
// Checksums (XXH3-64) cover every byte, so that a file in which any bit has changed is rejected.
// They are verified before the sink receives the objects; in version 2 chunk by chunk.
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
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Whether `bytes`, a file's content, starts as a binary snapshot does.
bool IsBinarySnapshot(std::string_view bytes);

enum class SnapshotVersions : uint8_t {
  kChecked,  // Only versions with checksums.
  // Also version 1, and version 7 whatever its checksum is: for bytes whose integrity is ensured
  // elsewhere.
  kUncheckedToo,
};

// Reads a whole file.  `name` is the file's name in errors.  A sink that takes columns may keep
// `owner`, which keeps `bytes` alive; if it is null, such a sink gets a copy.
// Cost: version 7 one look at every byte, older versions one copy of each distinct text.
absl::Status ReadBinarySnapshot(std::string_view name, std::string_view bytes, ObjectSink& sink,
                                ImportStats& stats,
                                SnapshotVersions versions = SnapshotVersions::kChecked,
                                std::shared_ptr<const void> owner = nullptr);

// A sink that writes a binary snapshot of the objects it receives.
//
// Call Finish() once, after the last object; it writes the file.
// Memory: as ColumnSnapshotWriter (column_snapshot.h).
// Threads: one thread at a time.
class BinarySnapshotWriter : public AnyObjectSink {
 public:
  // Receives the next bytes of the file, at most 256 KiB at a time.  An error that it returns is
  // returned by Finish().
  using Output = std::function<absl::Status(std::string_view bytes)>;

  explicit BinarySnapshotWriter(Output output);
  ~BinarySnapshotWriter() override;

  // Keeps empty lists: they record that the cluster has no object of the kind.
  absl::Status OnList(std::string_view kind, uint64_t items) override;
  absl::Status OnUnevaluated(const Unevaluated& object) override;
  // Keeps how many pods of a controller are ready, and when a node's kubelet last wrote its
  // status: both are used to check the quality of the input.
  void OnAside(const Aside& aside) override;

  absl::Status Finish();

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  // For the next object; set by OnAside().
  int64_t pods_ready_ = 0;
  int64_t heartbeat_time_ = 0;
};

// Packs one object, to keep it in memory.  The bytes are those of a chunk of version 2, without a
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
