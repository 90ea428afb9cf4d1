#include "predicates/drainability.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"
#include "snapshot/gangs.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using objects::ControllerKind;

// The autoscaler's PodLongTerminatingExtraThreshold (utils/drain/drain.go).
constexpr int64_t kTerminationMarginS = 30;

// Saturates, because a grace period or timeout of "forever" is a very large number.
int64_t AddUpToMax(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// The last time at which a deleted pod is not long terminating.
int64_t EndOfTermination(const PodShape& shape, int64_t deleted) {
  return AddUpToMax(AddUpToMax(deleted, shape.grace_period_s), kTerminationMarginS);
}

// One pod and everything that a rule may read.
struct DrainQuestion {
  const Catalog& catalog;
  PodId pod;
  const PodShape& shape;
  const DrainOptions& options;
  const PdbTracker* pdbs;  // Null in ApplyDrainRulesAlone.
  int64_t now_s;

  [[nodiscard]] std::string_view Text(TextId id) const { return catalog.Text(id); }
};

constexpr DrainVerdict kNoOpinion{};
constexpr DrainVerdict kDrain{.outcome = DrainOutcome::kDrain, .pdb = {}};
constexpr DrainVerdict kSkip{.outcome = DrainOutcome::kSkip, .pdb = {}};
constexpr DrainVerdict kWait{.outcome = DrainOutcome::kWaitForCompletion, .pdb = {}};

constexpr DrainVerdict Block(BlockingPodReason reason) {
  return {.outcome = DrainOutcome::kBlock, .reason = reason, .pdb = {}};
}

DrainVerdict Mirror(const DrainQuestion& q) { return q.shape.mirror ? kSkip : kNoOpinion; }

DrainVerdict LongTerminating(const DrainQuestion& q) {
  return IsLongTerminating(q.catalog, q.pod, q.now_s) ? kSkip : kNoOpinion;
}

// Blocks a pod whose eviction someone has asked for: responders move it, in their own time.
DrainVerdict Requested(const DrainQuestion& q) {
  if (q.shape.terminating || IsDaemonSetPod(q.catalog, q.shape)) return kNoOpinion;
  if (HasEnded(q.shape) || q.catalog.FindEvictionRequest(q.pod) == kNoText) return kNoOpinion;
  return Block(BlockingPodReason::kEvictionRequested);
}

// schema.ParseGroupVersion: the group of "apps/v1" is "apps", of "v1" it is "".
std::optional<std::string_view> GroupOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return "";
  if (api_version.find('/', slash + 1) != std::string_view::npos) return std::nullopt;
  return api_version.substr(0, slash);
}

DrainVerdict CheckReplicas(const DrainQuestion& q, const ControllerStatus* controller) {
  if (controller == nullptr) return Block(BlockingPodReason::kControllerNotFound);
  if (controller->spec_replicas && *controller->spec_replicas < q.options.min_replica_count) {
    return Block(BlockingPodReason::kMinReplicasReached);
  }
  return kNoOpinion;
}

// Blocks a pod whose controller does not exist, or has too few replicas to lose one.
DrainVerdict ReplicaCount(const DrainQuestion& q) {
  if (!q.options.skip_nodes_with_custom_controller_pods || q.pdbs == nullptr) return kNoOpinion;
  if (!q.shape.has_controller) return kNoOpinion;
  const Owner& owner = q.shape.controller;
  const std::optional<std::string_view> group = GroupOf(q.Text(owner.api_version));
  if (!group) return kNoOpinion;
  const OwnerKind kind = q.shape.controller_kind;
  const auto find = [&](ControllerKind controller_kind) {
    return q.catalog.FindController(controller_kind, q.shape.namespace_name, owner.name);
  };
  const auto must_exist = [&](ControllerKind controller_kind) {
    return find(controller_kind) != nullptr ? kNoOpinion
                                            : Block(BlockingPodReason::kControllerNotFound);
  };
  if (kind == OwnerKind::kReplicationController) {
    return CheckReplicas(q, find(ControllerKind::kReplicationController));
  }
  if (IsDaemonSetPod(q.catalog, q.shape)) {
    const bool known = *group == "apps" && kind == OwnerKind::kDaemonSet;
    return known ? must_exist(ControllerKind::kDaemonSet) : kNoOpinion;
  }
  if (kind == OwnerKind::kJob) return must_exist(ControllerKind::kJob);
  if (kind == OwnerKind::kReplicaSet) return CheckReplicas(q, find(ControllerKind::kReplicaSet));
  if (kind == OwnerKind::kStatefulSet && *group == "apps") {
    return must_exist(ControllerKind::kStatefulSet);
  }
  return kNoOpinion;
}

