// Version 6 of ebb's snapshot file: pods as columns, other objects as words, texts once.
//
//   "EBBSNAP" 0x01, the SnapshotHeader of wire/snapshot.proto with its length, two zero bytes
//   checksum        XXH3-64 of all other bytes
//   sizes           ColumnSizes
//   creation times  of all pods
//   patterns, names, UIDs, nodes of all pods, a word each: a pattern's number from 0, and texts
//   names of data   of the pods' volumes that only provide data, pod after pod
//   patterns        in the order in which pods first have them
//   objects         in the order of the file; a run of pods is one entry
//   offsets         where each text begins, and where the last one ends
//   texts
//
// Numbers are little-endian, times and sizes of 64 bits, words of 32.  pod_columns.h says what a
// pattern is, packed_fields.h how objects become words.
//
// A reader copies no text and hashes none.  It looks once at each number and at each byte of text,
// so that no later step can read outside the file.
//
// Errors:  InvalidArgument, naming the file: it is truncated, damaged, or a text is not UTF-8.
//          Errors of the sink keep their code.
// Threads: calls with different sinks may run at once.

#ifndef EBB_SNAPSHOT_FORMATS_COLUMN_SNAPSHOT_H_
#define EBB_SNAPSHOT_FORMATS_COLUMN_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

inline constexpr uint32_t kColumnVersion = 7;

struct ColumnFile {
  std::string_view name;   // In errors.
  std::string_view bytes;  // From the magic on.
  // Keeps `bytes` alive; null: they are copied if the sink takes columns.
  std::shared_ptr<const void> owner;
  bool checks_checksum = true;
};
// REQUIRES: the file's magic and version were checked.
absl::Status ReadColumnSnapshot(const ColumnFile& file, ObjectSink& sink, ImportStats& stats);

// Collects objects and writes them as one file.
// Memory: about the size of the file, and 36 bytes more for each distinct text.
// Threads: one thread at a time.
class ColumnSnapshotWriter {
 public:
  using Output = std::function<absl::Status(std::string_view bytes)>;

  ColumnSnapshotWriter();
  ~ColumnSnapshotWriter();

  void Add(const objects::ObjectRef& object, const ObjectSink::Aside& aside);
  void AddEmptyList(std::string_view kind);
  void AddUnevaluated(const ObjectSink::Unevaluated& object);

  // Writes the file, in pieces.  Call it once.
  // Errors: those of `output`; ResourceExhausted: the texts have more than 4 GiB.
  absl::Status Finish(const Output& output);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_COLUMN_SNAPSHOT_H_
