// The state of a policy as text: a name with a version, then the exact value of every field in
// order.
//
//   std::string text = StateText("escalator/1", state);
//   if (!ReadStateText("escalator/1", text, &state)) return Denied("state", "is not readable");
//
// A struct can be stored if it has this function, which both writing and reading use:
//   template <typename A> void Fields(A& a, EscalatorState& s) { a(s.is_locked, s.requested); }
// A field may be a bool, an integer, a float or double (NaN and infinity too), an enum, a text, or
// an optional, vector, array or map of these.  An empty text is the state of a new pool.
//
// Cost:    O(text).  ReadStateText rejects a damaged text, and allocates no more than O(text) for
//          it.
// Threads: pure.

#ifndef EBB_SIZING_POLICY_STATE_TEXT_H_
#define EBB_SIZING_POLICY_STATE_TEXT_H_

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace ebb {

class StateWriter {
 public:
  template <typename... T>
  void operator()(T&... values) {
    (Put(values), ...);
  }
  std::string Take() && { return std::move(text_); }

 private:
  template <typename T>
  void Put(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      text_ += value ? "1 " : "0 ";
    } else if constexpr (std::is_enum_v<T>) {
      auto number = static_cast<int64_t>(value);
      Put(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      char digits[64];
      text_.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
      text_ += ' ';
    } else {
      Fields(*this, value);
    }
  }
  void Put(const std::string& value) {
    size_t size = value.size();
    Put(size);
    text_ += value;
    text_ += ' ';
  }
  void Put(std::string& value) { Put(std::as_const(value)); }
  template <typename T>
  void Put(std::optional<T>& value) {
    bool has = value.has_value();
    Put(has);
    if (has) Put(*value);
  }
  template <typename T>
  void Put(std::vector<T>& values) {
    size_t size = values.size();
    Put(size);
    for (T& value : values) Put(value);
  }
  template <typename T, size_t kSize>
  void Put(std::array<T, kSize>& values) {
    for (T& value : values) Put(value);
  }
  template <typename T>
  void Put(std::map<std::string, T>& values) {
    size_t size = values.size();
    Put(size);
    for (auto& [key, value] : values) {
      Put(key);
      Put(value);
    }
  }

  std::string text_;
};

class StateReader {
 public:
  explicit StateReader(std::string_view text) : rest_(text) {}

  template <typename... T>
  void operator()(T&... values) {
    (Get(values), ...);
  }
  // The text held every field and nothing else.
  [[nodiscard]] bool Done() const { return ok_ && rest_.empty(); }

 private:
  // Takes the text up to the next blank.
  std::string_view Word() {
    const size_t end = rest_.find(' ');
    if (end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return word;
  }
  template <typename T>
  void Get(T& value) {
    if (!ok_) return;
    if constexpr (std::is_same_v<T, bool>) {
      const std::string_view word = Word();
      value = word == "1";
      ok_ = ok_ && (word == "1" || word == "0");
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number = 0;
      Get(number);
      value = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      const std::string_view word = Word();
      const char* const end = word.data() + word.size();
      const auto [stop, error] = std::from_chars(word.data(), end, value);
      ok_ = ok_ && error == std::errc() && stop == end;
    } else {
      Fields(*this, value);
    }
  }
  // Reads a number of items.  Each item takes at least one byte, so a larger number is an error.
  size_t Size() {
    size_t size = 0;
    Get(size);
    ok_ = ok_ && size <= rest_.size();
    return ok_ ? size : 0;
  }
  void Get(std::string& value) {
    const size_t size = Size();
    ok_ = ok_ && size < rest_.size() && rest_[size] == ' ';
    if (!ok_) return;
    value = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
  }
  template <typename T>
  void Get(std::optional<T>& value) {
    bool has = false;
    Get(has);
    value.reset();
    if (ok_ && has) Get(value.emplace());
  }
  template <typename T>
  void Get(std::vector<T>& values) {
    values.clear();
    for (size_t left = Size(); ok_ && left > 0; --left) Get(values.emplace_back());
  }
  template <typename T, size_t kSize>
  void Get(std::array<T, kSize>& values) {
    for (T& value : values) Get(value);
  }
  template <typename T>
  void Get(std::map<std::string, T>& values) {
    values.clear();
    for (size_t left = Size(); ok_ && left > 0; --left) {
      std::string key;
      Get(key);
      Get(values[key]);
    }
  }

  std::string_view rest_;
  bool ok_ = true;
};

template <typename State>
std::string StateText(std::string name, State state) {
  StateWriter writer;
  writer(name, state);
  return std::move(writer).Take();
}

// Returns false, and leaves *state unchanged, if `text` is damaged or is a state of another name.
template <typename State>
bool ReadStateText(std::string_view name, std::string_view text, State* state) {
  State read{};
  if (!text.empty()) {
    std::string its_name;
    StateReader reader(text);
    reader(its_name, read);
    if (its_name != name || !reader.Done()) return false;
  }
  *state = std::move(read);
  return true;
}

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_STATE_TEXT_H_
