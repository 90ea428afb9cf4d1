// Symbols interns text: equal text, equal id, for as long as the table lives.
//
// Cost:      Intern and Find are one hash look-up; Text is an array access.
//            About 36 bytes a distinct text beside its bytes.
// Threads:   const methods may run concurrently; Intern needs exclusive access.
// Ownership: views from Text() live as long as the table.

#ifndef EBB_SNAPSHOT_SYMBOLS_H_
#define EBB_SNAPSHOT_SYMBOLS_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "snapshot/ids.h"

namespace ebb {

class Symbols {
 public:
  Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  TextId Intern(std::string_view text);

  // Says that `text` will be interned soon: a table of many texts is larger than the
  // caches, and what is fetched meanwhile need not be waited for.
  void Prefetch(std::string_view text) const { ids_.prefetch(KeyOf(text)); }

  // The id of `text` if it was interned before.
  [[nodiscard]] std::optional<TextId> Find(std::string_view text) const;

  [[nodiscard]] std::string_view Text(TextId id) const { return texts_[Index(id)]; }
  [[nodiscard]] size_t size() const { return texts_.size(); }

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

  struct Hash {
    using is_transparent = void;
    // Fills the upper half too: the table takes its bits from there.
    static size_t Spread(uint32_t hash) { return hash * uint64_t{0x9e3779b97f4a7c15}; }
    size_t operator()(const Key& key) const { return Spread(key.hash); }
    size_t operator()(const Entry& entry) const { return Spread(entry.hash); }
  };
  struct Equal {
    using is_transparent = void;
    const Symbols* symbols;
    bool operator()(const Entry& a, const Entry& b) const { return a.id == b.id; }
    bool operator()(const Entry& a, const Key& b) const {
      return a.hash == b.hash && symbols->Text(a.id) == b.text;
    }
  };

  std::string_view Store(std::string_view text);

  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  absl::flat_hash_set<Entry, Hash, Equal> ids_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SYMBOLS_H_
