// What the functions do.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "base/text.h"
#include "cel/errors.h"
#include "cel/operations.h"
#include "cel/program.h"
#include "re2/re2.h"

namespace ebb::cel {
namespace {

// The most items of a list attribute, beyond which includes() fails.
constexpr size_t kIncludesMax = 48;

bool Are(const Value* args, size_t count, std::string_view kinds) {
  if (count != kinds.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    const Kind kind = args[i].kind;
    switch (kinds[i]) {
      case 's':
        if (kind != Kind::kString) return false;
        break;
      case 'i':
        if (kind != Kind::kInt) return false;
        break;
      case 'b':
        if (kind != Kind::kBool) return false;
        break;
      case 'L':
        if (kind != Kind::kList) return false;
        break;
      case 'q':
        if (kind != Kind::kQuantity) return false;
        break;
      case 'v':
        if (kind != Kind::kSemver) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

bool IsOrdered(const Value& value) {
  return value.kind == Kind::kBool || IsNumber(value) || value.kind == Kind::kString;
}

// Replaces the first `limit` places, all if it is negative, as strings.Replace does.
std::string Replace(std::string_view text, std::string_view old, std::string_view with,
                    int64_t limit) {
  std::string out;
  size_t at = 0;
  for (int64_t done = 0; limit < 0 || done < limit; ++done) {
    size_t found = text.find(old, at);
    if (old.empty()) {
      // Before each character and at the end.
      found = done == 0 ? 0 : at + BytesBefore(text.substr(at), 1);
      if (done > 0 && at == text.size()) break;
    }
    if (found == std::string_view::npos) break;
    out += Concat({text.substr(at, found - at), with});
    at = found + old.size();
  }
  out += Concat({text.substr(at)});
  return out;
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separator,
                                    int64_t limit) {
  std::vector<std::string_view> parts;
  if (limit == 0) return parts;
  if (separator.empty() && text.empty()) return parts;
  while (limit < 0 || static_cast<int64_t>(parts.size()) + 1 < limit) {
    const size_t found = separator.empty() ? BytesBefore(text, 1) : text.find(separator);
    if (found == std::string_view::npos || (separator.empty() && found == text.size())) break;
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + separator.size());
  }
  parts.push_back(text);
  return parts;
}

// semver.ParseTolerant without trimming: leading zeros go, missing parts are 0.
std::string Normalize(std::string_view text, bool& ok) {
  ok = true;
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  for (const std::string_view part : Split(text, ".", 3)) {
    std::string_view rest = part;
    if (rest.size() > 1) {
      while (rest.starts_with('0')) rest.remove_prefix(1);
      const bool digit = !rest.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest[0]));
      parts.push_back(Concat({digit ? "" : "0", rest}));
    } else {
      parts.emplace_back(rest);
    }
  }
  if (parts.empty()) parts.emplace_back();
  if (parts.size() < 3) ok = parts.back().find_first_of("+-") == std::string::npos;
  while (parts.size() < 3) parts.emplace_back("0");
  return Concat({parts[0], ".", parts[1], ".", parts[2]});
}

}  // namespace

Value Evaluator::Apply(const Node& node, const Value* args, size_t count) {
  switch (node.function) {
    case Function::kNot:
      return args[0].kind == Kind::kBool ? Value::Bool(!args[0].b) : NoOverload();
    case Function::kNotStrictlyFalse:
      return args[0].kind == Kind::kBool ? args[0] : Value::Bool(true);
    case Function::kEquals:
      return Equal(args[0], args[1]);
    case Function::kNotEquals:
      return Value::Bool(!Equal(args[0], args[1]).is_true());
    case Function::kNegate:
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
    case Function::kDivide:
    case Function::kModulo:
      return Arithmetic(node.function, args[0], count > 1 ? args[1] : args[0]);
    case Function::kLess:
    case Function::kLessEquals:
    case Function::kGreater:
    case Function::kGreaterEquals:
      return Order(node.function, args[0], args[1]);
    case Function::kIn:
      if (args[1].kind == Kind::kList) return Contains(args[1], args[0]);
      if (args[1].kind == Kind::kMap || args[1].kind == Kind::kDomains ||
          args[1].kind == Kind::kAttributes || args[1].kind == Kind::kCapacities) {
        const Found found = FindInMap(args[1], args[0]);
        return found.value.is_error() ? found.value : Value::Bool(found.is_present);
      }
      if (args[1].kind == Kind::kDevice) return NotUnderstood("the fields of device as a map");
      return NoOverload();
    case Function::kSize: {
      const Kind kind = args[0].kind;
      if (kind == Kind::kDevice) return NotUnderstood("the fields of device as a map");
      if (kind != Kind::kString && kind != Kind::kList && kind != Kind::kMap &&
          kind != Kind::kDomains && kind != Kind::kAttributes && kind != Kind::kCapacities) {
        return NoOverload();
      }
      return Value::Int(static_cast<int64_t>(Size(args[0])));
    }
    case Function::kToInt:
    case Function::kToUint:
    case Function::kToDouble:
    case Function::kToString:
    case Function::kToBool:
      return Convert(node.function, args[0]);
    case Function::kToDyn:
      return args[0];
    case Function::kContains:
    case Function::kStartsWith:
    case Function::kEndsWith:
    case Function::kMatches:
    case Function::kCharAt:
    case Function::kLowerAscii:
    case Function::kUpperAscii:
    case Function::kReplace:
    case Function::kSplit:
    case Function::kSubstring:
    case Function::kTrim:
      return ApplyText(node, args, count);
    case Function::kIndexOf:
    case Function::kLastIndexOf:
      return args[0].kind == Kind::kList ? ApplyList(node, args, count)
                                         : ApplyText(node, args, count);
    case Function::kIsGreaterThan:
    case Function::kIsLessThan:
    case Function::kCompareTo:
      return args[0].kind == Kind::kSemver ? ApplySemver(node, args, count)
                                           : ApplyQuantity(node, args, count);
    case Function::kQuantity:
    case Function::kIsQuantity:
    case Function::kSign:
    case Function::kAsApproximateFloat:
    case Function::kAsInteger:
    case Function::kIsInteger:
    case Function::kPlus:
    case Function::kMinus:
      return ApplyQuantity(node, args, count);
    case Function::kSemver:
    case Function::kIsSemver:
    case Function::kMajor:
    case Function::kMinor:
    case Function::kPatch:
      return ApplySemver(node, args, count);
    case Function::kOptionalOf:
    case Function::kOptionalOfNonZero:
    case Function::kOptionalNone:
    case Function::kValue:
    case Function::kHasValue:
      return ApplyOptional(node, args);
    default:
      return ApplyList(node, args, count);
  }
}

Value Evaluator::Arithmetic(Function function, const Value& a, const Value& b) {
  const Value overflow = Fail("a number is beyond 64 bits");
  if (function == Function::kNegate) {
    if (a.kind == Kind::kDouble) return Value::Double(-a.d);
    if (a.kind != Kind::kInt) return NoOverload();
    return a.i == std::numeric_limits<int64_t>::min() ? overflow : Value::Int(-a.i);
  }
  if (a.kind != b.kind) return NoOverload();
  const bool divides = function == Function::kDivide || function == Function::kModulo;
  switch (a.kind) {
    case Kind::kInt: {
      int64_t result = 0;
      bool wraps = false;
      if (divides) {
        if (b.i == 0) return Fail("a division by zero");
        if (b.i == -1 && a.i == std::numeric_limits<int64_t>::min()) return overflow;
        return Value::Int(function == Function::kDivide ? a.i / b.i : a.i % b.i);
      }
      if (function == Function::kAdd) wraps = __builtin_add_overflow(a.i, b.i, &result);
      if (function == Function::kSubtract) wraps = __builtin_sub_overflow(a.i, b.i, &result);
      if (function == Function::kMultiply) wraps = __builtin_mul_overflow(a.i, b.i, &result);
      return wraps ? overflow : Value::Int(result);
    }
    case Kind::kUint: {
      uint64_t result = 0;
      bool wraps = false;
      if (divides) {
        if (b.u == 0) return Fail("a division by zero");
        return Value::Uint(function == Function::kDivide ? a.u / b.u : a.u % b.u);
      }
      if (function == Function::kAdd) wraps = __builtin_add_overflow(a.u, b.u, &result);
      if (function == Function::kSubtract) wraps = __builtin_sub_overflow(a.u, b.u, &result);
      if (function == Function::kMultiply) wraps = __builtin_mul_overflow(a.u, b.u, &result);
      return wraps ? overflow : Value::Uint(result);
    }
    case Kind::kDouble:
      switch (function) {
        case Function::kAdd:
          return Value::Double(a.d + b.d);
        case Function::kSubtract:
          return Value::Double(a.d - b.d);
        case Function::kMultiply:
          return Value::Double(a.d * b.d);
        case Function::kDivide:
          return Value::Double(a.d / b.d);
        default:
          return NoOverload();
      }
    case Kind::kString:
      if (function != Function::kAdd) return NoOverload();
      arena_.Charge(a.text.size() + b.text.size());
      Work();
      if (!abort_.ok()) return Value::Error({});
      return Value::String(arena_.Keep(Concat({a.text, b.text})));
    case Kind::kList: {
      if (function != Function::kAdd) return NoOverload();
      const std::vector<Value>& added = b.list->items;
      if (a.list->grows) {
        arena_.Charge(added.size() * sizeof(Value));
        Work();
        if (!abort_.ok()) return Value::Error({});
        const size_t size = added.size();  // `b` may be the same list.
        for (size_t i = 0; i < size; ++i) {
          const Value item = b.list->items[i];
          a.list->items.push_back(item);
        }
        a.list->is_unordered = a.list->is_unordered || b.list->is_unordered;
        return a;
      }
      if (a.list->items.empty()) return b;
      if (added.empty()) return a;
      arena_.Charge((a.list->items.size() + added.size()) * sizeof(Value));
      Work();
      if (!abort_.ok()) return Value::Error({});
      std::vector<Value> items = a.list->items;
      items.insert(items.end(), added.begin(), added.end());
      Value sum = a;
      sum.list = arena_.NewList(std::move(items));
      sum.list->is_unordered = a.list->is_unordered || b.list->is_unordered;
      return sum;
    }
    default:
      return NoOverload();
  }
}

Value Evaluator::Order(Function function, const Value& a, const Value& b) {
  int order = 0;
  if (IsNumber(a) && IsNumber(b)) {
    if ((a.kind == Kind::kDouble && std::isnan(a.d)) ||
        (b.kind == Kind::kDouble && std::isnan(b.d))) {
      return Fail("NaN has no order");
    }
    order = CompareNumbers(a, b);
  } else if (a.kind == Kind::kString && b.kind == Kind::kString) {
    order = a.text.compare(b.text);
  } else if (a.kind == Kind::kBool && b.kind == Kind::kBool) {
    order = static_cast<int>(a.b) - static_cast<int>(b.b);
  } else {
    return NoOverload();
  }
  switch (function) {
    case Function::kLess:
      return Value::Bool(order < 0);
    case Function::kLessEquals:
      return Value::Bool(order <= 0);
    case Function::kGreater:
      return Value::Bool(order > 0);
    default:
      return Value::Bool(order >= 0);
  }
}

Value Evaluator::Convert(Function function, const Value& value) {
  const Value failed = Fail("a value cannot be converted");
  const std::string_view text = value.text;
  switch (function) {
    case Function::kToBool: {
      if (value.kind == Kind::kBool) return value;
      if (value.kind != Kind::kString) return NoOverload();
      for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
        if (text == yes) return Value::Bool(true);
      }
      for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
        if (text == no) return Value::Bool(false);
      }
      return failed;
    }
    case Function::kToString:
      switch (value.kind) {
        case Kind::kString:
          return value;
        case Kind::kBool:
          return Value::String(value.b ? "true" : "false");
        case Kind::kInt:
          return Value::String(arena_.Keep(std::to_string(value.i)));
        case Kind::kUint:
          return Value::String(arena_.Keep(std::to_string(value.u)));
        case Kind::kDouble:
          return NotUnderstood("the text of a double");
        default:
          return NoOverload();
      }
    case Function::kToInt:
      switch (value.kind) {
        case Kind::kInt:
          return value;
        case Kind::kUint:
          if (value.u > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return failed;
          return Value::Int(static_cast<int64_t>(value.u));
        case Kind::kDouble: {
          // Kubernetes refuses the smallest int, too.
          const std::optional<int64_t> whole = ExactInt(std::trunc(value.d));
          return whole ? Value::Int(*whole) : failed;
        }
        case Kind::kString: {
          const std::optional<int64_t> number = ParseInt64(text);
          return number ? Value::Int(*number) : failed;
        }
        default:
          return NoOverload();
      }
    case Function::kToUint:
      switch (value.kind) {
        case Kind::kUint:
          return value;
        case Kind::kInt:
          return value.i < 0 ? failed : Value::Uint(static_cast<uint64_t>(value.i));
        case Kind::kDouble: {
          if (value.d < 0) return failed;
          const std::optional<uint64_t> whole = ExactUint(std::trunc(value.d));
          return whole ? Value::Uint(*whole) : failed;
        }
        case Kind::kString: {
          uint64_t number = 0;
          const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
          if (error != std::errc() || end != text.data() + text.size()) return failed;
          return Value::Uint(number);
        }
        default:
          return NoOverload();
      }
    default:  // kToDouble
      switch (value.kind) {
        case Kind::kDouble:
          return value;
        case Kind::kInt:
          return Value::Double(static_cast<double>(value.i));
        case Kind::kUint:
          return Value::Double(static_cast<double>(value.u));
        case Kind::kString: {
          // Go reads more forms than this one.
          double number = 0;
          const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number,
                                                    std::chars_format::fixed);
          const bool plain =
              !text.empty() && text.find_first_not_of("0123456789.-") == std::string_view::npos;
          if (!plain || error != std::errc() || end != text.data() + text.size()) {
            return NotUnderstood("a text as a double");
          }
          return Value::Double(number);
        }
        default:
          return NoOverload();
      }
  }
}

