// OptionField: one row of the table of options (option_table.cc), bound to a struct that has the
// option as a member.
//
//   RoundOptions options;
//   for (const OptionField& field : FieldsOf(options)) std::cout << field.path << "\n";
//
// Each option is spelled in this table only: its path in the form of round_options.h, its member,
// kind and range, its flags and their help, and whether the autoscaler has the flag too.  These are
// made from the table: the form, the flags of commands (cli/flags/option_flags.h), the autoscaler's
// flags that ebb honours (cli/flags/autoscaler_flags.h), and the tables of docs/options.md and
// docs/flags.md (tools/option_docs.h).  An option's default is that of the struct's member.
//
// Cost:      a few allocations for each row.
// Ownership: a field points into its struct, which must outlive it.
// Threads:   as the struct.

#ifndef EBB_OPTIONS_OPTION_FIELD_H_
#define EBB_OPTIONS_OPTION_FIELD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ebb {

struct LoadOptions;
struct RoundOptions;

enum class OptionKind : uint8_t {
  kSwitch,
  kWholeNumber,
  kSeconds,   // The flag takes a duration in Go's syntax, and rounds it up.
  kFraction,  // 0 to 1.
  kPercent,   // 0 to 100.
  kMinimum,   // The flag takes MIN:MAX, in units of OptionField::unit.  Only MIN counts.
  kChoice,    // One of a few words.
  kText,      // A text that OptionChoice::set accepts; OptionChoice::words has one example.
  kFile,      // The text of a file, which the flag names.
  kNames,     // The flag takes names with commas between, which replace the names so far.
  kKeys,      // The flag may be repeated; each use adds one key.
};

// The heading under which `ebb help plan` lists a flag.
enum class OptionGroup : uint8_t {
  kInput,
  kPass,
  kNodes,   // Which nodes may go.
  kPods,    // Which pods may move.
  kRounds,  // Rounds over time: these flags have no effect without --state.
};

enum class OptionAbout : uint8_t {
  kLoading,  // How a cluster is read; commands that do not plan have the flag too.
  kPlans,    // Plans and rounds.
  kRounds,   // Only rounds: a plan over a dump does not depend on it.
};

struct OptionRange {
  int64_t min = 0;
  int64_t max = 0;
};

struct OptionFlag {
  std::string_view name;  // Without dashes; empty: no such flag.
  std::string_view help;
  OptionGroup group = OptionGroup::kPass;
  // Flags of a group are sorted by place; flags with the same place are in table order.
  int place = 1000;
  std::string_view value = {};             // What help calls the value; empty: as its kind.
  std::optional<OptionRange> range = {};   // If it is not the form's.
  std::optional<int64_t> of_command = {};  // The command line's own default; absent: the member's.
  std::string_view note = {};              // Beside the flag in docs/flags.md.
};

// The rest of an option's row, besides its path, member, kind and range.
struct OptionRow {
  OptionFlag flag = {};
  OptionFlag old = {};         // An earlier name; used if `flag` is not given.
  bool warns_of_old = false;   // Warns if the earlier name is used.
  bool in_autoscaler = false;  // The autoscaler has the same flags, with the same meaning.
  bool hides_default = false;  // Help does not show it.
  int64_t growth_max = 0;      // kMinimum: the MAX that help shows, the autoscaler's default.
  OptionAbout about = OptionAbout::kPlans;
  std::string_view decides = {};  // In docs/options.md: what the option decides.
};

// A member whose type is an enumeration, set and read as words.
struct OptionChoice {
  std::vector<std::string> words;
  std::function<std::string()> get;
  // Returns false, and changes nothing, for an unknown word.
  std::function<bool(std::string_view)> set;
};

// A member that is made from the text of a file; an empty text stands for no file.
struct OptionText {
  std::function<std::string()> get;
  // Returns what is wrong with the text, and then changes nothing; or "".
  std::function<std::string(std::string_view)> set;
};

using OptionValue = std::variant<bool*, int64_t*, size_t*, double*, std::vector<std::string>*,
                                 OptionChoice, OptionText>;

struct OptionField {
  std::string path;  // "scaleDown.budgets.maxDrainParallelism"; empty: not in the form.
  OptionKind kind = OptionKind::kSwitch;
  OptionValue value;
  OptionRange range = {};  // For numbers in the form.
  int64_t unit = 1;        // kMinimum: how many of the member's units one of the flag's is.
  OptionRow row;
};

// Every option, in the order of the form.
std::vector<OptionField> FieldsOf(RoundOptions& options);
// The options in `load`.
std::vector<OptionField> FieldsOf(LoadOptions& options);

// The form of round_options.h, with only these fields.
nlohmann::ordered_json FormOf(std::span<const OptionField> fields);

// Whether the option has the same value in both.
// REQUIRES: both are fields of the same row.
bool SameValue(const OptionField& a, const OptionField& b);
// Gives the member of `to` the value of `from`.
// REQUIRES: both are fields of the same row.
void CopyValue(const OptionField& from, const OptionField& to);

}  // namespace ebb

#endif  // EBB_OPTIONS_OPTION_FIELD_H_
