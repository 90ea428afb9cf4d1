#include "snapshot/gangs.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace ebb {
namespace {

bool Runs(const PodShape& shape) { return !shape.terminating && !HasEnded(shape); }

// Whether the node is being deleted.  A taint of Cluster Autoscaler counts whatever its age.
bool IsGoing(const Catalog& catalog, NodeId node) {
  return catalog.node(node).to_be_deleted.has_value() || IsLeaving(catalog, node);
}

// Whether the pod keeps its node by default, whatever its gangs say.
bool Keeps(const Catalog& catalog, const PodShape& shape) {
  if (!Runs(shape) || shape.mirror || shape.daemonset_annotation ||
      shape.controller_kind == OwnerKind::kDaemonSet || shape.safe_to_evict == SafeToEvict::kTrue) {
    return false;
  }
  return !shape.has_controller || shape.safe_to_evict == SafeToEvict::kFalse ||
         shape.blocks_with_local_storage || std::ranges::any_of(shape.budgets, [&](PdbId pdb) {
           return catalog.pdbs()[Index(pdb)].disruptions_allowed < 1;
         });
}

// The nodes of a gang in the order in which its pods may leave.
struct GangNode {
  NodeId node;
  std::vector<PodId> pods;  // Of the gang.
  bool stays = false;       // Something obvious keeps it.
  double utilization = 0;   // The larger of cpu and memory.

  friend bool operator<(const GangNode& a, const GangNode& b) {
    return std::tuple(a.stays, a.pods.size(), a.utilization) <
           std::tuple(b.stays, b.pods.size(), b.utilization);
  }
};

void Judge(const ClusterSnapshot& snapshot, GangNode& of) {
  const Catalog& catalog = snapshot.catalog();
  const NodeInfo& info = catalog.node(of.node);
  of.stays = info.scale_down_disabled || info.do_not_disrupt ||
             std::ranges::any_of(snapshot.PodsOn(of.node),
                                 [&](PodId pod) { return Keeps(catalog, catalog.shape_of(pod)); });
  for (const ResourceId resource : {kCpu, kMemory}) {
    const auto offered = static_cast<double>(snapshot.Allocatable(resource, of.node));
    if (offered <= 0) continue;
    const auto free = static_cast<double>(snapshot.Free(resource, of.node));
    of.utilization = std::max(of.utilization, 1 - free / offered);
  }
}

void CountAbsent(const PodShape& shape, bool is_on_node, GangAbsent& absent) {
  const bool is_ended = HasEnded(shape);
  ++(shape.phase == PodPhase::kSucceeded ? absent.succeeded
     : is_ended                          ? absent.failed
     : shape.terminating                 ? absent.deleted
     : is_on_node                        ? absent.elsewhere
                                         : absent.waiting);
}

// Whether its minimum is known.
bool IsUnderstood(const Gang& gang) {
  return gang.not_understood.empty() && (gang.has_object || !HasPodGroup(gang.kind));
}

// Whether pods of the gang may come to run, or run on nodes that are not in the input.
bool HasOthers(const GangStates::State& state) {
  return state.absent.waiting + state.absent.deleted + state.absent.elsewhere > 0;
}

// Counts what the gangs declare, and the pods that do not run: all that are known.
class Members {
 public:
  explicit Members(const ClusterSnapshot& snapshot) : catalog_(snapshot.catalog()) {}

  void Add(GangStates::State& state, uint32_t gang, const PodShape& shape, size_t i, bool runs) {
    state.declared = std::max(state.declared, shape.gang_sizes[i]);
    if (!runs) CountAbsent(shape, shape.on_node, state.absent);
    const bool is_there = runs || shape.phase == PodPhase::kSucceeded;
    if (catalog_.gangs()[gang].kind != GangKind::kJobSet || !shape.has_controller) return;
    if (!is_there && HasEnded(shape)) return;
    Job& job = jobs_[gang][shape.controller.name];
    job.is_there |= is_there;
    job.pods += HasEnded(shape) ? 0 : 1;
  }

  void Settle(uint32_t gang, GangStates::State& state) {
    const Gang& of = catalog_.gangs()[gang];
    if (const GangLeftOut* const left_out = catalog_.FindLeftOut(of)) {
      state.absent.succeeded += left_out->pods.succeeded;
      state.absent.failed += left_out->pods.failed;
      state.absent.expendable += left_out->pods.expendable;
      for (const auto& [job, pods] : left_out->jobs) {
        if (pods > 0) jobs_[gang][job].is_there = true;
      }
      for (const auto& [size, pods] : left_out->sizes) {
        if (pods > 0) state.declared = std::max(state.declared, size);
      }
    }
    if (of.kind == GangKind::kJobSet) {
      int64_t jobs = 0;
      int64_t in_part = 0;
      for (const auto& [name, job] : jobs_[gang]) {
        if (!job.is_there) continue;
        ++jobs;
        in_part += job.pods < ParallelPodsOf(of.namespace_name, name) ? 1 : 0;
      }
      state.missing = std::max<int64_t>(0, state.declared - jobs) + in_part;
      state.least = state.missing > 0 ? state.running + state.missing : 0;
      return;
    }
    const int64_t asked = of.min_count.value_or(state.declared);
    state.missing = std::max<int64_t>(0, asked - state.running - state.absent.pods());
    state.least = asked;
    if (of.kind == GangKind::kVolcano || of.kind == GangKind::kKueue) {
      state.least = std::max<int64_t>(0, asked - state.absent.succeeded);
    }
  }

