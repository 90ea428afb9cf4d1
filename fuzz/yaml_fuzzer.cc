// The YAML reader.  Its own reader of block style must read what yaml-cpp reads.

#include <string>

#include "base/utf8.h"
#include "fuzz/properties.h"
#include "fuzz/reading.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/formats/yaml_documents.h"

namespace {

// Each document as JSON, and the error.
std::string DocumentsBy(ebb::YamlReaders readers, std::string_view bytes) {
  std::string found;
  const absl::Status status =
      ebb::VisitYamlDocuments("fuzz", bytes, readers, [&found](const ebb::YamlDocument& document) {
        found.append(document.json).append("\n");
        return absl::OkStatus();
      });
  return found + std::string(status.message());
}

std::string BothReadersSayTheSame(std::string_view bytes) {
  if (ebb::FirstInvalidUtf8(bytes) < bytes.size() || ebb::FindOddCharacter(bytes)) return "";
  return DocumentsBy(ebb::YamlReaders::kBoth, bytes) ==
                 DocumentsBy(ebb::YamlReaders::kLibrary, bytes)
             ? ""
             : "BlockYaml and yaml-cpp read different documents";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > ebb::fuzz::kBytesMax) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ebb::fuzz::Hold(BothReadersSayTheSame(bytes));
  const auto read = [&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ebb::ReadYaml("fuzz", bytes, sink, stats);
  };
  ebb::fuzz::ReadAndBuild(read);
  if (ebb::fuzz::See(read).status.ok()) ebb::fuzz::Hold(ebb::fuzz::WrittenFormsSayTheSame(read));
  return 0;
}
