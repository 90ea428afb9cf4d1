// The examples of the headers, compiled.  tests/header_examples_test.py holds every line of
// theirs to what stands here under the header's name.  Nothing of it runs.

#include <curl/curl.h>
#include <fcntl.h>
#include <grpcpp/support/server_interceptor.h>

#include <cerrno>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cron.h"
#include "base/parallel.h"
#include "base/text_hasher.h"
#include "base/unique_fd.h"
#include "cel/device_selector.h"
#include "cli/cli.h"
#include "cli/commands/end_signals.h"
#include "cli/commands/search_interrupt.h"
#include "cli/commands/wall_clock.h"
#include "cli/print/standard_output.h"
#include "cli/rounds/dry_run.h"
#include "cli/rounds/run_flags.h"
#include "cli/rounds/run_live.h"
#include "cli/rounds/run_pools.h"
#include "daemon/client.h"
#include "daemon/connection_calls.h"
#include "daemon/daemon.h"
#include "daemon/http_server.h"
#include "daemon/listener.h"
#include "daemon/own_session.h"
#include "daemon/session_thread.h"
#include "engine/deletions_under_way.h"
#include "engine/pass/pass_fork.h"
#include "engine/pass/planner.h"
#include "engine/pass/workloads.h"
#include "engine/plan/headroom.h"
#include "engine/plan/plan_changes.h"
#include "engine/scale_down/round.h"
#include "engine/stable_planner.h"
#include "engine/verify/certified_plan.h"
#include "groups/cloud_machines.h"
#include "groups/machine_file.h"
#include "groups/machine_types.h"
#include "groups/node_pools.h"
#include "loop/actuators/actuator_server.h"
#include "loop/actuators/conformance.h"
#include "loop/actuators/grpc_actuator.h"
#include "loop/actuators/plugin_client.h"
#include "loop/actuators/plugin_status.h"
#include "loop/buyer.h"
#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "loop/record_actuator.h"
#include "loop/run/exported_cluster.h"
#include "loop/run/replace_market.h"
#include "loop/run/round_advisor.h"
#include "loop/run/session_rounds.h"
#include "loop/run/session_sizing.h"
#include "loop/shrink_plan.h"
#include "options/option_field.h"
#include "options/round_options.h"
#include "planning/check_purchases.h"
#include "planning/live_cluster.h"
#include "planning/new_nodes.h"
#include "planning/plan_answer.h"
#include "planning/plan_query.h"
#include "planning/plan_replace.h"
#include "planning/plan_search.h"
#include "planning/plan_waves.h"
#include "planning/query_fields.h"
#include "planning/rebuild_log.h"
#include "platform/loaded_library.h"
#include "platform/lock_file.h"
#include "platform/output_file.h"
#include "platform/service_manager.h"
#include "predicates/topology_asks.h"
#include "predicates/topology_words.h"
#include "report/html_page.h"
#include "report/pass_replay.h"
#include "report/story.h"
#include "rounds/held_reports.h"
#include "rounds/round_driver.h"
#include "rounds/sqlite_state.h"
#include "rounds/sqlite_table.h"
#include "rounds/text_delta.h"
#include "search/bound.h"
#include "search/budget_search.h"
#include "search/frontier.h"
#include "search/search.h"
#include "search/usable_room.h"
#include "search/worth.h"
#include "session/plan_digest.h"
#include "session/session.h"
#include "session/session_cluster.h"
#include "session/session_feed.h"
#include "session/session_questions.h"
#include "session/session_round_maker.h"
#include "session/session_settings.h"
#include "session/wire_pass.h"
#include "session/wire_query.h"
#include "simulation/eviction_trials.h"
#include "simulation/robust_plan.h"
#include "simulation/scheduler.h"
#include "simulation/score_cache.h"
#include "simulation/simulated_cluster.h"
#include "simulation/simulated_input.h"
#include "simulation/simulation.h"
#include "sizing/node_queues.h"
#include "sizing/notice_queue.h"
#include "sizing/notifier.h"
#include "sizing/policy/clusterman/clusterman.h"
#include "sizing/policy/escalator/escalator.h"
#include "sizing/policy/maestro/maestro.h"
#include "sizing/policy/maestro/maestro_types.h"
#include "sizing/policy/policy.h"
#include "sizing/policy/policy_registry.h"
#include "sizing/policy/policy_settings.h"
#include "sizing/policy/replicator/replicator.h"
#include "sizing/policy/replicator/replicator_registry.h"
#include "sizing/policy/state_text.h"
#include "sizing/policy_simulation/policy_simulation.h"
#include "sizing/pool_reader.h"
#include "sizing/pool_sizer.h"
#include "sizing/prometheus.h"
#include "sizing/usage_reader.h"
#include "snapshot/builder.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/read_scheduler_config.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/import/watch_stream.h"
#include "snapshot/live/change_batch.h"
#include "snapshot/live/live_snapshot.h"
#include "snapshot/selector_index.h"
#include "snapshot/shape_room.h"
#include "snapshot/symbols.h"
#include "tables/answer_tables.h"
#include "tables/cluster_tables.h"
#include "tables/column_table.h"
#include "what_if/patched_cluster.h"
#include "what_if/remedy.h"

