// The JSON reader: lists, single objects, debugging snapshots.

#include "fuzz/properties.h"
#include "fuzz/reading.h"
#include "snapshot/formats/read_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > ebb::fuzz::kBytesMax) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ebb::ReadJson("fuzz", bytes, /*padded=*/false, sink, stats);
  };
  ebb::fuzz::ReadAndBuild(read);
  ebb::fuzz::Hold(ebb::fuzz::ThreadsSeeTheSame(bytes));
  const ebb::fuzz::Seen seen = ebb::fuzz::See(read);
  if (!seen.status.ok()) return 0;
  ebb::fuzz::Hold(ebb::fuzz::WrittenFormsSayTheSame(read));
  ebb::fuzz::Hold(ebb::fuzz::OthersAgree(bytes, seen));
  return 0;
}
