#include "engine/verify/certified_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "engine/plan/check_input.h"
#include "engine/verify/plan_rules.h"
#include "engine/verify/slow_cluster.h"
#include "snapshot/devices.h"

// How a check goes.
//
//   Covers     is the change of a kind that certificates cover?
//   Follow     which rows have changed?  Their pods replace those of the kept SlowCluster, which
//              is always the cluster before the plan.
//   Release    certificates that do not hold are dropped.  The lists of the pods that come to each
//              node (arrivals) become those of the plan: only moves that differ change a list
//   CheckAgain removals without certificates, in the order of the plan, so that each sees the pods
//              that earlier removals put on its node
//   CheckPlaces, CheckRoom, ReplayTopology, ReplayBudgets: what depends on several removals
//
// Why Release and CheckAgain are right: a certificate depends on the row of its node, on the pods
// that come to its node, on its moves and on facts that are the same for all checks that are
// covered.  Rows that differ from the kept ones, and rows with a pod that the catalog's log names,
// have the version of this check.  So do lists of arrivals that gained or lost a pod.
// Both are compared with the certificate's number.  A pod's id may pass to another pod, but not
// without an entry in the log; a move of such a pod is another move.  A list may contain pods of
// removals that come after that of its node.  CheckRemoval passes over them, and CheckPlaces then
// refuses the plan.
//
// Room: a destination loses no pod before it is removed.  A *plain* pod is charged what it
// requests, and nothing else.  If all arrivals are plain, their order does not matter.  Let the
// last of them that requests a resource find enough of it; then all had enough, since before it
// less was charged.  It finds enough if the sum of all leaves nothing negative.  So Update keeps
// the sums, and a changed node costs one comparison.  If some arrival is not plain, all are charged
// one after the other, in the order of the plan.  That is repeated if a removal that was checked
// again puts any pod there, because its moves may have another order.

namespace ebb {
namespace {

constexpr std::array<std::string_view, kNotCoveredCauses> kCauses = {
    "nothingCertified", "otherCatalog", "manyChanges",   "time",        "nodes", "budgets",
    "topology",         "storage",      "workloadShare", "pendingPods", "gangs", "karpenter"};

constexpr uint32_t kNotRemoved = ~uint32_t{0};

// A digest of 64 bits.  Two unequal sequences have the same digest once in 2^64 times.
class Digest {
 public:
  void Add(uint64_t value) {
    // The constants of SplitMix64.
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL;
    hash_ = (hash_ ^ (hash_ >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash_ ^= hash_ >> 27;
  }
  void Add(TextId text) { Add(uint64_t{Index(text)}); }
  void Add(const std::vector<ResourceQuantity>& amounts) {
    Add(amounts.size());
    for (const auto& [resource, amount] : amounts) {
      Add(uint64_t{Index(resource)});
      Add(static_cast<uint64_t>(amount));
    }
  }
  [[nodiscard]] uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 1;
};

// Everything about a node that the verifier reads, apart from its pods.  The structured binding
// names every member of NodeInfo: when a member is added, this does not compile until the member is
// handled here.
uint64_t DigestOf(const Catalog& catalog, NodeId id) {
  const auto& [name, uid, shape, labels, taints, declared_features, allocatable, capacity, images,
               provider_id, os, architecture, version, creation_time, unschedulable, ready,
               kubelet_ready, scale_down_disabled, upcoming, do_not_disrupt, do_not_consolidate,
               leaving, setup, to_be_deleted, deletion_candidate] = catalog.node(id);
  Digest digest;
  for (const TextId text : {name, uid, provider_id, os}) digest.Add(text);
  digest.Add(labels.size());
  for (const Label& label : labels) {
    digest.Add(label.key);
    digest.Add(label.value);
  }
  digest.Add(taints.size());
  for (const Taint& taint : taints) {
    for (const TextId text : {taint.key, taint.value, taint.effect_text}) digest.Add(text);
  }
  digest.Add(declared_features.size());
  for (const TextId feature : declared_features) digest.Add(feature);
  digest.Add(allocatable);
  digest.Add(capacity);
  digest.Add(static_cast<uint64_t>(creation_time));
  const bool dies = catalog.storage().dying_machines().Of(name, provider_id) != nullptr;
  for (const bool flag :
       {unschedulable, ready, kubelet_ready, scale_down_disabled, do_not_disrupt, dies}) {
    digest.Add(flag ? 1 : 0);
  }
  digest.Add(static_cast<uint64_t>(leaving));
  digest.Add(static_cast<uint64_t>(setup));
  digest.Add(to_be_deleted ? 1 : 0);
  digest.Add(static_cast<uint64_t>(to_be_deleted.value_or(0)));
  return digest.value();
}

// The part of a budget that decides which pods it matches.
struct BudgetKey {
  TextId namespace_name;
  TextId name;
  Selector selector;
};

// As std::ranges::equal, many pods at a time.
bool AreEqual(std::span<const PodId> one, std::span<const PodId> other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size_bytes()) == 0);
}

}  // namespace

std::string_view ToString(NotCovered cause) { return kCauses[static_cast<size_t>(cause)]; }

class PlanCertificates::Checker {
 public:
  Checker(const ClusterSnapshot& snapshot, const NodeGroups& groups, const PlannerOptions& options,
          const PassInput& input);
  Checker(const Checker&) = delete;  // The rules refer to its members.
  Checker& operator=(const Checker&) = delete;

