// Replays recorded answers of four sizing programs.  tests/policies/README.md describes the files;
// each `replay_<school>.cc` reads those of one program.
#ifndef EBB_TESTS_POLICIES_REPLAY_H_
#define EBB_TESTS_POLICIES_REPLAY_H_

#include <cstdint>
#include <map>
#include <string>

#include "nlohmann/json.hpp"

namespace ebb {

// The result of a replay.
struct ReplayTally {
  int64_t cases = 0;
  int64_t rounds = 0;     // Or option checks, panics, discoveries.
  int64_t differing = 0;  // Rounds with at least one field that differs.
  // Deliberate differences: the name of the deviation in the docs -> number of rounds with it.
  // Every other field of such a round was compared.
  std::map<std::string, int64_t> deviations;
};

// Each replays the cases of one file.  For every field that differs it prints a line to stderr:
// case, round, field, expected, got.
ReplayTally ReplayEscalatorRounds(const nlohmann::json& file);
ReplayTally ReplayEscalatorValidations(const nlohmann::json& file);
ReplayTally ReplayMaestroRounds(const nlohmann::json& file);
ReplayTally ReplayMaestroPanics(const nlohmann::json& file);
ReplayTally ReplayClusterman(const nlohmann::json& file);  // All six kinds.
ReplayTally ReplayReplicator(const nlohmann::json& file);  // All four lists.

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_REPLAY_H_
