// A value of the language while a selector is evaluated.  For this folder only.
//
// Ownership: a Value borrows what it points to from the Arena of the program or of one evaluation,
//            and from the device.

#ifndef EBB_CEL_VALUE_H_
#define EBB_CEL_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/values.h"

namespace ebb::cel {

enum class Kind : uint8_t {
  kError,  // text: why.  An operand of && and || may be one.
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kList,
  kMap,
  kOptional,
  kQuantity,
  kSemver,
  // Views of the device.
  kDevice,
  kDomains,     // device.attributes and device.capacity.
  kAttributes,  // device.attributes["domain"]; text: the domain.
  kCapacities,
};

struct List;
struct Map;

struct Value {
  Kind kind = Kind::kNull;
  // kDomains: of capacity.  kQuantity: Go's value is a pointer.  kOptional: has a value.
  bool flag = false;
  // kDomains: looking up an unknown domain finds no entry, as in a map of Go.
  bool plain = false;
  union {
    bool b;
    int64_t i = 0;
    uint64_t u;
    double d;
    List* list;
    const Map* map;
    const Value* inner;
    const Quantity* quantity;
    const Semver* semver;
  };
  std::string_view text;

  static Value Bool(bool b) {
    Value v;
    v.kind = Kind::kBool;
    v.b = b;
    return v;
  }
  static Value Int(int64_t i) {
    Value v;
    v.kind = Kind::kInt;
    v.i = i;
    return v;
  }
  static Value Uint(uint64_t u) {
    Value v;
    v.kind = Kind::kUint;
    v.u = u;
    return v;
  }
  static Value Double(double d) {
    Value v;
    v.kind = Kind::kDouble;
    v.d = d;
    return v;
  }
  static Value String(std::string_view text) {
    Value v;
    v.kind = Kind::kString;
    v.text = text;
    return v;
  }
  static Value Error(std::string_view why) {
    Value v;
    v.kind = Kind::kError;
    v.text = why;
    return v;
  }
  static Value OfQuantity(const Quantity* quantity, bool pointer) {
    Value v;
    v.kind = Kind::kQuantity;
    v.quantity = quantity;
    v.flag = pointer;
    return v;
  }
  static Value OfSemver(const Semver* semver) {
    Value v;
    v.kind = Kind::kSemver;
    v.semver = semver;
    return v;
  }

  [[nodiscard]] bool is_error() const { return kind == Kind::kError; }
  [[nodiscard]] bool is_true() const { return kind == Kind::kBool && b; }
  [[nodiscard]] bool is_false() const { return kind == Kind::kBool && !b; }
};

struct List {
  std::vector<Value> items;
  // `+` appends to this list itself: the accumulator of a macro that began as [].
  bool grows = false;
  // Made from the keys of a map, whose order is random in Kubernetes.
  bool is_unordered = false;
};

// Few entries, so that a search is a scan.  Keys are unique.
struct Map {
  std::vector<std::pair<Value, Value>> entries;
};

// Owns what values point to.
class Arena {
 public:
  // The bytes that texts and lists of one evaluation may take.  It bounds what repeated `x + x`
  // costs, whose price is too low in the language's cost.
  static constexpr size_t kBytesMax = size_t{8} << 20;

  std::string_view Keep(std::string text) {
    bytes_ += text.size();
    return texts_.emplace_back(std::move(text));
  }
  List* NewList(std::vector<Value> items) {
    bytes_ += items.size() * sizeof(Value);
    return &lists_.emplace_back(List{.items = std::move(items)});
  }
  Map* NewMap() { return &maps_.emplace_back(); }
  const Value* Keep(const Value& value) { return &values_.emplace_back(value); }
  const Quantity* Keep(const Quantity& quantity) { return &quantities_.emplace_back(quantity); }
  const Semver* Keep(const Semver& semver) { return &semvers_.emplace_back(semver); }
  void Charge(size_t bytes) { bytes_ += bytes; }
  [[nodiscard]] bool is_full() const { return bytes_ > kBytesMax; }

 private:
  size_t bytes_ = 0;
  std::list<std::string> texts_;
  std::list<List> lists_;
  std::list<Map> maps_;
  std::list<Value> values_;
  std::list<Quantity> quantities_;
  std::list<Semver> semvers_;
};

}  // namespace ebb::cel

#endif  // EBB_CEL_VALUE_H_