DrainVerdict DaemonSet(const DrainQuestion& q) {
  return IsDaemonSetPod(q.catalog, q.shape) ? kDrain : kNoOpinion;
}

DrainVerdict SafeToEvictRule(const DrainQuestion& q) {
  return q.shape.safe_to_evict == SafeToEvict::kTrue ? kDrain : kNoOpinion;
}

DrainVerdict Terminal(const DrainQuestion& q) {
  if (q.shape.phase == PodPhase::kFailed) return kDrain;
  const bool ended =
      q.shape.phase == PodPhase::kSucceeded && q.shape.restart_policy != RestartPolicy::kAlways;
  return ended ? kDrain : kNoOpinion;
}

DrainVerdict OnCompletion(const DrainQuestion& q) {
  return q.shape.safe_to_evict == SafeToEvict::kOnCompletion ? kWait : kNoOpinion;
}

DrainVerdict Replicated(const DrainQuestion& q) {
  if (!q.shape.has_controller) return Block(BlockingPodReason::kNotReplicated);
  if (!q.options.skip_nodes_with_custom_controller_pods) return kNoOpinion;
  const OwnerKind kind = q.shape.controller_kind;
  const bool replicated = kind == OwnerKind::kReplicationController || kind == OwnerKind::kJob ||
                          kind == OwnerKind::kReplicaSet || kind == OwnerKind::kStatefulSet;
  return replicated ? kNoOpinion : Block(BlockingPodReason::kNotReplicated);
}

// The last time at which a system pod without a budget blocks.
int64_t EndOfBlocking(int64_t created, const DrainOptions& options) {
  return AddUpToMax(created, options.blocking_system_pod_disruption_timeout_s);
}

DrainVerdict System(const DrainQuestion& q) {
  if (!q.options.skip_nodes_with_system_pods) return kNoOpinion;
  if (q.Text(q.shape.namespace_name) != kSystemNamespace) return kNoOpinion;
  if (q.pdbs != nullptr && !q.shape.budgets.empty()) return kNoOpinion;
  const int64_t created = q.catalog.pod(q.pod).creation_time;
  const bool aged = created != 0 && EndOfBlocking(created, q.options) < q.now_s;
  return aged ? kDrain : Block(BlockingPodReason::kUnmovableKubeSystemPod);
}

DrainVerdict NotSafeToEvict(const DrainQuestion& q) {
  return q.shape.safe_to_evict == SafeToEvict::kFalse
             ? Block(BlockingPodReason::kNotSafeToEvictAnnotation)
             : kNoOpinion;
}

DrainVerdict LocalStorage(const DrainQuestion& q) {
  return q.options.skip_nodes_with_local_storage && q.shape.blocks_with_local_storage
             ? Block(BlockingPodReason::kLocalStorageRequested)
             : kNoOpinion;
}

