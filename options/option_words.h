// Words for the values of an enumeration, the same in flags, in JSON and in messages.
//
//   constexpr Word<SkippedTimer> kWords[] = {{"kept", SkippedTimer::kKept}, ...};

#ifndef EBB_OPTIONS_OPTION_WORDS_H_
#define EBB_OPTIONS_OPTION_WORDS_H_

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

// Absent: no word equals `text`.
template <typename Enum, size_t kSize>
std::optional<Enum> ValueOf(const Word<Enum> (&words)[kSize], std::string_view text) {
  for (const Word<Enum>& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}
// Empty: `value` has no word.
template <typename Enum, size_t kSize>
std::string TextOf(const Word<Enum> (&words)[kSize], const Enum& value) {
  for (const Word<Enum>& word : words) {
    if (word.value == value) return std::string(word.text);
  }
  return "";
}
template <typename Enum, size_t kSize>
std::vector<std::string> TextsOf(const Word<Enum> (&words)[kSize]) {
  std::vector<std::string> texts;
  for (const Word<Enum>& word : words) texts.emplace_back(word.text);
  return texts;
}

}  // namespace ebb

#endif  // EBB_OPTIONS_OPTION_WORDS_H_