  // Set: a change that certificates do not cover.
  std::optional<NotCovered> Covers(const ClusterSnapshot& snapshot, const PassInput& input);
  // Takes over what has changed.
  absl::Status Follow(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                      const PlannerOptions& options, const PassInput& input);
  absl::StatusOr<CertifiedPart> Run(const Plan& plan);

 private:
  struct Row {
    std::vector<PodShapeId> shapes;  // Parallel to the pods of cluster_.
    uint64_t changed_at = 0;
  };
  // A pod that the plan puts on a node.
  struct Arrival {
    NodeId from;  // kNoNode: it is pending.
    PodId pod;
    PodShapeId shape;  // The pod's shape when it was added.
  };
  struct Arrivals {
    std::vector<Arrival> pods;  // In no order.
    SlowCluster::Sum sum;       // What they take together.
    uint64_t changed_at = 0;
  };
  struct Charge {
    PdbId pdb;
    int32_t pods;
  };
  struct Certificate {
    uint64_t checked_at = 0;      // 0: there is no certificate.
    size_t position = 0;          // In the plan of the last check.
    RemovableNode removal;        // Its moves are those that the arrivals contain.
    std::vector<PdbId> needs;     // Each must have 1 disruption left.
    std::vector<Charge> charges;  // What the moves take from budgets.
    bool terminating = false;     // A pod of the node is being deleted.
    bool unalike = false;         // The rules read more of a pod of the node than its shape.
    bool depends = false;         // A pod moves that depends on others (DependsOnOthers).
  };

  // --- What a check has compared
  [[nodiscard]] bool SameFacts(const Catalog& catalog, std::optional<NotCovered>& cause) const;
  void KeepFacts(const Catalog& catalog);
  void MarkLogged(const ClusterSnapshot& snapshot);
  void FollowRow(const ClusterSnapshot& snapshot, NodeId node);

  // --- One plan
  Certificate& CertificateOf(NodeId node) { return certificates_[Index(node)]; }
  [[nodiscard]] bool IsSame(const Certificate& held, const RemovableNode& removal) const;
  void Place(const Plan& plan);
  void ReleaseStale(const Plan& plan);
  void Release(Certificate& certificate, const RemovableNode& removal);
  void Update(NodeId from, std::span<const Move> before, std::span<const Move> now);
  void Erase(NodeId from, const Move& move);
  void Add(NodeId from, const Move& move);
  absl::Status CheckPacking(const Plan& plan);
  absl::Status CheckMove(PodId pod, NodeId to);
  absl::Status CheckRemoval(const RemovableNode& removal, size_t position);
  void NotePods(std::span<const PodId> pods, Certificate& certificate);
  void NoteCharges(Certificate& certificate);
  absl::Status CheckPlaces() const;
  absl::Status CheckRoom(CertifiedPart& part);
  [[nodiscard]] bool HasRoom(NodeId node, std::string& why);
  [[nodiscard]] size_t PositionOf(const Arrival& arrival) const;

  absl::Status ReplayTopology(const Plan& plan, CertifiedPart& part);
  absl::Status CountMoves(std::span<const Move> moves);
  void UndoMoves(std::span<const Move> moves);
  void CountPodsOf(NodeId node, int sign);
  absl::Status ReplayBudgets(const Plan& plan);

  // --- What does not change while certificates hold
  uint64_t lineage_;
  bool matches_os_;
  NodeGroups groups_;
  PlannerOptions options_;
  std::vector<uint64_t> digests_;  // By NodeId.
  std::vector<BudgetKey> budgets_;
  size_t tables_ = 0;
  size_t registries_ = 0;
  size_t keys_ = 0;

  // --- The last check
  uint64_t check_ = 0;  // Its number.
  uint64_t revision_ = 0;
  uint64_t device_changes_ = 0;
  uint64_t pods_seen_ = 0;   // The end of the log of pods.
  uint64_t nodes_seen_ = 0;  // The end of the log of nodes.
  size_t shapes_ = 0;        // How many shapes the catalog had.
  int64_t now_s_ = 0;
  bool time_moved_ = false;                // The time is another than that of the check before.
  bool all_again_ = false;                 // No certificate holds.
  bool unalike_again_ = false;             // Certificates that are `unalike` do not hold.
  std::vector<bool> judged_differently_;   // By PodShapeId; empty: none.
  std::optional<NotCovered> not_covered_;  // Met while a removal was checked.
  const PassInput* input_ = nullptr;       // During a check.
  const Catalog* catalog_ = nullptr;       // During a check.

