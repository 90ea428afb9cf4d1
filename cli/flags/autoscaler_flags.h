// Every flag of Cluster Autoscaler, by name, so that the command line of a deployment can be pasted
// after `ebb plan INPUT...`.
//
// Each flag is treated in one of three ways:
// - honoured: `ebb plan` has an option with its name and meaning; most of these are rows of the
//   table of options, options/option_field.h;
// - ignored: it decides how the autoscaler runs, grows or deletes, and a plan does not depend on
//   it;
// - not honoured: it would change the plan, but ebb does not implement it, so a warning explains
//   what that means for the plan.
// The value of every flag is checked.
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
  kNotHonoured,           // For any value.
  kNotHonouredIfTrue,     // If false, it is ignored.
  kNotHonouredIfFalse,    // If true, it is ignored.
  kNotHonouredIfMinimum,  // KIND:MIN:MAX with a MIN above 0; any other value is ignored.
};

enum class FlagType : uint8_t { kSwitch, kInt, kFloat, kDuration, kText, kGpuTotal };

struct AutoscalerFlag {
  std::string_view name;  // Without leading dashes.
  FlagTreatment treatment;
  FlagType type;  // Not used for honoured flags.
  // The text in docs/flags.md.  For a flag that is not honoured: what that means for the plan.
  std::string_view note;
};

// In alphabetic order.
std::span<const AutoscalerFlag> AutoscalerFlags();

// Adds the flags that `app` has no option for, hidden from help.
void AddOtherAutoscalerFlags(CLI::App& app);
// Whether AddOtherAutoscalerFlags added the option.
bool IsOtherAutoscalerFlag(const CLI::Option& option);
// Prints one line that lists the ignored flags among those given on the command line.
void PrintIgnoredFlags(const CLI::App& app, std::ostream& err);
// A warning that lists the given flags that are not honoured, with reasons; nullopt: none was
// given.
std::optional<InputWarning> FlagsNotHonoured(const CLI::App& app);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_AUTOSCALER_FLAGS_H_
