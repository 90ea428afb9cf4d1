// The JSON reader: lists, single objects, debugging snapshots.

#include "fuzz/reading.h"
#include "snapshot/formats/read_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > ebb::fuzz::kBytesMax) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ebb::fuzz::ReadAndBuild([&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ebb::ReadJson("fuzz", bytes, /*padded=*/false, sink, stats);
  });
  return 0;
}
