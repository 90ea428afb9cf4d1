#include "cel/syntax.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/utf8.h"
#include "cel/errors.h"

namespace ebb::cel {
namespace {

enum class Token : uint8_t {
  kEnd,
  kName,
  kInt,
  kUint,
  kDouble,
  kString,
  kSign,  // An operator or bracket: its text.
};

struct Lexeme {
  Token token = Token::kEnd;
  std::string_view text;
  size_t at = 0;
};

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsHex(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

constexpr std::string_view kReserved[] = {
    "as",        "break", "const",  "continue", "else", "false", "for",
    "function",  "if",    "import", "in",       "let",  "loop",  "package",
    "namespace", "null",  "return", "true",     "var",  "void",  "while"};

bool IsReserved(std::string_view name) {
  return std::ranges::find(kReserved, name) != std::end(kReserved);
}

void AppendUtf8(uint32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xc0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3f))};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xe0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3f)),
            static_cast<char>(0x80 | (c & 0x3f))};
  } else {
    out += {static_cast<char>(0xf0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 0x3f)),
            static_cast<char>(0x80 | ((c >> 6) & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
  }
}

// The text between the quotes with its escapes replaced; nullopt if an escape is wrong.
std::optional<std::string> Unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text[0] != '\\') {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 2) return std::nullopt;
    const char c = text[1];
    text.remove_prefix(2);
    constexpr std::string_view kNamed = "abfnrtv\\'\"`?";
    constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\'\"`?";
    if (const size_t at = kNamed.find(c); at != std::string_view::npos) {
      out += kMeant[at];
      continue;
    }
    size_t digits = 0;
    int base = 16;
    if (c == 'x' || c == 'X') digits = 2;
    if (c == 'u') digits = 4;
    if (c == 'U') digits = 8;
    uint32_t code = 0;
    std::string_view number = text;
    if (c >= '0' && c <= '3') {
      digits = 2;
      base = 8;
      code = static_cast<uint32_t>(c - '0') << 6;
    }
    if (digits == 0 || number.size() < digits) return std::nullopt;
    number = number.substr(0, digits);
    uint32_t rest = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + digits, rest, base);
    if (error != std::errc() || end != number.data() + digits) return std::nullopt;
    code |= rest;
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return std::nullopt;
    AppendUtf8(code, out);
    text.remove_prefix(digits);
  }
  return out;
}

class Parser {
 public:
  Parser(std::string_view text, Tree& tree) : text_(text), tree_(tree) { Advance(); }

  absl::StatusOr<Expr*> Run() {
    Expr* root = ParseExpr();
    if (root != nullptr && next_.token != Token::kEnd) root = Unexpected();
    if (!status_.ok()) return status_;
    return root;
  }

 private:
  // --- Lexer ---

  void Advance() { next_ = Scan(); }

