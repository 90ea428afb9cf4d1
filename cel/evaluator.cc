#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "cel/errors.h"
#include "cel/operations.h"
#include "cel/program.h"

namespace ebb::cel {
namespace {

// Steps of one evaluation that have no cost of their own, such as comparing nested lists.
constexpr size_t kWorkMax = 20'000'000;

Value WithText(Kind kind, std::string_view text) {
  Value value;
  value.kind = kind;
  value.text = text;
  return value;
}

Value None() { return WithText(Kind::kOptional, {}); }

// Rounded up as Kubernetes rounds, in floating point.
uint64_t Tenth(uint64_t size) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(size) * 0.1));
}
uint64_t Fifth(uint64_t size) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(size) * 2 * 0.1));
}

bool IsMap(const Value& value);

// Takes a type of an overload's signature.  Whether the value has it, if there is a value.
bool TakeType(std::string_view& signature, const Value* value) {
  const char c = signature[0];
  signature.remove_prefix(1);
  const auto is = [value](Kind kind) { return value == nullptr || value->kind == kind; };
  switch (c) {
    case 'b':
      return is(Kind::kBool);
    case 'i':
      return is(Kind::kInt);
    case 'u':
      return is(Kind::kUint);
    case 'd':
      return is(Kind::kDouble);
    case 's':
      return is(Kind::kString);
    case 'q':
      return is(Kind::kQuantity);
    case 'v':
      return is(Kind::kSemver);
    case 'y':
    case 'D':
    case 'T':
      return value == nullptr;
    case 'O':
      TakeType(signature, nullptr);
      return is(Kind::kOptional);
    case 'L': {
      const bool has_item =
          value != nullptr && value->kind == Kind::kList && !value->list->items.empty();
      // The first item stands for all.
      const bool fits = TakeType(signature, has_item ? value->list->items.data() : nullptr);
      return fits && is(Kind::kList);
    }
    case 'M':
      TakeType(signature, nullptr);
      TakeType(signature, nullptr);
      return value == nullptr || IsMap(*value);
    default:
      return true;
  }
}

// Whether the arguments have the types of an overload.
bool Fits(std::string_view signature, const Value* args) {
  if (signature.starts_with('.')) signature.remove_prefix(1);
  for (bool fits = true; signature[0] != ':'; ++args) {
    fits = TakeType(signature, args);
    if (!fits) return false;
  }
  return true;
}

bool IsMap(const Value& value) {
  return value.kind == Kind::kMap || value.kind == Kind::kDomains ||
         value.kind == Kind::kAttributes || value.kind == Kind::kCapacities;
}

}  // namespace

