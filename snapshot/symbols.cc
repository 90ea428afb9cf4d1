#include "snapshot/symbols.h"

#include "base/text.h"

namespace ebb {
namespace {
constexpr size_t kBlockBytes = size_t{256} << 10;
}  // namespace

Symbols::Key Symbols::KeyOf(std::string_view text) {
  return {text, static_cast<uint32_t>(HashOfText(text))};
}

Symbols::Symbols() : ids_(0, Hash(), Equal{this}) { Intern(""); }

TextId Symbols::Intern(std::string_view text) {
  const Key key = KeyOf(text);
  const auto entry = ids_.lazy_emplace(key, [&](const auto& make) {
    const TextId id{static_cast<uint32_t>(texts_.size())};
    texts_.push_back(Store(text));
    make(Entry{id, key.hash});
  });
  return entry->id;
}

std::optional<TextId> Symbols::Find(std::string_view text) const {
  if (auto it = ids_.find(KeyOf(text)); it != ids_.end()) return it->id;
  return std::nullopt;
}

std::string_view Symbols::Store(std::string_view text) {
  if (text.size() > free_bytes_) {
    const size_t bytes = text.size() > kBlockBytes / 4 ? text.size() : kBlockBytes;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    if (bytes != kBlockBytes) {  // A block of its own; the open block stays open.
      std::memcpy(blocks_.back().get(), text.data(), text.size());
      return {blocks_.back().get(), text.size()};
    }
    free_ = blocks_.back().get();
    free_bytes_ = bytes;
  }
  if (text.empty()) return {};
  std::memcpy(free_, text.data(), text.size());
  const std::string_view stored(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return stored;
}

}  // namespace ebb
