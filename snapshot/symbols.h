// Symbols interns text: equal text, equal id.
//
//   const TextId web = symbols.Intern("web");       // For good.
//   const TextId uid = symbols.Hold("4f1c-...");    // Until it is released as often as held.
//   symbols.Release(uid);
//
// What Intern() gave keeps its id for as long as the table lives, also where the text was only
// held before.  The id of a text that nobody holds is the next that a new text gets, and its
// bytes are used again: a cluster whose pods come and go for months needs no more than for the
// pods that are there.  A Pin puts that off: whoever has one may go on reading ids that were
// valid when it was made.
//
// Cost:      Intern, Hold and Find are one hash look-up; Text is an array access.
//            About 36 bytes a distinct text beside its bytes.
// Threads:   const methods may run concurrently; the others need exclusive access.  After
//            ShareWithThreads() every method may be called by any thread at any time, for
//            ids that are held, kept or pinned; that costs a lock for all but Text().
// Ownership: views from Text() live as long as the text is held, kept or pinned.

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
#include "snapshot/ids.h"

namespace ebb {

class Symbols {
 public:
  Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  TextId Intern(std::string_view text);

  // --- Texts that go ---------------------------------------------------------

  TextId Hold(std::string_view text);
  // REQUIRES: the text is held, kept or pinned.
  void Hold(TextId id);
  void Release(TextId id);

  // While it lives, ids of texts that are released are not given to others.
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

  // From now on other threads may use the table too.
  void ShareWithThreads() { shared_.store(true, std::memory_order_relaxed); }

  // --- Asking ----------------------------------------------------------------

  // Says that `text` will be interned soon: a table of many texts is larger than the
  // caches, and what is fetched meanwhile need not be waited for.
  void Prefetch(std::string_view text) const {
    if (!IsShared()) ids_.prefetch(KeyOf(text));
  }

  // The id of a text that looks like `text`, which is mostly `text`, without reading it: to load
  // ahead what hangs on it.  kNoText: there is none, or other threads use the table.
  [[nodiscard]] TextId Guess(std::string_view text) const;
  // Loads where the text is; or the text, once that is there.
  void PrefetchPlace(TextId id) const { __builtin_prefetch(&texts_now_[Index(id)]); }
  void PrefetchText(TextId id) const { __builtin_prefetch(texts_now_[Index(id)].data()); }

  // The id of `text` if it has one.
  [[nodiscard]] std::optional<TextId> Find(std::string_view text) const;

  [[nodiscard]] std::string_view Text(TextId id) const {
    return texts_.load(std::memory_order_acquire)[Index(id)];
  }
  // Ids that texts have or had.
  [[nodiscard]] size_t size() const { return size_; }
  // Texts that are there for good.
  [[nodiscard]] size_t kept() const { return kept_.load(std::memory_order_relaxed); }

 private:
  // An entry keeps its hash, so that neither growing the table nor passing over an
  // entry that only looks alike touches the text, which is rarely in a cache.
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
    // Fills the upper half too: the table takes its bits from there.
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

  // How often a text is held.  Ids beyond the list are kept.
  static constexpr uint32_t kKept = ~uint32_t{0};
  static constexpr uint32_t kGone = kKept - 1;  // The id is nobody's.

  // Bytes that are used again are lists by size, in steps of this.
  static constexpr size_t kGrain = 8;
  static constexpr size_t kUsedAgainMax = 512;  // Longer texts that go have blocks of their own.

  [[nodiscard]] bool IsShared() const { return shared_.load(std::memory_order_relaxed); }
  TextId KeepText(std::string_view text);
  TextId HoldText(std::string_view text);
  TextId TakeId(std::string_view stored);
  void GiveBack(TextId id);
  void GiveBackReleased();
  void GrowTexts();
  std::string_view Store(std::string_view text);
  std::string_view StoreForAWhile(TextId id, std::string_view text);
  template <typename Function>
  auto Locked(Function&& function);

  // By TextId.  When they move, what was there before stays for as long as other threads may
  // be reading it.
  std::atomic<std::string_view*> texts_ = nullptr;
  size_t size_ = 0;
  std::atomic<size_t> kept_ = 0;  // Relaxed: nothing hangs on it but how much is too much.
  size_t capacity_ = 0;
  Texts texts_now_;
  std::vector<Texts> texts_before_;

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  absl::flat_hash_set<Entry, Hash, Equal> ids_;

  std::vector<uint32_t> holds_;  // By TextId.
  std::vector<TextId> free_ids_;
  std::array<std::vector<char*>, kUsedAgainMax / kGrain + 1> free_texts_;  // By size.
  absl::flat_hash_map<TextId, std::unique_ptr<char[]>> long_texts_;
  std::vector<TextId> released_;  // While there were pins.
  std::atomic<uint32_t> pins_ = 0;

  // Relaxed: whoever starts the threads has set it before; it is set again while they run.
  std::atomic<bool> shared_ = false;
  mutable std::shared_mutex mutex_;  // Only where shared_.
};

// Holds one text.
class HeldText {
 public:
  HeldText() = default;
  // `symbols` outlives it.
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
