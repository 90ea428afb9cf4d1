#include "snapshot/formats/spec_digest.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "snapshot/objects/quantity.h"

namespace ebb {
namespace {

using Names = std::set<std::string, std::less<>>;

uint64_t Joined(uint64_t a, uint64_t b) {
  uint64_t both[] = {a, b};
  return HashOfText({reinterpret_cast<const char*>(both), sizeof(both)});
}

// --- JSON ----------------------------------------------------------------------------

// Deeper than any PodSpec that the API server accepts.
constexpr int kDepthMax = 64;

// The part of the spec that a value is, where that decides what is ignored.
enum class In : uint8_t {
  kSpec,
  kVolumes,
  kVolume,
  kContainers,
  kContainer,
  kMounts,
  kMount,
  kResources,
  kAmounts,
  kOther,
};

// The part that a member of `in` is.
In PartOfSpec(In in, std::string_view key) {
  switch (in) {
    case In::kSpec:
      if (key == "volumes") return In::kVolumes;
      if (key == "containers" || key == "initContainers") return In::kContainers;
      if (key == "resources") return In::kResources;
      return key == "overhead" ? In::kAmounts : In::kOther;
    case In::kContainer:
      if (key == "volumeMounts") return In::kMounts;
      return key == "resources" ? In::kResources : In::kOther;
    case In::kResources:
      return key == "requests" || key == "limits" ? In::kAmounts : In::kOther;
    default:
      return In::kOther;
  }
}

In ElementOf(In list) {
  switch (list) {
    case In::kVolumes:
      return In::kVolume;
    case In::kContainers:
      return In::kContainer;
    case In::kMounts:
      return In::kMount;
    default:
      return In::kOther;
  }
}

class JsonDigest {
 public:
  explicit JsonDigest(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  // Returns nullopt if the text is not JSON.
  std::optional<uint64_t> Spec() {
    // A mount of a projected volume is ignored, and the mounts may come before the volumes.  So
    // the first pass collects the projected volumes, and the second one computes the digest.
    const char* const begin = at_;
    (void)Value(In::kSpec, 0);
    at_ = begin;
    wrong_ = false;
    const Node spec = Value(In::kSpec, 0);
    if (wrong_) return std::nullopt;
    return spec.digest;
  }

 private:
  struct Node {
    uint64_t digest = 0;
    bool counts = true;  // False: treated as absent.
    bool empty = false;  // {} or []
  };

  void Blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool Take(char c) {
    Blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  Node Wrong() {
    wrong_ = true;
    return {};
  }

  Node Value(In in, int depth) {
    Blanks();
    if (wrong_ || at_ == end_ || depth > kDepthMax) return Wrong();
    if (*at_ == '{') return Object(in, depth);
    if (*at_ == '[') return List(in, depth);
    if (*at_ == '"') {
      const std::string text = String();
      return {.digest = Joined('"', HashOfText(text))};
    }
    const char* const begin = at_;
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ > ' ') ++at_;
    const std::string_view token(begin, static_cast<size_t>(at_ - begin));
    if (token.empty()) return Wrong();
    return {.digest = Joined('0', HashOfText(token)), .counts = token != "null"};
  }

  // Independent of the order of members.
  Node Object(In in, int depth) {
    ++at_;
    Node node{.digest = '{', .empty = true};
    std::string name;
    bool projected = false;
    if (Take('}')) return node;
    do {
      Blanks();
      if (at_ == end_ || *at_ != '"') return Wrong();
      const std::string key = String();
      if (!Take(':')) return Wrong();
      Blanks();
      if (in == In::kAmounts && at_ != end_ && *at_ == '"') {
        node.digest += Joined(HashOfText(key), Amount(key));
        node.empty = false;
        continue;
      }
      if (key == "name" && (in == In::kVolume || in == In::kMount) && at_ != end_ && *at_ == '"') {
        const char* const begin = at_;
        name = String();
        at_ = begin;
      }
      const Node value = Value(PartOfSpec(in, key), depth + 1);
      if (wrong_) return {};
      projected |= in == In::kVolume && key == "projected" && value.counts;
      const bool left_out = (in == In::kSpec && (key == "hostname" || key == "nodeName")) ||
                            (in == In::kContainer && key == "env") ||
                            (key == "resources" && value.empty);
      if (left_out || !value.counts) continue;
      node.digest += Joined(HashOfText(key), value.digest);
      node.empty = false;
    } while (Take(','));
    if (!Take('}')) return Wrong();
    if (projected) projected_.insert(name);
    node.counts = !projected && !(in == In::kMount && projected_.contains(name));
    return node;
  }

  // Depends on the order of elements.  An empty list is treated as absent.
  Node List(In in, int depth) {
    ++at_;
    Node node{.digest = '[', .counts = false, .empty = true};
    if (Take(']')) return node;
    do {
      const Node value = Value(ElementOf(in), depth + 1);
      if (wrong_) return {};
      if (!value.counts) continue;
      node.digest = Joined(node.digest, value.digest);
      node.counts = true;
      node.empty = false;
    } while (Take(','));
    return Take(']') ? node : Wrong();
  }

  // "1" and "1000m" have the same digest.
  uint64_t Amount(std::string_view name) {
    const std::string text = String();
    ExactQuantity amount;
    if (ParseQuantity(text, UnitOfResource(name), amount) != QuantityError::kNone) {
      return HashOfText(text);
    }
    return Joined(static_cast<uint64_t>(amount.amount), static_cast<uint64_t>(amount.excess));
  }

  // The text between the quotes, with escapes resolved.
  std::string String() {
    std::string text;
    ++at_;
    while (at_ != end_ && *at_ != '"') {
      if (*at_ != '\\' || at_ + 1 == end_) {
        text += *at_++;
        continue;
      }
      ++at_;
      const char c = *at_++;
      constexpr std::string_view kEscapes = "bfnrt";
      constexpr std::string_view kStandFor = "\b\f\n\r\t";
      if (const size_t e = kEscapes.find(c); e != std::string_view::npos) {
        text += kStandFor[e];
      } else if (c == 'u') {
        CodePoint(text);
      } else {
        text += c;
      }
    }
    if (at_ == end_) {
      wrong_ = true;
    } else {
      ++at_;
    }
    return text;
  }

  // Resolves the digits after \u.  Surrogates are encoded one by one, as only equality matters.
  void CodePoint(std::string& text) {
    uint32_t point = 0;
    for (int digit = 0; digit < 4; ++digit, ++at_) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      if (at_ == end_) return;
      const size_t value = kDigits.find(static_cast<char>(*at_ | 0x20));
      if (value == std::string_view::npos) return;
      point = point * 16 + static_cast<uint32_t>(value);
    }
    if (point < 0x80) {
      text += static_cast<char>(point);
    } else if (point < 0x800) {
      text += static_cast<char>(0xc0 | point >> 6);
      text += static_cast<char>(0x80 | (point & 0x3f));
    } else {
      text += static_cast<char>(0xe0 | point >> 12);
      text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
      text += static_cast<char>(0x80 | (point & 0x3f));
    }
  }

