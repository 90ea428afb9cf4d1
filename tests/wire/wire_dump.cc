// Prints what ebb reads of objects in JSON and in Kubernetes' protobuf, so that a program in
// another language can compare the two (go/wire).
//
// Takes frames on standard input: the byte 'J' or 'P' for the form, then apiVersion, kind and
// the object, each with its length in front (32 bits, little endian).  apiVersion and kind
// are what the caller says where the object does not.
// Answers each frame with a text, its length in front: the object as DumpSink writes it, or
// what is said instead of it.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_protobuf.h"
#include "snapshot/formats/object_reader.h"
#include "tests/support/dump_sink.h"

namespace ebb {
namespace {

bool ReadBytes(char* bytes, size_t size) { return std::fread(bytes, 1, size, stdin) == size; }

bool ReadText(std::string& text) {
  uint8_t size[4];
  if (!ReadBytes(reinterpret_cast<char*>(size), sizeof(size))) return false;
  text.resize(size_t{size[0]} | size_t{size[1]} << 8 | size_t{size[2]} << 16 |
              size_t{size[3]} << 24);
  return ReadBytes(text.data(), text.size());
}

void WriteText(std::string_view text) {
  for (int shift = 0; shift < 32; shift += 8)
    std::putchar(static_cast<int>(text.size() >> shift) & 0xff);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Keeps the aside too: it comes before the object.
class Sink final : public testing::DumpSink {
 public:
  void OnAside(const Aside& aside) override {
    aside_ = "resource_version=[" + std::string(aside.resource_version) +
             "] pods_ready=" + std::to_string(aside.pods_ready) + " ";
  }
  [[nodiscard]] std::string text() const {
    if (!lines().empty()) return aside_ + lines().front();
    return ignored().empty() ? "nothing" : "ignored: " + ignored().front();
  }

 private:
  std::string aside_;
};

std::string Read(char form, std::string& bytes, const ObjectPlace& place) {
  static auto* const json = new ObjectReader();
  static auto* const protobuf = new ProtobufObjectReader();
  ObjectBatch batch;
  const size_t size = bytes.size();
  bytes.append(kJsonPadding, ' ');
  const std::string_view object = std::string_view(bytes).substr(0, size);
  if (form == 'J') {
    json->Read(object, place, batch);
  } else {
    protobuf->Read(object, place, batch);
  }
  Sink sink;
  ImportStats stats;
  std::string left;
  const absl::Status given =
      batch.HandOver(place.file, sink, stats, [&](ObjectBatch::Left what, size_t) {
        left = what == ObjectBatch::Left::kList ? "a list" : "no kind";
        return absl::OkStatus();
      });
  if (!given.ok()) return "error: " + std::string(given.message());
  return left.empty() ? sink.text() : left;
}

}  // namespace
}  // namespace ebb

int main() {
  char form = 0;
  std::string api_version;
  std::string kind;
  std::string bytes;
  while (ebb::ReadBytes(&form, 1)) {
    if (!ebb::ReadText(api_version) || !ebb::ReadText(kind) || !ebb::ReadText(bytes)) return 1;
    ebb::ObjectPlace place;
    place.file = "frame";
    place.api_version = api_version;
    place.kind = kind;
    ebb::WriteText(ebb::Read(form, bytes, place));
  }
  return 0;
}
