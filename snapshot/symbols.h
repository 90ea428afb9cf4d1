// Symbols interns text: equal texts get equal ids.
//
//   const TextId web = symbols.Intern("web");       // Kept for ever.
//   const TextId uid = symbols.Hold("4f1c-...");    // Kept until each Hold has its Release.
//   symbols.Release(uid);
//
// An interned text keeps its id for as long as the table lives, even if the text was only held
// before.  When all holders have released a held text, its id is given to a later new text and its
// bytes are reused.  So a cluster whose pods come and go for months needs no more memory than its
// current pods need.  A Pin delays the reuse: while a thread has a Pin, it may read all ids that
// were valid when the Pin was made.
//
// A file's table of texts (TextTable) can be adopted as a whole: its texts get consecutive ids, and
// their bytes stay where they are.
//
// Cost:      Intern, Hold and Find are one hash look-up, and a second one if a table was adopted;
//            Text is an array access.
//            About 36 bytes for each distinct text in addition to its bytes.
// Threads:   const methods may run concurrently; the others need exclusive access.  After
//            ShareWithThreads() any thread may call any method at any time, for
//            ids that are interned, held or pinned; all methods but Text() then take a lock.
// Ownership: views from Text() are valid while the text is interned, held or pinned.

#ifndef EBB_SNAPSHOT_SYMBOLS_H_
#define EBB_SNAPSHOT_SYMBOLS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "snapshot/ids.h"

namespace ebb {

struct TextTable;

// The ids of the texts of a TextTable that Symbols::Adopt() took.
class AdoptedTexts {
 public:
  // REQUIRES: `number` is at most the table's size.
  [[nodiscard]] TextId operator[](uint32_t number) const {
    if (number == 0) return kNoText;
    if (!each_.empty()) return each_[number - 1];
    if (number <= last_known_) {
      for (const auto& [known, id] : known_) {
        if (known == number) return id;
      }
    }
    return TextId{first_ + number - 1};
  }

 private:
  friend class Symbols;

  uint32_t first_ = 0;  // The id of text 1; the other ids follow it.
  // Texts that had an id before.
  std::vector<std::pair<uint32_t, TextId>> known_;
  uint32_t last_known_ = 0;
  std::vector<TextId> each_;  // By number, from 1; not empty if the ids do not follow each other.
};

class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // Returns the id of `text`, and keeps the text for ever.
  TextId Intern(std::string_view text);

  // Interns every text of the table.  The first table that a nearly empty Symbols adopts is not
  // copied: `texts.owner` then lives as long as the Symbols.
  // Errors: InvalidArgument if two texts are equal.
  // Cost: one hash of each text and some 35 bytes; for another table, as Intern().
  absl::StatusOr<AdoptedTexts> Adopt(const TextTable& texts);

  // --- Texts that can be released --------------------------------------------

  // Returns the id of `text`, and adds a holder of it.
  TextId Hold(std::string_view text);
  // REQUIRES: the text is interned, held or pinned.
  void Hold(TextId id);
  void Release(TextId id);

  // While a Pin exists, ids of released texts are not reused.
  class Pin {
   public:
    Pin() = default;
    explicit Pin(std::shared_ptr<Symbols> symbols);
    Pin(Pin&& other) noexcept = default;
    Pin& operator=(Pin&& other) noexcept;
    ~Pin();

   private:
    std::shared_ptr<Symbols> symbols_;
  };

  // Must be called before other threads use the table.
  void ShareWithThreads() { shared_.store(true, std::memory_order_relaxed); }

  // --- Look-ups --------------------------------------------------------------

  // A hint that `text` will be interned soon.  A table of many texts is larger than the
  // caches; this starts loading the entry, so that Intern need not wait for it.
  void Prefetch(std::string_view text) const {
    if (!IsShared() && block_ == nullptr) ids_.prefetch(KeyOf(text));
  }

  // Returns the id of a text with the same hash as `text`, which is nearly always `text`, without
  // reading its bytes; for prefetching.  kNoText if none exists, or if the table is shared.
  [[nodiscard]] TextId Guess(std::string_view text) const;
  // PrefetchPlace loads the pointer to the text; once that is loaded, PrefetchText loads the text.
  void PrefetchPlace(TextId id) const { __builtin_prefetch(&texts_now_[Index(id)]); }
  void PrefetchText(TextId id) const { __builtin_prefetch(texts_now_[Index(id)].data()); }

  // The id of `text`, or nullopt if it has none.
  [[nodiscard]] std::optional<TextId> Find(std::string_view text) const;

