#include "snapshot/symbols.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "base/check.h"
#include "base/text.h"

namespace ebb {
namespace {
// Texts share blocks of this size.  Larger blocks are allocated less often; the last one is partly
// empty.  A text of more than a quarter of it has its own block.  Not tuned.
constexpr size_t kBlockBytes = size_t{256} << 10;
// Room for texts at first; it doubles.
constexpr size_t kFirstTexts = 64;
}  // namespace

Symbols::Key Symbols::KeyOf(std::string_view text) {
  return {text, static_cast<uint32_t>(HashOfText(text))};
}

Symbols::Symbols() : ids_(0, Hash(), Equal{this}) { Intern(""); }

template <typename Function>
auto Symbols::Locked(Function&& function) {
  if (!IsShared()) return function();
  const std::unique_lock lock(mutex_);
  return function();
}

TextId Symbols::Intern(std::string_view text) {
  if (!IsShared()) return KeepText(text);
  return Locked([&] { return KeepText(text); });
}

TextId Symbols::KeepText(std::string_view text) {
  const Key key = KeyOf(text);
  const size_t size = ids_.size();
  const auto entry =
      ids_.lazy_emplace(key, [&](const auto& make) { make(Entry{TakeId(Store(text)), key.hash}); });
  const TextId id = entry->id;
  const bool is_held = Index(id) < holds_.size() && holds_[Index(id)] != kKept;
  if (is_held) holds_[Index(id)] = kKept;
  if (is_held || ids_.size() > size) kept_.fetch_add(1, std::memory_order_relaxed);
  return id;
}

TextId Symbols::Hold(std::string_view text) {
  return Locked([&] { return HoldText(text); });
}

TextId Symbols::HoldText(std::string_view text) {
  if (!released_.empty()) GiveBackReleased();
  const Key key = KeyOf(text);
  const auto entry = ids_.lazy_emplace(key, [&](const auto& make) {
    const TextId id = TakeId({});
    texts_.load(std::memory_order_relaxed)[Index(id)] = StoreForAWhile(id, text);
    // Texts that Intern() added in between are kept.
    if (holds_.size() <= Index(id)) holds_.resize(Index(id) + 1, kKept);
    holds_[Index(id)] = 0;
    make(Entry{id, key.hash});
  });
  const TextId id = entry->id;
  if (Index(id) < holds_.size() && holds_[Index(id)] < kGone) ++holds_[Index(id)];
  return id;
}

void Symbols::Hold(TextId id) {
  Locked([&] {
    EBB_DCHECK(Index(id) < size_ && (Index(id) >= holds_.size() || holds_[Index(id)] != kGone));
    if (Index(id) < holds_.size() && holds_[Index(id)] < kGone) ++holds_[Index(id)];
  });
}

void Symbols::Release(TextId id) {
  Locked([&] {
    if (Index(id) >= holds_.size() || holds_[Index(id)] == kKept) return;
    EBB_CHECK(holds_[Index(id)] > 0 && holds_[Index(id)] < kGone);
    if (--holds_[Index(id)] > 0) return;
    // Acquire: everything that was read under the last pin has been read.
    if (pins_.load(std::memory_order_acquire) > 0) {
      released_.push_back(id);
    } else {
      GiveBack(id);
    }
  });
}

// Gives back the texts that were released while there were pins, if no pin is left.
void Symbols::GiveBackReleased() {
  if (pins_.load(std::memory_order_acquire) > 0) return;
  for (const TextId id : released_) {
    if (holds_[Index(id)] == 0) GiveBack(id);  // The id may be held again, or be listed twice.
  }
  released_.clear();
}

void Symbols::GiveBack(TextId id) {
  std::string_view& text = texts_.load(std::memory_order_relaxed)[Index(id)];
  ids_.erase(KeyOf(text));
  holds_[Index(id)] = kGone;
  if (text.size() > kUsedAgainMax) {
    long_texts_.erase(id);
  } else {
    free_texts_[(text.size() + kGrain - 1) / kGrain].push_back(const_cast<char*>(text.data()));
  }
  text = {};
  free_ids_.push_back(id);
}

std::optional<TextId> Symbols::Find(std::string_view text) const {
  const auto find = [&]() -> std::optional<TextId> {
    if (auto it = ids_.find(KeyOf(text)); it != ids_.end()) return it->id;
    return std::nullopt;
  };
  if (!IsShared()) return find();
  const std::shared_lock lock(mutex_);
  return find();
}

TextId Symbols::Guess(std::string_view text) const {
  if (IsShared()) return kNoText;
  const auto it = ids_.find(Lookalike{KeyOf(text).hash});
  return it == ids_.end() ? kNoText : it->id;
}

// Returns an unused id and stores its text.
TextId Symbols::TakeId(std::string_view stored) {
  if (!free_ids_.empty()) {
    const TextId id = free_ids_.back();
    free_ids_.pop_back();
    texts_.load(std::memory_order_relaxed)[Index(id)] = stored;
    return id;
  }
  if (size_ == capacity_) GrowTexts();
  texts_.load(std::memory_order_relaxed)[size_] = stored;
  return TextId{static_cast<uint32_t>(size_++)};
}

void Symbols::GrowTexts() {
  capacity_ = std::max(kFirstTexts, 2 * capacity_);
  auto more = std::make_unique<std::string_view[]>(capacity_);
  std::copy_n(texts_now_.get(), size_, more.get());
  texts_.store(more.get(), std::memory_order_release);
  std::swap(texts_now_, more);
  if (IsShared()) texts_before_.push_back(std::move(more));
}

std::string_view Symbols::Store(std::string_view text) {
  if (text.size() > free_bytes_) {
    const size_t bytes = text.size() > kBlockBytes / 4 ? text.size() : kBlockBytes;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    if (bytes != kBlockBytes) {  // The text gets its own block; the open block stays open.
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

// Stores a text so that its bytes can be reused later.
std::string_view Symbols::StoreForAWhile(TextId id, std::string_view text) {
  if (text.size() > kUsedAgainMax) {
    auto& bytes = long_texts_[id] = std::make_unique_for_overwrite<char[]>(text.size());
    std::memcpy(bytes.get(), text.data(), text.size());
    return {bytes.get(), text.size()};
  }
  const size_t grains = (text.size() + kGrain - 1) / kGrain;
  std::vector<char*>& free = free_texts_[grains];
  if (free.empty()) {
    std::array<char, kUsedAgainMax> padded{};
    std::copy(text.begin(), text.end(), padded.begin());
    return Store({padded.data(), grains * kGrain}).substr(0, text.size());
  }
  char* const bytes = free.back();
  free.pop_back();
  std::memcpy(bytes, text.data(), text.size());
  return {bytes, text.size()};
}

Symbols::Pin::Pin(std::shared_ptr<Symbols> symbols) : symbols_(std::move(symbols)) {
  // Under the lock, so that no text is given back at the same time.
  symbols_->Locked([&] { symbols_->pins_.fetch_add(1, std::memory_order_relaxed); });
}

Symbols::Pin& Symbols::Pin::operator=(Pin&& other) noexcept {
  std::swap(symbols_, other.symbols_);
  return *this;
}

// Release: everything that was read under the pin has been read before ids are reused.
Symbols::Pin::~Pin() {
  if (symbols_ != nullptr) symbols_->pins_.fetch_sub(1, std::memory_order_release);
}

}  // namespace ebb
