#include "rounds/text_delta.h"

#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"

namespace ebb {
namespace {

// The form, before compression: the length of the text, then steps.  A step is a number of literal
// bytes, these bytes, a number of bytes to copy, and their position in the base, as the distance
// from the end of the previous copy.  Numbers are LEB128, distances zigzag.
constexpr size_t kBlock = 16;  // Bytes of the base; shorter matches are not searched for.
constexpr size_t kTextMax = size_t{1} << 30;

void PutNumber(uint64_t number, std::string& to) {
  while (number >= 0x80) {
    to.push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  to.push_back(static_cast<char>(number));
}
void PutDistance(int64_t distance, std::string& to) {
  PutNumber((static_cast<uint64_t>(distance) << 1) ^ static_cast<uint64_t>(distance >> 63), to);
}

// Reads a number that PutNumber wrote; nullopt at the end, or if there is no valid number.
std::optional<uint64_t> TakeNumber(std::string_view& from) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(from.front());
    from.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

uint64_t HashOf(std::string_view block) { return XXH3_64bits(block.data(), block.size()); }

// The length of the common prefix.
size_t Alike(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin()).first -
      a.begin());
}

std::string StepsOf(const DeltaBase& to, std::string_view text) {
  const std::string_view base = to.text();
  std::string steps;
  PutNumber(text.size(), steps);
  size_t literal = 0;  // Start of the bytes that no step covers yet.
  size_t end = 0;      // End of the last copy, in the base.
  for (size_t at = 0; at < text.size();) {
    // If only a value changed, the base continues as far behind it as the text does.
    const DeltaBase::Match match = to.Find(text.substr(at), end + (at - literal));
    if (match.length == 0) {
      ++at;
      continue;
    }
    // Bytes before the match may be equal too.
    size_t back = 0;
    while (at - back > literal && match.from > back &&
           text[at - back - 1] == base[match.from - back - 1]) {
      ++back;
    }
    PutNumber(at - back - literal, steps);
    steps.append(text.substr(literal, at - back - literal));
    PutNumber(match.length + back, steps);
    PutDistance(static_cast<int64_t>(match.from - back) - static_cast<int64_t>(end), steps);
    end = match.from + match.length;
    at += match.length;
    literal = at;
  }
  PutNumber(text.size() - literal, steps);
  steps.append(text.substr(literal));
  return steps;
}

absl::Status Damaged() { return absl::InvalidArgumentError("the delta is damaged"); }

}  // namespace

DeltaBase::DeltaBase(std::string text) : text_(std::move(text)) {
  const std::string_view base = text_;
  for (size_t at = 0; at + kBlock <= base.size(); at += kBlock) {
    blocks_.try_emplace(HashOf(base.substr(at, kBlock)), at);
  }
}

DeltaBase::Match DeltaBase::Find(std::string_view text, size_t expected) const {
  const std::string_view base = text_;
  if (text.size() < kBlock || base.empty()) return {};
  if (expected < base.size()) {
    const size_t length = Alike(base.substr(expected), text);
    if (length >= kBlock) return {expected, length};
  }
  const auto found = blocks_.find(HashOf(text.substr(0, kBlock)));
  if (found == blocks_.end()) return {};
  const size_t length = Alike(base.substr(found->second), text);
  return length >= kBlock ? Match{found->second, length} : Match{};
}

std::string PackDelta(const DeltaBase& base, std::string_view text) {
  const std::string steps = StepsOf(base, text);
  uLongf size = compressBound(steps.size());
  std::string packed;
  PutNumber(steps.size(), packed);
  const size_t head = packed.size();
  packed.resize(head + size);
  // Fails only if memory is exhausted, or if the buffer is shorter than compressBound() requires.
  compress2(reinterpret_cast<Bytef*>(packed.data() + head), &size,
            reinterpret_cast<const Bytef*>(steps.data()), steps.size(), Z_DEFAULT_COMPRESSION);
  packed.resize(head + size);
  return packed;
}

absl::StatusOr<std::string> UnpackDelta(std::string_view base, std::string_view delta) {
  const std::optional<uint64_t> steps_size = TakeNumber(delta);
  if (!steps_size || *steps_size > kTextMax) return Damaged();
  std::string unpacked(*steps_size, '\0');
  uLongf size = unpacked.size();
  if (uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &size,
                 reinterpret_cast<const Bytef*>(delta.data()), delta.size()) != Z_OK ||
      size != unpacked.size()) {
    return Damaged();
  }
  std::string_view steps = unpacked;
  const std::optional<uint64_t> text_size = TakeNumber(steps);
  if (!text_size || *text_size > kTextMax) return Damaged();
  std::string text;
  text.reserve(std::min<size_t>(*text_size, base.size() + steps.size()));
  size_t end = 0;
  while (true) {
    const std::optional<uint64_t> literal = TakeNumber(steps);
    if (!literal || *literal > steps.size()) return Damaged();
    text.append(steps.substr(0, *literal));
    steps.remove_prefix(*literal);
    if (steps.empty()) break;
    const std::optional<uint64_t> length = TakeNumber(steps);
    const std::optional<uint64_t> distance = TakeNumber(steps);
    if (!length || !distance) return Damaged();
    const uint64_t from = end + ((*distance >> 1) ^ (~(*distance & 1) + 1));
    if (from > base.size() || *length > base.size() - from) return Damaged();
    if (text.size() + *length > *text_size) return Damaged();
    text.append(base.substr(from, *length));
    end = from + *length;
  }
  if (text.size() != *text_size) return Damaged();
  return text;
}

}  // namespace ebb