Value Evaluator::Match(const Node& node, const Value& text, const Value& pattern) {
  const re2::StringPiece subject(text.text.data(), text.text.size());
  // The time is linear in both.
  Work(text.text.size() + pattern.text.size() * 16);
  if (node.regex != nullptr) {
    return Value::Bool(re2::RE2::PartialMatch(subject, *node.regex));
  }
  for (const char c : pattern.text) {
    if (static_cast<unsigned char>(c) >= 0x80 || c == '\\') {
      return NotUnderstood("a computed regular expression of this form");
    }
  }
  const re2::RE2 regex(re2::StringPiece(pattern.text.data(), pattern.text.size()), re2::RE2::Quiet);
  if (!regex.ok()) return NotUnderstood("a computed regular expression of this form");
  return Value::Bool(re2::RE2::PartialMatch(subject, regex));
}

Value Evaluator::ApplyText(const Node& node, const Value* args, size_t count) {
  if (node.regex != nullptr) {
    // Kubernetes takes the value of an optional here, and only here.
    Value text = args[0];
    while (text.kind == Kind::kOptional && text.flag) text = *text.inner;
    return text.kind == Kind::kString ? Match(node, text, args[1]) : NoOverload();
  }
  if (args[0].kind != Kind::kString) return NoOverload();
  const std::string_view text = args[0].text;
  const auto range_error = [this] { return Fail("an index is out of range"); };
  switch (node.function) {
    case Function::kContains:
      if (!Are(args, count, "ss")) return NoOverload();
      Work(text.size());
      return Value::Bool(text.find(args[1].text) != std::string_view::npos);
    case Function::kStartsWith:
      if (!Are(args, count, "ss")) return NoOverload();
      return Value::Bool(text.starts_with(args[1].text));
    case Function::kEndsWith:
      if (!Are(args, count, "ss")) return NoOverload();
      return Value::Bool(text.ends_with(args[1].text));
    case Function::kMatches:
      return Are(args, count, "ss") ? Match(node, args[0], args[1]) : NoOverload();
    case Function::kCharAt: {
      if (!Are(args, count, "si")) return NoOverload();
      const auto size = static_cast<int64_t>(CountCharacters(text));
      if (args[1].i < 0 || args[1].i > size) return range_error();
      const std::string_view rest = text.substr(BytesBefore(text, static_cast<size_t>(args[1].i)));
      return Value::String(rest.substr(0, BytesBefore(rest, 1)));
    }
    case Function::kLowerAscii:
      return Value::String(arena_.Keep(absl::AsciiStrToLower(Absl(text))));
    case Function::kUpperAscii:
      return Value::String(arena_.Keep(absl::AsciiStrToUpper(Absl(text))));
    case Function::kTrim:
      return Value::String(Trim(text));
    case Function::kReplace: {
      if (!Are(args, count, "sss") && !Are(args, count, "sssi")) return NoOverload();
      const size_t places =
          args[1].text.empty() ? text.size() + 1 : text.size() / args[1].text.size();
      arena_.Charge(text.size() + places * args[2].text.size());
      Work(text.size());
      if (!abort_.ok()) return Value::Error({});
      return Value::String(
          arena_.Keep(Replace(text, args[1].text, args[2].text, count == 4 ? args[3].i : -1)));
    }
    case Function::kSplit: {
      if (!Are(args, count, "ss") && !Are(args, count, "ssi")) return NoOverload();
      arena_.Charge(text.size() * sizeof(Value));
      Work(text.size());
      if (!abort_.ok()) return Value::Error({});
      std::vector<Value> items;
      for (const std::string_view part : Split(text, args[1].text, count == 3 ? args[2].i : -1)) {
        items.push_back(Value::String(part));
      }
      Value list;
      list.kind = Kind::kList;
      list.list = arena_.NewList(std::move(items));
      return list;
    }
    case Function::kSubstring: {
      if (!Are(args, count, "si") && !Are(args, count, "sii")) return NoOverload();
      const auto size = static_cast<int64_t>(CountCharacters(text));
      const int64_t begin = args[1].i;
      const int64_t end = count == 3 ? args[2].i : size;
      if (begin < 0 || begin > size || end < begin || end > size) return range_error();
      const size_t first = BytesBefore(text, static_cast<size_t>(begin));
      const size_t last = BytesBefore(text, static_cast<size_t>(end));
      return Value::String(text.substr(first, last - first));
    }
    default:
      break;
  }
  // indexOf and lastIndexOf, by characters.
  if (!Are(args, count, "ss") && !Are(args, count, "ssi")) return NoOverload();
  const std::string_view sought = args[1].text;
  const bool last = node.function == Function::kLastIndexOf;
  const auto size = static_cast<int64_t>(CountCharacters(text));
  const auto sought_size = static_cast<int64_t>(CountCharacters(sought));
  int64_t offset = last ? size - 1 : 0;
  if (count == 3) offset = args[2].i;
  if (sought.empty()) {
    if (count == 2) return Value::Int(last ? size : 0);
    if (rules_ == SelectorRules::kKubernetes136) return Value::Int(offset);
    return offset < 0 ? range_error() : Value::Int(std::min(offset, size));
  }
  if (last && count == 2 && text.size() < sought.size()) return Value::Int(-1);
  if (offset < 0) return range_error();
  if (offset >= size) return Value::Int(-1);
  Work(text.size());
  if (last) offset = std::min(offset, size - sought_size);
  if (offset < 0) return Value::Int(-1);
  const size_t from = BytesBefore(text, static_cast<size_t>(offset));
  const size_t found = last ? text.rfind(sought, from) : text.find(sought, from);
  if (found == std::string_view::npos) return Value::Int(-1);
  return Value::Int(static_cast<int64_t>(CountCharacters(text.substr(0, found))));
}

