// Recorded answers of four sizing programs, replayed.  tests/policies/README.md describes
// the files; a `replay_<school>.cc` each knows one of them.
#ifndef EBB_TESTS_POLICIES_REPLAY_H_
#define EBB_TESTS_POLICIES_REPLAY_H_

#include <cstdint>
#include <map>
#include <string>

#include "nlohmann/json.hpp"

namespace ebb {

// What a replay found.
struct ReplayTally {
  int64_t cases = 0;
  int64_t rounds = 0;     // Or validations, panics, discoveries.
  int64_t differing = 0;  // Rounds of which at least one field differed.
  // Where ebb differs on purpose: the name that the docs give the deviation -> rounds that met
  // it.  Every other field of such a round was compared.
  std::map<std::string, int64_t> deviations;
};

// Each replays the cases of one file and prints a line to stderr for every field that
// differs: case, round, field, expected, got.
ReplayTally ReplayEscalatorRounds(const nlohmann::json& file);
ReplayTally ReplayEscalatorValidations(const nlohmann::json& file);
ReplayTally ReplayMaestroRounds(const nlohmann::json& file);
ReplayTally ReplayMaestroPanics(const nlohmann::json& file);
ReplayTally ReplayClusterman(const nlohmann::json& file);  // All six kinds.
ReplayTally ReplayReplicator(const nlohmann::json& file);  // All four lists.

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_REPLAY_H_
