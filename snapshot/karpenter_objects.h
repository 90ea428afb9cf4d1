// KarpenterObjects: what the NodePools and NodeClaims of Karpenter say about the removal of nodes.
// The texts of a NodePool are kept as they are written: the planner (engine/plan/karpenter.h) and
// the verifier read them with code of their own.
//
// A NodeClaim belongs to the node that its status names; if it names none, to the node with its
// provider ID.
//
// Units:   seconds since the Unix epoch.
// Cost:    one or two hash look-ups per call.
// Threads: const methods may run concurrently; the others need exclusive access.
// Source:  karpenter pkg/apis/v1 (1.14.3).

#ifndef EBB_SNAPSHOT_KARPENTER_OBJECTS_H_
#define EBB_SNAPSHOT_KARPENTER_OBJECTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/ids.h"
#include "snapshot/objects/storage_objects.h"
#include "snapshot/symbols.h"

namespace ebb {

class KarpenterObjects {
 public:
  // As in objects::NodePool.  A NodePool without `budgets` has the one that the API server gives
  // it: 10% of its nodes.
  struct Budget {
    std::optional<std::vector<std::string>> reasons;
    std::string nodes;
    std::optional<std::string> schedule;
    std::optional<std::string> duration;
  };
  struct Requirement {
    std::string key;
    std::string op;
    std::vector<std::string> values;
    std::optional<int64_t> min_values;
  };
  struct PoolTaint {
    std::string key;
    std::string value;
    std::string effect;
    bool is_startup = false;  // Another program takes it from a node that has started.
  };
  struct Pool {
    std::string name;
    bool is_static = false;
    std::string policy;
    std::string consolidate_after;
    std::vector<Budget> budgets;
    std::string not_understood;  // A field that ebb does not know.
    // What decides which nodes may be bought.
    int64_t weight = 0;
    std::map<std::string, int64_t> limits;
    std::map<std::string, int64_t> resources;  // Of its nodes; empty: not known.
    std::map<std::string, std::string> labels;
    std::vector<Requirement> requirements;
    std::vector<PoolTaint> taints;
    std::string not_bought;  // A field of its template that ebb does not know.
  };

  struct Claim {
    std::string name;
    bool has_conditions = false;  // False: Initialized and Consolidatable are not known.
    bool initialized = false;
    bool consolidatable = false;
    bool terminating = false;  // The cloud is deleting the machine (InstanceTerminating).
    // The last time that a pod came, ended or went; else when the node was initialized.
    std::optional<int64_t> last_pod_event;
  };

  // A second object of the same name replaces the first.
  void Put(const objects::NodePool& pool, Symbols& symbols);
  void Put(const objects::NodeClaim& claim, Symbols& symbols);
  // REQUIRES: the same object was put.
  void Remove(const objects::NodePool& pool, Symbols& symbols);
  void Remove(const objects::NodeClaim& claim, Symbols& symbols);

  // Whether the input has any NodePool, any NodeClaim.
  [[nodiscard]] bool HasPools() const { return !pools_.empty(); }
  [[nodiscard]] bool HasClaims() const { return !claims_.empty(); }
  // Null if there is none.
  [[nodiscard]] const Pool* FindPool(std::string_view name) const;
  // The NodeClaim of the node; the first by name if there are several.  Null if there is none, also
  // if the one that names the node has another provider ID.
  [[nodiscard]] const Claim* FindClaim(TextId node_name, TextId provider_id) const;

  // Whether several NodeClaims name the node, or its machine.
  [[nodiscard]] bool HasSeveralClaims(TextId node_name, TextId provider_id) const;

  [[nodiscard]] const std::map<std::string, Pool, std::less<>>& pools() const { return pools_; }
  // Visits (claim, node name, provider ID) of each NodeClaim, by name.
  template <typename Visit>
  void ForEachClaim(Visit&& visit) const {
    for (const auto& [name, kept] : claims_) visit(kept.claim, kept.node_name, kept.provider_id);
  }

 private:
  struct KeptClaim {
    Claim claim;
    TextId node_name = kNoText;
    TextId provider_id = kNoText;
  };
  using Names = absl::flat_hash_map<TextId, std::vector<std::string>>;  // Names are sorted.

  [[nodiscard]] const KeptClaim* FirstIn(const Names& names, TextId key) const;
  // Where the claim is listed; null if it names neither a node nor a machine.
  std::vector<std::string>* ListOf(const KeptClaim& kept);
  void Unlist(std::string_view name);

  std::map<std::string, Pool, std::less<>> pools_;
  std::map<std::string, KeptClaim, std::less<>> claims_;
  Names by_node_;
  Names by_provider_id_;  // Claims that name no node.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_KARPENTER_OBJECTS_H_