std::pair<std::string_view, std::string_view> SplitName(std::string_view name,
                                                        std::string_view driver) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {driver, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

absl::StatusOr<Value> Evaluator::Run(const Node& root) {
  const Value value = Eval(root);
  if (!abort_.ok()) return abort_;
  return value;
}

Value Evaluator::Abort(absl::Status status) {
  if (abort_.ok()) abort_ = std::move(status);
  return Value::Error({});
}

Value Evaluator::NotUnderstood(std::string_view what) { return Abort(cel::NotUnderstood(what)); }

void Evaluator::Pay(uint64_t cost) {
  if (!abort_.ok()) return;
  cost_ += cost;
  if (cost_ > cost_max_) {
    Abort(absl::ResourceExhaustedError("the evaluation exceeds the cost limit"));
  }
}

void Evaluator::Work(size_t steps) {
  work_ += steps;
  if (work_ > kWorkMax || arena_.is_full()) NotUnderstood("an expression that computes so much");
}

// --- Nodes ---

Value Evaluator::Eval(const Node& node) {
  if (!abort_.ok()) return Value::Error({});
  switch (node.kind) {
    case Node::Kind::kConstant:
      return node.constant;
    case Node::Kind::kAttribute:
    case Node::Kind::kPresenceTest: {
      Value value = Resolve(*node.attribute);
      const bool is_test = node.kind == Node::Kind::kPresenceTest;
      if (is_test && value.kind == Kind::kOptional) value = Value::Bool(value.flag);
      const bool is_conditional = node.attribute->root == Attribute::Root::kConditional;
      if (is_test && is_conditional) {
        --cost_;  // As in Kubernetes, which does not count tests.
      } else if (!is_test && !is_conditional) {
        Pay(1);
      }
      return value;
    }
    case Node::Kind::kCall:
      return EvalCall(node);
    case Node::Kind::kSet:
      return EvalSet(node);
    case Node::Kind::kList:
      return EvalList(node);
    case Node::Kind::kMap:
      return EvalMap(node);
    case Node::Kind::kFold:
      return EvalFold(node);
  }
  return NoOverload();
}

Value Evaluator::EvalLogic(const Node& node) {
  const bool decides = node.function == Function::kOr;
  Value error;
  bool has_error = false;
  for (const Node* arg : node.args) {
    const Value value = Eval(*arg);
    if (value.kind == Kind::kBool) {
      if (value.b == decides) return value;
    } else if (!has_error) {
      has_error = true;
      error = value.is_error() ? value : NoOverload();
    }
  }
  return has_error ? error : Value::Bool(!decides);
}

Value Evaluator::EvalCall(const Node& node) {
  if (node.function == Function::kAnd || node.function == Function::kOr) return EvalLogic(node);
  if (node.function == Function::kOptionalOr || node.function == Function::kOptionalOrValue) {
    const Value optional = Eval(*node.args[0]);
    if (optional.kind != Kind::kOptional) {
      // 1.36 passes on what is not optional.
      const bool passes = optional.is_error() || rules_ == SelectorRules::kKubernetes136;
      return passes ? optional : NoOverload();
    }
    if (!optional.flag) return Eval(*node.args[1]);
    return node.function == Function::kOptionalOr ? optional : *optional.inner;
  }
  std::array<Value, 4> args;
  const size_t count = node.args.size();
  Value result;
  bool has_error = false;
  for (size_t i = 0; i < count; ++i) {
    args[i] = Eval(*node.args[i]);
    if (args[i].is_error() && !has_error && node.function != Function::kNotStrictlyFalse) {
      has_error = true;
      result = args[i];
      if (node.stops_early && i + 1 < count) return result;
    }
  }
  if (!abort_.ok()) return Value::Error({});
  // The types of the arguments allow one overload only: then Kubernetes tries no other.
  if (!has_error && node.overload != nullptr && node.function > Function::kSize &&
      node.regex == nullptr && !Fits(node.overload->signature, args.data())) {
    has_error = true;
    result = NoOverload();
  }
  if (!has_error) result = Apply(node, args.data(), count);
  Pay(CostOf(node, args.data(), count, result));
  return result;
}

Value Evaluator::EvalList(const Node& node) {
  std::vector<Value> items;
  items.reserve(node.args.size());
  Value error;
  bool has_error = false;
  for (size_t i = 0; i < node.args.size() && !has_error; ++i) {
    Value item = Eval(*node.args[i]);
    if (!node.is_optional.empty() && node.is_optional[i] && !item.is_error()) {
      if (item.kind != Kind::kOptional) {
        item = Fail("an element with ? is not optional");
      } else if (!item.flag) {
        continue;
      } else {
        item = Unwrapped(item);
      }
    }
    has_error = item.is_error();
    if (has_error) error = item;
    items.push_back(item);
  }
  Pay(10);
  if (has_error) return error;
  Value list;
  list.kind = Kind::kList;
  list.list = arena_.NewList(std::move(items));
  return list;
}

// The value of an optional, for an element with `?`.
Value Evaluator::Unwrapped(const Value& optional) {
  // Kubernetes puts the error itself into the list.
  return optional.inner->is_error() ? NotUnderstood("an error as an element") : *optional.inner;
}

Value Evaluator::EvalMap(const Node& node) {
  Map* map = arena_.NewMap();
  Value error;
  bool has_error = false;
  for (size_t i = 0; i < node.args.size() && !has_error; i += 2) {
    const Value key = Eval(*node.args[i]);
    Value value = key.is_error() ? key : Eval(*node.args[i + 1]);
    bool skip = false;
    if (!value.is_error() && node.is_optional[i / 2]) {
      if (value.kind != Kind::kOptional) {
        value = Fail("an entry with ? is not optional");
      } else if (value.flag) {
        value = Unwrapped(value);
      } else {
        skip = true;
      }
    }
    has_error = value.is_error();
    if (has_error) error = value;
    if (has_error) break;
    if (key.kind > Kind::kString || (key.kind == Kind::kDouble && std::isnan(key.d))) {
      NotUnderstood("a map with such keys");
      break;
    }
    std::erase_if(map->entries, [&](const auto& entry) { return IsSameKey(entry.first, key); });
    Work(map->entries.size());
    if (!skip) map->entries.emplace_back(key, value);
  }
  arena_.Charge(map->entries.size() * sizeof(Value) * 2);
  Pay(30);
  if (has_error) return error;
  Value value;
  value.kind = Kind::kMap;
  value.map = map;
  return value;
}

Value Evaluator::EvalSet(const Node& node) {
  const Value value = Eval(*node.args[0]);
  if (value.is_error()) return value;
  if (value.kind == Kind::kSemver) {
    // Go cannot hash it: the evaluation ends, which no || can hide.
    return Abort(Refused("a version is looked up in a list of other values"));
  }
  Work(node.constant.list->items.size() / 8);
  for (const Value& item : node.constant.list->items) {
    if (IsInSet(item, value)) return Value::Bool(true);
  }
  return Value::Bool(false);
}

Value Evaluator::EvalFold(const Node& node) {
  const Value range = Eval(*node.args[0]);
  if (range.is_error()) return range;
  // The frame of this fold is in use only if the fold is inside its own initial value: never.
  const Frame before = std::exchange(frames_[node.slot], Frame{.fold = &node});
  const auto iterate = [&](const Value& item) {
    frames_[node.slot].item = item;
    Work();
    const Value condition = Eval(*node.args[2]);
    if (condition.kind == Kind::kBool && !condition.b) return false;
    const Value next = Eval(*node.args[3]);
    frames_[node.slot].accumulator = next;
    frames_[node.slot].is_initialized = true;
    return abort_.ok();
  };
  Value result;
  bool is_unordered = false;
  if (range.kind == Kind::kList) {
    is_unordered = range.list->is_unordered;
    // The list may be one that grows while the fold runs; Go then sees the first items.
    const size_t size = range.list->items.size();
    for (size_t i = 0; i < size && i < range.list->items.size(); ++i) {
      if (!iterate(range.list->items[i])) break;
    }
    result = Eval(*node.args[4]);
  } else if (IsMap(range)) {
    const std::vector<Value> keys = Keys(range);
    is_unordered = keys.size() > 1;
    for (const Value& key : keys) {
      if (!iterate(key)) break;
    }
    result = Eval(*node.args[4]);
  } else if (range.kind == Kind::kDevice) {
    result = NotUnderstood("the fields of device as a map");
  } else {
    result = Fail("a macro is applied to a value without elements");
  }
  if (frames_[node.slot].grows && result.kind == Kind::kList && result.list->grows) {
    Work(result.list->items.size());
    is_unordered = is_unordered || result.list->is_unordered;
    result.list = arena_.NewList(result.list->items);
    result.list->is_unordered = is_unordered;
  }
  frames_[node.slot] = before;
  return result;
}

Value Evaluator::Accumulator(uint32_t slot) {
  if (!frames_[slot].is_initialized) {
    frames_[slot].is_initialized = true;
    Value value = Eval(*frames_[slot].fold->args[1]);
    if (value.kind == Kind::kList && value.list->items.empty()) {
      value.list = arena_.NewList({});
      value.list->grows = true;
      frames_[slot].grows = true;
    }
    frames_[slot].accumulator = value;
  }
  return frames_[slot].accumulator;
}

// --- Attributes ---

Value Evaluator::Resolve(const Attribute& attribute) {
  switch (attribute.root) {
    case Attribute::Root::kDevice:
      return ApplyQualifiers(WithText(Kind::kDevice, {}), attribute);
    case Attribute::Root::kAccumulator: {
      const Value value = Accumulator(attribute.slot);
      return value.is_error() ? value : ApplyQualifiers(value, attribute);
    }
    case Attribute::Root::kItem: {
      const Value value = frames_[attribute.slot].item;
      return ApplyQualifiers(value, attribute);
    }
    case Attribute::Root::kNode: {
      const Value value = Eval(*attribute.node);
      return value.is_error() ? value : ApplyQualifiers(value, attribute);
    }
    case Attribute::Root::kConditional: {
      const Value condition = Eval(*attribute.node);
      if (condition.kind == Kind::kBool) {
        return Resolve(condition.b ? *attribute.yes : *attribute.no);
      }
      return condition.is_error() ? condition : NoOverload();
    }
  }
  return NoOverload();
}

// What becomes of a value when Go unwraps and wraps it again.
Value Evaluator::Native(const Value& value) {
  if (rules_ == SelectorRules::kKubernetes137) return value;  // It wraps what it has.
  switch (value.kind) {
    case Kind::kQuantity:
    case Kind::kSemver:
      return Fail("an optional value of this type is used in a way that Kubernetes cannot convert");
    case Kind::kOptional:
      return value.flag ? Native(*value.inner) : Value();
    case Kind::kDomains: {
      Value plain = value;
      plain.plain = true;
      return plain;
    }
    default:
      return value;
  }
}

Value Evaluator::ApplyQualifiers(Value object, const Attribute& attribute) {
  bool is_optional = object.kind == Kind::kOptional;
  if (is_optional) {
    if (!object.flag) return object;
    object = Native(*object.inner);
  }
  for (const Qualifier& qualifier : attribute.qualifiers) {
    if (!abort_.ok()) return Value::Error({});
    is_optional = is_optional || qualifier.is_optional;
    const Value key = KeyOf(qualifier);
    Found found = key.is_error()      ? Found{.value = key}
                  : object.is_error() ? Found{.value = object}
                                      : Find(object, key);
    if (is_optional) {
      if (found.value.is_error()) return found.value;
      if (!found.is_present) return None();
      Pay(1);
    } else {
      Pay(1);
      if (found.value.is_error()) return found.value;
      if (qualifier.is_presence_test) {
        found.value = Value::Bool(found.is_present);
      } else if (!found.is_present) {
        std::string text = key.kind == Kind::kString ? std::string(key.text) : "of the index";
        return Fail(arena_.Keep(Concat({"no such key: ", text})));
      }
    }
    object = found.value;
  }
  if (!is_optional) return object;
  Value optional = None();
  optional.flag = true;
  optional.inner = arena_.Keep(object);
  return optional;
}

Value Evaluator::KeyOf(const Qualifier& qualifier) {
  if (qualifier.attribute == nullptr) return qualifier.constant;
  const Value key = Resolve(*qualifier.attribute);
  switch (key.kind) {
    case Kind::kError:
    case Kind::kString:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kBool:
    case Kind::kDouble:
      return key;
    default:
      return Fail("an index must be a string, a number or a bool");
  }
}

Evaluator::Found Evaluator::Find(const Value& object, const Value& key) {
  if (object.kind == Kind::kList) {
    int64_t index = 0;
    if (!IndexOf(key, index)) return {.value = Fail("an index of a list must be a whole number")};
    if (index < 0 || static_cast<uint64_t>(index) >= object.list->items.size()) return {};
    if (IsUnordered(object)) return {.value = Value::Error({})};
    return {object.list->items[static_cast<size_t>(index)], true};
  }
  if (object.kind == Kind::kDomains && !object.plain) {
    // Every domain is found; one that no attribute has is empty.
    Value domain = WithText(object.flag ? Kind::kCapacities : Kind::kAttributes, key.text);
    domain.plain = key.kind != Kind::kString;  // No domain: empty.
    return {domain, true};
  }
  return FindInMap(object, key);
}

Evaluator::Found Evaluator::FindInMap(const Value& object, const Value& key) {
  const bool is_text = key.kind == Kind::kString;
  switch (object.kind) {
    case Kind::kDevice: {
      Found found;
      if (is_text) found.value = FieldOfDevice(key.text, found.is_present);
      return found;
    }
    case Kind::kDomains:
      for (const Value& domain : Keys(object)) {
        if (is_text && domain.text == key.text) {
          return {WithText(object.flag ? Kind::kCapacities : Kind::kAttributes, domain.text), true};
        }
      }
      return {};
    case Kind::kAttributes:
      if (!is_text || object.plain) return {};
      for (const DeviceAttribute& attribute : device_.attributes) {
        if (SplitName(attribute.name, device_.driver) != std::pair(object.text, key.text)) continue;
        Found found{.is_present = true};
        const AttributeValue& value = attribute.value;
        if (const auto* b = std::get_if<bool>(&value)) found.value = Value::Bool(*b);
        if (const auto* i = std::get_if<int64_t>(&value)) found.value = Value::Int(*i);
        if (const auto* s = std::get_if<std::string_view>(&value)) found.value = Value::String(*s);
        if (const auto* v = std::get_if<Semver>(&value)) found.value = Value::OfSemver(v);
        return found;
      }
      return {};
    case Kind::kCapacities:
      if (!is_text || object.plain) return {};
      for (const DeviceCapacity& capacity : device_.capacity) {
        if (SplitName(capacity.name, device_.driver) != std::pair(object.text, key.text)) continue;
        return {Value::OfQuantity(&capacity.value, false), true};
      }
      return {};
    case Kind::kMap: {
      if (!object.map->entries.empty() && key.kind > Kind::kString) {
        return {.value = NotUnderstood("a map that is searched for such a key")};
      }
      Work(object.map->entries.size());
      const auto* entry = FindEntry(*object.map, key);
      if (entry == nullptr) return {};
      return {entry->second, true};
    }
    default:
      return {};
  }
}

Value Evaluator::FieldOfDevice(std::string_view name, bool& is_present) {
  is_present = true;
  if (name == "driver") return Value::String(device_.driver);
  if (name == "allowMultipleAllocations") return Value::Bool(device_.allow_multiple_allocations);
  Value domains = WithText(Kind::kDomains, {});
  if (name == "attributes") return domains;
  domains.flag = true;
  if (name == "capacity") return domains;
  is_present = false;
  return {};
}

std::vector<Value> Evaluator::Keys(const Value& map) {
  std::vector<Value> keys;
  if (map.kind == Kind::kMap) {
    for (const auto& [key, value] : map.map->entries) keys.push_back(key);
    return keys;
  }
  const bool is_capacity =
      map.kind == Kind::kCapacities || (map.kind == Kind::kDomains && map.flag);
  const auto add = [&](std::string_view name) {
    const auto [domain, id] = SplitName(name, device_.driver);
    if (map.kind == Kind::kDomains) {
      keys.push_back(Value::String(domain));
    } else if (domain == map.text && !map.plain) {
      keys.push_back(Value::String(id));
    }
  };
  if (is_capacity) {
    for (const DeviceCapacity& capacity : device_.capacity) add(capacity.name);
  } else {
    for (const DeviceAttribute& attribute : device_.attributes) add(attribute.name);
  }
  std::ranges::sort(keys, {}, &Value::text);
  const auto rest = std::ranges::unique(keys, {}, &Value::text);
  keys.erase(rest.begin(), rest.end());
  Work(keys.size());
  return keys;
}

// --- Sizes, costs, equality ---

size_t Evaluator::Size(const Value& value) {
  switch (value.kind) {
    case Kind::kString:
      return CountCharacters(value.text);
    case Kind::kList:
      return value.list->items.size();
    case Kind::kMap:
      return value.map->entries.size();
    case Kind::kDomains:
    case Kind::kAttributes:
    case Kind::kCapacities:
      return Keys(value).size();
    case Kind::kOptional:
      return value.flag ? Size(*value.inner) : 1;
    case Kind::kDevice:
      return 4;
    default:
      return 1;
  }
}

uint64_t Evaluator::Traversal(const Value& value) {
  switch (value.kind) {
    case Kind::kString:
      return static_cast<uint64_t>(static_cast<double>(value.text.size()) * 0.1);
    case Kind::kList: {
      uint64_t cost = 0;
      for (const Value& item : value.list->items) {
        Work();
        if (!abort_.ok()) return 0;
        cost += Traversal(item);
      }
      return cost;
    }
    case Kind::kMap: {
      uint64_t cost = 0;
      for (const auto& [key, item] : value.map->entries) {
        Work();
        if (!abort_.ok()) return 0;
        cost += Traversal(key) + Traversal(item);
      }
      return cost;
    }
    case Kind::kDomains:
    case Kind::kAttributes:
    case Kind::kCapacities:
      NotUnderstood("the device's attributes in a list");
      return 0;
    default:
      return 1;
  }
}

uint64_t Evaluator::CostOf(const Node& node, const Value* args, size_t count, const Value& result) {
  const auto size = [&](const Value& value) -> uint64_t {
    return node.is_cost_by_function && value.kind == Kind::kOptional ? 1 : Size(value);
  };
  switch (node.cost) {
    case Cost::kOne:
      return 1;
    case Cost::kNone:
      return 0;
    case Cost::kFirst:
      return Tenth(size(args[0]));
    case Cost::kSecond:
      return Tenth(size(args[1]));
    case Cost::kFirstTwice:
      return Fifth(size(args[0]));
    case Cost::kResultTwice:
      return Fifth(size(result));
    case Cost::kTraversal:
      return Traversal(args[0]);
    case Cost::kSmaller:
      if (node.function == Function::kEquals &&
          (args[0].kind == Kind::kQuantity || args[0].kind == Kind::kSemver)) {
        return 1;
      }
      return Tenth(std::min(size(args[0]), size(args[1])));
    case Cost::kBoth:
      return Tenth(size(args[0]) + size(args[1]));
    case Cost::kContains:
      return Tenth(size(args[0])) * Tenth(size(args[1]));
    case Cost::kRegex:
      return Tenth(size(args[0]) + 1) * ((size(args[1]) + 3) / 4);
    case Cost::kSecondSize:
      return size(args[count - 1]);
    case Cost::kProduct:
      return 1 + size(args[0]) * size(args[1]);
    case Cost::kProductTwice:
      return 1 + 2 * size(args[0]) * size(args[1]);
  }
  return 1;
}

Value Evaluator::Equal(const Value& a, const Value& b) {
  if (a.kind == Kind::kNull || b.kind == Kind::kNull) return Value::Bool(a.kind == b.kind);
  return EqualNotNull(a, b);
}

Value Evaluator::EqualNotNull(const Value& a, const Value& b) {
  Work();
  if (!abort_.ok()) return Value::Error({});
  switch (a.kind) {
    case Kind::kError:
      return a;
    case Kind::kNull:
      return Value::Bool(b.kind == Kind::kNull);
    case Kind::kBool:
      return Value::Bool(b.kind == Kind::kBool && a.b == b.b);
    case Kind::kString:
      return Value::Bool(b.kind == Kind::kString && a.text == b.text);
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
      return Value::Bool(IsSameNumber(a, b));
    case Kind::kQuantity:
      if (b.kind != Kind::kQuantity || b.flag) return NoOverload();
      return Value::Bool(*a.quantity == *b.quantity);
    case Kind::kSemver:
      if (b.kind != Kind::kSemver) return NoOverload();
      return Value::Bool(a.semver->Compare(*b.semver) == 0);
    case Kind::kOptional:
      if (b.kind != Kind::kOptional) return Value::Bool(false);
      if (!a.flag || !b.flag) return Value::Bool(a.flag == b.flag);
      return EqualNotNull(*a.inner, *b.inner);
    case Kind::kList: {
      if (b.kind != Kind::kList || a.list->items.size() != b.list->items.size()) {
        return Value::Bool(false);
      }
      if (IsUnordered(a) || IsUnordered(b)) return Value::Error({});
      for (size_t i = 0; i < a.list->items.size(); ++i) {
        if (Equal(a.list->items[i], b.list->items[i]).is_false()) return Value::Bool(false);
      }
      return Value::Bool(true);
    }
    case Kind::kMap:
    case Kind::kDomains:
    case Kind::kAttributes:
    case Kind::kCapacities: {
      if (b.kind == Kind::kDevice) break;
      if (!IsMap(b) || Size(a) != Size(b)) return Value::Bool(false);
      for (const Value& key : Keys(a)) {
        const Found mine = FindInMap(a, key);
        const Found theirs = Find(b, key);
        if (!theirs.is_present || Equal(mine.value, theirs.value).is_false()) {
          return Value::Bool(false);
        }
      }
      return Value::Bool(true);
    }
    case Kind::kDevice:
      break;
  }
  return NotUnderstood("the fields of device as a map");
}

bool Evaluator::IsUnordered(const Value& list) {
  if (!list.list->is_unordered || list.list->items.size() < 2) return false;
  NotUnderstood("the order of a map's keys");
  return true;
}

Value Evaluator::Contains(const Value& list, const Value& item) {
  for (const Value& other : list.list->items) {
    if (IsEqual(item, other)) return Value::Bool(true);
  }
  return Value::Bool(false);
}

}  // namespace ebb::cel
