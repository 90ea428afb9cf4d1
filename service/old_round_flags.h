// The options of rounds that were recorded before records kept options (round_record.h):
// the flags of `ebb plan` that were given, each with its values, as texts.
//
//   {"scale-down-unneeded-time":["5m"],"nodes":["3:9:general"]}
//
// The table of these flags is closed: no record gains one any more.
//
// Errors:  one line naming the record, the round and the flag.
// Threads: pure functions.

#ifndef EBB_SERVICE_OLD_ROUND_FLAGS_H_
#define EBB_SERVICE_OLD_ROUND_FLAGS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/groups.h"
#include "service/options/round_options.h"

namespace ebb {

struct OldRoundFlags {
  RoundOptions options;
  std::vector<GroupSize> group_sizes;
  bool has_deadline = false;
};

// `name` stands for the record and its round in errors.
absl::StatusOr<OldRoundFlags> ReadOldFlags(const std::string& name,
                                           const nlohmann::ordered_json& flags);

}  // namespace ebb

#endif  // EBB_SERVICE_OLD_ROUND_FLAGS_H_
