// Every flag of Cluster Autoscaler, by name: so that the command line of a deployment can
// be pasted behind `ebb plan INPUT...`.
//
// A flag is honoured (an option of `ebb plan` has its name and meaning; most stand in the table
// of options, options/option_field.h), ignored (it says how the autoscaler runs, grows or
// deletes, and a plan does not depend on it), or not honoured: it would change the plan, and ebb
// does not have it, so a warning tells what that means for the plan.  Values are checked all the
// same.
//
// Source: names, types and defaults in cluster-autoscaler config/flags/flags.go and main.go;
// klog's InitFlags; component-base's leader election and logging options.

#ifndef EBB_CLI_FLAGS_AUTOSCALER_FLAGS_H_
#define EBB_CLI_FLAGS_AUTOSCALER_FLAGS_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>

#include "snapshot/import/input_warning.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ebb {

enum class FlagTreatment : uint8_t {
  kHonoured,
  kIgnored,
  kNotHonoured,           // Whatever its value.
  kNotHonouredIfTrue,     // Else as ignored.
  kNotHonouredIfFalse,    // Else as ignored.
  kNotHonouredIfMinimum,  // KIND:MIN:MAX with a MIN above 0; else as ignored.
};

enum class FlagType : uint8_t { kSwitch, kInt, kFloat, kDuration, kText, kGpuTotal };

struct AutoscalerFlag {
  std::string_view name;  // Without dashes in front.
  FlagTreatment treatment;
  FlagType type;  // Not used for those that are honoured.
  // In docs/flags.md.  Of one that is not honoured: what that means for the plan.
  std::string_view note;
};

// In alphabetic order.
std::span<const AutoscalerFlag> AutoscalerFlags();

// Adds those that `app` has no option for, hidden from help.
void AddOtherAutoscalerFlags(CLI::App& app);
// The option was added by AddOtherAutoscalerFlags.
bool IsOtherAutoscalerFlag(const CLI::Option& option);
// One line that lists the ignored ones of those that were given.
void PrintIgnoredFlags(const CLI::App& app, std::ostream& err);
// A warning that lists the ones that are not honoured, with reasons, if any were given.
std::optional<InputWarning> FlagsNotHonoured(const CLI::App& app);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_AUTOSCALER_FLAGS_H_