  SlowCluster cluster_;  // Before the plan.
  PlanRules rules_;
  std::vector<Row> rows_;                  // By NodeId.
  std::vector<Arrivals> arrivals_;         // By NodeId.
  std::vector<Certificate> certificates_;  // By NodeId.
  std::vector<uint32_t> position_;         // By NodeId: in the plan; or kNotRemoved.
  std::vector<uint64_t> logged_at_;        // By PodId: the last check for which the log named it.
  std::vector<NodeId> comes_to_;           // By PodId; kNoNode outside Update.
  std::vector<Move> late_;                 // Reused by Update.
  std::vector<Move> packed_;
  std::vector<NodeId> removed_;  // The nodes of the last plan.
  std::vector<PodId> pods_;      // For CheckRemoval.
};

// --- The cluster -----------------------------------------------------------------------

PlanCertificates::Checker::Checker(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                   const PlannerOptions& options, const PassInput& input)
    : lineage_(snapshot.catalog().lineage()),
      matches_os_(snapshot.matches_os()),
      groups_(groups),
      options_(options),
      check_(1),
      revision_(snapshot.catalog().revision()),
      device_changes_(snapshot.catalog().devices().changes()),
      pods_seen_(snapshot.catalog().pod_changes().end()),
      nodes_seen_(snapshot.catalog().node_changes().end()),
      shapes_(snapshot.catalog().pod_shapes()),
      now_s_(input.now_s),
      input_(&input),
      catalog_(&snapshot.catalog()),
      cluster_(snapshot, input.now_s),
      rules_(snapshot.catalog(), groups_, options_, input, cluster_.matches()),
      rows_(catalog_->nodes()),
      arrivals_(catalog_->nodes()),
      certificates_(catalog_->nodes()),
      position_(catalog_->nodes(), kNotRemoved),
      logged_at_(catalog_->pods()),
      comes_to_(catalog_->pods(), kNoNode) {
  cluster_.Follow(*catalog_, now_s_);  // Drops what only Add and BeginRemoval need.
  KeepFacts(*catalog_);
  for (uint32_t n = 0; n < rows_.size(); ++n) {
    for (const PodId pod : cluster_.PodsOn(NodeId{n})) {
      rows_[n].shapes.push_back(catalog_->shape_id(pod));
    }
  }
}

void PlanCertificates::Checker::KeepFacts(const Catalog& catalog) {
  digests_.clear();
  for (uint32_t n = 0; n < catalog.nodes(); ++n) digests_.push_back(DigestOf(catalog, NodeId{n}));
  budgets_.clear();
  for (const Pdb& pdb : catalog.pdbs()) {
    budgets_.push_back({pdb.namespace_name, pdb.name, pdb.selector});
  }
  tables_ = catalog.tables().size();
  registries_ = catalog.registries().size();
  keys_ = catalog.topology_keys().size();
}

bool PlanCertificates::Checker::SameFacts(const Catalog& catalog,
                                          std::optional<NotCovered>& cause) const {
  if (catalog.devices().changes() != device_changes_) {
    cause = NotCovered::kStorage;  // What nodes offer and what pods hold is not kept here.
    return false;
  }
  if (catalog.tables().size() != tables_ || catalog.registries().size() != registries_ ||
      catalog.topology_keys().size() != keys_) {
    cause = NotCovered::kTopology;
    return false;
  }
  const bool same_budgets =
      std::ranges::equal(catalog.pdbs(), budgets_, [](const Pdb& pdb, const BudgetKey& key) {
        return pdb.namespace_name == key.namespace_name && pdb.name == key.name &&
               pdb.selector == key.selector;
      });
  if (!same_budgets) {
    cause = NotCovered::kBudgets;
    return false;
  }
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    if (DigestOf(catalog, NodeId{n}) == digests_[n]) continue;
    cause = NotCovered::kNodes;
    return false;
  }
  return true;
}

std::optional<NotCovered> PlanCertificates::Checker::Covers(const ClusterSnapshot& snapshot,
                                                            const PassInput& input) {
  const Catalog& catalog = snapshot.catalog();
  if (catalog.lineage() != lineage_ || snapshot.matches_os() != matches_os_) {
    return NotCovered::kOtherCatalog;
  }
  if (catalog.pod_changes().forgotten > pods_seen_) return NotCovered::kManyChanges;
  // A branch may be older than the one of the last check.
  if (catalog.pod_changes().end() < pods_seen_ || catalog.revision() < revision_ ||
      catalog.pod_shapes() < shapes_) {
    return NotCovered::kTime;
  }
  if (input.now_s < now_s_) return NotCovered::kTime;
  if (catalog.node_changes().end() != nodes_seen_ || catalog.nodes() != rows_.size()) {
    return NotCovered::kNodes;
  }
  for (uint32_t n = 0; n < rows_.size(); ++n) {
    if (snapshot.Contains(NodeId{n}) != cluster_.Contains(NodeId{n})) return NotCovered::kNodes;
  }
  std::optional<NotCovered> cause;
  if (catalog.revision() != revision_ && !SameFacts(catalog, cause)) return cause;
  return std::nullopt;
}

