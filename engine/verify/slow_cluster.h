// SlowCluster: the nodes and where every pod is, as plain lists, and the scheduler's filters
// evaluated over these lists.
//
// The verifier uses it.  It reads definitions (names, labels, requests, selectors) from the Catalog
// and the places of pods from the snapshot it is made from, and nothing else: no column, counter,
// bit set or filter of predicates/. So a mistake in those cannot hide here.  Storage is the
// exception: a pod with claims is also judged by Explain (filters.h), which evaluates all filters
// on a separate ClusterSnapshot.
//
// WhyNot tallies what it needs on first use by walking the pods, and updates the tallies as pods
// are added and removed: what the pods of a node take, and how many pods of a topology term are in
// each domain.  The tallies are simple counts of this class.
//
// Cost:      WhyNot is O(requests + ports + topology terms) if an earlier call has used the node,
//            the terms and their inclusion policies (nodeAffinityPolicy, nodeTaintsPolicy).  The
//            first use of a node adds O(pods of the node).  The first use of a term adds O(shapes
//            that may match + their pods).
//            Add and Remove are O(requests + tallied terms that count the pod).
//            Memory O(nodes + pods + matches).
// Threads:   one at a time: WhyNot updates its tallies.
// Ownership: borrows the catalog, which must outlive it.
// Source:    kubernetes 1.36 and 1.37 pkg/scheduler/framework/plugins.

