#include "tests/policies/replay.h"

namespace ebb {

ReplayTally ReplayClusterman(const nlohmann::json&) { return {}; }

}  // namespace ebb