absl::Status PlanCertificates::Checker::Follow(const ClusterSnapshot& snapshot,
                                               const NodeGroups& groups,
                                               const PlannerOptions& options,
                                               const PassInput& input) {
  ++check_;
  catalog_ = &snapshot.catalog();
  input_ = &input;
  time_moved_ = input.now_s != now_s_;
  now_s_ = input.now_s;
  all_again_ = groups != groups_ || options != options_;
  if (all_again_) {
    if (absl::Status s = CheckGroups(*catalog_, groups); !s.ok()) return s;
    groups_ = groups;
    options_ = options;
  }
  cluster_.Follow(*catalog_, now_s_);
  rules_.Renew(*catalog_, groups_, options_, input);
  unalike_again_ = catalog_->revision() != revision_;
  judged_differently_.clear();
  if (unalike_again_ || all_again_) judged_differently_ = rules_.JudgeShapesAgain();
  revision_ = catalog_->revision();
  shapes_ = catalog_->pod_shapes();
  if (std::ranges::none_of(judged_differently_, [](bool differs) { return differs; })) {
    judged_differently_.clear();
  }
  MarkLogged(snapshot);
  for (uint32_t n = 0; n < rows_.size(); ++n) FollowRow(snapshot, NodeId{n});
  return absl::OkStatus();
}

// Gives the rows of all pods in the log the number of this check.
void PlanCertificates::Checker::MarkLogged(const ClusterSnapshot& snapshot) {
  logged_at_.resize(catalog_->pods());
  comes_to_.resize(catalog_->pods(), kNoNode);
  const PodChangeLog& log = catalog_->pod_changes();
  for (uint64_t c = pods_seen_ - log.forgotten; c < log.changes.size(); ++c) {
    const PodId pod = log.changes[c].id;
    logged_at_[Index(pod)] = check_;
    const NodeId node = snapshot.NodeOf(pod);
    if (node != kNoNode) rows_[Index(node)].changed_at = check_;
  }
  pods_seen_ = log.end();
}

void PlanCertificates::Checker::FollowRow(const ClusterSnapshot& snapshot, NodeId node) {
  if (!snapshot.Contains(node)) return;
  Row& row = rows_[Index(node)];
  const std::span<const PodId> pods = snapshot.PodsOn(node);
  if (row.changed_at != check_ && AreEqual(pods, cluster_.PodsOn(node))) return;
  cluster_.SetPods(node, row.shapes, pods);
  row.changed_at = check_;
  row.shapes.clear();
  for (const PodId pod : pods) row.shapes.push_back(catalog_->shape_id(pod));
}

// --- Certificates ------------------------------------------------------------------------

absl::StatusOr<CertifiedPart> PlanCertificates::Checker::Run(const Plan& plan) {
  CertifiedPart part;
  not_covered_.reset();
  if (input_->max_workload_share < 1) part.not_covered = NotCovered::kWorkloadShare;
  const bool has_gangs = !catalog_->gangs().empty() && options_.drain.gangs != Gangs::kIgnore;
  if (has_gangs || !options_.headroom.empty()) part.not_covered = NotCovered::kGangs;
  if (groups_.SomeFollowKarpenter()) part.not_covered = NotCovered::kKarpenter;
  // What a budget frees depends on the health of its pods, which certificates do not store.
  if (catalog_->unhealthy_pods() == UnhealthyPods::kEvict) part.not_covered = NotCovered::kBudgets;
  for (const PodId pod : input_->pending) {
    if (!catalog_->shape_of(pod).not_understood.empty()) {
      part.not_covered = NotCovered::kPendingPods;
    }
  }
  if (part.not_covered) return part;
  if (absl::Status s = rules_.CheckIds(plan); !s.ok()) return s;
  if (absl::Status s = rules_.CheckVerdicts(plan); !s.ok()) return s;
  Place(plan);
  ReleaseStale(plan);
  if (absl::Status s = CheckPacking(plan); !s.ok()) return s;
  for (size_t i = 0; i < plan.remove.size(); ++i) {
    const NodeId node = plan.remove[i].node;
    Certificate& certificate = CertificateOf(node);
    if (certificate.checked_at > 0 && arrivals_[Index(node)].changed_at > certificate.checked_at) {
      Release(certificate, plan.remove[i]);
    }
    if (certificate.checked_at > 0) {
      certificate.position = i;
      ++part.held;
      continue;
    }
    ++part.checked;
    if (absl::Status s = CheckRemoval(plan.remove[i], i); !s.ok()) return s;
  }
  if (not_covered_) return CertifiedPart{.not_covered = not_covered_};
  if (absl::Status s = CheckPlaces(); !s.ok()) return s;
  if (absl::Status s = CheckRoom(part); !s.ok()) return s;
  if (absl::Status s = ReplayTopology(plan, part); !s.ok()) return s;
  if (absl::Status s = ReplayBudgets(plan); !s.ok()) return s;
  return part;
}