// Blocks a pod if one of its gangs would lose it.  A pod that is being deleted is lost already, and
// a pod without a node (which has a digest of its spec) does not run yet.  Whether a gang that may
// move does so as a whole, MakePlan finds out.
DrainVerdict OfGang(const DrainQuestion& q) {
  if (q.options.gangs == Gangs::kIgnore || q.shape.gangs.empty()) return kNoOpinion;
  if (q.shape.terminating || q.shape.spec_digest != 0) return kNoOpinion;
  const bool is_held = std::ranges::any_of(q.shape.gangs, [&](uint32_t gang) {
    return q.catalog.Holds(gang, q.pod) &&
           (q.options.gangs == Gangs::kKeep || !MovesWhole(q.catalog, gang));
  });
  return is_held ? Block(BlockingPodReason::kPodOfGang) : kNoOpinion;
}

DrainVerdict Budget(const DrainQuestion& q) {
  EBB_DCHECK(q.pdbs != nullptr);
  for (const PdbId pdb : q.catalog.ChargedBudgets(q.pod)) {
    if (q.pdbs->remaining(pdb) >= 1) continue;
    DrainVerdict verdict = Block(BlockingPodReason::kNotEnoughPdb);
    verdict.pdb = pdb;
    return verdict;
  }
  return kNoOpinion;
}

using Rule = DrainVerdict (*)(const DrainQuestion&);

bool IsTerminating(const Catalog&, const PodShape& shape) { return shape.terminating; }
bool IsOfGang(const Catalog&, const PodShape& shape) { return !shape.gangs.empty(); }
bool IsBesideRequests(const Catalog& catalog, const PodShape& shape) {
  return catalog.storage().room().HasEvictionRequests(shape.namespace_name);
}
bool IsInKubeSystem(const Catalog& catalog, const PodShape& shape) {
  return catalog.Text(shape.namespace_name) == kSystemNamespace;
}

constexpr struct {
  Rule rule;
  // Returns true for shapes of which the rule reads each pod (its deletion time, its age).
  // Null: the rule reads nothing but the shape.
  bool (*reads_pods_of)(const Catalog&, const PodShape&);
} kRulesBeforeBudgets[] = {
    {Mirror, nullptr},
    {LongTerminating, IsTerminating},
    {Requested, IsBesideRequests},
    {ReplicaCount, nullptr},
    // Interrupting: these decide at once.
    {DaemonSet, nullptr},
    {SafeToEvictRule, nullptr},
    {Terminal, nullptr},
    {OnCompletion, nullptr},
    // Blocking: any of these keeps the node (an aged system pod excepted).
    {Replicated, nullptr},
    {OfGang, IsOfGang},
    {System, IsInKubeSystem},
    {NotSafeToEvict, nullptr},
    {LocalStorage, nullptr},
};

DrainVerdict FirstOpinion(const DrainQuestion& question) {
  for (const auto& [rule, reads_pods_of] : kRulesBeforeBudgets) {
    const DrainVerdict verdict = rule(question);
    if (verdict.outcome != DrainOutcome::kUndefined) return verdict;
  }
  return kNoOpinion;
}

constexpr std::array<std::string_view, 15> kBlockingReasons = {
    "NoReason",
    "ControllerNotFound",
    "MinReplicasReached",
    "NotReplicated",
    "LocalStorageRequested",
    "NotSafeToEvictAnnotation",
    "UnmovableKubeSystemPod",
    "NotEnoughPdb",
    "UnexpectedError",
    "DoNotDisruptAnnotation",
    "WorkloadShareReached",
    "PendingPodNotUnderstood",
    "PodOfGang",
    "SeveralPdbs",
    "EvictionRequested",
};

// --- Karpenter's rules -----------------------------------------------------------------------

// Whether some owner is a `kind` of the API group and version.
bool IsOwnedBy(const Catalog& catalog, const PodShape& shape, std::string_view kind,
               std::string_view api_version) {
  return std::ranges::any_of(shape.owners, [&](const Owner& owner) {
    return catalog.Text(owner.kind) == kind && catalog.Text(owner.api_version) == api_version;
  });
}

bool IsStaticPod(const Catalog& catalog, const PodShape& shape) {
  return shape.mirror || IsOwnedBy(catalog, shape, "Node", "v1");
}