  [[nodiscard]] std::string_view Text(TextId id) const {
    return texts_.load(std::memory_order_acquire)[Index(id)];
  }
  // The number of ids that texts have or had.
  [[nodiscard]] size_t size() const { return size_; }
  // The number of interned texts, which are never released.
  [[nodiscard]] size_t kept() const { return kept_.load(std::memory_order_relaxed); }

 private:
  // An entry stores its hash, so that growing the table, or skipping an entry with a
  // similar hash, does not read the text, which is rarely in a cache.
  struct Entry {
    TextId id;
    uint32_t hash;
  };
  struct Key {
    std::string_view text;
    uint32_t hash;
  };
  static Key KeyOf(std::string_view text);
  struct Lookalike {
    uint32_t hash;
  };

  struct Hash {
    using is_transparent = void;
    // Also fills the upper half, from which the table takes its bits.
    static size_t Spread(uint32_t hash) { return hash * uint64_t{0x9e3779b97f4a7c15}; }
    size_t operator()(const Key& key) const { return Spread(key.hash); }
    size_t operator()(const Entry& entry) const { return Spread(entry.hash); }
    size_t operator()(const Lookalike& text) const { return Spread(text.hash); }
  };
  struct Equal {
    using is_transparent = void;
    const Symbols* symbols;
    bool operator()(const Entry& a, const Entry& b) const { return a.id == b.id; }
    bool operator()(const Entry& a, const Lookalike& b) const { return a.hash == b.hash; }
    bool operator()(const Entry& a, const Key& b) const {
      return a.hash == b.hash && symbols->Text(a.id) == b.text;
    }
  };
  using Texts = std::unique_ptr<std::string_view[]>;

  // Values of holds_: the number of holders, or one of these.  Ids beyond the list are kKept.
  static constexpr uint32_t kKept = ~uint32_t{0};
  static constexpr uint32_t kGone = kKept - 1;  // No text has the id.

  // Bytes to be reused are in lists by size, in steps of kGrain.  A larger step wastes more of each
  // text and finds bytes to reuse more often.  Not tuned.
  static constexpr size_t kGrain = 8;
  static constexpr size_t kUsedAgainMax = 512;  // Longer held texts have blocks of their own.

  class Block;  // A table that was adopted.

  [[nodiscard]] bool IsShared() const { return shared_.load(std::memory_order_relaxed); }
  TextId KeepText(std::string_view text);
  TextId HoldText(std::string_view text);
  TextId TakeId(std::string_view stored);
  void GiveBack(TextId id);
  void GiveBackReleased();
  void GrowTexts(size_t least);
  absl::StatusOr<AdoptedTexts> AdoptBlock(const TextTable& texts);
  absl::StatusOr<AdoptedTexts> InternEach(const TextTable& texts);
  std::string_view Store(std::string_view text);
  std::string_view StoreForAWhile(TextId id, std::string_view text);
  template <typename Function>
  auto Locked(Function&& function);

  // By TextId.  When the array moves, the old one stays in texts_before_ while other threads may
  // be reading it.
  std::atomic<std::string_view*> texts_ = nullptr;
  size_t size_ = 0;
  std::atomic<size_t> kept_ = 0;  // Relaxed: used only to estimate how many texts are dead.
  size_t capacity_ = 0;
  Texts texts_now_;
  std::vector<Texts> texts_before_;

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  absl::flat_hash_set<Entry, Hash, Equal> ids_;  // Without the texts of block_.
  std::unique_ptr<Block> block_;

  std::vector<uint32_t> holds_;  // By TextId.
  std::vector<TextId> free_ids_;
  std::array<std::vector<char*>, kUsedAgainMax / kGrain + 1> free_texts_;  // By size.
  absl::flat_hash_map<TextId, std::unique_ptr<char[]>> long_texts_;
  std::vector<TextId> released_;  // Ids that were released while there were pins.
  std::atomic<uint32_t> pins_ = 0;

  // Relaxed: the flag is set before other threads start to use the table, and setting it again
  // while they run changes nothing.
  std::atomic<bool> shared_ = false;
  mutable std::shared_mutex mutex_;  // Used only if shared_.
};

// Holds one text until it is destroyed.
class HeldText {
 public:
  HeldText() = default;
  // `symbols` must outlive it.
  HeldText(Symbols& symbols, TextId id) : symbols_(&symbols), id_(id) { symbols.Hold(id); }
  HeldText(HeldText&& other) noexcept
      : symbols_(std::exchange(other.symbols_, nullptr)), id_(other.id_) {}
  HeldText& operator=(HeldText&& other) noexcept {
    std::swap(symbols_, other.symbols_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~HeldText() {
    if (symbols_ != nullptr) symbols_->Release(id_);
  }

 private:
  Symbols* symbols_ = nullptr;
  TextId id_{};
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SYMBOLS_H_
