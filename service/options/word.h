// Word: a value of an enumeration and the text that stands for it, the same in flags, in JSON and
// in messages.
//
// Threads: pure functions.

#ifndef EBB_SERVICE_OPTIONS_WORD_H_
#define EBB_SERVICE_OPTIONS_WORD_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

template <typename Enum>
struct Word {
  std::string_view text;
  Enum value;
};

// Absent: `text` is none of the words.
template <typename Enum, size_t kSize>
std::optional<Enum> ValueOf(const Word<Enum> (&words)[kSize], std::string_view text) {
  for (const Word<Enum>& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

template <typename Enum, size_t kSize>
std::vector<std::string> TextsOf(const Word<Enum> (&words)[kSize]) {
  std::vector<std::string> texts;
  for (const Word<Enum>& word : words) texts.emplace_back(word.text);
  return texts;
}

}  // namespace ebb

#endif  // EBB_SERVICE_OPTIONS_WORD_H_
