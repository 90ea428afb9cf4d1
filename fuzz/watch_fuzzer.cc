// A watch: reading ends whatever the bytes are and in whatever pieces they arrive; no document is
// larger than the limit; a rejected object leaves a batch unchanged; and the live snapshot of the
// accepted objects equals the one that an import of them gives.
//
// The first byte is the size of the pieces; 0: all bytes at once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/properties.h"
#include "fuzz/reading.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/import/watch_stream.h"
#include "snapshot/live/change_batch.h"
#include "snapshot/live/live_snapshot.h"
#include "tests/support/live_twin.h"

namespace ebb::fuzz {
namespace {

constexpr size_t kDocumentBytesMax = 4096;

// Applies an event, if it is valid.
void Take(const WatchEvent& event, ChangeBatch& batch, LiveSnapshot& live) {
  const size_t before = batch.changes().size();
  const absl::Status put = event.type == WatchEvent::Type::kDeleted ? batch.DeleteJson(event.object)
                                                                    : batch.PutJson(event.object);
  if (!put.ok() && batch.changes().size() != before) Hold("a refused object is in the batch");
  if (!put.ok() || batch.changes().size() < 4) return;
  const uint64_t taken = live.counts().put + live.counts().deleted;
  if (!live.Take(batch.changes()).ok() && live.counts().put + live.counts().deleted != taken) {
    Hold("refused changes were carried out");
  }
  batch.Clear();
}

// Applies all complete events.
void Drain(WatchStream& stream, size_t bytes, ChangeBatch& batch, LiveSnapshot& live) {
  for (size_t calls = 0;; ++calls) {
    if (calls > bytes + 1) Hold("a stream tells more than it was given");
    const absl::StatusOr<std::optional<WatchEvent>> event = stream.Next();
    if (!event.ok()) continue;
    if (!event->has_value()) return;
    if ((*event)->object.size() > kDocumentBytesMax) Hold("a document is larger than the limit");
    Take(**event, batch, live);
  }
}

std::string Compare(LiveSnapshot& live) {
  if (absl::Status s = live.Snapshot().CheckInvariants(); !s.ok()) return s.ToString();
  ClusterLoader loader;
  if (absl::Status s = live.Export(loader); !s.ok()) return s.ToString();
  absl::StatusOr<LoadedCluster> loaded = std::move(loader).Finish();
  if (!loaded.ok()) return loaded.status().ToString();
  const std::string want = test::DescribeCluster(loaded->snapshot, loaded->pending);
  const std::string got = test::DescribeCluster(live.Snapshot(), live.Pending());
  return want == got ? "" : "an import gives\n" + want + "\nthe live snapshot\n" + got;
}

}  // namespace
}  // namespace ebb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > ebb::fuzz::kBytesMax) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] == 0 ? size : data[0];
  ebb::WatchStream stream(ebb::fuzz::kDocumentBytesMax);
  ebb::ChangeBatch batch;
  ebb::LiveSnapshot live;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, std::min(piece, bytes.size()));
    bytes.remove_prefix(next.size());
    stream.Append(next);
    ebb::fuzz::Drain(stream, size, batch, live);
  }
  stream.End();
  ebb::fuzz::Drain(stream, size, batch, live);
  (void)live.Take(batch.changes());
  ebb::fuzz::Hold(ebb::fuzz::Compare(live));
  return 0;
}