// A pod that tolerates the taint of a node that goes is not evicted.
bool ToleratesDisruption(const Catalog& catalog, const PodShape& shape) {
  const auto id = [&](std::string_view text) {
    return catalog.symbols().Find(text).value_or(TextId{std::numeric_limits<uint32_t>::max()});
  };
  const Taint taint{.key = id(kDisruptedTaint),
                    .value = kNoText,
                    .effect_text = id("NoSchedule"),
                    .effect = TaintEffect::kNoSchedule};
  return Tolerates(catalog.constraints(shape.constraints), taint);
}

// The verdict on a pod that Karpenter may disrupt.
DrainVerdict JudgeByKarpenter(const DrainQuestion& q) {
  const PodShape& shape = q.shape;
  if (HasEnded(shape) || IsStaticPod(q.catalog, shape)) return kSkip;
  if (shape.terminating) {
    // The pod that replaces it comes only when it is gone.
    return IsOwnedBy(q.catalog, shape, "StatefulSet", "apps/v1") ? kDrain : kSkip;
  }
  const bool daemonset = IsDaemonSetPodOfKarpenter(q.catalog, shape);
  if (const DrainVerdict gang = OfGang(q); !daemonset && gang.outcome == DrainOutcome::kBlock) {
    return gang;
  }
  const std::vector<PdbId>& budgets = shape.budgets;
  if (budgets.empty() || ToleratesDisruption(q.catalog, shape)) return kDrain;
  if (budgets.size() > 1) {
    DrainVerdict several = Block(BlockingPodReason::kSeveralPdbs);
    several.pdb = budgets.front();
    return several;
  }
  const Pdb& pdb = q.catalog.pdbs()[Index(budgets.front())];
  if (pdb.always_allows_unready && q.catalog.IsUnready(q.pod)) return kDrain;
  const DrainVerdict verdict = Budget(q);
  return daemonset && verdict.outcome == DrainOutcome::kUndefined ? kDrain : verdict;
}

}  // namespace

std::string_view ToString(BlockingPodReason reason) {
  return kBlockingReasons[static_cast<size_t>(reason)];
}

BlockingPodReason BlockingPodReasonOf(std::string_view text) {
  const auto it = std::ranges::find(kBlockingReasons, text);
  return it == kBlockingReasons.end()
             ? BlockingPodReason::kNoReason
             : static_cast<BlockingPodReason>(it - kBlockingReasons.begin());
}

bool IsDaemonSetPod(const Catalog&, const PodShape& shape) {
  return shape.daemonset_annotation || shape.controller_kind == OwnerKind::kDaemonSet;
}

bool IsDaemonSetPodOfKarpenter(const Catalog& catalog, const PodShape& shape) {
  return IsOwnedBy(catalog, shape, "DaemonSet", "apps/v1");
}

bool IsLongTerminating(const Catalog& catalog, PodId pod, int64_t now_s) {
  const PodShape& shape = catalog.shape_of(pod);
  return shape.terminating && EndOfTermination(shape, catalog.DeletionTime(pod)) < now_s;
}

bool IsKeptByKarpenter(const PodShape& shape, int64_t now_s) {
  if (!shape.do_not_disrupt || shape.terminating) return false;
  return !HasEnded(shape) &&
         (shape.do_not_disrupt_until == PodShape::kForEver || now_s < shape.do_not_disrupt_until);
}

