// Reads the text of an expression into a tree.  Macros (has, all, exists, exists_one, map, filter,
// cel.bind, optMap, optFlatMap) are expanded as cel-go expands them, because the cost of an
// evaluation depends on it.  For this folder only.

#ifndef EBB_CEL_SYNTAX_H_
#define EBB_CEL_SYNTAX_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cel/value.h"

namespace ebb::cel {

struct Type;
struct Overload;

struct Expr {
  enum class Kind : uint8_t {
    kLiteral,
    kName,
    kSelect,  // args[0].name
    kCall,    // name(args...); a member call has its target as args[0].
    kList,
    kMap,  // args: key, value, key, value, ...
    kFold,
  };

  Kind kind = Kind::kLiteral;
  bool is_presence_test = false;  // kSelect
  bool is_member = false;         // kCall
  uint16_t depth = 1;             // Of the tree below.
  std::string_view name{};        // kFold: the variable of the accumulator.
  std::string_view variable{};    // kFold: the variable of the iteration.
  Value literal{};
  // kFold: range, initial value, condition, step, result.
  std::vector<Expr*> args{};
  std::vector<bool> is_optional{};  // kList, kMap: by element or entry.

  // For the checker alone.
  const Type* type = nullptr;
  // Set by the checker.  kCall: the only overload that the types allow, or nullptr if values
  // decide.
  const Overload* overload = nullptr;
};

// The names of operators as functions, as in cel-go.
namespace op {
inline constexpr std::string_view kAnd = "_&&_";
inline constexpr std::string_view kOr = "_||_";
inline constexpr std::string_view kNot = "!_";
inline constexpr std::string_view kNegate = "-_";
inline constexpr std::string_view kConditional = "_?_:_";
inline constexpr std::string_view kIn = "@in";
inline constexpr std::string_view kIndex = "_[_]";
inline constexpr std::string_view kOptionalIndex = "_[?_]";
inline constexpr std::string_view kOptionalSelect = "_?._";
inline constexpr std::string_view kEquals = "_==_";
inline constexpr std::string_view kNotEquals = "_!=_";
inline constexpr std::string_view kAdd = "_+_";
inline constexpr std::string_view kNotStrictlyFalse = "@not_strictly_false";
}  // namespace op

inline constexpr std::string_view kAccumulator = "@result";

// Trees deeper than this are not understood.  It bounds the stack of all later steps.
inline constexpr int kDepthMax = 100;

// Owns the nodes of a tree.
struct Tree {
  std::deque<Expr> nodes;
  Arena arena;
  Expr* root = nullptr;
};

// Errors: see DeviceSelector::Compile.
absl::StatusOr<Expr*> Parse(std::string_view text, Tree& tree);

}  // namespace ebb::cel

#endif  // EBB_CEL_SYNTAX_H_
