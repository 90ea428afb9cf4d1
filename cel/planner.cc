#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cel/errors.h"
#include "cel/functions.h"
#include "cel/program.h"
#include "cel/syntax.h"
#include "re2/re2.h"

namespace ebb::cel {
namespace {

bool IsConversion(Function function) {
  return function >= Function::kToInt && function <= Function::kToDyn;
}

bool IsConstant(const Node* node) { return node->kind == Node::Kind::kConstant; }

// Classes by Unicode's tables differ by version, and \C exists only in RE2.
bool IsPortable(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (static_cast<unsigned char>(pattern[i]) >= 0x80) return false;
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      ++i;
      if (pattern[i] == 'C' || pattern[i] == 'p' || pattern[i] == 'P') return false;
    }
  }
  return true;
}

class Planner {
 public:
  explicit Planner(Program& program) : program_(program) {}

  absl::Status Run() {
    program_.root = Plan(program_.tree.root);
    program_.folds = folds_;
    return status_;
  }

 private:
  Node* New(Node node) { return &program_.nodes.emplace_back(std::move(node)); }
  Node* Constant(const Value& value) {
    return New({.kind = Node::Kind::kConstant, .constant = value});
  }
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  Node* Plan(const Expr* expr) {
    if (!status_.ok()) return Constant(Value());
    switch (expr->kind) {
      case Expr::Kind::kLiteral:
        return Constant(expr->literal);
      case Expr::Kind::kName:
        return PlanName(expr->name);
      case Expr::Kind::kSelect:
        return PlanSelect(expr);
      case Expr::Kind::kCall:
        return PlanCall(expr);
      case Expr::Kind::kList:
      case Expr::Kind::kMap:
        return PlanLiteral(expr);
      case Expr::Kind::kFold:
        return PlanFold(expr);
    }
    return Constant(Value());
  }

  // --- Attributes ---

  Attribute* NewAttribute(Attribute attribute) {
    return &program_.attributes.emplace_back(std::move(attribute));
  }
  Node* AttributeNode(Attribute* attribute) {
    return New({.kind = Node::Kind::kAttribute, .attribute = attribute});
  }
  // The attribute that a node is, or one that begins with the node's value.
  Attribute* AttributeOf(const Node* node) {
    if (node->attribute != nullptr) return node->attribute;
    return NewAttribute({.root = Attribute::Root::kNode, .node = node});
  }
  static void Add(const Qualifier& qualifier, Attribute* attribute) {
    if (attribute->root == Attribute::Root::kConditional) {
      Add(qualifier, attribute->yes);
      Add(qualifier, attribute->no);
    } else {
      attribute->qualifiers.push_back(qualifier);
    }
  }

