#include "simulation/simulated_cluster.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "predicates/pdb_tracker.h"

namespace ebb {
namespace {

using State = SimulatedPod::State;

// The default of the autoscaler's --scan-interval.
constexpr int64_t kGrowEveryS = 10;
// A choice of the model: shorter follows the daily load more closely and costs events.
constexpr int64_t kLoadEveryS = 300;
// A drain as the autoscaler's (core/scaledown/actuation/drain.go): its wait between two looks,
// DefaultEvictionRetryTime and DefaultPodEvictionHeadroom.
constexpr int64_t kDrainPollS = 5;
constexpr int64_t kEvictEveryS = 10;
constexpr int64_t kEndSlackS = 30;
// A choice of the model: a pod that does not end outlasts the drain by the default flags.
constexpr int64_t kNeverEndsS = 3600;
// A choice of the model: how long a pod without a controller runs that lands on a node just before
// its taint.
constexpr SimulatedLatency kBarePodRuns = {600, 1800};
// The default of ScaleDownOptions::recent_eviction_ttl_s: a round ignores older evictions.
constexpr int64_t kRecentEvictionS = 120;

// The time between two faults, at least 1 s, if there are `per_day` of them.
SimulatedLatency Between(int64_t per_day) { return {1, std::max<int64_t>(1, 2 * kDayS / per_day)}; }

}  // namespace

SimulatedCluster::SimulatedCluster(const SimulatedClusterOptions& options)
    : options_(options),
      objects_(options.scheduler),
      scheduler_(options.seed),
      random_(options.seed + 1),
      load_random_(options.seed + 2),
      churn_random_(options.seed + 3),
      now_s_(options.start_s) {}

absl::StatusOr<std::unique_ptr<SimulatedCluster>> SimulatedCluster::Make(
    const Read& read, const GroupsOf& groups_of, const SimulatedClusterOptions& options) {
  std::unique_ptr<SimulatedCluster> cluster(new SimulatedCluster(options));
  if (absl::Status s = read(cluster->objects_); !s.ok()) return s;
  cluster->objects_.Settle();
  cluster->TakeGroups(groups_of(cluster->objects_.Snapshot().catalog()));
  cluster->StartEvents();
  return cluster;
}

void SimulatedCluster::TakeGroups(const NodeGroups& groups) {
  for (const NodeGroup& group : groups.groups) {
    Group& made = groups_.emplace_back();
    made.group = group;
    made.grows = options_.groups_grow &&
                 (options_.group_grows == nullptr || options_.group_grows(group.name));
    made.group.min_size = std::max<int64_t>(made.grows ? 1 : 0, group.min_size);
  }
  const Catalog& catalog = objects_.Snapshot().catalog();
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeGroup* const group = groups.Find(NodeId{n});
    const size_t number = objects_.FindNode(catalog.NodeName(NodeId{n}));
    if (group == nullptr || number == kNone) continue;
    objects_.node(number).group = Index(groups.Of(NodeId{n}));
    Group& of = groups_[Index(groups.Of(NodeId{n}))];
    const NodeInfo& info = catalog.node(NodeId{n});
    if (of.pattern == kNone || (info.ready && !info.unschedulable)) of.pattern = number;
    of.gpu_label = of.gpu_label || groups.HasGpuLabel(NodeId{n});
    ++of.nodes;
  }
  for (Group& group : groups_) {
    if (group.pattern == kNone) continue;
    for (const size_t pod : objects_.nodes()[group.pattern].pods) {
      const size_t workload = objects_.pods()[pod].workload;
      if (workload != kNone && objects_.workloads()[workload].IsDaemonSet()) {
        group.daemon_sets.insert(workload);
      }
    }
  }
}

void SimulatedCluster::StartEvents() {
  for (size_t p = 0; p < objects_.pods().size(); ++p) {
    const SimulatedPod& pod = objects_.pods()[p];
    if (pod.state == State::kPending) AddPending(p);
    if (pod.state == State::kTerminating) At(now_s_ + Draw(options_.end), Kind::kEnd, p);
  }
  if (options_.groups_grow) At(now_s_ + kGrowEveryS, Kind::kGrow);
  if (options_.daily_load) At(now_s_ + kLoadEveryS, Kind::kLoad);
  if (options_.churn) StartChurn();
  const auto first = [&](int64_t per_day, Kind kind) {
    if (per_day > 0) At(now_s_ + Draw(Between(per_day)), kind);
  };
  first(options_.faults.api_away_per_day, Kind::kApiAway);
  first(options_.faults.node_vanishes_per_day, Kind::kVanish);
}

