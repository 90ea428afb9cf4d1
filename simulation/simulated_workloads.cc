// What happens in a SimulatedCluster without the loop: pods are scheduled and replaced, groups
// grow, the load changes, nodes vanish.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "predicates/filters.h"
#include "simulation/simulated_cluster.h"

namespace ebb {
namespace {

using State = SimulatedPod::State;

// Choices of the model.  No measurement of a real cluster is on record for them.

// A pod that fits nowhere is tried again after 5, 10, 20 and 40 seconds, and then every kRetryMaxS.
constexpr int64_t kRetryFirstS = 5;
constexpr int64_t kRetryMaxS = 60;
// Nodes that are booted for one pod, if it does not run on the first.
constexpr int64_t kNodesForAPodMax = 3;
// How far the daily load is above and below its mean.
constexpr double kLoadSwing = 0.25;
// At each change of load: the chance that a pod of a Job ends, and that the replicas of a
// Deployment follow the load.
constexpr double kJobPodEnds = 0.02;
constexpr double kReplicasFollow = 0.2;

// The number of pods of a Deployment at this time of day, relative to its initial number: lowest at
// 2:00, highest at 14:00.
double LoadAt(int64_t time_s) {
  const double hours = static_cast<double>(time_s % kDayS) / 3600;
  return 1 - kLoadSwing * std::cos(2 * std::numbers::pi * (hours - 2) / 24);
}

int64_t Asked(const Requests& requests, ResourceId resource) {
  for (const ResourceQuantity& each : requests) {
    if (each.resource == resource) return each.amount;
  }
  return 0;
}

}  // namespace

void SimulatedCluster::AddPending(size_t pod) {
  ++pending_;
  At(now_s_ + Draw(options_.schedule), Kind::kSchedule, pod, 0);
}

void SimulatedCluster::Schedule(size_t number, int64_t tries) {
  if (objects_.pods()[number].state != State::kPending) return;
  const ClusterSnapshot& snapshot = objects_.Snapshot();
  const Catalog& catalog = snapshot.catalog();
  std::vector<NodeId> peers;
  if (const size_t workload = objects_.pods()[number].workload; workload != kNone) {
    for (const size_t peer : objects_.workloads()[workload].pods) {
      const size_t node = objects_.pods()[peer].node;
      if (node != kNone) peers.push_back(*catalog.FindNode(objects_.nodes()[node].name));
    }
  }
  const NodeId chosen = scheduler_.Choose(snapshot, objects_.IdOf(number), peers);
  const std::string node = chosen == kNoNode ? "" : std::string(catalog.NodeName(chosen));
  SimulatedPod& pod = objects_.pod(number);
  if (chosen == kNoNode || !objects_.Bind(number, objects_.FindNode(node))) {
    if (tries == 0) ++counts_.pods_waited;
    pod.had_to_wait = true;
    waiting_.try_emplace(number);
    const int64_t wait_s = std::min(kRetryMaxS, kRetryFirstS << std::min<int64_t>(tries, 4));
    At(now_s_ + wait_s, Kind::kSchedule, number, tries + 1);
    return;
  }
  --pending_;
  waiting_.erase(number);
  ++counts_.pods_scheduled;
  if (pod.had_to_wait) {
    counts_.pod_wait_s += now_s_ - pod.created_s;
    counts_.pod_wait_max_s = std::max(counts_.pod_wait_max_s, now_s_ - pod.created_s);
  }
  if (!pod.planned_node.empty()) {
    ++counts_.planned;
    counts_.landed_as_planned += node == pod.planned_node ? 1 : 0;
  }
  At(now_s_ + Draw(options_.start), Kind::kStart, number);
}

// The pod's controller will replace it.
void SimulatedCluster::Lose(size_t number, std::string planned_node) {
  const SimulatedPod& pod = objects_.pods()[number];
  if (pod.workload == kNone) return;
  Workload& workload = objects_.workload(pod.workload);
  if (workload.IsOfNodes()) return;
  workload.lost.push_back({pod.name, pod.pod_template, std::move(planned_node)});
  At(now_s_ + Draw(options_.replace), Kind::kReplace, pod.workload);
}

void SimulatedCluster::Replace(size_t number) {
  Workload& workload = objects_.workload(number);
  std::deque<Workload::Lost> later;
  while (!workload.lost.empty()) {
    Workload::Lost lost = std::move(workload.lost.front());
    workload.lost.pop_front();
    std::string name = lost.name;
    if (!workload.KeepsNames()) {
      do {
        name = absl::StrCat(workload.name, "-m", ++workload.made);
      } while (objects_.HasPod(workload.namespace_name, name));
    } else if (objects_.HasPod(workload.namespace_name, lost.name)) {
      later.push_back(std::move(lost));
      continue;
    }
    const size_t pod = objects_.AddPod(lost.pod_template, number, workload.namespace_name,
                                       std::move(name), kNone, now_s_);
    objects_.pod(pod).planned_node = std::move(lost.planned_node);
    AddPending(pod);
  }
  workload.lost = std::move(later);
  if (!workload.lost.empty()) At(now_s_ + 2, Kind::kReplace, number);
}

// --- Groups ----------------------------------------------------------------------------

// Whether a node like those of the group would take the pod, judging by one of its nodes.
bool SimulatedCluster::GroupTakes(size_t group, const ClusterSnapshot& snapshot, PodId pod,
                                  int64_t devices) {
  const Catalog& catalog = snapshot.catalog();
  const PodShape& shape = catalog.shape_of(pod);
  if (!PreFilter(snapshot, shape).fits) return false;
  for (const SimulatedNode& node : objects_.nodes()) {
    if (!node.there || node.hard_taint_s || node.group != group) continue;
    const NodeId id = *catalog.FindNode(node.name);
    if (catalog.node(id).unschedulable) continue;
    if (devices > objects_.DevicesOf(node)) return false;
    for (const ResourceQuantity& asked : shape.fit_requests) {
      if (asked.amount > snapshot.Allocatable(asked.resource, id)) return false;
    }
    return StaticFits(snapshot, shape, id);
  }
  return false;
}

bool SimulatedCluster::TakeUpcomingRoom(Group& group, const std::vector<int64_t>& asked) {
  for (std::vector<int64_t>& room : group.room) {
    bool fits = true;
    for (size_t i = 0; i < asked.size(); ++i) fits = fits && asked[i] <= room[i];
    if (!fits) continue;
    for (size_t i = 0; i < asked.size(); ++i) room[i] -= asked[i];
    return true;
  }
  return false;
}

void SimulatedCluster::Boot(size_t number, size_t bought) {
  Group& group = groups_[number];
  ++group.booting;
  const size_t pattern = bought > 0 ? bought_[bought - 1].pattern : group.pattern;
  group.room.push_back(objects_.RoomOfEmpty(objects_.nodes()[pattern], group.daemon_sets));
  scale_events_.push_back({ScaleEventKind::kScaleUp, group.group.name, now_s_});
  At(now_s_ + Draw(options_.boot), Kind::kNodeUp, number, static_cast<int64_t>(bought));
}

void SimulatedCluster::Grow() {
  if (waiting_.empty()) return;
  const ClusterSnapshot& snapshot = objects_.Snapshot();
  for (auto& [pod, waiting] : waiting_) {
    if (waiting.booted >= kNodesForAPodMax || now_s_ < waiting.has_room_until_s) continue;
    const PodId id = objects_.IdOf(pod);
    const PodShape& shape = snapshot.catalog().shape_of(id);
    const std::vector<int64_t> asked = {Asked(shape.charge_requests, kCpu),
                                        Asked(shape.charge_requests, kMemory), 1,
                                        objects_.DevicesRequested(pod)};
    std::vector<size_t> takers;
    bool has_room = false;
    for (size_t g = 0; g < groups_.size() && !has_room; ++g) {
      Group& group = groups_[g];
      if (group.pattern == kNone || !group.grows) continue;
      if (group.nodes + group.booting >= group.group.max_size) continue;
      if (!GroupTakes(g, snapshot, id, asked[3])) continue;
      has_room = TakeUpcomingRoom(group, asked);
      takers.push_back(g);
    }
    if (!has_room && takers.empty()) continue;
    waiting.has_room_until_s = now_s_ + options_.boot.to_s + kRetryMaxS;
    if (has_room) continue;
    const size_t chosen = takers[random_.Below(takers.size())];
    ++waiting.booted;
    Boot(chosen);
    (void)TakeUpcomingRoom(groups_[chosen], asked);
  }
}

void SimulatedCluster::NodeUp(size_t number, size_t bought) {
  Group& group = groups_[number];
  --group.booting;
  if (!group.room.empty()) group.room.erase(group.room.begin());
  ++group.nodes;
  ++(bought > 0 ? counts_.nodes_bought : counts_.nodes_added);
  std::string name;
  do {
    name = absl::StrCat(group.group.name, "-new-", ++nodes_named_);
  } while (objects_.FindNode(name) != kNone);
  const size_t pattern = bought > 0 ? bought_[bought - 1].pattern : group.pattern;
  if (bought > 0) bought_[bought - 1].node = name;
  const size_t node = objects_.AddNode(pattern, name, now_s_);
  for (const size_t w : group.daemon_sets) {
    const Workload& workload = objects_.workloads()[w];
    const size_t pod = objects_.AddPod(workload.pod_template, w, workload.namespace_name,
                                       absl::StrCat(workload.name, "-", name), node, now_s_);
    At(now_s_ + Draw(options_.start), Kind::kStart, pod);
  }
}

// Takes all pods off a node that is removed.  `killed`: the drain should have left no pods of
// controllers.
void SimulatedCluster::EmptyNode(size_t node, bool killed) {
  const std::set<size_t> pods = objects_.nodes()[node].pods;
  for (const size_t pod : pods) {
    const SimulatedPod& on_node = objects_.pods()[pod];
    const bool is_kept = on_node.workload != kNone &&
                         !objects_.workloads()[on_node.workload].IsOfNodes() &&
                         on_node.state != State::kTerminating;
    if (killed && is_kept) ++counts_.killed_with_node;
    if (killed && on_node.workload == kNone && on_node.state == State::kRunning &&
        !objects_.IsSkipped(pod)) {
      violations_.push_back(absl::StrCat("pod ", on_node.name, " was lost with its node"));
    }
    if (is_kept) Lose(pod, "");
    objects_.RemovePod(pod);
  }
}

void SimulatedCluster::Vanish() {
  std::vector<size_t> candidates;
  for (size_t n = 0; n < objects_.nodes().size(); ++n) {
    if (objects_.nodes()[n].there && objects_.nodes()[n].group != kNone) candidates.push_back(n);
  }
  if (candidates.size() < 2) return;
  const size_t node = candidates[random_.Below(candidates.size())];
  const std::string name = objects_.nodes()[node].name;
  const size_t group = objects_.nodes()[node].group;
  const bool was_going = deletions_.contains(name);
  EmptyNode(node, /*killed=*/false);
  objects_.RemoveNode(node);
  ++counts_.nodes_vanished;
  --groups_[group].nodes;
  if (was_going) {
    EndDeletion(name, true, "it vanished");
  } else {
    Boot(group);
  }
}

// --- Load ------------------------------------------------------------------------------

void SimulatedCluster::SetWanted(size_t number, int64_t wanted) {
  Workload& workload = objects_.workload(number);
  const int64_t before = workload.wanted;
  if (wanted == before) return;
  objects_.SetWanted(number, wanted);
  for (int64_t i = before; i < wanted; ++i) {
    workload.lost.push_back({"", workload.pod_template, ""});
  }
  if (wanted > before) At(now_s_ + Draw(options_.replace), Kind::kReplace, number);
  for (int64_t i = wanted; i < before; ++i) {
    if (!workload.lost.empty()) {
      workload.lost.pop_back();
      continue;
    }
    // The newest pod is removed first; pods that still wait for a node are mostly the newest.
    const size_t pod = *workload.pods.rbegin();
    if (objects_.pods()[pod].state == State::kPending) {
      --pending_;
      waiting_.erase(pod);
      objects_.RemovePod(pod);
    } else {
      objects_.Terminate(pod, now_s_);
      At(now_s_ + Draw(options_.end), Kind::kEnd, pod);
    }
  }
}

absl::Status SimulatedCluster::Want(std::string_view namespace_name, std::string_view name,
                                    int64_t pods) {
  for (size_t w = 0; w < objects_.workloads().size(); ++w) {
    const Workload& workload = objects_.workloads()[w];
    if (workload.kind != "ReplicaSet" || workload.namespace_name != namespace_name ||
        workload.name != name) {
      continue;
    }
    if (pods < 0) return absl::InvalidArgumentError(absl::StrCat(pods, " pods cannot be wanted"));
    if (workload.pod_template == kNone) {
      return absl::FailedPreconditionError(
          absl::StrCat("ReplicaSet ", Absl(namespace_name), "/", Absl(name), " never had a pod"));
    }
    SetWanted(w, pods);
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("there is no ReplicaSet ", Absl(namespace_name), "/", Absl(name)));
}

// One pod of the Job has finished, and another one begins.
void SimulatedCluster::EndJobPod(size_t number) {
  const Workload& workload = objects_.workloads()[number];
  for (const size_t pod : workload.pods) {
    if (objects_.pods()[pod].state != State::kRunning) continue;
    Lose(pod, "");
    objects_.RemovePod(pod);
    return;
  }
}

void SimulatedCluster::ChangeLoad() {
  const double load = LoadAt(now_s_) / (options_.load_is_of_start ? LoadAt(options_.start_s) : 1);
  for (size_t w = 0; w < objects_.workloads().size(); ++w) {
    const Workload& workload = objects_.workloads()[w];
    // Drawn for every workload, so that the load does not depend on the state of others.
    const double noise = load_random_.Unit();
    if (workload.kind == "Job" && noise < kJobPodEnds) EndJobPod(w);
    if (workload.kind != "ReplicaSet" || workload.namespace_name == "kube-system") continue;
    if (noise > kReplicasFollow) continue;  // Each is adjusted about every 25 minutes.
    const auto wanted =
        static_cast<int64_t>(std::lround(static_cast<double>(workload.base) * load));
    SetWanted(w, std::max<int64_t>(std::min<int64_t>(1, workload.base), wanted));
  }
}

}  // namespace ebb
