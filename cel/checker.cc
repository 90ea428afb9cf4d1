#include "cel/checker.h"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/errors.h"
#include "cel/functions.h"

namespace ebb::cel {

struct Type {
  enum class Kind : uint8_t {
    kNull,
    kBool,
    kInt,
    kUint,
    kDouble,
    kString,
    kQuantity,
    kSemver,
    // No value has these types, but a variable may stand for one.
    kBytes,
    kDuration,
    kTimestamp,
    kDevice,
    kDyn,
    kAny,  // dyn, but not a range of a macro.
    kVariable,
    kList,
    kMap,
    kOptional,
  };
  Kind kind = Kind::kDyn;
  const Type* first = nullptr;   // Item, key, value of the optional.
  const Type* second = nullptr;  // Value of the map.
  size_t variable = 0;
};

namespace {

using TypeKind = Type::Kind;

constexpr Type kNull{TypeKind::kNull};
constexpr Type kBool{TypeKind::kBool};
constexpr Type kInt{TypeKind::kInt};
constexpr Type kUint{TypeKind::kUint};
constexpr Type kDouble{TypeKind::kDouble};
constexpr Type kString{TypeKind::kString};
constexpr Type kQuantity{TypeKind::kQuantity};
constexpr Type kSemver{TypeKind::kSemver};
constexpr Type kBytes{TypeKind::kBytes};
constexpr Type kDuration{TypeKind::kDuration};
constexpr Type kTimestamp{TypeKind::kTimestamp};
constexpr Type kDevice{TypeKind::kDevice};
constexpr Type kDyn{TypeKind::kDyn};
constexpr Type kAny{TypeKind::kAny};
constexpr Type kAttributeMap136{TypeKind::kMap, &kString, &kAny};
constexpr Type kAttributeDomains136{TypeKind::kMap, &kString, &kAttributeMap136};
constexpr Type kAttributeMap137{TypeKind::kMap, &kString, &kDyn};
constexpr Type kAttributeDomains137{TypeKind::kMap, &kString, &kAttributeMap137};
constexpr Type kCapacityMap{TypeKind::kMap, &kString, &kQuantity};
constexpr Type kCapacityDomains{TypeKind::kMap, &kString, &kCapacityMap};

bool IsDyn(const Type* type) {
  return type->kind == TypeKind::kDyn || type->kind == TypeKind::kAny;
}
bool IsVariable(const Type* type) { return type->kind == TypeKind::kVariable; }

std::string Name(const Type* type) {
  switch (type->kind) {
    case TypeKind::kNull:
      return "null";
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kInt:
      return "int";
    case TypeKind::kUint:
      return "uint";
    case TypeKind::kDouble:
      return "double";
    case TypeKind::kString:
      return "string";
    case TypeKind::kQuantity:
      return "quantity";
    case TypeKind::kSemver:
      return "semver";
    case TypeKind::kBytes:
      return "bytes";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kTimestamp:
      return "timestamp";
    case TypeKind::kDevice:
      return "device";
    case TypeKind::kDyn:
    case TypeKind::kAny:
    case TypeKind::kVariable:
      return "any value";
    case TypeKind::kList:
      return Concat({"list(", Name(type->first), ")"});
    case TypeKind::kMap:
      return Concat({"map(", Name(type->first), ", ", Name(type->second), ")"});
    case TypeKind::kOptional:
      return Concat({"optional(", Name(type->first), ")"});
  }
  return {};
}

bool IsSame(const Type* a, const Type* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->variable != b->variable) return false;
  // Types of one kind have the same parts.
  if (a->first != nullptr && b->first != nullptr && !IsSame(a->first, b->first)) return false;
  return a->second == nullptr || b->second == nullptr || IsSame(a->second, b->second);
}

// How deep types may be nested, and how many variables may be in use; else "not understood".
constexpr size_t kVariablesMax = 2000;

class Checker {
 public:
  Checker(Tree& tree, SelectorRules rules) : tree_(tree), rules_(rules) {
    scope_.emplace_back("device", &kDevice);
  }

  absl::Status Run() {
    if (!Visit(tree_.root)) return status_;
    const Type* result = Resolve(tree_.root->type);
    if (IsVariable(result)) result = &kDyn;
    // The type of attributes is allowed, too.
    const TypeKind attribute =
        rules_ == SelectorRules::kKubernetes136 ? TypeKind::kAny : TypeKind::kDyn;
    if (result->kind != TypeKind::kBool && result->kind != attribute) {
      return Refused(Concat({"the expression is a ", Name(result), "; a selector must be a bool"}));
    }
    CheckLiterals();
    return status_;
  }