void SimulatedCluster::At(int64_t time_s, Kind kind, size_t what, int64_t detail) {
  events_.push({time_s, events_made_++, kind, what, detail});
}

int64_t SimulatedCluster::Draw(const SimulatedLatency& latency) {
  const int64_t width = latency.to_s - latency.from_s + 1;
  return latency.from_s + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(width)));
}

bool SimulatedCluster::Chance(int64_t permille) {
  return permille > 0 && random_.Below(1000) < static_cast<uint64_t>(permille);
}

void SimulatedCluster::AdvanceTo(int64_t time_s) {
  while (!events_.empty() && events_.top().at_s <= time_s) {
    const Event event = events_.top();
    events_.pop();
    now_s_ = std::max(now_s_, event.at_s);
    Handle(event);
  }
  now_s_ = std::max(now_s_, time_s);
}

void SimulatedCluster::Handle(const Event& event) {
  const auto again = [&](int64_t per_day) { At(now_s_ + Draw(Between(per_day)), event.kind); };
  switch (event.kind) {
    case Kind::kSchedule:
      return Schedule(event.what, event.detail);
    case Kind::kStart:
      if (objects_.pods()[event.what].state == State::kStarting) objects_.StartRunning(event.what);
      return;
    case Kind::kEnd:
      if (objects_.pods()[event.what].state == State::kTerminating) {
        objects_.RemovePod(event.what);
      }
      return;
    case Kind::kBareEnds:
      if (objects_.pods()[event.what].state == State::kRunning) objects_.RemovePod(event.what);
      return;
    case Kind::kReplace:
      return Replace(event.what);
    case Kind::kDrain:
      return GoOnDraining(event.what);
    case Kind::kNodeGone:
      return NodeGone(event.what);
    case Kind::kNodeUp:
      return NodeUp(event.what, static_cast<size_t>(event.detail));
    case Kind::kGrow:
      At(now_s_ + kGrowEveryS, Kind::kGrow);
      return Grow();
    case Kind::kLoad:
      At(now_s_ + kLoadEveryS, Kind::kLoad);
      return ChangeLoad();
    case Kind::kRollouts:
      return BeginRollouts();
    case Kind::kRolloutStep:
      return StepRollout(event.what, static_cast<size_t>(event.detail));
    case Kind::kCron:
      return RunCronJobs();
    case Kind::kPreview:
      return BeginPreview();
    case Kind::kPreviewEnds:
      return EndPreview(event.what);
    case Kind::kWorkloadEnds:
      return EndWorkload(event.what);
    case Kind::kBudgets:
      return ChangeBudgets();
    case Kind::kApiAway:
      api_away_until_s_ = now_s_ + options_.faults.api_away_for_s;
      return again(options_.faults.api_away_per_day);
    case Kind::kVanish:
      Vanish();
      return again(options_.faults.node_vanishes_per_day);
  }
}

// --- The interfaces of the loop ---------------------------------------------------

absl::Status SimulatedCluster::Reach(int64_t now_s) {
  AdvanceTo(now_s);
  if (now_s_ < api_away_until_s_) return absl::UnavailableError("the API is away");
  return absl::OkStatus();
}

// The set of nodes changes seldom, the sizes of groups often.
const NodeGroups& SimulatedCluster::GroupsNow(const ClusterSnapshot& snapshot) {
  const Catalog& catalog = snapshot.catalog();
  if (observed_lineage_ != catalog.lineage() || observed_nodes_ != catalog.node_changes().end() ||
      observed_.group_of.size() != catalog.nodes()) {
    observed_lineage_ = catalog.lineage();
    observed_nodes_ = catalog.node_changes().end();
    observed_.groups.clear();
    for (const Group& group : groups_) observed_.groups.push_back(group.group);
    observed_.group_of.assign(catalog.nodes(), kNoGroup);
    observed_.gpu_label.assign(catalog.nodes(), false);
    snapshot.alive().ForEach([&](NodeId node) {
      const size_t group = objects_.nodes()[objects_.FindNode(catalog.NodeName(node))].group;
      if (group == kNone) return;
      observed_.group_of[Index(node)] = GroupId{static_cast<uint32_t>(group)};
      observed_.gpu_label[Index(node)] = groups_[group].gpu_label;
    });
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    observed_.groups[g].target_size = groups_[g].nodes + groups_[g].booting;
  }
  return observed_;
}

