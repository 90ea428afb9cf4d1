// Checks of flag values: one checker for each kind of value, with a range.  Every option of every
// command has exactly one checker, so that help, man pages and completion can describe its value
// (cli_test.cc checks this for all options).
//
// A checker reads the whole text and accepts only plain decimal numbers: no nan, inf or hex, no
// leading zero (C would read octal), no sign where the range has no negative numbers, no blanks.
// An error message includes the range:
//   "0x10" is not a whole number from 1 to 128
//
// The name of a CLI11 validator is its kind.  Its description is the range for people, or the
// choices with "|" between them.

#ifndef EBB_CLI_FLAGS_FLAG_VALUES_H_
#define EBB_CLI_FLAGS_FLAG_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace ebb {

enum class ValueKind {
  kWholeNumber,
  kNumber,
  kDuration,
  kTime,
  kMinMax,
  kGroupSize,
  kNodesOrGroupSize,
  kBytes,
  kGpuTotal,
  kPriceRule,
  kSwitch,
  kChoice,
  kFile,  // Any text; completed with the names of files.
  kNode,  // Any text; completed with the names of the input's nodes.
  kText,  // Any text.
  kMaybeEmptyText,
};

// The largest size of a node group, in nodes.
inline constexpr int64_t kGroupSizeMax = 1'000'000;

namespace values {

// From `min` to `max`, both included.
CLI::Validator WholeNumber(int64_t min, uint64_t max);
// A decimal fraction, an exponent allowed, from `min` to `max`, both included.
CLI::Validator Number(double min, double max);
// A Number from 0 to 1, or a percentage such as "5%", which is changed to "0.05".
CLI::Validator Share();
// A duration as Go's flags accept it ("1h30m"), at most 100 years, so that adding it to a time
// cannot overflow.
CLI::Validator Duration();
// A time in RFC 3339, from 1970 to 9999.
CLI::Validator Time();
// "8:320000": two whole numbers up to `max`; the first must not be above the second.
CLI::Validator MinMax(int64_t max);
// "1:10:NAME": smallest size, largest size and name of a node group.  NAME is in a form that
// ReadCloudGroupName accepts.
CLI::Validator GroupSize(int64_t max);
// A whole number from 1 to `nodes_max`, or a GroupSize.
CLI::Validator NodesOrGroupSize(int64_t nodes_max, int64_t max);
// "nvidia-tesla-k80:0:8".
CLI::Validator GpuTotal();
// "spot=0.35" or "discount=0.2".
CLI::Validator PriceRule();
// "2000000", "500MB" or "16GiB": a whole number of at least one byte, with or without a unit (in
// any case).
CLI::Validator Bytes();
// A value that Go's strconv.ParseBool accepts.
CLI::Validator Switch();
CLI::Validator Choice(const std::vector<std::string>& choices);
// Text that is not empty.
CLI::Validator File();
CLI::Validator NodeName();
CLI::Validator Text();
CLI::Validator MaybeEmptyText();

}  // namespace values

// The kind of the option's checker; absent: the option has none of the checkers above.
std::optional<ValueKind> KindOf(const CLI::Option& option);
// The range or the choices, as the checker describes them; "" for any text.
std::string RangeOf(const CLI::Option& option);
std::vector<std::string> ChoicesOf(const CLI::Option& option);
// The placeholder for the value in help: "DURATION", without the range.
std::string TypeOf(const CLI::Option& option);

// The parts of a MinMax.  REQUIRES: the checker accepted `text`.
struct MinMaxParts {
  int64_t min = 0;
  int64_t max = 0;
};
MinMaxParts ParseMinMax(std::string_view text);
// The parts of a GroupSize.  REQUIRES: the checker accepted `text`.
struct GroupSizeParts {
  int64_t min = 0;
  int64_t max = 0;
  std::string name;
};
GroupSizeParts ParseGroupSize(std::string_view text);
// The number of a Bytes value.  REQUIRES: the checker accepted `text`.
uint64_t ParseBytes(std::string_view text);
// A Duration in whole seconds, rounded up.  REQUIRES: the checker accepted `text`.
int64_t DurationSeconds(std::string_view text);
// The shortest Duration text for `seconds`: "0s", "10m", "1h30m".  REQUIRES: seconds >= 0.
std::string DurationFlagText(int64_t seconds);

// If a flag is given several times, its last value counts, as with Go's flags.  So a pasted command
// line can be followed by changes.  Flags that take many values keep all of them.  A flag that
// names a file is rejected when it is given twice: one of the two files would not be read or
// written.
void TakeLastOfEach(CLI::App& app);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_FLAG_VALUES_H_