int64_t NextDrainChange(const Catalog& catalog, const DrainOptions& options, int64_t now_s) {
  int64_t last =
      std::numeric_limits<int64_t>::max();  // Until then every verdict stays as it is now.
  const auto ends = [&](int64_t end) {
    if (end >= now_s) last = std::min(last, end);
  };
  for (const auto& [pod, deleted] : catalog.deletion_times()) {
    ends(EndOfTermination(catalog.shape_of(pod), deleted));
  }
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    const PodShape& shape = catalog.shape(PodShapeId{s});
    const bool may_end = shape.do_not_disrupt && shape.do_not_disrupt_until != PodShape::kForEver;
    if (may_end) ends(AddUpToMax(shape.do_not_disrupt_until, -1));
  }
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    const int64_t created = catalog.pod(PodId{p}).creation_time;
    if (created == 0 || EndOfBlocking(created, options) < now_s) continue;
    const TextId namespace_name = catalog.shape_of(PodId{p}).namespace_name;
    if (catalog.Text(namespace_name) == kSystemNamespace) ends(EndOfBlocking(created, options));
  }
  return AddUpToMax(last, 1);
}

DrainVerdict ApplyDrainRules(const Catalog& catalog, PodId pod, const DrainOptions& options,
                             const PdbTracker& pdbs, int64_t now_s, PoolManager manager) {
  EBB_DCHECK(&pdbs.catalog() == &catalog);
  if (manager != PoolManager::kClusterAutoscaler &&
      IsKeptByKarpenter(catalog.shape_of(pod), now_s)) {
    return Block(BlockingPodReason::kDoNotDisruptAnnotation);
  }
  const DrainQuestion question{catalog, pod, catalog.shape_of(pod), options, &pdbs, now_s};
  if (manager == PoolManager::kKarpenterRules) return JudgeByKarpenter(question);
  const DrainVerdict verdict = FirstOpinion(question);
  return verdict.outcome == DrainOutcome::kUndefined ? Budget(question) : verdict;
}

DrainVerdict ApplyDrainRulesAlone(const Catalog& catalog, PodId pod, const DrainOptions& options,
                                  int64_t now_s) {
  return FirstOpinion({catalog, pod, catalog.shape_of(pod), options, /*pdbs=*/nullptr, now_s});
}

void PodsToMove::Clear() {
  move.clear();
  daemonset.clear();
  on_completion.clear();
  blocking_pod = kNoPod;
  reason = BlockingPodReason::kNoReason;
  pdb.reset();
}

DrainRules::DrainRules(const Catalog& catalog, const DrainOptions& options, const PdbTracker& pdbs,
                       int64_t now_s)
    : catalog_(&catalog),
      options_(options),
      pdbs_(&pdbs),
      now_s_(now_s),
      verdicts_(catalog.pod_shapes()) {}

// Applies every rule but the budgets, up to the first rule that reads more than the shape.
void DrainRules::Learn(PodId pod, ShapeVerdict& known) const {
  using enum ShapeVerdict::Scope;
  EBB_DCHECK(&pdbs_->catalog() == catalog_ && verdicts_.size() == catalog_->pod_shapes());
  const PodShape& shape = catalog_->shape_of(pod);
  const DrainQuestion question{*catalog_, pod, shape, options_, pdbs_, now_s_};
  known.daemonset = IsDaemonSetPod(*catalog_, shape);
  for (const auto& [rule, reads_pods_of] : kRulesBeforeBudgets) {
    if (reads_pods_of != nullptr && reads_pods_of(*catalog_, shape)) {
      known.scope = kPod;
      return;
    }
    const DrainVerdict verdict = rule(question);
    known.outcome = verdict.outcome;
    known.reason = verdict.reason;
    if (verdict.outcome != DrainOutcome::kUndefined) break;
  }
  const bool budgets = known.outcome == DrainOutcome::kUndefined && !shape.budgets.empty();
  known.scope = budgets ? kBudgets : kShape;
  known.moves =
      !budgets && !known.daemonset &&
      (known.outcome == DrainOutcome::kUndefined || known.outcome == DrainOutcome::kDrain);
}

DrainVerdict DrainRules::Apply(PodId pod, const ShapeVerdict& of_shape) const {
  using enum ShapeVerdict::Scope;
  if (of_shape.scope == kShape) {
    return {.outcome = of_shape.outcome, .reason = of_shape.reason, .pdb = {}};
  }
  if (of_shape.scope == kPod) return ApplyDrainRules(*catalog_, pod, options_, *pdbs_, now_s_);
  return Budget({*catalog_, pod, catalog_->shape_of(pod), options_, pdbs_, now_s_});
}

