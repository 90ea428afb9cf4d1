// What people and controllers do in a SimulatedCluster besides its load: Deployments get new
// versions, CronJobs run, preview namespaces come and go, and budgets change.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulation/simulated_cluster.h"

namespace ebb {
namespace {

using State = SimulatedPod::State;

// Choices of the model.  No measurement of a real cluster is on record for them.

// Of all Deployments, this many in a thousand get a new version each hour, and as many budgets
// change.
constexpr int64_t kRolloutsPermille = 20;
constexpr int64_t kBudgetsPermille = 20;
constexpr int64_t kHourS = 3600;
// A Deployment replaces a quarter of its pods at a time (the default of maxSurge).
constexpr int64_t kRolloutSteps = 4;
constexpr SimulatedLatency kRolloutStep = {30, 90};
constexpr int64_t kCronEveryS = 300;
constexpr int64_t kCronJobsPermille = 100;  // Of the Jobs of the input; each is like one of them.
constexpr SimulatedLatency kCronJobRuns = {60, 600};
constexpr int64_t kPreviewEveryS = 1800;
constexpr SimulatedLatency kPreviewLives = {3600, 10800};
constexpr size_t kPreviewApps = 3;
constexpr int64_t kPreviewPods = 1;  // Of each application.

// At least one, if there are any.
int64_t Share(size_t all, int64_t permille) {
  const auto number = static_cast<int64_t>(all);
  return std::min(number, std::max<int64_t>(1, number * permille / 1000));
}

}  // namespace

void SimulatedCluster::StartChurn() {
  for (size_t w = 0; w < objects_.workloads().size(); ++w) {
    const Workload& workload = objects_.workloads()[w];
    if (workload.pod_template == kNone || workload.namespace_name == "kube-system") continue;
    if (workload.kind == "ReplicaSet" && workload.object != nullptr) deployments_.push_back(w);
    if (workload.kind == "Job") jobs_.push_back(w);
  }
  At(now_s_ + DrawChurn({1, kHourS}), Kind::kRollouts);
  At(now_s_ + DrawChurn({1, kHourS}), Kind::kBudgets);
  At(now_s_ + DrawChurn({1, kCronEveryS}), Kind::kCron);
  At(now_s_ + DrawChurn({1, kPreviewEveryS}), Kind::kPreview);
}

int64_t SimulatedCluster::DrawChurn(const SimulatedLatency& latency) {
  const auto width = static_cast<uint64_t>(latency.to_s - latency.from_s + 1);
  return latency.from_s + static_cast<int64_t>(churn_random_.Below(width));
}

// Ten hexadecimal digits, as the hash of a pod template or the end of a name.
std::string SimulatedCluster::DrawHash() {
  constexpr uint64_t kTenDigits = uint64_t{1} << 40;
  return absl::StrCat(absl::Hex(churn_random_.Below(kTenDigits), absl::kZeroPad10));
}

// Each Deployment's next ReplicaSet is empty at first, and grows as the one before it shrinks.
void SimulatedCluster::BeginRollouts() {
  At(now_s_ + kHourS, Kind::kRollouts);
  for (int64_t i = Share(deployments_.size(), kRolloutsPermille); i > 0; --i) {
    size_t& current = deployments_[churn_random_.Below(deployments_.size())];
    const std::string hash = DrawHash();
    const Workload& old = objects_.workloads()[current];
    const std::string deployment = old.name.substr(0, old.name.rfind('-'));
    const size_t next =
        objects_.AddWorkloadLike(current, {.namespace_name = old.namespace_name,
                                           .name = absl::StrCat(deployment, "-", hash),
                                           .labels = {{"pod-template-hash", hash}}});
    objects_.workload(next).base = std::exchange(objects_.workload(current).base, 0);
    ++counts_.rollouts;
    At(now_s_, Kind::kRolloutStep, next, static_cast<int64_t>(current));
    current = next;
  }
}

void SimulatedCluster::StepRollout(size_t next, size_t old) {
  const int64_t all = objects_.workloads()[next].base;
  const int64_t step = std::max<int64_t>(1, all / kRolloutSteps);
  const int64_t left = std::max<int64_t>(0, objects_.workloads()[old].wanted - step);
  SetWanted(next, std::max<int64_t>(objects_.workloads()[next].wanted, all - left));
  SetWanted(old, left);
  if (left > 0) {
    At(now_s_ + DrawChurn(kRolloutStep), Kind::kRolloutStep, next, static_cast<int64_t>(old));
  }
}

void SimulatedCluster::RunCronJobs() {
  At(now_s_ + kCronEveryS, Kind::kCron);
  for (int64_t i = Share(jobs_.size(), kCronJobsPermille); i > 0; --i) {
    const size_t like = jobs_[churn_random_.Below(jobs_.size())];
    const Workload& job = objects_.workloads()[like];
    // A CronJob names its Jobs after the minute in which they are due.
    const std::string name = absl::StrCat(job.name, "-", now_s_ / 60, "-", counts_.cron_jobs++);
    const std::string uid = absl::StrCat("uid-of-", name);
    const size_t made =
        objects_.AddWorkloadLike(like, {.namespace_name = job.namespace_name,
                                        .name = name,
                                        .labels = {{"batch.kubernetes.io/controller-uid", uid},
                                                   {"batch.kubernetes.io/job-name", name},
                                                   {"controller-uid", uid},
                                                   {"job-name", name}}});
    SetWanted(made, 1);
    At(now_s_ + DrawChurn(kCronJobRuns), Kind::kWorkloadEnds, made);
  }
}

// Someone tries a change of some applications in a namespace of its own.
void SimulatedCluster::BeginPreview() {
  At(now_s_ + kPreviewEveryS, Kind::kPreview);
  if (deployments_.empty()) return;
  const std::string name = absl::StrCat("preview-", ++counts_.previews);
  objects_.AddNamespace(name, now_s_);
  const int64_t ends_s = now_s_ + DrawChurn(kPreviewLives);
  for (size_t i = 0; i < kPreviewApps; ++i) {
    const size_t like = deployments_[churn_random_.Below(deployments_.size())];
    const std::string hash = DrawHash();
    const size_t made =
        objects_.AddWorkloadLike(like, {.namespace_name = name,
                                        .name = absl::StrCat("app-", i + 1, "-", hash),
                                        .labels = {{"pod-template-hash", hash}}});
    SetWanted(made, kPreviewPods);
    At(ends_s, Kind::kWorkloadEnds, made);
  }
  At(ends_s, Kind::kPreviewEnds, counts_.previews);
}

void SimulatedCluster::EndPreview(size_t number) {
  objects_.RemoveNamespace(absl::StrCat("preview-", number));
}

// All pods of a controller that has done its work go with it.
void SimulatedCluster::EndWorkload(size_t number) {
  const std::set<size_t> pods = objects_.workloads()[number].pods;
  for (const size_t pod : pods) {
    if (objects_.pods()[pod].state == State::kPending) {
      --pending_;
      waiting_.erase(pod);
    }
    objects_.RemovePod(pod);
  }
  objects_.workload(number).lost.clear();
  objects_.SetWanted(number, 0);
  objects_.RemoveController(number);
}

// Someone lets a budget's application miss a pod more or a pod less.
void SimulatedCluster::ChangeBudgets() {
  At(now_s_ + kHourS, Kind::kBudgets);
  const size_t all = objects_.budgets().size();
  for (int64_t i = Share(all, kBudgetsPermille); i > 0; --i) {
    const auto budget = static_cast<size_t>(churn_random_.Below(all));
    objects_.AllowMissing(budget, churn_random_.Below(2) == 0 ? 1 : -1);
    ++counts_.budget_changes;
  }
}

}  // namespace ebb
