// SnapshotTwin does what ClusterSnapshot does, slowly and obviously.  Its state is a std::map from
// node to pods; a fork pushes a copy of the whole map; every figure is counted from the objects
// again whenever a test reads it.
//
// It shares with the snapshot only the objects that the cluster was made from.  Its own code
// compares labels, selectors, tolerations and namespaces as text.  Nodes and pods are numbered in
// the order in which they were added, which is the order of NodeId and PodId.
//
// It understands only pods of one container, without init containers or status, with nodeSelector
// and with required node affinity that uses In, NotIn, Exists and DoesNotExist.

#ifndef EBB_TESTS_SUPPORT_CLUSTER_SNAPSHOT_TWIN_H_
#define EBB_TESTS_SUPPORT_CLUSTER_SNAPSHOT_TWIN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/objects.h"

namespace ebb::test {

struct TwinObjects {
  std::vector<objects::Node> nodes;
  std::vector<objects::Pod> pods;
  std::vector<objects::Namespace> namespaces;
};

class SnapshotTwin {
 public:
  // At first all nodes exist, and every pod is where its nodeName says.
  explicit SnapshotTwin(std::shared_ptr<const TwinObjects> objects);

  // The same operations as ClusterSnapshot has.
  void AddPod(int pod, int node);
  void RemovePod(int pod);
  void MovePod(int pod, int node);
  void RemoveNode(int node);
  void AddNode(int node);
  void SetGhost(int node);
  void ClearGhost();
  void Fork();
  void Revert();
  void Commit();

  [[nodiscard]] size_t depth() const { return below_.size(); }
  [[nodiscard]] bool Contains(int node) const { return now_.pods_on.contains(node); }
  [[nodiscard]] bool IsEmpty(int node) const { return now_.pods_on.at(node).empty(); }
  [[nodiscard]] int ghost() const { return now_.ghost; }  // -1: no node is the ghost.
  [[nodiscard]] int NodeOf(int pod) const;                // -1: not placed.

  // Returns the first difference, or "".  CompareDigest compares totals, one node and one pod.
  [[nodiscard]] std::string Compare(const ClusterSnapshot& snapshot) const;
  [[nodiscard]] std::string CompareDigest(const ClusterSnapshot& snapshot, int node, int pod) const;

 private:
  struct State {
    std::map<int, std::vector<int>> pods_on;  // Only nodes that exist.
    int ghost = -1;
  };

  [[nodiscard]] std::string CompareNode(const ClusterSnapshot& snapshot, int node) const;
  [[nodiscard]] std::string CompareSpread(const ClusterSnapshot& snapshot, int pod) const;
  [[nodiscard]] std::string CompareAffinity(const ClusterSnapshot& snapshot, int pod) const;
  [[nodiscard]] std::string CompareRepulsion(const ClusterSnapshot& snapshot, int pod) const;
  [[nodiscard]] std::string CompareClaims(const ClusterSnapshot& snapshot) const;

  [[nodiscard]] int64_t FreeOf(int node, std::string_view resource) const;
  // How many placed pods `counts` accepts, by the value of `key` on their node.
  template <typename Counts>
  [[nodiscard]] std::map<std::string_view, uint32_t> CountByDomain(std::string_view key,
                                                                   Counts&& counts) const;
  [[nodiscard]] bool IsEligible(const objects::Pod& pod,
                                const objects::TopologySpreadConstraint& constraint,
                                int node) const;
  // Whether `term` of a pod in `owner_namespace` selects `pod`.  The term of an incoming pod
  // selects only namespaces that exist; the term of a placed pod selects any namespace that the
  // other pod is in.
  enum class TermOf { kIncoming, kPlaced };
  [[nodiscard]] bool TermMeans(const objects::PodAffinityTerm& term, TermOf whose,
                               std::string_view owner_namespace, const objects::Pod& pod) const;

  std::shared_ptr<const TwinObjects> objects_;
  State now_;
  std::vector<State> below_;  // One for each open fork.
};

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_CLUSTER_SNAPSHOT_TWIN_H_
