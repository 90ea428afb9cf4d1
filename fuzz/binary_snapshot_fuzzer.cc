// The reader of ebb's own snapshots.  Snapshots without checksums are accepted too; otherwise the
// fuzzer would hardly ever get past the checksums.

#include "fuzz/properties.h"
#include "fuzz/reading.h"
#include "snapshot/formats/binary_snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > ebb::fuzz::kBytesMax) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ebb::ReadBinarySnapshot("fuzz", bytes, sink, stats,
                                   ebb::SnapshotVersions::kUncheckedToo);
  };
  ebb::fuzz::ReadAndBuild(read);
  if (ebb::fuzz::See(read).status.ok()) ebb::fuzz::Hold(ebb::fuzz::BinarySaysTheSame(read));
  return 0;
}
