#include "cli/print/display_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace ebb {
namespace {

constexpr std::string_view kEllipsis = "\u2026";

struct Range {
  char32_t first;
  char32_t last;
};

// Characters that take two columns.  Source: the width that C++20's std::format estimates,
// [format.string.std].
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x2329, 0x232a},   {0x2e80, 0x303e},   {0x3040, 0xa4cf},  {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x2fffd}, {0x30000, 0x3fffd}};
// Characters that take no column: blocks of combining marks, and variation selectors.
constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

template <size_t kSize>
bool IsIn(const Range (&ranges)[kSize], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return range.first <= code && code <= range.last;
  });
}

size_t WidthOf(char32_t code) {
  if (code < kCombining[0].first) return 1;
  return IsIn(kCombining, code) ? 0 : IsIn(kWide, code) ? 2 : 1;
}

// A character and the marks on it.
struct Cluster {
  std::string_view text;
  size_t width;
};

// REQUIRES: UTF-8, as Printable leaves it.
std::vector<Cluster> Clusters(std::string_view text) {
  EBB_DCHECK(FirstInvalidUtf8(text) == text.size());
  std::vector<Cluster> clusters;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = std::min<size_t>(lead < 0x80   ? 1
                                           : lead < 0xe0 ? 2
                                           : lead < 0xf0 ? 3
                                                         : 4,
                                           text.size() - i);
    char32_t code = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
    }
    const size_t width = WidthOf(code);
    if (width == 0 && !clusters.empty()) {
      Cluster& base = clusters.back();
      base.text = {base.text.data(), base.text.size() + length};
    } else {
      clusters.push_back({text.substr(i, length), width});
    }
    i += length;
  }
  return clusters;
}

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// The longest front that fits into `width`.
std::string_view FrontOf(std::string_view text, size_t width) {
  if (IsAscii(text)) return text.substr(0, width);
  size_t bytes = 0;
  for (const Cluster& cluster : Clusters(text)) {
    if (cluster.width > width) break;
    width -= cluster.width;
    bytes += cluster.text.size();
  }
  return text.substr(0, bytes);
}

std::string_view BackOf(std::string_view text, size_t width) {
  if (IsAscii(text)) return text.substr(text.size() - std::min(text.size(), width));
  size_t bytes = 0;
  const std::vector<Cluster> clusters = Clusters(text);
  for (auto it = clusters.rbegin(); it != clusters.rend() && it->width <= width; ++it) {
    width -= it->width;
    bytes += it->text.size();
  }
  return text.substr(text.size() - bytes);
}

// The columns that remain of a text that is cut.
struct Cut {
  size_t front;
  size_t back;
};

// How many of the texts of `wide` differ once they are cut.
size_t CountApart(const std::vector<std::string_view>& wide, Cut cut) {
  std::set<std::pair<std::string_view, std::string_view>> apart;
  for (const std::string_view text : wide) {
    apart.emplace(FrontOf(text, cut.front), BackOf(text, cut.back));
  }
  return apart.size();
}

// REQUIRES: the texts differ.
Cut BestCut(const std::vector<std::string_view>& wide, size_t width) {
  EBB_DCHECK(std::set<std::string_view>(wide.begin(), wide.end()).size() == wide.size());
  const size_t shown = width - 1;
  const size_t middle = (shown + 1) / 2;
  Cut best{.front = middle, .back = shown - middle};
  size_t most = CountApart(wide, best);
  for (size_t away = 1; most < wide.size() && away < shown; ++away) {
    for (const bool to_the_end : {false, true}) {
      if (to_the_end ? middle + away > shown : away >= middle) continue;
      const size_t front = to_the_end ? middle + away : middle - away;
      const Cut cut{.front = front, .back = shown - front};
      const size_t apart = CountApart(wide, cut);
      if (apart <= most) continue;
      most = apart;
      best = cut;
    }
  }
  return best;
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  if (IsAscii(text)) return text.size();
  size_t width = 0;
  for (const Cluster& cluster : Clusters(text)) width += cluster.width;
  return width;
}

std::string ShortenedAtEnd(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  return std::string(FrontOf(text, width - 1)) + std::string(kEllipsis);
}

std::vector<std::string> ShortenedApart(std::span<const std::string> texts, size_t width) {
  EBB_DCHECK(width >= 3);
  std::set<std::string_view> seen;
  std::vector<std::string_view> wide;
  for (const std::string& text : texts) {
    if (DisplayWidth(text) > width && seen.insert(text).second) wide.push_back(text);
  }
  const Cut cut = wide.empty() ? Cut{} : BestCut(wide, width);
  std::vector<std::string> shortened;
  shortened.reserve(texts.size());
  for (const std::string& text : texts) {
    std::string& shown = shortened.emplace_back(text);
    if (!seen.contains(text)) continue;
    shown = FrontOf(text, cut.front);
    shown += kEllipsis;
    shown += BackOf(text, cut.back);
  }
  return shortened;
}

std::string_view CommonDomain(std::span<const std::string> names) {
  if (names.size() < 2) return "";
  std::string_view common = names[0];
  for (const std::string_view name : names) {
    const auto differ = std::mismatch(common.rbegin(), common.rend(), name.rbegin(), name.rend());
    common.remove_prefix(static_cast<size_t>(common.rend() - differ.first));
  }
  // A name that consists only of the domain would become empty.
  const size_t from = std::ranges::any_of(
      names, [&](const std::string& name) { return name.size() == common.size(); });
  for (size_t dot = common.find('.', from); dot != std::string_view::npos;
       dot = common.find('.', dot + 1)) {
    const std::string_view rest = common.substr(dot + 1);
    const auto is_digit_or_dot = [](char c) { return c == '.' || (c >= '0' && c <= '9'); };
    if (!rest.empty() && !is_digit_or_dot(rest[0])) return common.substr(dot);
  }
  return "";
}

std::string Wrapped(std::string_view text, size_t columns, size_t indent) {
  if (columns == 0) return std::string(text);
  std::string lines;
  size_t width = 0;  // Of the last line so far.
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const size_t word_width = DisplayWidth(word);
    if (begin > 0 && width + 1 + word_width > columns && width > indent) {
      lines += '\n';
      lines.append(indent, ' ');
      width = indent;
    } else if (begin > 0) {
      lines += ' ';
      ++width;
    }
    lines += word;
    width += word_width;
    begin = end + 1;
  }
  return lines;
}

}  // namespace ebb
