// Small helpers for text: conversion to absl::string_view, which in packaged Abseil is a type
// of its own; numbers as Kubernetes reads them from labels and taints; quotes;
// hashes.

#ifndef EBB_BASE_TEXT_H_
#define EBB_BASE_TEXT_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"

namespace ebb {

inline absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

// strconv.ParseInt(text, 10, 64): one sign, digits, nothing else.
inline std::optional<int64_t> ParseInt64(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);  // NOLINT(bugprone-*)
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// The parts between characters of `separators`, also those that are empty; at least one part.
std::vector<std::string_view> SplitAtAny(std::string_view text, std::string_view separators);

// The text in single quotes, as one word of a POSIX shell.
std::string ShellQuoted(std::string_view text);

// 64 well-mixed bits, quick over long texts too (XXH3).
size_t HashOfText(std::string_view text);

// For maps with std::string keys that are searched with string views.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return HashOfText(text); }
};

}  // namespace ebb

#endif  // EBB_BASE_TEXT_H_