 private:
  bool Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
    return false;
  }
  bool Refuse(std::string_view why) { return Fail(Refused(why)); }
  bool NotUnderstood(std::string_view what) { return Fail(cel::NotUnderstood(what)); }

  // --- Types ---

  const Type* New(TypeKind kind, const Type* first, const Type* second = nullptr) {
    return &types_.emplace_back(Type{kind, first, second});
  }
  const Type* NewVariable() {
    bound_.push_back(nullptr);
    return &types_.emplace_back(Type{TypeKind::kVariable, nullptr, nullptr, bound_.size() - 1});
  }
  const Type* Bound(const Type* type) const {
    return IsVariable(type) ? bound_[type->variable] : nullptr;
  }

  // The type with its bound variables replaced.
  const Type* Resolve(const Type* type) {
    while (const Type* bound = Bound(type)) type = bound;
    if (type->first == nullptr) return type;
    const Type* first = Resolve(type->first);
    const Type* second = type->second == nullptr ? nullptr : Resolve(type->second);
    return first == type->first && second == type->second ? type : New(type->kind, first, second);
  }
  // Like Resolve; variables that are free are dyn.
  const Type* Final(const Type* type) {
    type = Resolve(type);
    if (IsVariable(type)) return &kDyn;
    if (type->first == nullptr) return type;
    return New(type->kind, Final(type->first),
               type->second == nullptr ? nullptr : Final(type->second));
  }

  bool Occurs(const Type* variable, const Type* in) const {
    if (IsVariable(in)) {
      if (in->variable == variable->variable) return true;
      const Type* bound = Bound(in);
      return bound != nullptr && Occurs(variable, bound);
    }
    return (in->first != nullptr && Occurs(variable, in->first)) ||
           (in->second != nullptr && Occurs(variable, in->second));
  }

  static bool IsLessSpecific(const Type* a, const Type* b) {
    if (IsDyn(a) || IsVariable(a)) return true;
    if (IsDyn(b) || IsVariable(b) || a->kind != b->kind) return false;
    return (a->first == nullptr || IsLessSpecific(a->first, b->first)) &&
           (a->second == nullptr || IsLessSpecific(a->second, b->second));
  }
  static const Type* MoreGeneral(const Type* a, const Type* b) {
    return IsLessSpecific(a, b) ? a : b;
  }

  enum class Binding : uint8_t { kDone, kHasOther, kImpossible };

  // Lets `variable` stand for `type`.
  Binding Bind(const Type* type, const Type* variable) {
    if (IsSame(type, variable)) return Binding::kDone;
    if (const Type* bound = Bound(variable)) {
      if (IsSame(type, bound)) return Binding::kDone;
      if (!IsAssignable(type, bound)) return Binding::kHasOther;
      const Type* general = MoreGeneral(type, bound);
      if (!Occurs(variable, general)) bound_[variable->variable] = general;
      return Binding::kDone;
    }
    if (Occurs(variable, type)) return Binding::kImpossible;
    bound_[variable->variable] = type;
    return Binding::kDone;
  }

  bool IsAssignable(const Type* a, const Type* b) {
    if (++steps_ > 1'000'000) return NotUnderstood("an expression of such types");
    if (IsVariable(b)) {
      const Binding binding = Bind(a, b);
      if (binding != Binding::kImpossible) return binding == Binding::kDone;
    }
    if (IsVariable(a)) return Bind(b, a) == Binding::kDone;
    if (IsDyn(a) || IsDyn(b)) return true;
    if (a->kind == TypeKind::kNull || b->kind == TypeKind::kNull) {
      const TypeKind other = a->kind == TypeKind::kNull ? b->kind : a->kind;
      return other == TypeKind::kNull || other == TypeKind::kOptional ||
             other == TypeKind::kQuantity || other == TypeKind::kSemver ||
             other == TypeKind::kDuration || other == TypeKind::kTimestamp ||
             other == TypeKind::kDevice;
    }
    if (a->kind != b->kind) return false;
    // Types of one kind have the same parts.
    return (a->first == nullptr || b->first == nullptr || IsAssignable(a->first, b->first)) &&
           (a->second == nullptr || b->second == nullptr || IsAssignable(a->second, b->second));
  }
  // Like the above; changes no variable if it is false.
  bool Assign(const Type* a, const Type* b) {
    std::vector<const Type*> before = bound_;
    if (IsAssignable(a, b)) return true;
    bound_ = std::move(before);
    return false;
  }