namespace ebb {

// base/cron.h
void Cron(int64_t now_s) {
  absl::StatusOr<CronSchedule> opening = CronSchedule::Parse("0 9 * * mon-fri");
  std::optional<int64_t> next_s = opening->Next(now_s);
  static_cast<void>(next_s);
}

// base/parallel.h
struct Chunk {};
void Parse(Chunk& chunk);
void Take(const Chunk& chunk);
void Parallel(size_t threads, std::vector<Chunk> chunks) {
  const Parallelism parallelism(threads);
  parallelism.For(chunks.size(), [&](size_t index, size_t /*slot*/) { Parse(chunks[index]); });

  WorkAhead<Chunk> ahead(parallelism, [](Chunk& chunk) { Parse(chunk); });
  for (const Chunk& chunk : chunks) ahead.Push(chunk);
  Take(ahead.Pop());
}

// cel/device_selector.h
bool Select(const cel::DeviceForSelector& device) {
  using cel::DeviceSelector;
  absl::StatusOr<DeviceSelector> selector =
      DeviceSelector::Compile(R"(device.attributes["gpu.example.com"].model == "a100")");
  absl::StatusOr<bool> matches = selector->Matches(device);
  return matches.value_or(false);
}

// sizing/policy/clusterman/clusterman.h
void Carry(const ClustermanAction& action);
void Clusterman(const ClustermanOptions& options, const ClustermanObservation& observation,
                int64_t now_s) {
  ClustermanState state;
  const ClustermanDecision decision = Decide(options, observation, now_s, &state);
  for (const ClustermanAction& action : decision.actions) Carry(action);
}

// sizing/policy/clusterman/clusterman_capacity.h
ClustermanBalance Capacity(const std::vector<ClustermanGroup>& groups, double asked,
                           const ClustermanLimits& limits) {
  const double current = *CurrentTarget(groups);
  const ClustermanConstraint within = Constrain(asked, current, limits, {});
  const ClustermanBalance balance = Balance(groups, within.capacity);
  return balance;
}

// sizing/policy/clusterman/clusterman_target.h
double Target(int64_t now_s) {
  const ClustermanTarget target =
      ComputeClustermanTarget({.setpoint = {.setpoint = 0.8, .target_capacity_margin = 0.1},
                               .total = {100, 0, 0, 0},
                               .request = {96, std::nullopt, std::nullopt, std::nullopt},
                               .current = 100,
                               .non_orphan_fulfilled = 100},
                              now_s);
  return target.capacity;
}

// sizing/policy/maestro/maestro.h
bool Scale(int64_t rooms);
void Maestro(const MaestroOptions& options, const MaestroTypes& types,
             const MaestroObservation& observation, int64_t now_s) {
  MaestroState state;
  const MaestroDecision made = Decide(options, types, observation, now_s, &state);
  if (made.delta != 0 && Scale(made.delta)) Succeeded(made, &state);
}

// sizing/policy/maestro/maestro_types.h
bool AddMaestroType() {
  MaestroTypes types;
  const auto queue = [](const MaestroCounts& counts) {
    const auto length = counts.signals.find("queue");
    return length == counts.signals.end() ? kNoUtilization : static_cast<float>(length->second);
  };
  const auto one = [](const MaestroTrigger&, const MaestroCounts&) { return 1; };
  const bool added = types.Add("queue", {.delta = one, .utilization = queue});
  return added;
}

// snapshot/builder.h
absl::Status Builder(const objects::Node& node, const objects::Pod& pod) {
  SnapshotBuilder builder;
  if (absl::Status s = builder.AddNode(node); !s.ok()) return s;
  if (absl::Status s = builder.AddPod(pod); !s.ok()) return s;
  absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder).Build();
  return snapshot.status();
}

// snapshot/selector_index.h
void Look(uint32_t selector);
void WhichSelectors(const PodShape& shape, const PodMatcher& matcher) {
  ShapeIndex shapes;
  SelectorIndex budgets(shapes, /*kinds=*/1);
  shapes.Add(shape);
  budgets.Add({&matcher, 1});
  budgets.CountShape(shape);
  budgets.ForEachSelector(shape, [&](uint32_t selector) { Look(selector); });
}

// snapshot/symbols.h
TextId Names(Symbols& symbols) {
  const TextId web = symbols.Intern("web");
  const TextId uid = symbols.Hold("4f1c-...");
  symbols.Release(uid);
  return web;
}

// snapshot/formats/read_scheduler_config.h
absl::StatusOr<std::shared_ptr<SchedulerConfig>> SchedulerConfigExample(std::string_view text) {
  absl::StatusOr<std::shared_ptr<SchedulerConfig>> config = ParseSchedulerConfig(text);
  return config;
}

// snapshot/import/watch_stream.h
void Log(const absl::Status& status);
void Carry(const WatchEvent& event);
void Stream(std::string_view bytes) {
  WatchStream stream(10 << 20);
  stream.Append(bytes);
  while (true) {
    absl::StatusOr<std::optional<WatchEvent>> event = stream.Next();
    if (!event.ok()) {
      Log(event.status());
      continue;
    }
    if (!event->has_value()) break;
    Carry(**event);
  }
}

// snapshot/live/change_batch.h
absl::Status Batch(std::string_view pod_as_json, LiveSnapshot& live) {
  ChangeBatch batch;
  if (absl::Status s = batch.PutJson(pod_as_json); !s.ok()) return s;
  batch.Delete(*ChangeBatch::NamesOf("Node"), "", "node-7", "");
  if (absl::Status s = live.Take(batch.changes()); !s.ok()) return s;
  batch.Clear();
  return absl::OkStatus();
}

// snapshot/live/live_snapshot.h
absl::StatusOr<size_t> Live(const objects::Pod& pod) {
  LiveSnapshot live;
  const Change change{.object = &pod, .resource_version = "4711"};
  if (absl::Status s = live.Take({&change, 1}); !s.ok()) return s;
  ClusterSnapshot& now = live.Snapshot();
  return now.nodes();
}

