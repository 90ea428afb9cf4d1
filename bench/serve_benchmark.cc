// The daemon (daemon), called over its socket by a client in the same process: a plan after
// changes, a plan without changes, a round while nodes are deleted, and many pods in a stream.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/rows.h"
#include "bench/workloads.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "platform/clock.h"
#include "snapshot/formats/binary_snapshot.h"

namespace ebb::bench {
namespace {

using benchmark::State;

constexpr int64_t kNow = int64_t{1} << 31;

// --- Pods as client-go marshals them ----------------------------------------------------

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}
// A field of a message: its number, then the length, then the bytes.
std::string Field(int number, std::string_view bytes) {
  return absl::StrCat(Varint(static_cast<uint64_t>(number) << 3 | 2), Varint(bytes.size()),
                      std::string(bytes));
}

// A pod of a ReplicaSet, with the field numbers of k8s.io/api: metadata, spec, status.
std::string PodBytes(const std::string& name, const std::string& node) {
  const std::string owner = Field(1, "ReplicaSet") + Field(3, "web") + Field(4, "rs") +
                            Field(5, "apps/v1") + std::string("\x30\x01", 2);
  const std::string meta = Field(1, name) + Field(3, "default") + Field(5, "uid-" + name) +
                           Field(11, Field(1, "app") + Field(2, "web")) + Field(13, owner);
  const std::string request = Field(1, "cpu") + Field(2, Field(1, "1m"));
  const std::string container = Field(1, "c") + Field(2, "image") + Field(8, Field(2, request));
  const std::string spec = Field(2, container) + Field(10, node);
  const std::string raw = Field(1, meta) + Field(2, spec) + Field(3, Field(1, "Running"));
  const std::string type = Field(1, "v1") + Field(2, "Pod");
  return std::string("k8s\0", 4) + Field(1, type) + Field(2, raw);
}

// --- A daemon ------------------------------------------------------------------------------

class Served {
 public:
  absl::Status Start() {
    std::string folder = (std::filesystem::temp_directory_path() / "ebb-bench-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    DaemonOptions options;
    options.listener.path = folder_ + "/e.sock";
    options.session.clock_s = [] { return kNow; };
    options.session.state_folder = folder_ + "/states";
    std::filesystem::create_directory(options.session.state_folder);
    options.message_bytes_max = size_t{1} << 30;
    absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(std::move(options));
    if (!daemon.ok()) return daemon.status();
    daemon_ = *std::move(daemon);
    absl::StatusOr<std::unique_ptr<PlannerClient>> client = Connect();
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
    return absl::OkStatus();
  }
  ~Served() {
    client_.reset();
    daemon_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  absl::StatusOr<std::unique_ptr<PlannerClient>> Connect() const {
    return PlannerClient::Connect("unix:" + folder_ + "/e.sock");
  }
  PlannerClient& client() { return *client_; }

  absl::Status Load(const std::string& session, const std::string& workload) {
    return client_
        ->Load(session, wire::Settings(),
               [&](const PlannerClient::Write& write) {
                 BinarySnapshotWriter writer(write);
                 if (absl::Status s = WriteWorkload(workload, writer); !s.ok()) return s;
                 return writer.Finish();
               })
        .status();
  }

 private:
  std::string folder_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<PlannerClient> client_;
};

wire::PlanCall PlanOf(const std::string& session, int64_t now) {
  wire::PlanCall call;
  call.mutable_input()->set_session(session);
  call.mutable_input()->set_now(now);
  // The uniform cluster has no PodDisruptionBudget, as an incomplete dump has none.
  call.mutable_input()->set_allow_incomplete(true);
  call.set_form(wire::AS_NAMES);
  return call;
}

// Replaces the `pods` pods of the round before by as many new ones; pod p runs on `node_of(p)`.
using NodeOf = std::function<std::string(size_t pod)>;
wire::ApplyRequest Replace(const std::string& session, int64_t round, size_t pods,
                           const NodeOf& node_of) {
  wire::ApplyRequest request;
  request.set_session(session);
  for (size_t p = 0; p < pods; ++p) {
    if (round > 0) {
      wire::Deletion& gone = *request.add_changes()->mutable_delete_();
      gone.set_kind("Pod");
      gone.set_namespace_("default");
      gone.set_name(absl::StrCat("new-", round - 1, "-", p));
    }
    request.add_changes()->set_put_protobuf(
        PodBytes(absl::StrCat("new-", round, "-", p), node_of(p)));
  }
  return request;
}

void ReportPercentiles(std::vector<double>& seconds, State& state) {
  if (seconds.empty()) return;
  std::ranges::sort(seconds);
  state.counters["p50_ms"] = seconds[seconds.size() / 2] * 1e3;
  state.counters["p99_ms"] = seconds[seconds.size() * 99 / 100] * 1e3;
}

// --- Rows ----------------------------------------------------------------------------------

void PlanUnchanged(State& state, const std::string& workload) {
  Served served;
  absl::Status ready = served.Start();
  if (ready.ok()) ready = served.Load("s", workload);
  if (!ready.ok()) return state.SkipWithError(ready.ToString().c_str());
  std::vector<double> seconds;
  for (auto _ : state) {
    const auto start = Clock::now();
    const auto reply = served.client().Plan(PlanOf("s", kNow));
    if (!reply.ok()) return state.SkipWithError(reply.status().ToString().c_str());
    seconds.push_back(SecondsSince(start));
  }
  ReportPercentiles(seconds, state);
}

// Replaces 1% of the pods, then asks for a plan.  `beside`: the workload of another session, for
// which plans are made all the time; "": no other session.
void ChurnAndPlan(State& state, const std::string& workload, size_t nodes, size_t pods,
                  const std::string& beside) {
  Served served;
  absl::Status ready = served.Start();
  if (ready.ok()) ready = served.Load("s", workload);
  if (ready.ok() && !beside.empty()) ready = served.Load("large", beside);
  if (!ready.ok()) return state.SkipWithError(ready.ToString().c_str());
  std::jthread other;
  if (!beside.empty()) {
    other = std::jthread([&served](const std::stop_token& stop) {
      const auto client = served.Connect();
      for (int64_t now = kNow; !stop.stop_requested() && client.ok(); ++now) {
        (void)(*client)->Plan(PlanOf("large", now));
      }
    });
  }
  // These are not measured.  The first plan also counts the loaded objects.  The first pods of a
  // new shape may part two counts that one table stood for, and then all pods are counted once.
  const NodeOf spread = [nodes](size_t pod) { return absl::StrCat("node-", (pod * 7919) % nodes); };
  const auto first_pods = served.client().Apply(Replace("s", 0, pods, spread));
  const auto first_plan = served.client().Plan(PlanOf("s", kNow));
  if (!first_pods.ok()) return state.SkipWithError(first_pods.status().ToString().c_str());
  if (!first_plan.ok()) return state.SkipWithError(first_plan.status().ToString().c_str());
  std::vector<double> seconds;
  int64_t round = 1;
  for (auto _ : state) {
    state.PauseTiming();
    const wire::ApplyRequest changes = Replace("s", round, pods, spread);
    state.ResumeTiming();
    const auto start = Clock::now();
    const auto taken = served.client().Apply(changes);
    const auto reply = served.client().Plan(PlanOf("s", kNow + round));
    if (!taken.ok()) return state.SkipWithError(taken.status().ToString().c_str());
    if (!reply.ok()) return state.SkipWithError(reply.status().ToString().c_str());
    seconds.push_back(SecondsSince(start));
    ++round;
  }
  ReportPercentiles(seconds, state);
}

double PercentileMs(std::vector<double>& seconds, size_t percent) {
  if (seconds.empty()) return 0;
  std::ranges::sort(seconds);
  return seconds[seconds.size() * percent / 100] * 1e3;
}

// Replaces 1% of the pods, then asks for what differs from the last stable plan.  The time is that
// of the plan's call; the counters `apply_p50_ms` and `cpu_p50_ms` are that of the changes' call,
// and the CPU time that the process spends on both ends of the plan's call.
void ChurnAndStablePlan(State& state, const std::string& workload, size_t nodes, size_t pods) {
  constexpr int kPlansBefore = 12;
  Served served;
  absl::Status ready = served.Start();
  if (ready.ok()) ready = served.Load("s", workload);
  if (!ready.ok()) return state.SkipWithError(ready.ToString().c_str());
  std::string since;
  std::vector<double> seconds;
  std::vector<double> apply_seconds;
  std::vector<double> cpu_seconds;
  double bytes = 0;
  double whole = 0;
  int64_t round = 0;
  const auto step = [&] {
    const NodeOf spread = [&](size_t pod) {
      return absl::StrCat("node-", ((pod + static_cast<size_t>(round) * 101) * 7919) % nodes);
    };
    const wire::ApplyRequest changes = Replace("s", round, pods, spread);
    wire::PlanCall call = PlanOf("s", kNow + round++);
    call.set_form(wire::AS_DATA);
    call.mutable_input()->mutable_stable();
    call.set_since_version(since);
    const auto before = Clock::now();
    const auto taken = served.client().Apply(changes);
    const auto start = Clock::now();
    const std::clock_t cpu = std::clock();
    const auto reply = served.client().Plan(call);
    const double used = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    const double took = SecondsSince(start);
    if (!taken.ok() || !reply.ok()) {
      state.SkipWithError((taken.ok() ? reply.status() : taken.status()).ToString().c_str());
      return took;
    }
    since = reply->plan_version();
    seconds.push_back(took);
    apply_seconds.push_back(SecondsSince(before) - took);
    cpu_seconds.push_back(used);
    bytes += static_cast<double>(reply->ByteSizeLong());
    whole += reply->whole() ? 1 : 0;
    return took;
  };
  for (int plan = 0; plan < kPlansBefore; ++plan) step();
  seconds.clear();
  apply_seconds.clear();
  cpu_seconds.clear();
  bytes = whole = 0;
  for (auto _ : state) state.SetIterationTime(step());
  if (seconds.empty()) return;
  ReportPercentiles(seconds, state);
  state.counters["apply_p50_ms"] = PercentileMs(apply_seconds, 50);
  state.counters["cpu_p50_ms"] = PercentileMs(cpu_seconds, 50);
  state.counters["cpu_p99_ms"] = PercentileMs(cpu_seconds, 99);
  state.counters["bytes"] = benchmark::Counter(bytes, benchmark::Counter::kAvgIterations);
  state.counters["whole"] = whole;
}

wire::RoundCall RoundOf(const std::string& session, int64_t now) {
  wire::RoundCall call;
  call.set_form(wire::AS_DATA);  // As the loop does.
  call.mutable_input()->set_session(session);
  call.mutable_input()->set_now(now);
  return call;
}

// Replaces one pod, then asks for a round while ten deletions are under way.  The round's state is
// persisted before the reply.
void RoundUnderDeletions(State& state, const std::string& workload) {
  constexpr int kDeletions = 10;
  constexpr int64_t kInterval = 10;
  Served served;
  absl::Status ready = served.Start();
  if (ready.ok()) ready = served.Load("s", workload);
  if (!ready.ok()) return state.SkipWithError(ready.ToString().c_str());
  // A node is deleted only after it has been unneeded for ten minutes.
  int64_t now = kNow;
  absl::StatusOr<wire::RoundReply> reply = served.client().Round(RoundOf("s", now));
  for (int round = 0; reply.ok() && reply->deletions().empty() && round < 100; ++round) {
    reply = served.client().Round(RoundOf("s", now += kInterval));
  }
  if (!reply.ok()) return state.SkipWithError(reply.status().ToString().c_str());
  wire::ActuationReport report;
  report.set_session("s");
  std::set<std::string, std::less<>> leaving;
  for (const wire::OrderedDeletion& ordered : reply->deletions()) {
    if (report.begun_size() == kDeletions) break;
    wire::BegunDeletion& begun = *report.add_begun();
    begun.set_node(ordered.node());
    begun.set_group(ordered.group());
    begun.set_drained(ordered.drain());
    leaving.insert(ordered.node());
  }
  if (leaving.empty()) return state.SkipWithError("no node goes");
  const absl::StatusOr<Workload*> cluster = GetWorkload(workload);
  if (!cluster.ok()) return state.SkipWithError(cluster.status().ToString().c_str());
  std::string stays;
  for (const NodeId node : (*cluster)->candidates) {
    const std::string_view name = (*cluster)->snapshot.catalog().NodeName(node);
    if (!leaving.contains(name)) stays = name;
  }
  state.counters["deletions"] = report.begun_size();
  const auto taken = served.client().ReportActuation(report);
  if (!taken.ok()) return state.SkipWithError(taken.status().ToString().c_str());
  std::vector<double> seconds;
  std::vector<double> cpu_seconds;
  int64_t round = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const auto put = served.client().Apply(Replace("s", round, 1, [&](size_t) { return stays; }));
    if (!put.ok()) return state.SkipWithError(put.status().ToString().c_str());
    now += kInterval;
    ++round;
    state.ResumeTiming();
    const auto start = Clock::now();
    const std::clock_t cpu = std::clock();
    reply = served.client().Round(RoundOf("s", now));
    if (!reply.ok()) return state.SkipWithError(reply.status().ToString().c_str());
    cpu_seconds.push_back(static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
    seconds.push_back(SecondsSince(start));
  }
  ReportPercentiles(seconds, state);
  state.counters["cpu_p50_ms"] = PercentileMs(cpu_seconds, 50);
}

void StreamPods(State& state, size_t pods) {
  constexpr size_t kBatch = 1000;
  std::vector<wire::SyncRequest> batches(pods / kBatch);
  for (size_t p = 0; p < pods; ++p) {
    batches[p / kBatch].add_changes()->set_put_protobuf(
        PodBytes(absl::StrCat("p-", p), absl::StrCat("node-", p % 5000)));
  }
  for (auto _ : state) {
    state.PauseTiming();
    Served served;
    const absl::Status ready = served.Start();
    if (!ready.ok()) return state.SkipWithError(ready.ToString().c_str());
    size_t next = 0;
    state.ResumeTiming();
    const auto version = served.client().Sync([&](wire::SyncRequest& request) {
      if (next == batches.size()) return false;
      request = batches[next++];
      return true;
    });
    if (!version.ok()) return state.SkipWithError(version.status().ToString().c_str());
    state.PauseTiming();
    if (*version != batches.size()) return state.SkipWithError("a batch is missing");
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(pods));
}

}  // namespace

void RegisterServeRows() {
  using benchmark::RegisterBenchmark;
  const auto add = [](const std::string& name, const auto& row) {
    RegisterBenchmark(name.c_str(), row)->Unit(benchmark::kMillisecond)->UseRealTime();
  };
  for (const std::string workload : {"uniform:5000", "mixed:5000"}) {
    const size_t pods = workload == "uniform:5000" ? 2000 : 513;
    add("BM_Serve_PlanUnchanged/" + workload,
        [=](State& state) { PlanUnchanged(state, workload); });
    add("BM_Serve_ChurnAndPlan/" + workload,
        [=](State& state) { ChurnAndPlan(state, workload, 5000, pods, ""); });
    RegisterBenchmark(("BM_Serve_ChurnAndStablePlan/" + workload).c_str(),
                      [=](State& state) { ChurnAndStablePlan(state, workload, 5000, pods); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(100);
  }
  add("BM_Serve_ChurnAndPlan/mixed:1000",
      [](State& state) { ChurnAndPlan(state, "mixed:1000", 1000, 100, ""); });
  add("BM_Serve_ChurnAndPlan/mixed:1000/beside:uniform:15000x30",
      [](State& state) { ChurnAndPlan(state, "mixed:1000", 1000, 100, "uniform:15000x30"); });
  for (const std::string workload : {"company:1000", "company:5000"}) {
    add("BM_Serve_RoundUnderDeletions/" + workload,
        [=](State& state) { RoundUnderDeletions(state, workload); });
  }
  add("BM_Serve_Stream/500000_pods", [](State& state) { StreamPods(state, 500'000); });
}

}  // namespace ebb::bench
