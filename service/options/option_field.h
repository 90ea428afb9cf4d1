// OptionField: one row of the table of options (option_table.cc), bound to a struct that has the
// option as a member.
//
//   RoundOptions options;
//   for (const OptionField& field : FieldsOf(options)) std::cout << field.path << "\n";
//
// The table is the one place that spells an option: its path in the form of round_options.h, its
// member, kind and range, its flags and their help, and whether the autoscaler has the flag too.
// Made from it are the form, the flags of commands (tools/option_flags.h), the autoscaler's flags
// that ebb honours (tools/autoscaler_flags.h), and the tables of docs/options.md and docs/flags.md
// (tools/option_docs.h).  An option's default is that of the struct's member.
//
// Cost:      a few allocations a row.
// Ownership: a field points into the struct that it was made of, which must outlive it.
// Threads:   as the struct.

#ifndef EBB_SERVICE_OPTIONS_OPTION_FIELD_H_
#define EBB_SERVICE_OPTIONS_OPTION_FIELD_H_

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
  kSeconds,   // The flag takes a duration as Go writes it, and rounds it up.
  kFraction,  // 0 to 1.
  kPercent,   // 0 to 100.
  kMinimum,   // The flag takes MIN:MAX, in units of OptionField::unit.  Only MIN counts.
  kChoice,    // One of some words.
  kNames,     // The flag takes several with commas between, which replace what was there.
  kKeys,      // The flag takes one each time that it is given, and adds it.
};

// The heading of `ebb help plan` below which a flag stands.
enum class OptionGroup : uint8_t {
  kInput,
  kPass,
  kNodes,   // Which nodes may go.
  kPods,    // Which pods may be moved.
  kRounds,  // Over time: without --state these flags do not count.
};

enum class OptionAbout : uint8_t {
  kLoading,  // How a cluster is read: commands that do not plan have the flag, too.
  kPlans,    // And rounds.
  kRounds,   // A plan over a dump does not depend on it.
};

struct OptionRange {
  int64_t min = 0;
  int64_t max = 0;
};

struct OptionFlag {
  std::string_view name;  // Without dashes; empty: there is no such flag.
  std::string_view help;
  OptionGroup group = OptionGroup::kPass;
  // Flags of a group stand by their places, those of one place as in the table.
  int place = 1000;
  std::string_view value = {};             // What help calls the value; empty: as its kind.
  std::optional<OptionRange> range = {};   // Where the flag's is not that of the form.
  std::optional<int64_t> of_command = {};  // The command line's own default, not the member's.
  std::string_view note = {};              // Beside the flag in docs/flags.md.
};

// What the table says of an option beside its path, member, kind and range.
struct OptionRow {
  OptionFlag flag = {};
  OptionFlag old = {};         // An earlier name, which counts where `flag` is not given.
  bool warns_of_old = false;   // Where the earlier name is given.
  bool in_autoscaler = false;  // Both flags are the autoscaler's, and mean the same there.
  bool hides_default = false;  // Help does not show it.
  int64_t growth_max = 0;      // kMinimum: the MAX that help shows, the autoscaler's default.
  OptionAbout about = OptionAbout::kPlans;
  std::string_view decides = {};  // In docs/options.md: what the option decides.
};

// A member of an enumeration's type, by words.
struct OptionChoice {
  std::vector<std::string> words;
  std::function<std::string()> get;
  std::function<bool(std::string_view)> set;  // False, and nothing changes: there is no such word.
};

using OptionValue =
    std::variant<bool*, int64_t*, size_t*, double*, std::vector<std::string>*, OptionChoice>;

struct OptionField {
  std::string path;  // "scaleDown.budgets.maxDrainParallelism"; empty: the form does not have it.
  OptionKind kind = OptionKind::kSwitch;
  OptionValue value;
  OptionRange range = {};  // Of numbers in the form.
  int64_t unit = 1;        // kMinimum: of the member, in one of the flag.
  OptionRow row;
};

// Every option, in the order of the form.
std::vector<OptionField> FieldsOf(RoundOptions& options);
// Those of `load`.
std::vector<OptionField> FieldsOf(LoadOptions& options);

// The form of round_options.h with no more than these.
nlohmann::ordered_json FormOf(std::span<const OptionField> fields);

// Whether the option has the same value in both.
// REQUIRES: both are of one row.
bool SameValue(const OptionField& a, const OptionField& b);
// Gives the member of `to` the value that the same option has in `from`.
// REQUIRES: both are of one row.
void CopyValue(const OptionField& from, const OptionField& to);

}  // namespace ebb

#endif  // EBB_SERVICE_OPTIONS_OPTION_FIELD_H_