Value Evaluator::ApplyQuantity(const Node& node, const Value* args, size_t count) {
  if (node.function == Function::kQuantity || node.function == Function::kIsQuantity) {
    if (!Are(args, count, "s")) return NoOverload();
    const absl::StatusOr<Quantity> parsed = Quantity::Parse(args[0].text);
    if (parsed.status().code() == absl::StatusCode::kUnimplemented) return Abort(parsed.status());
    if (node.function == Function::kIsQuantity) return Value::Bool(parsed.ok());
    if (!parsed.ok()) return Fail(arena_.Keep(std::string(parsed.status().message())));
    return Value::OfQuantity(arena_.Keep(*parsed), false);
  }
  if (args[0].kind != Kind::kQuantity) return NoOverload();
  const Quantity& quantity = *args[0].quantity;
  const bool reads_form = node.function == Function::kAsInteger ||
                          node.function == Function::kIsInteger ||
                          node.function == Function::kPlus || node.function == Function::kMinus ||
                          node.function == Function::kAsApproximateFloat;
  if (reads_form && has_changed_quantity_) {
    return NotUnderstood("a quantity whose form a comparison may have changed");
  }
  switch (node.function) {
    case Function::kSign:
      return Value::Int(quantity.Sign());
    case Function::kAsApproximateFloat:
      return Value::Double(quantity.AsApproximateFloat64());
    case Function::kIsInteger:
      return Value::Bool(quantity.AsInt64().has_value());
    case Function::kAsInteger: {
      const std::optional<int64_t> whole = quantity.AsInt64();
      return whole ? Value::Int(*whole) : Fail("a quantity is not an integer");
    }
    case Function::kPlus:
    case Function::kMinus: {
      if (!Are(args, count, "qq") && !Are(args, count, "qi")) return NoOverload();
      // Kubernetes adds to a decimal in place, which changes the operand for later evaluations.
      if (quantity.is_decimal()) return NotUnderstood("a sum with such a quantity");
      const Quantity other = args[1].kind == Kind::kInt ? Quantity(args[1].i) : *args[1].quantity;
      const std::optional<Quantity> sum =
          node.function == Function::kPlus ? quantity.Add(other) : quantity.Subtract(other);
      if (!sum) return NotUnderstood("a quantity of this size");
      return Value::OfQuantity(arena_.Keep(*sum), true);
    }
    default:
      break;
  }
  if (!Are(args, count, "qq")) return NoOverload();
  const Quantity& other = *args[1].quantity;
  if (!quantity.is_decimal() && other.is_decimal()) has_changed_quantity_ = true;
  const int order = quantity < other ? -1 : other < quantity ? 1 : 0;
  if (node.function == Function::kCompareTo) return Value::Int(order);
  return Value::Bool(order == (node.function == Function::kIsLessThan ? -1 : 1));
}