// snapshot/import/load_cluster.h
absl::Status Load(const LoadOptions& options) {
  ClusterLoader loader(options);
  ImportStats stats;
  if (absl::Status s = ReadInput("dump.json", loader, stats); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
  return cluster.status();
}

// snapshot/import/completeness.h
absl::Status Watch(const LoadOptions& options, const std::vector<std::string>& inputs,
                   ImportStats& stats) {
  InputCensus census;
  absl::StatusOr<LoadedCluster> cluster =
      LoadNewest(census, [&]() -> absl::StatusOr<LoadedCluster> {
        ClusterLoader loader(options);
        absl::Status read = census.Read(inputs, loader, stats);
        if (!read.ok()) return read;
        return std::move(loader).Finish();
      });
  census.FindLacks(InputUse::kPlan, cluster->snapshot, cluster->newest_time, cluster->warnings);
  return absl::OkStatus();
}

// snapshot/shape_room.h
void Room(ShapeRoom& room, ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  room.Begin(snapshot, shape);
  if (room.IsOn(node)) room.Take(node);
}

// predicates/topology_words.h
uint64_t Admitted(TopologyWords& words, const ClusterSnapshot& snapshot, const PodShape& shape,
                  size_t word, uint64_t candidates) {
  words.Begin(snapshot, shape);
  candidates &= words.Admitted(word);
  return candidates;
}

// engine/pass/pass_fork.h
void Try(ClusterSnapshot& snapshot, PassForkMemory& memory, NodeId node,
         const std::vector<PodId>& pending, const std::vector<PodId>& pods,
         const std::function<bool(PassFork&, const std::vector<PodId>&)>& place) {
  {
    PassFork fork(snapshot, memory);
    place(fork, pending);
    {
      RemovalAttempt attempt(fork, node);
      if (place(fork, pods)) attempt.Commit();
    }
  }
}

// loop/loop.h
void RunLoop(Rounds& rounds, Actuator& actuator, const LoopOptions& options, LoopClock& clock) {
  Loop loop(rounds, actuator, options);
  loop.Run(clock);  // Until the clock says that it is over.
}

// loop/rounds.h
size_t OrderedDeletions(Rounds& rounds, const ActuatorStatus& report, int64_t now_s,
                        const std::vector<std::string>& left_alone) {
  absl::StatusOr<RoundOrders> orders = rounds.Make(report, now_s, left_alone);
  return orders.ok() ? orders->start.size() : 0;
}

// loop/own_rounds.h
void RunOwnRounds(ScaleDown& scale_down, ClusterSource& cluster, const OwnRoundsOptions& options,
                  Actuator& actuator, const LoopOptions& loop_options, LoopClock& clock) {
  OwnRounds rounds(scale_down, cluster, options);
  Loop(rounds, actuator, loop_options).Run(clock);
}

// loop/record_actuator.h
void RecordLoop(ScaleDown& scale_down, ClusterSource& source, const LoopOptions& options) {
  RecordActuator actuator([](int64_t, std::string_view line) { std::cout << line << "\n"; });
  DeductingSource cluster(source, actuator, scale_down);
  OwnRounds rounds(scale_down, cluster);
  Loop loop(rounds, actuator, options);
}

// loop/shrink_plan.h
absl::Status Shrink(const Observation& observed, const std::vector<NodeId>& leaving,
                    const std::vector<NodeId>& oldest_first, const PlannerOptions& options,
                    int64_t now_s) {
  std::vector<ShrinkAsk> asks = {{.name = "web", .most = 2, .candidates = oldest_first}};
  absl::StatusOr<ShrinkPlan> plan = PlanShrink(observed, leaving, asks, options, now_s);
  return plan.status();
}

// sizing/node_queues.h
void Log(const QueueEvent& event);
void WorkQueues(SizingState& state, const ActuatorStatus& status,
                const std::function<bool(const QueuedNode&)>& there,
                const std::function<int64_t(const std::string&)>& timeouts, int64_t retry_s,
                int64_t now_s) {
  NodeQueues queues(&state.queue, retry_s);
  queues.Add({.node = "n1", .pool = "web"}, now_s);  // Once; again changes nothing.
  for (const QueueEvent& event : queues.Work(status, there, timeouts, now_s)) Log(event);
}

// sizing/pool_sizer.h
void SizePools(const std::vector<SizedPool>& pools, const SizingState& state,
               const PoolSizerOptions& options, LoopOptions& loop_options, SqliteState& store) {
  PoolSizer sizer(pools, state, options);
  loop_options.sizer = &sizer;
  store.SetSizing(sizer.state());  // In own_rounds_options.record, before the store saves.
}

// sizing/usage_reader.h
absl::Status ReadUsage(const std::string& text, const SizedPool& pool, int64_t now_s,
                       PolicyObservation& seen) {
  UsageReader usage;
  if (absl::Status s = usage.Read("pods.json", text); !s.ok()) return s;
  if (absl::Status s = usage.AddTo(seen, now_s, pool.signal_period_s); !s.ok()) return s;
  return absl::OkStatus();
}

// sizing/policy_simulation/policy_simulation.h
absl::Status Try(const SizedPool& pool, const LoadCurve& curve,
                 const PolicySimulationOptions& options) {
  absl::StatusOr<PolicySimulationResult> result = SimulatePolicy(pool, curve, options);
  return result.status();
}

// sizing/notifier.h
void Print(std::string_view line);
void Sleep(int64_t ms);
void TellNotice(const std::vector<NotifierSettings>& settings, const Notice& notice) {
  std::vector<std::unique_ptr<Notifier>> notifiers = MakeNotifiers(settings, Print, Sleep);
  for (const std::string& problem : NotifyAll(notifiers, notice)) Print(problem);
}

// sizing/notice_queue.h
void QueueNotice(const std::vector<NotifierSettings>& settings, const Notice& notice) {
  NoticeQueue queue(MakeNotifiers(settings, Print, nullptr));
  queue.Add(notice);
  for (const std::string& problem : queue.TakeProblems()) Print(problem);
}

// daemon/http_server.h
HttpResponse RespondTo(const HttpRequest& request);
absl::Status ServePages() {
  HttpServer server([](const HttpRequest& request) { return RespondTo(request); }, {});
  absl::Status listens = server.ListenAt("127.0.0.1", 8085);
  if (listens.ok()) server.Start();
  return listens;
}

// base/text_hasher.h
uint64_t HashOfPieces() {
  TextHasher hasher;
  hasher.Add("a");
  hasher.Add("b");  // Value() is HashOfText("ab").
  return hasher.Value();
}

// engine/plan/plan_changes.h
PlanChange CameOrLeft(KeptReasons& reasons, const Catalog& catalog, const Symbols& symbols,
                      const Plan& plan, TextId name, NodeId node) {
  PlanChange change;
  change = reasons.Came(catalog, node);  // Why the last plan kept the node.
  reasons.Clear();
  reasons.Add(catalog, plan.keep);             // From here on of this plan.
  change = reasons.Left(symbols, name, node);  // Why this plan keeps the node.
  return change;
}

// base/unique_fd.h
int Error(int error);
int OpenFile(const char* path) {
  const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Error(errno);
  return 0;
}

// platform/lock_file.h
absl::Status TakeLock() {
  absl::StatusOr<LockFile> lock = LockFile::Take("/run/ebb/ebb.sock.lock");
  return lock.status();
}

// daemon/connection_calls.h
using Creators =
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;
void LimitCalls(Creators& creators) {
  const auto calls = std::make_shared<ConnectionCalls>(CallLimits{}, CloseConnection);
  creators.push_back(CountCalls(calls));  // For ServerBuilder's interceptors.
}

// sizing/prometheus.h
absl::Status Ask(const PrometheusSettings& settings, int64_t now_s) {
  absl::StatusOr<PolicySignal> cpus = QueryPrometheus(settings, "sum(cpus_requested)", now_s);
  return cpus.status();
}

// engine/pass/planner.h
absl::Status Pass(const PlannerOptions& options, ClusterSnapshot& snapshot,
                  const NodeGroups& groups, const PassInput& input) {
  Planner planner(options);
  absl::StatusOr<Plan> plan = planner.Pass(snapshot, groups, input);
  return plan.status();
}

// sizing/policy/escalator/escalator.h
void Log(const std::string& text);
void Store(const std::string& group, const EscalatorState& state);
void Escalator(const EscalatorOptions& options, const EscalatorObservation& observation,
               int64_t now_s, EscalatorCalls& calls) {
  EscalatorState state;
  const EscalatorDecision round = Decide(options, observation, now_s, calls, &state);
  if (round.error != EscalatorError::kNone) Log(Describe(round));
  Store(options.name, state);
}

// sizing/policy/policy.h
bool Act(const PolicyDecision& decision);
void SizePool(const PolicySettings& settings, const PolicyObservation& observation, int64_t now_s,
              std::string state) {
  PolicyRegistry registry;
  std::vector<PolicyProblem> problems;
  std::unique_ptr<Policy> policy = registry.Make("escalator", settings, &problems);
  PolicyDecision decision = policy->Decide(observation, now_s, &state);
  if (decision.delta != 0) policy->Ended(Act(decision), now_s, &state);
}

// sizing/policy/policy_registry.h
std::vector<PolicyKey> FixedKeys();
std::unique_ptr<Policy> MakeFixed(const PolicySettings& settings,
                                  std::vector<PolicyProblem>* problems);
bool AddOwnPolicy() {
  PolicyRegistry registry;
  const bool added = registry.Add({.name = "fixed", .keys = FixedKeys(), .make = MakeFixed});
  return added;
}

// sizing/policy/policy_settings.h
size_t CountTriggers(MaestroTrigger& trigger) {
  PolicySettings settings;
  settings.Set("up.metricsTrigger[0].usage", int64_t{60});
  settings.Read("up.metricsTrigger[0].usage", trigger.usage);
  const size_t triggers = settings.Count("up.metricsTrigger");
  return triggers;
}

// sizing/policy/state_text.h
template <typename A>
void Fields(A& a, EscalatorState& s) {
  a(s.is_locked, s.requested);
}
PolicyDecision ReadState(EscalatorState state) {
  std::string text = StateText("escalator/1", state);
  if (!ReadStateText("escalator/1", text, &state)) return Denied("state", "is not readable");
  return {};
}

// sizing/policy/replicator/replicator.h
void Store(const std::string& pool, const ReplicatorState& state);
void Grow(int64_t target);
void DecideAndStart(const ReplicatorOptions& options, const ReplicatorObservation& observation,
                    int64_t now_ms, ReplicatorState state) {
  const ReplicatorDecision made = Decide(options, observation, now_ms, &state);
  if (made.reason == ReplicatorReason::kScaleOut) Grow(made.target);
  Store(options.replicator_worker_pool, state);
}

// sizing/policy/replicator/replicator_registry.h
void Size(const std::string& name, const ReplicatorPool& pool);
void Watch(const std::vector<ReplicatorNodeRecord>& changed_nodes,
           const std::map<std::string, ReplicatorKeys>& stored) {
  ReplicatorRegistry registry;
  std::vector<ReplicatorProblem> problems = Discover(changed_nodes, stored, &registry);
  for (const auto& [name, pool] : registry.pools) Size(name, pool);
}

// engine/scale_down/round.h
absl::Status Round(const ScaleDownOptions& options, ClusterSnapshot& snapshot,
                   const NodeGroups& groups, const RoundInput& input) {
  ScaleDown scale_down(options);
  absl::StatusOr<RoundResult> result = scale_down.Round(snapshot, groups, input);
  return result.status();
}

// search/bound.h
void Bounded(const ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
             const std::function<void(int64_t)>& Use) {
  Use(BoundRemovals(snapshot, groups, request).worth);
}

// search/budget_search.h
void SearchedWithin(const PackingProblem& problem, const std::vector<double>& costs, uint64_t seed,
                    const std::vector<uint32_t>& promising,
                    const std::function<void(const std::vector<uint32_t>&)>& Use) {
  BudgetSearch search(problem, costs, seed);
  search.Begin(promising);
  search.Run(10'000);
  Use(search.Chosen());
}

// search/search.h
void Searched(ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
              const SearchOptions& options, const std::function<void(const Plan&)>& Use) {
  absl::StatusOr<SearchResult> found = OptimizePlan(snapshot, groups, request, options);
  Use(found->best.plan);
}

// simulation/eviction_trials.h
void Tried(const ClusterSnapshot& snapshot, const Plan& plan, const EvictionTrialOptions& options,
           const Parallelism& parallelism,
           const std::function<void(size_t, const std::vector<EvictionTrial>&,
                                    const std::vector<EvictionTrial>&)>& Show) {
  const EvictionTrials trials = RunEvictionTrials(snapshot, plan, options, parallelism);
  Show(trials.evicted, trials.random_order, trials.plan_order);
}

// simulation/score_cache.h
void PlaceWithCache(const ClusterSnapshot& snapshot, uint64_t seed, PodId pod, NodeId node) {
  const ScoreFacts facts(snapshot.catalog());
  const PlacedShapes placed(snapshot);
  ClusterSnapshot branch = snapshot;
  ScoreCache cache(branch, facts, placed);
  SimulatedScheduler scheduler(seed, &cache);
  branch.AddPod(pod, node);
  cache.OnAdd(pod, node);
}

// simulation/simulated_cluster.h
void SimulatedTurn(const SimulatedCluster::Read& read, const SimulatedCluster::GroupsOf& groups_of,
                   const SimulatedClusterOptions& options, ScaleDown& scale_down,
                   const LoopOptions& loop_options) {
  auto cluster = SimulatedCluster::Make(read, groups_of, options);
  OwnRounds rounds(scale_down, **cluster);
  Loop loop(rounds, **cluster, loop_options);
  loop.Turn((*cluster)->now_s());
  (*cluster)->AdvanceTo((*cluster)->now_s() + 10);
}

// simulation/simulated_input.h
void SimulateADump(const ClusterSnapshot& snapshot, const NodeGroups& groups, int64_t start_s,
                   const SimulatedCluster::Read& read, const SimulatedCluster::GroupsOf& groups_of,
                   const SimulatedClusterOptions& options,
                   const std::function<void(const SimulatedGap&)>& Print) {
  SimulatedInput input(snapshot, groups, start_s, read);
  auto cluster = SimulatedCluster::Make(input.AsRead(), groups_of, options);
  for (const SimulatedGap& gap : input.gaps()) Print(gap);
}

// simulation/simulation.h
double Saved(const SimulatedCluster::Read& read, const SimulatedCluster::GroupsOf& groups_of,
             SimulationOptions options) {
  absl::StatusOr<SimulationResult> with = Simulate(read, groups_of, options);
  options.scale_down_enabled = false;
  absl::StatusOr<SimulationResult> without = Simulate(read, groups_of, options);
  return without->node_hours - with->node_hours;
}

// report/story.h
absl::Status WriteStory(const std::vector<std::pair<double, double>>& points,
                        const std::string& path) {
  Story story("ebb run --simulate", "60 nodes for 6 h", "saved: 80 node-hours of 360");
  const StoryChart nodes{.lines = {{.name = "with ebb", .points = points}}};
  story.Part("nodes", "Nodes").Chart("Nodes", nodes);
  story.Part("figures", "Figures").Table("", {"", "with ebb"}, {{"nodes deleted", "12"}});
  absl::Status written = WriteFile(path, HtmlReport(std::move(story).Data()));
  return written;
}

// report/pass_replay.h
size_t Replay(const PlanContext& context, NodeId node) {
  PassReplay replay(context);
  replay.GoTo(node);
  const auto pods = replay.snapshot().PodsOn(node);
  return pods.size();
}

// options/option_field.h
void Paths() {
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) std::cout << field.path << "\n";
}

// options/round_options.h
bool Options(const RoundOptions& options) {
  const nlohmann::ordered_json json = OptionsJson(options);
  absl::StatusOr<RoundOptions> same = ParseOptions("rounds.db: round 3", json);
  return same.ok();
}

// rounds/sqlite_state.h
bool State() {
  absl::StatusOr<std::unique_ptr<SqliteState>> state = SqliteState::Open("ebb.db", {});
  return state.ok();
}

// platform/output_file.h
absl::Status Output(std::string_view bytes) {
  absl::StatusOr<OutputFile> file = OutputFile::Create("cluster.pb");
  if (absl::Status s = file->Write(bytes); !s.ok()) return s;
  if (absl::Status s = file->Commit(); !s.ok()) return s;
  return absl::OkStatus();
}

// rounds/round_driver.h
absl::Status Drive(RoundSettings settings, int64_t now_s) {
  auto driver = RoundDriver::Open({.state = "ebb.db", .record = "rounds.db"});
  const std::vector<std::string> inputs = {"dump.json"};
  settings.report = (*driver)->reports().With(settings.report);
  absl::StatusOr<RoundSource> source = ReadSource(inputs, settings, (*driver)->before());
  absl::Status status = (*driver)->CheckCluster(*source);
  auto round = (*driver)->Make(settings, now_s, *source);
  status = (*driver)->Save(**round, *source);
  return status;
}

// rounds/sqlite_table.h
struct TimersTable {
  using Row = UnneededTimers::Timer;
  static constexpr const char* kName = "timers";
  static constexpr auto kKey = std::tuple(Column<NameKind, &Row::node>{"node"});
  static constexpr auto kValues =
      std::tuple(Column<TextKind, &Row::uid>{"uid"}, Column<TimeKind, &Row::since_s>{"since_s"},
                 Column<FlagKind, &Row::judged>{"judged"});
  static auto Lists(auto& state) { return std::array{&state.timers}; }
};
bool WriteTimers(sqlite3* db, const ScaleDownState& before, const ScaleDownState& after) {
  return WriteTable<TimersTable>(db, before, after);
}

// rounds/text_delta.h
bool Same(const std::string& earlier, std::string_view text) {
  const DeltaBase base(earlier);
  const std::string delta = PackDelta(base, text);
  absl::StatusOr<std::string> same = UnpackDelta(base.text(), delta);
  return same.ok() && *same == text;
}

// planning/live_cluster.h
bool Follow(std::string_view node_as_json) {
  LiveCluster cluster;
  ChangeBatch batch;
  absl::Status status = batch.PutJson(node_as_json);
  status = cluster.Take(batch.changes());
  absl::StatusOr<LiveCluster::Version> version = cluster.Checked();
  return status.ok() && version.ok();
}

// planning/rebuild_log.h
double SecondsOfRebuilds(const LoadOptions& load) {
  RebuildLog log;
  LiveSnapshot::Options options = LiveCluster::LiveOptionsOf(load);
  options.rebuild_observer = &log;  // Must outlive the cluster.
  LiveCluster cluster(load, options);
  (void)cluster.Snapshot();
  return log.totals().by_cause[0].seconds;
}

// rounds/held_reports.h
absl::Status Hold(const ReportUpdate& update, RoundSettings& settings) {
  HeldReports held;
  absl::StatusOr<HeldReports::Changes> changes = held.ChangesOf(update);
  if (!changes.ok()) return changes.status();
  held.Apply(*std::move(changes));
  settings.report = held.With(settings.report);
  held.ForgetRound();
  return absl::OkStatus();
}

void WaitForSignal();

// loop/actuators/plugin_client.h
bool Greet() {
  auto client = PluginClient::Connect("unix:p.sock", {});
  absl::StatusOr<plugin_wire::HelloReply> hello = (*client)->Hello();
  return hello.ok();
}

// loop/actuators/plugin_status.h
absl::Status WhyNot(const plugin_wire::StatusReply& reply, int64_t now_s) {
  absl::StatusOr<PluginStatus> status = ReadPluginStatus(reply, now_s);
  return status.status();
}

// loop/actuators/grpc_actuator.h
void Sleep(int64_t ms);
void RunWithPlugin(Rounds& rounds, const LoopOptions& options, LoopClock& clock) {
  GrpcActuatorOptions of{.plugin = "unix:p.sock", .session = "some name", .sleep_ms = Sleep};
  auto actuator = GrpcActuator::Connect(of);
  Loop loop(rounds, **actuator, options);
  loop.Run(clock);
}

// daemon/own_session.h
void RoundsOfThisProcess(Daemon* daemon) {
  OwnSession own(daemon->sessions(), std::chrono::seconds(60));
  SessionRounds rounds(own, {.session = "prod"});
}

// loop/run/session_rounds.h
void LoopOverSession(SessionCalls& calls, Actuator& actuator) {
  SessionRoundsOptions of{.session = "prod"};
  SessionRounds rounds(calls, of);
  Loop loop(rounds, actuator, {});
}

// loop/run/session_sizing.h
SizingState Remembered();
void Restore(SizingState state);
void SizePoolsOfSession(SessionCalls& calls, ClusterSource& cluster, Actuator& actuator,
                        SessionRoundsOptions& rounds_options, const LoopOptions& loop_options) {
  SessionSizing sizing(calls, "prod", cluster, {.now = Remembered, .restore = Restore});
  rounds_options.cluster = &sizing;
  rounds_options.sizing = [&] { return sizing.ToKeep(); };
  SessionRounds rounds(calls, rounds_options);
  Loop loop(rounds, actuator, loop_options);
}

// loop/run/exported_cluster.h
void LoopDry(SessionCalls& calls, const ExportedClusterOptions& of, ScaleDown& scale_down,
             RecordActuator& actuator) {
  ExportedCluster cluster(calls, of, scale_down);
  DeductingSource source(cluster, actuator, scale_down);
  OwnRounds rounds(scale_down, source);
  Loop loop(rounds, actuator, {});
}

// loop/buyer.h
void LoopThatBuys(Market& market, LoopOptions& loop_options) {
  Buyer buyer(market, {.interval_s = 1800});
  loop_options.buyer = &buyer;
}

// loop/run/replace_market.h
void FindPurchases(ExportedCluster& exported_cluster, const PlanQuery& query,
                   const LoadOptions& load, const Parallelism& parallelism) {
  ReplaceMarket market(ObjectsOf(exported_cluster), {.query = query, .replace = {}, .load = load},
                       parallelism);
  Buyer buyer(market, {});
}

// loop/actuators/actuator_server.h
int64_t Now();
void ServePlugin(Actuator& cluster) {
  ActuatorServerOptions options{.path = "p.sock", .name = "simulated", .now_s = Now};
  auto server = ActuatorServer::Start(cluster, options);
  WaitForSignal();
}

// loop/actuators/conformance.h
bool Conforms() {
  auto checks = RunConformance({.plugin = "unix:p.sock",
                                .nodes = {"worker-7"},
                                .session = "conformance",
                                .now_s = Now,
                                .sleep_ms = Sleep});
  return checks.ok();
}

// daemon/client.h
bool Ask(const wire::PlanCall& call) {
  absl::StatusOr<std::unique_ptr<PlannerClient>> client = PlannerClient::Connect("unix:e.sock");
  absl::StatusOr<wire::PlanReply> made = (*client)->Plan(call);
  return made.ok();
}

// daemon/daemon.h
void Serve(const DaemonOptions& options) {
  absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(options);
  WaitForSignal();
  (*daemon)->Stop();
}

// daemon/listener.h
void Serve(UniqueFd connection);
void Listen() {
  auto listener = Listener::Open({.path = "/run/ebb/ebb.sock"});
  (*listener)->Start([](UniqueFd connection) { Serve(std::move(connection)); });
}

// sizing/pool_reader.h
absl::Status ObservePool(const SizedPool& pool) {
  PoolReader reader;
  ImportStats stats;
  if (absl::Status s = ReadInput("dump.json", reader, stats); !s.ok()) return s;
  const PolicyObservation seen = reader.Observe(pool);
  return seen.nodes.empty() ? absl::NotFoundError(pool.name) : absl::OkStatus();
}

// what_if/patched_cluster.h
absl::Status PlanPatched(LiveCluster& cluster, const std::vector<ObjectPatch>& patches,
                         const NodeGroups& groups, const PlanQuery& query) {
  PatchedCluster patched(cluster);
  if (absl::Status s = patched.Apply(patches); !s.ok()) return s;
  absl::StatusOr<PlanResult> made = TryPlan(query, groups, cluster.Snapshot(), cluster.Pending());
  patched.Undo();
  return made.status();
}

// what_if/remedy.h
bool Helps(LiveCluster& cluster, const PlanQuery& query, const Remedy& remedy) {
  RemedyPlanner remedy_planner(cluster, query);
  absl::StatusOr<RemedyPlanner::Outcome> outcome = remedy_planner.Try(remedy);
  return outcome.ok() && !outcome->goes.empty();
}

// tables/column_table.h
absl::Status ExportNodes() {
  ColumnTable table("nodes", {{"node", ColumnType::kText}, {"cpu_milli", ColumnType::kInteger}});
  table.Row().Text("n1").Integer(4000);
  ArrowArrayStream stream;
  absl::Status status = std::move(table).Export(stream);
  if (status.ok()) stream.release(&stream);
  return status;
}

// tables/answer_tables.h
absl::Status ReadMoves(std::string_view plan_json) {
  absl::StatusOr<ColumnTable> moves = AnswerTable("moves", plan_json);
  return moves.status();
}

// tables/cluster_tables.h
absl::Status ReadNodes(const LoadedCluster& cluster, const GroupRules& rules) {
  const NodeGroups groups = AssignGroups(cluster.snapshot.catalog(), rules);
  absl::StatusOr<ColumnTable> nodes = ClusterTableOf("nodes", cluster, groups);
  return nodes.status();
}

// search/frontier.h
bool HasPoints(ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
               const std::vector<double>& hourly, const SearchOptions& options) {
  absl::StatusOr<Frontier> frontier = FindFrontier(snapshot, groups, request, hourly, options);
  return frontier.ok() && !frontier->points.empty();
}

// search/worth.h
std::vector<int64_t> Worth(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                           const PlanRequest& request, const std::vector<double>& hourly) {
  const std::vector<int64_t> worth = WorthOfNodes(snapshot, groups, request, hourly, 0.01);
  return worth;
}

// engine/pass/workloads.h
void EvictWithinShares(const ClusterSnapshot& snapshot, std::span<const PodId> pods) {
  const Workloads workloads(snapshot);
  WorkloadShares shares(snapshot, 0.25);
  if (shares.FirstTooMany(pods) == kNoPod) shares.Evict(pods);
}

// engine/plan/headroom.h
void RemoveWithinHeadroom(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                          const Headroom& wanted, std::span<const NodeId> in_deletion, NodeId node,
                          std::span<const Move> moves) {
  const HeadroomTracker::Amounts free = HeadroomTracker::FreeOn(snapshot, node);
  HeadroomTracker headroom(snapshot, groups, wanted, in_deletion);
  if (headroom.Allows(node, free, moves)) headroom.Remove(node, free, moves);
}

// search/usable_room.h
void TellUsableRoom(std::span<const std::vector<int64_t>> kinds, std::span<const int64_t> room,
                    std::span<int64_t> most) {
  const UsableRoom usable(kinds);
  usable.Of(room, most);
}

// engine/deletions_under_way.h
bool PlanBesideDeletions(ClusterSnapshot& snapshot, const NodeGroups& groups,
                         std::vector<PodId>& pending, PlanRequest& request) {
  const DeletionsUnderWay deletions(snapshot, pending, request);
  absl::StatusOr<PlanResult> made = MakePlan(snapshot, groups, request);
  return made.ok();
}

// engine/stable_planner.h
bool PlanAndRepair(ClusterSnapshot& snapshot, const NodeGroups& groups,
                   const PlanRequest& request) {
  StablePlanner planner;
  absl::StatusOr<StablePlan> plan = planner.Make(snapshot, groups, request);
  if (!plan.ok()) return false;
  plan = planner.Make(snapshot, groups, request);
  return plan.ok();
}

// simulation/robust_plan.h
bool PlanRobustly(ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
                  const PlanResult& made) {
  const auto robust = MakeRobust(snapshot, groups, request, made, 0, {});
  return robust.ok();
}

// planning/plan_query.h
bool AnswerQuestion(LoadedCluster& cluster, int64_t now_s) {
  PlanQuery query{.now_s = now_s, .search = SearchQuery{.budget_s = 2}};
  absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query, cluster);
  return answer.ok();
}