  // Reads one type of an overload's signature.
  const Type* TakeType(std::string_view& signature) {
    const char c = signature[0];
    signature.remove_prefix(1);
    switch (c) {
      case 'b':
        return &kBool;
      case 'i':
        return &kInt;
      case 'u':
        return &kUint;
      case 'd':
        return &kDouble;
      case 's':
        return &kString;
      case 'q':
        return &kQuantity;
      case 'v':
        return &kSemver;
      case 'y':
        return &kBytes;
      case 'D':
        return &kDuration;
      case 'T':
        return &kTimestamp;
      case 'A':
      case 'B': {
        const Type*& parameter = parameters_[c - 'A'];
        if (parameter == nullptr) parameter = NewVariable();
        return parameter;
      }
      case 'L':
      case 'O': {
        const Type* item = TakeType(signature);
        return New(c == 'L' ? TypeKind::kList : TypeKind::kOptional, item);
      }
      case 'M': {
        const Type* key = TakeType(signature);
        const Type* value = TakeType(signature);
        return New(TypeKind::kMap, key, value);
      }
      default:
        return &kDyn;
    }
  }

  // --- Expressions ---

  bool Visit(Expr* expr) {
    if (bound_.size() > kVariablesMax) return NotUnderstood("an expression with so many types");
    switch (expr->kind) {
      case Expr::Kind::kLiteral:
        return VisitLiteral(expr);
      case Expr::Kind::kName:
        return VisitName(expr);
      case Expr::Kind::kSelect:
        return VisitSelect(expr);
      case Expr::Kind::kCall:
        return VisitCall(expr);
      case Expr::Kind::kList:
        return VisitList(expr);
      case Expr::Kind::kMap:
        return VisitMap(expr);
      case Expr::Kind::kFold:
        return VisitFold(expr);
    }
    return false;
  }

  static bool VisitLiteral(Expr* expr) {
    switch (expr->literal.kind) {
      case Kind::kBool:
        expr->type = &kBool;
        break;
      case Kind::kInt:
        expr->type = &kInt;
        break;
      case Kind::kUint:
        expr->type = &kUint;
        break;
      case Kind::kDouble:
        expr->type = &kDouble;
        break;
      case Kind::kString:
        expr->type = &kString;
        break;
      default:
        expr->type = &kNull;
    }
    return true;
  }

