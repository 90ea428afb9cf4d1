// A selector that is ready for evaluation.  It has the shape of cel-go's plans, since the cost of
// an evaluation is counted by their steps: a chain of fields and indexes is one attribute with
// qualifiers, lists of constants are constants, `in` such a list is a set.  For this folder only.

#ifndef EBB_CEL_PROGRAM_H_
#define EBB_CEL_PROGRAM_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cel/device.h"
#include "cel/functions.h"
#include "cel/syntax.h"
#include "cel/value.h"

namespace re2 {
class RE2;
}

namespace ebb::cel {

struct Node;
struct Attribute;

// One step of an attribute: `.name`, `[index]`.
struct Qualifier {
  Value constant{};
  const Attribute* attribute = nullptr;  // Instead of the constant.
  bool is_optional = false;
  bool is_presence_test = false;
};

struct Attribute {
  enum class Root : uint8_t {
    kDevice,
    kAccumulator,  // Of the fold `slot`.
    kItem,         // Of the fold `slot`.
    kNode,
    kConditional,  // `yes` and `no` have the qualifiers.
  };
  Root root = Root::kNode;
  uint32_t slot = 0;
  const Node* node = nullptr;  // kNode; the condition of kConditional.
  Attribute* yes = nullptr;
  Attribute* no = nullptr;
  std::vector<Qualifier> qualifiers{};
};

struct Node {
  enum class Kind : uint8_t {
    kConstant,
    kAttribute,
    kPresenceTest,  // An attribute whose last qualifier tests.
    kCall,
    kSet,  // args[0] in constant
    kList,
    kMap,
    kFold,  // args as in Expr
  };
  Kind kind = Kind::kConstant;
  Function function = Function::kAnd;
  Cost cost = Cost::kOne;
  // The cost is by the function's name.  Then an optional's size is 1.
  bool is_cost_by_function = false;
  // A call that stops at the first argument that fails, and then costs nothing.
  bool stops_early = false;
  uint32_t slot = 0;
  Value constant{};
  Attribute* attribute = nullptr;
  const Overload* overload = nullptr;
  std::vector<const Node*> args{};
  std::vector<bool> is_optional{};
  std::shared_ptr<const re2::RE2> regex{};  // kMatches with a constant.
};

struct Program {
  Tree tree;  // Owns names and literals.
  Arena arena;
  std::deque<Node> nodes;
  std::deque<Attribute> attributes;
  const Node* root = nullptr;
  uint32_t folds = 0;
  SelectorRules rules = SelectorRules::kKubernetes136;
};

// Makes a program of a tree that was checked.  `program` has the tree.
absl::Status Plan(Program& program);

// Evaluates the program, or one node of it that has no variables.
class Evaluator {
 public:
  Evaluator(const DeviceForSelector& device, const Program& program, uint64_t cost_max)
      : device_(device), rules_(program.rules), frames_(program.folds), cost_max_(cost_max) {}

  // Errors: see DeviceSelector::Matches.
  absl::StatusOr<Value> Run(const Node& root);
  [[nodiscard]] uint64_t cost() const { return cost_; }

 private:
  struct Frame {
    const Node* fold = nullptr;
    bool is_initialized = false;
    bool grows = false;  // The accumulator began as an empty list.
    Value accumulator{};
    Value item{};
  };
  struct Found {
    Value value{};  // An error, or the value.
    bool is_present = false;
  };

  Value Eval(const Node& node);
  Value EvalLogic(const Node& node);
  Value EvalCall(const Node& node);
  Value EvalList(const Node& node);
  Value EvalMap(const Node& node);
  Value Unwrapped(const Value& optional);
  Value EvalFold(const Node& node);
  Value EvalSet(const Node& node);
  Value Accumulator(uint32_t slot);

  Value Resolve(const Attribute& attribute);
  Value ApplyQualifiers(Value object, const Attribute& attribute);
  Value KeyOf(const Qualifier& qualifier);
  // Looks `key` up in a map, list or object.
  Found Find(const Value& object, const Value& key);
  Found FindInMap(const Value& object, const Value& key);
  Value FieldOfDevice(std::string_view name, bool& is_present);
  Value Native(const Value& value);

  Value Apply(const Node& node, const Value* args, size_t count);
  Value ApplyText(const Node& node, const Value* args, size_t count);
  Value ApplyQuantity(const Node& node, const Value* args, size_t count);
  Value ApplySemver(const Node& node, const Value* args, size_t count);
  Value ApplyList(const Node& node, const Value* args, size_t count);
  Value ApplyOptional(const Node& node, const Value* args);
  Value Arithmetic(Function function, const Value& a, const Value& b);
  Value Convert(Function function, const Value& value);
  Value Order(Function function, const Value& a, const Value& b);
  Value Contains(const Value& list, const Value& item);
  Value Match(const Node& node, const Value& text, const Value& pattern);

  // a == b: a bool, or an error.
  Value Equal(const Value& a, const Value& b);
  Value EqualNotNull(const Value& a, const Value& b);
  bool IsEqual(const Value& a, const Value& b) { return EqualNotNull(a, b).is_true(); }

  // The keys of a map.
  std::vector<Value> Keys(const Value& map);
  size_t Size(const Value& value);
  uint64_t Traversal(const Value& value);
  void Pay(uint64_t cost);
  uint64_t CostOf(const Node& node, const Value* args, size_t count, const Value& result);
  // Whether the order of a list's items depends on the random order of a map: not understood.
  bool IsUnordered(const Value& list);

  Value Fail(std::string_view why) { return Value::Error(why); }
  Value NoOverload() { return Value::Error("no function takes values of these types"); }
  // Ends the evaluation; no || may hide it.
  Value Abort(absl::Status status);
  Value NotUnderstood(std::string_view what);
  void Work(size_t steps = 1);

  const DeviceForSelector& device_;
  SelectorRules rules_;
  std::vector<Frame> frames_;
  Arena arena_;
  uint64_t cost_ = 0;
  uint64_t cost_max_;
  size_t work_ = 0;
  // A quantity was compared such that Kubernetes changed how it holds it.
  bool has_changed_quantity_ = false;
  absl::Status abort_;
};

// The domain and name of an attribute, by the driver's domain if it names none.
std::pair<std::string_view, std::string_view> SplitName(std::string_view name,
                                                        std::string_view driver);

}  // namespace ebb::cel

#endif  // EBB_CEL_PROGRAM_H_