// Notes the places of the removed nodes in the plan.
void PlanCertificates::Checker::Place(const Plan& plan) {
  for (const NodeId node : removed_) position_[Index(node)] = kNotRemoved;
  for (size_t i = 0; i < plan.remove.size(); ++i) {
    position_[Index(plan.remove[i].node)] = static_cast<uint32_t>(i);
  }
}

bool PlanCertificates::Checker::IsSame(const Certificate& held,
                                       const RemovableNode& removal) const {
  const Row& row = rows_[Index(removal.node)];
  if (all_again_ || held.checked_at == 0 || row.changed_at > held.checked_at ||
      (held.terminating && time_moved_) || (held.unalike && unalike_again_)) {
    return false;
  }
  const auto differs = [&](PodShapeId shape) {
    return Index(shape) < judged_differently_.size() && judged_differently_[Index(shape)];
  };
  if (!judged_differently_.empty() && std::ranges::any_of(row.shapes, differs)) return false;
  return HaveSameMoves(held.removal.moves, removal.moves) &&
         held.removal.daemonset == removal.daemonset &&
         held.removal.on_completion == removal.on_completion;
}

// Drops certificates of nodes that stay, of removals that differ, and of removals that come before
// one that they came after.  Afterwards the arrivals are those of the plan.
void PlanCertificates::Checker::ReleaseStale(const Plan& plan) {
  for (const NodeId node : removed_) {
    if (position_[Index(node)] != kNotRemoved) continue;
    Certificate& certificate = CertificateOf(node);
    Update(node, certificate.removal.moves, {});
    certificate = Certificate();
  }
  removed_.clear();
  std::optional<size_t> last;
  for (const RemovableNode& removal : plan.remove) {
    removed_.push_back(removal.node);
    Certificate& certificate = CertificateOf(removal.node);
    if (IsSame(certificate, removal) && (!last || certificate.position > *last)) {
      last = certificate.position;
      continue;
    }
    Release(certificate, removal);
  }
}

// Drops the certificate; the removal is now that of the plan.
void PlanCertificates::Checker::Release(Certificate& certificate, const RemovableNode& removal) {
  Update(removal.node, certificate.removal.moves, removal.moves);
  certificate.checked_at = 0;
  certificate.removal = removal;
}

// Changes the arrivals from those of the moves `before` to those of the moves `now`.  If a pod
// moves twice, which is refused, only one of its moves is added.
void PlanCertificates::Checker::Update(NodeId from, std::span<const Move> before,
                                       std::span<const Move> now) {
  const auto goes_on = [&](const Move& move) {
    if (logged_at_[Index(move.pod)] == check_) {
      Erase(from, move);
      Add(from, move);
      return;
    }
    Arrivals& arrivals = arrivals_[Index(move.to)];
    if (arrivals.sum.not_plain > 0) arrivals.changed_at = check_;
  };
  // Most moves are the same and in the same order, with a pod missing here and there.
  while (!before.empty() && !now.empty()) {
    if (before.front() == now.front()) {
      goes_on(before.front());
      before = before.subspan(1);
      now = now.subspan(1);
    } else if (before.size() > 1 && before[1] == now.front()) {
      // Unless it comes later in `now`.
      late_.push_back(before.front());
      before = before.subspan(1);
    } else {
      break;
    }
  }
  for (const auto& [pod, to] : now) comes_to_[Index(pod)] = to;
  const auto ends = [&](const Move& move) {
    NodeId& to = comes_to_[Index(move.pod)];
    if (to != move.to) return Erase(from, move);
    to = kNoNode;
    goes_on(move);
  };
  std::ranges::for_each(late_, ends);
  std::ranges::for_each(before, ends);
  late_.clear();
  for (const Move& move : now) {
    if (std::exchange(comes_to_[Index(move.pod)], kNoNode) != kNoNode) Add(from, move);
  }
}

void PlanCertificates::Checker::Erase(NodeId from, const Move& move) {
  Arrivals& arrivals = arrivals_[Index(move.to)];
  const auto it = std::ranges::find_if(arrivals.pods, [&](const Arrival& arrival) {
    return arrival.pod == move.pod && arrival.from == from;
  });
  EBB_CHECK(it != arrivals.pods.end());
  cluster_.AddTo(arrivals.sum, it->shape, -1);
  *it = arrivals.pods.back();
  arrivals.pods.pop_back();
  arrivals.changed_at = check_;
}

void PlanCertificates::Checker::Add(NodeId from, const Move& move) {
  Arrivals& arrivals = arrivals_[Index(move.to)];
  const PodShapeId shape = catalog_->shape_id(move.pod);
  arrivals.pods.push_back({.from = from, .pod = move.pod, .shape = shape});
  cluster_.AddTo(arrivals.sum, shape, +1);
  arrivals.changed_at = check_;
}

