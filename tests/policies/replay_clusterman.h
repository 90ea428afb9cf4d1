// What the replays of Clusterman's six kinds of cases share: the tally of one case, comparison,
// and the readers of what several kinds have in common.
#ifndef EBB_TESTS_POLICIES_REPLAY_CLUSTERMAN_H_
#define EBB_TESTS_POLICIES_REPLAY_CLUSTERMAN_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "sizing/policy/clusterman/clusterman.h"

namespace ebb::clusterman_replay {

using Json = nlohmann::json;

// Names that the docs give the deviations.
inline constexpr char kFailedRun[] = "clusterman: a run that fails is a round without action";
inline constexpr char kQuantities[] = "clusterman: quantities are Kubernetes' own";
// None of ebb's: the record of a paused run counts nodes that were lost, and does not say what
// they held.
inline constexpr char kLostNodes[] = "clusterman: what lost nodes held is not recorded";

// One case: what differs, and which deviations it met.
struct Replayed {
  std::string id;
  bool differs = false;
  std::vector<std::string> deviations;
};

// Says so on stderr if they differ: numbers by more than 1e-9 of them, all else at all.
void Compare(Replayed& replayed, const std::string& field, const Json& expected, const Json& got);
// Every field that was recorded, and no other.
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