// planning/query_fields.h
absl::Status CheckQuestion(const PlanQuery& query) {
  absl::Status status = CheckQuery(query);
  if (!status.ok()) return status;
  return absl::OkStatus();
}

// planning/plan_answer.h
void PrintPlanOf(const PlanQuery& query, LoadedCluster& cluster,
                 const std::function<void(const PlanReport&)>& Print) {
  absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query, cluster);
  Print((*answer)->Report());
}

// planning/plan_waves.h
bool FollowAPlan(const std::unique_ptr<PlanAnswer>& answer) {
  absl::StatusOr<PlanWaves> waves = FollowWaves(*answer, {.pod_startup_s = 60});
  return waves.ok();
}

// groups/machine_types.h
void ListWhatMayBeBought(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                         const NodePrices& prices, const PriceList& list) {
  absl::StatusOr<MachineFile> file = ReadMachineFile("machine_types.yaml");
  MachineCatalogue catalogue = FindMachineTypes(snapshot, groups, prices, list, &*file);
}

// groups/machine_file.h
size_t ListOneMachine() {
  MachineFile file{.file = "types.yaml", .machines = {}};
  return file.machines.size();
}

// groups/cloud_machines.h
absl::Status ReadAwsTypes(const std::string& text, MachineFile& file) {
  if (!IsCloudMachineList(text)) return absl::OkStatus();
  return ReadCloudMachines("types.json", text, file);
}

