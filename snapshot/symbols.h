// Symbols interns text: equal text, equal id, for as long as the table lives.
//
// Cost:      Intern and Find are one hash look-up; Text is an array access.
//            About 30 bytes a distinct text beside its bytes.
// Threads:   const methods may run concurrently; Intern needs exclusive access.
// Ownership: views from Text() live as long as the table.

#ifndef EBB_SNAPSHOT_SYMBOLS_H_
#define EBB_SNAPSHOT_SYMBOLS_H_

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

  // The id of `text` if it was interned before.
  [[nodiscard]] std::optional<TextId> Find(std::string_view text) const;

  [[nodiscard]] std::string_view Text(TextId id) const { return texts_[Index(id)]; }
  [[nodiscard]] size_t size() const { return texts_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    const Symbols* symbols;
    size_t operator()(std::string_view text) const;
    size_t operator()(TextId id) const { return (*this)(symbols->Text(id)); }
  };
  struct Equal {
    using is_transparent = void;
    const Symbols* symbols;
    bool operator()(TextId a, TextId b) const { return a == b; }
    bool operator()(TextId a, std::string_view b) const { return symbols->Text(a) == b; }
    bool operator()(std::string_view a, TextId b) const { return a == symbols->Text(b); }
  };

  std::string_view Store(std::string_view text);

  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  absl::flat_hash_set<TextId, Hash, Equal> ids_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SYMBOLS_H_