// --- Checks ------------------------------------------------------------------------------

// The checks of one move that depend only on the pod and the node.
absl::Status PlanCertificates::Checker::CheckMove(PodId pod, NodeId to) {
  if (cluster_.UsesStorage(pod)) not_covered_ = NotCovered::kStorage;
  if (const std::string why = cluster_.WhyNotByNode(pod, to); !why.empty()) {
    return RefusePlan(rules_.Name(pod), " does not fit on ", rules_.Name(to), ": ", why);
  }
  return absl::OkStatus();
}

// Pending pods are few, so they are checked each time.
absl::Status PlanCertificates::Checker::CheckPacking(const Plan& plan) {
  Update(kNoNode, packed_, plan.packed);
  packed_ = plan.packed;
  const absl::flat_hash_set<PodId> pending(input_->pending.begin(), input_->pending.end());
  absl::flat_hash_set<PodId> packed;
  for (const auto& [pod, to] : plan.packed) {
    if (!pending.contains(pod)) return RefusePlan(rules_.Name(pod), " is not pending");
    if (!packed.insert(pod).second) return RefusePlan(rules_.Name(pod), " was packed twice");
    if (cluster_.NodeOf(pod) != kNoNode) return RefusePlan(rules_.Name(pod), " runs already");
    if (!cluster_.Contains(to)) {
      return RefusePlan(rules_.Name(pod), " was packed on ", rules_.Name(to), ", which is gone");
    }
    if (absl::Status s = rules_.CheckPlace(" was packed on ", pod, to); !s.ok()) return s;
    if (absl::Status s = CheckMove(pod, to); !s.ok()) return s;
  }
  if (absl::Status s = rules_.CheckOrder(plan.packed); !s.ok()) return s;
  const size_t must_fit = std::min(input_->must_fit, input_->pending.size());
  for (const PodId pod : input_->pending.first(must_fit)) {
    if (!packed.contains(pod) && !plan.remove.empty()) {
      return RefusePlan("nodes go although ", rules_.Name(pod), " found no room");
    }
  }
  return absl::OkStatus();
}

absl::Status PlanCertificates::Checker::CheckRemoval(const RemovableNode& removal,
                                                     size_t position) {
  const NodeId node = removal.node;
  if (!cluster_.Contains(node)) return RefusePlan(rules_.Name(node), " is not in the cluster");
  pods_ = cluster_.PodsOn(node);
  const std::vector<Arrival>& came = arrivals_[Index(node)].pods;
  // Pending pods have found their room before eligibility is judged, other pods come later.
  for (const Arrival& arrival : came) {
    if (arrival.from == kNoNode) pods_.push_back(arrival.pod);
  }
  if (std::ranges::any_of(pods_, [&](PodId pod) { return cluster_.UsesStorage(pod); }) &&
      catalog_->devices().HasOwnSlices(node)) {
    not_covered_ = NotCovered::kStorage;  // Who holds which device is not kept here.
  } else if (absl::Status s = rules_.CheckEligible(node, pods_, nullptr); !s.ok()) {
    return s;
  }
  for (const Arrival& arrival : came) {
    if (arrival.from != kNoNode && PositionOf(arrival) <= position) pods_.push_back(arrival.pod);
  }
  const std::span<const PodId> guests = std::span(pods_).subspan(cluster_.PodsOn(node).size());

  Certificate& certificate = CertificateOf(node);
  certificate.needs.clear();
  certificate.charges.clear();
  certificate.terminating = certificate.unalike = certificate.depends = false;
  absl::Status pods = rules_.CheckPods(
      removal, pods_,
      [&](PodId pod) {
        return cluster_.NodeOf(pod) == node || std::ranges::find(guests, pod) != guests.end();
      },
      [&](NodeId to) {
        return cluster_.Contains(to) &&
               (position_[Index(to)] == kNotRemoved || position_[Index(to)] > position);
      },
      [&](PdbId pdb, PodId) {
        certificate.needs.push_back(pdb);
        return absl::OkStatus();
      });
  if (!pods.ok()) return pods;
  if (absl::Status s = rules_.CheckOrder(removal.moves); !s.ok()) return s;
  for (const auto& [pod, to] : removal.moves) {
    if (absl::Status s = CheckMove(pod, to); !s.ok()) return s;
    certificate.depends = certificate.depends || cluster_.DependsOnOthers(pod);
  }
  certificate.checked_at = check_;
  certificate.position = position;
  certificate.removal.risky = removal.risky;
  NotePods(pods_, certificate);
  NoteCharges(certificate);
  return absl::OkStatus();
}

void PlanCertificates::Checker::NotePods(std::span<const PodId> pods, Certificate& certificate) {
  for (const PodId pod : pods) {
    const PodShape& shape = catalog_->shape_of(pod);
    certificate.terminating = certificate.terminating || shape.terminating;
    certificate.unalike = certificate.unalike || !rules_.AreJudgedAlike(pod);
  }
}