absl::StatusOr<Observation> SimulatedCluster::Observe(int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  Observation observed;
  observed.snapshot = &objects_.Snapshot();
  observed.pending = objects_.Pending();
  observed.events = std::exchange(scale_events_, {});
  observed.groups = GroupsNow(*observed.snapshot);
  observed.objects = [this](ObjectSink& sink) { return objects_.ShowAll(sink); };
  return observed;
}

absl::Status SimulatedCluster::SoftTaint(std::string_view name, bool taint, int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  const size_t number = objects_.FindNode(name);
  if (number == kNone) return absl::NotFoundError(absl::StrCat("node ", Absl(name), " is gone"));
  const SimulatedNode& node = objects_.nodes()[number];
  if (node.soft_taint_s.has_value() == taint) return absl::OkStatus();
  objects_.SetTaints(number, taint ? std::optional(now_s_) : std::nullopt, node.hard_taint_s);
  return absl::OkStatus();
}

absl::Status SimulatedCluster::Taint(std::string_view name, const NodeTaint& taint, bool put,
                                     int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  const size_t number = objects_.FindNode(name);
  if (number == kNone) return absl::NotFoundError(absl::StrCat("node ", Absl(name), " is gone"));
  if (put) {
    objects_.PutTaint(number, taint.key, taint.value, taint.effect);
  } else {
    objects_.TakeTaint(number, taint.key);
  }
  return absl::OkStatus();
}

absl::Status SimulatedCluster::Begin(std::span<const DeletionOrder> orders, int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  if (orders.empty()) return absl::OkStatus();
  for (const DeletionOrder& order : orders) {
    const size_t node = objects_.FindNode(order.node);
    const bool another =
        node == kNone || (!order.uid.empty() && objects_.nodes()[node].uid != order.uid);
    if (another) {
      return absl::NotFoundError(absl::StrCat("node ", order.node, " is gone"));
    }
  }
  if (Chance(options_.faults.pod_before_taint_permille)) {
    const size_t node = objects_.FindNode(orders[random_.Below(orders.size())].node);
    const size_t pod = objects_.AddBarePod(absl::StrCat("bare-", ++bare_named_), node, now_s_);
    At(now_s_ + Draw(kBarePodRuns), Kind::kBareEnds, pod);
  }
  // The API server rejects one of the updates; those made before it are undone.
  if (Chance(options_.faults.taint_fails_permille)) {
    return absl::UnavailableError(
        absl::StrCat("node ", orders[random_.Below(orders.size())].node, ": conflict"));
  }
  for (const DeletionOrder& order : orders) {
    const auto [it, is_new] = deletions_.try_emplace(order.node);
    if (!is_new) continue;
    Deletion& deletion = it->second;
    deletion.order = order;
    deletion.node = objects_.FindNode(order.node);
    deletion.since_s = now_s_;
    for (const PlannedMove& move : order.moves) deletion.planned.emplace(move.uid, move.to);
    objects_.SetTaints(deletion.node, objects_.nodes()[deletion.node].soft_taint_s, now_s_);
  }
  return absl::OkStatus();
}

absl::StatusOr<SimulatedCluster::Deletion*> SimulatedCluster::Find(std::string_view node) {
  const auto it = deletions_.find(std::string(node));
  if (it != deletions_.end()) return &it->second;
  return absl::NotFoundError(absl::StrCat("node ", Absl(node), " is not being deleted"));
}

