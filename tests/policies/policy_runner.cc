// policy_runner DIR...: replays recorded answers of four sizing programs.
//
// A DIR holds the unpacked cases, `<school>/<set>.json`.  Prints a row of counts for each file, and
// the deliberate deviations by name.  Exit code 0: all cases agree; 1: some do not, or a file is
// missing, unreadable or without a case.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/policies/replay.h"

namespace ebb {
namespace {

struct ReplayedFile {
  std::string path;
  std::function<ReplayTally(const nlohmann::json&)> replay;
  bool required;  // False: the set may be absent, because it is kept elsewhere.
};

const ReplayedFile kFiles[] = {
    {"escalator/shared.json", ReplayEscalatorRounds, true},
    {"escalator/held.json", ReplayEscalatorRounds, false},
    {"escalator/validate.json", ReplayEscalatorValidations, true},
    {"maestro/shared.json", ReplayMaestroRounds, true},
    {"maestro/held.json", ReplayMaestroRounds, false},
    {"maestro/panic.json", ReplayMaestroPanics, true},
    {"clusterman/shared.json", ReplayClusterman, true},
    {"clusterman/held.json", ReplayClusterman, false},
    {"replicator/shared.json", ReplayReplicator, true},
    {"replicator/held.json", ReplayReplicator, false},
};

// True if the file's cases agree, or if the file is absent and not required.
bool Replay(const std::filesystem::path& folder, const ReplayedFile& file) {
  const std::filesystem::path path = folder / file.path;
  if (!file.required && !std::filesystem::exists(path)) return true;
  std::ifstream in(path);
  ReplayTally tally;
  try {
    tally = file.replay(nlohmann::json::parse(in));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.what());
    return false;
  }
  std::printf("%-26s %6lld cases %6lld rounds %6lld differ\n", file.path.c_str(),
              static_cast<long long>(tally.cases), static_cast<long long>(tally.rounds),
              static_cast<long long>(tally.differing));
  for (const auto& [name, rounds] : tally.deviations) {
    std::printf("    on purpose: %-48s %6lld rounds\n", name.c_str(),
                static_cast<long long>(rounds));
  }
  return tally.cases > 0 && tally.differing == 0;
}

}  // namespace
}  // namespace ebb

int main(int argc, char** argv) {
  bool agree = argc > 1;
  for (int i = 1; i < argc; ++i) {
    for (const ebb::ReplayedFile& file : ebb::kFiles) {
      agree = ebb::Replay(argv[i], file) && agree;
    }
  }
  return agree ? 0 : 1;
}