// groups/node_pools.h
bool NodePoolAllows(const KarpenterObjects::Pool& pool, const TextMap& labels,
                    const std::function<bool(std::string_view)>& unknown) {
  return UnreadRequirement(pool).empty() && UnmetRequirement(pool, labels, unknown).empty();
}

// planning/check_purchases.h
bool NewNodesAreAllowed(const ClusterSnapshot& snapshot, NodeId new_node_1, NodeId new_node_2) {
  const std::vector<NodeId> bought = {new_node_1, new_node_2};
  absl::Status status = CheckPurchases(snapshot, bought);
  return status.ok();
}

// planning/plan_replace.h
void PrintReplacement(const PlanQuery& query, LiveCluster& live, LiveCluster::Version* version,
                      const std::function<void(const PlanReport&)>& Print) {
  absl::StatusOr<std::unique_ptr<ReplaceAnswer>> answer =
      AnswerReplace(query, {.max_new_nodes = 1}, live, version->cluster);
  Print(MakeReport((*answer)->Context()));
}

// planning/new_nodes.h
absl::Status AddANewNode(const MachineType& type, LiveCluster& cluster, ChangeBatch& batch) {
  absl::StatusOr<NewNodeObjects> objects = NewNodeObjects::Read(cluster, {"general-1"});
  absl::Status status = objects->Put(type, "new-m7i.large-1", batch);
  status = cluster.Take(batch.changes());
  return status;
}