void PlanCertificates::Checker::NoteCharges(Certificate& certificate) {
  std::ranges::sort(certificate.needs);
  const auto [first, end] = std::ranges::unique(certificate.needs);
  certificate.needs.erase(first, end);
  std::vector<PdbId> charged;
  for (const Move& move : certificate.removal.moves) {
    const std::vector<PdbId>& budgets = rules_.BudgetsOf(move.pod);
    charged.insert(charged.end(), budgets.begin(), budgets.end());
  }
  std::ranges::sort(charged);
  for (const PdbId pdb : charged) {
    std::vector<Charge>& charges = certificate.charges;
    if (charges.empty() || charges.back().pdb != pdb) charges.push_back({.pdb = pdb, .pods = 0});
    ++charges.back().pods;
  }
}

size_t PlanCertificates::Checker::PositionOf(const Arrival& arrival) const {
  return arrival.from == kNoNode ? 0 : 1 + position_[Index(arrival.from)];
}

// Pods come only to nodes that are destinations and are not removed before.
absl::Status PlanCertificates::Checker::CheckPlaces() const {
  std::vector<bool> in_deletion(input_->in_deletion.empty() ? 0 : rows_.size());
  for (const NodeId node : input_->in_deletion) {
    if (Index(node) < in_deletion.size()) in_deletion[Index(node)] = true;
  }
  for (uint32_t n = 0; n < arrivals_.size(); ++n) {
    if (arrivals_[n].pods.empty()) continue;
    const NodeId to{n};
    if (!in_deletion.empty() && in_deletion[n]) {
      return RefusePlan("a pod moves to ", rules_.Name(to), ", which is being deleted");
    }
    const bool is_destination =
        input_->destinations == nullptr ||
        (n < input_->destinations->range() && input_->destinations->Contains(to));
    if (is_destination && position_[n] == kNotRemoved) continue;
    for (const Arrival& arrival : arrivals_[n].pods) {
      if (!is_destination && arrival.from != kNoNode) {
        return RefusePlan(rules_.Name(arrival.pod), " moves to ", rules_.Name(to),
                          ", which is not a destination");
      }
      if (position_[n] != kNotRemoved && PositionOf(arrival) > position_[n]) {
        return RefusePlan(rules_.Name(arrival.pod), " moves to ", rules_.Name(to),
                          ", which is gone");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status PlanCertificates::Checker::CheckRoom(CertifiedPart& part) {
  std::string why;
  for (uint32_t n = 0; n < arrivals_.size(); ++n) {
    const Arrivals& came = arrivals_[n];
    if (came.pods.empty() || (rows_[n].changed_at != check_ && came.changed_at != check_)) {
      continue;
    }
    ++part.destinations;
    if (!HasRoom(NodeId{n}, why)) {
      return RefusePlan("pods do not fit on ", rules_.Name(NodeId{n}), ": ", why);
    }
  }
  return absl::OkStatus();
}

// Whether the arrivals find room on the node; if not, `why`.
bool PlanCertificates::Checker::HasRoom(NodeId node, std::string& why) {
  const Arrivals& came = arrivals_[Index(node)];
  if (came.sum.not_plain == 0 && cluster_.HasRoomFor(came.sum, node)) return true;
  using Place = std::pair<size_t, size_t>;  // In the plan, and among the moves of a removal.
  std::vector<std::pair<Place, PodId>> pods;
  pods.reserve(came.pods.size());
  for (const Arrival& arrival : came.pods) {
    const std::vector<Move>& moves =
        arrival.from == kNoNode ? packed_ : CertificateOf(arrival.from).removal.moves;
    const auto move = std::ranges::find(moves, arrival.pod, &Move::pod);
    const auto index = static_cast<size_t>(move - moves.begin());
    pods.push_back({{PositionOf(arrival), index}, arrival.pod});
  }
  std::ranges::sort(pods);
  std::vector<PodId> in_order;
  in_order.reserve(pods.size());
  for (const auto& [place, pod] : pods) in_order.push_back(pod);
  why = cluster_.WhyNotByRoom(in_order, node);
  return why.empty();
}

// --- Spreading and affinity ----------------------------------------------------------------

absl::Status PlanCertificates::Checker::CountMoves(std::span<const Move> moves) {
  for (const auto& [pod, to] : moves) {
    if (cluster_.DependsOnOthers(pod)) {
      if (const std::string_view why = cluster_.WhyNotByOthers(pod, to); !why.empty()) {
        return RefusePlan(rules_.Name(pod), " does not fit on ", rules_.Name(to), ": ", Absl(why));
      }
    }
    cluster_.CountPod(pod, to, +1);
  }
  return absl::OkStatus();
}

void PlanCertificates::Checker::UndoMoves(std::span<const Move> moves) {
  for (size_t m = moves.size(); m-- > 0;) cluster_.CountPod(moves[m].pod, moves[m].to, -1);
}

void PlanCertificates::Checker::CountPodsOf(NodeId node, int sign) {
  for (const PodId pod : cluster_.PodsOn(node)) cluster_.CountPod(pod, node, sign);
  for (const Arrival& arrival : arrivals_[Index(node)].pods) {
    cluster_.CountPod(arrival.pod, node, sign);
  }
}

// Leaves the counts as they were, unless the plan is refused.
absl::Status PlanCertificates::Checker::ReplayTopology(const Plan& plan, CertifiedPart& part) {
  const auto tally = [&](std::span<const Move> moves) {
    for (const Move& move : moves) {
      if (!cluster_.DependsOnOthers(move.pod)) continue;
      cluster_.TallyFor(move.pod);
      part.topology = true;
    }
  };
  tally(plan.packed);
  for (const RemovableNode& removal : plan.remove) {
    if (CertificateOf(removal.node).depends) tally(removal.moves);
  }
  if (!part.topology) return absl::OkStatus();
  if (absl::Status s = CountMoves(plan.packed); !s.ok()) return s;
  for (const RemovableNode& removal : plan.remove) {
    CountPodsOf(removal.node, -1);
    cluster_.SetRemoving(removal.node);
    if (absl::Status s = CountMoves(removal.moves); !s.ok()) return s;
    cluster_.SetRemoving(kNoNode);
    cluster_.LeaveDomains(removal.node);
  }
  for (size_t i = plan.remove.size(); i-- > 0;) {
    const RemovableNode& removal = plan.remove[i];
    cluster_.RejoinDomains(removal.node);
    UndoMoves(removal.moves);
    CountPodsOf(removal.node, +1);
  }
  UndoMoves(plan.packed);
  return absl::OkStatus();
}

// --- Budgets -------------------------------------------------------------------------------

absl::Status PlanCertificates::Checker::ReplayBudgets(const Plan& plan) {
  std::vector<int64_t> remaining;
  remaining.reserve(budgets_.size());
  for (const Pdb& pdb : catalog_->pdbs()) remaining.push_back(pdb.disruptions_allowed);
  for (const PodId pod : input_->evicting) {
    for (const PdbId pdb : rules_.BudgetsOf(pod)) --remaining[Index(pdb)];
  }
  for (const RemovableNode& removal : plan.remove) {
    const Certificate& certificate = CertificateOf(removal.node);
    for (const PdbId pdb : certificate.needs) {
      if (remaining[Index(pdb)] >= 1) continue;
      return RefusePlan(rules_.Name(removal.node), " goes although ", rules_.Name(pdb),
                        " has nothing left");
    }
    bool risky = false;
    for (const auto& [pdb, pods] : certificate.charges) {
      remaining[Index(pdb)] -= pods;
      risky = risky || remaining[Index(pdb)] < 0;
    }
    if (risky != removal.risky) {
      return RefusePlan(rules_.Name(removal.node), removal.risky ? " is not risky" : " is risky");
    }
  }
  return rules_.CheckTotals(plan, remaining);
}

// --- PlanCertificates ------------------------------------------------------------------------

PlanCertificates::PlanCertificates() = default;
PlanCertificates::~PlanCertificates() = default;
PlanCertificates::PlanCertificates(PlanCertificates&&) noexcept = default;
PlanCertificates& PlanCertificates::operator=(PlanCertificates&&) noexcept = default;

void PlanCertificates::Forget() { checker_.reset(); }

absl::Status PlanCertificates::Certify(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                       const PlannerOptions& options, const PassInput& input,
                                       const Plan& plan) {
  EBB_CHECK(snapshot.depth() == 0);
  Forget();
  if (absl::Status s = CheckGroups(snapshot.catalog(), groups); !s.ok()) return s;
  auto checker = std::make_unique<Checker>(snapshot, groups, options, input);
  const absl::StatusOr<CertifiedPart> part = checker->Run(plan);
  if (!part.ok()) return part.status();
  if (!part->not_covered) checker_ = std::move(checker);
  return absl::OkStatus();
}

absl::StatusOr<CertifiedPart> PlanCertificates::Check(const ClusterSnapshot& snapshot,
                                                      const NodeGroups& groups,
                                                      const PlannerOptions& options,
                                                      const PassInput& input, const Plan& plan) {
  EBB_CHECK(snapshot.depth() == 0);
  if (checker_ == nullptr) return CertifiedPart{.not_covered = NotCovered::kNothingCertified};
  // Certificates are kept only if the check succeeds.
  std::unique_ptr<Checker> checker = std::move(checker_);
  if (const std::optional<NotCovered> cause = checker->Covers(snapshot, input)) {
    return CertifiedPart{.not_covered = cause};
  }
  if (absl::Status s = checker->Follow(snapshot, groups, options, input); !s.ok()) return s;
  absl::StatusOr<CertifiedPart> part = checker->Run(plan);
  if (part.ok() && !part->not_covered) checker_ = std::move(checker);
  return part;
}

}  // namespace ebb