absl::Status SimulatedCluster::Drain(std::string_view node, int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  const absl::StatusOr<Deletion*> found = Find(node);
  if (!found.ok()) return found.status();
  Deletion& deletion = **found;
  if (deletion.phase == DeletionPhase::kDraining || deletion.phase == DeletionPhase::kDrained) {
    return absl::OkStatus();
  }
  if (deletion.phase != DeletionPhase::kTainted) {
    return absl::FailedPreconditionError(absl::StrCat("node ", Absl(node), " is not just tainted"));
  }
  deletion.phase = DeletionPhase::kDraining;
  deletion.since_s = now_s_;
  const ClusterSnapshot& snapshot = objects_.Snapshot();
  const Catalog& catalog = snapshot.catalog();
  const PdbTracker pdbs(catalog);
  DrainRules rules(catalog, options_.drain, pdbs, now_s_);
  PodsToMove pods;
  rules.GetPodsToMove(snapshot.PodsOn(*catalog.FindNode(node)), pods);
  if (pods.blocked()) {
    Fail(deletion, absl::StrCat("pod ", catalog.PodName(pods.blocking_pod),
                                " blocks: ", Absl(ToString(pods.reason))));
    return absl::OkStatus();
  }
  if (!deletion.order.drain && (!pods.move.empty() || !pods.on_completion.empty())) {
    Fail(deletion, "it was to go empty, and has pods now");
    return absl::OkStatus();
  }
  for (const size_t pod : objects_.nodes()[deletion.node].pods) {
    const PodId id = objects_.IdOf(pod);
    if (std::ranges::count(pods.move, id) > 0) deletion.to_evict.push_back(pod);
  }
  GoOnDraining(deletion.node);
  return absl::OkStatus();
}

absl::Status SimulatedCluster::Delete(std::string_view node, int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  const absl::StatusOr<Deletion*> found = Find(node);
  if (!found.ok()) return found.status();
  Deletion& deletion = **found;
  if (deletion.phase == DeletionPhase::kDeleting) return absl::OkStatus();
  if (deletion.phase != DeletionPhase::kDrained) {
    return absl::FailedPreconditionError(absl::StrCat("node ", Absl(node), " is not drained"));
  }
  deletion.phase = DeletionPhase::kDeleting;
  deletion.since_s = now_s_;
  At(now_s_ + Draw(options_.delete_node), Kind::kNodeGone, deletion.node);
  return absl::OkStatus();
}

absl::Status SimulatedCluster::RollBack(std::string_view node, std::string_view why,
                                        int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  const absl::StatusOr<Deletion*> found = Find(node);
  if (!found.ok()) return found.status();
  const DeletionPhase phase = (*found)->phase;
  if (phase == DeletionPhase::kDraining || phase == DeletionPhase::kDeleting) {
    return absl::FailedPreconditionError(absl::StrCat("node ", Absl(node), " is on its way"));
  }
  EndDeletion(std::string(node), false, std::string(why));
  return absl::OkStatus();
}

absl::Status SimulatedCluster::Grow(std::string_view name, int64_t size, int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  for (size_t number = 0; number < groups_.size(); ++number) {
    Group& group = groups_[number];
    if (group.group.name != name) continue;
    if (size > group.group.max_size) {
      return absl::OutOfRangeError(absl::StrCat("group ", Absl(name), " may have ",
                                                group.group.max_size, " machines, not ", size));
    }
    if (group.pattern == kNone) {
      return absl::FailedPreconditionError(
          absl::StrCat("group ", Absl(name), " never had a node to make others like"));
    }
    while (group.nodes + group.booting < size) Boot(number);
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("no group has the name ", Absl(name)));
}