// planning/plan_search.h
bool LookForABetterPlan(LoadedCluster& cluster, const NodeGroups& groups,
                        const PlanRequest& request) {
  absl::StatusOr<FoundPlan> found = SearchPlan(cluster, {groups, request, nullptr}, {});
  return found.ok();
}

// session/wire_query.h
bool ReadQuestion(const v1alpha1::PlanInput& input, const RoundSettings& settings) {
  absl::StatusOr<PlanQuery> query = ReadQuery(input, settings.options, settings.groups, {});
  return query.ok();
}

// loop/run/round_advisor.h
void SearchBeforeRounds(const ScaleDownOptions& scale_down_options, Loop& loop, LoopClock& clock,
                        OwnRoundsOptions& own_rounds_options) {
  RoundAdvisor advisor(scale_down_options, {.iterations = 5});
  own_rounds_options.advise = [&](const Observation& observed, int64_t now_s,
                                  const std::vector<std::string>& unneeded) {
    return advisor.Advise(observed, now_s, unneeded);
  };
  loop.Run(clock);
}

// session/wire_pass.h
absl::Status PassOnTheWire(const v1alpha1::PlanInput& input, ClusterSnapshot& snapshot,
                           const GroupRules& rules, Planner& planner, v1alpha1::PassReply& reply) {
  PassLists lists;
  absl::StatusOr<PassInput> pass = ReadPass(input, snapshot, rules, lists);
  absl::StatusOr<Plan> plan = planner.Pass(snapshot, lists.groups, *pass);
  WritePassPlan(snapshot.catalog(), *plan, reply.mutable_plan());
  return plan.status();
}