Value Evaluator::ApplySemver(const Node& node, const Value* args, size_t count) {
  if (node.function == Function::kSemver || node.function == Function::kIsSemver) {
    if (!Are(args, count, "s") && !Are(args, count, "sb")) return NoOverload();
    std::string_view text = args[0].text;
    bool ok = true;
    if (count == 2 && args[1].b) text = arena_.Keep(Normalize(text, ok));
    const std::optional<Semver> version = ok ? Semver::Parse(text) : std::nullopt;
    if (node.function == Function::kIsSemver) return Value::Bool(version.has_value());
    if (!version) return Fail("a text is not a semantic version");
    return Value::OfSemver(arena_.Keep(*version));
  }
  if (args[0].kind != Kind::kSemver) return NoOverload();
  const Semver& version = *args[0].semver;
  switch (node.function) {
    case Function::kMajor:
      return Value::Int(static_cast<int64_t>(version.major));
    case Function::kMinor:
      return Value::Int(static_cast<int64_t>(version.minor));
    case Function::kPatch:
      return Value::Int(static_cast<int64_t>(version.patch));
    default:
      break;
  }
  if (!Are(args, count, "vv")) return NoOverload();
  const int order = version.Compare(*args[1].semver);
  if (node.function == Function::kCompareTo) return Value::Int(order);
  return Value::Bool(order == (node.function == Function::kIsLessThan ? -1 : 1));
}