  Lexeme Scan() {
    for (;;) {
      while (at_ < text_.size() &&
             std::string_view("\t \r\n\f").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      }
      if (text_.substr(at_, 2) != "//") break;
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
    const size_t begin = at_;
    if (at_ == text_.size()) return {Token::kEnd, {}, begin};
    const char c = text_[at_];
    if (IsNameStart(c)) return ScanNameOrString(begin);
    if (c == '"' || c == '\'') return ScanString(begin, false);
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return ScanNumber(begin);
    for (const std::string_view two : {"==", "!=", "<=", ">=", "&&", "||"}) {
      if (text_.substr(at_, 2) == two) {
        at_ += 2;
        return {Token::kSign, two, begin};
      }
    }
    if (c == '`') {
      Fail(NotUnderstood("a name in backquotes"));
    } else if (std::string_view("<>[]{}().,-!?:+*/%").find(c) == std::string_view::npos) {
      FailAt(begin, "unexpected character");
    }
    ++at_;
    return {Token::kSign, text_.substr(begin, 1), begin};
  }

  [[nodiscard]] char Peek(size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  Lexeme ScanNameOrString(size_t begin) {
    const char c = text_[at_];
    const auto quote = [](char q) { return q == '"' || q == '\''; };
    if ((c == 'r' || c == 'R') && quote(Peek(1))) {
      ++at_;
      return ScanString(begin, true);
    }
    if ((c == 'b' || c == 'B') &&
        (quote(Peek(1)) || ((Peek(1) == 'r' || Peek(1) == 'R') && quote(Peek(2))))) {
      Fail(NotUnderstood("bytes"));
    }
    while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
    return {Token::kName, text_.substr(begin, at_ - begin), begin};
  }

  // A string with its quotes; string_ becomes its value.
  Lexeme ScanString(size_t begin, bool raw) {
    const std::string_view rest = text_.substr(at_);
    const char quote = rest[0];
    const bool triple = rest.size() >= 3 && rest[1] == quote && rest[2] == quote;
    const size_t width = triple ? 3 : 1;
    size_t i = width;
    for (;; ++i) {
      if (i >= rest.size() || (!triple && (rest[i] == '\n' || rest[i] == '\r'))) {
        // """ may also be an empty string that another one follows; then neither parses.
        FailAt(begin, "string without end");
        at_ = text_.size();
        return {Token::kEnd, {}, begin};
      }
      if (rest[i] == '\\' && !raw) {
        ++i;
        continue;
      }
      if (rest.substr(i, width) ==
          std::string_view("\"\"\"'''").substr(quote == '"' ? 0 : 3, width)) {
        break;
      }
    }
    at_ += i + width;
    std::string value(rest.substr(width, i - width));
    // All ends of lines become \n.
    std::string normal;
    for (size_t k = 0; k < value.size(); ++k) {
      if (value[k] == '\r') {
        normal += '\n';
        if (k + 1 < value.size() && value[k + 1] == '\n') ++k;
      } else {
        normal += value[k];
      }
    }
    if (!raw) {
      std::optional<std::string> unescaped = Unescape(normal);
      if (!unescaped) {
        FailAt(begin, "string with a wrong escape");
        unescaped.emplace();
      }
      normal = *std::move(unescaped);
    }
    string_ = tree_.arena.Keep(std::move(normal));
    return {Token::kString, text_.substr(begin, at_ - begin), begin};
  }

  Lexeme ScanNumber(size_t begin) {
    Token token = Token::kInt;
    if (text_[at_] == '0' && Peek(1) == 'x' && IsHex(Peek(2))) {
      at_ += 2;
      while (IsHex(Peek(0))) ++at_;
    } else {
      while (IsDigit(Peek(0))) ++at_;
      if (Peek(0) == '.' && IsDigit(Peek(1))) {
        token = Token::kDouble;
        ++at_;
        while (IsDigit(Peek(0))) ++at_;
      }
      if (Peek(0) == 'e' || Peek(0) == 'E') {
        const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
        if (IsDigit(Peek(1 + sign))) {
          token = Token::kDouble;
          at_ += 1 + sign;
          while (IsDigit(Peek(0))) ++at_;
        }
      }
    }
    if (token == Token::kInt && (Peek(0) == 'u' || Peek(0) == 'U')) {
      token = Token::kUint;
      ++at_;
    }
    return {token, text_.substr(begin, at_ - begin), begin};
  }

  // --- Errors ---

  std::nullptr_t Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
    next_ = {};
    return nullptr;
  }
  std::nullptr_t FailAt(size_t at, std::string_view what) {
    return Fail(Refused(Concat({"column ", std::to_string(at + 1), ": ", what})));
  }
  std::nullptr_t Unexpected() {
    return FailAt(next_.at, next_.token == Token::kEnd
                                ? std::string("the expression ends too early")
                                : Concat({"unexpected \"", next_.text, "\""}));
  }

  // --- Nodes ---

  Expr* New(Expr expr) {
    for (const Expr* arg : expr.args) {
      if (arg == nullptr) return nullptr;
      expr.depth = std::max<uint16_t>(expr.depth, arg->depth + 1);
    }
    if (expr.depth > kDepthMax)
      return Fail(NotUnderstood("an expression that is nested so deeply"));
    return &tree_.nodes.emplace_back(std::move(expr));
  }
  Expr* Literal(const Value& value) {
    return New({.kind = Expr::Kind::kLiteral, .literal = value});
  }
  Expr* Name(std::string_view name) { return New({.kind = Expr::Kind::kName, .name = name}); }
  Expr* Call(std::string_view name, std::vector<Expr*> args, bool member = false) {
    return New(
        {.kind = Expr::Kind::kCall, .is_member = member, .name = name, .args = std::move(args)});
  }
  Expr* NewList(std::vector<Expr*> args) {
    return New({.kind = Expr::Kind::kList, .args = std::move(args)});
  }
  Expr* Fold(Expr* range, std::string_view variable, std::string_view accumulator, Expr* init,
             Expr* condition, Expr* step, Expr* result) {
    return New({.kind = Expr::Kind::kFold,
                .name = accumulator,
                .variable = variable,
                .args = {range, init, condition, step, result}});
  }

  // --- Grammar ---

  [[nodiscard]] bool At(std::string_view sign) const {
    return next_.token == Token::kSign && next_.text == sign;
  }
  bool Take(std::string_view sign) {
    if (!At(sign)) return false;
    Advance();
    return true;
  }
  bool Expect(std::string_view sign) {
    if (Take(sign)) return true;
    Unexpected();
    return false;
  }

  Expr* ParseExpr() {
    if (++nesting_ > kDepthMax) Fail(NotUnderstood("an expression that is nested so deeply"));
    Expr* expr = status_.ok() ? ParseConditional() : nullptr;
    --nesting_;
    return expr;
  }

  Expr* ParseConditional() {
    Expr* condition = ParseLogic(op::kOr);
    if (condition == nullptr || !Take("?")) return condition;
    Expr* yes = ParseLogic(op::kOr);
    if (yes == nullptr || !Expect(":")) return nullptr;
    Expr* no = ParseExpr();
    return Call(op::kConditional, {condition, yes, no});
  }

  Expr* ParseLogic(std::string_view name) {
    const bool is_or = name == op::kOr;
    std::vector<Expr*> terms;
    do {
      terms.push_back(is_or ? ParseLogic(op::kAnd) : ParseRelation());
      if (terms.back() == nullptr) return nullptr;
    } while (Take(is_or ? "||" : "&&"));
    return terms.size() == 1 ? terms[0] : Call(name, std::move(terms));
  }

  std::string_view RelationName() const {
    if (next_.token == Token::kName && next_.text == "in") return op::kIn;
    if (next_.token != Token::kSign) return {};
    if (next_.text == "<") return "_<_";
    if (next_.text == "<=") return "_<=_";
    if (next_.text == ">") return "_>_";
    if (next_.text == ">=") return "_>=_";
    if (next_.text == "==") return op::kEquals;
    if (next_.text == "!=") return op::kNotEquals;
    return {};
  }

  Expr* ParseRelation() {
    Expr* left = ParseSum();
    while (left != nullptr) {
      const std::string_view name = RelationName();
      if (name.empty()) break;
      Advance();
      left = Call(name, {left, ParseSum()});
    }
    return left;
  }

  Expr* ParseSum() {
    Expr* left = ParseProduct();
    while (left != nullptr && (At("+") || At("-"))) {
      const std::string_view name = At("+") ? op::kAdd : std::string_view("_-_");
      Advance();
      left = Call(name, {left, ParseProduct()});
    }
    return left;
  }

  Expr* ParseProduct() {
    Expr* left = ParseUnary();
    while (left != nullptr && (At("*") || At("/") || At("%"))) {
      const std::string_view name = At("*") ? "_*_" : At("/") ? "_/_" : "_%_";
      Advance();
      left = Call(name, {left, ParseUnary()});
    }
    return left;
  }

  Expr* ParseUnary() {
    size_t count = 0;
    if (At("!")) {
      while (Take("!")) ++count;
      Expr* operand = ParseMember(At("-") && Take("-"));
      return count % 2 == 0 ? operand : Call(op::kNot, {operand});
    }
    while (Take("-")) ++count;
    // One sign before a number belongs to the number.
    if (count == 1 && IsNumber()) return ParseMember(true);
    Expr* operand = ParseMember(false);
    return count % 2 == 0 ? operand : Call(op::kNegate, {operand});
  }

  [[nodiscard]] bool IsNumber() const {
    return next_.token == Token::kInt || next_.token == Token::kDouble;
  }

  Expr* ParseMember(bool negative) {
    if (negative && !IsNumber()) return Unexpected();
    Expr* operand = ParsePrimary(negative);
    while (operand != nullptr && (At(".") || At("["))) {
      operand = Take(".") ? ParseField(operand) : ParseIndex(operand);
    }
    return operand;
  }

  Expr* ParseField(Expr* operand) {
    const bool optional = Take("?");
    // Reserved words may be fields; `in`, `true`, `false` and `null` are no names.
    if (next_.token != Token::kName || next_.text == "in" || next_.text == "true" ||
        next_.text == "false" || next_.text == "null") {
      return Unexpected();
    }
    const std::string_view name = next_.text;
    Advance();
    if (!optional && Take("(")) {
      std::vector<Expr*> args;
      if (!ParseArguments(args)) return nullptr;
      return MemberCall(operand, name, std::move(args));
    }
    if (optional) {
      return Call(op::kOptionalSelect, {operand, Literal(Value::String(name))});
    }
    return New({.kind = Expr::Kind::kSelect, .name = name, .args = {operand}});
  }

  Expr* ParseIndex(Expr* operand) {
    Expect("[");
    const bool optional = Take("?");
    Expr* index = ParseExpr();
    if (index == nullptr || !Expect("]")) return nullptr;
    return Call(optional ? op::kOptionalIndex : op::kIndex, {operand, index});
  }

  // Up to and with the bracket that closes.
  bool ParseArguments(std::vector<Expr*>& args) {
    if (Take(")")) return true;
    do {
      args.push_back(ParseExpr());
      if (args.back() == nullptr) return false;
    } while (Take(","));
    return Expect(")");
  }

  Expr* ParsePrimary(bool negative) {
    const Lexeme first = next_;
    switch (first.token) {
      case Token::kInt:
      case Token::kUint:
      case Token::kDouble:
        return ParseNumber(negative);
      case Token::kString: {
        const Value value = Value::String(string_);
        Advance();
        return Literal(value);
      }
      case Token::kName:
        return ParseName(false);
      case Token::kSign:
        break;
      case Token::kEnd:
        return Unexpected();
    }
    if (Take("(")) {
      Expr* inner = ParseExpr();
      return inner != nullptr && Expect(")") ? inner : nullptr;
    }
    if (Take("[")) return ParseList();
    if (Take("{")) return ParseMap();
    if (Take(".")) {
      if (next_.token != Token::kName) return Unexpected();
      return ParseName(true);
    }
    return Unexpected();
  }

  Expr* ParseNumber(bool negative) {
    const Lexeme number = next_;
    Advance();
    std::string_view text = number.text;
    if (number.token == Token::kDouble) {
      double parsed = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      if (error == std::errc::result_out_of_range || end != text.data() + text.size()) {
        return Fail(NotUnderstood("a number of such a size"));
      }
      return Literal(Value::Double(negative ? -parsed : parsed));
    }
    if (number.token == Token::kUint) text.remove_suffix(1);
    int base = 10;
    if (text.starts_with("0x")) {
      base = 16;
      text.remove_prefix(2);
    }
    uint64_t magnitude = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
    if (error != std::errc()) return FailAt(number.at, "number out of range");
    if (number.token == Token::kUint) return Literal(Value::Uint(magnitude));
    if (magnitude > (uint64_t{1} << 63) - (negative ? 0 : 1)) {
      return FailAt(number.at, "number out of range");
    }
    return Literal(Value::Int(static_cast<int64_t>(negative ? 0 - magnitude : magnitude)));
  }

  Expr* ParseName(bool leading_dot) {
    const Lexeme name = next_;
    Advance();
    if (!leading_dot) {
      if (name.text == "true" || name.text == "false")
        return Literal(Value::Bool(name.text == "true"));
      if (name.text == "null") return Literal(Value());
    }
    if (IsReserved(name.text)) return FailAt(name.at, Concat({"reserved word ", name.text}));
    if (name.text.starts_with("__result__")) return Fail(NotUnderstood("the name __result__"));
    if (Take("(")) {
      std::vector<Expr*> args;
      if (!ParseArguments(args)) return nullptr;
      if (!leading_dot && name.text == "has" && args.size() == 1) return Has(args[0]);
      return Call(name.text, std::move(args));
    }
    if (At("{")) return Fail(NotUnderstood("a message"));
    if (leading_dot) return Fail(NotUnderstood("a name with a dot in front"));
    return Name(name.text);
  }

  Expr* ParseList() {
    Expr list{.kind = Expr::Kind::kList};
    if (Take(",")) return Expect("]") ? New(std::move(list)) : nullptr;  // "[,]" is [].
    while (!At("]")) {
      list.is_optional.push_back(Take("?"));
      list.args.push_back(ParseExpr());
      if (list.args.back() == nullptr) return nullptr;
      if (!Take(",")) break;
    }
    return Expect("]") ? New(std::move(list)) : nullptr;
  }

  Expr* ParseMap() {
    Expr map{.kind = Expr::Kind::kMap};
    if (Take(",")) return Expect("}") ? New(std::move(map)) : nullptr;  // "{,}" is {}.
    while (!At("}")) {
      map.is_optional.push_back(Take("?"));
      map.args.push_back(ParseExpr());
      if (map.args.back() == nullptr || !Expect(":")) return nullptr;
      map.args.push_back(ParseExpr());
      if (map.args.back() == nullptr) return nullptr;
      if (!Take(",")) break;
    }
    return Expect("}") ? New(std::move(map)) : nullptr;
  }

  // --- Macros ---

  Expr* Has(Expr* argument) {
    if (argument->kind != Expr::Kind::kSelect) {
      return Fail(Refused("has() needs a field: has(object.field)"));
    }
    Expr test = *argument;
    test.is_presence_test = true;
    return New(std::move(test));
  }

  Expr* MemberCall(Expr* target, std::string_view name, std::vector<Expr*> args) {
    const bool over_list = name == "all" || name == "exists" || name == "exists_one" ||
                           name == "existsOne" || name == "map" || name == "filter";
    if (over_list && (args.size() == 2 || (name == "map" && args.size() == 3))) {
      return ListMacro(target, name, args);
    }
    if ((name == "optMap" || name == "optFlatMap") && args.size() == 2) {
      return OptionalMacro(target, name, args);
    }
    if (name == "bind" && args.size() == 3 && target->kind == Expr::Kind::kName &&
        target->name == "cel") {
      if (!IsVariable(args[0])) return nullptr;
      return Bind(args[0]->name, args[1], args[2]);
    }
    if (over_list || name == "sortBy" || name.starts_with("transform")) {
      return Fail(NotUnderstood(
          Concat({"the macro ", name, " with ", std::to_string(args.size()), " arguments"})));
    }
    args.insert(args.begin(), target);
    return Call(name, std::move(args), true);
  }

  bool IsVariable(const Expr* argument) {
    if (argument->kind == Expr::Kind::kName) return true;
    Fail(Refused("the first argument of a macro is not a name"));
    return false;
  }

  // A fold over no item, whose result is the body.
  Expr* Bind(std::string_view variable, Expr* init, Expr* body) {
    return Fold(NewList({}), "#unused", variable, init, Literal(Value::Bool(false)), Name(variable),
                body);
  }

  Expr* OptionalMacro(Expr* target, std::string_view name, const std::vector<Expr*>& args) {
    if (!IsVariable(args[0])) return nullptr;
    Expr* body = Bind(args[0]->name, Call("value", {target}, true), args[1]);
    if (name == "optMap") body = Call("optional.of", {body});
    return Call(op::kConditional,
                {Call("hasValue", {target}, true), body, Call("optional.none", {})});
  }

  Expr* ListMacro(Expr* range, std::string_view name, const std::vector<Expr*>& args) {
    if (!IsVariable(args[0])) return nullptr;
    const auto accumulator = [this] { return Name(kAccumulator); };
    Expr* init = nullptr;
    Expr* condition = nullptr;
    Expr* step = nullptr;
    Expr* result = accumulator();
    if (name == "all") {
      init = Literal(Value::Bool(true));
      condition = Call(op::kNotStrictlyFalse, {accumulator()});
      step = Call(op::kAnd, {accumulator(), args[1]});
    } else if (name == "exists") {
      init = Literal(Value::Bool(false));
      condition = Call(op::kNotStrictlyFalse, {Call(op::kNot, {accumulator()})});
      step = Call(op::kOr, {accumulator(), args[1]});
    } else if (name == "exists_one" || name == "existsOne") {
      init = Literal(Value::Int(0));
      condition = Literal(Value::Bool(true));
      step =
          Call(op::kConditional,
               {args[1], Call(op::kAdd, {accumulator(), Literal(Value::Int(1))}), accumulator()});
      result = Call(op::kEquals, {accumulator(), Literal(Value::Int(1))});
    } else {
      const bool filters = name == "filter" || args.size() == 3;
      Expr* item = name == "filter" ? args[0] : args.back();
      init = NewList({});
      condition = Literal(Value::Bool(true));
      step = Call(op::kAdd, {accumulator(), NewList({item})});
      if (filters) step = Call(op::kConditional, {args[1], step, accumulator()});
    }
    return Fold(range, args[0]->name, kAccumulator, init, condition, step, result);
  }

  std::string_view text_;
  Tree& tree_;
  size_t at_ = 0;
  Lexeme next_;
  std::string_view string_;  // The value of next_, if it is a string.
  int nesting_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Expr*> Parse(std::string_view text, Tree& tree) {
  if (FirstInvalidUtf8(text) != text.size()) return NotUnderstood("text that is not UTF-8");
  return Parser(text, tree).Run();
}

}  // namespace ebb::cel
