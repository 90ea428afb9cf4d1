// The YAML reader.

#include "fuzz/properties.h"
#include "fuzz/reading.h"
#include "snapshot/formats/read_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > ebb::fuzz::kBytesMax) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ebb::ReadYaml("fuzz", bytes, sink, stats);
  };
  ebb::fuzz::ReadAndBuild(read);
  if (ebb::fuzz::See(read).status.ok()) ebb::fuzz::Hold(ebb::fuzz::WrittenFormsSayTheSame(read));
  return 0;
}
