#include "tools/input_flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

#include "tools/flag_values.h"

namespace ebb {

void AddLimitFlags(InputLimits& limits, CLI::App& app, const std::string& group) {
  app.add_option_function<std::string>(
         "--max-input-bytes",
         [&limits](const std::string& bytes) {
           limits.bytes_max = ParseBytes(bytes);
           // An explicit limit also lifts that of the gzip ratio: the user expects so much.
           limits.inflate_ratio_max = std::numeric_limits<uint64_t>::max();
         },
         "Refuse more input than this, after decompression, as 2000000 or 16GiB (default: 8GiB, "
         "and gzip that holds no more than 100 times its size)")
      ->check(values::Bytes())
      ->type_name("BYTES")
      ->group(group);
}

void AddLoadFlags(LoadOptions& options, CLI::App& app, const std::string& group) {
  app.add_flag("--strict", options.strict, "End with an error where the input gives a warning")
      ->check(values::Switch())
      ->group(group);
  app.add_flag(
         "--assume-complete", options.assume_complete,
         "The input is all there is: do not warn of what it may lack, take nodes without any pod")
      ->check(values::Switch())
      ->group(group);
  app.add_flag(
         "--allow-incomplete", options.allow_incomplete,
         "Answer about what is there although pods or kinds of objects are missing; the answer "
         "says that it is of an incomplete cluster")
      ->check(values::Switch())
      ->group(group);
  app.add_flag("--match-os", options.match_os,
               "Keep pods off nodes of another operating system than they were made for, which the "
               "scheduler itself does not [true]")
      ->check(values::Switch())
      ->group(group);
  app.add_option_function<std::string>(
         "--kubernetes-version",
         [&options](const std::string& text) {
           options.kubernetes_version = ParseKubernetesVersion(text);
         },
         "Place pods by the rules of this version's scheduler; auto: of the newest kubelet's")
      ->check(values::Choice({"auto", "1.36", "1.37"}))
      ->default_str("auto")
      ->type_name("VERSION")
      ->group(group);
  AddLimitFlags(options.limits, app, group);
}

}  // namespace ebb