  const char* at_;
  const char* end_;
  bool wrong_ = false;
  Names projected_;  // Names of the projected volumes.
};

// --- Protobuf ------------------------------------------------------------------------

// One field of a message: its number, and its bytes including the tag.
struct ProtoPart {
  uint32_t number = 0;
  std::string_view whole;
  std::string_view value;  // Only for a message or text.
};

bool Varint(std::string_view& bytes, uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// The fields of a message in their order; nullopt: the bytes are not protobuf.
std::optional<std::vector<ProtoPart>> PartsOf(std::string_view bytes) {
  std::vector<ProtoPart> parts;
  while (!bytes.empty()) {
    const std::string_view from = bytes;
    uint64_t tag = 0;
    uint64_t number = 0;
    size_t size = 0;
    if (!Varint(bytes, tag)) return std::nullopt;
    switch (tag & 7) {
      case 0:
        if (!Varint(bytes, number)) return std::nullopt;
        break;
      case 1:
        size = 8;
        break;
      case 2:
        if (!Varint(bytes, number)) return std::nullopt;
        size = static_cast<size_t>(number);
        break;
      case 5:
        size = 4;
        break;
      default:
        return std::nullopt;
    }
    if (size > bytes.size()) return std::nullopt;
    const std::string_view value = bytes.substr(0, size);
    bytes.remove_prefix(size);
    parts.push_back({.number = static_cast<uint32_t>(tag >> 3),
                     .whole = from.substr(0, from.size() - bytes.size()),
                     .value = value});
  }
  return parts;
}

// Field numbers of k8s.io/api core/v1.
namespace spec {
constexpr uint32_t kVolumes = 1;
constexpr uint32_t kContainers = 2;
constexpr uint32_t kNodeName = 10;
constexpr uint32_t kHostname = 16;
constexpr uint32_t kInitContainers = 20;
}  // namespace spec
constexpr uint32_t kVolumeName = 1;
constexpr uint32_t kVolumeSource = 2;
constexpr uint32_t kProjected = 26;
constexpr uint32_t kContainerEnv = 7;
constexpr uint32_t kContainerMounts = 9;
constexpr uint32_t kMountName = 1;

std::string_view NameIn(std::string_view message, uint32_t number) {
  const auto parts = PartsOf(message);
  if (!parts) return {};
  for (const ProtoPart& part : *parts) {
    if (part.number == number) return part.value;
  }
  return {};
}

bool IsProjected(std::string_view volume) {
  const auto parts = PartsOf(volume);
  if (!parts) return false;
  for (const ProtoPart& part : *parts) {
    if (part.number != kVolumeSource) continue;
    const auto source = PartsOf(part.value);
    if (!source) return false;
    for (const ProtoPart& each : *source) {
      if (each.number == kProjected) return true;
    }
  }
  return false;
}

uint64_t DigestOfContainer(std::string_view container, const Names& projected) {
  const auto parts = PartsOf(container);
  if (!parts) return HashOfText(container);
  uint64_t digest = 0;
  for (const ProtoPart& part : *parts) {
    const bool left_out =
        part.number == kContainerEnv ||
        (part.number == kContainerMounts && projected.contains(NameIn(part.value, kMountName)));
    if (!left_out) digest = Joined(digest, HashOfText(part.whole));
  }
  return digest;
}

uint64_t Nonzero(uint64_t digest) { return digest == 0 ? 1 : digest; }

}  // namespace

uint64_t DigestOfJsonSpec(std::string_view json) {
  return Nonzero(JsonDigest(json).Spec().value_or(HashOfText(json)));
}

uint64_t DigestOfProtoSpec(std::string_view bytes) {
  const auto parts = PartsOf(bytes);
  if (!parts) return Nonzero(HashOfText(bytes));
  Names projected;
  for (const ProtoPart& part : *parts) {
    if (part.number == spec::kVolumes && IsProjected(part.value)) {
      projected.emplace(NameIn(part.value, kVolumeName));
    }
  }
  uint64_t digest = 0;
  for (const ProtoPart& part : *parts) {
    switch (part.number) {
      case spec::kNodeName:
      case spec::kHostname:
        break;
      case spec::kVolumes:
        if (!IsProjected(part.value)) digest = Joined(digest, HashOfText(part.whole));
        break;
      case spec::kContainers:
      case spec::kInitContainers:
        digest = Joined(Joined(digest, part.number), DigestOfContainer(part.value, projected));
        break;
      default:
        digest = Joined(digest, HashOfText(part.whole));
    }
  }
  return Nonzero(digest);
}

}  // namespace ebb
