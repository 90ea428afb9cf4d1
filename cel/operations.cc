#include "cel/operations.h"

#include <cmath>
#include <limits>

namespace ebb::cel {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

template <typename T>
int Compare(T a, T b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

int CompareIntUint(int64_t i, uint64_t u) {
  if (i < 0 || u > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return -1;
  return Compare(static_cast<uint64_t>(i), u);
}
int CompareDoubleInt(double d, int64_t i) {
  if (d < -kTwo63) return -1;
  if (d > kTwo63) return 1;
  return Compare(d, static_cast<double>(i));
}
int CompareDoubleUint(double d, uint64_t u) {
  if (d < 0) return -1;
  if (d > kTwo64) return 1;
  return Compare(d, static_cast<double>(u));
}

// The bytes of the character at the start of `text`, which is not empty.
size_t Width(std::string_view text) {
  size_t n = 1;
  while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) ++n;
  return n;
}

bool IsSpace(std::string_view character) {
  if (character.size() == 1)
    return character == " " || (character[0] >= '\t' && character[0] <= '\r');
  constexpr std::string_view kSpaces[] = {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001",
                                          "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
                                          "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                                          "\u2029", "\u202f", "\u205f", "\u3000"};
  for (const std::string_view space : kSpaces) {
    if (character == space) return true;
  }
  return false;
}

}  // namespace

bool IsNumber(const Value& value) {
  return value.kind == Kind::kInt || value.kind == Kind::kUint || value.kind == Kind::kDouble;
}

int CompareNumbers(const Value& a, const Value& b) {
  switch (a.kind) {
    case Kind::kInt:
      if (b.kind == Kind::kInt) return Compare(a.i, b.i);
      if (b.kind == Kind::kUint) return CompareIntUint(a.i, b.u);
      return -CompareDoubleInt(b.d, a.i);
    case Kind::kUint:
      if (b.kind == Kind::kInt) return -CompareIntUint(b.i, a.u);
      if (b.kind == Kind::kUint) return Compare(a.u, b.u);
      return -CompareDoubleUint(b.d, a.u);
    default:
      if (b.kind == Kind::kInt) return CompareDoubleInt(a.d, b.i);
      if (b.kind == Kind::kUint) return CompareDoubleUint(a.d, b.u);
      return Compare(a.d, b.d);
  }
}

bool IsSameNumber(const Value& a, const Value& b) {
  if (!IsNumber(a) || !IsNumber(b)) return false;
  if (a.kind == Kind::kDouble && std::isnan(a.d)) return false;
  if (b.kind == Kind::kDouble && std::isnan(b.d)) return false;
  return CompareNumbers(a, b) == 0;
}

bool IsSameKey(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.b == b.b;
    case Kind::kInt:
      return a.i == b.i;
    case Kind::kUint:
      return a.u == b.u;
    case Kind::kDouble:
      return a.d == b.d;
    case Kind::kString:
      return a.text == b.text;
    default:
      return false;
  }
}

const std::pair<Value, Value>* FindEntry(const Map& map, const Value& key) {
  const auto find = [&map](const Value& k) -> const std::pair<Value, Value>* {
    for (const auto& entry : map.entries) {
      if (IsSameKey(entry.first, k)) return &entry;
    }
    return nullptr;
  };
  if (const auto* entry = find(key)) return entry;
  switch (key.kind) {
    case Kind::kDouble: {
      if (const std::optional<int64_t> i = ExactInt(key.d)) {
        if (const auto* entry = find(Value::Int(*i))) return entry;
      }
      const std::optional<uint64_t> u = ExactUint(key.d);
      return u ? find(Value::Uint(*u)) : nullptr;
    }
    case Kind::kInt:
      return key.i < 0 ? nullptr : find(Value::Uint(static_cast<uint64_t>(key.i)));
    case Kind::kUint:
      return key.u > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
                 ? nullptr
                 : find(Value::Int(static_cast<int64_t>(key.u)));
    default:
      return nullptr;
  }
}

bool IsInSet(const Value& item, const Value& value) {
  if (IsSameKey(item, value)) return true;
  // A set holds also the other kinds of a number.
  switch (item.kind) {
    case Kind::kInt:
      if (value.kind == Kind::kDouble) return static_cast<double>(item.i) == value.d;
      return value.kind == Kind::kUint && item.i >= 0 && static_cast<uint64_t>(item.i) == value.u;
    case Kind::kUint:
      if (value.kind == Kind::kDouble) return static_cast<double>(item.u) == value.d;
      return value.kind == Kind::kInt && value.i >= 0 && static_cast<uint64_t>(value.i) == item.u;
    case Kind::kDouble:
      if (value.kind == Kind::kInt) return ExactInt(item.d) == value.i;
      return value.kind == Kind::kUint && ExactUint(item.d) == value.u;
    default:
      return false;
  }
}

bool IndexOf(const Value& key, int64_t& index) {
  switch (key.kind) {
    case Kind::kInt:
      index = key.i;
      return true;
    case Kind::kUint:
      index = static_cast<int64_t>(key.u);
      return index >= 0;
    case Kind::kDouble: {
      const std::optional<int64_t> exact = ExactInt(key.d);
      index = exact.value_or(0);
      return exact.has_value();
    }
    default:
      return false;
  }
}

std::optional<int64_t> ExactInt(double value) {
  if (!(value > -kTwo63 && value < kTwo63) || std::trunc(value) != value) return std::nullopt;
  return static_cast<int64_t>(value);
}

std::optional<uint64_t> ExactUint(double value) {
  if (!(value >= 0 && value < kTwo64) || std::trunc(value) != value) return std::nullopt;
  return static_cast<uint64_t>(value);
}

size_t CountCharacters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

size_t BytesBefore(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += Width(text.substr(at));
  return at;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.substr(0, Width(text)))) text.remove_prefix(Width(text));
  while (!text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xc0) == 0x80) --last;
    if (!IsSpace(text.substr(last))) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

}  // namespace ebb::cel