// session/session.h
bool Answer(const SessionOptions& options, const ChangeBatch& batch, const wire::PlanCall& call) {
  Session session("prod", options);
  absl::Status status = session.cluster().Take(batch);
  absl::StatusOr<wire::PlanReply> made = session.questions().Plan(call, std::nullopt);
  return status.ok() && made.ok();
}

// session/session_cluster.h
bool TakeAndJudge(const SessionOptions& options, const ChangeBatch& batch) {
  SessionCluster cluster("prod", options);
  absl::Status taken = cluster.Take(batch);
  absl::Status filled = cluster.CheckAnswers();
  absl::StatusOr<LoadedCluster> judged =
      cluster.Checked(/*allow_incomplete=*/false, SessionCluster::Use::kShown);
  return taken.ok() && filled.ok() && judged.ok();
}

// session/session_settings.h
bool SettingsOfCall(const SessionOptions& options, const wire::OpenRequest& request,
                    const wire::PlanInput& input) {
  absl::StatusOr<SessionSettings> settings = ParseSettings(request.settings(), options);
  absl::StatusOr<SessionSettings> of_call =
      ParseSettings(MergedSettings(settings->given, input.settings()), options);
  return of_call.ok();
}

// session/plan_digest.h
size_t CountWhatDiffers(const PlanDigest& before, const PlanContext& context) {
  PodHashes pods;  // Kept from plan to plan.
  const PlanDigest now = DataDigest(context, pods);
  const PlanDifference difference = DifferenceOf(before, now);
  return difference.entries.size();
}

