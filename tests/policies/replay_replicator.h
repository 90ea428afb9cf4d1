// Shared by the replays of Replicator's recorded lists.
#ifndef EBB_TESTS_POLICIES_REPLAY_REPLICATOR_H_
#define EBB_TESTS_POLICIES_REPLAY_REPLICATOR_H_

#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"
#include "tests/policies/replay.h"

namespace ebb {

// One round or step while it is compared.
class ReplayedRound {
 public:
  ReplayedRound(std::string name, ReplayTally* tally) : name_(std::move(name)), tally_(*tally) {}
  ~ReplayedRound() {
    ++tally_.rounds;
    if (differs_) ++tally_.differing;
    for (const std::string& deviation : deviations_) ++tally_.deviations[deviation];
  }
  ReplayedRound(const ReplayedRound&) = delete;
  ReplayedRound& operator=(const ReplayedRound&) = delete;

  void Compare(std::string_view field, const nlohmann::json& expected, const nlohmann::json& got) {
    if (expected == got) return;
    differs_ = true;
    std::fprintf(stderr, "%s %.*s: expected %s, got %s\n", name_.c_str(),
                 static_cast<int>(field.size()), field.data(), expected.dump().c_str(),
                 got.dump().c_str());
  }
  void Deviates(const std::string& name) { deviations_.insert(name); }

 private:
  std::string name_;
  ReplayTally& tally_;
  bool differs_ = false;
  std::set<std::string> deviations_;
};

void ReplayReplicatorLoop(const nlohmann::json& cases, ReplayTally* tally);
void ReplayReplicatorDiscovery(const nlohmann::json& cases, ReplayTally* tally);
void ReplayReplicatorPoolBounds(const nlohmann::json& cases, ReplayTally* tally);
void ReplayReplicatorScaleFactor(const nlohmann::json& cases, ReplayTally* tally);

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_REPLAY_REPLICATOR_H_