Value Evaluator::ApplyOptional(const Node& node, const Value* args) {
  Value none;
  none.kind = Kind::kOptional;
  switch (node.function) {
    case Function::kOptionalNone:
      return none;
    case Function::kOptionalOf:
    case Function::kOptionalOfNonZero: {
      const Value& value = args[0];
      if (node.function == Function::kOptionalOfNonZero) {
        if (value.kind == Kind::kOptional || value.kind == Kind::kDevice ||
            value.kind == Kind::kAttributes || value.kind == Kind::kCapacities) {
          return NotUnderstood("optional.ofNonZeroValue of such a value");
        }
        const bool zero = value.kind == Kind::kNull || value.is_false() ||
                          (IsNumber(value) && IsSameNumber(value, Value::Int(0))) ||
                          (value.kind == Kind::kString && value.text.empty()) ||
                          (value.kind == Kind::kList && value.list->items.empty()) ||
                          (value.kind == Kind::kMap && value.map->entries.empty());
        if (zero) return none;
      }
      Value optional = none;
      optional.flag = true;
      optional.inner = arena_.Keep(value);
      return optional;
    }
    case Function::kHasValue:
      if (args[0].kind == Kind::kNull) return NotUnderstood("null as an optional");
      if (args[0].kind != Kind::kOptional) return NoOverload();
      return Value::Bool(args[0].flag);
    default:  // kValue
      if (args[0].kind == Kind::kNull) return NotUnderstood("null as an optional");
      if (args[0].kind != Kind::kOptional) return NoOverload();
      return args[0].flag ? *args[0].inner : Fail("optional.none() has no value");
  }
}

