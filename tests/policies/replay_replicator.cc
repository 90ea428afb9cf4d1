#include "tests/policies/replay.h"

namespace ebb {

ReplayTally ReplayReplicator(const nlohmann::json&) { return {}; }

}  // namespace ebb