absl::StatusOr<std::vector<BoughtMachine>> SimulatedCluster::Buy(
    std::span<const MachineOrder> orders, int64_t now_s) {
  if (absl::Status s = Reach(now_s); !s.ok()) return s;
  std::vector<std::pair<size_t, Bought>> boot;  // With the group.
  std::map<size_t, int64_t> more;
  for (const MachineOrder& order : orders) {
    if (std::ranges::find(bought_, order.id, &Bought::id) != bought_.end()) continue;
    const auto group =
        std::ranges::find(groups_, order.group, [](const Group& each) { return each.group.name; });
    if (group == groups_.end()) {
      return absl::NotFoundError(absl::StrCat("no group has the name ", order.group));
    }
    const auto number = static_cast<size_t>(group - groups_.begin());
    if (group->nodes + group->booting + ++more[number] > group->group.max_size) {
      return absl::FailedPreconditionError(
          absl::StrCat("group ", order.group, " may have no more than ", group->group.max_size,
                       " machines; raise its largest size"));
    }
    Bought bought{.id = order.id};
    for (size_t n = 0; n < objects_.nodes().size() && bought.pattern == kNone; ++n) {
      const SimulatedNode& node = objects_.nodes()[n];
      const bool is_like =
          node.group == number &&
          objects_.LabelOf(node, "node.kubernetes.io/instance-type") == order.machine_type &&
          objects_.LabelOf(node, "topology.kubernetes.io/zone") == order.zone;
      if (is_like) bought.pattern = n;
    }
    if (bought.pattern == kNone) {
      return absl::FailedPreconditionError(
          absl::StrCat("group ", order.group, " has no node of type ", order.machine_type,
                       " to make another one like it: a simulation has no other machines"));
    }
    boot.emplace_back(number, std::move(bought));
  }
  for (auto& [group, each] : boot) {
    bought_.push_back(std::move(each));
    Boot(group, bought_.size());
  }
  std::vector<BoughtMachine> machines;
  for (const MachineOrder& order : orders) {
    const Bought& each = *std::ranges::find(bought_, order.id, &Bought::id);
    machines.push_back({.id = each.id,
                        .node = each.node,
                        .ready = !each.node.empty(),
                        .waits_for = each.node.empty() ? "its machine boots" : ""});
  }
  return machines;
}

absl::StatusOr<ActuatorStatus> SimulatedCluster::Status(int64_t now_s) {
  AdvanceTo(now_s);  // The actuator's own state, available even while the API is not.
  ActuatorStatus status;
  for (const auto& [name, deletion] : deletions_) {
    status.running.push_back({.node = name,
                              .group = deletion.order.group,
                              .drain = deletion.order.drain,
                              .batch_size = deletion.order.batch_size,
                              .phase = deletion.phase,
                              .since_s = deletion.since_s,
                              .why = deletion.why});
  }
  status.results = results_;
  std::erase_if(evicted_, [&](const EvictedPod& pod) {
    return now_s_ - pod.evicted_at_s > kRecentEvictionS;
  });
  status.recent_evictions = evicted_;
  return status;
}

void SimulatedCluster::Acknowledge(size_t results) {
  const auto taken = static_cast<std::ptrdiff_t>(std::min(results, results_.size()));
  results_.erase(results_.begin(), results_.begin() + taken);
}

// --- Draining ------------------------------------------------------------------------

void SimulatedCluster::Fail(Deletion& deletion, std::string why) {
  deletion.phase = DeletionPhase::kFailed;
  deletion.since_s = now_s_;
  deletion.why = std::move(why);
}

void SimulatedCluster::EndDeletion(const std::string& node, bool ok, std::string why) {
  const auto it = deletions_.find(node);
  if (it == deletions_.end()) return;
  const Deletion deletion = std::move(it->second);
  deletions_.erase(it);
  const SimulatedNode& of = objects_.nodes()[deletion.node];
  if (of.there) objects_.SetTaints(deletion.node, of.soft_taint_s, std::nullopt);
  ++(ok ? counts_.nodes_deleted : counts_.deletions_failed);
  results_.push_back({.node = node,
                      .group = deletion.order.group,
                      .ok = ok,
                      .at_s = now_s_,
                      .why = std::move(why)});
}

void SimulatedCluster::Evict(size_t pod, const Deletion& deletion) {
  const SimulatedPod& evicted = objects_.pods()[pod];
  evicted_.push_back({.namespace_name = evicted.namespace_name,
                      .name = evicted.name,
                      .uid = evicted.uid,
                      .evicted_at_s = now_s_});
  ++counts_.evictions;
  const auto planned = deletion.planned.find(evicted.uid);
  Lose(pod, planned == deletion.planned.end() ? "" : planned->second);
  objects_.Terminate(pod, now_s_);
  const int64_t grace_s = objects_.templates()[evicted.pod_template].grace_s;
  const int64_t ends_in_s = Chance(options_.faults.never_ends_permille)
                                ? kNeverEndsS
                                : std::min(Draw(options_.end), std::max<int64_t>(1, grace_s));
  At(now_s_ + ends_in_s, Kind::kEnd, pod);
}

