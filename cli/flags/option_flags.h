// The flags of options, made from their table (options/option_field.h) and bound to the
// structs that have the options as members.

#ifndef EBB_CLI_FLAGS_OPTION_FLAGS_H_
#define EBB_CLI_FLAGS_OPTION_FLAGS_H_

#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "options/option_field.h"
#include "options/round_options.h"

namespace CLI {
class App;
}

namespace ebb {

// The flags that were given, by name without dashes, with the last value of each as it was spelled.
using GivenFlags = std::map<std::string, std::string, std::less<>>;

// The options where no flag is given: the defaults of the members, or of the command line where it
// has its own.
RoundOptions CommandLineOptions();

// Adds the flags of `fields` that are of `group`, below `heading`.  What the fields are bound to,
// and `given`, must outlive the parsing of `app`.  Null: nobody needs to know which were given.
void AddOptionFlags(const std::vector<OptionField>& fields, OptionGroup group, CLI::App& app,
                    const std::string& heading, GivenFlags* given);

// Whether a flag of the option was given.
bool IsGiven(const OptionField& field, const GivenFlags& given);
// The value of `flag` as it was spelled, or its default as help shows it.
// REQUIRES: the table has the flag.
std::string TextOf(std::string_view flag, const GivenFlags& given);
// `options` with defaults for all that flags of rounds set (OptionGroup::kRounds).
RoundOptions WithoutFlagsOfRounds(RoundOptions options);
// The flag stands with those of rounds and counts in a plan all the same: it is the earlier name of
// a flag that does.
bool CountsInPlans(std::string_view flag);
// A line for each earlier name among the flags that is to be warned of.
void WarnOfOldFlags(const GivenFlags& given, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_OPTION_FLAGS_H_
