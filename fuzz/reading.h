// What the reader targets share: whatever the bytes are, reading returns a status; and the
// invariants hold of a snapshot that is built from accepted objects.

#ifndef EBB_FUZZ_READING_H_
#define EBB_FUZZ_READING_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "snapshot/formats/read_input.h"
#include "snapshot/import/load_cluster.h"

namespace ebb::fuzz {

// Longer inputs only repeat what shorter ones do, and are slower.
inline constexpr size_t kBytesMax = 16384;

// Read: (ObjectSink&, ImportStats&) -> absl::Status.
template <typename Read>
void ReadAndBuild(Read&& read) {
  ClusterLoader loader;
  ImportStats stats;
  if (!read(loader, stats).ok()) return;
  const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  if (!cluster.ok()) return;
  const absl::Status sound = cluster->snapshot.CheckInvariants();
  if (sound.ok()) return;
  std::fprintf(stderr, "%s\n", sound.ToString().c_str());
  std::abort();
}

}  // namespace ebb::fuzz

#endif  // EBB_FUZZ_READING_H_
