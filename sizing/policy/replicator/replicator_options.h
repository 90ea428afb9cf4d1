// The keys with which nodes declare their worker pool, as Replicator reads them.
//
// Keys are text (node metadata, labels, annotations) and are read weakly, as Go's mapstructure
// does:
// - bool: "1 t T TRUE true True" and "0 f F FALSE false False"; "" is false; else an error.
// - int: a sign, a prefix (0x, 0o, 0b, a leading 0) that gives the base, digits; "", " 7" and
//   "300.0" are errors.  Any value is accepted; Problems() says which make no sense.
// - A key is found in any letter case where its own spelling is absent.  Others are ignored.
//
// "Required" means that the key is there in its own spelling, whatever its value.  A node without
// one takes the pool's stored configuration instead, entirely.
//
// Units:   seconds.
// Cost:    O(keys of the node).
// Threads: none.
// Source:  Nomad Replicator, client/node_discovery.go.  On purpose otherwise: replicator_min,
//          replicator_max and replicator_scale_factor are read (the program's last version lost
//          the former, and never had the latter), and replicator_cool_down is read where
//          replicator_cooldown is absent.

#ifndef EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_OPTIONS_H_
#define EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ebb {

// One pool's configuration.  Names are those of the keys.
struct ReplicatorOptions {
  // Required keys.
  bool replicator_enabled = false;  // A node that says false is not of the pool.
  std::string replicator_worker_pool = {};
  std::string replicator_region = {};
  std::string replicator_notification_uid = {};
  std::string replicator_provider = {};  // Whose groups: only "aws" is known.

  int64_t replicator_cooldown = 300;            // Seconds after an operation without another.
  int64_t replicator_node_fault_tolerance = 1;  // Nodes' worth of capacity held in reserve.
  int64_t replicator_retry_threshold = 3;       // Failures in a row before failsafe; 0: at once.
  int64_t replicator_scaling_threshold = 3;     // Rounds in a row that must ask; <= 1: the first.
  // Bounds of the pool's node count, beside those of its provider group.  Absent: none.
  std::optional<int64_t> replicator_min = {};
  std::optional<int64_t> replicator_max = {};
  int64_t replicator_scale_factor = 1;  // Nodes added by one scale-out.

  bool operator==(const ReplicatorOptions&) const = default;
};

// What of `options` makes no sense, a sentence each; such a pool is still decided for, but some of
// its decisions can never come.
std::vector<std::string> Problems(const ReplicatorOptions& options);

// The keys whose values differ, by name.
std::vector<std::string> DifferingKeys(const ReplicatorOptions& a, const ReplicatorOptions& b);

using ReplicatorKeys = std::map<std::string, std::string>;  // Key -> text.

// Why a node's keys give no configuration, or why its pool could not be made or warns.
struct ReplicatorProblem {
  enum class Kind : uint8_t {
    kNotConfigured,    // No required key at all: not a node of any pool.
    kMissingKeys,      // Some of them, in `keys`; of the stored configuration if `stored`.
    kNothingStored,    // Some are missing and nothing is stored for `pool`.
    kUndecodable,      // `undecodable` says which.
    kNoProvider,       // replicator_provider is empty.
    kUnknownProvider,  // `provider` is its name.
    kNoRegion,         // replicator_region is empty.
    kNodesDisagree,    // A warning: `nodes` have other values than `node` for `keys`.
  };
  enum class Text : uint8_t { kNotBool, kNotInt, kOutOfRange };
  struct Undecodable {
    std::string key = {};
    std::string text = {};
    Text why;
    bool operator==(const Undecodable&) const = default;
  };

  Kind kind;
  std::string node = {};
  std::string pool = {};
  bool stored = false;
  std::vector<std::string> keys = {};
  std::vector<Undecodable> undecodable = {};  // By key.
  std::string provider = {};
  std::vector<std::string> nodes = {};

  bool operator==(const ReplicatorProblem&) const = default;
};

// `problem` as a sentence that names node, pool and keys.
std::string Describe(const ReplicatorProblem& problem);

// Reads the configuration of `node` from its keys, or from what `stored` holds under the name of
// its pool (pool -> keys; an empty entry counts as none).
std::variant<ReplicatorOptions, ReplicatorProblem> ReadReplicatorKeys(
    std::string_view node, const ReplicatorKeys& keys,
    const std::map<std::string, ReplicatorKeys>& stored);

// strconv.ParseInt(text, 0, 64).
std::variant<int64_t, ReplicatorProblem::Text> ParseGoInt(std::string_view text);

// strconv.ParseBool, and "" is false.
std::optional<bool> ParseWeakBool(std::string_view text);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_OPTIONS_H_
