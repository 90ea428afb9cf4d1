#include "cli/flags/input_flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "cli/flags/flag_values.h"

namespace ebb {

void AddLimitFlags(InputLimits& limits, CLI::App& app, const std::string& group) {
  app.add_option_function<std::string>(
         "--max-input-bytes",
         [&limits](const std::string& bytes) {
           limits.bytes_max = ParseBytes(bytes);
           // An explicit limit also removes the limit on the gzip ratio: the user expects a large
           // input.
           limits.inflate_ratio_max = std::numeric_limits<uint64_t>::max();
         },
         "Refuse more input than this, after decompression, as 2000000 or 16GiB (default: 8GiB, "
         "and gzip that holds no more than 100 times its size)")
      ->check(values::Bytes())
      ->type_name("BYTES")
      ->group(group);
}

void AddLoadFlags(LoadOptions& options, CLI::App& app, const std::string& group,
                  GivenFlags* given) {
  std::vector<OptionField> fields = FieldsOf(options);
  std::erase_if(fields,
                [](const OptionField& field) { return field.row.about != OptionAbout::kLoading; });
  AddOptionFlags(fields, OptionGroup::kInput, app, group, given);
  AddLimitFlags(options.limits, app, group);
}

}  // namespace ebb
