// What the values of flags may be: one checker for each kind, with a range.  Every
// option of every command has exactly one of these, so that help, man pages and
// completion can tell what it takes (cli_test.cc walks over all of them).
//
// A checker reads the whole text and nothing but decimal digits: no nan, no inf, no hex,
// no leading zero that C would take for octal, no sign where the range has no negative
// numbers, no blanks.  What is wrong is told with the range:
//   "0x10" is not a whole number from 1 to 128
//
// The name of the validator is the kind; its description is the range as people read
// it, or the choices with "|" between them.

#ifndef EBB_TOOLS_FLAG_VALUES_H_
#define EBB_TOOLS_FLAG_VALUES_H_

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
  kSwitch,
  kChoice,
  kFile,  // Any text; completed with the names of files.
  kNode,  // Any text; completed with the names of the input's nodes.
  kText,  // Any text.
  kMaybeEmptyText,
};

// Of a node group, in nodes.
inline constexpr int64_t kGroupSizeMax = 1'000'000;

namespace values {

// From `min` to `max`, both included.
CLI::Validator WholeNumber(int64_t min, uint64_t max);
// A decimal fraction, an exponent allowed, from `min` to `max`, both included.
CLI::Validator Number(double min, double max);
// As Go's flags take them ("1h30m"), at most 100 years, so that adding them to a time
// cannot overflow.
CLI::Validator Duration();
// RFC 3339, from 1970 to 9999.
CLI::Validator Time();
// "8:320000": whole numbers up to `max`, the first not above the second.
CLI::Validator MinMax(int64_t max);
// "1:10:NAME", a node group with its smallest and largest size; NAME as ReadCloudGroupName takes
// it.
CLI::Validator GroupSize(int64_t max);
// A whole number from 1 to `nodes_max`, or a GroupSize.
CLI::Validator NodesOrGroupSize(int64_t nodes_max, int64_t max);
// "nvidia-tesla-k80:0:8".
CLI::Validator GpuTotal();
// "2000000", "500MB" or "16GiB": a whole number, a unit in any case or none, from 1 byte.
CLI::Validator Bytes();
// What Go's strconv.ParseBool takes.
CLI::Validator Switch();
CLI::Validator Choice(const std::vector<std::string>& choices);
// Text that is not empty.
CLI::Validator File();
CLI::Validator NodeName();
CLI::Validator Text();
CLI::Validator MaybeEmptyText();

}  // namespace values

// The checker's kind; absent: the option has none of the above.
std::optional<ValueKind> KindOf(const CLI::Option& option);
// The range or the choices, as the checker describes them; "" for text.
std::string RangeOf(const CLI::Option& option);
std::vector<std::string> ChoicesOf(const CLI::Option& option);
// What stands for the value in help: "DURATION", without the range.
std::string TypeOf(const CLI::Option& option);

// The parts of a MinMax.  REQUIRES: the checker took `text`.
struct MinMaxParts {
  int64_t min = 0;
  int64_t max = 0;
};
MinMaxParts ParseMinMax(std::string_view text);
// The parts of a GroupSize.  REQUIRES: the checker took `text`.
struct GroupSizeParts {
  int64_t min = 0;
  int64_t max = 0;
  std::string name;
};
GroupSizeParts ParseGroupSize(std::string_view text);
// A number of Bytes.  REQUIRES: as above.
uint64_t ParseBytes(std::string_view text);
// A Duration in whole seconds, a part of one counts as one.  REQUIRES: as above.
int64_t DurationSeconds(std::string_view text);
// The shortest Duration of so many seconds: "0s", "10m", "1h30m".  REQUIRES: seconds >= 0.
std::string DurationFlagText(int64_t seconds);

// Of a flag that is given several times the last one counts, as Go's flags do it, so that
// a pasted command line can be followed by changes.  Flags with many values keep all.  A flag that
// names a file is refused when it is given twice: one of the two files would not be read or
// written.
void TakeLastOfEach(CLI::App& app);

}  // namespace ebb

#endif  // EBB_TOOLS_FLAG_VALUES_H_
