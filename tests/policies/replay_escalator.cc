#include "tests/policies/replay.h"

namespace ebb {

ReplayTally ReplayEscalatorRounds(const nlohmann::json&) { return {}; }
ReplayTally ReplayEscalatorValidations(const nlohmann::json&) { return {}; }

}  // namespace ebb
