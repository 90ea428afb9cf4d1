// The keys by which nodes declare their worker pool, as Replicator reads them.
//
// Keys are text (node metadata, labels, annotations), parsed as Go's mapstructure does with weak
// types:
// - bool: "1 t T TRUE true True" and "0 f F FALSE false False"; "" is false; anything else is an
//   error.
// - int: a sign, a prefix that gives the base (0x, 0o, 0b, a leading 0), digits; "", " 7" and
//   "300.0" are errors.  Any value is accepted; Problems() reports values that make no sense.
// - If a key is absent in its own spelling, it is also found in any other letter case.  Unknown
//   keys are ignored.
//
// A required key must be present in its own spelling, with any value.  If one is absent, the node's
// keys are ignored, and the pool's stored configuration is used instead.
//
// Units:   seconds.
// Cost:    O(keys of the node).
// Threads: none.
// Source:  Nomad Replicator, client/node_discovery.go.  On purpose otherwise: replicator_min,
//          replicator_max and replicator_scale_factor are read (the program's last version has lost
//          the first two, and never had the third), and replicator_cool_down is read if
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

// The configuration of one pool.  Each field is named after its key.
struct ReplicatorOptions {
  // Required keys.
  bool replicator_enabled = false;  // A node that says false leaves the pool.
  std::string replicator_worker_pool = {};
  std::string replicator_region = {};
  std::string replicator_notification_uid = {};
  std::string replicator_provider = {};  // The provider of the groups; only "aws" is known.

  int64_t replicator_cooldown = 300;            // Seconds without another operation after one.
  int64_t replicator_node_fault_tolerance = 1;  // Reserve: capacity for this many nodes.
  int64_t replicator_retry_threshold = 3;       // Failures in a row before failsafe; 0: at once.
  int64_t replicator_scaling_threshold = 3;  // Rounds in a row that must ask; <= 1: a single round.
  // Bounds of the pool's node count, in addition to the provider group's.  Absent: no bound.
  std::optional<int64_t> replicator_min = {};
  std::optional<int64_t> replicator_max = {};
  int64_t replicator_scale_factor = 1;  // Nodes added by one scale-out.

  bool operator==(const ReplicatorOptions&) const = default;
};

// The options that make no sense, a sentence each.  Decide accepts such options, but some of its
// decisions then never occur.
std::vector<std::string> Problems(const ReplicatorOptions& options);

// The keys whose values differ, sorted.
std::vector<std::string> DifferingKeys(const ReplicatorOptions& a, const ReplicatorOptions& b);

using ReplicatorKeys = std::map<std::string, std::string>;  // Key -> text.

// Why a node's keys give no configuration, why its pool could not be made, or a warning.
struct ReplicatorProblem {
  enum class Kind : uint8_t {
    kNotConfigured,    // The node has no required key: it belongs to no pool.
    kMissingKeys,      // The keys in `keys` are missing; if `stored`, in what is stored.
    kNothingStored,    // Required keys are missing, and nothing is stored for `pool`.
    kUndecodable,      // The values in `undecodable` cannot be parsed.
    kNoProvider,       // replicator_provider is empty.
    kUnknownProvider,  // `provider` is not a known provider.
    kNoRegion,         // replicator_region is empty.
    kNodesDisagree,  // A warning: `nodes` have values for `keys` that differ from those of `node`.
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
  std::vector<Undecodable> undecodable = {};  // Sorted by key.
  std::string provider = {};
  std::vector<std::string> nodes = {};

  bool operator==(const ReplicatorProblem&) const = default;
};

// `problem` as a sentence that names the node, the pool and the keys.
std::string Describe(const ReplicatorProblem& problem);

// Reads the configuration of `node` from its keys, or else from the entry of `stored` for its pool
// (pool -> keys; an empty entry counts as absent).
std::variant<ReplicatorOptions, ReplicatorProblem> ReadReplicatorKeys(
    std::string_view node, const ReplicatorKeys& keys,
    const std::map<std::string, ReplicatorKeys>& stored);

// As Go's strconv.ParseInt(text, 0, 64).
std::variant<int64_t, ReplicatorProblem::Text> ParseGoInt(std::string_view text);

// As Go's strconv.ParseBool, except that "" is false.
std::optional<bool> ParseWeakBool(std::string_view text);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_OPTIONS_H_
