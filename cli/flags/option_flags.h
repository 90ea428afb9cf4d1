// The flags of options, generated from the table of options (options/option_field.h).  They are
// bound to the structs whose members the options are.

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

// The flags that were given: name without dashes -> the last value, as it was spelled.
using GivenFlags = std::map<std::string, std::string, std::less<>>;

// The options if no flag is given: the defaults of the members, or the command line's own default
// where there is one.
RoundOptions CommandLineOptions();

// Adds the flags of the `fields` that belong to `group`, below `heading`.  The members that the
// fields are bound to, and `given`, must outlive the parsing of `app`.  Null `given`: which flags
// were given is not recorded.
void AddOptionFlags(const std::vector<OptionField>& fields, OptionGroup group, CLI::App& app,
                    const std::string& heading, GivenFlags* given);

// Whether a flag of the option was given.
bool IsGiven(const OptionField& field, const GivenFlags& given);
// The value of `flag` as it was spelled on the command line, or its default as help shows it.
// REQUIRES: the table has the flag.
std::string TextOf(std::string_view flag, const GivenFlags& given);
// `options`, with the default for every option whose flag belongs to rounds (OptionGroup::kRounds).
RoundOptions WithoutFlagsOfRounds(RoundOptions options);
// Whether the flag applies to plans although it is listed with the flags of rounds: it is the
// earlier name of a flag that applies to plans.
bool CountsInPlans(std::string_view flag);
// Prints one line for each given flag whose name is deprecated.
void WarnOfOldFlags(const GivenFlags& given, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_OPTION_FLAGS_H_
