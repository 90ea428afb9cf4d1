// TextHasher: HashOfText (text.h) of a text that comes in pieces.
//
//   TextHasher hasher;
//   hasher.Add("a");
//   hasher.Add("b");  // Value() is HashOfText("ab").
//
// Threads: one thread at a time.

#ifndef EBB_BASE_TEXT_HASHER_H_
#define EBB_BASE_TEXT_HASHER_H_

#include <cstdint>
#include <string_view>

struct XXH3_state_s;

namespace ebb {

class TextHasher {
 public:
  TextHasher();
  ~TextHasher();
  TextHasher(const TextHasher&) = delete;
  TextHasher& operator=(const TextHasher&) = delete;

  void Add(std::string_view piece);
  // The hash of the pieces so far.
  [[nodiscard]] uint64_t Value() const;

 private:
  XXH3_state_s* const state_;
};

}  // namespace ebb

#endif  // EBB_BASE_TEXT_HASHER_H_