Value Evaluator::ApplyList(const Node& node, const Value* args, size_t count) {
  const auto optional = [this](const std::vector<Value>& items, size_t index) {
    Value value;
    value.kind = Kind::kOptional;
    value.flag = index < items.size();
    if (value.flag) value.inner = arena_.Keep(items[index]);
    return value;
  };
  if (node.function == Function::kIncludes) {
    if (args[0].kind != Kind::kList) return Value::Bool(IsEqual(args[0], args[1]));
    for (size_t i = 0; i < args[0].list->items.size(); ++i) {
      if (i >= kIncludesMax) return Fail("includes() of a list that is too long");
      if (IsEqual(args[0].list->items[i], args[1])) return Value::Bool(true);
    }
    return Value::Bool(false);
  }
  if (args[0].kind != Kind::kList) return NoOverload();
  const std::vector<Value>& items = args[0].list->items;
  Work(items.size());
  if (!abort_.ok()) return Value::Error({});
  const bool depends_on_order =
      node.function == Function::kFirst || node.function == Function::kLast ||
      node.function == Function::kIndexOf || node.function == Function::kLastIndexOf ||
      node.function == Function::kUnwrap || node.function == Function::kJoin ||
      node.function == Function::kIsSorted || node.function == Function::kSum;
  if (depends_on_order && IsUnordered(args[0])) return Value::Error({});
  switch (node.function) {
    case Function::kFirst:
      return optional(items, 0);
    case Function::kLast:
      return optional(items, items.empty() ? 0 : items.size() - 1);
    case Function::kIndexOf:
    case Function::kLastIndexOf: {
      if (count != 2) return NoOverload();
      int64_t found = -1;
      for (size_t i = 0; i < items.size(); ++i) {
        if (!IsEqual(items[i], args[1])) continue;
        found = static_cast<int64_t>(i);
        if (node.function == Function::kIndexOf) break;
      }
      return Value::Int(found);
    }
    case Function::kUnwrap: {
      std::vector<Value> values;
      for (const Value& item : items) {
        if (item.kind != Kind::kOptional) return Fail("a value is not optional");
        if (item.flag) values.push_back(*item.inner);
      }
      Value list;
      list.kind = Kind::kList;
      list.list = arena_.NewList(std::move(values));
      return list;
    }
    case Function::kSetsContains:
    case Function::kSetsEquivalent:
    case Function::kSetsIntersects: {
      if (args[1].kind != Kind::kList) return NoOverload();
      if (node.function == Function::kSetsIntersects) {
        for (const Value& item : items) {
          if (Contains(args[1], item).is_true()) return Value::Bool(true);
        }
        return Value::Bool(false);
      }
      for (const Value& item : args[1].list->items) {
        if (!Contains(args[0], item).is_true()) return Value::Bool(false);
      }
      if (node.function == Function::kSetsEquivalent) {
        for (const Value& item : items) {
          if (!Contains(args[1], item).is_true()) return Value::Bool(false);
        }
      }
      return Value::Bool(true);
    }
    case Function::kJoin: {
      if (count == 2 && args[1].kind != Kind::kString) return NoOverload();
      // The types of the first item decide whether there is such a function.
      if (!items.empty() && items[0].kind != Kind::kString) return NoOverload();
      std::string text;
      for (size_t i = 0; i < items.size(); ++i) {
        if (items[i].kind != Kind::kString) return Fail("join() of values that are not strings");
        if (i > 0 && count == 2) text += Concat({args[1].text});
        text += Concat({items[i].text});
        if (text.size() > Arena::kBytesMax)
          return NotUnderstood("an expression that computes so much");
      }
      return Value::String(arena_.Keep(std::move(text)));
    }
    default:
      break;
  }
  // isSorted, sum, min and max.
  if (!items.empty() && !IsOrdered(items[0])) return NoOverload();
  if (node.function == Function::kSum) {
    const std::string_view signature =
        node.overload == nullptr ? ".Li:i" : node.overload->signature;
    Value sum = signature[2] == 'd'   ? Value::Double(0)
                : signature[2] == 'u' ? Value::Uint(0)
                                      : Value::Int(0);
    if (!items.empty()) {
      if (!IsNumber(items[0])) return NoOverload();
      if (items[0].kind == Kind::kDouble) sum = Value::Double(0);
      if (items[0].kind == Kind::kUint) sum = Value::Uint(0);
      if (items[0].kind == Kind::kInt) sum = Value::Int(0);
    }
    for (const Value& item : items) {
      sum = Arithmetic(Function::kAdd, sum, item);
      if (sum.is_error()) return sum;
    }
    return sum;
  }
  if (node.function == Function::kIsSorted) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (!IsOrdered(items[i])) return NoOverload();
      if (i > 0 && Order(Function::kGreater, items[i - 1], items[i]).is_true()) {
        return Value::Bool(false);
      }
    }
    return Value::Bool(true);
  }
  if (items.empty()) return Fail("the least or greatest of no items");
  const Function replaces = node.function == Function::kMin ? Function::kGreater : Function::kLess;
  Value best = items[0];
  for (const Value& item : items) {
    if (!IsOrdered(item)) return NoOverload();
    if (Order(replaces, best, item).is_true()) best = item;
  }
  return best;
}

}  // namespace ebb::cel