DrainVerdict DrainRules::Apply(PodId pod) {
  return Apply(pod, VerdictOf(pod, catalog_->shape_id(pod)));
}

void DrainRules::GetPodsToMove(std::span<const PodId> pods, PodsToMove& result,
                               PoolManager manager) {
  result.Clear();
  result.move.resize(pods.size());
  auto next = result.move.begin();
  if (manager == PoolManager::kKarpenterRules) {
    result.move.clear();
    AddPodsOfKarpenter(pods, result);
  } else {
    AddPodsToMove(pods, result, next, manager);
    result.move.erase(next, result.move.end());
  }
  EBB_DCHECK(result.move.size() + result.daemonset.size() + result.on_completion.size() <=
             pods.size());
  EBB_DCHECK(result.blocked() == (result.reason != BlockingPodReason::kNoReason));
}

// Karpenter looks for protected pods first, and only then at budgets.
void DrainRules::AddPodsOfKarpenter(std::span<const PodId> pods, PodsToMove& result) {
  const auto block = [&](PodId pod, const DrainVerdict& verdict) {
    result.blocking_pod = pod;
    result.reason = verdict.reason;
    result.pdb = verdict.pdb;
  };
  for (const PodId pod : pods) {
    if (!IsKeptByKarpenter(catalog_->shape_of(pod), now_s_)) continue;
    return block(pod, Block(BlockingPodReason::kDoNotDisruptAnnotation));
  }
  for (const PodId pod : pods) {
    const PodShape& shape = catalog_->shape_of(pod);
    const DrainVerdict verdict = JudgeByKarpenter({*catalog_, pod, shape, options_, pdbs_, now_s_});
    if (verdict.outcome == DrainOutcome::kSkip) continue;
    if (verdict.outcome == DrainOutcome::kBlock) return block(pod, verdict);
    const bool daemonset = IsDaemonSetPodOfKarpenter(*catalog_, shape);
    (daemonset ? result.daemonset : result.move).push_back(pod);
  }
}

void DrainRules::AddPodsToMove(std::span<const PodId> pods, PodsToMove& result,
                               std::vector<PodId>::iterator& next, PoolManager manager) {
  for (size_t i = 0; i < pods.size();) {
    // Pods of one shape often follow each other, and most shapes must move.
    const PodId pod = pods[i];
    const PodShapeId shape = catalog_->shape_id(pod);
    if (manager == PoolManager::kKarpenter && IsKeptByKarpenter(catalog_->shape(shape), now_s_)) {
      result.blocking_pod = pod;
      result.reason = BlockingPodReason::kDoNotDisruptAnnotation;
      return;
    }
    const ShapeVerdict& of_shape = VerdictOf(pod, shape);
    if (of_shape.moves) {
      const size_t begin = i;
      do ++i;
      while (i < pods.size() && catalog_->shape_id(pods[i]) == shape);
      next = std::copy(pods.begin() + begin, pods.begin() + i, next);
      continue;
    }
    ++i;
    const DrainVerdict verdict = Apply(pod, of_shape);
    switch (verdict.outcome) {
      case DrainOutcome::kUndefined:
      case DrainOutcome::kDrain:
        if (of_shape.daemonset) {
          result.daemonset.push_back(pod);
        } else {
          *next++ = pod;
        }
        break;
      case DrainOutcome::kWaitForCompletion:
        result.on_completion.push_back(pod);
        break;
      case DrainOutcome::kSkip:
        break;
      case DrainOutcome::kBlock:
        result.blocking_pod = pod;
        result.reason = verdict.reason;
        result.pdb = verdict.pdb;
        return;
    }
  }
}

}  // namespace ebb