std::string SimulatedCluster::TryEvict(size_t number, const Deletion& deletion) {
  SimulatedPod& pod = objects_.pod(number);
  const std::vector<size_t>& budgets = objects_.templates()[pod.pod_template].budgets;
  if (pod.evictions_refused_until_s < 0) {
    const bool refused = Chance(options_.faults.eviction_refused_permille);
    pod.evictions_refused_until_s = refused ? now_s_ + options_.faults.eviction_refused_for_s : 0;
  }
  if (now_s_ < pod.evictions_refused_until_s) {
    ++counts_.fault_refusals;
    return "its eviction is refused";
  }
  // A pod that does not run yet is not protected by budgets.
  if (pod.state == State::kRunning) {
    if (!objects_.budgets().MayEvict(budgets)) {
      ++counts_.pdb_refusals;
      return "its disruption budget holds it";
    }
    for (const size_t budget : budgets) {
      if (!options_.recount_budgets) break;
      if (objects_.CountHealthy(budget) - 1 >= objects_.budgets().Desired(budget)) continue;
      violations_.push_back(absl::StrCat("pod ", pod.name, " was evicted against its budget"));
    }
  }
  Evict(number, deletion);
  return "";
}

void SimulatedCluster::GoOnDraining(size_t node) {
  const auto it = deletions_.find(objects_.nodes()[node].name);
  if (it == deletions_.end() || it->second.node != node) return;
  Deletion& deletion = it->second;
  if (deletion.phase != DeletionPhase::kDraining) return;
  const int64_t drains_for_s = now_s_ - deletion.since_s;
  const bool api_is_there = now_s_ >= api_away_until_s_;
  std::string refused;
  bool all_gone = true;
  for (const size_t number : deletion.to_evict) {
    const SimulatedPod& pod = objects_.pods()[number];
    if (pod.state == State::kGone) continue;
    all_gone = false;
    if (pod.state == State::kTerminating) continue;
    std::string why = "the API is away";
    if (api_is_there && drains_for_s % kEvictEveryS == 0) why = TryEvict(number, deletion);
    if (!why.empty()) refused = absl::StrCat("pod ", pod.name, " was not evicted: ", why);
  }
  if (all_gone) {
    if (deletion.order.drain) counts_.drains_s.push_back(drains_for_s);
    deletion.phase = DeletionPhase::kDrained;
    deletion.since_s = now_s_;
    return;
  }
  if (!refused.empty() && drains_for_s >= options_.max_pod_eviction_time_s) {
    return Fail(deletion, std::move(refused));
  }
  if (drains_for_s >=
      options_.max_pod_eviction_time_s + options_.max_graceful_termination_s + kEndSlackS) {
    return Fail(deletion, "a pod does not end");
  }
  At(now_s_ + kDrainPollS, Kind::kDrain, node);
}

void SimulatedCluster::NodeGone(size_t node) {
  const SimulatedNode& gone = objects_.nodes()[node];
  if (!gone.there) return;  // The node has vanished meanwhile.
  const std::string name = gone.name;
  EmptyNode(node, /*killed=*/true);
  objects_.RemoveNode(node);
  if (gone.group != kNone) --groups_[gone.group].nodes;
  EndDeletion(name, true, "");
}

absl::Status SimulatedCluster::CheckSound() {
  if (!violations_.empty()) return absl::InternalError(violations_.front());
  for (const SimulatedNode& node : objects_.nodes()) {
    const bool in_deletion = deletions_.contains(node.name);
    if (node.there && node.hard_taint_s.has_value() != in_deletion) {
      return absl::InternalError(absl::StrCat("node ", node.name,
                                              in_deletion
                                                  ? " is being deleted without a taint"
                                                  : " is tainted, and no deletion is under way"));
    }
  }
  for (const Workload& workload : objects_.workloads()) {
    if (workload.IsOfNodes()) continue;
    const int64_t all =
        static_cast<int64_t>(workload.pods.size()) + static_cast<int64_t>(workload.lost.size());
    if (all == workload.wanted) continue;
    return absl::InternalError(absl::StrCat(workload.kind, " ", workload.name, " wants ",
                                            workload.wanted, " pods, and has ", all));
  }
  return objects_.CheckSound();
}

}  // namespace ebb