#ifndef EBB_ENGINE_VERIFY_SLOW_CLUSTER_H_
#define EBB_ENGINE_VERIFY_SLOW_CLUSTER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/verify/slow_matches.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class SlowCluster {
 public:
  // REQUIRES: no fork of `snapshot` is open.
  SlowCluster(const ClusterSnapshot& snapshot, int64_t now_s);

  [[nodiscard]] bool Contains(NodeId node) const { return alive_[Index(node)]; }
  [[nodiscard]] const std::vector<PodId>& PodsOn(NodeId node) const {
    return pods_on_[Index(node)];
  }
  // kNoNode: not placed.
  [[nodiscard]] NodeId NodeOf(PodId pod) const { return node_of_[Index(pod)]; }

  // REQUIRES: the pod is not placed.
  void Add(PodId pod, NodeId node);
  // Takes all pods off `node` and taints it as in deletion.
  void BeginRemoval(NodeId node);
  // Removes the node of BeginRemoval.
  void EndRemoval();

  // Which devices the claims hold; null: no pod has any.
  [[nodiscard]] const DeviceState* devices() const {
    return storage_ ? &storage_->devices() : nullptr;
  }

  // Which pods a selector matches; also used for PodDisruptionBudgets.
  [[nodiscard]] SlowMatches& matches() { return matches_; }

  // Why `pod`, which is not placed, may not run on `node`: "NodeResourcesFit: Insufficient cpu".
  // Empty: it may run there.
  [[nodiscard]] std::string WhyNot(PodId pod, NodeId node);
  // Whether the pod, which has a constraint that is not understood, might run on the node, judging
  // by its static constraints and its requests.  False for a pod with storage: this class cannot
  // tell which nodes its claims allow.
  [[nodiscard]] bool MayRunAsFarAsUnderstood(PodId pod, NodeId node);

  // --- The parts of WhyNot -----------------------------------------------------
  // For a caller that keeps the cluster while pods come and go, and repeats only what may have
  // changed (certified_plan.h).  Such a caller does not use Add, BeginRemoval and EndRemoval, and
  // judges no pods with storage.

  [[nodiscard]] bool UsesStorage(PodId pod) const {
    return needs_[Index(catalog_->shape_id(pod))].storage;
  }
  // The checks that depend only on the pod's shape and the node.
  [[nodiscard]] std::string WhyNotByNode(PodId pod, NodeId node) const;
  // Why one of `pods` finds no room if they come to the node in this order.  Empty: all have room.
  // Cost: O(pods).
  [[nodiscard]] std::string WhyNotByRoom(std::span<const PodId> pods, NodeId node);
  // What several pods take together.
  struct Sum {
    std::array<__int128, kFixedResources> taken{};
    size_t pods = 0;
    // How many of them are not plain.  A plain pod is charged what it requests, and requests
    // only fixed resources.
    size_t not_plain = 0;
  };
  // Adds a pod of the shape to the sum (+1), or subtracts it (-1).
  void AddTo(Sum& sum, PodShapeId shape, int sign) const;
  // Whether pods with this sum find room on the node, in any order.  If they do not, then in no
  // order.  REQUIRES: all of them are plain.
  [[nodiscard]] bool HasRoomFor(const Sum& sum, NodeId node);
  // Whether it matters to the pod which pods are on which nodes: spreading and affinity.
  [[nodiscard]] bool DependsOnOthers(PodId pod);
  // Fills the tallies that WhyNotByOthers reads.  Cost: as the first use of its terms.
  void TallyFor(PodId pod);
  // The checks of spreading and affinity, by the counts.  REQUIRES: TallyFor(pod).
  [[nodiscard]] std::string_view WhyNotByOthers(PodId pod, NodeId node);

  // Change only the counts, as if pods were added and a node were removed.  Every change must be
  // undone in reverse order before SetPods and Follow.
  void CountPod(PodId pod, NodeId node, int sign) { Count(catalog_->shape_id(pod), node, sign); }
  // The node whose pods find new places now; kNoNode: none.
  void SetRemoving(NodeId node) { removing_ = node; }
  void LeaveDomains(NodeId node);
  void RejoinDomains(NodeId node);

  // Continues with a later version of the catalog (Catalog::lineage): it may have more pods and
  // shapes; ids of pods may have passed to other pods.  The nodes, tables and budgets are the same.
  // The caller then calls SetPods for each node with other pods.
  // Cost: O(new shapes * tables).
  void Follow(const Catalog& catalog, int64_t now_s);
  // Replaces the pods of the node.  `were` are the shapes that its present pods had when they came.
  void SetPods(NodeId node, std::span<const PodShapeId> were, std::span<const PodId> pods);

 private:
  // The nodes by the value of one topology key: each value is a domain.
  struct Domains {
    std::vector<uint32_t> of;  // By NodeId: the domain; kNone: the node lacks the key.
    size_t count = 0;
  };
  static constexpr uint32_t kNone = 0xffffffff;

  // The nodes that a registry takes into account.
  struct Eligible {
    std::vector<bool> nodes;        // By NodeId, whether or not the node is still in the cluster.
    std::vector<uint32_t> present;  // By domain: how many of its nodes are in the cluster.
    size_t domains = 0;             // Domains with at least one such node.
    std::vector<TableId> tallied;   // Tables of this registry that have a tally.
  };

  // How many pods of a table's shapes are in each domain.
  struct Tally {
    absl::flat_hash_map<uint32_t, int64_t> by_domain;  // Other domains have none.
    int64_t anywhere = 0;
    // kSpread: by number of pods, how many of the present domains have that many.
    std::map<int64_t, int64_t> domains_with;

    [[nodiscard]] int64_t In(uint32_t domain) const {
      const auto it = by_domain.find(domain);
      return it == by_domain.end() ? 0 : it->second;
    }
    void ChangeDomains(int64_t pods, int64_t by) {
      int64_t& with = domains_with[pods];
      with += by;
      if (with == 0) domains_with.erase(pods);
    }
  };

  // The fixed resources that pods of a shape request (fit) and are charged (charge), and which
  // checks the pods need.
  struct Needs {
    std::array<int64_t, kFixedResources> fit{};
    std::array<int64_t, kFixedResources> charge{};
    bool rare = false;   // Requests other resources or host ports.
    bool plain = false;  // As in Sum.
    // Has a node selector, node affinity or required features, so that not every open node will do.
    bool selective = false;
    bool storage = false;
    bool spread = false;
    bool terms = false;  // Has affinity or anti-affinity terms.
  };

  // What is left of a node beside its pods.
  struct Load {
    std::array<__int128, kFixedResources> left{};  // Of the fixed resources.
    int64_t slots = 0;                             // How many pods the node may run.
    struct Rare {
      absl::flat_hash_map<ResourceId, __int128> taken;  // Of other resources.
      // IPs by port and protocol.
      absl::flat_hash_map<std::pair<int32_t, TextId>, absl::flat_hash_set<TextId>> ports;
    };
    std::unique_ptr<Rare> rare;  // Null: no such pod.
  };

  [[nodiscard]] std::string_view Text(TextId id) const { return catalog_->Text(id); }

  [[nodiscard]] bool Tolerates(const Constraints& constraints, std::string_view key,
                               std::string_view value, std::string_view effect) const;
  [[nodiscard]] bool KeepsPodsAway(const Taint& taint) const;
  [[nodiscard]] bool ToleratesTaintsOf(const Constraints& constraints, NodeId node) const;
  [[nodiscard]] Needs NeedsOf(const PodShape& shape) const;
  [[nodiscard]] bool IsOpen(const NodeInfo& info) const;
  [[nodiscard]] bool IsAffine(const Constraints& constraints, const NodeInfo& info) const;
  [[nodiscard]] bool AnyHolds(const std::vector<NodeSelectorTerm>& terms,
                              const NodeInfo& info) const;

  [[nodiscard]] std::string_view WhyNotStatically(const PodShape& shape, NodeId node) const;
  [[nodiscard]] std::string WhyNotForLoad(const PodShape& shape, PodShapeId id, NodeId node);
  [[nodiscard]] std::string WhyNotForRareLoad(const PodShape& shape, NodeId node,
                                              const Load& load) const;
  [[nodiscard]] std::string WhyNotForLoad(const PodShape& shape, PodShapeId id, NodeId node,
                                          size_t pods, const Load& load) const;
  [[nodiscard]] std::string_view WhyNotForSpread(const PodShape& shape, NodeId node);
  [[nodiscard]] std::string_view WhyNotForNeighbours(const PodShape& shape, PodShapeId id,
                                                     NodeId node);
  [[nodiscard]] std::string WhyNotForStorage(const PodShape& shape, NodeId node) const;
  // Whether some claim of the pod is missing or not allocated.
  [[nodiscard]] bool UsesUnknownDevices(PodId pod) const;
  [[nodiscard]] bool MayTakeUnknownDevices(const PodShape& shape, NodeId node) const;

  const Domains& DomainsOf(TopologyKeyId key);
  Eligible& EligibleFor(RegistryId registry);
  [[nodiscard]] bool SkipsTainted(RegistryId registry) const;
  [[nodiscard]] bool MatchesItself(const PodShape& shape) const;
  void FindRepelling();
  const std::vector<TableId>& RepelledBy(PodShapeId shape);
  // All pods of the shape, placed or not.
  const std::vector<PodId>& PodsOf(PodShapeId shape);
  std::vector<PodShapeId> ShapesOf(TableId table);
  const Tally& TallyOf(TableId table);
  // Updates the tallies for a pod that comes to `node` (+1) or leaves it (-1).
  void Count(PodShapeId shape, NodeId node, int sign);
  [[nodiscard]] bool Counts(TableId table, PodShapeId shape) const;
  void LearnShape(PodShapeId shape);
  void CountIn(TableId table, NodeId node, int sign);
  Load& LoadOf(NodeId node);
  void Charge(PodId pod, NodeId node, Load& load) const;

  const Catalog* catalog_;
  int64_t now_s_;
  const bool matches_os_;
  SlowMatches matches_;
  std::vector<bool> alive_;                  // By NodeId.
  std::vector<std::vector<PodId>> pods_on_;  // By NodeId.
  std::vector<NodeId> node_of_;              // By PodId.
  std::vector<Needs> needs_;                 // By PodShapeId.
  std::vector<bool> open_;  // By NodeId: schedulable, and without a taint that keeps pods away.
  NodeId removing_ = kNoNode;
  std::optional<ClusterSnapshot> storage_;  // Only if pods use claims: for the storage filters.
  std::vector<NodeId> unknown_devices_;     // Nodes whose pods use devices that are not known.

  // Filled on first use.
  std::vector<std::vector<PodId>> of_shape_;       // By PodShapeId.
  std::vector<std::optional<Load>> loads_;         // By NodeId.
  std::vector<std::optional<Domains>> domains_;    // By TopologyKeyId.
  std::vector<std::optional<Eligible>> eligible_;  // By RegistryId.
  std::vector<std::optional<Tally>> tallies_;      // By TableId.
  std::vector<std::vector<TableId>> tallied_in_;   // By PodShapeId: the tallies that count it.
  // For kExistingAnti; filled all at once.
  std::vector<std::vector<PodShapeId>> having_;    // By TableId: shapes with the term.
  std::vector<std::vector<TableId>> repelled_by_;  // By PodShapeId.
};

}  // namespace ebb

#endif  // EBB_ENGINE_VERIFY_SLOW_CLUSTER_H_