  Node* PlanName(std::string_view name) {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it) {
      if (it->name == name)
        return AttributeNode(NewAttribute({.root = it->root, .slot = it->slot}));
    }
    return AttributeNode(NewAttribute({.root = Attribute::Root::kDevice}));
  }

  // A node for the attribute of `operand` and one more qualifier.
  Node* Qualified(const Expr* operand, const Qualifier& qualifier) {
    Attribute* attribute = AttributeOf(Plan(operand));
    Add(qualifier, attribute);
    return New(
        {.kind = qualifier.is_presence_test ? Node::Kind::kPresenceTest : Node::Kind::kAttribute,
         .attribute = attribute});
  }

  Node* PlanSelect(const Expr* expr) {
    return Qualified(expr->args[0], {.constant = Value::String(expr->name),
                                     .is_presence_test = expr->is_presence_test});
  }

  Node* PlanIndex(const Expr* expr, bool optional) {
    // The operand first: names of nodes do not matter, but errors do.
    Attribute* attribute = AttributeOf(Plan(expr->args[0]));
    const Node* index = Plan(expr->args[1]);
    Qualifier qualifier{.is_optional = optional};
    if (IsConstant(index)) {
      const Kind kind = index->constant.kind;
      if (kind != Kind::kString && kind != Kind::kInt && kind != Kind::kUint &&
          kind != Kind::kBool && kind != Kind::kDouble) {
        Fail(Refused("an index must be a string, a number or a bool"));
      }
      qualifier.constant = index->constant;
    } else {
      qualifier.attribute = AttributeOf(index);
    }
    Add(qualifier, attribute);
    return AttributeNode(attribute);
  }

  Node* PlanConditional(const Expr* expr) {
    const Node* condition = Plan(expr->args[0]);
    Attribute* yes = AttributeOf(Plan(expr->args[1]));
    Attribute* no = AttributeOf(Plan(expr->args[2]));
    return AttributeNode(NewAttribute(
        {.root = Attribute::Root::kConditional, .node = condition, .yes = yes, .no = no}));
  }

  // --- Calls ---

  Node* PlanCall(const Expr* expr) {
    const absl::Span<const Overload> overloads = FindFunction(expr->name);
    const Function function = overloads[0].function;
    switch (function) {
      case Function::kConditional:
        return PlanConditional(expr);
      case Function::kIndex:
        return PlanIndex(expr, false);
      case Function::kOptionalIndex:
      case Function::kOptionalSelect:
        return PlanIndex(expr, true);
      default:
        break;
    }
    Node node{.kind = Node::Kind::kCall, .function = function, .overload = expr->overload};
    for (const Expr* arg : expr->args) node.args.push_back(Plan(arg));
    if (!status_.ok()) return Constant(Value());
    // Kubernetes calls functions of more than two arguments, and those that it chooses by values,
    // by a list of arguments; operators and size() never.
    node.stops_early =
        node.args.size() > 2 || (expr->overload == nullptr && function > Function::kSize);
    node.cost = overloads[0].function_cost;
    node.is_cost_by_function = node.cost != Cost::kOne;
    if (node.cost == Cost::kOne && expr->overload != nullptr) {
      node.cost = expr->overload->overload_cost;
    }
    if (program_.rules == SelectorRules::kKubernetes137) SetCost137(node);
    if (function == Function::kAnd || function == Function::kOr) node.cost = Cost::kNone;
    if (function == Function::kMatches) return PlanMatches(std::move(node), expr);
    if (function == Function::kIn && node.cost == Cost::kSecondSize && IsConstant(node.args[1]) &&
        IsSet(node.args[1]->constant)) {
      return PlanSet(node);
    }
    if (IsConversion(function) && IsConstant(node.args[0])) return Fold(*New(std::move(node)));
    return New(std::move(node));
  }

  static void SetCost137(Node& node) {
    if (node.overload == nullptr) return;
    if (node.function == Function::kStartsWith || node.function == Function::kEndsWith) {
      node.cost = Cost::kSecond;
    } else if (node.function == Function::kMatches) {
      node.cost = Cost::kRegex;
    } else if (node.function == Function::kIncludes) {
      node.cost = Cost::kTraversal;
    }
  }

  // The value of a node without variables.
  Node* Fold(const Node& node) {
    const DeviceForSelector none;
    Evaluator evaluator(none, program_, UINT64_MAX);
    absl::StatusOr<Value> value = evaluator.Run(node);
    if (!value.ok()) {
      Fail(std::move(value).status());
      return Constant(Value());
    }
    if (value->is_error()) Fail(Refused(value->text));
    return Constant(Keep(*value));
  }

  // Copies what a folded value points to in the evaluator's arena: only new texts.
  Value Keep(Value value) {
    if (value.kind == Kind::kString || value.kind == Kind::kError) {
      value.text = program_.arena.Keep(std::string(value.text));
    }
    return value;
  }

  static bool IsSet(const Value& list) {
    if (list.kind != Kind::kList) return false;
    for (const Value& item : list.list->items) {
      if (item.kind < Kind::kBool || item.kind > Kind::kString) return false;
    }
    return true;
  }

  Node* PlanSet(const Node& in) {
    const Value& list = in.args[1]->constant;
    if (list.list->items.empty()) return Constant(Value::Bool(false));
    return New({.kind = Node::Kind::kSet, .constant = list, .args = {in.args[0]}});
  }

  Node* PlanMatches(Node node, const Expr* expr) {
    // Kubernetes checks the first argument of the call, whatever it is.
    const Expr* checked = expr->args[expr->is_member ? 1 : 0];
    if (checked->kind == Expr::Kind::kLiteral && checked->literal.kind == Kind::kString) {
      Compile(checked->literal.text);
    }
    if (IsConstant(node.args[1]) && node.args[1]->constant.kind == Kind::kString) {
      node.regex = Compile(node.args[1]->constant.text);
      node.stops_early = true;
    }
    return New(std::move(node));
  }

  std::shared_ptr<const re2::RE2> Compile(std::string_view pattern) {
    if (!IsPortable(pattern)) {
      Fail(NotUnderstood("a regular expression with Unicode classes"));
      return nullptr;
    }
    auto regex = std::make_shared<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()),
                                            re2::RE2::Quiet);
    // Go knows some forms that RE2 does not.
    if (!regex->ok()) Fail(NotUnderstood("a regular expression of this form"));
    return regex;
  }

  // --- Literals and folds ---

  Node* PlanLiteral(const Expr* expr) {
    const bool is_list = expr->kind == Expr::Kind::kList;
    Node node{.kind = is_list ? Node::Kind::kList : Node::Kind::kMap,
              .is_optional = expr->is_optional};
    bool constant = true;
    for (const Expr* arg : expr->args) {
      node.args.push_back(Plan(arg));
      constant = constant && IsConstant(node.args.back());
    }
    if (!status_.ok() || !constant) return New(std::move(node));
    for (const bool optional : node.is_optional) {
      if (optional) Fail(NotUnderstood("an optional element that is a constant"));
    }
    return is_list ? ConstantList(node) : ConstantMap(node);
  }

  Node* ConstantList(const Node& node) {
    std::vector<Value> items;
    for (const Node* arg : node.args) items.push_back(arg->constant);
    Value list;
    list.kind = Kind::kList;
    list.list = program_.arena.NewList(std::move(items));
    return Constant(list);
  }

  Node* ConstantMap(const Node& node) {
    const DeviceForSelector none;
    Evaluator evaluator(none, program_, UINT64_MAX);
    absl::StatusOr<Value> value = evaluator.Run(node);
    if (!value.ok() || value->is_error()) {
      Fail(value.ok() ? Refused(value->text) : std::move(value).status());
      return Constant(Value());
    }
    Map* map = program_.arena.NewMap();
    map->entries = value->map->entries;
    Value kept;
    kept.kind = Kind::kMap;
    kept.map = map;
    return Constant(kept);
  }

  Node* PlanFold(const Expr* expr) {
    const uint32_t slot = folds_++;
    Node* node = New({.kind = Node::Kind::kFold, .slot = slot});
    const Node* init = Plan(expr->args[1]);
    const Node* range = Plan(expr->args[0]);
    scope_.push_back({expr->variable, Attribute::Root::kItem, slot});
    scope_.push_back({expr->name, Attribute::Root::kAccumulator, slot});
    const Node* condition = Plan(expr->args[2]);
    const Node* step = Plan(expr->args[3]);
    scope_.erase(scope_.end() - 2);
    const Node* result = Plan(expr->args[4]);
    scope_.pop_back();
    node->args = {range, init, condition, step, result};
    return node;
  }

  struct Variable {
    std::string_view name;
    Attribute::Root root;
    uint32_t slot;
  };

  Program& program_;
  absl::Status status_;
  std::vector<Variable> scope_;
  uint32_t folds_ = 0;
};

}  // namespace

absl::Status Plan(Program& program) { return Planner(program).Run(); }

}  // namespace ebb::cel