// session/session_questions.h
bool Ask(SessionCluster& cluster, const wire::PlanCall& call) {
  SessionQuestions questions(cluster);
  absl::StatusOr<wire::PlanReply> made = questions.Plan(call, std::nullopt);
  return made.ok();
}

// session/session_round_maker.h
bool MakeRound(SessionCluster& cluster, const wire::RoundCall& call) {
  SessionRoundMaker rounds(cluster);
  absl::StatusOr<wire::RoundReply> made = rounds.Round(call, std::nullopt);
  return made.ok();
}

// session/session_feed.h
absl::Status FeedExample(const SessionFeed::Counts& counts, int64_t now_s) {
  SessionFeed feed("prod");
  feed.OnResync(now_s, /*empty=*/true);
  absl::Status whole = feed.CheckWhole(counts);
  feed.OnWhole(now_s);
  const uint64_t stream = feed.Begin();
  feed.End(stream, now_s);
  return whole;
}

// daemon/session_thread.h
SessionCall::Respond Answer(Session& session);
void Refuse(const absl::Status& why);
void Post(std::unique_ptr<Session> session) {
  auto thread = std::make_shared<SessionThread>(std::move(session), /*calls_max=*/256);
  thread->Post({.run = [](Session& session) { return Answer(session); }, .refuse = Refuse});
}

// cli/rounds/run_live.h
int LoopOverLiveCluster(const RunFlags& flags, std::ostream& out, std::ostream& err) {
  int code = RunLive(flags, out, err);
  return code;
}

// cli/commands/search_interrupt.h
void SearchUntilInterrupted(PlanHooks& hooks) {
  const SearchInterrupt interrupt;
  hooks.cancelled = interrupt.ends();
}

// engine/verify/certified_plan.h
absl::Status CertifyAndCheck(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                             const PlannerOptions& options, const PassInput& input,
                             const Plan& plan, const std::function<void()>& VerifyAndCertify) {
  PlanCertificates certificates;
  // After Verify of the plan:
  absl::Status certified = certificates.Certify(snapshot, groups, options, input, plan);
  // ... the cluster changes, and the plan is made again ...
  const auto part = certificates.Check(snapshot, groups, options, input, plan);
  if (part.ok() && part->not_covered) VerifyAndCertify();
  return certified;
}

// predicates/topology_asks.h
bool FitsByAsks(const PodShape& shape, const ClusterSnapshot& snapshot, NodeId node) {
  bool fits = false;
  TopologyAsks asks;
  if (asks.Learn(shape)) fits = asks.Fit(snapshot, node);  // As TopologyFits.
  return fits;
}

// platform/loaded_library.h
bool LoadCurl() {
  auto library = LoadedLibrary::Load("libcurl.so.4");
  const auto init = library->Function<decltype(&curl_easy_init)>("curl_easy_init");
  return init != nullptr;
}

// platform/service_manager.h
int StartUnderSystemd() {
  ServiceManager systemd = ServiceManager::Connect();
  const absl::StatusOr<int> socket = systemd.InheritedSocket();
  systemd.Notify("READY=1");
  return socket.value_or(-1);
}

// cli/commands/wall_clock.h
void RunUntilSignal(Loop& loop) {
  WallClock clock;  // Before any thread is made (end_signals.h).
  loop.Run(clock);
}

// cli/commands/end_signals.h
void Work();
void WorkUntilSignal() {
  EndSignals signals;
  while (!signals.Wait(std::chrono::seconds(10))) Work();
}

// cli/rounds/dry_run.h
int SayWhatWouldBeDone(const ScaleDownOptions& options, std::ostream& out, std::ostream& err) {
  int code = RunDry({.inputs = {"all.json"}, .scale_down = options}, out, err);
  return code;
}

// cli/rounds/run_pools.h
absl::Status SizePoolsOfRun(const RunFlags& flags, LoopOptions& loop_options, std::ostream& err) {
  absl::StatusOr<std::unique_ptr<RunPools>> pools = RunPools::Read(flags, err);
  if (!pools.ok()) return pools.status();
  if (*pools != nullptr) loop_options.sizer = &(*pools)->sizer();
  return absl::OkStatus();
}

// cli/print/standard_output.h
int Main(int argc, const char* const* argv) {
  StandardOutput output;
  int code = RunCli(argc, argv, std::cin, output.stream(), std::cerr);
  return output.Finish(code, std::cerr);
}

}  // namespace ebb