  bool VisitName(Expr* expr) {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it) {
      if (it->first == expr->name) {
        expr->type = it->second;
        return true;
      }
    }
    constexpr std::string_view kTypes[] = {"bool", "int", "uint", "double", "string", "dyn"};
    for (const std::string_view type : kTypes) {
      if (expr->name == type) return NotUnderstood(Concat({"the type ", type, " as a value"}));
    }
    for (const std::string_view prefix : {"google", "kubernetes", "net", "cel", "authorizer"}) {
      if (expr->name == prefix) return NotUnderstood(Concat({"the name ", prefix}));
    }
    if (IsUnknownToUs(expr->name)) {
      return NotUnderstood(Concat({"the type ", expr->name, " as a value"}));
    }
    return Refuse(Concat({"unknown name ", expr->name}));
  }

  bool VisitSelect(Expr* expr) {
    if (!Visit(expr->args[0])) return false;
    const Type* type = Field(expr->args[0]->type, expr->name, false);
    if (type == nullptr) return false;
    expr->type = expr->is_presence_test ? &kBool : Resolve(type);
    return true;
  }

  // nullptr after an error.
  const Type* Field(const Type* operand, std::string_view name, bool optional) {
    operand = Resolve(operand);
    if (operand->kind == TypeKind::kOptional) {
      optional = true;
      operand = Resolve(operand->first);
    }
    const Type* field = &kDyn;
    switch (operand->kind) {
      case TypeKind::kMap:
        field = operand->second;
        break;
      case TypeKind::kDevice:
        if (name == "driver") {
          field = &kString;
        } else if (name == "allowMultipleAllocations") {
          field = &kBool;
        } else if (name == "attributes") {
          field = rules_ == SelectorRules::kKubernetes136 ? &kAttributeDomains136
                                                          : &kAttributeDomains137;
        } else if (name == "capacity") {
          field = &kCapacityDomains;
        } else {
          Refuse(Concat({"device has no field ", name}));
          return nullptr;
        }
        break;
      case TypeKind::kVariable:
        IsAssignable(&kDyn, operand);
        break;
      case TypeKind::kDyn:
      case TypeKind::kAny:
        break;
      default:
        Refuse(Concat({"a ", Name(operand), " has no field ", name}));
        return nullptr;
    }
    return optional ? New(TypeKind::kOptional, field) : field;
  }

  // "a.b" of names and selections.
  static std::optional<std::string> QualifiedName(const Expr* expr) {
    if (expr->kind == Expr::Kind::kName) return std::string(expr->name);
    if (expr->kind != Expr::Kind::kSelect || expr->is_presence_test) return std::nullopt;
    std::optional<std::string> operand = QualifiedName(expr->args[0]);
    if (operand) *operand += Concat({".", expr->name});
    return operand;
  }

  bool VisitCall(Expr* expr) {
    if (expr->name == op::kOptionalSelect) {
      if (!Visit(expr->args[0]) || !Visit(expr->args[1])) return false;
      const Type* type = Field(expr->args[0]->type, expr->args[1]->literal.text, true);
      if (type == nullptr) return false;
      expr->type = Resolve(type);
      expr->overload = FindFunction(expr->name).data();
      return true;
    }
    for (size_t i = expr->is_member ? 1 : 0; i < expr->args.size(); ++i) {
      if (!Visit(expr->args[i])) return false;
    }
    if (expr->is_member) {
      if (const std::optional<std::string> prefix = QualifiedName(expr->args[0])) {
        const std::string name = Concat({*prefix, ".", expr->name});
        if (const absl::Span<const Overload> found = FindFunction(name); !found.empty()) {
          expr->name = found[0].name;
          expr->is_member = false;
          expr->args.erase(expr->args.begin());
          return ResolveCall(expr, found);
        }
        if (IsUnknownToUs(name)) return NotUnderstood(Concat({"the function ", name}));
      }
      if (!Visit(expr->args[0])) return false;
    }
    const absl::Span<const Overload> found = FindFunction(expr->name);
    if (!found.empty()) return ResolveCall(expr, found);
    if (IsUnknownToUs(expr->name)) return NotUnderstood(Concat({"the function ", expr->name}));
    return Refuse(Concat({"unknown function ", expr->name}));
  }

  bool ResolveCall(Expr* expr, absl::Span<const Overload> overloads) {
    if (overloads[0].function == Function::kAnd || overloads[0].function == Function::kOr) {
      for (const Expr* arg : expr->args) {
        if (!Assign(arg->type, &kBool)) return NoOverload(expr);
      }
      expr->type = &kBool;
      expr->overload = overloads.data();
      return true;
    }
    const Type* result = nullptr;
    size_t matching = 0;
    for (const Overload& overload : overloads) {
      std::string_view signature = overload.signature;
      if (signature.starts_with('.') != expr->is_member) continue;
      if (expr->is_member) signature.remove_prefix(1);
      parameters_[0] = parameters_[1] = nullptr;
      std::vector<const Type*> wanted;
      while (signature[0] != ':') wanted.push_back(TakeType(signature));
      signature.remove_prefix(1);
      const Type* returned = TakeType(signature);
      if (!AssignAll(expr->args, wanted)) continue;
      ++matching;
      expr->overload = &overload;
      returned = Resolve(returned);
      if (result == nullptr) {
        result = returned;
      } else if (!IsDyn(result) && !IsSame(result, returned)) {
        result = &kDyn;
      }
    }
    if (!status_.ok()) return false;
    if (result == nullptr) return NoOverload(expr);
    if (matching > 1) expr->overload = nullptr;
    expr->type = result;
    return true;
  }

  bool AssignAll(const std::vector<Expr*>& args, const std::vector<const Type*>& wanted) {
    if (args.size() != wanted.size()) return false;
    std::vector<const Type*> before = bound_;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!IsAssignable(args[i]->type, wanted[i])) {
        bound_ = std::move(before);
        return false;
      }
    }
    return true;
  }

  bool NoOverload(const Expr* expr) {
    std::string types;
    for (const Expr* arg : expr->args) {
      types += Concat({types.empty() ? "" : ", ", Name(Final(arg->type))});
    }
    return Refuse(Concat({"no ", expr->name, " takes (", types, ")"}));
  }

  // The type of an element that has `type`; nullptr after an error.
  const Type* Element(const Type* type, bool is_optional) {
    if (!is_optional) return type;
    if (type->kind == TypeKind::kOptional) return type->first;
    if (IsDyn(type)) {
      NotUnderstood("an optional element of any type");
    } else {
      Refuse("an element with ? is not optional");
    }
    return nullptr;
  }

  bool Join(const Type*& joined, const Type* type) {
    if (type == nullptr) return false;
    if (joined == nullptr) {
      joined = type;
      return true;
    }
    if (!Assign(joined, type)) {
      return Refuse(Concat({"a list or map holds values of type ", Name(Final(joined)), " and ",
                            Name(Final(type))}));
    }
    joined = MoreGeneral(joined, type);
    return true;
  }

  bool VisitList(Expr* expr) {
    const Type* item = nullptr;
    for (size_t i = 0; i < expr->args.size(); ++i) {
      if (!Visit(expr->args[i])) return false;
      const bool optional = !expr->is_optional.empty() && expr->is_optional[i];
      if (!Join(item, Element(expr->args[i]->type, optional))) return false;
    }
    if (item == nullptr) item = NewVariable();
    expr->type = New(TypeKind::kList, item);
    literals_.push_back(expr);
    return true;
  }

  bool VisitMap(Expr* expr) {
    const Type* key = nullptr;
    const Type* value = nullptr;
    for (size_t i = 0; i < expr->args.size(); i += 2) {
      if (!Visit(expr->args[i]) || !Join(key, expr->args[i]->type)) return false;
      if (!Visit(expr->args[i + 1])) return false;
      if (!Join(value, Element(expr->args[i + 1]->type, expr->is_optional[i / 2]))) return false;
    }
    if (key == nullptr) {
      key = NewVariable();
      value = NewVariable();
    }
    expr->type = New(TypeKind::kMap, key, value);
    literals_.push_back(expr);
    return true;
  }

  bool VisitFold(Expr* expr) {
    Expr* range = expr->args[0];
    Expr* init = expr->args[1];
    if (!Visit(range) || !Visit(init)) return false;
    const Type* range_type = Resolve(range->type);
    const Type* item = &kDyn;
    switch (range_type->kind) {
      case TypeKind::kList:
      case TypeKind::kMap:
        item = range_type->first;
        break;
      case TypeKind::kDyn:
      case TypeKind::kVariable:
        IsAssignable(&kDyn, range_type);
        break;
      default:
        return Refuse(Concat({"a ", Name(range_type), " has no elements"}));
    }
    scope_.emplace_back(expr->name, init->type);
    scope_.emplace_back(expr->variable, item);
    if (!Visit(expr->args[2])) return false;
    if (!Assign(&kBool, expr->args[2]->type)) return Refuse("the condition of a macro is no bool");
    if (!Visit(expr->args[3])) return false;
    if (!Assign(init->type, expr->args[3]->type)) {
      return Refuse("the elements of a macro's result differ in type");
    }
    scope_.pop_back();
    if (!Visit(expr->args[4])) return false;
    scope_.pop_back();
    expr->type = Resolve(expr->args[4]->type);
    return true;
  }

  // All elements of a literal have one type, where also dyn is one type.
  void CheckLiterals() {
    for (const Expr* literal : literals_) {
      const bool is_map = literal->kind == Expr::Kind::kMap;
      const Type* first[2] = {nullptr, nullptr};
      for (size_t i = 0; i < literal->args.size(); ++i) {
        const size_t part = is_map ? i % 2 : 0;
        const Type* type = Final(literal->args[i]->type);
        const size_t entry = is_map ? i / 2 : i;
        if ((!is_map || part == 1) && !literal->is_optional.empty() &&
            literal->is_optional[entry]) {
          if (type->kind != TypeKind::kOptional) {
            NotUnderstood("an optional element of any type");
            return;
          }
          type = type->first;
        }
        if (first[part] == nullptr) {
          first[part] = type;
        } else if (!IsSame(first[part], type)) {
          Refuse(Concat(
              {"a list or map holds values of type ", Name(first[part]), " and ", Name(type)}));
        }
      }
    }
  }

  Tree& tree_;
  SelectorRules rules_;
  absl::Status status_;
  std::deque<Type> types_;
  std::vector<const Type*> bound_;  // By variable.
  const Type* parameters_[2] = {nullptr, nullptr};
  std::vector<std::pair<std::string_view, const Type*>> scope_;
  std::vector<const Expr*> literals_;
  int steps_ = 0;
};

}  // namespace

absl::Status Check(Tree& tree, SelectorRules rules) { return Checker(tree, rules).Run(); }

}  // namespace ebb::cel
