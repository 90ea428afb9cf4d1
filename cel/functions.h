// The functions that expressions may call: which types of arguments they take, what they return,
// and what a call costs.  For this folder only.

#ifndef EBB_CEL_FUNCTIONS_H_
#define EBB_CEL_FUNCTIONS_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"

namespace ebb::cel {

// What a call does, whatever the overload.
enum class Function : uint8_t {
  kAnd,
  kOr,
  kNot,
  kNegate,
  kConditional,
  kIn,
  kIndex,
  kOptionalIndex,
  kOptionalSelect,
  kEquals,
  kNotEquals,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kLess,
  kLessEquals,
  kGreater,
  kGreaterEquals,
  kNotStrictlyFalse,
  kSize,
  kToInt,
  kToUint,
  kToDouble,
  kToString,
  kToBool,
  kToDyn,
  kContains,
  kStartsWith,
  kEndsWith,
  kMatches,
  kCharAt,
  kIndexOf,
  kLastIndexOf,
  kLowerAscii,
  kUpperAscii,
  kReplace,
  kSplit,
  kSubstring,
  kTrim,
  kJoin,
  kQuantity,
  kIsQuantity,
  kSign,
  kIsGreaterThan,
  kIsLessThan,
  kCompareTo,
  kAsApproximateFloat,
  kAsInteger,
  kIsInteger,
  kPlus,
  kMinus,
  kSemver,
  kIsSemver,
  kMajor,
  kMinor,
  kPatch,
  kOptionalOf,
  kOptionalOfNonZero,
  kOptionalNone,
  kValue,
  kHasValue,
  kOptionalOr,
  kOptionalOrValue,
  kFirst,
  kLast,
  kUnwrap,
  kSetsContains,
  kSetsEquivalent,
  kSetsIntersects,
  kIsSorted,
  kSum,
  kMin,
  kMax,
  kIncludes,
};

// The cost of a call by the sizes of its arguments (cel-go's runtimecost.go, and library/cost.go of
// k8s.io/apiserver).  A size is that of a list or map, or the characters of a string, else 1.
enum class Cost : uint8_t {
  kOne,
  kNone,
  kFirst,        // A tenth of the first argument's size, rounded up.
  kSecond,       // A tenth of the second argument's size.
  kFirstTwice,   // A fifth.
  kResultTwice,  // A fifth of the result's size.
  kTraversal,    // A tenth of each string in the first argument, rounded down, one for other items.
  kSmaller,      // A tenth of the smaller argument's size.
  kBoth,         // A tenth of the sum of sizes.
  kContains,     // The product of a tenth of each.
  kRegex,        // The product of a tenth of the text and a quarter of the expression.
  kSecondSize,   // The size of the second argument.
  kProduct,      // One more than the product of sizes.
  kProductTwice,
};

// The types of arguments and result, a letter each: b bool, i int, u uint, d double, s string,
// q quantity, v semver, y bytes, D duration, T timestamp, n dyn, A and B any, and before the types
// they hold L list, M map, O optional. A dot in front: a member function.  "MABA:B": of a map from
// A to B and an A, returns B.
struct Overload {
  std::string_view name;
  std::string_view signature;
  Function function;
  // kOne unless a call costs by its overload.  A call whose overload is decided at evaluation costs
  // what its function costs.
  Cost overload_cost = Cost::kOne;
  // Cost by the function's name, which goes before the overload's.
  Cost function_cost = Cost::kOne;
};

// All overloads; those of one function stand together.
absl::Span<const Overload> Overloads();

// The overloads of the function; empty if no function has this name.
absl::Span<const Overload> FindFunction(std::string_view name);

// Whether Kubernetes has a function or type of that name, which is not evaluated here.
bool IsUnknownToUs(std::string_view name);

}  // namespace ebb::cel

#endif  // EBB_CEL_FUNCTIONS_H_
