// Shared by the replays of Clusterman's six kinds of cases: the tally of one case, the comparison,
// and readers of what several kinds contain.
#ifndef EBB_TESTS_POLICIES_REPLAY_CLUSTERMAN_H_
#define EBB_TESTS_POLICIES_REPLAY_CLUSTERMAN_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "sizing/policy/clusterman/clusterman.h"

namespace ebb::clusterman_replay {

using Json = nlohmann::json;

// The names of the deviations in the docs.
inline constexpr char kFailedRun[] = "clusterman: a run that fails is a round without action";
inline constexpr char kQuantities[] = "clusterman: quantities are Kubernetes' own";
// Not a deviation of ebb: the record of a paused run counts lost nodes without their capacity.
inline constexpr char kLostNodes[] = "clusterman: what lost nodes held is not recorded";

// One case: whether it differs, and the deviations in it.
struct Replayed {
  std::string id;
  bool differs = false;
  std::vector<std::string> deviations;
};

// Prints a difference to stderr.  Numbers may differ by a relative 1e-9.
void Compare(Replayed& replayed, const std::string& field, const Json& expected, const Json& got);
// Compares every recorded field, and expects no other field.
void CompareAll(Replayed& replayed, const Json& expected, const Json& got);

// A key that is absent or null leaves the default.
template <typename T>
void ReadOr(const Json& json, const char* key, T& value) {
  const auto it = json.find(key);
  if (it != json.end() && !it->is_null()) value = it->get<T>();
}

std::optional<double> Maybe(const Json& json, const char* key);

ClustermanRequest ReadRequest(const Json& json);
ClustermanAutoscaling ReadAutoscaling(const Json& json);
ClustermanLimits ReadLimits(const Json& json);
Json ResourcesJson(const ClustermanRequest& amounts);
Json Ids(const std::vector<ClustermanNode>& nodes, const std::vector<size_t>& indices);

// Each replays one case.
void ReplayRun(const Json& input, const Json& expected, Replayed& replayed);
void ReplayDrain(const Json& input, const Json& expected, Replayed& replayed);

}  // namespace ebb::clusterman_replay

#endif  // EBB_TESTS_POLICIES_REPLAY_CLUSTERMAN_H_
