#include "snapshot/symbols.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <shared_mutex>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/objects/pod_columns.h"

namespace ebb {
namespace {
// Texts share blocks of this size.  Larger blocks are allocated less often; the last one is partly
// empty.  A text of more than a quarter of it has its own block.  Not tuned.
constexpr size_t kBlockBytes = size_t{256} << 10;
// Room for texts at first; it doubles.
constexpr size_t kFirstTexts = 64;

absl::Status Repeats(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("the table of texts has \"", Printable(text), "\" twice"));
}

}  // namespace

// The index of an adopted table.
//
// Entries lie in buckets by the highest bits of their hash, so that building the index is a
// counting sort, which writes each entry once.
//
// The texts of nodes and patterns are views of the table and repeat often, such as the keys of
// labels.  A small cache by address recognises them without a hash.
class Symbols::Block {
 public:
  Block(const TextTable& table, TextId first)
      : table_(table),
        first_(static_cast<uint32_t>(Index(first))),
        bits_(static_cast<uint32_t>(std::bit_width(table.size() / 2 + 1))),
        ends_((size_t{1} << bits_) + 1),
        entries_(table.size()),
        recent_(kRecent) {
    std::vector<uint32_t> hashes(table.size());
    for (uint32_t i = 0; i < table.size(); ++i) {
      hashes[i] = KeyOf(table[i + 1]).hash;
      ++ends_[BucketOf(hashes[i]) + 1];
    }
    for (size_t b = 1; b < ends_.size(); ++b) ends_[b] += ends_[b - 1];
    // ends_[b] is where bucket b begins; filling the bucket moves it to where the bucket ends.
    for (uint32_t i = 0; i < table.size(); ++i) {
      entries_[ends_[BucketOf(hashes[i])]++] = {.hash = hashes[i], .number = i + 1};
    }
    ends_.pop_back();
  }

  // The number of a text that occurs twice; 0 if none does.
  [[nodiscard]] uint32_t FindRepeated() {
    uint32_t begin = 0;
    for (const uint32_t end : ends_) {
      const std::span<Numbered> bucket = std::span(entries_).subspan(begin, end - begin);
      begin = end;
      // Equal hashes become neighbours.  In the smaller buckets, nearly all, each pair is compared.
      if (bucket.size() > kSmall) std::ranges::sort(bucket, {}, &Numbered::hash);
      for (size_t i = 0; i < bucket.size(); ++i) {
        for (size_t j = i + 1; j < bucket.size(); ++j) {
          if (bucket[i].hash != bucket[j].hash) {
            if (bucket.size() > kSmall) break;
            continue;
          }
          if (table_[bucket[i].number] == table_[bucket[j].number]) return bucket[j].number;
        }
      }
    }
    return 0;
  }

  // The text's number; 0 if the table does not have it, or has no more.  `hash` is the text's.
  [[nodiscard]] uint32_t Find(uint32_t hash, std::string_view text) const {
    const size_t at = FindIf(hash, [&](uint32_t number) { return table_[number] == text; });
    return at == kNowhere ? 0 : entries_[at].number;
  }
  // The number of any text with this hash; 0 if there is none.
  [[nodiscard]] uint32_t Guess(uint32_t hash) const {
    const size_t at = FindIf(hash, [](uint32_t /*number*/) { return true; });
    return at == kNowhere ? 0 : entries_[at].number;
  }
  // As Find(), which does not find the text again.
  uint32_t Take(uint32_t hash, std::string_view text) {
    const size_t at = FindIf(hash, [&](uint32_t number) { return table_[number] == text; });
    return at == kNowhere ? 0 : std::exchange(entries_[at].number, 0);
  }

  [[nodiscard]] TextId IdOf(uint32_t number) const { return TextId{first_ + number - 1}; }

  // The id of a view that Remember() received.
  [[nodiscard]] std::optional<TextId> Recall(std::string_view text) const {
    const Recent& recent = recent_[PlaceOf(text)];
    if (recent.data != text.data() || recent.size != text.size()) return std::nullopt;
    return recent.id;
  }
  void Remember(std::string_view text, TextId id) {
    if (!IsOfTable(text)) return;
    recent_[PlaceOf(text)] = {
        .data = text.data(), .size = static_cast<uint32_t>(text.size()), .id = id};
  }

 private:
  // A power of two; the cache takes 64 KiB.  Not tuned.
  static constexpr size_t kRecent = 4096;
  static constexpr size_t kSmall = 8;
  static constexpr size_t kNowhere = ~size_t{0};

  struct Numbered {
    uint32_t hash;
    uint32_t number;  // 0: was removed.
  };
  struct Recent {
    const char* data = nullptr;
    uint32_t size = 0;
    TextId id = kNoText;
  };

  [[nodiscard]] size_t BucketOf(uint32_t hash) const { return hash >> (32 - bits_); }

  // The index of the first entry that matches, or kNowhere.
  template <typename Matches>
  [[nodiscard]] size_t FindIf(uint32_t hash, Matches&& matches) const {
    const size_t b = BucketOf(hash);
    for (size_t i = b == 0 ? 0 : ends_[b - 1]; i < ends_[b]; ++i) {
      const auto& [of, number] = entries_[i];
      if (of == hash && number != 0 && matches(number)) return i;
    }
    return kNowhere;
  }