 private:
  // How many pods the Job runs at the same time, as far as the input has the Job.
  [[nodiscard]] int64_t ParallelPodsOf(TextId namespace_name, TextId job) const {
    const ControllerStatus* const status =
        catalog_.FindController(objects::ControllerKind::kJob, namespace_name, job);
    if (status == nullptr || !status->completions) return 0;
    return std::min(status->spec_replicas.value_or(1), *status->completions - status->succeeded);
  }

  const Catalog& catalog_;
  struct Job {
    bool is_there = false;  // A pod of it runs, or has succeeded.
    int64_t pods = 0;       // That have not ended.
  };
  absl::flat_hash_map<uint32_t, absl::flat_hash_map<TextId, Job>> jobs_;  // By gang and name.
};

}  // namespace

GangStates CountGangs(const ClusterSnapshot& snapshot) {
  const Catalog& catalog = snapshot.catalog();
  const std::vector<Gang>& gangs = catalog.gangs();
  GangStates states;
  if (gangs.empty()) return states;
  states.gangs.resize(gangs.size());
  std::vector<std::vector<GangNode>> on_nodes(gangs.size());  // By gang, without nodes that go.
  std::vector<NodeId> last(gangs.size(), kNoNode);
  Members members(snapshot);
  snapshot.alive().ForEach([&](NodeId node) {
    std::optional<bool> is_going;
    for (const PodId pod : snapshot.PodsOn(node)) {
      const PodShape& shape = catalog.shape_of(pod);
      if (shape.gangs.empty()) continue;
      if (!is_going) is_going = IsGoing(catalog, node);
      for (size_t i = 0; i < shape.gangs.size(); ++i) {
        const uint32_t g = shape.gangs[i];
        GangStates::State& state = states.gangs[g];
        members.Add(state, g, shape, i, Runs(shape));
        if (!Runs(shape)) continue;
        ++state.running;
        const bool is_first = std::exchange(last[g], node) != node;
        if (is_first) ++state.nodes;
        if (*is_going) {
          ++state.leaving;
          continue;
        }
        if (is_first) on_nodes[g].push_back({.node = node, .pods = {}});
        on_nodes[g].back().pods.push_back(pod);
      }
    }
  });
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    const PodId pod{p};
    if (!catalog.IsThere(pod) || snapshot.NodeOf(pod) != kNoNode) continue;
    const PodShape& shape = catalog.shape_of(pod);
    for (size_t i = 0; i < shape.gangs.size(); ++i) {
      const uint32_t g = shape.gangs[i];
      members.Add(states.gangs[g], g, shape, i, /*runs=*/false);
    }
  }
  for (uint32_t g = 0; g < gangs.size(); ++g) {
    GangStates::State& state = states.gangs[g];
    members.Settle(g, state);
    const bool has_least = gangs[g].min_count.has_value() || state.declared > 0;
    const bool is_understood = IsUnderstood(gangs[g]);
    if (state.running == 0) continue;
    if (is_understood && state.running == 1 && state.least <= 1 && !HasOthers(state)) continue;
    if (is_understood && gangs[g].one_by_one && !has_least) continue;
    state.held = true;
    int64_t left = state.running - state.leaving - state.least;
    if (!is_understood || !gangs[g].one_by_one || left <= 0) continue;
    for (GangNode& of : on_nodes[g]) Judge(snapshot, of);
    std::ranges::stable_sort(on_nodes[g], std::less());
    for (const GangNode& of : on_nodes[g]) {
      if (std::ssize(of.pods) > left) continue;
      left -= std::ssize(of.pods);
      for (const PodId pod : of.pods) states.may_move.insert({g, pod});
    }
  }
  return states;
}

bool RunsInGang(const PodShape& shape) { return !shape.gangs.empty() && Runs(shape); }

bool MovesWhole(const Catalog& catalog, uint32_t gang) {
  if (gang >= catalog.gang_states().gangs.size()) return false;
  const Gang& of = catalog.gangs()[gang];
  const GangStates::State& state = catalog.gang_states().gangs[gang];
  return IsUnderstood(of) && state.leaving == 0 && state.absent.elsewhere == 0 &&
         state.running >= state.least;
}

ClusterSnapshot WithGangsCounted(const ClusterSnapshot& snapshot) {
  ClusterSnapshot counted(snapshot);
  counted.catalog_ = std::shared_ptr<Catalog>(new Catalog(snapshot.catalog()));
  counted.catalog_->gang_states_ = CountGangs(counted);
  return counted;
}

}  // namespace ebb
