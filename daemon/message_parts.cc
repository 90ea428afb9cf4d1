#include "daemon/message_parts.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Approximate sizes in libprotobuf on a 64-bit machine, including the allocator's overhead.
constexpr uint64_t kMessageBytes = 128;
constexpr uint64_t kStringBytes = 56;
constexpr uint64_t kNumberBytes = 8;
constexpr int kDepthMax = 100;  // As in libprotobuf.

absl::Status NoMessage() { return absl::InvalidArgumentError("the bytes are not a message"); }

class PartsScan {
 public:
  PartsScan(google::protobuf::io::ZeroCopyInputStream& bytes, uint64_t bytes_max)
      : in_(&bytes), bytes_max_(bytes_max) {}

  absl::Status Message(const Descriptor& type, int depth) {
    if (depth > kDepthMax) return NoMessage();
    while (const uint32_t tag = in_.ReadTag()) {
      const FieldDescriptor* const field =
          type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (absl::Status s = Field(tag, field, depth); !s.ok()) return s;
    }
    return in_.ConsumedEntireMessage() ? absl::OkStatus() : NoMessage();
  }

 private:
  absl::Status Field(uint32_t tag, const FieldDescriptor* field, int depth) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      // An unknown number is kept together with its tag.
      if (absl::Status s = Count(field == nullptr ? kStringBytes : kNumberBytes); !s.ok()) return s;
      return WireFormatLite::SkipField(&in_, tag) ? absl::OkStatus() : NoMessage();
    }
    int size = 0;
    if (!in_.ReadVarintSizeAsInt(&size)) return NoMessage();
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) {
      if (absl::Status s = Count(kMessageBytes); !s.ok()) return s;
      const auto outer = in_.PushLimit(size);
      absl::Status inside = Message(*field->message_type(), depth + 1);
      if (inside.ok() && in_.BytesUntilLimit() != 0) inside = NoMessage();
      in_.PopLimit(outer);
      return inside;
    }
    const bool packed = field != nullptr && field->is_packable();
    const uint64_t cost = packed ? kNumberBytes * static_cast<uint64_t>(size) : kStringBytes;
    if (absl::Status s = Count(cost); !s.ok()) return s;
    return in_.Skip(size) ? absl::OkStatus() : NoMessage();
  }

  absl::Status Count(uint64_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= bytes_max_) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("message: it has so many parts that they would take more than ", bytes_max_,
                     " bytes beside their own; send fewer at a time"));
  }

  google::protobuf::io::CodedInputStream in_;
  const uint64_t bytes_max_;
  uint64_t bytes_ = 0;
};

}  // namespace

absl::Status CheckMessageParts(const Descriptor& type,
                               google::protobuf::io::ZeroCopyInputStream& bytes,
                               uint64_t parts_bytes_max) {
  return PartsScan(bytes, parts_bytes_max).Message(type, 0);
}

}  // namespace ebb