  // Only views of the table keep their content for as long as the cache lives.
  [[nodiscard]] bool IsOfTable(std::string_view text) const {
    const auto at = reinterpret_cast<uintptr_t>(text.data());
    const auto begin = reinterpret_cast<uintptr_t>(table_.bytes);
    return !text.empty() && at >= begin && at - begin < table_.offsets.back();
  }
  static size_t PlaceOf(std::string_view text) {
    const auto at = reinterpret_cast<uintptr_t>(text.data());
    return at * uint64_t{0x9e3779b97f4a7c15} >> 52;
  }
  static_assert(kRecent == size_t{1} << (64 - 52));

  const TextTable table_;
  const uint32_t first_;
  const uint32_t bits_;
  std::vector<uint32_t> ends_;  // By bucket.
  std::vector<Numbered> entries_;
  std::vector<Recent> recent_;
};

Symbols::~Symbols() = default;

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
  if (block_ != nullptr) {
    if (const std::optional<TextId> id = block_->Recall(text)) return *id;
  }
  const Key key = KeyOf(text);
  if (block_ != nullptr) {
    if (const uint32_t number = block_->Find(key.hash, text); number != 0) {
      const TextId id = block_->IdOf(number);
      block_->Remember(text, id);
      return id;
    }
  }
  const size_t size = ids_.size();
  const auto entry =
      ids_.lazy_emplace(key, [&](const auto& make) { make(Entry{TakeId(Store(text)), key.hash}); });
  const TextId id = entry->id;
  const bool is_held = Index(id) < holds_.size() && holds_[Index(id)] != kKept;
  if (is_held) holds_[Index(id)] = kKept;
  if (is_held || ids_.size() > size) kept_.fetch_add(1, std::memory_order_relaxed);
  if (block_ != nullptr) block_->Remember(text, id);
  return id;
}

absl::StatusOr<AdoptedTexts> Symbols::Adopt(const TextTable& texts) {
  return Locked([&]() -> absl::StatusOr<AdoptedTexts> {
    // Texts that have an id already are looked up one by one.
    const bool is_new = block_ == nullptr && size_ <= kFirstTexts && free_ids_.empty();
    if (texts.size() == 0) return AdoptedTexts();
    return is_new && texts.owner != nullptr ? AdoptBlock(texts) : InternEach(texts);
  });
}

absl::StatusOr<AdoptedTexts> Symbols::AdoptBlock(const TextTable& texts) {
  const TextId first{static_cast<uint32_t>(size_)};
  auto block = std::make_unique<Block>(texts, first);
  if (const uint32_t repeated = block->FindRepeated(); repeated != 0)
    return Repeats(texts[repeated]);
  AdoptedTexts adopted;
  adopted.first_ = static_cast<uint32_t>(size_);
  for (uint32_t t = 0; t < size_; ++t) {
    const std::string_view text = Text(TextId{t});
    const uint32_t number = block->Take(KeyOf(text).hash, text);
    if (number == 0) continue;
    adopted.known_.emplace_back(number, TextId{t});
    adopted.last_known_ = std::max(adopted.last_known_, number);
  }
  GrowTexts(size_ + texts.size());
  std::string_view* const all = texts_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= texts.size(); ++number) all[size_++] = texts[number];
  kept_.fetch_add(texts.size() - adopted.known_.size(), std::memory_order_relaxed);
  block_ = std::move(block);
  return adopted;
}

absl::StatusOr<AdoptedTexts> Symbols::InternEach(const TextTable& texts) {
  AdoptedTexts adopted;
  adopted.each_.reserve(texts.size());
  std::vector<bool> taken;
  for (uint32_t number = 1; number <= texts.size(); ++number) {
    const TextId id = KeepText(texts[number]);
    if (taken.size() <= Index(id)) taken.resize(size_ + texts.size());
    if (taken[Index(id)]) return Repeats(texts[number]);
    taken[Index(id)] = true;
    adopted.each_.push_back(id);
  }
  return adopted;
}

TextId Symbols::Hold(std::string_view text) {
  return Locked([&] { return HoldText(text); });
}

TextId Symbols::HoldText(std::string_view text) {
  if (!released_.empty()) GiveBackReleased();
  const Key key = KeyOf(text);
  if (block_ != nullptr) {
    if (const uint32_t number = block_->Find(key.hash, text)) return block_->IdOf(number);
  }
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
    const Key key = KeyOf(text);
    if (block_ != nullptr) {
      if (const uint32_t number = block_->Find(key.hash, text)) return block_->IdOf(number);
    }
    if (auto it = ids_.find(key); it != ids_.end()) return it->id;
    return std::nullopt;
  };
  if (!IsShared()) return find();
  const std::shared_lock lock(mutex_);
  return find();
}

TextId Symbols::Guess(std::string_view text) const {
  if (IsShared()) return kNoText;
  const uint32_t hash = KeyOf(text).hash;
  if (block_ != nullptr) {
    if (const uint32_t number = block_->Guess(hash)) return block_->IdOf(number);
  }
  const auto it = ids_.find(Lookalike{hash});
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
  if (size_ == capacity_) GrowTexts(size_ + 1);
  texts_.load(std::memory_order_relaxed)[size_] = stored;
  return TextId{static_cast<uint32_t>(size_++)};
}

void Symbols::GrowTexts(size_t least) {
  capacity_ = std::max({kFirstTexts, 2 * capacity_, least});
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
